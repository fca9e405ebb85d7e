"""Table functions: a call in FROM whose rows the catalog itself can give."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.planner.explain import show
from raydb.planner.expression import Attribute, Literal
from raydb.planner.logical import Values
from raydb.sql.binding import Binding, new_column

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlglot import exp

    from raydb.planner.expression import Expression

_BVH_COLUMNS = ("name", "table_name", "scan", "group_by", "aggregate")


def bind_table_function(name: str, arguments: Sequence[exp.Expr], binding: Binding) -> Values:
    """Return the rows of a table function.

    `bvhs()` has one row a BVH: name, table_name, scan, group_by and aggregate, all VARCHAR. Raises
    NotSupportedError for other names.
    """
    if name != "bvhs":
        raise NotSupportedError(f"the table function {name}() is not supported")
    if arguments:
        raise ProgrammingError(f"bvhs() takes no arguments, not {len(arguments)}")
    text = pa.string()
    rows: list[tuple[Expression, ...]] = []
    for bvh in binding.catalog.bvhs.values():
        definition = bvh.definition
        parts = (definition.scan, definition.group_by, definition.aggregate)
        cells = (definition.name, definition.table, *(_listed(part) for part in parts))
        rows.append(tuple(Literal(cell, text) for cell in cells))
    return Values(tuple(new_column(binding, name, text) for name in _BVH_COLUMNS), tuple(rows))


def _listed(part: Iterable[Expression]) -> str:
    return ", ".join(_shown(expression) for expression in part)


def _shown(expression: Expression) -> str:
    """Show an attribute as CREATE BVH can read it back: by the foreign key that leads to it."""
    match expression:
        case Attribute(path=(first, *_), name=name) if len(first.columns) == 1:
            return f"{first.columns[0]}.{name}"
        case _:
            return show(expression)
