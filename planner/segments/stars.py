"""Stars over segments: by scans, and on BVHs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.planner.segments.digest import question_of
from raydb.planner.segments.nodes import SegmentScan
from raydb.planner.stars.costs import bvh_cost
from raydb.planner.stars.delta import merge_parts, part_star
from raydb.planner.stars.fuse import fuse
from raydb.planner.stars.fused_scan import FusedScanAggregate
from raydb.planner.stars.table_scan import FusedTableScan, scan_obstacle
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raydb.planner import PlannerOptions
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.plan.nodes import PhysicalPlan, Star


def star_in_segments(
    job: FusedTableScan | FusedScanAggregate,
    catalog: CatalogInfo,
    options: PlannerOptions,
    numbers: Iterator[int],
) -> PhysicalPlan | str:
    """Return the plan that puts the segments of a job together, or why there is none."""
    assert job.star is not None
    parted = part_star(job.star, numbers)
    if isinstance(parted, str):
        return parted
    part = _part_of(job, parted.star, catalog, options)
    if isinstance(part, str):
        return part
    bvh = part.bvh if isinstance(part, FusedScanAggregate) else ""
    question = question_of(parted.star, bvh)
    if question is None:
        return "a constant of it is not sent to workers"
    assert options.segment_rows is not None
    scan = SegmentScan(parted.star, part, options.segment_rows, question)
    return merge_parts(job.star, parted, (scan,))


def _part_of(
    job: FusedTableScan | FusedScanAggregate,
    star: Star,
    catalog: CatalogInfo,
    options: PlannerOptions,
) -> FusedTableScan | FusedScanAggregate | str:
    """Return a job with the star that each segment is asked, or why workers are not asked it."""
    if isinstance(job, FusedTableScan):
        return scan_obstacle(star, catalog) or replace(job, star=star)
    part = fuse(star, catalog.bvhs[job.bvh], job.backends, job.backend_reason)
    if isinstance(part, str):
        return part
    cost = bvh_cost(star, replace(part, newer=None), catalog)
    if cost < options.call_cost:
        return less_than_a_call(f"BVH '{job.bvh}'", cost, options)
    if part.job.sieved and options.call_cost:
        return f"BVH '{job.bvh}' answers by totals of its cells"
    return replace(part, choice_reason=job.choice_reason)


def less_than_a_call(what: str, cost: float, options: PlannerOptions) -> str:
    """Say that something takes less than a question to workers."""
    call = f"a question to workers {options.call_cost / 1e6:.3g} ms"
    return f"{what} takes about {cost / 1e6:.3g} ms, {call}"
