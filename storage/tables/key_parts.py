"""Keys of many rows: the questions of `keys.py`, part by part where memory_limit asks for it.

    find_rows(probe, target), first_repeat(columns), keep_first(keys, row_count)
    key_columns(rows, names, live)      the columns of a table to ask about

Equal keys have equal hashes. A part is the rows whose hashes leave the same remainder, so that
equal keys are in one part, whatever their types are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.interrupts import check_interrupt
from raydb.memory_release import give_back
from raydb.room import keep_rows, read_limit
from raydb.storage.row_hashes import add_to_hashes
from raydb.storage.tables import keys
from raydb.storage.textual import is_textual

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from raydb.storage.tables.keys import Columns
    from raydb.storage.tables.rows import Rows

# Fewer rows take less than any limit that is of use.
_FEW_ROWS = 2**14

# What a question takes of each row beside two copies of its values; texts go through hash tables.
_BYTES_A_ROW = 40
_BYTES_A_TEXT = 64

# One part takes a third of the limit; rows that wait may fill half of it, and what numpy has freed
# between two steps counts as well.
_PART_SHARE = 3
_MAX_PARTS = 255

# Rows are hashed so many at a time: the hashes (8 bytes each) stay in the processor's cache.
_BLOCK_ROWS = 2**16

# Columns that take more than such a share of the limit wait in files, and are read in pieces of
# another share.
_WAITING_SHARE = 8
_PIECE_SHARE = 32


def find_rows(probe: Columns, target: Columns) -> NDArray[np.int32]:
    """Return what `keys.find_rows` does, a part of the rows after the other where they are many."""
    count = _part_count([*probe, *target], len(probe[0]) + len(target[0]))
    if count == 1:
        return keys.find_rows(probe, target)
    found = np.full(len(probe[0]), keys.ABSENT, np.int32)
    sought, known = _parts_of(probe, count), _parts_of(target, count)
    for part in _each_part(count):
        numbers, some = _part(probe, sought, part)
        known_numbers, known_some = _part(target, known, part)
        places = keys.find_rows(some, known_some)
        hit = places >= 0
        places[hit] = known_numbers[places[hit]]
        found[numbers] = places
    return found


def first_repeat(columns: Columns) -> tuple[int, int] | None:
    """Return what `keys.first_repeat` does, a part of the rows after the other if they are many."""
    count = _part_count(columns, len(columns[0]))
    if count == 1:
        return keys.first_repeat(columns)
    parts = _parts_of(columns, count)
    repeats = []
    for part in _each_part(count):
        numbers, some = _part(columns, parts, part)
        repeat = keys.first_repeat(some)
        if repeat is not None:
            later, earlier = repeat
            repeats.append((int(numbers[later]), int(numbers[earlier])))
    return min(repeats, default=None)


def keep_first(each_key: Sequence[Columns], row_count: int) -> NDArray[np.bool_]:
    """Return what `keys.keep_first` does, a part of the rows after the other if they are many.

    Where there are several keys, whether a row stays depends on all rows before it.
    """
    count = _part_count(each_key[0], row_count) if len(each_key) == 1 else 1
    if count == 1:
        return keys.keep_first(each_key, row_count)
    (columns,) = each_key
    parts = _parts_of(columns, count)
    kept = np.empty(row_count, np.bool_)
    for part in _each_part(count):
        numbers, some = _part(columns, parts, part)
        kept[numbers] = keys.keep_first([some], len(numbers))
    return kept


def key_columns(
    rows: Rows, names: Sequence[str], live: NDArray[np.bool_] | None = None
) -> list[pa.ChunkedArray]:
    """Return some columns in the rows that `live` flags, by default in all.

    Where they would take much of the memory they are read piece by piece and wait in files.
    """
    step = _step(rows, names, live)
    if step is None:
        mask = None if live is None else pa.array(live)
        return [column if mask is None else column.filter(mask) for column in rows.columns(names)]
    schema = pa.schema([rows.schema.field(name).with_nullable(True) for name in names])
    pieces = [schema.empty_table()]
    first = 0
    for part in rows.parts:
        for start, stop in part.pieces(0, part.row_count, step):
            check_interrupt()
            piece = pa.Table.from_arrays(part.slice(names, start, stop), schema=schema)
            if live is not None:
                piece = piece.filter(pa.array(live[first + start : first + stop]))
            pieces.append(keep_rows(piece, are_many=True))
        first += part.row_count
    found: list[pa.ChunkedArray] = pa.concat_tables(pieces).columns
    return found


def _step(rows: Rows, names: Sequence[str], live: NDArray[np.bool_] | None) -> int | None:
    """Return how many rows to read at a time, None for all of them."""
    if rows.row_count < _FEW_ROWS:
        return None
    limit = read_limit()
    if limit is None:
        return None
    need = rows.decoded_bytes(names, limit)
    if live is not None:  # What is decoded already is copied.
        decoded = [name for name in names if rows.is_decoded(name)]
        need += sum(column.nbytes for column in rows.columns(decoded))
    if need <= limit // _WAITING_SHARE:
        return None
    return max(int(limit * rows.row_count / (_PIECE_SHARE * need)), 1)


def _part_count(columns: Columns, row_count: int) -> int:
    if row_count < _FEW_ROWS:
        return 1
    limit = read_limit()
    if limit is None:
        return 1
    need = row_count * _BYTES_A_ROW
    for column in columns:
        need += 2 * column.nbytes
        if is_textual(column.type):
            need += len(column) * _BYTES_A_TEXT
    return min(max(-(-need * _PART_SHARE // limit), 1), _MAX_PARTS)


def _each_part(count: int) -> Iterator[int]:
    """Yield the numbers of the parts; what one has left goes back before the next one takes it."""
    for part in range(count):
        check_interrupt()
        yield part
        give_back()


def _parts_of(columns: Columns, count: int) -> NDArray[np.uint8]:
    """Return the part of each row, by the hash of its key."""
    row_count = len(columns[0])
    parts = np.empty(row_count, np.uint8)
    for start in range(0, row_count, _BLOCK_ROWS):
        hashes = np.zeros(min(_BLOCK_ROWS, row_count - start), np.uint64)
        for column in columns:
            done = 0
            for chunk in filter(len, column.slice(start, _BLOCK_ROWS).chunks):
                add_to_hashes(_hashable(chunk), hashes[done : done + len(chunk)])
                done += len(chunk)
        parts[start : start + len(hashes)] = hashes % np.uint64(count)
    return parts


def _hashable(values: pa.Array) -> pa.Array:
    """Return values that have equal hashes where they are equal as keys."""
    if not pa.types.is_floating(values.type):
        return values
    return pa.array(keys.float_bits(values), mask=values.is_null().to_numpy(zero_copy_only=False))


def _part(
    columns: Columns, parts: NDArray[np.uint8], part: int
) -> tuple[NDArray[np.int64], list[pa.ChunkedArray]]:
    """Return the numbers of a part's rows, and their columns."""
    inside = parts == part
    mask = pa.array(inside)
    return np.flatnonzero(inside), [column.filter(mask) for column in columns]
