"""Groups of rows that come in blocks, and never all at once.

A state of each group goes before the next block's rows while the groups are few. Else the states
are parted by the hash of their keys, and each part is folded on its own.
"""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.engine.operators.aggregate.aggregate import aggregate
from raydb.engine.operators.aggregate.fold import (
    first_states,
    fold,
    partial_calls,
    results_of,
    states_of,
)
from raydb.engine.operators.partition import part_count, split_by_hash, work_bytes
from raydb.engine.operators.relation import MORSEL_ROWS, Collector, Relation, concatenate
from raydb.interrupts import beside, check_interrupt
from raydb.storage.in_order import in_order

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from raydb.engine.context.memory import Memory
    from raydb.planner.expressions.nodes import AggregateCall, Column, Expression

# What an aggregate holds of each row beside the values, and for each key and aggregate of a group.
_AGGREGATE_BYTES = 72
_BYTES_A_COLUMN = 8

# Rows are folded in blocks that take this share of the room, the groups' states at most that one.
_BLOCK_SHARE = 4
_STATES_SHARE = 8

# A morsel with more groups than one for so many rows leaves as much to do as there was, unless they
# are few in any case.
_ROWS_A_GROUP = 8
_FEW_GROUPS = 256

# So many morsels' states, or fewer of many groups, become one.
_MORSELS_AT_ONCE = 64


def aggregate_need(
    rows: Relation, keys: Collection[Column], calls: Sequence[tuple[Column, AggregateCall]]
) -> int:
    """Return about how many bytes it takes to aggregate rows."""
    return work_bytes(rows, _AGGREGATE_BYTES + _BYTES_A_COLUMN * (len(keys) + len(calls)))


def fold_blocks(
    blocks: Iterable[Relation],
    keys: Sequence[Column],
    calls: Sequence[tuple[Column, AggregateCall]],
    places: Mapping[Expression, Column],
    memory: Memory,
) -> Relation:
    """Aggregate rows that come in blocks: while their groups are few, nothing waits in a file."""
    pieces = (rows for block in blocks for rows in _cut(block, memory))
    first = next(pieces, None)
    beginning = [] if first is None else [first]
    if first is None or not _has_few_groups(first, keys, calls, places):
        single = (first_states(rows, keys, calls, places) for rows in chain(beginning, pieces))
        return fold_states(single, keys, calls, places, memory)

    morsels = (
        rows.slice(start, MORSEL_ROWS)
        for rows in chain(beginning, pieces)
        for start in range(0, rows.row_count, MORSEL_ROWS)
    )
    states = in_order(lambda rows: states_of_rows(rows, keys, calls, places), morsels)
    return fold_states(together(states), keys, calls, places, memory)


def _has_few_groups(
    rows: Relation,
    keys: Sequence[Column],
    calls: Sequence[tuple[Column, AggregateCall]],
    places: Mapping[Expression, Column],
) -> bool:
    """Tell whether a morsel of rows has so few groups that their states are worth making."""
    if partial_calls(calls) is None or not rows.row_count:
        return False
    some = rows.slice(0, MORSEL_ROWS)
    return not keys or are_few_groups(
        states_of_rows(some, keys, (), places).row_count, some.row_count
    )


def are_few_groups(count: int, row_count: int) -> bool:
    """Tell whether the states of groups leave less to do than so many rows."""
    return count <= max(row_count // _ROWS_A_GROUP, _FEW_GROUPS)


def states_of_rows(
    rows: Relation,
    keys: Sequence[Column],
    calls: Sequence[tuple[Column, AggregateCall]],
    places: Mapping[Expression, Column],
) -> Relation:
    """Return the states of the groups of rows, of aggregates that have some.

    Raises DataError where a sum does not fit.
    """
    partial_states = partial_calls(calls)
    assert partial_states is not None
    key_values = {key: rows.columns[key] for key in keys}
    values = {each: rows.columns[column] for each, column in places.items()}
    return aggregate(key_values, partial_states, values, rows.row_count)


def together(parts: Iterable[Relation]) -> Iterator[Relation]:
    """Yield states of several morsels at a time."""
    waiting: list[Relation] = []
    for part in parts:
        waiting.append(part)
        count = sum(each.row_count for each in waiting)
        if len(waiting) == _MORSELS_AT_ONCE or count >= MORSEL_ROWS:
            yield concatenate(waiting, part.columns)
            waiting = []
    if waiting:
        yield concatenate(waiting, waiting[0].columns)


def fold_states(
    single: Iterator[Relation],
    keys: Sequence[Column],
    calls: Sequence[tuple[Column, AggregateCall]],
    places: Mapping[Expression, Column],
    memory: Memory,
) -> Relation:
    """Return the groups of states, of which there may be several for a group."""
    states = states_of(calls)
    groups: Relation | None = None
    waiting: list[Relation] = []
    waiting_count = 0
    for rows in single:
        check_interrupt()
        waiting.append(rows)
        waiting_count += rows.row_count
        if groups is not None and waiting_count < groups.row_count:
            continue  # Else each of many small blocks would meet all groups.
        groups = fold(groups, _joined(waiting), keys, states)
        waiting, waiting_count = [], 0
        if keys and aggregate_need(groups, keys, states) > memory.room() // _STATES_SHARE:
            groups = _part_states(chain([groups], single), keys, states, memory)
            break
    if waiting:
        groups = fold(groups, _joined(waiting), keys, states)
    if groups is None:
        nothing = {column: pa.nulls(0, column.type) for column in (*keys, *places.values())}
        groups = fold(None, first_states(Relation(nothing, 0), keys, calls, places), keys, states)
    return results_of(groups, keys, calls)


def _joined(blocks: Sequence[Relation]) -> Relation:
    return blocks[0] if len(blocks) == 1 else concatenate(blocks, blocks[0].columns)


def _cut(block: Relation, memory: Memory) -> Iterator[Relation]:
    """Yield a block in pieces; a file that cannot be sliced is one block."""
    step = block.rows_within(memory.room() // _BLOCK_SHARE, _AGGREGATE_BYTES)
    for start in range(0, max(block.row_count, 1), step):
        yield block.slice(start, step)


def _part_states(
    rows: Iterable[Relation],
    keys: Sequence[Column],
    states: Sequence[tuple[Column, AggregateCall]],
    memory: Memory,
) -> Relation:
    """Make one state a group of the states of many rows, part by part of the keys' hashes."""
    columns = [*keys, *(column for column, _ in states)]
    waiting = Collector(memory, columns)
    for some in rows:
        waiting.add(some)
    whole = waiting.relation()
    parts = split_by_hash(
        whole, keys, part_count(aggregate_need(whole, keys, states), memory), memory
    )
    del whole, waiting
    collector = Collector(memory, columns)
    for part in parts:
        groups: Relation | None = None
        for piece in aggregate_pieces(part, keys, states, memory):
            groups = beside(partial(fold, groups, piece, keys, states), piece.row_count)
            memory.check(aggregate_need(groups, keys, states), "the aggregate")
        if groups is not None:
            collector.add(groups)
    return collector.relation()


def aggregate_pieces(
    rows: Relation,
    keys: Sequence[Column],
    states: Sequence[tuple[Column, AggregateCall]],
    memory: Memory,
) -> Iterator[Relation]:
    """Yield rows in pieces that can be aggregated, all of them at once where that fits."""
    need = aggregate_need(rows, keys, states)
    width = max(need // max(rows.row_count, 1), 1)
    fits = need <= memory.room()
    step = rows.row_count if fits else memory.room() // (_BLOCK_SHARE * width)
    for start in range(0, rows.row_count, max(step, 1)):
        yield rows.slice(start, max(step, 1)).combined()
