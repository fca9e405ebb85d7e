"""The appender: rows from a Python loop, inserted thousands at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import pyarrow as pa

from raydb.engine.statements.names import table_called
from raydb.errors import DataError, InterfaceError, ProgrammingError
from raydb.names import known_name
from raydb.planner.expressions.casts.cast import cast_values
from raydb.planner.expressions.columns.zones import session_zone
from raydb.running import Running
from raydb.sql import assigned_values
from raydb.storage.fields import typed_schema
from raydb.storage.tables.table import check_given

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import TracebackType

    from raydb.engine.api.connection import Connection

# A statement costs about 0.3 ms, a row in it some microseconds: at this many the rows count.
FLUSH_ROWS = 8192

# What the rows are called in the statement that inserts them; SQL reads it in double quotes only.
_ROWS = "rows of the appender"


class Appender:
    """Collects rows and inserts them in batches, each one as an INSERT statement would.

        with con.appender("sale") as appender:
            for day, amount in stream:
                appender.append(day, amount)

    A batch that breaks a constraint raises, and none of it is inserted; batches before it stay,
    unless a transaction was begun. At the end of a `with` block that raises, rows that were not
    flushed yet are dropped.
    """

    def __init__(
        self, connection: Connection, table: str, columns: Sequence[str] | None = None
    ) -> None:
        """Append to a table; columns: those that the values are for, by default all of them.

        Raises ProgrammingError for a table or a column that does not exist.
        """
        database = connection._open_session().database  # noqa: SLF001
        database.catch_up()
        snapshot = database.snapshot
        name = table_called(table, snapshot)
        definition = snapshot.tables[name].definition
        schema = typed_schema(definition.schema)
        known, where = schema.names, f" in '{name}'"
        names = definition.given_schema.names
        if columns is not None:
            names = [known_name(each, known, "column", where) for each in columns]
            for each in names:
                check_given(definition, each)
        self._connection = connection
        self._fields = [schema.field(each) for each in names]
        self._rows: list[tuple[object, ...]] = []
        self._closed = False
        listed = ", ".join(map(_quoted, names))
        source = f"SELECT * FROM {_quoted(_ROWS)}"  # noqa: S608  (a constant)
        self._insert = f"INSERT INTO {_quoted(name)} ({listed}) {source}"

    def append(self, *values: object) -> None:
        """Add a row. Raises ProgrammingError for a wrong number of values."""
        if self._closed:
            raise InterfaceError("the appender is closed")
        if len(values) != len(self._fields):
            raise ProgrammingError(
                f"a row has {len(self._fields)} values here, but {len(values)} were given"
            )
        self._rows.append(values)
        if len(self._rows) >= FLUSH_ROWS:
            self.flush()

    def append_rows(self, rows: Iterable[Sequence[object]]) -> None:
        """Add some rows, each a sequence of values."""
        for row in rows:
            self.append(*row)

    def flush(self) -> None:
        """Insert what was appended; rows that cannot be inserted are dropped.

        Raises DataError for a value that its column cannot hold and IntegrityError for a row that
        breaks a constraint, as INSERT does.
        """
        rows, self._rows = self._rows, []
        if rows:
            with Running() as running:
                self._connection._open_session().begin(running)  # noqa: SLF001
                pairs = zip(self._fields, zip(*rows, strict=True), strict=True)
                columns = [_values(*each) for each in pairs]
            names = [field.name for field in self._fields]
            self._connection._run_on(self._insert, _ROWS, pa.table(columns, names))  # noqa: SLF001

    def close(self) -> None:
        """Flush, and take no more rows. Closing twice is harmless."""
        if not self._closed:
            self._closed = True
            self.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self._rows = []
        self.close()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _values(field: pa.Field, values: Sequence[object]) -> pa.Array:
    """Return a column's values in its type: as INSERT converts them, or by a cast."""
    try:
        return assigned_values("appended", values, field)
    except ProgrammingError:
        pass
    try:
        return cast_values(pa.array(values), field.type, session_zone())
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"column '{field.name}', values that were appended: {reason}") from error
    except DataError as error:
        raise DataError(f"column '{field.name}': {error}") from error
