"""A graph, a motif and conditions as arrays, which the loops of exact counting read."""

from __future__ import annotations

from collections import Counter
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from raydb.kernels.backends.cpu.threads import run_parts
from raydb.kernels.motif.common_keys import (
    AT_MOST,
    DIFFERENT,
    EQUAL,
    LESS,
    TURNED,
    CommonKeys,
)
from raydb.kernels.motif.conditions import NONE, NULL_KEY, with_equal_twins

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from raydb.kernels.motif.common_keys import Test
    from raydb.kernels.motif.conditions import Conditions, Operator
    from raydb.kernels.motif.graph import TemporalGraph
    from raydb.kernels.motif.loops.exact_lists import Lists, Pattern, State
    from raydb.kernels.motif.shape import Motif, Ties

    # Keys, the tests of each edge, and the keys in the order of the lists, of 64 bits and of 32.
    _Compared: TypeAlias = tuple[
        NDArray[np.int64], list[list[Test]], NDArray[np.int64], NDArray[np.int32]
    ]

T = TypeVar("T")
U = TypeVar("U")

# How comparisons are told to the loops, see condition_loops.
_ASKED: Mapping[Operator, int] = {"<": LESS, "<=": AT_MOST, "=": EQUAL, "<>": DIFFERENT}

# Keys within this have 32 bits in the order of the lists.
_MOST_NARROW = 2**31 - 2

# Keys of so many edges take 0.1 ms to prepare, ten times what handing them to a thread takes.
_MANY_EDGES = 2**14


def prepare(
    graph: TemporalGraph,
    motif: Motif,
    delta: int,
    ties: Ties,
    conditions: Conditions | None = None,
    credited: int = -1,
) -> tuple[Lists, Pattern]:
    """Return graph and motif as the loops read them.

    credited: the vertex of the motif whose matches are counted by what it is mapped to, or -1.
    """
    from raydb.kernels.motif.loops import exact_lists  # noqa: PLC0415  (numba takes 0.3 s)

    asked = with_equal_twins(conditions or NONE, motif)
    follower = _followers(motif)
    listed, offsets, bases, masks = _lists_of_kinds(graph, asked, _only_root(motif))

    def order() -> tuple[NDArray[np.uint32], ...]:
        far = _far(graph, motif, listed, bases, asked.filter_of)
        return *_orders(graph, ties, bool((follower >= 0).any())), far

    def compare() -> _Compared:
        keys, tests = _tests(motif, asked)
        return keys, tests, *_placed(motif, listed, bases, asked.filter_of, keys, tests)

    (same, later, following, far), (keys, tests, placed, narrow) = _both(
        order, compare, graph.edge_count if asked.comparisons else 0
    )
    lists = exact_lists.Lists(
        graph.source,
        graph.target,
        graph.time,
        _frozen(listed),
        graph.pair_edges,
        _frozen(offsets[0]),
        _frozen(offsets[1]),
        graph.pair_offsets,
        _frozen(offsets[2]),
        graph.pair_slots,
        np.uint64(graph.pair_count.bit_length()),
        bases,
        masks,
        keys,
        placed,
        narrow,
        far,
        _frozen(same),
        _frozen(later),
        _frozen(following),
    )
    return lists, _pattern(motif, follower, asked, tests, delta, credited)


def _both(one: Callable[[], T], other: Callable[[], U], edge_count: int) -> tuple[T, U]:
    """Return what two functions return, each on a thread of its own where edges are many."""
    if edge_count < _MANY_EDGES:
        return one(), other()
    made: list[Any] = run_parts(lambda make: make(), (one, other))
    return made[0], made[1]


def _orders(
    graph: TemporalGraph, ties: Ties, follows: bool
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]:
    """Return `same`, `later` and `following` of `Lists`, the last one where an edge follows one."""
    from raydb.kernels.motif.loops import exact_lists  # noqa: PLC0415  (numba takes 0.3 s)

    same = later = following = np.empty(0, np.uint32)
    if ties == "strict" and bool((graph.time[1:] == graph.time[:-1]).any()):
        same, later = np.empty_like(graph.source), np.empty_like(graph.source)
        exact_lists.find_ties(graph.time, same, later)
    if follows:
        following = np.empty_like(graph.source)
        exact_lists.find_following(
            *(graph.in_offsets, graph.in_edges, graph.out_offsets, graph.out_edges),
            *(later, following),
        )
    return same, later, following


def _pattern(
    motif: Motif,
    follower: NDArray[np.int64],
    asked: Conditions,
    tests: list[list[Test]],
    delta: int,
    credited: int,
) -> Pattern:
    from raydb.kernels.motif.loops.exact_lists import Pattern  # noqa: PLC0415  (numba takes 0.3 s)

    edge_count = len(motif.edges)
    ends = np.array(motif.edges, np.int64)
    touching = np.zeros((motif.vertex_count, edge_count), np.int64)
    degrees = np.zeros(motif.vertex_count, np.int64)
    for number, edge in enumerate(motif.edges):
        for vertex in edge:
            touching[vertex, degrees[vertex]] = number
            degrees[vertex] += 1
    partners = [
        sum(1 << other for other in {row[1] for row in rows} if other >= 0) for rows in tests
    ]
    absent = _absent(motif, asked, delta)
    watched = 0
    for row in absent:
        watched |= row[0]
    return Pattern(
        ends[:, 0].copy(),
        ends[:, 1].copy(),
        np.array(motif.groups, np.int64),
        touching,
        degrees,
        motif.is_total,
        follower,
        _tails(motif, follower, degrees),
        np.array(asked.filter_of or [-1] * edge_count, np.int64) + 1,
        np.array([row for rows in tests for row in rows], np.int64).reshape(-1, 4),
        np.cumsum([0, *map(len, tests)]),
        np.array(partners, np.int64),
        np.int64(sum(1 << edge for edge, own in enumerate(partners) if own)),
        np.array(absent, np.int64).reshape(-1, 6),
        np.int64(watched),
        np.int64(credited),
    )


def _tests(motif: Motif, asked: Conditions) -> tuple[NDArray[np.int64], list[list[Test]]]:
    """Return the keys, and what those of each edge are compared with, in the order of the keys.

    A comparison within an edge becomes a key of its own, 1 where it holds. Keys of an edge that
    stand for each other are one. The only root is compared with nothing: it is bound before all
    other edges, which are compared with it.
    """
    common, root = CommonKeys(asked.keys), _only_root(motif)
    tests: list[list[Test]] = [[] for _ in motif.edges]
    for each in asked.comparisons:
        one, other = (each.key, each.factor), (each.other_key, each.other_factor)
        if each.edge == each.other_edge:
            places = common.multiplied(one), common.multiplied(other)
            held = _holds(common.keys[places[0]], each.operator, common.keys[places[1]])
            tests[each.edge].append((len(common.keys), -1, 0, EQUAL))
            common.keys.append(held.astype(np.int64))
            continue
        asks = _ASKED[each.operator]
        if each.edge != root:
            tests[each.edge].append(common.compared(one, each.other_edge, other, asks))
        if each.other_edge != root:
            turned = common.compared(other, each.edge, one, TURNED[asks])
            tests[each.other_edge].append(turned)
    tests = [common.with_fewest(rows) for rows in tests]
    every = [row for rows in tests for row in rows]
    used = sorted({row[0] for row in every} | {row[2] for row in every if row[1] >= 0})
    place = {key: number for number, key in enumerate(used)}
    for edge, rows in enumerate(tests):
        moved = [(place[key], other, place.get(key2, 0), asks) for key, other, key2, asks in rows]
        tests[edge] = sorted(moved, key=itemgetter(0, 3))
    only = common.keys[used[0]] if len(used) == 1 else None
    if only is not None and only.flags.carray:
        # As it is: a loop would be compiled anew for one that can't be written.
        return only.reshape(1, -1), tests
    stacked = np.array([common.keys[key] for key in used], np.int64)
    return (stacked if used else np.empty((0, 0), np.int64)), tests


def _only_root(motif: Motif) -> int:
    """Return the edge that is bound before all others, -1 where it is one of several."""
    return 0 if motif.groups.count(0) == 1 else -1


def _holds(
    one: NDArray[np.int64], operator: Operator, other: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return for which edges a comparison of two of their keys holds."""
    compare = {"<": np.less, "<=": np.less_equal, "=": np.equal, "<>": np.not_equal}[operator]
    found: NDArray[np.bool_] = compare(one, other) & (one != NULL_KEY) & (other != NULL_KEY)
    return found


def _placed(
    motif: Motif,
    listed: NDArray[np.uint32],
    bases: NDArray[np.int64],
    kinds: tuple[int, ...],
    keys: NDArray[np.int64],
    tests: list[list[Test]],
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the keys in the order of the lists, written where runs of an edge may be counted.

    That is where all that is asked of the edge is a range of one key. The rest takes no memory. All
    have 64 bits or all have 32, see `Lists`; there are none of the others.
    """
    from raydb.kernels.motif.loops.exact_lists import place_keys  # noqa: PLC0415  (numba takes 0.3 s)
    from raydb.kernels.motif.loops.run_counts import AT_ONCE  # noqa: PLC0415  (numba takes 0.3 s)

    degrees, root = _degrees(motif), _only_root(motif)
    roots = [edge for edge, group in enumerate(motif.groups) if group == 0]
    own = [{key for key, *_ in rows} if edge != root else set() for edge, rows in enumerate(tests)]
    counted = {edge: next(iter(each)) for edge, each in enumerate(own) if len(each) == 1}
    shape = (len(keys), len(listed) + AT_ONCE) if counted else (0, 0)
    is_narrow = all(_fits_narrow(keys[key]) for key in {*counted.values()})
    least = -(2**31) if is_narrow else NULL_KEY
    placed: NDArray[Any] = np.empty(shape, np.int32 if is_narrow else np.int64)
    for edge, key in counted.items():
        source, target = (degrees[vertex] > 1 for vertex in motif.edges[edge])
        is_bound = all(set(motif.edges[root]) == set(motif.edges[edge]) for root in roots)
        base = bases[kinds[edge] + 1 if kinds else 0]
        size = int(base[1] - base[0])
        read = source and not is_bound, target and not is_bound, source and target
        for start, is_read in zip(base[:3], read, strict=True):
            if is_read:
                places = slice(start, start + size)
                place_keys(keys[key], listed[places], least, placed[key, places])
    if is_narrow:
        return np.empty((0, 0), np.int64), placed
    return placed, np.empty((0, 0), np.int32)


def _fits_narrow(keys: NDArray[np.int64]) -> bool:
    """Return whether keys fit 32 bits, whose least number is left to NULL_KEY."""
    least = int(keys.min(initial=0))
    if least == NULL_KEY:
        least = int(keys.min(initial=0, where=keys != NULL_KEY))
    return max(-least, int(keys.max(initial=0))) <= _MOST_NARROW


def _far(
    graph: TemporalGraph,
    motif: Motif,
    listed: NDArray[np.uint32],
    bases: NDArray[np.int64],
    kinds: tuple[int, ...],
) -> NDArray[np.uint32]:
    """Return the vertices at the other ends in the order of the lists; see `Lists`."""
    from raydb.kernels.motif.loops.exact_lists import place_ends  # noqa: PLC0415  (numba takes 0.3 s)
    from raydb.kernels.motif.loops.run_counts import AT_ONCE  # noqa: PLC0415  (numba takes 0.3 s)

    degrees, root = _degrees(motif), _only_root(motif)
    read = set()
    for edge, (source, target) in enumerate(motif.edges):
        kind = kinds[edge] + 1 if kinds else 0
        if edge != root and degrees[target] == 1:
            read.add((kind, 0))
        if edge != root and degrees[source] == 1:
            read.add((kind, 1))
    far = np.empty(len(listed) + AT_ONCE if read else 0, np.uint32)
    for kind, side in read:
        size = int(bases[kind][1] - bases[kind][0])
        places = slice(int(bases[kind][side]), int(bases[kind][side]) + size)
        ends = graph.source if side else graph.target
        place_ends(ends, listed[places], far[places])
    return far


def _degrees(motif: Motif) -> Counter[int]:
    return Counter(vertex for edge in motif.edges for vertex in edge)


def _absent(motif: Motif, asked: Conditions, delta: int) -> list[tuple[int, ...]]:
    """Return the rows of `Pattern.absent`; see condition_loops."""
    rows: list[tuple[int, ...]] = []
    for edge in asked.absent:
        after, before = (_bits_of(motif, group) for group in (edge.after, edge.after + 1))
        needs = after | before
        if not after:
            needs = (1 << len(motif.edges)) - 1
        if not before:
            needs |= _bits_of(motif, 0)
        ends = [-1 if end is None else end for end in (edge.source, edge.target)]
        for end in ends:
            if end >= 0:
                needs |= 1 << next(n for n, pair in enumerate(motif.edges) if end in pair)
        rows.append((needs, ends[0], after, ends[1], before, delta))
    return rows


def _bits_of(motif: Motif, group: int) -> int:
    return sum(1 << edge for edge, own in enumerate(motif.groups) if own == group)


def _lists_of_kinds(
    graph: TemporalGraph, asked: Conditions, root: int
) -> tuple[NDArray[np.uint32], list[NDArray[np.uint32]], NDArray[np.int64], NDArray[np.uint8]]:
    """Return the lists of all edges and those of each filter, their offsets, bases and masks.

    root: the edge that is looked for in no list, -1 for none.
    """
    from raydb.kernels.motif.loops.exact_lists import filter_lists  # noqa: PLC0415  (numba takes 0.3 s)

    whole = [
        (graph.out_edges, graph.out_offsets),
        (graph.in_edges, graph.in_offsets),
        (graph.pair_edges, graph.pair_offsets),
    ]
    count, vertices, pairs = graph.edge_count, len(graph.out_offsets), len(graph.pair_offsets)
    bases = [[0, count, 2 * count, 0, 0]]
    if not asked.filters:
        masks = np.empty((0, 0), np.uint8)
        return graph.listed, [offsets for _, offsets in whole], np.array(bases), masks
    masks = np.array([np.ones(count, np.bool_), *asked.filters], np.uint8)
    is_looked_for = {own for edge, own in enumerate(asked.filter_of) if edge != root}
    listed, offsets = [graph.listed], [[each] for _, each in whole]
    begin, made = 3 * count, 1
    for number, mask in enumerate(masks[1:]):
        if number not in is_looked_for:
            bases.append([begin, begin, begin, 0, 0])
            continue
        size = int(np.count_nonzero(mask))
        starts = (begin, begin + size, begin + 2 * size)
        bases.append([*starts, made * vertices, made * pairs])
        begin, made = begin + 3 * size, made + 1
        for place, (edges, each) in enumerate(whole):
            # The loop writes each edge, and one that is not kept is written over.
            kept, starting = np.empty(size + 1, np.uint32), np.empty_like(each)
            filter_lists(edges, each, mask, kept, starting)
            listed.append(kept[:size])
            offsets[place].append(starting)
    return (
        np.concatenate(listed),
        [np.concatenate(each) for each in offsets],
        np.array(bases),
        masks,
    )


def _followers(motif: Motif) -> NDArray[np.int64]:
    """Return for each edge the first edge of a later group that leaves its target, -1 for none."""
    found = np.full(len(motif.edges), -1, np.int64)
    for number, (_, target) in enumerate(motif.edges):
        for other, (source, _) in enumerate(motif.edges):
            if (
                source == target
                and motif.groups[other] > motif.groups[number]
                and found[number] < 0
            ):
                found[number] = other
    return found


def _tails(
    motif: Motif, follower: NDArray[np.int64], degrees: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return 1 for each edge from which two more hang in the order of time, and nothing else."""
    found = np.zeros(len(motif.edges), np.int64)
    for number, (_, target) in enumerate(motif.edges):
        second = int(follower[number])
        third = int(follower[second]) if second >= 0 else -1
        if third >= 0:
            others = [degrees[motif.edges[edge][1]] for edge in (second, third)]
            found[number] = motif.is_total and [degrees[target], *others] == [2, 2, 1]
    return found


def new_state(pattern: Pattern, credit: int = 0, spread: int = 0) -> State:
    """Return what a thread writes on; credit, spread: the lengths of these two arrays."""
    from raydb.kernels.motif.loops.exact_lists import State  # noqa: PLC0415  (numba takes 0.3 s)

    edge_count, vertex_count = len(pattern.source), len(pattern.touching)
    tables = [np.zeros((edge_count, edge_count), np.int64) for _ in range(4)]
    rows = [np.zeros(edge_count, np.int64) for _ in range(6)]
    mapped = np.zeros(vertex_count, np.int64)
    rest = [np.zeros(edge_count, np.int64) for _ in range(4)]
    ranges = np.zeros((edge_count, 2 * len(pattern.tests), 4), np.int64)
    range_counts = np.zeros(edge_count, np.int64)
    runs = np.zeros((edge_count * (1 + edge_count + vertex_count), 5), np.int64)
    totals = np.zeros((2, edge_count + 1), np.int64)
    joins = np.zeros((edge_count, 6), np.int64)
    steps = np.zeros(1, np.int64)
    credited = np.zeros(credit, np.int64), np.zeros(spread, np.int64)
    ranged = ranges, range_counts
    return State._make(
        [*tables, *rows, mapped, *rest, *ranged, runs, totals, joins, steps, *credited]
    )


def judged(
    search: tuple[Lists, Pattern], asked: Conditions, edges: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which matches of a motif, given by their edges, shape (n, e), keep the conditions."""
    from raydb.kernels.motif.loops.condition_loops import judge_matches  # noqa: PLC0415  (numba)

    held = np.empty(len(edges), np.uint8)
    judge_matches(*search, new_state(search[1]), edges, held)
    found: NDArray[np.bool_] = held.view(np.bool_)
    if asked.judge is not None and found.any():
        found[found] = asked.judge(edges[found])
    return found


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array, which can't be written any more: a loop is compiled once, not for both."""
    array.flags.writeable = False
    return array
