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
    classes, rest = _equality_classes(join.conditions)
    conditions = [(condition, columns_of(condition)) for condition in rest]
    class_of = {column: number for number, each in enumerate(classes) for column in each}
    parts = [_part(source, classes, class_of) for source in join.sources]
    pairs = list(combinations(parts, 2))
    steps = _steps(pairs, conditions, statistics)
    has_all = False
    checked: set[Expression] = set()
    while len(parts) > 1:
        if not steps:  # an equality connects none of them
            pairs = [(one, other) for one, other in pairs if one in parts and other in parts]
            steps, has_all = _steps(pairs, conditions, statistics, has_all=True), True
        best = min(steps, key=lambda step: step.cost)
        pair = one, other = best.one, best.other
        larger, smaller = sorted(pair, key=lambda part: -statistics.row_count(part.plan))
        joined = _Part(
            InnerJoin((larger.plan, smaller.plan), best.conditions),
            one.columns | other.columns,
            {**one.members, **other.members},
        )
        statistics.note_row_count(joined.plan, best.cost[1])
        checked.update(best.conditions)
        parts = [part for part in parts if part not in pair]
        # Only the pairs of the new part are new, so that 64 tables take no longer than they must.
        steps = [step for step in steps if step.one not in pair and step.other not in pair]
        new = [(joined, part) for part in parts]
        steps += _steps(new, conditions, statistics, has_all=has_all)
        pairs += new
        parts.append(joined)
    return filter_rows(parts[0].plan, [c for c in rest if c not in checked])


def _part(
    source: Plan, classes: Sequence[Sequence[Column]], class_of: Mapping[Column, int]
) -> _Part:
    """Return a source as a part, whose columns of one class are equal."""
    columns = source.column_set
    numbers = sorted({number for column, number in class_of.items() if column in columns})
    own = {number: [each for each in classes[number] if each in columns] for number in numbers}
    within = [_equal(a, b) for each in own.values() for a, b in pairwise(each)]
    members = {number: each[0] for number, each in own.items()}
    return _Part(filter_rows(source, within), columns, members)


def _steps(
    pairs: Iterable[tuple[_Part, _Part]],
    conditions: Sequence[tuple[Expression, frozenset[Column]]],
    statistics: Statistics,
    *,
    has_all: bool = False,
) -> list[_Step]:
    """Return the steps that join pairs: those that an equality connects, which cost less, or all.

    conditions: with the columns that each reads.
    """
    steps = []
    for one, other in pairs:
        here = _between(one, other, conditions)
        connected = any(map(_is_equality, here))
        if connected or has_all:
            rows = statistics.joined_row_count((one.plan, other.plan), here)
            # Of equals the one with less to read, so that small tables meet first.
            read = statistics.row_count(one.plan) + statistics.row_count(other.plan)
            steps.append(_Step(one, other, tuple(here), (not connected, rows, read)))
    return steps


def _between(
    one: _Part, other: _Part, conditions: Sequence[tuple[Expression, frozenset[Column]]]
) -> list[Expression]:
    """Return the conditions over two parts."""
    here: list[Expression] = []
    if not one.members.keys().isdisjoint(other.members):
        here += [
            _equal(column, other.members[number])
            for number, column in one.members.items()
            if number in other.members
        ]
    if conditions:
        known = one.columns | other.columns
        for condition, columns in conditions:
            if columns <= known and not columns <= one.columns and not columns <= other.columns:
                here.append(condition)
    return here


def _equality_classes(
    conditions: Iterable[Expression],
) -> tuple[list[list[Column]], list[Expression]]:
    """Return the classes of columns that conditions make equal, and the other conditions."""
    # By numbers that grow, and the number of each column's class.
    classes: dict[int, list[Column]] = {}
    number_of: dict[Column, int] = {}
    rest = []
    for place, condition in enumerate(conditions):
        match condition:
            case Call(function="equal", arguments=(Column() as left, Column() as right)):
                touched = sorted({number_of[each] for each in (left, right) if each in number_of})
                merged = [column for number in touched for column in classes.pop(number)]
                merged = list(dict.fromkeys([*merged, left, right]))
                classes[place] = merged
                number_of.update(dict.fromkeys(merged, place))
            case _:
                rest.append(condition)
    return list(classes.values()), rest


def _equal(left: Column, right: Column) -> Expression:
    return Call("equal", (left, right), pa.bool_())


def _is_equality(condition: Expression) -> bool:
    """Whether a condition compares the columns of two sides, so that one can be hashed."""
    match condition:
        case Call(function="equal" | "not_distinct", arguments=(left, right)):
            plain = type(left) is Column and type(right) is Column
            return plain or (bool(columns_of(left)) and bool(columns_of(right)))
        case _:
            return False
