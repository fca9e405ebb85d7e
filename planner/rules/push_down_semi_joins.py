"""Rule: a semi or anti join with one table of a join comes before the join, where it is a filter.

(a JOIN b) SEMI JOIN c ON a.x = c.x   ->  (a SEMI JOIN c ON a.x = c.x) JOIN b

It does where the right side is the smaller one; a large one had better meet the few rows that the
join leaves. Joins that it stood between become one, whose sources are ordered together.
"""

from __future__ import annotations

from itertools import chain
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
    match plan:
        case SemiJoin(kind="semi" | "anti"):
            return _push(plan, plan.left, statistics) or plan
        case InnerJoin() if any(isinstance(source, InnerJoin) for source in plan.sources):
            return _merge(plan)
        case _:
            return plan


def _merge(join: InnerJoin) -> InnerJoin:
    """Return an inner join with the sources and the conditions of those that are its sources."""
    inner = [source for source in join.sources if isinstance(source, InnerJoin)]
    sources = [each.sources if isinstance(each, InnerJoin) else (each,) for each in join.sources]
    conditions = [condition for each in (*inner, join) for condition in each.conditions]
    return InnerJoin(tuple(chain.from_iterable(sources)), tuple(dict.fromkeys(conditions)))


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
