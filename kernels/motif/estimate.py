"""The number of matches of a motif, estimated from samples to a promised error.

    look            batches, each twice as large as the one before, until the spread is known
    count           as many fresh samples as that spread calls for, and the estimate is theirs alone

Whoever stops a draw once its own error looks small stops too early where samples happen to agree.
So the samples that decide how many are needed are not counted. Should the fresh ones miss the error
after all, they join those that decide, and are replaced. TIMEST (PVLDB 19(1), 2025), section 4.4.
"""

from __future__ import annotations

import math
import time
from itertools import pairwise
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from raydb.kernels.motif.tree_choice import ENOUGH_SPREAD, PreparedMotif, spread_of
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from raydb.kernels.motif.sample import Draw, Tally
    from raydb.kernels.motif.weights import Weights

    KeepGoing = Callable[[float], None]

# So many samples that count tell the spread to a tenth.
_ENOUGH_NONZERO = 400

# A batch that decides ends with so many; those that count are 1.3 times what it calls for.
_DECIDING_NONZERO, _MARGIN = 200, 1.3

# What must be known of the spread where the error is far below what was asked for.
_MIN_SPREAD = 30.0

# A count is taken for 0 where samples would miss a single match less often by this factor than an
# interval may miss the count: most of what it may is left to those that see some matches.
_SURER = 10.0

_FIRST_STRATA, _MAX_STRATA = 2**12, 2**24

# Streams of random numbers: of batches, and of matches. Trying trees has 0. Those of motifs that
# are counted together are so far apart.
_COUNTING, _MATCHING = 2**20, 2**21
_MOTIFS_APART = 2**40
_SEED_MASK = 2**64 - 1

# Samples that are drawn for matches at once, and by one thread.
_MAX_DRAWN, _PART_DRAWN = 2**20, 2**15


@dataclass(frozen=True)
class Estimate:
    """What samples say of the number of matches.

    estimate, std_error: of the number. ci_low, ci_high: where it lies with the confidence asked
    for. converged: whether the interval is as narrow as was asked for, and can be trusted.
    samples, nonzero: drawn, and of these with a match, those that decided among them. tree: edges
    of the motif, the root first. total_weight: no match is drawn with a likelihood below one over
    it; where samples draw all of a tree, it is the number of tree instances. exact_zero: there is
    no tree instance, and so no match. tally: the estimate by the code of matches, and the squares
    of its standard errors, where a code is given.
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
    tally: Tally | None = None


def estimate(
    prepared: PreparedMotif | Sequence[PreparedMotif],
    rel_error: float = 0.05,
    confidence: float = 0.95,
    seed: int = 1,
    max_samples: int | None = None,
    max_seconds: float | None = 60.0,
    threads: int | None = None,
    keep_going: KeepGoing | None = None,
) -> Estimate:
    """Estimate the number of matches to within rel_error of it, with a confidence, both in (0, 1).

    prepared: or several motifs, whose matches are counted together. max_samples, max_seconds: where
    the draw ends, converged or not; None for no end. keep_going: is told every 10 to 100 ms which
    part is done, 0 to 1, and may raise. The same seed gives the same estimate, whatever the
    threads, unless time runs out.
    """
    began = time.monotonic()
    every = _with_weight(prepared)
    total_weight = sum(each.total_weight for each in every)
    if not every:
        tree = (prepared if isinstance(prepared, PreparedMotif) else prepared[0]).tree
        return Estimate(0.0, 0.0, 0.0, 0.0, True, 0, 0, tree, 0.0, True)
    goal = _Goal(
        rel_error,
        NormalDist().inv_cdf(0.5 + confidence / 2),
        math.log(_SURER / (1.0 - confidence)) * total_weight,
    )
    deadline = math.inf if max_seconds is None else began + max_seconds
    limits = _Limits(began, deadline, math.inf if max_samples is None else max_samples)
    rounds = _Rounds(every, seed, threads, keep_going, limits)
    draw, converged = _draw_to_goal(rounds, goal)
    error = _error(draw)
    low = max(draw.estimate - goal.deviations * error, 0.0)
    high = draw.estimate + goal.deviations * error
    if draw.nonzero == 0:
        # As many matches as samples of one match each can miss with this confidence.
        high = -math.log1p(-confidence) * total_weight / max(draw.samples, 1)
    return Estimate(
        *(draw.estimate, error, low, high, converged, rounds.samples, rounds.nonzero),
        *(every[0].tree, total_weight, False, draw.tally),
    )


def _with_weight(prepared: PreparedMotif | Sequence[PreparedMotif]) -> list[PreparedMotif]:
    """Return those motifs that have tree instances."""
    every = [prepared] if isinstance(prepared, PreparedMotif) else prepared
    return [each for each in every if each.sampler is not None and each.total_weight > 0]


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
        spread = spread_of(draw)
        part = (width / self.rel_error) ** 2
        least = max(ENOUGH_SPREAD * min(part, 1.0), _MIN_SPREAD)
        return max(part, _ENOUGH_NONZERO / draw.nonzero, least / spread if spread > 0 else math.inf)


def _error(draw: Draw) -> float:
    """Return the standard error, as if one more stratum had missed the most that a sample adds.

    Where few matches are drawn often, most strata have one root each and no spread, and the few in
    which two roots meet may not show theirs: 92.5 % of 95 % intervals covered a count with an error
    of less than five times that most, 97.1 % so. Where many samples spread it changes nothing.
    """
    return math.hypot(math.sqrt(draw.variance), draw.largest)


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
        every: list[PreparedMotif],
        seed: int,
        threads: int | None,
        keep_going: KeepGoing | None,
        limits: _Limits,
    ) -> None:
        self._every, self._seed = every, seed
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
        from raydb.kernels.motif.sample import draw_samples, together  # noqa: PLC0415  (numba: 0.3 s)

        began = time.monotonic()
        done = 0

        def told(samples: int) -> None:
            if self._keep_going is not None:
                self._keep_going(min(part + (1.0 - part) * (done + samples) / (2 * strata), 1.0))
            if self.samples and time.monotonic() > self._limits.deadline:
                raise _OutOfTimeError

        self._number += 1
        total, draws = sum(each.total_weight for each in self._every), []
        try:
            for place, each in enumerate(self._every):
                assert each.sampler is not None
                stream = self._number + place * _MOTIFS_APART
                share = max(1, round(strata * (each.total_weight / total)))
                draws.append(
                    draw_samples(
                        *(each.sampler, each.weights, self._seed, stream, share),
                        *(self._threads, told, each.completion),
                    )
                )
                done += draws[-1].samples
        except _OutOfTimeError:
            return None
        draw = together(draws)
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
    prepared: PreparedMotif,
    count: int,
    seed: int = 1,
    max_seconds: float | None = 60.0,
    threads: int | None = None,
    keep_going: KeepGoing | None = None,
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
    edges, _ = _sample([prepared], count, seed, max_seconds, threads, keep_going)
    vertices = np.empty((len(edges), prepared.motif.vertex_count), np.int64)
    if prepared.sampler is not None:
        graph = prepared.sampler.graph
        for place, ends in enumerate(prepared.motif.edges):
            for vertex, of_edge in zip(ends, (graph.source, graph.target), strict=True):
                vertices[:, vertex] = of_edge[edges[:, place]]
    return _in_graph(prepared, edges), vertices


def sample_of_several(
    every: Sequence[PreparedMotif],
    count: int,
    seed: int = 1,
    max_seconds: float | None = 60.0,
    threads: int | None = None,
    keep_going: KeepGoing | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return random matches of motifs of as many edges, and the place of the motif of each.

    All matches of all of them are equally likely. The rest is as in `sample_instances`.
    """
    edges, places = _sample(every, count, seed, max_seconds, threads, keep_going)
    for place, prepared in enumerate(every):
        is_own = places == place
        edges[is_own] = _in_graph(prepared, edges[is_own])
    return edges, places


def _in_graph(prepared: PreparedMotif, edges: NDArray[np.int64]) -> NDArray[np.int64]:
    return edges if prepared.numbers is None else prepared.numbers[edges]


def _sample(
    motifs: Sequence[PreparedMotif],
    count: int,
    seed: int,
    max_seconds: float | None,
    threads: int | None,
    keep_going: KeepGoing | None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return matches by numbers of the edges that are sampled, and the places of their motifs."""
    began = time.monotonic()
    edges = np.empty((0, len(motifs[0].motif.edges)), np.int64)
    places = np.empty(0, np.int64)
    every = _with_weight(motifs)
    if count == 0 or not every:
        return edges, places
    deadline = math.inf if max_seconds is None else began + max_seconds
    limits = _Limits(began, deadline, math.inf)
    seen = _look_for_matches(_Rounds(every, seed, threads, None, limits))
    if seen is None:
        return edges, places
    # What a sample stands for per unit of weight: the most, and on average.
    total_weight = sum(each.total_weight for each in every)
    per_weight = seen.samples / total_weight
    largest, average = seen.largest * per_weight, seen.estimate / total_weight
    stream = _MATCHING
    while len(edges) < count and (stream == _MATCHING or time.monotonic() < deadline):
        if keep_going is not None:
            keep_going(len(edges) / count)
        samples = min(int(1.2 * (count - len(edges)) * largest / average) + 100, _MAX_DRAWN)
        for prepared, drawn in _draw_batch(every, seed, stream, samples, largest, threads):
            edges = np.concatenate([edges, drawn])
            own = next(n for n, each in enumerate(motifs) if each is prepared)
            places = np.concatenate([places, np.full(len(drawn), own)])
        stream += 1
    # Samples are drawn parity by parity; which of them are returned must not depend on that.
    order = np.random.default_rng([seed & _SEED_MASK, _MATCHING]).permutation(len(edges))[:count]
    return edges[order], places[order]


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
    every: list[PreparedMotif],
    seed: int,
    stream: int,
    samples: int,
    largest: float,
    threads: int | None,
) -> list[tuple[PreparedMotif, NDArray[np.int64]]]:
    """Return the matches of so many samples, shared out to motifs and parities at random."""
    from raydb.kernels.backends.cpu.threads import processor_count, run_parts  # noqa: PLC0415  (as below)
    from raydb.kernels.motif.sample import draw_matches, stream_key  # noqa: PLC0415  (numba)

    generator = np.random.default_rng([seed & _SEED_MASK, stream])
    sources = [
        (place, prepared, weights)
        for place, prepared in enumerate(every)
        for weights in prepared.weights
    ]
    total = sum(weights.total for _, _, weights in sources)
    likelihoods = [weights.total / total for _, _, weights in sources]
    shares = generator.multinomial(samples, likelihoods).tolist()
    found: list[tuple[PreparedMotif, NDArray[np.int64]]] = []
    for (place, prepared, weights), share in zip(sources, shares, strict=True):
        cuts = [*range(0, share, _PART_DRAWN), share]
        parts = [(number, high - low) for number, (low, high) in enumerate(pairwise(cuts))]

        def draw(
            part: tuple[int, int],
            place: int = place,
            prepared: PreparedMotif = prepared,
            weights: Weights = weights,
        ) -> NDArray[np.int64]:
            assert prepared.sampler is not None
            own = stream * 2**16 + part[0] + place * _MOTIFS_APART
            key = stream_key(seed, own, weights.parity)
            edges, _ = draw_matches(prepared.sampler, weights, key, part[1], largest)
            completion = prepared.completion
            return edges if completion is None else edges[completion.judge(edges)]

        together = threads or processor_count()
        for first in range(0, len(parts), together):
            drawn = run_parts(draw, parts[first : first + together])
            found += [(prepared, edges) for edges in drawn]
    return found
