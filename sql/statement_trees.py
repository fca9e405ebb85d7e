"""The trees that a statement holds, for what changes them before they are bound."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from raydb.sql import ast
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlglot import exp

T = TypeVar("T")


def map_trees(statement: T, change: Callable[[exp.Expr], exp.Expr]) -> T:
    """Return a statement with a function applied to the tree of its query or change.

    One that runs in parts stays as it is: each part comes by itself.
    """
    changed: T = _mapped(statement, change)
    return changed


def _mapped(statement: Any, change: Callable[[exp.Expr], exp.Expr]) -> Any:
    match statement:
        case ast.InPlace(statement=inner) | ast.Explain(statement=inner):
            return replace(statement, statement=_mapped(inner, change))
        case ast.CreateTableAs(select=select) | ast.CopyTo(select=select):
            return replace(statement, select=_mapped(select, change))
        case ast.Describe(select=select):
            return replace(statement, select=_mapped(select, change))
        case _ if isinstance(statement, ast.Select | ast.Dml):
            tree = change(statement.tree)
            return statement if tree is statement.tree else replace(statement, tree=tree)
        case _:
            return statement
