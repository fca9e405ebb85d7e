"""Calls of functions, bound: by name, or in a syntax of their own such as EXTRACT."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from raydb.errors import DataError, ProgrammingError, did_you_mean
from raydb.names import fold
from raydb.planner.expressions.aggregates import AGGREGATES, WINDOW_FUNCTIONS, is_aggregate
from raydb.planner.expressions.collations import collated_keys, compared_by
from raydb.planner.expressions.functions.moments import time, zones
from raydb.planner.expressions.nodes import Call, Literal
from raydb.planner.expressions.registry import SCALARS
from raydb.planner.expressions.signature import require_list
from raydb.planner.expressions.types import is_list
from raydb.planner.plan.table_function import TABLE_FUNCTIONS, SearchFunction
from raydb.sql.bind.expression import json_transform, lambdas, list_aggregate, window_call
from raydb.sql.bind.expression.aggregate_call import (
    bind_aggregate_call,
    bind_composed,
    function_name,
    read_call,
)
from raydb.sql.bind.expression.expression import Context, bind_all_of, bind_expression, binds
from raydb.sql.bind.expression.plain import bind_struct
from raydb.sql.bind.expression.subquery import (
    bind_array_subquery,
    bind_exists,
    bind_scalar_subquery,
    query_in,
)
from raydb.sql.macros import system_call
from raydb.sql.types import bound_type
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.planner.expressions.nodes import Column, Expression
    from raydb.sql.bind.expression.aggregate_call import WrittenCall

_CURRENT: dict[type[exp.Expr], str] = {
    exp.CurrentDate: "current_date",
    exp.CurrentTime: "current_time",
    exp.CurrentTimestamp: "current_timestamp",
    exp.Localtime: "localtime",
    exp.Localtimestamp: "localtimestamp",
}
# Functions with a syntax of their own, and the parts of their nodes that are arguments.
_SYNTAX: dict[type[exp.Expr], tuple[str, tuple[str, ...]]] = {
    exp.ArrayContainedBy: ("list_has_all", ("expression", "this")),
    exp.ArrayContainsAll: ("list_has_all", ("this", "expression")),
    exp.ArrayOverlaps: ("list_has_any", ("this", "expression")),
    exp.Overlay: ("overlay", ("this", "expression", "from_", "for_")),
    exp.Pow: ("power", ("this", "expression")),
    exp.StrPosition: ("position", ("this", "substr")),
    exp.Substring: ("substring", ("this", "start", "length")),
}


# Functions that look for a text in another, which a collation says how to compare.
_COMPARING = frozenset({"position", "starts_with", "ends_with", "contains"})

# More levels than a type may have.
_ALL_LEVELS = 100


def _call(name: str, arguments: Sequence[Expression]) -> Expression:
    """Return a call of a scalar function by its SQL name (in lower case)."""
    if name not in SCALARS:
        known = (*SCALARS, *AGGREGATES, "cast", "extract")
        raise ProgrammingError(f"function '{name}' does not exist{did_you_mean(name, known)}")
    function = SCALARS[name]
    call = function.call(name, arguments)
    if function.name in _COMPARING and isinstance(call, Call):
        call = replace(call, arguments=collated_keys(call.arguments, compared_by(arguments)))
    return call


@binds(exp.StartsWith, reads="this expression")
def _starts_with(node: exp.Expr, context: Context) -> Expression:
    """Return text ^@ part."""
    return _call("starts_with", bind_all_of((node.this, node.expression), context))


@binds(exp.CurrentCatalog, exp.CurrentSchema)
def _current_place(node: exp.Expr, _: Context) -> Expression:
    name = "current_catalog" if isinstance(node, exp.CurrentCatalog) else "current_schema"
    return _call(name, ())


@binds(exp.CurrentUser, exp.SessionUser)
def _current_user(_: exp.Expr, __: Context) -> Expression:
    return _call("current_user", ())


@binds(*_CURRENT)
def _current(node: exp.Expr, _: Context) -> Expression:
    return zones.current_moment(_CURRENT[type(node)])


@binds(exp.Extract, reads="this expression")
def _extract(node: exp.Expr, context: Context) -> Expression:
    return time.date_part(node.this.name.lower(), bind_expression(node.expression, context))


@binds(exp.AtTimeZone, reads="this zone")
def _at_time_zone(node: exp.Expr, context: Context) -> Expression:
    moment, zone = bind_all_of((node.this, node.args["zone"]), context)
    return zones.at_time_zone(moment, zone)


@binds(exp.Trim, reads="this position expression")
def _trim(node: exp.Expr, context: Context) -> Expression:
    side = (node.args.get("position") or "both").lower()
    function = {"both": "trim", "leading": "ltrim", "trailing": "rtrim"}[side]
    return SCALARS[function].call("trim", bind_all_of((node.this, node.expression), context))


def _with_syntax(node: exp.Expr, context: Context) -> Expression:
    name, parts = _SYNTAX[type(node)]
    return _call(name, bind_all_of(map(node.args.get, parts), context))


for _kind, (_, _parts) in _SYNTAX.items():
    binds(_kind, reads=" ".join(_parts))(_with_syntax)


@binds(exp.Anonymous, reads="this expressions")
def _function(node: exp.Expr, context: Context) -> Expression:
    name = function_name(node)
    if name == "array" and len(node.expressions) == 1 and query_in(node.expressions[0]):
        return bind_array_subquery(node.expressions[0], context)
    if name == "exists" and len(node.expressions) == 1 and query_in(node.expressions[0]):
        return bind_exists(node.expressions[0], context)  # EXISTS (VALUES ...)
    if is_aggregate(name) or name in WINDOW_FUNCTIONS:
        return _aggregate(node, context)
    if name in lambdas.LAMBDA_FUNCTIONS:
        return lambdas.bind_lambda_call(name, node.expressions, context)
    if (
        aggregate := list_aggregate.bind_list_aggregate(name, node.expressions, context)
    ) is not None:
        return aggregate
    if (
        transformed := json_transform.bind_json_transform(name, node.expressions, context)
    ) is not None:
        return transformed
    if name == "try" and len(node.expressions) == 1:
        return _try(node.expressions[0], context)
    if name == "struct_pack":
        return bind_struct(node.expressions, context)
    if name in ("struct_insert", "struct_update") and node.expressions:
        operand, *values = node.expressions
        return _call(name, [bind_expression(operand, context), bind_struct(values, context)])
    if name == "unnest":
        return _unnest(node, context)
    if isinstance(TABLE_FUNCTIONS.get(name), SearchFunction):
        raise ProgrammingError(f"{name}() gives rows, so it stands in FROM")
    if name in ("grouping", "grouping_id"):
        return _grouping(node, context)
    if name not in SCALARS and (system := system_call(name, node)) is not None:
        return bind_expression(system, context)
    return _call(name, bind_all_of(node.expressions, context))


def _try(node: exp.Expr, context: Context) -> Expression:
    """Return TRY(a), which is NULL where constants cannot be read already."""
    try:
        return _call("try", [bind_expression(node, context)])
    except DataError:
        kind = bound_type(node.to) if isinstance(node, exp.Cast) else pa.null()
        return Literal(None, kind)


@binds(exp.Filter, exp.WithinGroup, reads="this expression")
@binds(exp.IgnoreNulls, exp.RespectNulls, reads="this")
def _aggregate(node: exp.Expr, context: Context) -> Expression:
    written = read_call(node)
    if written.name in WINDOW_FUNCTIONS:
        raise ProgrammingError(f"the window function {written.name}() needs OVER (...)")
    if not is_aggregate(written.name):
        raise ProgrammingError(f"{written.name}() is no aggregate")
    if context.aggregates is None:
        raise ProgrammingError(f"{context.clause} cannot contain the aggregate {written.name}")
    inner = replace(context, clause="an aggregate", aggregates=None, windows=None, unnests=None)
    aggregates = context.aggregates

    def column_of(call: WrittenCall) -> Column:
        return aggregates.column_of(bind_aggregate_call(call, inner))

    return bind_composed(written, inner, column_of)


def _unnest(node: exp.Expr, context: Context) -> Expression:
    if context.unnests is None:
        raise ProgrammingError(
            f"{context.clause} cannot contain unnest(), which is for FROM and the select list"
        )
    depth = unnest_depth(node)
    inner = replace(context, clause="unnest()", unnests=None)
    lists = require_list("unnest()", bind_expression(node.expressions[0], inner))
    while depth > 1 and is_list(lists.type.value_type):
        lists, depth = _call("flatten", [lists]), depth - 1
    return context.unnests.column_of(lists)


def unnest_depth(node: exp.Expr) -> int:
    """Return how many levels unnest(list, recursive := true) or max_depth := n takes apart."""
    _, *options = node.expressions or [None]
    if not options:
        if node.expressions:
            return 1
        raise ProgrammingError("unnest() takes 1 argument here, not 0")
    match options:
        case [exp.PropertyEQ() | exp.Kwarg() as option]:
            name, value = fold(option.this.name), option.expression
            if name == "recursive" and isinstance(value, exp.Boolean):
                return _ALL_LEVELS if value.this else 1
            is_count = isinstance(value, exp.Literal) and value.is_int
            if name == "max_depth" and is_count and int(value.name) > 0:
                return min(int(value.name), _ALL_LEVELS)
    raise ProgrammingError(
        "unnest() takes a list here, and recursive := true or max_depth := a number"
    )


def inside_lists(kind: pa.DataType, depth: int) -> tuple[pa.DataType, int]:
    """Return what is in a list after so many levels at most, and how many of these are left."""
    while depth and is_list(kind):
        kind, depth = kind.value_type, depth - 1
    return kind, depth


@binds(exp.Window, reads=" ".join(exp.Window.arg_types))
def _window(node: exp.Expr, context: Context) -> Expression:
    return window_call.bind_window(node, context)


def _grouping(node: exp.Expr, context: Context) -> Expression:
    if context.aggregates is None:
        raise ProgrammingError(f"{context.clause} cannot contain GROUPING")
    if not node.expressions:
        raise ProgrammingError("GROUPING needs keys of GROUP BY")
    inner = replace(context, clause="GROUPING", aggregates=None)
    keys = tuple(bind_all_of(node.expressions, inner))
    return context.aggregates.grouping_of(keys)


@binds(exp.Exists, reads="this")
def _exists(node: exp.Expr, context: Context) -> Expression:
    return bind_exists(node.this, context)


binds(exp.Subquery, reads="this with_ order limit offset")(bind_scalar_subquery)
