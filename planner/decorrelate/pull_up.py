"""Pulls what a query reads of an outer row up to the query's top, where it becomes a join.

    Project(b, Filter(i.a = o.a AND i.c > 1, i))   ->   Project(b, a, Filter(c > 1, i)) on a = o.a
    Aggregate(sum(b), Filter(i.a = o.a, i))        ->   Aggregate(sum(b) by a, i) on a = o.a

An aggregate without keys has a row even for an outer row without partners, where a count is 0. The
rules are those of Kim, "On Optimizing an SQL-like Nested Query" (1982), without its bugs; what they
do not cover is left to `push_domain`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.planner.decorrelate.dependent import Independent, PlanBuilder, depends, key_side, reads
from raydb.planner.expressions.nodes import (
    Bound,
    Call,
    Column,
    Expression,
    Frame,
    Literal,
    OrderItem,
    WindowCall,
    columns_of,
    conjuncts,
    expressions_of,
    map_call,
)
from raydb.planner.plan.nodes import (
    Aggregate,
    Filter,
    InnerJoin,
    Limit,
    OuterJoin,
    Plan,
    Project,
    SemiJoin,
    Sort,
    Unnest,
    Window,
    filter_rows,
)
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from raydb.planner.expressions.nodes import AggregateCall
    from raydb.planner.plan.nodes import SortKey

# The aggregates of no rows that are not NULL.
_ZERO_OF_NOTHING = ("count", "count_star", "entropy", "regr_count")
_WHOLE = Frame("rows", Bound("unbounded_preceding"), Bound("unbounded_following"))


def pull_up(plan: Plan, outer: frozenset[Column], builder: PlanBuilder) -> Independent | None:
    """Return the query without its dependence on `outer`, or None where that takes more."""
    if not depends(plan, outer):
        return Independent(plan)
    match plan:
        case Filter(source=source, predicate=predicate):
            found = pull_up(source, outer, builder)
            return None if found is None else _filter(found, conjuncts(predicate), outer)
        case Project(source=source, items=items):
            found = pull_up(source, outer, builder)
            return None if found is None else _project(found, items, outer)
        case InnerJoin():
            return _join(plan, outer, builder)
        case SemiJoin() | OuterJoin(kind="left") if not depends(plan.right, outer):
            found = pull_up(plan.left, outer, builder)
            return None if found is None else _join_below(plan, found, outer)
        case Aggregate(grouping=None, source=source):
            found = pull_up(source, outer, builder)
            return None if found is None else _aggregate(plan, found, outer, builder)
        case Unnest(source=source):
            found = pull_up(source, outer, builder)
            return None if found is None else _unnest_lists(plan, found, outer)
        case Window(source=source):
            found = pull_up(source, outer, builder)
            return None if found is None else _window(plan, found, outer)
        case Limit(source=source):
            found = pull_up(source.source if isinstance(source, Sort) else source, outer, builder)
            return None if found is None else _limit(plan, found, outer, builder)
        case Sort(source=source, keys=keys):
            found = pull_up(source, outer, builder)
            if found is None or found.always or any(k.column in found.definitions for k in keys):
                return found
            # Aggregates such as string_agg see the rows in their order.
            return replace(found, plan=Sort(found.plan, keys))
        case _:
            return None


def value_or_zero(column: Column, call: AggregateCall) -> Expression:
    """Return an aggregate's value where a join may have found no group, which leaves NULL."""
    if call.function not in _ZERO_OF_NOTHING:
        return column
    return Call("coalesce", (column, Literal(0, column.type)), column.type)


def row_number_call(partition_by: Iterable[Expression], order: Sequence[SortKey]) -> WindowCall:
    """Return row_number() over the rows of each partition in an order."""
    items = tuple(OrderItem(key.column, key.descending, key.nulls_first) for key in order)
    return WindowCall("row_number", (), pa.int64(), tuple(partition_by), items, _WHOLE)


def limit_rows(plan: Plan, number: Column, limit: Limit) -> Plan:
    """Keep the rows of each partition whose number is within a limit."""
    bounds: list[Expression] = []
    if limit.offset:
        bounds.append(_compare("greater", number, limit.offset))
    if limit.count is not None:
        bounds.append(_compare("less_equal", number, limit.offset + limit.count))
    return filter_rows(plan, bounds)


def _compare(function: str, number: Column, value: int) -> Expression:
    return Call(function, (number, Literal(value, pa.int64())), pa.bool_())


def _filter(
    found: Independent, predicates: Iterable[Expression], outer: frozenset[Column]
) -> Independent:
    resolved = [found.resolve(predicate) for predicate in predicates]
    if found.always:
        return replace(found, guards=(*found.guards, *resolved))
    here = [predicate for predicate in resolved if not reads(predicate, outer)]
    above = [predicate for predicate in resolved if reads(predicate, outer)]
    return replace(
        found, plan=filter_rows(found.plan, here), conditions=(*found.conditions, *above)
    )


def _project(
    found: Independent, items: Sequence[tuple[Column, Expression]], outer: frozenset[Column]
) -> Independent:
    resolved = {column: found.resolve(expression) for column, expression in items}
    if found.always:
        return replace(found, definitions=resolved)
    above = {column: e for column, e in resolved.items() if reads(e, outer)}
    here = {column: e for column, e in resolved.items() if column not in above}
    # The conditions, and what is computed above the join, still read the plan's columns.
    read = {c for e in (*found.conditions, *above.values()) for c in columns_of(e)} - outer
    kept = {c: c for c in found.plan.columns if c in read}
    plan = Project(found.plan, tuple({**kept, **here}.items()))
    return replace(found, plan=plan, definitions=above)


def _join(plan: InnerJoin, outer: frozenset[Column], builder: PlanBuilder) -> Independent | None:
    sources: list[Plan] = []
    conditions: list[Expression] = []
    definitions: dict[Column, Expression] = {}
    for source in plan.sources:
        found = pull_up(source, outer, builder)
        if found is None or found.always:
            return None
        sources.append(found.plan)
        conditions += found.conditions
        definitions.update(found.definitions)
    joined = Independent(InnerJoin(tuple(sources), ()), tuple(conditions), definitions)
    resolved = [joined.resolve(condition) for condition in plan.conditions]
    here = [condition for condition in resolved if not reads(condition, outer)]
    above = [condition for condition in resolved if reads(condition, outer)]
    return replace(
        joined,
        plan=InnerJoin(tuple(sources), tuple(here)),
        conditions=(*joined.conditions, *above),
    )


def _join_below(
    plan: SemiJoin | OuterJoin, found: Independent, outer: frozenset[Column]
) -> Independent | None:
    """Join the rows before it is known to which outer row they belong, which changes nothing."""
    conditions = tuple(found.resolve(condition) for condition in plan.conditions)
    if found.always or any(reads(condition, outer) for condition in conditions):
        return None
    return replace(found, plan=replace(plan, left=found.plan, conditions=conditions))


def _keys(found: Independent, outer: frozenset[Column]) -> list[Expression] | None:
    """Return what equals something of the outer row; None where another condition decides.

    All rows of an outer row then have the same keys, and rows with other keys belong to others.
    """
    if found.always:
        return None
    keys = []
    for condition in found.conditions:
        if columns_of(condition) <= outer:
            continue
        key = key_side(condition, outer)
        if key is None:
            return None
        keys.append(key)
    return list(dict.fromkeys(keys))


def _aggregate(
    plan: Aggregate, found: Independent, outer: frozenset[Column], builder: PlanBuilder
) -> Independent | None:
    outer_keys = _keys(found, outer)
    keys = tuple((column, found.resolve(key)) for column, key in plan.keys)
    calls = tuple((column, map_call(call, found.resolve)) for column, call in plan.aggregates)
    read = [*(e for _, e in keys), *(e for _, call in calls for e in expressions_of(call))]
    if outer_keys is None or any(reads(expression, outer) for expression in read):
        return None
    columns = {key: column for column, key in reversed(keys)}
    for key in outer_keys:
        if key not in columns:
            columns[key] = builder.new_column(_name(key), key.type)
    added = tuple((columns[key], key) for key in outer_keys if columns[key] not in dict(keys))
    conditions = tuple(_with_key(each, columns, outer) for each in found.conditions)
    if plan.keys:
        return Independent(Aggregate(found.plan, (*keys, *added), calls), conditions)
    named = [(builder.new_column(column.name, column.type), call) for column, call in calls]
    definitions = {
        column: value_or_zero(value, call)
        for (column, _), (value, call) in zip(calls, named, strict=True)
    }
    return Independent(
        Aggregate(found.plan, added, tuple(named)), conditions, definitions, always=True
    )


def _name(key: Expression) -> str:
    return key.name if isinstance(key, Column) else "key"


def _with_key(
    condition: Expression, columns: dict[Expression, Column], outer: frozenset[Column]
) -> Expression:
    """Return an equality with the outer row whose inner side is a group key now."""
    key = key_side(condition, outer)
    if key is None or not isinstance(condition, Call):
        return condition
    sides = tuple(columns[side] if side == key else side for side in condition.arguments)
    return replace(condition, arguments=sides)


def _unnest_lists(plan: Unnest, found: Independent, outer: frozenset[Column]) -> Independent | None:
    items = tuple((column, found.resolve(e)) for column, e in plan.items)
    if found.always or any(reads(e, outer) for _, e in items):
        return None
    return replace(found, plan=replace(plan, source=found.plan, items=items))


def _window(plan: Window, found: Independent, outer: frozenset[Column]) -> Independent | None:
    keys = _keys(found, outer)
    calls = tuple((column, map_call(call, found.resolve)) for column, call in plan.calls)
    if keys is None or any(reads(e, outer) for _, call in calls for e in expressions_of(call)):
        return None
    divided = tuple(
        (column, replace(call, partition_by=(*keys, *call.partition_by))) for column, call in calls
    )
    return replace(found, plan=Window(found.plan, divided))


def _limit(
    plan: Limit, found: Independent, outer: frozenset[Column], builder: PlanBuilder
) -> Independent | None:
    """Number the rows of each outer row in their order, and keep the first."""
    if found.always and plan.offset == 0 and plan.count != 0:
        return found
    keys = _keys(found, outer)
    order = plan.source.keys if isinstance(plan.source, Sort) else ()
    if keys is None or any(key.column in found.definitions for key in order):
        return None
    number = builder.new_column("row_number", pa.int64())
    numbered = Window(found.plan, ((number, row_number_call(keys, order)),))
    columns = found.plan.columns
    first = limit_rows(numbered, number, plan)
    return replace(found, plan=Project(first, tuple((column, column) for column in columns)))
