"""Decimals beyond the precision of their column, with which Arrow computes wrongly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.storage.flat.encodings.bits import unpack_line
from raydb.storage.flat.encodings.encoding import bad_chunk
from raydb.storage.flat.layout import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.storage.flat.encodings.bits import Line
    from raydb.storage.flat.layout import ChunkEntry
    from raydb.storage.flat.metadata.column import Column


def check_packed_decimals(
    column: Column, entry: ChunkEntry, packed: memoryview, count: int, line: Line
) -> None:
    """Raise OperationalError unless `count` values of a line fit the precision of their column.

    Columns of other kinds pass.
    """
    if column.kind is not Kind.DECIMAL:
        return
    most = 10**column.field.type.precision
    ends = (line.reference, line.reference + (line.step + 1) * count)
    if -most < min(ends) and max(ends) + 2**entry.width < min(most, 2**63):
        return  # Whatever the packed bits are: most chunks need no more than this.
    values = unpack_line(packed, entry.width, count, line, slice(None), column.dtype)
    _check_bounds(column, entry, int(values.min()), int(values.max()))


def check_wide_decimals(column: Column, entry: ChunkEntry, payload: memoryview) -> None:
    """Raise OperationalError unless values of 128 bits fit the precision of their column."""
    words: NDArray[Any] = np.frombuffer(payload, "<i8").reshape(-1, 2)
    low, high = words[:, 0].view("<u8"), words[:, 1]
    bottom, top = int(high.min()), int(high.max())
    least = (bottom << 64) + int(low[high == bottom].min())
    greatest = (top << 64) + int(low[high == top].max())
    _check_bounds(column, entry, least, greatest)


def check_patched_decimals(column: Column, entry: ChunkEntry, words: NDArray[np.int64]) -> None:
    """Raise OperationalError unless exceptions fit the precision of a column of decimals."""
    if column.kind is Kind.DECIMAL and len(words):
        _check_bounds(column, entry, int(words.min()), int(words.max()))


def check_decimal(column: Column, entry: ChunkEntry) -> None:
    """Raise OperationalError unless the reference fits the precision of a column of decimals."""
    if column.kind is Kind.DECIMAL:
        _check_bounds(column, entry, entry.reference, entry.reference)


def _check_bounds(column: Column, entry: ChunkEntry, least: int, greatest: int) -> None:
    precision = column.field.type.precision
    if not -(10**precision) < least <= greatest < 10**precision:
        expected, found = f"decimals of {precision} digits", f"{least} to {greatest}"
        raise bad_chunk(column, entry, entry.starts()[1], expected, found)
