"""The search of an IVF index, for some queries at a time.

    queries  ->  their nearest lists  ->  rounds: 1 list of each query, then as many as it may take
    round    ->  pairs of a list and a query, by list: its rows are read once for all its queries
             ->  entries, which are then counted by query, list after list, up to where it stops

A list that is scanned in the same round as the one that ends a search does not count. Where the
number of lists is fixed, all after the first one are one round. Under a rule a search ends no later
than it would if its k-th row came no nearer, and a round takes the lists up to there: scanning a
half of them first, and the rest in further rounds, was slower, since each round reads most lists.
"""

from __future__ import annotations

from math import inf, nan
from typing import TYPE_CHECKING, Any, NamedTuple

import numba
import numpy as np

from raydb.kernels.cpu.lanes import PADDED, PRODUCTS, add_up, at_most, trailing_zeros
from raydb.kernels.cpu.nearest import (
    ENTRY_LIMIT,
    Entries,
    Room,
    Rows,
    Targets,
    new_entries,
    new_room,
    rank,
    scan,
)
from raydb.kernels.cpu.ranking import IP, sink
from raydb.kernels.cpu.stop import margin, squared, stop_score

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.kernels.cpu.codes import Codes

# Fewer queries share no lists to speak of: each then ends where its rule says, and scans no more.
_SHARING_QUERIES = 16

# Lists of each query that are put in order at first.
_FIRST_LISTS = 64


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
def _stop_score(
    rule: Rule,
    scores: NDArray[np.float32],
    order: NDArray[np.int32],
    probed: int,
    kth: Any,
    terms: NDArray[np.float64],
) -> float:
    """Return a query's E_p after so many lists, fewer than `order` has, with some k-th score."""
    return stop_score(
        rule.score,
        rule.gamma,
        rule.kreg,
        rule.scale,
        rule.share,
        probed,
        squared(scores[order[0]], terms[0], terms[1]),
        squared(scores[order[probed]], terms[0], terms[1]),
        squared(kth, terms[2], terms[3]),
    )


@numba.njit(cache=True, nogil=True)
def _goes_on(
    rule: Rule,
    scores: NDArray[np.float32],
    order: NDArray[np.int32],
    probed: int,
    kth: Any,
    terms: NDArray[np.float64],
) -> bool:
    """Tell whether a query goes on after so many lists, if there are more."""
    if probed < rule.least_probes or kth == inf:
        return True
    if rule.threshold == -inf or probed == len(order):
        return False
    return bool(rule.threshold > _stop_score(rule, scores, order, probed, kth, terms))


@numba.njit(cache=True, nogil=True)
def _margin(
    scores: NDArray[np.float32], order: NDArray[np.int32], terms: NDArray[np.float64]
) -> float:
    """Return how far a query's nearest list is in parts of how far the second is."""
    nearest = squared(scores[order[0]], terms[0], terms[1])
    return margin(nearest, squared(scores[order[min(1, len(order) - 1)]], terms[0], terms[1]))


@numba.njit(cache=True, nogil=True)
def _round_sizes(
    scores: NDArray[np.float32],
    order: NDArray[np.int32],
    done: NDArray[np.int64],
    asking: NDArray[np.int64],
    heaps: NDArray[np.float32],
    rule: Rule,
    stop_terms: NDArray[np.float64],
    list_count: int,
) -> NDArray[np.int64]:
    """Return how many lists of each query to scan next; done: those before."""
    sizes = np.ones(len(asking), np.int64)
    known = order.shape[1] if order.shape[1] == list_count else order.shape[1] - 1
    for i in range(len(asking)):
        query = asking[i]
        before, kth = done[query], heaps[query, 0]
        if 0 < before < rule.least_probes:
            sizes[i] = min(rule.least_probes, list_count) - before
        elif before:
            if kth == inf:
                sizes[i] = min(before, known - before)
                continue
            last = before + 1
            while last < known and rule.threshold > _stop_score(
                rule, scores[query], order[query], last, kth, stop_terms[query]
            ):
                last += 1
            sizes[i] = last - before
    return sizes


@numba.njit(cache=True, nogil=True)
def _scan_round(
    metric: int,
    offsets: NDArray[np.int64],
    rows: Rows,
    codes: Codes,
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
            codes,
            np.int64(each),
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
    done: NDArray[np.int64],
    asking: NDArray[np.int64],
    sizes: NDArray[np.int64],
    heads: NDArray[np.int32],
    entries: Entries,
    heaps: NDArray[np.float32],
    is_counted: bool,
    rule: Rule,
    stop_terms: NDArray[np.float64],
    found: Found,
) -> NDArray[np.bool_]:
    """Count the lists of a round, query by query, up to where it stops; tell which go on.

    done: the lists of each query before. sizes: its lists of this round, whose last entries are in
    heads, query by query.
    """
    pair = 0
    goes_on = np.ones(len(asking), np.bool_)
    for i in range(len(asking)):
        query = asking[i]
        terms = stop_terms[query]
        for probed in range(done[query] + 1, done[query] + sizes[i] + 1):
            head = heads[pair]
            if not goes_on[i]:
                heads[pair] = -1
            pair += 1
            if not goes_on[i]:
                continue
            if not is_counted:
                _count_entries(head, entries, heaps[query])
            if probed == 1:
                found.margins[query] = _margin(scores[query], order[query], terms)
            goes_on[i] = _goes_on(rule, scores[query], order[query], probed, heaps[query, 0], terms)
            found.probes[query] = probed
    return goes_on


@numba.njit(cache=True, nogil=True)
def _search_alone(
    metric: int,
    lists: Lists,
    rows: Rows,
    codes: Codes,
    targets: Targets,
    rule: Rule,
    stop_terms: NDArray[np.float64],
    scores: NDArray[np.float32],
    found: Found,
) -> None:
    """Find the nearest rows query by query, each of which scans no list more than it needs."""
    list_count, k = len(lists.squares), found.rows.shape[1]
    has_filter, has_codes = len(rows.allowed) > 0, len(codes.codes) > 0
    room = new_room(1, rows.vectors.shape[1], has_filter, has_codes)
    entries, heaps = new_entries(0), np.empty((len(scores), k), np.float32)
    asking, pair = np.empty(1, np.int64), np.empty(1, np.int64)
    heads = np.full(list_count, -1, np.int32)
    order = np.empty(0, np.int32)
    for query in range(len(scores)):
        heaps[query] = inf
        asking[0] = query
        probed, used, is_known = 0, 0, False
        goes_on = list_count > 0
        while goes_on and probed < list_count:
            if not is_known or (probed + 2 > len(order) and len(order) < list_count):
                width = max(rule.least_probes + 1, _FIRST_LISTS, 2 * (probed + 1))
                if len(order) < min(width, list_count):
                    order = np.empty(min(width, list_count), np.int32)
                nearest_lists(scores[query], np.empty(len(order), np.uint64), order)
                is_known = True
            pair[0] = probed
            entries, used = scan(
                metric,
                rows,
                codes,
                np.int64(order[probed]),
                lists.offsets[order[probed]],
                lists.offsets[order[probed] + 1],
                targets,
                asking,
                pair,
                heads,
                heaps,
                room,
                entries,
                used,
            )
            probed += 1
            kth = heaps[query, 0]
            goes_on = _goes_on(rule, scores[query], order, probed, kth, stop_terms[query])
        if probed:
            found.margins[query] = _margin(scores[query], order, stop_terms[query])
        found.probes[query] = probed
        numbers = np.full(probed, query)
        rank(
            metric,
            rows,
            targets,
            numbers,
            heads[:probed],
            heaps,
            entries,
            found.distances,
            found.rows,
        )


@numba.njit(cache=True, nogil=True)
def search_lists(
    metric: int,
    lists: Lists,
    rows: Rows,
    codes: Codes,
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
    if count < _SHARING_QUERIES and rule.threshold > -inf:
        _search_alone(metric, lists, rows, codes, targets, rule, stop_terms, scores, found)
        return
    heaps = np.full((count, k), inf, np.float32)
    tentative = np.empty_like(heaps)
    room = new_room(count, rows.vectors.shape[1], len(rows.allowed) > 0, len(codes.codes) > 0)
    entries, used = new_entries(0), 0
    order = np.empty((count, 0), np.int32)
    numbers, heads = np.empty(0, np.int64), np.empty(0, np.int32)
    asking, done = np.arange(count if list_count else 0), np.zeros(count, np.int64)
    while len(asking):
        if np.max(done[asking]) + 2 > order.shape[1] < list_count:
            width = max(2 * order.shape[1], rule.least_probes + 1, _FIRST_LISTS)
            order = np.empty((count, min(list_count, width)), np.int32)
            heap = np.empty(order.shape[1], np.uint64)
            for query in asking:
                nearest_lists(scores[query], heap, order[query])
        sizes = _round_sizes(scores, order, done, asking, heaps, rule, stop_terms, list_count)
        first = len(heads)
        chosen = np.empty(np.sum(sizes), np.int32)
        asked = np.empty(len(chosen), np.int64)
        pair = 0
        for i in range(len(asking)):
            query, last = asking[i], pair + sizes[i]
            chosen[pair:last] = order[query, done[query] : done[query] + sizes[i]]
            asked[pair:last] = query
            pair = last
        heads = np.append(heads, np.full(len(chosen), -1, np.int32))
        numbers = np.append(numbers, asked)
        # Where no list is one too many, all count as soon as they are scanned.
        is_counted = np.max(done[asking] + sizes) <= rule.least_probes
        entries, used = _scan_round(
            metric,
            lists.offsets,
            rows,
            codes,
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
            sizes,
            heads[first:],
            entries,
            heaps,
            is_counted,
            rule,
            stop_terms,
            found,
        )
        done[asking] += sizes
        asking = asking[goes_on & (done[asking] < list_count)]
        if used > ENTRY_LIMIT or not len(asking):
            rank(metric, rows, targets, numbers, heads, heaps, entries, found.distances, found.rows)
            numbers, heads, used = numbers[:0], heads[:0], 0
