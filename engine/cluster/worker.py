"""A worker: it binds the text of a query by itself, and scans the segments that it is asked for.

It reads the database as any other reader, by its own credentials, and has the newest version when
a call comes. What was made of a scan is kept: its plan by the question, its codes by the segments.
"""

from __future__ import annotations

import datetime as dt
import os
import threading
import time
from collections import OrderedDict, deque
from dataclasses import asdict, field
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np
import psutil

import raydb
from raydb import sql
from raydb.engine.cluster.messages import (
    Answer,
    Asked,
    NotSharedError,
    decode_parameters,
    encode_answer,
    encode_error,
    encode_refusal,
    identity_of,
    store_of,
)
from raydb.engine.context.memory import parse_limit
from raydb.engine.databases.open_databases import open_alone
from raydb.engine.fused.delta import FetchedRows, look_up
from raydb.engine.fused.run import prepare_fused, run_fused, run_table_job
from raydb.engine.fused.table_job import fuse_on_rows
from raydb.engine.operators.run import Sources, run_plan
from raydb.engine.session.session import Session
from raydb.engine.session.settings import MEMORY_LIMIT
from raydb.engine.session.settled import expanded
from raydb.errors import Error, InterfaceError, NotSupportedError, OperationalError
from raydb.interrupts import WAIT_S, check_interrupt
from raydb.planner import plan_query
from raydb.planner.catalog import CATALOG
from raydb.planner.plan.nodes import SearchRows
from raydb.planner.plan.nodes.node import Node
from raydb.planner.segments.nodes import SegmentRows, SegmentScan
from raydb.planner.stars.fused_scan import FusedScanAggregate
from raydb.planner.stars.table_scan import FusedTableScan, scan_bytes
from raydb.room import check_room, too_small
from raydb.running import Interrupts, Running
from raydb.sql import ast
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from raydb.engine.catalog.snapshot import Snapshot
    from raydb.engine.context.statement_context import StatementContext
    from raydb.engine.fused.table_job import TableJob
    from raydb.kernels.backends.backend import PreparedJob
    from raydb.planner.plan.nodes import PhysicalPlan, Star
    from raydb.storage.tables.table import Table

    BvhJob = tuple[FusedScanAggregate, PreparedJob]

    # Some segments as a job, or the star and the rows where there is no job.
    Job: TypeAlias = "_Slices | TableJob | BvhJob | FetchedRows | PhysicalPlan"
    Part = tuple[int, Job, Star | None, Mapping[str, Table]]

    Segmented = SegmentScan | SegmentRows

# What is kept of questions, and of calls that were ended.
_MOST_QUESTIONS = 256
_MOST_ENDED = 256


class DeclinedError(Exception):
    """Why a worker does not answer, though nothing is wrong; the coordinator reads the rows."""


class _GoneError(OperationalError):
    """A database cannot be read any more; it was removed or replaced."""


@dataclass(eq=False, slots=True)
class _Opened:
    """A database. scans and parts: what was made for questions, over the rows of the snapshot.

    A scan is kept with the identity of the rows that it reads. settings: what was said of them.
    """

    session: Session
    settings: Mapping[str, str] = field(default_factory=dict)
    turn: threading.Lock = field(default_factory=threading.Lock)
    snapshot: Snapshot | None = None
    scans: OrderedDict[str, tuple[Segmented, str]] = field(default_factory=OrderedDict)
    parts: OrderedDict[object, list[Part]] = field(default_factory=OrderedDict)
    segments: set[tuple[str, int, int]] = field(default_factory=set)


@dataclass(frozen=True, eq=False, slots=True)
class _Slices:
    """Some parts of a search that its function makes."""

    scan: SegmentRows
    numbers: tuple[int, ...]

    def rows(self, sources: Sources) -> pa.Table:
        search, count = self.scan.rows, self.scan.slices
        assert isinstance(search, SearchRows)
        found = search.function.slices(search, self.numbers, count, sources)
        return found.select(search.columns).table()


class Worker:
    """Answers questions of coordinators; threads may ask at once."""

    def __init__(self) -> None:
        self._opened: dict[str, _Opened] = {}
        self._opening = threading.Lock()
        self._calls: dict[str, Interrupts] = {}
        self._ended: deque[str] = deque(maxlen=_MOST_ENDED)

    def answer(self, question: bytes) -> bytes:
        """Return the answer to a question, whatever happens."""
        start = time.perf_counter()
        name = ""
        try:
            asked = Asked.parse(question)
            if asked.version != raydb.__version__:
                raise NotSupportedError(
                    f"the coordinator has raydb {asked.version} and this worker"
                    f" {raydb.__version__}: install one version everywhere"
                )
            name = asked.call
            interrupts = self._calls.setdefault(name, Interrupts())
            with Running(interrupts) as running:
                if name in self._ended:
                    interrupts.interrupt()
                answer = self._answer(asked, running)
            return encode_answer(replace(answer, ms=(time.perf_counter() - start) * 1000))
        except DeclinedError as reason:
            return encode_refusal(str(reason))
        except BaseException as error:  # noqa: BLE001  (the coordinator raises it)
            return encode_error(error)
        finally:
            self._calls.pop(name, None)

    def end(self, call: str) -> None:
        """End a call that nobody waits for, also one that begins later: ends overtake questions."""
        self._ended.append(call)
        if (interrupts := self._calls.get(call)) is not None:
            interrupts.interrupt()

    def about(self) -> dict[str, Any]:
        """Return what workers() says of it; calls: the names of those that are under way."""
        opened = list(self._opened.values())
        return {
            "version": raydb.__version__,
            "process": os.getpid(),
            "memory_bytes": psutil.Process().memory_info().rss,
            "cached_bytes": sum(each.session.database.shared.cache.size_bytes for each in opened),
            "cached_segments": sum(len(each.segments) for each in opened),
            "calls": list(self._calls),
        }

    def close(self) -> None:
        """End all calls, and close the databases."""
        for interrupts in list(self._calls.values()):
            interrupts.interrupt()
        for each in self._opened.values():
            with each.turn:
                each.session.close()

    def _answer(self, asked: Asked, running: Running) -> Answer:
        try:
            return self._answer_of(self._open(asked.path), asked, running)
        except _GoneError:  # Another one is there now, or an error that says what is wrong.
            return self._answer_of(self._open(asked.path), asked, running)

    def _answer_of(self, opened: _Opened, asked: Asked, running: Running) -> Answer:
        while not opened.turn.acquire(timeout=WAIT_S):
            check_interrupt()
        try:
            try:
                context = _begin(asked, opened, running)
            except (InterfaceError, OperationalError) as error:
                if self._opened.get(asked.path) is opened:
                    del self._opened[asked.path]
                    opened.session.close()
                raise _GoneError(error.sentence) from error
            if asked.bvh:
                context = _with_bvh(asked.bvh, context)
            _catch_up(opened, context)
            found = opened.scans.get(asked.question)
            if found is None:
                scan = _find_scan(asked, context)
                found = opened.scans[asked.question] = scan, _identity_of(scan, context)
            scan, identity = found
            if identity != asked.identity:
                raise DeclinedError("it sees another version of the rows")
            groups = _run(asked, scan, opened, context)
            warnings = list(dict.fromkeys(context.warnings))
            return Answer(groups, warnings=warnings, traffic=asdict(running.traffic))
        finally:
            opened.session.databases.release()
            opened.turn.release()

    def _open(self, path: str) -> _Opened:
        """Return a database, opened for reading."""
        with self._opening:
            if path not in self._opened:
                try:
                    session = open_alone(
                        path, lambda it: Session(it, read_only=True), read_only=True
                    )
                except Error as error:
                    raise OperationalError(
                        f"a worker cannot open '{path}': {error.sentence}; it reads the database by"
                        " itself, with the credentials of its own machine: secrets and settings of"
                        " the connection are not sent"
                    ) from error
                self._opened[path] = _Opened(session)
            return self._opened[path]


def _begin(asked: Asked, opened: _Opened, running: Running) -> StatementContext:
    """Begin a statement as the coordinator's, in the newest version that either has heard of."""
    session = opened.session
    if opened.settings != asked.settings:
        session.settings = session.settings.with_texts(asked.settings)
        opened.settings = asked.settings
    if store_of(session.database).directory.shown_commit != asked.commit:
        session.databases.catch_up()
    session.databases.current, session.databases.schema = asked.place
    context = session.begun(decode_parameters(asked.parameters), running, [])
    running.go_on(dt.datetime.fromisoformat(asked.moment))
    context.cache.begin(parse_limit(session.settings[MEMORY_LIMIT]))
    return context


def _identity_of(scan: Segmented, context: StatementContext) -> str:
    store = store_of(context.databases.database(CATALOG))
    try:
        return identity_of(scan, context.all_databases.tables, store)
    except NotSharedError as reason:
        raise DeclinedError(str(reason)) from None


def _catch_up(opened: _Opened, context: StatementContext) -> None:
    """Forget what was made of another version."""
    snapshot = context.all_databases
    if opened.snapshot is not snapshot:
        opened.scans.clear()
        opened.parts.clear()
        opened.segments.clear()
        opened.snapshot = snapshot
        context.cache.forget_gone()
    for kept in (opened.scans, opened.parts):
        while len(kept) >= _MOST_QUESTIONS:
            kept.popitem(last=False)


def _with_bvh(name: str, context: StatementContext) -> StatementContext:
    """Return the context of a version whose BVH leaves deleted rows out."""
    bvh = context.snapshot.bvhs.get(name)
    if bvh is None:
        raise DeclinedError(f"it has no BVH '{name}'")
    context.databases.use_bvhs(frozenset([bvh.definition.table]), CATALOG)
    return replace(context, snapshot=context.databases.database(CATALOG).snapshot)


def _find_scan(asked: Asked, context: StatementContext) -> Segmented:
    """Plan the text, and return the scan that is asked for; DeclinedError where there is none.

    Other BVHs and the memory limit would only choose among ways to run it.
    """
    statements = sql.parse(asked.text)
    statement = statements[0] if len(statements) == 1 else None
    if isinstance(statement, ast.Explain):
        statement = statement.statement
    if isinstance(statement, ast.CopyTo):
        statement = statement.select
    if not isinstance(statement, ast.Select) or sql.asks_values(statement.tree):
        raise DeclinedError("the text is not one query whose columns are known")
    catalog = context.all_databases.describe()
    catalog = replace(catalog, bvhs={n: b for n, b in catalog.bvhs.items() if n == asked.bvh})
    bound = sql.bind_at_once(expanded(statement, context), catalog, context.parameters)
    options = replace(
        context.settings.planner,
        segment_rows=1,
        memory_limit=None,
        fused_path=True,
    )
    waiting = [plan_query(bound.plan, catalog, options)]
    for node in waiting:
        waiting += node.children
        if isinstance(node, SegmentScan | SegmentRows) and node.question == asked.question:
            return node
    raise DeclinedError("it plans the query in another way")


def _run(
    asked: Asked, scan: Segmented, opened: _Opened, context: StatementContext
) -> dict[int, pa.Table]:
    """Return the groups of the segments: of all of them, or of each where doubles are added up."""
    key = asked.question, asked.segments
    parts = opened.parts.get(key)
    if parts is None:
        if isinstance(scan, SegmentScan) and not scan.bvh:
            _check_memory(asked, scan, context)
        pieces = [asked.segments] if asked.is_exact else [(each,) for each in asked.segments]
        parts = [_part(piece, scan, context) for piece in pieces]
        opened.parts[key] = parts
        what = scan.bvh or scan.fact
        opened.segments |= {(what, first, stop) for _, first, stop in asked.segments}
    found, size = {}, 0
    for number, job, star, tables in parts:
        with context.new_memory() as memory:
            if isinstance(job, Node):
                rows = run_plan(job, Sources(tables, _no_job, context, memory))
            elif isinstance(job, _Slices):
                rows = job.rows(Sources(tables, _no_job, context, memory))
            elif isinstance(job, FetchedRows):
                assert star is not None
                rows = look_up(star, FetchedRows(), tables, memory).table()
            elif isinstance(job, tuple):
                rows = run_fused(*job, tables, context.cache, memory).table()
            else:
                rows = run_table_job(job, memory)[0].table()
        size += rows.nbytes
        check_room(size, f"the rows of '{scan.fact}'")
        found[number] = rows.select(range(len(scan.columns)))
    return found


def _check_memory(asked: Asked, scan: SegmentScan, context: StatementContext) -> None:
    """Raise OperationalError where the columns of the segments would not fit in memory_limit."""
    limit = parse_limit(context.settings[MEMORY_LIMIT])
    star, described = scan.star, context.all_databases.describe()
    rows = sum(stop - first for _, first, stop in asked.segments)
    share = rows / max(described.tables[star.fact].row_count, 1)
    need = scan_bytes(star, described) * share
    if limit is not None and need > limit:
        raise too_small(need, f"scanning {len(asked.segments)} segments of '{star.fact}'", limit)


def _part(
    segments: tuple[tuple[int, int, int], ...], scan: Segmented, context: StatementContext
) -> Part:
    tables = context.all_databases.tables
    ranges = tuple((first, stop) for _, first, stop in segments)
    fact, number = tables[scan.fact], segments[0][0]
    if isinstance(scan, SegmentScan) and isinstance(scan.scan, FusedScanAggregate):
        return number, _bvh_job(scan.scan, ranges), scan.star, tables
    if isinstance(scan, SegmentRows) and scan.slices:
        return number, _Slices(scan, tuple(each for each, *_ in segments)), None, tables
    if ranges[-1][1] > fact.row_count:
        raise DeclinedError("it sees another version of the rows")
    chosen = fact.only(ranges)
    if isinstance(scan, SegmentRows):
        return number, scan.rows, None, {**tables, scan.fact: chosen}
    star = replace(scan.star, fact=chosen.name)
    tables = {**tables, chosen.name: chosen}
    assert isinstance(scan.scan, FusedTableScan)
    own = replace(scan.scan, star=star, row_count=chosen.row_count)
    made = fuse_on_rows(own, tables, context.cache)
    return number, FetchedRows() if made is None else made, star, tables


def _no_job(job: object) -> NoReturn:
    raise AssertionError(job)


def _bvh_job(plan: FusedScanAggregate, ranges: tuple[tuple[int, int], ...]) -> BvhJob:
    """Return a job that leaves out what is in other places; totals of cells are of no use to it."""
    if ranges[-1][1] > plan.index.row_count:
        raise DeclinedError("it sees another version of the rows")
    job = replace(plan.job, places=np.array(ranges, np.int64), sieved=False)
    plan = replace(plan, job=job, backends=("cpu",))
    return plan, prepare_fused(plan)
