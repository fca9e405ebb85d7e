"""The tables and views of an SQLite database, whose rows are read when they are asked for."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import DatabaseError, OperationalError
from raydb.storage.formats.text_part import TextPart
from raydb.storage.sqlite.reading import Reading
from raydb.storage.sqlite.values import TEXT, column_of, declared_type, type_of_classes
from raydb.storage.tables.decoded import value_bytes
from raydb.storage.tables.rows import Rows
from raydb.storage.tables.table import Table, TableDefinition
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

# Values of columns that were declared without a type are looked at in so many rows.
_SAMPLE_ROWS = 1000

# Rows are counted up to here where nothing tells about how many there are.
_COUNTED_ROWS = 100_000

# Tables that take more are read block by block each time, and smaller ones kept.
_KEPT_BYTES = 2**26

_TABLES = (
    "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view')"
    " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid"
)


class SqliteDatabase:
    """An SQLite file. tables: its tables and views in the version that is read, none at first.

    Between `catch_up` and `release` a transaction of SQLite keeps that version.
    """

    def __init__(self, path: str, *, all_varchar: bool) -> None:
        self._path, self._file = path, Path(path).absolute()
        self._all_varchar = all_varchar
        self._reading = Reading(self._path, self._file)
        self.tables: Mapping[str, Table] = {}

    def catch_up(self, *, waits: bool) -> bool:
        """Read the newest version from now on; say whether it is another one than before.

        waits: whether it waits for a program that has locked the file. Raises LockedError where one
        has, OperationalError for a file that cannot be read, DatabaseError for one that is damaged
        or no database of SQLite.
        """
        self._reading.end()
        if not self._reading.is_usable:
            # Who reads rows of a stream goes on with the connection, which is closed behind it.
            self._reading = Reading(self._path, self._file)
        reading = self._reading
        version = reading.begin(waits=waits)
        if reading.version == version:
            return False
        try:
            self.tables = _tables(reading, self._all_varchar)
        except BaseException:
            reading.end()
            raise
        reading.version = version
        return True

    def release(self) -> None:
        """Let others write to the file: what is read from now on begins a transaction itself."""
        self._reading.end()

    def close(self) -> None:
        """Close the file."""
        self._reading.close()


def _tables(reading: Reading, all_varchar: bool) -> dict[str, Table]:
    found = {}
    for name, kind in reading.rows(_TABLES):
        assert isinstance(name, str)
        try:
            columns = _columns(reading, name)
        except DatabaseError:
            if kind == "view":
                continue  # Tables that it reads are gone.
            raise
        rows = _rows(reading, name, columns, all_varchar)
        found[name] = Table(TableDefinition(name, rows.schema), rows, 0)
    return found


def _columns(reading: Reading, table: str) -> list[pa.Field]:
    """Return the columns of a table or a view, those that are computed too."""
    fields = []
    for _, name, declared, _, _, _, hidden in reading.rows(f"PRAGMA table_xinfo({_quoted(table)})"):
        if hidden == 1:
            continue  # an argument of a virtual table
        kind = declared_type(str(declared))
        if kind is None:
            column = _quoted(str(name))
            sample = _query(f"{column} AS c", _quoted(table), f" LIMIT {_SAMPLE_ROWS}")
            classes = reading.rows(_query("DISTINCT typeof(c)", f"({sample})"))
            kind = type_of_classes([str(each) for (each,) in classes])
        fields.append(pa.field(str(name), kind))
    return fields


def _rows(reading: Reading, table: str, columns: Sequence[pa.Field], all_varchar: bool) -> Rows:
    schema = pa.schema([each.with_type(TEXT) if all_varchar else each for each in columns])
    read = _TableReader(reading, table, schema, all_varchar)
    expected = _expected_rows(reading, table)
    width = sum(value_bytes(kind) for kind in schema.types)
    part = TextPart(schema, read.blocks, read.head, expected, expected * width > _KEPT_BYTES)
    return Rows(schema, (part,))


def _expected_rows(reading: Reading, table: str) -> int:
    """Return about how many rows there are: the greatest number of one tells it at once."""
    try:
        ((greatest,),) = reading.rows(_query("max(rowid)", _quoted(table)))
        if isinstance(greatest, int) and greatest > 0:
            return greatest
    except OperationalError:
        pass  # a view, or a table WITHOUT ROWID
    some = _query("1", _quoted(table), f" LIMIT {_COUNTED_ROWS}")
    ((count,),) = reading.rows(_query("count(*)", f"({some})"))
    assert isinstance(count, int)
    return count


@dataclass(frozen=True, eq=False, slots=True)
class _TableReader:
    """Reads columns of a table of SQLite, as `TextPart` asks for them."""

    reading: Reading
    table: str
    schema: pa.Schema
    all_varchar: bool

    def blocks(self, names: Sequence[str]) -> Iterator[Callable[[], pa.Table]]:
        """Yield functions that return some columns of some rows, in order."""
        return self._read(names, "")

    def head(self, names: Sequence[str], count: int) -> pa.Table:
        """Return some columns of the first rows."""
        found = [make() for make in self._read(names, f" LIMIT {count}")]
        return pa.concat_tables([self.schema.empty_table().select(list(names)), *found])

    def _read(self, names: Sequence[str], limit: str) -> Iterator[Callable[[], pa.Table]]:
        source = _quoted(self.table)
        if not names:
            for ((count,),) in self.reading.batches(_query("count(*)", source), self.table):
                assert isinstance(count, int)
                yield partial(_without_columns, count)
            return
        wanted = [pa.field(name, self.schema.field(name).type) for name in names]
        written = ", ".join(
            f"CAST({_quoted(name)} AS TEXT) AS {_quoted(name)}"
            if self.all_varchar
            else _quoted(name)
            for name in names
        )
        first = 0
        for batch in self.reading.batches(_query(written, source, limit), self.table):
            yield partial(self._table, wanted, batch, first)
            first += len(batch)

    def _table(
        self, wanted: Sequence[pa.Field], batch: Sequence[tuple[object, ...]], first: int
    ) -> pa.Table:
        table = f"SQLite database '{self.reading.path}', table '{self.table}'"
        columns = [
            column_of(values, field.type, f"{table}, column '{field.name}'", first)
            for field, values in zip(wanted, zip(*batch, strict=True), strict=True)
        ]
        return pa.Table.from_arrays(columns, schema=pa.schema(wanted))


def _without_columns(count: int) -> pa.Table:
    return pa.table({"": pa.nulls(count)}).select([])


def _query(columns: str, source: str, rest: str = "") -> str:
    """Return a query of columns and a source whose names are quoted."""
    return f"SELECT {columns} FROM {source}{rest}"  # noqa: S608


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
