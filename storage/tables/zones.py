"""The least and the greatest value of every few rows of a column in memory, and of a whole column.

    sold    1 .. 9 | 9 .. 30 | 31 .. 40         sold > 30  ->  only rows of the last zone

Tables grow by the day, so that dates and keys rise with the rows, more or less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.interrupts import check_interrupt
from raydb.kernels.codecs.arrow_numbers import from_numbers, is_whole
from raydb.kernels.codecs.packed_numbers import widened_column
from raydb.late import pc
from raydb.storage.flat.layout import Kind
from raydb.storage.flat.zone_map import EXACT
from raydb.storage.tables.parts import ArrowPart, FilePart, PackedPart
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raydb.storage.tables.parts import Comparison, Part

# Rows of a zone: to compare them takes some microseconds, as to look at a zone does.
ZONE_ROWS = 2**15


@dataclass(frozen=True, eq=False, slots=True)
class Zones:
    """Bounds by zone, NULL for a zone of NULLs."""

    least: pa.Array
    most: pa.Array

    def first(self, count: int) -> Zones:
        """Return the first zones."""
        return Zones(self.least[:count], self.most[:count])

    def may_hold(self, comparison: Comparison) -> NDArray[np.bool_]:
        """Return for which zones a comparison may hold for some row."""
        value = comparison.value
        match comparison.operator:
            case "==":
                found = pc.and_(
                    pc.less_equal(self.least, value), pc.greater_equal(self.most, value)
                )
            case "<":
                found = pc.less(self.least, value)
            case "<=":
                found = pc.less_equal(self.least, value)
            case ">":
                found = pc.greater(self.most, value)
            case _:
                found = pc.greater_equal(self.most, value)
        mask: NDArray[np.bool_] = found.fill_null(False).to_numpy(zero_copy_only=False)
        return mask


def zones_of(column: pa.ChunkedArray, before: Zones | None = None) -> Zones:
    """Return the zones of a column whose values have an order, but doubles.

    before: the zones of the rows before the column's, which are whole ones.
    """
    found = []
    for start in range(0, len(column), ZONE_ROWS):
        check_interrupt()
        found.append(pc.min_max(column.slice(start, ZONE_ROWS)))
    bounds = pa.array(found, pa.struct([("min", column.type), ("max", column.type)]))
    least, most = bounds.field("min"), bounds.field("max")
    if before is not None:
        least = pa.concat_arrays([before.least, least])
        most = pa.concat_arrays([before.most, most])
    return Zones(least, most)


def ranges_of(masks: Sequence[NDArray[np.bool_]], row_count: int) -> list[tuple[int, int]]:
    """Return ascending ranges of the rows of the zones that all masks have."""
    kept = np.logical_and.reduce(masks)
    edges = np.flatnonzero(np.diff(kept.astype(np.int8), prepend=0, append=0)) * ZONE_ROWS
    return [
        (int(start), min(int(stop), row_count))
        for start, stop in zip(edges[::2], edges[1::2], strict=True)
    ]


# -- of whole columns


def bounds_of(parts: Sequence[Part], name: str, kind: pa.DataType) -> pa.Array | None:
    """Return the least and the greatest value of a column of numbers, NULL where it has none.

    None where zone maps of files do not tell, and for doubles, where NaN is the greatest.
    """
    if not is_whole(kind):
        return None
    found = [_part_bounds(part, name, kind) for part in parts]
    known = [each for each in found if each is not None]
    if len(known) < len(found):
        return None
    return _ends(pa.chunked_array(known, kind))


def _part_bounds(part: Part, name: str, kind: pa.DataType) -> pa.Array | None:
    match part:
        case ArrowPart():
            return _ends(part.table.column(name))
        case PackedPart() if part.is_widened(name):
            ends = _ends(part.packed.column(name))
            return widened_column(pa.chunked_array([ends]), kind).chunk(0)
        case PackedPart():
            return _ends(part.packed.column(name))
        case FilePart(absent=absent) if name not in absent:
            return _stored_bounds(part, name, kind)
        case FilePart():
            return pa.nulls(2, kind)
        case _:
            return None


def _ends(column: pa.ChunkedArray) -> pa.Array:
    found = pc.min_max(column)
    return pa.array([found["min"], found["max"]], column.type)


def _stored_bounds(part: FilePart, name: str, kind: pa.DataType) -> pa.Array | None:
    column = part.flat.reader(part.renamed.get(name, name)).column
    has_value = column.entries["null_count"] < column.entries["row_count"]
    if not has_value.any():
        return pa.nulls(2, kind)
    if column.field.type != kind or not np.all(column.entries["flags"][has_value] & EXACT == EXACT):
        return None
    dtype = np.uint64 if column.kind is Kind.UNSIGNED else np.int64
    ends = np.frombuffer(column.ranges, dtype).reshape(-1, 2)[has_value]
    return from_numbers(np.array([ends[:, 0].min(), ends[:, 1].max()]), None, kind)
