"""The tree by which a motif is sampled, chosen among the tightest ones, and its weights.

Some trees are tried on a part of the graph, with few samples. All estimate the same number, so the
one whose samples spread least takes the fewest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raydb.errors import NotSupportedError
from raydb.kernels.motif.completion import completion_runs
from raydb.kernels.motif.trees import ranked_trees
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from raydb.kernels.motif.conditions import Conditions
    from raydb.kernels.motif.graph import TemporalGraph
    from raydb.kernels.motif.sample import Completion, Draw, TreeSampler
    from raydb.kernels.motif.shape import Motif, Ties
    from raydb.kernels.motif.trees import RootedTree
    from raydb.kernels.motif.weights import Constraints, Weights

    KeepGoing = Callable[[float], None]

# Fewer samples that count tell no spread.
MIN_NONZERO = 30

# The spread itself is known to one part in the root of this: the square of the sum of the samples'
# squares over the sum of their fourth powers. Where few samples make up the spread it is lower, and
# need not be so high where the error is far below what was asked for: half of it does with 30.
ENOUGH_SPREAD = 100.0

# So many trees are tried, on a part of the graph of about so many edges, with so many samples. If
# the best one's spread is not known by then, all get more samples: with the best four alone,
# bipartite(2,3) on 10 million edges had a worse tree, and no end in a minute.
_TRIED_TREES, _TRIED_EDGES, _TRIED_STRATA = 12, 2**18, 2**12
_RETRIED_STRATA = 2**15
_TRIED_SLICES = 8

# The stream of random numbers of all that are tried.
_STREAM = 0


@dataclass(frozen=True, eq=False)
class PreparedMotif:
    """A motif with a tree on a graph and its weights, ready to draw from; `prepare` makes it.

    sampler: None where the graph has too few edges. tree: motif edges, the root first. weights:
    by parity. total_weight: of all that samples are drawn from, 0 where there can be no match; see
    `Estimate`. completion: what else a match must be, None for nothing. numbers: those of the
    sampled edges in the graph, None where these are all.
    """

    motif: Motif
    tree: tuple[int, ...]
    sampler: TreeSampler | None
    weights: list[Weights]
    completion: Completion | None = None
    numbers: NDArray[np.int64] | None = None

    @property
    def total_weight(self) -> float:
        """The weight of all roots."""
        return sum(weights.total for weights in self.weights)


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
    """Choose a tree for a motif within delta >= 0 on a graph, and weigh it: O(m) a tree edge.

    tree: the tree to take, None for the best one. threads: None for one each processor.
    keep_going: is told 0.0 every few ms, and may raise.
    Raises NotSupportedError where edges in any order allow of no tree whose samples can be counted.
    """
    from raydb.kernels.motif.sample import make_sampler, weigh_all  # noqa: PLC0415  (numba: 0.3 s)
    from raydb.kernels.motif.weights import Constraints, edge_bounds  # noqa: PLC0415  (as above)

    assert delta >= 0, delta
    rules = constraints or Constraints()
    trees = [tree] if tree is not None else sampled_trees(motif)
    if graph.edge_count < len(motif.edges):
        return PreparedMotif(motif, trees[0].edges, None, [])

    def told() -> None:
        if keep_going is not None:
            keep_going(0.0)

    told()
    bounds = edge_bounds(graph, delta, ties, rules.windows, threads)
    chosen = trees[0]
    if len(trees) > 1:
        chosen = _choose_tree(graph, motif, delta, ties, rules, trees, threads, told)
    sampler = make_sampler(graph, bounds, motif, chosen, rules)
    return PreparedMotif(motif, chosen.edges, sampler, weigh_all(sampler, threads, told))


def prepare_under(
    conditions: Conditions,
    graph: TemporalGraph,
    motif: Motif,
    delta: int,
    ties: Ties,
    code: Callable[[NDArray[np.int64]], NDArray[np.int64]] | None,
    tree: RootedTree | None = None,
    keep_going: KeepGoing | None = None,
) -> PreparedMotif:
    """Do what `prepare` does for the matches that keep some conditions.

    A sample is completed to one match at random, which counts if it keeps them: so the estimate is
    as right as without them, and spreads the more, the fewer matches keep them. Edges that can be
    no edge of a match are left out before. code: what matches are tallied by; see `Completion`.
    """
    from raydb.kernels.motif.exact_search import judged  # noqa: PLC0415  (numba takes 0.3 s)
    from raydb.kernels.motif.exact_search import prepare as prepare_search  # noqa: PLC0415  (as above)
    from raydb.kernels.motif.graph import build_graph  # noqa: PLC0415  (as above)
    from raydb.kernels.motif.sample import Completion  # noqa: PLC0415  (as above)

    if code is None and not conditions.are_any:
        return prepare(graph, motif, delta, ties, tree=tree, keep_going=keep_going)
    numbers, sampled = None, graph
    if conditions.filter_of and min(conditions.filter_of) >= 0:
        used = [conditions.filters[each] for each in set(conditions.filter_of)]
        numbers = np.flatnonzero(np.logical_or.reduce(used))
        sampled = build_graph(
            graph.source[numbers], graph.target[numbers], graph.time[numbers], numbers
        )
    prepared = prepare(sampled, motif, delta, ties, tree=tree, keep_going=keep_going)
    search = prepare_search(graph, motif, delta, ties, conditions)

    def in_graph(edges: NDArray[np.int64]) -> NDArray[np.int64]:
        return edges if numbers is None else numbers[edges]

    def judge(edges: NDArray[np.int64]) -> NDArray[np.bool_]:
        return judged(search, conditions, in_graph(edges))

    by = None if code is None else lambda edges: code(in_graph(edges))
    return replace(prepared, completion=Completion(judge, by), numbers=numbers)


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
                draw = draw_samples(sampler, every, 0, _STREAM, strata, threads, lambda _: told())
            tried.append(_Trial(tree, total_weight(every), draw))
        best = _least_spread(tried)
        if best.draw is None or spread_of(best.draw) >= ENOUGH_SPREAD:
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
        spread = draw.variance if draw.nonzero >= MIN_NONZERO else max(draw.variance, expected)
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


def spread_of(draw: Draw) -> float:
    """Return how many samples' worth of spread is known; see `ENOUGH_SPREAD`."""
    return draw.squares**2 / draw.fourths if draw.fourths > 0 else 0.0
