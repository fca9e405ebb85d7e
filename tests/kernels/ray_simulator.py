"""Traces rays on the CPU: the actual float32 triangles and rays, with the watertight test.

Woop, Benthin, Wald, "Watertight Ray/Triangle Intersection" (JCGT 2013), for rays along +Z. All
arithmetic is float32, as in the hardware; the edge functions are computed again in float64 where
one of them is zero, as the paper has it. What happens at a hit is what `program.cu` does.
"""

from contextlib import nullcontext
from dataclasses import replace

import numba
import numpy as np

from raydb.kernels.backends.device import faults
from raydb.kernels.backends.registry import BACKENDS, look_again, open_backend
from raydb.kernels.backends.rt import entry
from raydb.kernels.backends.rt.tracer import Traced


def simulate_rays(patch, open_tracers):
    """Let this machine have all that rays need; `open_tracers` gives what traces them."""
    for name in ("rt", "rt-paper"):
        there = replace(BACKENDS[name], lacks=lambda: iter(()), describe=lambda: "a ray simulator")
        patch.setitem(BACKENDS, name, there)
    patch.setattr(entry, "open_tracers", open_tracers)


def forget_backends():
    """Look anew at what the machine has, and make backends anew."""
    look_again()
    open_backend.cache_clear()
    faults.lost.clear()


@numba.njit(cache=True)
def intersect(triangle, x, y, z, length):
    """Whether a ray from (x, y, z) along +Z meets a triangle strictly before `length`."""
    ax, ay, az = triangle[0, 0] - x, triangle[0, 1] - y, triangle[0, 2] - z
    bx, by, bz = triangle[1, 0] - x, triangle[1, 1] - y, triangle[1, 2] - z
    cx, cy, cz = triangle[2, 0] - x, triangle[2, 1] - y, triangle[2, 2] - z
    u = np.float32(cx * by) - np.float32(cy * bx)
    v = np.float32(ax * cy) - np.float32(ay * cx)
    w = np.float32(bx * ay) - np.float32(by * ax)
    zero = np.float32(0)
    if u == zero or v == zero or w == zero:
        u = np.float32(np.float64(cx) * np.float64(by) - np.float64(cy) * np.float64(bx))
        v = np.float32(np.float64(ax) * np.float64(cy) - np.float64(ay) * np.float64(cx))
        w = np.float32(np.float64(bx) * np.float64(ay) - np.float64(by) * np.float64(ax))
    if (u < zero or v < zero or w < zero) and (u > zero or v > zero or w > zero):
        return False
    determinant = np.float32(np.float32(u + v) + w)
    if determinant == zero:
        return False
    scaled = np.float32(np.float32(np.float32(u * az) + np.float32(v * bz)) + np.float32(w * cz))
    distance = np.float32(scaled / determinant)
    return zero < distance < length


@numba.njit(cache=True)
def trace(
    points,
    corners,
    order,
    depths,
    origin_z,
    lengths,
    offset_x,
    lane_x,
    lane_y,
    segments,
    lanes,
    firsts,
    parts,
    hits,
    tally,
):
    """Write (ray, triangle) of every hit, as far as there is room, and what each ray did.

    order, depths: the triangles and their entries, by entry; firsts: their first rows; parts: what
    the rows' tuples add to the group, or -1. tally (ray_count, 4): hits, and of the rows that are
    met first those that do not pass, those that do, and how often they had another group than
    before. Returns how many hits there were.
    Triangles far from a ray are skipped by a box around them with a margin of one lane and entry.
    """
    count = 0
    last_part = np.full(len(segments), -1, np.int64)
    met = np.zeros(len(points), np.bool_)
    one = np.float32(1)
    low_x, high_x = corners[:, 0].min() - one, corners[:, 0].max() + one
    low_y, high_y = corners[:, 1].min() - one, corners[:, 1].max() + one
    triangle = np.empty((3, 3), np.float32)
    last_ray = 0
    while last_ray < len(segments):
        # The rays of one segment, whose lanes ascend.
        segment, first_ray = segments[last_ray], last_ray
        while last_ray < len(segments) and segments[last_ray] == segment:
            last_ray += 1
        z, length = origin_z[segment], lengths[segment]
        first = np.searchsorted(depths, z - one)
        last = np.searchsorted(depths, z + length + one)
        for number in order[first:last]:
            for corner in range(3):
                for axis in range(3):
                    triangle[corner, axis] = points[number, axis] + corners[corner, axis]
            beside, above = points[number, 0] - offset_x[segment], points[number, 1]
            from_x, to_x = (
                np.searchsorted(lane_x, beside + low_x),
                np.searchsorted(lane_x, beside + high_x),
            )
            for y in range(
                np.searchsorted(lane_y, above + low_y), np.searchsorted(lane_y, above + high_y)
            ):
                begin = y * len(lane_x) + from_x
                ray = first_ray + np.searchsorted(lanes[first_ray:last_ray], begin)
                while ray < last_ray and lanes[ray] < y * len(lane_x) + to_x:
                    x = np.float32(lane_x[lanes[ray] % len(lane_x)] + offset_x[segment])
                    if intersect(triangle, x, lane_y[y], z, length):
                        if count < len(hits):
                            hits[count, 0] = ray
                            hits[count, 1] = number
                        count += 1
                        tally[ray, 0] += 1
                        if not met[number]:
                            met[number] = True
                            for part in parts[firsts[number] : firsts[number + 1]]:
                                tally[ray, 1] += part < 0
                                tally[ray, 2] += part >= 0
                                if part >= 0 and part != last_part[ray]:
                                    last_part[ray] = part
                                    tally[ray, 3] += 1
                    ray += 1
    return count


def load_scene(scene):
    """A scene with its triangles in the order of their entries."""
    assert scene.points.dtype == scene.corners.dtype == np.float32
    depths = scene.points[:, 2]
    order = np.argsort(depths, kind="stable")
    return scene, order, depths[order]


def trace_rays(loaded, rays, hits):
    """(how many hits, what each ray did) as `trace` has it; it writes as many hits as fit."""
    scene, order, depths = loaded
    for array in (rays.origin_z, rays.lengths, rays.offset_x, rays.lane_x, rays.lane_y):
        assert array.dtype == np.float32
    assert rays.segments.dtype == rays.lanes.dtype == np.uint32
    firsts, parts = scene.firsts.astype(np.int64), parts_of(scene, rays)
    tally = np.zeros((rays.count, 4), np.int64)
    count = trace(
        *(scene.points, scene.corners, order, depths, rays.origin_z, rays.lengths, rays.offset_x),
        *(rays.lane_x, rays.lane_y, rays.segments, rays.lanes, firsts, parts, hits, tally),
    )
    return count, tally


def parts_of(scene, rays):
    """What the tuple of each of the scene's rows adds to the group, or -1."""
    if not len(scene.tuples):
        return np.broadcast_to(rays.tuple_groups, scene.row_count)
    return rays.tuple_groups[scene.tuples]


class RaySimulator:
    """A Tracer. Counts what it traced, and fails where a lane's triangle is met more than once."""

    core_version = 0

    def __init__(self, room_bytes=2**40):
        self.room_bytes = room_bytes
        self.loads = self.sends = 0
        self.most_hits = 0

    def current(self):
        return nullcontext()

    def free_bytes(self):
        return self.room_bytes

    def load(self, scene):
        self.loads += 1
        return load_scene(scene)

    def upload(self, values):
        return values

    def send(self, rays):
        self.sends += 1
        return rays

    def hits(self, loaded, rays):
        """(ray, triangle) of every hit, and how many there were with repetitions."""
        scene = loaded[0]
        found = np.empty((4 * scene.bucket_count + 16, 2), np.int64)
        count, tally = trace_rays(loaded, rays, found)
        assert count == tally[:, 0].sum() <= len(found)
        _, times = np.unique(found[:count, 1], return_counts=True)
        self.most_hits = max(self.most_hits, int(times.max(initial=0)))
        if scene.encoding == "lanes":
            assert times.max(initial=0) <= 1, "a ray beside the middle of a triangle met it"
            return found[:count], count
        # The bitmap of the paper's algorithm 1: the first hit of a row counts.
        _, first = np.unique(found[:count, 1], return_index=True)
        return found[:count][first], count

    def located(self, loaded, rays):
        """(scene row, group) of every row that is met and passes."""
        scene = loaded[0]
        found, count = self.hits(loaded, rays)
        segments, buckets = rays.segments[found[:, 0]], found[:, 1]
        firsts = scene.firsts.astype(np.int64)
        sizes = np.diff(firsts)[buckets]
        jumps = np.repeat(firsts[buckets] - np.cumsum(sizes) + sizes, sizes)
        rows = jumps + np.arange(len(jumps))
        parts = parts_of(scene, rays)[rows]
        groups = np.repeat(rays.groups[segments], sizes) + parts
        return rows[parts >= 0], groups[parts >= 0], count

    def accumulate(self, loaded, rays, inputs, totals, group_count):
        rows, groups, count = self.located(loaded, rays)
        counts = np.bincount(groups, minlength=group_count).astype(np.int64)
        words = []
        for total in totals.totals:
            word = np.full(group_count, total.neutral, np.int64)
            values, at = inputs[total.input][rows], groups
            if total.valid is not None:
                valid = inputs[total.valid][rows] != 0
                values, at = values[valid], at[valid]
            match total.kind:
                case "float":
                    np.add.at(word.view(np.float64), at, values)
                case "least":
                    np.minimum.at(word, at, ordered(values) if total.ordered else values)
                case "most":
                    np.maximum.at(word, at, ordered(values) if total.ordered else values)
                case "high":
                    np.add.at(word, at, values.astype(np.int64) >> 32)
                case "low":
                    np.add.at(word, at, values.astype(np.int64) & 0xFFFFFFFF)
                case _:
                    np.add.at(word, at, values.astype(np.int64))
            words.append(word)
        return Traced(counts, words, count, 0.0)

    def list_rows(self, loaded, rays):
        rows, groups, count = self.located(loaded, rays)
        found = np.full(loaded[0].row_count, -1, np.int64)
        found[rows] = groups
        return Traced(found, [], count, 0.0)


def ordered(values):
    """Floats as integers of the same order, every NaN as the greatest."""
    greatest = np.iinfo(np.int64).max
    bits = values.view(np.int64)
    keys = np.where(bits < 0, bits ^ greatest, bits)
    return np.where(np.isnan(values), greatest - 1, keys)
