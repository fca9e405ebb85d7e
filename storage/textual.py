"""Columns that Arrow keeps as bytes of any length, and texts that are none."""

from __future__ import annotations

import pyarrow as pa

from raydb.errors import DataError
from raydb.storage.bits import BIT
from raydb.storage.nested import leaf_types


def is_textual(kind: pa.DataType) -> bool:
    """Tell whether values are VARCHAR, BLOB or BIT, which are compared by their bytes."""
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind) or kind == BIT)


def check_texts(rows: pa.Table | pa.RecordBatch, place: str = "") -> None:
    """Raise DataError for a column that has a text which is no UTF-8, and could not be read back.

    Arrow looks at none of those that files and other programs hand over. place: "file 'a', " for
    the message.
    """
    for name, column in zip(rows.schema.names, rows.columns, strict=True):
        if any(map(_is_text, leaf_types(column.type))):
            try:
                column.validate(full=True)
            except pa.ArrowInvalid:
                raise DataError(f"{place}column '{name}' has a text that is no UTF-8") from None


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
