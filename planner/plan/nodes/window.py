"""Window: functions of the rows around a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raydb.planner.expressions.nodes import expressions_of
from raydb.planner.expressions.show import show_window
from raydb.planner.plan.nodes.node import Node, read_by
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Column, WindowCall
    from raydb.planner.plan.nodes import Plan


NUMBERING = ("row_number", "rank", "dense_rank")


@dataclass(frozen=True, slots=True)
class Window(Node):
    """The source's rows with a column more for each window function.

    most: rows whose number in their partition is greater may be left out, where that is told.
    """

    explain_name = "WindowRows"
    source_fields = ("source",)
    definition_fields = ("calls",)

    source: Plan
    calls: tuple[tuple[Column, WindowCall], ...]
    most: int | None = None

    @property
    def summary(self) -> str:
        return ", ".join(show_window(call) for _, call in self.calls)

    @property
    def details(self) -> dict[str, Any]:
        """How many rows of each partition are wanted."""
        return {} if self.most is None else {"of each partition": f"the first {self.most}"}

    def prune(self, needed: frozenset[Column]) -> Plan:
        kept = tuple(item for item in self.calls if item[0] in needed)
        read = read_by(e for _, call in kept for e in expressions_of(call))
        source = self.source.prune(needed | read)
        return replace(self, source=source, calls=kept) if kept else source

    def never_null(self, catalog: CatalogInfo) -> frozenset[Column]:
        numbers = frozenset(c for c, call in self.calls if call.function in NUMBERING)
        return self.source.never_null(catalog) | numbers
