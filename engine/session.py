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
from raydb.engine.fused import prepare_fused, run_fused
from raydb.engine.general import run_plan
from raydb.engine.settings import with_setting
from raydb.engine.snapshot import Snapshot
from raydb.errors import ProgrammingError
from raydb.planner import PlannerOptions, plan_query
from raydb.planner.explain import describe, render
from raydb.planner.logical import Plan, Scan, output_columns, sources_of
from raydb.storage.constraints import append_rows
from raydb.storage.files import read_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from raydb.planner.fuse import FusedScanAggregate
    from raydb.planner.physical import PhysicalPlan

    Parameters = Sequence[object] | Mapping[str, object]

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
    """A physical plan with its output names and what its fused jobs made once."""

    plan: PhysicalPlan
    names: tuple[str, ...]
    types: tuple[pa.DataType, ...]
    jobs: dict[FusedScanAggregate, object] = field(default_factory=dict)


class Session:
    """A database in memory with its settings, its transaction and its plan cache.

    Not safe for threads: the connection holds a lock.
    """

    def __init__(self) -> None:
        self.snapshot = Snapshot()
        self.options = PlannerOptions()
        self.before_transaction: Snapshot | None = None
        self._plans: OrderedDict[tuple[str, PlannerOptions], PreparedPlan] = OrderedDict()

    # -- statements ---------------------------------------------------------------------------

    def execute(self, text: str, parameters: Parameters = ()) -> Result:
        """Run the statements of a text and return the result of the last one."""
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
            self._plans[text, self.options] = prepared
            if len(self._plans) > PLAN_CACHE_SIZE:
                self._plans.popitem(last=False)
            return self._run(prepared)
        return self._execute(last, parameters)

    def _execute(self, statement: sql.Statement, parameters: Parameters) -> Result:
        """Run one statement. The snapshot changes at its end or not at all."""
        match statement:
            case sql.Select():
                return self._run(self._prepare(statement, parameters))
            case sql.Explain():
                return self._explain(statement, parameters)
            case sql.Insert() | sql.Copy():
                return self._write(statement, parameters)
            case sql.SetOption(name=name, value=value):
                self.options = with_setting(self.options, name, value)
            case sql.Begin() | sql.Commit() | sql.Rollback():
                self._control_transaction(statement)
            case _:
                self._change(apply_definition(statement, self.snapshot))
        return Result(None, (), -1)

    def _change(self, snapshot: Snapshot) -> None:
        """Make a new snapshot the current one; plans made on the old one are forgotten."""
        if snapshot is not self.snapshot:
            self.snapshot = snapshot
            self._plans.clear()

    # -- queries ------------------------------------------------------------------------------

    def _prepare(self, select: sql.Select, parameters: Parameters) -> PreparedPlan:
        """Bind and plan a query."""
        return self._plan(sql.bind_select(select, self.snapshot.describe(), parameters))

    def _plan(self, logical: Plan) -> PreparedPlan:
        """Plan a bound query, on BVHs that know every row."""
        self._change(self.snapshot.with_fresh_bvhs(set(_tables_of(logical))))
        columns = output_columns(logical)
        return PreparedPlan(
            plan_query(logical, self.snapshot.describe(), self.options),
            tuple(column.name for column in columns),
            tuple(column.type for column in columns),
        )

    def _run(self, prepared: PreparedPlan) -> Result:
        tables = self.snapshot.tables

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

    # -- writes -------------------------------------------------------------------------------

    def _write(self, statement: sql.Insert | sql.Copy, parameters: Parameters) -> Result:
        """Append rows to a table: all of them, or none on any error."""
        check_table(statement.table, self.snapshot)
        table = self.snapshot.tables[statement.table]
        match statement:
            case sql.Insert():
                logical = sql.bind_insert(statement, self.snapshot.describe(), parameters)
                found = self._run(self._plan(logical)).rows
                assert found is not None
                # Arrow would refuse NULLs for a field that is not nullable with a message of its
                # own; the constraint check names the row.
                loose = pa.schema([f.with_nullable(True) for f in table.definition.schema])
                rows = pa.Table.from_arrays(found.columns, schema=loose)
            case sql.Copy(path=path, columns=columns, options=options):
                rows = read_rows(path, table.definition, columns, options)
            case _:
                assert_never(statement)
        self._change(self.snapshot.with_table(append_rows(table, rows, self.snapshot.tables)))
        return Result(None, (), rows.num_rows)

    # -- transactions -------------------------------------------------------------------------

    def _control_transaction(self, statement: sql.Begin | sql.Commit | sql.Rollback) -> None:
        match statement:
            case sql.Begin():
                if self.before_transaction is not None:
                    raise ProgrammingError("a transaction is active already")
                self.before_transaction = self.snapshot
                return
            case sql.Commit() | sql.Rollback() if self.before_transaction is None:
                raise ProgrammingError("no transaction is active")
            case sql.Rollback():
                self._change(self.before_transaction)
        self.before_transaction = None


def _tables_of(plan: Plan) -> Iterator[str]:
    """Yield the tables that a plan scans."""
    if isinstance(plan, Scan):
        yield plan.table
    for source in sources_of(plan):
        yield from _tables_of(source)
