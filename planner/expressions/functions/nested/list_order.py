"""Functions that give the elements of lists in another order."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.errors import ProgrammingError
from raydb.late import pc
from raydb.planner.expressions.columns.adapters import of_columns, with_constants
from raydb.planner.expressions.columns.arrays import each
from raydb.planner.expressions.columns.lists import (
    array_of_lists,
    element_order,
    lists_of,
    order_keys,
)
from raydb.planner.expressions.columns.order import canonical_floats
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.registry import composed, scalar
from raydb.planner.expressions.signature import require_list
from raydb.planner.expressions.types import BIGINT, BOOLEAN

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.planner.expressions.columns.arrays import Values


def _bind_reordered(function: str, name: str, operand: Expression) -> Expression:
    operand = require_list(f"{name}()", operand)
    return Call(function, (operand,), pa.list_(operand.type.value_type))


def _reordered(stem: str, says: str) -> Callable[[Callable[..., Values]], Callable[..., Values]]:
    """Register a function of a list that gives some of its elements in another order."""
    bind = functools.partial(_bind_reordered, f"list_{stem}")
    return scalar(f"list_{stem}(list), array_{stem}(list)", says, bind=bind)


def _bind_sort(name: str, operand: Expression, *given: Expression) -> Call:
    """Return list_sort(list, descending, nulls_first) of what the options say."""
    operand = require_list(f"{name}()", operand)
    descending = name in ("list_reverse_sort", "array_reverse_sort")
    nulls_first = False
    for option in given:
        text = option.value if isinstance(option, Literal) else None
        match text.upper() if isinstance(text, str) else text:
            case "ASC" | "ASCENDING":
                descending = False
            case "DESC" | "DESCENDING":
                descending = True
            case "NULLS FIRST":
                nulls_first = True
            case "NULLS LAST":
                nulls_first = False
            case _:
                raise ProgrammingError(
                    f"{name}() takes 'ASC', 'DESC', 'NULLS FIRST' and 'NULLS LAST',"
                    f" not {describe(option)}"
                )
    order = tuple(Literal(each, BOOLEAN) for each in (descending, nulls_first))
    return Call("list_sort", (operand, *order), pa.list_(operand.type.value_type))


@scalar(
    "list_sort(list [, order] [, nulls]), array_sort(list [, order] [, nulls])",
    "in ascending order, NULLs last, or as `order` and `nulls` say, such as 'DESC' and"
    " 'NULLS FIRST': list_sort([3, 1, NULL, 2]) -> [1, 2, 3, NULL]",
    bind=_bind_sort,
)
@with_constants
def _sort(_: Call, values: Values, descending: bool, nulls_first: bool) -> Values:
    return each(values, lambda array: _sorted(array, descending, nulls_first), values.type)


composed(
    "list_reverse_sort(list [, nulls]), array_reverse_sort(list [, nulls])",
    "in descending order: list_reverse_sort([3, 1, 2]) -> [3, 2, 1]",
)(_bind_sort)


def _bind_grade_up(name: str, *given: Expression) -> Expression:
    ordered = _bind_sort(name, *given)
    return Call("list_grade_up", ordered.arguments, pa.list_(BIGINT))


@scalar(
    "list_grade_up(list [, order] [, nulls]), array_grade_up(list [, order] [, nulls]),"
    " grade_up(list [, order] [, nulls])",
    "the places of the elements as list_sort() would have them: list_grade_up([30, 10, 20])"
    " -> [2, 3, 1]",
    bind=_bind_grade_up,
)
@with_constants
def _grade_up(call: Call, values: Values, descending: bool, nulls_first: bool) -> Values:
    def grade(array: pa.Array) -> pa.Array:
        lists = lists_of(array)
        first = np.repeat(lists.starts, lists.lengths)
        places = element_order(lists, descending, nulls_first) - first + 1
        return array_of_lists(pa.array(places), lists.lengths, lists.valid)

    return each(values, grade, call.type)


def _sorted(array: pa.Array, descending: bool, nulls_first: bool) -> pa.Array:
    lists = lists_of(array)
    elements = lists.elements.take(pa.array(element_order(lists, descending, nulls_first)))
    return array_of_lists(elements, lists.lengths, lists.valid)


@_reordered("reverse", "backwards: list_reverse([3, 1, 2]) -> [2, 1, 3]")
@of_columns
def _reverse(_: Call, array: pa.Array) -> pa.Array:
    lists = lists_of(array)
    ends = np.repeat(2 * lists.starts + lists.lengths - 1, lists.lengths)
    elements = lists.elements.take(pa.array(ends - np.arange(len(lists.elements))))
    return array_of_lists(elements, lists.lengths, lists.valid)


@_reordered("distinct", "each value once, without NULL: list_distinct([1, 2, 1, NULL]) -> [1, 2]")
@of_columns
def _distinct(_: Call, array: pa.Array) -> pa.Array:
    """Return the first of equal elements, without NULL."""
    lists = lists_of(array)
    elements = canonical_floats(lists.elements)
    codes = pc.fill_null(order_keys(elements).dictionary_encode().indices, -1).to_numpy()
    parents = lists.parents()
    pairs = np.stack([parents, codes.astype(np.int64)], axis=1)[codes >= 0]
    first = np.unique(pairs, axis=0, return_index=True)[1]
    kept = np.flatnonzero(codes >= 0)[np.sort(first)]
    lengths = np.bincount(parents[kept], minlength=len(array))
    return array_of_lists(lists.elements.take(pa.array(kept)), lengths, lists.valid)
