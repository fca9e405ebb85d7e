"""Rule: mark every aggregate as a star, or with the reason why it is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.planner.plan.nodes import Aggregate, Plan
from raydb.planner.stars.star import match_star
from raydb.values import replace

if TYPE_CHECKING:
    from raydb.planner.catalog import CatalogInfo


def match_stars(plan: Plan, catalog: CatalogInfo) -> Plan:
    """Set `star` on each aggregate that has none."""
    plan = plan.map_sources(lambda source: match_stars(source, catalog), leaves=False)
    if isinstance(plan, Aggregate) and plan.star is None:
        return replace(plan, star=match_star(plan, catalog))
    return plan
