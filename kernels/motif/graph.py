"""The temporal graph: edges in the order of time, and lists of them by vertex and by vertex pair.

    number of an edge      its place in the order of time; equal times keep their input order
    out_edges, in_edges    edge numbers by source and by target, ascending in each vertex's list
    pair_edges             edge numbers by (source, target), ascending in each pair's list

So edges of a list that are in a window of time are a run of it, bounded by two edge numbers.

Beside the 16 bytes of an edge (source, target, time) it takes 16 for the input row and the three
lists, 10.7 for a pair of vertices (where its list begins, and 1.67 slots of the hash table), and
8 for a vertex. Self-loops are left out when it is built: a motif has none, so no match does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.errors import NotSupportedError
from raydb.kernels.backends.cpu.threads import processor_count, run_parts
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from raydb.kernels.motif.loops.graph_loops import PairTable

    Numbers = NDArray[np.uint32]
    KeepGoing = Callable[[float], None]

# Edge numbers, and places in a list of them, are uint32, and one more is a list's end.
MAX_GRAPH_EDGES = 2**32 - 2

# The hash table is full to this part: a pair that is not there costs 2.3 places on average.
_FULLNESS = 0.6

# So many edges take a loop 5 to 60 ms, after which an interrupt is heard.
_BLOCK_EDGES = 2**20

# The times are sorted digit by digit of so many bits.
_DIGIT_BITS = 11

_ARRAYS = (
    *("source", "target", "time", "row", "listed"),
    *("out_offsets", "in_offsets", "pair_offsets", "pair_slots"),
)


@dataclass(frozen=True, eq=False, slots=True)
class TemporalGraph:
    """Edges sorted by time, with their lists; see the module. No array can be written.

    source, target: uint32, shape (m,). time: int64, shape (m,), ascending, in the input's unit.
    row: shape (m,), the input's row of each edge; uint32 where all rows fit, else int64.
    listed: uint32, shape (3 * m,): out_edges, in_edges and pair_edges one after the other.
    out_offsets, in_offsets: uint32, shape (vertex_count + 1,), each from 0 up.
    pair_offsets: uint32, shape (pairs + 1,). pair_slots: the hash table that
    `graph_loops.find_pair` reads.
    loop_count: the self-loops that were left out.
    duplicate_count: the edges that have the vertices and the time of an earlier one.
    """

    vertex_count: int
    source: Numbers
    target: Numbers
    time: NDArray[np.int64]
    row: NDArray[Any]
    listed: Numbers
    out_offsets: Numbers
    in_offsets: Numbers
    pair_offsets: Numbers
    pair_slots: Numbers
    loop_count: int
    duplicate_count: int

    @property
    def edge_count(self) -> int:
        """The number of edges, self-loops not among them."""
        return len(self.source)

    @property
    def out_edges(self) -> Numbers:
        """The edges by source, uint32, shape (m,)."""
        return self.listed[: self.edge_count]

    @property
    def in_edges(self) -> Numbers:
        """The edges by target, uint32, shape (m,)."""
        return self.listed[self.edge_count : 2 * self.edge_count]

    @property
    def pair_edges(self) -> Numbers:
        """The edges by source and target, uint32, shape (m,)."""
        return self.listed[2 * self.edge_count :]

    @property
    def pair_count(self) -> int:
        """The number of different (source, target)."""
        return len(self.pair_offsets) - 1

    @property
    def size_bytes(self) -> int:
        """The bytes of all arrays."""
        return sum(getattr(self, name).nbytes for name in _ARRAYS)


def build_graph(
    source: NDArray[Any],
    target: NDArray[Any],
    time: NDArray[np.int64],
    row: NDArray[Any] | None = None,
    threads: int | None = None,
    keep_going: KeepGoing | None = None,
) -> TemporalGraph:
    """Return the graph of edges (m) that lead from `source` to `target` at a time.

    source, target: integers, vertex numbers from 0 up, best without gaps. time: int64 in any unit.
    row: the number of the row behind each edge, None for its place. keep_going: is told how much is
    done, 0 to 1, between two steps, and may raise.
    Raises NotSupportedError for more than MAX_GRAPH_EDGES edges.
    """
    from raydb.kernels.motif.loops import graph_loops as loops  # noqa: PLC0415  (numba takes 0.3 s)

    assert len(source) == len(target) == len(time), (len(source), len(target), len(time))
    if len(source) > MAX_GRAPH_EDGES:
        raise NotSupportedError(
            f"a temporal graph holds up to {MAX_GRAPH_EDGES:,} edges, not {len(source):,}"
        )
    told = keep_going or (lambda _: None)
    rows = _rows_in_order(source, target, time, told)
    loop_count = len(source) - len(rows)
    sources, targets = (ends[rows].astype(np.uint32) for ends in (source, target))
    times = time[rows].astype(np.int64, copy=False)
    input_rows = rows if row is None else _narrow(row[rows])
    del rows
    told(0.4)
    vertex_count = int(max(sources.max(initial=0), targets.max(initial=0))) + 1 if len(times) else 0

    listed = np.empty(3 * len(times), np.uint32)
    out_edges, in_edges, pair_edges = listed.reshape(3, -1)

    def fill(kind: str) -> Numbers:
        if kind == "out":
            return _fill_lists(sources, vertex_count, out_edges)
        offsets = _fill_lists(targets, vertex_count, in_edges)
        # The lists by target are in the order of time; moved to their sources, they are by pair.
        next_places, _ = _begin(sources, vertex_count)
        for part in _blocks(len(times)):
            loops.refill_lists(in_edges[part], sources, next_places, pair_edges)
        return offsets

    kinds = ("in", "out")
    alone = (threads or processor_count()) == 1
    in_offsets, out_offsets = [fill(kind) for kind in kinds] if alone else run_parts(fill, kinds)
    told(0.8)
    pair_offsets, duplicate_count = _pairs(pair_edges, sources, targets, times)
    told(0.9)
    slots = _slots(pair_edges, sources, targets, pair_offsets)
    arrays = (
        *(sources, targets, times, input_rows, listed),
        *(out_offsets, in_offsets, pair_offsets, slots),
    )
    for array in arrays:
        array.flags.writeable = False
    return TemporalGraph(vertex_count, *arrays, loop_count, duplicate_count)


def pair_table(graph: TemporalGraph) -> PairTable:
    """Return a graph's hash table of vertex pairs as the loops read it."""
    from raydb.kernels.motif.loops.graph_loops import PairTable  # noqa: PLC0415  (numba takes 0.3 s)

    arrays = graph.source, graph.target, graph.pair_offsets, graph.pair_edges, graph.pair_slots
    return PairTable(*arrays, np.uint64(graph.pair_count.bit_length()))


def _blocks(count: int) -> list[slice]:
    return [slice(low, low + _BLOCK_EDGES) for low in range(0, count, _BLOCK_EDGES)]


def _narrow(rows: NDArray[Any]) -> NDArray[Any]:
    """Return row numbers as uint32 where all fit."""
    fits = int(rows.max(initial=0)) < 2**32
    return rows.astype(np.uint32 if fits else np.int64)


def _rows_in_order(
    source: NDArray[Any], target: NDArray[Any], time: NDArray[np.int64], told: KeepGoing
) -> NDArray[np.uint32]:
    """Return the places of the edges that are no self-loops, sorted by time, stable."""
    from raydb.kernels.backends.cpu import sort  # noqa: PLC0415  (numba takes 0.3 s)

    rows: NDArray[np.uint32] = np.flatnonzero(source != target).astype(np.uint32)
    times = time if len(rows) == len(time) else time[rows]
    if len(times) < 2 or bool((times[:-1] <= times[1:]).all()):
        return rows
    least = times.min()
    # A difference beyond int64 comes out right as uint64, and is sorted by its bits.
    keys = (times.astype(np.uint64) - least.astype(np.uint64)).view(np.int64)
    bits = int(keys.view(np.uint64).max()).bit_length()
    there = np.empty_like(keys), np.empty_like(rows)
    for shift in range(0, bits, _DIGIT_BITS):
        told(0.3 * shift / bits)
        counts = np.zeros(2**_DIGIT_BITS, np.int64)
        for part in _blocks(len(rows)):
            sort.count_digits(keys[part], shift, counts)
        next_places = np.cumsum(counts) - counts
        for part in _blocks(len(rows)):
            sort.move_rows(keys[part], rows[part], shift, next_places, *there)
        (keys, rows), there = there, (keys, rows)
    return rows


def _begin(numbers: Numbers, vertex_count: int) -> tuple[Numbers, Numbers]:
    """Return the first place of each vertex's list to count up from, and the offsets."""
    from raydb.kernels.motif.loops import graph_loops as loops  # noqa: PLC0415  (numba takes 0.3 s)

    counts = np.zeros(vertex_count, np.uint32)
    for part in _blocks(len(numbers)):
        loops.count_numbers(numbers[part], counts)
    offsets = np.empty(vertex_count + 1, np.uint32)
    loops.begin_lists(counts, offsets)
    return counts, offsets


def _fill_lists(numbers: Numbers, vertex_count: int, edges: Numbers) -> Numbers:
    """Write the edges of each vertex's list, ascending; return the offsets of the lists."""
    from raydb.kernels.motif.loops import graph_loops as loops  # noqa: PLC0415  (numba takes 0.3 s)

    next_places, offsets = _begin(numbers, vertex_count)
    for part in _blocks(len(numbers)):
        loops.fill_lists(numbers[part], part.start, next_places, edges)
    return offsets


def _pairs(
    pair_edges: Numbers, source: Numbers, target: Numbers, time: NDArray[np.int64]
) -> tuple[Numbers, int]:
    """Return where each pair's list begins, and the number of duplicate edges."""
    from raydb.kernels.motif.loops import graph_loops as loops  # noqa: PLC0415  (numba takes 0.3 s)

    offsets = np.empty(len(pair_edges) + 1, np.uint32)
    pair_count, duplicate_count = 0, 0
    for low in range(0, len(pair_edges), _BLOCK_EDGES):
        high = min(low + _BLOCK_EDGES, len(pair_edges))
        pair_count, duplicates = loops.begin_pairs(
            pair_edges, source, target, time, low, high, pair_count, offsets
        )
        duplicate_count += duplicates
    offsets[pair_count] = len(pair_edges)
    return offsets[: pair_count + 1].copy(), duplicate_count


def _slots(pair_edges: Numbers, source: Numbers, target: Numbers, pair_offsets: Numbers) -> Numbers:
    """Return the hash table from vertex pair to the number of the pair; see `find_pair`."""
    from raydb.kernels.motif.loops import graph_loops as loops  # noqa: PLC0415  (numba takes 0.3 s)

    pair_count = len(pair_offsets) - 1
    slots = np.zeros(int(pair_count / _FULLNESS) + 1, np.uint32)
    number_bits = pair_count.bit_length()
    for low in range(0, pair_count, _BLOCK_EDGES):
        high = min(low + _BLOCK_EDGES, pair_count)
        loops.fill_slots(pair_edges, source, target, pair_offsets, low, high, number_bits, slots)
    return slots
