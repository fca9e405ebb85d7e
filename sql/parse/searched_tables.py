"""The first argument of a function that searches a table is a table, written like a column.

So are those that give more rows, by their names.

Made one in the tree, it is found wherever a statement's tables are looked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from raydb.names import fold
from raydb.planner.plan import function_arguments
from raydb.planner.plan.table_function import TABLE_FUNCTIONS, SearchFunction, TableFunction

if TYPE_CHECKING:
    from collections.abc import Iterator


def function_called(node: exp.Expr) -> TableFunction | None:
    """Return the table function that a source in FROM calls; None where it calls none that is."""
    call = node.this
    return TABLE_FUNCTIONS.get(call.name.lower()) if isinstance(call, exp.Anonymous) else None


def name_searched_tables(node: exp.Expr) -> Iterator[exp.Table]:
    """Make arguments of a call that are rows what FROM would make of them; yield the tables.

    And so on, where one of them is a call.
    """
    function = function_called(node)
    if not isinstance(function, SearchFunction) or not node.this.expressions:
        return
    first, *others = node.this.expressions
    table = _as_table(first)
    if table is not None:
        node.this.set("expressions", [table, *others])
        yield table
        yield from name_searched_tables(table)
    rows = {each.name for each in function.arguments if each.kind is function_arguments.ROWS}
    for argument in others if rows else ():
        named = named_argument(argument)
        table = _as_table(named[1]) if named is not None and named[0] in rows else None
        if table is not None:
            argument.set("expression", table)
            yield table
            yield from name_searched_tables(table)


def named_argument(argument: exp.Expr) -> tuple[str, exp.Expr] | None:
    """Return the name and the value of `name => value`, or None for another argument."""
    if isinstance(argument, exp.Kwarg | exp.PropertyEQ | exp.EQ):
        name = argument.this
        if isinstance(name, exp.Column | exp.Identifier | exp.Var):
            return fold(name.name), argument.expression
    return None


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
