"""The reader of .tbl and .csv files: blocks of records, each converted by Arrow, in threads.

A block that fails or is odd is searched for its first fault, record by record; an odd block without
a fault is accepted. Where the statement says so, records with a fault are left out instead.
"""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.errors import DataError, NotSupportedError
from raydb.late import pc
from raydb.room import keep_rows
from raydb.storage.bits import BIT
from raydb.storage.clocks import TIMETZ
from raydb.storage.enums import is_enum
from raydb.storage.formats.delimited.blocks import Block, blocks_of, follow_records
from raydb.storage.formats.delimited.convert import (
    begins_with_zero,
    fails,
    is_odd,
    may_have_zeros,
    read_part,
    read_texts,
)
from raydb.storage.formats.delimited.faults import (
    first_fault,
    joined,
    miscount,
    plain_records,
    split_faults,
)
from raydb.storage.formats.delimited.header import is_header_of
from raydb.storage.formats.delimited.records import Layout, Record, records, split_fields
from raydb.storage.formats.delimited.vectors import is_vector
from raydb.storage.in_order import in_order
from raydb.storage.type_names import sql_type_name
from raydb.storage.uuids import UUID
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from raydb.storage.formats.delimited.faults import Plain
    from raydb.storage.formats.text_file import TextFile

    Report = Callable[[int], None] | None


# A record of a block that is searched takes some microseconds.
_RECORDS_A_CHECK = 4096


@dataclass(frozen=True, eq=False, slots=True)
class DelimitedText:
    """A delimited file with what its records mean: `body` is the first one that is no header.

    stop: where the last one ends; blank lines may follow. guessed: the columns whose types are
    those of some values.
    """

    file: TextFile
    layout: Layout
    schema: pa.Schema
    body: Record
    stop: int
    guessed: frozenset[str] = frozenset()


def open_delimited(
    file: TextFile, schema: pa.Schema, layout: Layout, header: bool | None, skipped_lines: int
) -> DelimitedText:
    """Find where the rows of a file begin whose fields are the columns of `schema`, in order.

    `header`: whether the first record is a header; None finds out. A file without records has no
    rows. Raises ProgrammingError for a header in another order, NotSupportedError for a type of
    column that text cannot hold.
    """
    check_types(schema)
    start = file.skip(skipped_lines)
    stop = file.text_end(start) if len(schema) > 1 else file.size_bytes
    if start >= stop:
        return DelimitedText(file, layout, schema, Record(start, start, start, 1), stop)
    with file.view() as data:
        leading = _after_blanks(records(data, layout, start, skipped_lines + 1), len(schema))
        first = next(leading, None)
        if first is None:
            return DelimitedText(file, layout, schema, Record(stop, stop, stop, 1), stop)
        content = data[first.start : first.stop]
        layout = _find_trailing(content, layout, schema)
        found = is_header_of(file.path, first, content, layout, schema, header)
        body = next(leading, _end_of(first)) if found else first
    if isinstance(found, str):
        file.warn(found)
    return DelimitedText(file, layout, schema, body, stop)


def _end_of(record: Record) -> Record:
    return Record(record.next, record.next, record.next, record.line + 1)


def _after_blanks(found: Iterator[Record], width: int) -> Iterator[Record]:
    """Yield records from the first one on that is not blank; in a lone column it is a value."""
    if width < 2:
        return found
    return itertools.dropwhile(lambda each: each.start == each.stop and not each.fault, found)


def tables_of(
    text: DelimitedText, names: Sequence[str] | None = None, report: Report = None
) -> Iterator[Callable[[], pa.Table]]:
    """Yield functions that return some rows each, in order, of the columns of those names.

    names: None for all. The functions may be called in any thread; they raise DataError naming
    file, line and field. Fields of other columns are not looked at, unless records with faults are
    left out. `report` is told the number of bytes read so far.
    """
    if names is not None and not names:
        text = _uncast(text)
    file, layout, schema = text.file, text.layout, text.schema
    # What is wrong with the form of a .tbl file shows in its last column.
    every = names is None or not layout.quotes or layout.lenient
    chosen = None if every else [schema.get_field_index(name) for name in names or ()] or [0]
    columns = list(schema)
    guessed = [
        place
        for place in (range(len(columns)) if chosen is None else chosen)
        if columns[place].name in text.guessed and _is_number(columns[place].type)
    ]
    blanks: list[int] = []

    def on_blank(place: int) -> None:
        if not blanks:
            blanks.append(place)
            line = text.body.line + file.count_lines(text.body.start, place)
            file.warn(
                f"file '{file.path}', line {line}: the line is blank; blank lines are left out"
            )

    found = blocks_of(file, layout, text.body.start, text.stop, len(schema), on_blank)
    read = partial(_read_block, text, chosen, guessed)
    for block in found:
        if report is not None:
            report(file.size_bytes if block.is_last else block.start + len(block.content))
        yield partial(_of_names, read, block, names)


def _uncast(text: DelimitedText) -> DelimitedText:
    """Return a file whose rows are only to be counted, by a first column of any bytes."""
    if text.layout.lenient:
        return text
    first = text.schema.field(0).with_type(pa.binary())
    return replace(text, schema=text.schema.set(0, first), guessed=frozenset())


def read_tables(
    text: DelimitedText, names: Sequence[str] | None = None, report: Report = None
) -> Iterator[pa.Table]:
    """Yield the rows of `tables_of` in order; blocks are read side by side."""
    thunks = tables_of(text, names, report)
    leading = list(itertools.islice(thunks, 2))
    if len(leading) < 2:
        yield from (read() for read in leading)
        return
    yield from in_order(lambda read: read(), itertools.chain(leading, thunks))


def read_delimited(
    text: DelimitedText, names: Sequence[str] | None = None, report: Report = None
) -> pa.Table:
    """Return the rows of a delimited file, of the columns of those names (None: all).

    Raises as the functions of `tables_of` do.
    """
    found = []
    for table in read_whole_tables(text, None if not text.layout.quotes else names, report):
        text.file.room.check()
        found.append(keep_rows(table))
    chosen = text.schema.names if names is None else list(names)
    if not found:
        return text.schema.empty_table().select(chosen)
    return pa.concat_tables(found).select(chosen)


def read_whole_tables(
    text: DelimitedText, names: Sequence[str] | None = None, report: Report = None
) -> Iterator[pa.Table]:
    """Yield the rows of `read_tables`, and check what only all of them tell."""
    is_odd_end = not text.layout.quotes and not text.layout.trailing and len(text.schema) > 1
    row_count = 0
    for table in read_tables(text, names, report):
        row_count += table.num_rows
        is_odd_end = is_odd_end and _ends_empty(table)
        yield table
    if is_odd_end and row_count:
        width = len(text.schema)
        fault = miscount(width - 1, width)
        raise DataError(f"file '{text.file.path}', line {text.body.line}: {fault}")


def read_head(text: DelimitedText, names: Sequence[str], count: int) -> pa.Table:
    """Return the first rows of a file as `read_delimited` does, without a look at the others."""
    for data in text.file.openings():
        leading = records(data, text.layout, text.body.start, text.body.line)
        stop = max((each.next for each in itertools.islice(leading, count)), default=0)
        if stop < len(data):
            break
    return read_delimited(replace(text, stop=min(stop, text.stop)), names)


def _of_names(
    read: Callable[[Block], pa.Table], block: Block, names: Sequence[str] | None
) -> pa.Table:
    table = read(block)
    return table if names is None else table.select(list(names))


def _read_block(
    text: DelimitedText, chosen: list[int] | None, guessed: Sequence[int], block: Block
) -> pa.Table:
    """Return some columns of a block's rows, of others perhaps. Raises DataError."""
    layout, schema = text.layout, text.schema
    part = block.content
    if layout.comment and layout.comment.encode() in part:
        part = joined(list(plain_records(part, layout, schema)))
    failure = "a record is too long" if block.is_cut else None
    try:
        table = _read_marked(part, text, chosen, is_last=block.is_last)
    except pa.ArrowInvalid as error:
        failure = str(error)
    if failure is not None or is_odd(part, table):
        found = _read_odd_block(text, chosen, block)
        if found is None and failure is not None:
            raise DataError(f"file '{text.file.path}', reading failed: {failure}")
        table = table if found is None else found
    if guessed:
        _check_zeros(text, block, guessed)
    return table if layout.null_strings else _nullify_empty_strings(table)


def _read_marked(
    part: bytes, text: DelimitedText, chosen: list[int] | None, *, is_last: bool
) -> pa.Table:
    """Return a part's columns. A record of NULLs follows the last one: an open quote swallows it.

    Raises ArrowInvalid.
    """
    layout, schema = text.layout, text.schema
    # Quotes are even where all are closed, and often where not.
    if not is_last or not layout.quotes or layout.quote.encode() not in part:
        return read_part(part, schema, layout, chosen)
    line_end = b"" if part.endswith(b"\n") else b"\n"
    mark = layout.delimiter.join([layout.nulls[0]] * len(schema)).encode()
    mark += layout.delimiter.encode() * layout.trailing
    table = read_part(part + line_end + mark + b"\n", schema, layout, chosen)
    end = table.slice(table.num_rows - 1)
    if any(column.null_count < 1 for column in end.columns):
        raise pa.ArrowInvalid("a quoted field is not closed")
    return table.slice(0, table.num_rows - 1)


def _read_odd_block(text: DelimitedText, chosen: list[int] | None, block: Block) -> pa.Table | None:
    """Return the rows of a block without those that are left out, None where no record has a fault.

    Raises DataError for the first fault where none may be left out.
    """
    layout, schema, file = text.layout, text.schema, text.file
    places = list(range(len(schema))) if chosen is None else chosen

    def misfits(part: bytes, field: int | None) -> bool:
        return fails(part, schema, layout, [each for each in places if field in (None, each)])

    line = text.body.line + file.count_lines(text.body.start, block.start)
    is_end = block.start + len(block.content) >= file.size_bytes
    found = _heard(file, plain_records(block.content, layout, schema, line, is_last=is_end))
    if layout.lenient:
        part, faults = split_faults(found, layout, schema, misfits)
        for each in faults:
            file.leave_out(each, schema)
        return read_part(part, schema, layout, chosen)
    every = list(found) if layout.padded else []
    fault = first_fault(iter(every) if layout.padded else found, layout, schema, misfits)
    if fault is not None:
        raise DataError(f"file '{file.path}', {fault.describe(schema)}")
    return read_part(joined(every), schema, layout, chosen) if layout.padded else None


def _heard(file: TextFile, found: Iterator[Plain]) -> Iterator[Plain]:
    """Yield records, and hear an interrupt of the statement, which is that of another thread."""
    for number, each in enumerate(found):
        if number % _RECORDS_A_CHECK == 0:
            file.room.check()
        yield each


def _check_zeros(text: DelimitedText, block: Block, guessed: Sequence[int]) -> None:
    """Raise DataError where a value of a guessed number begins with a zero, as 00501 does."""
    layout, schema = text.layout, text.schema
    if not may_have_zeros(block.content, layout):
        return
    suspects = list(guessed)
    if not block.is_last:
        zeros = np.zeros(len(schema), np.bool_)
        follow_records(np.frombuffer(block.content, np.uint8), layout, zeros)
        suspects = [place for place in guessed if zeros[place]]
    if not suspects:
        return

    def fails_in(part: bytes, field: int | None) -> bool:
        places = [place for place in suspects if field in (None, place)]
        texts = read_texts(part, len(schema), layout, places) if places else None
        return texts is not None and any(begins_with_zero(column) for column in texts.columns)

    line = text.body.line + text.file.count_lines(text.body.start, block.start)
    found = plain_records(block.content, layout, schema, line)
    fault = first_fault((each for each in found if not each.fault), layout, schema, fails_in)
    if fault is not None:
        raise DataError(f"file '{text.file.path}', {fault.describe(schema)}")


def _is_number(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_decimal(kind) or types.is_floating(kind))


def _ends_empty(table: pa.Table) -> bool:
    """Tell whether every line ends with the delimiter, as in no .tbl file that has all columns.

    Read to the letter the last column is empty throughout; what it means is that the table has a
    column which the file lacks.
    """
    last = table.columns[-1]
    empty = pc.equal(last, "").fill_null(True) if pa.types.is_string(last.type) else last.is_null()
    return bool(pc.all(empty, min_count=0).as_py())


def check_types(schema: pa.Schema) -> None:
    """Raise NotSupportedError for a column that cannot be read from text."""
    types = pa.types
    for field in schema:
        readable = (
            types.is_integer(field.type)
            or types.is_boolean(field.type)
            or pa.float32() == field.type
            or pa.float64() == field.type
            or types.is_decimal(field.type)
            or types.is_string(field.type)
            or types.is_date32(field.type)
            or types.is_time(field.type)
            or types.is_timestamp(field.type)
            or field.type in (UUID, TIMETZ, BIT)
            or is_enum(field.type)
            or is_vector(field.type)
        )
        if not readable:
            raise NotSupportedError(
                f"column '{field.name}' is {sql_type_name(field.type)}, which cannot be read from "
                "a .tbl or .csv file"
            )


def _find_trailing(content: bytes, layout: Layout, schema: pa.Schema) -> Layout:
    """Return the layout with `trailing` as the first line of a .tbl file has it."""
    if layout.quotes:
        return layout
    fields = split_fields(content, layout)
    trailing = len(fields) != len(schema) and len(fields) > 1 and not fields[-1]
    return replace(layout, trailing=trailing)


def _nullify_empty_strings(table: pa.Table) -> pa.Table:
    """Return the rows of a .tbl file with NULL for '' where a VARCHAR column may be NULL."""
    for place, field in enumerate(table.schema):
        if field.nullable and pa.types.is_string(field.type):
            column = table.column(place)
            column = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
            table = table.set_column(place, field, column)
    return table
