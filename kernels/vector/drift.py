"""A test of drift: queries against those that an index was calibrated with, without exact answers.

margin of a query  ->  its class  ->  p-value among all margins so far  ->  bets  ->  capital

A query's margin is how far its nearest centroid is in parts of how far the second is: near 1 it
lies between lists, and its neighbours in several. While queries and calibration queries are
exchangeable, p-values are independent and even on (0, 1), and the capital of a gambler who bets
against that is a martingale. It starts at 1 and exceeds 100 with a probability of 1 in 100 at most,
ever (Ville's inequality). Vovk, Gammerman, Shafer, Algorithmic Learning in a Random World (2005),
chapter 7; Volkhonskiy et al., Inductive Conformal Martingales for Change-Point Detection (2017).

Each bet is a density on (0, 1), and a part 1 / (s (s + 1)) of the capital enters them all at query
s: a change may come after any number of queries, and what has not entered cannot be lost.
"""

from __future__ import annotations

from math import exp, inf, lgamma, log
from typing import TYPE_CHECKING

import numpy as np

from raydb.values import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The capital at which queries are taken to have changed: a false alarm comes in 1 of 100 monitors.
WARNING = 100.0

# Queries whose figures are told apart from those before.
RECENT = 256

# Classes of margins; the last digits of a margin tell nothing of a change.
_CLASSES = 64

# Densities of p-values, by the parameters of beta distributions: around some means, from slight to
# strong; more at one end, at the other, or at both; and nearly even, for a slight change. Without
# those, queries that miss a half more than promised were told in 4 of 20 streams, with them in 19.
_MEANS = (1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6)
_CONCENTRATIONS = (3.0, 12.0, 48.0)
_ENDS = ((0.25, 1.0), (0.5, 1.0), (1.0, 0.25), (1.0, 0.5), (0.5, 0.5))
_SLIGHT = ((0.8, 1.2), (1.2, 0.8), (0.9, 1.1), (1.1, 0.9))
_BETAS = (*((m * c, (1 - m) * c) for m in _MEANS for c in _CONCENTRATIONS), *_ENDS, *_SLIGHT)
# And so many intervals that get this part more than their share: some queries come again and again.
_INTERVALS = 16
_MORE = 0.15
_BET_COUNT = len(_BETAS) + _INTERVALS

# Queries that are counted together.
_TOGETHER = 1024


@dataclass(frozen=True, eq=False, slots=True)
class Reference:
    """How the margins of the calibration queries were spread.

    cuts (c) float64, ascending: quantiles of the tuning queries' margins. counts (c + 1) int64: how
    many calibration queries lie below, between and above them.
    """

    cuts: NDArray[np.float64]
    counts: NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class DriftState:
    """What a monitor remembers of the queries so far.

    counts int64: queries by the classes of a reference. capitals float64: the logarithm of what is
    in each bet. capital, greatest: the logarithm of all capital, now and at most. warned_at: the
    number of the query at which it first was `WARNING` or more, from 1 on; 0 for none. recent
    uint8: the classes of the last queries, `RECENT` at most.
    """

    counts: NDArray[np.int64]
    capitals: NDArray[np.float64]
    capital: float
    greatest: float
    warned_at: int
    recent: NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class DriftFigures:
    """What a monitor has to say.

    queries: how many it has seen. capital: about how many times less likely they are than others
    if they are like the calibration queries; `greatest` is its maximum, and a warning is given from
    `WARNING` on, for good. recent: the number of the last queries. recent_distance: the greatest
    difference of their and the calibration queries' distribution functions (Kolmogorov and
    Smirnov).
    """

    queries: int
    capital: float
    greatest: float
    warned_at: int
    recent: int
    recent_distance: float


def reference_of(tuning: NDArray[np.float64], calibration: NDArray[np.float64]) -> Reference:
    """Return how margins are spread: the bounds by some queries, the counts by others.

    The bounds are not those of the calibration queries, whose counts would then be more even than
    those of queries that are like them.
    """
    levels = np.linspace(0, 1, min(_CLASSES, len(tuning) + 1) + 1)[1:-1]
    cuts = np.unique(np.quantile(tuning, levels)) if len(levels) else np.empty(0)
    classes = _classes(cuts, calibration)
    return Reference(cuts, np.bincount(classes, minlength=len(cuts) + 1).astype(np.int64))


def new_state(reference: Reference) -> DriftState:
    """Return the state of a monitor that has seen no query."""
    return DriftState(
        counts=np.zeros(len(reference.counts), np.int64),
        capitals=np.full(_BET_COUNT, -inf),
        capital=0.0,
        greatest=0.0,
        warned_at=0,
        recent=np.empty(0, np.uint8),
    )


def observe(
    state: DriftState, reference: Reference, margins: NDArray[np.float64], seed: int
) -> DriftState:
    """Return the state once queries with some margins (q) came, in their order.

    Queries may come one by one or together. seed: of the random numbers that part p-values of
    margins in one class.
    """
    for start in range(0, len(margins), _TOGETHER):
        classes = _classes(reference.cuts, margins[start : start + _TOGETHER])
        state = _observe(state, reference, classes, seed)
    return state


def figures(state: DriftState, reference: Reference) -> DriftFigures:
    """Return what a monitor has to say."""
    counts = reference.counts
    usual = counts / max(int(counts.sum()), 1)
    recent = np.bincount(state.recent, minlength=len(counts)) / max(len(state.recent), 1)
    distance = float(np.abs(np.cumsum(recent) - np.cumsum(usual)).max())
    return DriftFigures(
        queries=int(state.counts.sum()),
        # A float holds e^709.
        capital=exp(min(state.capital, 700.0)),
        greatest=exp(min(state.greatest, 700.0)),
        warned_at=state.warned_at,
        recent=len(state.recent),
        recent_distance=distance if len(state.recent) else 0.0,
    )


def _classes(cuts: NDArray[np.float64], margins: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.searchsorted(cuts, margins, side="right")


def _observe(
    state: DriftState, reference: Reference, classes: NDArray[np.int64], seed: int
) -> DriftState:
    seen = int(state.counts.sum())
    numbers = seen + np.arange(1, len(classes) + 1)
    values = _p_values(state.counts + reference.counts, classes, _even(numbers, seed))
    gains = np.cumsum(_log_densities(values), axis=0)
    # Capital that enters at query s is multiplied by what comes from then on.
    entering = -np.log(numbers * (numbers + 1.0) * _BET_COUNT)[:, None]
    entered = np.vstack(
        (state.capitals, entering - np.vstack((np.zeros_like(gains[:1]), gains[:-1])))
    )
    capitals = gains + np.logaddexp.accumulate(entered, axis=0)[1:]
    outside = -np.log(numbers + 1.0)
    capital = np.logaddexp(outside, np.logaddexp.reduce(capitals, axis=1))
    warned_at = state.warned_at
    if not warned_at and capital.max() >= log(WARNING):
        warned_at = int(numbers[np.argmax(capital >= log(WARNING))])
    return DriftState(
        counts=state.counts + np.bincount(classes, minlength=len(state.counts)),
        capitals=capitals[-1],
        capital=float(capital[-1]),
        greatest=max(state.greatest, float(capital.max())),
        warned_at=warned_at,
        recent=np.concatenate((state.recent, classes.astype(np.uint8)))[-RECENT:],
    )


def _p_values(
    counts: NDArray[np.int64], classes: NDArray[np.int64], parts: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return each margin's p-value among `counts` by class, the margins before it, and itself.

    Greater margins have less. parts: where in its class each one is.
    """
    came = np.zeros((len(classes), len(counts)), np.int64)
    came[np.arange(len(classes)), classes] = 1
    by_class = counts + np.cumsum(came, axis=0)
    up_to = np.take_along_axis(np.cumsum(by_class, axis=1), classes[:, None], axis=1)[:, 0]
    equal = np.take_along_axis(by_class, classes[:, None], axis=1)[:, 0]
    every = by_class.sum(axis=1)
    values: NDArray[np.float64] = (every - up_to + parts * equal) / every
    return values


def _log_densities(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithm of each bet's density at each p-value (q, bets)."""
    a, b = np.array(_BETAS).T
    sizes = np.array([lgamma(x) + lgamma(y) - lgamma(x + y) for x, y in _BETAS])
    inside = np.clip(values, 1e-12, 1 - 1e-12)[:, None]
    densities = np.full((len(values), _BET_COUNT), log(1 - _MORE))
    densities[:, : len(_BETAS)] = (a - 1) * np.log(inside) + (b - 1) * np.log1p(-inside) - sizes
    places = len(_BETAS) + (inside[:, 0] * _INTERVALS).astype(np.int64)
    densities[np.arange(len(values)), places] = log(1 - _MORE + _MORE * _INTERVALS)
    return densities


def _even(numbers: NDArray[np.int64], seed: int) -> NDArray[np.float64]:
    """Return an even random number on [0, 1) for each number, the same for the same seed.

    The mixing function of Steele et al., Fast Splittable Pseudorandom Number Generators (2014).
    """
    with np.errstate(over="ignore"):
        mixed = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53
