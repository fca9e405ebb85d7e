"""Samples of a tree's instances, and the matches of the motif that each stands for.

An instance is drawn edge by edge from the root on, each among the edges that the motif allows
beside those drawn before, by their weights. What it stands for is the number of matches that have
it, over its likelihood. Narrowing the draw so is no part of TIMEST, which draws by the tree's
constraints alone and throws away what breaks the motif's.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from raydb.kernels.cpu.threads import processor_count, run_parts
from raydb.kernels.motif import sample_loops as loops
from raydb.kernels.motif.completion import completion_runs
from raydb.kernels.motif.completion_loops import Lists, Plan
from raydb.kernels.motif.weights import (
    Constraints,
    Weights,
    directions,
    inner_places,
    parities,
    relation,
    weigh,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from raydb.kernels.motif.completion import Run
    from raydb.kernels.motif.graph import TemporalGraph
    from raydb.kernels.motif.shape import Motif
    from raydb.kernels.motif.trees import RootedTree
    from raydb.kernels.motif.weights import Bounds, WeightType

# A block's sums are added up in the order of blocks, whoever drew it: 1,024 samples, 0.2 to 2 ms.
_BLOCK_STRATA = 512

# A thread draws so many blocks at once, 10 to 100 ms, after which an interrupt is heard.
_PIECE_BLOCKS = 64

# The weights of both parities stay in memory where all of them are smaller than this: 5 million
# edges of a tree with one inner edge. Else each batch makes those of one parity anew.
_SMALL_BYTES = 2**28


@dataclass(frozen=True, eq=False)
class TreeSampler:
    """A tree of a motif, and what sampling it from a graph takes besides its weights."""

    graph: TemporalGraph
    bounds: Bounds
    motif: Motif
    tree: RootedTree
    constraints: Constraints
    lists: Lists
    plan: Plan


@dataclass(frozen=True)
class Draw:
    """What some samples say of the number of matches.

    squares, fourths, largest: the sums of the second and the fourth powers of what the samples add
    to the estimate, and the most that one adds. outcomes: how many samples came to what, by the
    numbers that sample_loops gives.
    """

    estimate: float
    variance: float
    samples: int
    nonzero: int
    squares: float
    fourths: float
    largest: float
    outcomes: tuple[int, ...]


def make_sampler(
    graph: TemporalGraph,
    bounds: Bounds,
    motif: Motif,
    tree: RootedTree,
    constraints: Constraints,
) -> TreeSampler:
    """Return a sampler of a tree that leaves runs that can be counted; see completion."""
    runs = completion_runs(motif, tree)
    assert runs is not None, tree
    lists = Lists(
        *(graph.source, graph.target, graph.out_offsets, graph.in_offsets, graph.listed),
        *(graph.pair_offsets, graph.pair_edges, graph.pair_slots),
        *(np.uint64(graph.pair_count.bit_length()), bounds.table),
    )
    plan = _make_plan(motif, tree, constraints, runs)
    return TreeSampler(graph, bounds, motif, tree, constraints, lists, plan)


def _make_plan(motif: Motif, tree: RootedTree, constraints: Constraints, runs: list[Run]) -> Plan:
    inner = inner_places(tree)
    source, target = motif.edges[tree.edges[0]]
    places = [[source, 0, 0, 0, -1, target, tree.edges[0]]]
    for place in range(1, len(tree.edges)):
        from_source, goes_out = directions(motif, tree, place)
        ends = motif.edges[tree.edges[place]]
        far = ends[1] if goes_out else ends[0]
        row = inner.index(place) if place in inner else -1
        order = relation(motif, tree, place, constraints)
        places.append(
            [tree.parents[place], from_source, goes_out, order, row, far, tree.edges[place]]
        )
    groups = np.array([motif.groups[edge] for edge in tree.edges], np.int64)
    members: list[list[int]] = []
    limits: list[int] = []
    rows: list[list[int]] = []
    for run in runs:
        is_chain = run.is_chain or (len(run.edges) == 1 and run.twins[0] == 0)
        columns = [len(members), len(members) + len(run.edges), is_chain]
        for places_of_limits in (run.before, run.after):
            columns += [len(limits), len(limits) + len(places_of_limits)]
            limits += places_of_limits
        rows.append(columns)
        for edge, twins, twin in zip(run.edges, run.twins, run.tree_twins, strict=True):
            members.append([edge, *motif.edges[edge], twins, twin])
    first = [number for number, run in enumerate(runs) if not run.before]
    last = [number for number, run in enumerate(runs) if not run.after]
    both = [*first, *last] if first and last and first != last else [-1, -1]
    return Plan(
        np.array(places, np.int64),
        np.sign(groups[:, None] - groups[None, :]),
        np.array(rows, np.int64).reshape(-1, 7),
        np.array(members, np.int64).reshape(-1, 5),
        np.array(limits, np.int64),
        np.array(both, np.int64),
    )


class WeightStore:
    """The weights of a sampler, by parity: all of them, or the last ones used, as memory allows."""

    def __init__(
        self, sampler: TreeSampler, threads: int | None, keep_going: Callable[[], None]
    ) -> None:
        """Weigh in every parity. Int64 gives way to float64 where it is too small."""
        self._sampler, self._threads = sampler, threads
        self._kept: dict[int, Weights] = {}
        self.totals: dict[int, int | float] = {}
        self.kind: WeightType = "int64"
        # What making weights has taken so far, and what a batch takes to make some anew.
        self.seconds, self.remaking_seconds = 0.0, 0.0
        if not self._weigh_all(keep_going):
            self.kind = "float64"
            fits = self._weigh_all(keep_going)
            assert fits

    def _weigh_all(self, keep_going: Callable[[], None]) -> bool:
        self._kept.clear()
        rules = self._sampler.constraints
        return all(self._make(parity, keep_going) for parity in parities(rules))

    def _make(self, parity: int, keep_going: Callable[[], None]) -> bool:
        """Make the weights of a parity; False where they do not fit the type."""
        sampler = self._sampler
        rows = 1 + 2 * len(inner_places(sampler.tree))
        size = 8 * rows * sampler.graph.edge_count
        began = time.monotonic()
        is_large = 2 * size > _SMALL_BYTES
        if is_large:
            self._kept.clear()
        weights = weigh(
            *(sampler.graph, sampler.bounds, sampler.motif, sampler.tree, parity),
            *(sampler.constraints, self.kind, self._threads, keep_going),
        )
        spent = time.monotonic() - began
        self.seconds += spent
        self.remaking_seconds = spent if is_large else 0.0
        if weights is None:
            return False
        self._kept[parity], self.totals[parity] = weights, weights.total
        return True

    @property
    def total(self) -> int | float:
        """The number of tree instances in all windows."""
        return sum(self.totals.values())

    def order(self) -> list[int]:
        """Return the parities that have instances, one whose weights are at hand first."""
        found = [parity for parity, total in self.totals.items() if total > 0]
        return sorted(found, key=lambda parity: parity not in self._kept)

    def weights(self, parity: int, keep_going: Callable[[], None]) -> Weights:
        """Return the weights of a parity; those of the other are to be let go of before."""
        if parity not in self._kept:
            fits = self._make(parity, keep_going)
            assert fits
        return self._kept[parity]


def stream_key(seed: int, stream: int, parity: int) -> np.uint64:
    """Return the key of the random numbers of one round of samples."""
    words = [seed & 0xFFFFFFFFFFFFFFFF, stream, parity + 1]
    return np.uint64(np.random.SeedSequence(words).generate_state(1, np.uint64)[0])


def draw_samples(
    sampler: TreeSampler,
    store: WeightStore,
    seed: int,
    stream: int,
    strata: int,
    threads: int | None,
    keep_going: Callable[[int], None],
) -> Draw:
    """Draw about 2 * strata samples; the same ones for a seed and a stream, whatever the threads.

    The strata are shared out to the parities by their weight. keep_going: is told every 10 to 100
    ms how many samples are drawn, and may raise.
    """
    done = 0
    draws = []
    for parity in store.order():
        share = max(1, round(strata * (store.totals[parity] / store.total)))
        # The samples drawn so far are told while the weights are made anew, too.
        weights = store.weights(parity, partial(keep_going, done))
        key = stream_key(seed, stream, parity)
        draws.append(_draw_parity(sampler, weights, key, share, threads, keep_going, done))
        done += 2 * share
        del weights
    return _together(draws)


def _draw_parity(
    sampler: TreeSampler,
    weights: Weights,
    key: np.uint64,
    strata: int,
    threads: int | None,
    keep_going: Callable[[int], None],
    done: int,
) -> Draw:
    threads = threads or processor_count()
    blocks = -(-strata // _BLOCK_STRATA)
    sums, outcomes = np.zeros((blocks, 6)), np.zeros((blocks, 6), np.int64)
    chances = _chances(sampler, weights)

    def draw(piece: tuple[int, int]) -> None:
        loops.sample_strata(
            *(sampler.lists, sampler.plan, chances, key, *piece, _BLOCK_STRATA, strata),
            *(sums, outcomes, make_scratch(sampler)),
        )

    size = min(_PIECE_BLOCKS, -(-blocks // threads))
    pieces = [(low, min(low + size, blocks)) for low in range(0, blocks, size)]
    for first in range(0, len(pieces), threads):
        keep_going(done + 2 * _BLOCK_STRATA * pieces[first][0])
        run_parts(draw, pieces[first : first + threads])
    samples, scale = 2 * strata, float(weights.total) / (2 * strata)
    total = sums.sum(axis=0)
    return Draw(
        estimate=float(total[loops.SUM]) * scale,
        variance=float(total[loops.SUM_OF_DIFFERENCES]) * scale**2,
        samples=samples,
        nonzero=int(total[loops.NONZERO]),
        squares=float(total[loops.SUM_OF_SQUARES]) * scale**2,
        fourths=float(total[loops.SUM_OF_FOURTHS]) * scale**4,
        largest=float(sums[:, loops.LARGEST_ONE].max()) * scale,
        outcomes=tuple(outcomes.sum(axis=0).tolist()),
    )


def _together(draws: list[Draw], shares: list[float] | None = None) -> Draw:
    """Return the sum of draws of different instances, or of parts of the same estimate."""
    weights = shares or [1.0] * len(draws)
    pairs = list(zip(weights, draws, strict=True))
    return Draw(
        estimate=sum(share * draw.estimate for share, draw in pairs),
        variance=sum(share**2 * draw.variance for share, draw in pairs),
        samples=sum(draw.samples for draw in draws),
        nonzero=sum(draw.nonzero for draw in draws),
        squares=sum(share**2 * draw.squares for share, draw in pairs),
        fourths=sum(share**4 * draw.fourths for share, draw in pairs),
        largest=max(share * draw.largest for share, draw in pairs),
        outcomes=tuple(sum(column) for column in zip(*(d.outcomes for d in draws), strict=True)),
    )


def pool(draws: list[Draw]) -> Draw:
    """Return what independent draws of one sampler say together, by their numbers of samples."""
    samples = sum(draw.samples for draw in draws)
    return _together(draws, [draw.samples / samples for draw in draws])


def draw_matches(
    sampler: TreeSampler,
    weights: Weights,
    key: np.uint64,
    samples: int,
    largest: float,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the matches, edges and vertices, that samples of a parity are taken for."""
    most, chances = 1024, _chances(sampler, weights)
    while True:
        edges = np.empty((most, len(sampler.motif.edges)), np.int64)
        vertices = np.empty((most, sampler.motif.vertex_count), np.int64)
        count = loops.sample_matches(
            *(sampler.lists, sampler.plan, chances, key, samples, largest),
            *(edges, vertices, make_scratch(sampler)),
        )
        if count < most:
            return edges[:count], vertices[:count]
        most *= 8


def make_scratch(sampler: TreeSampler) -> loops.Scratch:
    """Return what a thread writes on."""
    tree, outside = len(sampler.plan.places), len(sampler.plan.members)
    sizes = 1, tree, sampler.motif.vertex_count, outside, outside, outside
    # Memory that is not written is not taken, and long runs are rare.
    ways = (np.empty((rows, sampler.bounds.longest)) for rows in (outside, outside, 2))
    return loops.Scratch(
        np.zeros(1, np.uint64), *(np.zeros(size, np.int64) for size in sizes), *ways
    )


def _chances(sampler: TreeSampler, weights: Weights) -> loops.Chances:
    rules = sampler.constraints
    arrays = weights.root, weights.by_vertex.ravel(), weights.by_pair.ravel()
    return loops.Chances(*arrays, weights.parity, rules.ends, rules.narrow)
