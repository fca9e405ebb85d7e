"""Unnest: a row for every element of a list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.planner.expressions.show import show
from raydb.planner.plan.nodes.node import Items, Node
from raydb.values import dataclass

if TYPE_CHECKING:
    from raydb.planner.expressions.nodes import Column
    from raydb.planner.plan.nodes import Plan
    from raydb.planner.plan.statistics import Statistics

# Elements that a list has, of which nothing is known.
LIST_LENGTH = 10.0


@dataclass(frozen=True, slots=True)
class Unnest(Node):
    """The source's rows, each once for every element of its lists, which are in new columns.

    Several lists go side by side, the shorter ones filled up with NULL. A row without any element
    is left out, or stays with NULLs if `keep`. `number` counts the elements of a row from 1.
    """

    explain_name = "UnnestRows"
    source_fields = ("source",)
    definition_fields = ("items",)
    column_fields = ("number",)

    source: Plan
    items: Items
    keep: bool = False
    number: Column | None = None

    @property
    def summary(self) -> str:
        return ", ".join(show(expression) for _, expression in self.items)

    def estimate(self, statistics: Statistics) -> float:
        return statistics.row_count(self.source) * LIST_LENGTH
