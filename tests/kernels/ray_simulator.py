"""Traces rays on the CPU: the actual float32 triangles and rays, with the watertight test.

Woop, Benthin, Wald, "Watertight Ray/Triangle Intersection" (JCGT 2013), for rays along +Z. All
arithmetic is float32, as in the hardware; the edge functions are computed again in float64 where
one of them is zero, as the paper has it. What happens at a hit is what `program.cu` does.
"""

from contextlib import nullcontext

import numba
import numpy as np

from raydb.kernels.rt.tracer import Traced


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
def trace(triangles, order, depths, origin_z, lengths, offset_x, lane_x, lane_y, hits):
    """Write (segment, triangle) of every hit of every ray; return how many there were.

    Triangles far from a ray are skipped by a box around them with a margin of one lane and entry.
    """
    count = 0
    one = np.float32(1)
    for segment in range(len(origin_z)):
        z, length = origin_z[segment], lengths[segment]
        first = np.searchsorted(depths, z - one)
        last = np.searchsorted(depths, z + length + one)
        for number in order[first:last]:
            triangle = triangles[number]
            low_x = min(triangle[0, 0], triangle[1, 0], triangle[2, 0]) - offset_x[segment] - one
            high_x = max(triangle[0, 0], triangle[1, 0], triangle[2, 0]) - offset_x[segment] + one
            low_y = min(triangle[0, 1], triangle[1, 1], triangle[2, 1]) - one
            high_y = max(triangle[0, 1], triangle[1, 1], triangle[2, 1]) + one
            from_x, to_x = np.searchsorted(lane_x, low_x), np.searchsorted(lane_x, high_x)
            for y in lane_y[np.searchsorted(lane_y, low_y) : np.searchsorted(lane_y, high_y)]:
                for x in lane_x[from_x:to_x]:
                    if intersect(triangle, np.float32(x + offset_x[segment]), y, z, length):
                        if count < len(hits):
                            hits[count, 0] = segment
                            hits[count, 1] = number
                        count += 1
    return count


class RaySimulator:
    """A Tracer. Counts what it traced, and fails where a lane's triangle is met more than once."""

    core_version = 0

    def __init__(self, room_bytes=2**40):
        self.room_bytes = room_bytes
        self.loads = 0
        self.most_hits = 0

    def current(self):
        return nullcontext()

    def free_bytes(self):
        return self.room_bytes

    def load(self, scene):
        self.loads += 1
        assert scene.triangles.dtype == np.float32
        depths = scene.triangles[:, 0, 2]
        order = np.argsort(depths, kind="stable")
        return scene, order, depths[order]

    def upload(self, values):
        return values

    def hits(self, loaded, rays):
        """(segment, triangle) of every hit, and how many there were with repetitions."""
        scene, order, depths = loaded
        for array in (rays.origin_z, rays.lengths, rays.offset_x, rays.lane_x, rays.lane_y):
            assert array.dtype == np.float32
        found = np.empty((4 * scene.bucket_count + 16, 2), np.int64)
        arguments = (scene.triangles, order, depths, rays.origin_z, rays.lengths, rays.offset_x)
        count = trace(*arguments, rays.lane_x, rays.lane_y, found)
        assert count <= len(found)
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
        segments, buckets = found[:, 0], found[:, 1]
        parts = rays.tuple_groups[scene.tuple_of[buckets]]
        passed = parts >= 0
        groups = rays.groups[segments[passed]] + parts[passed]
        buckets = buckets[passed]
        sizes = np.diff(scene.firsts)[buckets]
        jumps = np.repeat(scene.firsts[buckets] - np.cumsum(sizes) + sizes, sizes)
        return jumps + np.arange(len(jumps)), np.repeat(groups, sizes), count

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
        found = np.full(len(loaded[0].places), -1, np.int64)
        found[rows] = groups
        return Traced(found, [], count, 0.0)


def ordered(values):
    """Floats as integers of the same order, every NaN as the greatest."""
    greatest = np.iinfo(np.int64).max
    bits = values.view(np.int64)
    keys = np.where(bits < 0, bits ^ greatest, bits)
    return np.where(np.isnan(values), greatest - 1, keys)
