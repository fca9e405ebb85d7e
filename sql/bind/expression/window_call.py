"""Window functions: what stands before OVER, the window behind it, and the frame.

    sum(x) OVER (PARTITION BY a ORDER BY b ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)
    rank() OVER w ... WINDOW w AS (ORDER BY b)

As in PostgreSQL the frame is RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW where none is
written: without ORDER BY that is the whole partition.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from raydb.errors import NotSupportedError, ProgrammingError, did_you_mean
from raydb.names import fold
from raydb.planner.expressions.aggregates import ORDERED_AGGREGATES, WINDOW_FUNCTIONS, is_aggregate
from raydb.planner.expressions.collations import collated_key
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.nodes import Bound, Frame, Literal, OrderItem, WindowCall, columns_of
from raydb.planner.expressions.types import (
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    common_type,
    is_integer,
    is_interval,
    is_moment,
    is_number,
)
from raydb.planner.expressions.typing_rules import cast, unify
from raydb.sql.bind.expression.aggregate_call import (
    bind_aggregate_call,
    bind_composed,
    bind_order_items,
    read_call,
)
from raydb.sql.bind.expression.computed import compute_constant
from raydb.sql.bind.expression.expression import Context, bind_all_of, bind_expression
from raydb.sql.parse.nodes import require_only, unsupported
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal as OneOf

    from raydb.planner.expressions.nodes import Column, Expression
    from raydb.sql.bind.expression.aggregate_call import WrittenCall

_START, _HERE, _END = (
    Bound("unbounded_preceding"),
    Bound("current_row"),
    Bound("unbounded_following"),
)
_DEFAULT_FRAME = Frame("range", _START, _HERE)
_WHOLE = Frame("rows", _START, _END)
_PLACES = ("unbounded_preceding", "preceding", "current_row", "following", "unbounded_following")

# What sees the rows of a frame in their order, and what has another meaning for an ORDER BY.
_IN_ORDER = ORDERED_AGGREGATES | {"first_value", "last_value", "nth_value"}
_BY_ORDER = frozenset({"mode", "quantile_cont", "quantile_disc"})
# Other names; DuckDB's aggregates first and last are these where there is OVER.
_OTHER_NAMES = {"first": "first_value", "last": "last_value", "rank_dense": "dense_rank"}


@dataclass(frozen=True, slots=True)
class _WindowParts:
    """What OVER or WINDOW says, with what it has from the window it refers to."""

    partition_by: tuple[Expression, ...] = ()
    order_by: tuple[OrderItem, ...] = ()
    frame: exp.Expr | None = None


def bind_window(node: exp.Expr, context: Context) -> Expression:
    """Return the column of a window function, or what is made of several.

    Raises ProgrammingError where a window function cannot be and for a window that makes no sense,
    NotSupportedError for parts that are not supported.
    """
    written = read_call(node.this)
    if context.windows is None:
        raise ProgrammingError(
            f"{context.clause} cannot contain the window function {written.name}"
        )
    if node.args.get("over") not in (None, "OVER"):
        raise NotSupportedError(f"{node.args['over']} is not supported")
    inner = replace(context, clause="a window function", windows=None, unnests=None)
    parts = _read_window(node, context.windows.named, inner)
    order_by, frame = _bind_frame(parts, inner)
    windows = context.windows

    def column_of(each: WrittenCall) -> Column:
        call = _bind_function(replace(each, order=()), inner)
        call = replace(call, partition_by=parts.partition_by, order_by=order_by, frame=frame)
        return windows.column_of(_in_own_order(call, each, inner) if each.order else call)

    return bind_composed(written, inner, column_of)


# -- functions


def _bind_function(written: WrittenCall, context: Context) -> WindowCall:
    """Return the call, whose window is filled in later."""
    name = _OTHER_NAMES.get(written.name, written.name)
    if name not in WINDOW_FUNCTIONS:
        return _bind_aggregate(written, context)
    if written.filter is not None:
        raise ProgrammingError(f"{name}() takes no FILTER, as it is no aggregate")
    if written.distinct:
        raise ProgrammingError(f"{name}() takes no DISTINCT, as it is no aggregate")
    signature = WINDOW_FUNCTIONS[name].signature
    if written.ignore_nulls is not None and isinstance(signature.result, pa.DataType):
        raise ProgrammingError(f"{name}() has no NULLs to ignore or respect")
    signature.check_count(name, len(written.arguments))
    bound = bind_all_of(written.arguments, context)
    arguments, kind = signature.check(name, bound)
    if len(arguments) == 3:
        value, default = unify((arguments[0], arguments[2]), "combine")
        arguments, kind = (value, arguments[1], default), value.type
    return WindowCall(
        name, arguments, kind, (), (), _DEFAULT_FRAME, ignore_nulls=bool(written.ignore_nulls)
    )


def _bind_aggregate(written: WrittenCall, context: Context) -> WindowCall:
    if not is_aggregate(written.name):
        names = (*WINDOW_FUNCTIONS, *_OTHER_NAMES)
        raise ProgrammingError(
            f"'{written.name}' is no window function and no aggregate"
            f"{did_you_mean(written.name, names)}"
        )
    call = bind_aggregate_call(written, context)
    return WindowCall(
        call.function,
        call.arguments,
        call.type,
        (),
        (),
        _DEFAULT_FRAME,
        distinct=call.distinct,
        filter=call.filter,
    )


def _in_own_order(call: WindowCall, written: WrittenCall, context: Context) -> WindowCall:
    """Return a call that sees the rows of its frame in an order of its own.

        list(x ORDER BY y) OVER (PARTITION BY a)   list(x) OVER (PARTITION BY a ORDER BY y ROWS
                                                   BETWEEN UNBOUNDED PRECEDING AND ... FOLLOWING)

    Raises NotSupportedError where the frame is not the whole partition, unless the window has the
    same order.
    """
    order_by, frame = bind_order_items(written.order, context), call.frame
    asks_for_order = call.function in _IN_ORDER | _BY_ORDER or not is_aggregate(written.name)
    if order_by == call.order_by or not asks_for_order:
        return call
    is_default = frame == _DEFAULT_FRAME and not call.order_by
    is_whole = is_default or replace(frame, unit="rows") == _WHOLE
    if not is_whole or call.function not in _IN_ORDER:
        raise NotSupportedError(
            f"ORDER BY in {written.name}() with OVER is not supported here; it goes behind OVER"
        )
    return replace(call, order_by=order_by, frame=_WHOLE)


# -- windows


def _read_window(node: exp.Expr, named: Mapping[str, exp.Expr], context: Context) -> _WindowParts:
    """Return the parts of a window, which may refer to one of those that have names."""
    require_only(node, "this", "partition_by", "order", "spec", "alias", "over", "first")
    base = _WindowParts()
    alias = node.args.get("alias")
    if alias is not None:
        base = _named_window(alias.name, named, context)
    partition_by = tuple(
        collated_key(key)
        for written in node.args.get("partition_by") or ()
        if not isinstance(key := bind_expression(written, context), Literal)
    )
    order = node.args.get("order")
    order_by: tuple[OrderItem, ...] = ()
    if order is not None:
        require_only(order, "expressions")
        order_by = bind_order_items(tuple(order.expressions), context)
    frame = node.args.get("spec")
    if alias is not None:
        name = alias.name
        if partition_by:
            raise ProgrammingError(f"PARTITION BY cannot be added to the window '{name}'")
        if order is not None and base.order_by:
            raise ProgrammingError(f"the window '{name}' has an ORDER BY already")
        if (order is not None or frame is not None) and base.frame is not None:
            raise ProgrammingError(f"the window '{name}' has a frame; nothing can be added to it")
    return _WindowParts(
        base.partition_by or partition_by, base.order_by or order_by, frame or base.frame
    )


def _named_window(name: str, named: Mapping[str, exp.Expr], context: Context) -> _WindowParts:
    """Return the parts of a window of the clause WINDOW."""
    if fold(name) not in named:
        known = [window.this.name for window in named.values()]
        raise ProgrammingError(f"window '{name}' does not exist{did_you_mean(name, known)}")
    # A window sees those that are defined before it.
    before = dict(itertools.takewhile(lambda entry: entry[0] != fold(name), named.items()))
    return _read_window(named[fold(name)], before, context)


# -- frames


def _bind_frame(parts: _WindowParts, context: Context) -> tuple[tuple[OrderItem, ...], Frame]:
    """Return the frame, and the order with its key in the type in which RANGE compares."""
    spec, order_by = parts.frame, parts.order_by
    if spec is None:
        return order_by, _DEFAULT_FRAME
    require_only(spec, "kind", "start", "start_side", "end", "end_side", "exclude")
    unit = spec.args["kind"].lower()
    assert unit in ("rows", "range", "groups"), "the parser knows no other unit"
    start = _bind_bound(spec, "start", context)
    end = _HERE if spec.args.get("end") is None else _bind_bound(spec, "end", context)
    _check_order(start, end)
    if unit == "groups" and not order_by:
        raise ProgrammingError("GROUPS needs an ORDER BY in the window")
    if start.offset is not None or end.offset is not None:
        if unit == "range":
            order_by, start, end = _bind_range(order_by, start, end)
        else:
            for bound in (start, end):
                _check_whole_offset(bound, unit.upper())
    return order_by, Frame(unit, start, end, _bind_exclude(spec.args.get("exclude")))


def _bind_bound(spec: exp.Expr, side: str, context: Context) -> Bound:
    """Return the start or the end of a frame; an offset becomes a constant."""
    written = spec.args.get(side)
    direction = spec.args.get(f"{side}_side")
    if written == "CURRENT ROW":
        return _HERE
    following = direction == "FOLLOWING"
    if written == "UNBOUNDED":
        return _END if following else _START
    assert isinstance(written, exp.Expr), "an offset is an expression"
    own = replace(context, clause="the offset of a frame", aggregates=None, binding=None)
    offset = bind_expression(written, own)
    if columns_of(offset):
        raise ProgrammingError("the offset of a frame must be a constant")
    if not isinstance(offset, Literal):
        offset = compute_constant(offset, context.binding)
    if offset.value is None:
        raise ProgrammingError("the offset of a frame must not be NULL")
    if _is_negative(offset):
        raise ProgrammingError("the offset of a frame must not be negative")
    return Bound("following" if following else "preceding", offset)


def _is_negative(offset: Literal) -> bool:
    if is_interval(offset.type):
        return any(part < 0 for part in offset.value)
    return is_number(offset.type) and bool(offset.value < 0)


def _check_order(start: Bound, end: Bound) -> None:
    """Raise ProgrammingError for a frame that could never hold a row."""
    if start.kind == "unbounded_following":
        raise ProgrammingError("a frame cannot start with UNBOUNDED FOLLOWING")
    if end.kind == "unbounded_preceding":
        raise ProgrammingError("a frame cannot end with UNBOUNDED PRECEDING")
    if _PLACES.index(start.kind) > _PLACES.index(end.kind):
        words = (bound.kind.replace("_", " ").upper() for bound in (start, end))
        raise ProgrammingError("a frame from {} cannot end with {}".format(*words))


def _check_whole_offset(bound: Bound, unit: str) -> None:
    offset = bound.offset
    if offset is not None and not is_integer(offset.type):
        raise ProgrammingError(f"{unit} needs an integer as the offset, not {describe(offset)}")


def _bind_range(
    order_by: tuple[OrderItem, ...], start: Bound, end: Bound
) -> tuple[tuple[OrderItem, ...], Bound, Bound]:
    """Bring the key and the offsets of RANGE to types that can be added."""
    if len(order_by) != 1:
        raise ProgrammingError("RANGE with an offset needs exactly one key in ORDER BY")
    (item,) = order_by
    key = item.expression
    offsets = [bound.offset for bound in (start, end) if bound.offset is not None]
    kind: pa.DataType | None = None
    if is_moment(key.type):
        if all(is_interval(each.type) for each in offsets):
            kind = key.type if key.type in (TIMESTAMPTZ, TIMESTAMP_NS) else TIMESTAMP
    elif is_number(key.type) and all(is_number(each.type) for each in offsets):
        kind = key.type
        for each in offsets:
            kind = common_type(kind, each.type)
        kind = pa.float64() if kind == pa.float32() else kind
    if kind is None:
        raise ProgrammingError(
            f"RANGE cannot add {' or '.join(map(describe, offsets))} to {describe(key)}"
        )
    target = None if is_moment(key.type) else kind
    return (
        (replace(item, expression=cast(key, kind)),),
        _cast_bound(start, target),
        _cast_bound(end, target),
    )


def _cast_bound(bound: Bound, target: pa.DataType | None) -> Bound:
    if bound.offset is None or target is None:
        return bound
    (value,) = evaluate(cast(bound.offset, target), {}, 1).to_pylist()
    return replace(bound, offset=Literal(value, target))


def _bind_exclude(
    written: exp.Expr | None,
) -> OneOf["no_others", "current_row", "group", "ties"]:
    if written is None:
        return "no_others"
    match written.name.upper():
        case "NO OTHERS":
            return "no_others"
        case "CURRENT ROW":
            return "current_row"
        case "GROUP":
            return "group"
        case "TIES":
            return "ties"
    raise unsupported(written)
