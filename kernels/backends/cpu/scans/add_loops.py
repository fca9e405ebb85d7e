"""The values of a scan's rows, added up.

The group of a row is a number, or the code of one column whose codes are bytes: then rows are added
up by code, apart, and moved to their groups at the end. So are counts of few groups: the count and
the first sum are one number there. Even rows go apart from odd ones: these do not wait for each
other where neighbours are in one group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba  # noqa: F401  (all of it, before a part: see kernels/compiling.py)
import numpy as np

from raydb.kernels.backends.aggregates import BY_ROW, LOW_BITS, WORDS
from raydb.kernels.backends.cpu.scans.filter_loops import ONE, array_at, read_rows
from raydb.kernels.jit import leaf

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Of few groups, the count and the first sum are one number: the count in units of 2^46, above a sum
# of at most 2^14 values below 2^31.
PACKED_GROUPS = 1024
PACKED_ROWS = 2**14
PACKED_SHIFT = 46

# Codes that rows are added up by are bytes.
CODE_COUNT = 256

# States are known by their numbers in `BY_ROW`. What no row has:
SUM, MIN, MAX = (BY_ROW.index(kind) for kind in ("sum", "min", "max"))
SQUARES, WIDE_SQUARES = (BY_ROW.index(kind) for kind in ("squares", "wide_squares"))
LEAST, LEAST_FLOAT = WORDS["least"].none
MOST, MOST_FLOAT = WORDS["most"].none

# The width that stands for float64.
FLOAT = 9


@leaf
def read_integers(
    address: Any, width: Any, first: Any, is_listed: Any, rows: Any, count: Any, values: Any
) -> None:
    """Copy the integers of the listed rows of a column, or of the first ones."""
    start = np.uintp(address + first * width)
    if width == 1:
        read_rows(array_at(start, np.int8), is_listed, rows, count, values)
    elif width == 2:
        read_rows(array_at(start, np.int16), is_listed, rows, count, values)
    elif width == 4:
        read_rows(array_at(start, np.int32), is_listed, rows, count, values)
    else:
        read_rows(array_at(start, np.int64), is_listed, rows, count, values)


@leaf
def _sum(source: Any, count: Any) -> Any:
    """Return the sum of integers, which are read once, in vectors."""
    total = np.int64(0)
    for row in range(np.uint64(count)):
        total += source[row]
    return total


@leaf
def _sum_masked(source: Any, count: Any, mask: NDArray[np.uint8]) -> Any:
    """Return the sum of the integers that the mask lets pass."""
    total = np.int64(0)
    for row in range(np.uint64(count)):
        total += np.int64(source[row]) & -np.int64(mask[row])
    return total


@leaf
def _sum_column(address: Any, width: Any, first: Any, count: Any) -> Any:
    start = np.uintp(address + first * width)
    if width == 1:
        return _sum(array_at(start, np.int8), count)
    if width == 2:
        return _sum(array_at(start, np.int16), count)
    if width == 4:
        return _sum(array_at(start, np.int32), count)
    return _sum(array_at(start, np.int64), count)


@leaf
def sum_masked_column(
    address: Any, width: Any, first: Any, count: Any, mask: NDArray[np.uint8]
) -> Any:
    """Return the sum of the rows of a column that the mask lets pass."""
    start = np.uintp(address + first * width)
    if width == 1:
        return _sum_masked(array_at(start, np.int8), count, mask)
    if width == 2:
        return _sum_masked(array_at(start, np.int16), count, mask)
    if width == 4:
        return _sum_masked(array_at(start, np.int32), count, mask)
    return _sum_masked(array_at(start, np.int64), count, mask)


@leaf
def add_packed(
    values: Any, count: Any, groups: NDArray[np.uint32], packed: NDArray[np.int64]
) -> None:
    """Count and add each value to its group, even rows apart from odd ones.

    The two do not wait for each other where neighbours are in one group.
    """
    one = np.int64(1) << PACKED_SHIFT
    for row in range(np.uint64(0), np.uint64(count // 2 * 2), np.uint64(2)):
        packed[0, groups[row]] += values[row] + one
        packed[1, groups[row + ONE]] += values[row + ONE] + one
    if count % 2:
        packed[0, groups[count - 1]] += values[count - 1] + one


@leaf
def count_packed(count: Any, groups: NDArray[np.uint32], packed: NDArray[np.int64]) -> None:
    """Do as `_add_packed` with no values."""
    one = np.int64(1) << PACKED_SHIFT
    for row in range(np.uint64(0), np.uint64(count // 2 * 2), np.uint64(2)):
        packed[0, groups[row]] += one
        packed[1, groups[row + ONE]] += one
    if count % 2:
        packed[0, groups[count - 1]] += one


@leaf
def _add_coded(
    codes: Any, source: Any, passed: tuple[Any, ...], one: Any, lane: Any, sums: NDArray[np.int64]
) -> None:
    """Add each value, and one more, to the sum of its code: even rows apart from odd ones.

    passed: whether rows are listed, which and how many. lane: where the sums of odd rows begin.
    """
    is_listed, rows, count = passed
    other = np.uint64(lane)
    if is_listed:
        for row in range(np.uint64(0), np.uint64(count // 2 * 2), np.uint64(2)):
            even, odd = rows[row], rows[row + ONE]
            sums[codes[even]] += source[even] + one
            sums[other + codes[odd]] += source[odd] + one
        if count % 2:
            last = rows[np.uint64(count - 1)]
            sums[codes[last]] += source[last] + one
    else:
        for row in range(np.uint64(0), np.uint64(count // 2 * 2), np.uint64(2)):
            sums[codes[row]] += source[row] + one
            sums[other + codes[row + ONE]] += source[row + ONE] + one
        if count % 2:
            last_row = np.uint64(count - 1)
            sums[codes[last_row]] += source[last_row] + one


@leaf
def _count_codes(codes: Any, passed: tuple[Any, ...], counts: NDArray[np.int64]) -> None:
    """Do as `_add_coded` with no values."""
    is_listed, rows, count = passed
    one, other = np.int64(1) << PACKED_SHIFT, np.uint64(PACKED_GROUPS)
    for row in range(np.uint64(0), np.uint64(count // 2 * 2), np.uint64(2)):
        if is_listed:
            counts[codes[rows[row]]] += one
            counts[other + codes[rows[row + ONE]]] += one
        else:
            counts[codes[row]] += one
            counts[other + codes[row + ONE]] += one
    if count % 2:
        last = np.uint64(count - 1)
        counts[codes[rows[last] if is_listed else last]] += one


@leaf
def add_by_code(
    first: Any,
    codes_address: Any,
    passed: tuple[Any, ...],
    states: NDArray[np.int64],
    is_packed: Any,
    packed: NDArray[np.int64],
) -> None:
    """Count and add a block's rows that pass by their codes, which are bytes."""
    codes = array_at(np.uintp(codes_address + first), np.uint8)
    target, lane, one = np.int64(packed.ctypes.data), PACKED_GROUPS, np.int64(1) << PACKED_SHIFT
    if not is_packed:
        _count_codes(codes, passed, array_at(np.uintp(target), np.int64))
    for number in range(len(states)):
        width = states[number, 1]
        start = np.uintp(states[number, 0] + first * width)
        if number or not is_packed:
            target, lane, one = states[number, 4], CODE_COUNT, np.int64(0)
        sums = array_at(np.uintp(target), np.int64)
        if width == 1:
            _add_coded(codes, array_at(start, np.int8), passed, one, lane, sums)
        elif width == 2:
            _add_coded(codes, array_at(start, np.int16), passed, one, lane, sums)
        elif width == 4:
            _add_coded(codes, array_at(start, np.int32), passed, one, lane, sums)
        else:
            _add_coded(codes, array_at(start, np.int64), passed, one, lane, sums)


@leaf
def _add(
    values: Any, count: Any, is_one: Any, groups: NDArray[np.uint32], sums: NDArray[Any]
) -> None:
    """Add each value to its group's sum; the group is one and the same where `is_one`."""
    if is_one:
        total = sums[groups[0]]
        for row in range(np.uint64(count)):
            total += values[row]
        sums[groups[0]] = total
    else:
        for row in range(np.uint64(count)):
            sums[groups[row]] += values[row]


@leaf
def _fold(
    kind: Any, values: Any, count: Any, groups: NDArray[np.uint32], group_count: Any, state: Any
) -> None:
    """Accumulate values into a kind of state, by its number in `BY_ROW`, but for sums."""
    for row in range(np.uint64(count)):
        group, value = groups[row], values[row]
        if kind == MIN:
            best = state[group]
            # A NaN is left out: NaN alone differs from itself.
            if value < best or (best != best and value == value):  # noqa: PLR0124
                state[group] = value
        elif kind == MAX:
            if value > state[group] or value != value:  # noqa: PLR0124
                state[group] = value
        elif kind == SQUARES:
            state[group] += value * value
        else:
            number = np.int64(value)
            if kind == WIDE_SQUARES:
                number *= number
            state[group] += number >> 32
            state[group_count + group] += number & LOW_BITS


@leaf
def _hide(values: Any, valid: Any, count: Any, other: Any) -> None:
    """Put in the place of a NULL what leaves a minimum or a maximum as it is."""
    for row in range(np.uint64(count)):
        if not valid[row]:
            values[row] = other


@leaf
def add_rows(
    block: tuple[Any, ...],
    states: NDArray[np.int64],
    group_count: Any,
    groups: NDArray[np.uint32],
    columns: tuple[Any, ...],
) -> None:
    """Add the values of a block's rows that pass to states.

    block: its first row, whether rows are listed, which and how many pass, whether they have one
        group, the first of the states, and the address of the column whose values are there (0 for
        none).
    """
    first, is_listed, rows, count, is_one, begin, read = block
    values, reals, valid = columns
    for number in range(begin, len(states)):
        column, width, validity = states[number, 0], states[number, 1], states[number, 2]
        kind, address = states[number, 3], np.uintp(states[number, 4])
        if validity:
            read_rows(array_at(np.uintp(validity + first), np.uint8), is_listed, rows, count, valid)
        if width == FLOAT:
            source = array_at(np.uintp(column + 8 * first), np.float64)
            read_rows(source, is_listed, rows, count, reals)
            if validity:
                _hide(reals, valid, count, LEAST_FLOAT if kind == MIN else MOST_FLOAT)
            if kind == SUM:
                _add(reals, count, is_one, groups, array_at(address, np.float64))
            else:
                _fold(kind, reals, count, groups, group_count, array_at(address, np.float64))
            continue
        if kind == SUM and is_one and not is_listed:
            array_at(address, np.int64)[groups[0]] += _sum_column(column, width, first, count)
            continue
        if column != read:
            read_integers(column, width, first, is_listed, rows, count, values)
            read = column
        if validity:
            _hide(values, valid, count, LEAST if kind == MIN else MOST)
            read = np.int64(0)
        if kind == SUM:
            _add(values, count, is_one, groups, array_at(address, np.int64))
        else:
            _fold(kind, values, count, groups, group_count, array_at(address, np.int64))


@leaf
def flush(
    where: tuple[Any, ...],
    tables: NDArray[np.int32],
    packed: NDArray[np.int64],
    coded: NDArray[np.int64],
    counts: NDArray[np.int64],
    states: NDArray[np.int64],
) -> None:
    """Move what was added up apart to where it belongs.

    where: how many groups or codes there are, where the table of the codes begins (-1 for groups),
        the group number to begin from, and whether the first sum is packed.
    """
    size, start, base, is_packed = where
    half = np.int64(1) << (PACKED_SHIFT - 1)
    for code in range(size):
        count = sum_of_first = np.int64(0)
        for lane in range(2):
            total = packed[lane, code]
            found = (total + half) >> PACKED_SHIFT
            count += found
            sum_of_first += total - (found << PACKED_SHIFT)
            packed[lane, code] = 0
        if not count:
            continue
        group = code if start < 0 else np.int64(base + tables[np.uint64(start + code)])
        counts[group] += count
        for number in range(len(states) if start >= 0 or is_packed else 0):
            sums = array_at(np.uintp(states[number, 4]), np.int64)
            if number == 0 and is_packed:
                sums[group] += sum_of_first
            elif start >= 0:
                sums[group] += coded[number, 0, code] + coded[number, 1, code]
                coded[number, 0, code] = coded[number, 1, code] = 0
