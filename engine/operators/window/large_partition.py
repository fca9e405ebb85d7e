"""Window functions over partitions that do not fit in memory.

    whole partitions     sum(x) OVER (): an aggregate of each, beside its rows
    some rows around     lag(x, 2), ROWS 5 PRECEDING: sorted rows block by block, with a few more
    all rows before      ranks, running sums: sorted rows block by block, and what was before them

The rows come out in the order of the last of the functions. Blocks end between rows that differ in
ORDER BY, where that matters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from raydb.engine.operators.aggregate.exact_sums import (
    average,
    is_exact,
    join_limbs,
    split_limbs,
)
from raydb.engine.operators.aggregate.large_groups import values_beside
from raydb.engine.operators.aggregate.run_aggregate import aggregate_rows
from raydb.engine.operators.partition import pieces_of
from raydb.engine.operators.relation import Collector, Relation, joined
from raydb.engine.operators.sort import sort
from raydb.engine.operators.window.frame import arrange
from raydb.engine.operators.window.window import compute_windows
from raydb.planner.expressions.casts.cast import cast_values
from raydb.planner.expressions.columns.order import canonical_floats
from raydb.planner.expressions.nodes import AggregateCall, Column, Literal
from raydb.planner.plan.nodes import SortKey

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from raydb.engine.context.memory import Memory
    from raydb.planner.expressions.nodes import Expression, WindowCall

    Calls = Sequence[tuple[Column, WindowCall]]
    Places = Mapping[Expression, Column]
    Values: TypeAlias = pa.Array | pa.ChunkedArray

_RANKS = frozenset({"row_number", "rank", "dense_rank"})
_RUNNING = frozenset({"count_star", "count", "sum", "avg", "min", "max"})
# What is no aggregate has no value for a whole partition.
_PICKS = frozenset({"lag", "lead", "first_value", "last_value", "nth_value", "ntile"})
_SHARES = frozenset({"percent_rank", "cume_dist"})

# A frame of so many rows goes with every block.
_MOST_AROUND = 10_000

# Rows are sorted, arranged and folded in blocks that take this share of the room.
_BLOCK_SHARE = 4
_ROW_BYTES = 160


def fits_files(calls: Calls) -> bool:
    """Tell whether partitions can be larger than the memory for these functions."""
    return all(
        (_is_whole(call) or _around(call) is not None or _is_running(call))
        and not any(pt.is_nested(key.type) for key in call.partition_by)
        for _, call in calls
    )


def windows_of_large(rows: Relation, calls: Calls, places: Places, memory: Memory) -> Relation:
    """Return rows with the values of window functions; places: the columns of expressions."""
    whole = [item for item in calls if _is_whole(item[1])]
    for column, call in whole:
        rows = _with_aggregate(rows, column, call, places, memory)
    by_order: dict[object, list[tuple[Column, WindowCall]]] = {}
    for column, call in calls:
        if not _is_whole(call):
            by_order.setdefault((call.partition_by, call.order_by), []).append((column, call))
    for some in by_order.values():
        rows = _in_order(rows, some, places, memory)
    return rows


def _is_whole(call: WindowCall) -> bool:
    """Tell whether a function is an aggregate of the whole partition for each of its rows."""
    frame = call.frame
    if call.function in _RANKS | _PICKS | _SHARES or frame.exclude != "no_others":
        return False
    to_end = frame.end.kind == "unbounded_following"
    are_peers = not call.order_by and frame.unit != "rows" and frame.end.kind == "current_row"
    return frame.start.kind == "unbounded_preceding" and (to_end or are_peers)


def _around(call: WindowCall) -> tuple[int, int] | None:
    """Return how many rows before and behind its own a function sees, None for others."""
    if call.function in ("lag", "lead"):
        offset = call.arguments[1] if len(call.arguments) > 1 else Literal(1, pa.int64())
        if call.ignore_nulls or not isinstance(offset, Literal) or offset.value is None:
            return None
        distance = int(offset.value) if call.function == "lead" else -int(offset.value)
        found = max(-distance, 0), max(distance, 0)
        return found if max(found) <= _MOST_AROUND else None
    frame = call.frame
    if call.function in _RANKS | _PICKS | _SHARES or frame.unit != "rows":
        return None
    if frame.exclude not in ("no_others", "current_row"):
        return None
    reach = []
    for bound in (frame.start, frame.end):
        if bound.kind.startswith("unbounded"):
            return None
        rows = 0
        if bound.kind != "current_row":
            assert isinstance(bound.offset, Literal), "offsets are constant"
            rows = int(bound.offset.value)
        reach.append(-rows if bound.kind == "preceding" else rows)
    before, behind = max(-min(reach), 0), max(*reach, 0)
    return (before, behind) if max(before, behind) <= _MOST_AROUND else None


def _is_running(call: WindowCall) -> bool:
    """Tell whether a value comes of that of the row before and of its own row, or its peers."""
    if call.function in _RANKS:
        return True
    frame = call.frame
    ends = frame.start.kind, frame.end.kind, frame.exclude
    if ends != ("unbounded_preceding", "current_row", "no_others") or call.distinct:
        return False
    # The order of doubles is not the one that Arrow compares them in.
    is_extreme = call.function in ("min", "max")
    return call.function in _RUNNING and not (is_extreme and not _is_comparable(call.type))


def _is_comparable(kind: pa.DataType) -> bool:
    is_plain = pt.is_integer(kind) or pt.is_decimal(kind) or pt.is_temporal(kind)
    return bool((is_plain and not pt.is_interval(kind)) or pt.is_string(kind))


# -- whole partitions


def _with_aggregate(
    rows: Relation, column: Column, call: WindowCall, places: Places, memory: Memory
) -> Relation:
    keys = [places[key] for key in call.partition_by]
    plain = AggregateCall(call.function, call.arguments, call.type, call.distinct, call.filter)
    values = {expression: rows.columns[place] for expression, place in places.items()}
    chosen = {key: rows.columns[key] for key in keys}
    groups = aggregate_rows(chosen, [(column, plain)], values, rows.row_count, memory)
    collector = Collector(memory, [*rows.columns, column])
    for piece in pieces_of(rows, memory):
        if keys:
            found: Values = values_beside(piece, groups, keys, column)
        else:
            found = pa.repeat(joined(groups.columns[column])[0], piece.row_count)
        collector.add(Relation({**piece.columns, column: found}, piece.row_count))
    return collector.relation()


# -- sorted rows, block by block


@dataclass(frozen=True, eq=False, slots=True)
class _Block:
    """Sorted rows from start to stop.

    first_partition: how many of them go on with the partition of the row before the block;
    last_partition: how many are in the last one.
    """

    start: int
    stop: int
    first_partition: int
    last_partition: int

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return self.stop - self.start


def _in_order(rows: Relation, calls: Calls, places: Places, memory: Memory) -> Relation:
    """Return the rows in the order of functions that share it, with their values."""
    first = calls[0][1]
    keys = [places[key] for key in first.partition_by]
    canonical = {key: canonical_floats(rows.columns[key]) for key in keys}
    order = [*map(SortKey, keys)] + [
        SortKey(places[item.expression], item.descending, item.nulls_first)
        for item in first.order_by
    ]
    whole = Relation({**rows.columns, **canonical}, rows.row_count)
    ordered = sort(whole, order, None, memory) if order else whole
    around = [(column, call) for column, call in calls if _around(call) is not None]
    running = [(column, call) for column, call in calls if _around(call) is None]
    reach = [found for _, call in around if (found := _around(call)) is not None]
    before, behind = (max(each) for each in zip(*reach, strict=True)) if reach else (0, 0)
    collector = Collector(memory, [*rows.columns, *(column for column, _ in calls)])
    carried: dict[Column, pa.Scalar] = {}
    done = 0
    for block in _blocks(ordered, calls, places, memory):
        some = ordered.slice(block.start, block.row_count).combined()
        columns = dict(some.columns)
        if around:
            low = max(block.start - before, 0)
            wide = ordered.slice(low, block.stop + behind - low).combined()
            values = {expression: wide.columns[place] for expression, place in places.items()}
            for column, found in compute_windows(around, values, wide.row_count).items():
                columns[column] = found.slice(block.start - low, block.row_count)
        if running:
            values = {expression: some.columns[place] for expression, place in places.items()}
            columns |= _running(running, values, block, done, carried)
        goes_on = block.last_partition == block.row_count == block.first_partition
        done = block.last_partition + (done if goes_on else 0)
        collector.add(Relation(columns, block.row_count))
    return collector.relation()


def _blocks(rows: Relation, calls: Calls, places: Places, memory: Memory) -> Iterator[_Block]:
    """Yield blocks of sorted rows. Raises OperationalError for too many rows that are peers."""
    first = calls[0][1]
    needs_peers = any(
        _around(call) is None
        and (call.function in ("rank", "dense_rank") or call.frame.unit != "rows")
        and call.function != "row_number"
        for _, call in calls
    )
    read = [*first.partition_by, *(item.expression for item in first.order_by)]
    columns = [places[expression] for expression in dict.fromkeys(read)]
    step = rows.rows_within(memory.room() // _BLOCK_SHARE, _ROW_BYTES)
    start, size = 0, step
    while start < rows.row_count:
        # With the row before it and the row behind it.
        low = max(start - 1, 0)
        some = rows.select(columns).slice(low, start + size + 1 - low).combined()
        values = {expression: some.columns[places[expression]] for expression in read}
        found = arrange(first.partition_by, first.order_by, values, some.row_count)
        stop = min(start + size, rows.row_count)
        if needs_peers and stop < rows.row_count:
            peers = found.peers + low
            ends = peers[(peers > start) & (peers <= stop)]
            if not len(ends):
                size *= 2
                memory.check(size * _ROW_BYTES, "a window function over many rows that are peers")
                continue
            stop = int(ends[-1])
        begins = found.partitions + low
        begins = begins[(begins >= start) & (begins < stop)]
        if start == 0 or not len(begins):
            goes_on = 0 if start == 0 else stop - start
        else:
            goes_on = int(begins[0]) - start
        in_last = stop - int(begins[-1]) if len(begins) else stop - start
        yield _Block(start, stop, goes_on, in_last)
        start, size = stop, step


def _running(
    calls: Calls,
    values: Mapping[Expression, Values],
    block: _Block,
    done: int,
    carried: dict[Column, pa.Scalar],
) -> dict[Column, Values]:
    """Return the values of functions that go on with what was before; that is carried on.

    done: how many rows of the partition came before the block.
    """
    parts = [part for column, call in calls for part in _parts(column, call)]
    computed = compute_windows(parts, values, block.row_count)
    goes_on = pa.array(np.arange(block.row_count) < block.first_partition)
    for column, call in parts:
        found = joined(computed[column])
        if block.first_partition:
            if call.function in ("row_number", "rank"):
                more = pc.add(found, pa.scalar(done, found.type))
            else:
                more = _together(call, carried[column], found)
            found = pc.if_else(goes_on, more, found)
        carried[column] = found[len(found) - 1]
        computed[column] = found
    return {column: _result(column, call, computed) for column, call in calls}


def _together(call: WindowCall, before: pa.Scalar, found: pa.Array) -> pa.Array:
    """Return the values of rows with what was before them."""
    if not before.is_valid:
        return found
    together: pa.Array
    match call.function:
        case "min":
            together = pc.min_element_wise(found, before)
        case "max":
            together = pc.max_element_wise(found, before)
        case _:
            together = pc.if_else(pc.is_null(found), before, _sum(found, before))
    return together


def _sum(values: pa.Array, more: pa.Scalar) -> pa.Array:
    """Return values with a number added to each. Raises DataError for a sum beyond its type."""
    if not is_exact(values.type):
        total: pa.Array = pc.add(values, more)
        return total
    added = split_limbs(pa.array([more.as_py()], values.type))
    limbs = [limb + other[0] for limb, other in zip(split_limbs(values), added, strict=True)]
    return join_limbs(limbs, pc.is_valid(values).to_numpy(zero_copy_only=False), values.type)


def _size_of(column: Column) -> Column:
    """Return the column of the count that a running average has beside its sum."""
    return Column(-(10**9) - column.number, "count", pa.int64())


def _parts(column: Column, call: WindowCall) -> Calls:
    """Return what a function is computed of: an average of a sum and a count."""
    if call.function != "avg":
        return [(column, call)]
    kind = call.arguments[0].type
    total = pa.float64()
    if is_exact(kind):
        total = pa.decimal128(38, kind.scale if pt.is_decimal(kind) else 0)
    return [
        (column, replace(call, function="sum", type=total)),
        (_size_of(column), replace(call, function="count", type=pa.int64())),
    ]


def _result(column: Column, call: WindowCall, computed: Mapping[Column, Values]) -> Values:
    if call.function != "avg":
        return cast_values(computed[column], call.type)
    sums = joined(computed[column])
    counts = joined(computed[_size_of(column)]).to_numpy()
    if is_exact(call.arguments[0].type):
        return cast_values(average(split_limbs(sums), counts, sums.type), call.type)
    doubles = sums.fill_null(0.0).to_numpy() / np.maximum(counts, 1)
    return cast_values(pa.array(doubles, mask=counts == 0), call.type)
