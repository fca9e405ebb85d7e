"""Which codes of a hierarchy a predicate allows.

    d_year >= 1993      from the rank of 1993 among the level's values on
    s_city IN ('A', ..) the ranks of those that are there

The values of a level are ranked once; a comparison of an attribute with constants is then a search
in the list of them, where Arrow would take as long as for some thousand values to begin.
"""

from __future__ import annotations

import datetime as dt
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.kernels.bvh.encode import MOST_VALUES, EncodedColumn, Hierarchy, encode_column
from raydb.planner.expressions.nodes import Attribute, Call, Expression, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()

# To rank the values of more codes takes longer than to compare them some times.
_MOST_RANKED = 2**20

_MIRRORED = {
    "equal": "equal",
    "not_equal": "not_equal",
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
}

# Levels as codes into their sorted values; every query that groups by one needs it.
_encoded: WeakKeyDictionary[Hierarchy, dict[int, EncodedColumn]] = WeakKeyDictionary()
# Their values in order, without NULL.
_values: WeakKeyDictionary[Hierarchy, dict[int, Sequence[Any]]] = WeakKeyDictionary()


def encoded_level(hierarchy: Hierarchy, level: int) -> EncodedColumn:
    """Return a level by its sorted dictionary: its values' ranks by the hierarchy's codes."""
    known = _encoded.setdefault(hierarchy, {})
    if level not in known:
        known[level] = encode_column(hierarchy.levels[level])
    return known[level]


def ranks_of(hierarchy: Hierarchy, level: int) -> NDArray[np.int32]:
    """Return the rank of each code's value among those of a level: int32, shape (code_count,)."""
    return encoded_level(hierarchy, level).codes


def allowed_codes(
    predicate: Expression, hierarchy: Hierarchy, levels: Mapping[Attribute, tuple[int, int]]
) -> NDArray[np.bool_] | None:
    """Return the codes for which a predicate is true: bool, shape (code_count,).

    It is None for a predicate of another form, or over too many values. levels: of each attribute
    the number of its hierarchy, which is this one for those of the predicate, and its level there.
    """
    match predicate:
        case Call(function="and" | "or" as function, arguments=arguments):
            masks = [allowed_codes(each, hierarchy, levels) for each in arguments]
            known = [mask for mask in masks if mask is not None]
            if len(known) < len(masks):
                return None
            reduce = np.logical_and if function == "and" else np.logical_or
            allowed: NDArray[np.bool_] = reduce.reduce(known)
            return allowed
        case Call(function="in", arguments=(Attribute() as attribute, *items)):
            return _among(attribute, items, hierarchy, levels)
        case Call(function, (Attribute() as attribute, Literal() as constant)):
            return _compared(function, attribute, constant, hierarchy, levels)
        case Call(function, (Literal() as constant, Attribute() as attribute)):
            return _compared(_MIRRORED.get(function), attribute, constant, hierarchy, levels)
        case _:
            return None


def _compared(
    function: str | None,
    attribute: Attribute,
    constant: Literal,
    hierarchy: Hierarchy,
    levels: Mapping[Attribute, tuple[int, int]],
) -> NDArray[np.bool_] | None:
    if function is None or function not in _RANGES or constant.type != attribute.type:
        return None
    _, level = levels[attribute]
    values = ranked_values(hierarchy, level)
    if values is None:
        return None
    ranks = ranks_of(hierarchy, level)
    allowed = np.zeros(len(ranks), np.bool_)
    for first, end in rank_ranges(function, values, constant):
        allowed |= (ranks >= first) & (ranks < end) if first else ranks < end
    return allowed


def comparisons(predicate: Expression) -> list[tuple[str, Attribute, Literal]] | None:
    """Return the comparisons of which one must be true, None for a predicate of another form."""
    match predicate:
        case Call(function, (Attribute() as attribute, Literal() as constant)):
            compared = [("equal" if function == "in" else function, attribute, constant)]
        case Call(function, (Literal() as constant, Attribute() as attribute)):
            compared = [(_MIRRORED.get(function, ""), attribute, constant)]
        case Call(function="or", arguments=arguments):
            found = [comparisons(each) for each in arguments]
            known = [each for each in found if each is not None]
            return [one for each in known for one in each] if len(known) == len(found) else None
        case Call(function="in", arguments=(Attribute() as attribute, *items)):
            compared = [("equal", attribute, item) for item in items if isinstance(item, Literal)]
            if len(compared) < len(items):
                return None
        case _:
            return None
    for function, attribute, constant in compared:
        if function not in _RANGES or constant.type != attribute.type:
            return None
    return compared


def rank_ranges(
    function: str, values: Sequence[Any], constant: Literal
) -> tuple[tuple[int, int], ...]:
    """Return the ranks that compare with a constant as a function says: first to before the end.

    values: those of the level in order. NULL is behind all others, and compares with nothing.
    """
    return () if constant.is_null else _RANGES[function](values, _order_value(constant))


def _order_value(constant: Literal) -> Any:
    """Return what `ranked_values` has for a constant: of a date its number."""
    value = constant.value
    return value.toordinal() - _EPOCH_DAY if isinstance(value, dt.date) else value


def _unequal(values: Sequence[Any], value: Any) -> tuple[tuple[int, int], ...]:
    return (0, bisect_left(values, value)), (bisect_right(values, value), len(values))


_RANGES: Mapping[str, Callable[[Sequence[Any], Any], tuple[tuple[int, int], ...]]] = {
    "equal": lambda values, value: ((bisect_left(values, value), bisect_right(values, value)),),
    "not_equal": _unequal,
    "less": lambda values, value: ((0, bisect_left(values, value)),),
    "less_equal": lambda values, value: ((0, bisect_right(values, value)),),
    "greater": lambda values, value: ((bisect_right(values, value), len(values)),),
    "greater_equal": lambda values, value: ((bisect_left(values, value), len(values)),),
}


def _among(
    attribute: Attribute,
    items: Sequence[Expression],
    hierarchy: Hierarchy,
    levels: Mapping[Attribute, tuple[int, int]],
) -> NDArray[np.bool_] | None:
    """Return the codes of some values; that of NULL is none of them, whatever the others are."""
    constants = [item for item in items if isinstance(item, Literal)]
    if len(constants) < len(items) or any(item.type != attribute.type for item in constants):
        return None
    _, level = levels[attribute]
    values = ranked_values(hierarchy, level)
    if values is None:
        return None
    chosen = np.zeros(len(values) + 1, np.bool_)
    for item in constants:
        if not item.is_null:
            value = _order_value(item)
            chosen[bisect_left(values, value) : bisect_right(values, value)] = True
    allowed: NDArray[np.bool_] = chosen[ranks_of(hierarchy, level)]
    return allowed


def ranked_values(hierarchy: Hierarchy, level: int) -> Sequence[Any] | None:
    """Return the values of a level in order, of dates the numbers; many of them as an array.

    None for more than _MOST_RANKED, for many that are no numbers, and where Python has another
    order.
    """
    known = _values.setdefault(hierarchy, {})
    if level not in known:
        kind = hierarchy.levels[level].type
        are_many = hierarchy.code_count > MOST_VALUES
        is_integer = pt.is_integer(kind) or pt.is_date32(kind)
        if not _is_ordered_alike(kind) or hierarchy.code_count > _MOST_RANKED:
            return None
        if are_many and not is_integer:
            return None
        values = encoded_level(hierarchy, level).values
        values = values[: len(values) - values.null_count]
        values = values.cast(pa.int32()) if pt.is_date32(kind) else values
        known[level] = values.to_numpy() if are_many else values.to_pylist()
    return known[level]


def _is_ordered_alike(kind: pa.DataType) -> bool:
    """Whether Python compares values as Arrow does: not floats, of which some are no numbers."""
    return bool(
        pt.is_integer(kind) or pt.is_date32(kind) or pt.is_decimal(kind) or kind == pa.string()
    )
