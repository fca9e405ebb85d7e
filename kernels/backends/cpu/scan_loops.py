"""One compiled pass over rows in their order: filter, number the groups, accumulate.

All columns come as addresses, so that one machine-coded loop serves any number of them of any
types: rows go through it in blocks whose scratch space stays in the first-level cache (38 KiB).

    mask of the ranges (SIMD)  ->  numbers of the rows that pass  ->  look-up tables, each shorter
    ->  group numbers  ->  values, gathered  ->  accumulators

`scan` says what the tables below hold, and its `scan_in_numpy` is the twin in NumPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic

from raydb.kernels.backends.aggregates import BY_ROW, STATES, WORDS
from raydb.kernels.backends.cpu.numba_loops import (
    max_places,
    min_places,
    squares_places,
    wide_places,
    wide_squares_places,
)
from raydb.kernels.jit import entry

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK = 2048

# Of few groups, the count and the first sum are one number: the count in units of 2^46, above a sum
# of at most 2^14 values below 2^31.
PACKED_GROUPS = 1024
PACKED_ROWS = 2**14
PACKED_SHIFT = 46

# States are known by their numbers in `BY_ROW`, and have so many words at most. What no row has:
SUM, WIDE, MIN, MAX = (BY_ROW.index(kind) for kind in ("sum", "wide", "min", "max"))
SQUARES, WIDE_SQUARES = (BY_ROW.index(kind) for kind in ("squares", "wide_squares"))
WORD_COUNT = max(len(STATES[kind]) for kind in BY_ROW)
LEAST, LEAST_FLOAT = WORDS["least"].none
MOST, MOST_FLOAT = WORDS["most"].none

# The width that stands for float64.
FLOAT = 9


def _make_pointer(_context: Any, _address: Any) -> Any:
    """Make a pointer of an address."""

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.uintp), generate


def _count_zeros(_context: Any, _bits: Any) -> Any:
    """Count the zeros below the lowest bit that is set."""

    def generate(_: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], cgutils.true_bit)

    return types.uint64(types.uint64), generate


# What the type checker knows as functions of numba's own state.
_pointer: Any = intrinsic(_make_pointer)
_trailing_zeros: Any = intrinsic(_count_zeros)
_array: Any = numba.carray  # type: ignore[attr-defined]


@entry
def _and_range(codes: Any, low: Any, span: Any, mask: NDArray[np.uint8]) -> None:
    """Clear the mask of codes outside of low .. low + span."""
    for row in range(len(codes)):
        mask[row] &= np.uint32(np.uint32(codes[row]) - np.uint32(low)) <= np.uint32(span)


@entry
def _and_byte_range(codes: Any, low: Any, span: Any, mask: NDArray[np.uint8]) -> None:
    """Do as `_and_range` in bytes, of which a vector holds four times as many."""
    for row in range(len(codes)):
        mask[row] &= np.uint8(codes[row] - np.uint8(low)) <= np.uint8(span)


@entry
def _and_bits(codes: Any, bits: Any, mask: NDArray[np.uint8]) -> None:
    """Clear the mask of codes, below 64, whose bit is not set."""
    chosen = np.uint64(bits)
    for row in range(len(codes)):
        mask[row] &= np.uint8((chosen >> np.uint64(codes[row])) & np.uint64(1))


@entry
def _and_mask(a_map: NDArray[np.int64], first: Any, count: Any, mask: NDArray[np.uint8]) -> None:
    """Clear the mask of the rows that a map by range or by bits filters out."""
    start = np.uintp(a_map[0] + first * a_map[1])
    low, span = a_map[8], a_map[9]
    if a_map[7] == 2:
        _and_bits(_array(_pointer(start), count, np.uint8), low, mask)
    elif a_map[1] == 1:
        _and_byte_range(_array(_pointer(start), count, np.uint8), low, span, mask)
    elif a_map[1] == 2:
        _and_range(_array(_pointer(start), count, np.uint16), low, span, mask)
    else:
        _and_range(_array(_pointer(start), count, np.int32), low, span, mask)


@entry
def _list_mask(mask: NDArray[np.uint8], count: Any, rows: NDArray[np.uint32]) -> Any:
    """Write the numbers of the rows that the mask lets pass; the mask ends with zeros.

    Of 64 rows, few that pass are found bit by bit; where many do, all are written.
    """
    found = np.uint64(0)
    words = mask.view(np.uint64)
    for part in range((count + 63) // 64):
        bits = np.uint64(0)
        total = np.uint64(0)
        for word in range(8):
            ones = words[8 * part + word]
            total += ones
            # Gathers the lowest bit of each byte in the highest byte.
            bits |= ((ones * np.uint64(0x0102040810204080)) >> np.uint64(56)) << np.uint64(8 * word)
        if (total * np.uint64(0x0101010101010101)) >> np.uint64(56) > 12:
            for row in range(64 * part, 64 * part + 64):
                rows[found] = row
                found += np.uint64(mask[row])
        else:
            while bits:
                rows[found] = np.uint64(64 * part) + _trailing_zeros(bits)
                found += np.uint64(1)
                bits &= bits - np.uint64(1)
    return np.int64(found)


@entry
def _read(source: Any, is_listed: Any, rows: Any, count: Any, target: Any) -> None:
    """Copy the values of the listed rows, or of the first ones."""
    if is_listed:
        for row in range(count):
            target[row] = source[rows[row]]
    else:
        for row in range(count):
            target[row] = source[row]


@entry
def _read_codes(
    address: Any, width: Any, first: Any, is_listed: Any, rows: Any, count: Any, codes: Any
) -> None:
    start = np.uintp(address + first * width)
    if width == 1:
        _read(_array(_pointer(start), BLOCK, np.uint8), is_listed, rows, count, codes)
    elif width == 2:
        _read(_array(_pointer(start), BLOCK, np.uint16), is_listed, rows, count, codes)
    else:
        _read(_array(_pointer(start), BLOCK, np.int32), is_listed, rows, count, codes)


@entry
def _read_map(
    a_map: NDArray[np.int64],
    first: Any,
    is_listed: Any,
    rows: Any,
    count: Any,
    codes: NDArray[np.int32],
    others: NDArray[np.int32],
) -> None:
    """Write the place in the look-up table of each row: its code, or that of a pair of codes."""
    _read_codes(a_map[0], a_map[1], first, is_listed, rows, count, codes)
    if a_map[3]:
        _read_codes(a_map[2], a_map[3], first, is_listed, rows, count, others)
        stride = np.int32(a_map[4])
        for row in range(count):
            codes[row] = codes[row] * stride + others[row]


@entry
def _read_integers(
    address: Any, kind: Any, first: Any, is_listed: Any, rows: Any, count: Any, values: Any
) -> None:
    if kind == 1:
        start = np.uintp(address + first)
        _read(_array(_pointer(start), BLOCK, np.int8), is_listed, rows, count, values)
    elif kind == 2:
        start = np.uintp(address + 2 * first)
        _read(_array(_pointer(start), BLOCK, np.int16), is_listed, rows, count, values)
    elif kind == 4:
        start = np.uintp(address + 4 * first)
        _read(_array(_pointer(start), BLOCK, np.int32), is_listed, rows, count, values)
    else:
        start = np.uintp(address + 8 * first)
        _read(_array(_pointer(start), BLOCK, np.int64), is_listed, rows, count, values)


@entry
def _add(values: Any, count: Any, is_one: Any, groups: Any, sums: Any) -> None:
    """Add each value to its group's sum; the group is one and the same where `is_one`."""
    if is_one:
        total = sums[groups[0]]
        for value in values[:count]:
            total += value
        sums[groups[0]] = total
    else:
        for row in range(count):
            sums[groups[row]] += values[row]


@entry
def _add_packed(values: Any, count: Any, groups: Any, packed: NDArray[np.int64]) -> None:
    """Count and add each value to its group, even rows apart from odd ones.

    The two do not wait for each other where neighbours are in one group.
    """
    even, odd = packed[0], packed[1]
    one = np.int64(1) << PACKED_SHIFT
    for row in range(0, count - 1, 2):
        even[groups[row]] += values[row] + one
        odd[groups[row + 1]] += values[row + 1] + one
    if count % 2:
        even[groups[count - 1]] += values[count - 1] + one


@entry
def _unpack(packed: NDArray[np.int64], counts: NDArray[np.int64], sums: NDArray[np.int64]) -> None:
    """Move packed counts and sums to where they belong."""
    half = np.int64(1) << (PACKED_SHIFT - 1)
    for part in range(2):
        for group in range(len(counts)):
            total = packed[part, group]
            found = (total + half) >> PACKED_SHIFT
            counts[group] += found
            sums[group] += total - (found << PACKED_SHIFT)
            packed[part, group] = 0


@entry
def _list_rows(
    piece: NDArray[np.int64],
    active: NDArray[np.uint8],
    maps: NDArray[np.int64],
    tables: NDArray[np.int32],
    scratch: tuple[Any, ...],
) -> Any:
    """Write the numbers of the rows of a block that pass; -1 where all do, and none is written."""
    mask, rows, codes, others = scratch
    first, count = piece[0], piece[1] - piece[0]
    found = np.int64(-1)
    for number in range(len(maps)):
        if active[number] & 1 and maps[number, 7]:
            if found < 0:
                mask[:count] = 1
                mask[count : (count + 63) // 64 * 64] = 0
                found = count
            _and_mask(maps[number], first, count, mask)
    if found >= 0:
        found = _list_mask(mask, count, rows)
    for number in range(len(maps)):
        if active[number] & 1 and maps[number, 7] == 0 and found != 0:
            a_map = maps[number]
            table = tables[a_map[5] : a_map[5] + a_map[6]]
            length = count if found < 0 else found
            _read_map(a_map, first, np.int64(found >= 0), rows, length, codes, others)
            passed = np.uint64(0)
            if found < 0:
                for row in range(length):
                    rows[passed] = row
                    passed += np.uint64(table[np.uint32(codes[row])] >= 0)
            else:
                for row in range(length):
                    rows[passed] = rows[row]
                    passed += np.uint64(table[np.uint32(codes[row])] >= 0)
            found = np.int64(passed)
    return found


@entry
def _number_groups(
    passed: tuple[Any, ...],
    base: Any,
    active: NDArray[np.uint8],
    maps: NDArray[np.int64],
    tables: NDArray[np.int32],
    scratch: tuple[Any, ...],
    groups: NDArray[np.uint32],
) -> Any:
    """Write the group of each row that passes. Returns whether it is the same for all.

    passed: the block's first row, whether rows are listed, and how many pass.
    """
    first, is_listed, count = passed
    _, rows, codes, others = scratch
    is_one = 1
    for number in range(len(maps)):
        if active[number] & 2:
            a_map = maps[number]
            table = tables[a_map[5] : a_map[5] + a_map[6]]
            _read_map(a_map, first, is_listed, rows, count, codes, others)
            if is_one:
                for row in range(count):
                    groups[row] = base + table[np.uint32(codes[row])]
            else:
                for row in range(count):
                    groups[row] += np.uint32(table[np.uint32(codes[row])])
            is_one = 0
    if is_one:
        groups[:count] = base
    return is_one


@entry
def _add_column(
    address: Any, width: Any, first: Any, count: Any, groups: Any, sums: NDArray[np.int64]
) -> None:
    """Add all of a block's integers to the sum of one group: they are read once, in vectors."""
    start = np.uintp(address + width * first)
    if width == 1:
        _add(_array(_pointer(start), BLOCK, np.int8), count, 1, groups, sums)
    elif width == 2:
        _add(_array(_pointer(start), BLOCK, np.int16), count, 1, groups, sums)
    elif width == 4:
        _add(_array(_pointer(start), BLOCK, np.int32), count, 1, groups, sums)
    else:
        _add(_array(_pointer(start), BLOCK, np.int64), count, 1, groups, sums)


@entry
def _accumulate_block(
    kind: Any, values: Any, count: Any, is_one: Any, groups: Any, state: Any
) -> None:
    """Accumulate a block's values into a kind of state, by its number in `BY_ROW`."""
    if kind == SUM:
        _add(values, count, is_one, groups, state[0])
    elif kind == WIDE:
        wide_places(None, groups[:count], values, state)
    elif kind == MIN:
        min_places(None, groups[:count], values, state)
    elif kind == SQUARES:
        squares_places(None, groups[:count], values, state)
    elif kind == WIDE_SQUARES:
        wide_squares_places(None, groups[:count], values, state)
    else:
        max_places(None, groups[:count], values, state)


@entry
def _hide(values: Any, valid: Any, count: Any, other: Any) -> None:
    """Put in the place of a NULL what leaves a minimum or a maximum as it is."""
    for row in range(count):
        if not valid[row]:
            values[row] = other


@entry
def _accumulate(
    block: tuple[Any, ...],
    states: NDArray[np.int64],
    group_count: Any,
    columns: tuple[Any, ...],
    read: Any,
) -> None:
    """Add the values of a block's rows that pass to all states.

    block: its first row, whether rows are listed, which and how many pass, whether they have one
        group, and their groups.
    read: the address of the column whose values are there, and that has been added; 0 for none.
    """
    first, is_listed, rows, count, is_one, groups = block
    values, reals, valid = columns
    for number in range(1 if read else 0, len(states)):
        column, width, validity, kind, address = states[number]
        shape = (WORD_COUNT, group_count)
        if width == FLOAT:
            source = _array(_pointer(np.uintp(column + 8 * first)), BLOCK, np.float64)
            _read(source, is_listed, rows, count, reals)
        elif is_one and not is_listed and kind == SUM:
            sums = _array(_pointer(np.uintp(address)), group_count, np.int64)
            _add_column(column, width, first, count, groups, sums)
            continue
        elif column != read:
            _read_integers(column, width, first, is_listed, rows, count, values)
            read = column
        if validity:
            source_valid = _array(_pointer(np.uintp(validity + first)), BLOCK, np.uint8)
            _read(source_valid, is_listed, rows, count, valid)
            if width == FLOAT:
                _hide(reals, valid, count, LEAST_FLOAT if kind == MIN else MOST_FLOAT)
            else:
                _hide(values, valid, count, LEAST if kind == MIN else MOST)
                read = np.int64(0)
        if width == FLOAT:
            state = _array(_pointer(np.uintp(address)), shape, np.float64)
            _accumulate_block(kind, reals, count, is_one, groups, state)
        else:
            whole_state = _array(_pointer(np.uintp(address)), shape, np.int64)
            _accumulate_block(kind, values, count, is_one, groups, whole_state)


@entry
def scan_rows(
    pieces: NDArray[np.int64],
    bases: NDArray[np.int64],
    active: NDArray[np.uint8],
    maps: NDArray[np.int64],
    tables: NDArray[np.int32],
    states: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """Filter, group and accumulate the rows of some pieces of a table.

    pieces: shape (piece_count, 2), half-open ranges of rows, each with the group number to begin
        from and, for each map, whether it filters (1) and whether it adds to the group (2).
    maps: shape (map_count, 10): address and width of the codes, the same of the second codes of a
        pair (0, 0 for none) and the stride between pairs, start and length in `tables`, and how
        the map filters: 0 by its table, 1 by a range (low, span), 2 by bits.
    states: shape (state_count, 5): address and width of the values (9 for float64), address of
        their validity (0 for none), the kind, and the address of its words, which have the shape
        (word_count, group_count).
    counts: shape (group_count,), the rows of each group.
    """
    mask = np.zeros(BLOCK, np.uint8)
    rows = np.empty(BLOCK + 64, np.uint32)
    codes = np.empty(BLOCK, np.int32)
    others = np.empty(BLOCK, np.int32)
    scratch = (mask, rows, codes, others)
    groups = np.empty(BLOCK, np.uint32)
    columns = (np.empty(BLOCK, np.int64), np.empty(BLOCK), np.empty(BLOCK, np.uint8))
    block = np.empty(2, np.int64)
    is_packed = (
        0 < len(counts) <= PACKED_GROUPS
        and len(states) > 0
        and states[0, 1] <= 4
        and states[0, 3] == SUM
    )
    packed = np.zeros((2, len(counts) if is_packed else 0), np.int64)
    packed_rows = 0
    first_sums = _array(_pointer(np.uintp(states[0, 4] if is_packed else 0)), len(counts), np.int64)
    for number in range(len(pieces)):
        for first in range(pieces[number, 0], pieces[number, 1], BLOCK):
            block[0] = first
            block[1] = min(first + BLOCK, pieces[number, 1])
            wanted = active[number]
            found = _list_rows(block, wanted, maps, tables, scratch)
            is_listed = np.int64(found >= 0)
            count = found if is_listed else block[1] - first
            if count == 0:
                continue
            is_one = _number_groups(
                (first, is_listed, count), bases[number], wanted, maps, tables, scratch, groups
            )
            read = np.int64(0)
            if is_one:
                counts[groups[0]] += count
            elif is_packed:
                read = states[0, 0]
                _read_integers(read, states[0, 1], first, is_listed, rows, count, columns[0])
                if packed_rows + count > PACKED_ROWS:
                    _unpack(packed, counts, first_sums)
                    packed_rows = 0
                _add_packed(columns[0], count, groups, packed)
                packed_rows += count
            else:
                for row in range(count):
                    counts[groups[row]] += 1
            passed = (first, is_listed, rows, count, is_one, groups)
            _accumulate(passed, states, len(counts), columns, read)
    if packed_rows:
        _unpack(packed, counts, first_sums)


def warm_up() -> None:
    """Compile the scan, or load it, by a scan of no rows."""
    numbers = np.empty(0, np.int64)
    scan_rows(
        np.empty((0, 2), np.int64),
        numbers,
        np.empty((0, 0), np.uint8),
        np.empty((0, 10), np.int64),
        np.empty(0, np.int32),
        np.empty((0, 5), np.int64),
        numbers,
    )
