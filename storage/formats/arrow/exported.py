"""Rows as other libraries take them: a UUID is Arrow's `arrow.uuid`, an ENUM a dictionary.

A TIME WITH TIME ZONE and a BIT, which Arrow lacks, are texts.
"""

from __future__ import annotations

import pyarrow as pa

from raydb.storage.bits import BIT, bit_texts
from raydb.storage.clocks import TIMETZ, timetz_texts
from raydb.storage.enums import EnumType
from raydb.storage.nested import map_leaves, rebuild
from raydb.storage.uuids import UUID, uuid_texts

_TYPES = pa.types


def exported_type(kind: pa.DataType) -> pa.DataType:
    """Return the type by which other libraries know the values of a SQL type."""
    if kind not in (UUID, TIMETZ, BIT) and not (
        _TYPES.is_nested(kind) or isinstance(kind, EnumType)
    ):
        return kind
    return map_leaves(kind, _exported_leaf)


def _exported_leaf(kind: pa.DataType) -> pa.DataType:
    if isinstance(kind, EnumType):
        return pa.dictionary(kind.storage_type, pa.string(), ordered=True)
    if kind in (TIMETZ, BIT):
        return pa.string()
    return pa.uuid() if kind == UUID else kind


def exported_array(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return an array in the type that `exported_type` gives; what stays the same is not copied."""
    if array.type == kind:
        return array
    if isinstance(array.type, EnumType):
        labels = array.type.texts()
        return pa.DictionaryArray.from_arrays(array.storage, labels, ordered=True)
    if array.type == BIT:
        return bit_texts(array)
    if array.type == TIMETZ:
        return timetz_texts(array)
    if kind == pa.uuid():
        return pa.ExtensionArray.from_storage(kind, array)
    return rebuild(array, kind, exported_array)


def with_uuid_texts(rows: pa.Table) -> pa.Table:
    """Return rows with the columns of UUIDs as texts, for who lacks the type."""
    for place, field in enumerate(rows.schema):
        if field.type in (UUID, pa.uuid()):
            chunks = [uuid_texts(chunk) for chunk in rows.column(place).chunks]
            rows = rows.set_column(place, field.name, pa.chunked_array(chunks, pa.string()))
    return rows


def exported(rows: pa.Table) -> pa.Table:
    """Return rows in the types that other libraries know."""
    for place, field in enumerate(rows.schema):
        kind = exported_type(field.type)
        if kind != field.type:
            chunks = [exported_array(chunk, kind) for chunk in rows.column(place).chunks]
            rows = rows.set_column(
                place, pa.field(field.name, kind), pa.chunked_array(chunks, kind)
            )
    return rows
