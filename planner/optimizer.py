"""The ordered rules from a bound plan to an optimized one, each plan -> plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.planner.rules.fold_constants import fold_constants
from raydb.planner.rules.inline_projects import inline_projects
from raydb.planner.rules.match_stars import match_stars
from raydb.planner.rules.merge_joins import merge_joins
from raydb.planner.rules.order_joins import order_joins
from raydb.planner.rules.prune_columns import prune_columns
from raydb.planner.rules.push_down_filters import push_down_filters

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.logical import Plan

    Rule = Callable[[Plan, CatalogInfo], Plan]

# Projects go first, so that joins below them meet; stars are matched on whole joins, before
# filters and join order take them apart.
RULES: tuple[Rule, ...] = (
    fold_constants,
    inline_projects,
    merge_joins,
    match_stars,
    push_down_filters,
    order_joins,
    prune_columns,
)


def check_rule(rule: str, before: Plan, after: Plan, catalog: CatalogInfo) -> None:
    """Called after each rule; the tests put `planner.verify.verify_rule` in its place."""


def optimize(plan: Plan, catalog: CatalogInfo) -> Plan:
    """Apply every rule once, in order."""
    for rule in RULES:
        after = rule(plan, catalog)
        check_rule(rule.__name__, plan, after, catalog)
        plan = after
    return plan
