"""Cursors: PEP 249's way to the rows of a statement, and the ways of Arrow and data frames."""

from __future__ import annotations

import re
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from raydb.engine.api.durations import with_durations
from raydb.engine.api.html import html_plan, html_table
from raydb.engine.api.polars_types import with_enums
from raydb.engine.api.text import SHOWN_ROWS, text_table
from raydb.engine.context.turns import turns
from raydb.engine.session.result import Result
from raydb.errors import (
    DataError,
    InterfaceError,
    OperationalError,
    ProgrammingError,
    Warning,  # noqa: A004  (the name is PEP 249's)
)
from raydb.planner.plan.table_function import TABLE_FUNCTIONS
from raydb.storage.formats.arrow.exported import exported, with_uuid_texts
from raydb.storage.nested import leaf_types
from raydb.storage.type_names import sql_type_name
from raydb.storage.uuids import UUID

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

    import numpy as np
    import pandas as pd
    import polars as pl
    from numpy.typing import NDArray

    from raydb.engine.api.connection import Connection

    Parameters = Sequence[object] | Mapping[str, object]

_NOTHING = Result(None, (), -1)
_NAME = re.compile(r"[^\W\d]\w*")


class Cursor:
    """Runs statements and hands out the rows of the last one.

    connection: the connection that made it. arraysize: how many rows `fetchmany` returns by default
    (1 at first).
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._arraysize = 1
        self._result = _NOTHING
        self._rows: Iterator[tuple[Any, ...]] | None = None
        self._fetched = 0
        self._closed = False

    # -- the statement ------------------------------------------------------------------------

    def execute(self, sql: str, parameters: Parameters = ()) -> Self:
        """Run a text of one or more statements; the rows are those of the last one.

        parameters: values for `?` and `$1` (a sequence) or for `$name` and `:name` (a mapping),
        for a text of one statement. A statement that raises has changed nothing.
        """
        self._forget()
        with self.connection._lock, turns:  # noqa: SLF001
            self._hold(self.connection._run(sql, parameters))  # noqa: SLF001
        return self

    def executemany(self, sql: str, parameters: Iterable[Parameters]) -> Self:
        """Run a statement that writes rows once for each set of parameters: all of them or none.

        They are one transaction, or a part of the one that was begun; `rowcount` is the sum, and
        the rows of RETURNING are those of all sets, in order. Raises ProgrammingError for a query;
        an error of a set names its number, from 1.
        """
        self._forget()
        self._hold(self.connection._run_many(sql, parameters))  # noqa: SLF001
        return self

    def callproc(self, procname: str, parameters: Sequence[object] = ()) -> Sequence[object]:
        """Call a function with parameters and return these; the cursor has its rows.

        A table function, such as `generate_series`, gives its rows; any other function one row.
        """
        if not isinstance(procname, str) or not _NAME.fullmatch(procname):
            raise ProgrammingError(f"{procname!r} is not the name of a function")
        call = f"{procname}({', '.join('?' * len(parameters))})"
        is_table = procname.lower() in TABLE_FUNCTIONS
        # The name is an identifier, so it can say nothing but itself.
        query = f"SELECT * FROM {call}" if is_table else f"SELECT {call}"  # noqa: S608
        self.execute(query, parameters)
        return parameters

    @property
    def description(self) -> list[tuple[str, str, None, None, None, None, None]] | None:
        """One (name, SQL type, None, None, None, None, None) a column; None without a query.

        The type compares with raydb.STRING, BINARY, NUMBER and DATETIME.
        """
        types = self._result.types
        if types is None:
            return None
        return [
            (name, sql_type_name(kind), None, None, None, None, None)
            for name, kind in zip(self._result.names, types, strict=True)
        ]

    @property
    def messages(self) -> list[tuple[type[Warning], Warning]]:
        """The warnings of the last statement, as PEP 249 describes it.

        Such as: a device failed, and another backend answered.
        """
        return [(Warning, Warning(text)) for text in self._result.warnings]

    @property
    def rowcount(self) -> int:
        """The rows of the last query, or those that it wrote; -1 where neither applies."""
        return self._result.row_count

    @property
    def lastrowid(self) -> int | None:
        """The identity of the row that the last INSERT has written, if it was a single one.

        It is the value of the table's IDENTITY (or SERIAL) column; None for any other statement,
        for several rows, and for a table without such a column.
        """
        return self._result.last_identity

    @property
    def rownumber(self) -> int | None:
        """The number, from 0, of the row that is fetched next; None without a query."""
        return None if self._rows is None else self._fetched

    @property
    def arraysize(self) -> int:
        """How many rows `fetchmany` returns where it is not told."""
        return self._arraysize

    @arraysize.setter
    def arraysize(self, size: int) -> None:
        self._arraysize = _row_count(size)

    # -- rows as Python values ----------------------------------------------------------------

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the next row, or None after the last."""
        return next(self, None)

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """Return the next `size` rows (by default `arraysize`), fewer at the end."""
        wanted = self._arraysize if size is None else _row_count(size)
        return self._take(islice(self._open_rows(), wanted))

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return the rows that are left."""
        return self._take(self._open_rows())

    def __iter__(self) -> Self:
        self._open_rows()
        return self

    def __next__(self) -> tuple[Any, ...]:
        row = next(self._open_rows())
        self._fetched += 1
        return row

    def _take(self, rows: Iterator[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        taken = list(rows)
        self._fetched += len(taken)
        return taken

    # -- rows as columns ----------------------------------------------------------------------

    def to_arrow_table(self) -> pa.Table:
        """Return all rows of the last query as an Arrow table, fetched ones too."""
        self._check_open()
        if self._result.rows is None:
            raise InterfaceError("the last statement returned no rows")
        return exported(self._result.rows.rename_columns(list(self._result.names)))

    def to_arrow_reader(self, batch_rows: int = 2**16) -> pa.RecordBatchReader:
        """Return all rows of the last query as a reader of batches of up to `batch_rows` rows."""
        return self.to_arrow_table().to_reader(max_chunksize=max(_row_count(batch_rows), 1))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return all rows of the last query as an Arrow C stream (the PyCapsule protocol)."""
        return self.to_arrow_table().__arrow_c_stream__(requested_schema)

    def to_numpy(self) -> dict[str, NDArray[Any]]:
        """Return an array a column of the last query, as Arrow makes it of each type.

        Integers with NULLs become float64 with NaN; texts, decimals and dates of the `object` or
        `datetime64` dtype as `pyarrow.ChunkedArray.to_numpy` gives them. A name that two columns
        have is that of the last one.
        """
        table = self.to_arrow_table()
        return dict(zip(table.column_names, map(_to_numpy, table.columns), strict=True))

    def to_pandas(self) -> pd.DataFrame:
        """Return all rows of the last query as a pandas DataFrame.

        An INTERVAL is a timedelta, or a DateOffset in a column where one has months. Integers stay
        integers within STRUCTs, MAPs and lists; a column of integers with NULLs is float64. Raises
        OperationalError where pandas is not installed, DataError for a value that it cannot hold.
        """
        _require("pandas")
        table = with_durations(self.to_arrow_table(), strict=False)
        with _converting("pandas"):
            frame: pd.DataFrame = table.to_pandas(maps_as_pydicts="strict")
            for place, column in enumerate(table.columns):
                kind = column.type
                if pa.types.is_nested(kind) and any(map(pa.types.is_integer, leaf_types(kind))):
                    # Of integers beside NULLs Arrow makes floats otherwise.
                    values = column.to_pandas(maps_as_pydicts="strict", integer_object_nulls=True)
                    frame.isetitem(place, values)
        for place, kind in enumerate(self._result.types or ()):
            if kind == UUID:  # of which Arrow makes bytes
                frame.isetitem(place, table.column(place).to_pylist())
        return frame

    def to_polars(self, *, lazy: bool = False) -> pl.DataFrame | pl.LazyFrame:
        """Return all rows of the last query as a Polars DataFrame, or as a LazyFrame.

        Raises OperationalError where Polars is not installed, DataError for a type that it lacks,
        such as intervals with months.
        """
        polars = _require("polars")
        table = with_durations(with_uuid_texts(self.to_arrow_table()), strict=True)
        with _converting("Polars"):
            frame = polars.from_arrow(table)
            frame = with_enums(frame, self._result.types or (), polars)
        result: pl.DataFrame | pl.LazyFrame = frame.lazy() if lazy else frame
        return result

    def df(self) -> pd.DataFrame:
        """Return all rows as a pandas DataFrame, as `to_pandas` does."""
        return self.to_pandas()

    def pl(self, *, lazy: bool = False) -> pl.DataFrame | pl.LazyFrame:
        """Return all rows as a Polars frame, as `to_polars` does."""
        return self.to_polars(lazy=lazy)

    def arrow(self) -> pa.Table:
        """Return all rows as an Arrow table, as `to_arrow_table` does."""
        return self.to_arrow_table()

    # -- rows for readers -----------------------------------------------------------------------

    def show(self, max_rows: int = SHOWN_ROWS) -> None:
        """Print the rows of the last query as a table: at most `max_rows` of them, 0 for all."""
        print(text_table(self.to_arrow_table(), _row_count(max_rows)))  # noqa: T201  (what it is for)

    def __repr__(self) -> str:
        if self._closed or self._result.rows is None:
            return f"<raydb.Cursor {'closed' if self._closed else 'without rows'}>"
        rows = self._result.rows.rename_columns(list(self._result.names))
        return text_table(rows, SHOWN_ROWS)

    def _repr_html_(self) -> str | None:
        """Return the first rows as a table, or a plan, which is how a notebook shows a cursor."""
        if self._closed or self._result.rows is None:
            return None
        if self._result.names == ("explain",):
            return html_plan(self._result.rows.column(0).to_pylist())
        return html_table(self._result.names, self._result.rows)

    # -- what PEP 249 asks for besides ----------------------------------------------------------

    def setinputsizes(self, sizes: Sequence[object]) -> None:
        """Do nothing, as PEP 249 allows."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Do nothing, as PEP 249 allows."""

    def close(self) -> None:
        """Close the cursor; its rows are gone, `rowcount` and `lastrowid` stay.

        Closing twice is harmless.
        """
        self._closed = True
        left = Result(None, (), self._result.row_count)
        left.last_identity = self._result.last_identity
        self._hold(left)

    def __enter__(self) -> Self:
        self._check_open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _forget(self) -> None:
        """Make room for the next statement; the last one's rows are gone even if it fails."""
        self._check_open()
        self._hold(_NOTHING)

    def _hold(self, result: Result) -> None:
        self._result = result
        # Who waits wants Python's lock as soon as the turn ends, and so do rows that are made then.
        at_once = turns.are_wanted
        self._rows = result.python_rows(at_once=at_once) if result.has_rows else None
        self._fetched = 0

    def _check_open(self) -> None:
        if self._closed:
            raise InterfaceError("the cursor is closed")
        self.connection._open_session()  # noqa: SLF001

    def _open_rows(self) -> Iterator[tuple[Any, ...]]:
        self._check_open()
        if self._rows is None:
            raise InterfaceError("the last statement returned no rows")
        return self._rows


def _row_count(size: int) -> int:
    if not isinstance(size, int) or size < 0:
        raise ProgrammingError(f"a number of rows is an integer from 0 on, not {size!r}")
    return size


def _to_numpy(column: pa.ChunkedArray) -> NDArray[np.generic]:
    array: NDArray[np.generic] = column.to_numpy()
    return array


@contextmanager
def _converting(library: str) -> Iterator[None]:
    """Turn what a library raises about rows that it cannot hold into a DataError."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:  # A panic of Polars is no Exception.
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(f"the rows cannot become a frame of {library}: {reason}") from error


def _require(library: str) -> Any:
    """Return a library that the caller wants rows for."""
    from importlib import import_module  # noqa: PLC0415  (only these two methods need it)

    try:
        return import_module(library)
    except ImportError as error:
        raise OperationalError(f"{library} is not installed: pip install {library}") from error
