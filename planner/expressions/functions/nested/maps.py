"""Functions of maps."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.errors import DataError, NotSupportedError, ProgrammingError
from raydb.late import pc
from raydb.planner.expressions.casts.cast import cast_values
from raydb.planner.expressions.columns.adapters import of_columns
from raydb.planner.expressions.columns.arrays import as_array
from raydb.planner.expressions.columns.lists import (
    array_of_lists,
    equal_elements,
    lists_of,
    order_keys,
)
from raydb.planner.expressions.columns.order import canonical_floats
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.functions.nested.lists import element_of, list_of
from raydb.planner.expressions.literals import is_bare_null
from raydb.planner.expressions.nodes import Call, Column, Expression, Literal
from raydb.planner.expressions.registry import SCALARS, composed, scalar
from raydb.planner.expressions.signature import require_list
from raydb.planner.expressions.types import (
    BOOLEAN,
    EMPTY_MAP,
    can_assign,
    closed,
    is_map,
    is_struct,
)
from raydb.planner.expressions.typing_rules import cast, comparable, unify
from raydb.storage.nested import entries_of, fields_of, make_maps, make_structs, missing, offsets_of
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from raydb.planner.expressions.columns.arrays import Values


def map_of(keys: Sequence[Expression], values: Sequence[Expression]) -> Expression:
    """Return MAP {key: value, ...}."""
    return _bind_map("map", *((list_of(keys), list_of(values)) if keys else ()))


def _bind_map(name: str, *lists: Expression) -> Expression:
    if not lists:
        return Literal((), EMPTY_MAP)
    if len(lists) == 1:
        raise ProgrammingError(f"{name}() takes a list of keys and one of values")
    keys, values = (require_list(f"{name}()", each) for each in lists)
    keys = cast(keys, closed(keys.type))
    return Call("map", (keys, values), pa.map_(keys.type.value_type, values.type.value_type))


@scalar(
    "MAP {a: b}, map([list, list])",
    "a map of keys, none of them NULL or twice, and values: MAP {'a': 1} -> {'a': 1}",
    bind=_bind_map,
    can_fail=True,
)
@of_columns
def _map(call: Call, keys: pa.Array, values: pa.Array) -> pa.Array:
    one, other = lists_of(keys), lists_of(values)
    valid = one.valid & other.valid
    if (one.lengths != other.lengths)[valid].any():
        raise DataError("map() needs as many keys as values")
    if not valid.all():
        mask = pa.array(valid)
        keys = pc.if_else(mask, keys, pa.scalar(None, keys.type))
        values = pc.if_else(mask, values, pa.scalar(None, values.type))
    elements = make_structs(
        [
            as_array(cast_values(keys.flatten(), call.type.key_type), 0),
            as_array(cast_values(values.flatten(), call.type.item_type), 0),
        ],
        pa.struct([("key", call.type.key_type), ("value", call.type.item_type)]),
    )
    lists = pa.ListArray.from_arrays(offsets_of(keys), elements, mask=missing(keys))
    return checked_maps(lists, call.type)


def checked_maps(lists: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return lists of entries as maps. Raises DataError for a key that is NULL or there twice."""
    entries = lists.flatten()
    keys = fields_of(entries)[0]
    if keys.null_count:
        raise DataError("a key of a map is NULL")
    parents = lists_of(lists).parents()
    codes = _codes_of(keys)
    pairs = np.stack([parents, codes], axis=1)
    if len(np.unique(pairs, axis=0)) < len(pairs):
        raise DataError("a key of a map is there twice")
    return make_maps(lists, kind)


def _codes_of(keys: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return equal numbers for equal keys."""
    if pt.is_nested(keys.type):
        texts = pa.array([repr(each) for each in keys.to_pylist()], pa.string())
        return _codes_of(texts)
    encoded = keys.dictionary_encode()
    codes: np.ndarray[tuple[int], np.dtype[np.int64]] = encoded.indices.to_numpy().astype(np.int64)
    return codes


def _of_map(
    signature: str, says: str, type_of: Callable[[pa.DataType], pa.DataType]
) -> Callable[[Callable[..., Values]], Callable[..., Values]]:
    """Register a function of a map alone."""

    def bind(name: str, operand: Expression) -> Expression:
        operand = require_map(f"{name}()", operand)
        return Call(name, (operand,), type_of(operand.type))

    return scalar(signature, says, bind=bind)


def require_map(what: str, operand: Expression) -> Expression:
    """Return an operand that is a map; raises ProgrammingError for others."""
    if not is_map(operand.type):
        raise ProgrammingError(f"{what} needs a map, not {describe(operand)}")
    return operand


def _parts_of(maps: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Return maps as lists of entries, and the keys and the values of all."""
    lists = entries_of(maps)
    keys, values = fields_of(lists.flatten())
    return lists, keys, values


def _listed(lists: pa.Array, parts: pa.Array) -> pa.Array:
    """Return the keys or the values of all entries as the lists that the maps have of them."""
    return pa.ListArray.from_arrays(offsets_of(lists), parts, mask=missing(lists))


@_of_map(
    "map_keys(map)",
    "the keys: map_keys(MAP {'a': 1}) -> ['a']",
    lambda kind: pa.list_(kind.key_type),
)
@of_columns
def _keys(_: Call, maps: pa.Array) -> pa.Array:
    lists, keys, _ = _parts_of(maps)
    return _listed(lists, keys)


@_of_map(
    "map_values(map)",
    "the values: map_values(MAP {'a': 1}) -> [1]",
    lambda kind: pa.list_(kind.item_type),
)
@of_columns
def _values(_: Call, maps: pa.Array) -> pa.Array:
    lists, _, values = _parts_of(maps)
    return _listed(lists, values)


composed(
    "map_contains_value(map, a)",
    "whether a key has it: map_contains_value(MAP {'a': 1}, 1) -> true",
)(lambda _, operand, value: _has(SCALARS["map_values"].call("map_values", [operand]), value))
composed(
    "map_contains_entry(map, a, b)",
    "whether a key has a value: map_contains_entry(MAP {'a': 1}, 'a', 1) -> true",
)(
    lambda _, operand, key, value: _has(
        SCALARS["map_extract"].call("map_extract", [operand, key]), value
    )
)


def _has(values: Expression, value: Expression) -> Expression:
    return SCALARS["list_contains"].call("list_contains", [values, value])


@_of_map(
    "map_entries(map)",
    "structs of a key and a value: map_entries(MAP {'a': 1}) -> [{'key': 'a', 'value': 1}]",
    lambda kind: pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)])),
)
@of_columns
def _entries(_: Call, maps: pa.Array) -> pa.Array:
    return entries_of(maps)


def map_value(operand: Expression, key: Expression) -> Expression:
    """Return map[key], NULL where there is no such key."""
    return _bind_lookup("map_value", operand.type.item_type, "a subscript", operand, key)


def _bind_lookup(
    function: str, kind: pa.DataType, name: str, operand: Expression, key: Expression
) -> Expression:
    stand_in = Column(-1, "key", operand.type.key_type)
    _, key = comparable(stand_in, key)
    if pt.is_nested(key.type) and can_assign(key.type, operand.type.key_type):
        key = cast(key, operand.type.key_type)
    if key.type != operand.type.key_type:
        raise ProgrammingError(f"{name} of {describe(operand)} is a key, not {describe(key)}")
    return Call(function, (operand, key), kind)


def _found(maps: pa.Array, key: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return for each map the place of a key among all entries, NULL without it, and the values."""
    lists, keys, values = _parts_of(maps)
    parents = lists_of(lists).parents()
    hits = np.flatnonzero(equal_elements(keys, key.take(pa.array(parents))))
    places = np.full(len(maps), -1, np.int64)
    places[parents[hits]] = hits
    return pa.array(places, mask=places < 0), values


@scalar(name="map_value")
@of_columns
def _map_value(_: Call, maps: pa.Array, key: pa.Array) -> pa.Array:
    places, values = _found(maps, key)
    return values.take(places)


@scalar(
    "element_at(map, a), map_extract(map, a)",
    "a list of the value of a key, [] without it: element_at(MAP {'a': 1}, 'a') -> [1]",
    bind=lambda name, operand, key: _bind_lookup(
        "element_at",
        pa.list_(require_map(f"{name}()", operand).type.item_type),
        f"{name}()",
        operand,
        key,
    ),
)
@of_columns
def _element_at(_: Call, maps: pa.Array, key: pa.Array) -> pa.Array:
    places, values = _found(maps, key)
    valid = maps.is_valid().to_numpy(zero_copy_only=False)
    lengths = places.is_valid().to_numpy(zero_copy_only=False).astype(np.int64)
    return array_of_lists(values.take(places.drop_null()), lengths, valid)


composed(
    "map_extract_value(map, a)",
    "the value of a key, NULL without it: map_extract_value(MAP {'a': 1}, 'a') -> 1",
)(lambda name, operand, key: map_value(require_map(f"{name}()", operand), key))


def _bind_contains(name: str, operand: Expression, key: Expression) -> Expression:
    return _bind_lookup(name, BOOLEAN, f"{name}()", require_map(f"{name}()", operand), key)


@scalar(
    "map_contains(map, a)",
    "whether it has a key: map_contains(MAP {'a': 1}, 'a') -> true",
    bind=_bind_contains,
)
@of_columns
def _contains(_: Call, maps: pa.Array, key: pa.Array) -> pa.Array:
    found = _found(maps, key)[0].is_valid()
    return pc.if_else(maps.is_valid(), found, pa.scalar(None, pa.bool_()))


def _bind_from_entries(name: str, operand: Expression) -> Expression:
    operand = require_list(f"{name}()", operand)
    entry = operand.type.value_type
    if not is_struct(entry) or len(entry) != 2:
        raise ProgrammingError(f"{name}() needs a list of structs of two, not {describe(operand)}")
    return Call(name, (operand,), pa.map_(entry.field(0).type, entry.field(1).type))


@scalar(
    "map_from_entries(list)",
    "the map of structs of two fields: map_from_entries([row('a', 1)]) -> {'a': 1}",
    bind=_bind_from_entries,
    can_fail=True,
)
@of_columns
def _from_entries(call: Call, lists: pa.Array) -> pa.Array:
    return checked_maps(lists, call.type)


def _bind_concat(name: str, *maps: Expression) -> Expression:
    given = [each for each in maps if not is_bare_null(each)]
    for each in given:
        require_map(f"{name}()", each)
    if not given:
        return Literal(None, EMPTY_MAP)
    same = unify(given, "combine")
    return Call("map_concat", same, same[0].type)


@scalar(
    "map_concat([map, ...])",
    "the entries of all, of a key that is in several the last one's:"
    " map_concat(MAP {'a': 1, 'b': 2}, MAP {'b': 3}) -> {'a': 1, 'b': 3}",
    bind=_bind_concat,
    takes="nulls",
)
@of_columns
def _concat(call: Call, *arrays: pa.Array) -> pa.Array:
    """Return the keys where they stand first, each with its last value."""
    maps = [entries_of(cast_values(each, call.type)) for each in arrays]
    sides = [lists_of(each) for each in maps]
    entries = pa.concat_arrays([side.elements for side in sides])
    parents = np.concatenate([side.parents() for side in sides])
    codes = parents * (len(entries) + 1) + _codes_of(fields_of(entries)[0])
    # Entries of a row in the order of their maps, which are one after the other in `entries`.
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    last = np.zeros(len(first), np.int64)
    np.maximum.at(last, inverse, np.arange(len(codes)))
    order = np.lexsort((first, parents[first]))
    keys, values = fields_of(entries)
    merged = make_structs(
        [keys.take(pa.array(first[order])), values.take(pa.array(last[order]))], entries.type
    )
    lengths = np.bincount(parents[first], minlength=len(arrays[0]))
    valid = np.logical_or.reduce([side.valid for side in sides])
    return make_maps(array_of_lists(merged, lengths, valid), call.type)


def histogram_of(values: Expression) -> Expression:
    """Return how often each value occurs in a list, NULL where there is none."""
    values = cast(values, closed(values.type))
    element = values.type.value_type
    if pt.is_nested(element):
        raise NotSupportedError(f"histogram() of {sql_type_name(element)} is not supported")
    return Call("histogram", (values,), pa.map_(element, pa.uint64()))


@scalar(name="histogram")
@of_columns
def _histogram(call: Call, array: pa.Array) -> pa.Array:
    lists = lists_of(array)
    pairs = pa.table({"list": lists.parents(), "key": canonical_floats(lists.elements)})
    found = (
        pairs.filter(pc.is_valid(pairs["key"]))
        .group_by(["list", "key"])
        .aggregate([("key", "count")])
    )
    keyed = found.append_column("order", order_keys(found["key"].combine_chunks()))
    order = pc.sort_indices(keyed, [("list", "ascending"), ("order", "ascending")])
    found = found.take(order)
    lengths = np.bincount(found["list"].to_numpy(), minlength=len(array))
    entries = make_structs(
        [found["key"].combine_chunks(), found["key_count"].combine_chunks().cast(pa.uint64())],
        pa.struct([("key", call.type.key_type), ("value", call.type.item_type)]),
    )
    return make_maps(array_of_lists(entries, lengths, lengths > 0), call.type)


def binned_histogram_of(name: str, values: Expression, bins: Expression) -> Expression:
    """Return how many values of a list are in each bin, NULL where there is no list.

    A bin is from behind the one before it up to its own value; of histogram_exact() it is that
    value alone. What is in none is counted at the greatest value of the type, at '' for texts.
    """
    bins = require_list(f"{name}()", bins)
    kind = closed(unify((element_of(values), element_of(bins)), "combine")[0].type)
    if _beyond(kind) is None:
        raise NotSupportedError(f"{name}() of {sql_type_name(kind)} with bins is not supported")
    lists = (cast(each, pa.list_(kind)) for each in (values, bins))
    known = "histogram_exact" if name == "histogram_exact" else "histogram_bins"
    return Call(known, tuple(lists), pa.map_(kind, pa.uint64()))


def _beyond(kind: pa.DataType) -> object:
    """Return what stands for all values that are in no bin, None for a type that lacks it."""
    if pt.is_decimal(kind):
        return Decimal(10**kind.precision - 1).scaleb(-kind.scale)
    if pt.is_floating(kind):
        return float("inf")
    if pt.is_integer(kind):
        return 2 ** (kind.bit_width - pt.is_signed_integer(kind)) - 1
    if pt.is_date(kind) or pt.is_timestamp(kind):
        return 2 ** (kind.bit_width - 1) - 1
    return "" if pt.is_string(kind) else None


def _count_at(values: pa.Array, place: pa.Scalar, is_exact: bool) -> int:
    """Return how many values are equal to a bin, or up to it; NaN is the greatest of all."""
    if pt.is_floating(values.type) and pc.is_nan(place).as_py():
        return pc.sum(pc.is_nan(values)).as_py() or 0 if is_exact else len(values)
    compare = pc.equal if is_exact else pc.less_equal
    return pc.sum(compare(values, place)).as_py() or 0


@scalar(name="histogram_exact", can_fail=True)
@scalar(name="histogram_bins", can_fail=True)
@of_columns
def _binned(call: Call, array: pa.Array, given: pa.Array) -> pa.Array:
    is_exact = call.function == "histogram_exact"
    name = "histogram_exact" if is_exact else "histogram"
    kind = call.type.key_type
    beyond = pa.array([_beyond(kind)], pa.int64() if pt.is_temporal(kind) else kind)
    beyond = beyond.cast(pa.int32()).view(kind) if pt.is_date(kind) else beyond.view(kind)
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    keys, counts, lengths = [], list[int](), []
    for row in range(len(array)):
        if not valid[row]:
            lengths.append(0)
            continue
        bins = given[row].values
        if bins is None or bins.null_count:
            raise DataError(f"the bins of {name}() are a list without NULL")
        bins = pc.unique(canonical_floats(bins))
        bins = bins.take(pc.sort_indices(bins))
        values = array[row].values.drop_null()
        found = [_count_at(values, each, is_exact) for each in bins]
        inside = sum(found) if is_exact else max(found, default=0)
        if not is_exact:
            found = list(np.diff([0, *found]))
        rest = len(values) - inside
        if rest and pc.is_in(beyond, bins)[0].as_py():
            raise DataError(f"{name}() counts all others at '{beyond[0]}', a bin")
        keys += [bins] + [beyond] * bool(rest)
        counts += found + [rest] * bool(rest)
        lengths.append(len(bins) + bool(rest))
    joined = pa.concat_arrays(keys) if keys else pa.array([], kind)
    entries = make_structs(
        [joined, pa.array(counts, pa.uint64())],
        pa.struct([("key", kind), ("value", pa.uint64())]),
    )
    return make_maps(array_of_lists(entries, np.array(lengths, np.int64), valid), call.type)
