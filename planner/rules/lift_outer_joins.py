"""Rule: what filters the left rows of an outer join comes before it.

(a LEFT JOIN b) JOIN c ON a.x = c.x   ->  (a JOIN c ON a.x = c.x) LEFT JOIN b

It does where the inner join leaves fewer rows than there are on the left; the outer join then has
fewer to find partners for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.planner.expressions.nodes import columns_of, conjuncts
from raydb.planner.expressions.registry import is_volatile
from raydb.planner.plan.nodes import Filter, InnerJoin, OuterJoin, Plan, filter_rows, only_columns
from raydb.planner.plan.statistics import Statistics
from raydb.planner.stars.star import map_unfused_sources

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Expression


def lift_outer_joins(plan: Plan, catalog: CatalogInfo) -> Plan:
    """Move left joins above the inner joins that they are sources of."""
    return _lift_all(plan, Statistics(catalog))


def _lift_all(plan: Plan, statistics: Statistics) -> Plan:
    plan = map_unfused_sources(plan, lambda source: _lift_all(source, statistics))
    if not isinstance(plan, InnerJoin):
        return plan
    for place, source in enumerate(plan.sources):
        match source:
            case OuterJoin(kind="left"):
                lifted = _lift(plan, place, source, (), statistics)
            case Filter(source=OuterJoin(kind="left") as outer, predicate=predicate):
                lifted = _lift(plan, place, outer, conjuncts(predicate), statistics)
            case _:
                continue
        if lifted is not None:
            return only_columns(lifted, plan.columns)
    return plan


def _lift(
    join: InnerJoin,
    place: int,
    outer: OuterJoin,
    filters: Sequence[Expression],
    statistics: Statistics,
) -> Plan | None:
    """Return the join with one of its sources above it; None where that leaves no fewer rows.

    filters: what that source is filtered by.
    """
    right = outer.right.column_set
    below = tuple(
        each
        for each in join.conditions
        if right.isdisjoint(columns_of(each)) and not is_volatile(each)
    )
    above = [*filters, *(each for each in join.conditions if each not in below)]
    others = (*join.sources[:place], *join.sources[place + 1 :])
    left = outer.left
    inner = InnerJoin((left, *others), below)
    if statistics.row_count(inner) >= statistics.row_count(left):
        return None
    if isinstance(left, InnerJoin):
        inner = InnerJoin((*left.sources, *others), (*left.conditions, *below))
    lifted = OuterJoin("left", _lift_all(inner, statistics), outer.right, outer.conditions)
    return filter_rows(lifted, above)
