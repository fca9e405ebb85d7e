"""Samples of a tree's instances, and the matches of the motif that each stands for.

An instance is drawn edge by edge from the root on, each among the edges that the motif allows
beside those drawn before, by their weights. What it stands for is the number of matches that have
it, over its likelihood. Narrowing the draw so is no part of TIMEST, which draws by the tree's
constraints alone and throws away what breaks the motif's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from raydb.kernels.backends.cpu.threads import processor_count, run_parts
from raydb.kernels.motif.completion import completion_runs
from raydb.kernels.motif.loops import sample_loops as loops
from raydb.kernels.motif.loops.completion_loops import PIVOT_EDGE, Lists, Plan, Scratch
from raydb.kernels.motif.loops.tree_loops import (
    EXCLUDE_KNOWN,
    EXCLUDE_NONE,
    EXCLUDE_OTHER,
    VERTEX,
    Chances,
)
from raydb.kernels.motif.trees import RootedTree
from raydb.kernels.motif.weights import (
    Constraints,
    Weighing,
    Weights,
    directions,
    inner_places,
    parities,
    relation,
    weigh,
)
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from raydb.kernels.motif.completion import Run
    from raydb.kernels.motif.graph import TemporalGraph
    from raydb.kernels.motif.shape import Motif
    from raydb.kernels.motif.weights import Bounds

# A block's sums are added up in the order of blocks, whoever drew it: 1,024 samples, 0.2 to 2 ms.
_BLOCK_STRATA = 512

# A thread draws so many blocks at once, 10 to 100 ms, after which an interrupt is heard.
_PIECE_BLOCKS = 64

# Of samples that are completed: 16,384, whose matches of 12 edges take 1.6 MB.
_COMPLETED_BLOCKS = 16


@dataclass(frozen=True, eq=False)
class TreeSampler:
    """A tree of a motif, and what sampling it from a graph takes besides its weights.

    closes: the last vertex is not drawn; see sample_loops. weighed: the tree that is weighed. Where
    the last vertex is not drawn, all edges that lead to it are leaves of that: an instance is drawn
    the more often, the more candidates each of them has.
    """

    graph: TemporalGraph
    bounds: Bounds
    motif: Motif
    tree: RootedTree
    constraints: Constraints
    closes: bool
    weighed: RootedTree
    lists: Lists
    plan: Plan


class Tally(NamedTuple):
    """What samples add to the estimate by a code of their matches, and the sums of the squares.

    codes: int64, ascending. sums, squares: float64.
    """

    codes: NDArray[np.int64]
    sums: NDArray[np.float64]
    squares: NDArray[np.float64]


NO_TALLY = Tally(np.empty(0, np.int64), np.empty(0), np.empty(0))


@dataclass(frozen=True, eq=False)
class Completion:
    """What becomes of matches that samples are completed to; edges: of the graph, shape (n, e).

    judge: which of them count. code: what they are tallied by, None for no tally.
    """

    judge: Callable[[NDArray[np.int64]], NDArray[np.bool_]]
    code: Callable[[NDArray[np.int64]], NDArray[np.int64]] | None = None


@dataclass(frozen=True)
class Draw:
    """What some samples say of the number of matches.

    squares, fourths, largest: the sums of the second and the fourth powers of what the samples add
    to the estimate, and the most that one adds. outcomes: how many samples came to what, by the
    numbers that sample_loops gives. tally: by the code of matches, where samples are completed.
    """

    estimate: float
    variance: float
    samples: int
    nonzero: int
    squares: float
    fourths: float
    largest: float
    outcomes: tuple[int, ...] = ()
    tally: Tally = NO_TALLY


def make_sampler(
    graph: TemporalGraph,
    bounds: Bounds,
    motif: Motif,
    tree: RootedTree,
    constraints: Constraints,
) -> TreeSampler:
    """Return a sampler of a tree that leaves runs that can be counted; see completion."""
    lists = Lists(
        *(graph.source, graph.target, graph.out_offsets, graph.in_offsets, graph.listed),
        *(graph.pair_offsets, graph.pair_edges, graph.pair_slots),
        *(np.uint64(graph.pair_count.bit_length()), bounds.table),
    )
    can_close = constraints.narrow and constraints.ends and len(tree.edges) > 1
    weighed = _with_all_leaves(motif, tree) if can_close else tree
    closes = len(weighed.edges) > len(tree.edges)
    plan = _make_plan(motif, tree, weighed, constraints)
    return TreeSampler(graph, bounds, motif, tree, constraints, closes, weighed, lists, plan)


def _with_all_leaves(motif: Motif, tree: RootedTree) -> RootedTree:
    """Return a tree with all of the motif's edges that lead to its last vertex.

    Each hangs from the edge that it is next to in time.
    """
    last = len(tree.edges) - 1
    new = sum(motif.edges[tree.edges[last]]) - tree.joints[last]
    edges, parents, joints = list(tree.edges), list(tree.parents), list(tree.joints)
    for edge, ends in enumerate(motif.edges):
        if new in ends and edge not in tree.edges:
            joint = sum(ends) - new

            def distance(place: int, edge: int = edge) -> int:
                return abs(motif.groups[tree.edges[place]] - motif.groups[edge])

            near = [place for place in range(last) if joint in motif.edges[tree.edges[place]]]
            edges.append(edge)
            parents.append(min(near, key=distance))
            joints.append(joint)
    return RootedTree(tuple(edges), tuple(parents), tuple(joints))


def _make_plan(
    motif: Motif, tree: RootedTree, weighed: RootedTree, constraints: Constraints
) -> Plan:
    inner = inner_places(weighed)
    source, target = motif.edges[tree.edges[0]]
    places = [[-1, source, source, target, 1, 0, -1, tree.edges[0]]]
    for place in range(1, len(tree.edges)):
        _, goes_out = directions(motif, tree, place)
        joint, parent = tree.joints[place], tree.parents[place]
        other = sum(motif.edges[tree.edges[parent]]) - joint
        far = sum(motif.edges[tree.edges[place]]) - joint
        row = inner.index(place) if place in inner else -1
        order = relation(motif, tree, place, constraints)
        places.append([parent, joint, other, far, goes_out, order, row, tree.edges[place]])
    groups = np.array(motif.groups, np.int64)
    tables = _Tables([], [], [], [])
    last, new = tree.edges[-1], places[-1][VERTEX]
    at_last = [edge for edge in range(len(motif.edges)) if new in motif.edges[edge]]
    for edge in [last, *(edge for edge in at_last if edge != last and edge not in tree.edges)]:
        runs = completion_runs(motif, replace(tree, edges=(*tree.edges[:-1], edge)))
        if runs is not None:
            _add_pivot(tables, motif, edge, new, runs)
    assert tables.pivots[0][PIVOT_EDGE] == last, tree
    return Plan(
        np.array(places, np.int64),
        np.sign(groups[:, None] - groups[None, list(tree.edges)]),
        np.array(tables.pivots, np.int64),
        np.array(tables.runs, np.int64).reshape(-1, 7),
        np.array(tables.members, np.int64).reshape(-1, 6),
        np.array(tables.limits, np.int64),
    )


class _Tables(NamedTuple):
    """The rows of a plan's tables, as far as they are made."""

    pivots: list[list[int]]
    runs: list[list[int]]
    members: list[list[int]]
    limits: list[int]


def _add_pivot(tables: _Tables, motif: Motif, edge: int, new: int, runs: list[Run]) -> None:
    """Append a motif edge that leads to the last vertex of a tree, and the runs that it leaves."""
    first_run = len(tables.runs)
    for run in runs:
        is_chain = run.is_chain or (len(run.edges) == 1 and run.twins[0] == 0)
        columns = [len(tables.members), len(tables.members) + len(run.edges), is_chain]
        for places in (run.before, run.after):
            columns += [len(tables.limits), len(tables.limits) + len(places)]
            tables.limits.extend(places)
        tables.runs.append(columns)
        for member, twins, twin in zip(run.edges, run.twins, run.tree_twins, strict=True):
            ends = motif.edges[member]
            tables.members.append([member, *ends, twins, twin, new in ends])
    first = [first_run + number for number, run in enumerate(runs) if not run.before]
    last = [first_run + number for number, run in enumerate(runs) if not run.after]
    both = [*first, *last] if first and last and first != last else [-1, -1]
    near, goes_out = sum(motif.edges[edge]) - new, motif.edges[edge][1] == new
    tables.pivots.append([edge, near, goes_out, first_run, len(tables.runs), *both])


def weigh_all(
    sampler: TreeSampler, threads: int | None, keep_going: Callable[[], None]
) -> list[Weights]:
    """Return the weights of a sampler in each parity that has instances."""
    damped = len(sampler.tree.edges) - 1 if sampler.closes else len(sampler.weighed.edges)
    every = [
        weigh(
            Weighing(
                *(sampler.graph, sampler.bounds, sampler.motif, sampler.weighed, parity),
                *(sampler.constraints, damped, threads or processor_count(), keep_going),
            )
        )
        for parity in parities(sampler.constraints)
    ]
    return [weights for weights in every if weights.total > 0]


def total_weight(every: list[Weights]) -> float:
    """Return the weight of all that samples are drawn from."""
    return sum(weights.total for weights in every)


def stream_key(seed: int, stream: int, parity: int) -> np.uint64:
    """Return the key of the random numbers of one round of samples."""
    words = [seed & 0xFFFFFFFFFFFFFFFF, stream, parity + 1]
    return np.uint64(np.random.SeedSequence(words).generate_state(1, np.uint64)[0])


def draw_samples(
    sampler: TreeSampler,
    every: list[Weights],
    seed: int,
    stream: int,
    strata: int,
    threads: int | None,
    keep_going: Callable[[int], None],
    completion: Completion | None = None,
) -> Draw:
    """Draw about 2 * strata samples; the same ones for a seed and a stream, whatever the threads.

    The strata are shared out to the parities by their weight. keep_going: is told every 10 to 100
    ms how many samples are drawn, and may raise. completion: a sample counts by one match that it
    is completed to at random; None: by all of them.
    """
    done = 0
    draws = []
    for weights in every:
        share = max(1, round(strata * (weights.total / total_weight(every))))
        job = _DrawJob(sampler, weights, stream_key(seed, stream, weights.parity), share, done)
        if completion is None:
            draws.append(_draw_parity(job, threads or processor_count(), keep_going))
        else:
            draws.append(_draw_completed(job, threads or processor_count(), keep_going, completion))
        done += 2 * share
    return together(draws)


class _DrawJob(NamedTuple):
    """What is drawn of one parity: so many strata, by a key, after so many other samples."""

    sampler: TreeSampler
    weights: Weights
    key: np.uint64
    strata: int
    done: int


def _draw_parity(job: _DrawJob, threads: int, keep_going: Callable[[int], None]) -> Draw:
    sampler, weights, key, strata, done = job
    blocks = -(-strata // _BLOCK_STRATA)
    sums, outcomes = np.zeros((blocks, 6)), np.zeros((blocks, 6), np.int64)
    chances = _chances(sampler, weights)

    def draw(piece: tuple[int, int]) -> None:
        loops.sample_strata(
            *(sampler.lists, sampler.plan, chances, make_scratch(sampler), key),
            *((*piece, _BLOCK_STRATA, strata), sums, outcomes),
        )

    size = min(_PIECE_BLOCKS, -(-blocks // threads))
    pieces = [(low, min(low + size, blocks)) for low in range(0, blocks, size)]
    for first in range(0, len(pieces), threads):
        keep_going(done + 2 * _BLOCK_STRATA * pieces[first][0])
        run_parts(draw, pieces[first : first + threads])
    return _draw_of(sums, weights, strata, tuple(outcomes.sum(axis=0).tolist()))


def _draw_completed(
    job: _DrawJob, threads: int, keep_going: Callable[[int], None], completion: Completion
) -> Draw:
    """Return a draw whose samples count by one match each, if that holds."""
    sampler, weights, key, strata, done = job
    chances, edge_count = _chances(sampler, weights), len(sampler.motif.edges)

    def draw(piece: tuple[int, int]) -> tuple[NDArray[np.float64], Tally]:
        first, end = piece
        values, matches = np.zeros(end - first), np.empty((end - first, edge_count), np.int64)
        loops.sample_completed(
            *(sampler.lists, sampler.plan, chances, make_scratch(sampler), key),
            *((first, end, strata), values, matches),
        )
        places = np.flatnonzero(values)
        held = completion.judge(matches[places])
        values[places[~held]] = 0.0
        places = places[held]
        tally = NO_TALLY
        if completion.code is not None:
            codes, counted = completion.code(matches[places]), values[places]
            tally = Tally(codes, counted, counted * counted)
        # A block of samples each, the rest of the last one empty.
        width = 2 * _BLOCK_STRATA
        blocks = np.zeros(-(-len(values) // width) * width)
        blocks[: len(values)] = values
        return _block_sums(blocks.reshape(-1, width)), tally

    size = 2 * _BLOCK_STRATA * _COMPLETED_BLOCKS
    pieces = [(low, min(low + size, 2 * strata)) for low in range(0, 2 * strata, size)]
    found: list[tuple[NDArray[np.float64], Tally]] = []
    for first in range(0, len(pieces), threads):
        keep_going(done + pieces[first][0])
        found += run_parts(draw, pieces[first : first + threads])
    made = _draw_of(np.concatenate([sums for sums, _ in found]), weights, strata, ())
    scale = weights.total / (2 * strata)
    return replace(made, tally=_add([tally for _, tally in found], [scale] * len(found)))


def _block_sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums of blocks of samples, shape (blocks, samples), as of sample_strata."""
    squares = values * values
    sums = np.empty((len(values), 6))
    sums[:, loops.SUM] = values.sum(axis=1)
    sums[:, loops.SUM_OF_DIFFERENCES] = ((values[:, 1::2] - values[:, ::2]) ** 2).sum(axis=1)
    sums[:, loops.NONZERO] = (values > 0).sum(axis=1)
    sums[:, loops.SUM_OF_SQUARES] = squares.sum(axis=1)
    sums[:, loops.SUM_OF_FOURTHS] = (squares * squares).sum(axis=1)
    sums[:, loops.LARGEST_ONE] = values.max(axis=1)
    return sums


def _draw_of(
    sums: NDArray[np.float64], weights: Weights, strata: int, outcomes: tuple[int, ...]
) -> Draw:
    """Return what the sums of blocks say, shape (blocks, 6)."""
    samples, scale = 2 * strata, weights.total / (2 * strata)
    total = sums.sum(axis=0)
    return Draw(
        estimate=float(total[loops.SUM]) * scale,
        variance=float(total[loops.SUM_OF_DIFFERENCES]) * scale**2,
        samples=samples,
        nonzero=int(total[loops.NONZERO]),
        squares=float(total[loops.SUM_OF_SQUARES]) * scale**2,
        fourths=float(total[loops.SUM_OF_FOURTHS]) * scale**4,
        largest=float(sums[:, loops.LARGEST_ONE].max()) * scale,
        outcomes=outcomes,
    )


def _add(tallies: list[Tally], shares: list[float]) -> Tally:
    """Return the sum of tallies, each times its share."""
    parts = [pair for pair in zip(tallies, shares, strict=True) if len(pair[0].codes)]
    if not parts:
        return NO_TALLY
    codes, places = np.unique(
        np.concatenate([tally.codes for tally, _ in parts]), return_inverse=True
    )
    parts_of = (
        np.concatenate([tally.sums * share for tally, share in parts]),
        np.concatenate([tally.squares * share**2 for tally, share in parts]),
    )
    sums, squares = (np.bincount(places, each).astype(np.float64) for each in parts_of)
    return Tally(codes, sums, squares)


def together(draws: list[Draw], shares: list[float] | None = None) -> Draw:
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
        tally=_add([draw.tally for draw in draws], [share for share, _ in pairs]),
    )


def pool(draws: list[Draw]) -> Draw:
    """Return what independent draws of one sampler say together, by their numbers of samples."""
    samples = sum(draw.samples for draw in draws)
    return together(draws, [draw.samples / samples for draw in draws])


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
            *(sampler.lists, sampler.plan, chances, make_scratch(sampler), key, samples, largest),
            (edges, vertices),
        )
        if count < most:
            return edges[:count], vertices[:count]
        most *= 8


def make_scratch(sampler: TreeSampler) -> Scratch:
    """Return what a thread writes on."""
    tree, edges, members = (
        len(sampler.tree.edges),
        len(sampler.motif.edges),
        len(sampler.plan.members),
    )
    vertices = sampler.motif.vertex_count
    sizes = 1, tree, vertices, vertices, edges, edges, members, members, members, 4
    # Memory that is not written is not taken, and long runs are rare.
    ways = (np.empty((rows, sampler.bounds.longest)) for rows in (edges, edges, 2))
    return Scratch(np.zeros(1, np.uint64), *(np.zeros(size, np.int64) for size in sizes), *ways)


def _chances(sampler: TreeSampler, weights: Weights) -> Chances:
    rules = sampler.constraints
    excluded = EXCLUDE_NONE
    if rules.ends:
        # Where nothing is closed, a sample that has a vertex twice is thrown away: so those of
        # path(6) take half as long, and 0.8 of the time to the same error.
        excluded = EXCLUDE_KNOWN if sampler.closes else EXCLUDE_OTHER
    return Chances(
        *(weights.root, weights.root_sums, weights.by_vertex.ravel(), weights.by_pair.ravel()),
        *(weights.unit, weights.parity, excluded, rules.narrow),
        len(sampler.tree.edges) - sampler.closes,
    )
