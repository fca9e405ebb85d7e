"""Connections and cursors: PEP 249, with Arrow."""

from __future__ import annotations

import threading
from itertools import chain
from os import fspath
from typing import TYPE_CHECKING, Any, Self

from raydb.engine.python_values import python_values
from raydb.engine.session import Result, Session
from raydb.engine.store import Store
from raydb.errors import InterfaceError, ProgrammingError
from raydb.kernels.choice import warm_up
from raydb.sql import type_name
from raydb.storage.home import Home

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from os import PathLike
    from types import TracebackType

    import pyarrow as pa

    Parameters = Sequence[object] | Mapping[str, object]

# Rows become Python tuples this many at a time, so that a large result is not held twice.
FETCH_BATCH_ROWS = 4096

_NOTHING = Result(None, (), -1)


def open_connection(
    database: str | PathLike[str] | None, *, read_only: bool, external_access: bool
) -> Connection:
    """Open a database; see `raydb.connect`."""
    if database is None or database == ":memory:":
        if read_only:
            raise ProgrammingError("a database in memory is empty at first: read_only has no use")
        return Connection(Session(external_access=external_access))
    home = Home.open(fspath(database), read_only=read_only)
    try:
        session = Session(Store(home), read_only=read_only, external_access=external_access)
        return Connection(session)
    except BaseException:
        home.close()
        raise


class Connection:
    """A connection to a database; threads may share it, statements run one after another.

    Statements commit by themselves unless a transaction was begun. Used as a context manager, it
    is closed at the end.
    """

    def __init__(self, session: Session) -> None:
        self._session: Session | None = session
        self._lock = threading.RLock()
        warm_up()

    def cursor(self) -> Cursor:
        """Return a new cursor. Raises InterfaceError on a closed connection."""
        self._open_session()
        return Cursor(self)

    def execute(self, sql: str, parameters: Parameters = ()) -> Cursor:
        """Run a text on a new cursor and return the cursor; see `Cursor.execute`."""
        return self.cursor().execute(sql, parameters)

    def executemany(self, sql: str, parameters: Sequence[Parameters]) -> Cursor:
        """Run a statement once for each set of parameters; see `Cursor.executemany`."""
        return self.cursor().executemany(sql, parameters)

    def begin(self) -> None:
        """Begin a transaction. Raises ProgrammingError when one is active."""
        self.execute("BEGIN")

    def commit(self) -> None:
        """Commit the transaction, if one is active."""
        if self._in_transaction():
            self.execute("COMMIT")

    def rollback(self) -> None:
        """Undo what the transaction changed, if one is active."""
        if self._in_transaction():
            self.execute("ROLLBACK")

    def close(self) -> None:
        """Close the connection; a database in memory is gone. Closing twice is harmless."""
        with self._lock:
            if self._session is not None:
                self._session.close()
            self._session = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _open_session(self) -> Session:
        if self._session is None:
            raise InterfaceError("the connection is closed")
        return self._session

    def _in_transaction(self) -> bool:
        return self._open_session().database.in_transaction

    def _run(self, sql: str, parameters: Parameters) -> Result:
        with self._lock:
            return self._open_session().execute(sql, parameters)


class Cursor:
    """Runs statements and hands out the rows of the last one.

    description: for a query, one (name, SQL type, None, None, None, None, None) a column; else
    None. rowcount: rows of a query, or rows written; -1 where neither applies.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.arraysize = 1
        self._result = _NOTHING
        self._rows: Iterator[tuple[Any, ...]] | None = None
        self._closed = False

    @property
    def description(self) -> list[tuple[str, str, None, None, None, None, None]] | None:
        """The columns of the last query."""
        if self._result.rows is None:
            return None
        types = self._result.rows.schema.types
        return [
            (name, type_name(kind), None, None, None, None, None)
            for name, kind in zip(self._result.names, types, strict=True)
        ]

    @property
    def rowcount(self) -> int:
        """The rows of the last query, or those that the last statement wrote."""
        return self._result.row_count

    def execute(self, sql: str, parameters: Parameters = ()) -> Self:
        """Run a text of one or more statements; the rows are those of the last one.

        parameters: values for `?` and `$1` (a sequence) or for `$name` and `:name` (a mapping),
        for a text of one statement. A statement that raises has changed nothing.
        """
        self._check_open()
        self._rows = None
        self._result = _NOTHING
        self._result = self.connection._run(sql, parameters)  # noqa: SLF001
        if self._result.rows is not None:
            self._rows = _python_rows(self._result.rows)
        return self

    def executemany(self, sql: str, parameters: Sequence[Parameters]) -> Self:
        """Run a statement once for each set of parameters."""
        written = 0
        for values in parameters:
            self.execute(sql, values)
            written += max(self._result.row_count, 0)
        self._result = Result(None, (), written)
        self._rows = None
        return self

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the next row, or None after the last."""
        return next(self._iterate(), None)

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """Return the next `size` rows (by default `arraysize`), fewer at the end."""
        rows = self._iterate()
        wanted = self.arraysize if size is None else size
        return [row for _, row in zip(range(wanted), rows, strict=False)]

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return the rows that are left."""
        return list(self._iterate())

    def to_arrow_table(self) -> pa.Table:
        """Return all rows of the last query as an Arrow table."""
        self._check_open()
        if self._result.rows is None:
            raise InterfaceError("the last statement returned no rows")
        return self._result.rows.rename_columns(list(self._result.names))

    def setinputsizes(self, sizes: Sequence[object]) -> None:
        """Do nothing, as PEP 249 allows."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Do nothing, as PEP 249 allows."""

    def close(self) -> None:
        """Close the cursor; its rows are gone."""
        self._closed = True
        self._rows = None
        self._result = _NOTHING

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self._iterate()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _check_open(self) -> None:
        if self._closed:
            raise InterfaceError("the cursor is closed")
        self.connection._open_session()  # noqa: SLF001

    def _iterate(self) -> Iterator[tuple[Any, ...]]:
        self._check_open()
        if self._rows is None:
            raise InterfaceError("the last statement returned no rows")
        return self._rows


def _python_rows(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    """Return a table's rows as tuples of Python values, made when they are asked for."""
    batches = table.to_batches(max_chunksize=FETCH_BATCH_ROWS)
    return chain.from_iterable(
        zip(*map(python_values, batch.columns), strict=True) for batch in batches
    )
