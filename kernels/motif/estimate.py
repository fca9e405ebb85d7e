"""The number of matches of a motif, estimated from samples to a promised error.

    choose a tree   the tightest spanning trees are tried on a part of the graph, with few samples
    look            batches, each twice as large as the one before, until the spread is known
    count           as many fresh samples as that spread calls for, and the estimate is theirs alone

Whoever stops a draw once its own error looks small stops too early where samples happen to agree.
So the samples that decide how many are needed are not counted. Should the fresh ones miss the error
after all, they join those that decide, and are replaced. TIMEST (PVLDB 19(1), 2025), section 4.4.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from raydb.errors import NotSupportedError
from raydb.kernels.motif.completion import completion_runs
from raydb.kernels.motif.trees import ranked_trees

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from raydb.kernels.motif.graph import TemporalGraph
    from raydb.kernels.motif.sample import Draw, TreeSampler
    from raydb.kernels.motif.shape import Motif, Ties
    from raydb.kernels.motif.trees import RootedTree
    from raydb.kernels.motif.weights import Constraints, Weights

    KeepGoing = Callable[[float], None]

# Fewer samples that count tell no spread; so many tell it to a tenth.
_MIN_NONZERO, _ENOUGH_NONZERO = 30, 400

# A batch that decides ends with so many; those that count are 1.3 times what it calls for.
_DECIDING_NONZERO, _MARGIN = 200, 1.3

# The spread itself is known to one part in the root of this: the square of the sum of the samples'
# squares over the sum of their fourth powers. Where few samples make up the spread it is lower, and
# need not be so high where the error is far below what was asked for: half of it does with 30.
_MIN_SPREAD, _ENOUGH_SPREAD = 30.0, 100.0

# A count is taken for 0 where samples would miss a single match less often by this factor than an
# interval may miss the count: most of what it may is left to those that see some matches.
_SURER = 10.0

_FIRST_STRATA, _MAX_STRATA = 2**14, 2**24

# So many trees are tried, on a part of the graph of about so many edges, with so many samples. If
# the best one's spread is not known by then, all get more samples: with the best four alone,
# bipartite(2,3) on 10 million edges had a worse tree, and no end in a minute.
_TRIED_TREES, _TRIED_EDGES, _TRIED_STRATA = 12, 2**18, 2**12
_RETRIED_STRATA = 2**15
_TRIED_SLICES = 8

# Streams of random numbers: of trying trees, of batches, and of matches.
_TRYING, _COUNTING, _MATCHING = 0, 2**20, 2**21
_SEED_MASK = 2**64 - 1

# Samples that are drawn for matches at once, and by one thread.
_MAX_DRAWN, _PART_DRAWN = 2**20, 2**15


@dataclass(frozen=True, eq=False)
class PreparedMotif:
    """A motif's tree on a graph with its weights, ready to draw from; `prepare` makes it.

    sampler: None where the graph has too few edges. tree: motif edges, the root first. weights:
    by parity. total_weight: of all that samples are drawn from, 0 where there can be no match; see
    `Estimate`.
    """

    tree: tuple[int, ...]
    sampler: TreeSampler | None
    weights: list[Weights]

    @property
    def total_weight(self) -> float:
        """The weight of all roots."""
        return sum(weights.total for weights in self.weights)


@dataclass(frozen=True)
class Estimate:
    """What samples say of the number of matches.

    estimate, std_error: of the number. ci_low, ci_high: where it lies with the confidence asked
    for. converged: whether the interval is as narrow as was asked for, and can be trusted.
    samples, nonzero: drawn, and of these with a match, those that decided among them. tree: edges
    of the motif, the root first. total_weight: no match is drawn with a likelihood below one over
    it; where samples draw all of a tree, it is the number of tree instances. exact_zero: there is
    no tree instance, and so no match.
    """

    estimate: float
    std_error: float
    ci_low: float
    ci_high: float
    converged: bool
    samples: int
    nonzero: int
    tree: tuple[int, ...]
    total_weight: float
    exact_zero: bool


def prepare(
    graph: TemporalGraph,
    motif: Motif,
    delta: int,
    ties: Ties,
    constraints: Constraints | None = None,
    tree: RootedTree | None = None,
    threads: int | None = None,
    keep_going: KeepGoing | None = None,
) -> PreparedMotif:
    """Choose a tree for a motif within delta >= 1 on a graph, and weigh it: O(m) a tree edge.

    tree: the tree to take, None for the best one. threads: None for one each processor.
    keep_going: is told 0.0 every few ms, and may raise.
    Raises NotSupportedError where edges in any order allow of no tree whose samples can be counted.
    """
    from raydb.kernels.motif.sample import make_sampler, weigh_all  # noqa: PLC0415  (numba: 0.3 s)
    from raydb.kernels.motif.weights import Constraints, edge_bounds  # noqa: PLC0415  (as above)

    assert delta >= 1, delta
    rules = constraints or Constraints()
    trees = [tree] if tree is not None else sampled_trees(motif)
    if graph.edge_count < len(motif.edges):
        return PreparedMotif(trees[0].edges, None, [])

    def told() -> None:
        if keep_going is not None:
            keep_going(0.0)

    told()
    bounds = edge_bounds(graph, delta, ties, rules.windows, threads)
    chosen = trees[0]
    if len(trees) > 1:
        chosen = _choose_tree(graph, motif, delta, ties, rules, trees, threads, told)
    sampler = make_sampler(graph, bounds, motif, chosen, rules)
    return PreparedMotif(chosen.edges, sampler, weigh_all(sampler, threads, told))


def sampled_trees(motif: Motif) -> list[RootedTree]:
    """Return the rooted spanning trees that can be sampled, tightest first.

    Raises NotSupportedError where there is none.
    """
    trees = [tree for tree in ranked_trees(motif) if completion_runs(motif, tree) is not None]
    if not trees:
        raise NotSupportedError(
            "a motif whose unordered edges lie in no spanning tree cannot be sampled: "
            "order more of its edges, or count it exactly"
        )
    return trees


def _choose_tree(
    graph: TemporalGraph,
    motif: Motif,
    delta: int,
    ties: Ties,
    constraints: Constraints,
    trees: list[RootedTree],
    threads: int | None,
    told: Callable[[], None],
) -> RootedTree:
    """Return the tree whose samples spread least on a part of the graph.

    All trees estimate the same number, so the least variance takes the fewest samples. Where a tree
    has too few samples that count, its variance is taken to be at least what its weight says: W * C
    over the samples, as if each of them had one match or none.
    """
    from raydb.kernels.motif.sample import (  # noqa: PLC0415  (numba takes 0.3 s)
        draw_samples,
        make_sampler,
        total_weight,
        weigh_all,
    )
    from raydb.kernels.motif.weights import edge_bounds  # noqa: PLC0415  (as above)

    part = slices(graph, delta, _TRIED_EDGES)
    bounds = edge_bounds(part, delta, ties, constraints.windows, threads)
    for strata in (_TRIED_STRATA, _RETRIED_STRATA):
        tried: list[_Trial] = []
        for tree in trees[:_TRIED_TREES]:
            told()
            sampler = make_sampler(part, bounds, motif, tree, constraints)
            every = weigh_all(sampler, threads, told)
            draw = None
            if every:
                draw = draw_samples(sampler, every, 0, _TRYING, strata, threads, lambda _: told())
            tried.append(_Trial(tree, total_weight(every), draw))
        best = _least_spread(tried)
        if best.draw is None or _spread(best.draw) >= _ENOUGH_SPREAD:
            break
    return best.tree


@dataclass(frozen=True)
class _Trial:
    """A tree, its weight on a part of the graph, and its samples, None where it has none."""

    tree: RootedTree
    weight: float
    draw: Draw | None


def _least_spread(trials: list[_Trial]) -> _Trial:
    """Return the one of trials of as many samples each that spread least; see `_choose_tree`."""
    known = [trial.draw for trial in trials if trial.draw is not None]
    count = sum(draw.estimate for draw in known) / max(len(known), 1)

    def cost(trial: _Trial) -> tuple[float, float]:
        draw = trial.draw
        if draw is None:
            return 0.0, trial.weight
        expected = trial.weight * count / draw.samples
        spread = draw.variance if draw.nonzero >= _MIN_NONZERO else max(draw.variance, expected)
        return spread, trial.weight

    return min(trials, key=cost)


def slices(graph: TemporalGraph, delta: int, most_edges: int) -> TemporalGraph:
    """Return the edges of stretches of time, each at least 2 * delta long where that is few enough.

    A graph of up to `most_edges` is returned as it is.
    """
    from raydb.kernels.motif.graph import build_graph  # noqa: PLC0415  (numba takes 0.3 s)

    if graph.edge_count <= most_edges:
        return graph
    span = int(graph.time[-1]) - int(graph.time[0])
    # Of stretches shorter than two windows most instances would lie across the ends.
    longest = max(1, span // max(4 * delta, 1))
    count = min(_TRIED_SLICES, longest)
    size, step = most_edges // count, graph.edge_count // count
    starts = [number * step + (step - size) // 2 for number in range(count)]
    edges = np.concatenate([np.arange(start, start + size) for start in starts])
    return build_graph(graph.source[edges], graph.target[edges], graph.time[edges])


def estimate(
    graph: TemporalGraph,
    motif: Motif,
    delta: int,
    ties: Ties,
    rel_error: float = 0.05,
    confidence: float = 0.95,
    seed: int = 1,
    max_samples: int | None = None,
    max_seconds: float | None = 60.0,
    threads: int | None = None,
    keep_going: KeepGoing | None = None,
    prepared: PreparedMotif | None = None,
) -> Estimate:
    """Estimate the number of matches to within rel_error of it, with a confidence, both in (0, 1).

    delta: at least 1, in the unit of the graph's times. max_samples, max_seconds: where the draw
    ends, converged or not; None for no end. keep_going: is told every 10 to 100 ms which part is
    done, 0 to 1, and may raise. prepared: what `prepare` returned for the same graph, motif, delta
    and ties. The same seed gives the same estimate, whatever the threads, unless time runs out.
    Raises NotSupportedError as `prepare` does.
    """
    began = time.monotonic()
    found = prepared or prepare(graph, motif, delta, ties, threads=threads, keep_going=keep_going)
    if found.sampler is None or found.total_weight == 0:
        return Estimate(0.0, 0.0, 0.0, 0.0, True, 0, 0, found.tree, 0.0, True)
    goal = _Goal(
        rel_error,
        NormalDist().inv_cdf(0.5 + confidence / 2),
        math.log(_SURER / (1.0 - confidence)) * found.total_weight,
    )
    deadline = math.inf if max_seconds is None else began + max_seconds
    limits = _Limits(began, deadline, math.inf if max_samples is None else max_samples)
    rounds = _Rounds(found.sampler, found.weights, seed, threads, keep_going, limits)
    draw, converged = _draw_to_goal(rounds, goal)
    error = _error(draw)
    low = max(draw.estimate - goal.deviations * error, 0.0)
    high = draw.estimate + goal.deviations * error
    if draw.nonzero == 0:
        # As many matches as samples of one match each can miss with this confidence.
        high = -math.log1p(-confidence) * found.total_weight / max(draw.samples, 1)
    return Estimate(
        *(draw.estimate, error, low, high, converged, rounds.samples, rounds.nonzero),
        *(found.tree, found.total_weight, False),
    )


@dataclass(frozen=True)
class _Goal:
    """The relative error to come to, so many standard errors wide.

    unseen: where none of so many samples has a match, there is none.
    """

    rel_error: float
    deviations: float
    unseen: float

    def misses(self, draw: Draw) -> float:
        """Return how many times as many samples the goal takes, 1 or less where it is met."""
        if draw.nonzero == 0:
            return math.inf
        width = self.deviations * _error(draw) / draw.estimate
        spread = _spread(draw)
        part = (width / self.rel_error) ** 2
        least = max(_ENOUGH_SPREAD * min(part, 1.0), _MIN_SPREAD)
        return max(part, _ENOUGH_NONZERO / draw.nonzero, least / spread if spread > 0 else math.inf)


def _error(draw: Draw) -> float:
    """Return the standard error, as if one more stratum had missed the most that a sample adds.

    Where few matches are drawn often, most strata have one root each and no spread, and the few in
    which two roots meet may not show theirs: 92.5 % of 95 % intervals covered a count with an error
    of less than five times that most, 97.1 % so. Where many samples spread it changes nothing.
    """
    return math.hypot(math.sqrt(draw.variance), draw.largest)


def _spread(draw: Draw) -> float:
    """Return how many samples' worth of spread is known; see `_ENOUGH_SPREAD`."""
    return draw.squares**2 / draw.fourths if draw.fourths > 0 else 0.0


@dataclass(frozen=True)
class _Limits:
    began: float
    deadline: float
    samples: float


class _OutOfTimeError(Exception):
    """The time ended amid a batch, which is worth nothing: it is drawn in the order of time."""


class _Rounds:
    """Draws batches, each of its own stream of random numbers, while time and samples last."""

    def __init__(
        self,
        sampler: TreeSampler,
        weights: list[Weights],
        seed: int,
        threads: int | None,
        keep_going: KeepGoing | None,
        limits: _Limits,
    ) -> None:
        self._source = sampler, weights, seed
        self._threads, self._keep_going, self._limits = threads, keep_going, limits
        self._number, self._seconds = _COUNTING, 0.0
        self.samples, self.nonzero = 0, 0

    def most_strata(self) -> int:
        """Return how many strata there is time for, or less than 1."""
        strata = (self._limits.samples - self.samples) / 2
        if self.samples and math.isfinite(self._limits.deadline):
            # A tenth is kept back: a batch that is not done in time is worth nothing.
            left = max(0.9 * (self._limits.deadline - time.monotonic()), 0.0)
            strata = min(strata, left * self.samples / max(self._seconds, 1e-9) / 2)
        return int(min(strata, _MAX_STRATA))

    def draw(self, strata: int, part: float) -> Draw | None:
        """Return a batch, None where time ran out; `part` of the work is done before it."""
        from raydb.kernels.motif.sample import draw_samples  # noqa: PLC0415  (numba takes 0.3 s)

        began = time.monotonic()

        def told(samples: int) -> None:
            if self._keep_going is not None:
                self._keep_going(min(part + (1.0 - part) * samples / (2 * strata), 1.0))
            if self.samples and time.monotonic() > self._limits.deadline:
                raise _OutOfTimeError

        self._number += 1
        try:
            draw = draw_samples(
                *(*self._source, self._number, strata, self._threads, told),
            )
        except _OutOfTimeError:
            return None
        self._seconds += time.monotonic() - began
        self.samples += draw.samples
        self.nonzero += draw.nonzero
        return draw


def _draw_to_goal(rounds: _Rounds, goal: _Goal) -> tuple[Draw, bool]:
    """Return the draw that counts, and whether it came to the goal; see the module."""
    from raydb.kernels.motif.sample import pool  # noqa: PLC0415  (numba takes 0.3 s)

    strata = max(min(_FIRST_STRATA, rounds.most_strata()), 1)
    first = rounds.draw(strata, 0.0)
    assert first is not None
    decided = first
    while decided.nonzero < _DECIDING_NONZERO:
        if decided.nonzero == 0 and decided.samples > goal.unseen:
            return decided, True
        strata = min(2 * strata, rounds.most_strata())
        batch = rounds.draw(strata, 0.0) if strata >= 1 else None
        if batch is None:
            return decided, False
        decided = pool([decided, batch])
    while True:
        needed = math.ceil(_MARGIN * goal.misses(decided) * decided.samples / 2)
        needed = max(needed, _FIRST_STRATA)
        done = min(0.5, decided.samples / (2 * needed + decided.samples))
        fresh: list[Draw] = []
        while needed > 0:
            strata = min(needed, rounds.most_strata())
            batch = rounds.draw(strata, done) if strata >= 1 else None
            if batch is None:
                return pool([decided, *fresh]), False
            fresh.append(batch)
            needed -= strata
        counted = pool(fresh)
        if goal.misses(counted) <= 1.0:
            return counted, True
        decided = pool([decided, counted])


def sample_instances(
    graph: TemporalGraph,
    motif: Motif,
    delta: int,
    ties: Ties,
    count: int,
    seed: int = 1,
    max_seconds: float | None = 60.0,
    threads: int | None = None,
    keep_going: KeepGoing | None = None,
    prepared: PreparedMotif | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return random matches, with replacement: edges (count, e) and vertices (count, v), int64.

    edges: numbers of the graph's edges, by edge of the motif. Every match is as likely as every
    other. A tree instance is drawn and taken with a likelihood that grows with the matches that it
    stands for, up to the most that any of a first batch of samples stood for; of an instance that
    stands for more, several matches are taken, so that all matches stay equally frequent, though
    these come together. A taken instance is completed at random among all ways.
    There are fewer than `count` where there are no matches, or none more are found within
    `max_seconds`. The rest is as in `estimate`.
    """
    began = time.monotonic()
    found = prepared or prepare(graph, motif, delta, ties, threads=threads, keep_going=keep_going)
    edges = np.empty((0, len(motif.edges)), np.int64)
    vertices = np.empty((0, motif.vertex_count), np.int64)
    if count == 0 or found.sampler is None or found.total_weight == 0:
        return edges, vertices
    deadline = math.inf if max_seconds is None else began + max_seconds
    limits = _Limits(began, deadline, math.inf)
    rounds = _Rounds(found.sampler, found.weights, seed, threads, None, limits)
    seen = _look_for_matches(rounds)
    if seen is None:
        return edges, vertices
    # What a sample stands for per unit of weight: the most, and on average.
    per_weight = seen.samples / found.total_weight
    largest, average = seen.largest * per_weight, seen.estimate / found.total_weight
    stream = _MATCHING
    while len(edges) < count and (stream == _MATCHING or time.monotonic() < deadline):
        if keep_going is not None:
            keep_going(len(edges) / count)
        samples = min(int(1.2 * (count - len(edges)) * largest / average) + 100, _MAX_DRAWN)
        drawn = _draw_batch(found, seed, stream, samples, largest, threads)
        edges, vertices = np.concatenate([edges, drawn[0]]), np.concatenate([vertices, drawn[1]])
        stream += 1
    # Samples are drawn parity by parity; which of them are returned must not depend on that.
    order = np.random.default_rng([seed & _SEED_MASK, _MATCHING]).permutation(len(edges))[:count]
    return edges[order], vertices[order]


def _look_for_matches(rounds: _Rounds) -> Draw | None:
    """Return enough samples to tell the most that one stands for; None where none has a match."""
    from raydb.kernels.motif.sample import pool  # noqa: PLC0415  (numba takes 0.3 s)

    strata = _FIRST_STRATA
    seen = rounds.draw(strata, 0.0)
    while seen is not None and seen.nonzero < _ENOUGH_NONZERO:
        strata = min(2 * strata, rounds.most_strata())
        batch = rounds.draw(strata, 0.0) if strata >= 1 else None
        if batch is None:
            break
        seen = pool([seen, batch])
    return seen if seen is not None and seen.nonzero else None


def _draw_batch(
    prepared: PreparedMotif,
    seed: int,
    stream: int,
    samples: int,
    largest: float,
    threads: int | None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the matches of so many samples, shared out to the parities at random."""
    from raydb.kernels.backends.cpu.threads import processor_count, run_parts  # noqa: PLC0415  (as below)
    from raydb.kernels.motif.sample import draw_matches, stream_key  # noqa: PLC0415  (numba)

    sampler, total = prepared.sampler, prepared.total_weight
    assert sampler is not None
    generator = np.random.default_rng([seed & _SEED_MASK, stream])
    found: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    likelihoods = [weights.total / total for weights in prepared.weights]
    shares = generator.multinomial(samples, likelihoods).tolist()
    for weights, share in zip(prepared.weights, shares, strict=True):
        cuts = [*range(0, share, _PART_DRAWN), share]
        parts = [(number, high - low) for number, (low, high) in enumerate(pairwise(cuts))]

        def draw(
            part: tuple[int, int], weights: Weights = weights
        ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
            key = stream_key(seed, stream * 2**16 + part[0], weights.parity)
            return draw_matches(sampler, weights, key, part[1], largest)

        together = threads or processor_count()
        for first in range(0, len(parts), together):
            found += run_parts(draw, parts[first : first + together])
    edges = np.empty((0, len(sampler.motif.edges)), np.int64)
    vertices = np.empty((0, sampler.motif.vertex_count), np.int64)
    found.append((edges, vertices))
    return np.concatenate([one for one, _ in found]), np.concatenate([two for _, two in found])
