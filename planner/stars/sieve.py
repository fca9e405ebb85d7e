"""Sieving: a fused job leaves rows unread where its BVH keeps totals of their cells.

A cell whose rows all have one group is covered: its totals answer for them. Where rows of a cell
differ in what the query asks for, or where something is fetched for each row, the rows are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raydb.kernels.bvh.sieve import cell_bytes, may_overflow, sift, splits_every_cell
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raydb.planner.catalog import BvhInfo
    from raydb.planner.stars.fused_scan import FusedScanAggregate


# To look up each cell's totals and its group takes as long as to add up 4 rows for a sum, 12 for a
# maximum; below so many cells neither matters. Without groups an interval of cells is all at once.
MIN_ROWS_A_CELL = 8
FEW_CELLS = 4096


@dataclass(frozen=True, slots=True)
class Touched:
    """What a job reads: `cells` that answer for `covered_rows`, and the `rows` of other cells.

    cell_bytes: those of the totals that it reads of each cell, at most.
    """

    cells: int
    covered_rows: int
    cell_bytes: int
    rows: int


def use_sieve(plan: FusedScanAggregate, bvh: BvhInfo) -> FusedScanAggregate:
    """Return the plan with its job sieved, or with the reason why the BVH's sieve is of no use."""
    if bvh.index.sieve is None:
        return plan
    entries = plan.index.entries(plan.job.intervals)
    cell_count = int((entries[:, 1] - entries[:, 0]).sum())
    obstacle = _obstacle(plan, bvh, cell_count)
    if obstacle is not None:
        return replace(plan, sieve_obstacle=obstacle)
    return replace(plan, job=replace(plan.job, sieved=True), estimated_cells=cell_count)


def _obstacle(plan: FusedScanAggregate, bvh: BvhInfo, cell_count: int) -> str | None:
    if plan.residual_predicates or plan.residual_keys or None in plan.measure_positions:
        return "rows are fetched by row id"
    if not plan.is_direct:
        return "the groups are too many to keep a total for each"
    if any(accumulator.function == "squares" for accumulator in plan.job.accumulators):
        return "it keeps no sums of squares"
    for code_map in plan.job.maps:
        if not code_map.by_cell and splits_every_cell(bvh.index, code_map):
            names = ", ".join(
                attribute.name
                for attribute, (number, _) in bvh.levels.items()
                if number == code_map.hierarchy and attribute not in bvh.definition.scan
            )
            return f"the rows of a cell differ in {names}"
    is_sparse = plan.estimated_rows < MIN_ROWS_A_CELL * cell_count
    if plan.job.maps and is_sparse and cell_count > FEW_CELLS:
        return f"its {cell_count} cells have no more than {plan.estimated_rows} rows"
    if may_overflow(bvh.index, plan.job, plan.estimated_rows):
        return f"a sum of {plan.estimated_rows} values may not fit 64 bits"
    return None


def touched(plan: FusedScanAggregate) -> Touched:
    """Return what a sieved job reads."""
    sifted = sift(plan.index, plan.job)
    rows = 0 if sifted.rest is None else plan.index.count_rows(sifted.rest.intervals)
    width = cell_bytes(plan.index, plan.job)
    return Touched(sifted.cell_count, sifted.row_count, sifted.cell_count * width, rows)


def describe_reads(plan: FusedScanAggregate) -> dict[str, Any]:
    """Return what a job reads: rows, or cells in place of the rows that they cover."""
    if not plan.job.sieved:
        obstacle = plan.sieve_obstacle
        sieve: dict[str, Any] | None = None if obstacle is None else {"obstacle": obstacle}
        rows, size_bytes = plan.estimated_rows, plan.estimated_bytes
    else:
        read = touched(plan)
        rows, size_bytes = read.rows, read.cell_bytes + read.rows * plan.row_bytes
        sieve = {"cells_touched": read.cells, "rows_covered": read.covered_rows}
    return {"sieve": sieve, "rows_touched": rows, "bytes_touched": size_bytes}


def describe_sieve(sieve: Mapping[str, Any]) -> str:
    """Return in words what `describe_reads` says of the sieve."""
    if "obstacle" in sieve:
        return f"not used ({sieve['obstacle']})"
    return f"{sieve['cells_touched']} cells in place of {sieve['rows_covered']} rows"
