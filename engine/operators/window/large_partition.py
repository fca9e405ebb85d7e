"""Window functions over partitions that do not fit in memory; see `reach` for the kinds of them.

    whole partitions     an aggregate of each, beside its rows
    some rows around     sorted rows block by block, with those that the frames reach
    all rows before      sorted rows block by block, and what was before them

The rows come out in the order of the last of the functions. Blocks end between rows that differ in
ORDER BY, where that matters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.engine.operators.aggregate.large_groups import values_beside
from raydb.engine.operators.aggregate.run_aggregate import aggregate_rows
from raydb.engine.operators.partition import pieces_of
from raydb.engine.operators.relation import Collector, Relation, joined
from raydb.engine.operators.sort import sort
from raydb.engine.operators.window.frame import arrange, frame_pieces
from raydb.engine.operators.window.reach import (
    SHARES,
    around,
    is_nearby,
    is_remaining,
    is_running,
    is_whole,
    mirrored,
    plain,
)
from raydb.engine.operators.window.running import Block, running_values, sees_peers
from raydb.engine.operators.window.window import compute_windows
from raydb.planner.expressions.columns.order import canonical_floats
from raydb.planner.expressions.nodes import AggregateCall, Column
from raydb.planner.plan.nodes import SortKey
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from raydb.engine.context.memory import Memory
    from raydb.planner.expressions.nodes import Expression, WindowCall

    Calls = Sequence[tuple[Column, WindowCall]]
    Places = Mapping[Expression, Column]
    Values: TypeAlias = pa.Array | pa.ChunkedArray

# Rows are sorted, arranged and folded in blocks that take this share of the room.
_BLOCK_SHARE = 4
_ROW_BYTES = 160

# How far frames reach whose rows tell it is first tried with so many, on both sides.
_FIRST_REACH = 1024

# The columns of plans and of their expressions have other numbers.
_FIRST_SIZE = -2 * 10**9


def fits_files(calls: Calls) -> bool:
    """Tell whether partitions can be larger than the memory for these functions."""
    return all(
        any(kind(plain(call)) for kind in (is_whole, is_nearby, is_running, is_remaining))
        and not any(pt.is_nested(key.type) for key in call.partition_by)
        for _, call in calls
    )


def windows_of_large(rows: Relation, calls: Calls, places: Places, memory: Memory) -> Relation:
    """Return rows with the values of window functions; places: the columns of expressions."""
    calls = [(column, plain(call)) for column, call in calls]
    sizes: dict[tuple[Expression, ...], Column] = {}
    forward: dict[object, list[tuple[Column, WindowCall]]] = {}
    backward: dict[object, list[tuple[Column, WindowCall]]] = {}
    for column, call in calls:
        order = call.partition_by, call.order_by
        if is_whole(call):
            rows = _with_aggregate(rows, column, call, places, memory)
        elif is_nearby(call) or is_running(call):
            forward.setdefault(order, []).append((column, call))
        else:
            backward.setdefault(order, []).append((column, mirrored(call)))
        if call.function in SHARES and call.partition_by not in sizes:
            size = Column(_FIRST_SIZE - len(sizes), "size", pa.int64())
            sizes[call.partition_by] = size
            counting = replace(call, function="count_star", arguments=(), type=size.type)
            rows = _with_aggregate(rows, size, counting, places, memory)
    for some in forward.values():
        ordered = _sorted(rows, some[0][1], places, memory)
        rows = _in_order(ordered, some, (places, sizes), memory)
    for some in backward.values():
        ordered = _sorted(_reversed(rows, memory), some[0][1], places, memory)
        rows = _in_order(ordered, some, (places, sizes), memory)
    return rows


# -- whole partitions


def _with_aggregate(
    rows: Relation, column: Column, call: WindowCall, places: Places, memory: Memory
) -> Relation:
    keys = [places[key] for key in call.partition_by]
    aggregate = AggregateCall(call.function, call.arguments, call.type, call.distinct, call.filter)
    values = {expression: rows.columns[place] for expression, place in places.items()}
    chosen = {key: rows.columns[key] for key in keys}
    groups = aggregate_rows(chosen, [(column, aggregate)], values, rows.row_count, memory)
    collector = Collector(memory, [*rows.columns, column])
    for piece in pieces_of(rows, memory):
        if keys:
            found: Values = values_beside(piece, groups, keys, column)
        else:
            found = pa.repeat(joined(groups.columns[column])[0], piece.row_count)
        collector.add(Relation({**piece.columns, column: found}, piece.row_count))
    return collector.relation()


# -- sorted rows, block by block


def _sorted(rows: Relation, call: WindowCall, places: Places, memory: Memory) -> Relation:
    """Return the rows in the order of a function, its partitions one after the other."""
    keys = [places[key] for key in call.partition_by]
    canonical = {key: canonical_floats(rows.columns[key]) for key in keys}
    order = [*map(SortKey, keys)] + [
        SortKey(places[item.expression], item.descending, item.nulls_first)
        for item in call.order_by
    ]
    whole = Relation({**rows.columns, **canonical}, rows.row_count)
    return sort(whole, order, None, memory) if order else whole


def _reversed(rows: Relation, memory: Memory) -> Relation:
    """Return the rows from the last to the first: a stable sort keeps them so where they tie."""
    collector = Collector(memory, list(rows.columns))
    for piece in reversed(list(pieces_of(rows, memory))):
        collector.add(piece.take(pa.array(np.arange(piece.row_count)[::-1])))
    return collector.relation()


def _in_order(
    ordered: Relation,
    calls: Calls,
    of: tuple[Places, Mapping[tuple[Expression, ...], Column]],
    memory: Memory,
) -> Relation:
    """Return sorted rows with the values of functions that share the order; of: places, sizes."""
    places, sizes = of
    nearby = [item for item in calls if is_nearby(item[1])]
    running = [item for item in calls if not is_nearby(item[1])]
    columns = list(dict.fromkeys([*ordered.columns, *(column for column, _ in calls)]))
    collector = Collector(memory, columns)
    carried: dict[Column, pa.Scalar] = {}
    done, reach = 0, _reach_of(nearby)
    for block in _blocks(ordered, calls, places, memory):
        some = ordered.slice(block.start, block.row_count).combined()
        found = dict(some.columns)
        if nearby:
            computed, reach = _nearby_values(ordered, nearby, (block, reach), places, memory)
            found |= computed
        if running:
            values = {expression: some.columns[place] for expression, place in places.items()}
            counts = {
                column: some.columns[sizes[call.partition_by]]
                for column, call in running
                if call.function in SHARES
            }
            found |= running_values(running, values, counts, block, (done, carried))
        goes_on = block.last_partition == block.row_count == block.first_partition
        done = block.last_partition + (done if goes_on else 0)
        collector.add(Relation(found, block.row_count))
    return collector.relation()


def _reach_of(calls: Calls) -> tuple[int, int]:
    """Return how many rows around its own the functions see, or a guess."""
    reach = [around(call) or (_FIRST_REACH, _FIRST_REACH) for _, call in calls]
    return max((each[0] for each in reach), default=0), max((each[1] for each in reach), default=0)


def _nearby_values(
    ordered: Relation,
    calls: Calls,
    of: tuple[Block, tuple[int, int]],
    places: Places,
    memory: Memory,
) -> tuple[dict[Column, Values], tuple[int, int]]:
    """Return the values of functions for a block, with the rows around it that they see.

    of: the block, and how many rows before and behind it are likely to be enough. Returns how many
    were. Raises OperationalError for frames of too many rows.
    """
    block, (before, behind) = of
    unknown = [call for _, call in calls if around(call) is None]
    while True:
        low, high = max(block.start - before, 0), min(block.stop + behind, ordered.row_count)
        wide = ordered.slice(low, high - low).combined()
        values = {expression: wide.columns[place] for expression, place in places.items()}
        own = slice(block.start - low, block.stop - low)
        cut_before, cut_behind = _cut(unknown, values, wide.row_count, own)
        if not (cut_before and low > 0) and not (cut_behind and high < ordered.row_count):
            break
        before *= 1 + (cut_before and low > 0)
        behind *= 1 + (cut_behind and high < ordered.row_count)
        need = (before + block.row_count + behind) * _ROW_BYTES
        memory.check(need, "a window function over frames of many rows")
    columns: dict[Column, Values] = {
        column: found.slice(own.start, block.row_count)
        for column, found in compute_windows(calls, values, wide.row_count).items()
    }
    return columns, (before, behind)


def _cut(
    calls: Sequence[WindowCall],
    values: Mapping[Expression, Values],
    row_count: int,
    own: slice,
) -> tuple[bool, bool]:
    """Tell whether frames of a block's rows may go on before the rows around them, and behind."""
    cut_before = cut_behind = False
    for call in calls:
        arrangement = arrange(call.partition_by, call.order_by, values, row_count)
        full = replace(call, frame=replace(call.frame, exclude="no_others"))
        ((starts, ends),) = frame_pieces(full, arrangement, values)
        cut_before |= int(starts[own].min()) == 0
        cut_behind |= int(ends[own].max()) == row_count
    return cut_before, cut_behind


def _blocks(rows: Relation, calls: Calls, places: Places, memory: Memory) -> Iterator[Block]:
    """Yield blocks of sorted rows. Raises OperationalError for too many rows that are peers."""
    first = calls[0][1]
    needs_peers = sees_peers([item for item in calls if not is_nearby(item[1])])
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
        peers = found.peers + low
        if needs_peers and stop < rows.row_count:
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
        others = peers[peers >= start]
        are_peers = min(int(others[0]), stop) - start if start else 0
        yield Block(start, stop, goes_on, are_peers, in_last)
        start, size = stop, step
