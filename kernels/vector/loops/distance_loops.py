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

import numpy as np

from raydb.kernels.jit import compiled, entry, inlined, inner, leaf, not_inlined
from raydb.kernels.vector.loops.quantization import Codes, reach_of, weigh
from raydb.kernels.vector.loops.ranking import COSINE, L2, distance, insert, kind_of, sink
from raydb.kernels.vector.loops.simd import (
    PADDED,
    PRODUCTS,
    add_up,
    at_most,
    sum_of,
    trailing_zeros,
)
from raydb.kernels.vector.loops.stop_loops import Prepared

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


class Room(NamedTuple):
    """What a scan writes into: packed queries, scores, allowed rows with their places.

    weights (q, d) and added (q, 2): what `weigh` makes of queries, where rows have codes. kept: a
    chunk's scores once more.
    """

    packed: NDArray[np.float32]
    weights: NDArray[np.float32]
    added: NDArray[np.float32]
    kept: NDArray[np.float32]
    scores: NDArray[np.float32]
    copied: NDArray[np.float32]
    places: NDArray[np.int64]


class Search(NamedTuple):
    """A search under way.

    heaps (q, k): the least scores of each query so far, the greatest first, infinity for none.
    """

    metric: int
    rows: Rows
    targets: Prepared
    heaps: NDArray[np.float32]
    room: Room


class Pairs(NamedTuple):
    """Pairs of a list of rows and a query: its number, and its last entry, -1 for none.

    is_counted: whether rows count as soon as they are scanned.
    """

    numbers: NDArray[np.int64]
    heads: NDArray[np.int32]
    is_counted: bool


class Entries(NamedTuple):
    """Rows that may be among the nearest: their scores and places, and which entry came before.

    used (1): how many there are.
    """

    scores: NDArray[np.float32]
    places: NDArray[np.uint32]
    before: NDArray[np.int32]
    used: NDArray[np.int64]


class _Chunk(NamedTuple):
    """Rows that are scored together: the list they are of, the first one, and how many.

    is_copied: whether they are the allowed rows alone, at `Room.places`.
    """

    list_number: Any
    first: Any
    count: Any
    is_copied: bool


@leaf
def bound_of(kth: Any, slack: NDArray[np.float32]) -> Any:
    """Return the score up to which rows may be nearer than one with the score `kth`."""
    if kth == np.float32(inf):
        return kth
    return np.float32(kth + abs(kth) * slack[0] + slack[1])


@inner
def new_room(query_count: int, width: int, has_filter: bool, has_codes: bool) -> Room:
    """Return what `scan` needs for so many queries."""
    group = min(query_count, GROUP_QUERIES)
    copied = CHUNK_ROWS if has_filter else 0
    coded = group if has_codes else 0
    return Room(
        np.empty((group, width), np.float32),
        np.empty((coded, width), np.float32),
        np.empty((coded, 2), np.float32),
        np.empty(CHUNK_ROWS if has_codes else 0, np.float32),
        np.empty((group, CHUNK_ROWS + PADDED), np.float32),
        np.empty((copied, width), np.float32),
        np.empty(copied, np.int64),
    )


@inner
def new_entries(count: int) -> Entries:
    """Return room for so many entries."""
    scores, places = np.empty(count, np.float32), np.empty(count, np.uint32)
    return Entries(scores, places, np.empty(count, np.int32), np.zeros(1, np.int64))


@inner
def _with_room(entries: Entries, more: int) -> Entries:
    """Return the entries with room for more."""
    used = entries.used[0]
    if used + more <= len(entries.scores):
        return entries
    grown: Entries = new_entries(max(2 * len(entries.scores), used + more))
    for i in range(used):
        grown.scores[i] = entries.scores[i]
        grown.places[i] = entries.places[i]
        grown.before[i] = entries.before[i]
    grown.used[0] = used
    return grown


@leaf
def _allowed_rows(rows: Rows, start: int, end: int, room: Room) -> int:
    """Return how many rows count, at most as many as a chunk has; write their places."""
    count = 0
    for place in range(start, end):
        room.places[count] = place
        count += rows.allowed[rows.row_ids[place]]
        if count == CHUNK_ROWS:
            break
    return count


@inner
def scan(
    search: Search,
    codes: Codes | None,
    pairs: Pairs,
    asking: NDArray[np.int64],
    list_number: int,
    start: int,
    end: int,
    entries: Entries,
) -> Entries:
    """Compare the rows start .. end - 1 with the queries of the pairs `asking`; return all entries.

    list_number: that of the rows. codes: say which rows to compare, None where there are none.
    """
    for first in range(start, end, CHUNK_ROWS):
        last = min(first + CHUNK_ROWS, end)
        for group in range(0, len(asking), GROUP_QUERIES):
            some = asking[group : group + GROUP_QUERIES]
            entries = _with_room(entries, len(some) * (last - first))
            scan_chunk(search, codes, pairs, some, list_number, first, last, entries)
    return entries


@leaf
def _copy(vector: NDArray[np.float32], target: NDArray[np.float32]) -> None:
    # An assignment of slices would ask whether they share memory, and have room for that.
    for place in range(len(vector)):
        target[place] = vector[place]


@leaf
def scan_chunk(
    search: Search,
    codes: Codes | None,
    pairs: Pairs,
    asking: NDArray[np.int64],
    list_number: int,
    first: int,
    last: int,
    entries: Entries,
) -> None:
    """Do as `scan` for the rows of a chunk and a group of queries; there is room for all."""
    not_inlined()
    rows, room = search.rows, search.room
    count, is_copied = last - first, False
    kind, is_l2 = kind_of(search.metric), search.metric == L2
    if len(rows.allowed):
        allowed = _allowed_rows(rows, first, last, room)
        is_copied = allowed * _SPARSE < count
        if is_copied:
            count = allowed
            for i in range(count):
                _copy(rows.vectors[room.places[i]], room.copied[i])
    for i in range(len(asking)):
        _copy(search.targets.scaled[pairs.numbers[asking[i]]], room.packed[i])
        if codes is not None:
            center, step = codes.centers[list_number], codes.steps[list_number]
            total, length = weigh(is_l2, room.packed[i], center, step, room.weights[i])
            room.added[i, 0], room.added[i, 1] = total, length
    if is_copied:
        add_up(kind, room.copied[:count], room.packed[: len(asking)], room.scores)
    elif codes is not None:
        add_up(PRODUCTS, codes.codes[first:last], room.weights[: len(asking)], room.scores)
    else:
        add_up(kind, rows.vectors[first:last], room.packed[: len(asking)], room.scores)
    chunk = _Chunk(np.int64(list_number), np.int64(first), np.int64(count), is_copied)
    for i in range(len(asking)):
        _collect(search, codes, pairs, asking[i], chunk, i, entries)


@inlined
def _finish(search: Search, chunk: _Chunk, scores: NDArray[np.float32]) -> None:
    """Make scores of sums."""
    if kind_of(search.metric) != PRODUCTS:
        return
    for i in range(chunk.count):
        score = -scores[i]
        if search.metric == COSINE:
            place = search.room.places[i] if chunk.is_copied else chunk.first + i
            score *= search.rows.scales[place]
        scores[i] = score


@leaf
def _kth_least(scores: NDArray[np.float32], count: int, k: int, room: NDArray[np.float32]) -> Any:
    """Return the k-th least of `count` scores, more than k. room: of k numbers or more."""
    heap = room[:k]
    for place in range(k):
        heap[place] = scores[place]
    for place in range(k // 2 - 1, -1, -1):
        sink(heap, place)
    for i in range(k, count):
        if scores[i] < heap[0]:
            heap[0] = scores[i]
            sink(heap, 0)
    return heap[0]


@inlined
def _limit_of(
    search: Search, codes: Codes, chunk: _Chunk, asking: int, bound: Any, is_filtered: bool
) -> Any:
    """Make approximate scores of sums, and return up to which of them a row may count."""
    is_l2, errors, width = search.metric == L2, codes.errors[chunk.list_number], len(codes.steps[0])
    scores, added, k = search.room.scores[asking], search.room.added[asking], search.heaps.shape[1]
    for i in range(chunk.count):
        scores[i] += added[0] + codes.squares[chunk.first + i] if is_l2 else added[0]
    limit = reach_of(is_l2, bound, 1, added[0], added[1], errors, width)
    if limit == np.float32(inf) and not is_filtered and k < chunk.count:
        # k rows are nearer than that, so others need not be compared.
        kth = _kth_least(scores, chunk.count, k, search.room.kept)
        limit = reach_of(is_l2, kth, 2, added[0], added[1], errors, width)
    return limit


@inlined
def _collect(
    search: Search,
    codes: Codes | None,
    pairs: Pairs,
    pair: int,
    chunk: _Chunk,
    asking: int,
    entries: Entries,
) -> None:
    """Add the rows of a chunk within a query's bound to the entries of a pair.

    asking: the query's place in the room. Scores of codes say which rows to compare as vectors.
    """
    metric, rows, room = search.metric, search.rows, search.room
    query, head, used = pairs.numbers[pair], pairs.heads[pair], entries.used[0]
    slack, heap, scores = search.targets.slack[query], search.heaps[query], room.scores[asking]
    bound, first, count = bound_of(heap[0], slack), chunk.first, chunk.count
    is_filtered = len(rows.allowed) > 0 and not chunk.is_copied
    limit = bound
    if codes is None or chunk.is_copied:
        _finish(search, chunk, scores)
    else:
        limit = _limit_of(search, codes, chunk, asking, bound, is_filtered)
    for i in range(count, count + -count % PADDED):
        scores[i] = nan
    for base in range(0, count, PADDED):
        mask = at_most(scores.ctypes.data + 4 * base, limit)
        while mask:
            i = base + trailing_zeros(mask)
            mask &= mask - np.uint64(1)
            score = scores[i]
            if score > limit:
                continue
            place = room.places[i] if chunk.is_copied else first + i
            if is_filtered and not rows.allowed[rows.row_ids[place]]:
                continue
            if codes is not None and not chunk.is_copied:
                score = sum_of(kind_of(metric), rows.vectors[place], room.packed[asking])
                if metric != L2:
                    score *= -rows.scales[place] if metric == COSINE else np.float32(-1)
                if score > bound:
                    continue
            entries.scores[used] = score
            entries.places[used] = place
            entries.before[used] = head
            head = np.int32(used)
            used += 1
            if pairs.is_counted and score < heap[0]:
                heap[0] = score
                sink(heap, 0)
                bound = bound_of(heap[0], slack)
                if codes is None or chunk.is_copied:
                    limit = bound
                else:
                    total, length = room.added[asking, 0], room.added[asking, 1]
                    errors, width = codes.errors[chunk.list_number], rows.vectors.shape[1]
                    reach = reach_of(metric == L2, bound, 1, total, length, errors, width)
                    limit = min(limit, reach)
    pairs.heads[pair], entries.used[0] = head, used


@compiled
def rank(
    metric: int,
    rows: Rows,
    targets: Prepared,
    heaps: NDArray[np.float32],
    pairs: Pairs,
    entries: Entries,
    distances: NDArray[np.float64],
    found: NDArray[np.int64],
) -> None:
    """Put the entries of each pair within its query's bound among its nearest rows; none are left.

    heaps: as of `Search`. distances, found (q, k): the nearest rows of each query.
    """
    for pair in range(len(pairs.heads)):
        query, head = pairs.numbers[pair], np.int64(pairs.heads[pair])
        bound = bound_of(heaps[query, 0], targets.slack[query])
        while head >= 0:
            if entries.scores[head] <= bound:
                place = np.int64(entries.places[head])
                away = distance(metric, rows.vectors[place], targets.queries[query])
                insert(away, np.int64(rows.row_ids[place]), distances[query], found[query])
            head = np.int64(entries.before[head])
        pairs.heads[pair] = -1
    entries.used[0] = 0


@entry
def search_rows(
    metric: int,
    compared: Any,
    asked: Any,
    heaps: NDArray[np.float32],
    distances: NDArray[np.float64],
    found: NDArray[np.int64],
) -> None:
    """Find the nearest of some rows, where they may be nearer than `heaps` (q, k) say.

    compared, asked: `Rows` and `Prepared` as plain tuples, which numba takes in a third of the
    time. distances, found (q, k) receive the rows.
    """
    rows, targets, count = Rows(*compared), Prepared(*asked), len(found)
    room = new_room(count, rows.vectors.shape[1], False, False)
    search = Search(metric, rows, targets, heaps, room)
    asking = np.arange(count)
    pairs = Pairs(asking, np.full(count, -1, np.int32), True)
    entries, end = new_entries(count), len(rows.row_ids)
    for first in range(0, end, _PART_ROWS):
        last = min(first + _PART_ROWS, end)
        entries = scan(search, None, pairs, asking, first, first, last, entries)
        if entries.used[0] > ENTRY_LIMIT or last == end:
            rank(metric, rows, targets, heaps, pairs, entries, distances, found)
