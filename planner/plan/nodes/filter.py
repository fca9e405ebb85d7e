"""Filter: the rows for which a predicate is true."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.planner.expressions.nodes import conjunction, conjuncts
from raydb.planner.expressions.show import show
from raydb.planner.plan.nodes.node import Node
from raydb.planner.plan.nulls import required_by
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Column, Expression
    from raydb.planner.plan.nodes import Plan
    from raydb.planner.plan.statistics import Statistics


@dataclass(frozen=True, slots=True)
class Filter(Node):
    """Rows for which the predicate is true (neither false nor NULL)."""

    explain_name = "FilterRows"
    source_fields = ("source",)
    expression_fields = ("predicate",)

    source: Plan
    predicate: Expression

    @property
    def summary(self) -> str:
        return show(self.predicate)

    def estimate(self, statistics: Statistics) -> float:
        share = statistics.share_kept(self.source, self.predicate)
        return statistics.row_count(self.source) * share

    def never_null(self, catalog: CatalogInfo) -> frozenset[Column]:
        required = required_by(conjuncts(self.predicate), self.columns)
        return self.source.never_null(catalog) | required


def filter_rows(source: Plan, predicates: Sequence[Expression]) -> Plan:
    """Return the source under a filter of all predicates, if there are any."""
    return Filter(source, conjunction(predicates)) if predicates else source
