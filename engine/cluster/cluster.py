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
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import raydb
from raydb.engine.cluster.calls import Call, Run, all_lost, in_order, said, take
from raydb.engine.cluster.messages import (
    Asked,
    NotSharedError,
    decode_answer,
    encode_parameters,
    identity_of,
    store_of,
)
from raydb.engine.cluster.placement import Placement, assign, place
from raydb.engine.cluster.pruning import segments_of
from raydb.engine.context.cluster_settings import SEGMENT_COPIES, WORKER_TIMEOUT
from raydb.engine.context.memory import parse_limit
from raydb.engine.context.progress import report
from raydb.engine.session.settings import MEMORY_LIMIT, THREADS
from raydb.errors import OperationalError
from raydb.interrupts import WAIT_S, check_interrupt
from raydb.planner.catalog import CATALOG
from raydb.planner.segments.nodes import SegmentScan
from raydb.storage.durable.refusals import forked
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping
    from concurrent.futures import Future

    import pyarrow as pa

    from raydb.engine.cluster.engine import Engine
    from raydb.engine.cluster.messages import Answer
    from raydb.engine.cluster.pruning import Segments
    from raydb.engine.context.statement_context import StatementContext
    from raydb.planner.segments.nodes import SegmentRows
    from raydb.storage.tables.table import Table

    Segmented = SegmentScan | SegmentRows

# Settings that a text is bound with.
_SENT = (
    *("timezone", "default_null_order", "default_collation"),
    *("nanoseconds", "nprobe", "ef_search"),
)

# A worker is asked for a sign of life where a call takes longer.
_QUIET_S = 1.0

# So many times are known and kept of what calls of a question have taken.
_FEWEST_TIMES, _MOST_TIMES = 4, 64


@dataclass(frozen=True, slots=True)
class _Slow:
    """When a call is slow: after so many times what a share of calls took, and some seconds."""

    times: float
    share: float
    seconds: float


# A worker that reads segments first is asked seldom. One that has copies and nothing to do loses
# nothing, and where another one was killed it takes 0.1 s to hear of that.
_SLOW, _SLOW_COPIED = _Slow(3, 0.95, 0.1), _Slow(2, 0.5, 0.03)

# A call that a worker does not know of may just come or go; that it is lost is said twice.
_MOST_MISSED = 2

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
        self._placed: WeakKeyDictionary[Segmented, Placement] = WeakKeyDictionary()
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
        """Return what the workers say of themselves.

        state: 'ready', 'compiling' while loops are compiled or loaded and NumPy does their work,
        'lost' where a worker does not answer.
        """
        self._check_process()
        asked = {each: self.engine.about(each) for each in self.engine.workers(anew=True)}
        names = self.engine.workers()
        wait(asked.values(), timeout=_QUIET_S)
        found = []
        for worker, answer in asked.items():
            said: dict[str, Any] = {"state": "lost"}
            if answer.done() and answer.exception() is None:
                said = json.loads(answer.result())
                said["calls"] = len(said["calls"])
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
        run = Run(scan.question in self._times)
        question = self._question(scan, identity, context)

        def begin(given: Mapping[str, list[int]]) -> list[Call]:
            names, questions = {worker: uuid.uuid4().hex for worker in given}, {}
            for worker, numbers in given.items():
                pieces = ((number, run.placed.pieces[number]) for number in numbers)
                parts = tuple((number, piece.first, piece.stop) for number, piece in pieces)
                asked = replace(question, call=names[worker], segments=parts)
                questions[worker] = asked.encode()
            answers = self.engine.call(questions)
            return [Call(each, names[each], given[each], answers[each]) for each in given]

        def ask(given: Mapping[str, list[int]]) -> None:
            run.calls += begin(given)

        try:
            report(_STEP, 0.0)
            if segments.left:
                run.placed = self._place(scan, segments, self._left(run, scan))
                run.left = set(range(len(run.placed.pieces)))
                ask(run.placed.given)
            while run.calls:
                declined = self._hear(run, scan, context, ask)
                if declined:
                    return declined
        finally:
            for call in run.calls:
                self.engine.end(call.worker, call.name)
        assert not run.left, run.left
        if context.settings[SEGMENT_COPIES] > 1 and isinstance(scan, SegmentScan):
            self._copy(scan, run, begin)
        return Found(in_order(run.groups, scan), said(run, segments))

    def _segments_of(
        self, scan: Segmented, tables: Mapping[str, Table], context: StatementContext
    ) -> tuple[str, Segments]:
        """Return the identity of the rows that a scan reads, and their segments."""
        found = self._read.get(scan)
        if found is None:
            store = store_of(context.databases.database(CATALOG))
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
            store_of(context.databases.database(CATALOG)).directory.shown_commit,
            scan.bvh,
            (),
            scan.is_exact,
        )

    def _place(self, scan: Segmented, segments: Segments, workers: Mapping[str, str]) -> Placement:
        """Return which worker scans what."""
        found = self._placed.get(scan)
        if found is None or found.workers != workers:
            may_cut = isinstance(scan, SegmentScan) and scan.is_exact
            found = place(segments, workers, scan.bvh or scan.fact, may_cut=may_cut)
            self._placed[scan] = found
        return found

    def _copy(self, scan: Segmented, run: Run, begin: Any) -> None:
        """Let workers make now what they would be asked for where another one was lost.

        Nobody waits for it: what does not fit there is made when it is asked for.
        """
        workers = run.placed.workers
        made = self._read[scan][0], scan.segment_rows, tuple(workers)
        if self._copied.get(scan.question) == made or run.lost or len(workers) < 2:
            return
        if len(self._copied) >= _MOST_KEPT:
            self._copied.clear()
        self._copied[scan.question] = made
        self._times.pop(scan.question, None)  # The next calls wait for what is made now.
        for lost, numbers in run.placed.given.items():
            others = {each: name for each, name in workers.items() if each != lost}
            begin(_among(numbers, others, run, scan))

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

    def _left(self, run: Run, scan: Segmented) -> Mapping[str, str]:
        """Return the workers that are left; wait for one where there is none."""
        if run.ended > _MOST_ENDED:
            raise all_lost(run, scan, "the query may be what ends them")
        until = time.monotonic() + _RESTART_S
        asked: dict[str, Future[bytes]] = {}
        while True:
            known = self.engine.workers(anew=bool(run.lost))
            left = {each: name for each, name in known.items() if each not in run.lost}
            if left:
                return left
            if time.monotonic() > until or not (known or run.lost):
                raise all_lost(run, scan, "no other one has come")
            for worker in known:  # One that was silent may be heard again.
                if worker not in asked:
                    asked[worker] = self.engine.about(worker)
                elif asked[worker].done() and asked.pop(worker).exception() is None:
                    run.lost.pop(worker, None)
            check_interrupt()
            time.sleep(WAIT_S)

    def _hear(self, run: Run, scan: Segmented, context: StatementContext, ask: Any) -> str:
        """Wait a moment, and take what workers have said; return why one does not answer."""
        check_interrupt()
        slow = _SLOW if context.settings[SEGMENT_COPIES] == 1 else _SLOW_COPIED
        wait([call.answer for call in run.calls], min(WAIT_S, slow.seconds / 2), FIRST_COMPLETED)
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
                take(answer, call, len(data), run, context)
                # At first columns are read, which says little of other times.
                self._note(scan.question, *[time.monotonic() - call.begin] * run.is_known)
                report(_STEP, 1 - len(run.left) / len(run.placed.pieces))
            elif self._is_quiet(call, patience):
                run.calls.remove(call)
                self.engine.end(call.worker, call.name)
                self._lose(call, f"no sign of life for {patience:g} s", run, scan, ask)
            elif self._is_slow(call, scan.question, slow):
                self._ask_beside(call, run, scan, ask)
        return ""

    def _tell(self, answer: Answer, context: StatementContext) -> None:
        """Pass on what a worker has to tell, once what all of them tell."""
        known = context.warnings
        known.extend([each for each in answer.warnings if each not in known])

    def _lose(self, call: Call, why: str, run: Run, scan: Segmented, ask: Any) -> None:
        run.lost[call.worker] = why
        if call.other is None:
            ask(_among(call.numbers, self._left(run, scan), run, scan))
        else:
            call.other.other = None

    def _note(self, question: str, *seconds: float) -> None:
        """Remember a question, and what calls of it have taken."""
        if question not in self._times and len(self._times) >= _MOST_KEPT:
            self._times.clear()
        self._times[question] = (*self._times.get(question, ()), *seconds)[-_MOST_TIMES:]

    def _is_slow(self, call: Call, question: str, slow: _Slow) -> bool:
        """Tell whether a call takes much longer than others of its question."""
        times = sorted(self._times.get(question, ()))
        if call.other is not None or len(times) < _FEWEST_TIMES:
            return False
        usual = times[min(int(slow.share * len(times)), len(times) - 1)]
        return time.monotonic() - call.begin > max(slow.times * usual, slow.seconds)

    def _ask_beside(self, call: Call, run: Run, scan: Segmented, ask: Any) -> None:
        """Ask a worker that has nothing to do the segments of a call, where there is one."""
        busy = {each.worker for each in run.calls}
        free = {
            worker: name
            for worker, name in self.engine.workers().items()
            if worker not in busy and worker not in run.lost
        }
        if free:
            (worker,) = _among(call.numbers[:1], free, run, scan)
            ask({worker: call.numbers})
            call.other, run.calls[-1].other = run.calls[-1], call
            run.slow.append(call.worker)

    def _drop(self, call: Call | None, run: Run) -> None:
        """End a call whose segments another worker has answered."""
        if call is not None:
            run.calls.remove(call)
            self.engine.end(call.worker, call.name)

    def _is_quiet(self, call: Call, patience: float) -> bool:
        """Tell whether a worker has given no sign of life for so many seconds."""
        now = time.monotonic()
        if call.asked is not None and call.asked.done():
            if call.asked.exception() is None:
                call.sign = now
                self._look_for(call, json.loads(call.asked.result())["calls"])
            call.asked = None
        if call.asked is None and now - call.sign > min(_QUIET_S, patience / 2):
            call.asked = self.engine.about(call.worker)
        return now - call.sign > patience

    def _look_for(self, call: Call, known: Container[str]) -> None:
        """Give a call up that the worker does not know of: its line takes all and says nothing."""
        call.missed = 0 if call.name in known else call.missed + 1
        if call.missed >= _MOST_MISSED:
            self.engine.lose(call.answer)


def _among(
    numbers: Iterable[int], workers: Mapping[str, str], run: Run, scan: Segmented
) -> dict[str, list[int]]:
    """Return which of some workers scans which of some pieces."""
    pieces = {number: run.placed.pieces[number] for number in numbers}
    return assign(pieces, workers, scan.bvh or scan.fact)
