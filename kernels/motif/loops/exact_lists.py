"""The arrays of an exact search for a motif, and the runs of an edge's candidates in them.

A run is a stretch of the lists of edges, `listed[start:end]`. Bounds of its edge numbers are
`low` <= number < `high`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from raydb.kernels.jit import compiled, inlined
from raydb.kernels.motif.loops.graph_loops import find_pair, first_at_least, lower_bound

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Numbers = NDArray[np.uint32]
    # An int64 of the loops, an int to Python.
    Int = Any

# Longer runs are not looked through from the beginning.
FEW = 24

# In longer runs the edges to bound vertices are looked for by pair.
SHORT = 128

LATEST = np.int64(2**63 - 1)

# The columns of `Lists.bases`.
BY_SOURCE, BY_TARGET, BY_PAIR, VERTICES, PAIRS = range(5)

# A call hands over seven words for each array, some 200: 100 ns, three times what a step may take.
# So most of these loops are inlined.

# numba compiles a function for the literal 0 and again for any int64: what begins at 0 and is
# handed on begins at np.int64(0).


class Lists(NamedTuple):
    """What a search reads of a graph; see `TemporalGraph`.

    There are lists of several kinds: those of all edges, and those of the edges that a filter
    leaves. listed, out_offsets, in_offsets, pair_runs: of all kinds, one after the other. bases:
    shape (kinds, 5), where a kind's lists by source, by target and by pair begin in `listed`, its
    vertices in the offsets, and its pairs in `pair_runs`. pair_edges, pair_offsets: of all edges.
    masks: uint8, shape (kinds, m), whether an edge is of a kind; without rows where there is one.
    keys: int64, shape (keys, m), what tests compare. placed, narrow: shape (keys, places), the keys
    of the edges in `listed`, as far as runs of candidates are counted by them, and the same in 32
    bits; without rows where there is the other one. far: by place in `listed`, the vertex at the
    other end, as far as runs to a vertex of one edge are counted. These have some places more.
    same, later: by edge number, the first edge of its time and the first of a later one; empty
    where equal times are in the order of the input.
    following: by edge number, the first later edge that leaves its target, the number of edges for
    none; empty where no edge of the motif follows another so.
    """

    source: Numbers
    target: Numbers
    time: Integers
    listed: Numbers
    pair_edges: Numbers
    out_offsets: Numbers
    in_offsets: Numbers
    pair_offsets: Numbers
    pair_runs: Numbers
    pair_slots: Numbers
    number_bits: np.uint64
    bases: Integers
    masks: NDArray[np.uint8]
    keys: Integers
    placed: Integers
    narrow: NDArray[np.int32]
    far: Numbers
    same: Numbers
    later: Numbers
    following: Numbers


class Pattern(NamedTuple):
    """A motif as arrays: the ends and the group of each edge, and the edges of each vertex.

    touching: shape (vertices, e), the edges at a vertex. degrees: their number. is_total: whether
    no two edges are of one group.
    follower: for each edge the first later one that leaves its target, -1 for none.
    tail: 1 for an edge that is the first of three in a row which end the motif's vertices, else 0.
    kind: the kind of lists in which each edge is looked for. tests: rows for each edge, from
    test_starts on, of what its keys are compared with, see condition_loops. partners: for each
    edge, those that it is compared with, as bits; compared: those that have any.
    absent: a row for each absent edge. watched: the edges that one is about, as bits.
    credited: the vertex whose matches are counted by what it is mapped to, -1 for none.
    """

    source: Integers
    target: Integers
    group: Integers
    touching: Integers
    degrees: Integers
    is_total: bool
    follower: Integers
    tail: Integers
    kind: Integers
    tests: Integers
    test_starts: Integers
    partners: Integers
    compared: Int
    absent: Integers
    watched: Int
    credited: Int


class State(NamedTuple):
    """A search under way: rows are depths, columns edges of the motif.

    low, high: the edge numbers that a candidate may have. start, end: its run in `listed`.
    vertices, edges: what is bound, as bits. chosen: the edge whose candidates are tried, those from
    cursor to finish. match: the candidate of each bound edge. mapped: that of each bound vertex.
    rest: the edges that are left to be counted, with their first and last places and their parts.
    ranges, range_counts: by edge, where keys of its candidates lie, see condition_loops.
    runs, totals: see `_count_chain`. joins: see `_count_last`. steps: those not yet in a sum.
    credit: the matches by vertex of the graph. spread: those by place in `listed`, each beside the
    place before. Both are empty where nothing is credited.
    """

    low: Integers
    high: Integers
    start: Integers
    end: Integers
    vertices: Integers
    edges: Integers
    chosen: Integers
    cursor: Integers
    finish: Integers
    match: Integers
    mapped: Integers
    rest: Integers
    starts: Integers
    ends: Integers
    parts: Integers
    ranges: Integers
    range_counts: Integers
    runs: Integers
    totals: Integers
    joins: Integers
    steps: Integers
    credit: Integers
    spread: Integers


@inlined
def after_edge(lists: Lists, edge: int) -> Int:
    """Return the first edge that may follow one."""
    return np.int64(lists.later[edge]) if len(lists.later) else edge + 1


@inlined
def before_edge(lists: Lists, edge: int) -> Int:
    """Return the edge after the last one that may precede one."""
    return np.int64(lists.same[edge]) if len(lists.same) else edge


@inlined
def pair_run(
    lists: Lists, kind: int, source: int, target: int, low: int, high: int
) -> tuple[Int, Int]:
    """Return the run of the edges between two vertices that have numbers in low .. high - 1."""
    pair = find_pair(lists, source, target)
    if pair < 0:
        return 0, 0
    base, place = lists.bases[kind, BY_PAIR], lists.bases[kind, PAIRS] + pair
    start = base + np.int64(lists.pair_runs[place])
    end = base + np.int64(lists.pair_runs[place + 1])
    start = first_at_least(lists.listed, start, end, low)
    return start, first_at_least(lists.listed, start, end, high)


@inlined
def vertex_run(
    lists: Lists, kind: int, vertex: int, is_source: bool, low: int, high: int
) -> tuple[Int, Int]:
    """Return the run of a vertex's edges that have numbers in low .. high - 1."""
    place = lists.bases[kind, VERTICES] + vertex
    if is_source:
        base = lists.bases[kind, BY_SOURCE]
        start = base + np.int64(lists.out_offsets[place])
        end = base + np.int64(lists.out_offsets[place + 1])
    else:
        base = lists.bases[kind, BY_TARGET]
        start = base + np.int64(lists.in_offsets[place])
        end = base + np.int64(lists.in_offsets[place + 1])
    if end - start > FEW:
        # A busy vertex is busy all the time: its edges are looked for where they would lie if
        # they were evenly spread, which takes a third of the steps of a binary search.
        guess = start + np.int64((end - start) * np.float64(low) / len(lists.source))
        step = FEW
        if np.int64(lists.listed[np.uint64(guess)]) < low:
            start = guess
        else:
            end_of_start = guess
            while guess - step > start:
                if np.int64(lists.listed[np.uint64(guess - step)]) < low:
                    start = guess - step
                    break
                end_of_start = guess - step
                step *= 2
            place = lower_bound(lists.listed, start, end_of_start, low)
            return place, first_at_least(lists.listed, place, end, high)
    start = first_at_least(lists.listed, start, end, low)
    return start, first_at_least(lists.listed, start, end, high)


@inlined
def is_mapped(state: State, vertices: int, vertex: int) -> bool:
    """Return whether one of some vertices of the motif is mapped to a vertex."""
    other = 0
    while vertices:
        if vertices & 1 and state.mapped[other] == vertex:
            return True
        vertices >>= 1
        other += 1
    return False


@inlined
def window_end(time: Integers, delta: int, edge: int, low: int) -> Int:
    """Return the first edge from `low` on that is later than an edge by more than delta."""
    # LLVM takes it that a sum does not overflow, and would leave out a test of the sum.
    limit = LATEST if time[edge] > LATEST - delta else time[edge] + delta
    while low < len(time) and time[low] <= limit:
        low += 1
    return low


@compiled
def filter_lists(
    edges: Numbers, offsets: Numbers, mask: NDArray[np.uint8], kept: Numbers, starting: Numbers
) -> None:
    """Write the edges of lists that a mask keeps, and where each list begins among them.

    kept: has room for one edge more.
    """
    count = np.int64(0)
    for number in range(len(offsets) - 1):
        starting[number] = count
        for place in range(np.int64(offsets[number]), np.int64(offsets[number + 1])):
            edge = edges[place]
            kept[count] = edge
            count += mask[edge]
    starting[len(starting) - 1] = count


@compiled
def place_keys(keys: Integers, listed: Numbers, least: int, placed: NDArray[Any]) -> None:
    """Write the keys of listed edges, of 64 bits or of 32, `least` for those that are less."""
    for place in range(len(listed)):
        placed[place] = max(keys[np.uint64(listed[place])], np.int64(least))


@compiled
def place_ends(ends: Numbers, listed: Numbers, far: Numbers) -> None:
    """Write the ends of listed edges."""
    for place in range(len(listed)):
        far[place] = ends[np.uint64(listed[place])]


@compiled
def find_ties(time: Integers, same: Numbers, later: Numbers) -> None:
    """Write the first edge of the same time and the first of a later time of each edge."""
    count = len(time)
    for edge in range(count):
        is_new = edge == 0 or time[edge] != time[edge - 1]
        same[edge] = edge if is_new else same[edge - 1]
    for edge in range(count - 1, -1, -1):
        is_last = edge == count - 1 or time[edge] != time[edge + 1]
        later[edge] = edge + 1 if is_last else later[edge + 1]


@compiled
def find_following(
    offsets: Numbers,
    edges: Numbers,
    next_offsets: Numbers,
    next_edges: Numbers,
    later: Numbers,
    following: Numbers,
) -> None:
    """Write for each edge of a vertex's list the first edge of another of its lists that is later.

    It is the number of edges where there is none. later: as in `Lists`.
    """
    for vertex in range(len(offsets) - 1):
        place, end = np.int64(next_offsets[vertex]), np.int64(next_offsets[vertex + 1])
        for own in range(np.int64(offsets[vertex]), np.int64(offsets[vertex + 1])):
            edge = np.int64(edges[own])
            after = np.int64(later[edge]) if len(later) else edge + 1
            while place < end and np.int64(next_edges[place]) < after:
                place += 1
            following[edge] = next_edges[place] if place < end else len(following)
