"""The BVH on the CPU: rows sorted by cell, the cells' offsets, and a narrow payload.

RayDB, section 3.2, puts a row at the point (measure, group, cell). Here the cell gives the place of
a row, so z is never stored:

    offsets   [0, 3, 3, 7, ...]             cell c holds rows offsets[c] .. offsets[c + 1] - 1
    row_ids   [17, 40, 91, 2, ...]          the row of the table behind each place
    codes     uint8 / uint16 / uint32       what the cell does not say of the group keys
    measures  int8 .. int64 or float64      in the narrowest type that fits
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.errors import DataError
from raydb.kernels.codecs.arrow_numbers import integer_type
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raydb.kernels.bvh.encode import Hierarchy
    from raydb.kernels.bvh.sieve import Sieve
    from raydb.kernels.stored.deferred import Deferred

# With more cells than this and than two a row, the offsets would outweigh the rows: the cells that
# occur are then kept as sorted keys and found by binary search.
DENSE_CELLS = 65_536


@dataclass(frozen=True, eq=False, slots=True)
class Measure:
    """The values of one measure, in the rows' order; a NULL counts as 0 and is not valid.

    values: int8, int16, int32, int64 or float64, shape (row_count,).
    valid: bool, shape (row_count,), or None where no value is NULL.
    low, high: bounds of the values (integers only), to prove that a sum can't overflow.
    """

    values: NDArray[Any]
    valid: NDArray[np.bool_] | None
    low: int = 0
    high: int = 0

    @property
    def greatest(self) -> int:
        """The greatest absolute value that the bounds allow."""
        return max(-self.low, self.high)

    @property
    def is_float(self) -> bool:
        """Whether the values are float64."""
        return self.values.dtype.kind == "f"


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Bvh:
    """A built BVH. Hierarchies come in the order of the Z axis, then those outside of it.

    cells: int64, the sorted numbers of the cells that occur, or None when all are addressable.
    offsets: int64, shape (entry_count + 1,), an entry being a cell, or a position in `cells`.
    row_ids: uint32, shape (row_count,).
    codes: unsigned or int32, shape (row_count,): one for each position in `stored`. In an int32
        array -1 stands for the last code.
    dead: int64, the ascending places of deleted rows, which every job leaves out; None
        where there are none.
    sieve: totals of each entry, None where CREATE BVH did not ask for them.
    placed: raises where cells and offsets in a file are not what loops rely on. Whoever reads them
        asks `entries`, `count_rows` or `with_checked_rows` first.
    checked: the same for codes, measures and sieve. Whoever reads them asks `with_checked_rows`
        first.
    numbered: the same for row_ids, which most jobs do not read. Whoever does asks `row_numbers`.
    """

    hierarchies: tuple[Hierarchy, ...]
    cell_count: int
    cells: NDArray[np.int64] | None
    offsets: NDArray[np.int64]
    row_ids: NDArray[np.uint32]
    stored: tuple[int, ...]
    codes: tuple[NDArray[Any], ...]
    measures: tuple[Measure, ...]
    dead: NDArray[np.int64] | None = None
    sieve: Sieve | None = None
    placed: Deferred[None] | None = None
    checked: Deferred[None] | None = None
    numbered: Deferred[None] | None = None

    def with_checked_rows(self) -> Bvh:
        """Return the BVH once its rows are checked; those of one that was built need not be."""
        if self.placed is not None:
            self.placed.get()
        if self.checked is not None:
            self.checked.get()
        return self

    def row_numbers(self) -> NDArray[np.uint32]:
        """Return `row_ids` once they are checked."""
        if self.numbered is not None:
            self.numbered.get()
        return self.row_ids

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return len(self.row_ids)

    @property
    def strides(self) -> tuple[int, ...]:
        """For each hierarchy, the distance between two cells whose coordinates differ by one."""
        strides = []
        stride = 1
        for hierarchy in reversed(self.hierarchies):
            strides.append(stride)
            stride *= hierarchy.scan_count
        return tuple(reversed(strides))

    @property
    def size_bytes(self) -> int:
        """The size of all arrays."""
        arrays: list[NDArray[Any]] = [
            self.offsets,
            self.row_ids,
            *self.codes,
            *(m.values for m in self.measures),
        ]
        arrays += [m.valid for m in self.measures if m.valid is not None]
        arrays += [] if self.cells is None else [self.cells]
        arrays += [] if self.sieve is None else self.sieve.arrays
        return sum(array.nbytes for array in arrays)

    def entries(self, intervals: NDArray[np.int64]) -> NDArray[np.int64]:
        """Turn cell intervals into entry intervals, int64 of shape (k, 2)."""
        if self.placed is not None:
            self.placed.get()
        if self.cells is None:
            return intervals
        return np.searchsorted(self.cells, intervals.ravel()).reshape(-1, 2).astype(np.int64)

    def count_rows(self, intervals: NDArray[np.int64]) -> int:
        """Count the rows in cell intervals, from the offsets alone."""
        entries = self.entries(intervals)
        return int((self.offsets[entries[:, 1]] - self.offsets[entries[:, 0]]).sum())


def count_cells(hierarchies: Sequence[Hierarchy]) -> int:
    """Return the number of cells; raises DataError when they can't be numbered in 63 bits."""
    cell_count = 1
    for hierarchy in hierarchies:
        cell_count *= hierarchy.scan_count
    if cell_count >= 2**63:
        raise DataError(
            f"the SCAN attributes of the BVH span {cell_count} cells, more than 2**63: "
            "leave out an attribute with many values"
        )
    return cell_count


def narrow_measure(values: NDArray[Any], valid: NDArray[np.bool_] | None) -> Measure:
    """Put a measure into the narrowest signed integer that holds it; floats stay float64."""
    if values.dtype.kind == "f":
        return Measure(np.ascontiguousarray(values, np.float64), valid)
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    # Decimals are every other word of what Arrow has.
    return Measure(np.ascontiguousarray(values, integer_type(low, high)), valid, low, high)


def code_type(code_count: int) -> np.dtype[Any]:
    """Return the narrowest type that holds all codes of a hierarchy."""
    return np.dtype(
        np.uint8 if code_count <= 2**8 else np.uint16 if code_count <= 2**16 else np.uint32
    )


def narrow_codes(codes: NDArray[Any], code_count: int) -> NDArray[Any]:
    """Put codes into the narrowest type that holds all of a hierarchy."""
    return codes.astype(code_type(code_count), copy=False)
