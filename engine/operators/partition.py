"""Rows split into parts that fit in memory, one after the other, through a temporary file.

    by hash     equal keys are in one part: joins, groups and windows go part by part
    by range    a part lies before the next in an order: sorts do

The rows of a part keep their order.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.engine.operators.list_keys import hashable
from raydb.engine.operators.relation import Relation, mapped, schema_of
from raydb.planner.expressions.columns.order import order_codes, order_intervals
from raydb.storage.row_hashes import add_to_hashes
from raydb.storage.textual import is_textual

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from raydb.engine.context.memory import Memory
    from raydb.planner.expressions.nodes import Column

MAX_PARTS = 255

# Rows are split so many bytes at a time, or a share of the room; the piece and its rows by part.
# Each row's keys are sorted or hashed meanwhile, which takes so many bytes beside its values.
_PIECE_BYTES = 2**25
_PIECE_SHARE = 8
_SPLIT_BYTES = 48

# A hash table's share for a text, beside the text.
_BYTES_A_TEXT = 64

# A part takes at most a share of the room, because parts differ in size.
_PART_SHARE = 2


def work_bytes(rows: Relation, row_bytes: int) -> int:
    """Return what it takes to work on rows: so many bytes a row, and the values once more.

    Text takes more, since it goes through hash tables.
    """
    texts = sum(is_textual(column.type) for column in rows.columns)
    width: int = row_bytes + _BYTES_A_TEXT * texts
    return rows.size_bytes + rows.row_count * width


def part_count(need: int, memory: Memory) -> int:
    """Return into how many parts to split what needs so many bytes as a whole."""
    return min(-(-need * _PART_SHARE // memory.room()), MAX_PARTS)


def split_rows(
    rows: Relation,
    number_of: Callable[[Relation], NDArray[np.uint8]],
    count: int,
    memory: Memory,
) -> list[Relation]:
    """Return `count` parts of the rows; `number_of` gives for some rows the part of each."""
    columns = list(rows.columns)
    file = memory.new_file(schema_of(columns))
    batches: list[list[int]] = [[] for _ in range(count)]
    for piece in pieces_of(rows, memory):
        numbers = number_of(piece)
        by_part = piece.take(pa.array(np.argsort(numbers, kind="stable")))
        ends = np.cumsum(np.bincount(numbers, minlength=count)).tolist()
        for part, (start, end) in enumerate(itertools.pairwise([0, *ends])):
            if end > start:
                table = by_part.slice(start, end - start).table()
                batches[part] += [file.write(batch) for batch in table.to_batches()]
    written = file.batches()
    return [mapped([written[number] for number in part], columns) for part in batches]


def pieces_of(rows: Relation, memory: Memory) -> Iterator[Relation]:
    """Yield the rows in pieces that are small beside the room, each column as one array."""
    step = rows.rows_within(min(memory.room() // _PIECE_SHARE, _PIECE_BYTES), _SPLIT_BYTES)
    for start in range(0, rows.row_count, step):
        yield rows.slice(start, step).combined()


def split_by_hash(
    rows: Relation, keys: Sequence[Column], count: int, memory: Memory
) -> list[Relation]:
    """Return `count` parts of the rows; rows with equal keys are in one part."""

    def number_of(piece: Relation) -> NDArray[np.uint8]:
        hashes = hash_rows([piece.columns[key] for key in keys])
        return (hashes % np.uint64(count)).astype(np.uint8)

    return split_rows(rows, number_of, count, memory)


def hash_rows(keys: Sequence[pa.ChunkedArray | pa.Array]) -> NDArray[np.uint64]:
    """Return a hash of each row's keys, of one column at least; equal keys have equal hashes.

    Keys are equal as in GROUP BY: NULLs are, and doubles in total order.
    """
    hashes = np.zeros(len(keys[0]), np.uint64)
    for key in keys:
        values = hashable(order_intervals(order_codes(key)))
        start = 0
        for chunk in values.chunks if isinstance(values, pa.ChunkedArray) else [values]:
            add_to_hashes(chunk, hashes[start : start + len(chunk)])
            start += len(chunk)
    return hashes
