"""Window: functions of the rows around a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.planner.expressions.nodes import expressions_of
from raydb.planner.expressions.show import show_window
from raydb.planner.plan.nodes.node import Node, read_by
from raydb.values import dataclass

if TYPE_CHECKING:
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Column, WindowCall
    from raydb.planner.plan.nodes import Plan


_NUMBERING = ("row_number", "rank", "dense_rank")


@dataclass(frozen=True, slots=True)
class Window(Node):
    """The source's rows with a column more for each window function."""

    explain_name = "WindowRows"
    source_fields = ("source",)
    definition_fields = ("calls",)

    source: Plan
    calls: tuple[tuple[Column, WindowCall], ...]

    @property
    def summary(self) -> str:
        return ", ".join(show_window(call) for _, call in self.calls)

    def prune(self, needed: frozenset[Column]) -> Plan:
        kept = tuple(item for item in self.calls if item[0] in needed)
        read = read_by(e for _, call in kept for e in expressions_of(call))
        source = self.source.prune(needed | read)
        return Window(source, kept) if kept else source

    def never_null(self, catalog: CatalogInfo) -> frozenset[Column]:
        numbers = frozenset(c for c, call in self.calls if call.function in _NUMBERING)
        return self.source.never_null(catalog) | numbers
