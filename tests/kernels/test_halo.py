"""Halos of parts: layers over parts compute what layers over the whole graph do."""

from __future__ import annotations

import numpy as np
import pytest

from raydb.kernels.graph.halo import edges_into, part_with_halo, plan_layers, reach_of_neighbours

NODES, WIDTH = 120, 3


def graph(seed):
    chance = np.random.default_rng(seed)
    source, target = chance.integers(0, NODES, (2, 260))
    order = np.argsort(target, kind="stable")
    starts = np.zeros(NODES + 1, np.int64)
    np.cumsum(np.bincount(target, minlength=NODES), out=starts[1:])
    return starts, source[order].astype(np.int32), chance.integers(0, 4, NODES)


def layer(x, edges):
    """Return the embeddings after a layer: its own one, halved, and those that lead to it."""
    out = 0.5 * x
    np.add.at(out, edges[1], np.sin(x[edges[0]]))
    return out


def whole_layers(starts, sources, x, hops):
    targets = np.repeat(np.arange(NODES), np.diff(starts))
    found = [x]
    for _ in range(hops):
        found.append(layer(found[-1], np.stack([sources, targets])))
    return found


@pytest.mark.parametrize("hops", [1, 2, 3, 4])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_parts_compute_what_the_whole_does(hops, share):
    for seed in range(4):
        starts, sources, part_of = graph(seed)
        chance = np.random.default_rng(seed)
        x = chance.standard_normal((NODES, WIDTH))
        expected = whole_layers(starts, sources, x, hops)
        for number in range(4):
            own = np.flatnonzero(part_of == number)
            part = part_with_halo(starts, sources, own, hops)
            assert part.nodes[: part.own].tolist() == own.tolist()
            assert len(set(part.nodes.tolist())) == len(part.nodes) == part.ends[-1]
            is_received = np.zeros(len(part.nodes), bool)
            near = slice(part.own, part.ends[1])
            is_received[near] = chance.random(part.ends[1] - part.own) < share
            plan = plan_layers(part, is_received)
            assert plan.rows[: part.own].tolist() == list(range(part.own))
            numbers = part.nodes[plan.rows]
            h = x[numbers]
            for depth, edges in enumerate(plan.edges):
                if depth:
                    rows = plan.received[depth - 1]
                    h[rows] = expected[depth][numbers[rows]]
                h = layer(h, edges)
            assert np.allclose(h[: part.own], expected[hops][own])


def test_what_is_received_is_not_computed():
    starts, sources, part_of = graph(1)
    part = part_with_halo(starts, sources, np.flatnonzero(part_of == 0), 2)
    none = plan_layers(part, np.zeros(len(part.nodes), bool))
    is_received = np.zeros(len(part.nodes), bool)
    is_received[part.own : part.ends[1]] = True
    all_of_them = plan_layers(part, is_received)
    assert (len(none.rows), len(all_of_them.rows)) == (part.ends[2], part.ends[1])
    assert (len(none.received[0]), len(all_of_them.received[0])) == (0, part.ends[1] - part.own)
    reach = reach_of_neighbours(part)
    assert reach.edges.sum() == none.edges[0].shape[1] - all_of_them.edges[0].shape[1]
    assert reach.nodes.sum() >= part.ends[2] - part.ends[1]


def test_reach_counts_ways():
    """A chain 3 -> 2 -> 1 -> 0, of which 0 is the part's own."""
    starts, sources = np.array([0, 1, 2, 3, 3]), np.array([1, 2, 3], np.int32)
    part = part_with_halo(starts, sources, np.array([0]), 3)
    reach = reach_of_neighbours(part)
    # Embeddings of 1 after two layers take 2 and 3, two edges; those after one layer the first.
    assert (reach.nodes.tolist(), reach.edges.tolist()) == ([2.0], [2.0])


def test_a_part_without_nodes_or_edges():
    starts, sources, _ = graph(0)
    empty = part_with_halo(starts, sources, np.empty(0, np.int64), 2)
    assert (empty.own, len(empty.nodes), len(empty.sources)) == (0, 0, 0)
    assert plan_layers(empty, np.zeros(0, bool)).edges[1].shape == (2, 0)
    alone = part_with_halo(np.zeros(4, np.int64), np.empty(0, np.int32), np.array([1, 2]), 2)
    assert alone.ends == (2, 2, 2)
    from_nodes, at = edges_into(starts, sources, np.array([5, 5]))
    assert from_nodes[at == 0].tolist() == sources[starts[5] : starts[6]].tolist()
