"""Rule: an aggregate over the rows of several stars puts the groups of each together.

sum(x) by y over (a UNION ALL b)   ->   sum(s) by y over (sum(x) AS s by y over a
                                                           UNION ALL sum(x) AS s by y over b)

It does where each branch is a star that a fused job may answer; a dimension that is joined to the
union is joined to each branch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.planner.expressions.nodes import Column, Expression, map_call, substitute
from raydb.planner.plan.common_tables import fresh_numbers
from raydb.planner.plan.nodes import (
    Aggregate,
    Filter,
    InnerJoin,
    NoStar,
    Plan,
    Project,
    Scan,
    Star,
    Union,
)
from raydb.planner.rules.inline_projects import inline_projects
from raydb.planner.rules.merge_joins import merge_joins
from raydb.planner.stars.delta import Parted, part_star
from raydb.planner.stars.star import match_star, without_filter
from raydb.planner.stars.table_scan import scan_obstacle
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from raydb.planner.catalog import CatalogInfo

    # Returns what an aggregate is made of, with new numbers; None for one that is left.
    Split = Callable[[Aggregate, Iterator[int], CatalogInfo], Plan | None]

    # A branch, and what the union's columns are in it.
    Branch = tuple[Plan, dict[Column, Expression]]


def split_unions(plan: Plan, catalog: CatalogInfo) -> Plan:
    """Aggregate the branches of unions one by one."""
    return split_aggregates(plan, catalog, _split)


def split_aggregates(plan: Plan, catalog: CatalogInfo, split: Split) -> Plan:
    """Return the plan with `split` applied to each aggregate over one set of keys, if it can be."""
    return _split_each(plan, fresh_numbers(plan), catalog, split)


def _split_each(plan: Plan, numbers: Iterator[int], catalog: CatalogInfo, split: Split) -> Plan:
    plan = plan.map_sources(lambda source: _split_each(source, numbers, catalog, split))
    if isinstance(plan, Aggregate) and plan.grouping is None:
        return split(plan, numbers, catalog) or plan
    return plan


def _split(plan: Aggregate, numbers: Iterator[int], catalog: CatalogInfo) -> Plan | None:
    """Return an aggregate made of the groups of each branch; None where that is no gain."""
    branches = _branches(plan.source, numbers)
    if branches is None or any(call.distinct or call.order_by for _, call in plan.aggregates):
        return None
    calls = tuple((column, without_filter(call)) for column, call in plan.aggregates)
    whole = Star("", (), (), plan.keys, calls)
    parted = part_star(whole, numbers)
    if isinstance(parted, str):
        return None
    parts = [_part(branch, parted, numbers, catalog) for branch in branches]
    if not all(may_fuse(part, catalog) for part in parts):
        return None
    columns = tuple(column for column, _ in (*parted.star.keys, *parted.star.aggregates))
    keys = tuple((column, column) for column, _ in plan.keys)
    groups = Aggregate(Union(tuple(parts), columns), keys, parted.merged, NoStar(""))
    return Project(groups, parted.items)


def _branches(plan: Plan, numbers: Iterator[int]) -> list[Branch] | None:
    """Return the rows of a plan over a union branch by branch, None where it is none."""
    match plan:
        case Union(sources=sources, columns=columns):
            return [(each, dict(zip(columns, each.columns, strict=True))) for each in sources]
        case Filter(source=source, predicate=predicate):
            below = _branches(source, numbers)
            if below is None:
                return None
            return [(Filter(each, substitute(predicate, names)), names) for each, names in below]
        case Project(source=source, items=items):
            below = _branches(source, numbers)
            if below is None:
                return None
            return [(each, {c: substitute(e, names) for c, e in items}) for each, names in below]
        case InnerJoin(sources=sources, conditions=conditions):
            tables = [source for source in sources if _is_table(source)]
            others = [source for source in sources if not _is_table(source)]
            below = _branches(others[0], numbers) if len(others) == 1 else None
            if below is None:
                return None
            joined: list[Branch] = []
            for each, names in below:
                copies = [_copy(table, numbers) for table in tables]
                every = names.copy()
                for _, renamed in copies:
                    every |= renamed
                own = tuple(substitute(condition, every) for condition in conditions)
                joined.append((InnerJoin((each, *(copy for copy, _ in copies)), own), every))
            return joined
        case _:
            return None


def _is_table(plan: Plan) -> bool:
    return isinstance(plan, Scan) or (isinstance(plan, Filter) and _is_table(plan.source))


def _copy(plan: Plan, numbers: Iterator[int]) -> Branch:
    """Return a table's rows with columns of their own."""
    if isinstance(plan, Filter):
        source, names = _copy(plan.source, numbers)
        return Filter(source, substitute(plan.predicate, names)), names
    assert isinstance(plan, Scan)
    copies = {column: replace(column, number=next(numbers)) for column in plan.columns}
    return replace(plan, columns=tuple(copies.values())), dict(copies)


def _part(
    branch: Branch, parted: Parted, numbers: Iterator[int], catalog: CatalogInfo
) -> Aggregate:
    """Return the groups of a branch."""
    source, names = branch
    keys = tuple(
        (replace(column, number=next(numbers)), substitute(key, names))
        for column, key in parted.star.keys
    )
    calls = tuple(
        (replace(column, number=next(numbers)), map_call(call, lambda e: substitute(e, names)))
        for column, call in parted.star.aggregates
    )
    part = merge_joins(inline_projects(Aggregate(source, keys, calls), catalog), catalog)
    assert isinstance(part, Aggregate)
    return part


def may_fuse(part: Plan, catalog: CatalogInfo) -> bool:
    """Tell whether a part is a star that a fused job may answer."""
    assert isinstance(part, Aggregate)
    star = match_star(part, catalog)
    if isinstance(star, NoStar):
        return False
    has_bvh = any(bvh.definition.table == star.fact for bvh in catalog.bvhs.values())
    return has_bvh or scan_obstacle(star, catalog) is None
