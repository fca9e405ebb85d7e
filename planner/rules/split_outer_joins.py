"""Rule: an aggregate over a left join puts the groups of two stars together.

sum(b.x), min(a.z) by y over (a LEFT JOIN b)
->  sum(s), min(m) by y over (NULL AS s, min(a.z) AS m by y over a
                              UNION ALL sum(b.x) AS s, NULL AS m by y over (a JOIN b))

A row of `a` without a partner gives nothing to aggregates of `b`, whose values are NULL then. A row
with several partners is there several times, which only some aggregates of `a` do not mind: others
are left alone unless a key of `b` says that there is one partner at most.

It does where both are stars that a fused job may answer, and the whole is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.planner.expressions.nodes import (
    Call,
    Column,
    Expression,
    Literal,
    columns_of,
    conjuncts,
    map_call,
    substitute,
)
from raydb.planner.plan.common_tables import renumbered
from raydb.planner.plan.nodes import (
    Aggregate,
    Filter,
    InnerJoin,
    NoStar,
    OuterJoin,
    Plan,
    Project,
    Star,
    Union,
)
from raydb.planner.plan.nulls import rejects_null
from raydb.planner.plan.unique import is_unique_by
from raydb.planner.rules.split_unions import may_fuse, split_aggregates
from raydb.planner.stars.delta import part_star
from raydb.planner.stars.star import match_star, without_filter
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import AggregateCall
    from raydb.planner.stars.delta import Parted

_COUNTS = ("count", "count_star")
# What a part may be asked for, and which of it does not mind rows that are there several times.
_ASKED = (*_COUNTS, "sum", "min", "max")
_OF_ANY_NUMBER = ("min", "max")


def split_outer_joins(plan: Plan, catalog: CatalogInfo) -> Plan:
    """Aggregate the rows on the left and the pairs one by one."""
    return split_aggregates(plan, catalog, _split)


def _split(plan: Aggregate, numbers: Iterator[int], catalog: CatalogInfo) -> Plan | None:
    """Return an aggregate made of the groups of both; None where that is no gain."""
    outer = _outer_join(plan.source)
    if outer is None or any(call.order_by for _, call in plan.aggregates):
        return None
    calls = tuple((column, without_filter(call)) for column, call in plan.aggregates)
    parted = part_star(Star("", (), (), plan.keys, calls), numbers)
    if isinstance(parted, str) or isinstance(match_star(plan, catalog), Star):
        return None
    of_pairs = _of_pairs(parted, len(plan.keys), outer, catalog)
    if of_pairs is None:
        return None
    inner = InnerJoin((outer.left, outer.right), outer.conditions)
    pairs = _put(plan.source, outer, inner)
    copy = renumbered(pairs, numbers)
    names = dict(zip(pairs.columns, copy.columns, strict=True))
    columns = tuple(column for column, _ in (*parted.star.keys, *parted.star.aggregates))
    of_query = frozenset(column for column, _ in plan.keys)
    rows = _put(plan.source, outer, outer.left)
    left = _part(rows, parted, frozenset(columns) - of_pairs, numbers, {})
    both = _part(copy, parted, of_query | of_pairs, numbers, names)
    if not all(may_fuse(each.source, catalog) for each in (left, both)):
        return None
    keys = tuple((column, column) for column, _ in plan.keys)
    groups = Aggregate(Union((left, both), columns), keys, parted.merged, NoStar(""))
    return Project(groups, parted.items)


def _outer_join(plan: Plan) -> OuterJoin | None:
    """Return the left join below filters and inner joins that do not read its right side."""
    match plan:
        case OuterJoin(kind="left"):
            return plan
        case Filter() | InnerJoin():
            found = [each for source in plan.sources if (each := _outer_join(source)) is not None]
            if len(found) == 1 and plan.required_columns.isdisjoint(found[0].right.columns):
                return found[0]
            return None
        case _:
            return None


def _put(plan: Plan, outer: OuterJoin, other: Plan) -> Plan:
    """Return a plan with another one in the place of its left join."""
    return other if plan is outer else plan.map_sources(lambda each: _put(each, outer, other))


def _of_pairs(
    parted: Parted, key_count: int, outer: OuterJoin, catalog: CatalogInfo
) -> frozenset[Column] | None:
    """Return what the pairs are asked for; None where neither part can give something.

    Both are asked for the query's keys.
    """
    right = outer.right.column_set
    if any(not right.isdisjoint(columns_of(key)) for _, key in parted.star.keys[:key_count]):
        return None
    is_single = is_unique_by(outer.right, _equal_columns(outer), catalog)
    found = set()
    for column, value in parted.star.keys[key_count:]:
        if _is_null_without(value, right):
            found.add(column)
        elif not right.isdisjoint(columns_of(value)):
            return None
    for column, call in parted.star.aggregates:
        if call.function not in _ASKED:
            return None
        if call.arguments and _is_null_without(call.arguments[0], right):
            found.add(column)
        elif not (is_single or call.function in _OF_ANY_NUMBER) or not all(
            right.isdisjoint(columns_of(argument)) for argument in call.arguments
        ):
            return None
    return frozenset(found)


def _equal_columns(outer: OuterJoin) -> frozenset[Column]:
    """Return the right columns that are equal to something on the left."""
    found = set()
    left, right = outer.left.column_set, outer.right.column_set
    for condition in (part for whole in outer.conditions for part in conjuncts(whole)):
        match condition:
            case Call(function="equal", arguments=(one, other)):
                for mine, theirs in ((one, other), (other, one)):
                    if isinstance(mine, Column) and mine in right and columns_of(theirs) <= left:
                        found.add(mine)
    return frozenset(found)


def _is_null_without(value: Expression, right: frozenset[Column]) -> bool:
    """Tell whether a value is NULL where the right side's columns are."""
    match value:
        case Call(function="case", arguments=(condition, chosen, Literal() as rest)):
            return rest.is_null and (
                rejects_null(condition, right) or _is_null_without(chosen, right)
            )
        case _:
            is_null = Call("is_null", (value,), pa.bool_())
            return rejects_null(Call("not", (is_null,), pa.bool_()), right)


def _part(
    source: Plan,
    parted: Parted,
    given: frozenset[Column],
    numbers: Iterator[int],
    names: Mapping[Column, Expression],
) -> Project:
    """Return the groups of a part, with nothing for what the other part gives.

    names: what columns of the query are in the part.
    """
    keys: list[tuple[Column, Expression]] = []
    calls: list[tuple[Column, AggregateCall]] = []
    items: list[tuple[Column, Expression]] = []
    for column, value in parted.star.keys:
        own = replace(column, number=next(numbers))
        if column in given:
            keys.append((own, substitute(value, names)))
        items.append((own, own if column in given else Literal(None, column.type)))
    for column, call in parted.star.aggregates:
        own = replace(column, number=next(numbers))
        if column in given:
            calls.append((own, map_call(call, lambda value: substitute(value, names))))
        none = Literal(0 if call.function in _COUNTS else None, column.type)
        items.append((own, own if column in given else none))
    return Project(Aggregate(source, tuple(keys), tuple(calls)), tuple(items))
