"""Aggregates of rows that fulfil a condition: it is made a group key, and groups are left out.

    SELECT state, sum(price) FILTER (WHERE quantity > 50) ... GROUP BY state

    job         SELECT state, quantity > 50 AS c, sum(price) AS s ... GROUP BY state, c
    its groups  SELECT state, sum(CASE WHEN c THEN s END) ... GROUP BY state

A condition is then asked of a few codes, not computed into a measure of its own for every row.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from raydb.planner.expressions.nodes import AggregateCall, Call, Column, Expression, Literal
from raydb.planner.expressions.registry import may_raise
from raydb.planner.stars.delta import Parted, part_star

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raydb.planner.plan.nodes import Star

# Of more conditions the groups may be as many as the rows.
_MOST = 8


def part_conditions(star: Star, numbers: Iterator[int]) -> Parted | None:
    """Return a star with its aggregates' conditions as group keys; None where there are none.

    None, too, where groups are not put together from parts. numbers: those of new columns.
    """
    conditions: dict[Expression, Column] = {}
    chosen: dict[Column, tuple[Column, Literal]] = {}
    aggregates = []
    for column, call in star.aggregates:
        if call.distinct:
            return None
        found = _take_apart(call)
        if found is None:
            aggregates.append((column, call))
            continue
        condition, whole, other = found
        if condition not in conditions:
            conditions[condition] = Column(next(numbers), "condition", condition.type)
        chosen[column] = conditions[condition], other
        aggregates.append((column, whole))
    if not 0 < len(conditions) <= _MOST:
        return None
    keys = tuple((column, condition) for condition, column in conditions.items())
    parted = part_star(
        replace(star, keys=(*star.keys, *keys), aggregates=tuple(aggregates)), numbers
    )
    if isinstance(parted, str):
        return None
    hidden = {column for column, _ in keys}
    merged = []
    for (column, _), (total, call) in zip(star.aggregates, parted.merged, strict=True):
        given = call.arguments
        if column in chosen:
            key, other = chosen[column]
            given = tuple(_where(key, value, other) for value in given)
        merged.append((total, replace(call, arguments=given)))
    items = tuple(item for item in parted.items if item[0] not in hidden)
    return Parted(parted.star, tuple(merged), items)


def _take_apart(call: AggregateCall) -> tuple[Expression, AggregateCall, Literal] | None:
    """Return an aggregate's condition, it without that, and the constant of all other rows.

    None where there is no condition, or where other rows count, or would fail.
    """
    match call.arguments:
        case (Call("case", (condition, value, Literal() as other)),) if not may_raise(value):
            if not (other.is_null or (call.function == "sum" and other.value == 0)):
                return None
            if call.function == "count" and isinstance(value, Literal) and not value.is_null:
                return condition, AggregateCall("count_star", (), call.type), other
            return condition, replace(call, arguments=(value,)), other
        case _:
            return None


def _where(condition: Column, value: Expression, other: Literal) -> Expression:
    """Return a number of a group, or what it is where the condition is not true."""
    return Call("case", (condition, value, Literal(other.value, value.type)), value.type)
