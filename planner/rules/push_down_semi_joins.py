"""Rule: a semi or anti join with one table of a join comes before the join, where it is a filter.

(a JOIN b) SEMI JOIN c ON a.x = c.x   ->  (a SEMI JOIN c ON a.x = c.x) JOIN b

It does where the right side is the smaller one; a large one had better meet the few rows that the
join leaves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.planner.expressions.nodes import columns_of
from raydb.planner.plan.nodes import InnerJoin, Plan, SemiJoin
from raydb.planner.plan.statistics import Statistics
from raydb.planner.stars.star import map_unfused_sources
from raydb.values import replace

if TYPE_CHECKING:
    from raydb.planner.catalog import CatalogInfo


def push_down_semi_joins(plan: Plan, catalog: CatalogInfo) -> Plan:
    """Move each semi and anti join to the one source of a join that it reads."""
    return _push_all(plan, Statistics(catalog))


def _push_all(plan: Plan, statistics: Statistics) -> Plan:
    plan = map_unfused_sources(plan, lambda source: _push_all(source, statistics))
    if isinstance(plan, SemiJoin) and plan.kind != "mark":
        return _push(plan, plan.left, statistics) or plan
    return plan


def _push(join: SemiJoin, source: Plan, statistics: Statistics) -> Plan | None:
    """Return `source` with the join inside of it; None where the join does not move."""
    match source:
        case SemiJoin(left=left):
            below = _push(join, left, statistics)
            return None if below is None else replace(source, left=below)
        case InnerJoin(sources=sources):
            for place, each in enumerate(sources):
                if _belongs(join, each, statistics):
                    filtered = replace(join, left=each)
                    rest = (*sources[:place], filtered, *sources[place + 1 :])
                    return replace(source, sources=rest)
            return None
        case _:
            return None


def _belongs(join: SemiJoin, source: Plan, statistics: Statistics) -> bool:
    read = {column for condition in join.conditions for column in columns_of(condition)}
    read -= join.right.column_set
    if not read or not read <= source.column_set:
        return False
    return statistics.row_count(join.right) < statistics.row_count(source)
