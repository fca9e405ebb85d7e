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

from raydb.kernels.vector.atomics import carray, pointer_at
from raydb.kernels.vector.quantization import Codes, reach_of, weigh
from raydb.kernels.vector.ranking import COSINE, L2, distance, insert, sink
from raydb.kernels.vector.simd import PADDED, add_up, at_most, inner, leaf, sum_of, trailing_zeros

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


@inner
def rows_at(table: NDArray[np.int64], allowed_at: int, allowed_count: int) -> Rows:
    """Return the rows of a table of addresses (`raydb.kernels.vector.exact_search.rows_table`)."""
    count, width = table[0], table[1]
    return Rows(
        carray(pointer_at(table[2]), (count, width), np.float32),
        carray(pointer_at(table[3]), (count,), np.uint32),
        carray(pointer_at(table[4]), (table[5],), np.float32),
        carray(pointer_at(allowed_at), (allowed_count,), np.bool_),
    )


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
    return Entries(
        np.empty(count, np.float32), np.empty(count, np.uint32), np.empty(count, np.int32)
    )


@inner
def with_room(entries: Entries, used: int, more: int) -> Entries:
    """Return the entries with room for more."""
    if used + more <= len(entries.scores):
        return entries
    grown: Entries = new_entries(max(2 * len(entries.scores), used + more))
    for i in range(used):
        grown.scores[i] = entries.scores[i]
        grown.places[i] = entries.places[i]
        grown.before[i] = entries.before[i]
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
    metric: int,
    rows: Rows,
    codes: Codes | None,
    each: int,
    start: int,
    end: int,
    targets: Targets,
    numbers: NDArray[np.int64],
    pairs: NDArray[np.int64],
    first_pair: int,
    last_pair: int,
    heads: NDArray[np.int32],
    heaps: NDArray[np.float32],
    is_counted: bool,
    room: Room,
    entries: Entries,
    used: int,
) -> tuple[Entries, int]:
    """Compare the rows of some places with queries; return all entries.

    pairs, first_pair .. last_pair: each has its query in `numbers` and its last entry in `heads`,
    -1 for none. heaps (q, k): the least scores of each query, the greatest first, which are kept
    so if the rows count at once. each: the list of the rows; where there are codes, they say which
    rows to compare.
    """
    for first in range(start, end, CHUNK_ROWS):
        last = min(first + CHUNK_ROWS, end)
        for group in range(first_pair, last_pair, GROUP_QUERIES):
            some = min(group + GROUP_QUERIES, last_pair)
            entries = with_room(entries, used, (some - group) * (last - first))
            used = scan_chunk(
                metric,
                rows,
                codes,
                each,
                first,
                last,
                targets,
                numbers,
                pairs,
                group,
                some,
                heads,
                heaps,
                is_counted,
                room,
                entries,
                used,
            )
    return entries, used


@leaf
def _copy(vector: NDArray[np.float32], target: NDArray[np.float32]) -> None:
    # An assignment of slices would ask whether they share memory, and have room for that.
    for place in range(len(vector)):
        target[place] = vector[place]


@leaf
def scan_chunk(
    metric: int,
    rows: Rows,
    codes: Codes | None,
    each: int,
    first: int,
    last: int,
    targets: Targets,
    numbers: NDArray[np.int64],
    pairs: NDArray[np.int64],
    first_pair: int,
    last_pair: int,
    heads: NDArray[np.int32],
    heaps: NDArray[np.float32],
    is_counted: bool,
    room: Room,
    entries: Entries,
    used: int,
) -> int:
    """Do as `scan` for rows and pairs of which there is room for all; return how many entries."""
    asking, count, is_l2 = last_pair - first_pair, last - first, metric == L2
    is_copied = False
    if len(rows.allowed):
        count = _allowed_rows(rows, first, last, room)
        is_copied = count * _SPARSE < last - first
    if is_copied:
        for i in range(count):
            _copy(rows.vectors[room.places[i]], room.copied[i])
    else:
        count = last - first
    for i in range(asking):
        query = numbers[pairs[first_pair + i]]
        _copy(targets.scaled[query], room.packed[i])
        if codes is not None:
            center, step = codes.centers[each], codes.steps[each]
            total, length = weigh(is_l2, room.packed[i], center, step, room.weights[i])
            room.added[i, 0], room.added[i, 1] = total, length
    if is_copied:
        add_up(is_l2, room.copied[:count], room.packed[:asking], room.scores)
    elif codes is not None:
        add_up(False, codes.codes[first:last], room.weights[:asking], room.scores)
    else:
        add_up(is_l2, rows.vectors[first:last], room.packed[:asking], room.scores)
    for i in range(asking):
        pair = pairs[first_pair + i]
        query = numbers[pair]
        used, heads[pair] = _collect(
            metric,
            rows,
            codes,
            each,
            first,
            count,
            is_copied,
            i,
            room,
            room.scores[i],
            heaps[query],
            is_counted,
            targets.slack[query],
            entries,
            used,
            heads[pair],
        )
    return used


@leaf
def _finish(
    metric: int,
    rows: Rows,
    first: int,
    count: int,
    is_copied: bool,
    places: NDArray[np.int64],
    scores: NDArray[np.float32],
) -> None:
    """Make scores of sums."""
    if metric == L2:
        return
    for i in range(count):
        score = -scores[i]
        if metric == COSINE:
            score *= rows.scales[places[i] if is_copied else first + i]
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


@leaf
def _limit_of(
    metric: int,
    codes: Codes,
    each: int,
    first: int,
    count: int,
    added: NDArray[np.float32],
    scores: NDArray[np.float32],
    k: int,
    bound: Any,
    is_filtered: bool,
    width: int,
    room: NDArray[np.float32],
) -> Any:
    """Make approximate scores of sums, and return up to which of them a row may count."""
    is_l2, errors = metric == L2, codes.errors[each]
    for i in range(count):
        scores[i] += added[0] + codes.squares[first + i] if is_l2 else added[0]
    limit = reach_of(is_l2, bound, 1, added[0], added[1], errors, width)
    if limit == np.float32(inf) and not is_filtered and k < count:
        # k rows are nearer than that, so others need not be compared.
        kth = _kth_least(scores, count, k, room)
        limit = reach_of(is_l2, kth, 2, added[0], added[1], errors, width)
    return limit


@leaf
def _collect(
    metric: int,
    rows: Rows,
    codes: Codes | None,
    each: int,
    first: int,
    count: int,
    is_copied: bool,
    asking: int,
    room: Room,
    scores: NDArray[np.float32],
    heap: NDArray[np.float32],
    is_counted: bool,
    slack: NDArray[np.float32],
    entries: Entries,
    used: int,
    head: Any,
) -> tuple[int, Any]:
    """Add a query's scores within its bound; return how many entries there are, and its last.

    asking: the query's place in the room. Scores of codes say which rows to compare as vectors.
    """
    bound, width = bound_of(heap[0], slack), rows.vectors.shape[1]
    is_filtered = len(rows.allowed) > 0 and not is_copied
    limit = bound
    if codes is None or is_copied:
        _finish(metric, rows, first, count, is_copied, room.places, scores)
    else:
        limit = _limit_of(
            metric,
            codes,
            each,
            first,
            count,
            room.added[asking],
            scores,
            len(heap),
            bound,
            is_filtered,
            width,
            room.kept,
        )
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
            place = room.places[i] if is_copied else first + i
            if is_filtered and not rows.allowed[rows.row_ids[place]]:
                continue
            if codes is not None and not is_copied:
                score = sum_of(metric == L2, rows.vectors[place], room.packed[asking])
                if metric != L2:
                    score *= -rows.scales[place] if metric == COSINE else np.float32(-1)
                if score > bound:
                    continue
            entries.scores[used] = score
            entries.places[used] = place
            entries.before[used] = head
            head = np.int32(used)
            used += 1
            if is_counted and score < heap[0]:
                heap[0] = score
                sink(heap, 0)
                bound = bound_of(heap[0], slack)
                if codes is None or is_copied:
                    limit = bound
                else:
                    total, length = room.added[asking, 0], room.added[asking, 1]
                    errors = codes.errors[each]
                    reach = reach_of(metric == L2, bound, 1, total, length, errors, width)
                    limit = min(limit, reach)
    return used, head


@leaf
def rank_entries(
    metric: int,
    rows: Rows,
    query: NDArray[np.float32],
    head: int,
    bound: Any,
    entries: Entries,
    distances: NDArray[np.float64],
    found: NDArray[np.int64],
) -> None:
    """Put the entries within a bound, from the last one on, among the nearest rows of a query."""
    entry = np.int64(head)
    while entry >= 0:
        if entries.scores[entry] <= bound:
            place = np.int64(entries.places[entry])
            away = distance(metric, rows.vectors[place], query)
            insert(away, np.int64(rows.row_ids[place]), distances, found)
        entry = np.int64(entries.before[entry])


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
    for pair in range(len(heads)):
        query = numbers[pair]
        bound = bound_of(heaps[query, 0], targets.slack[query])
        rank_entries(
            metric,
            rows,
            targets.queries[query],
            np.int64(heads[pair]),
            bound,
            entries,
            distances[query],
            found[query],
        )
        heads[pair] = -1


@numba.njit(cache=True, nogil=True)
def search_rows(
    metric: int,
    table: NDArray[np.int64],
    start: int,
    end: int,
    queries: NDArray[np.float32],
    scaled: NDArray[np.float32],
    slack: NDArray[np.float32],
    heaps: NDArray[np.float32],
    distances: NDArray[np.float64],
    found: NDArray[np.int64],
) -> None:
    """Find the nearest of the rows start .. end, where they may be nearer than `heaps` (q, k).

    table: of addresses, see `rows_at`. queries, scaled, slack: see `Targets`. distances, found
    (q, k) receive them.
    """
    rows, targets = rows_at(table, 0, 0), Targets(queries, scaled, slack)
    count = len(found)
    numbers = np.arange(count)
    heads = np.full(count, -1, np.int32)
    room = new_room(count, rows.vectors.shape[1], False, False)
    # Not 0: numba would compile all for a constant, and once more for a number.
    zero = len(heads) - count
    entries, used = new_entries(count), zero
    for first in range(start, end, _PART_ROWS):
        last = min(first + _PART_ROWS, end)
        entries, used = scan(
            metric,
            rows,
            None,
            count,
            first,
            last,
            targets,
            numbers,
            numbers,
            zero,
            count,
            heads,
            heaps,
            True,
            room,
            entries,
            used,
        )
        if used > ENTRY_LIMIT or last == end:
            rank(metric, rows, targets, numbers, heads, heaps, entries, distances, found)
            used = zero
