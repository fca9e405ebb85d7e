"""The session: statements in, results out.

A text that ran before on the same tables and settings is answered by its plan. Any other is parsed,
and its statements run one after the other: queries by `queries`, what changes the database or its
transaction by `changes`, and SET for those to come.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeVar, assert_never, get_args

import pyarrow as pa

from raydb import sql
from raydb.engine.context import secrets, variables
from raydb.engine.context.memory import parse_limit
from raydb.engine.context.sequence_values import SequenceValues
from raydb.engine.context.statement_context import StatementContext
from raydb.engine.context.turns import turns
from raydb.engine.databases import copy as database_copy
from raydb.engine.plans.plan_cache import PlanCache
from raydb.engine.session.changes import Changes
from raydb.engine.session.prepared_statements import PreparedStatements
from raydb.engine.session.python_tables import PythonTables
from raydb.engine.session.queries import Queries
from raydb.engine.session.result import Result
from raydb.engine.session.settings import (
    MAX_EXECUTION_TIME,
    MEMORY_LIMIT,
    NANOSECONDS,
    TEMP_DIRECTORY,
    THREADS,
    TIME_ZONE,
    Settings,
    has_no_effect,
)
from raydb.engine.session.settled import NamingErrors, again_where_due, expanded, settled
from raydb.engine.statements import backup, row_checks
from raydb.errors import Error, NotSupportedError, ProgrammingError
from raydb.interrupts import check_interrupt
from raydb.kernels.backends.cpu.threads import use_processors
from raydb.planner.catalog import CATALOG, TEMP
from raydb.remote import Traffic
from raydb.running import Remarks, Running
from raydb.sql import ast
from raydb.storage.enums import stored_table
from raydb.storage.fields import stored_schema
from raydb.values import replace

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Mapping, Sequence

    from raydb.engine.catalog.shared_database import SharedDatabase
    from raydb.engine.session.plan_runner import Stream
    from raydb.storage.tables.table import Table

    Parameters = Sequence[object] | Mapping[str, object]

T = TypeVar("T")

WRITING = (
    *(*get_args(ast.Definition), *get_args(ast.Write)),
    *(ast.Checkpoint, ast.Vacuum, ast.ImportDatabase),
)


class Session:
    """A database with settings, a transaction and a plan cache of its own.

    shared: the database, which other sessions may use as well. settings: those that it begins with,
    None for the default. Not safe for threads: the connection holds a lock.
    """

    def __init__(
        self, shared: SharedDatabase, settings: Settings | None = None, *, read_only: bool = False
    ) -> None:
        self.changes = Changes(shared)
        self.queries = Queries(self.changes)
        self.database, self.databases = self.changes.database, self.changes.databases
        self.python = PythonTables()
        self.settings = settings or Settings({})
        self.read_only = read_only
        self._prepared = PreparedStatements()
        self._variables: Mapping[str, pa.Scalar] = {}
        self._moment: dt.datetime | None = None  # what now() is in the transaction
        store = shared.store
        self._sequences = SequenceValues(read_only=read_only)
        self._folder = None if store is None or read_only else store.directory.local_folder

    @property
    def has_tables(self) -> bool:
        """Whether the database has any table."""
        return bool(self.database.shared.committed.snapshot.tables)

    def duplicate(self) -> Session:
        """Return another session of the same database, which begins with the same settings."""
        session = Session(self.database.shared, self.settings, read_only=self.read_only)
        session._variables = self._variables
        session.databases.catch_up()
        session.databases.release()
        if self.databases.current != TEMP:
            session.databases.current = self.databases.current
            session.databases.schema = self.databases.schema
        return session

    def execute(
        self, text: str, parameters: Parameters = (), running: Running | None = None
    ) -> Result:
        """Run a text and return the result of its last statement; errors tell the place in it."""
        warnings: list[str] = []
        try:
            with NamingErrors(text), sql.refuse_deep_nesting():
                result = self._run_text(text, parameters, running or Running(), warnings)
        finally:
            self.databases.release()
        result.show_in_zone(self.settings[TIME_ZONE])
        result.warnings = tuple(dict.fromkeys(warnings)) or result.warnings
        return result

    def execute_runs(
        self, text: str, sets: Sequence[Parameters], running: Running
    ) -> Result | None:
        """Run a statement once for many sets of parameters, within a transaction.

        None where they are to run one by one. Raises what a run raises, and ProgrammingError
        where one would see what another has written.
        """
        with NamingErrors(text), sql.refuse_deep_nesting():
            self.databases.catch_up()
            context = self.begun(sets[0], running, [])
            statements = self.queries.parse(text, context)
            if len(statements) > 1 or not sql.may_run_at_once(statements[0]):
                return None
            (statement,) = statements
            rows = sql.ParameterRows(sql.parameters_of(statement), sets)

            def run() -> Result | None:
                written, context = self._directed(statement, self.begun(sets[0], running, []))
                assert isinstance(written, ast.Write)
                return self.changes.write_runs(written, replace(context, parameters=rows))

            return self.changes.whole(statement, run)

    def _insert_folded(
        self, text: str, sets: Sequence[Parameters], running: Running
    ) -> Result | None:
        """Run an INSERT of many like rows; None where it is to be bound row by row."""
        try:
            return self.execute_runs(text, sets, running)
        except (ProgrammingError, NotSupportedError):
            return None  # What is wrong is told of the text as it is.

    def stream(
        self,
        text: str,
        parameters: Parameters = (),
        running: Running | None = None,
        *,
        runs: bool = True,
    ) -> Stream:
        """Return the rows of one query, which are computed as they are asked for.

        They are those of the database as it is now, or none where it does not run: names and types
        are known then. Raises ProgrammingError for any other text.
        """
        with NamingErrors(text), sql.refuse_deep_nesting():
            self.databases.catch_up()
            self.queries.text = text
            context = self.begun(parameters, running or Running(), [])
            statements = sql.parse(text)
            if len(statements) != 1 or not isinstance(statements[0], ast.Select):
                raise ProgrammingError("a text whose rows are streamed is one query")
            select = settled(statements[0], context)
            try:
                rows = again_where_due(
                    lambda some: self.queries.stream(select, some, runs=runs), context
                )
            finally:
                self.databases.release()
            return rows.in_zone(context.settings[TIME_ZONE])

    def begin(self, running: Running) -> None:
        """Let what runs on this thread have the settings of the session."""
        settings = self.settings
        running.begin(
            settings.device_memory,
            lambda: parse_limit(settings[MEMORY_LIMIT]),
            settings[TIME_ZONE],
            cuts_nanoseconds=settings[NANOSECONDS] == "cut",
            temp_folder=settings[TEMP_DIRECTORY] or self._folder,
            most_ms=settings[MAX_EXECUTION_TIME],
        )
        running.access = settings.access

    def close(self) -> None:
        """Leave the database; an open transaction is rolled back."""
        self.databases.close()

    # -- from a text to its statements ----------------------------------------------------------

    def _run_text(
        self, text: str, parameters: Parameters, running: Running, warnings: list[str]
    ) -> Result:
        self.queries.text = text
        is_alone = self.databases.has_others or self.queries.cluster is not None
        is_news = None if is_alone else self.database.catch_up_later()
        if is_news is not None:
            found = self._query_beside(is_news, text, parameters, running, warnings)
        else:
            self.databases.catch_up()
            folded = sql.fold_values(text, parameters)
            if folded is not None and (inserted := self._insert_folded(*folded, running)):
                return inserted
            found = self._query(text, parameters, running, warnings)
        if isinstance(found, Result):
            return found
        turns.leave()  # A commit may wait for a disk, and for others whose commits it is one with.
        for statement in found:
            if len(found) > 1:
                running.traffic, self.queries.text = Traffic(), ""
            self.databases.catch_up()
            result = self._execute(statement, lambda: self.begun(parameters, running, warnings))
        return result

    def _query_beside(
        self,
        is_news: Callable[[], bool],
        text: str,
        parameters: Parameters,
        running: Running,
        warnings: list[str],
    ) -> Result | Sequence[ast.Statement]:
        """Do as `_query` while it is asked whether there is a newer version, and again if so."""
        try:
            found = self._query(text, parameters, running, warnings)
        except Error:
            if not is_news():
                raise
        else:
            if not is_news():
                return found
        self.databases.catch_up()
        return self._query(text, parameters, running, warnings)

    def _query(
        self, text: str, parameters: Parameters, running: Running, warnings: list[str]
    ) -> Result | Sequence[ast.Statement]:
        """Return what a text gives that is one query, else its statements."""
        context = self.begun(parameters, running, warnings)
        known = self.queries.repeat(text, context)
        if isinstance(known, Result):
            self._save_sequences()
            return known
        statements = self.queries.parse(text, context)
        if len(statements) != 1 or not isinstance(statements[0], ast.Select):
            return statements
        select = expanded(statements[0], context)
        if sql.asks_values(select.tree):  # its columns depend on rows: there is no plan to keep
            return self._execute(select, lambda: context)
        result = again_where_due(lambda some: self.queries.ask(select, known, some), context)
        self._save_sequences()
        sql.unlink(select.tree)
        return result

    def _save_sequences(self) -> None:
        """Make durable what a query has taken of sequences."""
        if self._sequences.are_used:
            self._sequences.are_used = False
            self.changes.save_sequences()

    def begun(
        self, parameters: Parameters, running: Running, warnings: list[str]
    ) -> StatementContext:
        """Begin a statement: return what it works with."""
        check_interrupt()
        settings = self.settings
        use_processors(settings[THREADS])
        self.begin(running)
        running.remarks = Remarks(warnings)
        own = self.databases.named()
        running.sequences, running.types = self._sequences, own.types
        running.variables = self._variables
        running.place, running.setting = self.databases.place_of_names, settings.text
        running.null_order = settings.planner.null_order
        running.collation = settings.planner.collation
        if not self.database.in_transaction:
            self._moment = None
        elif self._moment is None:
            self._moment = running.moment()
        else:
            running.go_on(self._moment)
        self._sequences.begin(own.sequences)
        return StatementContext(
            snapshot=self.database.snapshot,
            databases=self.databases,
            settings=settings,
            python=self.python,
            usage=self.database.shared.usage,
            cache=self.database.shared.cache,
            folder=self._folder,
            queries=self.queries,
            running=running,
            sequences=self._sequences,
            files=self.database.files,
            parameters=parameters,
            warnings=warnings,
            text=self.queries.text,
        )

    def _execute(self, statement: ast.Statement, begin: Callable[[], StatementContext]) -> Result:
        """Run one statement. The database changes at its end or not at all.

        begin: returns what it works with now; it is asked again where others were faster.
        """

        def run() -> Result:
            return again_where_due(lambda some: self._dispatch(statement, some), begin())

        return self.changes.whole(statement, run)

    def _run_parts(self, statement: ast.WithChanges, context: StatementContext) -> Result:
        """Run the parts of WITH and what follows it, each on what those before have changed."""
        values = sql.bind_values(sql.parameters_of(statement), context.parameters)
        given: dict[str, Table] = dict(context.given)

        def run(part: ast.Statement) -> Result:
            own = {name: values[name] for name in sql.parameters_of(part)}
            begun = replace(
                context, snapshot=self.database.snapshot, given=dict(given), parameters=own
            )
            return again_where_due(lambda some: self._dispatch(part, some), begun)

        for part in statement.parts:
            if part.rows in context.all_databases.tables:
                raise ProgrammingError(f"the table '{part.rows}' is called as a part; rename it")
            result = run(part.statement)
            if result.rows is not None:
                rows = result.rows.rename_columns(list(result.names))
                columns, schema = stored_table(rows).columns, stored_schema(rows.schema)
                given[part.rows] = row_checks.table_of(
                    part.rows, pa.Table.from_arrays(columns, schema=schema)
                )
        return run(statement.last)

    def _dispatch(self, statement: ast.Statement, context: StatementContext) -> Result:
        statement = settled(statement, context)
        statement, context = self._directed(statement, context)
        match statement:
            case ast.Select():
                return self.queries.run(statement, context)
            case ast.Explain():
                return self._explain(statement, context)
            case ast.Prepare() | ast.Execute() | ast.Deallocate():
                return self._use_prepared(statement, context)
            case ast.WithChanges():
                return self._run_parts(statement, context)
            case _ if isinstance(statement, ast.Write):
                return self.changes.write(statement, context)
            case ast.CopyTo():
                return self.queries.copy_to(statement, context)
            case _ if isinstance(statement, ast.Catalog):
                return self._show(statement, context)
            case _ if isinstance(statement, ast.Setting | ast.Secret):
                self._choose(statement, context)
            case ast.Checkpoint():
                self.changes.checkpoint(context)
            case ast.Vacuum():
                self.database.vacuum(context)
            case ast.Attach() | ast.Detach() | ast.Use():
                if isinstance(statement, ast.Attach):
                    context.warnings.extend(
                        f"the option '{option}' is DuckDB's and has no effect"
                        for option in statement.without_effect
                    )
                self.databases.change(statement, self.settings, read_only=self.read_only)
            case ast.CopyDatabase() | ast.ExportDatabase() | ast.ImportDatabase():
                self._back_up(statement, context)
            case _ if isinstance(statement, ast.Control):
                self.changes.control(statement)
            case _:
                assert not isinstance(statement, ast.InPlace), statement
                return self.changes.define(statement, context)
        return Result(None, (), -1)

    def _choose(self, option: ast.Setting | ast.Secret, context: StatementContext) -> None:
        """Go on with other settings; plans of texts that mean something else now are forgotten."""
        if isinstance(option, ast.Secret):
            self.settings = secrets.with_secrets(option, context)
        elif isinstance(option, ast.SetVariable):
            self._variables = variables.with_variable(self._variables, option, context)
            self.queries.cache = PlanCache()
        elif not has_no_effect(option.name, context.warnings):
            self.settings = self.settings.chosen(option)

    def _show(self, statement: ast.Catalog, context: StatementContext) -> Result:
        match statement:
            case ast.ShowOption(name=name) if self.settings.has(name):
                return _listed(pa.table({name: [self.settings.text(name)]}))
            case ast.ShowDatabases(with_files=with_files):
                return _listed(self.databases.rows(with_files=with_files))
            case _:
                return self.queries.describe(statement, context)

    def _back_up(self, statement: ast.Backup, context: StatementContext) -> None:
        """Write a folder of the database as it is now, run what one says, or copy a database."""
        if isinstance(statement, ast.CopyDatabase):
            return database_copy.copy_database(statement, self.databases, read_only=self.read_only)
        if isinstance(statement, ast.ImportDatabase):
            for each in backup.statements_of(statement, self.settings):
                begun = self.begun((), context.running, context.warnings)
                again_where_due(partial(self._dispatch, each), begun)
            return None
        begins = not self.databases.in_transaction
        if begins:
            self.databases.begin()
        try:
            backup.export_database(
                statement,
                lambda text: self._run_text(text, (), context.running, context.warnings),
                self.settings,
            )
        finally:
            if begins:
                self.databases.rollback()

    def _directed(
        self, statement: ast.Statement, context: StatementContext, *, explains: bool = False
    ) -> tuple[ast.Statement, StatementContext]:
        """Return a statement without the database that it names, and what it works with there.

        explains: whether it is not run. Raises OperationalError where it writes to a database that
        can only be read.
        """
        place: tuple[str, ...] = ()
        if isinstance(statement, ast.InPlace):
            place, statement = statement.place, statement.statement
        if not isinstance(statement, WRITING):
            return statement, context
        kind, names = ast.written_names(statement)
        read_only = self.read_only and not explains
        target, schema = self.databases.written(place, kind, names, read_only=read_only)
        snapshot = self.databases.database(target).snapshot
        if isinstance(statement, ast.Definition | ast.Write):
            statement = self.databases.placed(statement, (target, schema), snapshot)
        if target == CATALOG:
            return statement, context
        database = self.databases.database(target)
        own = self.databases.named()
        self._sequences.begin({**own.sequences, **snapshot.sequences})
        context.running.types = {**own.types, **snapshot.types}
        there = replace(
            context,
            snapshot=snapshot,
            target=target,
            usage=database.shared.usage,
            files=database.files,
        )
        return statement, there

    def _explain(self, statement: ast.Explain, context: StatementContext) -> Result:
        explained: ast.Statement = statement.statement
        if isinstance(explained, ast.Execute):
            prepared = self._prepared.find(explained.name)
            values = sql.bind_arguments(explained, prepared, context.parameters)
            context = replace(context, parameters=values, text=prepared.text)
            (explained,) = sql.parse(prepared.text)
        if isinstance(explained, ast.Write | ast.InPlace):
            explained, context = self._directed(explained, context, explains=True)
        return self.queries.explain(statement, explained, context)

    def _use_prepared(
        self, statement: ast.Prepare | ast.Execute | ast.Deallocate, context: StatementContext
    ) -> Result:
        match statement:
            case ast.Prepare():
                if context.parameters:
                    raise ProgrammingError("PREPARE takes no values: EXECUTE gives them")
                types = tuple(map(sql.resolved, statement.types))
                self._prepared.keep(replace(statement, types=types))
            case ast.Deallocate(name=name):
                self._prepared.forget(name)
            case ast.Execute(name=name):
                prepared = self._prepared.find(name)
                values = sql.bind_arguments(statement, prepared, context.parameters)
                try:
                    return self._run_text(prepared.text, values, context.running, context.warnings)
                except Error as error:
                    # The place would be one in a text that is not the one that runs.
                    error.position = None
                    raise
            case _:
                assert_never(statement)
        return Result(None, (), -1)


def _listed(rows: pa.Table) -> Result:
    """Return rows that the session itself has made."""
    return Result(rows, tuple(rows.column_names), rows.num_rows)
