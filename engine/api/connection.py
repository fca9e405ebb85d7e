"""Connections: PEP 249, and the ways in for tables that live in Python."""

from __future__ import annotations

import threading
from contextlib import contextmanager, nullcontext
from os import PathLike, fspath
from typing import TYPE_CHECKING, Self

import pyarrow as pa

from raydb import errors
from raydb.engine.api import appender, many_runs
from raydb.engine.api import cursor as cursors
from raydb.engine.catalog.shared_database import SharedDatabase
from raydb.engine.databases.open_databases import leave, open_alone, share
from raydb.engine.session.session import Session
from raydb.engine.session.settings import configured, option_text
from raydb.engine.statements import names
from raydb.errors import InterfaceError, OperationalError, ProgrammingError
from raydb.interrupts import check_interrupt
from raydb.kernels.backends.choice import warm_up
from raydb.memory_release import give_back
from raydb.running import Interrupts, Running
from raydb.storage.formats.arrow.exported import exported, exported_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

    from raydb.engine.cluster.cluster import Cluster
    from raydb.engine.graphs.graph import Graph
    from raydb.engine.session.plan_runner import Stream
    from raydb.engine.session.result import Result
    from raydb.engine.session.settings import Settings
    from raydb.engine.ui.server import UiServer
    from raydb.running import Listener

    Parameters = Sequence[object] | Mapping[str, object]


def open_connection(
    database: str | PathLike[str] | None,
    *,
    read_only: bool,
    external_access: bool,
    config: Mapping[str, object],
    cluster: object = None,
    cluster_insecure: bool = False,
) -> Connection:
    """Open a database; see `raydb.connect`."""
    settings = configured(config, external_access=external_access)
    in_memory = database is None or database in ("", ":memory:")
    if cluster is not None and in_memory:
        raise ProgrammingError(
            "a database in memory cannot be distributed: workers read it from a directory or an"
            " object store"
        )

    def begin(shared: SharedDatabase) -> Session:
        return Session(shared, settings, read_only=read_only)

    if in_memory:
        if read_only:
            raise ProgrammingError("a database in memory is empty at first: read_only has no use")
        return Connection(begin(SharedDatabase()))
    path = _path_of(database)
    with _reaching(settings) if "://" in path else nullcontext():
        session = open_alone(path, begin, read_only=True) if read_only else share(path, begin)
    if cluster is not None:
        try:
            session.queries.cluster = _cluster(session, cluster, allow_insecure=cluster_insecure)
        except BaseException:
            leave(session)
            raise
    return Connection(session)


def _cluster(session: Session, cluster: object, *, allow_insecure: bool) -> Cluster:
    """Return the workers that `connect` asks for."""
    # An extra, which few connections want.
    from raydb.engine.cluster.cluster import Cluster  # noqa: PLC0415
    from raydb.engine.cluster.dask_engine import connect_engine  # noqa: PLC0415

    store = session.database.shared.store
    assert store is not None
    engine = connect_engine(cluster, allow_insecure=allow_insecure)
    return Cluster(engine, str(store.directory.folder))


@contextmanager
def _reaching(settings: Settings) -> Iterator[None]:
    """Let what runs here reach object stores as some settings say."""
    with Running() as running:
        running.access = settings.access
        yield


class Connection:
    """A connection to a database; threads may share it, statements run one after another.

    Statements commit by themselves unless a transaction was begun, which threads share then too:
    `duplicate` gives a thread a connection of its own. Used as a context manager, it is closed at
    the end.

    progress: a function of the name of a step and the share of it that is done (0 to 1), which long
    statements call while they run; None for none. It must not use the connection, and what it
    raises ends the statement.
    """

    # PEP 249's optional extension: the errors can be caught by way of the connection.
    Warning = errors.Warning
    Error = errors.Error
    InterfaceError = errors.InterfaceError
    DatabaseError = errors.DatabaseError
    DataError = errors.DataError
    OperationalError = errors.OperationalError
    IntegrityError = errors.IntegrityError
    InternalError = errors.InternalError
    ProgrammingError = errors.ProgrammingError
    NotSupportedError = errors.NotSupportedError

    def __init__(self, session: Session) -> None:
        self._session: Session | None = session
        self._lock = threading.RLock()
        self._interrupts = Interrupts()
        self._page: UiServer | None = None
        self._warnings: Sequence[str] = ()
        self.progress: Listener | None = None
        if session.has_tables:
            warm_up()  # Without tables the first fused job begins it, and reading files needs none.

    def cursor(self) -> cursors.Cursor:
        """Return a new cursor, which shares the connection's transaction, as PEP 249 says.

        Raises InterfaceError on a closed connection.
        """
        self._open_session()
        return cursors.Cursor(self)

    def duplicate(self) -> Connection:
        """Return another connection to the same database, such as for a thread of its own.

        It has its own transaction, interrupts and registered objects, and begins with this one's
        settings. A database in memory lives until the last of its connections is closed. Raises
        InterfaceError on a closed connection.
        """
        with self._lock:
            session = self._open_session()
            copy = session.duplicate()
            if session.queries.cluster is not None:
                copy.queries.cluster = session.queries.cluster.joined()
            return Connection(copy)

    def execute(self, sql: str, parameters: Parameters = ()) -> cursors.Cursor:
        """Run a text on a new cursor and return the cursor; see `Cursor.execute`."""
        return self.cursor().execute(sql, parameters)

    def sql(self, sql: str, parameters: Parameters = ()) -> cursors.Cursor | None:
        """Run a text and return a cursor on its rows, None where it has none.

        The cursor shows its rows at a prompt and in a notebook, and may stand in FROM by the name
        of its variable.
        """
        cursor = self.execute(sql, parameters)
        return None if cursor.description is None else cursor

    def stream(self, sql: str, parameters: Parameters = ()) -> pa.RecordBatchReader:
        """Return a query's rows as a reader that computes them as they are read.

        Neither the result nor what lies between its filters, computed columns, UNNEST, UNION ALL
        and LIMIT is ever held as a whole; a sort, a join or an aggregate runs to its end first. The
        rows are those of the database as it is now, whatever other statements do. Raises
        ProgrammingError for a text that is not one query; an error in a row is raised when the
        row is read.
        """
        return self._stream(sql, parameters)

    def _stream(
        self, sql: str, parameters: Parameters, *, runs: bool = True
    ) -> pa.RecordBatchReader:
        """Return a query's rows; where it does not run, a reader of none that has their schema."""
        _check_text(sql)
        with self._lock, self._running() as running:
            stream = self._open_session().stream(sql, parameters, running, runs=runs)
            self._warnings = stream.warnings
        fields = zip(stream.names, stream.types, strict=True)
        schema = pa.schema([pa.field(name, kind) for name, kind in fields])
        shown = pa.schema([pa.field(each.name, exported_type(each.type)) for each in schema])
        batches = self._batches(schema, stream, running)
        return pa.RecordBatchReader.from_batches(shown, _Batches(batches))

    @property
    def messages(self) -> list[tuple[type[errors.Warning], errors.Warning]]:
        """The warnings of the last stream, as far as these were read.

        Of a statement on a cursor the cursor's own `messages` tell.
        """
        return [(errors.Warning, errors.Warning(text)) for text in dict.fromkeys(self._warnings)]

    def executemany(self, sql: str, parameters: Iterable[Parameters]) -> cursors.Cursor:
        """Run a statement once for each set of parameters; see `Cursor.executemany`."""
        return self.cursor().executemany(sql, parameters)

    def register(self, name: str, data: object) -> None:
        """Make a Python object a table that this connection's statements may read by `name`.

        data: an Arrow table, batch, reader or dataset, a pandas or Polars frame, a NumPy array (one
        column a field or a column of the array), a dict of columns, or an object that speaks the
        Arrow C stream or array protocol. It is read where it is, whenever a statement asks for it,
        so it must not change meanwhile; a reader is read once, here. Raises ProgrammingError for
        anything else, and for a name that a table or a view has.
        """
        with self._lock:
            session = self._open_session()
            session.database.catch_up()
            names.check_free(name, session.database.snapshot)
            session.python.register(name, data)

    def unregister(self, name: str) -> None:
        """Forget a registered object. Raises ProgrammingError for a name that is none."""
        with self._lock:
            self._open_session().python.unregister(name)

    def graph(
        self, nodes: str | Mapping[str, str], edges: str | Mapping[tuple[str, str, str], str]
    ) -> Graph:
        """Return tables as a graph for PyG, with the rows of this moment; see docs/graphs.md.

        nodes: a table or a query, whose first column is the key and whose numbers, BOOLEANs and
        arrays of numbers are features, or such ones by type. edges: a table or a query whose first
        two columns are the keys where each begins and ends, or such ones by (type where they begin,
        name, type where they end). Raises ProgrammingError for what does not fit together,
        DataError for keys that are NULL or there twice, and edges to no node.
        """
        from raydb.engine.graphs.graph import Graph  # noqa: PLC0415  (few need it)

        return Graph(self, nodes, edges)

    def appender(self, table: str, columns: Sequence[str] | None = None) -> appender.Appender:
        """Return an appender, the fast way to insert rows one by one; see `Appender`."""
        return appender.Appender(self, table, columns)

    def ui(self, *, port: int | None = None, browser: bool = True) -> UiServer:
        """Show the database on a page in the browser, and return what serves it; see docs/ui.md.

        It is closed with the connection; asked for again, it is the same. port: 0 for any that is
        free. browser: whether one is opened. Raises NotSupportedError without `raydb[ui]`.
        """
        from raydb.engine.ui.command import open_page, show  # noqa: PLC0415  (few want it)

        with self._lock:
            self._open_session()
            if self._page is None or not self._page.is_running:
                self._page = open_page(self, port=port)
            page = self._page
        if browser:
            show(page.url)
        return page

    @property
    def is_closed(self) -> bool:
        """Whether the connection was closed."""
        return self._session is None

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction was begun that is neither committed nor rolled back."""
        return self._open_session().database.in_transaction

    def begin(self) -> None:
        """Begin a transaction. Raises ProgrammingError when one is active."""
        self.execute("BEGIN")

    def commit(self) -> None:
        """Commit the transaction, if one is active."""
        if self.in_transaction:
            self.execute("COMMIT")

    def rollback(self) -> None:
        """Undo what the transaction changed, if one is active."""
        if self.in_transaction:
            self.execute("ROLLBACK")

    def interrupt(self) -> None:
        """End the statement that runs on this connection, and its streams that have rows to come.

        For other threads, a signal's handler or the function in `progress`. Within about a quarter
        of a second the statement raises OperationalError and has changed nothing; a transaction
        goes on, unless it was being committed, and the connection can be used. Where nothing runs,
        nothing happens; a statement that is about to return may still do so.
        """
        self._interrupts.interrupt()

    def close(self) -> None:
        """Close the connection, and with the last one the database; one in memory is gone.

        A transaction is rolled back. A statement that runs comes to its end first. Closing twice is
        harmless.
        """
        page, self._page = self._page, None
        if page is not None:
            page.close()
        with self._lock:
            session, self._session = self._session, None
            if session is not None:
                try:
                    leave(session)
                finally:
                    if session.queries.cluster is not None:
                        session.queries.cluster.close()

    def __enter__(self) -> Self:
        self._open_session()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _configure(self, settings: Mapping[str, object]) -> None:
        """Change settings, as SET does."""
        session = self._open_session()
        for name, value in settings.items():
            session.settings = session.settings.with_text(name, option_text(value))

    def _open_session(self) -> Session:
        if self._session is None:
            raise InterfaceError("the connection is closed")
        return self._session

    @contextmanager
    def _heard_by(self, interrupts: Interrupts) -> Iterator[None]:
        """Let the statements that begin here be ended by interrupts of their own."""
        with self._lock:
            before, self._interrupts = self._interrupts, interrupts
            try:
                yield
            finally:
                self._interrupts = before

    def _running(self) -> Running:
        """Return a statement that begins now: it hears the interrupts from now on."""
        running = Running(self._interrupts, self.progress)
        running.access = self._open_session().settings.access
        return running

    def _run(self, sql: str, parameters: Parameters) -> Result:
        """Run a text."""
        _check_text(sql)
        # A statement begins once it has the lock: interrupts from before are not for it.
        with self._lock, self._running() as running:
            return self._open_session().execute(sql, parameters, running)

    def _familiarity(self, sql: str) -> str:
        """Say whether a text is 'repeated', has 'new constants' or is 'new' to the plan cache."""
        with self._lock, self._running() as running:
            session = self._open_session()
            session.databases.catch_up()
            try:
                return session.queries.familiarity(sql, session.begun((), running, []))
            finally:
                session.databases.release()

    def _batches(
        self, schema: pa.Schema, stream: Stream, running: Running
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a stream."""
        while True:
            # Other threads may run statements between two blocks, and none during one.
            with self._lock, running:
                check_interrupt()
                columns = next(stream.blocks, None)
            if columns is None:
                give_back()
                return
            yield from exported(pa.Table.from_arrays(list(columns), schema=schema)).to_batches()

    def _execute_among(
        self, sql: str, variables: Mapping[str, object], parameters: Parameters
    ) -> cursors.Cursor:
        """Run a text whose FROM may name some variables, which are not the caller's own."""
        with self._lock:
            python = self._open_session().python
            python.variables = variables
            try:
                return self.execute(sql, parameters or ())
            finally:
                python.variables = None

    def _run_on(self, sql: str, name: str, rows: pa.Table) -> None:
        """Run a statement that reads some rows by a name; ProgrammingError where a table has it."""
        with self._lock:
            self.register(name, rows)
            try:
                self._run(sql, ())
            finally:
                self.unregister(name)

    def _run_many(self, sql: str, parameters: Iterable[Parameters]) -> Result:
        """Run a statement once for each set of parameters, all or none."""
        _check_text(sql)
        with self._lock, self._running() as running:
            session = self._open_session()
            try:
                return many_runs.run_many(session, sql, parameters, running)
            finally:
                session.databases.release()


class _Batches:
    """The batches of a stream; once one has failed, a reader that goes on meets the error again.

    An iterator that has raised is at its end, which would pass for the end of the rows.
    """

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self._failure: Exception | None = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> pa.RecordBatch:
        if self._failure is not None:
            raise self._failure
        try:
            return next(self._batches)
        except StopIteration:
            raise
        except Exception as error:
            self._failure = error
            raise
        except BaseException:
            self._failure = OperationalError("the stream was interrupted")
            raise


def _path_of(database: object) -> str:
    path = fspath(database) if isinstance(database, str | PathLike) else None
    if not isinstance(path, str) or "\0" in path:
        raise ProgrammingError(f"{database!r} is not the path of a database")
    return path


def _check_text(text: object) -> None:
    if not isinstance(text, str):
        raise ProgrammingError(f"a statement is a text, not a {type(text).__name__}")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            half = text[error.start]
            raise ProgrammingError(f"the statement has {half!r}, half of a character") from None
