"""The rays of a job: along Z, through every lane, over each interval of entries.

    interval [4, 9)   ->  from z = 3.5, 5 long, through the middle of every triangle of entries 4..8

A ray begins and ends half an entry beside the planes of triangles, so that rounding decides
nothing. Long intervals are cut into segments of about as many rows, whose rays run at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raydb.kernels.backends.cpu.runs import find_runs
from raydb.kernels.backends.rt.buckets import count_lanes, list_rays
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.kernels.backends.backend import FusedJob
    from raydb.kernels.backends.rt.scene import Scene
    from raydb.kernels.bvh.bvh import Bvh

# Rays that a device works on at once: with fewer of them some of it idles, so rays are short until
# there are as many. (An RTX 4080 SUPER has room for 80 * 1536 threads, and rays take more registers
# than leave room for all.) A plan, as all such figures here: no device has measured it yet.
MANY_RAYS = 2**16

# What a ray meets where there are many: fewer triangles leave rays that are all start, more make
# rays that others wait for (RTScan, section 4.3, finds the best length by trial).
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
    """A launch: for each segment a ray through each lane that may hold a triangle of it.

    origin_z, lengths, offset_x: float32, shape (segment_count,); where the rays of a segment begin,
        how long they are, and how far their slab lies out on X.
    groups: int64, shape (segment_count,). lane_x, lane_y: float32, the scene's lanes.
    tuple_groups: int64, shape (tuple_count,); what a group tuple adds to the group number, or -1.
    segments, lanes: uint32, shape (ray_count,); the segment of each ray, and its lane: of lane_y
        number lane // len(lane_x), of lane_x number lane % len(lane_x). Both in order.
    """

    origin_z: NDArray[np.float32]
    lengths: NDArray[np.float32]
    offset_x: NDArray[np.float32]
    groups: NDArray[np.int64]
    lane_x: NDArray[np.float32]
    lane_y: NDArray[np.float32]
    tuple_groups: NDArray[np.int64]
    segments: NDArray[np.uint32]
    lanes: NDArray[np.uint32]

    @property
    def count(self) -> int:
        """The number of rays."""
        return len(self.segments)


def find_segments(bvh: Bvh, job: FusedJob) -> Segments:
    """Return a job's intervals of entries, each with what its cells add to the group."""
    # Rays pass dead rows, which the scene leaves out.
    runs = find_runs(replace(bvh, dead=None), job)
    # Runs are of whole entries: the entry of their first place, and the one after their last.
    starts, ends, groups = runs.table
    lows = np.searchsorted(bvh.offsets, starts, side="right") - 1
    highs = np.searchsorted(bvh.offsets, ends - 1, side="right")
    return Segments(lows.astype(np.int64), highs.astype(np.int64), groups)


def plan_rays(scene: Scene, bvh: Bvh, job: FusedJob, segments: Segments) -> Rays:
    """Return the rays of a job through a scene of the BVH."""
    tuple_groups = _group_tuples(scene, job, bvh.stored)
    passing = np.flatnonzero(_passing_lanes(scene, tuple_groups))
    cut = _cut(segments, scene.slab_entries)
    if len(cut.lows) and scene.bucket_count:
        cut = _cut_by_rows(cut, bvh.offsets, scene, len(passing))
    slabs = cut.lows // scene.slab_entries
    numbers, lanes = _pass_lanes(scene, cut, passing)
    return Rays(
        origin_z=(cut.lows % scene.slab_entries - 0.5).astype(np.float32),
        lengths=(cut.highs - cut.lows).astype(np.float32),
        offset_x=(slabs * scene.slab_step).astype(np.float32),
        groups=cut.groups,
        lane_x=scene.lane_x,
        lane_y=scene.lane_y,
        tuple_groups=tuple_groups,
        segments=numbers,
        lanes=lanes,
    )


def hits_a_ray(hit_count: float) -> float:
    """Return how many triangles a ray should meet, of all that a job's rays will meet."""
    return min(max(hit_count / MANY_RAYS, 1.0), HITS_A_RAY)


def _pass_lanes(
    scene: Scene, segments: Segments, passing: NDArray[np.int64]
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the segment and the lane of each ray: no lane that has none of its entries' triangles.

    passing: the lanes of Y that may have a tuple that passes.
    """
    x_count = len(scene.lane_x)
    counts = np.full((len(segments.lows), len(passing)), x_count)
    if scene.lane_counts is not None:
        count_lanes(segments.lows, segments.highs, passing, scene.lane_counts, counts)
    ray_count = int(counts.sum())
    numbers, lanes = np.empty(ray_count, np.uint32), np.empty(ray_count, np.uint32)
    list_rays(counts, passing, x_count, numbers, lanes)
    return numbers, lanes


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
    passes = np.zeros(len(scene.lane_y), np.bool_)
    passes[scene.lane_of[tuple_groups >= 0]] = True
    if scene.encoding == "paper":
        # A leg of two steps reaches the ray of its own step and the one after it.
        passes[1:] |= passes[:-1]
    return passes


def _cut(segments: Segments, slab_entries: int) -> Segments:
    """Cut intervals at the ends of slabs, and into pieces of at most LONGEST_SEGMENT entries."""
    lows, highs, groups = segments.lows, segments.highs, segments.groups
    for width, anchored in ((slab_entries, True), (LONGEST_SEGMENT, False)):
        base = lows // width * width if anchored else lows
        counts = -(-(highs - base) // width)
        firsts = np.repeat(base, counts) + _count_up(counts) * width
        highs = np.minimum(firsts + width, np.repeat(highs, counts))
        lows = np.maximum(firsts, np.repeat(lows, counts))
        groups = np.repeat(groups, counts)
    return Segments(lows, highs, groups)


def _cut_by_rows(
    segments: Segments, offsets: NDArray[np.int64], scene: Scene, y_count: int
) -> Segments:
    """Cut intervals into pieces of about as many rows, so that rays meet about as much each."""
    starts = offsets[segments.lows]
    rows = offsets[segments.highs] - starts
    rows_a_bucket = scene.row_count / max(scene.bucket_count, 1)
    hit_count = rows.sum() / rows_a_bucket * y_count / len(scene.lane_y)
    # An entry's triangles lie on so many lanes, or on all of Y: some of these have none.
    lanes = max(scene.beside, len(scene.lane_y))
    rows_a_piece = hits_a_ray(hit_count) * lanes * rows_a_bucket
    counts = np.maximum(np.ceil(rows / rows_a_piece), 1).astype(np.int64)
    pieces = np.repeat(rows, counts) * _count_up(counts) // np.repeat(counts, counts)
    pieces += np.repeat(starts, counts)
    lows = np.searchsorted(offsets, pieces, side="left")
    lows = np.maximum(lows, np.repeat(segments.lows, counts))
    ends = np.cumsum(counts)
    lows[ends - counts] = segments.lows
    highs = np.append(lows[1:], 0)
    highs[ends - 1] = segments.highs
    filled = offsets[highs] > offsets[lows]
    return Segments(lows[filled], highs[filled], np.repeat(segments.groups, counts)[filled])


def _count_up(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return 0 .. count - 1 of every count, one after the other."""
    return np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
