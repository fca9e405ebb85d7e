"""The first argument of a function that searches a table is a table, written like a column.

Made one in the tree, it is found wherever a statement's tables are looked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from raydb.planner.plan.table_function import TABLE_FUNCTIONS, SearchFunction, TableFunction

if TYPE_CHECKING:
    from collections.abc import Iterator


def function_called(node: exp.Expr) -> TableFunction | None:
    """Return the table function that a source in FROM calls; None where it calls none that is."""
    call = node.this
    return TABLE_FUNCTIONS.get(call.name.lower()) if isinstance(call, exp.Anonymous) else None


def name_searched_tables(node: exp.Expr) -> Iterator[exp.Table]:
    """Make the first argument of a call what FROM would make of it, and so on; yield the tables."""
    if isinstance(function_called(node), SearchFunction) and node.this.expressions:
        table = _as_table(node.this.expressions[0])
        if table is not None:
            node.this.set("expressions", [table, *node.this.expressions[1:]])
            yield table
            yield from name_searched_tables(table)


def _as_table(argument: exp.Expr) -> exp.Table | None:
    """Return the name of a table, a file or a call as a source, None for another argument."""
    while isinstance(argument, exp.Paren):
        argument = argument.this
    match argument:
        case exp.Column():
            return exp.Table(this=argument.this, db=argument.args.get("table"))
        case exp.Literal(is_string=True):
            return exp.Table(this=argument)
        case exp.Anonymous() if argument.name.lower() != "unnest":  # no rows of a table
            return exp.Table(this=argument)
        case _:
            return None
