"""The session: statements in, results out. The path of a query, from text to rows.

    result = execute(text)
        parse (sql) -> bind (sql) -> plan (planner) -> run (engine over storage and kernels)

A text that ran before on the same tables and settings starts at its physical plan, and one that
differs from such a text in constants or parameters at its bound plan.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from itertools import chain
from tempfile import gettempdir
from typing import TYPE_CHECKING, TypeVar, assert_never, get_args

import pyarrow as pa

from raydb import sql
from raydb.engine.database import Database
from raydb.engine.devices import Devices, devices
from raydb.engine.files import FileAccess
from raydb.engine.fused.direct import direct_rows, prepare_direct
from raydb.engine.fused.finish import FEW_ROWS, prepare_finish
from raydb.engine.fused.image import KEPT_BYTES, KEPT_SHARE, Kept
from raydb.engine.fused.jobs import JobRun
from raydb.engine.fused.run import (
    decode_groups,
    launch,
    time_kernel,
)
from raydb.engine.fused.stored_bvh import is_merge_due
from raydb.engine.general.motifs import graph_states
from raydb.engine.general.run import Sources, run_plan
from raydb.engine.general.run import output_columns as output_columns_of
from raydb.engine.general.trace import Trace
from raydb.engine.memory import Memory, allowed, parse_device_memory, parse_limit
from raydb.engine.merge import Merger
from raydb.engine.plan_cache import PlanCache, PreparedPlan, plan_key
from raydb.engine.python_tables import PythonTables
from raydb.engine.reports import Uses, open_sources
from raydb.engine.result import Result
from raydb.engine.settings import (
    Settings,
    parse_share,
    setting_text,
    with_setting,
    without_setting,
)
from raydb.engine.statements.definitions import apply_definition
from raydb.engine.statements.names import check_table
from raydb.engine.statements.work import Work
from raydb.engine.statements.write import write
from raydb.engine.stream import stream_plan
from raydb.engine.summarize import summarize
from raydb.errors import DataError, NotSupportedError, OperationalError, ProgrammingError
from raydb.kernels.chain import describe_run, notices
from raydb.kernels.device import device_memory
from raydb.kernels.interrupts import check_interrupt
from raydb.planner import plan_query
from raydb.planner.clock import begin_moment
from raydb.planner.common_tables import contents, tables_of
from raydb.planner.explain import Measured, describe, render
from raydb.planner.logical import Aggregate, Plan, output_columns
from raydb.storage.files import write_rows
from raydb.storage.infer import LateValueError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
    from contextvars import Token

    from raydb.engine.fused.jobs import FusedJob
    from raydb.engine.general.relation import Relation
    from raydb.engine.store import Store
    from raydb.kernels.device import DeviceMemory
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.physical import PhysicalPlan
    from raydb.storage.table import Table

    Parameters = Sequence[object] | Mapping[str, object]
    Blocks = Iterator[Sequence[pa.ChunkedArray | pa.Array]]
    RunJob = Callable[[FusedJob], pa.Table]
    _Before = tuple[
        Token[Callable[[], int | None] | None], Token[DeviceMemory], Token[Devices | None]
    ]

T = TypeVar("T")

WRITING = (*get_args(sql.Definition), *get_args(sql.Write), sql.Checkpoint, sql.Vacuum)


@dataclass(frozen=True, eq=False, slots=True)
class Stream:
    """The rows of a query to come: names and types of the columns, and their values by blocks.

    told: what went otherwise than it was asked for, as far as the blocks were read.
    """

    names: tuple[str, ...]
    types: tuple[pa.DataType, ...]
    blocks: Blocks
    told: Sequence[str] = ()


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
        # What scans of whole tables made of their rows.
        self._kept = Kept()
        self._uses = Uses()
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
            allowed.set(self._memory_limit),
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
            self._kept.forget_gone()
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
        if isinstance(last, sql.Select) and len(statements) == 1:
            return self._reading_files(lambda: self._ask(last, parameters, caching))
        if parameters and self.settings.plan_cache:
            self._cache.keep_statement(text, last)
        return self._execute(last, parameters)

    def _ask(self, select: sql.Select, parameters: Parameters, caching: _Caching) -> Result:
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
        result = self._run(prepared)
        if caching.key is not None:
            self._cache.expect(self.database.snapshot)
            self._cache.keep_plan(caching.key, prepared)
        return result

    def _run_again(self, prepared: PreparedPlan, key: Hashable) -> Result:
        """Run a plan that is kept: the second time it is worth to know its groups by heart."""
        if not prepared.has_repeated:
            direct = prepare_direct(prepared.plan, output_columns_of(prepared.plan))
            prepared = replace(prepared, direct=direct, has_repeated=True)
            self._cache.keep_plan(key, prepared)
        direct, finish = prepared.direct, prepared.finish
        if direct is None or finish is None:
            return self._run(prepared)
        job = direct.job
        groups = launch(job, prepared.jobs[job])
        self._uses.note((job.bvh,))

        def table() -> pa.Table:
            return finish.rows(decode_groups(job, groups))

        rows = direct_rows(direct, groups, table)
        if rows is not None:
            result = Result.of_groups(rows, prepared.names, prepared.types)
        else:
            found = table()
            result = Result(found, prepared.names, found.num_rows)
        result.notices = tuple(notices(prepared.jobs[job]))
        return result

    def _execute(self, statement: sql.Statement, parameters: Parameters) -> Result:
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

    def _dispatch(self, statement: sql.Statement, parameters: Parameters) -> Result:
        if self.read_only and isinstance(statement, WRITING):
            raise OperationalError("the database is opened read-only")
        match statement:
            case sql.Select():
                return self._run(self._prepare(statement, parameters))
            case sql.Explain():
                return self._explain(statement, parameters)
            case sql.Insert() | sql.Copy() | sql.Update() | sql.Delete():
                return self._write(statement, parameters)
            case sql.CopyTo():
                return self._copy_to(statement, parameters)
            case sql.Summarize(select=select):
                result = self._run(self._prepare(select, parameters))
                assert result.rows is not None
                return _listed(summarize(result.rows, result.names))
            case sql.Describe() | sql.ShowTables() | sql.ShowOption():
                return self._show(statement, parameters)
            case sql.SetOption() | sql.ResetOption():
                self._set(statement)
            case sql.Checkpoint():
                self._checkpoint()
            case sql.Vacuum():
                self.database.vacuum()
            case _ if isinstance(statement, sql.Control):
                self._control_transaction(statement)
            case _:
                snapshot, row_count = apply_definition(statement, self._work(parameters))
                self._uses.forget(self.database.snapshot.bvhs.keys() - snapshot.bvhs.keys())
                self.database.define(snapshot)
                return Result(None, (), row_count)
        return Result(None, (), -1)

    def _work(self, parameters: Parameters) -> Work:
        return Work(
            self.database.snapshot, self.files, self.python, self._uses, parameters, self._rows_of
        )

    def _rows_of(self, logical: Plan, tables: Mapping[str, Table]) -> pa.Table:
        """Return the rows of a bound query, which may scan some tables beside the database's."""
        rows = self._run(self._plan(logical, tables)).rows
        assert rows is not None
        return rows

    # -- queries ------------------------------------------------------------------------------

    def _prepare(self, select: sql.Select, parameters: Parameters) -> PreparedPlan:
        """Bind and plan a query."""
        files, catalog = self._describe(select, parameters)
        bound = sql.bind_at_once(select, catalog, parameters)
        return self._plan(bound.plan, files, reads_clock=bound.reads_clock)

    def _describe(
        self, select: sql.Select, parameters: Parameters
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
        columns = output_columns(logical)
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

    def _run(self, prepared: PreparedPlan) -> Result:
        run = self._job_run(prepared)
        if prepared.finish is None:
            rows = self._run_plan(prepared.plan, run)
        else:
            groups = run.rows(prepared.finish.job)
            if groups.num_rows <= FEW_ROWS:
                rows = prepared.finish.rows(groups)
            else:
                rows = self._run_plan(prepared.plan, run, lambda _: groups)
        self._uses.note(run.used)
        assert tuple(rows.schema.types) == prepared.types, (rows.schema, prepared.types)
        result = Result(rows, prepared.names, rows.num_rows)
        result.notices = tuple(dict.fromkeys((*run.told, *self._uses.searches.take_warnings())))
        return result

    def _job_run(self, prepared: PreparedPlan) -> JobRun:
        """Return a run of a plan's jobs over the tables as they are now."""
        limit = parse_limit(self.settings.memory_limit)
        self._kept.limit = KEPT_BYTES if limit is None else limit // KEPT_SHARE
        tables = {**self.database.snapshot.tables, **prepared.files}
        return JobRun(prepared, tables, self._kept, self._new_memory)

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
                if len(statements) != 1 or not isinstance(statements[0], sql.Select):
                    raise ProgrammingError("a text whose rows are streamed is one query")
                select = statements[0]
                return self._reading_files(lambda: self._stream(select, parameters))
        except (ProgrammingError, NotSupportedError) as error:
            sql.locate_name(error, text)
            raise
        finally:
            self._end(before)

    def _stream(self, select: sql.Select, parameters: Parameters) -> Stream:
        prepared = self._prepare(select, parameters)
        if prepared.finish is not None:
            result = self._run(prepared)
            assert result.rows is not None
            rows = iter([result.rows.columns])
            return Stream(prepared.names, prepared.types, rows, result.notices)
        run = self._job_run(prepared)
        blocks = self._blocks(prepared.plan, run)
        if not all(table.rows.is_counted for table in prepared.files.values()):
            # A late value of a text file changes the types, which cannot change once they are told.
            blocks = chain([first] if (first := next(blocks, None)) is not None else [], blocks)
        return Stream(prepared.names, prepared.types, blocks, run.told)

    def _blocks(self, plan: PhysicalPlan, run: JobRun) -> Blocks:
        """Yield the columns of a plan's rows, some rows at a time."""
        watch = self._uses.searches.observe
        are_out = False
        try:
            with self._new_memory() as memory:
                sources = Sources(run.tables, run.rows, memory, None, watch, run.kept, run.told)
                blocks = stream_plan(plan, sources)
                while (block := self._next_block(blocks, run)) is not None:
                    yield list(block.columns.values())
                    are_out = True
        except LateValueError as error:
            if not are_out:
                raise
            raise DataError(
                f"{error}, and rows of the stream are out: tell the types with read_csv(..., types"
                " => {...}) or find them from all rows with sample_size => -1"
            ) from None
        self._uses.note(run.used)

    def _next_block(self, blocks: Iterator[Relation], run: JobRun) -> Relation | None:
        """Return the next block of a stream; other statements may run between two of them."""
        before = self._begin()
        try:
            return next(blocks, None)
        finally:
            run.told.extend(self._end(before))

    def _memory_limit(self) -> int | None:
        """Return what a statement may hold beside what scans have kept."""
        limit = parse_limit(self.settings.memory_limit)
        return None if limit is None else max(limit - self._kept.size_bytes, limit // 2)

    def _new_memory(self) -> Memory:
        return Memory(self._memory_limit(), self._temp_folder())

    def _run_plan(
        self,
        plan: PhysicalPlan,
        run: JobRun,
        run_job: RunJob | None = None,
        trace: Trace | None = None,
    ) -> pa.Table:
        # A query that EXPLAIN ANALYZE runs is nobody's question.
        watch = self._uses.searches.observe if trace is None else None
        with self._new_memory() as memory:
            sources = Sources(
                run.tables, run_job or run.rows, memory, trace, watch, run.kept, run.told
            )
            return run_plan(plan, sources)

    def _temp_folder(self) -> str:
        """Return the folder for temporary files: by default the database directory.

        Its disk has room for a database; the system's folder may itself be in memory.
        """
        if self.settings.temp_directory:
            return self.settings.temp_directory
        store = self.database.store
        return gettempdir() if store is None or self.read_only else str(store.home.folder)

    def _explain(self, statement: sql.Explain, parameters: Parameters) -> Result:
        prepared = self._prepare(statement.select, parameters)
        graphs = graph_states(prepared.plan, self.database.snapshot.tables, self._kept)
        measured = self._measure(prepared) if statement.analyze else None
        described = describe(prepared.plan, measured, graphs)
        match statement.format:
            case "json":
                lines = [json.dumps(described)]
            case "html":
                # Few queries are drawn, and importlib.resources takes 10 ms.
                from raydb.engine.explain_html import explain_page  # noqa: PLC0415

                lines = [explain_page(prepared.plan, described)]
            case _:
                lines = render(described)
        return Result(pa.table({"c0": pa.array(lines, pa.string())}), ("explain",), len(lines))

    def _measure(self, prepared: PreparedPlan) -> Measured:
        """Run a query node by node, and the kernels of its fused jobs once more, alone."""
        trace = Trace()
        start = time.perf_counter()
        run = self._job_run(prepared)
        self._run_plan(prepared.plan, run, trace=trace)
        time_ms = (time.perf_counter() - start) * 1000
        if prepared.finish is not None:
            # The short way from a fused job to its rows has no nodes to be watched.
            start = time.perf_counter()
            self._run(prepared)
            time_ms = (time.perf_counter() - start) * 1000
        kernel_ms = {job: time_kernel(job, kept) * 1000 for job, kept in prepared.jobs.items()}
        ran_on = dict(run.ran_on)
        for job, kept in prepared.jobs.items():
            told = describe_run(kept)
            if told is not None:
                ran_on[job] = told
        nodes = trace.measured(prepared.plan)
        return Measured(time_ms, kernel_ms, nodes, ran_on, trace.notes, trace.probes)

    def _copy_to(self, statement: sql.CopyTo, parameters: Parameters) -> Result:
        """Write the rows of a query to a file."""
        self.files.check(statement.path)
        result = self._run(self._prepare(statement.select, parameters))
        assert result.rows is not None
        rows = result.rows.rename_columns(list(result.names))
        write_rows(statement.path, rows, statement.options)
        return Result(None, (), rows.num_rows)

    def _show(
        self, statement: sql.Describe | sql.ShowTables | sql.ShowOption, parameters: Parameters
    ) -> Result:
        """Answer from the catalog or the settings."""
        match statement:
            case sql.ShowOption(name="external_access"):
                value = "on" if self.files.allowed else "off"
                return _listed(pa.table({"external_access": [value]}))
            case sql.ShowOption(name=name):
                return _listed(pa.table({name: [setting_text(self.settings, name)]}))
            case sql.ShowTables():
                catalog = self.database.snapshot.describe()
                return self._run(self._plan(sql.bind_show_tables(catalog), {}))
            case sql.Describe():
                files, catalog = self._describe(statement.select, parameters)
                return self._run(
                    self._plan(sql.bind_describe(statement, catalog, parameters), files)
                )
            case _:
                assert_never(statement)

    # -- changes ------------------------------------------------------------------------------

    def _write(self, statement: sql.Write, parameters: Parameters) -> Result:
        """Change the rows of a table: all that the statement says, or nothing on any error."""
        check_table(statement.table, self.database.snapshot)
        written = write(statement, self._work(parameters))
        self.database.apply(written.changes)
        return Result(written.returned, written.names, written.row_count)

    def _set(self, statement: sql.Setting) -> None:
        match statement:
            case sql.SetOption(name="external_access", value=value):
                self.files = self.files.with_setting(value)
            case sql.ResetOption(name="external_access"):
                self.files = self.files.with_setting("on")
            case sql.SetOption(name=name, value=value):
                if name == "temp_directory":
                    self.files.check(value)
                self.settings = with_setting(self.settings, name, value)
            case sql.ResetOption(name=name):
                self.settings = without_setting(self.settings, name)
            case _:
                assert_never(statement)
        # It is for the rest of the text too.
        self._device_memory = parse_device_memory(self.settings.device_memory)
        device_memory.set(self._device_memory)
        self.python.finds_variables = self.files.allowed and self.settings.replacement_scans

    def _control_transaction(self, statement: sql.Control) -> None:
        match statement:
            case sql.Begin():
                self.database.begin()
            case sql.Commit():
                self.database.commit()
            case sql.Rollback():
                self.database.rollback()
            case sql.Savepoint(name=name):
                self.database.savepoint(name)
            case sql.Release(name=name):
                self.database.release(name)
            case sql.RollbackTo(name=name):
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
