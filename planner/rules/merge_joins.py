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
            sources, conditions = _collect(plan)
            merged = [
                merge_joins(each, catalog) if each.source_fields else each for each in sources
            ]
            return InnerJoin(tuple(merged), tuple(dict.fromkeys(conditions)))
        case _:
            return plan.map_sources(lambda source: merge_joins(source, catalog), leaves=False)


def _collect(plan: Plan) -> tuple[list[Plan], list[Expression]]:
    """Return the sources and the conjuncts of a tree of filters and inner joins."""
    match plan:
        case Filter(source=source, predicate=predicate):
            sources, conditions = _collect(source)
            return sources, [*conditions, *conjuncts(predicate)]
        case InnerJoin():
            collected = [_collect(source) for source in plan.sources]
            own = [part for condition in plan.conditions for part in conjuncts(condition)]
            return (
                [source for sources, _ in collected for source in sources],
                [part for _, conditions in collected for part in conditions] + own,
            )
        case _:
            return [plan], []
