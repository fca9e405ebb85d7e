"""The search of an IVF index: rounds of lists, which the queries that take them share.

    queries  ->  their nearest lists  ->  rounds: 1 list of each query, then as many as it may take
    round    ->  pairs of a list and a query, by list: its rows are read once for all its queries
             ->  entries, which are then counted by query, list after list, up to where it stops

A list that is scanned in the same round as the one that ends a search does not count. Where the
number of lists is fixed, all after the first one are one round. Under a rule a search ends no later
than it would if its k-th row came no nearer, and a round takes the lists up to there: scanning a
half of them first, and the rest in further rounds, was slower, since each round reads most lists.
A single query shares nothing, and has no rounds: each list counts before the next one is scanned.
"""

from __future__ import annotations

from math import inf, nan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from raydb.kernels.jit import compiled, entry, inner, leaf
from raydb.kernels.vector.loops.distance_loops import (
    CHUNK_ROWS,
    Entries,
    Pairs,
    Rows,
    Search,
    new_entries,
    new_room,
    rank,
    scan,
    scan_chunk,
)
from raydb.kernels.vector.loops.quantization import Codes
from raydb.kernels.vector.loops.ranking import IP, centroid_kind_of, sink
from raydb.kernels.vector.loops.simd import PADDED, PRODUCTS, add_up, at_most, trailing_zeros
from raydb.kernels.vector.loops.stop_loops import (
    Prepared,
    Rule,
    margin,
    prepare,
    squared,
    stop_score,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Lists of each query that are put in order at first.
_FIRST_LISTS = 64

# Entries of a single query that there is room for: so many, and so many for each of k rows.
_ENTRIES = 8 * CHUNK_ROWS
_ENTRIES_PER_ROW = 8


class Lists(NamedTuple):
    """The lists: centroids (lists, d), |c|^2 (lists); rows offsets[list] .. offsets[list + 1]."""

    centroids: NDArray[np.float32]
    squares: NDArray[np.float32]
    offsets: NDArray[np.int64]


class Found(NamedTuple):
    """What is found: distances, rows (q, k), probes (q) and margins (q)."""

    distances: NDArray[np.float64]
    rows: NDArray[np.int64]
    probes: NDArray[np.int64]
    margins: NDArray[np.float64]


class _Progress(NamedTuple):
    """How far queries are: their scores of lists, the nearest lists in order, and those done."""

    scores: NDArray[np.float32]
    list_count: int
    order: NDArray[np.int32]
    done: NDArray[np.int64]
    terms: NDArray[np.float64]


@compiled
def score_lists(
    metric: int, lists: Lists, scaled: NDArray[np.float32], scores: NDArray[np.float32]
) -> None:
    """Write how far each list is of each query (q, lists or more), less is nearer; the rest is NaN.

    |c|^2 - 2 q c, and under ip - q c: the mean of the products with the list's own rows. Under l1
    and hamming the distance.
    """
    count, kind = len(lists.squares), centroid_kind_of(metric)
    add_up(kind, lists.centroids, scaled, scores)
    for query in range(len(scaled)):
        some = scores[query, :count]
        for each in range(count if kind == PRODUCTS else 0):
            some[each] = -some[each] if metric == IP else lists.squares[each] - 2 * some[each]
        for each in range(count, scores.shape[1]):
            scores[query, each] = nan


@leaf
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


@leaf
def _stop_score_after(rule: Rule, progress: _Progress, query: int, probed: int, kth: Any) -> float:
    """Return a query's E_p after so many lists, fewer than are in order, with some k-th score."""
    scores, order, terms = progress.scores[query], progress.order[query], progress.terms[query]
    nearest = squared(scores[order[0]], terms[0], terms[1])
    following = squared(scores[order[probed]], terms[0], terms[1])
    found: float = stop_score(rule, probed, nearest, following, squared(kth, terms[2], terms[3]))
    return found


@leaf
def _goes_on(rule: Rule, progress: _Progress, query: int, probed: int, kth: Any) -> bool:
    """Tell whether a query goes on after so many lists, if there are more."""
    if probed < rule.least_probes or kth == inf:
        return True
    if rule.threshold == -inf or probed == progress.order.shape[1]:
        return False
    return bool(rule.threshold > _stop_score_after(rule, progress, query, probed, kth))


@leaf
def _margin_of(progress: _Progress, query: int) -> float:
    """Return how far a query's nearest list is in parts of how far the second is."""
    scores, order, terms = progress.scores[query], progress.order[query], progress.terms[query]
    nearest = squared(scores[order[0]], terms[0], terms[1])
    second = squared(scores[order[min(1, len(order) - 1)]], terms[0], terms[1])
    return float(margin(nearest, second))


@inner
def _ordered(progress: _Progress, asking: NDArray[np.int64], least: int) -> _Progress:
    """Return the progress with more lists in order, `least` or more, where few of them are left."""
    known, lists, done = progress.order.shape[1], progress.list_count, 0
    for query in asking:
        done = max(done, progress.done[query])
    if done + 2 <= known or known == lists:
        return progress
    order = np.empty((len(progress.done), min(lists, max(2 * known, least))), np.int32)
    heap = np.empty(order.shape[1], np.uint64)
    for query in asking:
        nearest_lists(progress.scores[query], heap, order[query])
    return _Progress(progress.scores, lists, order, progress.done, progress.terms)


@inner
def _round_sizes(
    search: Search, rule: Rule, progress: _Progress, asking: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return how many lists of each query to scan next."""
    sizes = np.ones(len(asking), np.int64)
    known, list_count = progress.order.shape[1], progress.list_count
    if known < list_count:
        known -= 1
    for i in range(len(asking)):
        query = asking[i]
        before, kth = progress.done[query], search.heaps[query, 0]
        if 0 < before < rule.least_probes:
            sizes[i] = min(rule.least_probes, list_count) - before
        elif before:
            if kth == inf:
                sizes[i] = min(before, known - before)
                continue
            last = before + 1
            while last < known and rule.threshold > _stop_score_after(
                rule, progress, query, last, kth
            ):
                last += 1
            sizes[i] = last - before
    return sizes


@leaf
def _by_list(
    chosen: NDArray[np.int32], list_count: int, starts: NDArray[np.int64], pairs: NDArray[np.int64]
) -> None:
    """Write the pairs of a list and a query by list, and where each list's pairs begin."""
    for each in range(list_count + 1):
        starts[each] = 0
    for pair in range(len(chosen)):
        starts[chosen[pair] + 1] += 1
    for each in range(list_count):
        starts[each + 1] += starts[each]
    for pair in range(len(chosen) - 1, -1, -1):
        each = chosen[pair] + 1
        starts[each] -= 1
        pairs[starts[each]] = pair


@inner
def scan_round(
    search: Search,
    codes: Codes | None,
    offsets: NDArray[np.int64],
    pairs: Pairs,
    chosen: NDArray[np.int32],
    entries: Entries,
) -> Entries:
    """Scan the lists of pairs, `chosen`, for their queries; return all entries."""
    list_count = len(offsets) - 1
    asking, starts = np.empty(len(chosen), np.int64), np.empty(list_count + 2, np.int64)
    _by_list(chosen, list_count, starts, asking)
    for each in range(list_count):
        # Where a list's pairs begin has moved one place on.
        first, last = starts[each + 1], len(chosen) if each + 1 == list_count else starts[each + 2]
        if first < last:
            start, end, own = offsets[each], offsets[each + 1], asking[first:last]
            entries = scan(search, codes, pairs, own, each, start, end, entries)
    return entries


@leaf
def _count_entries(head: Any, entries: Entries, heap: NDArray[np.float32]) -> None:
    """Put the scores of a pair's entries among the least ones."""
    entry = np.int64(head)
    while entry >= 0:
        if entries.scores[entry] < heap[0]:
            heap[0] = entries.scores[entry]
            sink(heap, 0)
        entry = np.int64(entries.before[entry])


@leaf
def _count_round(
    search: Search,
    rule: Rule,
    progress: _Progress,
    asking: NDArray[np.int64],
    sizes: NDArray[np.int64],
    pairs: Pairs,
    entries: Entries,
    found: Found,
) -> int:
    """Count the lists of a round, query by query, up to where it stops.

    sizes: the lists of each query, whose pairs follow one another. Moves those that go on to the
    front of `asking`, and returns how many they are.
    """
    pair, left = 0, 0
    for i in range(len(asking)):
        query, goes_on = asking[i], True
        first, last = progress.done[query] + 1, progress.done[query] + sizes[i]
        for probed in range(first, last + 1):
            if goes_on:
                if not pairs.is_counted:
                    _count_entries(pairs.heads[pair], entries, search.heaps[query])
                if probed == 1:
                    found.margins[query] = _margin_of(progress, query)
                goes_on = _goes_on(rule, progress, query, probed, search.heaps[query, 0])
                found.probes[query] = probed
            else:
                pairs.heads[pair] = -1
            pair += 1
        progress.done[query] = last
        if goes_on and last < progress.list_count:
            asking[left] = query
            left += 1
    return left


@leaf
def _scan_alone(
    search: Search,
    codes: Codes | None,
    offsets: NDArray[np.int64],
    rule: Rule,
    progress: _Progress,
    pairs: Pairs,
    entries: Entries,
    found: Found,
) -> bool:
    """Scan the lists in order for a single query, up to where it stops; tell whether it goes on.

    pairs: its own alone. Entries are ranked as soon as there may be no room for those of a chunk.
    """
    metric, rows, targets, heaps = search.metric, search.rows, search.targets, search.heaps
    probed, known, goes_on = progress.done[0], progress.order.shape[1], True
    # Where others follow, the last list in order tells how far the next one is.
    last = known if known == progress.list_count else known - 1
    while goes_on and probed < last:
        nearest = np.int64(progress.order[0, probed])
        start, end = offsets[nearest], offsets[nearest + 1]
        for first in range(start, end, CHUNK_ROWS):
            after = min(first + CHUNK_ROWS, end)
            if entries.used[0] + after - first > len(entries.scores):
                rank(metric, rows, targets, heaps, pairs, entries, found.distances, found.rows)
            scan_chunk(search, codes, pairs, pairs.numbers, nearest, first, after, entries)
        probed += 1
        goes_on = _goes_on(rule, progress, 0, probed, heaps[0, 0])
    progress.done[0] = probed
    return goes_on and probed < progress.list_count


@inner
def codes_of(coded: Any) -> Codes | None:
    """Return the codes of rows; None for None, which numba tells apart."""
    if coded is None:
        return None
    return Codes(*coded)


@entry
def search_lists(
    metric: int,
    longest: float,
    compared: Any,
    listed: Any,
    coded: Any,
    asked: Any,
    ends: Any,
    results: Any,
) -> None:
    """Find the nearest rows of the nearest lists of some queries.

    At least `least_probes` lists are scanned, and more until there are k rows and the rule ends the
    search. `Rows`, `Lists`, `Codes` or None, `Prepared`, into which `prepare` has written nothing
    yet, `Rule` and `Found` are plain tuples, which numba takes in a third of the time.
    """
    prepare(metric, longest, asked[0], asked[1], asked[2], asked[3])
    rows, lists, codes = Rows(*compared), Lists(*listed), codes_of(coded)
    targets, rule, found = Prepared(*asked), Rule(*ends), Found(*results)
    (count, k), list_count = found.rows.shape, len(lists.squares)
    scores = np.empty((count, list_count + -list_count % PADDED), np.float32)
    score_lists(metric, lists, targets.scaled, scores)
    room = new_room(count, rows.vectors.shape[1], len(rows.allowed) > 0, codes is not None)
    search = Search(metric, rows, targets, np.full((count, k), np.float32(inf)), room)
    order, done = np.empty((count, 0), np.int32), np.zeros(count, np.int64)
    progress = _Progress(scores, list_count, order, done, targets.terms)
    asking, least = np.arange(count if list_count else 0), max(rule.least_probes + 1, _FIRST_LISTS)
    if len(asking) == 1:
        goes_on, entries = True, new_entries(max(_ENTRIES, _ENTRIES_PER_ROW * k))
        pairs = Pairs(asking, np.full(1, np.int32(-1)), True)
        while goes_on:
            progress = _ordered(progress, asking, least)
            goes_on = _scan_alone(
                search, codes, lists.offsets, rule, progress, pairs, entries, found
            )
        rank(metric, rows, targets, search.heaps, pairs, entries, found.distances, found.rows)
        found.probes[0], found.margins[0] = done[0], _margin_of(progress, 0)
        return
    entries = new_entries(count)
    while len(asking):
        progress = _ordered(progress, asking, least)
        sizes = _round_sizes(search, rule, progress, asking)
        chosen = np.empty(sizes.sum(), np.int32)
        numbers, pair, most = np.empty(len(chosen), np.int64), 0, 0
        for i in range(len(asking)):
            query = asking[i]
            before = done[query]
            most = max(most, before + sizes[i])
            for probed in range(before, before + sizes[i]):
                chosen[pair], numbers[pair] = progress.order[query, probed], query
                pair += 1
        # Where no list is one too many, all count as soon as they are scanned.
        is_counted = most <= rule.least_probes
        pairs = Pairs(numbers, np.full(len(chosen), np.int32(-1)), is_counted)
        entries = scan_round(search, codes, lists.offsets, pairs, chosen, entries)
        left = _count_round(search, rule, progress, asking, sizes, pairs, entries, found)
        rank(metric, rows, targets, search.heaps, pairs, entries, found.distances, found.rows)
        asking = asking[:left]
