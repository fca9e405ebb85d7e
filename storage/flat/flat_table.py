"""An open FlatStor file: one row, some rows, or columns as Arrow tables.

    tail -> Global VTable -> table metadata -> column metadata -> chunk metadata -> data

Opening maps the file and checks the first two of these; a column's metadata is read when the
column is first touched, a chunk is verified when it is. Nothing is parsed that is not needed.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.errors import (
    DataError,
    InterfaceError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    did_you_mean,
)
from raydb.storage.flat import bring, column_reader, select
from raydb.storage.flat.kinds import kind_of
from raydb.storage.flat.layout import (
    CHUNK_ENTRY,
    HEADER,
    MAX_CHUNK_ROWS,
    TAIL,
    Kind,
)
from raydb.storage.flat.metadata import description
from raydb.storage.flat.metadata.column import (
    File,
    extent,
    read_column,
)
from raydb.storage.flat.metadata.damage import damaged
from raydb.storage.flat.metadata.flatbuffer import RootTable
from raydb.storage.flat.metadata.table import (
    check_header,
    read_sections,
    read_shared,
    read_vtable,
)
from raydb.storage.mapped import open_source

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from numpy.typing import NDArray

    from raydb.storage.flat.bring import WantedRows
    from raydb.storage.mapped import Source

# The Global VTable and the tail are there, in most files the rest of the metadata.
_END = 2**12

_ROW_TYPE = np.dtype(np.int64)

# The files of a table have one schema, unless columns came or went.
_KEPT_SCHEMAS = 64

# By so many rows, each of another chunk, the bytes of all are guessed.
_SAMPLED = 16


def open_table(path: str | os.PathLike[str] | Source) -> FlatTable:
    """Open a FlatStor file for reading; a Source brings its bytes when they are needed.

    Raises OperationalError for a file that cannot be read or is damaged, naming the offset;
    NotSupportedError for a file of a later format version.

    >>> with open_table("pets.flat") as pets:
    ...     pets.item(0, "caption")
    'a dog'
    """
    source = open_source(path)
    least, size = HEADER.size + TAIL.size, len(source.view)
    if size < least:
        raise damaged(source.name, size, f"a file of {least} bytes or more", f"{size} bytes")
    try:
        return FlatTable(source)
    except (OperationalError, NotSupportedError):
        # What no checksum covers is fetched anew before it is believed to be damaged.
        if not (source.bring_again((0, HEADER.size)) and source.bring_again((size - _END, size))):
            raise
        return FlatTable(source)


class FlatTable:
    """An open FlatStor file. Its Arrow arrays stay valid after it is closed.

    Reading from several threads at once is safe. The file must not be changed or cut short while
    it is open; `write_table` never does that, it puts a new file in its place.
    """

    def __init__(self, source: Source) -> None:
        path = source.name
        self._file = File.of(source)
        self._closed = False
        self._required: frozenset[str] = frozenset()
        self._schema: Any = None
        self._readers: dict[str, column_reader.ColumnReader] = {}
        # Of the columns that were asked for together.
        self._schemas: dict[tuple[str, ...], Any] = {}
        self._items: dict[str, Callable[[int], Any]] = {}
        # Of an object it comes with the first chunks.
        self._is_header_checked = source.has(0, HEADER.size)
        if self._is_header_checked:
            check_header(self._file)
        vtable, vtable_offset = read_vtable(self._file)
        table, self._column_sections = read_sections(self._file, vtable, vtable_offset)
        self._vtable_offset, self._table_section = vtable_offset, table
        self._metadata_bytes = table.length + len(vtable.view)
        data = self._file.section(table, "the table metadata", vtable_offset)
        self._root = RootTable(path, table.offset, data)
        position = self._root.required(0, 8)
        self.row_count = int.from_bytes(data[position : position + 8], "little")
        # Columns say what their chunks hold, which is more than opening a file need know.
        if self.row_count > MAX_CHUNK_ROWS:
            lengths = (section.length for section in self._column_sections)
            most = min(lengths, default=CHUNK_ENTRY.size) // CHUNK_ENTRY.size * MAX_CHUNK_ROWS
            if self.row_count > most:
                raise damaged(path, table.offset, f"at most {most} rows", self.row_count)
        self._shared = read_shared(self._root)

    # The metadata

    @property
    def path(self) -> str:
        """The path that the file was opened by."""
        return self._file.path

    @property
    def stored_bytes(self) -> int:
        """The bytes of the file."""
        return len(self._file.view)

    @property
    def schema(self) -> Any:
        """The Arrow schema of the table, with its metadata."""
        if self._schema is None:
            self._schema = self._read_schema()
        return self._schema

    def _read_schema(self) -> Any:
        path, offset = self._file.path, self._table_section.offset
        try:
            schema, names = _schema_of(bytes(self._root.bytes_of(1, 1)))
        except (pa.ArrowException, OSError, ValueError, KeyError, EOFError, TypeError) as error:
            raise damaged(path, offset, "an Arrow schema", f"another ({error})") from None
        if len(names) != len(self._column_sections):
            raise damaged(path, offset, f"{len(self._column_sections)} columns", len(names))
        if len(set(names)) != len(names):
            raise damaged(path, offset, "columns of different names", names)
        return schema

    @property
    def metadata(self) -> description.TableMetadata:
        """The three metadata tiers; reads the metadata of all columns, but no chunk."""
        self._file.source.need([(0, HEADER.size)])
        columns = tuple(
            description.describe_column(self.reader(name).column, self._shared)
            for name in self.schema.names
        )
        return description.TableMetadata(
            path=self.path,
            format_version=int.from_bytes(self._file.view[8:12], "little"),
            size_bytes=len(self._file.view),
            row_count=self.row_count,
            metadata_bytes=self._metadata_bytes + sum(each.metadata_bytes for each in columns),
            shared_dictionaries=tuple(dictionary.entry_count for dictionary in self._shared),
            columns=columns,
        )

    def require(self, names: frozenset[str]) -> None:
        """Let the first read of one of these columns raise OperationalError if it has NULLs."""
        self._required = names

    def reader(self, name: str) -> column_reader.ColumnReader:
        """Return the reader of a column; its metadata is read and checked the first time.

        Raises ProgrammingError if it does not exist, InterfaceError after `close`.
        """
        if self._closed:
            raise InterfaceError(f"file '{self.path}' is closed")
        reader = self._readers.get(name)
        if reader is None:
            number = self.schema.get_field_index(name) if isinstance(name, str) else -1
            if number < 0:
                near = did_you_mean(str(name), self.schema.names)
                raise ProgrammingError(f"column '{name}' does not exist in '{self.path}'{near}")
            column = read_column(
                self._file,
                self.schema.field(number),
                self._column_sections[number],
                self.row_count,
                self._shared,
                self._vtable_offset,
            )
            if column.header.null_count and name in self._required:
                found = str(column.header.null_count)
                raise damaged(self.path, 0, f"no NULL in column '{name}'", found)
            reader = self._readers.setdefault(name, column_reader.ColumnReader(column))
        return reader

    @cached_property
    def expected_bytes(self) -> int:
        """About how many bytes all rows take in memory, by a few of them."""
        rows = np.unique(np.arange(_SAMPLED if self.row_count else 0) * self.row_count // _SAMPLED)
        self.bring(self.schema.names, rows)
        return sum(self.reader(name).expected_bytes(rows) for name in self.schema.names)

    # Bytes that are elsewhere

    @property
    def opening_range(self) -> tuple[int, int]:
        """The bytes that opening the file reads: table metadata, Global VTable, tail."""
        return self._table_section.offset, len(self._file.view)

    @property
    def metadata_range(self) -> tuple[int, int]:
        """The bytes of all metadata, those of columns too."""
        starts = [section.offset for section in self._column_sections]
        return min([*starts, self._table_section.offset]), len(self._file.view)

    def bring(self, names: Sequence[str], rows: WantedRows) -> None:
        """Bring what reading some columns needs; see `bring_tables`."""
        if self._file.source.is_remote:
            bring.bring_tables([(self, names, rows)])

    @property
    def source(self) -> Source:
        """Where the bytes are from."""
        return self._file.source

    @property
    def is_remote(self) -> bool:
        """Whether bytes are elsewhere until they are brought."""
        return self._file.source.is_remote

    def column_ranges(self, names: Sequence[str]) -> list[tuple[int, int]]:
        """Return where the metadata of columns lie."""
        return [
            (section.offset, section.offset + section.length)
            for section in (self._column_sections[number] for number in self._numbers(names))
        ]

    def chunk_ranges(self, names: Sequence[str], rows: WantedRows) -> list[tuple[int, int]]:
        """Return where the chunks of some rows lie, and what they share; metadata are there."""
        ranges: list[tuple[int, int]] = []
        is_read = False
        for number in self._numbers(names):
            shared, entries = extent(
                self._file,
                self.schema.field(number),
                self._column_sections[number],
                self._vtable_offset,
                self._shared,
            )
            ranges += shared
            if isinstance(rows, list):
                entries = entries[column_reader.touched_chunks(entries, rows)]
            elif rows is not None:
                firsts = entries["first_row"].astype(np.int64)
                entries = entries[np.unique(np.searchsorted(firsts, rows, "right") - 1)]
            ranges += column_reader.chunk_ranges(entries)
            is_read |= len(entries) > 0
        if is_read and not self._is_header_checked:
            ranges.append((0, HEADER.size))
        return ranges

    def check_header(self) -> None:
        """Check the header if it is there, and has not been."""
        if not self._is_header_checked and self._file.source.has(0, HEADER.size):
            try:
                check_header(self._file)
            except (OperationalError, NotSupportedError):
                if not self._file.source.bring_again((0, HEADER.size)):
                    raise
                check_header(self._file)
            self._is_header_checked = True

    def _numbers(self, names: Sequence[str]) -> list[int]:
        found = map(self.schema.get_field_index, names)
        return [number for number in found if number >= 0]

    # The rows

    def item(self, row: int, column: str) -> Any:
        """Return the Python value of one row, as Arrow's as_py does: 1 to 2 µs when warm.

        Raises ProgrammingError for a row or a column that does not exist, DataError for a value
        that Python does not have: a day in the year 10000.
        """
        read = self._items.get(column)
        if read is None:
            self.bring([column], _row_numbers(_numbers([row])))
            read = self._items[column] = self.reader(column).reader_of_items()
        try:
            return read(row)
        except TypeError:
            _row_numbers(_numbers([row]))  # Raises for what is no row.
            raise
        except (ValueError, ArithmeticError, LookupError, pa.ArrowException) as error:
            what = f"row {row} of column '{column}'"
            raise DataError(f"{what} has no Python value: {error}") from None

    def take(self, rows: Sequence[int] | NDArray[Any], columns: Sequence[str] | None = None) -> Any:
        """Return rows in the order given, repeated ones too, as an Arrow table.

        Raises ProgrammingError for a row or a column that does not exist, and for rows that are no
        integers.
        """
        wanted = rows if type(rows) is np.ndarray else _numbers(rows)
        # The loops are compiled for one type of array.
        if wanted.dtype != _ROW_TYPE or wanted.ndim != 1 or not wanted.flags.carray:
            wanted = _row_numbers(wanted)
        names = self.schema.names if columns is None else _names(columns)
        if self.is_remote or not names:
            column_reader.check_rows(self.path, wanted, self.row_count)
            self.bring(names, wanted)
        arrays = [self.reader(name).take(wanted) for name in names]
        return self._table(names, arrays, len(wanted))

    def column(self, name: str) -> Any:
        """Return all rows of a column as a chunked array, not copied where bytes are Arrow's."""
        self.bring([name], None)
        reader = self.reader(name)
        return pa.chunked_array(reader.read(), reader.column.field.type)

    def coded_column(self, name: str) -> Any:
        """Return a text column as dictionary arrays, None where it is stored otherwise."""
        found = self.reader(name).coded()
        return pa.chunked_array(found) if found else None

    def slice(self, name: str, start: int, stop: int) -> Any:
        """Return the rows start to stop of a column as a chunked array."""
        start, stop = _row_numbers(_numbers([start, stop])).tolist()
        if start < 0:
            raise column_reader.missing_row(self.path, start, self.row_count)
        ranges = [(start, stop)] if start < stop else []
        self.bring([name], ranges)
        reader = self.reader(name)
        return pa.chunked_array(reader.read(ranges), reader.column.field.type)

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: Any = None,  # noqa: A002
        read_dictionary: Sequence[str] = (),
    ) -> Any:
        """Return the rows for which a filter holds as an Arrow table, all rows without one.

        filter: a pyarrow.compute.Expression, or a sequence of (column, operator, value) that must
        all hold, with the operators ==, !=, <, <=, >, >= and starts_with. Comparisons of a column
        with a value, joined by `&` and `|`, skip the chunks whose zone maps or bloom filters rule
        them out. Texts that equal one or begin with one are found by their codes; integers,
        decimals and times of a range by a compiled loop. Any other expression is evaluated on all
        rows, with the same answer.
        read_dictionary: columns of texts or bytes that are wanted as dictionary arrays; where all
        rows are read of one that is stored in a dictionary, these are its codes and its entries.

        Raises ProgrammingError for columns that do not exist, filters that cannot be evaluated, and
        dictionaries of other types.

        >>> pets.scan(["caption"], pc.field("id") == 1).num_rows
        1
        """
        names = self.schema.names if columns is None else _names(columns)
        coded = frozenset(read_dictionary)
        self._check_coded(read_dictionary)
        if filter is None or (isinstance(filter, list | tuple) and not filter):
            self.bring(names, None)
            arrays = [
                (name in coded and self.coded_column(name)) or self.column(name) for name in names
            ]
            return self._table(names, arrays, self.row_count, coded)
        rows, ranges = select.select_rows(self, filter)
        self.bring(names, rows if len(rows) < self.row_count else ranges)
        arrays = select.read_selected([self.reader(name) for name in names], rows, ranges)
        return self._table(names, arrays, len(rows), coded)

    def _check_coded(self, names: Sequence[str]) -> None:
        """Raise ProgrammingError for a column that is not read as a dictionary."""
        for name in names:
            column = self.reader(name).column
            if column.kind is not Kind.BYTES:
                raise ProgrammingError(
                    f"column '{name}' has the type {column.field.type}; only texts and bytes are "
                    "read as dictionaries"
                )

    def _table(
        self,
        names: Sequence[str],
        arrays: list[Any],
        row_count: int,
        coded: frozenset[str] = frozenset(),
    ) -> Any:
        schema = self._schemas.get(tuple(names))
        if schema is None:
            whole = self.schema
            fields = [whole.field(whole.get_field_index(name)) for name in names]
            schema = self._schemas[tuple(names)] = pa.schema(fields, whole.metadata)
        if not arrays:
            empty = pa.StructArray.from_buffers(pa.struct([]), row_count, [None])
            # A table without columns forgets its rows when its metadata are set; a batch does not.
            batch = pa.RecordBatch.from_struct_array(empty)
            return pa.Table.from_batches([batch.replace_schema_metadata(schema.metadata)])
        for place, name in enumerate(names) if coded else ():
            if name in coded:
                # One that is stored in a dictionary is one already.
                array = arrays[place] = arrays[place].dictionary_encode()
                schema = schema.set(place, schema.field(place).with_type(array.type))
        return pa.Table.from_arrays(arrays, schema=schema)

    def verify(self) -> None:
        """Check every checksum, offset, length, count and code of the file.

        Raises OperationalError, naming file, offset, expected and found.
        """
        self.bring(self.schema.names, None)
        for dictionary in self._shared:
            self._file.section(
                dictionary.section, "a shared dictionary", self._table_section.offset
            )
        for name in self.schema.names:
            self.reader(name).verify()

    def close(self) -> None:
        """Let go of the file. Arrays that share its bytes keep it mapped until they are gone."""
        self._closed = True
        self._items.clear()
        self._readers.clear()

    def __enter__(self) -> FlatTable:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


@lru_cache(_KEPT_SCHEMAS)
def _schema_of(serialized: bytes) -> tuple[Any, list[str]]:
    """Return a schema of types that files store, and its names; raises NotSupportedError."""
    schema = pa.ipc.read_schema(pa.py_buffer(serialized))
    names = schema.names  # Raises for names that are not UTF-8.
    for name, kind in zip(names, schema.types, strict=True):
        kind_of(name, kind)  # A plan is made of types before a column is read.
    return schema, names


def _numbers(rows: Any) -> NDArray[Any]:
    """Return what is given as rows as an array."""
    try:
        return np.asarray(rows)
    except (TypeError, ValueError, OverflowError) as error:
        raise ProgrammingError(f"rows are integers: {error}") from None


def _names(columns: Any) -> list[str]:
    """Return what is given as names of columns."""
    if isinstance(columns, str) or not hasattr(columns, "__iter__"):
        raise ProgrammingError(f"columns are a list of names, not {columns!r}")
    return list(columns)


def _row_numbers(rows: NDArray[Any]) -> NDArray[np.int64]:
    """Return the numbers of rows as the loops take them."""
    if rows.ndim != 1:
        raise ProgrammingError(f"rows are a sequence of integers, not of {rows.ndim} dimensions")
    if len(rows) and rows.dtype.kind not in "iu":
        raise ProgrammingError(f"rows are integers, not {rows.dtype}")
    return rows.astype(_ROW_TYPE)
