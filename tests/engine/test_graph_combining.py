"""What a training over parts does without torch: averages, partial reduce, dependencies, relays."""

from __future__ import annotations

import math
import re
import sys

import numpy as np
import pytest

import raydb
from raydb.engine.gnn.combining import (
    NOISE_S,
    PartialReduce,
    average,
    combine_gradients,
    second_moment,
)
from raydb.engine.gnn.dependencies import Costs, cached_prefixes, choose, sort_neighbours
from raydb.engine.gnn.messages import decode, encode
from raydb.engine.gnn.relay import Sent, make_relay
from raydb.kernels.graph.halo import part_with_halo, plan_layers


def test_messages_are_what_they_were():
    arrays = {
        "x": np.arange(6, dtype=np.float32).reshape(2, 3),
        "is": np.array([True, False]),
        "none": np.empty((0, 4), np.int64),
        "step": np.array(7.0),
    }
    said, found = decode(encode({"say": "it", "n": 1}, arrays))
    assert said == {"say": "it", "n": 1}
    assert list(found) == list(arrays)
    for name, each in arrays.items():
        assert (found[name] == each).all()
        assert (found[name].dtype, found[name].shape) == (each.dtype, each.shape)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        encode({"say": "it"})[:-1],
        encode({}, {"x": np.zeros(3)})[:-1],
        encode({}, {"x": np.zeros(3)}) + b"0",
        (9).to_bytes(8, "little") + b'{"a": 1} ',
        encode({}, {"x": np.zeros(3)}).replace(b"<f8", b"|O8"),
        encode({}, {"x": np.zeros(3)}).replace(b"[3]", b"[-]"),
        encode({}, {"x": np.zeros(10)}).replace(b"[10]", b"[-1]"),
    ],
)
def test_what_is_no_message(data):
    with pytest.raises(raydb.OperationalError, match="a message of a training cannot be read"):
        decode(data)


def test_averages_are_by_training_nodes():
    models = [
        {"w": np.array([1, 5], np.float32), "n": np.array(3)},
        {"w": np.array([4, 5], np.float32), "n": np.array(4)},
        {"w": np.array([np.nan, 9], np.float32), "n": np.array(9)},
    ]
    found = average(models, [1, 2, 0])
    assert (found["w"].tolist(), found["w"].dtype) == ([3, 5], np.float32)
    assert found["n"] == 3
    assert average(models[::-1], [0, 2, 1])["n"] == 4


def test_second_moments_are_of_the_mean_gradient():
    first, second = np.array([0.5], np.float32), np.array([0.2], np.float32)
    gradients = np.array([3.0, -1.0])
    mean = (0.9 * first + 0.1 * gradients.mean()).astype(np.float32)
    found = second_moment(first, mean, second, 1)
    assert found == pytest.approx(0.999 * 0.2 + 0.001 * 1.0)
    assert found.dtype == np.float32
    # Of several steps, a gradient that each of them might have had.
    mean = 0.9**4 * first + (1 - 0.9**4) * 2.0
    assert second_moment(first, mean, second, 4) == pytest.approx(
        0.999**4 * 0.2 + (1 - 0.999**4) * 4.0
    )


def test_gradients_of_all_are_those_of_one():
    sums = [{"a": np.array([2.0]), "b": np.array([4.0])}, {"a": np.array([6.0]), "b": np.ones(1)}]
    counts = [[40, 10], [20, 5]]
    layer_of = {"a": 0, "b": 1}
    found = combine_gradients(sums, counts, [60, 15], layer_of)
    assert found["a"] == pytest.approx(8 / 15)
    assert found["b"] == pytest.approx(5 / 15)


def test_gradients_of_some_have_the_size_of_all():
    """Where each node has the same gradient, it does not matter who is heard: equation 15."""
    counts = [[40, 10], [20, 5], [30, 15]]
    sums = [{"a": np.array([0.5 * each[0]])} for each in counts]
    every = np.sum(counts, axis=0).tolist()
    whole = combine_gradients(sums, counts, every, {"a": 0})
    for chosen in ([0], [1, 2], [0, 2]):
        some = combine_gradients(
            [sums[n] for n in chosen], [counts[n] for n in chosen], every, {"a": 0}
        )
        assert some["a"] == pytest.approx(whole["a"])
    nobody = combine_gradients([{"a": np.ones(1)}], [[0, 0]], every, {"a": 0})
    assert nobody["a"] == 0


def test_rounds_go_on_without_the_slow_one():
    reduce = PartialReduce(range(4), alpha=0.5, staleness=3)
    for _ in range(3):
        for worker, seconds in enumerate((1.0, 1.0, 1.0, 4.0)):
            reduce.note(worker, seconds)
        assert not reduce.is_over({0, 1, 2}, 100.0)
        assert reduce.is_over(range(4), 0.0)
        reduce.end(range(4))
    assert reduce.usual == 1.0
    assert not reduce.is_over({0, 1, 2}, 1.5)
    assert reduce.is_over({0, 1, 2}, 1.5 + NOISE_S)
    assert not reduce.is_over({0, 1}, 100.0), "more than half of them"
    for _ in range(2):
        reduce.end({0, 1, 2})
    # It has been away from two rounds, and has to join one of three.
    assert not reduce.is_over({0, 1, 2}, 100.0)
    assert reduce.is_over({0, 1, 3}, 100.0)
    reduce.end(range(4))
    assert reduce.is_over({0, 1, 2}, 2.0)


def test_some_options_wait_for_all():
    for alpha, staleness in ((math.inf, 3), (0.5, 1)):
        reduce = PartialReduce(range(3), alpha, staleness)
        for _ in range(5):
            for worker in range(3):
                reduce.note(worker, 1.0)
            assert not reduce.is_over({0, 1}, 1e9)
            reduce.end(range(3))
    alone = PartialReduce([7], 0.5, 3)
    assert not alone.is_over([], 1e9)
    assert alone.is_over([7], 0)


def test_prefixes_are_what_takes_less_to_compute():
    owner = np.array([1, 0, 1, 1, 0])
    nodes, edges = np.array([3.0, 1, 0, 9, 5]), np.array([1.0, 1, 1, 1, 1])
    costs = Costs(1.0, 0.5, {0: 4.0, 1: 4.0}, 0.0)
    found = sort_neighbours(owner, nodes, edges, costs, 10.0)
    assert {each: some.order.tolist() for each, some in found.items()} == {0: [1, 4], 1: [2, 0, 3]}
    assert found[1].bytes_to.tolist() == [0, 4, 38, 132]
    assert cached_prefixes(found, costs, None) == {0: 1, 1: 2}
    assert cached_prefixes(found, costs, 52) == {0: 1, 1: 2}
    # Each gets the share of the room that it has of what is wanted: 14 and 38 of 52.
    assert cached_prefixes(found, costs, 51) == {0: 0, 1: 1}
    assert cached_prefixes(found, costs, 0) == {0: 0, 1: 0}
    cheap = costs._replace(received={0: 0.0, 1: 99.0})
    assert cached_prefixes(found, cheap, None) == {0: 0, 1: 3}


def parts_of_a_graph(hops):
    count, edge_count = 200, 900
    chance = np.random.default_rng(4)
    source, target = chance.integers(0, count, (2, edge_count))
    order = np.argsort(target, kind="stable")
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(target, minlength=count), out=starts[1:])
    sources = source[order].astype(np.int32)
    owner = chance.integers(0, 3, count).astype(np.int32)
    parts = [part_with_halo(starts, sources, np.flatnonzero(owner == n), hops) for n in range(3)]
    return owner, parts


def test_what_is_chosen_depends_on_the_way():
    owner, parts = parts_of_a_graph(2)
    part = parts[0]
    near = owner[part.nodes[part.own : part.ends[1]]].astype(np.int64)

    def chosen(costs, room=None):
        return choose(part, near, costs, 100.0, room)

    fast = chosen(Costs(1.0, 1.0, dict.fromkeys(range(3), 0.0), 0.0))
    assert fast.is_received.sum() == len(near)
    assert fast.seconds == fast.all_received < fast.all_cached
    slow = chosen(Costs(1.0, 1.0, dict.fromkeys(range(3), 1e6), 0.0))
    assert not slow.is_received.any()
    assert slow.seconds == slow.all_cached < slow.all_received
    far = chosen(Costs(1.0, 1.0, dict.fromkeys(range(3), 0.0), 1e6))
    assert not far.is_received.any(), "a way that is long, however wide"
    mixed = chosen(Costs(1.0, 1.0, {0: 0.0, 1: 0.0, 2: 1e6}, 0.0))
    received = mixed.is_received[part.own : part.ends[1]]
    assert not received[near == 2].any()
    assert received[near == 1].any()
    assert mixed.seconds < min(mixed.all_cached, mixed.all_received)
    little = chosen(Costs(1.0, 1.0, dict.fromkeys(range(3), 1e6), 0.0), room=300.0)
    assert 0 < little.is_received.sum() <= len(near)
    assert little.seconds > slow.seconds


def test_rows_come_from_their_owners():
    hops = 3
    owner, parts = parts_of_a_graph(hops)
    chance = np.random.default_rng(1)
    is_received = []
    for part in parts:
        chosen = np.zeros(len(part.nodes), bool)
        chosen[part.own : part.ends[1]] = chance.random(part.ends[1] - part.own) < 0.7
        is_received.append(chosen)
    relay = make_relay(parts, owner, is_received)
    assert relay.row_count > 0
    values = chance.standard_normal((len(owner), 5)).astype(np.float32)
    for depth in range(1, hops):
        for number in range(3):
            assert relay.missing("forward", depth, number, 1) == {0, 1, 2} - {number}
        for number, part in enumerate(parts):
            own = part.nodes[: part.own]
            relay.post(
                "forward", depth, number, Sent(1, values[own][relay.sent[depth - 1][number]])
            )
        totals = np.zeros(len(owner), np.float32)
        for number, part in enumerate(parts):
            assert not relay.missing("forward", depth, number, 1)
            plan = plan_layers(part, is_received[number])
            numbers = part.nodes[plan.rows[plan.received[depth - 1]]]
            assert (relay.rows("forward", depth, number) == values[numbers]).all()
            totals[numbers] += number + 1
            given = np.full((len(numbers), 5), number + 1, np.float32)
            relay.post("backward", depth, number, Sent(1, given))
        for number, part in enumerate(parts):
            own = part.nodes[: part.own][relay.sent[depth - 1][number]]
            assert (relay.rows("backward", depth, number)[:, 0] == totals[own]).all()
    # What comes late does not take the place of what came since.
    shape = (len(relay.sent[0][0]), 5)
    relay.post("forward", 1, 0, Sent(0, np.zeros(shape, np.float32)))
    assert relay.turn("forward", 1, 0) == 1
    assert relay.missing("forward", 1, 1, 2) == {0, 2}


def test_without_torch_there_is_no_training(monkeypatch):
    monkeypatch.setitem(sys.modules, "raydb.engine.gnn.training", None)
    with pytest.raises(raydb.NotSupportedError, match=r"pip install 'raydb\[gnn\]'"):
        raydb.gnn.train(None, None, "y")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"parts": 0}, "parts is a whole number from 1, not 0"),
        ({"epochs": 2.5}, "epochs is a whole number from 0, not 2.5"),
        ({"lr": -1}, "lr is a number from 0, not -1"),
        ({"alpha": float("nan")}, "alpha is a number from 0, not nan"),
        ({"combine": "mean"}, "combine is one of 'average', 'partial', not 'mean'"),
        ({"dependencies": "all"}, "dependencies is one of 'auto', 'communicate', 'cache'"),
        ({"dependencies": "communicate"}, "trains each part alone"),
        ({"combine": "partial", "every": 2}, "gradients are combined each epoch"),
        ({"resume": True}, "resume=True needs the name of a checkpoint"),
        ({"epoch": 3}, "train() has no option 'epoch'; did you mean 'epochs'?"),
    ],
)
def test_options_that_mean_nothing(options, sentence):
    with pytest.raises(raydb.ProgrammingError, match=re.escape(sentence)):
        raydb.gnn.train(None, None, "y", **options)
