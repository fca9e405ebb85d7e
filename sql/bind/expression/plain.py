"""Names, parameters, constants and lists, bound."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.planner.expressions.functions.lists import list_element, list_of, list_slice
from raydb.planner.expressions.functions.time_arithmetic import interval_of_units
from raydb.planner.expressions.literals import constant
from raydb.planner.expressions.nodes import Expression, Literal
from raydb.planner.expressions.types import BOOLEAN
from raydb.sql.bind.expression.constants import (
    escaped_string,
    hex_constant,
    interval_constant,
    interval_unit,
    joined_string,
)
from raydb.sql.bind.expression.expression import Context, bind_all_of, bind_expression, binds
from raydb.sql.parse.nodes import require_only
from raydb.sql.parse.reader import fold
from raydb.sql.template.parameters import parameter_key


@binds(exp.Column, reads="this table")
def _column(node: exp.Expr, context: Context) -> Expression:
    if isinstance(node.this, exp.Star):
        raise ProgrammingError(f"* is not allowed in {context.clause}")
    table = node.args.get("table")
    return context.resolve(fold(node.this), None if table is None else fold(table))


@binds(exp.Star)
def _star(_: exp.Expr, context: Context) -> Expression:
    raise ProgrammingError(f"* is not allowed in {context.clause}")


@binds(exp.Alias, reads="this alias")
def _alias(node: exp.Expr, context: Context) -> Expression:
    raise ProgrammingError(f"the alias '{node.alias}' is not allowed inside {context.clause}")


@binds(exp.Paren, reads="this")
def _paren(node: exp.Expr, context: Context) -> Expression:
    return bind_expression(node.this, context)


@binds(exp.Literal, reads="this is_string")
def _literal(node: exp.Expr, context: Context) -> Expression:
    literal = constant(node.name, is_string=node.is_string)
    slots = None if context.binding is None else context.binding.slots
    return literal if slots is None else slots.parameterize(node, literal)


@binds(exp.Boolean, reads="this")
def _boolean(node: exp.Expr, _: Context) -> Expression:
    return Literal(bool(node.this), BOOLEAN)


@binds(exp.Null)
def _null(_: exp.Expr, __: Context) -> Expression:
    return Literal(None, pa.null())


@binds(exp.Parameter, exp.Placeholder, reads="this")
def _parameter(node: exp.Expr, context: Context) -> Expression:
    key = parameter_key(node)
    if key not in context.parameters:
        raise ProgrammingError(f"a parameter is not allowed in {context.clause}")
    return context.parameters[key]


@binds(exp.HexString, reads="this")
def _hex(node: exp.Expr, _: Context) -> Expression:
    return hex_constant(node)


@binds(exp.ByteString, reads="this")
def _escaped(node: exp.Expr, _: Context) -> Expression:
    return escaped_string(node)


@binds(exp.Concat, reads="expressions coalesce")
def _joined(node: exp.Expr, _: Context) -> Expression:
    return joined_string(node)


@binds(exp.Interval, reads="this unit")
def _interval(node: exp.Expr, context: Context) -> Expression:
    assert isinstance(node, exp.Interval)
    if isinstance(node.this, exp.Literal):
        return interval_constant(node)
    return interval_of_units(bind_expression(node.this, context), interval_unit(node))


@binds(exp.Array, reads="expressions value_constructor")
def _array(node: exp.Expr, context: Context) -> Expression:
    return list_of(bind_all_of(node.expressions, context))


@binds(exp.Bracket, reads="this expressions")
def _bracket(node: exp.Expr, context: Context) -> Expression:
    """Return list[index] or list[first:last]."""
    operand = bind_expression(node.this, context)
    if len(node.expressions) != 1:
        raise NotSupportedError("a subscript of several numbers is not supported; write a[1][2]")
    index = node.expressions[0]
    if not isinstance(index, exp.Slice):
        return list_element(operand, bind_expression(index, context))
    require_only(index, "this", "expression")
    bounds = (index.this, index.expression)
    first, last = (None if each is None else bind_expression(each, context) for each in bounds)
    return list_slice(operand, first, last)
