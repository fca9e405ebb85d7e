"""The drift monitor: silent while queries are exchangeable, loud when they are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from raydb.kernels.vector.drift import (
    RECENT,
    WARNING,
    DriftState,
    Reference,
    _even,
    _log_densities,
    _p_values,
    figures,
    new_state,
    observe,
    reference_of,
)
from raydb.kernels.vector.ivf import build_ivf, search_ivf

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEED = 3


def draw(rng: np.random.Generator, count: int, hard: float = 4.0) -> NDArray[np.float64]:
    """Return margins; greater numbers are of harder queries."""
    return np.sqrt(rng.beta(hard, 2, count))


def refer(rng: np.random.Generator) -> Reference:
    return reference_of(draw(rng, 150), draw(rng, 450))


def watch(margins: NDArray[np.float64], seed: int) -> DriftState:
    reference = refer(np.random.default_rng(seed))
    return observe(new_state(reference), reference, margins, seed)


def test_false_alarms_are_rare() -> None:
    print(f"seeds {SEED} to {SEED + 299}")
    streams = [(seed, np.random.default_rng(seed + 10_000)) for seed in range(SEED, SEED + 300)]
    alarms = sum(watch(draw(rng, 1_000), seed).warned_at > 0 for seed, rng in streams)
    print(f"{alarms} of 300")
    # At most 1 in 100 by Ville's inequality; more than 9 come once in 1,000 such tests.
    assert alarms <= 9


@pytest.mark.long
def test_bets_are_densities() -> None:
    """So that the capital is a martingale while p-values are even."""
    values = (np.arange(1_000_000) + 0.5) / 1_000_000
    means = np.exp(_log_densities(values)).mean(axis=0)
    # Sums come slowly to the integral of a bet that grows without bound at an end.
    np.testing.assert_allclose(means, 1, atol=0.03)


def test_p_values_are_even_and_independent() -> None:
    rng = np.random.default_rng(SEED)
    print(f"seed {SEED}")
    streams = []
    for seed in range(100):
        reference = refer(rng)
        classes = np.searchsorted(reference.cuts, draw(rng, 100), side="right")
        numbers = np.arange(1, 101)
        streams.append(_p_values(reference.counts, classes, _even(numbers, seed)))
    values = np.array(streams)
    even = np.abs(np.sort(values, axis=None) - np.linspace(0, 1, values.size)).max()
    # Kolmogorov and Smirnov: more than 1.95 once in 1,000 such tests.
    assert even * values.size**0.5 < 1.95
    correlation = np.corrcoef(values[:, 1:].ravel(), values[:, :-1].ravel())[0, 1]
    assert abs(correlation) * values.size**0.5 < 3.5


@pytest.mark.parametrize("before", [0, 2_000])
@pytest.mark.parametrize("hard", [2.0, 8.0])
def test_easier_and_harder_queries_are_told(before: int, hard: float) -> None:
    for seed in range(SEED, SEED + 10):
        rng = np.random.default_rng(seed + 10_000)
        state = watch(np.concatenate((draw(rng, before), draw(rng, 1_000, hard))), seed)
        print(f"seed {seed}: warned at {state.warned_at}")
        assert before < state.warned_at <= before + 500


def test_popular_queries_are_told() -> None:
    """Queries come by a power law, as in Figure 10 of ConANN."""
    weights = np.arange(1.0, 501) ** -1.5
    for seed in range(SEED, SEED + 10):
        rng = np.random.default_rng(seed + 10_000)
        margins = rng.choice(draw(rng, 500), 2_000, p=weights / weights.sum())
        state = watch(margins, seed)
        print(f"seed {seed}: warned at {state.warned_at}")
        assert state.warned_at


def test_queries_come_one_by_one_or_together() -> None:
    rng = np.random.default_rng(SEED)
    margins = draw(rng, 1_500)
    reference = refer(rng)
    together = observe(new_state(reference), reference, margins, 1)
    apart = new_state(reference)
    for some in np.split(margins, [1, 2, 3, 10, 700]):
        apart = observe(apart, reference, some, 1)
    assert apart.counts.tolist() == together.counts.tolist()
    assert apart.recent.tolist() == together.recent.tolist()
    np.testing.assert_allclose(apart.capitals, together.capitals, rtol=1e-9)
    assert apart.capital == pytest.approx(together.capital)
    assert apart.greatest == pytest.approx(together.greatest)
    assert observe(apart, reference, margins[:0], 1) is apart


def test_figures_are_those_of_the_last_queries() -> None:
    rng = np.random.default_rng(SEED)
    reference = refer(rng)
    fresh = figures(new_state(reference), reference)
    assert (fresh.queries, fresh.capital, fresh.warned_at, fresh.recent) == (0, 1.0, 0, 0)
    assert fresh.recent_distance == 0
    usual = draw(rng, 5_000)
    state = observe(new_state(reference), reference, np.append(usual, np.ones(RECENT)), 1)
    after = figures(state, reference)
    assert (after.queries, after.recent) == (5_000 + RECENT, RECENT)
    assert set(state.recent) == {len(reference.cuts)}
    assert after.recent_distance > 0.9
    assert after.greatest >= WARNING
    assert 5_000 < after.warned_at < 5_000 + RECENT
    same = figures(observe(new_state(reference), reference, usual, 1), reference)
    assert same.recent_distance < 0.15


def test_one_class_tells_nothing() -> None:
    reference = reference_of(np.empty(0), np.full(20, 0.5))
    assert (len(reference.cuts), reference.counts.tolist()) == (0, [20])
    state = observe(new_state(reference), reference, np.linspace(0, 1, 500), 1)
    assert not state.warned_at
    assert figures(state, reference).recent_distance == 0


def test_margins_say_how_far_queries_lie_between_lists() -> None:
    vectors = np.repeat(np.array([[0, 0], [10, 0]], np.float32), 50, axis=0)
    index = build_ivf(vectors, np.arange(100, dtype=np.uint32), 100, 2, "l2", 1)
    queries = np.array([[0, 0], [2, 0], [5, 3]], np.float32)
    found = search_ivf(index, queries, 3, 1)
    assert found.margins == pytest.approx([0, 0.25, 1])
