"""Aggregates as they are written, with DISTINCT, ORDER BY, FILTER and WITHIN GROUP.

sum(DISTINCT a), string_agg(a, ',' ORDER BY b), count(*) FILTER (WHERE c), mode() WITHIN GROUP ...
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.names import fold
from raydb.planner.expressions.aggregates import (
    AGGREGATES,
    ORDERED_AGGREGATES,
    QUANTILES,
    backward,
    bind_aggregate,
    bind_within_group,
)
from raydb.planner.expressions.collations import collated_key, compared_by
from raydb.planner.expressions.functions import bits
from raydb.planner.expressions.functions.nested import list_statistics, lists, maps
from raydb.planner.expressions.nodes import (
    AggregateCall,
    Call,
    Literal,
    OrderItem,
    has_subquery,
    leaves,
)
from raydb.planner.expressions.operators import arithmetic, concatenate
from raydb.planner.expressions.registry import SCALARS, is_volatile
from raydb.planner.expressions.signature import check_count, require_sortable
from raydb.planner.expressions.types import BIGINT, BOOLEAN, DOUBLE, TEXT
from raydb.planner.expressions.typing_rules import as_condition, choose, logical
from raydb.sql.bind.expression import computed
from raydb.sql.bind.expression.expression import Context, bind_all_of, bind_expression
from raydb.sql.parse.nodes import require_only, unsupported
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from raydb.planner.expressions.nodes import Expression

# Aggregates of JSON: how many arguments they have, and what stands around their members.
_JSON_GROUPS = {"json_group_array": (1, "[", "]"), "json_group_object": (2, "{", "}")}
_EXACT_SUMS = ("fsum", "kahan_sum", "sumkahan", "favg")
_EXTREMES_OF_NULLS = ("arg_min_null", "arg_max_null")
# Of what a window holds they would need lists for each row.
_GROUPS_ONLY = (*_EXACT_SUMS, *_EXTREMES_OF_NULLS, "bitstring_agg")
# Aggregates that may have a number of values behind them, and how many arguments come before it.
_FIRST_OF = {
    **dict.fromkeys(("min", "max"), 1),
    **dict.fromkeys(("arg_min", "argmin", "min_by", "arg_max", "argmax", "max_by"), 2),
}
# Calls whose result may be no aggregate's.
_COMPOSED = frozenset(
    (
        *("histogram", "histogram_exact", "mad", "geomean", "geometric_mean"),
        *("weighted_avg", "wavg", *_JSON_GROUPS, *_GROUPS_ONLY, *_FIRST_OF, *QUANTILES),
    )
)


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """A call taken apart; `within` are the keys of WITHIN GROUP.

    ignore_nulls: what IGNORE NULLS or RESPECT NULLS says, None for neither.
    """

    name: str
    arguments: tuple[exp.Expr, ...]
    distinct: bool = False
    order: tuple[exp.Expr, ...] = ()
    within: tuple[exp.Expr, ...] = ()
    filter: exp.Expr | None = None
    ignore_nulls: bool | None = None


def read_call(node: exp.Expr) -> WrittenCall:
    """Take a call of an aggregate or a window function apart."""
    match node:
        case exp.Filter(this=inner, expression=exp.Where() as where):
            require_only(node, "this", "expression")
            require_only(where, "this")
            return replace(read_call(inner), filter=where.this)
        case exp.IgnoreNulls(this=inner) | exp.RespectNulls(this=inner):
            require_only(node, "this")
            return replace(read_call(inner), ignore_nulls=isinstance(node, exp.IgnoreNulls))
        case exp.WithinGroup(this=inner, expression=exp.Order() as order):
            require_only(node, "this", "expression")
            require_only(order, "expressions")
            return replace(read_call(inner), within=tuple(order.expressions))
        case exp.Anonymous():
            require_only(node, "this", "expressions")
            return _read_arguments(node)
        case _:
            raise unsupported(node)


def _read_arguments(node: exp.Expr) -> WrittenCall:
    """Take the arguments of a call apart: DISTINCT comes first, ORDER BY last."""
    arguments = list(node.expressions)
    distinct, within_call, ignores = False, (), None
    if arguments and isinstance(arguments[-1], exp.Order):
        order = arguments.pop()
        require_only(order, "this", "expressions")
        arguments.append(order.this)
        within_call = tuple(order.expressions)
    if arguments and isinstance(arguments[0], exp.Distinct):
        require_only(arguments[0], "expressions")
        arguments[:1] = arguments[0].expressions
        distinct = True
    for place, argument in enumerate(arguments):  # lag(x IGNORE NULLS, 2), lag(x, 2 IGNORE NULLS)
        if isinstance(argument, exp.IgnoreNulls | exp.RespectNulls):
            require_only(argument, "this")
            arguments[place] = argument.this
            ignores = isinstance(argument, exp.IgnoreNulls)
    return WrittenCall(
        function_name(node), tuple(arguments), distinct, within_call, ignore_nulls=ignores
    )


def function_name(node: exp.Expr) -> str:
    """Return the name of a called function, in lower case."""
    return fold(node.name)


def bind_aggregate_call(written: WrittenCall, context: Context) -> AggregateCall:
    """Return an aggregate whose parts are bound in a context.

    Raises ProgrammingError for parts that do not go together.
    """
    name = written.name
    if written.ignore_nulls is not None:
        raise ProgrammingError(f"{name}() takes neither IGNORE NULLS nor RESPECT NULLS")
    call = _bind_function(written, context)
    if written.filter is not None:
        condition = as_condition(bind_expression(written.filter, context), "FILTER")
        both = [condition] if call.filter is None else [condition, call.filter]
        call = replace(call, filter=both[0] if len(both) == 1 else logical("and", both))
    order = bind_order_items(written.order, context)
    if call.distinct and any(item.expression not in call.arguments for item in order):
        if compared_by(call.arguments[:1]):
            raise NotSupportedError(
                f"{name}(DISTINCT x ORDER BY x) of texts that have a collation is not supported"
            )
        raise ProgrammingError(
            f"{name}(DISTINCT ...) can be ordered by its arguments only, as the others are not kept"
        )
    return replace(call, order_by=order) if call.function in ORDERED_AGGREGATES else call


def bind_composed(
    written: WrittenCall, context: Context, column_of: Callable[[WrittenCall], Expression]
) -> Expression:
    """Return what a call gives whose result is that of one aggregate, or is made of several.

    quantile_cont(x, [0.1, 0.9])  ->  [quantile_cont(x, 0.1), quantile_cont(x, 0.9)]
    histogram(x), mad(x)          ->  the counts of list(x), the distances of its values

    column_of: returns the column that holds the result of an aggregate.
    """
    if written.name not in _COMPOSED:
        return column_of(written)
    return _composed(written, context, column_of)


def _composed(
    written: WrittenCall, context: Context, column_of: Callable[[WrittenCall], Expression]
) -> Expression:
    if written.name in ("histogram", "histogram_exact"):
        is_exact = written.name == "histogram_exact"
        check_count(written.name, 1 + is_exact, 2, len(written.arguments))
        value, *bins = written.arguments
        listed = column_of(replace(written, name="list", arguments=(value,)))
        if not bins:
            return maps.histogram_of(listed)
        return maps.binned_histogram_of(written.name, listed, bind_expression(bins[0], context))
    if written.name == "mad":
        check_count("mad", 1, 1, len(written.arguments))
        return list_statistics.mad_of(column_of(replace(written, name="list")))
    if written.name in _JSON_GROUPS:
        return _json_group(written, column_of)
    if written.name in ("geomean", "geometric_mean"):
        check_count(written.name, 1, 1, len(written.arguments))
        logarithms = replace(written, name="avg", arguments=(_call("ln", *written.arguments),))
        return SCALARS["exp"].call("exp", [column_of(logarithms)])
    if written.name in ("weighted_avg", "wavg"):
        return _weighted_average(written, column_of)
    if context.clause == "a window function" and written.name in _GROUPS_ONLY:
        raise NotSupportedError(f"{written.name}() with OVER is not supported")
    if written.name in _EXACT_SUMS:
        check_count(written.name, 1, 1, len(written.arguments))
        value = exp.cast(written.arguments[0], "DOUBLE")
        listed = column_of(replace(written, name="list", arguments=(value,)))
        return Call("list_favg" if written.name == "favg" else "list_fsum", (listed,), DOUBLE)
    if written.name in _EXTREMES_OF_NULLS:
        return _extreme_or_null(written, column_of)
    if written.name == "bitstring_agg":
        return _bits_of_values(written, context, column_of)
    if written.name in _FIRST_OF and len(written.arguments) == _FIRST_OF[written.name] + 1:
        return _first_values(written, context, column_of)
    place = 0 if written.within else 1
    fractions = None
    if written.name in QUANTILES and len(written.arguments) == place + 1:
        fractions = _elements(written.arguments[place], context)
    if fractions is None:
        return column_of(written)
    before = written.arguments[:place]
    found = [column_of(replace(written, arguments=(*before, each))) for each in fractions]
    if not found:
        element = column_of(replace(written, arguments=(*before, exp.Literal.number(0))))
        return Literal((), pa.list_(element.type))
    nothing = Call("is_null", (found[0],), BOOLEAN)
    return choose([nothing], [Literal(None, pa.null()), lists.list_of(found)])


def _weighted_average(
    written: WrittenCall, column_of: Callable[[WrittenCall], Expression]
) -> Expression:
    check_count(written.name, 2, 2, len(written.arguments))
    value, weight = (exp.cast(each, "DOUBLE") for each in written.arguments)
    product = exp.Mul(this=exp.Paren(this=value), expression=exp.Paren(this=weight))
    counted = exp.If(this=exp.Not(this=exp.Is(this=value, expression=exp.Null())), true=weight)
    sums = [
        column_of(replace(written, name="sum", arguments=(each.copy(),)))
        for each in (product, exp.Case(ifs=[counted]))
    ]
    return arithmetic("divide", *sums)


def _present(values: Sequence[exp.Expr], condition: exp.Expr | None) -> exp.Expr:
    """Return the condition that values are there, and that another one holds."""
    present = [exp.Not(this=exp.Is(this=each.copy(), expression=exp.Null())) for each in values]
    conditions = present if condition is None else [condition, *present]
    return functools.reduce(lambda a, b: exp.And(this=a, expression=b), conditions)


def _extreme_or_null(
    written: WrittenCall, column_of: Callable[[WrittenCall], Expression]
) -> Expression:
    """Return arg_max_null(a, x) and its like, the first of the values in the order of x."""
    check_count(written.name, 2, 2, len(written.arguments))
    value, by = written.arguments
    key = exp.Ordered(this=by.copy(), desc="max" in written.name, nulls_first=False)
    is_there = _present((by,), written.filter)
    ordered = replace(written, name="first", arguments=(value,), order=(key,), filter=is_there)
    return column_of(ordered)


def _bits_of_values(
    written: WrittenCall, context: Context, column_of: Callable[[WrittenCall], Expression]
) -> Expression:
    """Return bitstring_agg(n, least, greatest), whose bits tell which numbers there are."""
    check_count(written.name, 3, 3, len(written.arguments))
    number, *ends = written.arguments
    values = [_constant(bind_expression(each, context), context) for each in ends]
    bounds = [each.value if isinstance(each, Literal) else None for each in values]
    listed = column_of(replace(written, name="list", arguments=(number,), distinct=True))
    return bits.bits_of_values(listed, *bounds)


def _first_values(
    written: WrittenCall, context: Context, column_of: Callable[[WrittenCall], Expression]
) -> Expression:
    """Return max(x, n), arg_max(a, x, n) and the like: the first values of a list in order."""
    *values, count = written.arguments
    number = _constant(bind_expression(count, context), context)
    most = number.value if isinstance(number, Literal) else None
    if not isinstance(most, int) or most < 1:
        raise ProgrammingError(f"{written.name}() needs a number of values from 1 on")
    is_descending = "max" in written.name
    is_there = _present(values, written.filter)
    listed = replace(written, name="list", arguments=(values[0],), filter=is_there)
    key = exp.Ordered(this=values[-1].copy(), desc=is_descending, nulls_first=False)
    found = column_of(replace(listed, order=(key,)))
    return lists.list_slice(found, Literal(1, BIGINT), Literal(most, BIGINT))


def _json_group(written: WrittenCall, column_of: Callable[[WrittenCall], Expression]) -> Expression:
    """Return json_group_array(x) or json_group_object(key, x), which join the texts of JSON."""
    count, opening, closing = _JSON_GROUPS[written.name]
    check_count(written.name, count, count, len(written.arguments))
    *keys, value = written.arguments
    member: exp.Expr = _call("coalesce", _call("to_json", value), exp.Literal.string("null"))
    for key in keys:
        text = _call("to_json", exp.cast(key, "VARCHAR"))
        colon = exp.DPipe(this=text, expression=exp.Literal.string(":"))
        member = exp.DPipe(this=colon, expression=member)
    parts = (member, exp.Literal.string(","))
    joined = column_of(replace(written, name="string_agg", arguments=parts))
    return concatenate(concatenate(Literal(opening, TEXT), joined), Literal(closing, TEXT))


def _call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=[each.copy() for each in arguments])


def _elements(node: exp.Expr, context: Context) -> list[exp.Expr] | None:
    """Return the elements of a list that is written so, or is a parameter; None for no list."""
    if isinstance(node, exp.Array):
        require_only(node, "expressions", "value_constructor")
        return list(node.expressions)
    if isinstance(node, exp.Parameter | exp.Placeholder):
        match bind_expression(node, context):
            case Literal(value=tuple() | list() as values):
                return [exp.convert(each) for each in values]
    return None


def _bind_function(written: WrittenCall, context: Context) -> AggregateCall:
    name, arguments = written.name, written.arguments
    if name == "count" and len(arguments) == 1 and isinstance(arguments[0], exp.Star):
        require_only(arguments[0])
        if written.distinct:
            raise ProgrammingError("count(DISTINCT *) is not possible; name a column")
        return AggregateCall("count_star", (), pa.int64())
    if name == "count" and not arguments and not written.distinct:
        return AggregateCall("count_star", (), pa.int64())
    bound = bind_all_of(arguments, context)
    # A separator or a fraction may be computed of constants.
    bound[1:] = [_constant(each, context) for each in bound[1:]]
    if not written.within:
        name, bound = _collated(name, bound, written.distinct)
        return _in_order(bind_aggregate(name, bound, written.distinct), written, context)
    if written.distinct or written.order or len(written.within) > 1:
        raise ProgrammingError(f"{name}() takes one ORDER BY, that of WITHIN GROUP, of one key")
    ((key, descending, _),) = (read_ordered(each) for each in written.within)
    return bind_within_group(name, bound, bind_expression(key, context), descending)


def _collated(
    name: str, arguments: list[Expression], distinct: bool
) -> tuple[str, list[Expression]]:
    """Return an aggregate that compares texts of a collation as one that compares their keys.

    min(x), max(x)       ->  arg_min(x, key), arg_max(x, key)
    arg_min(a, x)        ->  arg_min(a, key)
    count(DISTINCT x)    ->  count(DISTINCT key)
    """
    if not arguments or not compared_by(arguments[-1:]):
        return name, arguments
    *others, last = arguments
    if name in ("min", "max") and not others:
        return f"arg_{name}", [last, collated_key(last)]
    is_found = name in AGGREGATES and AGGREGATES[name].name in ("arg_min", "arg_max")
    if is_found or (name == "count" and distinct):
        return name, [*others, collated_key(last)]
    return name, arguments


def _constant(argument: Expression, context: Context) -> Expression:
    """Return what is computed of constants alone as its value."""
    is_computed = isinstance(argument, Call) and all(
        isinstance(leaf, Literal) for leaf in leaves(argument)
    )
    if not is_computed or is_volatile(argument) or has_subquery(argument):
        return argument
    return computed.compute_constant(argument, context.binding)


def _in_order(call: AggregateCall, written: WrittenCall, context: Context) -> AggregateCall:
    """Return an aggregate of ordered values that ORDER BY x DESC lets begin at the other end."""
    if call.function not in ("mode", "quantile_cont", "quantile_disc") or not written.order:
        return call
    key, descending, _ = read_ordered(written.order[0])
    if not descending or bind_expression(key, context) != bind_expression(
        written.arguments[0], context
    ):
        return call
    return backward(call)


def bind_order_items(nodes: tuple[exp.Expr, ...], context: Context) -> tuple[OrderItem, ...]:
    """Return the keys of an ORDER BY in an aggregate or a window; constants order nothing."""
    items = []
    for node in nodes:
        written, descending, nulls_first = read_ordered(node)
        key = collated_key(require_sortable(bind_expression(written, context)))
        if not isinstance(key, Literal):
            items.append(OrderItem(key, descending, nulls_first))
    return tuple(items)


def read_ordered(node: exp.Expr) -> tuple[exp.Expr, bool, bool]:
    """Return a key of ORDER BY, and whether it is descending and has NULLs first."""
    require_only(node, "this", "desc", "nulls_first")
    return node.this, bool(node.args.get("desc")), bool(node.args.get("nulls_first"))
