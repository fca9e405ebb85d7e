"""What is wrong with a record of a delimited file, and the first record or all that are.

Arrow reads a block of records and does not say where it failed. The search splits the block into
records, has batches of them converted by Arrow again, and halves the batches which fail, so that it
accepts exactly what the first reading does.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.storage.enums import EnumType
from raydb.storage.formats.delimited.records import Layout, Record, records, split_fields, unquote
from raydb.storage.formats.delimited.vectors import is_vector, length_of
from raydb.storage.type_names import sql_type_name
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    # Whether some records, as bytes, cannot be converted; in one field alone where that is given.
    Fails = Callable[[bytes, int | None], bool]

_BATCH_RECORDS = 4096
_SHOWN_CHARACTERS = 60
_WHOLE = re.compile(r" *-?\d+ *", re.ASCII)
_NUMBER = re.compile(r" *[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)? *", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a record. field: which one is, from 0; None for the record as a whole.

    kind: CAST, MISSING COLUMNS, TOO MANY COLUMNS, UNQUOTED VALUE, INVALID ENCODING or OTHER.
    """

    line: int
    kind: str
    what: str
    written: bytes
    field: int | None = None

    def describe(self, schema: pa.Schema) -> str:
        """Return the fault as messages have it: `line 17, field 3 (p_size): ...`."""
        where = (
            "" if self.field is None else f", field {self.field + 1} ({schema[self.field].name})"
        )
        return f"line {self.line}{where}: {self.what}"


@dataclass(frozen=True, slots=True)
class Plain:
    """A record as it is handed to Arrow, or what is wrong with its form."""

    record: Record
    content: bytes
    fault: Fault | None = None


def plain_records(
    data: bytes, layout: Layout, schema: pa.Schema, line: int = 1, *, is_last: bool = True
) -> Iterator[Plain]:
    """Yield the records of a block without blank lines and comments, padded where the layout is.

    line: that of the first one. is_last: whether the file ends with the block.
    """
    for record in records(data, layout, 0, line):
        content = data[record.start : record.stop]
        if not content and len(schema) > 1 and record.fault is None:
            continue
        fault = _broken(record, content, layout, schema, is_last and record.stop == len(data))
        if fault is not None and fault.kind == "MISSING COLUMNS" and layout.padded:
            missing = len(schema) - len(split_fields(content, layout))
            content, fault = content + layout.delimiter.encode() * missing, None
        yield Plain(record, content, fault)


def joined(found: Sequence[Plain]) -> bytes:
    """Return records as the bytes of a block."""
    return b"".join(part for each in found for part in (each.content, b"\n"))


def first_fault(
    found: Iterator[Plain], layout: Layout, schema: pa.Schema, fails: Fails
) -> Fault | None:
    """Return what is wrong with the first record that cannot be read, None where all can."""
    batch: list[Plain] = []
    for each in found:
        if each.fault is None:
            batch.append(each)
            if len(batch) < _BATCH_RECORDS:
                continue
        fault = _misfit(batch, layout, schema, fails) or each.fault
        if fault is not None:
            return fault
        batch = []
    return _misfit(batch, layout, schema, fails)


def split_faults(
    found: Iterator[Plain], layout: Layout, schema: pa.Schema, fails: Fails
) -> tuple[bytes, list[Fault]]:
    """Return the records that can be read as one block, and what is wrong with the others."""
    every = list(found)
    faults = [each.fault for each in every if each.fault is not None]
    good: list[Plain] = []
    waiting = [[each for each in every if each.fault is None]]
    while waiting:
        some = waiting.pop()
        if not some or not fails(joined(some), None):
            good += some
        elif len(some) == 1:
            fault = _misfit(some, layout, schema, fails)
            assert fault is not None, "a record that fails has a fault"
            faults.append(fault)
        else:
            half = len(some) // 2
            waiting += [some[half:], some[:half]]
    return joined(good), faults


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


def _broken(
    record: Record, content: bytes, layout: Layout, schema: pa.Schema, is_end: bool
) -> Fault | None:
    """Return what is wrong with a record's form: its quotes, number of fields, bytes."""
    width = len(schema)
    if record.fault is not None:
        return Fault(record.line, "UNQUOTED VALUE", record.fault, content)
    fields = split_fields(content, layout)
    cut = "; the last line seems to be cut off" if is_end else ""
    if layout.trailing and not fields[-1]:
        fields.pop()
    elif layout.trailing and len(fields) == width:
        what = f"no '{layout.delimiter}' at the end, as the first line has{cut}"
        return Fault(record.line, "OTHER", what, content)
    if len(fields) != width:
        is_short = len(fields) < width
        kind = "MISSING COLUMNS" if is_short else "TOO MANY COLUMNS"
        what = miscount(len(fields), width) + (cut if is_short else "")
        return Fault(record.line, kind, what, content)
    if b"\0" in content:
        place = next(i for i, field in enumerate(fields) if b"\0" in field)
        return Fault(record.line, "OTHER", "a NUL byte", content, place)
    return None


def _misfit(
    batch: Sequence[Plain], layout: Layout, schema: pa.Schema, fails: Fails
) -> Fault | None:
    """Return the first value of the batch that does not fit its column, or None."""
    if not batch or not fails(joined(batch), None):
        return None
    number = first_failure(len(batch), lambda count: fails(joined(batch[:count]), None))
    wrong = batch[number]
    for place in range(len(schema)):
        if fails(joined([wrong]), place):
            value = unquote(split_fields(wrong.content, layout)[place], layout)
            kind, what = _describe(value, schema.field(place).type)
            return Fault(wrong.record.line, kind, what, wrong.content, place)
    return Fault(wrong.record.line, "OTHER", "the record cannot be read", wrong.content)


def _describe(value: bytes, data_type: pa.DataType) -> tuple[str, str]:
    try:
        text = value.decode()
    except UnicodeDecodeError as error:
        return "INVALID ENCODING", f"byte 0x{value[error.start]:02x} is not valid UTF-8"
    if isinstance(data_type, EnumType):
        return "CAST", f"'{shorten(text)}' is no value of {data_type.title}"
    name = sql_type_name(data_type)
    count = length_of(text) if is_vector(data_type) else None
    if count is not None and count != data_type.list_size:
        return "CAST", f"a list of {count} element{'s' if count > 1 else ''} does not fit {name}"
    number = _WHOLE if pa.types.is_integer(data_type) else _NUMBER
    numeric = pa.types.is_integer(data_type) or pa.types.is_decimal(data_type)
    if (numeric or pa.types.is_floating(data_type)) and number.fullmatch(text):
        return "CAST", f"'{shorten(text)}' does not fit {name}"
    article = "an" if name[0] in "AEIO" else "a"
    return "CAST", f"'{shorten(text)}' is not {article} {name}"


def shorten(text: str) -> str:
    """Return a text as a message shows it: printable, and not all of a long one."""
    shown = text if text.isprintable() else text.encode("unicode_escape").decode()
    if len(shown) <= _SHOWN_CHARACTERS:
        return shown
    return shown[:_SHOWN_CHARACTERS] + "..."
