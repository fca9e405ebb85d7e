"""The rounds of a training: who is asked, whose rows are waited for, and who is lost.

In each round all workers that have nothing to do are asked for an epoch. The round is over when all
have answered, or those that partial reduce goes on with; the others stay at work. A lost worker is
replaced and asked again. Where rows go between parts all begin the round anew then: what the lost
one has sent belongs to an epoch that never ends.
"""

from __future__ import annotations

import statistics
import time
from concurrent.futures import FIRST_COMPLETED, wait
from typing import TYPE_CHECKING, Any

from raydb import errors
from raydb.engine.gnn.combining import NOISE_S
from raydb.engine.gnn.messages import decode, encode
from raydb.engine.gnn.relay import Sent
from raydb.errors import OperationalError
from raydb.interrupts import WAIT_S, check_interrupt
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Future

    from raydb.engine.gnn.combining import PartialReduce
    from raydb.engine.gnn.crews import Crew
    from raydb.engine.gnn.messages import Arrays
    from raydb.engine.gnn.relay import Relay

    Heard = tuple[dict[str, Any], Arrays]

# What ends so many workers of a round in turn ends others, too.
_MOST_LOST = 3


@dataclass(eq=False, slots=True)
class _Blocked:
    """A worker that waits for rows since a moment, of a turn."""

    direction: str
    depth: int
    turn: int
    since: float


class Rounds:
    """Asks the workers of a crew.

    setup: returns the messages that make a new worker that of a part. asked: the parts that are
    asked for epochs. reduce: None to wait for all of these.
    """

    def __init__(
        self,
        crew: Crew,
        setup: Callable[[int], Sequence[bytes]],
        asked: Sequence[int],
        relay: Relay | None,
        reduce: PartialReduce | None,
    ) -> None:
        self._crew, self._setup, self._asked = crew, setup, asked
        self._relay, self._reduce = relay, reduce
        self._calls: dict[Future[bytes], int] = {}
        self._begun: dict[int, float] = {}
        self._blocked: dict[int, _Blocked] = {}
        self._abandoned: set[int] = set()
        self._resumed: dict[int, float] = {}
        self._usual: dict[tuple[str, int], list[float]] = {}
        self._turn = 0
        self.replaced = 0

    def run(self, question: Callable[[int, int], bytes]) -> Mapping[int, Heard]:
        """Run a round, and return what the workers have answered that joined it.

        question: what a part is asked in a turn. Raises what a worker met, and OperationalError
        where one is lost again and again.
        """
        self._turn += 1
        begin = time.monotonic()
        ready: dict[int, Heard] = {}
        lost = 0
        while True:
            busy = set(self._calls.values()) | set(self._blocked)
            for part in self._asked:
                if part not in busy and part not in ready:
                    self._begun[part] = time.monotonic()
                    self._ask(part, question(part, self._turn))
            check_interrupt()
            patience = self._patience(begin)
            if not self._calls:  # All wait for rows, and will go on with earlier ones.
                time.sleep(patience)
            done, _ = wait(self._calls, patience, FIRST_COMPLETED)
            for call in done:
                part = self._calls.pop(call)
                try:
                    data = call.result()
                except OSError as error:
                    lost += self._crew.replace(part)
                    if lost > _MOST_LOST:
                        raise OperationalError(
                            f"the worker of part {part} is lost: {error}; {lost} were in this"
                            " round, and the training may be what ends them"
                        ) from error
                    self._begin_anew(part, ready)
                else:
                    self._hear(part, *decode(data), ready)
            self._give_rows()
            if self._is_over(ready, time.monotonic() - begin):
                if self._reduce is not None:
                    self._reduce.end(ready)
                self.replaced += lost
                return ready

    def _ask(self, part: int, question: bytes) -> None:
        self._calls[self._crew.call(part, question)] = part
        self._resumed[part] = time.monotonic()

    def _is_over(self, ready: Mapping[int, Heard], elapsed: float) -> bool:
        if self._reduce is None:
            return len(ready) == len(self._asked)
        return self._reduce.is_over(ready, elapsed)

    def _patience(self, begin: float) -> float:
        """Return how long to wait for an answer: until the round may be over."""
        if self._reduce is None or self._reduce.usual is None:
            return WAIT_S
        left = begin + self._reduce.patience - time.monotonic()
        if self._blocked:
            left = min(left, min(self._usual_of(each) for each in self._blocked.values()) / 4)
        return min(max(left, 0.001), WAIT_S)

    def _hear(
        self, part: int, said: dict[str, Any], arrays: Arrays, ready: dict[int, Heard]
    ) -> None:
        """Take an answer."""
        match said["say"]:
            case "error":
                kind = getattr(errors, said["kind"])
                raise kind(f"part {part} of the graph: {said['text']}")
            case "rows" if part in self._abandoned:
                self._ask(part, encode({"say": "abandon"}))
            case "rows":
                assert self._relay is not None
                now = time.monotonic()
                waits = _Blocked(said["direction"], said["depth"], said["round"], now)
                self._blocked[part] = waits
                if self._reduce is not None and self._reduce.usual is None:
                    key = waits.direction, waits.depth
                    self._usual.setdefault(key, []).append(now - self._resumed[part])
                given = Sent(waits.turn, arrays["rows"])
                self._relay.post(waits.direction, waits.depth, part, given)
            case _ if part in self._abandoned:
                self._abandoned.discard(part)
            case "done":
                if self._reduce is not None:
                    elapsed = time.monotonic() - self._begun[part]
                    self._reduce.note(part, elapsed - said["waited"])
                ready[part] = said, arrays

    def _give_rows(self) -> None:
        """Let those go on whose rows are there, or need not be waited for any longer."""
        for part, waits in list(self._blocked.items()):
            assert self._relay is not None
            missing = self._relay.missing(waits.direction, waits.depth, part, waits.turn)
            if missing and not self._goes_on(waits, missing):
                continue
            del self._blocked[part]
            rows = self._relay.rows(waits.direction, waits.depth, part)
            self._ask(part, encode({"say": "rows"}, {"rows": rows}))

    def _goes_on(self, waits: _Blocked, missing: set[int]) -> bool:
        """Tell whether a worker goes on with earlier rows: NeutronCloud, section 5.2."""
        reduce, relay = self._reduce, self._relay
        if reduce is None or reduce.usual is None or relay is None:
            return False
        oldest = min(relay.turn(waits.direction, waits.depth, each) for each in missing)
        if oldest < 0 or waits.turn - oldest >= reduce.staleness:
            return False
        patience = reduce.alpha * self._usual_of(waits) + NOISE_S
        return time.monotonic() - waits.since > patience

    def _usual_of(self, waits: _Blocked) -> float:
        return statistics.median(self._usual[waits.direction, waits.depth])

    def _begin_anew(self, part: int, ready: dict[int, Heard]) -> None:
        """Make a new worker that of a part."""
        self._abandoned.discard(part)
        answers_of(self._crew, {part: self._setup(part)})
        if self._relay is not None and self._relay.row_count:
            self._turn += 1
            ready.clear()
            for each in [*self._calls.values()]:
                self._abandoned.add(each)
            for each in list(self._blocked):
                del self._blocked[each]
                self._abandoned.add(each)
                self._ask(each, encode({"say": "abandon"}))


def answers_of(crew: Crew, questions: Mapping[int, Sequence[bytes]]) -> dict[int, Heard]:
    """Ask parts some questions, one after the other, all parts at once; return the last answers.

    Raises what a worker met, OperationalError where one is lost.
    """
    found: dict[int, Heard] = {}
    waiting = {part: list(each) for part, each in questions.items()}
    calls = {crew.call(part, each.pop(0)): part for part, each in waiting.items()}
    while calls:
        check_interrupt()
        done, _ = wait(calls, WAIT_S, FIRST_COMPLETED)
        for call in done:
            part = calls.pop(call)
            try:
                found[part] = decode(call.result())
            except OSError as error:
                raise OperationalError(f"the worker of part {part} is lost: {error}") from error
            said, _ = found[part]
            if said["say"] == "error":
                kind = getattr(errors, said["kind"])
                raise kind(f"part {part} of the graph: {said['text']}")
            if waiting[part]:
                calls[crew.call(part, waiting[part].pop(0))] = part
    return found
