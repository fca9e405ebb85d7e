"""Builds a BVH on the device: a sort by cell, prefix sums, and a gather of the payload.

    cells     code tables and pointers -> the cell of each row     int32 or int64 on the device
    order     a stable sort of the cells                           int64 on the device
    payload   each column is sent, gathered in that order, and comes back

The host computes measures block by block, as it does for itself, but once: the device holds one at
a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.backends.cpu.blocks import BLOCK_ROWS, new_array
from raydb.kernels.backends.cuda.memory import send, to_host, xp
from raydb.kernels.backends.device import DeviceError
from raydb.kernels.bvh.bvh import DENSE_CELLS, Bvh, Measure, code_type, count_cells
from raydb.kernels.codecs.arrow_numbers import integer_type

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.kernels.backends.device import Columns
    from raydb.kernels.bvh.build_input import BuildControl, ReadValues, RowCodes, Source

# The cells, their order and what the sort holds beside them; later the order and one measure.
ROW_BYTES = 56

# A count, its sum, and the offset that it becomes.
CELL_BYTES = 24


def build_bvh(source: Source, control: BuildControl, columns: Columns) -> Bvh:
    """Return the same BVH as `build_from` does on the CPU, array by array.

    columns: what is kept on the device, which makes room. Raises DeviceError where its memory is
    too small, and what the control's room raises.
    """
    row_count, cell_count = source.row_count, count_cells(source.hierarchies)
    is_dense = cell_count <= max(DENSE_CELLS, 2 * row_count)
    needed = ROW_BYTES * row_count + (CELL_BYTES * cell_count if is_dense else 0)
    if not columns.make_room(needed):
        raise DeviceError(
            f"cuda: {needed / 1e9:.3g} GB to sort {row_count} rows do not fit the device's memory"
        )
    with control.room.unless_failed():
        return _build(source, control, cell_count, is_dense=is_dense)


def _build(source: Source, control: BuildControl, cell_count: int, *, is_dense: bool) -> Bvh:
    row_count, room = source.row_count, control.room
    stored = tuple(n for n, h in enumerate(source.hierarchies) if not h.is_scan_only)
    room.take((4 + sum(_code_type(source, n).itemsize for n in stored)) * row_count)
    numbers = None if source.row_numbers is None else send(source.row_numbers)
    # A radix sort of 32-bit numbers takes half as many passes, over half as many bytes.
    cell_type = np.dtype(np.int32 if cell_count < 2**31 else np.int64)
    cells_of_rows = _cells_of_rows(source, numbers, cell_type, control)
    order = xp.argsort(cells_of_rows, kind="stable")
    cells, offsets = _find_offsets(cells_of_rows[order], cell_count, control, is_dense=is_dense)
    del cells_of_rows
    control.report("sort", 1.0)

    gathered = len(stored) + len(source.measures)
    codes = []
    for done, number in enumerate(stored):
        of_code = np.arange(source.hierarchies[number].code_count).astype(
            _code_type(source, number)
        )
        row_codes = source.codes[number]
        table = send(row_codes.table(of_code))
        codes.append(_received(table[_places(row_codes, numbers)[order]]))
        control.report("place", (done + 1) / gathered)
    measures = []
    for done, read in enumerate(source.measures):
        measures.append(_gather(read, row_count, order, control))
        control.report("place", (len(stored) + done + 1) / gathered)
    row_ids = order.astype(np.uint32) if numbers is None else numbers[order]
    return Bvh(
        source.hierarchies,
        cell_count,
        cells,
        offsets,
        _received(row_ids),
        stored,
        tuple(codes),
        tuple(measures),
    )


def _code_type(source: Source, number: int) -> np.dtype[Any]:
    return code_type(source.hierarchies[number].code_count)


def _places(row_codes: RowCodes, numbers: Any) -> Any:
    """Return `RowCodes.places` of all rows, on the device."""
    if row_codes.pointers is None:
        return send(row_codes.codes)
    pointers = send(row_codes.pointers)
    return pointers if numbers is None else pointers[numbers]


def _cells_of_rows(
    source: Source, numbers: Any, cell_type: np.dtype[Any], control: BuildControl
) -> Any:
    """Return the cell of each row on the device."""
    cells = xp.zeros(source.row_count, cell_type)
    for number, hierarchy in enumerate(source.hierarchies):
        if hierarchy.scan_count > 1:
            row_codes = source.codes[number]
            coordinates = send(row_codes.table(hierarchy.scan_codes).astype(cell_type))
            cells *= hierarchy.scan_count
            cells += coordinates[_places(row_codes, numbers)]
        control.report("send", (number + 1) / len(source.hierarchies))
    return cells


def _find_offsets(
    sorted_cells: Any, cell_count: int, control: BuildControl, *, is_dense: bool
) -> tuple[NDArray[np.int64] | None, NDArray[np.int64]]:
    """Return (cells, offsets) of the sorted cells of all rows, as a Bvh has them."""
    row_count = len(sorted_cells)
    if is_dense:
        control.room.take(8 * (cell_count + 1))
        offsets = xp.zeros(cell_count + 1, np.int64)
        xp.cumsum(xp.bincount(sorted_cells, minlength=cell_count), out=offsets[1:])
        return None, _received(offsets)
    is_first = xp.ones(row_count, np.bool_)
    is_first[1:] = sorted_cells[1:] != sorted_cells[:-1]
    firsts = xp.flatnonzero(is_first)
    control.room.take(16 * len(firsts))
    ends = xp.full(len(firsts) + 1, row_count, np.int64)
    ends[:-1] = firsts
    return _received(sorted_cells[firsts].astype(np.int64)), _received(ends)


def _gather(read: ReadValues, row_count: int, order: Any, control: BuildControl) -> Measure:
    """Send a measure, and return it in the order of the cells and in the narrowest type."""
    # Of no rows at least the types are known.
    none, none_valid = read(0, 0)
    is_float = none.dtype.kind == "f"
    values = xp.empty(row_count, np.float64 if is_float else np.int64)
    valid = None if none_valid is None else xp.ones(row_count, np.bool_)
    for low in range(0, row_count, BLOCK_ROWS):
        high = min(low + BLOCK_ROWS, row_count)
        found, are_valid = read(low, high)
        values[low:high] = send(found)
        if are_valid is not None:
            if valid is None:
                valid = xp.ones(row_count, np.bool_)
            valid[low:high] = send(are_valid)
        # An interrupt is heard here.
        control.report("send", high / row_count)
    least, most = (0, 0) if is_float or not row_count else (int(values.min()), int(values.max()))
    if not is_float:
        values = values.astype(integer_type(least, most))
    control.room.take((values.itemsize + (valid is not None)) * row_count)
    is_valid = None if valid is None else _received(valid[order])
    return Measure(_received(values[order]), is_valid, least, most)


def _received(array: Any) -> NDArray[Any]:
    """Return a device array on the host, where a memory limit counts it."""
    return to_host(array, new_array(len(array), array.dtype))
