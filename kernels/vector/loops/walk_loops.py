"""The walk along the graph of an index: from the best of some starts to the nearest vectors.

    query  ->  the starts in its nearest lists  ->  the `ef` nearest vectors that are met
    the nearest of these whose neighbours were not looked at  ->  its neighbours are met, too

A walk that keeps more vectors begins as one that keeps fewer, and goes on where that ends: the
vectors that it drops are farther than all that it looks at. So each vector has a least `ef` with
which it is met, which one walk tells for all: the greatest place among the nearest, from 1 on, of a
vector that was looked at before.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from raydb.kernels.jit import entry, inner, leaf
from raydb.kernels.memory_loops import prefetch
from raydb.kernels.vector.loops.distance_loops import Rows, bound_of
from raydb.kernels.vector.loops.list_search import Lists, nearest_lists, score_lists
from raydb.kernels.vector.loops.ranking import COSINE, distance, insert, kind_of
from raydb.kernels.vector.loops.simd import PADDED, PRODUCTS, sum_of
from raydb.kernels.vector.loops.stop_loops import Prepared, margin, prepare, squared
from raydb.kernels.vector.loops.trace_loops import Wanted

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Lists whose starts a query is compared with.
_LISTS = 8

_NOWHERE = np.uint32(0xFFFFFFFF)

# What spreads places over hashes, and how many bits of these there are at most.
_MIXED = np.uint64(2654435769)
_MOST_BITS = 24


class Linked(NamedTuple):
    """A graph: neighbours (n, degree), and the starts of list i: starts[offsets[i]: offsets[i+1]].

    See `raydb.kernels.vector.graph.Graph`.
    """

    neighbours: NDArray[np.uint32]
    starts: NDArray[np.uint32]
    offsets: NDArray[np.int64]


class _Aim(NamedTuple):
    """What a walk is to come near to: a query, by a metric, along a graph over rows.

    own: the place of a vector that is not met.
    """

    metric: int
    rows: Rows
    linked: Linked
    query: NDArray[np.float32]
    own: np.uint32


class _Walk(NamedTuple):
    """A walk: the vectors that are nearest so far, in order, and those that were met (2^n).

    scores, places, needs (ef): needs is the least `ef` with which a vector is met, and ~ that where
    its neighbours were looked at. met: the place of a vector that was met is at its hash, 32 bits
    shifted, until another one has that. left (degree): room for neighbours that were not met.
    """

    scores: NDArray[np.float32]
    places: NDArray[np.uint32]
    needs: NDArray[np.int32]
    met: NDArray[np.uint32]
    left: NDArray[np.uint32]
    shift: np.uint64


@inner
def _new_walk(ef: int, degree: int) -> _Walk:
    """Return room for walks that keep `ef` vectors."""
    bits = 1
    while (1 << bits) < ef * degree and bits < _MOST_BITS:
        bits += 1
    met, left = np.empty(1 << bits, np.uint32), np.empty(degree, np.uint32)
    scores, places, needs = (
        np.empty(ef, np.float32),
        np.empty(ef, np.uint32),
        np.empty(ef, np.int32),
    )
    return _Walk(scores, places, needs, met, left, np.uint64(32 - bits))


@leaf
def _score(aim: _Aim, place: Any) -> Any:
    """Return the score of a vector, less is nearer."""
    kind = kind_of(aim.metric)
    total = sum_of(kind, aim.rows.vectors[place], aim.query)
    if kind != PRODUCTS:
        return total
    return -total * aim.rows.scales[place] if aim.metric == COSINE else -total


@leaf
def _is_met(walk: _Walk, place: Any) -> bool:
    """Tell whether a vector is known to have been met, and note that it was."""
    mixed = (np.uint64(place) * _MIXED) & np.uint64(0xFFFFFFFF)
    at = np.int64(mixed >> walk.shift)
    if walk.met[at] == place:
        return True
    walk.met[at] = place
    return False


@leaf
def _put(walk: _Walk, count: int, score: Any, place: Any, need: int) -> int:
    """Put a vector among the nearest so far, after those as near; return where.

    -1 where it is too far, or there already.
    """
    size = len(walk.scores)
    if count == size and score >= walk.scores[size - 1]:
        return -1
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if walk.scores[middle] <= score:
            low = middle + 1
        else:
            high = middle
    i = low - 1
    while i >= 0 and walk.scores[i] == score:
        if walk.places[i] == place:
            return -1
        i -= 1
    for i in range(min(count, size - 1), low, -1):
        walk.scores[i] = walk.scores[i - 1]
        walk.places[i] = walk.places[i - 1]
        walk.needs[i] = walk.needs[i - 1]
    walk.scores[low], walk.places[low], walk.needs[low] = score, place, need
    return low


@leaf
def _look_at(aim: _Aim, walk: _Walk, count: int, now: int, need: int) -> tuple[int, int]:
    """Meet the neighbours of one of the nearest vectors.

    Return how many there are now, and the first one that may not have been looked at.
    """
    place, least, left = walk.places[now], now + 1, 0
    walk.needs[now] = ~walk.needs[now]
    for other in aim.linked.neighbours[place]:
        if other == place:
            break
        if other != aim.own and not _is_met(walk, other):
            prefetch(aim.rows.vectors[other].ctypes.data)
            walk.left[left] = other
            left += 1
    for i in range(left):
        other = walk.left[i]
        at = _put(walk, count, _score(aim, other), other, need)
        if at >= 0:
            count = min(count + 1, len(walk.scores))
            least = min(least, at)
    return count, least


@leaf
def _start(aim: _Aim, walk: _Walk, chosen: NDArray[np.int32]) -> int:
    """Put the starts of some lists among the nearest; return how many there are."""
    walk.met[:] = _NOWHERE
    count = 0
    for each in chosen:
        for i in range(aim.linked.offsets[each], aim.linked.offsets[each + 1]):
            place = aim.linked.starts[i]
            if place != aim.own:
                _is_met(walk, place)
                if _put(walk, count, _score(aim, place), place, 1) >= 0:
                    count = min(count + 1, len(walk.scores))
    return count


@leaf
def _collect(
    metric: int,
    rows: Rows,
    targets: Prepared,
    number: int,
    walk: _Walk,
    count: int,
    distances: NDArray[np.float64],
    found: NDArray[np.int64],
) -> None:
    """Write the nearest rows of the vectors that a walk ends with."""
    query, bound, counted = targets.queries[number], np.float32(inf), 0
    for i in range(count):
        row = np.int64(rows.row_ids[walk.places[i]])
        if len(rows.allowed) and not rows.allowed[row]:
            continue
        if walk.scores[i] > bound:
            break
        insert(distance(metric, rows.vectors[walk.places[i]], query), row, distances, found)
        counted += 1
        if counted == len(found):
            bound = bound_of(walk.scores[i], targets.slack[number])


@leaf
def _margin(scores: NDArray[np.float32], chosen: NDArray[np.int32], terms: Any) -> float:
    """Return how far a query's nearest list is in parts of how far the second is."""
    nearest = squared(scores[chosen[0]], terms[0], terms[1])
    second = squared(scores[chosen[min(1, len(chosen) - 1)]], terms[0], terms[1])
    return float(margin(nearest, second))


@entry
def search_graph(
    metric: int,
    longest: float,
    compared: Any,
    listed: Any,
    joined: Any,
    asked: Any,
    ef: int,
    results: Any,
) -> None:
    """Find the nearest rows of some queries among the `ef` vectors that a walk ends with.

    `Rows`, `Lists`, `Linked`, `Prepared`, into which `prepare` has written nothing yet, and `Found`
    of `search_lists` are plain tuples, which numba takes in a third of the time. probes: how many
    vectors were looked at.
    """
    prepare(metric, longest, asked[0], asked[1], asked[2], asked[3])
    rows, lists, linked, targets = (
        Rows(*compared),
        Lists(*listed),
        Linked(*joined),
        Prepared(*asked),
    )
    distances, found, probes, margins = results
    list_count, query_count = len(lists.squares), len(found)
    scores = np.empty((query_count, list_count + -list_count % PADDED), np.float32)
    score_lists(metric, lists, targets.scaled, scores)
    chosen = np.empty(min(_LISTS, list_count), np.int32)
    heap = np.empty(len(chosen), np.uint64)
    walk = _new_walk(ef, linked.neighbours.shape[1])
    for i in range(query_count if list_count else 0):
        nearest_lists(scores[i], heap, chosen)
        margins[i] = _margin(scores[i], chosen, targets.terms[i])
        aim = _Aim(metric, rows, linked, targets.scaled[i], _NOWHERE)
        count = _start(aim, walk, chosen)
        now, looked_at = 0, 0
        while now < count:
            if walk.needs[now] < 0:
                now += 1
                continue
            looked_at += 1
            count, now = _look_at(aim, walk, count, now, 1)
        probes[i] = looked_at
        _collect(metric, rows, targets, i, walk, count, distances[i], found[i])


@leaf
def _count_found(
    metric: int,
    rows: Rows,
    targets: Prepared,
    wanted: Wanted,
    number: int,
    walk: _Walk,
    count: int,
    ranks: NDArray[np.int32],
) -> int:
    """Write the least `ef` of each wanted row that was met, and return how many there are."""
    counted = 0
    for i in range(count):
        if counted == len(ranks) or walk.scores[i] > wanted.bounds[number]:
            break
        place, need = walk.places[i], walk.needs[i]
        if len(rows.allowed) and not rows.allowed[rows.row_ids[place]]:
            continue
        if distance(metric, rows.vectors[place], targets.queries[number]) > wanted.farthest[number]:
            continue
        # A walk ends with deleted rows among its vectors, too.
        ranks[counted] = max(need, ~need, i + 1, len(ranks))
        counted += 1
    return counted


@entry
def trace_graph(
    metric: int,
    compared: Any,
    listed: Any,
    joined: Any,
    asked: Any,
    looked_for: Any,
    ef: int,
    results: Any,
) -> None:
    """Walk until each query's k nearest rows are met, and write the least `ef` of each.

    Arguments as of `search_graph`, with `Wanted` as a plain tuple, too, whose own_rows are places.
    results: ranks (q, k) int32, which has what a row counts for that is not met, and margins (q).
    """
    rows, lists, linked, targets = (
        Rows(*compared),
        Lists(*listed),
        Linked(*joined),
        Prepared(*asked),
    )
    wanted, (ranks, margins) = Wanted(*looked_for), results
    list_count = len(lists.squares)
    scores = np.empty((1, list_count + -list_count % PADDED), np.float32)
    chosen = np.empty(min(_LISTS, list_count), np.int32)
    heap = np.empty(len(chosen), np.uint64)
    walk = _new_walk(ef, linked.neighbours.shape[1])
    for i in range(len(ranks)):
        own = _NOWHERE if wanted.own_rows[i] < 0 else np.uint32(wanted.own_rows[i])
        aim = _Aim(metric, rows, linked, targets.scaled[i], own)
        score_lists(metric, lists, targets.scaled[i : i + 1], scores)
        nearest_lists(scores[0], heap, chosen)
        margins[i] = _margin(scores[0], chosen, targets.terms[i])
        count = _start(aim, walk, chosen)
        now, need = 0, 1
        counted = _count_found(metric, rows, targets, wanted, i, walk, count, ranks[i])
        # Until nothing among the vectors that the greatest of them keeps can lead to nearer ones,
        # which may be deleted and stand before those that are wanted.
        while now < count and (
            counted < len(ranks[i]) or (len(rows.allowed) and now < ranks[i].max())
        ):
            if walk.needs[now] < 0:
                now += 1
                continue
            need = max(need, now + 1)
            count, now = _look_at(aim, walk, count, now, need)
            if now < count and walk.scores[now] <= wanted.bounds[i]:
                counted = _count_found(metric, rows, targets, wanted, i, walk, count, ranks[i])
