"""Aggregates and window functions over more rows than fit in memory.

    GROUP BY k         parts by the hash of k, each aggregated on its own
    PARTITION BY k     parts by the hash of k, each with its windows computed

Where a part is still too large, because a group is, its rows are folded block by block, as far as
that gives the same result: a state of each group goes before the next block's rows.

    count(x)   0 or 1 a row, added up           min(x)   x, the least of them
    sum(x)     x, added up                      avg(x)   x and 0 or 1, both added up
"""

from __future__ import annotations

from functools import partial, reduce
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from raydb.engine.operators.aggregate.aggregate import aggregate
from raydb.engine.operators.aggregate.exact_sums import average, is_exact, split_limbs
from raydb.engine.operators.partition import part_count, split_by_hash, work_bytes
from raydb.engine.operators.relation import Collector, Relation, concatenate, joined
from raydb.engine.operators.window.window import compute_windows
from raydb.interrupts import beside
from raydb.planner.expressions.casts.cast import cast_values
from raydb.planner.expressions.nodes import AggregateCall, Column

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from raydb.engine.context.memory import Memory
    from raydb.planner.expressions.nodes import Expression, WindowCall

# What an aggregate holds of each row beside the values, and for each key and aggregate of a group.
_AGGREGATE_BYTES = 72
_BYTES_A_COLUMN = 8
# What window functions hold of each row beside the values, and for each result.
_WINDOW_BYTES = 112
_BYTES_A_WINDOW = 16

# Rows are folded in blocks that take this share of the room.
_BLOCK_SHARE = 4

# Aggregates whose state is a value: that of two states is that of two values.
_OWN_STATE = frozenset(
    {"sum", "min", "max", "bool_and", "bool_or", "bit_and", "bit_or", "bit_xor", "any_value"}
)
_COUNTS = frozenset({"count", "count_star"})


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
    rows, places = _as_relation(keys, values, row_count)
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


def _as_relation(
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


# -- windows


def window_rows(
    rows: Relation,
    calls: Sequence[tuple[Column, WindowCall]],
    values: Mapping[Expression, pa.ChunkedArray | pa.Array],
    memory: Memory,
) -> Relation:
    """Return the rows with the values of window functions, within the memory that there is.

    Raises OperationalError for a partition that needs more.
    """
    whole, places = _as_relation(rows.columns, values, rows.row_count)
    columns = [*rows.columns, *(column for column, _ in calls)]
    if _window_need(whole, calls) <= memory.room():
        count = rows.row_count
        computed = beside(lambda: compute_windows(calls, values, count), count)
        return Relation({**rows.columns, **computed}, count)
    for some in _with_one_split(calls):
        whole = _windows_by_parts(whole, some, places, memory)
    return whole.select(columns)


def _window_need(rows: Relation, calls: Sequence[tuple[Column, WindowCall]]) -> int:
    return work_bytes(rows, _WINDOW_BYTES + _BYTES_A_WINDOW * len(calls))


def _with_one_split(
    calls: Sequence[tuple[Column, WindowCall]],
) -> list[list[tuple[Column, WindowCall]]]:
    """Return the calls together that can be computed over the same parts of the rows."""
    if frozenset.intersection(*(frozenset(call.partition_by) for _, call in calls)):
        return [list(calls)]
    groups: dict[frozenset[Expression], list[tuple[Column, WindowCall]]] = {}
    for column, call in calls:
        groups.setdefault(frozenset(call.partition_by), []).append((column, call))
    return list(groups.values())


def _windows_by_parts(
    rows: Relation,
    calls: Sequence[tuple[Column, WindowCall]],
    places: Mapping[Expression, Column],
    memory: Memory,
) -> Relation:
    need = _window_need(rows, calls)
    shared = frozenset.intersection(*(frozenset(call.partition_by) for _, call in calls))
    parts = [rows]
    if shared:
        keys = [place for expression, place in places.items() if expression in shared]
        parts = split_by_hash(rows, keys, part_count(need, memory), memory)
    collector = Collector(memory, [*rows.columns, *(column for column, _ in calls)])
    for part in parts:
        memory.check(_window_need(part, calls), "a window function over a partition of many rows")
        values = {expression: part.columns[place] for expression, place in places.items()}
        count = part.row_count
        computed = beside(partial(compute_windows, calls, values, count), count)
        collector.add(Relation({**part.columns, **computed}, count))
    return collector.relation()
