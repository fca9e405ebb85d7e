"""Stars in segments: ranges of a table's rows or of a BVH's places, which workers read.

Each scan of a whole table, and each job on a BVH that takes longer than a question to workers,
becomes where it can be put together from parts

    HashAggregate          sums of sums, sums of counts, least of least, by the query's keys
      ConcatenateRows
        SegmentScan        the groups of the segments, as workers give them

by the same parts as those of rows newer than a BVH (`delta.part_star`), which stay beside it. A
worker plans the text of the query by itself and takes the scan of the same `question`: what it
would answer is what is asked, or it does not answer.

The first rows in order of one large table are the first ones of those of its segments:

    LimitRows, SortRows
      SegmentRows          the first rows of each segment, in the order of segments
"""

from __future__ import annotations

import datetime as dt
import decimal
import hashlib
from dataclasses import field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from raydb.planner.expressions.nodes import attributes_of, expressions_of
from raydb.planner.expressions.registry import is_volatile, may_raise
from raydb.planner.plan.common_tables import fresh_numbers
from raydb.planner.plan.nodes import (
    CommonTable,
    Filter,
    Limit,
    NoStar,
    Project,
    Scan,
    Sort,
    TopRows,
)
from raydb.planner.plan.nodes.aggregate import Aggregate, GroupedRows
from raydb.planner.plan.nodes.node import Node
from raydb.planner.stars.costs import bvh_cost, general_cost
from raydb.planner.stars.deferred import DeferredScan
from raydb.planner.stars.delta import DeltaScan, merge_parts, part_star
from raydb.planner.stars.fuse import fuse
from raydb.planner.stars.fused_scan import FusedScanAggregate
from raydb.planner.stars.table_scan import MIN_ROWS, FusedTableScan, scan_obstacle
from raydb.storage.tables.table import ROW_NUMBER
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from raydb.planner import PlannerOptions
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Column, Expression
    from raydb.planner.plan.nodes import PhysicalPlan, SortKey, Star
    from raydb.planner.plan.nodes.node import Calls, Items

# Aggregates of parts that are the same in whatever order rows are added up.
_ORDERLESS = frozenset({"count", "count_star", "min", "max", "bit_and", "bit_or", "bit_xor"})

# More rows are not sent from each segment.
_MOST_ROWS = 2**16

_PLAIN = (str, bytes, int, float, type(None), dt.date, dt.time, dt.timedelta, decimal.Decimal)


@dataclass(frozen=True, eq=False, slots=True)
class SegmentScan(GroupedRows):
    """A star over the segments of its fact table or of a BVH, whose groups come from workers.

    star: what each segment is asked. scan: the job on all rows, which the coordinator runs where no
    worker can.
    """

    explain_name = "SegmentScan"

    star: Star
    scan: FusedTableScan | FusedScanAggregate
    segment_rows: int
    question: str

    @property
    def bvh(self) -> str:
        """The BVH whose places the segments are ranges of, '' where they are rows of the table."""
        return self.scan.bvh if isinstance(self.scan, FusedScanAggregate) else ""

    @property
    def fact(self) -> str:
        """The table whose rows are read."""
        return self.star.fact

    @property
    def keys(self) -> Items:
        """The group keys."""
        return self.star.keys

    @property
    def aggregates(self) -> Calls:
        """The aggregates of a segment."""
        return self.star.aggregates

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that the star reads, the fact table first."""
        values = [argument for _, call in self.aggregates for argument in expressions_of(call)]
        read = (*self.star.predicates, *(key for _, key in self.keys), *values)
        reached = (key.table for e in read for a in attributes_of(e) for key in a.path)
        return tuple(dict.fromkeys((self.star.fact, *self.star.tables, *reached)))

    @property
    def is_exact(self) -> bool:
        """Whether groups are the same in whatever order rows are added up; doubles are not."""
        return all(
            call.function in _ORDERLESS
            or (call.function == "sum" and not pa.types.is_floating(call.type))
            for _, call in self.aggregates
        )

    @property
    def details(self) -> dict[str, Any]:
        """What EXPLAIN says of the job, and how many segments its visible rows are."""
        scan = self.scan
        rows = scan.row_count if isinstance(scan, FusedTableScan) else scan.index.row_count
        return {
            **scan.details,
            "segments": len(ranges_of(rows, self.segment_rows)),
            "segment_rows": self.segment_rows,
        }

    @staticmethod
    def lines(said: Mapping[str, Any]) -> dict[str, Any]:
        """Return the lines of EXPLAIN for the details."""
        kind = FusedScanAggregate if "bvh" in said else FusedTableScan
        return {
            **kind.lines(said),
            "at workers": f"segments of up to {said['segment_rows']} rows",
        }


@dataclass(frozen=True, eq=False, slots=True)
class SegmentRows(Node):
    """The first rows in order of each segment of a table, which come from workers.

    rows: what each segment is asked, and what the coordinator runs where no worker can.
    predicates: what every row of it fulfils.
    """

    explain_name = "SegmentRows"
    column_fields = ("columns",)

    rows: Limit | TopRows
    columns: tuple[Column, ...] = field()
    fact: str
    predicates: tuple[Expression, ...]
    segment_rows: int
    question: str

    bvh: ClassVar[str] = ""
    is_exact: ClassVar[bool] = False

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that are read."""
        return (self.fact,)

    @property
    def summary(self) -> str:
        """What EXPLAIN says beside the name."""
        return f"{self.rows.summary} of each segment"

    @property
    def details(self) -> dict[str, Any]:
        """What EXPLAIN says of the segments."""
        return {
            "table": self.fact,
            "at_workers": f"segments of up to {self.segment_rows} rows",
        }


def ranges_of(row_count: int, segment_rows: int) -> list[tuple[int, int]]:
    """Return the ranges of segments, first and behind the last, of so many rows or places."""
    firsts = range(0, row_count, segment_rows)
    return [(first, min(first + segment_rows, row_count)) for first in firsts]


def distribute(plan: PhysicalPlan, catalog: CatalogInfo, options: PlannerOptions) -> PhysicalPlan:
    """Return a physical plan whose jobs on many rows are asked of workers, where they can."""
    numbers = fresh_numbers(plan)
    shared: dict[int, PhysicalPlan] = {}

    def go(plan: PhysicalPlan) -> PhysicalPlan:
        if isinstance(plan, FusedTableScan | FusedScanAggregate):
            found = _in_segments(plan, catalog, options, numbers)
            return plan if isinstance(found, str) else found
        if isinstance(plan, Limit | TopRows) and (first := _first_rows(plan)) is not None:
            found = _rows_in_segments(first, catalog, options)
            return plan if isinstance(found, str) else found
        if isinstance(plan, CommonTable):
            if plan.number not in shared:
                shared[plan.number] = go(plan.query)
            return replace(plan, query=shared[plan.number])
        return plan.map_sources(go)

    return go(plan)


def at_coordinator(
    plan: PhysicalPlan, catalog: CatalogInfo, options: PlannerOptions
) -> tuple[int, list[str]]:
    """Return how many jobs are asked of workers, and why other aggregates are not."""
    reasons: list[str] = []
    count = 0
    waiting = [plan]
    for node in waiting:
        waiting += node.children
        match node:
            case SegmentScan() | SegmentRows():
                count += 1
            case Limit() | TopRows() if (first := _first_rows(node)) is not None:
                found = _rows_in_segments(first, catalog, options)
                assert isinstance(found, str), "it would be asked of workers"
                reasons.append(found)
            case FusedTableScan() | FusedScanAggregate():
                found = _in_segments(node, catalog, options, fresh_numbers(plan))
                assert isinstance(found, str), "it would be asked of workers"
                reasons.append(found)
            case DeltaScan(bvh=bvh):
                reasons.append(f"there are rows newer than BVH '{bvh}'")
            case DeferredScan():
                reasons.append("its subqueries run first")
            case Aggregate(star=NoStar(reason=reason)) if reason:
                reasons.append(reason)
    if not (count or reasons):
        reasons.append("the query has no aggregate, and no ORDER BY with LIMIT of one table's rows")
    return count, list(dict.fromkeys(reasons))


def _in_segments(
    job: FusedTableScan | FusedScanAggregate,
    catalog: CatalogInfo,
    options: PlannerOptions,
    numbers: Iterator[int],
) -> PhysicalPlan | str:
    """Return the plan that puts the segments of a job together, or why there is none."""
    assert job.star is not None
    parted = part_star(job.star, numbers)
    if isinstance(parted, str):
        return parted
    part = _part_of(job, parted.star, catalog, options)
    if isinstance(part, str):
        return part
    bvh = part.bvh if isinstance(part, FusedScanAggregate) else ""
    question = question_of(parted.star, bvh)
    if question is None:
        return "a constant of it is not sent to workers"
    assert options.segment_rows is not None
    scan = SegmentScan(parted.star, part, options.segment_rows, question)
    return merge_parts(job.star, parted, (scan,))


def _part_of(
    job: FusedTableScan | FusedScanAggregate,
    star: Star,
    catalog: CatalogInfo,
    options: PlannerOptions,
) -> FusedTableScan | FusedScanAggregate | str:
    """Return a job with the star that each segment is asked, or why workers are not asked it."""
    if isinstance(job, FusedTableScan):
        return scan_obstacle(star, catalog) or replace(job, star=star)
    part = fuse(star, catalog.bvhs[job.bvh], job.backends, job.backend_reason)
    if isinstance(part, str):
        return part
    cost = bvh_cost(star, replace(part, newer=None), catalog)
    if cost < options.call_cost:
        return _less_than_a_call(f"BVH '{job.bvh}'", cost, options)
    if part.job.sieved and options.call_cost:
        return f"BVH '{job.bvh}' answers by totals of its cells"
    return replace(part, choice_reason=job.choice_reason)


@dataclass(frozen=True, eq=False, slots=True)
class _FirstRows:
    """The first rows in order of what projections and filters make of a table."""

    plan: Limit | TopRows
    source: PhysicalPlan
    keys: tuple[SortKey, ...]
    count: int
    scan: Scan
    expressions: tuple[Expression, ...]
    predicates: tuple[Expression, ...]


def _first_rows(plan: Limit | TopRows) -> _FirstRows | None:
    """Return what a plan is the first rows of; None where that is not one table's rows."""
    match plan:
        case Limit(source=Sort(source=source, keys=keys), count=int() as count):
            pass
        case TopRows(source=source, keys=keys, count=count):
            pass
        case _:
            return None
    expressions: list[Expression] = []
    predicates: list[Expression] = []
    below = source
    while isinstance(below, Project | Filter):
        expressions += below.expressions
        if isinstance(below, Filter) and isinstance(below.source, Scan):
            predicates = [below.predicate]
        below = below.source
    if not isinstance(below, Scan):
        return None
    listed = tuple(expressions), tuple(predicates)
    return _FirstRows(plan, source, keys, count + plan.offset, below, *listed)


def _rows_in_segments(
    first: _FirstRows, catalog: CatalogInfo, options: PlannerOptions
) -> PhysicalPlan | str:
    """Return the plan that puts the first rows of segments in order, or why there is none."""
    plan, table = first.plan, first.scan.table
    if first.scan.lookup is not None:
        return f"rows are found by '{first.scan.lookup.index}'"
    info = catalog.tables[table]
    if info.row_count < MIN_ROWS or info.is_streamed:
        return f"'{table}' has less than {MIN_ROWS} rows"
    if first.count > _MOST_ROWS:
        return f"more than {_MOST_ROWS} rows are asked for"
    if any(column.name == ROW_NUMBER for column in first.scan.columns):
        return "it reads the numbers of rows"
    if any(may_raise(each) or is_volatile(each) for each in first.expressions):
        return "an expression of it may fail, or gives another value each time"
    cost = general_cost(first.source, catalog)
    if cost < options.call_cost:
        return _less_than_a_call(f"a scan of '{table}'", cost, options)
    rows = replace(plan, count=first.count, offset=0)
    question = _digest(rows)
    if question is None:
        return "a constant of it is not sent to workers"
    assert options.segment_rows is not None
    columns = plan.columns
    read = SegmentRows(rows, columns, table, first.predicates, options.segment_rows, question)
    return Limit(Sort(read, first.keys), plan.count, plan.offset)


def _less_than_a_call(what: str, cost: float, options: PlannerOptions) -> str:
    call = f"a question to workers {options.call_cost / 1e6:.3g} ms"
    return f"{what} takes about {cost / 1e6:.3g} ms, {call}"


def question_of(star: Star, bvh: str = "") -> str | None:
    """Return what tells a star from all others but for the numbers of its columns, as a digest.

    bvh: the one whose places are its segments. None where it has a constant that is not spelled.
    Equal digests are equal questions.
    """
    asked = (
        bvh,
        star.fact,
        star.tables,
        star.predicates,
        tuple(key for _, key in star.keys),
        tuple(call for _, call in star.aggregates),
        star.given,
    )
    return _digest(asked)


def _digest(asked: object) -> str | None:
    """Return a digest of values, None where one of them is not spelled."""
    try:
        text = "".join(_spelled(asked))
    except TypeError:
        return None
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _spelled(value: object) -> Iterator[str]:
    """Yield a text of a value that no other value has; TypeError for one that is not known."""
    if isinstance(value, pa.DataType):
        yield f"<{value}>"
    elif isinstance(value, tuple | list):
        yield "("
        for each in value:
            yield from _spelled(each)
            yield ","
        yield ")"
    elif isinstance(value, dict):
        yield from _spelled(tuple(value.items()))
    elif is_dataclass(value) and not isinstance(value, type):
        yield type(value).__name__
        yield from _spelled(tuple(getattr(value, each.name) for each in fields(value)))
    elif isinstance(value, _PLAIN):
        yield f"{type(value).__name__}:{value!r}"
    else:
        raise TypeError(f"a {type(value).__name__} is not spelled")
