"""Rule: put the query of a common table expression in the place of a reference to it.

WITH c AS (q) SELECT ... FROM c           ->  Project(c's columns, q)
WITH c AS (q) SELECT ... FROM c a, c b    ->  two copies of q if it only reads and filters a table

What stays runs once, and all references read its rows. A star stays one: where a join can run on a
BVH, the aggregates above each copy of it may be fused.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from raydb.planner.expressions.registry import is_volatile
from raydb.planner.plan.common_tables import (
    free_columns,
    fresh_numbers,
    map_references,
    queries_in,
    references_in,
    renumbered,
    subqueries_in,
    with_query,
)
from raydb.planner.plan.nodes import (
    CommonTable,
    Filter,
    InnerJoin,
    Plan,
    Project,
    Scan,
    Series,
    Values,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from raydb.planner.catalog import CatalogInfo

# Rows written in a statement are copied up to this many.
_FEW_ROWS = 100


def inline_common_tables(plan: Plan, catalog: CatalogInfo) -> Plan:
    """Inline every reference that is the only one of its query, or whose query is cheap."""
    if not references_in(plan):
        return plan
    numbers = fresh_numbers(plan)
    kept: dict[int, Plan] = {}
    # Each query comes before those that it refers to: all references to it are in sight then.
    for number in reversed(queries_in(plan)):
        found = [
            reference
            for source in (plan, *kept.values())
            for reference in references_in(source)
            if reference.number == number
        ]
        if _is_inlined(found, catalog):
            put = _inlining(found[0], numbers)
            plan = map_references(plan, put)
            kept = {other: map_references(query, put) for other, query in kept.items()}
        else:
            kept[number] = found[0].query
    return _with_queries(plan, kept)


def _inlining(first: CommonTable, numbers: Iterator[int]) -> Callable[[CommonTable], Plan]:
    """Return what puts a copy of the query in the place of each reference to it.

    The first copy is the query as it is.
    """
    unused = [first.query]

    def put(reference: CommonTable) -> Plan:
        if reference.number != first.number:
            return reference
        query = unused.pop() if unused else renumbered(first.query, numbers)
        return Project(query, tuple(zip(reference.columns, query.columns, strict=True)))

    return put


def _is_inlined(references: list[CommonTable], catalog: CatalogInfo) -> bool:
    reference = references[0]
    if free_columns(reference.query):
        return True  # it differs with the row of the outer query
    if reference.materialized is not None:
        return not reference.materialized
    return len(references) == 1 or _is_cheap(reference.query, catalog)


def _is_cheap(plan: Plan, catalog: CatalogInfo) -> bool:
    """Tell whether a query costs no more than its rows would if they were kept."""
    match plan:
        case Scan() | Series():
            return True
        case Values(rows=rows):
            return len(rows) <= _FEW_ROWS
        case Filter(source=source) | Project(source=source):
            own = plan.expressions
            is_simple = not subqueries_in(plan) and not any(map(is_volatile, own))
            return is_simple and _is_cheap(source, catalog)
        case InnerJoin(sources=sources):
            with_bvh = {bvh.definition.table for bvh in catalog.bvhs.values()}
            facts = [table for table in _scanned(plan) if table in with_bvh]
            # One that is joined with itself is no star.
            is_star = 0 < len(facts) == len(set(facts))
            return is_star and all(_is_cheap(source, catalog) for source in sources)
        case _:
            return False


def _scanned(plan: Plan) -> list[str]:
    """Return the tables that a plan scans, each as often as it does."""
    if isinstance(plan, Scan):
        return [plan.table]
    return [table for source in plan.sources for table in _scanned(source)]


def _with_queries(plan: Plan, kept: dict[int, Plan]) -> Plan:
    """Return the plan whose references hold the queries as they are kept."""
    return map_references(plan, partial(_hold, kept, {}))


def _hold(kept: dict[int, Plan], done: dict[int, Plan], reference: CommonTable) -> Plan:
    number = reference.number
    if number not in done:
        done[number] = map_references(kept[number], partial(_hold, kept, done))
    return with_query(reference, done[number])
