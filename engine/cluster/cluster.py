"""The coordinator: who scans which segments, what comes of those of a lost worker, the groups.

Each worker with segments is asked once a query. Its answer counts as a whole or not at all, and
the rows are there when every segment has been answered exactly once. A worker that cannot be
reached, or has given no sign of life for `worker_timeout`, is lost to the query: others are asked
its segments. Of one that takes much longer than usual another one is asked the same beside it: the
first answer of both counts, and the other call is ended.
"""

from __future__ import annotations

import json
import os
import threading
import time
import uuid
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import pyarrow as pa
import xxhash

import raydb
from raydb.engine.cluster.messages import (
    Asked,
    NotSharedError,
    decode_answer,
    encode_parameters,
    identity_of,
)
from raydb.engine.cluster.pruning import segments_of
from raydb.engine.context.cluster_settings import SEGMENT_COPIES, WORKER_TIMEOUT
from raydb.engine.context.memory import parse_limit
from raydb.engine.context.progress import report
from raydb.engine.operators.relation import column_name
from raydb.engine.session.settings import MEMORY_LIMIT, THREADS
from raydb.errors import OperationalError
from raydb.interrupts import WAIT_S, check_interrupt
from raydb.planner.catalog import CATALOG
from raydb.planner.segments.nodes import SegmentScan
from raydb.room import size_text, too_small
from raydb.storage.durable.refusals import forked
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from concurrent.futures import Future

    from raydb.engine.cluster.engine import Engine
    from raydb.engine.cluster.messages import Answer
    from raydb.engine.cluster.pruning import Segments
    from raydb.engine.context.statement_context import StatementContext
    from raydb.planner.segments.nodes import SegmentRows
    from raydb.storage.tables.table import Table

    Segmented = SegmentScan | SegmentRows

# Settings that a text is bound with.
_SENT = ("timezone", "default_null_order", "nanoseconds", "nprobe", "ef_search")

# A worker is asked for a sign of life where a call takes longer.
_QUIET_S = 1.0

# A worker is slow that takes so many times what nearly all calls of a question have taken, of which
# so many are known and so many kept; and no sooner than that.
_SLOW_TIMES, _SLOW_SHARE = 3, 0.95
_FEWEST_TIMES, _MOST_TIMES = 4, 64
_SLOW_S = 0.1

# A statement that ends more workers ends others, too.
_MOST_ENDED = 3

# For so many questions it is kept how long calls have taken.
_MOST_KEPT = 256

# What progress says.
_STEP = "scan at workers"

# So long it takes at most to start a worker's process anew.
_RESTART_S = 60.0


@dataclass(frozen=True, slots=True)
class Found:
    """The groups of all segments, and what EXPLAIN says of how they came."""

    rows: pa.Table
    said: str


@dataclass(eq=False, slots=True)
class _Call:
    """A call under way.

    sign: when the worker was last heard of; asked: the question whether it lives. other: the call
    of the same segments at another worker.
    """

    worker: str
    name: str
    numbers: list[int]
    answer: Future[bytes]
    begin: float = field(default_factory=time.monotonic)
    sign: float = field(default_factory=time.monotonic)
    asked: Future[bytes] | None = None
    other: _Call | None = None


@dataclass(slots=True)
class _Run:
    """The calls of one scan.

    left: the segments that were not answered yet, by number. lost: workers that are not asked any
    more, and why. slow: workers beside which others were asked. ended: how many connections to
    workers have broken.
    """

    segments: Sequence[tuple[int, int]]
    left: set[int]
    calls: list[_Call] = field(default_factory=list)
    groups: dict[int, pa.Table] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)
    slow: list[str] = field(default_factory=list)
    times: dict[str, float] = field(default_factory=dict)
    received: int = 0
    ended: int = 0


class Cluster:
    """The workers of a connection and its duplicates.

    path: of the database, as workers open it.
    """

    def __init__(self, engine: Engine, path: str) -> None:
        self.engine = engine
        self._path = path
        self._users = 1
        self._process = os.getpid()
        self._joining = threading.Lock()
        # What a scan reads, as long as its plan is kept: a plan is right for one version only.
        self._read: WeakKeyDictionary[Segmented, tuple[str, Segments]] = WeakKeyDictionary()
        # Of which rows and segments a question has copies, and at which workers.
        self._copied: dict[str, tuple[str, int, tuple[str, ...]]] = {}
        # What calls of a question have taken, in seconds.
        self._times: dict[str, tuple[float, ...]] = {}

    def joined(self) -> Cluster:
        """Have another user."""
        with self._joining:
            self._users += 1
        return self

    def close(self) -> None:
        """Leave; the last user ends what belongs to the connection."""
        with self._joining:
            self._users -= 1
            is_last = not self._users
        if is_last and os.getpid() == self._process:
            self.engine.close()

    def _check_process(self) -> None:
        """Raise InterfaceError in a process that was forked: it has none of the connections."""
        if os.getpid() != self._process:
            raise forked(self._path)

    def obstacle(self, context: StatementContext) -> str | None:
        """Say why workers cannot be asked anything of a statement, None where they can."""
        databases = context.databases
        if not context.text:
            return "it is one of several statements of a text"
        if databases.in_transaction:
            return "a transaction is active"
        if databases.has_others or databases.current != CATALOG or context.given:
            return "there are attached databases, temporary tables or parts of WITH that write"
        if context.running.variables:
            return "the connection has variables"
        if encode_parameters(context.parameters) is None:
            return "a parameter has a type that is not sent to workers"
        return None

    def about(self) -> list[dict[str, Any]]:
        """Return what the workers say of themselves; a worker that does not answer is 'lost'."""
        self._check_process()
        asked = {each: self.engine.about(each) for each in self.engine.workers(anew=True)}
        names = self.engine.workers()
        wait(asked.values(), timeout=_QUIET_S)
        found = []
        for worker, answer in asked.items():
            said: dict[str, Any] = {"state": "lost"}
            if answer.done() and answer.exception() is None:
                said = {"state": "ready", **json.loads(answer.result())}
            found.append({"address": worker, "name": names.get(worker, ""), **said})
        return found

    def rows(
        self, scan: Segmented, tables: Mapping[str, Table], context: StatementContext
    ) -> Found | str:
        """Return the groups of all segments, or why workers do not answer.

        Columns are named as `run_plan` does. Raises what a worker met, and OperationalError where
        all are lost.
        """
        self._check_process()
        try:
            identity, segments = self._segments_of(scan, tables, context)
        except NotSharedError as reason:
            return str(reason)
        run = _Run(segments.ranges, set(segments.left))
        question = self._question(scan, identity, context)

        def begin(worker: str, numbers: list[int]) -> _Call:
            name = uuid.uuid4().hex
            parts = tuple((number, *run.segments[number]) for number in numbers)
            asked = replace(question, call=name, segments=parts)
            return _Call(worker, name, numbers, self.engine.call(worker, asked.encode()))

        def ask(worker: str, numbers: list[int]) -> None:
            run.calls.append(begin(worker, numbers))

        try:
            report(_STEP, 0.0)
            if run.left:
                self._give(segments.left, run, scan, ask)
            while run.calls:
                declined = self._hear(run, scan, context, ask)
                if declined:
                    return declined
        finally:
            for call in run.calls:
                self.engine.end(call.worker, call.name)
        assert not run.left, run.left
        if context.settings[SEGMENT_COPIES] > 1 and isinstance(scan, SegmentScan):
            self._copy(scan, segments, run, begin)
        return Found(_in_order(run.groups, scan), _said(run, segments))

    def _segments_of(
        self, scan: Segmented, tables: Mapping[str, Table], context: StatementContext
    ) -> tuple[str, Segments]:
        """Return the identity of the rows that a scan reads, and their segments."""
        found = self._read.get(scan)
        if found is None:
            store = context.databases.database(CATALOG).shared.store
            assert store is not None, "a database in memory has no workers"
            found = identity_of(scan, tables, store), segments_of(scan, tables)
            self._read[scan] = found
        return found

    def _question(self, scan: Segmented, identity: str, context: StatementContext) -> Asked:
        """Return what all workers are asked, without a name and segments."""
        settings = {each: context.settings.text(each) for each in _SENT}
        return Asked(
            "",
            raydb.__version__,
            self._path,
            context.text,
            encode_parameters(context.parameters),
            context.databases.place_of_names,
            settings | self._shares(context),
            context.running.moment().isoformat(),
            scan.question,
            identity,
            scan.bvh,
            (),
            scan.is_exact,
        )

    def _copy(self, scan: Segmented, segments: Segments, run: _Run, begin: Any) -> None:
        """Let workers make now what they would be asked for where another one was lost.

        Nobody waits for it: what does not fit there is made when it is asked for.
        """
        workers = self.engine.workers()
        made = self._read[scan][0], scan.segment_rows, tuple(workers)
        if self._copied.get(scan.question) == made or run.lost or len(workers) < 2:
            return
        if len(self._copied) >= _MOST_KEPT:
            self._copied.clear()
        self._copied[scan.question] = made
        what = scan.bvh or scan.fact
        for lost, numbers in assign(segments.left, workers, what).items():
            others = {each: name for each, name in workers.items() if each != lost}
            for worker, own in assign(numbers, others, what).items():
                begin(worker, own)

    def _shares(self, context: StatementContext) -> dict[str, str]:
        """Return the settings of a worker that say how much it may use of its machine.

        Workers on this machine have together what one process would have.
        """
        limit = parse_limit(context.settings[MEMORY_LIMIT])
        if not self.engine.is_local:
            shown = context.settings.text(MEMORY_LIMIT.name)
            return {"memory_limit": "none" if limit is None else shown}
        count = max(len(self.engine.workers()), 1)
        return {
            "memory_limit": "none" if limit is None else f"{limit // count}B",
            "threads": f"{max(context.settings[THREADS] // count, 1)}",
        }

    def _give(self, numbers: Iterable[int], run: _Run, scan: Segmented, ask: Any) -> None:
        """Ask those workers that are left some segments; wait for one where there is none."""
        if run.ended > _MOST_ENDED:
            raise _all_lost(run, scan, "the query may be what ends them")
        until = time.monotonic() + _RESTART_S
        asked: dict[str, Future[bytes]] = {}
        while True:
            known = self.engine.workers(anew=bool(run.lost))
            left = {each: name for each, name in known.items() if each not in run.lost}
            if left:
                break
            if time.monotonic() > until or not (known or run.lost):
                raise _all_lost(run, scan, "no other one has come")
            for worker in known:  # One that was silent may be heard again.
                if worker not in asked:
                    asked[worker] = self.engine.about(worker)
                elif asked[worker].done() and asked.pop(worker).exception() is None:
                    run.lost.pop(worker, None)
            check_interrupt()
            time.sleep(WAIT_S)
        for worker, own in assign(list(numbers), left, scan.bvh or scan.fact).items():
            ask(worker, own)

    def _hear(self, run: _Run, scan: Segmented, context: StatementContext, ask: Any) -> str:
        """Wait a moment, and take what workers have said; return why one does not answer."""
        check_interrupt()
        wait([call.answer for call in run.calls], WAIT_S, FIRST_COMPLETED)
        patience = context.settings[WORKER_TIMEOUT] / 1000
        for call in list(run.calls):
            if call not in run.calls:  # Another one has answered in its place.
                continue
            if call.answer.done():
                run.calls.remove(call)
                try:
                    data = call.answer.result()
                except OSError:
                    run.ended += 1
                    self._lose(call, "its connection broke", run, scan, ask)
                    continue
                answer = decode_answer(data, call.worker)
                if answer.declined:
                    return f"worker {call.worker}: {answer.declined}"
                expected = call.numbers[:1] if scan.is_exact else call.numbers
                if list(answer.groups) != expected:
                    raise OperationalError(f"worker {call.worker} has answered other segments")
                self._drop(call.other, run)
                self._tell(answer, context)
                _take(answer, call, len(data), run, context)
                self._note(scan.question, time.monotonic() - call.begin)
                report(_STEP, 1 - len(run.left) / len(run.segments))
            elif self._is_quiet(call, patience):
                run.calls.remove(call)
                self.engine.end(call.worker, call.name)
                self._lose(call, f"no sign of life for {patience:g} s", run, scan, ask)
            elif self._is_slow(call, scan.question):
                self._ask_beside(call, run, scan, ask)
        return ""

    def _tell(self, answer: Answer, context: StatementContext) -> None:
        """Pass on what a worker has to tell, once what all of them tell."""
        known = context.warnings
        known.extend([each for each in answer.warnings if each not in known])

    def _lose(self, call: _Call, why: str, run: _Run, scan: Segmented, ask: Any) -> None:
        run.lost[call.worker] = why
        if call.other is None:
            self._give(call.numbers, run, scan, ask)
        else:
            call.other.other = None

    def _note(self, question: str, seconds: float) -> None:
        """Remember what a call has taken."""
        if question not in self._times and len(self._times) >= _MOST_KEPT:
            self._times.clear()
        self._times[question] = (*self._times.get(question, ()), seconds)[-_MOST_TIMES:]

    def _is_slow(self, call: _Call, question: str) -> bool:
        """Tell whether a call takes much longer than others of its question."""
        times = sorted(self._times.get(question, ()))
        if call.other is not None or len(times) < _FEWEST_TIMES:
            return False
        usual = times[min(int(_SLOW_SHARE * len(times)), len(times) - 1)]
        return time.monotonic() - call.begin > max(_SLOW_TIMES * usual, _SLOW_S)

    def _ask_beside(self, call: _Call, run: _Run, scan: Segmented, ask: Any) -> None:
        """Ask a worker that has nothing to do the segments of a call, where there is one."""
        busy = {each.worker for each in run.calls}
        free = {
            worker: name
            for worker, name in self.engine.workers().items()
            if worker not in busy and worker not in run.lost
        }
        if free:
            (worker,) = assign(call.numbers[:1], free, scan.bvh or scan.fact)
            ask(worker, call.numbers)
            call.other, run.calls[-1].other = run.calls[-1], call
            run.slow.append(call.worker)

    def _drop(self, call: _Call | None, run: _Run) -> None:
        """End a call whose segments another worker has answered."""
        if call is not None:
            run.calls.remove(call)
            self.engine.end(call.worker, call.name)

    def _is_quiet(self, call: _Call, patience: float) -> bool:
        """Tell whether a worker has given no sign of life for so many seconds."""
        now = time.monotonic()
        if call.asked is not None and call.asked.done():
            if call.asked.exception() is None:
                call.sign = now
            call.asked = None
        if call.asked is None and now - call.sign > min(_QUIET_S, patience / 2):
            call.asked = self.engine.about(call.worker)
        return now - call.sign > patience


def assign(numbers: Sequence[int], workers: Mapping[str, str], what: str) -> dict[str, list[int]]:
    """Return which worker scans which segments: as many each, and mostly the same as before.

    Each segment goes to the worker that its hash likes most and that has room (rendezvous
    hashing with bounded loads), so that few move where a worker comes or goes.
    """
    most = -(-len(numbers) // len(workers))
    given: dict[str, list[int]] = {}
    for number in numbers:
        free = [each for each in workers if len(given.get(each, ())) < most]
        liking = {
            each: xxhash.xxh64_intdigest(f"{what}/{number}/{workers[each]}".encode())
            for each in free
        }
        best = max(free, key=liking.__getitem__)
        given.setdefault(best, []).append(number)
    return given


def _take(answer: Answer, call: _Call, size: int, run: _Run, context: StatementContext) -> None:
    """Keep the groups of a call, unless those of all calls are too many."""
    assert run.left.issuperset(call.numbers), "each segment is answered once"
    run.left.difference_update(call.numbers)
    run.groups |= answer.groups
    run.received += size
    run.times[call.worker] = answer.ms
    limit = context.memory_limit()
    if limit is not None and run.received > limit:
        raise too_small(run.received, "putting together the groups of the workers", limit)


def _in_order(groups: Mapping[int, pa.Table], scan: Segmented) -> pa.Table:
    """Return the groups in the order of segments, so that nothing depends on who was first."""
    names = [column_name(column) for column in scan.columns]
    types = [column.type for column in scan.columns]
    found = [pa.table([pa.array([], kind) for kind in types], names=names)]
    for number in sorted(groups):
        table = groups[number]
        if table.schema.types != types:
            raise OperationalError(
                f"a worker has sent columns of {table.schema.types}, and {types} were asked for"
            )
        found.append(table.rename_columns(names))
    return pa.concat_tables(found)


def _said(run: _Run, segments: Segments) -> str:
    read, count = len(segments.left), len(segments.ranges)
    said = f"{len(run.times)} workers, {read} of {count} segments read"
    said += f", {count - read} pruned" if read < count else ""
    if not run.times:
        return said
    slowest = max(run.times, key=run.times.__getitem__)
    lost = f", lost {', '.join(run.lost)}" if run.lost else ""
    lost += f", slow {', '.join(run.slow)}" if run.slow else ""
    return (
        f"{said}, {size_text(run.received)} received,"
        f" slowest {slowest} with {run.times[slowest]:.3f} ms{lost}"
    )


def _all_lost(run: _Run, scan: Segmented, why: str) -> OperationalError:
    listed = "; ".join(f"{worker}: {reason}" for worker, reason in run.lost.items())
    return OperationalError(
        f"segments of '{scan.fact}' have no worker left, {why}"
        + (f" (lost {listed})" if listed else "")
    )
