"""The distinct ones of any integers, numbered in the order in which they come.

table, numbers = number_codes([900, -7, 900])     numbers 0, 1, 0
table.find([-7, 5])                               1, -1
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from raydb.interrupts import check_interrupt
from raydb.values import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Fewer integers are numbered by Arrow in less time than it takes to load numba.
MANY_CODES = 2**16

# A table begins in the processor's cache; when half of it is full, one of so many times the size
# takes its place.
_FIRST_BITS = 14
_MORE_BITS = 2


@dataclass(frozen=True, eq=False, slots=True)
class CodeTable:
    """Distinct integers by number; slots: see `number_loops`."""

    known: NDArray[np.int64]
    slots: NDArray[np.int32]
    bits: int
    factor: np.uint64

    def find(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of each integer, -1 for others."""
        from raydb.kernels.codecs.number_loops import find_numbers  # noqa: PLC0415  (numba)

        numbers = np.empty(len(codes), np.int64)
        find_numbers(codes, self.slots, self.bits, self.known, numbers, self.factor)
        return numbers


def number_codes(codes: NDArray[np.int64]) -> tuple[CodeTable, NDArray[np.int64]]:
    """Number the distinct integers; return them, and the number of each."""
    from raydb.kernels.codecs import number_loops  # noqa: PLC0415  (numba)

    codes = np.ascontiguousarray(codes)
    numbers, known = np.empty((2, len(codes)), np.int64)
    bits, row, count = _FIRST_BITS, 0, 0
    factor = np.uint64(int.from_bytes(os.urandom(8)) | 1)
    slots = np.full(1 << bits, -1, np.int32)
    while True:
        row = number_loops.number_codes(codes, row, slots, bits, known, numbers, count, factor)
        count = int(numbers[:row].max(initial=-1)) + 1
        if row == len(codes):
            return CodeTable(known[:count].copy(), slots, bits, factor), numbers
        check_interrupt()
        bits += _MORE_BITS
        slots = np.full(1 << bits, -1, np.int32)
        number_loops.fill_slots(known[:count], slots, bits, factor)
