"""Rule: see through projections (of views, derived tables, CTEs) to the joins below them.

Aggregate(sum(r), Project(r := lo_revenue, Join))  ->  Aggregate(sum(lo_revenue), Join)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.planner.expressions.nodes import Column, Expression, substitute
from raydb.planner.expressions.registry import is_volatile
from raydb.planner.plan.nodes import Aggregate, Filter, InnerJoin, Plan, Project
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raydb.planner.catalog import CatalogInfo


def inline_projects(plan: Plan, catalog: CatalogInfo) -> Plan:
    """Replace the columns of a projection by their expressions, and move it up or away."""
    plan = plan.map_sources(lambda source: inline_projects(source, catalog), leaves=False)
    match plan:
        case (
            Project(source=Project(source=inner, items=below))
            | Aggregate(source=Project(source=inner, items=below))
        ) if _is_stable(below):
            return _substitute(replace(plan, source=inner), dict(below))
        case Filter(source=Project(source=inner, items=below)) if _is_stable(below):
            # The projection moves above the filter, where the next node can absorb it.
            return Project(_substitute(replace(plan, source=inner), dict(below)), below)
        case InnerJoin(sources=sources) if any(map(_is_lifted, sources)):
            return _lift_projects(plan)
        case _:
            return plan


def _is_stable(items: Sequence[tuple[Column, Expression]]) -> bool:
    """Tell whether expressions have the same value wherever and however often they stand."""
    return not any(map(is_volatile, [value for _, value in items if type(value) is not Column]))


def _is_lifted(plan: Plan) -> bool:
    return isinstance(plan, Project) and _is_stable(plan.items)


def _substitute(plan: Plan, definitions: Mapping[Column, Expression]) -> Plan:
    """Replace defined columns in the expressions of one node."""
    return plan.map_expressions(lambda expression: substitute(expression, definitions))


def _lift_projects(join: InnerJoin) -> Plan:
    """Join the projections' sources, and project once above the join."""
    definitions: dict[Column, Expression] = {}
    sources: list[Plan] = []
    for source in join.sources:
        if isinstance(source, Project) and _is_stable(source.items):
            definitions.update(source.items)
            sources.append(source.source)
        else:
            sources.append(source)
    items = tuple((column, definitions.get(column, column)) for column in join.columns)
    return Project(_substitute(replace(join, sources=tuple(sources)), definitions), items)
