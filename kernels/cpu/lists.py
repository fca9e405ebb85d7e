"""The search of an IVF index, for some queries at a time.

    queries  ->  their nearest lists  ->  rounds: 1 list of each query, 1 more, then 2, 4, 8 ...
    round    ->  pairs of a list and a query, by list: its rows are read once for all its queries
             ->  entries, which are then counted by query, list after list, up to where it stops

A list that is scanned in the same round as the one that ends a search does not count. Where the
number of lists is fixed, all after the first one are one round.
"""

from __future__ import annotations

from math import inf, nan
from typing import TYPE_CHECKING, Any, NamedTuple

import numba
import numpy as np

from raydb.kernels.cpu.lanes import PADDED, PRODUCTS, add_up, at_most, trailing_zeros
from raydb.kernels.cpu.nearest import (
    ENTRY_LIMIT,
    IP,
    Entries,
    Room,
    Rows,
    Targets,
    new_entries,
    new_room,
    rank,
    scan,
    sink,
)
from raydb.kernels.cpu.stop import margin, squared, stop_score

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Fewer queries share no lists to speak of: each then ends where its rule says, and scans no more.
_SHARING_QUERIES = 16


class Lists(NamedTuple):
    """The lists: centroids (lists, d), |c|^2 (lists); rows offsets[list] .. offsets[list + 1]."""

    centroids: NDArray[np.float32]
    squares: NDArray[np.float32]
    offsets: NDArray[np.int64]


class Rule(NamedTuple):
    """When a search ends: see `raydb.kernels.stop`; a threshold of -inf at `least_probes`."""

    least_probes: int
    score: int
    gamma: float
    kreg: int
    scale: float
    share: float
    threshold: float


class Found(NamedTuple):
    """What is found: distances, rows (q, k), probes (q) and margins (q)."""

    distances: NDArray[np.float64]
    rows: NDArray[np.int64]
    probes: NDArray[np.int64]
    margins: NDArray[np.float64]


@numba.njit(cache=True, nogil=True)
def score_lists(
    metric: int, lists: Lists, scaled: NDArray[np.float32], scores: NDArray[np.float32]
) -> None:
    """Write how far each list is of each query (q, lists or more), less is nearer; the rest is NaN.

    |c|^2 - 2 q c, and under ip - q c: the mean of the products with the list's own rows.
    """
    count = len(lists.squares)
    add_up(PRODUCTS, lists.centroids, scaled, scores)
    for query in range(len(scaled)):
        some = scores[query, :count]
        for each in range(count):
            some[each] = -some[each] if metric == IP else lists.squares[each] - 2 * some[each]
        scores[query, count:] = nan


@numba.njit(cache=True, nogil=True)
def nearest_lists(
    scores: NDArray[np.float32], heap: NDArray[np.uint64], chosen: NDArray[np.int32]
) -> None:
    """Write the lists with the least scores, in order; as many as `chosen` and `heap` have."""
    count, filled = len(chosen), 0
    bits = scores.view(np.uint32)
    address, bound = scores.ctypes.data, np.float32(inf)
    for base in range(0, len(scores), PADDED):
        mask = at_most(address + 4 * base, bound)
        while mask:
            each = base + trailing_zeros(mask)
            mask &= mask - np.uint64(1)
            # The bits of a float as a number of the same order.
            number = np.uint64(bits[each])
            number ^= np.uint64(0xFFFFFFFF if number >> np.uint64(31) else 0x80000000)
            key = (number << np.uint64(32)) | np.uint64(each)
            if filled < count:
                heap[filled] = key
                filled += 1
                if filled < count:
                    continue
                for place in range(count // 2 - 1, -1, -1):
                    sink(heap, place)
            elif key < heap[0]:
                heap[0] = key
                sink(heap, 0)
            else:
                continue
            bound = scores[np.int64(heap[0] & np.uint64(0xFFFFFFFF))]
    for place in range(count - 1, 0, -1):
        chosen[place] = np.int32(heap[0] & np.uint64(0xFFFFFFFF))
        heap[0] = heap[place]
        sink(heap[:place], 0)
    chosen[0] = np.int32(heap[0] & np.uint64(0xFFFFFFFF))


@numba.njit(cache=True, nogil=True)
def _round_size(done: int, list_count: int, query_count: int, rule: Rule) -> int:
    """Return how many lists of each query to scan next, once so many are done."""
    if 0 < done < rule.least_probes:
        return min(rule.least_probes, list_count) - done
    if query_count < _SHARING_QUERIES:
        return 1
    return min(max(done, 1), list_count - done)


@numba.njit(cache=True, nogil=True)
def _scan_round(
    metric: int,
    offsets: NDArray[np.int64],
    rows: Rows,
    targets: Targets,
    chosen: NDArray[np.int32],
    numbers: NDArray[np.int64],
    heads: NDArray[np.int32],
    heaps: NDArray[np.float32],
    tentative: NDArray[np.float32],
    room: Room,
    entries: Entries,
    used: int,
) -> tuple[Entries, int]:
    """Scan the lists of pairs, `chosen`, for their queries, `numbers`; return all entries.

    heads (pairs): receives the last entry of each. heaps: what counts already; `tentative` begins
    with it at each list, unless they are the same.
    """
    keys = (chosen.astype(np.uint64) << np.uint64(32)) | np.arange(len(chosen), dtype=np.uint64)
    keys.sort()
    pairs = (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)
    first = 0
    while first < len(pairs):
        each, last = chosen[pairs[first]], first + 1
        while last < len(pairs) and chosen[pairs[last]] == each:
            last += 1
        some = pairs[first:last]
        asking = numbers[some]
        for query in asking:
            tentative[query] = heaps[query]
        entries, used = scan(
            metric,
            rows,
            offsets[each],
            offsets[each + 1],
            targets,
            asking,
            some,
            heads,
            tentative,
            room,
            entries,
            used,
        )
        first = last
    return entries, used


@numba.njit(cache=True, nogil=True)
def _count_entries(head: Any, entries: Entries, heap: NDArray[np.float32]) -> None:
    """Put the scores of a pair's entries among the least ones."""
    entry = head
    while entry >= 0:
        if entries.scores[entry] < heap[0]:
            heap[0] = entries.scores[entry]
            sink(heap, 0)
        entry = entries.before[entry]


@numba.njit(cache=True, nogil=True)
def _count_round(
    scores: NDArray[np.float32],
    order: NDArray[np.int32],
    done: int,
    asking: NDArray[np.int64],
    heads: NDArray[np.int32],
    entries: Entries,
    heaps: NDArray[np.float32],
    is_counted: bool,
    rule: Rule,
    stop_terms: NDArray[np.float64],
    found: Found,
) -> NDArray[np.bool_]:
    """Count the lists of a round, query by query, up to where it stops; tell which go on.

    done: the lists of each query before. heads (queries * size): the last entries of its lists.
    """
    size = len(heads) // len(asking)
    goes_on = np.ones(len(asking), np.bool_)
    for i in range(len(asking)):
        query = asking[i]
        terms = stop_terms[query]
        for j in range(size):
            pair, probed = i * size + j, done + j + 1
            if not goes_on[i]:
                heads[pair] = -1
                continue
            if not is_counted:
                _count_entries(heads[pair], entries, heaps[query])
            last = order[query, min(probed, order.shape[1] - 1)]
            following = squared(scores[query, last], terms[0], terms[1])
            nearest = squared(scores[query, order[query, 0]], terms[0], terms[1])
            if probed == 1:
                found.margins[query] = margin(nearest, following)
            kth = heaps[query, 0]
            if probed >= rule.least_probes and kth < inf:
                goes_on[i] = rule.threshold > -inf and rule.threshold > stop_score(
                    rule.score,
                    rule.gamma,
                    rule.kreg,
                    rule.scale,
                    rule.share,
                    probed,
                    nearest,
                    following,
                    squared(kth, terms[2], terms[3]),
                )
            found.probes[query] = probed
    return goes_on


@numba.njit(cache=True, nogil=True)
def search_lists(
    metric: int,
    lists: Lists,
    rows: Rows,
    targets: Targets,
    rule: Rule,
    stop_terms: NDArray[np.float64],
    found: Found,
) -> None:
    """Find the nearest rows of the nearest lists of some queries.

    At least `rule.least_probes` lists are scanned, and more until there are k rows and the rule
    ends the search. stop_terms (q, 4): what makes squared distances of scores.
    """
    count, k = found.rows.shape
    list_count = len(lists.squares)
    scores = np.empty((count, list_count + -list_count % PADDED), np.float32)
    score_lists(metric, lists, targets.scaled, scores)
    heaps = np.full((count, k), inf, np.float32)
    tentative = np.empty_like(heaps)
    room = new_room(count, rows.vectors.shape[1], len(rows.allowed) > 0)
    entries, used = new_entries(0), 0
    order = np.empty((count, 0), np.int32)
    numbers, heads = np.empty(0, np.int64), np.empty(0, np.int32)
    asking, done = np.arange(count), 0
    while len(asking) and done < list_count:
        size = _round_size(done, list_count, count, rule)
        if done + size >= order.shape[1]:
            width = min(list_count, max(done + size + 1, 2 * order.shape[1]))
            order = np.empty((count, width), np.int32)
            heap = np.empty(width, np.uint64)
            for query in asking:
                nearest_lists(scores[query], heap, order[query])
        first = len(heads)
        heads = np.append(heads, np.full(len(asking) * size, -1, np.int32))
        numbers = np.append(numbers, np.repeat(asking, size))
        chosen = np.empty(len(asking) * size, np.int32)
        for i in range(len(asking)):
            chosen[i * size : (i + 1) * size] = order[asking[i], done : done + size]
        # Where no list is one too many, all count as soon as they are scanned.
        is_counted = done + size <= rule.least_probes
        entries, used = _scan_round(
            metric,
            lists.offsets,
            rows,
            targets,
            chosen,
            numbers[first:],
            heads[first:],
            heaps,
            heaps if is_counted else tentative,
            room,
            entries,
            used,
        )
        goes_on = _count_round(
            scores,
            order,
            done,
            asking,
            heads[first:],
            entries,
            heaps,
            is_counted,
            rule,
            stop_terms,
            found,
        )
        asking = asking[goes_on]
        done += size
        if used > ENTRY_LIMIT or done == list_count or not len(asking):
            rank(metric, rows, targets, numbers, heads, heaps, entries, found.distances, found.rows)
            numbers, heads, used = numbers[:0], heads[:0], 0
