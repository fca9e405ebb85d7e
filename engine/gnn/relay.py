"""Embeddings on their way between parts, and their gradients back: all of them pass here.

    part 0 sends rows 3, 8    ->   part 1 wants 8; part 2 wants 3 and 8
    part 0 gets the sum       <-   of the gradients of both

What was sent last is kept, for a worker that does not come in time: historical embeddings, Cao et
al., "NeutronCloud", PVLDB 19(1), 2025, section 5.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from raydb.kernels.graph.halo import plan_layers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.kernels.graph.halo import Part

    Numbers = NDArray[np.int64]


class Way(NamedTuple):
    """Rows of one part that another one wants at a layer.

    owner, receiver: the parts. at: places among what the owner sends; to: among what the receiver
    gets.
    """

    owner: int
    receiver: int
    at: Numbers
    to: Numbers


class Sent(NamedTuple):
    """What a worker gave last. turn: in which turn."""

    turn: int
    rows: NDArray[np.float32]


class Relay:
    """Takes rows of parts, by direction and layer, and gives each part those that it wants.

    sent: by layer and part, the places of own nodes whose embeddings others want. ways: by layer.
    counts: by layer and part, how many rows it receives.
    """

    def __init__(
        self,
        sent: Sequence[Sequence[Numbers]],
        ways: Sequence[Sequence[Way]],
        counts: Sequence[Sequence[int]],
    ) -> None:
        self.sent, self._ways, self._counts = sent, ways, counts
        self._last: dict[tuple[str, int, int], Sent] = {}

    @property
    def row_count(self) -> int:
        """How many rows are received in an epoch, by all parts at all layers."""
        return sum(map(sum, self._counts))

    def post(self, direction: str, depth: int, part: int, given: Sent) -> None:
        """Take the rows of a part; those of an earlier turn that come late are none."""
        key = direction, depth, part
        if key not in self._last or self._last[key].turn <= given.turn:
            self._last[key] = given

    def missing(self, direction: str, depth: int, part: int, turn: int) -> set[int]:
        """Return the parts whose rows of a turn, or of a later one, a part does not have yet."""
        return {
            giver
            for giver in self._givers(direction, depth, part)
            if self.turn(direction, depth, giver) < turn
        }

    def turn(self, direction: str, depth: int, part: int) -> int:
        """Return in which turn a part gave rows last, -1 for never."""
        last = self._last.get((direction, depth, part))
        return -1 if last is None else last.turn

    def rows(self, direction: str, depth: int, part: int) -> NDArray[np.float32]:
        """Return what a part wants of the others, as they gave it last.

        Gradients are the sums of what receivers gave. All must have given once.
        """
        width = self._last[direction, depth, part].rows.shape[1]
        forward = direction == "forward"
        count = self._counts[depth - 1][part] if forward else len(self.sent[depth - 1][part])
        found = np.zeros((count, width), np.float32)
        for way in self._ways[depth - 1]:
            if forward and way.receiver == part:
                found[way.to] = self._last[direction, depth, way.owner].rows[way.at]
            elif not forward and way.owner == part:
                found[way.at] += self._last[direction, depth, way.receiver].rows[way.to]
        return found

    def _givers(self, direction: str, depth: int, part: int) -> set[int]:
        ways = self._ways[depth - 1]
        if direction == "forward":
            return {way.owner for way in ways if way.receiver == part}
        return {way.receiver for way in ways if way.owner == part}


def make_relay(
    parts: Sequence[Part], owner: NDArray[np.int32], is_received: Sequence[NDArray[np.bool_]]
) -> Relay:
    """Return what carries the embeddings that parts receive.

    owner: the part of each node of the graph. is_received: of each part, by place, see
    `plan_layers`.
    """
    layers = len(parts[0].ends) - 2
    wanted: list[list[Numbers]] = []
    for part, chosen in zip(parts, is_received, strict=True):
        plan = plan_layers(part, chosen)
        wanted.append([part.nodes[plan.rows[rows]] for rows in plan.received])
    sent, ways, counts = [], [], []
    for depth in range(layers):
        numbers = [each[depth] for each in wanted]
        every = np.unique(np.concatenate(numbers))
        given = [every[owner[every] == number] for number in range(len(parts))]
        sent.append(
            [
                np.searchsorted(part.nodes[: part.own], own)
                for part, own in zip(parts, given, strict=True)
            ]
        )
        counts.append([len(each) for each in numbers])
        ways.append(_ways(numbers, given, owner))
    return Relay(sent, ways, counts)


def _ways(
    wanted: Sequence[Numbers], given: Sequence[Numbers], owner: NDArray[np.int32]
) -> list[Way]:
    found = []
    for receiver, numbers in enumerate(wanted):
        owners = owner[numbers]
        for each in np.unique(owners).tolist():
            to = np.flatnonzero(owners == each)
            found.append(Way(each, receiver, np.searchsorted(given[each], numbers[to]), to))
    return found


def sent_by_part(relay: Relay, part: int) -> Mapping[str, Numbers]:
    """Return what a part sends, as a plan tells it."""
    return {f"sent/{depth}": each[part] for depth, each in enumerate(relay.sent)}
