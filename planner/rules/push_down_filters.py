"""Rule: filter rows as early as their columns are known.

InnerJoin([a, b], [a.x = b.x, a.y > 1])  ->  InnerJoin([Filter(a.y > 1, a), b], [a.x = b.x])
Filter(a.y > 1, a LEFT JOIN b)           ->  Filter(a.y > 1, a) LEFT JOIN b
Filter(b.y > 1, (a JOIN b) LEFT JOIN c)  ->  (a JOIN Filter(b.y > 1, b)) LEFT JOIN c
a LEFT JOIN b ON a.x = b.x AND b.y > 1   ->  a LEFT JOIN Filter(b.y > 1, b) ON a.x = b.x
Filter(key = 1, Aggregate(source))       ->  Aggregate(Filter(key = 1, source))
Filter(u = 1, a UNION ALL b)             ->  Filter(u = 1, a) UNION ALL Filter(u = 1, b)
Filter(a = 1, Window(source))            ->  Window(Filter(a = 1, source)) if it partitions by a
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.planner.expressions.nodes import (
    Column,
    Expression,
    columns_of,
    conjuncts,
    substitute,
)
from raydb.planner.expressions.registry import is_volatile
from raydb.planner.plan.nodes import (
    Aggregate,
    AsofJoin,
    Filter,
    InnerJoin,
    NoStar,
    OuterJoin,
    Plan,
    Project,
    Search,
    SemiJoin,
    Sort,
    Union,
    Unnest,
    Window,
    filter_rows,
)
from raydb.planner.stars.star import map_unfused_sources
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from raydb.planner.catalog import CatalogInfo


def push_down_filters(plan: Plan, catalog: CatalogInfo) -> Plan:
    """Move each conjunct to the lowest node that has its columns."""
    match plan:
        case InnerJoin(sources=sources, conditions=conditions):
            rest, pushed = _distribute(conditions, sources)
            plan = InnerJoin(pushed, rest) if len(pushed) > 1 else filter_rows(pushed[0], rest)
        case Filter(source=source, predicate=predicate):
            plan = _push(conjuncts(predicate), source)
            if not isinstance(plan, Filter):
                return push_down_filters(plan, catalog)
        case OuterJoin(kind="left") | SemiJoin(kind="anti" | "mark"):
            rest, (right,) = _distribute(_parts(plan.conditions), (plan.right,))
            plan = replace(plan, right=right, conditions=rest)
        case OuterJoin(kind="right"):
            rest, (left,) = _distribute(_parts(plan.conditions), (plan.left,))
            plan = replace(plan, left=left, conditions=rest)
        case SemiJoin():
            rest, (left, right) = _distribute(_parts(plan.conditions), (plan.left, plan.right))
            plan = replace(plan, left=left, right=right, conditions=rest)
        case _:
            pass
    return map_unfused_sources(plan, lambda source: push_down_filters(source, catalog))


def _push(predicates: Sequence[Expression], source: Plan) -> Plan:
    """Filter a source as deep inside as each predicate allows."""
    match source:
        case InnerJoin(conditions=conditions):
            return replace(source, conditions=(*conditions, *predicates))
        case Filter(source=inner, predicate=predicate):
            return _push((*conjuncts(predicate), *predicates), inner)
        case (
            OuterJoin(kind="left", left=left)
            | SemiJoin(left=left)
            | AsofJoin(left=left)
            | Search(left=left)
        ):
            rest, (pushed,) = _distribute(predicates, (left,))
            return filter_rows(replace(source, left=pushed), rest)
        case Unnest(source=inner):
            rest, (pushed,) = _distribute(predicates, (inner,))
            return filter_rows(replace(source, source=pushed), rest)
        case OuterJoin(kind="right", right=right):
            rest, (pushed,) = _distribute(predicates, (right,))
            return filter_rows(replace(source, right=pushed), rest)
        case Aggregate(source=inner, keys=keys, star=NoStar(), grouping=None) if keys:
            # A star stays as it was matched: the fused job filters its groups by code.
            definitions = dict(keys)
            below = [p for p in predicates if _is_over(p, set(definitions))]
            above = [p for p in predicates if p not in below]
            inner = filter_rows(inner, [substitute(p, definitions) for p in below])
            return filter_rows(replace(source, source=inner), above)
        case Window(source=inner, calls=calls):
            # Whole partitions go: whatever is in the partition keys of all functions.
            shared = frozenset.intersection(*(frozenset(call.partition_by) for _, call in calls))
            below = [p for p in predicates if _is_over(p, shared)]
            above = [p for p in predicates if p not in below]
            return filter_rows(replace(source, source=filter_rows(inner, below)), above)
        case Project(source=inner, items=items) if not any(is_volatile(e) for _, e in items):
            below = [substitute(predicate, dict(items)) for predicate in predicates]
            return replace(source, source=filter_rows(inner, below))
        case Union(sources=branches, columns=columns):
            below = [p for p in predicates if _is_over(p, frozenset(columns))]
            above = [p for p in predicates if p not in below]
            filtered = tuple(_filter_branch(each, columns, below) for each in branches)
            return filter_rows(replace(source, sources=filtered), above)
        case Sort(source=inner):
            return replace(source, source=filter_rows(inner, predicates))
        case _:
            return filter_rows(source, predicates)


def _filter_branch(branch: Plan, columns: Sequence[Column], predicates: list[Expression]) -> Plan:
    """Filter a source of a union by predicates over the union's columns."""
    names = dict(zip(columns, branch.columns, strict=True))
    return filter_rows(branch, [substitute(predicate, names) for predicate in predicates])


def _parts(conditions: Sequence[Expression]) -> list[Expression]:
    return [part for condition in conditions for part in conjuncts(condition)]


def _is_over(predicate: Expression, columns: AbstractSet[Expression]) -> bool:
    """Tell whether a predicate holds or not by these columns alone."""
    read = columns_of(predicate)
    return bool(read) and read <= columns and not is_volatile(predicate)


def _distribute(
    predicates: Sequence[Expression], sources: Sequence[Plan]
) -> tuple[tuple[Expression, ...], tuple[Plan, ...]]:
    """Give each predicate to the one source that has all its columns; return the rest too."""
    if not predicates:
        return (), tuple(sources)
    owned: list[list[Expression]] = [[] for _ in sources]
    rest = []
    outputs = [source.column_set for source in sources]
    for predicate in predicates:
        read = columns_of(predicate)
        owner = None
        if read and not is_volatile(predicate):
            owner = next((i for i, own in enumerate(outputs) if read <= own), None)
        if owner is None:
            rest.append(predicate)
        else:
            owned[owner].append(predicate)
    return tuple(rest), tuple(
        filter_rows(source, parts) for source, parts in zip(sources, owned, strict=True)
    )
