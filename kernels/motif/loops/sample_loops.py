"""The hot loop of sampling: an instance of a tree, drawn by its weight, and what it stands for.

Samples come in strata of two: a stratum is one of equal parts of all weight, in the order of the
root's edges, that is of time. So samples that follow one another read the same part of a graph, and
the two of a stratum tell its variance.

Where the last vertex of a tree has more edges in the motif than the tree's, it is not drawn: all
its candidates are tried, those of whichever of its edges has the fewest, and their ways add up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.jit import compiled, inlined, leaf
from raydb.kernels.motif.loops.completion_loops import (
    END_RUN,
    FIRST_RUN,
    MEMBER_EDGE,
    MEMBER_IS_LATE,
    MEMBER_SOURCE,
    MEMBER_TARGET,
    PIVOT_EDGE,
    PIVOT_GOES_OUT,
    PIVOT_NEAR,
    RUN_END,
    RUN_FIRST,
    Lists,
    Plan,
    Scratch,
    count_ways,
    find_run,
)
from raydb.kernels.motif.loops.graph_loops import first_at_least, lower_bound
from raydb.kernels.motif.loops.picking_loops import pick_way
from raydb.kernels.motif.loops.tree_loops import (
    MOTIF_EDGE,
    NO_WAY,
    VERTEX,
    Chances,
    draw_tree,
    is_among,
    list_of,
    narrow,
    window_count,
)
from raydb.kernels.motif.loops.weight_loops import (
    END_AFTER,
    FIRST_BEFORE,
    NO_WINDOWS,
    ROOT_BLOCK,
)
from raydb.kernels.random_loops import begin, draw_below, draw_word, high_product

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.uint32]
    Table = NDArray[np.int64]

# The columns of sums over a block of strata.
(
    SUM,
    SUM_OF_DIFFERENCES,
    NONZERO,
    SUM_OF_SQUARES,
    SUM_OF_FOURTHS,
    LARGEST_ONE,
) = range(6)

# The columns of what closes a sample: a pivot, and the first place, the end and the stride of those
# of its edges that are tried.
PIVOT, FIRST, END, STRIDE = range(4)

# Of more candidates every second is tried, every third and so on, from a random one on. With 256,
# samples of dense graphs took four times as long, and told no more.
_MAX_TRIED = 32


@inlined
def find_root(root: Numbers, sums: Table, block: Any, target: Any) -> tuple[Any, Any]:
    """Return the first edge up to which the weights exceed a number, and its block.

    block: no later than the one that is found; looks near it first.
    """
    count, step = len(sums), 1
    low, high = block, block + 1
    while high < count and sums[high - 1] <= target:
        low = high
        high = min(low + step, count)
        step *= 2
    high -= 1
    while low < high:
        middle = (low + high) >> 1
        if sums[middle] <= target:
            low = middle + 1
        else:
            high = middle
    left = target - (sums[low - 1] if low > 0 else np.int64(0))
    edge = low * ROOT_BLOCK
    while left >= np.int64(root[edge]):
        left -= np.int64(root[edge])
        edge += 1
    return edge, low


@inlined
def _find_members(lists: Lists, plan: Plan, scratch: Scratch, pivot: Any, is_late: Any) -> bool:
    """Write the places of the pairs of a pivot's members that are late, or of those that are not.

    Returns whether each pair has edges.
    """
    runs, members, vertices = plan.runs, plan.members, scratch.vertices
    for run in range(plan.pivots[pivot, FIRST_RUN], plan.pivots[pivot, END_RUN]):
        for member in range(runs[run, RUN_FIRST], runs[run, RUN_END]):
            if members[member, MEMBER_IS_LATE] == is_late:
                one = vertices[members[member, MEMBER_SOURCE]]
                other = vertices[members[member, MEMBER_TARGET]]
                start, stop = find_run(lists, one, other)
                if start == stop:
                    return False
                edge = members[member, MEMBER_EDGE]
                scratch.run_starts[edge], scratch.run_stops[edge] = start, stop
    return True


@inlined
def _count_rest(lists: Lists, plan: Plan, scratch: Scratch) -> Any:
    """Return in how many ways the tree instance of a scratch becomes a match."""
    if plan.pivots[0, FIRST_RUN] == plan.pivots[0, END_RUN]:
        return 1.0
    own = np.int64(0)
    for is_late in range(2):
        if not _find_members(lists, plan, scratch, own, np.int64(is_late)):
            return 0.0
    return count_ways(lists, plan, scratch, own)


@inlined
def _choose_pivot(lists: Lists, plan: Plan, scratch: Scratch) -> Any:
    """Choose the edge of the last vertex that has the fewest candidates; return their number.

    0 where one has none, or another edge that is left has none.
    """
    bounds, edges, count = lists.bounds, scratch.edges, len(scratch.edges) - 1
    earliest, latest = edges[0], edges[0]
    for place in range(1, count):
        earliest, latest = min(earliest, edges[place]), max(latest, edges[place])
    least, most = np.int64(bounds[latest, FIRST_BEFORE]), np.int64(bounds[earliest, END_AFTER])
    if not _find_members(lists, plan, scratch, np.int64(0), np.int64(0)):
        return 0
    for run in range(plan.pivots[0, FIRST_RUN], plan.pivots[0, END_RUN]):
        for member in range(plan.runs[run, RUN_FIRST], plan.runs[run, RUN_END]):
            if plan.members[member, MEMBER_IS_LATE] == 0:
                own = plan.members[member, MEMBER_EDGE]
                first, end = narrow(bounds, plan.relations, edges, own, count, least, most)
                start, stop = scratch.run_starts[own], scratch.run_stops[own]
                start = first_at_least(lists.pair_edges, start, stop, first)
                stop = first_at_least(lists.pair_edges, start, stop, end)
                if start >= stop:
                    return 0
                scratch.run_starts[own], scratch.run_stops[own] = start, stop
    fewest, chosen = np.int64(2**62), scratch.chosen
    for pivot in range(len(plan.pivots)):
        own = plan.pivots[pivot, PIVOT_EDGE]
        first, end = narrow(bounds, plan.relations, edges, own, count, least, most)
        vertex = scratch.vertices[plan.pivots[pivot, PIVOT_NEAR]]
        start, stop = list_of(lists, vertex, plan.pivots[pivot, PIVOT_GOES_OUT] != 0)
        low = lower_bound(lists.listed, start, stop, first)
        high = first_at_least(lists.listed, low, stop, end)
        if high <= low:
            return 0
        if high - low < fewest:
            fewest = high - low
            chosen[PIVOT], chosen[FIRST], chosen[END] = pivot, low, high
    return fewest


@leaf
def _close(lists: Lists, plan: Plan, scratch: Scratch, bound: float) -> Any:
    """Return the ways of all candidates of the chosen pivot that are tried.

    Or of those up to the one with which there are more than the bound; its edge, its vertex and its
    members stay in the scratch.
    """
    pivot, stride = scratch.chosen[PIVOT], scratch.chosen[STRIDE]
    last = len(scratch.edges) - 1
    new = plan.places[last, VERTEX]
    ends = lists.target if plan.pivots[pivot, PIVOT_GOES_OUT] != 0 else lists.source
    total = 0.0
    for place in range(scratch.chosen[FIRST], scratch.chosen[END], stride):
        edge = np.int64(lists.listed[place])
        vertex = np.int64(ends[edge])
        if is_among(vertex, scratch.known, last + 1):
            continue
        scratch.edges[last], scratch.vertices[new] = edge, vertex
        if _find_members(lists, plan, scratch, pivot, np.int64(1)):
            total += count_ways(lists, plan, scratch, pivot)
            if total > bound:
                break
    return total


@inlined
def _value(lists: Lists, plan: Plan, chances: Chances, scratch: Scratch, root_edge: Any) -> Any:
    """Draw an instance with a root; return how many matches it stands for per unit of weight."""
    value, outcome = draw_tree(lists, plan, chances, scratch, root_edge), scratch.outcome
    if value == 0.0:
        return value
    if chances.drawn == len(scratch.edges):
        value *= _count_rest(lists, plan, scratch)
    else:
        fewest, chosen = _choose_pivot(lists, plan, scratch), scratch.chosen
        stride = (fewest + _MAX_TRIED - 1) // _MAX_TRIED
        chosen[STRIDE] = stride
        if stride > 1:
            chosen[FIRST] += draw_below(scratch.state, stride)
        value *= stride
        if fewest > 0:
            value *= _close(lists, plan, scratch, np.inf)
    if value == 0.0:
        outcome[0] = NO_WAY
        return value
    value /= float(chances.root[root_edge]) * chances.unit
    if chances.parity != NO_WINDOWS:
        value /= window_count(lists.bounds, scratch.edges, chances.drawn)
    return value


@compiled
def sample_strata(
    lists: Lists,
    plan: Plan,
    chances: Chances,
    scratch: Scratch,
    key: np.uint64,
    strata: tuple[int, int, int, int],
    sums: NDArray[np.float64],
    outcomes: Table,
) -> None:
    """Draw two samples in each stratum of some blocks; write the sums of each block.

    strata: the first block, the end of the last one, the strata of a block, and all strata, each of
    which is 2**64 // all of them wide, in units of 2**-64 of the weight. A sample stands for a
    number of matches per unit of weight. sums: float64, shape (blocks, 6), of all blocks. outcomes:
    int64, shape (blocks, 6), how many samples came to what.
    """
    state = scratch.state
    first_block, end_block, block_strata, stratum_count = strata
    block, one = np.int64(0), 0.0
    first_sample = 2 * block_strata * first_block
    end_sample = 2 * min(block_strata * end_block, stratum_count)
    for sample in range(first_sample, end_sample):
        row = sample // (2 * block_strata)
        begin(key, sample, state)
        root_edge, block = _draw_root(chances, sample, stratum_count, block, state)
        value = _value(lists, plan, chances, scratch, root_edge)
        outcomes[row, scratch.outcome[0]] += 1
        if value > 0.0:
            square = value * value
            sums[row, SUM] += value
            sums[row, NONZERO] += 1.0
            sums[row, SUM_OF_SQUARES] += square
            sums[row, SUM_OF_FOURTHS] += square * square
            sums[row, LARGEST_ONE] = max(sums[row, LARGEST_ONE], value)
        if sample & 1:
            sums[row, SUM_OF_DIFFERENCES] += (value - one) * (value - one)
        one = value


@inlined
def _write_match(lists: Lists, plan: Plan, scratch: Scratch, pivot: Any, match: Table) -> None:
    """Complete the instance of a scratch by one of its ways, and write its edges by motif edge."""
    pick_way(lists, plan, scratch, pivot)
    edges = scratch.edges
    for place in range(len(edges)):
        match[plan.places[place, MOTIF_EDGE]] = edges[place]
    match[plan.pivots[pivot, PIVOT_EDGE]] = edges[len(edges) - 1]
    for run in range(plan.pivots[pivot, FIRST_RUN], plan.pivots[pivot, END_RUN]):
        for member in range(plan.runs[run, RUN_FIRST], plan.runs[run, RUN_END]):
            match[plan.members[member, MEMBER_EDGE]] = scratch.picked[member]


@inlined
def _draw_root(
    chances: Chances, sample: Any, stratum_count: Any, block: Any, state: NDArray[np.uint64]
) -> tuple[Any, Any]:
    """Return the root's edge of a sample of a stratum, and the block of the stratum's first one.

    block: that of an earlier stratum.
    """
    width = np.uint64(0xFFFFFFFFFFFFFFFF) // np.uint64(stratum_count)
    total = np.uint64(chances.root_sums[-1])
    least = np.uint64(sample >> 1) * width
    if sample & 1 == 0:
        target = np.int64(high_product(least, total))
        _, block = find_root(chances.root, chances.root_sums, block, target)
    position = least + high_product(draw_word(state), width)
    target = np.int64(high_product(position, total))
    root_edge, _ = find_root(chances.root, chances.root_sums, block, target)
    return root_edge, block


@compiled
def sample_completed(
    lists: Lists,
    plan: Plan,
    chances: Chances,
    scratch: Scratch,
    key: np.uint64,
    samples: tuple[int, int, int],
    values: NDArray[np.float64],
    matches: Table,
) -> None:
    """Draw the samples that `sample_strata` draws, and complete each by one of its ways at random.

    samples: the first one, the end, and the number of strata. values: float64, the matches that
    each stands for per unit of weight; matches: int64, the edges of the one that was drawn, by
    motif edge, where that is more than 0. So a value counts for what holds of its match.
    """
    first, end, stratum_count = samples
    state, block = scratch.state, np.int64(0)
    for sample in range(first, end):
        begin(key, sample, state)
        root_edge, block = _draw_root(chances, sample, stratum_count, block, state)
        value = _value(lists, plan, chances, scratch, root_edge)
        values[sample - first] = value
        if value > 0.0:
            pivot = np.int64(0)
            if chances.drawn < len(scratch.edges):
                pivot = scratch.chosen[PIVOT]
                ways = _close(lists, plan, scratch, np.inf)
                _close(lists, plan, scratch, draw_below(state, ways))
            _write_match(lists, plan, scratch, pivot, matches[sample - first])


@compiled
def sample_matches(
    lists: Lists,
    plan: Plan,
    chances: Chances,
    scratch: Scratch,
    key: np.uint64,
    sample_count: Any,
    largest: float,
    into: tuple[Table, Table],
) -> Any:
    """Draw samples, and write random matches of those that are taken; return how many there are.

    A sample is taken as often as the matches that it stands for per unit of weight, over `largest`:
    so many whole times, and once more with the likelihood of the rest. into: int64, edges, shape
    (most, motif edges), and vertices, (most, motif vertices). Where they are too short the draw
    ends, and returns `most`.
    """
    state, edges, vertices = scratch.state, scratch.edges, scratch.vertices
    found_edges, found_vertices = into
    found = 0
    for sample in range(sample_count):
        begin(key, sample, state)
        target = draw_below(state, chances.root_sums[-1])
        root_edge, _ = find_root(chances.root, chances.root_sums, np.int64(0), target)
        times = _value(lists, plan, chances, scratch, root_edge) / largest
        copies = int(times)
        if draw_below(state, 1.0) < times - copies:
            copies += 1
        if found + copies >= len(found_edges):
            return len(found_edges)
        pivot, ways = np.int64(0), 0.0
        if copies > 0 and chances.drawn < len(edges):
            pivot = scratch.chosen[PIVOT]
            ways = _close(lists, plan, scratch, np.inf)
        for _ in range(copies):
            if ways > 0.0:
                _close(lists, plan, scratch, draw_below(state, ways))
            _write_match(lists, plan, scratch, pivot, found_edges[found])
            for vertex in range(len(vertices)):
                found_vertices[found, vertex] = vertices[vertex]
            found += 1
    return found
