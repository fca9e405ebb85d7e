"""Groups of rows that come block by block: a state of each group goes before the next block's rows.

    count(x)   0 or 1 a row, added up           min(x)   x, the least of them
    sum(x)     x, added up                      avg(x)   x and 0 or 1, both added up

Doubles are added up in the order of the rows, as ever.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.engine.operators.aggregate.aggregate import aggregate
from raydb.engine.operators.aggregate.exact_sums import average, is_exact, split_limbs
from raydb.engine.operators.aggregate.vectors import averages
from raydb.engine.operators.relation import Relation, concatenate, joined
from raydb.late import pc
from raydb.planner.expressions.casts.cast import cast_values
from raydb.planner.expressions.nodes import AggregateCall, Column
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raydb.planner.expressions.nodes import Expression

    Calls = Sequence[tuple[Column, AggregateCall]]

# Aggregates whose state is a value: that of two states is that of two values.
_OWN_STATE = frozenset(
    {"sum", "min", "max", "bool_and", "bool_or", "bit_and", "bit_or", "bit_xor", "any_value"}
    | {"product", "first", "last", "arg_min", "arg_max", "vector_sum"}
)
# Those that see NULLs: in a state no other row's value stands for what a FILTER has left out.
_PLACES = frozenset({"first", "last"})
_COUNTS = frozenset({"count", "count_star"})
# Averages, and the sums that are their states.
_AVERAGES = {"avg": "sum", "vector_avg": "vector_sum"}
_SUMS = frozenset({*_AVERAGES, *_AVERAGES.values()})
# Those whose states, but of single rows, are not those of all rows.
_NOT_OF_PARTS = frozenset({"product", "arg_min", "arg_max"})


def is_foldable(calls: Calls) -> bool:
    """Tell whether groups of blocks give those of all rows."""
    return all(_has_state(call) for _, call in calls)


def states_of(calls: Calls) -> list[tuple[Column, AggregateCall]]:
    """Return the aggregates that make one state of several, in columns of their own."""
    return [state for column, call in calls for state in _states(column, call)]


def first_states(
    rows: Relation, keys: Sequence[Column], calls: Calls, places: Mapping[Expression, Column]
) -> Relation:
    """Return the keys and the state of each single row; places: the columns of expressions."""
    values = {key: rows.columns[key] for key in keys}
    for column, call in calls:
        values |= _first_states(column, call, rows, places)
    return Relation(values, rows.row_count)


def partial_calls(calls: Calls) -> Calls | None:
    """Return the aggregates of some rows that are their states; None where these would differ.

    Sums of doubles depend on the order in which they are added up.
    """
    found: list[tuple[Column, AggregateCall]] = []
    for column, call in calls:
        is_sum = call.function in _SUMS
        if call.function in _NOT_OF_PARTS or (is_sum and not is_exact(call.arguments[0].type)):
            return None
        (state, _), *counts = _states(column, call)
        function = _AVERAGES.get(call.function, call.function)
        found.append((state, replace(call, function=function, type=state.type)))
        found += [(count, replace(call, function="count", type=count.type)) for count, _ in counts]
    return found


def fold(
    groups: Relation | None, rows: Relation, keys: Sequence[Column], states: Calls
) -> Relation:
    """Return the states of groups with those of further rows."""
    read = list(rows.columns)
    some = rows if groups is None else concatenate([groups, rows], read).combined()
    arguments: dict[Expression, pa.ChunkedArray | pa.Array] = {
        column: some.columns[column] for column in read
    }
    chosen = {key: some.columns[key] for key in keys}
    return aggregate(chosen, states, arguments, some.row_count)


def results_of(groups: Relation, keys: Sequence[Column], calls: Calls) -> Relation:
    """Return the keys and the aggregates of groups from their states."""
    results = {column: _result(column, call, groups) for column, call in calls}
    return Relation({**groups.select(keys).columns, **results}, groups.row_count)


def _has_state(call: AggregateCall) -> bool:
    known = call.function in _OWN_STATE or call.function in _COUNTS or call.function in _AVERAGES
    sees_left_out = call.function in _PLACES and call.filter is not None
    return known and not call.distinct and not call.order_by and not sees_left_out


def _beside(column: Column, kind: pa.DataType) -> Column:
    """Return the column of a second state: an average's count, what an arg_min compares."""
    return Column(-1 - column.number, "beside", kind)


def _states(column: Column, call: AggregateCall) -> list[tuple[Column, AggregateCall]]:
    function = _AVERAGES.get(call.function, call.function)
    function = "sum" if call.function in _COUNTS else function
    kind = _state_type(call)
    state = Column(column.number, "state", kind)
    if call.function in ("arg_min", "arg_max"):
        compared = _beside(column, call.arguments[1].type)
        extreme = AggregateCall(call.function[len("arg_") :], (compared,), compared.type)
        return [(state, AggregateCall(function, (state, compared), kind)), (compared, extreme)]
    states = [(state, AggregateCall(function, (state,), kind))]
    if call.function in _AVERAGES:
        count = _beside(column, pa.int64())
        states.append((count, AggregateCall("sum", (count,), count.type)))
    return states


def _state_type(call: AggregateCall) -> pa.DataType:
    if call.function in _COUNTS:
        return pa.int64()
    if call.function == "product":
        return pa.float64()
    kind = call.arguments[0].type
    if call.function not in _SUMS:
        return kind
    if pt.is_fixed_size_list(kind):
        return pa.list_(pa.float64(), kind.list_size)
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
    if call.function in _PLACES:
        return {state: rows.columns[places[call.arguments[0]]]}
    counted = reduce(pc.and_, passed) if passed else pa.array(np.ones(rows.row_count, np.bool_))
    if call.function in _COUNTS:
        return {state: pc.cast(counted, pa.int64())}
    values = cast_values(rows.columns[places[call.arguments[0]]], state.type)
    states = {state: pc.if_else(counted, values, pa.scalar(None, state.type))}
    if call.function in ("arg_min", "arg_max"):
        compared = rows.columns[places[call.arguments[1]]]
        nothing = pa.scalar(None, compared.type)
        return states | {column: pc.if_else(counted, compared, nothing) for column, _ in others}
    return states | {count: pc.cast(counted, pa.int64()) for count, _ in others}


def _result(column: Column, call: AggregateCall, groups: Relation) -> pa.ChunkedArray | pa.Array:
    """Return an aggregate of each group from its state."""
    state = joined(groups.columns[_states(column, call)[0][0]])
    if call.function in _COUNTS:
        return cast_values(state.fill_null(0), call.type)  # The sum over no rows at all is NULL.
    if call.function not in _AVERAGES:
        return cast_values(state, call.type)
    counts = joined(groups.columns[_beside(column, pa.int64())].fill_null(0)).to_numpy()
    if is_exact(call.arguments[0].type):
        return cast_values(average(split_limbs(state), counts, state.type), call.type)
    if pt.is_fixed_size_list(state.type):
        totals = np.zeros((len(counts), state.type.list_size))
        totals[state.is_valid().to_numpy(zero_copy_only=False)] = (
            state.flatten().to_numpy().reshape(-1, state.type.list_size)
        )
        return cast_values(averages(totals, counts), call.type)
    sums = joined(state).fill_null(0.0).to_numpy()
    quotients = pa.array(sums / np.maximum(counts, 1), mask=counts == 0)
    return cast_values(quotients, call.type)
