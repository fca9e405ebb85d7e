"""RETURNING: what a statement that changes rows gives of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from raydb.planner.expressions.nodes import Column, Expression, Literal
from raydb.sql.bind.binding import Binding, context_of, new_column
from raydb.sql.bind.query.select_list import Item, bind_items
from raydb.sql.parse.nodes import require_only
from raydb.sql.parse.reader import fold

if TYPE_CHECKING:
    from raydb.sql.bind.scope import Scope


def bind_returning(
    tree: exp.Expr, scope: Scope, binding: Binding
) -> tuple[tuple[Column, Expression], ...]:
    """Return the columns of a statement's RETURNING, none where it has no such clause."""
    clause = tree.args.get("returning")
    if clause is None:
        return ()
    require_only(clause, "expressions")
    items: list[Item] = []
    bind_items(clause.expressions, scope, context_of(binding, scope, "RETURNING"), items)
    typed = [(item.name, _typed(item.expression)) for item in items]
    return tuple((new_column(binding, name, value.type), value) for name, value in typed)


def _typed(expression: Expression) -> Expression:
    """Give a bare NULL the type that it has in a select list."""
    is_null = isinstance(expression, Literal) and pa.types.is_null(expression.type)
    return Literal(None, pa.int32()) if is_null else expression


def written_name(target: exp.Expr, table: str) -> str:
    """Return the name that a statement has for the table that it writes to."""
    if isinstance(target, exp.Schema):
        target = target.this
    alias = target.args.get("alias")
    if alias is None:
        return table
    require_only(alias, "this")
    return fold(alias.this)
