"""The search of an IVF index for a few queries: one after the other, each by two threads at most.

    query -> its lists in order -> rounds: as many lists as are fixed, then one list after the other
    round -> units of about 128 KiB of rows, which both threads take in their order
          -> entries of both, ranked once the search ends

A search ends as soon as its rule says, and scans no list more than it needs. The other thread waits
in a loop for the next search, without Python's lock, for as long as the next of a row of searches
takes to come, and then sleeps. It is never waited for: what it does not finish soon is done again
here, and it helps with nothing more of that search.
"""

from __future__ import annotations

from math import inf, nan
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from raydb.kernels.vector.atomics import carray, load_word, pause, pointer_at, store_word, swap_word
from raydb.kernels.vector.distance_loops import (
    CHUNK_ROWS,
    Entries,
    Targets,
    bound_of,
    new_entries,
    new_room,
    rank_entries,
    rows_at,
    scan_chunk,
    with_room,
)
from raydb.kernels.vector.exact_search import address_of
from raydb.kernels.vector.list_search import (
    FIRST_LISTS,
    Rule,
    codes_at,
    count_entries,
    goes_on_after,
    lists_at,
    margin_of,
    nearest_lists,
    score_lists,
)
from raydb.kernels.vector.simd import PADDED, inner, leaf
from raydb.kernels.vector.stop_loops import prepare

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.kernels.vector.distance_loops import Room, Rows
    from raydb.kernels.vector.quantization import Codes

# What a thread takes at a time: so many bytes of rows, and no more rows than that.
_UNIT_BYTES = 2**17
_UNIT_ROWS = 1024

# What the other thread has room for: units of one search, entries, and k.
_UNITS = 4096
_ENTRIES = 2**15
MAX_K = 1024

# Turns of a loop of 20 to 40 ns: how long the other thread waits for the next search, and how
# long a unit of the other thread is waited for.
_PATIENCE = 4000
_UNIT_PATIENCE = 4000

# The words that both threads look at.
JOB, LIMIT, IS_CLOSED, IS_AWAKE = 0, 1, 2, 3
_METRIC, _TABLE, _TABLE_LENGTH, _K, _SCALED, _SLACK, _ALLOWED, _ALLOWED_COUNT = range(4, 12)
_HEAP, _SCORES, _PLACES, _BEFORE, _STATES = range(12, 17)
_LISTS, _STARTS, _ENDS, _HEADS = (_STATES + i * _UNITS for i in range(1, 5))
_WORDS = _STATES + 5 * _UNITS

# Of a job, and of a unit.
NOBODYS, OFFERED, TAKEN = 0, 1, 2
_FREE, _OWN, _HELPED, _DONE = 0, 1, 2, 3


class Help:
    """What the other thread looks at and writes; kept as long as that may be."""

    def __init__(self) -> None:
        self.words = np.zeros(_WORDS, np.int64)
        self._arrays = (
            np.empty(MAX_K, np.float32),
            np.empty(_ENTRIES, np.float32),
            np.empty(_ENTRIES, np.uint32),
            np.empty(_ENTRIES, np.int32),
        )
        places = [address_of(each) for each in self._arrays]
        self.words[[_HEAP, _SCORES, _PLACES, _BEFORE]] = places


@leaf
def _word_at(words: NDArray[np.int64], place: int) -> np.int64:
    return np.int64(words.ctypes.data) + 8 * place


@inner
def _others_entries(words: NDArray[np.int64]) -> Entries:
    """Return the other thread's entries."""
    return Entries(
        carray(pointer_at(words[_SCORES]), (_ENTRIES,), np.float32),
        carray(pointer_at(words[_PLACES]), (_ENTRIES,), np.uint32),
        carray(pointer_at(words[_BEFORE]), (_ENTRIES,), np.int32),
    )


@leaf
def _put_units(
    words: NDArray[np.int64], each: int, start: int, end: int, rows: int, used: int
) -> int:
    """Write the units of a list; return how many there are then."""
    for first in range(start, end, rows):
        words[_STATES + used] = _FREE
        words[_LISTS + used] = each
        words[_STARTS + used], words[_ENDS + used] = first, min(first + rows, end)
        used += 1
    return used


@inner
def _help_search(words: NDArray[np.int64], is_coded: bool | None) -> None:
    """Take units of a search until it is over."""
    table = carray(pointer_at(words[_TABLE]), (words[_TABLE_LENGTH],), np.int64)
    rows = rows_at(table, words[_ALLOWED], words[_ALLOWED_COUNT])
    codes = codes_at(table, is_coded)
    width, k = rows.vectors.shape[1], words[_K]
    scaled = carray(pointer_at(words[_SCALED]), (1, width), np.float32)
    slack = carray(pointer_at(words[_SLACK]), (1, 2), np.float32)
    targets = Targets(scaled, scaled, slack)
    heaps = carray(pointer_at(words[_HEAP]), (1, k), np.float32)
    for place in range(k):
        heaps[0, place] = inf
    room = new_room(1, width, len(rows.allowed) > 0, codes is not None)
    entries = _others_entries(words)
    numbers, heads = np.zeros(1, np.int64), np.empty(1, np.int32)
    unit, used = np.int64(0), np.int64(0)
    while load_word(_word_at(words, IS_CLOSED)) == 0:
        if unit >= load_word(_word_at(words, LIMIT)) or used + _UNIT_ROWS > len(entries.scores):
            pause()
            continue
        if swap_word(_word_at(words, _STATES + unit), _FREE, _HELPED):
            heads[0] = -1
            used = _scan_rows(
                words[_METRIC],
                rows,
                codes,
                words[_LISTS + unit],
                words[_STARTS + unit],
                words[_ENDS + unit],
                targets,
                numbers,
                heads,
                heaps,
                room,
                entries,
                used,
            )
            words[_HEADS + unit] = heads[0]
            swap_word(_word_at(words, _STATES + unit), _HELPED, _DONE)
        unit += 1


@numba.njit(cache=True, nogil=True)
def help_searches(words: NDArray[np.int64], is_coded: bool | None) -> None:
    """Help with searches until none has come for a while."""
    turns = 0
    job = _word_at(words, JOB)
    while turns < _PATIENCE:
        if load_word(job) == OFFERED and swap_word(job, OFFERED, TAKEN):
            _help_search(words, is_coded)
            store_word(job, NOBODYS)
            turns = 0
        pause()
        turns += 1
    store_word(_word_at(words, IS_AWAKE), 0)


@leaf
def _offer(
    metric: int,
    table: NDArray[np.int64],
    k: int,
    scaled: NDArray[np.float32],
    slack: NDArray[np.float32],
    allowed_at: int,
    allowed_count: int,
    words: NDArray[np.int64],
) -> bool:
    """Offer a search (scaled (1, d), slack (1, 2)) to the other thread, unless it is at another."""
    if len(words) == 0 or load_word(_word_at(words, JOB)) != NOBODYS:
        return False
    words[LIMIT], words[IS_CLOSED], words[_METRIC], words[_K] = 0, 0, metric, k
    words[_TABLE], words[_TABLE_LENGTH] = np.int64(table.ctypes.data), len(table)
    words[_SCALED], words[_SLACK] = np.int64(scaled.ctypes.data), np.int64(slack.ctypes.data)
    words[_ALLOWED], words[_ALLOWED_COUNT] = allowed_at, allowed_count
    store_word(_word_at(words, JOB), OFFERED)
    return True


@leaf
def _withdraw(words: NDArray[np.int64]) -> None:
    """Give the other thread a moment to hear that its work for a search is over."""
    if swap_word(_word_at(words, JOB), OFFERED, NOBODYS):
        return
    turns = 0
    while load_word(_word_at(words, JOB)) != NOBODYS and turns < _UNIT_PATIENCE:
        pause()
        turns += 1


@leaf
def _is_done_by_other(words: NDArray[np.int64], unit: int) -> bool:
    """Tell whether the other thread has done a unit that it took, or take that from it."""
    state, turns = _word_at(words, _STATES + unit), 0
    while load_word(state) == _HELPED:
        pause()
        turns += 1
        if turns > _UNIT_PATIENCE and swap_word(state, _HELPED, _OWN):
            store_word(_word_at(words, IS_CLOSED), 1)
            return False
    return True


@leaf
def _scan_rows(
    metric: int,
    rows: Rows,
    codes: Codes | None,
    each: int,
    start: int,
    end: int,
    one: Targets,
    number: NDArray[np.int64],
    heads: NDArray[np.int32],
    heaps: NDArray[np.float32],
    room: Room,
    entries: Entries,
    used: int,
) -> int:
    """Do as `scan` for one query; `entries` have room for all rows. Return how many there are.

    number: one 0, for numba would compile all anew for a constant.
    """
    for first in range(start, end, CHUNK_ROWS):
        used = scan_chunk(
            metric,
            rows,
            codes,
            each,
            first,
            min(first + CHUNK_ROWS, end),
            one,
            number,
            number,
            number[0],
            number[0] + 1,
            heads,
            heaps,
            True,
            room,
            entries,
            used,
        )
    return used


@leaf
def _scan_lists(
    metric: int,
    offsets: NDArray[np.int64],
    rows: Rows,
    codes: Codes | None,
    one: Targets,
    chosen: NDArray[np.int32],
    number: NDArray[np.int64],
    heads: NDArray[np.int32],
    heaps: NDArray[np.float32],
    room: Room,
    entries: Entries,
    used: int,
    words: NDArray[np.int64],
    others: Entries,
    unit_rows: int,
    units: int,
    is_helped: bool,
) -> tuple[int, int, bool]:
    """Scan some lists for one query, in units where there is help, of which `units` are done.

    entries: with room for all rows. Return how many there are, how many units, and whether there
    is help still.
    """
    first_unit = units
    for place in range(len(chosen)):
        each = np.int64(chosen[place])
        start, end = offsets[each], offsets[each + 1]
        if is_helped and units + (end - start) // unit_rows + 1 < _UNITS:
            units = _put_units(words, each, start, end, unit_rows, units)
            store_word(_word_at(words, LIMIT), units)
        else:
            is_helped = False
            used = _scan_rows(
                metric,
                rows,
                codes,
                each,
                start,
                end,
                one,
                number,
                heads,
                heaps,
                room,
                entries,
                used,
            )
    for turn in range(2):
        for unit in range(first_unit, units):
            state, is_own = _word_at(words, _STATES + unit), False
            if turn == 0:
                is_own = swap_word(state, _FREE, _OWN)
            elif load_word(state) == _OWN:
                continue
            elif _is_done_by_other(words, unit):
                count_entries(words[_HEADS + unit], others, heaps[0])
            else:
                is_own, is_helped = True, False
            if is_own:
                each, start, end = words[_LISTS + unit], words[_STARTS + unit], words[_ENDS + unit]
                used = _scan_rows(
                    metric,
                    rows,
                    codes,
                    each,
                    start,
                    end,
                    one,
                    number,
                    heads,
                    heaps,
                    room,
                    entries,
                    used,
                )
    return used, units, is_helped


@leaf
def _rank_units(
    metric: int,
    rows: Rows,
    query: NDArray[np.float32],
    bound: Any,
    words: NDArray[np.int64],
    units: int,
    others: Entries,
    distances: NDArray[np.float64],
    found: NDArray[np.int64],
) -> None:
    """Rank what the other thread has found."""
    for unit in range(units):
        if load_word(_word_at(words, _STATES + unit)) == _DONE:
            head = words[_HEADS + unit]
            rank_entries(metric, rows, query, head, bound, others, distances, found)


@numba.njit(cache=True, nogil=True)
def search_few(
    metric: int,
    table: NDArray[np.int64],
    is_coded: bool | None,
    longest: float,
    queries: NDArray[np.float32],
    scaled: NDArray[np.float32],
    slack: NDArray[np.float32],
    terms: NDArray[np.float64],
    allowed_at: int,
    allowed_count: int,
    least_probes: int,
    score: int,
    gamma: float,
    kreg: int,
    scale: float,
    share: float,
    threshold: float,
    words: NDArray[np.int64],
    distances: NDArray[np.float64],
    found: NDArray[np.int64],
    probes: NDArray[np.int64],
    margins: NDArray[np.float64],
) -> None:
    """Find the nearest rows of the nearest lists of queries (q, d); the last four receive them.

    table: of an index, see `lists_at`; is_coded: None where it has no codes. scaled (q, d), slack
    (q, 2), terms (q, 4): room for what `prepare` writes; `scaled` may be the queries. words: those
    of `Help`, or none. allowed_at, allowed_count: where `Rows` has what is allowed. least_probes ..
    threshold: those of `Rule`.
    """
    prepare(metric, longest, queries, scaled, slack, terms)
    rule = Rule(least_probes, score, gamma, kreg, scale, share, threshold)
    lists, codes = lists_at(table), codes_at(table, is_coded)
    rows = rows_at(table, allowed_at, allowed_count)
    list_count, k, width = len(lists.squares), found.shape[1], queries.shape[1]
    row_bytes = width * (4 if codes is None else 1)
    unit_rows = max(min(_UNIT_BYTES // row_bytes, _UNIT_ROWS) // PADDED, 1) * PADDED
    room = new_room(1, width, allowed_count > 0, codes is not None)
    scores = np.empty((1, list_count + -list_count % PADDED), np.float32)
    heaps, heads = np.empty((1, k), np.float32), np.empty(1, np.int32)
    others = _others_entries(words) if len(words) else new_entries(0)
    entries, number = new_entries(max(k, 1)), np.zeros(1, np.int64)
    order = np.empty(0, np.int32)
    for query in range(len(queries)):
        one = Targets(
            queries[query : query + 1], scaled[query : query + 1], slack[query : query + 1]
        )
        for place in range(k):
            heaps[0, place], distances[query, place], found[query, place] = inf, inf, -1
        margins[query], probes[query], heads[0] = nan, 0, -1
        if list_count == 0:
            continue
        is_helped = _offer(
            metric, table, k, one.scaled, one.slack, allowed_at, allowed_count, words
        )
        is_offered = is_helped
        score_lists(metric, lists, one.scaled, scores)
        probed, used, units, known = number[0], number[0], number[0], number[0]
        goes_on = True
        while goes_on and probed < list_count:
            last = min(max(least_probes, probed + 1), list_count)
            if min(last + 1, list_count) > known:
                known = min(max(least_probes + 1, FIRST_LISTS, 2 * last), list_count)
                order = np.empty(known, np.int32)
                nearest_lists(scores[0], np.empty(known, np.uint64), order)
            scanned = 0
            for place in range(probed, last):
                scanned += lists.offsets[order[place] + 1] - lists.offsets[order[place]]
            entries = with_room(entries, used, scanned)
            used, units, is_helped = _scan_lists(
                metric,
                lists.offsets,
                rows,
                codes,
                one,
                order[probed:last],
                number,
                heads,
                heaps,
                room,
                entries,
                used,
                words,
                others,
                unit_rows,
                units,
                is_helped,
            )
            probed = last
            goes_on = goes_on_after(rule, scores[0], order, probed, heaps[0, 0], terms[query])
        if is_offered:
            store_word(_word_at(words, IS_CLOSED), 1)
        margins[query], probes[query] = margin_of(scores[0], order, terms[query]), probed
        bound, into = bound_of(heaps[0, 0], slack[query]), (distances[query], found[query])
        head = np.int64(heads[0])
        rank_entries(metric, rows, queries[query], head, bound, entries, into[0], into[1])
        _rank_units(metric, rows, queries[query], bound, words, units, others, into[0], into[1])
        if is_offered:
            _withdraw(words)
