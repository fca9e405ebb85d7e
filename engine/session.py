"""The session: statements in, results out. The path of a query, from text to rows.

    result = execute(text)
        parse (sql) -> bind (sql) -> plan (planner) -> run (engine over storage and kernels)

A text that ran before on the same tables and settings starts at its physical plan.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, assert_never

import pyarrow as pa

from raydb import sql
from raydb.engine.definitions import apply_definition, check_table
from raydb.engine.files import open_files
from raydb.engine.fused import prepare_fused, run_fused
from raydb.engine.general import run_plan
from raydb.engine.settings import with_setting
from raydb.engine.snapshot import Snapshot
from raydb.errors import OperationalError, ProgrammingError
from raydb.planner import PlannerOptions, plan_query
from raydb.planner.explain import describe, render
from raydb.planner.logical import Plan, Scan, output_columns, sources_of
from raydb.storage.changes import Append, Remove, Replace, apply_change, compact_tables
from raydb.storage.files import copied, read_rows, write_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from raydb.engine.store import Store
    from raydb.planner.fuse import FusedScanAggregate
    from raydb.planner.physical import PhysicalPlan
    from raydb.storage.changes import Change
    from raydb.storage.table import Table

    Parameters = Sequence[object] | Mapping[str, object]

WRITING = (
    sql.CreateTable,
    sql.DropTable,
    sql.CreateView,
    sql.DropView,
    sql.CreateBvh,
    sql.DropBvh,
    sql.Insert,
    sql.Copy,
    sql.Update,
    sql.Delete,
    sql.Checkpoint,
    sql.Vacuum,
)

# A dashboard has some dozens of texts; a plan holds a few KB beside the arrays of its BVH.
PLAN_CACHE_SIZE = 256


@dataclass(frozen=True, eq=False, slots=True)
class Result:
    """What a statement gave: rows with their names, or (rows is None) how many it wrote.

    row_count is -1 for statements that neither read nor write rows.
    """

    rows: pa.Table | None
    names: tuple[str, ...]
    row_count: int


@dataclass(frozen=True, eq=False, slots=True)
class PreparedPlan:
    """A physical plan with its output names, what its fused jobs made once, and its open files."""

    plan: PhysicalPlan
    names: tuple[str, ...]
    types: tuple[pa.DataType, ...]
    jobs: dict[FusedScanAggregate, object] = field(default_factory=dict)
    files: Mapping[str, Table] = field(default_factory=dict)


class Session:
    """A database with its settings, its transaction and its plan cache.

    store: where the database is kept, None for one in memory. Not safe for threads: the connection
    holds a lock.
    """

    def __init__(self, store: Store | None = None, *, read_only: bool = False) -> None:
        self.store = store
        self.read_only = read_only
        self.snapshot = Snapshot() if store is None else store.load()
        self.options = PlannerOptions()
        self.before_transaction: Snapshot | None = None
        self._plans: OrderedDict[tuple[str, PlannerOptions], PreparedPlan] = OrderedDict()
        # What is not durable yet: the changes of rows, or None once anything else has changed.
        self._unsaved: tuple[Change, ...] | None = ()

    # -- statements ---------------------------------------------------------------------------

    def execute(self, text: str, parameters: Parameters = ()) -> Result:
        """Run the statements of a text and return the result of the last one."""
        self._refresh()
        cached = self._plans.get((text, self.options)) if not parameters else None
        if cached is not None:
            self._plans.move_to_end((text, self.options))
            return self._run(cached)
        statements = sql.parse(text)
        if len(statements) > 1 and parameters:
            raise ProgrammingError(
                f"parameters go with one statement, and the text has {len(statements)}"
            )
        for statement in statements[:-1]:
            self._execute(statement, parameters)
        last = statements[-1]
        if isinstance(last, sql.Select) and len(statements) == 1 and not parameters:
            prepared = self._prepare(last, parameters)
            if not prepared.files:  # A file may be another one the next time.
                self._plans[text, self.options] = prepared
            if len(self._plans) > PLAN_CACHE_SIZE:
                self._plans.popitem(last=False)
            return self._run(prepared)
        return self._execute(last, parameters)

    def _execute(self, statement: sql.Statement, parameters: Parameters) -> Result:
        """Run one statement. The database changes at its end or not at all."""
        before = self.snapshot
        result = self._dispatch(statement, parameters)
        if self.before_transaction is None:
            self._save(before)
        return result

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
            case sql.SetOption(name=name, value=value):
                self.options = with_setting(self.options, name, value)
            case sql.Begin() | sql.Commit() | sql.Rollback():
                self._control_transaction(statement)
            case sql.Checkpoint():
                self._checkpoint()
            case sql.Vacuum():
                self._vacuum()
            case _:
                self._alter(apply_definition(statement, self.snapshot), None)
        return Result(None, (), -1)

    def _change(self, snapshot: Snapshot) -> None:
        """Make a new snapshot the current one; plans made on the old one are forgotten."""
        if snapshot is not self.snapshot:
            self.snapshot = snapshot
            self._plans.clear()

    def _alter(self, snapshot: Snapshot, unsaved: tuple[Change, ...] | None) -> None:
        """Make a new snapshot the current one, and what it takes to save it."""
        before = self.snapshot, self._unsaved
        try:
            self._unsaved = unsaved
            self._change(snapshot)
        except BaseException:
            # An interrupt must not part them: the log replays changes of rows by their numbers.
            self.snapshot, self._unsaved = before
            raise

    # -- queries ------------------------------------------------------------------------------

    def _prepare(self, select: sql.Select, parameters: Parameters) -> PreparedPlan:
        """Bind and plan a query."""
        files = open_files(select)
        catalog = self.snapshot.with_changes(files).describe()
        return self._plan(sql.bind_select(select, catalog, parameters), files)

    def _plan(self, logical: Plan, files: Mapping[str, Table]) -> PreparedPlan:
        """Plan a bound query, on BVHs that know every row."""
        self._change(self.snapshot.with_fresh_bvhs(set(_tables_of(logical))))
        return self._plan_as_is(logical, files)

    def _plan_as_is(self, logical: Plan, files: Mapping[str, Table]) -> PreparedPlan:
        """Plan a bound query on BVHs that may be stale: it has no aggregate that would use one."""
        columns = output_columns(logical)
        return PreparedPlan(
            plan_query(logical, self.snapshot.with_changes(files).describe(), self.options),
            tuple(column.name for column in columns),
            tuple(column.type for column in columns),
            files=files,
        )

    def _run(self, prepared: PreparedPlan) -> Result:
        tables = {**self.snapshot.tables, **prepared.files}

        def run_job(job: FusedScanAggregate) -> pa.Table:
            if job not in prepared.jobs:
                prepared.jobs[job] = prepare_fused(job)
            return run_fused(job, prepared.jobs[job], tables)

        rows = run_plan(prepared.plan, tables, run_job)
        assert tuple(rows.schema.types) == prepared.types, (rows.schema, prepared.types)
        return Result(rows, prepared.names, rows.num_rows)

    def _explain(self, statement: sql.Explain, parameters: Parameters) -> Result:
        plan = self._prepare(statement.select, parameters).plan
        lines = [json.dumps(describe(plan))] if statement.format == "json" else render(plan)
        return Result(pa.table({"c0": pa.array(lines, pa.string())}), ("explain",), len(lines))

    def _copy_to(self, statement: sql.CopyTo, parameters: Parameters) -> Result:
        """Write the rows of a query to a file."""
        result = self._run(self._prepare(statement.select, parameters))
        assert result.rows is not None
        rows = result.rows.rename_columns(list(result.names))
        write_rows(statement.path, rows, statement.options)
        return Result(None, (), rows.num_rows)

    # -- writes -------------------------------------------------------------------------------

    def _write(
        self, statement: sql.Insert | sql.Copy | sql.Update | sql.Delete, parameters: Parameters
    ) -> Result:
        """Change the rows of a table: all that the statement says, or nothing on any error."""
        check_table(statement.table, self.snapshot)
        change, row_count = self._bind_change(statement, parameters)
        if row_count:
            before = self.snapshot
            after = before.with_changes(apply_change(change, before.tables))
            self._alter(after, None if self._unsaved is None else (*self._unsaved, change))
        return Result(None, (), row_count)

    def _bind_change(
        self, statement: sql.Insert | sql.Copy | sql.Update | sql.Delete, parameters: Parameters
    ) -> tuple[Change, int]:
        """Return what a statement does to the rows of its table, and to how many."""
        table = self.snapshot.tables[statement.table]
        # Arrow would refuse NULLs for a field that is not nullable with a message of its own; the
        # constraint check names the row.
        loose = pa.schema([f.with_nullable(True) for f in table.definition.schema])
        match statement:
            case sql.Insert():
                files = open_files(statement.select)
                catalog = self.snapshot.with_changes(files).describe()
                logical = sql.bind_insert(statement, catalog, parameters)
                found = self._rows_of(self._plan(logical, files))
                found = copied(found) if files else found
                change: Change = Append(
                    table.name, pa.Table.from_arrays(found.columns, schema=loose)
                )
            case sql.Copy(path=path, columns=columns, options=options):
                found = read_rows(path, table.definition, columns, options)
                change = Append(table.name, found)
            case sql.Update():
                logical = sql.bind_update(statement, self.snapshot.describe(), parameters)
                found = self._rows_of(self._plan_as_is(logical, {}))
                values = pa.Table.from_arrays(found.columns[1:], schema=loose)
                change = Replace(table.name, found.column(0).to_numpy(), values)
            case sql.Delete():
                logical = sql.bind_delete(statement, self.snapshot.describe(), parameters)
                found = self._rows_of(self._plan_as_is(logical, {}))
                change = Remove(table.name, found.column(0).to_numpy())
            case _:
                assert_never(statement)
        return change, int(found.num_rows)

    def _rows_of(self, prepared: PreparedPlan) -> pa.Table:
        rows = self._run(prepared).rows
        assert rows is not None
        return rows

    # -- transactions and durability ----------------------------------------------------------

    def _control_transaction(self, statement: sql.Begin | sql.Commit | sql.Rollback) -> None:
        match statement:
            case sql.Begin():
                if self.before_transaction is not None:
                    raise ProgrammingError("a transaction is active already")
                self.before_transaction = self.snapshot
                return
            case sql.Commit() | sql.Rollback() if self.before_transaction is None:
                raise ProgrammingError("no transaction is active")
            case sql.Commit():
                self._save(self.before_transaction)
            case sql.Rollback():
                self._change(self.before_transaction)
                self._unsaved = ()
        self.before_transaction = None

    def _save(self, before: Snapshot) -> None:
        """Make what has changed durable; where that fails, the database is as it was before."""
        if self._unsaved == ():
            return
        position = None if self.store is None else self.store.position
        try:
            if self.store is not None:
                self._change(self.store.save(self.snapshot, self._unsaved))
        except BaseException:
            # An interrupt may come right after the change became durable: then it stays.
            if self.store is not None and self.store.position == position:
                self._change(before)
            self.before_transaction = None
            raise
        finally:
            self._unsaved = ()

    def _checkpoint(self) -> None:
        """Move the log's rows into files."""
        if self.before_transaction is not None:
            raise ProgrammingError("CHECKPOINT cannot run inside a transaction")
        if self.store is not None:
            self._change(self.store.checkpoint(self.snapshot))

    def _vacuum(self) -> None:
        """Leave out the masked rows; the caller makes it durable with a new manifest."""
        if self.before_transaction is not None:
            raise ProgrammingError("VACUUM cannot run inside a transaction")
        self._alter(self.snapshot.with_changes(compact_tables(self.snapshot.tables)), None)

    def _refresh(self) -> None:
        """Let a reader see what the writer has committed since, between transactions."""
        if (
            self.read_only
            and self.store is not None
            and self.before_transaction is None
            and self.store.home.refresh()
        ):
            self._change(self.store.load())

    def close(self) -> None:
        """Give the database directory back; an open transaction is rolled back."""
        if self.store is not None:
            self.store.home.close()


def _tables_of(plan: Plan) -> Iterator[str]:
    """Yield the tables that a plan scans."""
    if isinstance(plan, Scan):
        yield plan.table
    for source in sources_of(plan):
        yield from _tables_of(source)
