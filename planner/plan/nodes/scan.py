"""Scan: the rows of a stored table."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from raydb.planner.plan.nodes.node import Node
from raydb.storage.tables.table import ROW_NUMBER
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Column, Literal
    from raydb.planner.plan.nodes import Plan
    from raydb.planner.plan.statistics import Statistics


@dataclass(frozen=True, slots=True)
class IndexLookup:
    """Some values of the columns of a key or an index; `index` is its name.

    keys: for each key that is sought the value of each column, as pairs with `columns`.
    """

    index: str
    columns: tuple[str, ...]
    keys: tuple[tuple[Literal, ...], ...]
    is_unique: bool

    def __str__(self) -> str:
        count = f"{len(self.keys)} key{'' if len(self.keys) == 1 else 's'}"
        return f"{self.index} ({', '.join(self.columns)}), {count}"


@dataclass(frozen=True, slots=True)
class Scan(Node):
    """Rows of a stored table; each output column bears the name of the table's column it reads.

    lookup: set by lowering where only rows with some keys are wanted; others may be among them.
    """

    explain_name = "ScanTable"
    column_fields = ("columns",)

    table: str
    columns: tuple[Column, ...] = field()
    lookup: IndexLookup | None = None

    @property
    def summary(self) -> str:
        names = ", ".join(column.name for column in self.columns)
        return f"{self.table} ({names})" if names else self.table

    @property
    def details(self) -> dict[str, Any]:
        return {} if self.lookup is None else {"index": str(self.lookup)}

    @property
    def is_numbered(self) -> bool:
        """Whether the numbers of rows are read, which is looked up once."""
        known: bool | None = getattr(self, "_is_numbered", None)
        if known is None:
            known = any(column.name == ROW_NUMBER for column in self.columns)
            object.__setattr__(self, "_is_numbered", known)
        return known

    def prune(self, needed: frozenset[Column]) -> Plan:
        if self.column_set <= needed:
            return self
        return replace(self, columns=tuple([c for c in self.columns if c in needed]))

    def estimate(self, statistics: Statistics) -> float:
        return float(statistics.catalog.tables[self.table].row_count)

    def never_null(self, catalog: CatalogInfo) -> frozenset[Column]:
        counts = catalog.tables[self.table].null_counts
        return frozenset(c for c in self.columns if c.name == ROW_NUMBER or not counts[c.name])
