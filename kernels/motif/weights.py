"""The weights that samples are drawn by: instances of a tree that hang from each edge of a graph.

An instance maps a tree's edges to edges of the graph that obey three constraints (TIMEST, section
2.1), looser than the motif's, so that the weights of an edge are products over its children:

    order    a child comes before or after its parent as in the motif, at most delta away
    ends     a child does not lead back to its parent's other vertex
    windows  all edges lie in one window [i * delta, (i + 2) * delta), i >= 0

Windows of even i do not overlap each other, nor do those of odd i. So there is one set of weights
for each parity, in each of which an edge lies in one window. Where samples are narrowed, windows
cost more time than they save, and there is one set of weights.

A weight has 32 bits. What is larger is divided by a power of two for all edges of the graph, and
rounded up, so that nothing that has an instance weighs 0. As samples count by the weights that they
were drawn with, rounding biases nothing; to a total of some 2**31 it adds at most one an edge.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from raydb.errors import NotSupportedError
from raydb.kernels.backends.cpu.threads import processor_count, run_parts
from raydb.kernels.motif.graph import pair_table
from raydb.kernels.motif.loops import graph_loops
from raydb.kernels.motif.loops import weight_loops as loops
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from raydb.kernels.motif.graph import TemporalGraph
    from raydb.kernels.motif.shape import Motif, Ties
    from raydb.kernels.motif.trees import RootedTree

    Part = tuple[int, int]

T = TypeVar("T")

# One bit of an edge number says whether its slot of delta is odd.
MAX_SAMPLED_EDGES = 2**31 - 2

# So many edges take a loop 5 to 50 ms, after which an interrupt is heard.
_BLOCK_EDGES = 2**20


@dataclass(frozen=True)
class Constraints:
    """The constraints on tree instances; without one there are more instances, and more samples.

    windows: not together with `narrow`. narrow: a sample's edge is drawn among those that obey all
    that the motif asks of it and of the edges drawn before, with the weight that this calls for;
    the weights do not change.
    """

    order: bool = True
    ends: bool = True
    windows: bool = False
    narrow: bool = True

    def __post_init__(self) -> None:
        assert not (self.windows and self.narrow)


@dataclass(frozen=True, eq=False)
class Bounds:
    """What edges may reach in time: uint32, shape (m, 3), with windows (m, 4); see weight_loops.

    longest: the most edges of one vertex pair that lie within delta.
    reversed_pairs: uint32, shape (pairs,), the pair from target to source, or the number of pairs.
    """

    table: NDArray[np.uint32]
    longest: int
    reversed_pairs: NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class Weights:
    """The weights of a tree in the windows of one parity, -1 where there are no windows.

    root: uint32, shape (m,), the instances whose root is an edge, over `unit`. root_sums: int64,
    those of each block of ROOT_BLOCK edges and all before it.
    by_vertex: uint32, shape (inner edges but the root, m): for each place of the list of a vertex
    in which the tree edge is looked for, the weights of the list's edges up to and with it, modulo
    2**32. by_pair: the same by places of the lists of vertex pairs.
    """

    parity: int
    root: NDArray[np.uint32]
    root_sums: NDArray[np.int64]
    by_vertex: NDArray[np.uint32]
    by_pair: NDArray[np.uint32]
    unit: float

    @property
    def total(self) -> float:
        """The weight of all roots: the number of tree instances, where no edge is damped.

        No less than that where weights were rounded up.
        """
        return float(self.root_sums[-1]) * self.unit


def edge_bounds(
    graph: TemporalGraph,
    delta: int,
    ties: Ties,
    windows: bool = False,
    threads: int | None = None,
) -> Bounds:
    """Return what each edge of a graph that is not empty may reach within delta >= 0.

    windows: whether weights are to obey them, which takes a delta >= 1. threads: None for one each
    processor.
    Raises NotSupportedError for more than MAX_SAMPLED_EDGES edges.
    """
    if graph.edge_count > MAX_SAMPLED_EDGES:
        raise NotSupportedError(
            f"motifs are sampled from up to {MAX_SAMPLED_EDGES:,} edges, not {graph.edge_count:,}"
        )
    # No two edges are further apart than this, whatever the window.
    delta = min(delta, 2**63 - 1)
    table = np.empty((graph.edge_count, 4 if windows else 3), np.uint32)
    loops.fill_bounds(graph.time, delta, ties == "strict", table)
    table.flags.writeable = False
    longest = loops.longest_run(graph.pair_offsets, graph.pair_edges, table)
    return Bounds(table, longest, _reversed_pairs(graph, threads or processor_count()))


def _reversed_pairs(graph: TemporalGraph, threads: int) -> NDArray[np.uint32]:
    """Return the reverse of each pair; looking it up for each tree edge was half of weighing."""
    found = np.empty(graph.pair_count, np.uint32)
    cuts = np.linspace(0, graph.pair_count, threads + 1).astype(np.int64).tolist()

    def find(part: Part) -> None:
        graph_loops.find_reversed(pair_table(graph), part[0], found[part[0] : part[1]])

    run_parts(find, list(pairwise(cuts)))
    found.flags.writeable = False
    return found


def parities(constraints: Constraints) -> tuple[int, ...]:
    """Return the parities of the windows, each of which has weights of its own."""
    return (0, 1) if constraints.windows else (-1,)


def relation(motif: Motif, tree: RootedTree, place: int, constraints: Constraints) -> int:
    """Return -1, 0 or 1 where a tree edge comes before, on either side of or after its parent."""
    if not constraints.order:
        return 0
    own, other = (motif.groups[tree.edges[at]] for at in (place, tree.parents[place]))
    return (own > other) - (own < other)


def directions(motif: Motif, tree: RootedTree, place: int) -> tuple[bool, bool]:
    """Return whether a tree edge hangs from its parent's source, and whether it leads away."""
    joint = tree.joints[place]
    parent, own = (motif.edges[tree.edges[at]] for at in (tree.parents[place], place))
    return parent[0] == joint, own[0] == joint


def inner_places(tree: RootedTree) -> list[int]:
    """Return the places of the edges that have weights of their own: no leaves, not the root."""
    return [place for place in range(1, len(tree.edges)) if not tree.is_leaf(place)]


@dataclass(eq=False)
class Weighing:
    """A tree that is to be weighed in the windows of a parity.

    damped: the edges from this place on are leaves, and count by the root of the number of their
    candidates. keep_going: is called every few ms, and may raise. For by_vertex and by_pair see
    `Weights`.
    """

    graph: TemporalGraph
    bounds: Bounds
    motif: Motif
    tree: RootedTree
    parity: int
    constraints: Constraints
    damped: int
    threads: int
    keep_going: Callable[[], None]

    def __post_init__(self) -> None:
        """Make room for the weights."""
        rows, count = len(inner_places(self.tree)), self.graph.edge_count
        self.by_vertex = np.empty((rows, count), np.uint32)
        self.by_pair = np.empty((rows, count if self.constraints.ends else 0), np.uint32)


def weigh(job: Weighing) -> Weights:
    """Return a tree's weights, which takes O(m) for each tree edge. TIMEST, section 4.1."""
    graph, parity = job.graph, job.parity
    root, shift = _weigh_place(job, 0)
    if root is None:
        root = np.ones(graph.edge_count, np.uint32)
    if parity == 1:
        # The first slot belongs to the window 0, whose parity is even.
        root[: int(job.bounds.table[0, loops.SLOT]) & (2**31 - 1)] = 0
    sums = np.empty(-(-graph.edge_count // loops.ROOT_BLOCK), np.int64)
    # All at once, numpy would make an int64 of each weight: twice their memory.
    for low in range(0, graph.edge_count, _BLOCK_EDGES):
        part = root[low : low + _BLOCK_EDGES]
        firsts = np.arange(0, len(part), loops.ROOT_BLOCK)
        place = low // loops.ROOT_BLOCK
        sums[place : place + len(firsts)] = np.add.reduceat(part, firsts, dtype=np.int64)
    np.cumsum(sums, out=sums)
    return Weights(parity, root, sums, job.by_vertex, job.by_pair, 2.0**shift)


def _weigh_place(job: Weighing, place: int) -> tuple[NDArray[np.uint32] | None, int]:
    """Return the instances of what hangs from a tree edge, by edge, over 2**shift, and the shift.

    None stands for one of each.
    """
    weights: NDArray[np.uint32] | None = None
    shift = 0
    # An inner child takes the most memory, and the first one finds the most of it free.
    for child in sorted(job.tree.children(place), key=job.tree.is_leaf):
        factors, own_shift = _weigh_child(job, child)
        shift += own_shift
        if weights is None:
            weights = factors
        else:
            shift += _multiply(job, factors, weights)
        del factors
    return weights, shift


def _weigh_child(job: Weighing, child: int) -> tuple[NDArray[np.uint32], int]:
    """Return the instances of a tree edge and what hangs from it, by its parent's edge.

    They are over 2**shift, which is returned, too.
    """
    graph, ends = job.graph, job.constraints.ends
    joint_is_source, goes_out = directions(job.motif, job.tree, child)
    parents, children = (
        (graph.out_offsets, graph.out_edges) if out else (graph.in_offsets, graph.in_edges)
        for out in (joint_is_source, goes_out)
    )
    pairs = graph.pair_offsets, graph.pair_edges
    weights, shift = _weigh_place(job, child)
    by_vertex = by_pair = np.empty(0, np.uint32)
    summed = [(children, by_vertex)]
    if weights is not None:
        row = inner_places(job.tree).index(child)
        by_vertex, by_pair = job.by_vertex[row], job.by_pair[row]
        summed = [(children, by_vertex), (pairs, by_pair)][: 2 if ends else 1]
        for lists, prefix in summed:
            _add_up(job, *lists, weights, prefix)
        del weights
    sums = (np.empty if ends else np.zeros)(graph.edge_count, np.uint32)
    others = job.bounds.reversed_pairs[: 0 if joint_is_source == goes_out else None]
    reach = relation(job.motif, job.tree, child, job.constraints), job.parity, job.bounds.table

    def exclude(part: Part) -> None:
        loops.sum_of_pairs(part, others, pairs, by_pair, reach, sums)

    def subtract(part: Part) -> int:
        return int(loops.subtract_from_reached(part, parents, children, by_vertex, reach, sums))

    while True:
        if ends:
            _run(job, exclude, _blocks(graph.pair_offsets))
        largest = max(_run(job, subtract, _blocks(parents[0])))
        if largest < 2**loops.WEIGHT_BITS:
            return sums, shift - (_damp(job, sums) if child >= job.damped else 0)
        # Half of the bits: rounding up adds at most 1 an edge, of which there are fewer than 2**31.
        bits = largest.bit_length() - (loops.WEIGHT_BITS - 1)
        for lists, prefix in summed:
            _divide(job, lists[0], bits, prefix)
        sums[:] = 0
        shift += bits


def _add_up(
    job: Weighing,
    offsets: NDArray[np.uint32],
    edges: NDArray[np.uint32],
    weights: NDArray[np.uint32],
    prefix: NDArray[np.uint32],
) -> None:
    def add_up(part: Part) -> None:
        loops.add_up_lists(*part, offsets, edges, weights, prefix)

    _run(job, add_up, _blocks(offsets))


def _damp(job: Weighing, sums: NDArray[np.uint32]) -> int:
    """Replace numbers of candidates by their roots; return how many bits follow the point."""
    _run(job, lambda part: loops.damp(*part, sums), _edge_blocks(job))
    return loops.DAMPED_BITS


def _divide(
    job: Weighing, offsets: NDArray[np.uint32], shift: int, prefix: NDArray[np.uint32]
) -> None:
    def divide(part: Part) -> None:
        loops.divide_lists(*part, offsets, shift, prefix)

    _run(job, divide, _blocks(offsets))


def _multiply(job: Weighing, factors: NDArray[np.uint32], weights: NDArray[np.uint32]) -> int:
    """Multiply weights by factors; return by how many bits they had to be shortened."""
    parts = _edge_blocks(job)

    def look(part: Part) -> int:
        return int(loops.largest_product(*part, factors, weights))

    shift = max(max(_run(job, look, parts)).bit_length() - loops.WEIGHT_BITS, 0)
    if shift:
        # Rounded up, the largest may have one bit more.
        shift += 1

    def multiply(part: Part) -> None:
        loops.multiply(*part, factors, shift, weights)

    _run(job, multiply, parts)
    return shift


def _run(job: Weighing, run: Callable[[Part], T], parts: list[Part]) -> list[T]:
    """Run parts on several threads, hearing an interrupt between them."""
    results: list[T] = []
    for first in range(0, len(parts), job.threads):
        job.keep_going()
        results += run_parts(run, parts[first : first + job.threads])
    return results


def _edge_blocks(job: Weighing) -> list[Part]:
    count = job.graph.edge_count
    return [(low, min(low + _BLOCK_EDGES, count)) for low in range(0, count, _BLOCK_EDGES)]


def _blocks(offsets: NDArray[np.uint32]) -> list[Part]:
    """Divide lists into parts (first, end) of about as many edges each."""
    count, edges = len(offsets) - 1, int(offsets[-1])
    cuts = np.searchsorted(offsets, np.arange(_BLOCK_EDGES, edges, _BLOCK_EDGES))
    return list(pairwise([0, *sorted({int(cut) for cut in cuts} - {0, count}), count]))
