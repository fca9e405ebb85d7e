"""The sides of a join in parts that fit in memory, each pair of which is joined on its own.

keys     both sides by the hash of the keys: partners meet in one part
none     one side in blocks, each with all of the other side; so does a part of a single key
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.engine.operators.join.partners import Side
from raydb.engine.operators.partition import part_count, split_by_hash, work_bytes
from raydb.engine.operators.relation import Relation, joined
from raydb.planner.expressions.nodes import Column

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raydb.engine.context.memory import Memory

# What a join holds of each row of both sides, beside the values: codes, places and a table of them.
_BYTES_A_ROW = 48

# The kinds for which what becomes of a left row hangs on all right rows, but on no other left row;
# and the same of a right row. Inner joins are both.
_BY_LEFT_ROW = frozenset({"inner", "left", "semi", "anti", "mark"})
_BY_RIGHT_ROW = frozenset({"inner", "right"})


def parts_of_sides(
    left: Side, right: Side, kind: str, memory: Memory
) -> Iterator[tuple[Side, Side]]:
    """Yield parts of both sides; the rows of the join are those of the joins of these parts.

    Raises OperationalError where even a part does not fit.
    """
    need = _need(left, right)
    parts = [(left, right)]
    if need > memory.room() and left.keys:
        count = part_count(need, memory)
        parts = list(zip(_split(left, count, memory), _split(right, count, memory), strict=True))
    for one, other in parts:
        if _need(one, other) <= memory.room():
            yield one, other
            continue
        half = memory.room() // 2
        for some_left in _blocks(one, half) if kind in _BY_LEFT_ROW else [one]:
            for some_right in _blocks(other, half) if kind in _BY_RIGHT_ROW else [other]:
                memory.check(_need(some_left, some_right), f"the {kind} join")
                yield some_left, some_right


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
