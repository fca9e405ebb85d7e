"""Names and types of the columns of a delimited file, inferred from a sample of its records.

The delimiter is a comma if the first record has one; otherwise the tab, semicolon or bar that cuts
the first records into the same number of fields, more than one. The header is found as
`header.py` tells; without one columns are called column1, column2, ...

A file that the sample covers is read at once. A longer one is read when a query asks, block by
block; a value behind the sample that does not fit is a `LateValueError`.
"""

from __future__ import annotations

import itertools
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import DataError, ProgrammingError, did_you_mean
from raydb.storage.formats.delimited import header
from raydb.storage.formats.delimited.column_types import Found, infer_types
from raydb.storage.formats.delimited.faults import joined, plain_records
from raydb.storage.formats.delimited.read import (
    DelimitedText,
    check_types,
    read_delimited,
    read_head,
    tables_of,
)
from raydb.storage.formats.delimited.records import Layout, Record, records, split_fields
from raydb.storage.formats.format import MAX_COLUMNS, too_many_columns
from raydb.storage.formats.text_part import LateValueError, TextPart
from raydb.storage.tables.parts import ArrowPart
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    import mmap
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from raydb.storage.formats.text_file import TextFile
    from raydb.storage.tables.parts import Part

SAMPLE_RECORDS = 20_480
# The sample ends with the record that exceeds them, unless it is to have all.
_SAMPLE_BYTES = 64 << 20
_FIRST_BATCH_RECORDS = 256
_BATCH_RECORDS = 4096
_BATCH_BYTES = 4 << 20
_OTHER_DELIMITERS = ("\t", ";", "|")
_PROBED_RECORDS = 20
_PROBED_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Columns:
    """What a statement says of the columns of a text file; None where it says nothing.

    header: whether the first record is a header. names: those of the first columns, or (exact) of
    all. types: those of columns by name; first_types: those of the first columns; all_text: the
    others are texts. sample: how many
    records tell the types, None for all.
    """

    header: bool | None = None
    names: tuple[str, ...] = ()
    types: Mapping[str, pa.DataType] = field(default_factory=dict)
    first_types: tuple[pa.DataType, ...] = ()
    all_text: bool = False
    sample: int | None = SAMPLE_RECORDS
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Inferred:
    """What the first records of a file tell of it.

    schema: its columns, of which `guessed` are those whose types the sample tells. body: the first
    record behind the header, and stop: where records end.
    """

    layout: Layout
    has_header: bool
    schema: pa.Schema
    guessed: frozenset[str]
    body: Record
    stop: int
    sample: _Sample


def infer_columns(
    file: TextFile, layout: Layout, columns: Columns, delimiter_given: bool, skipped_lines: int
) -> Inferred:
    """Return what the first records of a delimited file tell; errors as of `open_inferred`."""
    start = file.skip(skipped_lines)
    if start >= file.size_bytes:
        raise DataError(f"file '{file.path}' is empty")
    for data in file.openings(is_enough=columns.sample is not None):
        is_whole = len(data) >= file.size_bytes
        try:
            found = _infer_in(data, file, layout, columns, delimiter_given, start, skipped_lines)
        except (DataError, ProgrammingError):
            if is_whole:
                raise
            continue
        # A record at the end of what is there may be a part of one.
        probed = found.sample.row_count >= _PROBED_RECORDS
        if is_whole or (probed and found.sample.stop < len(data)):
            break
    return found


def _infer_in(
    data: mmap.mmap | bytes,
    file: TextFile,
    layout: Layout,
    columns: Columns,
    delimiter_given: bool,
    start: int,
    skipped_lines: int,
) -> Inferred:
    """Return what the bytes from the beginning of a file tell, which may be all."""
    if layout.quotes and not delimiter_given:
        layout = replace(layout, delimiter=_find_delimiter(data, layout, start))
    first, blank = _first_record(file.path, data, layout, start, skipped_lines + 1)
    shape = _find_shape(file.path, data, first, layout, columns)
    if blank is not None and len(shape.texts) == 1:
        first = blank
        shape = _find_shape(file.path, data, first, layout, columns)
    layout, texts = shape.layout, shape.texts
    stop = file.text_end(start) if len(texts) > 1 else file.size_bytes
    rest = Record(first.next, first.next, first.next, first.line + 1)
    # Whether the first record is a header is told by the types of those that follow.
    given = _first_types(columns, len(texts))
    body = first if shape.header is False else next(_records(data, layout, rest, stop), rest)
    sample = _sample(_records(data, layout, body, stop), columns.sample, body.start)
    found = _infer(data, sample, layout, len(texts), given)
    has_header = _has_header(shape, found)
    if not has_header and body is not first:
        body = first
        sample = _sample(_records(data, layout, body, stop), columns.sample, body.start)
        found = _infer(data, sample, layout, len(texts), given)
    names = _names(file.path, texts, has_header, columns)
    if any("\ud800" <= character <= "\udfff" for name in names for character in name):
        raise DataError(f"file '{file.path}', line {first.line}: a name is not valid UTF-8")
    by_name = _given_types(file.path, names, columns)
    kinds = [by_name.get(name, kind or pa.int64()) for name, kind in zip(names, found, strict=True)]
    schema = pa.schema(zip(names, kinds, strict=True))
    check_types(schema)
    guessed = frozenset(names) - by_name.keys()
    return Inferred(layout, has_header, schema, guessed, body, stop, sample)


def open_inferred(
    file: TextFile, layout: Layout, columns: Columns, delimiter_given: bool, skipped_lines: int
) -> tuple[pa.Schema, Part]:
    """Return the columns of a delimited file and its rows.

    Raises DataError naming file and line for a broken record, ProgrammingError for names of columns
    that the file lacks, and OSError.
    """
    found = infer_columns(file, layout, columns, delimiter_given, skipped_lines)
    schema, guessed, body, sample = found.schema, found.guessed, found.body, found.sample
    text = DelimitedText(file, found.layout, schema, body, found.stop, guessed)
    size_bytes, seen_bytes = found.stop - body.start, sample.stop - body.start
    if seen_bytes >= size_bytes or columns.sample is None:
        rows = read_delimited(replace(text, guessed=frozenset()))
        rows = _without_empty_types(rows, guessed)
        return rows.schema, ArrowPart(rows)
    return schema, TextPart(
        schema,
        partial(_blocks, text),
        partial(_head, text),
        size_bytes * sample.row_count // max(seen_bytes, 1),
    )


def _late(text: DelimitedText, wanted: Sequence[str] | None, error: DataError) -> DataError:
    """Return the error about a value that may be one of another type than those of the sample."""
    if text.layout.lenient or not (wanted is None or text.guessed.intersection(wanted)):
        return error
    return LateValueError(f"{error}; the types of the columns are those of the rows before")


def _head(text: DelimitedText, wanted: Sequence[str], count: int) -> pa.Table:
    try:
        return read_head(text, wanted, count)
    except DataError as error:
        raise _late(text, wanted, error) from None


def _blocks(text: DelimitedText, wanted: Sequence[str]) -> Iterator[Callable[[], pa.Table]]:
    def read(thunk: Callable[[], pa.Table]) -> pa.Table:
        try:
            return thunk()
        except DataError as error:
            raise _late(text, wanted, error) from None

    for thunk in tables_of(text, wanted):
        yield partial(read, thunk)


def _without_empty_types(rows: pa.Table, guessed: frozenset[str]) -> pa.Table:
    """Return the rows with the type NULL for columns without a value, which fit any other file."""
    columns = [
        pa.chunked_array([pa.nulls(rows.num_rows)])
        if name in guessed and column.null_count == rows.num_rows
        else column
        for name, column in zip(rows.column_names, rows.columns, strict=True)
    ]
    return pa.table(columns, names=rows.column_names)


# -- the form of the first records


def _find_delimiter(data: mmap.mmap | bytes, layout: Layout, start: int) -> str:
    """Return the delimiter that the first records are cut by."""
    for delimiter in (",", *_OTHER_DELIMITERS):
        tried = replace(layout, delimiter=delimiter)
        probed = itertools.islice(records(data, tried, start), _PROBED_RECORDS)
        found = itertools.takewhile(lambda each: each.start <= start + _PROBED_BYTES, probed)
        filled = (data[each.start : each.stop] for each in found)
        widths = [len(split_fields(content, tried)) for content in filled if content]
        if widths and widths[0] > 1 and (delimiter == "," or len(set(widths)) == 1):
            return delimiter
    return ","


def _first_record(
    path: str, data: mmap.mmap | bytes, layout: Layout, start: int, line: int
) -> tuple[Record, Record | None]:
    """Return the first record that is not blank, and the first one where that is another."""
    leading = records(data, layout, start, line)
    first = next(leading, None)
    if first is None:
        raise DataError(f"file '{path}' is empty")
    if first.fault or first.stop > first.start:
        return first, None
    return next((each for each in leading if each.fault or each.stop > each.start), first), first


@dataclass(frozen=True, slots=True)
class _Shape:
    """The first record's fields, one for each column. header: None where types are to tell it."""

    layout: Layout
    texts: list[str]
    header: bool | None


def _find_shape(
    path: str, data: mmap.mmap | bytes, first: Record, layout: Layout, columns: Columns
) -> _Shape:
    texts = header.texts_of(data[first.start : first.stop], layout)
    if len(texts) > MAX_COLUMNS:
        raise too_many_columns(path, len(texts))
    following = records(data, layout, first.next, first.line + 1)
    probed = itertools.islice((each for each in following if not each.fault), _PROBED_RECORDS)
    fields = [split_fields(data[each.start : each.stop], layout) for each in probed]
    if not layout.quotes and len(texts) > 1 and not texts[-1]:
        texts.pop()
        layout = replace(layout, trailing=True)
    elif len(texts) > 2 and not texts[-1] and fields and len(fields[0]) == len(texts) - 1:
        texts.pop()  # a comma behind the names that no row has
        return _Shape(layout, texts, True if columns.header is None else columns.header)
    if layout.padded and not columns.exact:
        widest = max((len(each) for each in fields), default=0)
        texts += [""] * (widest - len(texts))
    known = columns.header
    if known is None and (first.fault is not None or not header.may_be_names(texts, layout)):
        known = False
    return _Shape(layout, texts, known)


def _has_header(shape: _Shape, found: Found) -> bool:
    if shape.header is not None:
        return shape.header
    return header.are_names(shape.texts, [kind or pa.string() for kind in found], shape.layout)


# -- names and types


def _names(path: str, texts: list[str], has_header: bool, columns: Columns) -> list[str]:
    """Return the names of the columns: those given, of the header, or column1, column2, ..."""
    named = max(len(columns.names), len(columns.first_types))
    if named > len(texts) or (columns.exact and named < len(texts)):
        raise ProgrammingError(
            f"file '{path}' has {len(texts)} column{'s' if len(texts) > 1 else ''}, "
            f"but the options tell of {named}"
        )
    known = {text.lower() for text in texts} if has_header else ()
    for name, text in zip(columns.names, texts, strict=False):
        if name.lower() != text.lower() and name.lower() in known:
            raise ProgrammingError(
                f"file '{path}': the header has '{text}' where the options tell of '{name}'; "
                "name the columns in the order of the file"
            )
    found = header.column_names(texts) if has_header else header.numbered_names(len(texts))
    return [*columns.names, *found[len(columns.names) :]]


def _first_types(columns: Columns, width: int) -> dict[int, pa.DataType]:
    """Return the types that are given for columns whose names need not be known."""
    listed = columns.types.values() if columns.exact else columns.first_types
    texts = dict.fromkeys(range(width if columns.all_text else 0), pa.string())
    return texts | dict(enumerate(listed))


def _given_types(path: str, names: list[str], columns: Columns) -> dict[str, pa.DataType]:
    """Return the types that the statement gives, by the names as the file has them."""
    given = dict.fromkeys(names if columns.all_text else [], pa.string())
    given |= dict(zip(names, columns.first_types, strict=False))
    known = {name.lower(): name for name in reversed(names)}
    for name, kind in columns.types.items():
        same = known.get(name.lower())
        if same is None:
            near = did_you_mean(name, names)
            raise ProgrammingError(f"file '{path}' has no column '{name}'{near}")
        given[same] = kind
    return given


def _infer(
    data: mmap.mmap | bytes,
    sample: _Sample,
    layout: Layout,
    width: int,
    given: Mapping[int, pa.DataType],
) -> Found:
    """Return the types of columns as a sample tells them, and those given."""
    found: Found = [given.get(place) for place in range(width)]
    unnamed = pa.schema([(str(place), pa.string()) for place in range(width)])

    def parts() -> Iterator[bytes]:
        for start, stop in sample.batches:
            part = data[start:stop]
            if layout.is_mended:
                plain = plain_records(part, layout, unnamed)
                part = joined([each for each in plain if not (layout.lenient and each.fault)])
            yield part

    infer_types(parts(), layout, found, given)
    return found


@dataclass(frozen=True, slots=True)
class _Sample:
    """Records that were looked at: how many, the bytes of each batch of them, where they end."""

    row_count: int
    batches: tuple[tuple[int, int], ...]
    stop: int


def _records(data: mmap.mmap | bytes, layout: Layout, first: Record, stop: int) -> Iterator[Record]:
    """Yield records from one on, without the blank lines at the end of the file."""
    found = records(data, layout, first.start, first.line)
    return itertools.takewhile(lambda each: each.start < stop, found)


def _sample(found: Iterator[Record], most: int | None, start: int) -> _Sample:
    """Gather records in batches. The first one is small: it tells most of the types.

    most: how many records, None for all. start: where they begin.
    """
    row_count = held = 0
    first = stop = start
    batches: list[tuple[int, int]] = []
    for record in found:
        row_count += 1
        held += 1
        stop = record.next
        is_last = most is not None and (row_count >= most or stop - first > _SAMPLE_BYTES)
        limit = _BATCH_RECORDS if batches else _FIRST_BATCH_RECORDS
        if is_last or held >= limit or stop - start >= _BATCH_BYTES:
            batches.append((start, stop))
            start, held = stop, 0
        if is_last:
            break
    if held:
        batches.append((start, stop))
    return _Sample(row_count, tuple(batches), stop)
