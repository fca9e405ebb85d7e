"""The hot loops of vector search: distances to many rows, and the nearest of them.

    rows x queries  ->  scores (float32)  ->  those within the bound of a query: entries
    entries  ->  distances (float64)  ->  the k nearest, by distance and then by row number

The bound is the k-th score so far and what rounding may have added to it, so each row among the k
nearest has an entry. Entries are ranked by `distance`, which adds up in float64 in one order: what
a query finds does not depend on who scanned the rows, nor on what other queries there were.
"""

from __future__ import annotations

from math import inf, nan
from typing import TYPE_CHECKING, Any, NamedTuple

import numba
import numpy as np

from raydb.kernels.cpu.codes import Codes, reach_of, weigh
from raydb.kernels.cpu.lanes import (
    BYTE_PRODUCTS,
    PADDED,
    PRODUCTS,
    SQUARES,
    add_up,
    at_most,
    trailing_zeros,
)
from raydb.kernels.cpu.ranking import COSINE, IP, L2, distance, insert, sink

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Rows whose scores are computed together: 16 queries by 512 rows are 32 KiB of scores.
CHUNK_ROWS = 512
GROUP_QUERIES = 16

# Rows that are compared between two looks at the number of entries.
_PART_ROWS = 8 * CHUNK_ROWS

# Entries are ranked once there are so many (3 MiB), and at the end.
ENTRY_LIMIT = 2**18

# A chunk with a smaller share of allowed rows is copied together before it is compared.
_SPARSE = 2


class Rows(NamedTuple):
    """Rows to compare: vectors (n, d), row_ids (n), and 1 / norm (n) under cosine, else empty.

    allowed: whether a row counts, by its number; empty where all do.
    """

    vectors: NDArray[np.float32]
    row_ids: NDArray[np.uint32]
    scales: NDArray[np.float32]
    allowed: NDArray[np.bool_]


class Targets(NamedTuple):
    """Queries (q, d), and what their scores are computed with: unit vectors under cosine.

    slack (q, 2): how much rounding may add to a score, in parts of it and beside.
    """

    queries: NDArray[np.float32]
    scaled: NDArray[np.float32]
    slack: NDArray[np.float32]


class Entries(NamedTuple):
    """Rows that may be among the nearest: their scores and places, and which entry came before."""

    scores: NDArray[np.float32]
    places: NDArray[np.uint32]
    before: NDArray[np.int32]


class Room(NamedTuple):
    """What a scan writes into: packed queries, scores, allowed rows with their places.

    weights (q, d) and added (q, 2): what `weigh` makes of queries, where rows have codes.
    """

    packed: NDArray[np.float32]
    weights: NDArray[np.float32]
    added: NDArray[np.float32]
    bounds: NDArray[np.float32]
    scores: NDArray[np.float32]
    copied: NDArray[np.float32]
    places: NDArray[np.int64]


@numba.njit(cache=True, nogil=True)
def bound_of(kth: Any, slack: NDArray[np.float32]) -> Any:
    """Return the score up to which rows may be nearer than one with the score `kth`."""
    if kth == np.float32(inf):
        return kth
    return np.float32(kth + abs(kth) * slack[0] + slack[1])


@numba.njit(cache=True, nogil=True)
def new_room(query_count: int, width: int, has_filter: bool, has_codes: bool) -> Room:
    """Return what `scan` needs for so many queries."""
    group = min(query_count, GROUP_QUERIES)
    copied = CHUNK_ROWS if has_filter else 0
    return Room(
        np.empty((query_count, width), np.float32),
        np.empty((query_count if has_codes else 0, width), np.float32),
        np.empty((query_count, 2), np.float32),
        np.empty(query_count, np.float32),
        np.empty((group, CHUNK_ROWS + PADDED), np.float32),
        np.empty((copied, width), np.float32),
        np.empty(copied, np.int64),
    )


@numba.njit(cache=True, nogil=True)
def new_entries(count: int) -> Entries:
    """Return room for so many entries."""
    return Entries(
        np.empty(count, np.float32), np.empty(count, np.uint32), np.empty(count, np.int32)
    )


@numba.njit(cache=True, nogil=True)
def _with_room(entries: Entries, used: int, more: int) -> Entries:
    """Return the entries with room for more."""
    if used + more <= len(entries.scores):
        return entries
    grown = new_entries(max(2 * len(entries.scores), used + more))
    grown.scores[:used] = entries.scores[:used]
    grown.places[:used] = entries.places[:used]
    grown.before[:used] = entries.before[:used]
    return grown


@numba.njit(cache=True, nogil=True)
def _allowed_rows(rows: Rows, start: int, end: int, room: Room) -> int:
    """Return how many rows count, at most as many as a chunk has; write their places."""
    count = 0
    for place in range(start, end):
        room.places[count] = place
        count += rows.allowed[rows.row_ids[place]]
        if count == CHUNK_ROWS:
            break
    return count


@numba.njit(cache=True, nogil=True)
def scan(
    metric: int,
    rows: Rows,
    codes: Codes,
    each: Any,
    start: int,
    end: int,
    targets: Targets,
    numbers: NDArray[np.int64],
    pairs: NDArray[np.int64],
    heads: NDArray[np.int32],
    heaps: NDArray[np.float32],
    room: Room,
    entries: Entries,
    used: int,
) -> tuple[Entries, int]:
    """Compare the rows of some places with the queries `numbers`; return all entries.

    heaps (q, k): the least scores of each query, the greatest first, which are kept so.
    pairs: where `heads` has the last entry of each query, -1 for none. each: the list of the rows;
    where it has codes, they say which rows to compare.
    """
    has_codes = len(codes.codes) > 0
    for i in range(len(numbers)):
        query = numbers[i]
        room.packed[i] = targets.scaled[query]
        room.bounds[i] = bound_of(heaps[query, 0], targets.slack[query])
        if has_codes:
            center, step = codes.centers[each], codes.steps[each]
            total, length = weigh(metric == L2, room.packed[i], center, step, room.weights[i])
            room.added[i, 0], room.added[i, 1] = total, length
    first = start
    while first < end:
        last = min(first + CHUNK_ROWS, end)
        count = last - first
        is_copied = False
        if len(rows.allowed):
            count = _allowed_rows(rows, first, last, room)
            is_copied = count * _SPARSE < last - first
        if is_copied:
            for i in range(count):
                room.copied[i] = rows.vectors[room.places[i]]
        else:
            count = last - first
        compared = room.copied[:count] if is_copied else rows.vectors[first:last]
        for group in range(0, len(numbers), GROUP_QUERIES):
            some = min(group + GROUP_QUERIES, len(numbers))
            if has_codes and not is_copied:
                few = codes.codes[first:last]
                add_up(BYTE_PRODUCTS, few, room.weights[group:some], room.scores)
            else:
                kind = SQUARES if metric == L2 else PRODUCTS
                add_up(kind, compared, room.packed[group:some], room.scores)
            entries = _with_room(entries, used, (some - group) * count)
            for i in range(group, some):
                scores = room.scores[i - group]
                query = numbers[i]
                if has_codes and not is_copied:
                    used, head, bound = _collect_codes(
                        metric,
                        rows,
                        codes,
                        each,
                        first,
                        count,
                        room.packed[i : i + 1],
                        room.added[i],
                        scores,
                        heaps[query],
                        room.bounds[i],
                        targets.slack[query],
                        entries,
                        used,
                        heads[pairs[i]],
                    )
                    heads[pairs[i]] = head
                    room.bounds[i] = bound
                    continue
                _finish(metric, rows, first, count, is_copied, room.places, scores)
                used, head, bound = _collect(
                    rows,
                    first,
                    count,
                    is_copied,
                    room.places,
                    scores,
                    heaps[query],
                    room.bounds[i],
                    targets.slack[query],
                    entries,
                    used,
                    heads[pairs[i]],
                )
                heads[pairs[i]] = head
                room.bounds[i] = bound
        first = last
    return entries, used


@numba.njit(cache=True, nogil=True)
def _finish(
    metric: int,
    rows: Rows,
    first: int,
    count: int,
    is_copied: bool,
    places: NDArray[np.int64],
    scores: NDArray[np.float32],
) -> None:
    """Make scores of sums, and what lies behind them NaN up to a multiple of PADDED."""
    if metric == IP:
        for i in range(count):
            scores[i] = -scores[i]
    if metric == COSINE:
        if is_copied:
            for i in range(count):
                scores[i] *= -rows.scales[places[i]]
        else:
            scales = rows.scales[first : first + count]
            for i in range(count):
                scores[i] *= -scales[i]
    for i in range(count, count + -count % PADDED):
        scores[i] = nan


@numba.njit(cache=True, nogil=True)
def _collect(
    rows: Rows,
    first: int,
    count: int,
    is_copied: bool,
    places: NDArray[np.int64],
    scores: NDArray[np.float32],
    heap: NDArray[np.float32],
    bound: Any,
    slack: NDArray[np.float32],
    entries: Entries,
    used: int,
    head: Any,
) -> tuple[int, Any, Any]:
    """Add a query's scores within its bound; return how many entries there are, its last and it."""
    address = scores.ctypes.data
    is_filtered = len(rows.allowed) > 0 and not is_copied
    for base in range(0, count, PADDED):
        mask = at_most(address + 4 * base, bound)
        while mask:
            i = base + trailing_zeros(mask)
            mask &= mask - np.uint64(1)
            score = scores[i]
            if score > bound:
                continue
            place = places[i] if is_copied else first + i
            if is_filtered and not rows.allowed[rows.row_ids[place]]:
                continue
            entries.scores[used] = score
            entries.places[used] = place
            entries.before[used] = head
            head = np.int32(used)
            used += 1
            if score < heap[0]:
                heap[0] = score
                sink(heap, 0)
                bound = bound_of(heap[0], slack)
    return used, head, bound


@numba.njit(cache=True, nogil=True)
def _collect_codes(
    metric: int,
    rows: Rows,
    codes: Codes,
    each: Any,
    first: int,
    count: int,
    query: NDArray[np.float32],
    added: NDArray[np.float32],
    scores: NDArray[np.float32],
    heap: NDArray[np.float32],
    bound: Any,
    slack: NDArray[np.float32],
    entries: Entries,
    used: int,
    head: Any,
) -> tuple[int, Any, Any]:
    """Do as `_collect` with the products of a query (1, d) and codes: compare what they let pass.

    added (2): what `weigh` has returned.
    """
    is_l2, errors, width = metric == L2, codes.errors[each], query.shape[1]
    total, length = added[0], added[1]
    if is_l2:
        squares = codes.squares[first : first + count]
        for i in range(count):
            scores[i] += total + squares[i]
    else:
        for i in range(count):
            scores[i] += total
    scores[count : count + -count % PADDED] = nan
    is_filtered = len(rows.allowed) > 0
    wide = reach_of(is_l2, bound, False, total, length, errors, width)
    if wide == np.float32(inf) and not is_filtered and len(heap) < count:
        # k rows are nearer than that, so others need not be compared.
        kth = np.partition(scores[:count], len(heap) - 1)[len(heap) - 1]
        wide = reach_of(is_l2, kth, True, total, length, errors, width)
    exact = np.empty((1, PADDED), np.float32)
    for base in range(0, count, PADDED):
        mask = at_most(scores.ctypes.data + 4 * base, wide)
        while mask:
            i = base + trailing_zeros(mask)
            mask &= mask - np.uint64(1)
            place = first + i
            if scores[i] > wide or (is_filtered and not rows.allowed[rows.row_ids[place]]):
                continue
            row = rows.vectors[place : place + 1]
            add_up(SQUARES if is_l2 else PRODUCTS, row, query, exact)
            score = exact[0, 0]
            if metric == COSINE:
                score *= -rows.scales[place]
            elif metric == IP:
                score = -score
            if score > bound:
                continue
            entries.scores[used] = score
            entries.places[used] = place
            entries.before[used] = head
            head = np.int32(used)
            used += 1
            if score < heap[0]:
                heap[0] = score
                sink(heap, 0)
                bound = bound_of(heap[0], slack)
                wide = min(wide, reach_of(is_l2, bound, False, total, length, errors, width))
    return used, head, bound


@numba.njit(cache=True, nogil=True)
def rank(
    metric: int,
    rows: Rows,
    targets: Targets,
    numbers: NDArray[np.int64],
    heads: NDArray[np.int32],
    heaps: NDArray[np.float32],
    entries: Entries,
    distances: NDArray[np.float64],
    found: NDArray[np.int64],
) -> None:
    """Rank the entries of each pair within the bound of its query, `numbers`; none are left."""
    room = np.empty(1, np.float64)
    for pair in range(len(heads)):
        query, entry = numbers[pair], heads[pair]
        bound = bound_of(heaps[query, 0], targets.slack[query])
        while entry >= 0:
            if entries.scores[entry] <= bound:
                place = np.int64(entries.places[entry])
                away = distance(metric, rows.vectors[place], targets.queries[query], room)
                insert(away, np.int64(rows.row_ids[place]), distances[query], found[query])
            entry = entries.before[entry]
        heads[pair] = -1


@numba.njit(cache=True, nogil=True)
def search_rows(
    metric: int,
    rows: Rows,
    codes: Codes,
    start: int,
    end: int,
    targets: Targets,
    heaps: NDArray[np.float32],
    distances: NDArray[np.float64],
    found: NDArray[np.int64],
) -> None:
    """Find the nearest of the rows start .. end, where they may be nearer than `heaps` (q, k).

    distances, found (q, k) receive them. codes: none.
    """
    count = len(found)
    numbers = np.arange(count)
    heads = np.full(count, -1, np.int32)
    room = new_room(count, rows.vectors.shape[1], len(rows.allowed) > 0, False)
    entries, used = new_entries(0), 0
    for first in range(start, end, _PART_ROWS):
        last = min(first + _PART_ROWS, end)
        entries, used = scan(
            metric,
            rows,
            codes,
            0,
            first,
            last,
            targets,
            numbers,
            numbers,
            heads,
            heaps,
            room,
            entries,
            used,
        )
        if used > ENTRY_LIMIT or last == end:
            rank(metric, rows, targets, numbers, heads, heaps, entries, distances, found)
            used = 0
