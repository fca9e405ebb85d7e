"""Names, parameters, constants and lists, bound."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.names import Qualified, fold
from raydb.planner.catalog import CATALOG, MAIN
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.functions.moments import time_arithmetic
from raydb.planner.expressions.functions.nested import lists, maps, structs, subscripts
from raydb.planner.expressions.literals import constant
from raydb.planner.expressions.nodes import Expression, Literal
from raydb.planner.expressions.types import BOOLEAN, TEXT, is_map, is_struct
from raydb.sql.bind.expression import constants, lambdas
from raydb.sql.bind.expression.expression import Context, bind_all_of, bind_expression, binds
from raydb.sql.bind.scope import row_table
from raydb.sql.parse.nodes import before_dot, require_only, unsupported
from raydb.sql.parse.reader import name_in
from raydb.sql.parse.schema_names import INFORMATION, PG_CATALOG
from raydb.sql.template.parameters import parameter_key

if TYPE_CHECKING:
    from collections.abc import Sequence


# What may stand before the name of a function and says no more.
_SYSTEM = (MAIN, CATALOG, PG_CATALOG, INFORMATION, "system")


@binds(exp.Column, reads="this table db catalog")
def _column(node: exp.Expr, context: Context) -> Expression:
    """Return a column, or a field of one: a, t.a, shop.t.a, s.field, t.s.field.field."""
    if isinstance(node.this, exp.Star):
        raise ProgrammingError(f"* is not allowed in {context.clause}")
    args = node.args
    if args.get("table") is None:
        return context.resolve(name_in(node.this), None)
    parts = [args[part] for part in ("catalog", "db", "table", "this") if args.get(part)]
    found, rest = _qualified(parts, context)
    for name in rest:
        found = _field(found, name)
    return found


@binds(exp.PositionalColumn, reads="this")
def _positional(node: exp.Expr, context: Context) -> Expression:
    """Return the column at a place in FROM, #1."""
    columns = [column for table in context.scope.tables for _, column in table.columns]
    if not 1 <= int(node.name) <= len(columns):
        raise ProgrammingError(f"#{node.name} is no column of FROM, which has {len(columns)}")
    return columns[int(node.name) - 1]


def _qualified(
    parts: Sequence[exp.Expr], context: Context
) -> tuple[Expression, Sequence[exp.Expr]]:
    """Return the column that begins a name of several parts, and the fields that follow."""
    first, second = name_in(parts[0]), name_in(parts[1])
    wrong = None
    if len(parts) > 3:
        with suppress(ProgrammingError):
            place = Qualified(name_in(parts[2]), second, first)
            return context.resolve(name_in(parts[3]), place), parts[4:]
    if len(parts) > 2:
        try:
            return context.resolve(name_in(parts[2]), Qualified(second, first)), parts[3:]
        except ProgrammingError as error:
            wrong = error
    try:
        return context.resolve(second, first), parts[2:]
    except ProgrammingError as error:
        # No table of that name, or one without the column: it may be a struct.
        wrong = wrong or error
        if row_table(context.scope, first) is not None:
            raise wrong from None
        try:
            found = context.resolve(first, None)
        except ProgrammingError:
            raise wrong from None
        if not (is_struct(found.type) or is_map(found.type)):
            raise wrong from None
    return found, parts[1:]


def _field(operand: Expression, name: exp.Expr) -> Expression:
    """Return a field of a struct, or the value of a key that is text in a map."""
    if is_map(operand.type) and operand.type.key_type == TEXT:
        return maps.map_value(operand, Literal(name_in(name), TEXT))
    if not is_struct(operand.type):
        raise ProgrammingError(f"{describe(operand)} has no field '{name.name}': it is no struct")
    return structs.struct_field(operand, name_in(name))


@binds(exp.Dot, reads="this expression")
def _dot(node: exp.Expr, context: Context) -> Expression:
    """Return (s).field, a field of what a function gives, or x.f(y), which is f(x, y)."""
    if isinstance(node.expression, exp.Identifier):
        return _field(bind_expression(node.this, context), node.expression)
    if not isinstance(node.expression, exp.Anonymous):
        raise unsupported(node)
    written = node.expression
    is_system = isinstance(node.this, exp.Identifier) and fold(node.this.name) in _SYSTEM
    first = [] if is_system else [before_dot(node.this)]
    call = exp.Anonymous(this=written.this, expressions=[*first, *written.expressions])
    call.parent, call.arg_key, call.index = node.parent, node.arg_key, node.index
    return bind_expression(call, context)


@binds(exp.Struct, reads="expressions")
def _struct(node: exp.Expr, context: Context) -> Expression:
    """Return {'a': x}."""
    return bind_struct(node.expressions, context)


def bind_struct(nodes: Sequence[exp.Expr], context: Context) -> Expression:
    """Return the struct of fields that are written as `name: value` or `name := value`."""
    pairs = []
    for each in nodes:
        if not isinstance(each, exp.PropertyEQ):
            raise ProgrammingError("a field of a struct needs a name, as in {'a': 1}")
        pairs.append((each.this.name, bind_expression(each.expression, context)))
    return structs.struct_of_pairs(pairs, "a struct")


@binds(exp.Map, reads="keys values")
def _map(node: exp.Expr, context: Context) -> Expression:
    """Return MAP {key: value}."""
    parts = (node.args[name].expressions for name in ("keys", "values"))
    return maps.map_of(*(bind_all_of(each, context) for each in parts))


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
    return constants.hex_constant(node)


@binds(exp.ByteString, reads="this")
def _escaped(node: exp.Expr, _: Context) -> Expression:
    return constants.escaped_string(node)


@binds(exp.Concat, reads="expressions coalesce")
def _joined(node: exp.Expr, _: Context) -> Expression:
    return constants.joined_string(node)


@binds(exp.Interval, reads="this unit")
def _interval(node: exp.Expr, context: Context) -> Expression:
    assert isinstance(node, exp.Interval)
    if isinstance(node.this, exp.Literal):
        return constants.interval_constant(node)
    return time_arithmetic.interval_of_units(
        bind_expression(node.this, context), constants.interval_unit(node)
    )


@binds(exp.Array, reads="expressions value_constructor")
def _array(node: exp.Expr, context: Context) -> Expression:
    if len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Comprehension):
        return lambdas.bind_comprehension(node.expressions[0], context)
    slots = None if context.binding is None else context.binding.slots
    vector = None if slots is None else slots.vector(node)
    if vector is not None:
        return vector
    return lists.list_of(bind_all_of(node.expressions, context))


@binds(exp.Bracket, reads="this expressions")
def _bracket(node: exp.Expr, context: Context) -> Expression:
    """Return list[index], list[first:last], struct['name'], map[key] or those of a text."""
    operand = bind_expression(node.this, context)
    if len(node.expressions) != 1:
        raise NotSupportedError("a subscript of several numbers is not supported; write a[1][2]")
    index = node.expressions[0]
    if not isinstance(index, exp.Slice):
        return subscripts.element(operand, bind_expression(index, context))
    require_only(index, "this", "expression")
    bounds = (index.this, index.expression)
    first, last = (None if each is None else bind_expression(each, context) for each in bounds)
    return subscripts.part(operand, first, last)


@binds(exp.Tuple, reads="expressions")
def _row(node: exp.Expr, context: Context) -> Expression:
    """Return (a, b, ...) as a value: a struct, as of ROW(a, b, ...)."""
    if not node.expressions:
        raise ProgrammingError("a row () has no value")
    return structs.row_of(bind_all_of(node.expressions, context))
