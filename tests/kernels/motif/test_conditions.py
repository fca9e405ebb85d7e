"""Matches under conditions, counted, listed and split, beside those found by trying everything."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest
from plain_matches import Edge, find_matches, graph_of, motif_of, random_edges, random_motif

from raydb.kernels.motif.common_keys import DIFFERENT, EQUAL, CommonKeys
from raydb.kernels.motif.conditions import NULL_KEY, Comparison, Conditions
from raydb.kernels.motif.estimate import estimate, sample_instances
from raydb.kernels.motif.exact import Split, count_exact, count_split, enumerate_instances
from raydb.kernels.motif.exact_search import judged, prepare
from raydb.kernels.motif.graph import build_graph
from raydb.kernels.motif.sample import draw_samples, pool
from raydb.kernels.motif.shape import TIES, AbsentEdge
from raydb.kernels.motif.tree_choice import prepare_under

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from plain_matches import Match

    from raydb.kernels.motif.graph import TemporalGraph
    from raydb.kernels.motif.shape import Motif, Ties

SEED = 22

# Keys are at most so great, and no less than its negative.
LARGEST = 2**63 - 1

COMPARE = {
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
    "=": lambda one, other: one == other,
    "<>": lambda one, other: one != other,
}


def judge(edges: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say yes to three matches of four."""
    found: NDArray[np.bool_] = edges.sum(axis=1) % 4 != 1
    return found


def random_conditions(rng: np.random.Generator, motif: Motif, count: int) -> Conditions:
    """Return some conditions on a graph of so many edges."""
    edge_count = len(motif.edges)
    filters = tuple(rng.random((2, count)) < 0.7) if rng.random() < 0.6 else ()
    of = tuple(rng.integers(-1, 2, edge_count).tolist()) if filters else ()
    keys = rng.integers(0, 6, (2, count))
    if rng.random() < 0.2:
        keys = rng.choice([-LARGEST, 1 - LARGEST, 0, LARGEST - 1, LARGEST], (2, count))
    if rng.random() < 0.4:
        # Both stand for one value, some so large that no common multiple is a key.
        scales = rng.choice([1, 2, 3, 9, 10, 2**31, 2**60], (2, 1))
        keys = keys[:1] * scales + rng.integers(-5, 6, (2, 1))
        keys[:, rng.random(count) < 0.1] = NULL_KEY
    keys[rng.random((2, count)) < 0.1 * rng.integers(2)] = NULL_KEY
    # What is multiplied stays below 2**62.
    is_small = bool((np.abs(keys[keys != NULL_KEY]) < 2**50).all())
    factors = [1, 1, 1, 2, 3, 10, -1, -3] if is_small else [1]
    comparisons = tuple(
        Comparison(
            *(int(rng.integers(edge_count)), int(rng.integers(2))),
            str(rng.choice(["<", "<=", "=", "<>"])),  # type: ignore[arg-type]
            *(int(rng.integers(edge_count)), int(rng.integers(2))),
            *rng.choice(factors, 2).tolist(),
        )
        for _ in range(int(rng.integers(0, 4)))
    )
    absent = []
    for _ in range(int(rng.random() < 0.4)):
        source, target = rng.choice(motif.vertex_count, 2, replace=False).tolist()
        kind = rng.random()
        ends = (None if kind < 0.1 else source, None if kind > 0.9 else target)
        absent.append(AbsentEdge(*ends, int(rng.integers(-1, motif.groups[-1] + 1))))
    return Conditions(
        *(filters, of, tuple(keys), comparisons, tuple(absent)),
        judge if rng.random() < 0.1 else None,
    )


def allowed(
    match: Match, edges: list[Edge], motif: Motif, delta: int, ties: Ties, asked: Conditions
) -> bool:
    """Say from the definition whether a match keeps all conditions."""
    chosen, vertices = match
    kept = [edge for edge in sorted(edges, key=lambda edge: edge[2]) if edge[0] != edge[1]]
    times = [kept[edge][2] for edge in chosen]

    def precedes(one: int, other: int) -> bool:
        return one < other if ties == "index" else kept[one][2] < kept[other][2]

    for place, edge in enumerate(chosen):
        own = asked.filter_of[place] if asked.filter_of else -1
        if own >= 0 and not asked.filters[own][edge]:
            return False
    for each in asked.comparisons:
        one = int(asked.keys[each.key][chosen[each.edge]])
        other = int(asked.keys[each.other_key][chosen[each.other_edge]])
        both = one * each.factor, other * each.other_factor
        if NULL_KEY in (one, other) or not COMPARE[each.operator](*both):
            return False
    for gone in asked.absent:
        groups = list(zip(chosen, motif.groups, strict=True))
        before = [edge for edge, group in groups if group == gone.after]
        after = [edge for edge, group in groups if group == gone.after + 1]
        for number, (source, target, time) in enumerate(kept):
            if gone.source is not None and source != vertices[gone.source]:
                continue
            if gone.target is not None and target != vertices[gone.target]:
                continue
            late_enough = all(precedes(edge, number) for edge in before) and (
                bool(before) or time >= max(times) - delta
            )
            soon_enough = all(precedes(number, edge) for edge in after) and (
                bool(after) or time <= min(times) + delta
            )
            if late_enough and soon_enough:
                return False
    return asked.judge is None or bool(asked.judge(np.array([chosen]))[0])


def check(edges: list[Edge], motif: Motif, delta: int, ties: Ties, asked: Conditions) -> int:
    """Compare counts, lists and splits with plain Python."""
    graph = graph_of(edges)
    every = find_matches(edges, motif, delta, ties)
    expected = [each for each in every if allowed(each, edges, motif, delta, ties, asked)]
    found = count_exact(graph, motif, delta, ties, threads=1, conditions=asked)
    assert (found.count, found.finished) == (len(expected), True)
    listed, vertices = enumerate_instances(graph, motif, delta, ties, 10**4, conditions=asked)
    pairs = zip(map(tuple, listed.tolist()), map(tuple, vertices.tolist()), strict=True)
    assert sorted(pairs) == sorted(expected)
    search = prepare(graph, motif, delta, ties, asked)
    chosen = np.array([each[0] for each in every], np.int64).reshape(-1, len(motif.edges))
    held = judged(search, asked, chosen)
    assert [each for each, is_held in zip(every, held, strict=True) if is_held] == expected
    cuts = np.unique([0, graph.edge_count // 3, graph.edge_count // 2])
    for vertex in range(motif.vertex_count):
        split = Split(vertex, cuts if vertex % 2 else None)
        counts = count_split(graph, motif, delta, ties, split, 1 + vertex % 2, conditions=asked)
        by_vertex = Counter(each[1][vertex] for each in expected)
        assert counts.by_vertex is not None
        numbers = np.flatnonzero(counts.by_vertex)
        assert dict(zip(numbers, counts.by_vertex[numbers], strict=True)) == by_vertex
        if vertex % 2:
            windows = [np.searchsorted(cuts, min(each[0]), "right") - 1 for each in expected]
            assert counts.by_window is not None
            assert counts.by_window.tolist() == np.bincount(windows, minlength=len(cuts)).tolist()
    return len(expected)


@pytest.mark.long
@pytest.mark.parametrize("ties", TIES)
def test_random_conditions_on_random_motifs(ties: Ties) -> None:
    counts = []
    for seed in range(600):
        rng = np.random.default_rng([SEED, seed, ties == "strict"])
        motif = random_motif(rng)
        edges = random_edges(rng, int(rng.integers(4, 22)))
        asked = random_conditions(rng, motif, graph_of(edges).edge_count)
        print(f"seed {[SEED, seed, ties == 'strict']}: {motif} in {edges}")
        counts.append(check(edges, motif, int(rng.integers(0, 60)), ties, asked))
    assert sum(count > 0 for count in counts) > 80


@pytest.mark.parametrize(
    "text",
    [
        *("ab bc ca", "ab bc cd", "ab bc cd de", "ab ac ad", "ab bc cd da", "ab ba ab"),
        *("ab {bc bc}", "ab ba ab ba"),
    ],
)
def test_shapes_in_busier_graphs(text: str) -> None:
    motif, total = motif_of(text), 0
    for seed in range(20):
        rng = np.random.default_rng([SEED, seed])
        drawn = rng.integers(0, [6, 6, 40], (36, 3)).tolist()
        edges = [tuple(edge) for edge in drawn]
        asked = random_conditions(rng, motif, graph_of(edges).edge_count)
        total += check(edges, motif, 20, TIES[seed % 2], asked)
    assert total > 0


@pytest.mark.parametrize("text", ["ab bc", "ab ac", "ab ca", "ab ab", "{ab ab}"])
def test_long_runs_are_counted_by_their_keys(text: str) -> None:
    motif, total = motif_of(text), 0
    for seed in range(10):
        rng = np.random.default_rng([SEED, seed, len(text)])
        edges = [tuple(edge) for edge in rng.integers(0, [3, 3, 60], (160, 3)).tolist()]
        keys = rng.integers(0, 9, (2, graph_of(edges).edge_count))
        # Keys at both ends of 32 bits, some beyond.
        keys += (-(2**31) + 2, -(2**31), 2**31 - 10, 2**31 - 8, 0)[seed % 5]
        keys[rng.random(keys.shape) < 0.1] = NULL_KEY
        times = (1, 1) if seed < 5 else (3, 3 - seed % 2)
        ranged = (Comparison(0, 0, "<", 1, 1, *times), Comparison(1, 1, "<=", 0, 1))
        differ = (Comparison(1, 1, "<>", 0, 0),) if seed % 4 == 3 else ()
        asked = Conditions((), (), tuple(keys), (*ranged[: 1 + seed % 2], *differ))
        total += check(edges, motif, 30, TIES[seed % 2], asked)
    assert total > 1000


TEXTS = "ab bc ca", "ab bc cd", "ab {bc bd} ca", "ab ac bc"
CASES = [(seed, text) for seed in range(3) for text in TEXTS]


def condition_case(seed: int, text: str) -> tuple[TemporalGraph, Motif, Conditions]:
    """Return a graph with a busy motif and conditions that a good part of its matches keep."""
    rng = np.random.default_rng([SEED, seed])
    graph = build_graph(*rng.integers(0, 9, (2, 150)), rng.integers(0, 300, 150))
    motif = motif_of(text)
    filters = tuple(rng.random((2, graph.edge_count)) < 0.8)
    of = (0, 1, *[0 if seed else -1] * (len(motif.edges) - 2))
    keys = rng.integers(0, 9, (2, graph.edge_count))
    comparisons = (Comparison(0, 0, "<=", 1, 1), Comparison(2, 1, "<>", 0, 0))
    absent = (AbsentEdge(1, 0, 0),) if seed == 1 else ()
    return graph, motif, Conditions(filters, of, tuple(keys), comparisons[: seed + 1], absent)


@pytest.mark.long
@pytest.mark.parametrize(("seed", "text"), CASES)
def test_estimates_are_unbiased_and_their_errors_honest(seed: int, text: str) -> None:
    graph, motif, asked = condition_case(seed, text)
    exact = count_exact(graph, motif, 40, "strict", conditions=asked).count
    split = count_split(graph, motif, 40, "strict", Split(0), conditions=asked).by_vertex
    assert split is not None
    assert exact >= 5

    def code(edges: NDArray[np.int64]) -> NDArray[np.int64]:
        place = next(place for place, ends in enumerate(motif.edges) if 0 in ends)
        ends = graph.source if motif.edges[place][0] == 0 else graph.target
        return ends[edges[:, place]].astype(np.int64)

    prepared = prepare_under(asked, graph, motif, 40, "strict", code)
    assert prepared.sampler is not None
    draws = [
        draw_samples(
            *(prepared.sampler, prepared.weights, 17, stream, 256, 1),
            *(lambda _: None, prepared.completion),
        )
        for stream in range(200)
    ]
    estimates = np.array([draw.estimate for draw in draws])
    variance = np.mean([draw.variance for draw in draws])
    assert abs(estimates.mean() - exact) <= 3 * math.sqrt(variance / 200) + 1e-9, exact
    assert 0.55 < estimates.var() / max(variance, 1e-9) < 1.6 or variance == 0
    tally = pool(draws).tally
    by_vertex = np.zeros(len(split))
    by_vertex[tally.codes] = tally.sums
    errors = np.zeros(len(split))
    errors[tally.codes] = np.sqrt(tally.squares)
    assert (np.abs(by_vertex - split) <= 4 * errors + 1e-9).all()


def test_samples_are_of_all_matches_that_keep_the_conditions() -> None:
    graph, motif, asked = condition_case(2, "ab bc cd")
    every, _ = enumerate_instances(graph, motif, 40, "strict", 10**5, conditions=asked)
    prepared = prepare_under(asked, graph, motif, 40, "strict", None)
    edges, vertices = sample_instances(prepared, 40 * len(every), 3, None)
    counts = Counter(map(tuple, edges.tolist()))
    assert set(counts) == set(map(tuple, every.tolist()))
    spread = np.array(list(counts.values())) / 40
    assert 0.9 < spread.var() * 40 < 1.6
    assert graph.source[edges[:, 0]].tolist() == vertices[:, 0].tolist()


@pytest.mark.long
def test_intervals_cover_the_count_as_often_as_they_say() -> None:
    covered = total = 0
    for seed, text in CASES:
        graph, motif, asked = condition_case(seed, text)
        exact = count_exact(graph, motif, 40, "strict", conditions=asked).count
        prepared = prepare_under(asked, graph, motif, 40, "strict", None)
        for number in range(100):
            found = estimate(prepared, 0.1, 0.95, number, None, None, 1)
            assert found.converged
            covered += found.ci_low <= exact <= found.ci_high
            total += 1
    assert 0.92 <= covered / total <= 0.98, covered / total


@pytest.mark.parametrize(
    ("scales", "more", "keys_left"),
    [
        ((9, 11), 0, 1),
        ((1, 1), 7, 1),
        ((1, 10), -3, 1),
        ((-1, 2), 0, 2),
        ((2**40, 2**41 + 1), 0, 2),
    ],
)
def test_keys_that_differ_by_a_factor_are_one(scales, more, keys_left):
    """Backward ones are none, and neither are those whose common multiple is too large."""
    values = np.array([3, 7, -2, 0, 7, 90])
    keys = [values * scales[0], values * scales[1] + more, np.arange(6), np.arange(6) * 5]
    for each in keys[:3]:
        each[3] = NULL_KEY
    common = CommonKeys(keys)
    tests = [(0, 1, 2, 0), (1, 1, 3, 1), (0, -1, 0, 4)]
    found = common.with_fewest(tests)
    assert len({key for key, edge, *_ in found if edge >= 0}) == keys_left
    assert found[2] == tests[2]
    for (key, _, other_key, _), (own, _, other, _) in zip(tests[:2], found[:2], strict=True):
        before = np.sign(keys[key][:, None].astype(float) - keys[other_key])
        after = np.sign(common.keys[own][:, None].astype(float) - common.keys[other])
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("asked", range(6))
@pytest.mark.parametrize("factors", [(1, 1), (10, 9), (4, 6), (-3, 2), (3, -2), (-1, -1), (7, 1)])
def test_the_other_key_is_divided(factors: tuple[int, int], asked: int) -> None:
    keys = [np.arange(-30, 31), np.append(np.arange(-29, 31), NULL_KEY)]
    common = CommonKeys(keys)
    own, _, other, how = common.compared((0, factors[0]), 1, (1, factors[1]), asked)
    if asked != DIFFERENT:
        assert own == 0
    compare = [np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal]
    expected = compare[asked](factors[0] * keys[0][:, None], factors[1] * keys[1])
    found = compare[how](common.keys[own][:, None], common.keys[other])
    is_null = common.keys[other] == NULL_KEY
    assert is_null[-1]
    assert is_null.sum() == 1 or asked == EQUAL
    np.testing.assert_array_equal(found & ~is_null, expected & (keys[1] != NULL_KEY))
