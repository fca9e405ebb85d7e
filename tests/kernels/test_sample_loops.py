"""Samples of neighbours: as many as asked, no edge twice, all with the same chance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raydb.kernels.graph.loops.sample_loops import (
    Chance,
    Drawn,
    Edges,
    Found,
    place_sources,
    sample_sources,
)

SETTINGS = settings(max_examples=60, deadline=None, derandomize=True)


def by_target(source, target, count):
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(target, minlength=count), out=starts[1:])
    sources = np.empty(len(source), np.int32)
    place_sources(source.astype(np.int32), target.astype(np.int32), starts[:-1].copy(), sources)
    return starts, sources


def sampled(starts, sources, frontier, most, *, replace=False, seed=1, source_count=None):
    degree = np.diff(starts)[frontier]
    room = int(degree.sum()) if most < 0 else most * len(frontier)
    drawn = np.full(1 << max(2 * most, 2).bit_length(), -1, np.int64)
    count = source_count if source_count is not None else int(sources.max(initial=0)) + 1
    local = np.full(count, -1, np.int32)
    nodes = np.empty(room, np.int64)
    found = Drawn(*(np.full(room, -7, np.int64) for _ in range(3)))
    chance = Chance(np.array([seed], np.uint64), drawn, most, replace)
    node_count, edge_count = sample_sources(
        Edges(starts, sources), frontier, 0, chance, Found(nodes, local), 0, found
    )
    assert (drawn == -1).all()
    assert all((each[edge_count:] == -7).all() for each in found)
    return nodes[:node_count], *(each[:edge_count] for each in found)


@SETTINGS
@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 6)), max_size=120),
    st.integers(-1, 12),
    st.booleans(),
    st.integers(0, 2**64 - 1),
)
def test_samples_are_edges(edges, most, replace, seed):
    if most < 0:
        replace = False
    source, target = (np.array([each[side] for each in edges], np.int64) for side in range(2))
    starts, sources = by_target(source, target, 7)
    frontier = np.array([3, 0, 6, 3], np.int64)
    nodes, row, col, edge = sampled(
        starts, sources, frontier, most, replace=replace, seed=seed, source_count=9
    )
    assert len(set(nodes.tolist())) == len(nodes)
    assert set(row.tolist()) == set(range(len(nodes)))
    assert (sources[edge] == nodes[row]).all()
    target_of = np.repeat(np.arange(7), np.diff(starts))
    assert (target_of[edge] == frontier[col]).all()
    for place, node in enumerate(frontier):
        drawn = edge[col == place]
        degree = starts[node + 1] - starts[node]
        if replace:
            assert len(drawn) == (most if degree else 0)
        else:
            assert len(drawn) == (degree if most < 0 else min(degree, most))
            assert len(set(drawn.tolist())) == len(drawn)


@pytest.mark.parametrize(("degree", "most"), [(7, 3), (40, 13), (40, 39), (1000, 2)])
def test_every_edge_has_the_same_chance(degree, most):
    starts, sources = by_target(np.arange(degree), np.zeros(degree, np.int64), 1)
    turns = 2000
    times = np.zeros(degree)
    for seed in range(turns):
        _, _, _, edge = sampled(starts, sources, np.array([0]), most, seed=seed)
        times[edge] += 1
    share = most / degree
    spread = np.sqrt(turns * share * (1 - share))
    assert (np.abs(times - turns * share) < 5 * spread + 1).all()


def test_edges_keep_their_order():
    starts, sources = by_target(np.array([5, 3, 4, 1]), np.array([1, 0, 1, 1]), 2)
    assert starts.tolist() == [0, 1, 4]
    assert sources.tolist() == [3, 5, 4, 1]
