"""Rule: one n-ary inner join for nested ones and the filters among them.

Filter(p, InnerJoin([InnerJoin([a, b], [x]), Filter(q, c)], [y]))
->  InnerJoin([a, b, c], [x, q, y, p])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.planner.expressions.nodes import Expression, conjuncts
from raydb.planner.plan.nodes import Filter, InnerJoin, Plan

if TYPE_CHECKING:
    from raydb.planner.catalog import CatalogInfo


def merge_joins(plan: Plan, catalog: CatalogInfo) -> Plan:
    """Merge inner joins and filters into n-ary joins whose conditions are conjuncts."""
    match plan:
        case Filter(source=InnerJoin() | Filter()) | InnerJoin():
            sources: list[Plan] = []
            conditions: dict[Expression, None] = {}
            _collect(plan, sources, conditions)
            merged = [
                merge_joins(each, catalog) if each.source_fields else each for each in sources
            ]
            return InnerJoin(tuple(merged), tuple(conditions))
        case _:
            return plan.map_sources(lambda source: merge_joins(source, catalog), leaves=False)


def _collect(plan: Plan, sources: list[Plan], conditions: dict[Expression, None]) -> None:
    """Add the sources and the conjuncts of a tree of filters and inner joins."""
    match plan:
        case Filter(source=source, predicate=predicate):
            _collect(source, sources, conditions)
            conditions.update(dict.fromkeys(conjuncts(predicate)))
        case InnerJoin():
            for source in plan.sources:
                if source.source_fields:
                    _collect(source, sources, conditions)
                else:
                    sources.append(source)
            for condition in plan.conditions:
                conditions.update(dict.fromkeys(conjuncts(condition)))
        case _:
            sources.append(plan)
