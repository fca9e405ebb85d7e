"""The picture of a fused job: its rows as points, its intervals as slabs, its rays as lines.

RayDB, section 3, puts a row at the point (measure, group, cell). A picture has some of the rows:

    points    [x, y, z, state]     x and y from 0 to 1, z a cell; state says what becomes of the row
    slabs     [first, last]        the cells that the job reads; close ones are drawn as one
    rays      y                    the lanes in which rays go through each slab, along z
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.planner.expressions.show import show
from raydb.values import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.kernels.backends.backend import FusedJob
    from raydb.kernels.bvh.bvh import Bvh
    from raydb.planner.stars.fused_scan import FusedScanAggregate

# So many rows are drawn of all, and as many of those that the job reads.
SAMPLE_ROWS = 1500

# More slabs than this are no picture any more.
MAX_SLABS = 200

# Lanes of rays that are drawn; there are as many as groups in truth.
_MAX_LANES = 8

UNREAD, READ, COUNTED = 0, 1, 2
"""A row is not touched; it is read and left out by a code of its own; it is counted."""


@dataclass(frozen=True, slots=True)
class Axis:
    """What an axis shows, and from where to where."""

    title: str
    low: str
    high: str


@dataclass(frozen=True, slots=True)
class Picture:
    """The sampled points, the slabs and the rays of a job, as JSON values."""

    axes: tuple[Axis, Axis, Axis]
    points: list[list[float]]
    slabs: list[list[float]]
    rays: list[float]
    slab_count: int
    cell_count: int


def draw(plan: FusedScanAggregate) -> Picture:
    """Return the picture of a fused job. The sample is the same each time."""
    bvh, job = plan.index.with_checked_rows(), plan.job
    rng = np.random.default_rng(0)
    read = _places_read(bvh, job, rng)
    places = np.unique(np.concatenate([_some(bvh.row_count, SAMPLE_ROWS, rng), read]))
    cells = _cells(bvh, places)
    groups, passes = _groups(bvh, job, places, cells)
    touched = _within(job.intervals, cells)
    state = np.where(touched, np.where(passes, COUNTED, READ), UNREAD)
    group_count = max(job.group_count, 1)
    x, x_axis = _measure(plan, places)
    y = (np.clip(groups, 0, None) + 0.5) / group_count
    slabs = _merged(job.intervals, MAX_SLABS)
    lanes = min(group_count, _MAX_LANES)
    return Picture(
        axes=(
            x_axis,
            Axis(_title("group", [show(key) for _, key in plan.keys]), "0", f"{group_count - 1:,}"),
            Axis("cell", "0", f"{bvh.cell_count - 1:,}"),
        ),
        points=[
            [round(float(a), 4), round(float(b), 4), int(c), int(d)]
            for a, b, c, d in zip(x, y, cells, state, strict=True)
        ],
        slabs=slabs.tolist(),
        rays=[(lane + 0.5) / lanes for lane in range(lanes)],
        slab_count=len(job.intervals),
        cell_count=bvh.cell_count,
    )


def _some(count: int, wanted: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return some of the numbers below `count`, all of them where they are few."""
    return np.arange(count) if count <= wanted else rng.integers(0, count, wanted)


def _places_read(bvh: Bvh, job: FusedJob, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return some of the places that the job reads."""
    entries = bvh.entries(job.intervals)
    starts, ends = bvh.offsets[entries[:, 0]], bvh.offsets[entries[:, 1]]
    bounds = np.concatenate([[0], np.cumsum(ends - starts)]).astype(np.int64)
    chosen = _some(int(bounds[-1]), SAMPLE_ROWS, rng)
    interval = np.searchsorted(bounds, chosen, side="right") - 1
    places: NDArray[np.int64] = starts[interval] + chosen - bounds[interval]
    return places


def _cells(bvh: Bvh, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the cell of each place."""
    entries = np.searchsorted(bvh.offsets, places, side="right") - 1
    return entries if bvh.cells is None else bvh.cells[entries]


def _within(intervals: NDArray[np.int64], cells: NDArray[np.int64]) -> NDArray[np.bool_]:
    if not len(intervals):
        return np.zeros(len(cells), np.bool_)
    number = np.searchsorted(intervals[:, 0], cells, side="right") - 1
    inside: NDArray[np.bool_] = (number >= 0) & (cells < intervals[number, 1])
    return inside


def _groups(
    bvh: Bvh, job: FusedJob, places: NDArray[np.int64], cells: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the group of each place, and whether the job's maps let it pass."""
    groups = np.zeros(len(places), np.int64)
    passes = np.ones(len(places), np.bool_)
    for code_map in job.maps:
        if code_map.by_cell:
            hierarchy = bvh.hierarchies[code_map.hierarchy]
            codes = cells // bvh.strides[code_map.hierarchy] % hierarchy.scan_count
        else:
            codes = bvh.codes[bvh.stored.index(code_map.hierarchy)][places]
        parts = code_map.groups[codes]
        passes &= parts >= 0
        groups += np.maximum(parts, 0)
    return groups, passes


def _measure(plan: FusedScanAggregate, places: NDArray[np.int64]) -> tuple[NDArray[Any], Axis]:
    """Return the first measure's values at some places, from 0 to 1, and its axis."""
    positions = [position for position in plan.measure_positions if position is not None]
    if not positions or not len(places):
        # No measure is drawn, so that points lie beside each other for being seen.
        return np.random.default_rng(1).random(len(places)), Axis("(no measure)", "", "")
    measure = plan.index.measures[positions[0]]
    values = measure.values[places].astype(np.float64)
    values = np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0)
    low, high = float(values.min()), float(values.max())
    title = show(plan.measures[plan.measure_positions.index(positions[0])])
    return (values - low) / ((high - low) or 1.0), Axis(title, f"{low:,.0f}", f"{high:,.0f}")


def _title(name: str, parts: list[str]) -> str:
    return f"{name} ({', '.join(parts)})" if parts else name


def _merged(intervals: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return at most so many intervals, which cover the given ones; the least gaps are closed."""
    if len(intervals) <= most:
        return intervals
    gaps = intervals[1:, 0] - intervals[:-1, 1]
    kept = np.sort(np.argsort(-gaps, kind="stable")[: most - 1])
    starts = np.concatenate([intervals[:1, 0], intervals[kept + 1, 0]])
    ends = np.concatenate([intervals[kept, 1], intervals[-1:, 1]])
    return np.stack([starts, ends], axis=1)
