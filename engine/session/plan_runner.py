"""What runs a plan that is ready: its rows at once or block by block, and EXPLAIN.

runner.run(prepared)            all rows, as a result
runner.repeat(prepared)         the same of a plan that ran before
runner.stream(prepared, ...)    the rows as they are asked for
runner.explain(prepared, ...)   what runs, and with ANALYZE how long it took
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from itertools import chain
from tempfile import gettempdir
from typing import TYPE_CHECKING

from raydb.engine.context.memory import Memory, parse_limit
from raydb.engine.fused.derived_cache import CACHE_BYTES, CACHE_SHARE, DerivedCache
from raydb.engine.fused.jobs import JobRun
from raydb.engine.fused.post_aggregate import FEW_ROWS
from raydb.engine.fused.row_fast_path import direct_rows
from raydb.engine.fused.run import decode_groups, time_kernel
from raydb.engine.operators.run import Sources, run_plan
from raydb.engine.operators.trace import Trace
from raydb.engine.session.result import Result
from raydb.engine.session.stream import stream_plan
from raydb.errors import DataError
from raydb.planner.explain import Measured, describe, render, search_states
from raydb.storage.formats.text_part import LateValueError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa

    from raydb import sql
    from raydb.engine.catalog.database import Database
    from raydb.engine.fused.jobs import FusedJob
    from raydb.engine.operators.relation import Relation
    from raydb.engine.session.plan_cache import PreparedPlan
    from raydb.engine.session.settings import Settings
    from raydb.engine.session.statement_sources import Uses
    from raydb.planner.plan.nodes import PhysicalPlan
    from raydb.sql import ast

    Blocks = Iterator[Sequence[pa.ChunkedArray | pa.Array]]
    NextBlock = Callable[[Iterator[Relation], JobRun], Relation | None]
    RunJob = Callable[[FusedJob], pa.Table]


@dataclass(frozen=True, eq=False, slots=True)
class Stream:
    """The rows of a query to come: names and types of the columns, and their values by blocks.

    told: what went otherwise than it was asked for, as far as the blocks were read.
    """

    names: tuple[str, ...]
    types: tuple[pa.DataType, ...]
    blocks: Blocks
    told: Sequence[str] = ()


class PlanRunner:
    """Runs plans over the tables of a database as they are at the moment.

    uses: counts what is used. settings: tells those of the moment. folder: for temporary files,
    where no setting names another; None for the system's.
    """

    def __init__(
        self, database: Database, uses: Uses, settings: Callable[[], Settings], folder: str | None
    ) -> None:
        self._database = database
        self._uses = uses
        self._settings = settings
        self._folder = folder
        # What scans of whole tables and motifs made of their rows.
        self.cache = DerivedCache()

    def run(self, prepared: PreparedPlan) -> Result:
        """Return all rows of a plan."""
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
        limit = parse_limit(self._settings().memory_limit)
        self.cache.limit = CACHE_BYTES if limit is None else limit // CACHE_SHARE
        tables = {**self._database.snapshot.tables, **prepared.files}
        return JobRun(prepared, tables, self.cache, self._new_memory)

    def repeat(self, prepared: PreparedPlan) -> Result:
        """Return all rows of a plan that ran before, with its groups by heart where it has them."""
        direct, finish = prepared.direct, prepared.finish
        if direct is None or finish is None:
            return self.run(prepared)
        job = direct.job
        groups = prepared.jobs[job].launch()
        self._uses.note((job.bvh,))

        def table() -> pa.Table:
            return finish.rows(decode_groups(job, groups))

        rows = direct_rows(direct, groups, table)
        if rows is not None:
            result = Result.of_groups(rows, prepared.names, prepared.types)
        else:
            found = table()
            result = Result(found, prepared.names, found.num_rows)
        result.notices = tuple(prepared.jobs[job].warnings())
        return result

    def stream(self, prepared: PreparedPlan, next_block: NextBlock) -> Stream:
        """Return the rows of a plan to come; next_block: takes one, as a statement of its own."""
        if prepared.finish is not None:
            result = self.run(prepared)
            assert result.rows is not None
            rows = iter([result.rows.columns])
            return Stream(prepared.names, prepared.types, rows, result.notices)
        run = self._job_run(prepared)
        blocks = self._blocks(prepared.plan, run, next_block)
        if not all(table.rows.is_counted for table in prepared.files.values()):
            # A late value of a text file changes the types, which cannot change once they are told.
            blocks = chain([first] if (first := next(blocks, None)) is not None else [], blocks)
        return Stream(prepared.names, prepared.types, blocks, run.told)

    def _blocks(self, plan: PhysicalPlan, run: JobRun, next_block: NextBlock) -> Blocks:
        """Yield the columns of a plan's rows, some rows at a time."""
        watch = self._uses.searches.observe
        are_out = False
        try:
            with self._new_memory() as memory:
                sources = Sources(run.tables, run.rows, memory, None, watch, run.cache, run.told)
                blocks = stream_plan(plan, sources)
                while (block := next_block(blocks, run)) is not None:
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
        run.told.extend(self._uses.searches.take_warnings())

    def explain(
        self, prepared: PreparedPlan, statement: ast.Explain, change: sql.Changed | None
    ) -> list[str]:
        """Return the lines of EXPLAIN, with ANALYZE after running the plan.

        change: what the rows would change.
        """
        states = search_states(prepared.plan, self._database.snapshot.tables, self.cache)
        measured = self._measure(prepared) if statement.analyze else None
        described = describe(prepared.plan, measured, states)
        if change is not None:
            described["plan"] = {
                "node": change.node,
                "summary": change.summary,
                "change": dict(change.details),
                "children": [described["plan"]],
            }
        match statement.format:
            case "json":
                return [json.dumps(described)]
            case "html":
                # Few queries are drawn, and importlib.resources takes 10 ms.
                from raydb.engine.session.explain_html import explain_page  # noqa: PLC0415

                return [explain_page(prepared.plan, described)]
            case _:
                return render(described)

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
            self.run(prepared)
            time_ms = (time.perf_counter() - start) * 1000
        kernel_ms = {job: time_kernel(job, kept) * 1000 for job, kept in prepared.jobs.items()}
        ran_on = dict(run.ran_on)
        for job, kept in prepared.jobs.items():
            if (described := kept.ran_on()) is not None:
                ran_on[job] = described
        nodes = trace.measured(prepared.plan)
        return Measured(time_ms, kernel_ms, nodes, ran_on, trace.notes, trace.probes)

    def memory_limit(self) -> int | None:
        """Return what a statement may hold beside what scans have kept."""
        limit = parse_limit(self._settings().memory_limit)
        return None if limit is None else max(limit - self.cache.size_bytes, limit // 2)

    def _new_memory(self) -> Memory:
        return Memory(self.memory_limit(), self._temp_folder())

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
                run.tables, run_job or run.rows, memory, trace, watch, run.cache, run.told
            )
            return run_plan(plan, sources)

    def _temp_folder(self) -> str:
        """Return the folder for temporary files: by default the database directory.

        Its disk has room for a database; the system's folder may itself be in memory.
        """
        return self._settings().temp_directory or self._folder or gettempdir()
