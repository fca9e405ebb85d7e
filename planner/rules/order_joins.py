"""Rule: turn n-ary inner joins into two-way joins, the smallest results first.

Greedy operator ordering: of all pairs of plans that an equality connects, the pair with the fewest
joined rows is joined next, until one plan is left. The larger side comes first: it streams through
the join while the smaller one is hashed.

    InnerJoin([date, lineorder, part], [...])  ->  (lineorder JOIN part) JOIN date

Equalities are transitive: with a.x = b.y and b.y = c.z, a and c can be joined first. Each join
checks one equality of a class, since its sides have checked theirs.
"""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.planner.expressions.nodes import Call, Column, Expression, columns_of
from raydb.planner.plan.nodes import InnerJoin, Plan, filter_rows
from raydb.planner.plan.statistics import Statistics
from raydb.planner.stars.star import map_unfused_sources
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from raydb.planner.catalog import CatalogInfo


def order_joins(plan: Plan, catalog: CatalogInfo) -> Plan:
    """Order the sources of every inner join, but for those of a star: a fused job has no joins."""
    return _order_all(plan, Statistics(catalog))


def _order_all(plan: Plan, statistics: Statistics) -> Plan:
    plan = map_unfused_sources(plan, lambda source: _order_all(source, statistics))
    if isinstance(plan, InnerJoin) and len(plan.sources) > 1:
        return _order(plan, statistics)
    return plan


@dataclass(frozen=True, eq=False, slots=True)
class _Part:
    """A plan to be joined, its columns, and for each class of equal columns one that it has."""

    plan: Plan
    columns: frozenset[Column]
    members: Mapping[int, Column]


@dataclass(frozen=True, eq=False, slots=True)
class _Step:
    """Two parts that could be joined next, the conditions between them, and the cost."""

    one: _Part
    other: _Part
    conditions: tuple[Expression, ...]
    cost: tuple[bool, float, float]


def _order(join: InnerJoin, statistics: Statistics) -> Plan:
    classes, conditions = _equality_classes(join.conditions)
    parts = [_part(source, classes) for source in join.sources]
    steps = [_step(one, other, conditions, statistics) for one, other in combinations(parts, 2)]
    checked: set[Expression] = set()
    while steps:
        best = min(steps, key=lambda step: step.cost)
        one, other = best.one, best.other
        larger, smaller = sorted((one, other), key=lambda part: -statistics.row_count(part.plan))
        joined = _Part(
            InnerJoin((larger.plan, smaller.plan), best.conditions),
            one.columns | other.columns,
            {**one.members, **other.members},
        )
        checked.update(best.conditions)
        parts = [part for part in parts if part not in (one, other)]
        # Only the pairs of the new part are new, so that 64 tables take no longer than they must.
        steps = [step for step in steps if not {step.one, step.other} & {one, other}]
        steps += [_step(joined, part, conditions, statistics) for part in parts]
        parts.append(joined)
    return filter_rows(parts[0].plan, [c for c in conditions if c not in checked])


def _part(source: Plan, classes: Sequence[Sequence[Column]]) -> _Part:
    """Return a source as a part, whose columns of one class are equal."""
    columns = frozenset(source.columns)
    own = [[column for column in each if column in columns] for each in classes]
    within = [_equal(a, b) for each in own for a, b in pairwise(each)]
    members = {number: each[0] for number, each in enumerate(own) if each}
    return _Part(filter_rows(source, within), columns, members)


def _step(
    one: _Part, other: _Part, conditions: Sequence[Expression], statistics: Statistics
) -> _Step:
    known = one.columns | other.columns
    here = [
        _equal(column, other.members[number])
        for number, column in one.members.items()
        if number in other.members
    ]
    for condition in conditions:
        columns = columns_of(condition)
        if columns <= known and not columns <= one.columns and not columns <= other.columns:
            here.append(condition)
    connected = any(_is_equality(condition) for condition in here)
    rows = statistics.joined_row_count(one.plan, other.plan, here)
    # Of equals the one with less to read, so that small tables meet first.
    read = statistics.row_count(one.plan) + statistics.row_count(other.plan)
    return _Step(one, other, tuple(here), (not connected, rows, read))


def _equality_classes(
    conditions: Iterable[Expression],
) -> tuple[list[list[Column]], list[Expression]]:
    """Return the classes of columns that conditions make equal, and the other conditions."""
    classes: list[list[Column]] = []
    rest = []
    for condition in conditions:
        match condition:
            case Call(function="equal", arguments=(Column() as left, Column() as right)):
                touched = [each for each in classes if left in each or right in each]
                merged = dict.fromkeys(
                    [*(column for each in touched for column in each), left, right]
                )
                classes = [each for each in classes if each not in touched] + [list(merged)]
            case _:
                rest.append(condition)
    return classes, rest


def _equal(left: Column, right: Column) -> Expression:
    return Call("equal", (left, right), pa.bool_())


def _is_equality(condition: Expression) -> bool:
    """Whether a condition compares the columns of two sides, so that one can be hashed."""
    match condition:
        case Call(function="equal" | "not_distinct", arguments=(left, right)):
            return bool(columns_of(left)) and bool(columns_of(right))
        case _:
            return False
