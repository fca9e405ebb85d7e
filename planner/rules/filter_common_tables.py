"""Rule: a common table expression computes only rows that some reference to it asks for.

WITH c AS (SELECT k, y, sum(x) FROM t GROUP BY k, y)
SELECT ... FROM c a, c b WHERE a.y = 1 AND b.y = 2
->  c of the rows of t where y = 1 OR y = 2; the references filter as they did

What all references say of its columns goes as deep into the query as aggregates, unions and
projections let it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.planner.expressions.nodes import columns_of, conjuncts, substitute
from raydb.planner.expressions.registry import is_volatile, may_raise
from raydb.planner.plan.common_tables import (
    map_references,
    queries_in,
    subqueries_in,
    with_query,
)
from raydb.planner.plan.nodes import (
    Aggregate,
    CommonTable,
    Filter,
    InnerJoin,
    OuterJoin,
    Plan,
    Project,
    Scan,
    SemiJoin,
    Union,
    filter_rows,
)
from raydb.planner.rules.factor_disjunctions import all_of, any_of
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Column, Expression

    # What each reference says of a query's rows, as conjuncts.
    Asked = list[tuple[Expression, ...]]

# More references, or more that they say, are not worth a look for every row.
_MOST_PARTS = 32


def filter_common_tables(plan: Plan, _: CatalogInfo) -> Plan:
    """Filter the queries of common table expressions by what all references to them ask."""
    queries = queries_in(plan)
    asked: dict[int, Asked] = {number: [] for number in queries}
    _note(plan, (), asked)
    # Each query comes before those that it refers to: all references to it are in sight then.
    for number in reversed(queries):
        branches = asked[number]
        if all(branches) and sum(map(len, branches)) <= _MOST_PARTS:
            queries[number] = _filter(queries[number], branches)
        _note(queries[number], (), asked)

    def renew(reference: CommonTable) -> Plan:
        return with_query(reference, queries[reference.number])

    for number, query in queries.items():
        queries[number] = map_references(query, renew)
    return map_references(plan, renew)


# -- what references ask


def _note(plan: Plan, holds: Sequence[Expression], asked: Mapping[int, Asked]) -> None:
    """Note what each reference in a plan asks; holds: of the plan's rows only these are read."""
    for subquery in subqueries_in(plan):
        _note(subquery, (), asked)
    if isinstance(plan, CommonTable):
        # What is said to be materialized is computed whole.
        asked[plan.number].append(() if plan.materialized else _said(plan, holds))
        return
    for source, here in _below(plan, holds):
        _note(source, here, asked)


def _below(plan: Plan, holds: Sequence[Expression]) -> Iterator[tuple[Plan, Sequence[Expression]]]:
    """Yield each source of a node, with what holds for those of its rows that are read."""
    match plan:
        case Filter(source=source, predicate=predicate):
            yield source, (*holds, *conjuncts(predicate))
        case Project(source=source, items=items):
            yield source, [substitute(each, dict(items)) for each in holds]
        case InnerJoin(sources=sources, conditions=conditions):
            every = (*holds, *_parts(conditions))
            yield from ((source, every) for source in sources)
        case SemiJoin(left=left, right=right, conditions=conditions):
            own = _parts(conditions)
            yield left, (*holds, *own) if plan.kind == "semi" else holds
            yield right, own
        case OuterJoin(kind="left", left=left, right=right, conditions=conditions):
            yield left, holds
            yield right, _parts(conditions)
        case OuterJoin(kind="right", left=left, right=right, conditions=conditions):
            yield left, _parts(conditions)
            yield right, holds
        case _:
            yield from ((source, ()) for source in plan.sources)


def _parts(conditions: Sequence[Expression]) -> tuple[Expression, ...]:
    return tuple(part for condition in conditions for part in conjuncts(condition))


def _said(reference: CommonTable, holds: Sequence[Expression]) -> tuple[Expression, ...]:
    """Return what conditions say of a reference's columns alone, as columns of its query."""
    own = reference.column_set
    names = dict(zip(reference.columns, reference.query.columns, strict=True))
    return tuple(
        substitute(each, names)
        for each in holds
        if own.issuperset(columns_of(each)) and columns_of(each) and not _may_differ(each)
    )


def _may_differ(expression: Expression) -> bool:
    """Tell whether it matters for which rows an expression is computed, and how often."""
    return may_raise(expression) or is_volatile(expression)


# -- the filter


def _filter(plan: Plan, branches: Asked) -> Plan:
    """Return the rows of a plan for which one of the branches may hold, and maybe others."""
    if not all(branches):
        return plan  # A branch that says nothing any more may hold for every row.
    match plan:
        case Filter(source=source):
            return replace(plan, source=_filter(source, branches))
        case Project(source=source, items=items) if not any(is_volatile(e) for _, e in items):
            return replace(plan, source=_filter(source, _renamed(branches, dict(items))))
        case Aggregate(source=source, keys=keys, grouping=None) if keys:
            below = _renamed([_over(each, dict(keys)) for each in branches], dict(keys))
            return replace(plan, source=_filter(source, below))
        case Union(sources=sources, columns=columns):
            return replace(
                plan,
                sources=tuple(
                    _filter(each, _renamed(branches, dict(zip(columns, each.columns, strict=True))))
                    for each in sources
                ),
            )
        case InnerJoin(conditions=conditions):
            return replace(plan, conditions=(*conditions, _any(branches)))
        case Scan() | OuterJoin() | SemiJoin():
            return filter_rows(plan, [_any(branches)])
        case _:
            return plan


def _any(branches: Asked) -> Expression:
    return any_of(list(dict.fromkeys(all_of(each) for each in branches)))


def _over(parts: Sequence[Expression], keys: Mapping[Column, Expression]) -> tuple[Expression, ...]:
    return tuple(part for part in parts if columns_of(part) <= keys.keys())


def _renamed(branches: Asked, names: Mapping[Column, Expression]) -> Asked:
    """Return the branches over what columns stand for, without what fails or holds in any case."""
    changed = [[substitute(part, names) for part in each] for each in branches]
    return [
        tuple(part for part in each if columns_of(part) and not _may_differ(part))
        for each in changed
    ]
