"""The ordered rules from a bound plan to an optimized one, each plan -> plan.

A rule has the name of its file in `rules/`, which is imported for the first plan that needs it.
"""

from __future__ import annotations

from functools import cache, lru_cache, partial
from importlib import import_module
from typing import TYPE_CHECKING

from raydb.planner.expressions.nodes import Subquery
from raydb.planner.plan.common_tables import (
    COMPUTED_KEYS,
    CONSTANTS,
    DATE_CASTS,
    FILTERS,
    INNER_PROJECTS,
    INNER_SORTS,
    KEYS_ALONE,
    Contents,
    contents,
    map_queries,
)
from raydb.planner.plan.enum_codes import coded
from raydb.planner.plan.nodes import (
    Aggregate,
    Apply,
    CommonTable,
    Filter,
    InnerJoin,
    Limit,
    NoStar,
    OuterJoin,
    SemiJoin,
    Star,
    Union,
)
from raydb.planner.rules import prune_columns, reduce_pairs
from raydb.storage.enums import EnumType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.plan.nodes import Plan

    Rule = Callable[[Plan, CatalogInfo], Plan]

# What takes joins apart and orders them; what is below a star is left as it was matched.
_PLACING_RULES: tuple[str, ...] = (
    "imply_filters",
    "push_down_filters",
    "lift_outer_joins",
    "find_anti_joins",
    "push_down_semi_joins",
    "push_down_limits",
    "order_joins",
    "reduce_group_keys",
    "prune_columns",
    "reduce_pairs",
)

# Projects go first, so that joins below them meet; stars are matched on whole joins.
_MATCHING_RULES: tuple[str, ...] = (
    "fix_clock",
    "fold_constants",
    "compare_instants",
    "compare_dates",
    "factor_disjunctions",
    "remove_redundant",
    "inline_projects",
    "strengthen_joins",
    "merge_joins",
    "filter_common_tables",
    "split_unions",
    "split_outer_joins",
    "lift_computed_keys",
    "match_stars",
)

# The other rules know no subqueries.
_OPENING_RULES: tuple[str, ...] = ("inline_common_tables", "unnest_subqueries")

# What an inner join may come of.
_JOINED = (InnerJoin, OuterJoin, SemiJoin, Union, CommonTable, FILTERS)

# Rules that change nothing in a plan without one of some nodes or functions, which a look at it
# tells. Of them only unnesting makes new ones.
NEEDS: Mapping[str, tuple[type | str, ...]] = {
    "inline_common_tables": (CommonTable,),
    "unnest_subqueries": (Apply, Subquery),
    "fix_clock": ("now",),
    "fold_constants": (CONSTANTS, EnumType),
    "compare_instants": ("cast_in_zone",),
    "compare_dates": (DATE_CASTS,),
    "factor_disjunctions": ("or",),
    "remove_redundant": (CONSTANTS, EnumType, KEYS_ALONE, INNER_SORTS),
    "inline_projects": (INNER_PROJECTS, Union, OuterJoin, CommonTable),
    "strengthen_joins": (OuterJoin,),
    "merge_joins": _JOINED,
    "filter_common_tables": (CommonTable,),
    "split_unions": (Union,),
    "split_outer_joins": (OuterJoin,),
    "lift_computed_keys": (COMPUTED_KEYS, INNER_PROJECTS),
    "match_stars": (Aggregate,),
    "imply_filters": _JOINED,
    "push_down_filters": (Filter, *_JOINED),
    "lift_outer_joins": (OuterJoin,),
    "find_anti_joins": (OuterJoin,),
    "push_down_semi_joins": (SemiJoin,),
    "push_down_limits": (Limit,),
    "order_joins": _JOINED,
    "reduce_group_keys": (Aggregate,),
    "reduce_pairs": _JOINED,
}

# Who is shown each rule's name, the plan before it and the plan after it: a verifier, a debugger.
watchers: list[Callable[[str, Plan, Plan, CatalogInfo], None]] = []


def optimize(plan: Plan, catalog: CatalogInfo, found: Contents | None = None) -> Plan:
    """Apply every rule once, in order, also to each common table expression that is left.

    found: the plan's `contents`, where they are known. Rules that have nothing to change are left
    out.
    """
    kinds = (contents(plan) if found is None else found).kinds
    if EnumType in kinds:
        plan = coded(plan)
    if opening := needed_rules(_OPENING_RULES, kinds):
        plan = _apply_all(opening, catalog, plan)
        kinds = contents(plan).kinds
    rules = needed_rules(_MATCHING_RULES, kinds)
    if CommonTable not in kinds:
        return _match_and_place(rules, catalog, plan)
    # One rule looks at a query together with those of WITH that it reads.
    place = rules.index("filter_common_tables")
    plan = map_queries(plan, partial(_apply_all, rules[:place], catalog))
    plan = _apply("filter_common_tables", catalog, plan)
    plan = map_queries(plan, partial(_match_and_place, rules[place + 1 :], catalog))
    return reduce_pairs.reduce_pairs_of_common_tables(prune_columns.prune_common_tables(plan))


def _match_and_place(matching: Iterable[str], catalog: CatalogInfo, plan: Plan) -> Plan:
    """Apply rules up to the one that matches stars, and those that leave stars alone."""
    return optimize_apart(_apply_all(matching, catalog, plan), catalog)


def optimize_unfused(plan: Aggregate, catalog: CatalogInfo) -> Plan:
    """Apply the rules that leave a star alone to one that no fused job answers."""
    assert isinstance(plan.star, NoStar)
    return optimize_apart(plan, catalog)


def optimize_apart(plan: Plan, catalog: CatalogInfo) -> Plan:
    """Apply the rules that leave a star alone, as to a subquery that was a part of one."""
    kinds: set[type | str] = set()
    nodes = [plan]
    for node in nodes:
        if isinstance(node, Aggregate) and isinstance(node.star, Star):
            kinds.add(Star)
            continue
        kinds.add(type(node))
        nodes += node.sources
    return _apply_all(needed_rules(_PLACING_RULES, frozenset(kinds)), catalog, plan)


@lru_cache(maxsize=256)
def needed_rules(rules: tuple[str, ...], kinds: frozenset[type | str]) -> tuple[str, ...]:
    """Return the rules that may change something in a plan with these contents."""
    return tuple(r for r in rules if r not in NEEDS or not kinds.isdisjoint(NEEDS[r]))


def _apply_all(rules: Iterable[str], catalog: CatalogInfo, plan: Plan) -> Plan:
    for rule in rules:
        plan = _apply(rule, catalog, plan)
    return plan


def _apply(rule: str, catalog: CatalogInfo, plan: Plan) -> Plan:
    after = _rule_of(rule)(plan, catalog)
    for watch in watchers:
        watch(rule, plan, after, catalog)
    return after


@cache
def _rule_of(name: str) -> Rule:
    """Return the rule of a name, which is also that of its file."""
    found: Rule = getattr(import_module(f"raydb.planner.rules.{name}"), name)
    return found
