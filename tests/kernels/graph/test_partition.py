"""Partitions beside plain ones: the load that is promised, figures, memory, numbers of nodes."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raydb.kernels.graph.numbering import Numbers, is_numbered
from raydb.kernels.graph.partition import (
    Edges,
    Question,
    Stats,
    capacity,
    even_share,
    partition,
    partition_stats,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Ends = NDArray[np.int32]


def _frozen(values: NDArray[np.int32]) -> Ends:
    values = np.ascontiguousarray(values, np.int32)
    values.flags.writeable = False
    return values


def _edges(
    source: Sequence[int] | Ends,
    target: Sequence[int] | Ends,
    node_count: int,
    batch: int = 2**17,
    room: int = 2**62,
) -> Edges:
    """Return edges in batches of so many, as relations give them."""
    ends = [_frozen(np.array(each, np.int32)) for each in (source, target)]
    batches = [
        (ends[0][start : start + batch], ends[1][start : start + batch])
        for start in range(0, len(ends[0]), batch)
    ]
    return Edges(batches, node_count, room, _frozen)


def _blocks(node_count: int, blocks: int, inside: float, outside: float) -> tuple[Ends, Ends, Ends]:
    """Return random edges and the block of each node.

    A node has so many edges within its block, and so many to any node.
    """
    draw = np.random.default_rng(1)
    size = node_count // blocks
    one = draw.integers(0, node_count, int(node_count * inside / 2))
    near = one // size * size + draw.integers(0, size, len(one))
    ends = draw.integers(0, node_count, (2, int(node_count * outside / 2)))
    both = np.concatenate([np.stack([one, near]), ends], axis=1)
    # Neither the order of the nodes nor that of the edges tells blocks.
    order = draw.permutation(node_count)
    mixed = order[both[:, draw.permutation(both.shape[1])]]
    block = np.empty(node_count, np.int32)
    block[order] = np.arange(node_count) // size
    return _frozen(mixed[0]), _frozen(mixed[1]), block


def _rf(found: Stats, node_count: int) -> float:
    return float((node_count + found.copies.sum()) / node_count)


@st.composite
def _graphs(draw: st.DrawFn) -> tuple[list[int], list[int], int]:
    node_count = draw(st.integers(1, 40))
    node = st.integers(0, node_count - 1)
    pairs = draw(st.lists(st.tuples(node, node), max_size=120))
    return [one for one, _ in pairs], [other for _, other in pairs], node_count


_QUESTIONS = st.builds(
    Question,
    k=st.integers(1, 12),
    balance=st.one_of(st.sampled_from([1.0, 1.05, 1e300]), st.floats(1, 3)),
    refine=st.integers(0, 4),
    seed=st.integers(0, 2**32 - 1),
)


@given(_graphs(), _QUESTIONS, st.integers(1, 50), st.integers(4, 400))
@settings(max_examples=300, deadline=None)
def test_no_part_has_more_than_its_balance(
    graph: tuple[list[int], list[int], int], asked: Question, batch: int, room: int
) -> None:
    """The answer is the same however edges come, and however many are held at once."""
    found = partition(_edges(*graph), asked)
    nodes = np.bincount(found.part, minlength=asked.k)
    assert len(found.part) == len(found.cluster) == graph[2]
    assert len(nodes) == asked.k
    assert found.part.min() >= 0
    assert nodes.max() / even_share(graph[2], asked.k) <= asked.balance
    assert nodes.tolist() == found.load.tolist()
    assert np.unique(found.cluster).tolist() == list(range(found.cluster_count))
    again = partition(_edges(*graph, batch, room), asked)
    assert (again.part == found.part).all()
    assert (again.cluster == found.cluster).all()


@given(_graphs(), st.integers(1, 9), st.booleans(), st.integers(4, 400), st.randoms())
@settings(max_examples=200, deadline=None)
def test_stats_are_those_of_sets(
    graph: tuple[list[int], list[int], int], k: int, directed: bool, room: int, random: object
) -> None:
    part = np.array([random.randrange(k) for _ in range(graph[2])], np.int32)  # type: ignore[attr-defined]  (hypothesis's)
    held = [{int(node) for node in np.flatnonzero(part == each)} for each in range(k)]
    edges, cut, cut_count = [0] * k, [0] * k, 0
    for one, other in zip(*graph[:2], strict=True):
        here, there = int(part[one]), int(part[other])
        held[there].add(one)
        edges[there] += 1
        if not directed:
            held[here].add(other)
            edges[here] += here != there
        if here != there:
            cut_count += 1
            cut[there] += 1
            cut[here] += not directed
    found = partition_stats(_edges(*graph, room=room), part, k, directed)
    nodes = np.bincount(part, minlength=k)
    assert found.nodes.tolist() == nodes.tolist()
    assert (found.nodes + found.copies).tolist() == [len(each) for each in held]
    assert found.edges.tolist() == edges
    assert found.cut.tolist() == cut
    assert found.cut_count == cut_count
    assert all(found.cut <= found.edges)


@given(st.integers(1, 10**9), st.integers(1, 10**6), st.floats(1, 1e308))
def test_capacity_holds_all_nodes_within_the_balance(count: int, k: int, balance: float) -> None:
    most = capacity(count, k, balance)
    assert most * k >= count
    assert most / even_share(count, k) <= balance


def test_blocks_are_found_by_moves() -> None:
    """A part is a block where there are as many, and moves find all but a few nodes of each."""
    count, k = 16_000, 8
    source, target, planted = _blocks(count, k, 9, 3.5)
    edges = _edges(source, target, count)
    drawn = np.random.default_rng(2).integers(0, k, count).astype(np.int32)
    streamed, moved = (partition(edges, Question(k, 1.05, n, 1)).part for n in (0, 10))
    rf = [_rf(partition_stats(edges, part, k), count) for part in (planted, moved, streamed, drawn)]
    assert rf[1] < 1.02 * rf[0]
    assert rf[2] < 0.97 * rf[3]


def test_cliques_stay_whole() -> None:
    pairs = [(a, b) for a in range(20) for b in range(a)]
    source = [8 * a + c for c in range(8) for a, _ in pairs]
    target = [8 * b + c for c in range(8) for _, b in pairs]
    edges = _edges(source, target, 160)
    found = partition(edges, Question(8, 1.05, 0, 1))
    assert partition_stats(edges, found.part, 8).cut_count == 0
    assert found.cluster_count == 8
    assert found.load.tolist() == [20] * 8


def test_memory_is_24_bytes_a_node() -> None:
    """And 32 a part, beside edges and the neighbours that there is room for."""
    count, k, room = 500_000, 1000, 2**18
    draw = np.random.default_rng(1)
    edges = _edges(*draw.integers(0, count, (2, count)).astype(np.int32), count, room=room)
    partition(_edges([0, 1], [1, 2], 3), Question(2, 1.05, 2, 1))
    for asked, more in ((Question(k, 1.05, 0, 1), 0), (Question(k, 1.05, 1, 1), 4 * room)):
        tracemalloc.start()
        try:
            partition(edges, asked)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak <= 24 * count + 32 * k + more + 2**17


def _values(kind: pa.DataType, numbers: Sequence[int]) -> pa.Array:
    return pa.array(numbers, pa.int64()).cast(pa.string()).cast(kind)


@pytest.mark.parametrize(
    "kind",
    [
        *(pa.int8(), pa.int64(), pa.uint64(), pa.float32(), pa.float64(), pa.decimal128(20, 3)),
        *(pa.string(), pa.binary(), pa.large_binary(), pa.decimal256(50, 0)),
    ],
    ids=str,
)
@given(st.lists(st.lists(st.integers(-100, 100), max_size=300), max_size=6))
@settings(max_examples=20, deadline=None)
def test_values_are_numbered_as_they_come(kind: pa.DataType, parts: list[list[int]]) -> None:
    numbers = Numbers(kind)
    expected: dict[int, int] = {}
    seen = 0
    for part in parts:
        values = [abs(each) for each in part] if kind == pa.uint64() else part
        # A slice begins elsewhere than its buffers do.
        found = numbers.of(_values(kind, [7, *values])[1:])
        assert found.tolist() == [expected.setdefault(each, len(expected)) for each in values]
        seen = numbers.count
    assert seen == len(expected)
    assert numbers.values(0, seen).equals(_values(kind, list(expected)))
    half = numbers.values(seen // 2, seen)
    assert half.equals(_values(kind, list(expected)[seen // 2 :]))
    assert numbers.of(_values(kind, [101]), may_add=False).tolist() == [-1]


def test_many_values_have_numbers_of_their_own() -> None:
    """Multiples of large powers of two, and texts that begin alike, too."""
    count = 200_000
    for values in (
        pa.array(np.arange(count) << 40),
        pa.array(np.random.default_rng(1).permutation(count)),
        pa.array([f"a text that begins like all others {each}" for each in range(count)]),
        pa.array([("x" * 1000 * (each == 7)) + str(each) for each in range(count)]),
    ):
        numbers = Numbers(values.type)
        assert numbers.of(values).tolist() == list(range(count))
        assert numbers.of(values[::-1]).tolist() == list(range(count))[::-1]
        assert numbers.values(0, count).equals(values)


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0, 500, -700, 10**6, -(2**63), 2**63 - 3_000_000]),
            st.sampled_from([1, 3, 1000]),
            st.integers(0, 3000),
        ),
        max_size=6,
    ),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=100, deadline=None)
def test_integers_near_each_other_and_far(parts: list[tuple[int, int, int]], seed: int) -> None:
    """A table with a slot for each integer of a span becomes one with keys, and that the other."""
    numbers = Numbers(pa.int64())
    expected: dict[int, int] = {}
    for low, step, count in parts:
        places = np.random.default_rng(seed).permutation(count) * step
        values = [low + place for place in places.tolist()]
        found = numbers.of(pa.array(values, pa.int64())).tolist()
        assert found == [expected.setdefault(each, len(expected)) for each in values]
    assert numbers.count == len(expected)
    assert numbers.values(0, len(expected)).to_pylist() == list(expected)
    assert numbers.size_bytes <= 56 * len(expected) + 2**14
    others = [-(2**63), -701, 499, 2**62, 2**63 - 1]
    known = [expected.get(each, -1) for each in others]
    assert numbers.of(pa.array(others), may_add=False).tolist() == known


def test_texts_that_end_where_their_memory_does() -> None:
    """Of all lengths about a word's, equal but for one letter, wherever they begin."""
    texts = [letter * size + end for size in range(20) for letter in "ab" for end in ("", "c", "é")]
    expected: dict[str, int] = {}
    for turn in range(3):
        numbers = Numbers(pa.string())
        expected.clear()
        for first in range(len(texts)):
            some = texts[first:] + texts[:turn]
            # Values of their own have no memory behind the last one.
            found = numbers.of(pa.array(some))
            assert found.tolist() == [expected.setdefault(each, len(expected)) for each in some]


def test_equal_numbers_are_one_value() -> None:
    numbers = Numbers(pa.float64())
    values = pa.array([0.0, -0.0, float("nan"), -float("nan"), float("inf")])
    assert numbers.of(values).tolist() == [0, 0, 1, 1, 2]
    assert Counter(map(str, numbers.values(0, 3).to_pylist())) == Counter(["0.0", "nan", "inf"])


def test_types_that_have_no_numbers() -> None:
    for kind in (pa.list_(pa.int8()), pa.month_day_nano_interval(), pa.struct({"a": pa.int8()})):
        assert not is_numbered(kind)
