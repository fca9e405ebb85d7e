"""Rows as other libraries take them: a UUID is Arrow's extension type `arrow.uuid`."""

from __future__ import annotations

import pyarrow as pa

from raydb.storage.nested import is_list_like, rebuild
from raydb.storage.uuids import UUID, uuid_texts

_TYPES = pa.types


def exported_type(kind: pa.DataType) -> pa.DataType:
    """Return the type by which other libraries know the values of a SQL type."""
    if kind == UUID:
        return pa.uuid()
    if not _TYPES.is_nested(kind) or _TYPES.is_fixed_size_list(kind):
        return kind
    if _TYPES.is_struct(kind):
        return pa.struct([(field.name, exported_type(field.type)) for field in kind])
    if _TYPES.is_map(kind):
        return pa.map_(exported_type(kind.key_type), exported_type(kind.item_type))
    return pa.list_(exported_type(kind.value_type)) if is_list_like(kind) else kind


def exported_array(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return an array in the type that `exported_type` gives; what stays the same is not copied."""
    if array.type == kind:
        return array
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
