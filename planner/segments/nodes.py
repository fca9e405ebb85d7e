"""SegmentScan and SegmentRows: what workers give of segments, ranges of rows or of places."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from raydb.planner.expressions.nodes import attributes_of, expressions_of
from raydb.planner.plan.nodes.aggregate import GroupedRows
from raydb.planner.plan.nodes.node import Node
from raydb.planner.stars.fused_scan import FusedScanAggregate
from raydb.planner.stars.table_scan import FusedTableScan
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raydb.planner.expressions.nodes import Column, Expression
    from raydb.planner.plan.nodes import PhysicalPlan, Star
    from raydb.planner.plan.nodes.node import Calls, Items

# Aggregates of parts that are the same in whatever order rows are added up.
_ORDERLESS = frozenset({"count", "count_star", "min", "max", "bit_and", "bit_or", "bit_xor"})


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
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


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class SegmentRows(Node):
    """The rows of each segment of a table, in the order of segments, which come from workers.

    rows: what each segment is asked, and what the coordinator runs where no worker can.
    tables: those that are read, the one with segments first. predicates: what every row of it
    fulfils that comes. slices: so many parts of a search are the segments, 0 for ranges of rows.
    """

    explain_name = "SegmentRows"
    column_fields = ("columns",)

    rows: PhysicalPlan
    columns: tuple[Column, ...] = field()
    tables: tuple[str, ...] = field()
    predicates: tuple[Expression, ...]
    segment_rows: int
    question: str
    slices: int = 0

    bvh: ClassVar[str] = ""

    @property
    def is_exact(self) -> bool:
        """Whether a worker gives the rows of its segments together."""
        return bool(self.slices)

    @property
    def fact(self) -> str:
        """The table whose rows are read in segments."""
        return self.tables[0]

    @property
    def summary(self) -> str:
        """What EXPLAIN says beside the name."""
        each = "slice" if self.slices else "segment"
        return f"{self.rows.explain_name} {self.rows.summary} of each {each}"

    @property
    def details(self) -> dict[str, Any]:
        """What EXPLAIN says of the segments."""
        return {
            "table": self.fact,
            "at_workers": f"{self.slices} slices"
            if self.slices
            else f"segments of up to {self.segment_rows} rows",
        }


def ranges_of(row_count: int, segment_rows: int) -> list[tuple[int, int]]:
    """Return the ranges of segments, first and behind the last, of so many rows or places."""
    firsts = range(0, row_count, segment_rows)
    return [(first, min(first + segment_rows, row_count)) for first in firsts]
