"""Comparisons."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from raydb.errors import DataError
from raydb.planner.expressions.casts.casts import Values, cast_values
from raydb.planner.expressions.doubles import canonical_floats, order_codes
from raydb.planner.expressions.function import Function
from raydb.planner.expressions.functions.decimals import is_narrow, unscaled
from raydb.planner.expressions.functions.lists import by_columns, equal_lists, lists_of
from raydb.planner.expressions.intervals import order_intervals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raydb.planner.expressions.nodes import Call


_COMPARED = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


def _compare(name: str, _: Call, left: Values, right: Values) -> Values:
    """Compare; doubles in total order, intervals with 30 days a month, lists for equality only."""
    if pt.is_nested(left.type):
        equal = equal_lists(left, right)
        return equal if name == "equal" else pc.invert(equal)
    compute = getattr(pc, name)
    left, right = order_intervals(left), order_intervals(right)
    if pt.is_floating(left.type) or pt.is_floating(right.type):
        left, right = cast_values(left, pa.float64()), cast_values(right, pa.float64())
        if any(pc.any(pc.is_nan(value)).as_py() for value in (left, right)):
            left, right = order_codes(left), order_codes(right)
    elif left.type == right.type and is_narrow(left.type):
        left, right = unscaled(left), unscaled(right)
    return compute(left, right)


def _compare_any(name: str, call: Call, operand: Values, values: Values) -> Values:
    """Return whether a comparison with some element holds, or may hold where one is NULL."""

    def compare(_: Call, operand: pa.Array, array: pa.Array) -> pa.Array:
        lists = lists_of(array)
        parents = lists.parents()
        answers = _compare(name, call, operand.take(pa.array(parents)), lists.elements)
        found, unknown = np.zeros((2, len(array)), np.bool_)
        found[parents[pc.fill_null(answers, False).to_numpy(zero_copy_only=False)]] = True
        unknown[parents[pc.is_null(answers).to_numpy(zero_copy_only=False)]] = True
        return pa.array(found, mask=~found & (unknown | ~lists.valid))

    return by_columns(compare)(call, operand, values)


def _not_distinct(call: Call, left: Values, right: Values) -> Values:
    """Compare as `equal` does, but NULL equals NULL and nothing else."""
    both_null = pc.and_(pc.is_null(left), pc.is_null(right))
    return pc.coalesce(_compare("equal", call, left, right), both_null)


def _in(call: Call, operand: Values, *members: Values) -> Values:
    """Return whether the operand is in the list: NULL for a NULL operand."""
    assert all(isinstance(member, pa.Scalar) for member in members), "the list is constant"
    if pt.is_nested(operand.type) or pt.is_interval(operand.type):
        equal = functools.partial(_compare, "equal", call, operand)
        return functools.reduce(pc.or_kleene, map(equal, members))
    items = [cast_values(member, operand.type).as_py() for member in members]
    value_set = canonical_floats(pa.array(items, operand.type))
    found = pc.is_in(canonical_floats(operand), value_set=value_set)
    return pc.if_else(pc.is_valid(operand), found, pa.scalar(None, pa.bool_()))


def _single(_: Call, value: Values, count: Values) -> Values:
    """Return the first value of a subquery's rows, unless there is one more."""
    if pc.any(pc.greater(count, 1)).as_py():
        raise DataError("a subquery used as an expression gave more than one row")
    return value


COMPARISONS: Mapping[str, Function] = {
    **{name: Function(functools.partial(_compare, name)) for name in _COMPARED},
    **{
        f"any_{name}": Function(functools.partial(_compare_any, name), strict=False)
        for name in _COMPARED
    },
    "not_distinct": Function(_not_distinct, strict=False),
    "in": Function(_in),
    "single": Function(_single, can_fail=True, strict=False),
}
