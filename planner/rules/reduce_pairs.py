"""Rule: where rows matter once, a join for one side's columns alone is a semi join.

a SEMI JOIN (b JOIN c ON b.x = c.y) ON a.k = b.k   ->  a SEMI JOIN (b SEMI JOIN c ON b.x = c.y) ..
DISTINCT b.k of (b JOIN c)                         ->  DISTINCT b.k of (b SEMI JOIN c)

A row with many partners is then there once, and partners are not fetched. It is so for a common
table expression, too, all of whose references are in such places.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from raydb.planner.expressions.registry import is_volatile
from raydb.planner.plan.common_tables import (
    map_references,
    queries_in,
    references_in,
    with_query,
)
from raydb.planner.plan.nodes import (
    Aggregate,
    CommonTable,
    Filter,
    InnerJoin,
    NoStar,
    OuterJoin,
    Plan,
    Project,
    SemiJoin,
)
from raydb.planner.plan.nodes.node import read_by
from raydb.planner.stars.star import map_unfused_sources
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Column


def reduce_pairs(plan: Plan, catalog: CatalogInfo) -> Plan:
    """Make semi joins below semi joins and below groups of which nothing but the keys is asked."""
    plan = map_unfused_sources(plan, lambda source: reduce_pairs(source, catalog))
    match plan:
        case SemiJoin(right=right, conditions=conditions):
            return replace(plan, right=_reduce(right, read_by(conditions)))
        case Aggregate() if _asks_keys_alone(plan):
            return replace(plan, source=_reduce(plan.source, read_by(e for _, e in plan.keys)))
        case _:
            return plan


def reduce_pairs_of_common_tables(plan: Plan) -> Plan:
    """Make semi joins in the common table expressions of which rows matter once everywhere."""
    queries = queries_in(plan)
    references = Counter(
        each.number for part in (plan, *queries.values()) for each in references_in(part)
    )
    reducible = Counter(_reducible(plan, is_once=False))
    for number in reversed(queries):
        is_once = reducible[number] == references[number]
        if is_once:
            queries[number] = _reduce(queries[number], frozenset(queries[number].columns))
        reducible.update(_reducible(queries[number], is_once=is_once))

    def renew(reference: CommonTable) -> Plan:
        return with_query(reference, queries[reference.number])

    for number, query in queries.items():
        queries[number] = map_references(query, renew)
    return map_references(plan, renew)


def _asks_keys_alone(plan: Aggregate) -> bool:
    is_general = isinstance(plan.star, NoStar) and plan.grouping is None
    return is_general and bool(plan.keys) and not plan.aggregates


def _reduce(plan: Plan, needed: frozenset[Column]) -> Plan:
    """Return a plan with the same distinct values of some columns; others may be gone."""
    match plan:
        case Project(source=source, items=items) if not any(is_volatile(e) for _, e in items):
            return replace(plan, source=_reduce(source, read_by(e for _, e in items)))
        case Filter(source=source, predicate=predicate) if not is_volatile(predicate):
            return replace(plan, source=_reduce(source, needed | read_by((predicate,))))
        case InnerJoin(sources=(left, right), conditions=conditions) if conditions:
            if any(map(is_volatile, conditions)):
                return plan
            read = needed | read_by(conditions)
            sources = _reduce(left, read), _reduce(right, read)
            for one, other in (sources, sources[::-1]):
                if needed <= one.column_set:
                    return SemiJoin("semi", one, other, conditions)
            return replace(plan, sources=sources)
        case _:
            return plan


def _reducible(plan: Plan, *, is_once: bool) -> Iterator[int]:
    """Yield the numbers of references whose rows matter once; is_once: whether the plan's do."""
    match plan:
        case CommonTable(number=number):
            if is_once:
                yield number
        case SemiJoin(left=left, right=right):
            yield from _reducible(left, is_once=is_once)
            yield from _reducible(right, is_once=True)
        case Aggregate():
            yield from _reducible(plan.source, is_once=_asks_keys_alone(plan))
        case Project() | Filter() | InnerJoin() | OuterJoin():
            some = is_once and not any(map(is_volatile, plan.expressions))
            for source in plan.sources:
                yield from _reducible(source, is_once=some)
        case _:
            for source in plan.sources:
                yield from _reducible(source, is_once=False)
