"""Rule: take no more rows from below than a LIMIT lets through.

Limit(5, Project(q))       ->  Project(Limit(5, q))
Limit(5, Limit(3, q))      ->  Limit(3, q)
Limit(5, Union(a, b))      ->  Limit(5, Union(Limit(5, a), Limit(5, b)))
Limit(5, a LEFT JOIN b)    ->  Limit(5, Limit(5, a) LEFT JOIN b)
Limit(5, a CROSS JOIN b)   ->  Limit(5, Limit(5, a) CROSS JOIN Limit(5, b))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.planner.plan.nodes import InnerJoin, Limit, OuterJoin, Plan, Project, Union
from raydb.planner.stars.star import map_unfused_sources
from raydb.values import replace

if TYPE_CHECKING:
    from raydb.planner.catalog import CatalogInfo


def push_down_limits(plan: Plan, catalog: CatalogInfo) -> Plan:
    """Move each limit below what gives a row for every row, or repeat it there."""
    match plan:
        case Limit(source=Project() as project):
            moved = push_down_limits(replace(plan, source=project.source), catalog)
            return replace(project, source=moved)
        case Limit(source=Limit() as inner):
            return push_down_limits(_merged(plan, inner), catalog)
        case Limit(source=Union(sources=sources) as union, count=int()):
            first = tuple(_first_rows(source, plan) for source in sources)
            plan = replace(plan, source=replace(union, sources=first))
        case Limit(source=InnerJoin(sources=sources, conditions=()) as join, count=int()):
            # Each row of one side meets every row of the others.
            first = tuple(_first_rows(source, plan) for source in sources)
            plan = replace(plan, source=replace(join, sources=first))
        case Limit(source=OuterJoin(kind="left", left=left) as join, count=int()):
            # Each row on the left gives one row or more, in the order of the left.
            plan = replace(plan, source=replace(join, left=_first_rows(left, plan)))
        case _:
            pass
    return map_unfused_sources(plan, lambda source: push_down_limits(source, catalog))


def _merged(outer: Limit, inner: Limit) -> Limit:
    """Return the one limit that gives what two do."""
    count = outer.count
    if inner.count is not None:
        left = max(inner.count - outer.offset, 0)
        count = left if count is None else min(count, left)
    return Limit(inner.source, count, inner.offset + outer.offset)


def _first_rows(source: Plan, limit: Limit) -> Plan:
    assert limit.count is not None
    return Limit(source, limit.count + limit.offset)
