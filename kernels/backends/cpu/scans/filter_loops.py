"""The rows of a scan that pass, and their groups.

    mask of the ranges (SIMD)  ->  numbers of the rows that pass  ->  look-up tables, each shorter
    ->  group numbers

Columns come as addresses. Loops index by unsigned numbers: for a signed index numba tests whether
it counts from the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba  # noqa: F401  (all of it, before a part: see kernels/compiling.py)
import numpy as np
from numba.core import types
from numba.extending import intrinsic
from numba.np import arrayobj

from raydb.kernels.jit import leaf
from raydb.kernels.memory_loops import put

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Its functions have no types.
_arrays: Any = arrayobj

# Rows go through the loops in blocks, so that what is found of them stays in the first-level cache.
BLOCK = 1024

# What a map does in a piece, and how it filters: `scan` has the same numbers.
FILTERS, ADDS = 1, 2
BY_BITS = 2

ONE = np.uint64(1)

# Four numbers of 16 bits, each 1.
FOUR_ONES = np.uint64(0x0001000100010001)

# For each byte the places of its bits that are set, four to a number.
_ONES = np.zeros((256, 8), np.uint16)
for _byte in range(256):
    _ones = [bit for bit in range(8) if _byte >> bit & 1]
    _ONES[_byte, : len(_ones)] = _ones
_PLACES = _ONES.view(np.uint64)


def _make_array(_context: Any, _address: Any, kind: Any) -> Any:
    """Make an array of what lies at an address, of no known length; its owner is not counted."""
    made = types.Array(kind.dtype, 1, "C")

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        array = _arrays.make_array(made)(context, builder)
        size = context.get_abi_sizeof(context.get_data_type(made.dtype))
        width = context.get_constant(types.intp, size)
        pointer = builder.inttoptr(arguments[0], array.data.type)
        none = context.get_constant(types.intp, 0)
        _arrays.populate_array(array, pointer, [none], [width], width, None)
        return array._getvalue()  # noqa: SLF001

    return made(types.uintp, kind), generate


# What the type checker knows as a function of numba's own state.
array_at: Any = intrinsic(_make_array)


@leaf
def _and_range(codes: Any, low: Any, span: Any, count: Any, fresh: Any, mask: Any) -> None:
    """Clear the mask of codes outside of low .. low + span; fresh: 1 for all ones before."""
    for row in range(np.uint64(count)):
        passes = np.uint32(np.uint32(codes[row]) - np.uint32(low)) <= np.uint32(span)
        mask[row] = (mask[row] | fresh) & np.uint8(passes)


@leaf
def _and_byte_range(codes: Any, low: Any, span: Any, count: Any, fresh: Any, mask: Any) -> None:
    """Do as `_and_range` in bytes, of which a vector holds four times as many."""
    for row in range(np.uint64(count)):
        passes = np.uint8(codes[row] - np.uint8(low)) <= np.uint8(span)
        mask[row] = (mask[row] | fresh) & np.uint8(passes)


@leaf
def _and_bits(codes: Any, bits: Any, count: Any, fresh: Any, mask: Any) -> None:
    """Clear the mask of codes, below 64, whose bit is not set."""
    chosen = np.uint64(bits)
    for row in range(np.uint64(count)):
        passes = np.uint8((chosen >> np.uint64(codes[row])) & ONE)
        mask[row] = (mask[row] | fresh) & passes


@leaf
def mask_rows(
    piece: Any,
    first: Any,
    count: Any,
    active: NDArray[np.uint8],
    maps: NDArray[np.int64],
    mask: NDArray[np.uint8],
) -> None:
    """Mask the rows of a block that pass all maps by range or by bits."""
    fresh = np.uint8(1)
    for number in range(len(maps)):
        if active[piece, number] & FILTERS and maps[number, 7]:
            width, low, span = maps[number, 1], maps[number, 8], maps[number, 9]
            start = np.uintp(maps[number, 0] + first * width)
            if maps[number, 7] == BY_BITS:
                _and_bits(array_at(start, np.uint8), low, count, fresh, mask)
            elif width == 1:
                _and_byte_range(array_at(start, np.uint8), low, span, count, fresh, mask)
            elif width == 2:
                _and_range(array_at(start, np.uint16), low, span, count, fresh, mask)
            else:
                _and_range(array_at(start, np.int32), low, span, count, fresh, mask)
            fresh = np.uint8(0)
    for row in range(np.uint64(count), np.uint64(BLOCK)):
        mask[row] = 0


@leaf
def count_mask(words: NDArray[np.uint64]) -> Any:
    """Count the rows that pass: bytes are added up side by side, which may hold 128 ones."""
    even = np.uint64(0x00FF00FF00FF00FF)
    ones = np.uint64(0)
    for word in range(np.uint64(BLOCK // 8)):
        ones += words[word]
    pairs = (ones & even) + ((ones >> np.uint64(8)) & even)
    return np.int64((pairs * np.uint64(0x0001000100010001)) >> np.uint64(48))


@leaf
def list_mask(words: NDArray[np.uint64], count: Any, first: Any, address: Any) -> None:
    """Write the numbers, from `first` on, of the rows that the mask lets pass.

    8 rows are written at once, and those that do not pass are written over: a branch that goes
    either way takes longer.
    """
    number, place = np.uint64(first) * FOUR_ONES, np.int64(address)
    for word in range(np.uint64((count + 7) // 8)):
        ones = words[word]
        # Gathers the lowest bit of each byte in the highest byte.
        byte = (ones * np.uint64(0x0102040810204080)) >> np.uint64(56)
        put(place, number + _PLACES[byte, np.uint64(0)])
        put(place + 8, number + _PLACES[byte, np.uint64(1)])
        number += np.uint64(8) * FOUR_ONES
        # Twice their number, the bytes of these.
        place += np.int64((ones * np.uint64(0x0202020202020202)) >> np.uint64(56))


@leaf
def read_rows(source: Any, is_listed: Any, rows: Any, count: Any, target: Any) -> None:
    """Copy the values of the listed rows, or of the first ones."""
    if is_listed:
        for row in range(np.uint64(count)):
            target[row] = source[rows[row]]
    else:
        for row in range(np.uint64(count)):
            target[row] = source[row]


@leaf
def _read_codes(
    address: Any, width: Any, first: Any, is_listed: Any, rows: Any, count: Any, codes: Any
) -> None:
    start = np.uintp(address + first * width)
    if width == 1:
        read_rows(array_at(start, np.uint8), is_listed, rows, count, codes)
    elif width == 2:
        read_rows(array_at(start, np.uint16), is_listed, rows, count, codes)
    else:
        read_rows(array_at(start, np.int32), is_listed, rows, count, codes)


@leaf
def _read_map(
    maps: NDArray[np.int64],
    number: Any,
    first: Any,
    is_listed: Any,
    rows: Any,
    count: Any,
    codes: NDArray[np.int32],
    others: NDArray[np.int32],
) -> None:
    """Write the place in the look-up table of each row: its code, or that of a pair of codes."""
    _read_codes(maps[number, 0], maps[number, 1], first, is_listed, rows, count, codes)
    if maps[number, 3]:
        _read_codes(maps[number, 2], maps[number, 3], first, is_listed, rows, count, others)
        stride = np.int32(maps[number, 4])
        for row in range(np.uint64(count)):
            codes[row] = codes[row] * stride + others[row]


@leaf
def filter_by_tables(
    block: tuple[Any, ...],
    active: NDArray[np.uint8],
    maps: NDArray[np.int64],
    tables: NDArray[np.int32],
    scratch: tuple[Any, ...],
) -> Any:
    """List the rows of a block that pass all maps by table.

    block: the number of its piece, its first row, whether rows are listed, which and how many.
    Returns whether rows are listed, and how many are left.
    """
    codes, others = scratch
    piece, first, is_listed, rows, count = block
    for number in range(len(maps)):
        if count and active[piece, number] & FILTERS and not maps[number, 7]:
            start = np.uint64(maps[number, 5])
            _read_map(maps, number, first, is_listed, rows, count, codes, others)
            found = np.uint64(0)
            for row in range(np.uint64(count)):
                rows[found] = rows[row] if is_listed else row
                found += np.uint64(tables[start + np.uint32(codes[row])] >= 0)
            is_listed, count = True, np.int64(found)
    return is_listed, count


@leaf
def number_groups(
    block: tuple[Any, ...],
    base: Any,
    active: NDArray[np.uint8],
    maps: NDArray[np.int64],
    tables: NDArray[np.int32],
    scratch: tuple[Any, ...],
    groups: NDArray[np.uint32],
) -> None:
    """Write the group of each row that passes.

    block: the number of its piece, its first row, whether rows are listed, which and how many pass.
    """
    codes, others = scratch
    piece, first, is_listed, rows, count = block
    is_first = True
    for number in range(len(maps)):
        if active[piece, number] & ADDS:
            start = np.uint64(maps[number, 5])
            _read_map(maps, number, first, is_listed, rows, count, codes, others)
            if is_first:
                for row in range(np.uint64(count)):
                    groups[row] = base + tables[start + np.uint32(codes[row])]
            else:
                for row in range(np.uint64(count)):
                    groups[row] += np.uint32(tables[start + np.uint32(codes[row])])
            is_first = False
