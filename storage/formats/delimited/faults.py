"""The first line of a delimited file that is wrong, and what is wrong with it.

Arrow reads a file in parallel and does not say where it failed. The search splits the file into
records, has batches of them converted by Arrow again, and halves the first batch which fails, so
that it accepts exactly what the first reading does.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.storage.formats.delimited.records import Layout, Record, records, split_fields, unquote
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    import mmap
    from collections.abc import Callable

_BATCH_RECORDS = 4096
_SHOWN_CHARACTERS = 60
_WHOLE = re.compile(r" *-?\d+ *", re.ASCII)
_NUMBER = re.compile(r" *[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)? *", re.ASCII | re.IGNORECASE)


def first_failure(count: int, fails: Callable[[int], bool]) -> int:
    """Return the number of the first element that fails, where `fails(k)` tries the first k.

    >>> first_failure(10, lambda k: k > 6)
    6
    """
    good, bad = 0, count
    while bad - good > 1:
        middle = (good + bad) // 2
        if fails(middle):
            bad = middle
        else:
            good = middle
    return good


def miscount(found: int, expected: int) -> str:
    """Return the words for a record with another number of fields than its table has columns.

    >>> miscount(1, 4)
    '1 field where 4 are expected'
    """
    verb = "are" if expected > 1 else "is"
    return f"{found} field{'s' if found > 1 else ''} where {expected} {verb} expected"


def locate_fault(
    data: mmap.mmap | bytes,
    body: Record,
    layout: Layout,
    schema: pa.Schema,
    fails: Callable[[bytes, int | None], bool],
) -> str | None:
    """Return what is wrong with the file, as "line 17, field 3 (p_size): ...", or None.

    `body` is the first record that is not a header. `fails(records, field)` tells whether whole
    records cannot be converted; where a field is given, whether that one cannot (from 0).
    """
    batch: list[Record] = []
    for record in records(data, layout, body.start, body.line):
        broken = _broken(data, record, layout, schema)
        if broken is None:
            batch.append(record)
            if len(batch) < _BATCH_RECORDS:
                continue
        misfit = _misfit(data, batch, layout, schema, fails)
        if misfit is not None or broken is not None:
            return misfit or broken
        batch = []
    return _misfit(data, batch, layout, schema, fails)


def _broken(
    data: mmap.mmap | bytes, record: Record, layout: Layout, schema: pa.Schema
) -> str | None:
    """Return what is wrong with a record's form: its quotes, number of fields, bytes."""
    where = f"line {record.line}"
    if record.fault is not None:
        return f"{where}: {record.fault}"
    content = data[record.start : record.stop]
    if not content and len(schema) > 1:
        return f"{where}: the line is empty"
    fields = split_fields(content, layout)
    cut = "; the last line seems to be cut off" if record.stop == len(data) else ""
    if layout.trailing and not fields[-1]:
        fields.pop()
    elif layout.trailing and len(fields) == len(schema):
        return f"{where}: no '{layout.delimiter}' at the end, as the first line has{cut}"
    if len(fields) != len(schema):
        cut = cut if len(fields) < len(schema) else ""
        return f"{where}: {miscount(len(fields), len(schema))}{cut}"
    if b"\0" in content:
        place = next(i for i, field in enumerate(fields) if b"\0" in field)
        return f"{where}, {_name_field(schema, place)}: a NUL byte"
    return None


def _misfit(
    data: mmap.mmap | bytes,
    batch: list[Record],
    layout: Layout,
    schema: pa.Schema,
    fails: Callable[[bytes, int | None], bool],
) -> str | None:
    """Return the first value of the batch that does not fit its column, or None."""
    if not batch or not fails(data[batch[0].start : batch[-1].next], None):
        return None
    number = first_failure(
        len(batch), lambda count: fails(data[batch[0].start : batch[count - 1].next], None)
    )
    record = batch[number]
    written = data[record.start : record.next]
    for place in range(len(schema)):
        if fails(written, place):
            field = split_fields(data[record.start : record.stop], layout)[place]
            what = _describe(unquote(field, layout), schema.field(place).type)
            return f"line {record.line}, {_name_field(schema, place)}: {what}"
    return f"line {record.line}: the record cannot be read"


def _name_field(schema: pa.Schema, place: int) -> str:
    return f"field {place + 1} ({schema.names[place]})"


def _describe(value: bytes, data_type: pa.DataType) -> str:
    try:
        text = value.decode()
    except UnicodeDecodeError as error:
        return f"byte 0x{value[error.start]:02x} is not valid UTF-8"
    name = sql_type_name(data_type)
    number = _WHOLE if pa.types.is_integer(data_type) else _NUMBER
    numeric = pa.types.is_integer(data_type) or pa.types.is_decimal(data_type)
    if (numeric or pa.types.is_floating(data_type)) and number.fullmatch(text):
        return f"'{shorten(text)}' does not fit {name}"
    article = "an" if name[0] in "AEIOU" else "a"
    return f"'{shorten(text)}' is not {article} {name}"


def shorten(text: str) -> str:
    """Return a text as a message shows it: printable, and not all of a long one."""
    shown = text if text.isprintable() else text.encode("unicode_escape").decode()
    if len(shown) <= _SHOWN_CHARACTERS:
        return shown
    return shown[:_SHOWN_CHARACTERS] + "..."
