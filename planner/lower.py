"""The last step of planning: an optimized logical plan to a physical one, with reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from raydb.planner.choose import choose_bvh
from raydb.planner.expression import Call, Column, Expression, columns_of, conjuncts
from raydb.planner.logical import (
    Aggregate,
    Apply,
    CommonTable,
    Filter,
    InnerJoin,
    Limit,
    OuterJoin,
    Plan,
    Project,
    Recursive,
    Scan,
    SemiJoin,
    Series,
    Sort,
    Union,
    Values,
    Window,
    WorkingTable,
    output_columns,
)
from raydb.planner.physical import (
    ComputeColumns,
    ConcatenateRows,
    ConstantRows,
    FilterRows,
    HashAggregate,
    HashJoin,
    LimitRows,
    PhysicalPlan,
    RecursiveRows,
    ScanTable,
    SeriesRows,
    SharedRows,
    SortRows,
    WindowRows,
    WorkingRows,
)
from raydb.planner.star import NoStar, Star

if TYPE_CHECKING:
    from raydb.planner import PlannerOptions
    from raydb.planner.catalog import CatalogInfo


def lower(plan: Plan, catalog: CatalogInfo, options: PlannerOptions) -> PhysicalPlan:
    """Choose how to run each node."""

    def go(source: Plan) -> PhysicalPlan:
        return lower(source, catalog, options)

    match plan:
        case Scan(table=table, columns=columns):
            return ScanTable(table, columns)
        case Values(columns=columns, rows=rows):
            return ConstantRows(columns, rows)
        case Series(column=column, start=start, stop=stop, step=step):
            return SeriesRows(column, start, stop, step)
        case CommonTable(number=number, name=name, query=query, columns=columns):
            return SharedRows(number, name, go(query), columns)
        case WorkingTable(number=number, columns=columns):
            return WorkingRows(number, columns)
        case Filter(source=source, predicate=predicate):
            return FilterRows(go(source), predicate)
        case Project(source=source, items=items):
            return ComputeColumns(go(source), items)
        case Window(source=source, calls=calls):
            return WindowRows(go(source), calls)
        case InnerJoin(sources=(left, right), conditions=conditions):
            left_keys, right_keys, residual = _split_conditions(left, right, conditions)
            return HashJoin("inner", go(left), go(right), left_keys, right_keys, residual)
        case InnerJoin(sources=sources):
            raise AssertionError(f"order_joins left a join of {len(sources)} sources")
        case OuterJoin(kind=kind, left=left, right=right, conditions=conditions):
            left_keys, right_keys, residual = _split_conditions(left, right, conditions)
            return HashJoin(kind, go(left), go(right), left_keys, right_keys, residual)
        case SemiJoin(kind=kind, left=left, right=right, conditions=conditions, mark=mark):
            left_keys, right_keys, residual = _split_conditions(left, right, conditions)
            return HashJoin(kind, go(left), go(right), left_keys, right_keys, residual, mark)
        case Apply():
            raise AssertionError("unnest_subqueries left an Apply")
        case Union(sources=sources, columns=columns):
            return ConcatenateRows(tuple(go(source) for source in sources), columns)
        case Recursive(number=number, base=base, step=step, columns=columns, distinct=distinct):
            return RecursiveRows(number, go(base), go(step), columns, distinct)
        case Aggregate():
            return _lower_aggregate(plan, catalog, options)
        case Sort(source=source, keys=keys):
            return SortRows(go(source), keys)
        case Limit(source=source, count=count, offset=offset):
            return LimitRows(go(source), count, offset)
        case _:
            assert_never(plan)


def _lower_aggregate(
    plan: Aggregate, catalog: CatalogInfo, options: PlannerOptions
) -> PhysicalPlan:
    """Fuse an aggregate with its scan where a BVH serves it."""
    match plan.star:
        case NoStar(reason=reason):
            pass
        case Star() as star if options.fused_path:
            fused = choose_bvh(star, catalog, options.backend)
            if not isinstance(fused, str):
                return fused
            reason = fused
        case _:
            reason = "SET fused_path = 'off'"
    source = lower(plan.source, catalog, options)
    return HashAggregate(source, plan.keys, plan.aggregates, reason, plan.grouping)


def _split_conditions(
    left: Plan, right: Plan, conditions: tuple[Expression, ...]
) -> tuple[tuple[Expression, ...], tuple[Expression, ...], tuple[Expression, ...]]:
    """Split a join's conditions into the keys of both sides and what is checked afterwards."""
    left_columns = frozenset(output_columns(left))
    right_columns = frozenset(output_columns(right))
    pairs, residual = [], []
    for condition in (part for whole in conditions for part in conjuncts(whole)):
        match condition:
            case Call(function="equal", arguments=(one, other)) if _is_key(
                one, other, left_columns, right_columns
            ):
                pairs.append((one, other))
            case Call(function="equal", arguments=(one, other)) if _is_key(
                other, one, left_columns, right_columns
            ):
                pairs.append((other, one))
            case _:
                residual.append(condition)
    return tuple(a for a, _ in pairs), tuple(b for _, b in pairs), tuple(residual)


def _is_key(
    one: Expression, other: Expression, left: frozenset[Column], right: frozenset[Column]
) -> bool:
    """Whether `one` is computed from the left side and `other` from the right side."""
    sides = columns_of(one), columns_of(other)
    return bool(sides[0]) and bool(sides[1]) and sides[0] <= left and sides[1] <= right
