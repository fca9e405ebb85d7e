"""Rows as lines of text, .csv or JSON lines: each batch of rows in a thread, written in order.

A line is joined from the texts of its fields by one call of Arrow for all rows of a batch.
"""

from __future__ import annotations

import itertools
import json
import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import pyarrow as pa

from raydb.errors import DataError, NotSupportedError
from raydb.interrupts import check_interrupt
from raydb.late import pc
from raydb.storage.bits import BIT, bit_texts
from raydb.storage.clocks import TIMETZ, timetz_texts
from raydb.storage.moments import is_moment, moment_texts
from raydb.storage.nested import (
    elements_of,
    entries_of,
    fields_of,
    leaf_types,
    missing,
    offsets_of,
)
from raydb.storage.type_names import sql_type_name
from raydb.storage.uuids import UUID, uuid_texts

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.storage.formats.delimited.records import Layout

    ToText = Callable[[pa.RecordBatch], pa.Array]

_BATCH_ROWS = 65_536
# Arrow addresses the text of one array by int32, and quotes may double it.
_BATCH_BYTES = 2**26
# So many batches may wait for the disk.
_WAITING_BATCHES = 8
# What numbers, booleans, dates and times are written with.
_PLAIN = frozenset("0123456789+-.:Ee truefalsnaif")


def write_delimited(
    sink: BinaryIO, rows: pa.Table, layout: Layout, header: bool, escape: str | None
) -> None:
    """Write rows as .csv: a field is quoted where it has to be, NULL is the layout's text for it.

    escape: what stands before a quote within quotes, None for another quote. Raises
    NotSupportedError for a column that text cannot hold.
    """
    check_types(rows.schema, "a .csv file", nested=False)
    line_of = partial(_delimited_lines, layout=layout, escape=escape)
    if header:
        names = pa.array(rows.schema.names, pa.string())
        quoted = _quoted(names, layout, escape).to_pylist()
        sink.write((layout.delimiter.join(quoted) + "\n").encode())
    _write_lines(sink, rows, line_of)


def write_json_lines(sink: BinaryIO, rows: pa.Table, *, is_array: bool) -> None:
    """Write rows as JSON, one object a line; dates and times are strings in ISO 8601.

    is_array: whether the lines are the elements of one array.

    Raises NotSupportedError for a column that JSON cannot hold, DataError for NaN and infinities.
    """
    check_types(rows.schema, "a JSON file", nested=True)
    if not is_array:
        _write_lines(sink, rows, partial(_json_lines, end="}\n"))
        return
    sink.write(b"[\n")
    last = max(rows.num_rows - 1, 0)
    _write_lines(sink, rows.slice(0, last), partial(_json_lines, end="},\n"))
    _write_lines(sink, rows.slice(last), partial(_json_lines, end="}\n"))
    sink.write(b"]\n")


def compressed(
    write: Callable[[BinaryIO], None], compression: str | None
) -> Callable[[BinaryIO], None]:
    """Return a function that writes the same, compressed."""
    if compression is None:
        return write

    def write_compressed(sink: BinaryIO) -> None:
        # Arrow closes what it has written to; the sink stays open, to be synced.
        with (
            os.fdopen(os.dup(sink.fileno()), "wb") as copy,
            pa.CompressedOutputStream(copy, compression) as stream,
        ):
            write(stream)

    return write_compressed


def check_types(schema: pa.Schema, what: str, nested: bool) -> None:
    """Raise NotSupportedError for a column of a type that a kind of file cannot hold."""
    types = pa.types
    for field in schema:
        kinds = leaf_types(field.type) if nested else (field.type,)
        if any(types.is_nested(k) or types.is_binary(k) or types.is_interval(k) for k in kinds):
            raise NotSupportedError(
                f"column '{field.name}' is {sql_type_name(field.type)}, which cannot be written to "
                f"{what}"
            )


def _write_lines(sink: BinaryIO, rows: pa.Table, line_of: ToText) -> None:
    """Write the lines of all rows, in threads but for the writing itself."""
    row_bytes = rows.nbytes // max(rows.num_rows, 1)
    batches = iter(rows.to_batches(max(min(_BATCH_ROWS, _BATCH_BYTES // max(row_bytes, 1)), 1)))
    with ThreadPoolExecutor(pa.cpu_count()) as threads:
        while group := list(itertools.islice(batches, _WAITING_BATCHES)):
            check_interrupt()
            sink.writelines(_bytes_of(lines) for lines in threads.map(line_of, group))


def _bytes_of(lines: pa.Array) -> pa.Buffer:
    """Return the text of an array of lines, which lies in one piece."""
    _, offsets, text = lines.buffers()
    places = np.frombuffer(offsets, np.int32)[lines.offset : lines.offset + len(lines) + 1]
    return text.slice(int(places[0]), int(places[-1] - places[0]))


# -- .csv


def _delimited_lines(batch: pa.RecordBatch, layout: Layout, escape: str | None) -> pa.Array:
    fields = []
    for column in batch.columns:
        texts = column if pa.types.is_string(column.type) else plain_text(column)
        if texts is column or _may_clash(layout):
            texts = _quoted(texts, layout, escape)
        fields.append(pc.fill_null(texts, layout.nulls[0]))
    lines = pc.binary_join_element_wise(*fields, layout.delimiter)
    return pc.binary_join_element_wise(lines, "\n", "")


def _may_clash(layout: Layout) -> bool:
    """Tell whether a number, boolean, date or time may hold the delimiter or spell NULL."""
    marks = layout.delimiter + layout.quote
    return any(mark in _PLAIN for mark in marks) or (
        layout.nulls[0] != "" and all(mark in _PLAIN for mark in layout.nulls[0])
    )


def _quoted(texts: pa.Array, layout: Layout, escape: str | None) -> pa.Array:
    """Return texts in quotes where they would be read as something else without."""
    quote = layout.quote
    marks = "".join(f"\\x{ord(mark):02x}" for mark in (quote, layout.delimiter))
    odd = pc.match_substring_regex(texts, f"[{marks}\r\n]|^[ \t]|[ \t]$")
    odd = pc.or_(odd, pc.equal(texts, layout.nulls[0]))
    if not pc.any(odd).as_py():
        return texts
    inside = texts if escape is None else pc.replace_substring(texts, escape, escape * 2)
    inside = pc.replace_substring(inside, quote, (escape or quote) + quote)
    return pc.if_else(odd, pc.binary_join_element_wise(quote, inside, quote, ""), texts)


def plain_text(column: pa.Array) -> pa.Array:
    """Return the values of a number, boolean, date or time as text that is read back the same."""
    if column.type == UUID:
        return uuid_texts(column)
    if column.type == BIT:
        return bit_texts(column)
    if column.type == TIMETZ:
        return timetz_texts(column)
    texts = moment_texts(column) if is_moment(column.type) else column.cast(pa.string())
    if not pa.types.is_floating(column.type):
        return texts
    # A double without a fraction keeps a point, so that it stays a double.
    whole = pc.invert(pc.match_substring_regex(texts, r"[.e]|n"))
    if not pc.any(whole).as_py():
        return texts
    return pc.if_else(whole, pc.binary_join_element_wise(texts, ".0", ""), texts)


# -- JSON


def _json_lines(batch: pa.RecordBatch, end: str) -> pa.Array:
    pieces: list[str | pa.Array] = []
    for place, (name, column) in enumerate(zip(batch.schema.names, batch.columns, strict=True)):
        before = "," if place else "{"
        pieces += [f"{before}{json.dumps(name, ensure_ascii=False)}:", json_text(name, column)]
    return pc.binary_join_element_wise(*pieces, end, "")


def json_text(name: str, column: pa.Array) -> pa.Array:
    """Return the values of a column as JSON, null for NULL. Raises DataError for NaN."""
    types, kind = pa.types, column.type
    if types.is_list(kind) or types.is_fixed_size_list(kind):
        texts = _json_list(name, column)
    elif types.is_struct(kind):
        texts = _json_struct(name, column)
    elif types.is_map(kind):
        texts = _json_map(name, column)
    elif kind == UUID:
        texts = pc.binary_join_element_wise('"', uuid_texts(column), '"', "")
    elif types.is_string(kind):
        texts = pc.binary_join_element_wise('"', _json_escaped(column), '"', "")
    elif kind in (TIMETZ, BIT):
        texts = pc.binary_join_element_wise('"', plain_text(column), '"', "")
    elif types.is_temporal(kind):
        texts = pc.binary_join_element_wise('"', _json_moment(column), '"', "")
    else:
        if types.is_floating(kind) and pc.all(pc.is_finite(column)).as_py() is False:
            raise DataError(f"column '{name}' has NaN or an infinity, which JSON cannot write")
        texts = plain_text(column)
    return pc.fill_null(texts, "null")


def _json_struct(name: str, column: pa.StructArray) -> pa.Array:
    fields = zip(column.type.names, fields_of(column), strict=True)
    return _json_object([(field, json_text(name, values)) for field, values in fields], column)


def _json_object(fields: list[tuple[str, pa.Array]], column: pa.Array) -> pa.Array:
    """Return objects with those members, NULL where the column is."""
    pieces: list[str | pa.Array] = []
    for field, texts in fields:
        before = "," if pieces else "{"
        pieces += [f"{before}{json.dumps(field, ensure_ascii=False)}:", texts]
    objects = pc.binary_join_element_wise(*pieces, "}", "")
    return pc.if_else(column.is_valid(), objects, pa.scalar(None, pa.string()))


def _json_map(name: str, column: pa.MapArray) -> pa.Array:
    """Return maps as objects; keys that are no text become one."""
    entries = entries_of(column)
    keys, values = fields_of(entries.flatten())
    words = json_text(name, keys)
    if not (pa.types.is_string(keys.type) or keys.type == UUID or pa.types.is_temporal(keys.type)):
        words = pc.binary_join_element_wise('"', _json_escaped(words), '"', "")
    members = pc.binary_join_element_wise(words, json_text(name, values), ":")
    lists = pa.ListArray.from_arrays(offsets_of(entries), members, mask=missing(entries))
    return pc.binary_join_element_wise("{", pc.binary_join(lists, ","), "}", "")


def _json_list(name: str, column: pa.ListArray) -> pa.Array:
    offsets, elements = elements_of(column)
    lists = pa.ListArray.from_arrays(offsets, json_text(name, elements), mask=missing(column))
    return pc.binary_join_element_wise("[", pc.binary_join(lists, ","), "]", "")


def _json_moment(column: pa.Array) -> pa.Array:
    """Return dates and times as text, without zeros at the end of fractions of a second."""
    texts = plain_text(column)
    if pa.types.is_date(column.type):
        return texts
    texts = pc.replace_substring_regex(texts, r"\.0+(Z?)$", r"\1")
    return pc.replace_substring_regex(texts, r"(\.\d*[1-9])0+(Z?)$", r"\1\2")


def _json_escaped(texts: pa.Array) -> pa.Array:
    if not pc.any(pc.match_substring_regex(texts, r'["\\\x00-\x1f]')).as_py():
        return texts
    # The backslash goes first, for the others are escaped by it.
    for character in ("\\", '"', *map(chr, range(32))):
        if pc.any(pc.match_substring(texts, character)).as_py():
            texts = pc.replace_substring(texts, character, json.dumps(character)[1:-1])
    return texts
