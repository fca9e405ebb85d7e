"""The calls of one scan: what is under way, what has come, and what is said of it."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import field
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.engine.cluster.placement import Placement
from raydb.engine.operators.relation import column_name
from raydb.errors import OperationalError
from raydb.planner.explain import traffic_text
from raydb.room import size_text, too_small
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Future

    from raydb.engine.cluster.messages import Answer
    from raydb.engine.cluster.pruning import Segments
    from raydb.engine.context.statement_context import StatementContext
    from raydb.planner.segments.nodes import SegmentRows, SegmentScan

    Segmented = SegmentScan | SegmentRows

# Where nothing is to be read.
_NOWHERE = Placement({}, (), {})


@dataclass(eq=False, slots=True)
class Call:
    """A call under way.

    sign: when the worker was last heard of; asked: the question whether it lives. missed: how often
    in a row the worker did not know of the call. other: the call of the same segments at another
    worker.
    """

    worker: str
    name: str
    numbers: list[int]
    answer: Future[bytes]
    begin: float = field(default_factory=time.monotonic)
    sign: float = field(default_factory=time.monotonic)
    asked: Future[bytes] | None = None
    missed: int = 0
    other: Call | None = None


@dataclass(slots=True)
class Run:
    """The calls of one scan.

    left: the pieces of segments that were not answered yet, by number. lost: workers that are not
    asked any more, and why. slow: workers beside which others were asked. ended: how many
    connections to workers have broken. is_known: whether workers had been asked the question.
    traffic: what workers have asked of object stores.
    """

    is_known: bool
    placed: Placement = _NOWHERE
    left: set[int] = field(default_factory=set)
    calls: list[Call] = field(default_factory=list)
    groups: dict[int, pa.Table] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)
    slow: list[str] = field(default_factory=list)
    times: dict[str, float] = field(default_factory=dict)
    received: int = 0
    ended: int = 0
    traffic: Counter[str] = field(default_factory=Counter)


def take(answer: Answer, call: Call, size: int, run: Run, context: StatementContext) -> None:
    """Keep the groups of a call, unless those of all calls are too many."""
    assert run.left.issuperset(call.numbers), "each segment is answered once"
    run.left.difference_update(call.numbers)
    run.groups |= answer.groups
    run.received += size
    run.times[call.worker] = answer.ms
    run.traffic.update(answer.traffic)
    limit = context.memory_limit()
    if limit is not None and run.received > limit:
        raise too_small(run.received, "putting together the groups of the workers", limit)


def in_order(groups: Mapping[int, pa.Table], scan: Segmented) -> pa.Table:
    """Return the groups in the order of segments, so that nothing depends on who was first."""
    names = [column_name(column) for column in scan.columns]
    types = [column.type for column in scan.columns]
    found = []
    for number in sorted(groups):
        table = groups[number]
        if table.schema.types != types:
            raise OperationalError(
                f"a worker has sent columns of {table.schema.types}, and {types} were asked for"
            )
        found.append(table.rename_columns(names))
    if not found:
        return pa.table([pa.array([], kind) for kind in types], names=names)
    return pa.concat_tables(found)


def said(run: Run, segments: Segments) -> str:
    """Return what EXPLAIN says of how the groups came."""
    read, count = len(segments.left), len(segments.ranges)
    seen = f"{len(run.times)} workers, {read} of {count} segments read"
    seen += f", {count - read} pruned" if read < count else ""
    if not run.times:
        return seen
    slowest = max(run.times, key=run.times.__getitem__)
    lost = f", lost {', '.join(run.lost)}" if run.lost else ""
    lost += f", slow {', '.join(run.slow)}" if run.slow else ""
    asked = run.traffic
    store = f", of the object store {traffic_text(asked)}" if asked["requests"] else ""
    return (
        f"{seen}, {size_text(run.received)} received,"
        f" slowest {slowest} with {run.times[slowest]:.3f} ms{store}{lost}"
    )


def all_lost(run: Run, scan: Segmented, why: str) -> OperationalError:
    """Return the error of a scan that nobody is left to do."""
    listed = "; ".join(f"{worker}: {reason}" for worker, reason in run.lost.items())
    return OperationalError(
        f"segments of '{scan.fact}' have no worker left, {why}"
        + (f" (lost {listed})" if listed else "")
    )
