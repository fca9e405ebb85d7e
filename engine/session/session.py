"""The session: statements in, results out. The path of a query, from text to rows.

    result = execute(text)
        parse (sql) -> bind (sql) -> plan (planner) -> run (engine over storage and kernels)

A text that ran before on the same tables and settings starts at its physical plan, and one that
differs from such a text in constants or parameters at its bound plan.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar, assert_never, get_args

import pyarrow as pa

from raydb import sql
from raydb.engine.catalog.database import Database
from raydb.engine.catalog.merge import Merger
from raydb.engine.catalog.stored_bvh import is_merge_due
from raydb.engine.context.devices import Devices, devices
from raydb.engine.context.memory import allowed, parse_device_memory
from raydb.engine.fused.post_aggregate import prepare_finish
from raydb.engine.fused.row_fast_path import prepare_direct
from raydb.engine.session.file_access import FileAccess
from raydb.engine.session.plan_cache import PlanCache, PreparedPlan, plan_key
from raydb.engine.session.plan_runner import PlanRunner
from raydb.engine.session.prepared_statements import PreparedStatements
from raydb.engine.session.python_tables import PythonTables
from raydb.engine.session.result import Result
from raydb.engine.session.settings import (
    Settings,
    parse_share,
    setting_text,
    with_setting,
    without_setting,
)
from raydb.engine.session.statement_sources import Uses, open_sources
from raydb.engine.statements.definitions import apply_definition
from raydb.engine.statements.names import check_table
from raydb.engine.statements.statement_context import Work
from raydb.engine.statements.summarize import summarize
from raydb.engine.statements.write import bind_change, write
from raydb.errors import Error, NotSupportedError, OperationalError, ProgrammingError
from raydb.interrupts import check_interrupt
from raydb.kernels.backends.device import device_memory
from raydb.planner import plan_query
from raydb.planner.expressions.clock import begin_moment
from raydb.planner.plan.common_tables import contents, tables_of
from raydb.planner.plan.nodes import Aggregate, Plan
from raydb.sql import ast
from raydb.storage.formats.copy import write_rows
from raydb.storage.formats.text_part import LateValueError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
    from contextvars import Token

    from raydb.engine.catalog.store import Store
    from raydb.engine.fused.jobs import FusedJob, JobRun
    from raydb.engine.operators.relation import Relation
    from raydb.engine.session.plan_runner import Stream
    from raydb.kernels.backends.device import DeviceMemory
    from raydb.planner.catalog import CatalogInfo
    from raydb.storage.tables.table import Table

    Parameters = Sequence[object] | Mapping[str, object]
    Blocks = Iterator[Sequence[pa.ChunkedArray | pa.Array]]
    RunJob = Callable[[FusedJob], pa.Table]
    _Before = tuple[
        Token[Callable[[], int | None] | None], Token[DeviceMemory], Token[Devices | None]
    ]

T = TypeVar("T")

WRITING = (*get_args(ast.Definition), *get_args(ast.Write), ast.Checkpoint, ast.Vacuum)


@dataclass(frozen=True, slots=True)
class _Caching:
    """What the plan of a query is kept by, and its template; None for what is not kept."""

    key: Hashable | None
    shape: sql.Shape | None


class Session:
    """A database with its settings, its transaction and its plan cache.

    store: where the database is kept, None for one in memory. Not safe for threads: the connection
    holds a lock.
    """

    def __init__(
        self,
        store: Store | None = None,
        *,
        read_only: bool = False,
        external_access: bool = True,
    ) -> None:
        self.database = Database(store)
        self.files = FileAccess(external_access)
        self.python = PythonTables(finds_variables=external_access)
        self.read_only = read_only
        self.settings = Settings()
        self._cache = PlanCache()
        self._prepared = PreparedStatements()
        self._uses = Uses()
        folder = None if store is None or read_only else str(store.home.folder)
        self._runner = PlanRunner(self.database, self._uses, lambda: self.settings, folder)
        self.merger = Merger()
        self._devices = Devices(lambda: self.settings.planner)
        self._device_memory = parse_device_memory(self.settings.device_memory)

    # -- statements ---------------------------------------------------------------------------

    def execute(self, text: str, parameters: Parameters = ()) -> Result:
        """Run the statements of a text and return the result of the last one.

        An error about the text knows its line and column where they can be told.
        """
        before = self._begin()
        try:
            # What binds may still be too deep for the planner, such as a chain of many views.
            with sql.refuse_deep_nesting():
                result = self._execute_text(text, parameters)
        except (ProgrammingError, NotSupportedError) as error:
            sql.locate_name(error, text)
            raise
        finally:
            told = self._end(before)
        if told:
            result.notices += told
        return result

    def _begin(self) -> _Before:
        """Set what the modules below ask about the running statement."""
        return (
            allowed.set(self._runner.memory_limit),
            device_memory.set(self._device_memory),
            devices.set(self._devices),
        )

    def _end(self, before: _Before) -> tuple[str, ...]:
        """Unset it again, and return what its builds and searches had to tell."""
        memory, on_devices, asked = before
        devices.reset(asked)
        device_memory.reset(on_devices)
        allowed.reset(memory)
        return self._devices.taken() if self._devices.told else ()

    def _execute_text(self, text: str, parameters: Parameters) -> Result:
        check_interrupt()
        begin_moment()
        if self.read_only:
            self.database.reload()
        if self.merger.is_done:
            self._take_merged()
        caching = _Caching(None, None)
        if self._cache.expect(self.database.snapshot):
            self._runner.cache.forget_gone()
        if self.settings.plan_cache:
            key = plan_key(text, parameters, self.settings.planner)
            prepared = self._cache.plan(key)
            if prepared is not None:
                return self._run_again(prepared, key)
            caching = _Caching(key, sql.shape_of(text))
            logical = self._cache.filled(caching.shape, parameters)
            if logical is not None:
                return self._run_new(self._plan(logical, {}), caching)
        return self._execute_statements(text, parameters, caching)

    def _execute_statements(self, text: str, parameters: Parameters, caching: _Caching) -> Result:
        """Run the statements of a text that is not known."""
        known = self._cache.statement(text) if parameters else None
        statements = sql.parse(text) if known is None else (known,)
        if len(statements) > 1 and parameters:
            raise ProgrammingError(
                f"parameters go with one statement, and the text has {len(statements)}"
            )
        for statement in statements[:-1]:
            self._execute(statement, parameters)
        last = statements[-1]
        if isinstance(last, ast.Select) and len(statements) == 1:
            return self._reading_files(lambda: self._ask(last, parameters, caching))
        if parameters and self.settings.plan_cache:
            self._cache.keep_statement(text, last)
        return self._execute(last, parameters)

    def _ask(self, select: ast.Select, parameters: Parameters, caching: _Caching) -> Result:
        """Run a query, and keep what makes it faster the next time."""
        shape = caching.shape
        if shape is None:
            return self._run_new(self._prepare(select, parameters), caching)
        files, catalog = self._describe(select, parameters)
        template = sql.bind_template(select, catalog, parameters, shape)
        logical = template.plan(shape.constants, parameters)
        assert logical is not None, "a template fits the query that it was made of"
        prepared = self._plan(logical, files, reads_clock=template.reads_clock)
        if not (files or template.reads_clock):
            self._cache.expect(self.database.snapshot)
            self._cache.keep_template(shape, template)
        return self._run_new(prepared, caching)

    def _run_new(self, prepared: PreparedPlan, caching: _Caching) -> Result:
        """Run a plan for the first time, and keep it with what its jobs have made."""
        result = self._runner.run(prepared)
        if caching.key is not None:
            self._cache.expect(self.database.snapshot)
            self._cache.keep_plan(caching.key, prepared)
        return result

    def _run_again(self, prepared: PreparedPlan, key: Hashable) -> Result:
        """Run a plan that is kept: the second time it is worth to know its groups by heart."""
        if not prepared.has_repeated:
            direct = prepare_direct(prepared.plan, prepared.plan.columns)
            prepared = replace(prepared, direct=direct, has_repeated=True)
            self._cache.keep_plan(key, prepared)
        return self._runner.repeat(prepared)

    def _execute(self, statement: ast.Statement, parameters: Parameters) -> Result:
        """Run one statement. The database changes at its end or not at all."""
        check_interrupt()
        begin_moment()
        before, state = self.database.snapshot, self.database.state
        try:
            result = self._reading_files(lambda: self._dispatch(statement, parameters))
            if not self.database.in_transaction:
                self.database.save(before)
        except BaseException:
            if self.database.in_transaction:
                self.database.restore(state)
            else:
                self.database.discard(before)
            raise
        if isinstance(statement, WRITING):
            # What loading 60M rows has freed is more than they take, and Arrow keeps it: 6 GB.
            pa.default_memory_pool().release_unused()
        return result

    def _reading_files(self, run: Callable[[], T]) -> T:
        """Run what may read files; again, where a value tells another type than those before it."""
        access = self.files
        try:
            return run()
        except LateValueError:
            self.files = replace(access, whole_sample=True)
            try:
                return run()
            finally:
                self.files = access

    def _dispatch(self, statement: ast.Statement, parameters: Parameters) -> Result:
        if self.read_only and isinstance(statement, WRITING):
            raise OperationalError("the database is opened read-only")
        match statement:
            case ast.Select():
                return self._runner.run(self._prepare(statement, parameters))
            case ast.Explain():
                return self._explain(statement, parameters)
            case ast.Prepare() | ast.Execute() | ast.Deallocate():
                return self._use_prepared(statement, parameters)
            case ast.Insert() | ast.Copy() | ast.Update() | ast.Delete():
                return self._write(statement, parameters)
            case ast.CopyTo():
                return self._copy_to(statement, parameters)
            case ast.Summarize(select=select):
                result = self._prepared_rows(select, parameters)
                assert result.rows is not None
                return _listed(summarize(result.rows, result.names))
            case ast.Describe() | ast.ShowTables() | ast.ShowOption():
                return self._show(statement, parameters)
            case ast.SetOption() | ast.ResetOption():
                self._set(statement)
            case ast.Checkpoint():
                self._checkpoint()
            case ast.Vacuum():
                self.database.vacuum()
            case _ if isinstance(statement, ast.Control):
                self._control_transaction(statement)
            case _:
                snapshot, row_count = apply_definition(statement, self._work(parameters))
                self._uses.forget(self.database.snapshot.bvhs.keys() - snapshot.bvhs.keys())
                self.database.define(snapshot)
                return Result(None, (), row_count)
        return Result(None, (), -1)

    def _work(self, parameters: Parameters) -> Work:
        return Work(
            *(self.database.snapshot, self.files, self.python, self._uses, parameters),
            run=self._rows_of,
            told=self._devices.told,
        )

    def _rows_of(self, logical: Plan, tables: Mapping[str, Table]) -> pa.Table:
        """Return the rows of a bound query, which may scan some tables beside the database's."""
        result = self._told(self._runner.run(self._plan(logical, tables)))
        assert result.rows is not None
        return result.rows

    def _prepared_rows(self, select: ast.Select, parameters: Parameters) -> Result:
        """Return the rows of a query that are not the statement's answer."""
        return self._told(self._runner.run(self._prepare(select, parameters)))

    def _told(self, result: Result) -> Result:
        """Keep what a query within a statement has to say, for the statement's own answer."""
        self._devices.told.extend(result.notices)
        return result

    # -- queries ------------------------------------------------------------------------------

    def _prepare(self, select: ast.Select, parameters: Parameters) -> PreparedPlan:
        """Bind and plan a query."""
        files, catalog = self._describe(select, parameters)
        bound = sql.bind_at_once(select, catalog, parameters)
        return self._plan(bound.plan, files, reads_clock=bound.reads_clock)

    def _describe(
        self, select: ast.Select, parameters: Parameters
    ) -> tuple[Mapping[str, Table], CatalogInfo]:
        """Return the files that a query reads, and the catalog with them in it."""
        snapshot = self.database.snapshot
        files = open_sources(select, snapshot, self.files, self.python, self._uses, parameters)
        return files, snapshot.with_changes(files).describe()

    def _plan(
        self, logical: Plan, files: Mapping[str, Table], *, reads_clock: bool = False
    ) -> PreparedPlan:
        """Plan a bound query; where an aggregate may use BVHs, they know every row.

        reads_clock: whether binding has read it.
        """
        found = contents(logical)
        if Aggregate in found:
            self._use_bvhs(tables_of(logical))
        catalog = self.database.snapshot.with_changes(files).describe()
        plan = plan_query(logical, catalog, self.settings.planner)
        columns = logical.columns
        return PreparedPlan(
            plan,
            tuple(column.name for column in columns),
            tuple(column.type for column in columns),
            prepare_finish(plan),
            files=files,
            reads_clock=reads_clock or "now" in found,
        )

    def _use_bvhs(self, tables: frozenset[str]) -> None:
        """Make the BVHs on some tables ready, and begin the merge of one that is due."""
        self.database.use_bvhs(tables)
        in_background = self.settings.bvh_merge == "background"
        if not in_background or not self.merger.is_idle or self.database.in_transaction:
            return
        snapshot = self.database.snapshot
        for bvh in snapshot.bvhs.values():
            if bvh.definition.table in tables and is_merge_due(bvh, snapshot.tables):
                store = None if self.read_only else self.database.store
                self.database.exchange(self.merger.start(bvh, snapshot, store))
                return

    def _take_merged(self) -> None:
        """Go on with the BVH of a merge that has ended, between transactions."""
        if self.merger.is_done and not self.database.in_transaction:
            self.database.exchange(self.merger.taken(self.database.snapshot))

    def stream(self, text: str, parameters: Parameters = ()) -> Stream:
        """Return the rows of one query, which are computed as they are asked for.

        They are those of the database as it is now. Raises ProgrammingError for any other text.
        """
        before = self._begin()
        begin_moment()
        try:
            with sql.refuse_deep_nesting():
                if self.read_only:
                    self.database.reload()
                statements = sql.parse(text)
                if len(statements) != 1 or not isinstance(statements[0], ast.Select):
                    raise ProgrammingError("a text whose rows are streamed is one query")
                select = statements[0]
                return self._reading_files(lambda: self._stream(select, parameters))
        except (ProgrammingError, NotSupportedError) as error:
            sql.locate_name(error, text)
            raise
        finally:
            self._end(before)

    def _stream(self, select: ast.Select, parameters: Parameters) -> Stream:
        return self._runner.stream(self._prepare(select, parameters), self._next_block)

    def _next_block(self, blocks: Iterator[Relation], run: JobRun) -> Relation | None:
        """Return the next block of a stream; other statements may run between two of them."""
        before = self._begin()
        try:
            return next(blocks, None)
        finally:
            run.told.extend(self._end(before))

    def _explain(self, statement: ast.Explain, parameters: Parameters) -> Result:
        """Describe a plan. Of a statement that writes rows, what gives them; nothing is written."""
        explained: ast.Statement = statement.statement
        if isinstance(explained, ast.Execute):
            prepared = self._prepared.find(explained.name)
            parameters = sql.bind_arguments(explained, prepared, parameters)
            (explained,) = sql.parse(prepared.text)
        change = None
        if isinstance(explained, ast.Select):
            plan = self._prepare(explained, parameters)
        else:
            assert isinstance(explained, ast.Insert | ast.Update | ast.Delete), explained
            check_table(explained.table, self.database.snapshot)
            logical, files, change = bind_change(explained, self._work(parameters))
            plan = self._plan(logical, files)
        lines = self._runner.explain(plan, statement, change)
        return Result(pa.table({"c0": pa.array(lines, pa.string())}), ("explain",), len(lines))

    def _use_prepared(
        self, statement: ast.Prepare | ast.Execute | ast.Deallocate, parameters: Parameters
    ) -> Result:
        match statement:
            case ast.Prepare():
                if parameters:
                    raise ProgrammingError("PREPARE takes no values: EXECUTE gives them")
                self._prepared.keep(statement)
            case ast.Deallocate(name=name):
                self._prepared.forget(name)
            case ast.Execute(name=name):
                prepared = self._prepared.find(name)
                values = sql.bind_arguments(statement, prepared, parameters)
                try:
                    return self._execute_text(prepared.text, values)
                except Error as error:
                    # The place would be one in a text that is not the one that runs.
                    error.position = None
                    raise
            case _:
                assert_never(statement)
        return Result(None, (), -1)

    def _copy_to(self, statement: ast.CopyTo, parameters: Parameters) -> Result:
        """Write the rows of a query to a file."""
        self.files.check(statement.path)
        result = self._prepared_rows(statement.select, parameters)
        assert result.rows is not None
        rows = result.rows.rename_columns(list(result.names))
        write_rows(statement.path, rows, statement.options)
        return Result(None, (), rows.num_rows)

    def _show(
        self, statement: ast.Describe | ast.ShowTables | ast.ShowOption, parameters: Parameters
    ) -> Result:
        """Answer from the catalog or the settings."""
        match statement:
            case ast.ShowOption(name="external_access"):
                value = "on" if self.files.allowed else "off"
                return _listed(pa.table({"external_access": [value]}))
            case ast.ShowOption(name=name):
                return _listed(pa.table({name: [setting_text(self.settings, name)]}))
            case ast.ShowTables():
                catalog = self.database.snapshot.describe()
                return self._runner.run(self._plan(sql.bind_show_tables(catalog), {}))
            case ast.Describe():
                files, catalog = self._describe(statement.select, parameters)
                return self._runner.run(
                    self._plan(sql.bind_describe(statement, catalog, parameters), files)
                )
            case _:
                assert_never(statement)

    # -- changes ------------------------------------------------------------------------------

    def _write(self, statement: ast.Write, parameters: Parameters) -> Result:
        """Change the rows of a table: all that the statement says, or nothing on any error."""
        check_table(statement.table, self.database.snapshot)
        written = write(statement, self._work(parameters))
        self.database.apply(written.changes)
        return Result(written.returned, written.names, written.row_count)

    def _set(self, statement: ast.Setting) -> None:
        match statement:
            case ast.SetOption(name="external_access", value=value):
                self.files = self.files.with_setting(value)
            case ast.ResetOption(name="external_access"):
                self.files = self.files.with_setting("on")
            case ast.SetOption(name=name, value=value):
                if name == "temp_directory":
                    self.files.check(value)
                self.settings = with_setting(self.settings, name, value)
            case ast.ResetOption(name=name):
                self.settings = without_setting(self.settings, name)
            case _:
                assert_never(statement)
        # It is for the rest of the text too.
        self._device_memory = parse_device_memory(self.settings.device_memory)
        device_memory.set(self._device_memory)
        self.python.finds_variables = self.files.allowed and self.settings.replacement_scans

    def _control_transaction(self, statement: ast.Control) -> None:
        match statement:
            case ast.Begin():
                self.database.begin()
            case ast.Commit():
                self.database.commit()
            case ast.Rollback():
                self.database.rollback()
            case ast.Savepoint(name=name):
                self.database.savepoint(name)
            case ast.Release(name=name):
                self.database.release(name)
            case ast.RollbackTo(name=name):
                self.database.rollback_to(name)
            case _:
                assert_never(statement)

    def _checkpoint(self) -> None:
        """Merge what is worth it and write everything; what a merge has built is of use."""
        if not self.database.in_transaction:
            self.merger.wait()
            self._take_merged()
        self.database.checkpoint(parse_share(self.settings.bvh_merge_share))

    def close(self) -> None:
        """Give the database directory back; an open transaction is rolled back.

        A merge that is under way is given up, one that has ended is made durable.
        """
        try:
            self._take_merged()
            self.merger.cancel()
            if not self.read_only:
                self.database.keep_merged()
        finally:
            self.database.close()


def _listed(rows: pa.Table) -> Result:
    """Return rows that the session itself has made."""
    return Result(rows, tuple(rows.column_names), rows.num_rows)
