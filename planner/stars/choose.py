"""The choice of what runs a star: the BVH of max{x + y + alpha*z}, then fewest rows (RayDB 4.5)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from raydb.kernels.backends.choice import choose_backends
from raydb.planner.stars.delta import merge_parts, part_star, scan_delta
from raydb.planner.stars.fuse import fuse, highest_score, scanned_attributes
from raydb.planner.stars.table_scan import (
    FusedTableScan,
    is_cheaper,
    scan_bytes,
    scan_obstacle,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raydb.planner import PlannerOptions
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.plan.nodes import PhysicalPlan, Star
    from raydb.planner.stars.fused_scan import FusedScanAggregate


def choose_job(star: Star, catalog: CatalogInfo, options: PlannerOptions) -> PhysicalPlan | str:
    """Return the fused job on the best BVH of the fact table, or on the table, or why none.

    Rows that the BVH does not hold yet have a job of their own. The table is scanned where no BVH
    serves, or where all that do lack something of the query and would fetch it, or read newer
    rows beside it, for more rows than is worth while.
    """
    backends, backend_reason = choose_backends(
        options.backend, options.fallback, options.rt_encoding
    )
    best = _choose_bvh(star, catalog, backends, backend_reason)
    row_count = catalog.tables[star.fact].row_count
    if isinstance(best, str):
        reason = best
    elif not is_cheaper(star, best, row_count) or scan_obstacle(star, catalog) is not None:
        if best.newer is None:
            return best
        whole = _with_newer_rows(star, best, catalog)
        if not isinstance(whole, str):
            return whole
        reason = whole
    else:
        reason = f"BVH '{best.bvh}' would fetch what it lacks for {best.estimated_rows} rows"
        if best.newer is not None and best.is_direct:
            reason = f"BVH '{best.bvh}' lacks {best.newer.count} rows"
    if scan_obstacle(star, catalog) is not None:
        return reason
    if options.memory_limit is not None and scan_bytes(star, catalog) > options.memory_limit:
        return f"the columns of '{star.fact}' would not fit in memory_limit"
    return FusedTableScan(star, backends, backend_reason, reason, row_count)


def _with_newer_rows(
    star: Star, best: FusedScanAggregate, catalog: CatalogInfo
) -> PhysicalPlan | str:
    """Return the plan of a BVH and of the rows that it does not hold, or why there is none."""
    parted = part_star(star)
    if isinstance(parted, str):
        return parted
    info = catalog.bvhs[best.bvh]
    part = fuse(parted.star, info, best.backends, best.backend_reason)
    if isinstance(part, str):
        return part
    delta = scan_delta(parted.star, part, catalog)
    return merge_parts(star, parted, (replace(part, choice_reason=best.choice_reason), delta))


def _choose_bvh(
    star: Star, catalog: CatalogInfo, backends: tuple[str, ...], backend_reason: str
) -> FusedScanAggregate | str:
    """Return the fused job on the best BVH of the fact table, or why there is none."""
    candidates = [bvh for bvh in catalog.bvhs.values() if bvh.definition.table == star.fact]
    if not candidates:
        return f"there is no BVH on '{star.fact}'"
    scanned = scanned_attributes(star)
    scores = {bvh.definition.name: highest_score(star, scanned, bvh) for bvh in candidates}
    candidates.sort(key=lambda bvh: -scores[bvh.definition.name])
    useful: list[FusedScanAggregate] = []
    obstacles: list[str] = []
    others: list[str] = []
    for bvh in candidates:
        score = scores[bvh.definition.name]
        if useful and score < max(plan.coverage.score for plan in useful):
            # To fuse them too would take longer than the rest of planning.
            others += [bvh.definition.name] if score else []
            continue
        plan = fuse(star, bvh, backends, backend_reason)
        if isinstance(plan, str):
            obstacles.append(plan)
        elif plan.coverage.score > 0:
            useful.append(plan)
    if not useful:
        obstacles.append(f"no BVH on '{star.fact}' encodes an attribute of the query")
        return obstacles[0]
    useful.sort(key=lambda plan: (*preference(plan), plan.bvh))
    return replace(useful[0], choice_reason=_reason(useful, others, scores, len(candidates)))


def preference(plan: FusedScanAggregate) -> tuple[int, int]:
    """Return what the best of several jobs has the least of."""
    newer = 0 if plan.newer is None else plan.newer.count
    return -plan.coverage.score, plan.estimated_reads + newer


def _reason(
    ranked: Sequence[FusedScanAggregate],
    others: Sequence[str],
    scores: Mapping[str, int],
    candidate_count: int,
) -> str:
    """Say why the first of the ranked plans won; others have lower scores, the highest first."""
    best = ranked[0]
    if candidate_count == 1:
        return f"the only BVH on '{best.table}'"
    if len(ranked) + len(others) == 1:
        return f"the only one of {candidate_count} BVHs that encodes an attribute of the query"
    if len(ranked) > 1:
        second, score = ranked[1].bvh, ranked[1].coverage.score
    else:
        second, score = others[0], scores[others[0]]
    if best.coverage.score > score:
        return (
            f"largest coverage of {candidate_count} BVHs: {best.coverage.score} "
            f"against {score} of '{second}'"
        )
    reads, second_reads = preference(best)[1], preference(ranked[1])[1]
    if reads < second_reads:
        fewer = "less to read" if best.job.sieved or ranked[1].job.sieved else "fewer rows"
        return (
            f"coverage {best.coverage.score} as '{second}', but {fewer}: "
            f"{reads} against {second_reads}"
        )
    return f"as good as '{second}', first by name"
