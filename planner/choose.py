"""What runs a star: the BVH of max{x + y + alpha*z}, then fewest rows (RayDB, section 4.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.kernels.choice import choose_backend
from raydb.planner.fuse import FusedScanAggregate, fuse, with_reason
from raydb.planner.table_scan import FusedTableScan, is_cheaper, scan_obstacle

if TYPE_CHECKING:
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.star import Star


def choose_job(
    star: Star, catalog: CatalogInfo, backend: str
) -> FusedScanAggregate | FusedTableScan | str:
    """Return the fused job on the best BVH of the fact table, or on the table, or why none.

    The table is scanned where no BVH serves, or where all that do lack something of the query and
    would fetch it for more rows than is worth while.
    """
    name, backend_reason = choose_backend(backend)
    best = _choose_bvh(star, catalog, name, backend_reason)
    row_count = catalog.tables[star.fact].row_count
    if isinstance(best, str):
        reason = best
    elif is_cheaper(star, best, row_count):
        reason = f"BVH '{best.bvh}' would fetch what it lacks for {best.estimated_rows} rows"
    else:
        return best
    if scan_obstacle(star, catalog) is not None:
        return best
    return FusedTableScan(star, name, backend_reason, reason, row_count)


def _choose_bvh(
    star: Star, catalog: CatalogInfo, backend: str, backend_reason: str
) -> FusedScanAggregate | str:
    """Return the fused job on the best BVH of the fact table, or why there is none."""
    candidates = [bvh for bvh in catalog.bvhs.values() if bvh.definition.table == star.fact]
    if not candidates:
        return f"there is no BVH on '{star.fact}'"
    plans = [fuse(star, bvh, backend, backend_reason) for bvh in candidates]
    useful = [
        plan for plan in plans if isinstance(plan, FusedScanAggregate) and plan.coverage.score > 0
    ]
    if not useful:
        obstacles = [plan for plan in plans if isinstance(plan, str)]
        return (
            obstacles[0]
            if obstacles
            else (f"no BVH on '{star.fact}' encodes an attribute of the query")
        )
    useful.sort(key=lambda plan: (-plan.coverage.score, plan.estimated_rows, plan.bvh))
    return with_reason(useful[0], _reason(useful, len(candidates)))


def _reason(ranked: list[FusedScanAggregate], candidate_count: int) -> str:
    """Say why the first of the ranked plans won."""
    best = ranked[0]
    if candidate_count == 1:
        return f"the only BVH on '{best.table}'"
    if len(ranked) == 1:
        return f"the only one of {candidate_count} BVHs that encodes an attribute of the query"
    second = ranked[1]
    if best.coverage.score > second.coverage.score:
        return (
            f"largest coverage of {candidate_count} BVHs: {best.coverage.score} "
            f"against {second.coverage.score} of '{second.bvh}'"
        )
    if best.estimated_rows < second.estimated_rows:
        return (
            f"coverage {best.coverage.score} as '{second.bvh}', but fewer rows: "
            f"{best.estimated_rows} against {second.estimated_rows}"
        )
    return f"as good as '{second.bvh}', first by name"
