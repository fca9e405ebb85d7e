"""Names and types of the columns of a delimited file, inferred from a sample of its records.

The delimiter is a comma if the first record has one; otherwise the tab, semicolon or bar that cuts
the first records into the same number of fields, more than one.

The names come from the header. A .csv file has one if the fields of its first record are distinct
printable texts, none of them empty, a number, a date or a time; otherwise, and in .tbl files,
columns are called column1, column2, ...

A file that the sample covers is read at once. A longer one is read column by column when a query
asks; a value behind the sample that does not fit is a `LateValueError`.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import DataError, ProgrammingError, did_you_mean
from raydb.storage.formats.delimited.column_types import infer_types, is_value
from raydb.storage.formats.delimited.read import (
    DelimitedText,
    check_types,
    read_delimited,
    read_head,
)
from raydb.storage.formats.delimited.records import Layout, Record, records, split_fields, unquote
from raydb.storage.formats.format import MAX_COLUMNS, too_many_columns
from raydb.storage.formats.text_part import LateValueError, TextPart
from raydb.storage.tables.parts import ArrowPart

if TYPE_CHECKING:
    import mmap
    from collections.abc import Iterator, Mapping, Sequence

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
    all. types: those of columns by name; first_types: those of the first columns. sample: how many
    records tell the types, None for all.
    """

    header: bool | None = None
    names: tuple[str, ...] = ()
    types: Mapping[str, pa.DataType] = field(default_factory=dict)
    first_types: tuple[pa.DataType, ...] = ()
    all_text: bool = False
    sample: int | None = SAMPLE_RECORDS
    exact: bool = False


def open_inferred(
    file: TextFile, layout: Layout, columns: Columns, delimiter_given: bool, skipped_lines: int
) -> tuple[pa.Schema, Part]:
    """Return the columns of a delimited file and its rows.

    Raises DataError naming file and line for a broken record, ProgrammingError for names of columns
    that the file lacks, and OSError.
    """
    start = file.skip(skipped_lines)
    with file.view() as data:
        if layout.quotes and not delimiter_given:
            layout = replace(layout, delimiter=_find_delimiter(data, layout, start))
        first = next(records(data, layout, start, skipped_lines + 1), None)
        if first is None:
            raise DataError(f"file '{file.path}' is empty")
        content = data[first.start : first.stop]
        texts = _texts(content, layout)
        if len(texts) > MAX_COLUMNS:
            raise too_many_columns(file.path, len(texts))
        if not layout.quotes and len(texts) > 1 and not texts[-1]:
            texts.pop()
            layout = replace(layout, trailing=True)
        has_header = _has_header(first, texts, layout, columns.header)
        names = _names(file.path, texts, has_header, columns)
        following = Record(first.next, first.next, first.next, first.line + 1)
        leading = records(data, layout, first.next, first.line + 1)
        body = next(leading, following) if has_header else first
        given = _given_types(file.path, names, columns)
        leading = records(data, layout, body.start, body.line)
        sample = _sample(leading, columns.sample, body.start)
        schema = infer_types(data, sample.batches, layout, names, given)
        size_bytes = len(data) - body.start
    check_types(schema)
    text = DelimitedText(file, layout, schema, body)
    guessed = frozenset(names) - given.keys()
    seen_bytes = sample.batches[-1][1] - body.start if sample.batches else 0
    if seen_bytes >= size_bytes or columns.sample is None:
        rows = _without_empty_types(read_delimited(text), guessed)
        return rows.schema, ArrowPart(rows)

    def read(wanted: Sequence[str], count: int | None) -> pa.Table:
        try:
            return read_delimited(text, wanted) if count is None else read_head(text, wanted, count)
        except DataError as error:
            if guessed.isdisjoint(wanted):
                raise
            raise LateValueError(
                f"{error}; the types of the columns are those of the rows before"
            ) from None

    return schema, TextPart(schema, read, size_bytes * sample.row_count // seen_bytes)


def _without_empty_types(rows: pa.Table, guessed: frozenset[str]) -> pa.Table:
    """Return the rows with the type NULL for columns without a value, which fit any other file."""
    columns = [
        pa.chunked_array([pa.nulls(rows.num_rows)])
        if name in guessed and column.null_count == rows.num_rows
        else column
        for name, column in zip(rows.column_names, rows.columns, strict=True)
    ]
    return pa.table(columns, names=rows.column_names)


def _find_delimiter(data: mmap.mmap | bytes, layout: Layout, start: int) -> str:
    """Return the delimiter that the first records are cut by."""
    for delimiter in (",", *_OTHER_DELIMITERS):
        tried = replace(layout, delimiter=delimiter)
        probed = itertools.islice(records(data, tried, start), _PROBED_RECORDS)
        found = itertools.takewhile(lambda each: each.start <= start + _PROBED_BYTES, probed)
        widths = [len(split_fields(data[each.start : each.stop], tried)) for each in found]
        if widths and widths[0] > 1 and (delimiter == "," or len(set(widths)) == 1):
            return delimiter
    return ","


def _texts(content: bytes, layout: Layout) -> list[str]:
    """Return the fields of a record; what is not UTF-8 becomes surrogates (not printable)."""
    return [
        unquote(field, layout).decode(errors="surrogateescape").strip()
        for field in split_fields(content, layout)
    ]


def _has_header(first: Record, texts: list[str], layout: Layout, header: bool | None) -> bool:
    if header is not None:
        return header
    return layout.quotes and first.fault is None and _are_names(texts, layout)


def _are_names(texts: list[str], layout: Layout) -> bool:
    return (
        all(text and text.isprintable() for text in texts)
        and len(set(texts)) == len(texts)
        and not any(is_value(text, layout) for text in texts)
    )


def _names(path: str, texts: list[str], has_header: bool, columns: Columns) -> list[str]:
    """Return the names of the columns: those given, of the header, or column1, column2, ..."""
    named = max(len(columns.names), len(columns.first_types))
    if named > len(texts) or (columns.exact and named < len(texts)):
        raise ProgrammingError(
            f"file '{path}' has {len(texts)} column{'s' if len(texts) > 1 else ''}, "
            f"but the options tell of {named}"
        )
    header = {text.lower() for text in texts} if has_header else ()
    for name, text in zip(columns.names, texts, strict=False):
        if name.lower() != text.lower() and name.lower() in header:
            raise ProgrammingError(
                f"file '{path}': the header has '{text}' where the options tell of '{name}'; "
                "name the columns in the order of the file"
            )
    found = texts if has_header else [f"column{n}" for n in range(1, len(texts) + 1)]
    return [*columns.names, *found[len(columns.names) :]]


def _given_types(path: str, names: list[str], columns: Columns) -> dict[str, pa.DataType]:
    """Return the types that the statement gives, by the names as the file has them."""
    if columns.all_text:
        return dict.fromkeys(names, pa.string())
    given = dict(zip(names, columns.first_types, strict=False))
    known = {name.lower(): name for name in reversed(names)}
    for name, kind in columns.types.items():
        same = known.get(name.lower())
        if same is None:
            near = did_you_mean(name, names)
            raise ProgrammingError(f"file '{path}' has no column '{name}'{near}")
        given[same] = kind
    return given


@dataclass(frozen=True, slots=True)
class _Sample:
    """Records that were looked at: how many, and the bytes of each batch of them."""

    row_count: int
    batches: tuple[tuple[int, int], ...]


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
    return _Sample(row_count, tuple(batches))
