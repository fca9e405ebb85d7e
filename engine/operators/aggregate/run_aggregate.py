"""GROUP BY: groups of all rows at once where they fit in memory, else part by part.

    GROUP BY k         parts by the hash of k, each aggregated on its own

Where a part is still too large, because a group is, its rows are folded block by block, as far as
that gives the same result: a state of each group goes before the next block's rows.

    count(x)   0 or 1 a row, added up           min(x)   x, the least of them
    sum(x)     x, added up                      avg(x)   x and 0 or 1, both added up
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial, reduce
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from raydb.engine.operators.aggregate.aggregate import aggregate
from raydb.engine.operators.aggregate.exact_sums import average, is_exact, split_limbs
from raydb.engine.operators.partition import part_count, split_by_hash, work_bytes
from raydb.engine.operators.relation import Collector, Relation, concatenate, joined
from raydb.interrupts import beside
from raydb.planner.expressions.casts.cast import cast_values
from raydb.planner.expressions.nodes import (
    AggregateCall,
    Call,
    Column,
    Literal,
    WindowCall,
    expressions_of,
)
from raydb.planner.expressions.registry import may_raise

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from raydb.engine.context.memory import Memory
    from raydb.engine.operators.run import Sources
    from raydb.planner.expressions.nodes import Expression
    from raydb.planner.plan.nodes import Aggregate

_FilteredCall = TypeVar("_FilteredCall", AggregateCall, WindowCall)

# What an aggregate holds of each row beside the values, and for each key and aggregate of a group.
_AGGREGATE_BYTES = 72
_BYTES_A_COLUMN = 8

# Rows are folded in blocks that take this share of the room.
_BLOCK_SHARE = 4

# Aggregates whose state is a value: that of two states is that of two values.
_OWN_STATE = frozenset(
    {"sum", "min", "max", "bool_and", "bool_or", "bit_and", "bit_or", "bit_xor", "any_value"}
)
_COUNTS = frozenset({"count", "count_star"})


def run_aggregate(plan: Aggregate, columns: Sequence[Column], sources: Sources) -> Relation:
    """Return some columns of the groups of a plan's rows, for one set of keys or for several."""
    live = frozenset(columns)
    calls = [(column, guarded(call)) for column, call in plan.aggregates if column in live]
    read = dict.fromkeys(e for _, call in calls for e in expressions_of(call))
    expressions = [*(expression for _, expression in plan.keys), *read]
    rows, values = sources.rows_with(plan.source, (), expressions)
    keys = {column: values[i] for i, (column, _) in enumerate(plan.keys)}
    of_expression = dict(zip(read, values[len(keys) :], strict=True))
    if plan.grouping is None:
        groups = aggregate_rows(keys, calls, of_expression, rows.row_count, sources.memory)
        return groups.select(columns)
    parts = []
    for number, places in enumerate(plan.grouping.sets):
        chosen = {plan.keys[place][0]: values[place] for place in places}
        groups = aggregate_rows(chosen, calls, of_expression, rows.row_count, sources.memory)
        count = groups.row_count
        missing = {key: pa.nulls(count, key.type) for key in keys if key not in chosen}
        numbers = pa.repeat(pa.scalar(number, plan.grouping.number.type), count)
        parts.append(Relation({**groups.columns, **missing, plan.grouping.number: numbers}, count))
    return concatenate(parts, columns)


def guarded(call: _FilteredCall) -> _FilteredCall:
    """Return a call whose arguments cannot fail for the rows that its FILTER leaves out."""
    if call.filter is None or not any(may_raise(argument) for argument in call.arguments):
        return call
    condition = call.filter
    arguments = tuple(
        Call("case", (condition, argument, Literal(None, argument.type)), argument.type)
        if may_raise(argument)
        else argument
        for argument in call.arguments
    )
    return replace(call, arguments=arguments)


def aggregate_rows(
    keys: Mapping[Column, pa.ChunkedArray | pa.Array],
    calls: Sequence[tuple[Column, AggregateCall]],
    values: Mapping[Expression, pa.ChunkedArray | pa.Array],
    row_count: int,
    memory: Memory,
) -> Relation:
    """Group rows as `aggregate` does, within the memory that there is.

    Raises OperationalError for a group that needs more, and cannot be folded block by block.
    """
    if not keys and all(_counts_rows(call) for _, call in calls):
        # Not even numbers for the rows: a cross product may have more of them than bytes fit.
        counts = {column: pa.array([row_count], call.type) for column, call in calls}
        return Relation(counts, 1)
    rows, places = as_relation(keys, values, row_count)
    need = _aggregate_need(rows, keys, calls)
    if need <= memory.room():
        return beside(lambda: aggregate(keys, calls, values, row_count), row_count)
    parts = [rows]
    if keys:
        parts = split_by_hash(rows, list(keys), part_count(need, memory), memory)
    collector = Collector(memory, [*keys, *(column for column, _ in calls)])
    for part in parts:
        need = _aggregate_need(part, keys, calls)
        is_foldable = all(_has_state(call) for _, call in calls)
        if need > memory.room() and is_foldable:
            collector.add(_fold_blocks(part, list(keys), calls, places, memory))
        else:
            memory.check(need, "an aggregate over a group of many rows")
            chosen = {key: part.columns[key] for key in keys}
            some = {expression: part.columns[place] for expression, place in places.items()}
            count = part.row_count
            found = beside(partial(aggregate, chosen, calls, some, count), count)
            collector.add(found)
    return collector.relation()


def _counts_rows(call: AggregateCall) -> bool:
    return call.function == "count_star" and call.filter is None


def as_relation(
    columns: Mapping[Column, pa.ChunkedArray | pa.Array],
    values: Mapping[Expression, pa.ChunkedArray | pa.Array],
    row_count: int,
) -> tuple[Relation, dict[Expression, Column]]:
    """Return rows with the values of expressions as columns, and which column each one is."""
    # The columns of plans have numbers from 0 on.
    places = {each: Column(-1 - i, "value", each.type) for i, each in enumerate(values)}
    computed = {places[expression]: values[expression] for expression in values}
    return Relation({**columns, **computed}, row_count), places


def _aggregate_need(
    rows: Relation, keys: Collection[Column], calls: Sequence[tuple[Column, AggregateCall]]
) -> int:
    return work_bytes(rows, _AGGREGATE_BYTES + _BYTES_A_COLUMN * (len(keys) + len(calls)))


# -- groups block by block


def _fold_blocks(
    rows: Relation,
    keys: Sequence[Column],
    calls: Sequence[tuple[Column, AggregateCall]],
    places: Mapping[Expression, Column],
    memory: Memory,
) -> Relation:
    """Aggregate rows in blocks. Doubles are added up in the order of the rows, as ever."""
    states = [state for column, call in calls for state in _states(column, call)]
    width = _aggregate_need(rows, keys, states) // rows.row_count
    step = max(memory.room() // (_BLOCK_SHARE * width), 1)
    groups: Relation | None = None
    for start in range(0, rows.row_count, step):
        block = rows.slice(start, step).combined()
        values = {key: block.columns[key] for key in keys}
        for column, call in calls:
            values |= _first_states(column, call, block, places)
        read = list(values)
        some = Relation(values, block.row_count)
        some = concatenate([some] if groups is None else [groups, some], read).combined()
        memory.check(_aggregate_need(some, keys, states), "the aggregate")
        arguments: dict[Expression, pa.ChunkedArray | pa.Array] = {
            column: some.columns[column] for column in read
        }
        chosen = {key: some.columns[key] for key in keys}
        groups = aggregate(chosen, states, arguments, some.row_count)
    assert groups is not None, "there are too many rows"
    results = {column: _result(column, call, groups) for column, call in calls}
    return Relation({**groups.select(keys).columns, **results}, groups.row_count)


def _has_state(call: AggregateCall) -> bool:
    known = call.function in _OWN_STATE or call.function in _COUNTS or call.function == "avg"
    return known and not call.distinct and not call.order_by


def _count_of(column: Column) -> Column:
    """Return the column of the count that an average has beside its sum."""
    return Column(-1 - column.number, "count", pa.int64())


def _states(column: Column, call: AggregateCall) -> list[tuple[Column, AggregateCall]]:
    """Return the aggregates that make one state of several, in columns of their own."""
    function = "sum" if call.function in _COUNTS or call.function == "avg" else call.function
    kind = _state_type(call)
    state = Column(column.number, "state", kind)
    states = [(state, AggregateCall(function, (state,), kind))]
    if call.function == "avg":
        count = _count_of(column)
        states.append((count, AggregateCall("sum", (count,), count.type)))
    return states


def _state_type(call: AggregateCall) -> pa.DataType:
    if call.function in _COUNTS:
        return pa.int64()
    kind = call.arguments[0].type
    if call.function not in ("sum", "avg"):
        return kind
    if not is_exact(kind):
        return pa.float64()
    return pa.decimal128(38, kind.scale if pt.is_decimal(kind) else 0)


def _first_states(
    column: Column, call: AggregateCall, rows: Relation, places: Mapping[Expression, Column]
) -> dict[Column, pa.ChunkedArray | pa.Array]:
    """Return the state of each single row."""
    passed = [] if call.filter is None else [rows.columns[places[call.filter]].fill_null(False)]
    passed += [rows.columns[places[argument]].is_valid() for argument in call.arguments]
    (state, _), *others = _states(column, call)
    counted = reduce(pc.and_, passed) if passed else pa.array(np.ones(rows.row_count, np.bool_))
    if call.function in _COUNTS:
        return {state: pc.cast(counted, pa.int64())}
    values = cast_values(rows.columns[places[call.arguments[0]]], state.type)
    states = {state: pc.if_else(counted, values, pa.scalar(None, state.type))}
    return states | {count: pc.cast(counted, pa.int64()) for count, _ in others}


def _result(column: Column, call: AggregateCall, groups: Relation) -> pa.ChunkedArray | pa.Array:
    """Return an aggregate of each group from its state."""
    state, *_ = (groups.columns[each] for each, _ in _states(column, call))
    if call.function != "avg":
        return cast_values(state, call.type)
    counts = joined(groups.columns[_count_of(column)]).to_numpy()
    if is_exact(call.arguments[0].type):
        return cast_values(average(split_limbs(state), counts, state.type), call.type)
    sums = joined(state).fill_null(0.0).to_numpy()
    averages = pa.array(sums / np.maximum(counts, 1), mask=counts == 0)
    return cast_values(averages, call.type)
