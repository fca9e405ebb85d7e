"""Rule: filters on one source of a join that the join's conditions imply.

n1.name = 'A' AND n2.name = 'B' OR n1.name = 'B' AND n2.name = 'A'
->  n1.name IN A, B before the join  (TPC-H, query 7)

a.x = b.y AND a.x = 5
->  b.y = 5 before the join

a LEFT JOIN b ON a.x = b.y WHERE a.x = 5
->  b.y = 5 before the join  (TPC-DS, query 78)

The conditions stay: what is implied only lets fewer rows through to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.planner.expressions.nodes import (
    Call,
    Column,
    Expression,
    Literal,
    columns_of,
    conjuncts,
    substitute,
)
from raydb.planner.expressions.registry import may_raise
from raydb.planner.plan.nodes import Filter, InnerJoin, OuterJoin, Plan
from raydb.planner.rules.factor_disjunctions import all_of, any_of
from raydb.planner.stars.star import map_unfused_sources
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raydb.planner.catalog import CatalogInfo


def imply_filters(plan: Plan, catalog: CatalogInfo) -> Plan:
    """Add the implied filters to the conditions of every inner and left join."""
    plan = map_unfused_sources(plan, lambda source: imply_filters(source, catalog))
    match plan:
        case InnerJoin(sources=sources, conditions=conditions):
            implied = [*_of_disjunctions(plan), *_of_constants(conditions)]
            return replace(
                plan,
                sources=tuple(_under(source, conditions) for source in sources),
                conditions=_together(conditions, implied),
            )
        case Filter(source=source, predicate=predicate):
            return replace(plan, source=_under(source, conjuncts(predicate)))
        case _:
            return plan


def _under(plan: Plan, known: Sequence[Expression]) -> Plan:
    """Add to left joins what they imply of the right side, where a node above asks for `known`.

    A row of which that does not hold is left out above, whatever its partners are.
    """
    match plan:
        case OuterJoin(kind="left", left=left, right=right, conditions=conditions):
            own = right.column_set
            implied = [e for e in _of_constants([*known, *conditions]) if columns_of(e) <= own]
            return replace(
                plan, left=_under(left, known), conditions=_together(conditions, implied)
            )
        case _:
            return plan


def _together(
    conditions: Sequence[Expression], implied: Sequence[Expression]
) -> tuple[Expression, ...]:
    return tuple(dict.fromkeys((*conditions, *implied)))


def _of_disjunctions(join: InnerJoin) -> Iterator[Expression]:
    """Yield, for each OR over several sources, what it says of one source in every branch."""
    outputs = [source.column_set for source in join.sources]
    for condition in join.conditions:
        match condition:
            case Call(function="or", arguments=branches) if not may_raise(condition):
                for own in outputs:
                    if columns_of(condition) <= own:
                        continue
                    said = [_parts_over(branch, own) for branch in branches]
                    if all(said):
                        yield any_of([all_of(parts) for parts in said])


def _parts_over(branch: Expression, columns: frozenset[Column]) -> list[Expression]:
    return [p for p in conjuncts(branch) if columns_of(p) and columns_of(p) <= columns]


def _of_constants(conditions: Sequence[Expression]) -> Iterator[Expression]:
    """Yield what holds for a column because it holds for one that it equals.

    Only comparisons with constants are carried over, along one equality.
    """
    pairs = [
        pair
        for condition in conditions
        if isinstance(condition, Call) and condition.function == "equal"
        for pair in _both_ways(condition.arguments)
    ]
    for condition in conditions:
        match condition:
            case Call(arguments=(Column() as column, *constants)) if (
                constants
                and all(isinstance(each, Literal) for each in constants)
                and condition.function
                in ("equal", "less", "less_equal", "greater", "greater_equal", "in")
            ):
                for one, other in pairs:
                    if one == column:
                        yield substitute(condition, {column: other})


def _both_ways(sides: tuple[Expression, ...]) -> Iterator[tuple[Column, Column]]:
    match sides:
        case (Column() as left, Column() as right):
            yield left, right
            yield right, left
