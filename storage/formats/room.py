"""The memory that reading a file may take: what it is decompressed and decoded to."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.interrupts import interrupt_check
from raydb.room import read_limit, too_small
from raydb.storage.in_order import results_at_a_time
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable

# Blocks that are read side by side take as much, however small the limit is.
_LEAST_BYTES = 64 << 20
# A block of fields of one digit takes so many times its text: numbers, their text, Arrow's marks.
_DECODED = 12
_LEAST_PIECE = 1 << 16
# What is decoded by columns, is cast and waits: so many times a batch's bytes.
_BATCH_COPIES = 16


@dataclass(slots=True)
class Room:
    """What memory_limit leaves for a file, beside what Arrow holds before it is opened.

    It is made on the thread of a statement; any other may ask.
    """

    path: str
    _limit: int | None = field(default_factory=read_limit)
    _before: int = field(default_factory=pa.total_allocated_bytes)
    _check_interrupt: Callable[[], None] = field(default_factory=interrupt_check)

    def now(self) -> Room:
        """Return the room for what is read from now on, beside what is held already."""
        return replace(self, _before=pa.total_allocated_bytes())

    def piece(self, most: int) -> int:
        """Return how many bytes of text may be read at a time, at most so many.

        As many pieces as `in_order` has at a time, decoded, take no more than memory_limit leaves.
        """
        if self._limit is None:
            return most
        share = max(self._limit, _LEAST_BYTES) // (_DECODED * results_at_a_time())
        return min(most, max(share, _LEAST_PIECE))

    def batch(self, most: int) -> int:
        """Return how many bytes of a file of columns may be decoded at a time, at most so many."""
        if self._limit is None:
            return most
        return min(most, max(self._limit // _BATCH_COPIES, _LEAST_PIECE))

    def check(self, other_bytes: int = 0) -> None:
        """Raise OperationalError where the file takes more, with bytes that Arrow does not hold.

        An interrupt is heard too.
        """
        self._check_interrupt()
        if self._limit is None:
            return
        allocated = pa.total_allocated_bytes()
        # What others give back meanwhile is no room for this file.
        self._before = min(self._before, allocated)
        held = allocated - self._before + other_bytes
        if held > max(self._limit, _LEAST_BYTES):
            raise too_small(held, f"reading what is in file '{self.path}'", self._limit)
