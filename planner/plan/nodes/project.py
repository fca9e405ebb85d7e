"""Project: new columns in place of the source's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.planner.expressions.show import show
from raydb.planner.plan.nodes.node import Items, Node, read_by
from raydb.planner.plan.nulls import is_never_null
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Column
    from raydb.planner.plan.nodes import Plan


@dataclass(frozen=True, slots=True)
class Project(Node):
    """New columns computed from the source's columns; those not listed are gone."""

    explain_name = "ComputeColumns"
    source_fields = ("source",)
    definition_fields = ("items",)

    source: Plan
    items: Items

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple([column for column, _ in self.items])

    @property
    def summary(self) -> str:
        texts = ((show(expression), column.name) for column, expression in self.items)
        return ", ".join(text if text == name else f"{text} AS {name}" for text, name in texts)

    def prune(self, needed: frozenset[Column]) -> Plan:
        kept = tuple([item for item in self.items if item[0] in needed])
        source = self.source.prune(read_by([e for _, e in kept]))
        is_same = source is self.source and len(kept) == len(self.items)
        return self if is_same else Project(source, kept)

    def never_null(self, catalog: CatalogInfo) -> frozenset[Column]:
        known = self.source.never_null(catalog)
        return frozenset(column for column, e in self.items if is_never_null(e, known))


def only_columns(plan: Plan, columns: Sequence[Column]) -> Plan:
    """Return the plan's rows with these columns only, in this order."""
    if plan.columns == tuple(columns):
        return plan
    return Project(plan, tuple((column, column) for column in columns))
