"""Nested values in Arrow, taken apart and put together: lists, structs and maps.

A list is a run of elements, a struct a value of each field, a map a list of entries, which are
structs of a key and a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.late import pc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_TYPES = pa.types


def is_list_like(kind: pa.DataType) -> bool:
    """Tell whether the values are lists, in any of Arrow's layouts."""
    return bool(
        _TYPES.is_list(kind)
        or _TYPES.is_large_list(kind)
        or _TYPES.is_fixed_size_list(kind)
        or _TYPES.is_list_view(kind)
        or _TYPES.is_large_list_view(kind)
    )


def leaf_types(kind: pa.DataType) -> Iterator[pa.DataType]:
    """Yield the types of the values that are in values of a type, or the type itself."""
    if not _TYPES.is_nested(kind):
        yield kind
    elif _TYPES.is_map(kind):
        yield from leaf_types(kind.key_type)
        yield from leaf_types(kind.item_type)
    elif _TYPES.is_struct(kind):
        for field in kind:
            yield from leaf_types(field.type)
    elif is_list_like(kind):
        yield from leaf_types(kind.value_type)
    else:
        yield kind


def map_leaves(kind: pa.DataType, change: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """Return a type with `change` applied to the types of the values that are in its values."""
    if not _TYPES.is_nested(kind):
        return change(kind)
    if _TYPES.is_struct(kind):
        return pa.struct([(field.name, map_leaves(field.type, change)) for field in kind])
    if _TYPES.is_map(kind):
        return pa.map_(map_leaves(kind.key_type, change), map_leaves(kind.item_type, change))
    if _TYPES.is_fixed_size_list(kind):
        return pa.list_(map_leaves(kind.value_type, change), kind.list_size)
    return pa.list_(map_leaves(kind.value_type, change)) if is_list_like(kind) else change(kind)


def entries_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of lists that holds the entries of maps of a type."""
    return pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)]))


def entries_of(maps: pa.Array) -> pa.Array:
    """Return maps as lists of their entries.

    >>> entries_of(pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())))
    [[{'key': 'a', 'value': 1}]]
    """
    offsets, keys, values = parts_of_maps(maps)
    kind = entries_type(maps.type)
    entries = make_structs([keys, values], kind.value_type)
    return pa.ListArray.from_arrays(offsets, entries, type=kind, mask=missing(maps))


def parts_of_maps(maps: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Return where each map begins among the entries, and the end; the keys; the values."""
    return _without_hidden(maps, [maps.keys, maps.items])


def elements_of(lists: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return where each list begins among the elements, and the end; the elements."""
    if _TYPES.is_list(lists.type):
        # Arrow's own function does not take UUIDs.
        return _without_hidden(lists, [lists.values])
    return offsets_of(lists), lists.flatten()


def _without_hidden(lists: pa.Array, parts: list[pa.Array]) -> tuple[pa.Array, ...]:
    """Return new offsets, and the parts that lie in lists or maps that are not NULL."""
    offsets = lists.offsets.to_numpy()
    lengths = np.diff(offsets)
    hidden = lists.is_null().to_numpy(zero_copy_only=False) & (lengths > 0)
    if hidden.any():
        kept = np.ones(int(offsets[-1] - offsets[0]), np.bool_)
        for start, stop in zip(offsets[:-1][hidden], offsets[1:][hidden], strict=True):
            kept[start - offsets[0] : stop - offsets[0]] = False
        parts = [part[offsets[0] : offsets[-1]].filter(pa.array(kept)) for part in parts]
        lengths = np.where(hidden, 0, lengths)
    else:
        parts = [part[offsets[0] : offsets[-1]] for part in parts]
    found = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return pa.array(found), *parts


def offsets_of(lists: pa.Array) -> pa.Array:
    """Return where each list begins among the flattened elements, and the end; int32."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
    return pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))


def make_lists(
    offsets: pa.Array, elements: pa.Array, kind: pa.DataType, mask: pa.Array | None = None
) -> pa.Array:
    """Return lists of any or of a fixed length, whose elements lie one list after the other.

    mask: is true for lists that are NULL, which have no elements. Raises pa.ArrowInvalid where a
    list has another length than `kind`.
    """
    if not _TYPES.is_fixed_size_list(kind):
        return pa.ListArray.from_arrays(offsets, elements, type=kind, mask=mask)
    size = kind.list_size
    starts = offsets.to_numpy()[:-1]
    hidden = np.zeros(len(starts), np.bool_)
    if mask is not None:
        hidden = mask.to_numpy(zero_copy_only=False)
    if (np.diff(offsets.to_numpy())[~hidden] != size).any():
        raise pa.ArrowInvalid("another length")
    if mask is None:
        return pa.FixedSizeListArray.from_arrays(elements, type=kind)
    places = (starts[:, None] + np.arange(size)).ravel()
    filled = elements.take(pa.array(places, mask=np.repeat(hidden, size)))
    return pa.FixedSizeListArray.from_arrays(filled, type=kind, mask=mask)


def missing(array: pa.Array) -> pa.Array | None:
    """Return which values are NULL, None where none is."""
    return array.is_null() if array.null_count else None


def fields_of(structs: pa.Array) -> list[pa.Array]:
    """Return the values of each field, which are NULL where the struct is."""
    found: list[pa.Array] = structs.flatten()
    return found


def make_structs(
    fields: list[pa.Array], kind: pa.DataType, mask: pa.Array | None = None
) -> pa.Array:
    """Return structs of the values of each field; `mask` is true for those that are NULL."""
    return pa.StructArray.from_arrays(fields, fields=list(kind), mask=mask)


def make_maps(entries: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return the maps of lists of entries. Raises pa.ArrowInvalid for a key that is NULL."""
    keys, values = fields_of(entries.flatten())
    if keys.null_count:
        raise pa.ArrowInvalid("a key of a map is NULL")
    return pa.MapArray.from_arrays(
        offsets_of(entries), keys, values, type=kind, mask=missing(entries)
    )


def rebuild(
    array: pa.Array, kind: pa.DataType, convert: Callable[[pa.Array, pa.DataType], pa.Array]
) -> pa.Array:
    """Return lists, structs or maps as those of another type, whose parts `convert` makes.

    Structs have as many fields, in the same order. Raises pa.ArrowInvalid where a list has not the
    length that `kind` fixes.
    """
    if _TYPES.is_struct(kind):
        fields = [
            convert(values, field.type)
            for values, field in zip(fields_of(array), kind, strict=True)
        ]
        return make_structs(fields, kind, missing(array))
    if _TYPES.is_map(kind):
        offsets, keys, values = parts_of_maps(array)
        parts = (convert(keys, kind.key_type), convert(values, kind.item_type))
        return pa.MapArray.from_arrays(offsets, *parts, type=kind, mask=missing(array))
    offsets, elements = elements_of(array)  # without those of NULL
    return make_lists(offsets, convert(elements, kind.value_type), kind, missing(array))


def scalar_of(value: Any, kind: pa.DataType) -> pa.Scalar:
    """Return a value as a scalar of a type, which Arrow cannot where it nests extension types."""
    stored = map_leaves(kind, _stored) if _TYPES.is_nested(kind) else kind
    if stored == kind:
        return pa.scalar(value, kind)
    return _as_extension(pa.array([value], stored), kind)[0]


def _stored(kind: pa.DataType) -> pa.DataType:
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


def _as_extension(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, array)
    return rebuild(array, kind, _as_extension) if _TYPES.is_nested(kind) else array
