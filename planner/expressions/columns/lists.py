"""Lists in columns: FLOAT[3] is a list of a fixed length, INTEGER[] one of any length.

Each list is a run of one array of elements, so that whole columns are computed at once. NULL
elements are equal to each other, as in PostgreSQL's arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.errors import NotSupportedError
from raydb.late import pc
from raydb.planner.expressions.columns.arrays import Values, side_by_side
from raydb.planner.expressions.columns.nested_order import has_order, order_nested
from raydb.planner.expressions.columns.order import order_codes, order_intervals
from raydb.storage.nested import entries_of, fields_of
from raydb.storage.type_names import sql_type_name
from raydb.values import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray


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


def array_of_lists(
    elements: pa.Array, lengths: NDArray[np.int64], valid: NDArray[np.bool_] | None = None
) -> pa.Array:
    """Return the lists of elements that lie one list after the other."""
    ends = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    mask = None if valid is None or valid.all() else pa.array(~valid)
    return pa.ListArray.from_arrays(ends, elements, mask=mask)


def nullable(values: NDArray[Any], valid: NDArray[np.bool_]) -> pa.Array:
    """Return an array that is NULL where it is not valid."""
    return pa.array(values, mask=~valid)


def order_keys(elements: pa.Array) -> pa.Array:
    """Return elements as Arrow orders and compares them."""
    if not has_order(elements.type):
        raise NotSupportedError(f"the order of {sql_type_name(elements.type)} is not supported")
    return order_nested(order_intervals(order_codes(elements)))


def element_order(
    lists: Lists, descending: bool = False, nulls_first: bool = False
) -> NDArray[np.int64]:
    """Return the places of elements list by list, each list in order."""
    keys = order_keys(lists.elements)
    table = pa.table({"list": lists.parents(), "null": pc.is_null(keys), "element": keys})
    order = pc.sort_indices(
        table,
        sort_keys=[
            ("list", "ascending"),
            ("null", "descending" if nulls_first else "ascending"),
            ("element", "descending" if descending else "ascending"),
        ],
    )
    places: NDArray[np.int64] = order.to_numpy().astype(np.int64)
    return places


def places_of(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers in runs, one run after the other.

    >>> places_of(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    before = np.cumsum(lengths) - lengths
    places: NDArray[np.int64] = np.arange(int(lengths.sum()))
    shifts: NDArray[np.int64] = np.repeat(starts - before, lengths)
    return places + shifts


def is_missing(*arrays: pa.Array) -> NDArray[np.bool_]:
    """Return where some array is NULL."""
    missing: NDArray[np.bool_] = arrays[0].is_null().to_numpy(zero_copy_only=False)
    for array in arrays[1:]:
        missing = missing | array.is_null().to_numpy(zero_copy_only=False)
    return missing


# -- comparing


def equal_lists(left: Values, right: Values) -> Values:
    """Return whether lists, structs or maps of one type have the same parts."""

    def compare(*arrays: pa.Array) -> pa.Array:
        return nullable(equal_elements(*arrays), ~is_missing(*arrays))

    return side_by_side(compare, left, right)


def _equal_lists(one: Lists, other: Lists) -> NDArray[np.bool_]:
    same: NDArray[np.bool_] = one.lengths == other.lengths
    lengths = np.where(same, one.lengths, 0)
    sides = [each.elements.take(pa.array(places_of(each.starts, lengths))) for each in (one, other)]
    different = np.repeat(np.arange(len(lengths)), lengths)[~equal_elements(*sides)]
    same[different] = False
    return same


def equal_elements(left: pa.Array, right: pa.Array) -> NDArray[np.bool_]:
    """Return where elements are equal or both NULL."""
    if pt.is_null(left.type) or pt.is_null(right.type):
        return is_missing(left) & is_missing(right)
    if pt.is_struct(left.type):
        pairs = zip(fields_of(left), fields_of(right), strict=True)
        # The fields of NULL are NULL, so that only who is NULL tells it from a struct of NULLs.
        same: NDArray[np.bool_] = is_missing(left) == is_missing(right)
        for pair in pairs:
            same &= equal_elements(*pair)
        return same
    if pt.is_map(left.type):
        left, right = entries_of(left), entries_of(right)
    if pt.is_nested(left.type):
        one, other = lists_of(left), lists_of(right)
        return _equal_lists(one, other) & ~(one.valid ^ other.valid)
    equal = pc.fill_null(pc.equal(order_keys(left), order_keys(right)), False)
    found: NDArray[np.bool_] = equal.to_numpy(zero_copy_only=False)
    return found | (is_missing(left) & is_missing(right))
