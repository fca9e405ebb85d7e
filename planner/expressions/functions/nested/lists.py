"""Functions of lists. Elements count from 1."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.errors import DataError, NotSupportedError, ProgrammingError
from raydb.late import pc
from raydb.planner.expressions.casts.cast import cast_values
from raydb.planner.expressions.columns.adapters import of_columns, row_by_row, with_constants
from raydb.planner.expressions.columns.lists import (
    Lists,
    array_of_lists,
    element_order,
    equal_elements,
    is_missing,
    lists_of,
    nullable,
    order_keys,
    places_of,
)
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.literals import is_bare_null, list_literal
from raydb.planner.expressions.nodes import Call, Column, Expression, Literal
from raydb.planner.expressions.operators import concatenate_lists
from raydb.planner.expressions.registry import composed, scalar
from raydb.planner.expressions.signature import require_list, require_text
from raydb.planner.expressions.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTEGER,
    TEXT,
    closed,
    is_array,
    is_decimal,
    is_integer,
    is_list,
    is_map,
    is_number,
)
from raydb.planner.expressions.typing_rules import cast, comparable, typed, unify
from raydb.storage.bits import BIT
from raydb.storage.nested import entries_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raydb.planner.expressions.columns.arrays import Values


# -- making and joining


def list_of(elements: Sequence[Expression], length: int = -1) -> Expression:
    """Return [a, b, ...]: a list of the elements' common type, which of NULLs alone is open.

    length: that of an array, -1 for a list.
    """
    if all(is_bare_null(each) for each in elements):
        return Literal((None,) * len(elements), pa.list_(pa.null(), length))
    unified = unify(elements, "combine")
    kind = pa.list_(unified[0].type, length)
    constants = [each for each in unified if isinstance(each, Literal)]
    if len(constants) == len(unified):
        return list_literal(constants, kind)
    return Call("list_value", unified, kind)


@scalar(
    "[a, b, ...], ARRAY[a, b, ...], list_value([a, ...]), list_pack([a, ...])",
    "a list of values of a common type: [1, 2, 3] -> [1, 2, 3]",
    bind=lambda _, *elements: list_of(elements),
    takes="nulls",
)
@of_columns
def _list_value(call: Call, *elements: pa.Array) -> pa.Array:
    """Return the lists, or arrays, of one element from each argument."""
    kind, count = call.type.value_type, len(elements[0])
    together = pa.concat_arrays([cast_values(array, kind) for array in elements])
    places = np.arange(len(elements) * count).reshape(len(elements), count).T.ravel()
    lists = together.take(pa.array(places))
    if is_array(call.type):
        return pa.FixedSizeListArray.from_arrays(lists, type=call.type)
    return array_of_lists(lists, np.full(count, len(elements)))


@composed(
    "array_value(a, ...)",
    "an array, a list whose type tells its length: array_value(1, 2) -> (1, 2)",
)
def _array_value(_: str, *elements: Expression) -> Expression:
    return list_of(elements, len(elements))


def _bind_concat(name: str, *sides: Expression) -> Expression:
    for side in sides:
        if not pt.is_null(side.type):
            require_list(f"{name}()", side)
    if all(pt.is_null(side.type) for side in sides):
        return Literal(None, pa.null())
    first, *others = sides
    return functools.reduce(concatenate_lists, others, first)


@scalar(
    "list_concat(list, other, ...), array_concat(list, other, ...), array_cat(list, other, ...),"
    " list_cat(list, other, ...)",
    "all as one, `list || list`: list_concat([1], [2], [3]) -> [1, 2, 3]",
    bind=_bind_concat,
)
@of_columns
def _concat(call: Call, left: pa.Array, right: pa.Array) -> pa.Array:
    """Join lists; NULL beside a list is an empty one."""
    one, other = (lists_of(cast_values(array, call.type)) for array in (left, right))
    together = pa.concat_arrays([one.elements, other.elements])
    starts = np.stack([one.starts, len(one.elements) + other.starts], axis=1).ravel()
    lengths = np.stack([one.lengths, other.lengths], axis=1).ravel()
    elements = together.take(pa.array(places_of(starts, lengths)))
    return array_of_lists(elements, one.lengths + other.lengths, one.valid | other.valid)


def element_of(operand: Expression) -> Column:
    """Return what stands for an element of a list where types are compared."""
    return Column(-1, "element", operand.type.value_type)


def _adapted(element: Expression, operand: Expression) -> Expression:
    """Return the list of an element that is joined to a list."""
    return list_of((unify((element_of(operand), element), "combine")[1],))


@composed(
    "list_append(list, a), array_append(list, a), array_push_back(list, a)",
    "with one more element: list_append([1], 2) -> [1, 2]",
)
def _append(name: str, operand: Expression, element: Expression) -> Expression:
    operand = require_list(f"{name}()", operand)
    return concatenate_lists(operand, _adapted(element, operand))


@composed(
    "list_prepend(a, list), array_prepend(a, list)",
    "with one more in front: list_prepend(1, [2]) -> [1, 2]",
)
def _prepend(name: str, element: Expression, operand: Expression) -> Expression:
    operand = require_list(f"{name}()", operand)
    return concatenate_lists(_adapted(element, operand), operand)


@composed(
    "array_push_front(list, a)",
    "likewise: array_push_front([2], 1) -> [1, 2]",
)
def _push_front(name: str, operand: Expression, element: Expression) -> Expression:
    return _prepend(name, element, operand)


def _bind_flatten(name: str, operand: Expression) -> Expression:
    if pt.is_null(operand.type):
        operand = cast(operand, pa.list_(pa.list_(INTEGER)))
    operand = require_list(f"{name}()", operand)
    inner = operand.type.value_type
    if pt.is_null(inner):  # [], [NULL]
        inner = pa.list_(INTEGER)
        operand = cast(operand, pa.list_(inner))
    if not is_list(inner):
        raise ProgrammingError(f"{name}() needs a list of lists, not {describe(operand)}")
    return Call(name, (operand,), pa.list_(inner.value_type))


@scalar(
    "flatten(lists)",
    "the elements of the lists in a list, without NULL lists: flatten([[1, 2], [3]]) -> [1, 2, 3]",
    bind=_bind_flatten,
)
@of_columns
def _flatten(_: Call, array: pa.Array) -> pa.Array:
    outer = lists_of(array)
    inner = lists_of(outer.elements)
    lengths = np.zeros(len(array), np.int64)
    np.add.at(lengths, outer.parents(), inner.lengths)
    return array_of_lists(inner.elements, lengths, outer.valid)


# -- looking in


def _bind_length(name: str, operand: Expression, *dimension: Expression) -> Expression:
    if name in ("length", "len") and operand.type == BIT:
        return Call("bits_length", (operand,), BIGINT)
    if name in ("len", "length") and not is_list(operand.type) and not is_map(operand.type):
        return Call("text_length", (require_text(name, operand),), BIGINT)
    if dimension and not (isinstance(dimension[0], Literal) and dimension[0].value == 1):
        raise NotSupportedError(f"{name}() of another dimension than 1 is not supported")
    if is_map(operand.type):
        return Call("map_size", (operand,), BIGINT)
    return Call("list_length", (require_list(f"{name}()", operand),), BIGINT)


@scalar(name="map_size")
@of_columns
def _map_size(_: Call, maps: pa.Array) -> pa.Array:
    return pc.list_value_length(entries_of(maps))


@scalar(
    "length(list), len(list), list_length(list), array_length(list [, 1]), cardinality(list)",
    "the number of elements, also of a map; `length` and `len` also of text, in characters:"
    " length([10, 20]), length('Zoë') -> 2 | 3",
    name="list_length",
    bind=_bind_length,
)
@of_columns
def _length(_: Call, array: pa.Array) -> pa.Array:
    return pc.list_value_length(array)


def subscript(operand: Expression) -> Expression:
    """Return a number that counts elements or characters; ProgrammingError for what is none."""
    operand = typed(operand, BIGINT)
    if not is_integer(operand.type):
        raise ProgrammingError(f"a subscript is an integer, not {describe(operand)}")
    return cast(operand, BIGINT)


def list_element(operand: Expression, index: Expression) -> Expression:
    """Return list[index], counted from 1; NULL outside of the list."""
    operand = require_list("a subscript", operand)
    return Call("list_extract", (operand, subscript(index)), operand.type.value_type)


@scalar(name="list_extract")
@of_columns
def _extract(_: Call, array: pa.Array, index: pa.Array) -> pa.Array:
    lists = lists_of(array)
    number = _from_start(pc.fill_null(index, 0), lists)
    inside = (number >= 1) & (number <= lists.lengths)
    return lists.elements.take(nullable(lists.starts + number - 1, inside))


def list_slice(
    operand: Expression, first: Expression | None, last: Expression | None
) -> Expression:
    """Return list[first:last], both ends included."""
    operand = require_list("a slice", operand)
    start = Literal(1, BIGINT) if first is None else subscript(first)
    stop = Call("list_length", (operand,), BIGINT) if last is None else subscript(last)
    return Call("list_slice", (operand, start, stop), pa.list_(operand.type.value_type))


def list_steps(name: str, operand: Expression, *places: Expression) -> Expression:
    """Return every n-th element of list[first:last], backwards where n is negative."""
    operand = require_list(f"{name}()", operand)
    numbers = [subscript(each) for each in places]
    return Call("list_steps", (operand, *numbers), pa.list_(operand.type.value_type))


@scalar(name="list_steps", can_fail=True)
@of_columns
def _steps(_: Call, array: pa.Array, first: pa.Array, last: pa.Array, step: pa.Array) -> pa.Array:
    lists = lists_of(array)
    valid = lists.valid & ~is_missing(first, last, step)
    steps = pc.fill_null(step, 1).to_numpy().astype(np.int64)
    if (steps[valid] == 0).any():
        raise DataError("the step of a slice is 0")
    start = np.clip(_from_start(pc.fill_null(first, 1), lists), 1, lists.lengths)
    stop = np.clip(_from_start(pc.fill_null(last, 0), lists), 0, lists.lengths)
    counts = np.where(valid & (lists.lengths > 0), (stop - start) // steps + 1, 0)
    lengths = np.maximum(counts, 0)
    numbers = places_of(np.zeros(len(lengths), np.int64), lengths)
    places = np.repeat(lists.starts + start - 1, lengths) + numbers * np.repeat(steps, lengths)
    return array_of_lists(lists.elements.take(pa.array(places)), lengths, valid)


@scalar(name="list_slice")
@of_columns
def _slice(_: Call, array: pa.Array, first: pa.Array, last: pa.Array) -> pa.Array:
    lists = lists_of(array)
    valid = lists.valid & ~is_missing(first, last)
    start = np.clip(_from_start(pc.fill_null(first, 1), lists), 1, lists.lengths + 1)
    stop = np.clip(_from_start(pc.fill_null(last, 0), lists), 0, lists.lengths)
    lengths = np.where(valid, np.maximum(stop - start + 1, 0), 0)
    places = places_of(lists.starts + start - 1, lengths)
    return array_of_lists(lists.elements.take(pa.array(places)), lengths, valid)


def _from_start(index: pa.Array, lists: Lists) -> NDArray[np.int64]:
    """Return subscripts counted from the start of each list; -1 is the last element."""
    number: NDArray[np.int64] = index.to_numpy().astype(np.int64)
    return np.where(number < 0, number + lists.lengths + 1, number)


def _hits(array: pa.Array, wanted: pa.Array) -> tuple[Lists, NDArray[np.bool_], NDArray[np.int64]]:
    """Return lists, which of their elements are what is wanted in their list, and their parents."""
    lists = lists_of(array)
    parents = lists.parents()
    return lists, equal_elements(lists.elements, wanted.take(pa.array(parents))), parents


def _bind_search(
    function: str, kind: pa.DataType, name: str, operand: Expression, wanted: Expression
) -> Expression:
    operand = require_list(f"{name}()", typed(operand, pa.list_(wanted.type)))
    # A constant adapts to the elements: NULL stands for them.
    element, wanted = comparable(element_of(operand), wanted)
    return Call(function, (cast(operand, pa.list_(element.type)), wanted), kind)


@scalar(
    "list_contains(list, a), list_has(list, a), array_contains(list, a), array_has(list, a)",
    "whether it has an element: list_contains([1, 2], 2) -> true",
    bind=functools.partial(_bind_search, "list_contains", BOOLEAN),
)
@of_columns
def _contains(_: Call, array: pa.Array, wanted: pa.Array) -> pa.Array:
    lists, hits, parents = _hits(array, wanted)
    found = np.zeros(len(array), np.bool_)
    found[parents[hits]] = True
    return nullable(found, lists.valid & ~is_missing(wanted))


@scalar(
    "list_position(list, a), array_position(list, a), list_indexof(list, a),"
    " array_indexof(list, a)",
    "where the first such element is, NULL if nowhere: list_position([5, 7], 7) -> 2",
    bind=functools.partial(_bind_search, "list_position", BIGINT),
)
@of_columns
def _position(_: Call, array: pa.Array, wanted: pa.Array) -> pa.Array:
    lists, hits, parents = _hits(array, wanted)
    places = np.flatnonzero(hits)
    rows, first = np.unique(parents[hits], return_index=True)
    found = np.zeros(len(array), np.int64)
    found[rows] = places[first] - lists.starts[rows] + 1
    return nullable(found, found > 0)


# -- folding


def _bind_fold(name: str, operand: Expression) -> Expression:
    """Return list_min, list_max, list_sum or list_avg."""
    operand = require_list(f"{name}()", operand)
    operand = cast(operand, closed(operand.type))
    element = operand.type.value_type
    if name in ("list_min", "list_max"):
        return Call(name, (operand,), element)
    if not is_number(element):
        raise ProgrammingError(f"{name}() needs a list of numbers, not {describe(operand)}")
    if name == "list_avg":
        return Call(name, (operand,), DOUBLE)
    exact = pa.decimal128(38, element.scale) if is_decimal(element) else DOUBLE
    return Call(name, (operand,), BIGINT if is_integer(element) else exact)


def _extreme(greatest: bool, _: Call, array: pa.Array) -> pa.Array:
    """Return the least or the greatest element, NULL where there is none."""
    lists = lists_of(array)
    if not len(lists.elements):
        return pa.nulls(len(array), lists.elements.type)
    first = element_order(lists, greatest)[np.minimum(lists.starts, len(lists.elements) - 1)]
    return lists.elements.take(nullable(first, lists.lengths > 0))


scalar("list_min(list)", "the least element: list_min([3, 1, 2]) -> 1", bind=_bind_fold)(
    of_columns(functools.partial(_extreme, False))
)
scalar("list_max(list)", "the greatest element: list_max([3, 1, 2]) -> 3", bind=_bind_fold)(
    of_columns(functools.partial(_extreme, True))
)


@scalar("list_sum(list)", "the sum: list_sum([3, 1, 2]) -> 6", bind=_bind_fold, can_fail=True)
@of_columns
def _sum(call: Call, array: pa.Array) -> pa.Array:
    """Return the exact sum of the elements, or that of doubles; NULL where there is none."""
    lists = lists_of(array)
    exact = not pt.is_floating(lists.elements.type)
    wide = pa.decimal128(38, getattr(call.type, "scale", 0)) if exact else pa.float64()
    table = pa.table({"list": lists.parents(), "x": cast_values(lists.elements, wide)})
    sums = table.group_by("list", use_threads=False).aggregate([("x", "sum")])
    place = pc.index_in(pa.array(np.arange(len(array))), value_set=sums["list"].combine_chunks())
    return sums["x_sum"].combine_chunks().take(place)


@scalar("list_avg(list)", "the average, a DOUBLE: list_avg([3, 1, 2]) -> 2.0", bind=_bind_fold)
@of_columns
def _average(_: Call, array: pa.Array) -> pa.Array:
    lists = lists_of(array)
    present = ~is_missing(lists.elements)
    doubles = pc.fill_null(cast_values(lists.elements, pa.float64()), 0.0).to_numpy()
    parents = lists.parents()
    counts = np.bincount(parents[present], minlength=len(array))
    sums = np.bincount(parents, weights=doubles, minlength=len(array))
    return nullable(sums / np.maximum(counts, 1), counts > 0)


@composed("list_bool_or(list)", "whether any is true: list_bool_or([true, false]) -> true")
@composed("list_bool_and(list)", "whether all are true: list_bool_and([true, false]) -> false")
def bind_condition(name: str, operand: Expression) -> Expression:
    """Return whether all, or any, of the elements that are not NULL are true."""
    operand = cast(require_list(f"{name}()", operand), pa.list_(BOOLEAN))
    return Call("list_min" if name == "list_bool_and" else "list_max", (operand,), BOOLEAN)


def bind_mode(name: str, operand: Expression) -> Expression:
    """Return the most frequent element."""
    operand = require_list(f"{name}()", operand)
    operand = cast(operand, closed(operand.type))
    return Call("list_mode", (operand,), operand.type.value_type)


@scalar(
    "list_mode(list)",
    "the most frequent element, the first of several: list_mode([3, 5, 5]) -> 5",
    bind=bind_mode,
)
@of_columns
def _mode(_: Call, array: pa.Array) -> pa.Array:
    lists = lists_of(array)
    keys = order_keys(lists.elements)
    table = pa.table(
        {"list": lists.parents(), "key": keys, "place": np.arange(len(lists.elements))}
    )
    counts = (
        table.filter(keys.is_valid())
        .group_by(["list", "key"], use_threads=False)
        .aggregate([("place", "count"), ("place", "min")])
        .sort_by([("list", "ascending"), ("place_count", "descending"), ("place_min", "ascending")])
    )
    rows, first = np.unique(counts["list"].to_numpy(), return_index=True)
    places = np.zeros(len(array), np.int64)
    places[rows] = counts["place_min"].to_numpy()[first]
    return lists.elements.take(nullable(places, np.isin(np.arange(len(array)), rows)))


@composed(
    "list_aggregate(list, name, ...), array_aggregate(list, name, ...), list_aggr(list, name, ...),"
    " array_aggr(list, name, ...), aggregate(list, name, ...)",
    "an aggregate of the elements, by its name; `list_f(list)` is that of the name `f`:"
    " list_aggregate(['a', 'b'], 'string_agg', '-'), list_stddev_pop([1, 3]) -> 'a-b' | 1.0",
)
def _aggregate(name: str, operand: Expression, which: Expression, *more: Expression) -> Expression:
    """Return what one function gives; others are queries, see `bind_list_aggregate`."""
    match which, more:
        case Literal(value="min" | "max" | "sum" | "avg" as function), ():
            return _bind_fold(f"list_{function}", operand)
        case Literal(value="bool_and" | "bool_or" as function), ():
            return bind_condition(f"list_{function}", operand)
        case Literal(value="mode"), ():
            return bind_mode("list_mode", operand)
        case Literal(value="count"), ():
            return Call("list_count", (require_list(f"{name}()", operand),), BIGINT)
        case Literal(value="first" | "last" as function), ():
            return list_element(operand, Literal(1 if function == "first" else -1, BIGINT))
    raise ProgrammingError(f"{name}() needs the name of an aggregate, not {describe(which)}")


@scalar(
    "array_to_string(list, separator: text) -> VARCHAR",
    "the elements as one text: array_to_string([1, 2], ', ') -> '1, 2'",
)
@of_columns
def _to_string(_: Call, array: pa.Array, separator: pa.Array) -> pa.Array:
    """Join the texts of the elements that are not NULL."""
    lists = lists_of(array)
    present = ~is_missing(lists.elements)
    lengths = np.bincount(lists.parents()[present], minlength=len(array))
    texts = cast_values(lists.elements, pa.string()).drop_null()
    return pc.binary_join(array_of_lists(texts, lengths, lists.valid), separator)


def _bind_split(name: str, text: Expression, separator: Expression) -> Expression:
    texts = require_text(name, text), require_text(name, separator)
    return Call("string_split", texts, pa.list_(TEXT))


@scalar(
    "string_split(text, separator), str_split(text, separator), split(text, separator),"
    " string_to_array(text, separator)",
    "the parts of a text, its characters where the separator is empty:"
    " string_split('a-b', '-') -> ['a', 'b']",
    bind=_bind_split,
)
@with_constants
def _split(call: Call, text: Values, separator: str) -> Values:
    if separator:
        return pc.split_pattern(text, separator)
    return row_by_row(list, call.type, text)
