"""Runs of plans: their rows at once or block by block, and EXPLAIN.

run(prepared, context)                  all rows, as a result
repeat(prepared, context)               the same of a plan that is kept
run_filled(filled, context)             the same of a known query with other constants
stream(prepared, context)               the rows as they are asked for
explain(prepared, context, ...)         what runs, and with ANALYZE how long it took
"""

from __future__ import annotations

import json
import time
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from raydb.engine.context.memory import parse_limit
from raydb.engine.fused import row_fast_path
from raydb.engine.fused.jobs import JobRun
from raydb.engine.fused.post_aggregate import FEW_ROWS
from raydb.engine.fused.run import decode_groups, prepare_fused
from raydb.engine.operators import trace as tracing
from raydb.engine.operators.run import Sources, run_plan, stream_plan
from raydb.engine.session.rejects import keep_rejects
from raydb.engine.session.result import Result, shown, shown_types
from raydb.engine.session.settings import MEMORY_LIMIT
from raydb.errors import DataError
from raydb.planner import explain as explaining
from raydb.planner.stars.fused_scan import FusedScanAggregate
from raydb.storage.enums import typed_column, typed_table
from raydb.storage.formats import text_part
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from raydb import sql
    from raydb.engine.context.statement_context import StatementContext
    from raydb.engine.fused.prepared_query import FilledQuery, PreparedQuery
    from raydb.engine.operators.relation import Relation
    from raydb.engine.plans.prepared_plan import PreparedPlan
    from raydb.sql import ast

    Blocks = Iterator[Sequence[pa.ChunkedArray | pa.Array]]


@dataclass(frozen=True, eq=False, slots=True)
class Stream:
    """The rows of a query to come: names and types of the columns, and their values by blocks.

    warnings: the query's warnings, as far as the blocks were read.
    """

    names: tuple[str, ...]
    types: tuple[pa.DataType, ...]
    blocks: Blocks
    warnings: Sequence[str]

    def in_zone(self, setting: str) -> Stream:
        """Return the rows with timestamps in the zone that a setting means."""
        types = shown_types(self.types, setting)
        if types is None:
            return self
        return replace(self, types=types, blocks=(shown(block, types) for block in self.blocks))


def run(prepared: PreparedPlan, context: StatementContext) -> Result:
    """Return all rows of a plan."""
    jobs = _new_run(prepared, context)
    post_aggregate = prepared.post_aggregate
    if post_aggregate is None:
        rows = _run_plan(prepared, jobs)
    else:
        groups = jobs.rows(post_aggregate.job)
        few = groups.row_count <= FEW_ROWS
        rows = post_aggregate.rows(groups.table()) if few else _run_plan(prepared, jobs, groups)
    _end_run(jobs)
    return _result(rows, prepared)


def repeat(prepared: PreparedPlan, context: StatementContext) -> Result:
    """Return all rows of a plan, straight from what it finds if that is known."""
    if prepared.search is not None:
        found = prepared.search.rows(context)
        if found is not None:
            return Result.of_lazy(found, prepared.names, prepared.types)
    fast_path, post_aggregate = prepared.row_fast_path, prepared.post_aggregate
    if fast_path is None or post_aggregate is None:
        return run(prepared, context)
    job = post_aggregate.job
    assert isinstance(job, FusedScanAggregate)
    if job not in prepared.jobs:
        prepared.jobs[job] = prepare_fused(job)
    groups = prepared.jobs[job].launch()
    context.usage.note((job.bvh,))
    context.warnings.extend(prepared.jobs[job].warnings())

    def table() -> pa.Table:
        return post_aggregate.rows(decode_groups(job, groups).table())

    rows = row_fast_path.fast_rows(fast_path, job.parts, groups, table)
    if rows is not None:
        return Result.of_lazy(rows, prepared.names, prepared.types)
    return _result(table(), prepared)


def run_filled(filled: FilledQuery, context: StatementContext) -> Result:
    """Return all rows of a query that was filled, straight from its job if they come so."""
    query = filled.query
    if filled.fast_path is None:
        return run(filled.plan(), context)
    groups = filled.launch()
    context.usage.note((query.bvh,))
    rows = row_fast_path.fast_rows(
        filled.fast_path, filled.cells.parts, groups, partial(filled.table, groups)
    )
    if rows is not None:
        return Result.of_lazy(rows, query.names, query.types)
    return _result(filled.table(groups), query)


def _result(rows: pa.Table, prepared: PreparedPlan | PreparedQuery) -> Result:
    """Return the rows of a plan with the types of its columns."""
    types = tuple(rows.schema.types)
    if types != prepared.types:
        rows = typed_table(rows, prepared.types)
        types = tuple(rows.schema.types)
        assert types == prepared.types, (rows.schema, prepared.types)
    return Result(rows, prepared.names, rows.num_rows, types)


def stream(prepared: PreparedPlan, context: StatementContext) -> Stream:
    """Return the rows of a plan to come."""
    if prepared.post_aggregate is not None:
        result = run(prepared, context)
        assert result.rows is not None
        blocks: Blocks = iter([result.rows.columns])
    else:
        blocks = _blocks(prepared, _new_run(prepared, context))
        if not all(table.rows.is_counted for table in prepared.files.values()):
            # A late value of a text file changes the types, which cannot change any more once the
            # caller knows them.
            blocks = chain([first] if (first := next(blocks, None)) is not None else [], blocks)
    return Stream(prepared.names, prepared.types, blocks, context.warnings)


def run_in_blocks(prepared: PreparedPlan, context: StatementContext) -> Iterator[pa.Table]:
    """Yield the rows of a plan, some at a time. Raises LateValueError for a text file, as `run`."""
    if prepared.post_aggregate is not None:
        yield run(prepared, context).rows
        return
    for block in _relations(prepared, _new_run(prepared, context)):
        yield typed_table(block.table(), prepared.types)


def _relations(prepared: PreparedPlan, jobs: JobRun) -> Iterator[Relation]:
    with jobs.context.new_memory() as memory:
        sources = Sources(jobs.tables, jobs.rows, jobs.context, memory, deferred=prepared.deferred)
        yield from stream_plan(prepared.plan, sources)
    _end_run(jobs)


def _blocks(prepared: PreparedPlan, jobs: JobRun) -> Blocks:
    """Yield the columns of a plan's rows, some rows at a time."""
    are_out = False
    try:
        for block in _relations(prepared, jobs):
            columns = zip(block.columns.values(), prepared.types, strict=True)
            yield [typed_column(*each) for each in columns]
            are_out = True
    except DataError as error:
        if not (are_out and isinstance(error, text_part.LateValueError)):
            raise
        raise DataError(
            f"{error}, and rows of the stream are out: tell the types with read_csv(..., types"
            " => {...}) or find them from all rows with sample_size => -1"
        ) from None


def explain(
    prepared: PreparedPlan,
    context: StatementContext,
    statement: ast.Explain,
    change: sql.Changed | None,
    distributed: str = "",
) -> list[str]:
    """Return the lines of EXPLAIN, with ANALYZE after running the plan.

    change: what the rows would change. distributed: what workers of a cluster do of it.
    """
    states = explaining.search_states(prepared.plan, context.all_databases.tables, context.cache)
    measured = _measure(prepared, context) if statement.analyze else None
    described = explaining.describe(prepared.plan, measured, states)
    if distributed:
        described["cluster"] = distributed
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

            drawn = () if measured is None else measured.pictures
            return [explain_page(prepared.plan, described, drawn)]
        case _:
            return explaining.render(described)


def _measure(prepared: PreparedPlan, context: StatementContext) -> explaining.Measured:
    """Run a query once, node by node; the times of the nodes add up to the whole."""
    trace = tracing.Trace()
    jobs = _new_run(prepared, context)
    jobs.kernel_seconds = {}
    start = time.perf_counter()
    _run_plan(prepared, jobs, trace=trace)
    time_ms = (time.perf_counter() - start) * 1000
    context.usage.note(jobs.used)
    nodes = trace.measured(prepared.plan)
    # What is left is what makes one table of the rows of the topmost node.
    rows, own_ms = nodes[id(prepared.plan)]
    rest_ms = time_ms - sum(each_ms for _, each_ms in nodes.values())
    nodes[id(prepared.plan)] = rows, own_ms + rest_ms
    kernel_ms = {job: 1000 * seconds for job, seconds in jobs.kernel_seconds.items()}
    return explaining.Measured(
        time_ms,
        kernel_ms,
        nodes,
        jobs.ran_on,
        trace.notes,
        trace.counts,
        trace.pictures,
        context.running.traffic,
    )


def _new_run(prepared: PreparedPlan, context: StatementContext) -> JobRun:
    """Return a run of a plan's jobs over the tables of its statement."""
    context.cache.begin(parse_limit(context.settings[MEMORY_LIMIT]))
    tables = context.all_databases.tables
    if prepared.files:
        tables = {**tables, **prepared.files}
    return JobRun(prepared, tables, context)


def _end_run(jobs: JobRun) -> None:
    """Count the BVHs of a run that went well, and pass its warnings on."""
    usage = jobs.context.usage
    if jobs.used:
        usage.note(jobs.used)
    keep_rejects(jobs.context)
    jobs.context.warnings.extend(usage.searches.take_warnings())


def _run_plan(
    prepared: PreparedPlan,
    jobs: JobRun,
    groups: Relation | None = None,
    trace: tracing.Trace | None = None,
) -> pa.Table:
    """Run a plan; groups: those of its only fused job, where that has run."""
    run_job = jobs.rows if groups is None else lambda _: groups
    with jobs.context.new_memory() as memory:
        sources = Sources(
            jobs.tables, run_job, jobs.context, memory, trace, deferred=prepared.deferred
        )
        return run_plan(prepared.plan, sources)
