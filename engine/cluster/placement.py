"""Which worker scans which rows: as many each, and mostly the same as before.

A segment goes to the worker that its hash likes best and that has room (rendezvous hashing with
bounded loads), so that few move where a worker comes or goes. Room is counted in the rows that may
pass. Where few segments are left they are cut in 32 parts, and each worker ends with some of one:

    eight segments, of the last .29, and two workers    3.66 and 3.63 instead of 4 and 3.29
    nine segments, of which one is small                4 and 4 instead of 5 and 3
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import xxhash

from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raydb.engine.cluster.pruning import Segments

_PIECES = 32

# A segment in which fewer rows may pass is not cut, nor where a worker has so many segments.
_LEAST_CUT = 2**19
_MANY_SEGMENTS = 8


@dataclass(frozen=True, slots=True)
class Piece:
    """A range of rows or places of a segment, first and behind the last; so many may pass."""

    segment: int
    first: int
    stop: int
    rows: int


@dataclass(frozen=True, slots=True)
class Placement:
    """Pieces in the order of rows, and by their numbers which each of the workers scans."""

    workers: Mapping[str, str]
    pieces: Sequence[Piece]
    given: Mapping[str, list[int]]


def place(segments: Segments, workers: Mapping[str, str], what: str, *, may_cut: bool) -> Placement:
    """Return who scans what of the segments that are left.

    what: the table or BVH. may_cut: whether the groups of a segment's parts are those of all of it.
    """
    may_cut &= len(workers) > 1 and len(segments.left) < _MANY_SEGMENTS * len(workers)
    ends = np.array([segments.ranges[number] for number in segments.left], np.int64).reshape(-1, 2)
    firsts, stops = ends[:, :1], ends[:, 1:]
    edges = firsts + (stops - firsts) * np.arange(_PIECES + 1) // _PIECES
    # All are counted at once: ranges that are read may be many.
    whole, parts = segments.passing(ends), segments.passing(edges)
    cut = []
    for row, number in enumerate(segments.left):
        is_cut = may_cut and whole[row, 0] >= _LEAST_CUT
        bounds, rows = (edges, parts) if is_cut else (ends, whole)
        passing = zip(pairwise(bounds[row].tolist()), rows[row].tolist(), strict=True)
        cut += [Piece(number, *own, count) for own, count in passing]
    pieces: list[Piece] = []
    owners: list[str] = []
    given = assign(dict(enumerate(cut)), workers, what)
    owner = {number: worker for worker, numbers in given.items() for number in numbers}
    for number, piece in enumerate(cut):
        last = pieces[-1] if pieces else None
        if last and last.segment == piece.segment and owners[-1] == owner[number]:
            pieces[-1] = Piece(last.segment, last.first, piece.stop, last.rows + piece.rows)
        else:
            pieces.append(piece)
            owners.append(owner[number])
    numbers = {each: [n for n, owner in enumerate(owners) if owner == each] for each in given}
    return Placement(workers, pieces, numbers)


def assign(
    pieces: Mapping[int, Piece], workers: Mapping[str, str], what: str
) -> dict[str, list[int]]:
    """Return the numbers of the pieces that each worker scans.

    Segments of most rows choose first. A worker has room for a piece half of which fits its share.
    """
    totals = Counter[int]()
    for piece in pieces.values():
        totals[piece.segment] += piece.rows
    share = totals.total() / len(workers)
    loads = dict.fromkeys(workers, 0)
    liked: dict[int, list[str]] = {}
    given: dict[str, list[int]] = {}
    for number in sorted(pieces, key=lambda number: (-totals[pieces[number].segment], number)):
        piece = pieces[number]
        if piece.segment not in liked:
            hashes = {
                each: xxhash.xxh64_intdigest(f"{what}/{piece.segment}/{name}".encode())
                for each, name in workers.items()
            }
            liked[piece.segment] = sorted(workers, key=hashes.__getitem__, reverse=True)
        least = min(loads.values())
        best = next(
            each
            for each in liked[piece.segment]
            if loads[each] == least or loads[each] + piece.rows / 2 <= share
        )
        loads[best] += piece.rows
        given.setdefault(best, []).append(number)
    return {worker: sorted(numbers) for worker, numbers in given.items()}
