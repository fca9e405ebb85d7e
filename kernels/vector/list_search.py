"""The search of an IVF index, for many queries at a time; `single_query` for few.

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

from raydb.kernels.vector.atomics import carray, pointer_at
from raydb.kernels.vector.distance_loops import (
    ENTRY_LIMIT,
    Entries,
    Room,
    Rows,
    Targets,
    new_entries,
    new_room,
    rank,
    rows_at,
    scan,
)
from raydb.kernels.vector.quantization import Codes
from raydb.kernels.vector.ranking import IP, sink
from raydb.kernels.vector.simd import PADDED, add_up, at_most, inner, leaf, trailing_zeros
from raydb.kernels.vector.stop_loops import margin, squared, stop_score

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Lists of each query that are put in order at first.
FIRST_LISTS = 64


class Lists(NamedTuple):
    """The lists: centroids (lists, d), |c|^2 (lists); rows offsets[list] .. offsets[list + 1]."""

    centroids: NDArray[np.float32]
    squares: NDArray[np.float32]
    offsets: NDArray[np.int64]


class Rule(NamedTuple):
    """When a search ends: see `stop_rule`; a threshold of -inf at `least_probes`."""

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


@inner
def lists_at(table: NDArray[np.int64]) -> Lists:
    """Return the lists of an index by its table of addresses (`index_table`)."""
    width, count = table[1], table[6]
    return Lists(
        carray(pointer_at(table[7]), (count, width), np.float32),
        carray(pointer_at(table[8]), (count,), np.float32),
        carray(pointer_at(table[9]), (count + 1,), np.int64),
    )


@inner
def codes_at(table: NDArray[np.int64], is_coded: bool | None) -> Codes | None:
    """Return the codes of an index that has some, where it is told apart by None."""
    if is_coded is None:
        return None
    rows, width, count = table[0], table[1], table[6]
    return Codes(
        carray(pointer_at(table[10]), (rows, width), np.int8),
        carray(pointer_at(table[11]), (rows,), np.float32),
        carray(pointer_at(table[12]), (count, width), np.float32),
        carray(pointer_at(table[13]), (count, width), np.float32),
        carray(pointer_at(table[14]), (count, 2), np.float32),
    )


@numba.njit(cache=True, nogil=True)
def score_lists(
    metric: int, lists: Lists, scaled: NDArray[np.float32], scores: NDArray[np.float32]
) -> None:
    """Write how far each list is of each query (q, lists or more), less is nearer; the rest is NaN.

    |c|^2 - 2 q c, and under ip - q c: the mean of the products with the list's own rows.
    """
    count = len(lists.squares)
    add_up(False, lists.centroids, scaled, scores)
    for query in range(len(scaled)):
        some = scores[query, :count]
        for each in range(count):
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
def stop_score_after(
    rule: Rule,
    scores: NDArray[np.float32],
    order: NDArray[np.int32],
    probed: int,
    kth: Any,
    terms: NDArray[np.float64],
) -> float:
    """Return a query's E_p after so many lists, fewer than `order` has, with some k-th score."""
    found: float = stop_score(
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
    return found


@leaf
def goes_on_after(
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
    return bool(rule.threshold > stop_score_after(rule, scores, order, probed, kth, terms))


@leaf
def margin_of(
    scores: NDArray[np.float32], order: NDArray[np.int32], terms: NDArray[np.float64]
) -> float:
    """Return how far a query's nearest list is in parts of how far the second is."""
    nearest = squared(scores[order[0]], terms[0], terms[1])
    second = squared(scores[order[min(1, len(order) - 1)]], terms[0], terms[1])
    return float(margin(nearest, second))


@inner
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
    sizes = np.empty(len(asking), np.int64)
    known = order.shape[1] if order.shape[1] == list_count else order.shape[1] - 1
    for i in range(len(asking)):
        query, sizes[i] = asking[i], 1
        before, kth = done[query], heaps[query, 0]
        if 0 < before < rule.least_probes:
            sizes[i] = min(rule.least_probes, list_count) - before
        elif before:
            if kth == inf:
                sizes[i] = min(before, known - before)
                continue
            last = before + 1
            while last < known and rule.threshold > stop_score_after(
                rule, scores[query], order[query], last, kth, stop_terms[query]
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
def _scan_round(
    metric: int,
    offsets: NDArray[np.int64],
    rows: Rows,
    codes: Codes | None,
    targets: Targets,
    chosen: NDArray[np.int32],
    numbers: NDArray[np.int64],
    heads: NDArray[np.int32],
    heaps: NDArray[np.float32],
    is_counted: bool,
    room: Room,
    entries: Entries,
    used: int,
) -> tuple[Entries, int]:
    """Scan the lists of pairs, `chosen`, for their queries, `numbers`; return all entries.

    heads (pairs): receives the last entry of each. heaps: what counts already, and what is scanned
    does at once or not.
    """
    list_count = len(offsets) - 1
    starts = np.empty(list_count + 2, np.int64)
    pairs = np.empty(len(chosen), np.int64)
    _by_list(chosen, list_count, starts, pairs)
    for each in range(list_count):
        # Where a list's pairs begin has moved one place on.
        first, last = starts[each + 1], len(pairs) if each + 1 == list_count else starts[each + 2]
        if first == last:
            continue
        entries, used = scan(
            metric,
            rows,
            codes,
            each,
            offsets[each],
            offsets[each + 1],
            targets,
            numbers,
            pairs,
            first,
            last,
            heads,
            heaps,
            is_counted,
            room,
            entries,
            used,
        )
    return entries, used


@leaf
def count_entries(head: Any, entries: Entries, heap: NDArray[np.float32]) -> None:
    """Put the scores of a pair's entries among the least ones."""
    entry = np.int64(head)
    while entry >= 0:
        if entries.scores[entry] < heap[0]:
            heap[0] = entries.scores[entry]
            sink(heap, 0)
        entry = np.int64(entries.before[entry])


@inner
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
    goes_on = np.empty(len(asking), np.bool_)
    for i in range(len(asking)):
        query, goes_on[i] = asking[i], True
        terms = stop_terms[query]
        for probed in range(done[query] + 1, done[query] + sizes[i] + 1):
            head = heads[pair]
            if not goes_on[i]:
                heads[pair] = -1
            pair += 1
            if not goes_on[i]:
                continue
            if not is_counted:
                count_entries(head, entries, heaps[query])
            if probed == 1:
                found.margins[query] = margin_of(scores[query], order[query], terms)
            goes_on[i] = goes_on_after(
                rule, scores[query], order[query], probed, heaps[query, 0], terms
            )
            found.probes[query] = probed
    return goes_on


@inner
def _grown(numbers: Any, used: int, more: int) -> Any:
    """Return numbers with room for more behind those that are used."""
    if used + more <= len(numbers):
        return numbers
    grown = np.empty(max(2 * len(numbers), used + more), numbers.dtype)
    for i in range(used):
        grown[i] = numbers[i]
    return grown


@numba.njit(cache=True, nogil=True)
def search_lists(
    metric: int,
    table: NDArray[np.int64],
    is_coded: bool | None,
    allowed: tuple[int, int],
    targets: Targets,
    rule: Rule,
    stop_terms: NDArray[np.float64],
    found: Found,
) -> None:
    """Find the nearest rows of the nearest lists of some queries.

    At least `rule.least_probes` lists are scanned, and more until there are k rows and the rule
    ends the search. stop_terms (q, 4): what makes squared distances of scores. allowed: the address
    and the length of what `Rows` has. is_coded: None for an index without codes.
    """
    lists, codes = lists_at(table), codes_at(table, is_coded)
    rows = rows_at(table, allowed[0], allowed[1])
    count, k = found.rows.shape
    list_count = len(lists.squares)
    scores = np.empty((count, list_count + -list_count % PADDED), np.float32)
    score_lists(metric, lists, targets.scaled, scores)
    heaps = np.full((count, k), inf, np.float32)
    room = new_room(count, rows.vectors.shape[1], len(rows.allowed) > 0, codes is not None)
    # Not 0: numba would compile all for a constant, and once more for a number.
    entries, used, pair_count = new_entries(count), count - count, count - count
    order = np.empty((count, 0), np.int32)
    numbers, heads = np.empty(count, np.int64), np.empty(count, np.int32)
    asking, done = np.arange(count if list_count else 0), np.zeros(count, np.int64)
    while len(asking):
        most = 0
        for query in asking:
            most = max(most, done[query])
        if most + 2 > order.shape[1] < list_count:
            width = max(2 * order.shape[1], rule.least_probes + 1, FIRST_LISTS)
            order = np.empty((count, min(list_count, width)), np.int32)
            heap = np.empty(order.shape[1], np.uint64)
            for query in asking:
                nearest_lists(scores[query], heap, order[query])
        sizes = _round_sizes(scores, order, done, asking, heaps, rule, stop_terms, list_count)
        more, most = 0, 0
        for i in range(len(asking)):
            more += sizes[i]
            most = max(most, done[asking[i]] + sizes[i])
        chosen = np.empty(more, np.int32)
        numbers, heads = _grown(numbers, pair_count, more), _grown(heads, pair_count, more)
        own_numbers = numbers[pair_count : pair_count + more]
        own_heads = heads[pair_count : pair_count + more]
        pair = 0
        for i in range(len(asking)):
            query = asking[i]
            for probed in range(done[query], done[query] + sizes[i]):
                chosen[pair], own_numbers[pair], own_heads[pair] = order[query, probed], query, -1
                pair += 1
        # Where no list is one too many, all count as soon as they are scanned.
        is_counted = most <= rule.least_probes
        entries, used = _scan_round(
            metric,
            lists.offsets,
            rows,
            codes,
            targets,
            chosen,
            own_numbers,
            own_heads,
            heaps,
            is_counted,
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
            own_heads,
            entries,
            heaps,
            is_counted,
            rule,
            stop_terms,
            found,
        )
        pair_count += more
        left = 0
        for i in range(len(asking)):
            query = asking[i]
            done[query] += sizes[i]
            if goes_on[i] and done[query] < list_count:
                asking[left] = query
                left += 1
        asking = asking[:left]
        if used > ENTRY_LIMIT or not left:
            some = numbers[:pair_count], heads[:pair_count]
            rank(metric, rows, targets, *some, heaps, entries, found.distances, found.rows)
            pair_count, used = np.int64(0), np.int64(0)
