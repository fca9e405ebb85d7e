"""Lists as sets of values without NULL: what two of them have in common, and the first value."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.late import pc
from raydb.planner.expressions.columns.adapters import of_columns
from raydb.planner.expressions.columns.lists import (
    array_of_lists,
    is_missing,
    lists_of,
    nullable,
    order_keys,
)
from raydb.planner.expressions.columns.order import canonical_floats
from raydb.planner.expressions.functions.nested.lists import element_of
from raydb.planner.expressions.nodes import Call, Expression
from raydb.planner.expressions.registry import scalar
from raydb.planner.expressions.signature import require_list
from raydb.planner.expressions.types import BOOLEAN
from raydb.planner.expressions.typing_rules import cast, comparable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.planner.expressions.columns.lists import Lists


def _bind(function: str, name: str, one: Expression, other: Expression) -> Expression:
    one, other = (require_list(f"{name}()", each) for each in (one, other))
    kind = pa.list_(comparable(element_of(one), element_of(other))[0].type)
    result = kind if function == "list_intersect" else BOOLEAN
    return Call(function, (cast(one, kind), cast(other, kind)), result)


def _shared(one: pa.Array, other: pa.Array) -> tuple[Lists, NDArray[np.bool_], NDArray[np.int64]]:
    """Return lists, which of their elements the other list of the row has, and codes of elements.

    A code tells an element from those of other values and of other lists; it is -1 for NULL.
    """
    lists, others = lists_of(one), lists_of(other)
    elements = canonical_floats(pa.concat_arrays([lists.elements, others.elements]))
    codes = pc.fill_null(order_keys(elements).dictionary_encode().indices, -1).to_numpy()
    parents = np.concatenate([lists.parents(), others.parents()])
    keys = np.where(codes < 0, -1, parents * (len(elements) + 1) + codes)
    count = len(lists.elements)
    found = np.isin(keys[:count], keys[count:]) & (codes[:count] >= 0)
    return lists, found, keys[:count]


@scalar(
    "list_intersect(list, list), array_intersect(list, list)",
    "the values of the first that the second has, each once: list_intersect([1, 2, 2, 3], [3, 2])"
    " -> [2, 3]",
    bind=functools.partial(_bind, "list_intersect"),
)
@of_columns
def _intersect(_: Call, one: pa.Array, other: pa.Array) -> pa.Array:
    lists, found, keys = _shared(one, other)
    places = np.flatnonzero(found)
    kept = places[np.sort(np.unique(keys[places], return_index=True)[1])]
    lengths = np.bincount(lists.parents()[kept], minlength=len(one))
    return array_of_lists(lists.elements.take(pa.array(kept)), lengths, lists.valid)


@scalar(
    "list_has_any(list, list), array_has_any(list, list)",
    "whether the second has a value of the first: list_has_any([1, 2], [2, 3]) -> true",
    bind=functools.partial(_bind, "list_has_any"),
)
@of_columns
def _has_any(_: Call, one: pa.Array, other: pa.Array) -> pa.Array:
    lists, found, _keys = _shared(one, other)
    counts = np.bincount(lists.parents()[found], minlength=len(one))
    return nullable(counts > 0, lists.valid & ~is_missing(other))


@scalar(
    "list_has_all(list, list), array_has_all(list, list)",
    "whether the first has all values of the second: list_has_all([1, 2, 3], [3, 1]) -> true",
    bind=functools.partial(_bind, "list_has_all"),
)
@of_columns
def _has_all(_: Call, one: pa.Array, other: pa.Array) -> pa.Array:
    lists, found, keys = _shared(other, one)
    missing = ~found & (keys >= 0)
    counts = np.bincount(lists.parents()[missing], minlength=len(one))
    return nullable(counts == 0, lists.valid & ~is_missing(one))


@scalar(
    "list_any_value(list), array_any_value(list)",
    "the first element that is not NULL: list_any_value([NULL, 5, 7]) -> 5",
    bind=lambda name, operand: Call(
        "list_any_value", (require_list(f"{name}()", operand),), operand.type.value_type
    ),
)
@of_columns
def _any_value(_: Call, array: pa.Array) -> pa.Array:
    lists = lists_of(array)
    present = np.flatnonzero(~is_missing(lists.elements))
    rows, first = np.unique(lists.parents()[present], return_index=True)
    places = np.zeros(len(array), np.int64)
    places[rows] = present[first]
    has_one = np.zeros(len(array), np.bool_)
    has_one[rows] = True
    return lists.elements.take(nullable(places, has_one))
