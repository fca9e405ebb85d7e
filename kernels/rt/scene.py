"""A BVH as triangles: one for each bucket of rows, at the centre of the lane of a ray.

    lanes   X lane, Y lane of group tuples, Z entry      one triangle a (cell, group) run, one hit
    paper   X value, Y group tuple, Z entry              one triangle a row, one to three hits

In the paper's encoding (RayDB, sections 3.2 and 4) the point is the right angle of a triangle whose
legs are twice the distance of the rays, so that every triangle meets at least one of them. In ours
a ray runs through the middle of each triangle, the value stays in an integer column, and rows of
one cell and group tuple share a triangle, as in cgRX (arXiv 2406.03965).

Z counts the entries of the BVH's offsets, not its cells: cells that do not occur take no room.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from raydb.kernels.device import DeviceError
from raydb.kernels.split import number_tuples

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.kernels.bvh import Bvh

Encoding = Literal["lanes", "paper"]

# float32 holds halves up to here: an entry, and the ends of a ray half an entry before and behind.
SLAB_ENTRIES = 2**23

# On X and Y halves are told apart with a bit to spare; the lanes of one slab lie side by side, and
# those of the next beyond them. In the paper's encoding rays may also run at whole numbers.
MOST_HALVES = 2**22
MOST_WHOLE = 2**24

# Lanes of Y let a ray pass by groups that are filtered out; lanes of X share out crowded cells.
# More of either are more rays that meet nothing.
MOST_Y_LANES = 64
MOST_X_LANES = 32

# In the paper's encoding: so many rays beside each other on X at most, and on Y.
PAPER_LANES = 64

# A triangle around (0, 0) in units of the lanes' distance: the next rays, at 1, pass by.
CORNERS = np.array([[-0.5, -0.5], [0.5, -0.5], [0.0, 0.5]], np.float32)


@dataclass(frozen=True, eq=False, slots=True)
class Scene:
    """Triangles and what a hit needs to know.

    triangles: float32, shape (bucket_count, 3, 3); the corners of each bucket's triangle.
    firsts: int64, shape (bucket_count + 1,); bucket b has rows firsts[b] to before firsts[b + 1].
    places: int64, shape (row_count,); the place in the BVH of each of the scene's rows.
    tuple_of: int32, shape (bucket_count,); the group tuple of each bucket.
    tuple_codes: for each of the BVH's stored hierarchies the code of every tuple (int64).
    lane_x, lane_y: float32, where rays run in one slab; slab_step: the distance of two slabs on X.
    slab_entries: how many entries a slab has. tuples_a_lane: how many tuples share a lane of Y.
    """

    encoding: Encoding
    triangles: NDArray[np.float32]
    firsts: NDArray[np.int64]
    places: NDArray[np.int64]
    tuple_of: NDArray[np.int32]
    tuple_codes: tuple[NDArray[np.int64], ...]
    lane_x: NDArray[np.float32]
    lane_y: NDArray[np.float32]
    slab_step: int
    slab_entries: int
    tuples_a_lane: int

    @property
    def bucket_count(self) -> int:
        """The number of triangles."""
        return len(self.tuple_of)

    @property
    def tuple_count(self) -> int:
        """The number of distinct tuples of stored codes; 1 where nothing is stored."""
        return len(self.tuple_codes[0]) if self.tuple_codes else 1


@dataclass(frozen=True, eq=False, slots=True)
class _Rows:
    """Rows in the order of (entry, tuple, place), each with all three."""

    entries: NDArray[np.int64]
    tuples: NDArray[np.int64]
    places: NDArray[np.int64]


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
    rows = _sort_rows(bvh, tuples, y_range)
    tuple_count = len(tuple_codes[0]) if tuple_codes else 1
    slab_count = max(-(-(len(bvh.offsets) - 1) // slab_entries), 1)
    build = _build_lanes if encoding == "lanes" else _build_paper
    return build(bvh, rows, tuple_codes, tuple_count, slab_entries, slab_count)


def _sort_rows(bvh: Bvh, tuples: NDArray[np.int64], y_range: tuple[int, int] | None) -> _Rows:
    """Order the rows of a cell by their tuple; dead rows have no triangle."""
    entries = np.repeat(np.arange(len(bvh.offsets) - 1), np.diff(bvh.offsets))
    kept = np.ones(bvh.row_count, np.bool_)
    if bvh.dead is not None:
        kept[bvh.dead] = False
    if y_range is not None:
        kept &= (tuples >= y_range[0]) & (tuples < y_range[1])
    places = np.flatnonzero(kept)
    entries, tuples = entries[places], tuples[places]
    if bvh.stored:
        order = np.lexsort((tuples, entries))
        entries, tuples, places = entries[order], tuples[order], places[order]
    return _Rows(entries, tuples, places)


def _build_lanes(
    bvh: Bvh,
    rows: _Rows,
    tuple_codes: tuple[NDArray[np.int64], ...],
    tuple_count: int,
    slab_entries: int,
    slab_count: int,
) -> Scene:
    """One triangle for the rows of one entry and tuple."""
    del bvh
    changes = np.flatnonzero((np.diff(rows.entries) != 0) | (np.diff(rows.tuples) != 0)) + 1
    firsts = np.concatenate([np.zeros(min(len(rows.places), 1), np.int64), changes])
    entries, tuples = rows.entries[firsts], rows.tuples[firsts]
    tuples_a_lane = -(-tuple_count // MOST_Y_LANES)
    y = tuples // tuples_a_lane
    # The position of a bucket among those of its entry and lane of Y decides its lane of X.
    starts = np.flatnonzero(
        np.concatenate(
            [np.ones(min(len(y), 1), np.bool_), (np.diff(entries) != 0) | (np.diff(y) != 0)]
        )
    )
    sizes = np.diff(np.append(starts, len(y)))
    # As many as a bucket finds beside it on average: more would be rays that meet nothing, and
    # what is more crowded shares a lane, triangle upon triangle.
    beside = int((sizes**2).sum() / max(sizes.sum(), 1))
    x_lanes = min(max(beside, 1), MOST_X_LANES)
    x = (np.arange(len(y)) - np.repeat(starts, sizes)) % x_lanes
    _check_width(slab_count * x_lanes, MOST_HALVES)
    x += entries // slab_entries * x_lanes
    z = entries % slab_entries
    corners = np.empty((len(y), 3, 3), np.float32)
    corners[:, :, 0] = x[:, None] + CORNERS[:, 0]
    corners[:, :, 1] = y[:, None] + CORNERS[:, 1]
    corners[:, :, 2] = z[:, None]
    return Scene(
        encoding="lanes",
        triangles=corners,
        firsts=np.append(firsts, len(rows.places)),
        places=rows.places,
        tuple_of=tuples.astype(np.int32),
        tuple_codes=tuple_codes,
        lane_x=np.arange(x_lanes, dtype=np.float32),
        lane_y=np.arange(-(-tuple_count // tuples_a_lane), dtype=np.float32),
        slab_step=x_lanes,
        slab_entries=slab_entries,
        tuples_a_lane=tuples_a_lane,
    )


def _build_paper(
    bvh: Bvh,
    rows: _Rows,
    tuple_codes: tuple[NDArray[np.int64], ...],
    tuple_count: int,
    slab_entries: int,
    slab_count: int,
) -> Scene:
    """One triangle a row, at its first measure: (x, y, z), (x + 2 dx, y, z), (x, y + 2 dy, z)."""
    x, width = _values(bvh, rows)
    x_step = -(-width // PAPER_LANES)
    y_step = -(-tuple_count // PAPER_LANES)
    slab_step = (-(-width // x_step) + 3) * x_step
    _check_width(tuple_count + 3 * y_step, MOST_HALVES)
    _check_width(slab_count * slab_step, MOST_WHOLE)
    # Rays half a step beside the points meet none of them. Where X is too wide for halves, a point
    # on a ray is met by the next one, a whole step on and still inside of the leg.
    x_side = 0.5 if slab_count * slab_step <= MOST_HALVES else 0.0
    x = x + rows.entries // slab_entries * slab_step
    z = rows.entries % slab_entries
    corners = np.empty((len(x), 3, 3), np.float32)
    corners[:, :, 0] = x[:, None] + np.array([0, 2 * x_step, 0])
    corners[:, :, 1] = rows.tuples[:, None] + np.array([0, 0, 2 * y_step])
    corners[:, :, 2] = z[:, None]
    return Scene(
        encoding="paper",
        triangles=corners,
        firsts=np.arange(len(x) + 1),
        places=rows.places,
        tuple_of=rows.tuples.astype(np.int32),
        tuple_codes=tuple_codes,
        lane_x=_beside(width, x_step, x_side),
        lane_y=_beside(tuple_count, y_step, 0.5),
        slab_step=slab_step,
        slab_entries=slab_entries,
        tuples_a_lane=y_step,
    )


def _values(bvh: Bvh, rows: _Rows) -> tuple[NDArray[np.int64], int]:
    """Return X of each row, from 0, and how many values there may be."""
    if not bvh.measures:
        return np.zeros(len(rows.places), np.int64), 1
    measure = bvh.measures[0]
    width = measure.high - measure.low + 1
    if measure.is_float:
        raise DeviceError(
            "rt: the paper's encoding has an integer on X, and the first measure of the BVH is "
            "none; SET rt_encoding = 'lanes'"
        )
    if width > MOST_WHOLE:
        raise DeviceError(
            f"rt: the paper's encoding puts the first measure of the BVH on X, and float32 does "
            f"not tell {width} values apart; SET rt_encoding = 'lanes'"
        )
    return measure.values[rows.places].astype(np.int64) - measure.low, width


def _beside(width: int, step: int, side: float) -> NDArray[np.float32]:
    """Return where rays run so that every leg of 2 * step from 0 .. width - 1 meets one inside."""
    return np.arange(-(-width // step) + 2, dtype=np.float32) * np.float32(step) + np.float32(side)


def _check_width(width: int, most: int) -> None:
    if width > most:
        raise DeviceError(f"rt: of {width} places side by side float32 tells {most} apart")


def scene_bytes(bvh: Bvh) -> int:
    """Return at least what a scene and its acceleration structure take on a device.

    36 bytes a triangle, about as many again in the structure, and the measures.
    """
    return 72 * bvh.row_count + sum(m.values.nbytes for m in bvh.measures)
