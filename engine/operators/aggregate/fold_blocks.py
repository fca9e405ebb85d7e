"""Groups of rows that come in blocks, and never all at once.

A state of each group goes before the next block's rows while the groups are few. Else the states
are parted by the hash of their keys, and each part is folded on its own.
"""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.engine.operators.aggregate.fold import first_states, fold, results_of, states_of
from raydb.engine.operators.partition import part_count, split_by_hash, work_bytes
from raydb.engine.operators.relation import Collector, Relation, concatenate
from raydb.interrupts import beside, check_interrupt

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
    single = (
        first_states(rows, keys, calls, places) for block in blocks for rows in _cut(block, memory)
    )
    return fold_states(single, keys, calls, places, memory)


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
