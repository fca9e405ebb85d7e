"""Parquet files: all rows for a table, or columns and row groups one by one for a query."""

from __future__ import annotations

import functools
import itertools
import operator
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import pyarrow as pa

from raydb.errors import DataError, NotSupportedError, ProgrammingError, did_you_mean
from raydb.interrupts import check_interrupt
from raydb.late import pc
from raydb.storage.formats.arrow.exported import exported
from raydb.storage.formats.cast_columns import cast_rows, castable_names
from raydb.storage.formats.files.column_chunks import ColumnChunks, bring_footer
from raydb.storage.formats.files.parquet_footers import check_chunks, damaged, in_one_line
from raydb.storage.formats.format import Format, Setting, Use
from raydb.storage.formats.options import whole_number
from raydb.storage.formats.room import Room
from raydb.storage.nested import leaf_types
from raydb.storage.tables.decoded import value_bytes
from raydb.storage.tables.parts import Part
from raydb.storage.textual import check_texts
from raydb.storage.type_names import sql_type_name
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray
    from pyarrow import dataset, parquet

    from raydb.storage.formats.files.input_file import InputFile
    from raydb.storage.formats.format import Report
    from raydb.storage.formats.options import Options
    from raydb.storage.tables.parts import Comparison

_COMPRESSIONS = ("zstd", "snappy", "gzip", "brotli", "lz4", "none")
# Arrow's own; a group of a few columns takes 0.1 s, after which an interrupt is heard.
_GROUP_ROWS = 2**20
# Arrow decodes so many rows of all columns at once; between two batches memory is counted. They
# are a morsel each where they were loaded: half as many take 1.5 times as long in short steps.
_BATCH_ROWS = 131_072
# Of rows that are large in the file, so many bytes, fewer where memory_limit is small.
_BATCH_BYTES = 16 << 20
# INT96 is nanoseconds of a Julian day: whole, they would wrap around before 1678 and after 2262.
_INT96_UNIT = "us"
# So much of a column chunk is read at a time.
_BUFFER_BYTES = 1 << 20
_OPERATORS = {
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class _Parquet(Format):
    name, extensions, copy_place = "parquet", ("parquet",), 2
    empty = "is not a Parquet file: it is empty"
    has_dictionaries = True
    options = {
        "compression": Setting("zstd, snappy, gzip, brotli, lz4 or none", (Use.WRITE,)),
        "row_group_size": Setting("rows in a row group", (Use.WRITE,)),
    }

    def open(self, file: InputFile, settings: Options) -> tuple[pa.Schema, ParquetPart]:
        part = open_parquet(file)
        return part.schema, part

    def reader(
        self, path: str, schema: pa.Schema, exact: bool, settings: Options, report: Report
    ) -> Callable[[InputFile], Iterator[pa.Table]]:
        def read(file: InputFile) -> Iterator[pa.Table]:
            part = open_parquet(file)
            size_bytes = file.size_bytes
            names = castable_names(path, part.schema, schema, exact)
            row_count = 0
            for rows in part.batches(names):
                yield cast_rows(path, rows, schema, row_count)
                row_count += rows.num_rows
                if report is not None:
                    report(size_bytes * row_count // part.row_count)

        return read

    def writer(self, path: str, rows: pa.Table, settings: Options) -> Callable[[BinaryIO], None]:
        return lambda sink: _write_parquet(sink, rows, settings)


PARQUET = _Parquet()


def open_parquet(file: InputFile) -> ParquetPart:
    """Open a Parquet file; what takes its place later is another file.

    Raises DataError for a file that is none.
    """
    from pyarrow import dataset  # noqa: PLC0415  (10 ms, only for who reads Parquet)

    path, source = file.path, file.open()
    bring_footer(file)
    # As ParquetFile has it, which reads the rows: UUIDs and JSON have types of their own.
    layout = dataset.ParquetFileFormat(
        dataset.ParquetReadOptions(coerce_int96_timestamp_unit=_INT96_UNIT),
        default_fragment_scan_options=dataset.ParquetFragmentScanOptions(
            arrow_extensions_enabled=True
        ),
    )
    fragment = layout.make_fragment(source)
    try:
        metadata = fragment.metadata
        schema = fragment.physical_schema
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"file '{path}' is not a Parquet file: {in_one_line(error)}") from None
    check_chunks(path, metadata)
    groups = tuple(range(metadata.num_row_groups))
    chunks = ColumnChunks(file, metadata) if file.is_remote else None
    return ParquetPart(path, source, fragment, metadata, schema, groups, Room(path), chunks)


def _write_parquet(sink: BinaryIO, rows: pa.Table, options: Options) -> None:
    """Write rows as Parquet. Options: compression and row_group_size, in rows.

    Raises ProgrammingError for a bad option, NotSupportedError for intervals, which Parquet lacks.
    """
    from pyarrow import parquet  # noqa: PLC0415

    rows = exported(rows)
    for field in rows.schema:
        if any(pa.types.is_interval(kind) for kind in leaf_types(field.type)):
            raise NotSupportedError(
                f"column '{field.name}' is {sql_type_name(field.type)}, which cannot be written to"
                " a .parquet file"
            )
    compression = str(options.get("compression", "zstd")).lower()
    if compression not in _COMPRESSIONS:
        near = did_you_mean(compression, _COMPRESSIONS)
        known = f"{', '.join(_COMPRESSIONS[:-1])} or {_COMPRESSIONS[-1]}"
        raise ProgrammingError(f"option compression is {known}, not '{compression}'{near}")
    row_group_rows = whole_number(options, "row_group_size")
    if row_group_rows == 0:
        raise ProgrammingError("option row_group_size is a number of rows above 0")
    step = row_group_rows or _GROUP_ROWS
    with parquet.ParquetWriter(sink, rows.schema, compression=compression) as writer:
        for start in range(0, max(rows.num_rows, 1), step):
            check_interrupt()
            writer.write_table(rows.slice(start, step), step)


@dataclass(frozen=True, eq=False, slots=True)
class ParquetPart(Part):
    """Rows in a Parquet file: those of some of its row groups."""

    path: str
    source: pa.NativeFile
    fragment: dataset.ParquetFileFragment
    metadata: parquet.FileMetaData
    schema: pa.Schema
    row_groups: tuple[int, ...]
    room: Room
    # Of an object: what brings its bytes.
    chunks: ColumnChunks | None

    @property
    def row_count(self) -> int:
        """The number of rows, from the metadata."""
        return sum(self._row_counts())

    is_borrowed = False
    is_seekable = False

    def decoded_bytes(self, name: str, kind: pa.DataType, enough: float) -> float:
        """Return about how many bytes a column takes; of texts and lists, what the file tells."""
        least = self.row_count * value_bytes(kind)
        if pa.types.is_primitive(kind):
            return least
        leaves = [
            place
            for place in range(self.metadata.num_columns)
            if self.metadata.schema.column(place).path.split(".")[0] == name
        ]
        stored = 0
        for group in map(self.metadata.row_group, self.row_groups):
            stored += sum(group.column(place).total_uncompressed_size for place in leaves)
        return max(least, stored)

    def columns(self, names: Sequence[str]) -> list[pa.ChunkedArray]:
        """Return the values of some columns. Raises DataError for a damaged file."""
        return list(self.read(names).columns)

    def pieces(self, start: int, stop: int, step: int) -> Iterator[tuple[int, int]]:
        """Yield the rows start to stop by row groups."""
        first = 0
        for row_count in self._row_counts():
            low, high = max(start, first), min(stop, first + row_count)
            if low < high:
                yield low, high
            first += row_count

    def slice(self, names: Sequence[str], start: int, stop: int) -> list[pa.ChunkedArray]:
        """Return some columns of the rows start to stop; only their row groups are read."""
        touched: list[int] = []
        first = before = 0
        for number, row_count in zip(self.row_groups, self._row_counts(), strict=True):
            if first < stop and first + row_count > start:
                touched.append(number)
            elif not touched:
                before += row_count
            first += row_count
        if self.chunks is not None:
            behind = [number for number in self.row_groups if touched and number > touched[-1]]
            self.chunks.bring(touched, names, behind)
        rows = replace(self, row_groups=tuple(touched)).read(names)
        return list(rows.slice(start - before, stop - start).columns)

    def read(self, names: Sequence[str]) -> pa.Table:
        """Return some columns; row groups and columns are decoded side by side."""
        if not names:
            return pa.table({"": pa.nulls(self.row_count)}).select([])
        if not self.row_groups:
            return pa.Table.from_batches([], self.schema).select(list(names))
        batches: list[pa.RecordBatch] = []
        for rows in self.batches(names):
            batches += rows.to_batches()
            self.room.check()
        return pa.Table.from_batches(batches, pa.schema(map(self.schema.field, names)))

    def batches(self, names: Sequence[str], most: int | None = None) -> Iterator[pa.Table]:
        """Yield some columns, some rows at a time. Raises DataError for a damaged file."""
        row_count = 0
        most_bytes = self.room.batch(_BATCH_BYTES)
        step = max(min(most or _BATCH_ROWS, most_bytes // max(self._row_bytes(), 1)), 1)
        for batch in self._batches(names, step):
            yield pa.Table.from_batches([batch])
            row_count += batch.num_rows
        if names and row_count != self.row_count:
            raise damaged(
                self.path, ValueError(f"{row_count} rows, where {self.row_count} are expected")
            )

    def _row_bytes(self) -> int:
        """Return how many bytes all columns of a row take in the file, decompressed."""
        groups = map(self.metadata.row_group, self.row_groups)
        stored: int = sum(group.total_byte_size for group in groups)
        return stored // max(self.row_count, 1)

    def _batches(self, names: Sequence[str], most: int) -> Iterator[pa.RecordBatch]:
        """Yield some columns in batches of `most` rows. Raises DataError for a damaged file."""
        from pyarrow import parquet  # noqa: PLC0415

        if self._row_bytes() > self.room.batch(_BATCH_BYTES):
            # A page of few bytes may hold a text of 2 GB, which is decoded before it is counted.
            sizes = (self.decoded_bytes(name, self.schema.field(name).type, 0) for name in names)
            self.room.check(int(sum(sizes)) // max(self.row_count, 1))
        try:
            # Or else all column chunks are in memory before the first row is there.
            file = parquet.ParquetFile(
                self.source,
                metadata=self.metadata,
                buffer_size=_BUFFER_BYTES,
                pre_buffer=False,
                coerce_int96_timestamp_unit=_INT96_UNIT,
            )
            groups = list(self.row_groups)
            steps = [groups] if self.chunks is None else self.chunks.steps(groups, names)
            for some in steps:
                room = self.room.now()
                for batch in file.iter_batches(most, some, list(names)):
                    room.check()
                    # Of nested columns it reads those too whose fields' paths are the names.
                    batch = batch.select(list(names))  # noqa: PLW2901
                    check_texts(batch, f"file '{self.path}', ")
                    yield batch
                    room = self.room.now()
        except (pa.ArrowException, OSError) as error:
            raise damaged(self.path, error) from None

    def dictionary(self, name: str) -> pa.ChunkedArray | None:
        """Return a column of texts by the dictionaries of its pages, None for another column."""
        from pyarrow import dataset  # noqa: PLC0415

        kind = self.schema.field(name).type
        if not (pa.types.is_string(kind) or pa.types.is_binary(kind)) or not self.row_groups:
            return None
        by_codes = dataset.ParquetFileFormat(dictionary_columns={name})
        if self.chunks is not None:
            self.chunks.bring(self.row_groups, [name])
        chosen = by_codes.make_fragment(self.source).subset(row_group_ids=list(self.row_groups))
        try:
            rows = chosen.to_table(columns=[name])
        except (pa.ArrowException, OSError) as error:
            raise damaged(self.path, error) from None
        check_texts(rows, f"file '{self.path}', ")
        found = rows.column(0)
        # Beside a nested column whose field has the path that is the name, Arrow gives the values.
        return found if pa.types.is_dictionary(found.type) else None

    def null_count(self, name: str) -> int:
        """Count a column's NULLs in the statistics; all rows where there are none."""
        place = self._place(name)
        if place is None:
            return self.row_count
        total = 0
        for number in self.row_groups:
            statistics = self.metadata.row_group(number).column(place).statistics
            if statistics is None or not statistics.has_null_count:
                return self.row_count
            total += statistics.null_count
        return total

    @property
    def is_remote(self) -> bool:
        """Whether the two methods that follow bring anything."""
        return self.chunks is not None

    def bring_rows(self, names: Sequence[str], row_numbers: NDArray[np.int64]) -> None:
        """Bring together what `take` of some columns is about to read."""
        if self.chunks is None or not len(row_numbers):
            return
        ends = np.cumsum(self._row_counts())
        touched = np.unique(np.searchsorted(ends, row_numbers, "right"))
        self.chunks.bring([self.row_groups[place] for place in touched], names)

    def bring_matching(
        self, names: Sequence[str], comparisons: Sequence[Comparison], most_bytes: int
    ) -> None:
        """Bring columns of the row groups that comparisons do not rule out, if they are small."""
        groups = self.without(comparisons).row_groups
        if self.chunks is not None and self.chunks.size_bytes(groups, names) <= most_bytes:
            self.chunks.bring(groups, names)

    def take(self, name: str, row_numbers: NDArray[np.int64]) -> pa.ChunkedArray:
        """Return a column's values in some rows; row groups without any of them are not read."""
        touched: list[int] = []
        places = [np.zeros(0, np.int64)]
        first = before = 0
        for number, row_count in zip(self.row_groups, self._row_counts(), strict=True):
            start, stop = np.searchsorted(row_numbers, (first, first + row_count))
            if start < stop:
                touched.append(number)
                places.append(row_numbers[start:stop] - first + before)
                before += row_count
            first += row_count
        wanted = np.concatenate(places)
        part = replace(self, row_groups=tuple(touched))
        if len(wanted) and wanted[-1] < _BATCH_ROWS:
            (column,) = part.head([name], int(wanted[-1]) + 1)
        else:
            (column,) = part.columns([name])
        return column.take(pa.array(wanted))

    def matching_rows(self, comparisons: Sequence[Comparison]) -> NDArray[np.int64] | None:
        """Return the rows of row groups whose statistics do not exclude the comparisons."""
        kept = set(self.without(comparisons).row_groups)
        if len(kept) == len(self.row_groups):
            return None
        first = 0
        numbers = [np.zeros(0, np.int64)]
        for number, row_count in zip(self.row_groups, self._row_counts(), strict=True):
            if number in kept:
                numbers.append(np.arange(first, first + row_count))
            first += row_count
        return np.concatenate(numbers)

    def head(self, names: Sequence[str], count: int) -> list[pa.ChunkedArray]:
        """Return some columns of the first rows; the pages behind them are not decoded."""
        schema = pa.schema([self.schema.field(name) for name in names])
        batches: list[pa.RecordBatch] = []
        left = min(count, self.row_count)
        counts = itertools.accumulate(self._row_counts(), initial=0)
        needed = sum(first < left for first in itertools.islice(counts, len(self.row_groups)))
        groups, behind = self.row_groups[:needed], self.row_groups[needed:]
        if self.chunks is not None:
            self.chunks.bring(groups, names, behind)
        part = replace(self, row_groups=groups)
        for batch in part._batches(names, min(max(left, 1), _BATCH_ROWS)):  # noqa: SLF001
            batches.append(batch.slice(0, left))
            left -= batches[-1].num_rows
            if not left:
                break
        return list(pa.Table.from_batches(batches, schema).columns)

    def without(self, comparisons: Sequence[Comparison]) -> ParquetPart:
        """Return the part without row groups whose statistics exclude the comparisons."""
        usable = [each for each in comparisons if self._is_comparable(each.column)]
        if not usable:
            return self
        parts = [_OPERATORS[each.operator](pc.field(each.column), each.value) for each in usable]
        chosen = self.fragment.subset(row_group_ids=list(self.row_groups))
        left = chosen.subset(filter=functools.reduce(operator.and_, parts), schema=self.schema)
        kept = tuple(group.id for group in left.row_groups)
        return self if kept == self.row_groups else replace(self, row_groups=kept)

    def _row_counts(self) -> list[int]:
        return [self.metadata.row_group(number).num_rows for number in self.row_groups]

    def _is_comparable(self, name: str) -> bool:
        """Tell whether Arrow compares a column's statistics; those of UUIDs it does not."""
        kind = self.schema.field(name).type
        return self._place(name) is not None and not isinstance(kind, pa.BaseExtensionType)

    def _place(self, name: str) -> int | None:
        """Return the place of a column among those that are stored, None for a nested one."""
        stored = self.metadata.schema
        places = [n for n in range(self.metadata.num_columns) if stored.column(n).path == name]
        return places[0] if places else None
