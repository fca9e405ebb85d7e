"""Stars in segments: ranges of the fact table's rows, which workers of a cluster scan.

Each scan of a whole table that can be put together from parts becomes

    HashAggregate          sums of sums, sums of counts, least of least, by the query's keys
      ConcatenateRows
        SegmentScan        the groups of the segments, as workers give them

by the same parts as those of rows newer than a BVH (`delta.part_star`). A worker plans the text of
the query by itself and takes the scan of the same `question`: what it would answer is what is
asked, or it does not answer.
"""

from __future__ import annotations

import datetime as dt
import decimal
import hashlib
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from raydb.planner.expressions.nodes import attributes_of, expressions_of
from raydb.planner.plan.common_tables import fresh_numbers
from raydb.planner.plan.nodes import CommonTable, NoStar
from raydb.planner.plan.nodes.aggregate import Aggregate, GroupedRows
from raydb.planner.stars.deferred import DeferredScan
from raydb.planner.stars.delta import merge_parts, part_star
from raydb.planner.stars.fused_scan import FusedScanAggregate
from raydb.planner.stars.table_scan import FusedTableScan, scan_obstacle
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.plan.nodes import PhysicalPlan, Star
    from raydb.planner.plan.nodes.node import Calls, Items

# Aggregates of parts that are the same in whatever order rows are added up.
_ORDERLESS = frozenset({"count", "count_star", "min", "max", "bit_and", "bit_or", "bit_xor"})

_PLAIN = (str, bytes, int, float, type(None), dt.date, dt.time, dt.timedelta, decimal.Decimal)


@dataclass(frozen=True, eq=False, slots=True)
class SegmentScan(GroupedRows):
    """A star over the segments of its fact table, whose groups come from workers.

    scan: the pass over all rows, which the coordinator makes where no worker can.
    """

    explain_name = "SegmentScan"

    scan: FusedTableScan
    segment_rows: int
    question: str

    @property
    def star(self) -> Star:
        """What each segment is asked."""
        return self.scan.star

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

    def segments(self, row_count: int) -> list[tuple[int, int]]:
        """Return the ranges of rows, first and behind the last, of a table of so many."""
        step = self.segment_rows
        return [(first, min(first + step, row_count)) for first in range(0, row_count, step)]

    @property
    def details(self) -> dict[str, Any]:
        """What EXPLAIN says of the segments."""
        return {
            "table": self.star.fact,
            "no_bvh": self.scan.reason,
            "rows_touched": self.scan.row_count,
            "segments": len(self.segments(self.scan.row_count)),
            "segment_rows": self.segment_rows,
        }

    @staticmethod
    def lines(said: Mapping[str, Any]) -> dict[str, Any]:
        """Return the lines of EXPLAIN for the details."""
        return {
            "no bvh": said["no_bvh"],
            "rows": said["rows_touched"],
            "at workers": f"{said['segments']} segments of up to {said['segment_rows']} rows",
        }


def distribute(plan: PhysicalPlan, catalog: CatalogInfo, segment_rows: int) -> PhysicalPlan:
    """Return a physical plan whose scans of whole tables are asked of workers, where they can."""
    numbers = fresh_numbers(plan)
    shared: dict[int, PhysicalPlan] = {}

    def go(plan: PhysicalPlan) -> PhysicalPlan:
        if isinstance(plan, FusedTableScan):
            found = _in_segments(plan, catalog, segment_rows, numbers)
            return plan if isinstance(found, str) else found
        if isinstance(plan, CommonTable):
            if plan.number not in shared:
                shared[plan.number] = go(plan.query)
            return replace(plan, query=shared[plan.number])
        return plan.map_sources(go)

    return go(plan)


def at_coordinator(plan: PhysicalPlan, catalog: CatalogInfo) -> tuple[int, list[str]]:
    """Return how many scans are asked of workers, and why other aggregates are not."""
    reasons: list[str] = []
    count = 0
    waiting = [plan]
    for node in waiting:
        waiting += node.children
        match node:
            case SegmentScan():
                count += 1
            case FusedScanAggregate(bvh=bvh):
                reasons.append(f"BVH '{bvh}' is of the whole table")
            case FusedTableScan():
                found = _in_segments(node, catalog, node.row_count, fresh_numbers(plan))
                assert isinstance(found, str), "it would be asked of workers"
                reasons.append(found)
            case DeferredScan():
                reasons.append("its subqueries run first")
            case Aggregate(star=NoStar(reason=reason)) if reason:
                reasons.append(reason)
    if not (count or reasons):
        reasons.append("the query has no aggregate")
    return count, list(dict.fromkeys(reasons))


def _in_segments(
    scan: FusedTableScan, catalog: CatalogInfo, segment_rows: int, numbers: Iterator[int]
) -> PhysicalPlan | str:
    """Return the plan that puts the segments of a scan together, or why there is none."""
    parted = part_star(scan.star, numbers)
    if isinstance(parted, str):
        return parted
    obstacle = scan_obstacle(parted.star, catalog)
    if obstacle is not None:
        return obstacle
    question = question_of(parted.star)
    if question is None:
        return "a constant of it is not sent to workers"
    part = SegmentScan(replace(scan, star=parted.star), segment_rows, question)
    return merge_parts(scan.star, parted, (part,))


def question_of(star: Star) -> str | None:
    """Return what tells a star from all others but for the numbers of its columns, as a digest.

    None where it has a constant that is not spelled. Equal digests are equal questions.
    """
    asked = (
        star.fact,
        star.tables,
        star.predicates,
        tuple(key for _, key in star.keys),
        tuple(call for _, call in star.aggregates),
        star.given,
    )
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
