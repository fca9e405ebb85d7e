"""A BVH as triangles: one for each bucket of rows, at the centre of the lane of a ray.

    lanes   X beside each other, Y group tuples, Z entry   one triangle a bucket, met once
    paper   X value, Y group tuple, Z entry                one triangle a row, met up to three times

In the paper's encoding (RayDB, sections 3.2 and 4) the point is the right angle of a triangle whose
legs are twice the distance of the rays, so that every triangle meets at least one of them. In ours
a ray runs through the middle of each triangle, the value stays in an integer column, and some rows
of one cell share a triangle, as in cgRX (arXiv 2406.03965): those of a group tuple, or of several
where tuples have few rows.

Z counts the entries of the BVH's offsets, not its cells: cells that do not occur take no room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from raydb.kernels.backends.device import DeviceError
from raydb.kernels.backends.rt.buckets import fill_buckets, number_beside
from raydb.kernels.bvh.bvh import code_type
from raydb.kernels.bvh.partition import number_tuples
from raydb.values import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.kernels.bvh.bvh import Bvh

Encoding = Literal["lanes", "paper"]

# float32 holds halves up to here: an entry, and the ends of a ray half an entry before and behind.
SLAB_ENTRIES = 2**23

# On X and Y halves are told apart with a bit to spare; the lanes of one slab lie side by side, and
# those of the next beyond them. In the paper's encoding rays may also run at whole numbers.
MAX_HALVES = 2**22
MAX_WHOLE = 2**24

# The rows of a bucket are read by one thread, one after the other: 32 values of four bytes are one
# line of a device's cache. More rows of one entry and lane are triangles beside each other.
MAX_ROWS = 32

# Lanes of Y let rays pass by tuples that are filtered out. Tuples share a lane where they have so
# few rows in an entry that these make no bucket: so many on average, so that few lanes have more
# than a bucket holds.
LANE_ROWS = 24
MAX_Y_LANES = 4096

# Lanes of X hold what lies beside each other in an entry and a lane of Y; beyond so many, triangles
# share them. A byte counts them.
MAX_X_LANES = 128

# In the paper's encoding: so many rays pass an entry at most, and so many on Y.
PAPER_LANES = 1_024
PAPER_Y_LANES = 64

# A triangle around (0, 0) in units of the lanes' distance: the next rays, at 1, pass by.
CORNERS = np.array([[-0.5, -0.5, 0.0], [0.5, -0.5, 0.0], [0.0, 0.5, 0.0]], np.float32)

# On the device: 12 bytes of a point and 36 of corners while the structure is built, as many again
# for the structure, and 4 for the first row.
TRIANGLE_BYTES = 88


@dataclass(frozen=True, eq=False, slots=True)
class Scene:
    """Triangles and what a hit needs to know.

    points: float32, shape (bucket_count, 3); where each bucket's triangle lies.
    corners: float32, shape (3, 3); the corners of every triangle, seen from its point.
    firsts: uint32, shape (bucket_count + 1,); bucket b has rows firsts[b] to before firsts[b + 1].
    places: uint32, shape (row_count,); the place in the BVH of each of the scene's rows, None where
        that is its own number.
    tuples: unsigned integers, shape (row_count,); the group tuple of each row, empty where all have
        tuple 0.
    tuple_codes: for each of the BVH's stored hierarchies the code of every tuple (int64).
    lane_of: int64, shape (tuple_count,); the lane of Y of each tuple.
    lane_x, lane_y: float32, where rays run in one slab; slab_step: the distance of two slabs on X.
    lane_counts: uint8, shape (entry_count, lanes of Y); how many lanes of X, from the first, have a
        triangle of an entry; None where rays pass all.
    slab_entries: how many entries a slab has. beside: an entry's triangles, on average of those
        that have any.
    """

    encoding: Encoding
    points: NDArray[np.float32]
    corners: NDArray[np.float32]
    firsts: NDArray[np.uint32]
    places: NDArray[np.uint32] | None
    tuples: NDArray[Any]
    tuple_codes: tuple[NDArray[np.int64], ...]
    lane_of: NDArray[np.int64]
    lane_x: NDArray[np.float32]
    lane_y: NDArray[np.float32]
    lane_counts: NDArray[np.uint8] | None
    slab_step: int
    slab_entries: int
    beside: float

    @property
    def bucket_count(self) -> int:
        """The number of triangles."""
        return len(self.points)

    @property
    def row_count(self) -> int:
        """The number of rows in all buckets."""
        return int(self.firsts[-1])

    @property
    def tuple_count(self) -> int:
        """The number of distinct tuples of stored codes; 1 where nothing is stored."""
        return len(self.lane_of)

    @property
    def where(self) -> Any:
        """The index that takes the scene's rows from a column of the BVH."""
        return slice(None) if self.places is None else self.places


@dataclass(frozen=True, eq=False, slots=True)
class _Buckets:
    """Buckets in the order of (entry, lane of Y), and their rows, as in Scene.

    entry_of, y: int64 and int32, shape (bucket_count,); the entry of each bucket, and its lane.
    """

    entry_of: NDArray[np.int64]
    y: NDArray[np.int32]
    firsts: NDArray[np.uint32]
    places: NDArray[np.uint32] | None
    tuples: NDArray[Any]


def build_scene(
    bvh: Bvh,
    encoding: Encoding,
    slab_entries: int = SLAB_ENTRIES,
    y_range: tuple[int, int] | None = None,
) -> Scene:
    """Return the scene of a BVH, or of its tuples in a range (RayDB, section 5: a part of Y).

    Raises DeviceError for a BVH whose lanes, or whose values in the paper's encoding, are beyond
    what float32 tells apart.
    """
    tuples, tuple_codes = number_tuples(bvh)
    ranks = _rank_tuples(bvh, tuple_codes)
    build = _build_lanes if encoding == "lanes" else _build_paper
    return build(bvh, tuples, tuple_codes, ranks, y_range, slab_entries)


def _rank_tuples(bvh: Bvh, tuple_codes: tuple[NDArray[np.int64], ...]) -> NDArray[np.int64]:
    """Return each tuple's number among those that may be in an entry with it.

    An entry has one coordinate of each hierarchy: of the cities of a nation, not of all cities.
    """
    if not tuple_codes:
        return np.zeros(1, np.int64)
    shared = np.zeros(len(tuple_codes[0]), np.int64)
    for position, codes in zip(bvh.stored, tuple_codes, strict=True):
        hierarchy = bvh.hierarchies[position]
        shared = shared * hierarchy.scan_count + hierarchy.scan_codes[codes]
    order = np.argsort(shared, kind="stable")
    _, firsts, counts = np.unique(shared[order], return_index=True, return_counts=True)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order)) - np.repeat(firsts, counts)
    return ranks


def _find_buckets(
    bvh: Bvh,
    tuples: NDArray[np.int32],
    lane_of: NDArray[np.int64],
    y_range: tuple[int, int] | None,
    most_rows: int,
) -> _Buckets:
    """Put the rows of each entry in the order of their tuples; dead rows have no triangle."""
    row_count, tuple_count = bvh.row_count, len(lane_of)
    in_order = not bvh.stored and bvh.dead is None and y_range is None
    # Memory that is not written to is never given to the process: there may be few buckets.
    places = np.empty(0 if in_order else row_count, np.uint32)
    ordered = np.empty(row_count if bvh.stored else 0, code_type(tuple_count))
    firsts = np.empty(row_count + 1, np.uint32)
    y, entry_of = np.empty(row_count, np.int32), np.empty(row_count, np.int64)
    count = fill_buckets(
        bvh.offsets,
        tuples if bvh.stored else tuples[:0],
        np.empty(0, np.int64) if bvh.dead is None else bvh.dead,
        (0, tuple_count) if y_range is None else y_range,
        lane_of.astype(np.int32),
        most_rows,
        places,
        ordered,
        firsts,
        y,
        entry_of,
    )
    firsts = _first_of(firsts, count + 1)
    kept = int(firsts[-1])
    return _Buckets(
        _first_of(entry_of, count),
        _first_of(y, count),
        firsts,
        None if in_order else _first_of(places, kept),
        _first_of(ordered, kept),
    )


def _first_of(array: NDArray[Any], count: int) -> NDArray[Any]:
    """Return the first elements of an array, or of an empty one none, without the others' room."""
    return array if len(array) <= count else array[:count].copy()


def _build_lanes(
    bvh: Bvh,
    tuples: NDArray[np.int32],
    tuple_codes: tuple[NDArray[np.int64], ...],
    ranks: NDArray[np.int64],
    y_range: tuple[int, int] | None,
    slab_entries: int,
) -> Scene:
    """One triangle for the rows of one entry and lane of Y, or for each MAX_ROWS of them."""
    rank_count = int(ranks.max(initial=0)) + 1
    y_lanes = _count_y_lanes(bvh, rank_count)
    lane_of = ranks * y_lanes // rank_count
    buckets = _find_buckets(bvh, tuples, lane_of, y_range, MAX_ROWS)
    x = np.empty(len(buckets.y), np.int32)
    lane_counts = np.zeros((len(bvh.offsets) - 1, y_lanes), np.uint8)
    widest = number_beside(buckets.entry_of, buckets.y, MAX_X_LANES, x, lane_counts)
    x_lanes = max(widest, 1)
    _check_width(_slab_count(bvh, slab_entries) * x_lanes, MAX_HALVES)
    slabs = buckets.entry_of // slab_entries
    points = np.empty((len(x), 3), np.float32)
    points[:, 0] = x + slabs * x_lanes
    points[:, 1] = buckets.y
    points[:, 2] = buckets.entry_of - slabs * slab_entries
    return Scene(
        encoding="lanes",
        points=points,
        corners=CORNERS,
        firsts=buckets.firsts,
        places=buckets.places,
        tuples=buckets.tuples,
        tuple_codes=tuple_codes,
        lane_of=lane_of,
        lane_x=np.arange(x_lanes, dtype=np.float32),
        lane_y=np.arange(y_lanes, dtype=np.float32),
        lane_counts=lane_counts if x_lanes * y_lanes > 1 else None,
        slab_step=x_lanes,
        slab_entries=slab_entries,
        beside=len(x) / _count_filled(bvh),
    )


def _count_y_lanes(bvh: Bvh, rank_count: int) -> int:
    """Return how many lanes of Y there are, for as many tuples that an entry may have."""
    rows_a_rank = max(bvh.row_count / _count_filled(bvh) / rank_count, 1e-9)
    shared = min(max(int(LANE_ROWS / rows_a_rank), 1), rank_count)
    return min(-(-rank_count // shared), MAX_Y_LANES)


def _count_filled(bvh: Bvh) -> int:
    """Return how many entries have rows; 1 where none has."""
    return max(int(np.count_nonzero(bvh.offsets[1:] > bvh.offsets[:-1])), 1)


def _build_paper(
    bvh: Bvh,
    tuples: NDArray[np.int32],
    tuple_codes: tuple[NDArray[np.int64], ...],
    ranks: NDArray[np.int64],
    y_range: tuple[int, int] | None,
    slab_entries: int,
) -> Scene:
    """One triangle a row, at its first measure: (x, y, z), (x + 2 dx, y, z), (x, y + 2 dy, z)."""
    tuple_count = max(len(ranks), 1)
    buckets = _find_buckets(bvh, tuples, np.arange(len(ranks)), y_range, 1)
    x, width = _values(bvh, buckets)
    # As many rays as an entry has rows. Those beside each other on Y all meet rows only where each
    # entry may have every tuple: the cities of one nation lie close together on Y.
    beside = bvh.row_count / _count_filled(bvh)
    lanes = min(max(int(beside), 1), PAPER_LANES)
    everywhere = int(ranks.max(initial=0)) + 1 == tuple_count
    y_lanes = min(tuple_count, PAPER_Y_LANES, lanes) if everywhere else 1
    # Legs of two steps must not reach beyond what float32 tells apart.
    x_lanes = max(lanes // y_lanes, 3 * width // max(MAX_WHOLE - width, 1) + 1)
    x_step, y_step = -(-width // x_lanes), -(-tuple_count // y_lanes)
    slab_count = _slab_count(bvh, slab_entries)
    # The first rays of a slab are a step behind the legs of the one before.
    slab_step = (-(-width // x_step) + 1) * x_step
    _check_width(tuple_count + 2 * y_step, MAX_HALVES)
    _check_width(slab_count * slab_step + x_step, MAX_WHOLE)
    # Rays half a step beside the points meet none of them. Where X is too wide for halves, a point
    # on a ray is met by the next one, a whole step on and still inside of the leg.
    x_side = 0.5 if slab_count * slab_step + x_step <= MAX_HALVES else 0.0
    slabs = buckets.entry_of // slab_entries
    points = np.empty((len(x), 3), np.float32)
    points[:, 0] = x + slabs * slab_step
    points[:, 1] = buckets.y
    points[:, 2] = buckets.entry_of - slabs * slab_entries
    return Scene(
        encoding="paper",
        points=points,
        corners=np.array([[0, 0, 0], [2 * x_step, 0, 0], [0, 2 * y_step, 0]], np.float32),
        firsts=buckets.firsts,
        places=buckets.places,
        tuples=buckets.tuples,
        tuple_codes=tuple_codes,
        lane_of=np.arange(len(ranks)) // y_step,
        lane_x=_behind(width, x_step, x_side),
        lane_y=_behind(tuple_count, y_step, 0.5),
        lane_counts=None,
        slab_step=slab_step,
        slab_entries=slab_entries,
        beside=beside,
    )


def _values(bvh: Bvh, buckets: _Buckets) -> tuple[NDArray[np.int64], int]:
    """Return X of each row, from 0, and how many values there may be."""
    if not bvh.measures:
        return np.zeros(len(buckets.y), np.int64), 1
    measure = bvh.measures[0]
    width = measure.high - measure.low + 1
    if measure.is_float:
        raise DeviceError(
            "rt: the paper's encoding has an integer on X, and the first measure of the BVH is "
            "none; SET rt_encoding = 'lanes'"
        )
    if width > MAX_WHOLE:
        raise DeviceError(
            f"rt: the paper's encoding puts the first measure of the BVH on X, and float32 does "
            f"not tell {width} values apart; SET rt_encoding = 'lanes'"
        )
    values = measure.values if buckets.places is None else measure.values[buckets.places]
    return values.astype(np.int64) - measure.low, width


def _behind(width: int, step: int, side: float) -> NDArray[np.float32]:
    """Return where rays run, one behind each step of 0 .. width - 1.

    A leg of 2 * step meets the ray of its point's own step inside, and perhaps the next one.
    """
    return np.arange(1, -(-width // step) + 1, dtype=np.float32) * np.float32(step) - np.float32(
        side
    )


def _slab_count(bvh: Bvh, slab_entries: int) -> int:
    return max(-(-(len(bvh.offsets) - 1) // slab_entries), 1)


def _check_width(width: int, most: int) -> None:
    if width > most:
        raise DeviceError(f"rt: of {width} places side by side float32 tells {most} apart")


def scene_bytes(bvh: Bvh, encoding: Encoding) -> int:
    """Return at most what a scene and its acceleration structure take on a device, about."""
    tuple_count = 1
    for position in bvh.stored:
        tuple_count *= bvh.hierarchies[position].code_count
    tuples = code_type(tuple_count).itemsize * bvh.row_count if bvh.stored else 0
    columns = tuples + sum(m.values.nbytes for m in bvh.measures)
    return TRIANGLE_BYTES * most_triangles(bvh, encoding) + columns


def most_triangles(bvh: Bvh, encoding: Encoding) -> int:
    """Return how many triangles a scene has at most, without making it."""
    if encoding == "paper":
        return bvh.row_count
    ranks = 1
    for position in bvh.stored:
        ranks *= int(np.bincount(bvh.hierarchies[position].scan_codes, minlength=1).max())
    lanes = _count_filled(bvh) * _count_y_lanes(bvh, max(ranks, 1))
    return min(bvh.row_count, lanes + bvh.row_count // MAX_ROWS)
