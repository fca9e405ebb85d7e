"""Which dependencies parts receive, by what was measured of workers and the way to them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from raydb.engine.gnn.dependencies import Costs, choose
from raydb.engine.gnn.messages import encode
from raydb.engine.gnn.rounds import answers_of
from raydb.room import size_text
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raydb.engine.gnn.crews import Crew
    from raydb.kernels.graph.halo import Part

# How many bytes tell how fast a way is: the first ones, and those where these took no time.
_FEW_BYTES, _MANY_BYTES = 1 << 14, 1 << 21
_SHORT_S = 0.02


@dataclass(frozen=True, slots=True)
class Way:
    """The way to a worker: seconds of a question, and for each byte there and back."""

    trip: float
    down: float
    up: float


@dataclass(frozen=True, eq=False, slots=True)
class Dependencies:
    """Which neighbours of each part are received, by place, and why."""

    is_received: Sequence[NDArray[np.bool_]]
    said: str


def fixed(parts: Sequence[Part], *, receives: bool, why: str) -> Dependencies:
    """Return that all neighbours are received, or none."""
    found = []
    for part in parts:
        is_received = np.zeros(len(part.nodes), bool)
        is_received[part.own : part.ends[min(1, len(part.ends) - 1)]] = receives
        found.append(is_received)
    return Dependencies(found, f"dependencies are {'received' if receives else 'computed'}: {why}")


def measured(
    crew: Crew,
    parts: Sequence[Part],
    owner: NDArray[np.int32],
    widths: Sequence[int],
    room: float | None,
) -> Dependencies:
    """Return what takes least by what workers and ways to them take now.

    The workers have a plan in which nothing is received. widths: of what each layer takes. room:
    bytes that computed neighbours of a part may hold, None for any number.
    """
    questions = {part: [encode({"say": "probe"})] for part in range(len(parts))}
    probed = {part: said for part, (said, _) in answers_of(crew, questions).items()}
    ways = [_way_to(crew, part) for part in range(len(parts))]
    row_bytes = 4 * sum(widths[1:])
    found, seconds, cached, received, count, total = [], 0.0, 0.0, 0.0, 0, 0
    for number, part in enumerate(parts):
        way = ways[number]
        by_owner = {
            other: row_bytes * (each.up + each.down + way.up + way.down)
            for other, each in enumerate(ways)
        }
        costs = Costs(
            probed[number]["node"],
            probed[number]["edge"],
            by_owner,
            2 * (len(widths) - 1) * max(each.trip for each in ways),
        )
        last = part.ends[min(1, len(part.ends) - 1)]
        neighbours = owner[part.nodes[part.own : last]].astype(np.int64)
        chosen = choose(part, neighbours, costs, 4.0 * sum(widths), room)
        found.append(chosen.is_received)
        # All wait for the slowest one.
        seconds, cached = max(seconds, chosen.seconds), max(cached, chosen.all_cached)
        received = max(received, chosen.all_received)
        count += int(chosen.is_received.sum())
        total += last - part.own
    slowest = max(ways, key=lambda each: each.up + each.down)
    return Dependencies(
        found,
        f"dependencies: {count} of {total} neighbours are received, an epoch estimated to take"
        f" {_ms(seconds)}; {_ms(cached)} if all were computed, {_ms(received)} if all"
        f" were received ({_speed(slowest.down)}/s to a worker and {_speed(slowest.up)}/s back,"
        f" {_ms(max(each.trip for each in ways))} a question)",
    )


def _way_to(crew: Crew, part: int) -> Way:
    trip = min(_seconds(crew, part, 0, 0) for _ in range(3))
    down = up = 0.0
    for size in (_FEW_BYTES, _MANY_BYTES):
        down = max(_seconds(crew, part, size, 0) - trip, 0.0) / size
        up = max(_seconds(crew, part, 0, size) - trip, 0.0) / size
        if max(down, up) * size > _SHORT_S:
            break
    return Way(trip, down, up)


def _seconds(crew: Crew, part: int, there: int, back: int) -> float:
    start = time.perf_counter()
    question = encode({"say": "echo", "bytes": back}, {"echo": np.zeros(there, np.uint8)})
    answers_of(crew, {part: [question]})
    return time.perf_counter() - start


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.3g} ms"


def _speed(seconds_a_byte: float) -> str:
    return size_text(int(1 / seconds_a_byte)) if seconds_a_byte else "any number of bytes"
