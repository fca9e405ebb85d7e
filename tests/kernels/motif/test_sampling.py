"""Sampled counts of motifs: every tree adds up to the exact count, and so do the estimates."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numba
import numpy as np
import pytest

from raydb.errors import NotSupportedError
from raydb.kernels.motif import weights
from raydb.kernels.motif.completion import completion_runs
from raydb.kernels.motif.estimate import estimate, sample_instances
from raydb.kernels.motif.exact import count_exact
from raydb.kernels.motif.graph import TemporalGraph, build_graph
from raydb.kernels.motif.loops import sample_loops, tree_loops
from raydb.kernels.motif.sample import (
    draw_samples,
    make_sampler,
    make_scratch,
    total_weight,
    weigh_all,
)
from raydb.kernels.motif.shape import Motif, Ties
from raydb.kernels.motif.tree_choice import PreparedMotif, prepare, sampled_trees
from raydb.kernels.motif.trees import RootedTree, open_orders, ranked_trees, spanning_trees
from raydb.kernels.motif.weights import Constraints, edge_bounds, parities

if TYPE_CHECKING:
    from collections.abc import Iterator


@numba.njit
def matches_of(lists, plan, scratch, closes):  # type: ignore[no-untyped-def]
    """Return how many matches have the tree instance of a scratch: its edges and its vertices.

    closes: of the instance without its last edge.
    """
    edges, vertices, known = scratch.edges, scratch.vertices, scratch.known
    known[0], count = vertices[plan.places[0, tree_loops.FROM]], len(edges) - closes
    for place in range(count):
        vertex = vertices[plan.places[place, tree_loops.VERTEX]]
        if tree_loops.is_among(vertex, known, place + 1):
            return 0.0
        known[place + 1] = vertex
    order = tree_loops.judge(lists.bounds, plan.places, plan.relations, edges[:count])
    if order != tree_loops.COUNTED:
        return 0.0
    if not closes:
        return sample_loops._count_rest(lists, plan, scratch)
    if sample_loops._choose_pivot(lists, plan, scratch) == 0:
        return 0.0
    scratch.chosen[sample_loops.STRIDE] = 1
    return sample_loops._close(lists, plan, scratch, np.inf)


@numba.njit
def window_count(table: np.ndarray, edges: np.ndarray) -> int:
    return tree_loops.window_count(table, edges, len(edges))


def chain(*edges: tuple[int, int]) -> Motif:
    """Return a motif whose edges come one after the other."""
    return Motif(max(max(edge) for edge in edges) + 1, edges, tuple(range(len(edges))))


TRIANGLE = chain((0, 1), (1, 2), (2, 0))
SQUARE = chain((0, 1), (1, 2), (2, 3), (3, 0))
STAR = chain((0, 1), (0, 2), (0, 3))
CLIQUE = chain((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
# The first two and the last two edges may all lie outside a tree.
OPEN = chain((0, 1), (1, 0), (0, 1), (1, 2), (2, 1), (0, 1))
UNORDERED = Motif(4, ((0, 1), (1, 2), (1, 3), (2, 0)), (0, 1, 1, 2))
TWINS = Motif(3, ((0, 1), (1, 2), (1, 2), (2, 0)), (0, 1, 1, 2))
ALL_AT_ONCE = Motif(3, ((0, 1), (1, 2), (2, 0)), (0, 0, 0))
MOTIFS = {
    "edge": chain((0, 1)),
    "path": chain((1, 2), (0, 1)),
    "triangle": TRIANGLE,
    "square": SQUARE,
    "star": STAR,
    "clique": CLIQUE,
    "open": OPEN,
    "unordered": UNORDERED,
    "twins": TWINS,
    "all at once": ALL_AT_ONCE,
}


def random_graph(
    seed: int, edge_count: int, vertex_count: int, times: int, loops: bool = True
) -> TemporalGraph:
    generator = np.random.default_rng(seed)
    source, target = generator.integers(0, vertex_count, (2, edge_count))
    if not loops:
        target = np.where(source == target, (target + 1) % vertex_count, target)
    return build_graph(source, target, generator.integers(0, times, edge_count))


def random_motif(generator: np.random.Generator) -> Motif:
    """Return a connected motif of 2 to 4 vertices and up to 5 edges, some in groups."""
    while True:
        vertex_count = int(generator.integers(2, 5))
        ends = list(itertools.permutations(range(vertex_count), 2))
        count = int(generator.integers(vertex_count - 1, 6))
        edges = tuple(ends[int(place)] for place in generator.integers(0, len(ends), count))
        steps = generator.random(count - 1) < 0.75 if generator.random() < 0.5 else [True] * count
        groups = tuple(np.cumsum([0, *map(int, steps)])[:count].tolist())
        try:
            return Motif(vertex_count, edges, groups)
        except AssertionError:
            continue


def tree_instances(
    graph: TemporalGraph, motif: Motif, tree: RootedTree, place: int = 0, chosen: tuple = ()
) -> Iterator[tuple[tuple[int, ...], dict[int, int]]]:
    """Yield the edges and the vertices of each way to map a tree, whatever the times."""
    if place == len(tree.edges):
        ends: dict[int, int] = {}
        for motif_edge, edge in zip(tree.edges, chosen, strict=True):
            for vertex, end in zip(
                motif.edges[motif_edge], (graph.source[edge], graph.target[edge]), strict=True
            ):
                if ends.setdefault(vertex, int(end)) != end:
                    return
        yield chosen, ends
        return
    for edge in range(graph.edge_count):
        if place > 0:
            parent = chosen[tree.parents[place]]
            joint = tree.joints[place]
            own = motif.edges[tree.edges[place]].index(joint)
            other = motif.edges[tree.edges[tree.parents[place]]].index(joint)
            arrays = graph.source, graph.target
            if arrays[own][edge] != arrays[other][parent]:
                continue
        yield from tree_instances(graph, motif, tree, place + 1, (*chosen, edge))


def test_spanning_trees_are_all_of_them() -> None:
    for motif in MOTIFS.values():
        found = spanning_trees(motif)
        expected = [
            edges
            for edges in itertools.combinations(range(len(motif.edges)), motif.vertex_count - 1)
            if spans(motif, edges)
        ]
        assert found == sorted(expected)
    assert len(spanning_trees(CLIQUE)) == 16  # Cayley: 4 ** 2
    ranked = ranked_trees(STAR)
    # The middle edge orders both others; either end leaves them open.
    assert [(tree.edges[0], open_orders(STAR, tree)) for tree in ranked] == [(1, 1), (0, 2), (2, 2)]


def spans(motif: Motif, edges: tuple[int, ...]) -> bool:
    reached = set(motif.edges[edges[0]])
    for _ in edges:
        for edge in edges:
            if reached & set(motif.edges[edge]):
                reached |= set(motif.edges[edge])
    return len(reached) == motif.vertex_count


@pytest.mark.long
@pytest.mark.parametrize("ties", ["strict", "index"])
@pytest.mark.parametrize("name", MOTIFS)
def test_matches_of_all_tree_instances_are_the_exact_count(name: str, ties: Ties) -> None:
    motif = MOTIFS[name]
    for seed in range(4):
        graph = random_graph(seed, 18, 4, 14)
        delta = 3 + 2 * seed
        exact = count_exact(graph, motif, delta, ties).count
        bounds = edge_bounds(graph, delta, ties)
        for tree in sampled_trees(motif)[:: 1 if len(motif.edges) < 5 else 7]:
            sampler = make_sampler(graph, bounds, motif, tree, Constraints())
            scratch = make_scratch(sampler)
            total = 0.0
            for edges, vertices in tree_instances(graph, motif, tree):
                scratch.edges[:] = edges
                scratch.vertices[:] = [vertices[vertex] for vertex in range(motif.vertex_count)]
                total += matches_of(sampler.lists, sampler.plan, scratch, 0)
            assert total == exact, (seed, tree)


@pytest.mark.long
def test_random_motifs_have_the_exact_count_too() -> None:
    generator = np.random.default_rng(5)
    seen = 0
    for seed in range(300):
        motif = random_motif(generator)
        graph = random_graph(seed, 16, 4, int(generator.integers(3, 30)))
        delta, ties = int(generator.integers(1, 12)), ("strict", "index")[seed % 2]
        trees = [tree for tree in ranked_trees(motif) if completion_runs(motif, tree) is not None]
        if not trees:
            continue
        tree = trees[int(generator.integers(len(trees)))]
        bounds = edge_bounds(graph, delta, ties)
        sampler = make_sampler(graph, bounds, motif, tree, Constraints())
        scratch = make_scratch(sampler)
        total = 0.0
        for edges, vertices in tree_instances(graph, motif, tree):
            scratch.edges[:] = edges
            scratch.vertices[:] = [vertices[vertex] for vertex in range(motif.vertex_count)]
            total += matches_of(sampler.lists, sampler.plan, scratch, 0)
        assert total == count_exact(graph, motif, delta, ties).count, (seed, motif, tree)
        seen += total > 0
    assert seen >= 60, seen


def without_last(tree: RootedTree) -> RootedTree:
    return RootedTree(tree.edges[:-1], tree.parents[:-1], tree.joints[:-1])


def test_closings_are_the_exact_count_by_whichever_edge() -> None:
    """All instances of a tree but its last vertex, closed by each edge that leads there."""
    generator = np.random.default_rng(6)
    seen: Counter[int] = Counter()
    for seed in range(150):
        motif = list(MOTIFS.values())[seed % 10] if seed < 40 else random_motif(generator)
        graph = random_graph(seed, 28, 4, int(generator.integers(20, 40)))
        delta, ties = int(generator.integers(8, 25)), ("strict", "index")[seed % 2]
        trees = [tree for tree in ranked_trees(motif) if completion_runs(motif, tree) is not None]
        if not trees:
            continue
        tree = trees[int(generator.integers(len(trees)))]
        bounds = edge_bounds(graph, delta, ties)
        sampler = make_sampler(graph, bounds, motif, tree, Constraints())
        if not sampler.closes:
            continue
        exact = count_exact(graph, motif, delta, ties).count
        scratch, plan = make_scratch(sampler), sampler.plan
        for pivot in (None, *range(len(plan.pivots))):
            one = plan if pivot is None else plan._replace(pivots=plan.pivots[[pivot]])
            total = 0.0
            for edges, vertices in tree_instances(graph, motif, without_last(tree)):
                scratch.edges[:-1] = edges
                for vertex, number in vertices.items():
                    scratch.vertices[vertex] = number
                total += matches_of(sampler.lists, one, scratch, 1)
            assert total == exact, (seed, motif, tree, pivot)
        seen[len(plan.pivots)] += exact > 0
    assert seen[2] >= 15, seen
    assert seen[3] >= 5, seen


def in_order(
    motif: Motif, graph: TemporalGraph, tree: RootedTree, place: int, edges: tuple
) -> bool:
    """Return whether an edge and its parent obey the order and delta constraint, by times alone."""
    group, other = (motif.groups[tree.edges[at]] for at in (place, tree.parents[place]))
    one, two = (int(graph.time[edges[at]]) for at in (place, tree.parents[place]))
    return group == other or (one > two if group > other else one < two)


@pytest.mark.parametrize("windows", [True, False])
@pytest.mark.parametrize("ends", [True, False])
@pytest.mark.parametrize("order", [True, False])
def test_weights_are_the_numbers_of_instances(order: bool, ends: bool, windows: bool) -> None:
    rules = Constraints(order, ends, windows, narrow=False)
    for seed, motif in enumerate((SQUARE, CLIQUE, STAR, UNORDERED)):
        graph, delta = random_graph(seed, 22, 5, 25), 5
        bounds = edge_bounds(graph, delta, "strict", windows)
        for tree in sampled_trees(motif)[::5]:
            every = weigh_all(make_sampler(graph, bounds, motif, tree, rules), 1, lambda: None)
            expected = 0
            for edges, vertices in tree_instances(graph, motif, tree):
                times = [int(graph.time[edge]) for edge in edges]
                pairs = [(place, tree.parents[place]) for place in range(1, len(edges))]
                if any(abs(times[one] - times[two]) > delta for one, two in pairs):
                    continue
                if order and not all(
                    in_order(motif, graph, tree, place, edges) for place, _ in pairs
                ):
                    continue
                if ends and any(
                    {vertices[v] for v in motif.edges[tree.edges[one]]}
                    == {vertices[v] for v in motif.edges[tree.edges[two]]}
                    for one, two in pairs
                ):
                    continue
                base = int(graph.time[0])
                slots = [(time - base) // delta for time in times]
                # The window i has the slots i and i + 1.
                last = max(slots)
                expected += (
                    sum(min(slots) >= first and last <= first + 1 for first in range(last + 1))
                    if windows
                    else 1
                )
            assert total_weight(every) == expected, (seed, tree)


def test_window_counts_are_right() -> None:
    """N_phi by enumeration, for every pair of times, from slot to slot."""
    delta = 4
    graph = build_graph(np.zeros(24, int), np.ones(24, int), np.arange(24) + 100)
    table = edge_bounds(graph, delta, "strict", windows=True).table
    for first in range(24):
        for last in range(first, min(first + delta + 1, 24)):
            windows = sum(
                start * delta <= first and last < (start + 2) * delta for start in range(12)
            )
            found = window_count(table, np.array([last, first]))
            assert found == windows, (first, last)


CASES = [(seed, motif) for seed in range(6) for motif in (TRIANGLE, SQUARE, STAR, UNORDERED, OPEN)]


@pytest.mark.parametrize(("seed", "motif"), CASES)
def test_estimates_are_unbiased_and_their_errors_honest(seed: int, motif: Motif) -> None:
    """The mean over many samples is near the exact count, by its own error and that of batches."""
    vertex_count = 4 if motif is OPEN else 9
    graph, delta = random_graph(seed, 150, vertex_count, 300), 40
    exact = count_exact(graph, motif, delta, "strict").count
    prepared = prepare(graph, motif, delta, "strict", threads=1)
    assert prepared.sampler is not None
    draws = [
        draw_samples(prepared.sampler, prepared.weights, 17, stream, 256, 1, lambda _: None)
        for stream in range(200)
    ]
    estimates = np.array([draw.estimate for draw in draws])
    variance = np.mean([draw.variance for draw in draws])
    # The seeds are fixed: what is within 3 standard errors once, always is.
    assert abs(estimates.mean() - exact) <= 3 * math.sqrt(variance / 200) + 1e-9, exact
    # The relative error of a variance from 200 draws is a tenth.
    assert 0.55 < estimates.var() / max(variance, 1e-9) < 1.6 or variance == 0


@pytest.mark.long
def test_intervals_cover_the_count_as_often_as_they_say() -> None:
    covered = total = 0
    errors = []
    for case, motif in enumerate((TRIANGLE, SQUARE, UNORDERED)):
        graph = random_graph(case + 50, 800, 15, 1000)
        exact = count_exact(graph, motif, 60, "strict").count
        prepared = prepare(graph, motif, 60, "strict", threads=1)
        for seed in range(200):
            found = estimate(prepared, 0.1, 0.95, seed, None, None, 1)
            assert found.converged
            covered += found.ci_low <= exact <= found.ci_high
            errors.append((found.estimate - exact) / found.std_error)
            total += 1
    # 95 % of 600: a standard error is 0.9 %.
    assert 0.92 <= covered / total <= 0.98, covered / total
    assert abs(np.mean(errors)) < 3 / math.sqrt(total)


@pytest.mark.parametrize(
    "rules",
    [
        Constraints(),
        Constraints(ends=False),
        Constraints(windows=True, narrow=False),
        Constraints(narrow=False),
        Constraints(ends=False, narrow=False),
        Constraints(order=False, windows=True, narrow=False),
    ],
)
def test_constraints_change_only_the_variance(rules: Constraints) -> None:
    graph = random_graph(3, 200, 10, 400)
    for motif in (SQUARE, UNORDERED):
        exact = count_exact(graph, motif, 50, "strict").count
        bounds = edge_bounds(graph, 50, "strict", rules.windows)
        for tree in sampled_trees(motif)[:2]:
            sampler = make_sampler(graph, bounds, motif, tree, rules)
            every = weigh_all(sampler, 1, lambda: None)
            draw = draw_samples(sampler, every, 1, 0, 2**15, 1, lambda _: None)
            assert abs(draw.estimate - exact) < 4.5 * math.sqrt(draw.variance), (rules, tree)
            assert len(every) == len(parities(rules))


@pytest.mark.long
@pytest.mark.parametrize("motif", [SQUARE, STAR, CLIQUE, UNORDERED])
def test_weights_beyond_32_bits_are_rounded_up(
    monkeypatch: pytest.MonkeyPatch, motif: Motif
) -> None:
    """With 6 bits: an estimate by rounded weights is as right as one by exact ones."""
    graph = random_graph(8, 300, 12, 300)
    exact, rounded = count_exact(graph, motif, 60, "strict").count, 0
    for tree in sampled_trees(motif)[::3]:
        fine = prepare(graph, motif, 60, "strict", tree=tree)
        monkeypatch.setattr(weights.loops, "WEIGHT_BITS", 6)
        coarse = prepare(graph, motif, 60, "strict", tree=tree)
        monkeypatch.undo()
        rounded += coarse.weights[0].unit > fine.weights[0].unit
        assert coarse.weights[0].root.max() < 2**6
        assert coarse.total_weight >= fine.total_weight
        found = estimate(coarse, 0.02, max_seconds=None)
        assert found.converged
        assert abs(found.estimate - exact) < 4.5 * found.std_error + 1e-9, tree
    assert rounded


def test_a_star_of_many_instances_is_estimated() -> None:
    """A star of 7 edges around a vertex with 3,000 neighbours has some 1e20 instances."""
    motif = chain(*((0, leaf) for leaf in range(1, 8)))
    count = 3000
    graph = build_graph(np.zeros(count, int), np.arange(1, count + 1), np.arange(count))
    found = estimate(prepare(graph, motif, count, "strict"), 0.05, max_seconds=None)
    exact = math.comb(count, 7)
    assert found.converged
    assert found.total_weight >= exact
    assert abs(found.estimate - exact) <= max(4.5 * found.std_error, 1e-9 * exact)


def test_an_estimate_does_not_depend_on_the_threads() -> None:
    graph = random_graph(11, 3000, 60, 9000)

    def prepared(threads: int) -> PreparedMotif:
        return prepare(graph, SQUARE, 150, "strict", threads=threads)

    found = [
        estimate(prepared(threads), seed=7, max_seconds=None, threads=threads)
        for threads in (1, 2, 3)
    ]
    assert found[0] == found[1] == found[2]
    other = estimate(prepared(1), seed=8, max_seconds=None)
    assert other.estimate != found[0].estimate
    drawn = [
        sample_instances(prepared(threads), 20, 7, None, threads=threads) for threads in (1, 2, 3)
    ]
    assert all((drawn[0][0] == edges).all() for edges, _ in drawn)


def test_no_instance_is_an_exact_zero() -> None:
    graph = build_graph(np.array([0, 2, 4, 6]), np.array([1, 3, 5, 7]), np.arange(4))
    found = estimate(prepare(graph, SQUARE, 10, "strict"))
    assert found.exact_zero
    assert found.converged
    assert (found.estimate, found.ci_low, found.ci_high, found.total_weight) == (0, 0, 0, 0)
    edges, vertices = sample_instances(prepare(graph, SQUARE, 10, "strict"), 5)
    assert (edges.shape, vertices.shape) == ((0, 4), (0, 4))
    empty = build_graph(np.zeros(0, int), np.zeros(0, int), np.zeros(0, int))
    assert estimate(prepare(empty, SQUARE, 10, "strict")).exact_zero


def test_samples_that_would_not_have_missed_a_match_end_with_0() -> None:
    # All edges lead to a greater vertex: there are paths, and no cycle.
    ends = np.sort(
        np.random.default_rng(13).permuted(np.tile(np.arange(40), (300, 1)), axis=1)[:, :2]
    )
    graph = build_graph(ends[:, 0].copy(), ends[:, 1].copy(), np.arange(300))
    found = estimate(prepare(graph, TRIANGLE, 100, "strict"), max_seconds=None)
    assert found.total_weight > 0
    assert found.converged
    assert not found.exact_zero
    assert (found.estimate, found.nonzero, found.ci_low) == (0, 0, 0)
    assert 0 < found.ci_high < 1


def test_too_few_samples_do_not_converge() -> None:
    graph = random_graph(12, 3000, 400, 9000)
    found = estimate(prepare(graph, CLIQUE, 3000, "strict"), max_samples=4000)
    assert not found.converged
    assert found.samples <= 4000
    assert not found.exact_zero
    assert found.ci_high > 0


def test_unordered_edges_outside_every_tree_are_refused() -> None:
    # Of two edges there and two back, all at once, a tree has one.
    motif = Motif(2, ((0, 1), (0, 1), (1, 0), (1, 0)), (0, 0, 0, 0))
    with pytest.raises(NotSupportedError, match="cannot be sampled"):
        prepare(random_graph(1, 20, 4, 20), motif, 5, "strict")


@pytest.mark.parametrize("motif", [SQUARE, OPEN, TWINS, UNORDERED])
def test_sampled_matches_are_uniform(motif: Motif) -> None:
    graph, delta = random_graph(21, 110, 5, 60), 30
    exact = count_exact(graph, motif, delta, "strict").count
    assert 20 < exact < 4000, exact
    count = max(6000, 20 * exact)
    edges, vertices = sample_instances(prepare(graph, motif, delta, "strict"), count, 3, None)
    assert len(edges) == count
    for edge, (source, target) in enumerate(motif.edges):
        assert (graph.source[edges[:, edge]] == vertices[:, source]).all()
        assert (graph.target[edges[:, edge]] == vertices[:, target]).all()
    for one, other in itertools.combinations(range(len(motif.edges)), 2):
        assert (edges[:, one] != edges[:, other]).all()
        if motif.groups[one] < motif.groups[other]:
            assert (graph.time[edges[:, one]] < graph.time[edges[:, other]]).all()
    spans_of_time = graph.time[edges].max(axis=1) - graph.time[edges].min(axis=1)
    assert spans_of_time.max() <= delta
    frequencies = Counter(map(tuple, edges.tolist()))
    assert len(frequencies) == exact
    expected = count / exact
    chi_square = sum((seen - expected) ** 2 / expected for seen in frequencies.values())
    # The mean of chi-square is the degrees of freedom, its variance twice that.
    freedom = exact - 1
    assert abs(chi_square - freedom) < 5 * math.sqrt(2 * freedom), (chi_square, freedom)


def test_every_tree_of_a_motif_estimates_the_same() -> None:
    graph = random_graph(31, 250, 9, 500)
    exact = count_exact(graph, SQUARE, 80, "index").count
    for tree in sampled_trees(SQUARE):
        prepared = prepare(graph, SQUARE, 80, "index", tree=tree)
        found = estimate(prepared, 0.03, max_seconds=None)
        assert abs(found.estimate - exact) < 4.5 * found.std_error, tree


def test_an_interrupt_ends_the_draw() -> None:
    graph = random_graph(41, 2000, 200, 9000)

    def stop(part: float) -> None:
        assert 0.0 <= part <= 1.0
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        estimate(prepare(graph, SQUARE, 300, "strict"), keep_going=stop)
    assert replace(Constraints(), narrow=False) != Constraints()
