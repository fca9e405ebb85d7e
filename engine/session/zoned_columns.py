"""Columns of TIMESTAMP WITH TIME ZONE as they leave the database: in the zone of the session.

timestamp[us, tz=UTC]  ->  timestamp[us, tz=Europe/Oslo]    the same instants
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.planner.expressions.columns.zones import zone_name
from raydb.planner.expressions.types import TIMESTAMPTZ, is_zoned
from raydb.storage.nested import rebuild

if TYPE_CHECKING:
    from collections.abc import Sequence


def shown_types(types: Sequence[pa.DataType], setting: str) -> tuple[pa.DataType, ...] | None:
    """Return the types of columns with the zone that a setting means, None where none has one."""
    if not any(map(is_zoned, types)):
        return None
    zone = zone_name(setting)
    return tuple(_shown_type(kind, zone) if is_zoned(kind) else kind for kind in types)


def _shown_type(kind: pa.DataType, zone: str) -> pa.DataType:
    if pa.types.is_list(kind):
        return pa.list_(_shown_type(kind.value_type, zone))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _shown_type(field.type, zone)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_shown_type(kind.key_type, zone), _shown_type(kind.item_type, zone))
    return pa.timestamp("us", zone) if kind == TIMESTAMPTZ else kind


def shown(
    columns: Sequence[pa.Array | pa.ChunkedArray], types: Sequence[pa.DataType]
) -> list[pa.ChunkedArray]:
    """Return columns with types of `shown_types`."""
    made = []
    for column, kind in zip(columns, types, strict=True):
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        made.append(pa.chunked_array([_shown(chunk, kind) for chunk in chunks], kind))
    return made


def _shown(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if array.type == kind:
        return array
    return rebuild(array, kind, _shown) if pa.types.is_nested(kind) else array.cast(kind)
