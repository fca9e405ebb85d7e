"""Find the columns of a delimited file that no table describes, from a sample of its records.

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
from raydb.storage.formats.delimited import (
    DelimitedText,
    check_types,
    fails,
    read_delimited,
    read_head,
)
from raydb.storage.formats.records import Layout, Record, records, split_fields, unquote
from raydb.storage.tables.rows import ArrowPart, Comparison

if TYPE_CHECKING:
    import mmap
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from raydb.storage.formats.text_file import TextFile

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


class LateValueError(DataError):
    """A value of a text file does not fit the type that the sample before it has."""


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


@dataclass(frozen=True, eq=False, slots=True)
class DelimitedPart:
    """Rows in a delimited file, read column by column."""

    text: DelimitedText
    guessed: frozenset[str]
    expected_row_count: int
    _columns: dict[str, pa.ChunkedArray] = field(default_factory=dict)

    @property
    def row_count(self) -> int:
        """The number of rows, counted by reading a column."""
        if not self._columns:
            self.columns(self.text.schema.names[:1])
        return len(next(iter(self._columns.values())))

    @property
    def is_counted(self) -> bool:
        """False: the lines would have to be read."""
        return False

    @property
    def is_decoded(self) -> bool:
        """False: the rows are text."""
        return False

    @property
    def is_seekable(self) -> bool:
        """False: where a row begins is not known."""
        return False

    def columns(self, names: Sequence[str]) -> list[pa.ChunkedArray]:
        """Return the values of some columns. Raises DataError naming file, line and field."""
        wanted = [name for name in dict.fromkeys(names) if name not in self._columns]
        if wanted:
            self._columns.update(zip(wanted, self._read(wanted, None), strict=True))
        return [self._columns[name] for name in names]

    def dictionary(self, name: str) -> None:
        """Return None: the file has values."""
        del name

    def null_count(self, name: str) -> int:
        """Count a column's NULLs; all rows may be where it has not been read."""
        if name in self._columns:
            return int(self._columns[name].null_count)
        return self.expected_row_count

    def take(self, name: str, row_numbers: NDArray[np.int64]) -> pa.ChunkedArray:
        """Return a column's values in some rows; the whole column is read."""
        return self.columns([name])[0].take(pa.array(row_numbers))

    def matching_rows(self, comparisons: Sequence[Comparison]) -> None:
        """Return None: the rows are compared by whoever asks."""
        del comparisons

    def head(self, names: Sequence[str], count: int) -> list[pa.ChunkedArray]:
        """Return some columns of the first rows; the file is read no further."""
        return self._read(names, count)

    def without(self, comparisons: Sequence[Comparison]) -> DelimitedPart:
        """Return the part as it is."""
        del comparisons
        return self

    def _read(self, names: Sequence[str], count: int | None) -> list[pa.ChunkedArray]:
        try:
            if count is None:
                rows = read_delimited(self.text, names)
            else:
                rows = read_head(self.text, names, count)
        except DataError as error:
            if self.guessed.isdisjoint(names):
                raise
            raise LateValueError(
                f"{error}; the types of the columns are those of the rows before"
            ) from None
        return list(rows.columns)


def open_inferred(
    file: TextFile, layout: Layout, columns: Columns, delimiter_given: bool, skipped_lines: int
) -> ArrowPart | DelimitedPart:
    """Return the rows of a delimited file.

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
        return ArrowPart(_without_empty_types(read_delimited(text), guessed))
    return DelimitedPart(text, guessed, size_bytes * sample.row_count // seen_bytes)


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
