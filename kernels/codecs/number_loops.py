"""Loops that number the distinct ones of any integers, by a hash table of them.

slots: 2**bits numbers, -1 for a free one, looked through from where an integer's hash says.
known: the integer of each number. factor: any odd number; for a known one there are integers that
are evenly spaced, and all of whose hashes are close to each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raydb.kernels.jit import compiled, inlined

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@inlined
def _slot_of(
    code: np.int64,
    slots: NDArray[np.int32],
    known: NDArray[np.int64],
    bits: int,
    factor: np.uint64,
) -> np.int64:
    """Return the slot that a code is in, or the free one where it belongs."""
    mixed = np.uint64(code) * _FACTOR
    mixed = (mixed ^ (mixed >> np.uint64(32))) * factor
    slot = np.int64(mixed >> np.uint64(64 - bits))
    last = (1 << bits) - 1
    while slots[slot] >= 0 and known[slots[slot]] != code:
        slot = (slot + 1) & last
    return slot


@compiled
def number_codes(
    codes: NDArray[np.int64],
    first: int,
    slots: NDArray[np.int32],
    bits: int,
    known: NDArray[np.int64],
    numbers: NDArray[np.int64],
    count: int,
    factor: np.uint64,
) -> int:
    """Number codes from row `first` on, in the order in which they come; `count` are known.

    Returns how many rows have numbers now: fewer than all where half of the slots are taken.
    """
    for row in range(first, len(codes)):
        slot = _slot_of(codes[row], slots, known, bits, factor)
        number = int(slots[slot])
        if number < 0:
            if 2 * count >= 1 << bits:
                return row
            number = count
            slots[slot] = number
            known[number] = codes[row]
            count += 1
        numbers[row] = number
    return len(codes)


@compiled
def fill_slots(
    known: NDArray[np.int64], slots: NDArray[np.int32], bits: int, factor: np.uint64
) -> None:
    """Fill a table with what is known."""
    for number in range(len(known)):
        slots[_slot_of(known[number], slots, known, bits, factor)] = number


@compiled
def find_numbers(
    codes: NDArray[np.int64],
    slots: NDArray[np.int32],
    bits: int,
    known: NDArray[np.int64],
    numbers: NDArray[np.int64],
    factor: np.uint64,
) -> None:
    """Write the number of each code, -1 for one that is not known."""
    for row in range(len(codes)):
        numbers[row] = slots[_slot_of(codes[row], slots, known, bits, factor)]
