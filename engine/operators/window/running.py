"""Window functions that go on from block to block of sorted rows.

sum(x)           the sum within the block, and for rows of the partition before it what was
                 there added
percent_rank()   of the rank and the number of the partition's rows
avg(x)           of a sum and a count
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.engine.operators.aggregate.exact_sums import (
    average,
    is_exact,
    join_limbs,
    split_limbs,
)
from raydb.engine.operators.relation import joined
from raydb.engine.operators.window.reach import SHARES, TO_HERE
from raydb.engine.operators.window.window import compute_windows, tiles
from raydb.late import pc
from raydb.planner.expressions.casts.cast import cast_values
from raydb.planner.expressions.columns.order import doubles_of_codes, order_codes
from raydb.planner.expressions.nodes import Column
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raydb.planner.expressions.nodes import Expression, WindowCall

    Calls = Sequence[tuple[Column, WindowCall]]
    Values: TypeAlias = pa.Array | pa.ChunkedArray


@dataclass(frozen=True, eq=False, slots=True)
class Block:
    """Sorted rows from start to stop.

    first_partition: how many of them go on with the partition of the row before the block;
    first_peers: how many are peers of that row; last_partition: how many are in the last one.
    """

    start: int
    stop: int
    first_partition: int
    first_peers: int
    last_partition: int

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return self.stop - self.start


def sees_peers(calls: Calls) -> bool:
    """Tell whether blocks have to end between rows that are no peers."""
    parts = [part for column, call in calls for _, part in _parts(column, call)]
    ranks = ("row_number", "rank", "dense_rank", "first_value")
    return any(part.function not in ranks and part.frame.unit != "rows" for part in parts)


def running_values(
    calls: Calls,
    values: Mapping[Expression, Values],
    sizes: Mapping[Column, Values],
    block: Block,
    state: tuple[int, dict[Column, pa.Scalar]],
) -> dict[Column, Values]:
    """Return the values of functions that go on with what was before; that is carried on.

    sizes: for functions that need it, the number of rows of each row's partition. state: how many
    rows of the partition came before the block, and the last value of each part of a function.
    """
    done, carried = state
    parts = [part for column, call in calls for part in _parts(column, call)]
    computed = compute_windows(parts, values, block.row_count)
    goes_on = pa.array(np.arange(block.row_count) < block.first_partition)
    for column, call in parts:
        found = joined(computed[column])
        if block.first_partition:
            more = _going_on(call, carried[column], found, block, done)
            found = pc.if_else(goes_on, more, found)
        carried[column] = found[len(found) - 1]
        computed[column] = found
    return {
        column: _result(column, call, computed, values, sizes.get(column)) for column, call in calls
    }


def _going_on(
    call: WindowCall, before: pa.Scalar, found: pa.Array, block: Block, done: int
) -> pa.Array:
    """Return the values of rows whose partition began before the block."""
    more: pa.Array
    match call.function:
        case "row_number":
            more = pc.add(found, pa.scalar(done, found.type))
        case "rank":
            later = pc.add(found, pa.scalar(done, found.type))
            are_peers = pa.array(np.arange(block.row_count) < block.first_peers)
            more = pc.if_else(are_peers, before, later)
        case "dense_rank":
            more = pc.subtract(pc.add(found, before), int(block.first_peers > 0))
        case "first_value" if not call.ignore_nulls:
            more = pa.repeat(before, block.row_count)
        case "first_value":
            more = pa.repeat(before, block.row_count) if before.is_valid else found
        case "last_value":
            more = pc.fill_null(found, before) if call.ignore_nulls and before.is_valid else found
        case _:
            more = _together(call, before, found)
    return more


def _together(call: WindowCall, before: pa.Scalar, found: pa.Array) -> pa.Array:
    """Return the aggregates of rows with what was before them."""
    if not before.is_valid:
        return found
    if call.function in ("min", "max"):
        codes, other = order_codes(found), order_codes(pa.repeat(before, 1))[0]
        choose = pc.min_element_wise if call.function == "min" else pc.max_element_wise
        chosen: pa.Array = choose(codes, other)
        return doubles_of_codes(chosen) if pt.is_floating(found.type) else chosen
    together: pa.Array = pc.if_else(pc.is_null(found), before, _sum(found, before))
    return together


def _sum(values: pa.Array, more: pa.Scalar) -> pa.Array:
    """Return values with a number added to each. Raises DataError for a sum beyond its type."""
    if not is_exact(values.type):
        total: pa.Array = pc.add(values, more)
        return total
    added = split_limbs(pa.array([more.as_py()], values.type))
    limbs = [limb + other[0] for limb, other in zip(split_limbs(values), added, strict=True)]
    return join_limbs(limbs, pc.is_valid(values).to_numpy(zero_copy_only=False), values.type)


def _count_of(column: Column) -> Column:
    """Return the column of the count that a running average has beside its sum."""
    return Column(-(10**9) - column.number, "count", pa.int64())


def _parts(column: Column, call: WindowCall) -> Calls:
    """Return what a function is computed of."""
    whole = replace(call, type=pa.int64())
    match call.function:
        case "avg":
            kind = call.arguments[0].type
            total = pa.float64()
            if is_exact(kind):
                total = pa.decimal128(38, kind.scale if pt.is_decimal(kind) else 0)
            count = replace(whole, function="count")
            return [(column, replace(call, function="sum", type=total)), (_count_of(column), count)]
        case "ntile":
            return [(column, replace(whole, function="row_number", arguments=()))]
        case "percent_rank":
            return [(column, replace(whole, function="rank"))]
        case "cume_dist":
            to_peers = replace(TO_HERE, unit="range")
            return [(column, replace(whole, function="count_star", frame=to_peers))]
        case "first_value":
            frame = call.frame if call.ignore_nulls else TO_HERE
            return [(column, replace(call, frame=frame))]
        case _:
            return [(column, call)]


def _result(
    column: Column,
    call: WindowCall,
    computed: Mapping[Column, Values],
    values: Mapping[Expression, Values],
    sizes: Values | None,
) -> Values:
    """Return a function's values from those of its parts."""
    if call.function in SHARES:
        assert sizes is not None
        counts, numbers = (joined(each).to_numpy() for each in (sizes, computed[column]))
        match call.function:
            case "ntile":
                return cast_values(tiles(values[call.arguments[0]], numbers - 1, counts), call.type)
            case "percent_rank":
                return pa.array((numbers - 1) / np.maximum(counts - 1, 1))
            case _:
                return pa.array(numbers / counts)
    if call.function != "avg":
        return cast_values(computed[column], call.type)
    sums = joined(computed[column])
    counts = joined(computed[_count_of(column)]).to_numpy()
    if is_exact(call.arguments[0].type):
        return cast_values(average(split_limbs(sums), counts, sums.type), call.type)
    doubles = sums.fill_null(0.0).to_numpy() / np.maximum(counts, 1)
    return cast_values(pa.array(doubles, mask=counts == 0), call.type)
