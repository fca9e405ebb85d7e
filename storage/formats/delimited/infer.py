"""Names and types of the columns of a delimited file, inferred from a sample of its records.

The delimiter is a comma if the first record has one; otherwise the tab, semicolon or bar that cuts
the first records into the same number of fields, more than one.

The names come from the header. A .csv file has one if the fields of its first record are distinct
printable texts, none of them empty, a number, a date or a time; otherwise, and in .tbl files,
columns are called column1, column2, ...

The type of a column is the first of the ladder that reads all its values:

    BIGINT, DOUBLE, DATE, TIMESTAMP, TIME, BOOLEAN, VARCHAR

A file that the sample covers is read at once. A longer one is read column by column when a query
asks; a value behind the sample that does not fit is a `LateValueError`.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import DataError, ProgrammingError, did_you_mean
from raydb.storage.formats.delimited.read import (
    DelimitedText,
    check_types,
    fails,
    read_delimited,
    read_head,
)
from raydb.storage.formats.delimited.records import Layout, Record, records, split_fields, unquote
from raydb.storage.formats.text_part import LateValueError, TextPart
from raydb.storage.tables.parts import ArrowPart

if TYPE_CHECKING:
    import mmap
    from collections.abc import Iterator, Mapping, Sequence

    from raydb.storage.formats.text_file import TextFile
    from raydb.storage.tables.parts import Part

_LADDER = (
    *(pa.int64(), pa.float64()),
    *(pa.date32(), pa.timestamp("us"), pa.time64("us")),
    *(pa.bool_(), pa.string()),
)
SAMPLE_RECORDS = 20_480
_FIRST_BATCH_RECORDS = 256
_BATCH_RECORDS = 4096
_OTHER_DELIMITERS = ("\t", ";", "|")
_PROBED_RECORDS = 20


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
        if not layout.quotes and len(texts) > 1 and not texts[-1]:
            texts.pop()
            layout = replace(layout, trailing=True)
        has_header = _has_header(first, content, texts, layout, columns.header)
        names = _names(file.path, texts, has_header, columns)
        following = Record(first.next, first.next, first.next, first.line + 1)
        leading = records(data, layout, first.next, first.line + 1)
        body = next(leading, following) if has_header else first
        given = _given_types(file.path, names, columns)
        leading = itertools.islice(records(data, layout, body.start, body.line), columns.sample)
        sample = _sample(leading)
        schema = _infer(data, sample, layout, names, given)
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
    for place, name in enumerate(rows.column_names):
        if name in guessed and rows.column(place).null_count == rows.num_rows:
            rows = rows.set_column(place, name, pa.nulls(rows.num_rows))
    return rows


def _find_delimiter(data: mmap.mmap | bytes, layout: Layout, start: int) -> str:
    """Return the delimiter that the first records are cut by."""
    for delimiter in (",", *_OTHER_DELIMITERS):
        tried = replace(layout, delimiter=delimiter)
        found = list(itertools.islice(records(data, tried, start), _PROBED_RECORDS))
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


def _has_header(
    first: Record, content: bytes, texts: list[str], layout: Layout, header: bool | None
) -> bool:
    if header is not None:
        return header
    return layout.quotes and first.closed and _are_names(content, texts, layout)


def _are_names(record: bytes, texts: list[str], layout: Layout) -> bool:
    return (
        all(text and text.isprintable() for text in texts)
        and len(set(texts)) == len(texts)
        and not any(
            _fits(record, kind, len(texts), layout, place)
            for place in range(len(texts))
            for kind in _LADDER[:-2]
        )
    )


def _names(path: str, texts: list[str], has_header: bool, columns: Columns) -> list[str]:
    """Return the names of the columns: those given, of the header, or column1, column2, ..."""
    named = max(len(columns.names), len(columns.first_types))
    if named > len(texts) or (columns.exact and named < len(texts)):
        raise ProgrammingError(
            f"file '{path}' has {len(texts)} column{'s' if len(texts) > 1 else ''}, "
            f"but the options tell of {named}"
        )
    found = texts if has_header else [f"column{n}" for n in range(1, len(texts) + 1)]
    return [*columns.names, *found[len(columns.names) :]]


def _given_types(path: str, names: list[str], columns: Columns) -> dict[str, pa.DataType]:
    """Return the types that the statement gives, by the names as the file has them."""
    if columns.all_text:
        return dict.fromkeys(names, pa.string())
    given = dict(zip(names, columns.first_types, strict=False))
    for name, kind in columns.types.items():
        same = [each for each in names if each.lower() == name.lower()]
        if not same:
            near = did_you_mean(name, names)
            raise ProgrammingError(f"file '{path}' has no column '{name}'{near}")
        given[same[0]] = kind
    return given


def _fits(part: bytes, kind: pa.DataType, width: int, layout: Layout, place: int) -> bool:
    """Tell whether one field of whole records can be read as a type."""
    schema = pa.schema([(str(number), kind) for number in range(width)])
    return not fails(part, schema, layout, [place])


@dataclass(frozen=True, slots=True)
class _Sample:
    """Records that were looked at: how many, and the bytes of each batch of them."""

    row_count: int
    batches: tuple[tuple[int, int], ...]


def _sample(found: Iterator[Record]) -> _Sample:
    """Gather records in batches. The first one is small: it tells most of the types."""
    row_count = 0
    batches = []
    most = _FIRST_BATCH_RECORDS
    while batch := list(itertools.islice(found, most)):
        row_count += len(batch)
        batches.append((batch[0].start, batch[-1].next))
        most = _BATCH_RECORDS
    return _Sample(row_count, tuple(batches))


def _infer(
    data: mmap.mmap | bytes,
    sample: _Sample,
    layout: Layout,
    names: list[str],
    given: Mapping[str, pa.DataType],
) -> pa.Schema:
    """Return for each column its type as given, or the first of the ladder that reads them all."""
    ladders = [[given[name]] if name in given else list(_LADDER) for name in names]
    number = 0
    while number < len(sample.batches):
        start, stop = sample.batches[number]
        part = data[start:stop]
        schema = pa.schema([(name, kinds[0]) for name, kinds in zip(names, ladders, strict=True)])
        misfits = []
        if fails(part, schema, layout, list(range(len(names)))):
            misfits = [
                place
                for place, kinds in enumerate(ladders)
                if len(kinds) > 1 and fails(part, schema, layout, [place])
            ]
        for place in misfits:
            ladders[place].pop(0)
        number = 0 if misfits else number + 1
    return pa.schema([(name, kinds[0]) for name, kinds in zip(names, ladders, strict=True)])
