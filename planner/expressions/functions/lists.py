"""Functions of lists: FLOAT[3] is a list of a fixed length, INTEGER[] one of any length.

Each list is a run of one array of elements, so that whole columns are computed at once. Elements
count from 1; NULL elements are equal to each other, as in PostgreSQL's arrays.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from raydb.errors import DataError, NotSupportedError
from raydb.planner.expressions.casts.casts import Values, cast_values
from raydb.planner.expressions.doubles import canonical_floats, order_codes
from raydb.planner.expressions.function import Function
from raydb.planner.expressions.intervals import order_intervals
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from raydb.planner.expressions.nodes import Call

# Rows whose vectors are widened to doubles at a time: 12 MB of 768 dimensions.
_BLOCK_ROWS = 2048


@dataclass(frozen=True, eq=False, slots=True)
class Lists:
    """Lists as one array of elements: list i is `lengths[i]` elements from `starts[i]` on.

    A NULL has the length 0, and is false in `valid`.
    """

    elements: pa.Array
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    valid: NDArray[np.bool_]

    def parents(self) -> NDArray[np.int64]:
        """Return the number of the list that each element belongs to."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)


def lists_of(array: pa.Array) -> Lists:
    """Return lists with their elements in one array."""
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy().astype(np.int64)
    starts = np.cumsum(lengths) - lengths
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    return Lists(array.flatten(), starts, lengths, valid)


def _array_of(
    elements: pa.Array, lengths: NDArray[np.int64], valid: NDArray[np.bool_] | None = None
) -> pa.Array:
    ends = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    mask = None if valid is None or valid.all() else pa.array(~valid)
    return pa.ListArray.from_arrays(ends, elements, mask=mask)


def by_columns(
    function: Callable[..., pa.Array], target: pa.DataType | None = None
) -> Callable[..., Values]:
    """Make a function of (call, *arrays of one length) a function of values of the call's type."""

    def run(call: Any, *values: Values) -> Values:
        count = next((len(value) for value in values if not isinstance(value, pa.Scalar)), None)
        arrays = [_repeated(value, 1 if count is None else count) for value in values]
        result = cast_values(function(call, *arrays), target or call.type)
        return result[0] if count is None else result

    return run


def _repeated(values: Values, count: int) -> pa.Array:
    if isinstance(values, pa.Scalar):
        return pa.repeat(values, count)
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def _nullable(values: NDArray[Any], valid: NDArray[np.bool_]) -> pa.Array:
    return pa.array(values, mask=~valid)


def _keys(elements: pa.Array) -> pa.Array:
    """Return elements as Arrow orders and compares them."""
    if pt.is_nested(elements.type):
        raise NotSupportedError(f"the order of {sql_type_name(elements.type)} is not supported")
    return order_intervals(order_codes(elements))


# -- making and joining


def _list_value(call: Call, *elements: pa.Array) -> pa.Array:
    """Return the lists of one element from each argument."""
    kind, count = call.type.value_type, len(elements[0])
    together = pa.concat_arrays([cast_values(array, kind) for array in elements])
    places = np.arange(len(elements) * count).reshape(len(elements), count).T.ravel()
    return _array_of(together.take(pa.array(places)), np.full(count, len(elements)))


def _concat(call: Call, left: pa.Array, right: pa.Array) -> pa.Array:
    """Join lists; NULL beside a list is an empty one."""
    one, other = (lists_of(cast_values(array, call.type)) for array in (left, right))
    together = pa.concat_arrays([one.elements, other.elements])
    starts = np.stack([one.starts, len(one.elements) + other.starts], axis=1).ravel()
    lengths = np.stack([one.lengths, other.lengths], axis=1).ravel()
    elements = together.take(pa.array(_places(starts, lengths)))
    return _array_of(elements, one.lengths + other.lengths, one.valid | other.valid)


def _places(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers in runs, one run after the other.

    >>> _places(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    before = np.cumsum(lengths) - lengths
    places: NDArray[np.int64] = np.arange(int(lengths.sum()))
    shifts: NDArray[np.int64] = np.repeat(starts - before, lengths)
    return places + shifts


# -- looking in


def _length(_: Call, array: pa.Array) -> pa.Array:
    return pc.list_value_length(array)


def _extract(_: Call, array: pa.Array, index: pa.Array) -> pa.Array:
    """Return the element at a place, NULL outside of the list."""
    lists = lists_of(array)
    number = pc.fill_null(index, 0).to_numpy().astype(np.int64)
    inside = (number >= 1) & (number <= lists.lengths)
    return lists.elements.take(_nullable(lists.starts + number - 1, inside))


def _slice(_: Call, array: pa.Array, first: pa.Array, last: pa.Array) -> pa.Array:
    """Return the elements from one place to another, both included, as far as there are any."""
    lists = lists_of(array)
    valid = lists.valid & ~_nulls(first, last)
    start = np.maximum(pc.fill_null(first, 1).to_numpy().astype(np.int64), 1)
    stop = np.minimum(pc.fill_null(last, 0).to_numpy().astype(np.int64), lists.lengths)
    lengths = np.where(valid, np.maximum(stop - start + 1, 0), 0)
    places = _places(lists.starts + start - 1, lengths)
    return _array_of(lists.elements.take(pa.array(places)), lengths, valid)


def _nulls(*arrays: pa.Array) -> NDArray[np.bool_]:
    missing: NDArray[np.bool_] = arrays[0].is_null().to_numpy(zero_copy_only=False)
    for array in arrays[1:]:
        missing = missing | array.is_null().to_numpy(zero_copy_only=False)
    return missing


def _hits(array: pa.Array, wanted: pa.Array) -> tuple[Lists, NDArray[np.bool_], NDArray[np.int64]]:
    """Return lists, which of their elements are what is wanted in their list, and their parents."""
    lists = lists_of(array)
    parents = lists.parents()
    return lists, _equal_elements(lists.elements, wanted.take(pa.array(parents))), parents


def _contains(_: Call, array: pa.Array, wanted: pa.Array) -> pa.Array:
    lists, hits, parents = _hits(array, wanted)
    found = np.zeros(len(array), np.bool_)
    found[parents[hits]] = True
    return _nullable(found, lists.valid & ~_nulls(wanted))


def _position(_: Call, array: pa.Array, wanted: pa.Array) -> pa.Array:
    """Return the place of the first such element, or of the first NULL; NULL without one."""
    lists, hits, parents = _hits(array, wanted)
    places = np.flatnonzero(hits)
    rows, first = np.unique(parents[hits], return_index=True)
    found = np.zeros(len(array), np.int64)
    found[rows] = places[first] - lists.starts[rows] + 1
    return _nullable(found, found > 0)


# -- comparing


def equal_lists(left: Values, right: Values) -> Values:
    """Return whether lists of one type have the same elements."""

    def compare(_: None, *arrays: pa.Array) -> pa.Array:
        one, other = map(lists_of, arrays)
        return _nullable(_equal_lists(one, other), one.valid & other.valid)

    return by_columns(compare, pa.bool_())(None, left, right)


def _equal_lists(one: Lists, other: Lists) -> NDArray[np.bool_]:
    same: NDArray[np.bool_] = one.lengths == other.lengths
    lengths = np.where(same, one.lengths, 0)
    sides = [each.elements.take(pa.array(_places(each.starts, lengths))) for each in (one, other)]
    different = np.repeat(np.arange(len(lengths)), lengths)[~_equal_elements(*sides)]
    same[different] = False
    return same


def _equal_elements(left: pa.Array, right: pa.Array) -> NDArray[np.bool_]:
    """Return where elements are equal or both NULL."""
    if pt.is_null(left.type) or pt.is_null(right.type):
        return _nulls(left) & _nulls(right)
    if pt.is_nested(left.type):
        one, other = lists_of(left), lists_of(right)
        return _equal_lists(one, other) & ~(one.valid ^ other.valid)
    equal = pc.fill_null(pc.equal(_keys(left), _keys(right)), False)
    found: NDArray[np.bool_] = equal.to_numpy(zero_copy_only=False)
    return found | (_nulls(left) & _nulls(right))


# -- ordering


def _order(lists: Lists, descending: bool = False) -> NDArray[np.int64]:
    """Return the places of elements list by list, each list in order, NULL last."""
    table = pa.table({"list": lists.parents(), "element": _keys(lists.elements)})
    direction = "descending" if descending else "ascending"
    order = pc.sort_indices(table, sort_keys=[("list", "ascending"), ("element", direction)])
    places: NDArray[np.int64] = order.to_numpy().astype(np.int64)
    return places


def _sort(descending: bool, _: Call, array: pa.Array) -> pa.Array:
    lists = lists_of(array)
    elements = lists.elements.take(pa.array(_order(lists, descending)))
    return _array_of(elements, lists.lengths, lists.valid)


def _reverse(_: Call, array: pa.Array) -> pa.Array:
    lists = lists_of(array)
    ends = np.repeat(2 * lists.starts + lists.lengths - 1, lists.lengths)
    elements = lists.elements.take(pa.array(ends - np.arange(len(lists.elements))))
    return _array_of(elements, lists.lengths, lists.valid)


def _distinct(_: Call, array: pa.Array) -> pa.Array:
    """Return the first of equal elements, without NULL."""
    lists = lists_of(array)
    elements = canonical_floats(lists.elements)
    codes = pc.fill_null(_keys(elements).dictionary_encode().indices, -1).to_numpy()
    parents = lists.parents()
    pairs = np.stack([parents, codes.astype(np.int64)], axis=1)[codes >= 0]
    first = np.unique(pairs, axis=0, return_index=True)[1]
    kept = np.flatnonzero(codes >= 0)[np.sort(first)]
    lengths = np.bincount(parents[kept], minlength=len(array))
    return _array_of(lists.elements.take(pa.array(kept)), lengths, lists.valid)


def _extreme(greatest: bool, _: Call, array: pa.Array) -> pa.Array:
    """Return the least or the greatest element, NULL where there is none."""
    lists = lists_of(array)
    first = _order(lists, greatest)[np.minimum(lists.starts, max(len(lists.elements) - 1, 0))]
    return lists.elements.take(_nullable(first, lists.lengths > 0))


# -- folding


def _sum(call: Call, array: pa.Array) -> pa.Array:
    """Return the exact sum of the elements, or that of doubles; NULL where there is none."""
    lists = lists_of(array)
    exact = not pt.is_floating(lists.elements.type)
    wide = pa.decimal128(38, getattr(call.type, "scale", 0)) if exact else pa.float64()
    table = pa.table({"list": lists.parents(), "x": cast_values(lists.elements, wide)})
    sums = table.group_by("list", use_threads=False).aggregate([("x", "sum")])
    place = pc.index_in(pa.array(np.arange(len(array))), value_set=sums["list"].combine_chunks())
    return sums["x_sum"].combine_chunks().take(place)


def _average(_: Call, array: pa.Array) -> pa.Array:
    lists = lists_of(array)
    present = ~_nulls(lists.elements)
    doubles = pc.fill_null(cast_values(lists.elements, pa.float64()), 0.0).to_numpy()
    parents = lists.parents()
    counts = np.bincount(parents[present], minlength=len(array))
    sums = np.bincount(parents, weights=doubles, minlength=len(array))
    return _nullable(sums / np.maximum(counts, 1), counts > 0)


def _to_string(_: Call, array: pa.Array, separator: pa.Array) -> pa.Array:
    """Join the texts of the elements that are not NULL."""
    lists = lists_of(array)
    present = ~_nulls(lists.elements)
    lengths = np.bincount(lists.parents()[present], minlength=len(array))
    texts = cast_values(lists.elements, pa.string()).drop_null()
    return pc.binary_join(_array_of(texts, lengths, lists.valid), separator)


def _split(_: Call, text: Values, separator: Values) -> Values:
    assert isinstance(separator, pa.Scalar), "the separator is constant"
    if not separator.as_py():
        raise DataError("the separator of string_split() must not be empty")
    return pc.split_pattern(text, separator.as_py())


# -- vectors


def _distance(measure: Callable[[Any, Any], Any], call: Call, *arrays: pa.Array) -> pa.Array:
    """Return a measure of two vectors of the same length, computed in doubles."""
    left, right = (lists_of(array) for array in arrays)
    valid = left.valid & right.valid
    if (valid & (left.lengths != right.lengths)).any():
        raise DataError(f"{call.function}() needs two lists of the same length")
    for lists in (left, right):
        if _nulls(lists.elements).any():
            raise DataError(f"{call.function}() of a list that contains NULL is not defined")
    result = np.zeros(len(valid))
    one, other = left.elements.to_numpy(), right.elements.to_numpy()
    for length in np.unique(left.lengths[valid]):
        rows = np.flatnonzero(valid & (left.lengths == length))
        for start in range(0, len(rows), _BLOCK_ROWS):
            block = rows[start : start + _BLOCK_ROWS]
            steps = np.arange(length)
            result[block] = measure(
                one[left.starts[block, None] + steps].astype(np.float64),
                other[right.starts[block, None] + steps].astype(np.float64),
            )
    return _nullable(result, valid)


def _products(left: Any, right: Any) -> Any:
    return np.einsum("ij,ij->i", left, right)


def _euclidean(left: Any, right: Any) -> Any:
    difference = left - right
    return np.sqrt(_products(difference, difference))


def _cosine_similarity(left: Any, right: Any) -> Any:
    lengths = np.sqrt(_products(left, left)) * np.sqrt(_products(right, right))
    with np.errstate(invalid="ignore"):  # a vector of zeros has no direction: NaN
        return np.clip(_products(left, right) / lengths, -1.0, 1.0)


_MEASURES: Mapping[str, Callable[[Any, Any], Any]] = {
    "list_distance": _euclidean,
    "list_inner_product": _products,
    "list_negative_inner_product": lambda left, right: -_products(left, right),
    "list_cosine_similarity": _cosine_similarity,
    "list_cosine_distance": lambda left, right: 1.0 - _cosine_similarity(left, right),
}

LISTS: Mapping[str, Function] = {
    "list_value": Function(by_columns(_list_value), strict=False),
    "list_concat": Function(by_columns(_concat)),
    "list_length": Function(by_columns(_length)),
    "list_extract": Function(by_columns(_extract)),
    "list_slice": Function(by_columns(_slice)),
    "list_contains": Function(by_columns(_contains)),
    "list_position": Function(by_columns(_position)),
    "list_sort": Function(by_columns(functools.partial(_sort, False))),
    "list_reverse_sort": Function(by_columns(functools.partial(_sort, True))),
    "list_reverse": Function(by_columns(_reverse)),
    "list_distinct": Function(by_columns(_distinct)),
    "list_min": Function(by_columns(functools.partial(_extreme, False))),
    "list_max": Function(by_columns(functools.partial(_extreme, True))),
    "list_sum": Function(by_columns(_sum), can_fail=True),
    "list_avg": Function(by_columns(_average)),
    "array_to_string": Function(by_columns(_to_string)),
    "string_split": Function(_split, can_fail=True),
    **{
        name: Function(by_columns(functools.partial(_distance, measure)), can_fail=True)
        for name, measure in _MEASURES.items()
    },
}
