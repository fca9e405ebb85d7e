"""The rays of a job: along Z, through every lane, over each interval of entries.

    interval [4, 9)   ->  from z = 3.5, 5 long, through the middle of every triangle of entries 4..8

A ray begins and ends half an entry beside the planes of triangles, so that rounding decides
nothing. Long intervals are cut into segments, which run beside each other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from raydb.kernels.cpu.runs import find_runs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.kernels.backend import FusedJob
    from raydb.kernels.bvh import Bvh
    from raydb.kernels.rt.scene import Scene

# What a ray should meet: fewer triangles leave rays that are all start, more make rays that others
# wait for (RTScan, section 4.3, finds the best length by trial; this one is not measured yet).
HITS_A_RAY = 64

# The distance to a hit is a float32 too: below 2**16 entries its error is below 1/128 of one.
LONGEST_SEGMENT = 2**16


@dataclass(frozen=True, eq=False, slots=True)
class Segments:
    """Intervals of entries with one group each, cut to the length of rays (int64).

    lows, highs: half-open intervals of entries; groups: what the cells add to the group number.
    """

    lows: NDArray[np.int64]
    highs: NDArray[np.int64]
    groups: NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class Rays:
    """A launch: a ray for each segment, lane of Y and lane of X.

    origin_z, lengths, offset_x: float32, shape (segment_count,); where the rays of a segment begin,
        how long they are, and how far their slab lies out on X.
    groups: int64, shape (segment_count,). lane_x, lane_y: float32, the lanes that rays run through.
    tuple_groups: int64, shape (tuple_count,); what a group tuple adds to the group number, or -1.
    """

    origin_z: NDArray[np.float32]
    lengths: NDArray[np.float32]
    offset_x: NDArray[np.float32]
    groups: NDArray[np.int64]
    lane_x: NDArray[np.float32]
    lane_y: NDArray[np.float32]
    tuple_groups: NDArray[np.int64]

    @property
    def count(self) -> int:
        """The number of rays."""
        return len(self.origin_z) * len(self.lane_x) * len(self.lane_y)


def find_segments(bvh: Bvh, job: FusedJob) -> Segments:
    """Return a job's intervals of entries, each with what its cells add to the group."""
    # Rays pass dead rows, which the scene leaves out.
    runs = find_runs(replace(bvh, dead=None), job)
    # Runs are of whole entries: the entry of their first place, and the one after their last.
    lows = np.searchsorted(bvh.offsets, runs.starts, side="right") - 1
    highs = np.searchsorted(bvh.offsets, runs.ends - 1, side="right")
    return Segments(lows.astype(np.int64), highs.astype(np.int64), runs.groups)


def plan_rays(
    scene: Scene, entry_count: int, job: FusedJob, stored: tuple[int, ...], segments: Segments
) -> Rays:
    """Return the rays of a job through a scene; stored: the BVH's stored hierarchies."""
    tuple_groups = _group_tuples(scene, job, stored)
    lane_y = scene.lane_y[_passing_lanes(scene, tuple_groups)]
    longest = segment_entries(scene, entry_count)
    lows, highs, groups = _cut(segments, scene.slab_entries, longest)
    slabs = lows // scene.slab_entries
    return Rays(
        origin_z=(lows % scene.slab_entries - 0.5).astype(np.float32),
        lengths=(highs - lows).astype(np.float32),
        offset_x=(slabs * scene.slab_step).astype(np.float32),
        groups=groups,
        lane_x=scene.lane_x,
        lane_y=lane_y,
        tuple_groups=tuple_groups,
    )


def segment_entries(scene: Scene, entry_count: int) -> int:
    """Return how many entries a ray passes, so that it meets about HITS_A_RAY triangles."""
    lanes = len(scene.lane_x) * len(scene.lane_y)
    met_an_entry = scene.bucket_count / max(entry_count, 1) / lanes
    wanted = HITS_A_RAY / met_an_entry if met_an_entry else LONGEST_SEGMENT
    return int(min(max(wanted, 1), LONGEST_SEGMENT))


def _group_tuples(scene: Scene, job: FusedJob, stored: tuple[int, ...]) -> NDArray[np.int64]:
    """Return what each tuple of stored codes adds to the group number, -1 where a map excludes."""
    groups = np.zeros(scene.tuple_count, np.int64)
    passes = np.ones(scene.tuple_count, np.bool_)
    for code_map in job.maps:
        if not code_map.by_cell:
            parts = code_map.groups[scene.tuple_codes[stored.index(code_map.hierarchy)]]
            passes &= parts >= 0
            groups += parts
    return np.where(passes, groups, -1)


def _passing_lanes(scene: Scene, tuple_groups: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which lanes of Y may meet a tuple that passes."""
    step = scene.tuples_a_lane
    padded = np.zeros(len(scene.lane_y) * step, np.bool_)
    padded[: len(tuple_groups)] = tuple_groups >= 0
    passes: NDArray[np.bool_] = np.logical_or.reduce(padded.reshape(-1, step), axis=1)
    if scene.encoding == "paper":
        # A leg of two steps reaches the ray of its own step and the two after it.
        passes[1:] |= passes[:-1]
        passes[1:] |= passes[:-1]
    return passes


def _cut(
    segments: Segments, slab_entries: int, longest: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Cut intervals at the ends of slabs, and into pieces of at most `longest` entries."""
    lows, highs, groups = segments.lows, segments.highs, segments.groups
    for width, anchored in ((slab_entries, True), (longest, False)):
        base = lows // width * width if anchored else lows
        counts = -(-(highs - base) // width)
        number = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        firsts = np.repeat(base, counts) + number * width
        highs = np.minimum(firsts + width, np.repeat(highs, counts))
        lows = np.maximum(firsts, np.repeat(lows, counts))
        groups = np.repeat(groups, counts)
    return lows, highs, groups
