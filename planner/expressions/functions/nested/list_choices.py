"""Elements of lists: the first and the last, those of a mask or of numbers, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.errors import DataError, ProgrammingError
from raydb.late import pc
from raydb.planner.expressions.casts.cast import cast_values
from raydb.planner.expressions.columns.adapters import of_columns, with_constants
from raydb.planner.expressions.columns.arrays import each
from raydb.planner.expressions.columns.lists import (
    array_of_lists,
    is_missing,
    lists_of,
    nullable,
    places_of,
)
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.functions.nested.lists import list_element
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.registry import composed, scalar
from raydb.planner.expressions.signature import require_integer, require_list
from raydb.planner.expressions.types import BIGINT, BOOLEAN, is_integer
from raydb.planner.expressions.typing_rules import cast, comparable
from raydb.room import check_room
from raydb.storage.nested import make_structs

if TYPE_CHECKING:
    from raydb.planner.expressions.columns.arrays import Values

# Numbers of elements, and the elements of a list.
_BYTES_AN_ELEMENT = 64

composed("list_first(list), array_first(list)", "the first element: list_first([10, 20]) -> 10")(
    lambda _, operand: list_element(operand, Literal(1, BIGINT))
)
composed("list_last(list), array_last(list)", "the last element: list_last([10, 20]) -> 20")(
    lambda _, operand: list_element(operand, Literal(-1, BIGINT))
)


@composed(
    "list_unique(list), array_unique(list)",
    "how many different values it has, without NULL: list_unique([1, 2, 1, NULL]) -> 2",
)
def _unique(name: str, operand: Expression) -> Expression:
    operand = require_list(f"{name}()", operand)
    distinct = Call("list_distinct", (operand,), pa.list_(operand.type.value_type))
    return Call("list_length", (distinct,), BIGINT)


def _bind_count(name: str, operand: Expression) -> Expression:
    return Call("list_count", (require_list(f"{name}()", operand),), BIGINT)


@scalar(
    "list_count(list), array_count(list)",
    "how many elements are not NULL: list_count([1, NULL]) -> 1",
    bind=_bind_count,
)
@of_columns
def _count(_: Call, array: pa.Array) -> Values:
    lists = lists_of(array)
    present = ~is_missing(lists.elements)
    counts = np.bincount(lists.parents()[present], minlength=len(array))
    return nullable(counts, lists.valid)


def _bind_where(name: str, operand: Expression, mask: Expression) -> Expression:
    operand, mask = (require_list(f"{name}()", each) for each in (operand, mask))
    if mask.type.value_type != BOOLEAN:
        raise ProgrammingError(f"{name}() needs a list of BOOLEAN, not {describe(mask)}")
    return Call("list_where", (operand, mask), pa.list_(operand.type.value_type))


@scalar(
    "list_where(list, mask), array_where(list, mask)",
    "the elements where a list of BOOLEAN is true: list_where([1, 2, 3], [true, false, true])"
    " -> [1, 3]",
    bind=_bind_where,
)
@of_columns
def _where(_: Call, array: pa.Array, mask: pa.Array) -> pa.Array:
    lists, chosen = lists_of(array), lists_of(mask)
    parents = lists.parents()
    own = np.arange(len(lists.elements)) - lists.starts[parents]
    inside = own < chosen.lengths[parents]
    places = np.where(inside, chosen.starts[parents] + own, 0)
    flags = np.append(pc.fill_null(chosen.elements, False).to_numpy(zero_copy_only=False), False)
    wanted = inside & flags[np.minimum(places, len(flags) - 1)]
    lengths = np.bincount(parents[wanted], minlength=len(array))
    valid = lists.valid & chosen.valid
    return array_of_lists(lists.elements.filter(pa.array(wanted)), lengths, valid)


def _bind_select(name: str, operand: Expression, numbers: Expression) -> Expression:
    operand, numbers = (require_list(f"{name}()", each) for each in (operand, numbers))
    if not is_integer(numbers.type.value_type):
        raise ProgrammingError(f"{name}() needs a list of integers, not {describe(numbers)}")
    numbers = cast(numbers, pa.list_(BIGINT))
    return Call("list_select", (operand, numbers), pa.list_(operand.type.value_type))


@scalar(
    "list_select(list, numbers), array_select(list, numbers)",
    "the elements of these numbers: list_select([10, 20, 30], [3, 1]) -> [30, 10]",
    bind=_bind_select,
)
@of_columns
def _select(_: Call, array: pa.Array, numbers: pa.Array) -> pa.Array:
    lists, chosen = lists_of(array), lists_of(numbers)
    parents = chosen.parents()
    wanted = pc.fill_null(chosen.elements, 0).to_numpy()
    wanted = np.where(wanted < 0, wanted + lists.lengths[parents] + 1, wanted)
    inside = (wanted >= 1) & (wanted <= lists.lengths[parents])
    elements = lists.elements.take(nullable(lists.starts[parents] + wanted - 1, inside))
    return array_of_lists(elements, chosen.lengths, lists.valid & chosen.valid)


def _bind_resize(
    name: str, operand: Expression, count: Expression, *filling: Expression
) -> Expression:
    operand = require_list(f"{name}()", operand)
    count = cast(require_integer(name, count), BIGINT)
    element = Literal(None, operand.type.value_type)
    rest = comparable(element, filling[0])[1] if filling else element
    kind = pa.list_(rest.type)
    return Call("list_resize", (cast(operand, kind), count, rest), kind)


@scalar(
    "list_resize(list, n [, a]), array_resize(list, n [, a])",
    "of so many elements, those that lack being `a`, else NULL:"
    " list_resize([1, 2], 3, 0) -> [1, 2, 0]",
    bind=_bind_resize,
    can_fail=True,
    takes="nulls",
)
@of_columns
def _resize(call: Call, array: pa.Array, count: pa.Array, filling: pa.Array) -> pa.Array:
    lists = lists_of(cast_values(array, call.type))
    lengths = pc.fill_null(count, 0).to_numpy()
    if len(lengths) and int(lengths.min()) < 0:
        raise DataError(f"{call.function}() needs a length of at least 0")
    lengths = np.where(lists.valid, lengths, 0)
    check_room(int(lengths.sum()) * _BYTES_AN_ELEMENT, "the lists of list_resize()")
    parents = np.repeat(np.arange(len(array)), lengths)
    own = np.arange(len(parents)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    together = pa.concat_arrays([lists.elements, cast_values(filling, lists.elements.type)])
    inside = own < lists.lengths[parents]
    places = np.where(inside, lists.starts[parents] + own, len(lists.elements) + parents)
    return array_of_lists(together.take(pa.array(places)), lengths, lists.valid)


def _bind_zip(name: str, *operands: Expression) -> Expression:
    *lists, last = operands
    is_cut: Expression = Literal(False, BOOLEAN)
    if lists and last.type == BOOLEAN:
        is_cut = last
    else:
        lists.append(last)
    given = [require_list(f"{name}()", each) for each in lists]
    fields = [(f"f{number}", each.type.value_type) for number, each in enumerate(given, 1)]
    return Call("list_zip", (*given, is_cut), pa.list_(pa.struct(fields)))


@scalar(
    "list_zip(list, ... [, shortest]), array_zip(list, ... [, shortest])",
    "their elements side by side, NULL where one is shorter, or as many as the shortest has:"
    " list_zip([1, 2], ['a', 'b']) -> [{'f1': 1, 'f2': 'a'}, {'f1': 2, 'f2': 'b'}]",
    bind=_bind_zip,
    takes="nulls",
)
@of_columns
def _zip(call: Call, *arguments: pa.Array) -> pa.Array:
    *arrays, cut = arguments
    sides = [lists_of(array) for array in arrays]
    lengths = np.maximum.reduce([side.lengths for side in sides])
    is_cut = pc.fill_null(cut, False).to_numpy(zero_copy_only=False)
    lengths[is_cut] = np.minimum.reduce([side.lengths for side in sides])[is_cut]
    parents = np.repeat(np.arange(len(lengths)), lengths)
    own = np.arange(len(parents)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    fields = [
        side.elements.take(nullable(side.starts[parents] + own, own < side.lengths[parents]))
        for side in sides
    ]
    valid = np.logical_or.reduce([side.valid for side in sides])
    return array_of_lists(make_structs(fields, call.type.value_type), lengths, valid)


@scalar(name="list_repeat", can_fail=True)
@with_constants
def _repeat(call: Call, values: Values, count: int) -> Values:
    """Return the elements of each list so many times; of an array a list."""
    count = max(count, 0)

    def repeat(array: pa.Array) -> pa.Array:
        lists = lists_of(array)
        check_room(int(lists.lengths.sum()) * count * _BYTES_AN_ELEMENT, "the lists of repeat()")
        starts, lengths = np.repeat(lists.starts, count), np.repeat(lists.lengths, count)
        elements = lists.elements.take(pa.array(places_of(starts, lengths)))
        return array_of_lists(elements, lists.lengths * count, lists.valid)

    return each(values, repeat, call.type)
