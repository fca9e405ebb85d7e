"""Calls in FROM that are lists of each row before them, taken apart as unnest() does.

FROM t, range(1, t.n)    FROM t, unnest(range(1, t.n)) AS range (range)
FROM range(2, 9) WITH ORDINALITY    a query over the series that numbers its rows
FROM t, json_each(t.j)   the elements of a list of structs, whose fields are the columns
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from raydb.errors import ProgrammingError
from raydb.planner.expressions.functions.nested.json_rows import ROWS_OF_JSON, json_rows
from raydb.planner.expressions.functions.nested.structs import struct_field
from raydb.planner.plan.nodes import Unnest, Values
from raydb.sql.bind.binding import context_of, new_column
from raydb.sql.bind.expression.expression import bind_expression
from raydb.sql.bind.scope import Scope, named_scope
from raydb.sql.parse.nodes import require_only

if TYPE_CHECKING:
    from raydb.planner.plan.nodes import Plan
    from raydb.sql.bind.binding import Binding

_MOST_ARGUMENTS = 2
_DIGITS = 18


def series_as_unnest(node: exp.Expr) -> exp.Expr:
    """Return range(1, t.n), a series of columns, as unnest(range(1, t.n)), and one that counts."""
    call = node.this
    if not isinstance(node, exp.Table) or not isinstance(call, exp.Anonymous):
        return node
    name = call.name.lower()
    if name not in ("range", "generate_series"):
        return node
    counts = node.args.get("ordinality")
    is_constant = call.find(exp.Column) is None
    if is_constant and not counts:
        return node
    require_only(node, "this", "alias", "joins", "sample", "ordinality")
    alias = node.args.get("alias") or exp.TableAlias()
    if alias.this is None:
        alias.set("this", exp.to_identifier(name))
    joins, sample = node.args.get("joins"), node.args.get("sample")
    if not is_constant:
        return exp.Unnest(
            expressions=[call], alias=alias, joins=joins, sample=sample, offset=counts
        )
    if not alias.args.get("columns"):
        alias.set("columns", [alias.this.copy(), exp.to_identifier("ordinality")])
    return exp.Subquery(this=_counted(call), alias=alias, joins=joins, sample=sample)


def _counted(call: exp.Anonymous) -> exp.Select:
    """Return the query of the values of a series and of their numbers, from 1."""
    value, arguments = exp.column("value"), call.expressions
    number: exp.Expr = exp.Window(this=exp.Anonymous(this="row_number"))
    if all(_is_integer(each) for each in arguments):  # No row has to be counted.
        first = arguments[0].copy() if len(arguments) > 1 else exp.Literal.number(0)
        step = arguments[2].copy() if arguments[2:] else exp.Literal.number(1)
        offset = exp.Sub(this=value, expression=first)
        times = exp.IntDiv(this=offset, expression=step)
        number = exp.Add(this=times, expression=exp.Literal.number(1))
    alias = exp.TableAlias(this=exp.to_identifier("series"), columns=[exp.to_identifier("value")])
    source = exp.From(this=exp.Table(this=call, alias=alias))
    return exp.Select(expressions=[value, number], from_=source)


def _is_integer(node: exp.Expr) -> bool:
    """Tell whether this is an integer whose difference from another one is a BIGINT."""
    literal = node.this if isinstance(node, exp.Neg) else node
    is_number = isinstance(literal, exp.Literal) and not literal.is_string
    return is_number and literal.name.isdigit() and len(literal.name) <= _DIGITS


def is_json_call(node: exp.Expr) -> bool:
    """Tell whether a source is json_each() or json_tree()."""
    call = node.this if isinstance(node, exp.Table | exp.Lateral) else None
    return isinstance(call, exp.Anonymous) and call.name.lower() in ROWS_OF_JSON


def bind_json_rows(
    node: exp.Expr, alias: tuple[str, tuple[str, ...]], binding: Binding
) -> tuple[Plan, Scope]:
    """Return the rows of json_each() or json_tree(), and their columns."""
    require_only(node, "this", "alias", "joins", "sample")
    name, arguments = node.this.name.lower(), node.this.expressions
    if not 1 <= len(arguments) <= _MOST_ARGUMENTS:
        raise ProgrammingError(f"{name}() takes JSON and perhaps a path")
    context = context_of(binding, Scope(), f"{name}()")
    rows = json_rows(name, *(bind_expression(each, context) for each in arguments))
    row = new_column(binding, name, rows.type.value_type)
    columns = [(field.name, struct_field(row, field.name)) for field in row.type]
    plan = Unnest(Values((), ((),)), ((row, rows),))
    return plan, named_scope(alias[0], columns, alias[1])
