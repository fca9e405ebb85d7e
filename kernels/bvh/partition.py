"""Parts of a BVH for several devices, cut along Y (RayDB, section 5).

    tuples of stored codes   0 0 0 1 1 2 3 3 3 3 4 4   (of each row, in the order of the tuples)
    two parts                [         ] [         ]   whole tuples, about as many rows each

Every device has all cells, so that each part has a share of every job; of a group only the tuples
that fall to two devices are in two of their results, which are added up. Where one tuple has more
rows than a part should (a BVH without stored codes has one tuple only), rows are dealt in turn.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.bvh.bvh import Bvh, Measure
from raydb.values import replace

if TYPE_CHECKING:
    from numpy.typing import NDArray

# A device gets at least so many rows; what a further one saves is not measured yet.
PART_ROWS = 2**24

# Tuples are numbered with a table of all that might be, up to so many and four a row.
NUMBERED_TUPLES = 2**20

# Rows are numbered so many at a time.
BLOCK_ROWS = 2**17

# A part may have so many times the rows of an equal share.
MAX_SHARE = 1.25


def number_tuples(bvh: Bvh) -> tuple[NDArray[np.int32], tuple[NDArray[np.int64], ...]]:
    """Return the tuple of stored codes of each row, numbered in order, and the codes of each."""
    numbers = np.zeros(bvh.row_count, np.int32)
    tuple_count = 1
    columns: list[NDArray[np.int64]] = []
    for position, codes in zip(bvh.stored, bvh.codes, strict=True):
        count = bvh.hierarchies[position].code_count
        distinct = _join(numbers, codes, tuple_count, count)
        tuple_count = len(distinct)
        before, last = np.divmod(distinct, max(count, 1))
        columns = [column[before] for column in columns] + [last]
    return numbers, tuple(columns)


def _join(
    numbers: NDArray[np.int32], codes: NDArray[Any], tuple_count: int, code_count: int
) -> NDArray[np.int64]:
    """Put in place of each row's number that of the pair with its code, in order.

    Returns number * code_count + code of every pair that occurs.
    """

    def pairs(first: int, last: int) -> NDArray[np.int64]:
        wide = codes[first:last].astype(np.int64)
        wide[wide < 0] += code_count
        return wide + numbers[first:last].astype(np.int64) * code_count

    row_count, end = len(numbers), tuple_count * code_count
    if end > max(NUMBERED_TUPLES, 4 * row_count):
        distinct, places = np.unique(pairs(0, row_count), return_inverse=True)
        numbers[:] = places
        return distinct
    # In blocks, so that no array of wide numbers for all rows is made.
    blocks = [(low, min(low + BLOCK_ROWS, row_count)) for low in range(0, row_count, BLOCK_ROWS)]
    occurs = np.zeros(end, np.bool_)
    for block in blocks:
        occurs[pairs(*block)] = True
    place_of = np.cumsum(occurs, dtype=np.int32) - np.int32(1)
    for block in blocks:
        numbers[slice(*block)] = place_of[pairs(*block)]
    return np.flatnonzero(occurs)


def cut_tuples(sizes: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return the part (0 to count - 1) of each tuple; `sizes` are the rows of each.

    >>> cut_tuples(np.array([3, 2, 1, 4, 2]), 2)
    array([0, 0, 0, 1, 1])
    """
    middles = np.cumsum(sizes) - sizes / 2
    parts: NDArray[np.int64] = (middles * count / max(int(sizes.sum()), 1)).astype(np.int64)
    return np.minimum(parts, count - 1)


def split_rows(bvh: Bvh, count: int) -> tuple[Bvh, ...]:
    """Cut a BVH into parts of about as many rows, each of them a BVH of all cells.

    The `row_ids` of a part are the places in the whole of its rows. Dead places are left to
    `with_dead`.
    """
    tuples, _ = number_tuples(bvh)
    sizes = np.bincount(tuples, minlength=1)
    part_of = cut_tuples(sizes, count)
    rows = np.bincount(part_of, weights=sizes, minlength=count)
    if rows.max() > MAX_SHARE * bvh.row_count / count:
        owners = np.arange(bvh.row_count) % count
    else:
        owners = part_of[tuples]
    return tuple(_part(bvh, owners == part) for part in range(count))


def _part(bvh: Bvh, mine: NDArray[np.bool_]) -> Bvh:
    places = np.flatnonzero(mine)
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(mine, dtype=np.int64)])
    measures = tuple(
        Measure(m.values[places], None if m.valid is None else m.valid[places], m.low, m.high)
        for m in bvh.measures
    )
    return replace(
        bvh,
        offsets=before[bvh.offsets],
        row_ids=places.astype(np.uint32),
        codes=tuple(codes[places] for codes in bvh.codes),
        measures=measures,
        dead=None,
        sieve=None,
    )


def with_dead(part: Bvh, dead: NDArray[np.int64] | None) -> Bvh:
    """Return a part that leaves out dead places, which are those of the whole BVH."""
    if dead is None:
        return part
    places = np.searchsorted(part.row_ids, dead)
    mine = places < part.row_count
    mine[mine] = part.row_ids[places[mine]] == dead[mine]
    return replace(part, dead=places[mine]) if mine.any() else part


class Parts:
    """The parts of BVHs, made once and forgotten with the BVH."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, int], tuple[weakref.ref[Any], tuple[Bvh, ...]]] = {}

    def of(self, bvh: Bvh, count: int) -> tuple[Bvh, ...]:
        """Return a BVH in so many parts, itself where there is one."""
        if count == 1:
            return (bvh,)
        key = id(bvh.offsets), count
        if key not in self._made:
            gone = weakref.ref(bvh.offsets, lambda _: self._made.pop(key, None))
            self._made[key] = gone, split_rows(bvh, count)
        return tuple(with_dead(part, bvh.dead) for part in self._made[key][1])
