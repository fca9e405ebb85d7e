"""The last steps of a query over the few groups of its fused job, prepared once for a plan.

    Sort(Project(FusedScanAggregate))               ->   [compute columns, sort]
    Sort(Project(Aggregate(Union(SegmentScan))))    ->   [put groups together, compute, sort]

A fused job takes some microseconds and gives some hundred rows. The general path, which is made for
millions, would spend more on deciding how to order them than on ordering them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
import pyarrow.types as pt

from raydb.engine.operators import sort as sorting
from raydb.engine.operators.aggregate import aggregate as aggregation
from raydb.engine.operators.relation import Relation, column_name, joined
from raydb.errors import InternalError
from raydb.kernels.stored.deferred import Deferred
from raydb.late import pc
from raydb.planner.expressions.columns.arrays import count_true
from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.nodes import Column, Expression, columns_of
from raydb.planner.plan.nodes import Aggregate, Filter, Limit, Project, Sort, Union
from raydb.planner.segments.nodes import SegmentScan
from raydb.planner.stars.fused_scan import FusedScanAggregate
from raydb.planner.stars.table_scan import FusedTableScan
from raydb.values import dataclass

if TYPE_CHECKING:
    from raydb.planner.plan.nodes import PhysicalPlan, SortKey
    from raydb.planner.plan.nodes.node import Calls, Items

# A few rows: an array a column, and their count. A step makes others of them.
Rows: TypeAlias = tuple[Sequence[pa.Array], int]
Step: TypeAlias = Callable[[Rows], Rows]

_Job: TypeAlias = FusedScanAggregate | FusedTableScan | SegmentScan
_Node: TypeAlias = Project | Filter | Limit | Sort | Aggregate
_JOBS = (FusedScanAggregate, FusedTableScan, SegmentScan)
_STEPS = (Project, Filter, Limit, Sort)

# Up to so many groups a step takes microseconds, whatever it is; more go the general way.
FEW_ROWS = 4096


@dataclass(frozen=True, eq=False, slots=True)
class PostAggregate:
    """A fused job, the steps from its groups to the rows of the query, and the columns' names.

    The steps are made when rows are first asked for: most come straight from the job.
    """

    job: _Job
    steps: Deferred[tuple[Step, ...]]
    names: tuple[str, ...]

    def rows(self, groups: pa.Table) -> pa.Table:
        """Return the query's rows, named as `run_plan` names them, from the job's few groups."""
        assert groups.num_rows <= FEW_ROWS
        rows: Rows = [joined(values) for values in groups.columns], groups.num_rows
        try:
            for step in self.steps.get():
                rows = step(rows)
        except pa.ArrowException as error:
            raise InternalError(f"Arrow failed to run the plan: {error}") from error
        return pa.Table.from_arrays(list(rows[0]), self.names)


def prepare_post_aggregate(plan: PhysicalPlan) -> PostAggregate | None:
    """Return how to come from a plan's fused job to its rows, None where it is no such plan."""
    job = plan
    while isinstance(job, _STEPS):
        job = job.source
    if isinstance(job, Aggregate) and _is_of_segments(job):
        job = job.source.sources[0]
    if not isinstance(job, _JOBS):
        return None
    names = tuple(map(column_name, plan.columns))
    return PostAggregate(job, Deferred(partial(_steps, plan, job)), names)


def _steps(plan: PhysicalPlan, job: _Job) -> tuple[Step, ...]:
    """Return the steps from a job to the rows of a plan above it."""
    live = frozenset(plan.columns)
    nodes: list[_Node] = []
    while plan is not job:
        match plan:
            case Limit(source=Project(source=source, items=items)):
                # Nothing is computed for rows that are left out.
                plan = Project(Limit(source, plan.count, plan.offset), items)
                continue
            case Project(source=source, items=items):
                plan = Project(source, tuple(item for item in items if item[0] in live))
                live = frozenset(c for _, expression in plan.items for c in columns_of(expression))
            case Sort(keys=keys):
                live |= {key.column for key in keys}
            case Filter(predicate=predicate):
                live |= columns_of(predicate)
            case Limit():
                pass
            case Aggregate():
                nodes.append(plan)
                break
            case _:
                raise AssertionError(plan)
        nodes.append(plan)
        plan = plan.source
    steps, given = [], job.columns
    for node in reversed(nodes):
        steps.append(_step(node, given))
        given = node.columns if isinstance(node, Project | Aggregate) else given
    return tuple(steps)


def _is_of_segments(plan: Aggregate) -> bool:
    """Tell whether an aggregate puts together groups of segments, and computes nothing else."""
    union = plan.source
    if plan.grouping is not None or not isinstance(union, Union) or len(union.sources) != 1:
        return False
    expressions = [key for _, key in plan.keys]
    for _, call in plan.aggregates:
        if call.distinct or call.filter is not None or call.order_by:
            return False
        expressions += call.arguments
    only_columns = all(isinstance(each, Column) for each in expressions)
    return only_columns and isinstance(union.sources[0], SegmentScan)


def _step(node: _Node, given: tuple[Column, ...]) -> Step:
    """Return the step of a node; `given` are the columns that there are, without those unused."""
    match node:
        case Aggregate(keys=keys, aggregates=calls):
            return _putting_together(keys, calls, given)
        case Project(items=items):
            return partial(_compute, values=[_value(expression, given) for _, expression in items])
        case Filter(predicate=predicate):
            return partial(_filter, value=_value(predicate, given))
        case Limit(count=count, offset=offset):
            return partial(_limit, count=count, offset=offset)
        case Sort(keys=keys):
            return _sorting(keys, given)


def _value(expression: Expression, given: tuple[Column, ...]) -> Callable[[Rows], pa.Array]:
    """Return a function that computes an expression over rows of some columns."""
    if isinstance(expression, Column):
        place = given.index(expression)
        return lambda rows: rows[0][place]
    read = {column: given.index(column) for column in columns_of(expression)}

    def compute(rows: Rows) -> pa.Array:
        arrays, count = rows
        inputs = {column: arrays[place] for column, place in read.items()}
        return joined(evaluate(expression, inputs, count))

    return compute


def _compute(rows: Rows, values: Sequence[Callable[[Rows], pa.Array]]) -> Rows:
    return [value(rows) for value in values], rows[1]


def _putting_together(keys: Items, calls: Calls, given: tuple[Column, ...]) -> Step:
    """Return the step that makes a group of those of several segments with its keys."""

    def put_together(rows: Rows) -> Rows:
        values: dict[Expression, pa.Array] = dict(zip(given, rows[0], strict=True))
        of_keys = {column: values[key] for column, key in keys}
        found = aggregation.aggregate(of_keys, calls, values, rows[1])
        columns = [column for column, _ in (*keys, *calls)]
        return [joined(found.columns[column]) for column in columns], found.row_count

    return put_together


def _filter(rows: Rows, value: Callable[[Rows], pa.Array]) -> Rows:
    mask = value(rows)
    return [values.filter(mask) for values in rows[0]], count_true(mask)


def _limit(rows: Rows, count: int | None, offset: int) -> Rows:
    arrays, found = rows
    last = found if count is None else min(found, offset + count)
    size = max(last - offset, 0)
    return [values.slice(min(offset, found), size) for values in arrays], size


def _sorting(keys: Sequence[SortKey], given: tuple[Column, ...]) -> Step:
    """Return the step that sorts by some columns."""
    places = [given.index(key.column) for key in keys]
    names = [f"key{number}" for number in range(len(keys))]
    directions = ["descending" if key.descending else "ascending" for key in keys]
    options = pc.SortOptions(list(zip(names, directions, strict=True)))
    all_names = list(map(column_name, given))
    # Arrow's order is ours, but for NULLs and these types.
    is_plain = not any(map(_has_own_order, (key.column.type for key in keys)))

    def sort(rows: Rows) -> Rows:
        arrays, count = rows
        if count < 2:
            return rows
        values = [arrays[place] for place in places]
        if is_plain and not any(each.null_count for each in values):
            batch = pa.RecordBatch.from_arrays(values, names)
            order = pc.call_function("sort_indices", [batch], options)
        else:
            order = sorting.row_order(
                Relation(dict(zip(given, arrays, strict=True)), count), keys, None
            )
        if order is None:
            return rows
        return pa.RecordBatch.from_arrays(list(arrays), all_names).take(order).columns, count

    return sort


def _has_own_order(kind: pa.DataType) -> bool:
    return bool(pt.is_floating(kind) or pt.is_interval(kind) or pt.is_nested(kind))
