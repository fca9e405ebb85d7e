"""Sort, Limit and TopRows: rows in order, and the first of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raydb.planner.expressions.show import show
from raydb.planner.plan.nodes.node import Node
from raydb.values import dataclass

if TYPE_CHECKING:
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Column, Expression
    from raydb.planner.plan.nodes import Plan, Scan
    from raydb.planner.plan.statistics import Statistics


@dataclass(frozen=True, slots=True)
class SortKey:
    """A column to order by, one of the source's."""

    column: Column
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, slots=True)
class Sort(Node):
    """The source's rows in order; rows that compare equal come in any order."""

    explain_name = "SortRows"
    source_fields = ("source",)

    source: Plan
    keys: tuple[SortKey, ...]

    @property
    def required_columns(self) -> frozenset[Column]:
        return frozenset(key.column for key in self.keys)

    @property
    def summary(self) -> str:
        return show_keys(self.keys)

    def never_null(self, catalog: CatalogInfo) -> frozenset[Column]:
        return self.source.never_null(catalog)


@dataclass(frozen=True, slots=True)
class Limit(Node):
    """`count` rows (all where None) after the first `offset`.

    reason: why they are not searched for by an index that has their order.
    """

    explain_name = "LimitRows"
    source_fields = ("source",)

    source: Plan
    count: int | None
    offset: int = 0
    reason: str = ""

    @property
    def details(self) -> dict[str, Any]:
        return {"index": f"not used ({self.reason})"} if self.reason else {}

    @property
    def summary(self) -> str:
        count = "all" if self.count is None else str(self.count)
        return f"{count} after {self.offset}" if self.offset else count

    def estimate(self, statistics: Statistics) -> float:
        size = statistics.row_count(self.source)
        return size if self.count is None else min(size, float(self.count))

    def never_null(self, catalog: CatalogInfo) -> frozenset[Column]:
        return self.source.never_null(catalog)


@dataclass(frozen=True, slots=True)
class TopRows(Node):
    """The first `count` rows of the source in order, after `offset` of them.

    They are sought among what the first rows of one table give, and among all only where these
    give too few: a row of the source has one row of the table.

    scan: the table's, somewhere below. value: the first key, over the scan's columns. share: about
    how many rows of the source a row of the table gives.
    """

    explain_name = "TopRows"
    source_fields = ("source",)

    source: Plan
    keys: tuple[SortKey, ...]
    count: int
    offset: int
    scan: Scan
    value: Expression
    share: float

    @property
    def required_columns(self) -> frozenset[Column]:
        return frozenset(key.column for key in self.keys)

    @property
    def summary(self) -> str:
        after = f" after {self.offset}" if self.offset else ""
        return f"{self.count}{after} by {show_keys(self.keys)}"

    @property
    def details(self) -> dict[str, Any]:
        most = "most" if self.keys[0].descending else "least"
        return {"sought": f"among the rows of '{self.scan.table}' of {most} {show(self.value)}"}


def show_keys(keys: tuple[SortKey, ...]) -> str:
    """Return what ORDER BY says."""
    return ", ".join(key.column.name + (" DESC" if key.descending else "") for key in keys)
