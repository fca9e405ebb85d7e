"""Rule: turn n-ary inner joins into two-way joins, the smallest results first.

Greedy operator ordering: of all pairs of plans that an equality connects, the pair with the fewest
joined rows is joined next, until one plan is left. The larger side comes first: it streams through
the join while the smaller one is hashed.

    InnerJoin([date, lineorder, part], [...])  ->  (lineorder JOIN part) JOIN date

Equalities are transitive: with a.x = b.y and b.y = c.z, a and c can be joined first. Each join
checks one equality of a class, since its sides have checked theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.planner.expression import Call, Column, Expression, columns_of
from raydb.planner.logical import InnerJoin, Plan, map_sources, output_columns
from raydb.planner.rules.push_down_filters import filter_rows
from raydb.planner.statistics import Statistics

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from raydb.planner.catalog import CatalogInfo


def order_joins(plan: Plan, catalog: CatalogInfo) -> Plan:
    """Order the sources of every inner join."""
    return _order_all(plan, Statistics(catalog))


def _order_all(plan: Plan, statistics: Statistics) -> Plan:
    plan = map_sources(plan, lambda source: _order_all(source, statistics))
    if isinstance(plan, InnerJoin) and len(plan.sources) > 1:
        return _order(plan, statistics)
    return plan


@dataclass(frozen=True, eq=False, slots=True)
class _Part:
    """A plan to be joined, with its columns."""

    plan: Plan
    columns: frozenset[Column]


def _order(join: InnerJoin, statistics: Statistics) -> Plan:
    classes, conditions = _equality_classes(join.conditions)
    parts = []
    for source in join.sources:
        columns = frozenset(output_columns(source))
        within = [_equal(a, b) for each in classes for a, b in pairwise(_members(each, columns))]
        parts.append(_Part(filter_rows(source, within), columns))
    while len(parts) > 1:
        one, other, here = _cheapest(parts, classes, conditions, statistics)
        larger, smaller = sorted((one, other), key=lambda part: -statistics.row_count(part.plan))
        joined = InnerJoin((larger.plan, smaller.plan), tuple(here))
        conditions = [condition for condition in conditions if condition not in here]
        parts = [part for part in parts if part not in (one, other)]
        parts.append(_Part(joined, one.columns | other.columns))
    return filter_rows(parts[0].plan, conditions)


def _cheapest(
    parts: Sequence[_Part],
    classes: Sequence[Sequence[Column]],
    conditions: Sequence[Expression],
    statistics: Statistics,
) -> tuple[_Part, _Part, list[Expression]]:
    """Return the two parts to join next and the conditions that the join checks."""
    best = None
    for one, other in combinations(parts, 2):
        here = _between(one, other, classes, conditions)
        connected = any(_is_equality(condition) for condition in here)
        rows = statistics.joined_row_count(one.plan, other.plan, here)
        # Of equals the one with less to read, so that small tables meet first.
        read = statistics.row_count(one.plan) + statistics.row_count(other.plan)
        cost = (not connected, rows, read)
        if best is None or cost < best[0]:
            best = (cost, one, other, here)
    assert best is not None
    return best[1:]


def _between(
    one: _Part,
    other: _Part,
    classes: Sequence[Sequence[Column]],
    conditions: Sequence[Expression],
) -> list[Expression]:
    """Return the conditions that a join of two parts can check and neither part alone could."""
    known = one.columns | other.columns
    found: list[Expression] = []
    for each in classes:
        ours, theirs = _members(each, one.columns), _members(each, other.columns)
        if ours and theirs:
            found.append(_equal(ours[0], theirs[0]))
    found += [c for c in conditions if columns_of(c) and columns_of(c) <= known]
    return found


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


def _members(columns: Iterable[Column], of: frozenset[Column]) -> list[Column]:
    return [column for column in columns if column in of]


def _equal(left: Column, right: Column) -> Expression:
    return Call("equal", (left, right), pa.bool_())


def _is_equality(condition: Expression) -> bool:
    """Whether a condition compares the columns of two sides, so that one can be hashed."""
    match condition:
        case Call(function="equal", arguments=(left, right)):
            return bool(columns_of(left)) and bool(columns_of(right))
        case _:
            return False
