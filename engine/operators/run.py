"""The general path: physical plans run vectorised over Arrow, one file an operator.

    table = run_plan(plan, Sources(tables, run_fused, context, memory))

A node gives only the columns that something above it reads. Filters and computed columns run
together over morsels of rows in threads.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from raydb.engine.context.memory import Memory
from raydb.engine.operators import limit, recursion, sort, unnest
from raydb.engine.operators.aggregate import run_aggregate
from raydb.engine.operators.blocks import blocks_of
from raydb.engine.operators.join import asof, join
from raydb.engine.operators.relation import Relation, column_name
from raydb.engine.operators.scan import scan
from raydb.engine.operators.steps import run_steps
from raydb.engine.operators.values import run_series, run_union, run_values
from raydb.engine.operators.window import run_window
from raydb.errors import Error, InternalError, OperationalError
from raydb.interrupts import check_interrupt
from raydb.late import pc
from raydb.planner.expressions.casts import cast as casting
from raydb.planner.expressions.nodes import Column, Literal
from raydb.planner.lower import lower_deferred
from raydb.planner.plan.nodes import (
    Aggregate,
    AsofJoin,
    CommonTable,
    Constants,
    Filter,
    HashJoin,
    KeyedRecursive,
    KeyFilter,
    Limit,
    Node,
    Project,
    Recursive,
    Scan,
    SearchRows,
    Series,
    Sort,
    TopRows,
    Union,
    Unnest,
    Values,
    Window,
    WorkingTable,
)
from raydb.planner.segments.nodes import SegmentRows, SegmentScan
from raydb.planner.stars.deferred import MAX_MEMBERS, DeferredScan
from raydb.planner.stars.delta import DeltaScan
from raydb.planner.stars.fused_scan import FusedScanAggregate
from raydb.planner.stars.table_scan import FusedTableScan
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from raydb.engine.context.statement_context import StatementContext
    from raydb.engine.operators.join.key_set import KeySet
    from raydb.engine.operators.trace import Trace
    from raydb.planner.expressions.nodes import Expression
    from raydb.planner.plan.nodes import Given, PhysicalPlan
    from raydb.storage.tables.table import Table

    FusedJob = FusedScanAggregate | FusedTableScan | DeltaScan | SegmentScan


@dataclass(frozen=True, eq=False, slots=True)
class Sources:
    """Where rows come from: stored tables, the jobs of the fused path, and other nodes.

    `run_fused` runs a fused job.
    `context` is the statement's, and `memory` the plan's; `trace` notes what each node does.
    `shared` keeps the rows of common tables, all their columns, `working` those of working tables
    and `recurring` those of all steps so far; `deferred` keeps the plans of stars that were planned
    when their subqueries had run.
    `key_sets` has the keys that joins have sent to the scans of their other sides, by filter.
    """

    tables: Mapping[str, Table]
    run_fused: Callable[[FusedJob], Relation]
    context: StatementContext
    memory: Memory = field(default_factory=Memory)
    trace: Trace | None = None
    shared: dict[int, Relation] = field(default_factory=dict)
    working: dict[int, Relation] = field(default_factory=dict)
    recurring: dict[int, Relation] = field(default_factory=dict)
    deferred: dict[DeferredScan, PhysicalPlan] = field(default_factory=dict)
    key_sets: dict[int, KeySet] = field(default_factory=dict)

    def rows_of(self, plan: PhysicalPlan, live: Iterable[Column]) -> Relation:
        """Return the rows of a plan with those of its columns that are in `live`."""
        check_interrupt()
        own = plan.columns
        columns = list(own)
        if live != own:
            wanted = frozenset(live)
            columns = [column for column in columns if column in wanted]
        run = RUNNERS[type(plan)]
        if self.trace is None:
            return run(plan, columns, self)
        return self.trace.run(plan, lambda: run(plan, columns, self))

    def rows_with(
        self, plan: PhysicalPlan, columns: Sequence[Column], expressions: Sequence[Expression]
    ) -> tuple[Relation, list[pa.ChunkedArray | pa.Array]]:
        """Return columns of a plan's rows, and the values of expressions over all its columns."""
        # The columns of plans have numbers from 0 on.
        extra = [Column(-1 - i, "expression", e.type) for i, e in enumerate(expressions)]
        items = [*zip(columns, columns, strict=True), *zip(extra, expressions, strict=True)]
        rows = self.rows_of(Project(plan, tuple(items)), {*columns, *extra})
        return rows.select(columns), [rows.columns[column] for column in extra]


def run_plan(plan: PhysicalPlan, sources: Sources) -> pa.Table:
    """Run a physical plan and return its rows.

    The table's columns are those of the plan, in its order and of exactly its types; the column
    numbered n is called `c<n>`. Rows beyond what `sources.memory` allows lie in temporary files,
    those of the table too.
    Raises DataError for a value that cannot be computed and OperationalError when memory runs out.
    """
    try:
        return sources.rows_of(plan, plan.columns).table()
    except (MemoryError, pa.ArrowException) as error:
        raise failure(error) from error


def stream_plan(plan: PhysicalPlan, sources: Sources) -> Iterator[Relation]:
    """Yield the rows of a physical plan in order, some at a time, with all columns of the plan.

    Raises what `run_plan` does, when the block with the failing row is asked for.
    """
    try:
        for rows in blocks_of(plan, frozenset(plan.columns), sources):
            yield rows.select(plan.columns)
    except (MemoryError, pa.ArrowException) as error:
        raise failure(error) from error


def failure(error: Exception) -> Error:
    """Return what Arrow or Python raises while a plan is made or runs as an error of PEP 249."""
    if isinstance(error, MemoryError):
        return OperationalError("there is not enough memory to run the statement")
    if isinstance(error, pa.ArrowCapacityError):
        return OperationalError("a value is longer than the 2 GB that a column can hold")
    return InternalError(f"Arrow failed to run the plan: {error}")


def _run_search(plan: SearchRows, columns: Sequence[Column], sources: Sources) -> Relation:
    found: Relation = plan.function.run(plan, columns, sources)
    return found


def _run_job(plan: FusedJob, columns: Sequence[Column], sources: Sources) -> Relation:
    return sources.run_fused(plan).select(columns)


def _run_segment_rows(plan: SegmentRows, columns: Sequence[Column], sources: Sources) -> Relation:
    cluster = sources.context.queries.cluster
    assert cluster is not None
    found = cluster.rows(plan, sources.tables, sources.context)
    if isinstance(found, str):
        sources.context.warnings.append(f"the coordinator reads '{plan.fact}': {found}")
        return sources.rows_of(plan.rows, columns)
    if sources.trace is not None:
        sources.trace.note(plan, found.said)
    named = {c: found.rows.column(column_name(c)) for c in plan.columns}
    rows = Relation(named, found.rows.num_rows)
    if plan.slices:
        assert isinstance(plan.rows, SearchRows)
        joined = plan.rows.function.of_slices(plan.rows, rows, sources)
        if joined is None:
            sources.context.warnings.append(
                f"the coordinator asks '{plan.fact}' as a whole: slices of it do not tell enough"
            )
            return sources.rows_of(plan.rows, columns)
        rows = joined
    return rows.select(columns)


def _run_deferred(plan: DeferredScan, columns: Sequence[Column], sources: Sources) -> Relation:
    """Run a star when its subqueries have run: once for as long as the plan is kept."""
    if plan not in sources.deferred:
        given = zip(plan.star.given, plan.sources, strict=True)
        rows = [(each, sources.rows_of(source, source.columns)) for each, source in given]
        try:
            values = {c: _value(c, each, found) for each, found in rows for c in each.columns}
        except (ValueError, OverflowError):  # a date that Python does not have, too many values
            values = None
        sources.deferred[plan] = lower_deferred(plan, values)
    chosen = sources.deferred[plan]
    if sources.trace is not None:
        sources.trace.note(plan, chosen.explain_name)
    # Its filters are numbered on their own.
    return replace(sources, key_sets={}).rows_of(chosen, columns)


def _value(column: Column, given: Given, rows: Relation) -> Literal:
    """Return the value of a subquery's column as a constant."""
    if column == given.mark:
        return Literal(rows.row_count > 0, column.type)
    if column == given.listed:
        return _members(column, next(iter(rows.columns.values())))
    found = casting.literal_value(rows.columns[column][0]) if rows.row_count else None
    return Literal(found, column.type)


def _members(column: Column, given: pa.ChunkedArray | pa.Array) -> Literal:
    """Return the values of a subquery as one constant. Raises ValueError where they are many."""
    members = pc.unique(given).drop_null()
    if len(members) > MAX_MEMBERS:
        raise ValueError(f"a list of {len(members)} values is no constant")
    is_plain = pa.types.is_string(members.type) or pa.types.is_integer(members.type)
    values = members.to_pylist() if is_plain else map(casting.literal_value, members)
    return Literal(tuple(values), column.type)


# How each node runs: a function of it, some of its columns in their order, and the sources. A file
# of `operators/` is imported when a node of it runs.
RUNNERS: Mapping[type[Node], Callable[[Any, list[Column], Sources], Relation]] = {
    Aggregate: lambda *given: run_aggregate.run_aggregate(*given),
    AsofJoin: lambda *given: asof.run_asof_join(*given),
    CommonTable: lambda *given: recursion.run_common_table(*given),
    Constants: run_values,
    DeferredScan: _run_deferred,
    DeltaScan: _run_job,
    Filter: run_steps,
    FusedScanAggregate: _run_job,
    FusedTableScan: _run_job,
    HashJoin: lambda *given: join.run_join(*given),
    KeyFilter: run_steps,
    Limit: lambda *given: limit.run_limit(*given),
    Project: run_steps,
    KeyedRecursive: lambda *given: recursion.run_keyed_recursive(*given),
    Recursive: lambda *given: recursion.run_recursive(*given),
    Scan: lambda *given: scan.run_scan(*given),
    SearchRows: _run_search,
    SegmentRows: _run_segment_rows,
    SegmentScan: _run_job,
    Series: run_series,
    Sort: lambda *given: sort.run_sort(*given),
    TopRows: lambda *given: limit.run_top_rows(*given),
    Union: run_union,
    Unnest: lambda *given: unnest.run_unnest(*given),
    Values: run_values,
    Window: lambda *given: run_window.run_window(*given),
    WorkingTable: lambda *given: recursion.run_working_table(*given),
}
