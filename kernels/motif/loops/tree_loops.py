"""The hot loop that draws an instance of a tree: edge by edge from the root on, by weight.

Each edge is drawn among those that the motif allows beside the edges drawn before, and that lead to
no vertex that one of them has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from raydb.kernels.jit import inlined, leaf
from raydb.kernels.motif.loops.completion_loops import Lists, Plan, Scratch, find_run
from raydb.kernels.motif.loops.graph_loops import first_at_least, lower_bound
from raydb.kernels.motif.loops.weight_loops import (
    AFTER,
    BEFORE,
    END_AFTER,
    FIRST_BEFORE,
    NEAR,
    end_of_reached,
    first_reached,
    slot_end,
    slot_first,
    ties_end,
    ties_first,
    weight_between,
)
from raydb.kernels.random_loops import draw_below

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.uint32]
    Table = NDArray[np.int64]

# The columns of places: of a tree edge's parent, the vertex of the motif that it hangs from, the
# other one of its parent, and the one it leads to; whether it leads away, its order beside the
# parent, its row of weights or -1, and the motif edge. The root hangs from its source.
PARENT, FROM, OTHER, VERTEX, GOES_OUT, RELATION, ROW, MOTIF_EDGE = range(8)

# What became of a sample.
COUNTED, NO_WAY, VERTEX_TWICE, TOO_LONG, OUT_OF_ORDER, NO_CHILD = range(6)

# Which vertices a drawn edge does not lead to: any will do, its parent's other one, all known ones.
EXCLUDE_NONE, EXCLUDE_OTHER, EXCLUDE_KNOWN = range(3)

# So few edges are looked through, which is quicker than to look up the pairs to leave out.
_FEW = 16

# Draws that lead to an excluded vertex are repeated so often before all edges are looked at.
_MAX_DRAWS = 32


class Chances(NamedTuple):
    """The weights of one parity, rows one after the other, and how samples are drawn by them.

    unit: what a weight of the root stands for. narrow, excluded: what bounds an edge beside its
    parent. drawn: how many places of the tree are drawn; all of them, or all but the last.
    """

    root: Any
    root_sums: Any
    by_vertex: Any
    by_pair: Any
    unit: Any
    parity: Any
    excluded: Any
    narrow: Any
    drawn: Any


@inlined
def narrow(
    bounds: Numbers, relations: Table, edges: Table, own: Any, count: Any, first: Any, end: Any
) -> tuple[Any, Any]:
    """Return which edges of first .. end - 1 may be a motif edge beside those at `count` places."""
    for drawn in range(count):
        if relations[own, drawn] == AFTER:
            first = max(first, ties_end(bounds, edges[drawn]))
        elif relations[own, drawn] == BEFORE:
            end = min(end, ties_first(bounds, edges[drawn]))
    return first, end


@inlined
def list_of(lists: Lists, vertex: Any, goes_out: bool) -> tuple[Any, Any]:
    """Return the places in `listed` of the edges that lead from a vertex, or to it."""
    # The lists by target come after those by source.
    shift = 0 if goes_out else len(lists.source)
    offsets = lists.out_offsets if goes_out else lists.in_offsets
    return shift + np.int64(offsets[vertex]), shift + np.int64(offsets[vertex + 1])


@inlined
def is_among(vertex: Any, known: Table, count: Any) -> bool:
    """Return whether a vertex is one of the first ones of a list."""
    found = False
    for place in range(count):
        found |= known[place] == vertex
    return found


class _Candidates(NamedTuple):
    """The places low .. high - 1 of a list that begins at `start`, and their weights' row and base.

    row: -1 for a leaf, whose edges weigh 1. base: where the row's weights of places begin.
    """

    row: Any
    base: Any
    start: Any
    low: Any
    high: Any


@inlined
def _weight_at(prefix: Numbers, among: _Candidates, low: Any, high: Any) -> Any:
    """Return the weights of the places low .. high - 1 of a list; a leaf's edges weigh 1."""
    if among.row < 0:
        return high - low
    return weight_between(prefix, among.base + among.start, among.base + low, among.base + high)


@leaf
def _draw_among_all(
    listed: Numbers,
    ends: Numbers,
    prefix: Numbers,
    among: _Candidates,
    excluded: Table,
    excluded_count: Any,
    state: NDArray[np.uint64],
) -> tuple[Any, Any]:
    """Return a candidate, by weight, that leads to no excluded vertex.

    And the weight of all those candidates; 0 where there is none.
    """
    total = np.int64(0)
    for _ in range(2):
        bound = total
        if total > 0:
            bound = draw_below(state, total)
        seen = np.int64(0)
        for place in range(among.low, among.high):
            if not is_among(np.int64(ends[listed[place]]), excluded, excluded_count):
                seen += _weight_at(prefix, among, place, place + 1)
                if seen > bound and total > 0:
                    return place, total
        total = seen
        if total == 0:
            break
    return among.low, np.int64(0)


@inlined
def _draw_any(prefix: Numbers, among: _Candidates, state: NDArray[np.uint64]) -> Any:
    """Return a candidate, by weight."""
    if among.row < 0:
        return among.low + draw_below(state, among.high - among.low)
    bound = draw_below(state, _weight_at(prefix, among, among.low, among.high))
    found, last = among.low, among.high - 1
    while found < last:
        middle = (found + last) >> 1
        if _weight_at(prefix, among, among.low, middle + 1) <= bound:
            found = middle + 1
        else:
            last = middle
    return found


@inlined
def _excluded_weight(
    lists: Lists,
    chances: Chances,
    row: Any,
    joint: Any,
    other: Any,
    goes_out: bool,
    first: Any,
    end: Any,
) -> Any:
    """Return the weights of the edges first .. end - 1 between a vertex and one to leave out."""
    one, two = (joint, other) if goes_out else (other, joint)
    start, stop = np.int64(0), np.int64(0)
    if one != two:
        start, stop = find_run(lists, one, two)
    low = first_at_least(lists.pair_edges, start, stop, first)
    high = first_at_least(lists.pair_edges, low, stop, end)
    if row < 0:
        return high - low
    base = row * len(lists.source)
    return weight_between(chances.by_pair, base + start, base + low, base + high)


@inlined
def _draw_child(
    lists: Lists, plan: Plan, chances: Chances, scratch: Scratch, place: Any, first: Any, end: Any
) -> float:
    """Draw the edge at a place of the tree among first .. end - 1, and write it and its vertex.

    Returns the sum of the weights among which it was drawn over its own, 0 where there is none.
    """
    places, known, state = plan.places, scratch.known, scratch.state
    goes_out, row = places[place, GOES_OUT] != 0, places[place, ROW]
    joint = scratch.vertices[places[place, FROM]]
    start, stop = list_of(lists, joint, goes_out)
    low = lower_bound(lists.listed, start, stop, first)
    high = first_at_least(lists.listed, low, stop, end)
    if high <= low:
        return 0.0
    # Excluded are the first ones of the known vertices; two are the root's.
    excluded_count = place + 1
    if chances.excluded != EXCLUDE_KNOWN:
        known[0] = scratch.vertices[places[place, OTHER]]
        excluded_count = 1 if chances.excluded == EXCLUDE_OTHER else 0
    ends = lists.target if goes_out else lists.source
    # The weights of a row are by the places of one kind of list.
    count = len(lists.source)
    base = row * count - (0 if goes_out else count)
    among = _Candidates(row, base, start, low, high)
    found, total = low, np.int64(0)
    tries = 0
    if high - low > _FEW:
        total = _weight_at(chances.by_vertex, among, low, high)
        for excluded in range(excluded_count):
            total -= _excluded_weight(
                lists, chances, row, joint, known[excluded], goes_out, first, end
            )
        if total <= 0:
            return 0.0
        while tries < _MAX_DRAWS:
            found = _draw_any(chances.by_vertex, among, state)
            if not is_among(np.int64(ends[lists.listed[found]]), known, excluded_count):
                break
            tries += 1
    if high - low <= _FEW or tries == _MAX_DRAWS:
        found, total = _draw_among_all(
            lists.listed, ends, chances.by_vertex, among, known, excluded_count, state
        )
        if total == 0:
            return 0.0
    edge = np.int64(lists.listed[found])
    scratch.edges[place] = edge
    scratch.vertices[places[place, VERTEX]] = ends[edge]
    return float(total) / float(_weight_at(chances.by_vertex, among, found, found + 1))


@inlined
def draw_tree(
    lists: Lists, plan: Plan, chances: Chances, scratch: Scratch, root_edge: Any
) -> float:
    """Draw the edges (by place) and the vertices (by motif vertex) of an instance of a tree.

    Returns one over the likelihood of the instance with this root: the sum of the weights among
    which each edge was drawn, over the weight of each edge that has one of its own but the root.
    Returns 0, and why in scratch.outcome, where no instance was found.
    """
    bounds, places, parity = lists.bounds, plan.places, chances.parity
    edges, vertices, outcome = scratch.edges, scratch.vertices, scratch.outcome
    edges[0] = root_edge
    vertices[places[0, FROM]] = lists.source[root_edge]
    vertices[places[0, VERTEX]] = lists.target[root_edge]
    scratch.known[0], scratch.known[1] = vertices[places[0, FROM]], vertices[places[0, VERTEX]]
    # Whatever obeys delta beside the root's edge and its window.
    least = first_reached(bounds, root_edge, NEAR, parity)
    most = end_of_reached(bounds, root_edge, NEAR, parity)
    factor = 1.0
    outcome[0] = COUNTED
    for place in range(1, chances.drawn):
        if chances.narrow:
            own = places[place, MOTIF_EDGE]
            first, end = narrow(bounds, plan.relations, edges, own, place, least, most)
        else:
            parent_edge, relation = edges[places[place, PARENT]], places[place, RELATION]
            first = first_reached(bounds, parent_edge, relation, parity)
            end = end_of_reached(bounds, parent_edge, relation, parity)
        factor *= _draw_child(lists, plan, chances, scratch, place, first, end)
        if factor == 0.0:
            outcome[0] = NO_CHILD
            return 0.0
        vertex = vertices[places[place, VERTEX]]
        if chances.excluded == EXCLUDE_KNOWN:
            scratch.known[place + 1] = vertex
        else:
            is_known = vertices[places[0, FROM]] == vertex
            for drawn in range(place):
                is_known |= vertices[places[drawn, VERTEX]] == vertex
            if is_known:
                outcome[0] = VERTEX_TWICE
                if chances.narrow:
                    return 0.0
        least = max(least, np.int64(bounds[edges[place], FIRST_BEFORE]))
        most = min(most, np.int64(bounds[edges[place], END_AFTER]))
    if not chances.narrow and outcome[0] == COUNTED:
        outcome[0] = judge(bounds, places, plan.relations, edges)
    return factor if outcome[0] == COUNTED else 0.0


@leaf
def judge(bounds: Numbers, tree: Table, relations: Table, edges: Table) -> Any:
    """Return whether edges are too far apart in time, or out of order, or neither."""
    outcome = COUNTED
    for place in range(len(edges)):
        for drawn in range(place):
            one, other = edges[place], edges[drawn]
            if max(one, other) >= np.int64(bounds[min(one, other), END_AFTER]):
                return TOO_LONG
            order = relations[tree[place, MOTIF_EDGE], drawn]
            if (order == AFTER and one < ties_end(bounds, other)) or (
                order == BEFORE and other < ties_end(bounds, one)
            ):
                outcome = OUT_OF_ORDER
    return outcome


@inlined
def window_count(bounds: Numbers, edges: Table, count: Any) -> Any:
    """Return how many windows the first edges of an instance lie in, which is at most delta long.

    It is TIMEST's N_phi, section 4.2, with windows that are open at their end: an instance that
    begins in the first slot lies in the first window only; others lie in that which begins with
    their slot, and if they end in this slot, in the one before.
    """
    earliest, latest = edges[0], edges[0]
    for place in range(1, count):
        earliest, latest = min(earliest, edges[place]), max(latest, edges[place])
    if slot_first(bounds, earliest) == 0 or latest >= slot_end(bounds, earliest):
        return 1
    return 2
