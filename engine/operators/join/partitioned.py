"""The sides of a join in parts that fit in memory, each pair of which is joined on its own.

keys     both sides by the hash of the keys: partners meet in one part
none     both sides in blocks, each with each; so does a part of a single key
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.engine.operators.join.partners import Side
from raydb.engine.operators.partition import part_count, split_by_hash, work_bytes
from raydb.engine.operators.relation import MIN_ROWS, Relation, concatenate, joined
from raydb.planner.expressions.nodes import Column

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raydb.engine.context.memory import Memory

# What a join holds of each row of both sides, beside the values: codes, places and a table of them.
_BYTES_A_ROW = 48


def parts_of_sides(left: Side, right: Side, memory: Memory) -> list[tuple[Side, Side]]:
    """Return parts of both sides; the rows of the join are those of the joins of these parts."""
    if _are_few(left, right) or not left.keys:
        return [(left, right)]
    need = _need(left, right)
    if need <= memory.room():
        return [(left, right)]
    count = part_count(need, memory)
    return list(zip(_split(left, count, memory), _split(right, count, memory), strict=True))


def blocks_of_sides(left: Side, right: Side, memory: Memory) -> tuple[list[Side], list[Side]]:
    """Return both sides in blocks, each two of which fit in memory."""
    room = memory.room()
    if _are_few(left, right) or _need(left, right) <= room:
        return [left], [right]
    # A side that takes little stays whole: each block of the other one meets all of it.
    for whole, other in ((left, right), (right, left)):
        if _need(whole) <= room // 2:
            blocks = list(_blocks(other, room - _need(whole)))
            return ([left], blocks) if whole is left else (blocks, [right])
    return list(_blocks(left, room // 2)), list(_blocks(right, room // 2))


def _are_few(left: Side, right: Side) -> bool:
    """Tell whether no side has more rows than are computed at a time in any case."""
    return left.rows.row_count <= MIN_ROWS and right.rows.row_count <= MIN_ROWS


def some_of_side(side: Side, rows: pa.Array) -> Side:
    """Return the rows of a side at some places."""
    return _as_side(_as_relation(side).take(rows), side)


def joined_sides(first: Side, second: Side) -> Side:
    """Return the rows of two blocks of a side, one after the other."""
    blocks = [_as_relation(first), _as_relation(second)]
    return _as_side(concatenate(blocks, blocks[0].columns), first)


def _need(*sides: Side) -> int:
    found = 0
    for side in sides:
        deciding = [*_key_columns(side), *_compared_columns(side)]
        found += side.rows.size_bytes
        found += work_bytes(_as_relation(side).select(deciding), _BYTES_A_ROW)
    return found


def _blocks(side: Side, size_bytes: int) -> Iterator[Side]:
    """Yield the rows of a side in blocks that need so many bytes each."""
    rows = _as_relation(side)
    step = max(size_bytes * rows.row_count // max(_need(side), 1), 1)
    for start in range(0, max(rows.row_count, 1), step):
        yield _as_side(rows.slice(start, step), side)


def _split(side: Side, count: int, memory: Memory) -> list[Side]:
    rows = _as_relation(side)
    parts = split_by_hash(rows, _key_columns(side), count, memory)
    return [_as_side(part, side) for part in parts]


# -- a side as one relation


def _key_columns(side: Side) -> list[Column]:
    # The columns of plans have numbers from 0 on.
    return [Column(-1 - i, "key", values.type) for i, values in enumerate(side.keys)]


def _compared_columns(side: Side) -> list[Column]:
    first = -1 - len(side.keys)
    return [Column(first - i, "compared", values.type) for i, values in enumerate(side.compared)]


def _mask_column(side: Side) -> Column:
    return Column(-1 - len(side.keys) - len(side.compared), "may match", pa.bool_())


def _as_relation(side: Side) -> Relation:
    columns = {
        **side.rows.columns,
        **dict(zip(_key_columns(side), side.keys, strict=True)),
        **dict(zip(_compared_columns(side), side.compared, strict=True)),
    }
    if side.may_match is not None:
        columns[_mask_column(side)] = pa.array(side.may_match)
    return Relation(columns, side.rows.row_count)


def _as_side(rows: Relation, like: Side) -> Side:
    """Return rows as a part of a side."""
    may_match = None
    if like.may_match is not None:
        mask = joined(rows.columns[_mask_column(like)])
        may_match = np.asarray(mask.to_numpy(zero_copy_only=False), np.bool_)
    return Side(
        rows.select(like.rows.columns),
        [rows.columns[key] for key in _key_columns(like)],
        [rows.columns[each] for each in _compared_columns(like)],
        may_match,
    )
