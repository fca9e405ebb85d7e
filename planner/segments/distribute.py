"""Which jobs of a plan workers are asked, and why they are not asked the others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from raydb.planner.plan.common_tables import fresh_numbers
from raydb.planner.plan.nodes import CommonTable, Limit, NoStar, TopRows
from raydb.planner.plan.nodes.aggregate import Aggregate
from raydb.planner.segments.nodes import SegmentRows, SegmentScan
from raydb.planner.segments.rows import first_rows, rows_in_segments
from raydb.planner.segments.stars import star_in_segments
from raydb.planner.stars.deferred import DeferredScan
from raydb.planner.stars.delta import DeltaScan
from raydb.planner.stars.fused_scan import FusedScanAggregate
from raydb.planner.stars.table_scan import FusedTableScan

if TYPE_CHECKING:
    from raydb.planner import PlannerOptions
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.plan.nodes import PhysicalPlan


def distribute(plan: PhysicalPlan, catalog: CatalogInfo, options: PlannerOptions) -> PhysicalPlan:
    """Return a physical plan whose jobs on many rows are asked of workers, where they can."""
    numbers = fresh_numbers(plan)
    shared: dict[int, PhysicalPlan] = {}

    def go(plan: PhysicalPlan) -> PhysicalPlan:
        if isinstance(plan, FusedTableScan | FusedScanAggregate):
            found = star_in_segments(plan, catalog, options, numbers)
            return plan if isinstance(found, str) else found
        if isinstance(plan, Limit | TopRows) and (first := first_rows(plan)) is not None:
            found = rows_in_segments(first, catalog, options)
            return plan if isinstance(found, str) else found
        if isinstance(plan, CommonTable):
            if plan.number not in shared:
                shared[plan.number] = go(plan.query)
            return replace(plan, query=shared[plan.number])
        return plan.map_sources(go)

    return go(plan)


def at_coordinator(
    plan: PhysicalPlan, catalog: CatalogInfo, options: PlannerOptions
) -> tuple[int, list[str]]:
    """Return how many jobs are asked of workers, and why other aggregates are not."""
    reasons: list[str] = []
    count = 0
    waiting = [plan]
    for node in waiting:
        waiting += node.children
        match node:
            case SegmentScan() | SegmentRows():
                count += 1
            case Limit() | TopRows() if (first := first_rows(node)) is not None:
                found = rows_in_segments(first, catalog, options)
                assert isinstance(found, str), "it would be asked of workers"
                reasons.append(found)
            case FusedTableScan() | FusedScanAggregate():
                found = star_in_segments(node, catalog, options, fresh_numbers(plan))
                assert isinstance(found, str), "it would be asked of workers"
                reasons.append(found)
            case DeltaScan(bvh=bvh):
                reasons.append(f"there are rows newer than BVH '{bvh}'")
            case DeferredScan():
                reasons.append("its subqueries run first")
            case Aggregate(star=NoStar(reason=reason)) if reason:
                reasons.append(reason)
    if not (count or reasons):
        reasons.append("the query has no aggregate, and no ORDER BY with LIMIT of one table's rows")
    return count, list(dict.fromkeys(reasons))
