"""Comparisons, with the elements of a list too, and the value of a subquery."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.errors import DataError
from raydb.late import pc
from raydb.planner.expressions.casts.cast import cast_values
from raydb.planner.expressions.columns.adapters import of_columns
from raydb.planner.expressions.columns.decimals import is_narrow, unscaled
from raydb.planner.expressions.columns.lists import equal_lists, lists_of
from raydb.planner.expressions.columns.nested_order import order_nested
from raydb.planner.expressions.columns.order import canonical_floats, order_codes, order_intervals
from raydb.planner.expressions.nodes import Literal
from raydb.planner.expressions.registry import scalar
from raydb.storage.moments import python_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.planner.expressions.columns.arrays import Values
    from raydb.planner.expressions.evaluator import Rows
    from raydb.planner.expressions.nodes import Call, Expression


_NOTHING = pa.null().id
_COMPARED = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


def _compare(name: str, _: Call, left: Values, right: Values) -> Values:
    """Compare: doubles in total order, intervals with 30 days a month, lists by elements."""
    compute = getattr(pc, name)
    if left.type == right.type and pt.is_integer(left.type):
        return compute(left, right)
    if pt.is_floating(left.type) or pt.is_floating(right.type):
        doubles = cast_values(left, pa.float64()), cast_values(right, pa.float64())
        return _compare_doubles(name, *doubles)
    if pt.is_nested(left.type) and name in ("equal", "not_equal"):
        equal = equal_lists(left, right)
        return equal if name == "equal" else pc.invert(equal)
    left, right = order_nested(order_intervals(left)), order_nested(order_intervals(right))
    if left.type == right.type and is_narrow(left.type):
        left, right = unscaled(left), unscaled(right)
    return compute(left, right)


_MIRRORED = {
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
}
_OPPOSITE = {"greater": "less_equal", "greater_equal": "less"}


def _compare_doubles(name: str, left: Values, right: Values) -> Values:
    if isinstance(left, pa.Scalar):
        name, left, right = _MIRRORED.get(name, name), right, left
    if isinstance(right, pa.Scalar) and not _has_nan(right):
        return _compare_with_number(name, left, right)
    if _has_nan(left) or _has_nan(right):
        left, right = order_codes(left), order_codes(right)
    return getattr(pc, name)(left, right)


def _compare_with_number(name: str, doubles: Values, number: pa.Scalar) -> Values:
    """Compare doubles with one that is no NaN, without a look at each whether it is one.

    NaN is greater than all others, and for Arrow neither greater nor less: it is not less.
    """
    if name in _OPPOSITE:
        return pc.invert(getattr(pc, _OPPOSITE[name])(doubles, number))
    return getattr(pc, name)(doubles, number)


def _has_nan(values: Values) -> bool:
    """Tell whether some of the doubles is no number."""
    if isinstance(values, pa.DoubleScalar):
        value = values.as_py()
        return value is not None and math.isnan(value)
    return bool(pc.any(pc.is_nan(values)).as_py())


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

    return of_columns(compare)(call, operand, values)


@scalar(name="not_distinct", takes="nulls")
def _not_distinct(call: Call, left: Values, right: Values) -> Values:
    """Compare as `equal` does, but NULL equals NULL and nothing else."""
    both_null = pc.and_(pc.is_null(left), pc.is_null(right))
    return pc.coalesce(_compare("equal", call, left, right), both_null)


@scalar(name="in", takes="rows")
def _in(call: Call, rows: Rows) -> Values:
    """Return whether the operand is in the list: NULL for a NULL operand."""
    first, *listed = call.arguments
    operand = rows.value(first)
    if _NOTHING in [each.type.id for each in (operand, *listed)]:
        return pa.scalar(None, call.type)
    if pt.is_nested(operand.type) or pt.is_interval(operand.type):
        equal = functools.partial(_compare, "equal", call, operand)
        return functools.reduce(pc.or_kleene, map(equal, map(rows.value, listed)))
    value_set = canonical_floats(_value_set(operand.type, listed, rows))
    found = pc.is_in(canonical_floats(operand), value_set=value_set)
    if not isinstance(operand, pa.Scalar) and not operand.null_count:
        return found
    return pc.if_else(pc.is_valid(operand), found, pa.scalar(None, pa.bool_()))


def _value_set(kind: pa.DataType, listed: Sequence[Expression], rows: Rows) -> pa.Array:
    """Return constants as an array: texts and numbers at once, as there may be thousands."""
    if pt.is_string(kind) or pt.is_integer(kind) or pt.is_floating(kind):
        known = [each.value for each in listed if isinstance(each, Literal) and each.type == kind]
        if len(known) == len(listed):
            return pa.array(known, kind)
    members = [rows.value(each) for each in listed]
    assert all(isinstance(member, pa.Scalar) for member in members), "the list is constant"
    return pa.array([python_number(cast_values(member, kind)) for member in members], kind)


@scalar(name="is_key", takes="rows")
def _is_key(call: Call, rows: Rows) -> Values:
    """Return whether a value may be among the keys of a join, the second argument's value."""
    column, keys = call.arguments
    assert isinstance(keys, Literal)
    found: pa.Array = keys.value.mask(rows.value(column))
    return found


@scalar(name="single", can_fail=True, takes="nulls")
def _single(_: Call, value: Values, count: Values) -> Values:
    """Return the first value of a subquery's rows, unless there is one more."""
    if pc.any(pc.greater(count, 1)).as_py():
        raise DataError("a subquery used as an expression gave more than one row")
    return value


for _name in _COMPARED:
    scalar(name=_name)(functools.partial(_compare, _name))
    scalar(name=f"any_{_name}", takes="nulls")(functools.partial(_compare_any, _name))
