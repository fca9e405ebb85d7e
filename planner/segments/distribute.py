"""Which jobs of a plan workers are asked, and why they are not asked the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.planner.plan.common_tables import fresh_numbers
from raydb.planner.plan.nodes import CommonTable, NoStar
from raydb.planner.plan.nodes.aggregate import Aggregate
from raydb.planner.segments.nodes import SegmentRows, SegmentScan
from raydb.planner.segments.rows import rows_in_segments
from raydb.planner.segments.stars import star_in_segments
from raydb.planner.stars.deferred import DeferredScan
from raydb.planner.stars.delta import DeltaScan
from raydb.planner.stars.fused_scan import FusedScanAggregate
from raydb.planner.stars.table_scan import FusedTableScan
from raydb.values import replace

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
            star = star_in_segments(plan, catalog, options, numbers)
            return plan if isinstance(star, str) else star
        rows = rows_in_segments(plan, catalog, options, numbers)
        if rows is not None and not isinstance(rows, str):
            return rows
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
    numbers = fresh_numbers(plan)
    waiting = [plan]
    for node in waiting:
        waiting += node.children
        match node:
            case SegmentScan() | SegmentRows():
                count += 1
            case FusedTableScan() | FusedScanAggregate():
                found = star_in_segments(node, catalog, options, numbers)
                assert isinstance(found, str), "it would be asked of workers"
                reasons.append(found)
            case DeltaScan(bvh=bvh):
                reasons.append(f"there are rows newer than BVH '{bvh}'")
            case DeferredScan():
                reasons.append("its subqueries run first")
            case Aggregate(star=NoStar(reason=reason)) if reason:
                reasons.append(reason)
            case _:
                rows = rows_in_segments(node, catalog, options, numbers)
                assert rows is None or isinstance(rows, str), "it would be asked of workers"
                reasons += [] if rows is None else [rows]
    if not (count or reasons):
        reasons.append("the query has no aggregate, no search and no LIMIT that reads many rows")
    return count, list(dict.fromkeys(reasons))
