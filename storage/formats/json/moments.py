"""Dates and times in JSON, which are strings; those within objects and lists too."""

from __future__ import annotations

from contextlib import suppress

import pyarrow as pa
import pyarrow.types as pt

from raydb.late import pc
from raydb.storage.formats.cast_columns import cast_texts
from raydb.storage.nested import fields_of, map_leaves

_CLOCK = r"\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?"
_KINDS = (
    (r"^\d{4}-\d{2}-\d{2}$", pa.date32()),
    (rf"^\d{{4}}-\d{{2}}-\d{{2}}[ T]{_CLOCK}$", pa.timestamp("us")),
    (
        rf"^\d{{4}}-\d{{2}}-\d{{2}}[ T]{_CLOCK}(Z|[+-]\d{{2}}(:?\d{{2}})?)$",
        pa.timestamp("us", "UTC"),
    ),
    (r"^\d{2}:\d{2}:\d{2}(\.\d{1,6})?$", pa.time64("us")),
)


def texts_of_moments(schema: pa.Schema) -> pa.Schema:
    """Return columns with what Arrow takes for timestamps as the strings that they are."""

    def text(kind: pa.DataType) -> pa.DataType:
        return pa.string() if pt.is_timestamp(kind) else kind

    return pa.schema([(field.name, map_leaves(field.type, text)) for field in schema])


def as_moments(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return strings that are all dates, all times or all both, as such."""
    if pt.is_nested(column.type):
        kind = _told_type(column)
        return column if kind == column.type else cast_texts(column, kind)
    if not pt.is_string(column.type) or column.null_count == len(column):
        return column
    for pattern, kind in _KINDS:
        if pc.all(pc.match_substring_regex(column, pattern)).as_py():
            with suppress(pa.ArrowInvalid):
                return cast_texts(column, kind)
    return column


def _told_type(column: pa.ChunkedArray) -> pa.DataType:
    """Return the type of a column by the values that are within its values."""
    kind = column.type
    if pt.is_list(kind):
        elements = [chunk.flatten() for chunk in column.chunks]
        return pa.list_(_told_type(pa.chunked_array(elements, kind.value_type)))
    if pt.is_struct(kind):
        parts = zip(*map(fields_of, column.chunks), strict=True)
        told = [
            (field.name, _told_type(pa.chunked_array(list(chunks), field.type)))
            for field, chunks in zip(kind, parts, strict=False)
        ]
        return pa.struct(told) if told else kind
    return as_moments(column).type
