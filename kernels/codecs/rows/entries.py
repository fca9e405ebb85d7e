"""What the codes of texts stand for, as the loops of `text_loops` read it.

heads   0 1 | 1 2 | 3 3      where the bytes of an entry begin (high half), how many there are
data    a th the ...         and zeros, so that every copy is of 32 bytes
"""

from __future__ import annotations

import sys
from enum import IntEnum
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from raydb.kernels.backends.cpu.threads import run_slices

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from numpy.typing import NDArray

# Bytes that are copied at once: the longest entry of pairs.
COPIED_BYTES = 32
# Where a single text is written: as many bytes as 128 codes may have.
ITEM_BYTES = 128 * COPIED_BYTES
# Codes that are decoded between two looks at the rows that end among them.
BLOCK_CODES = 4096
# Decoding so many bytes takes a thread 0.1 ms, waking it 6 us; an interrupt waits for 1 ms.
_THREAD_BYTES, _SLICE_BYTES = 2**19, 2**22
# Loops that any other encoding needs have numba with them.
_NUMBA_LOOPS = "raydb.kernels.codecs.packed_loops"
# The head of a code without an entry.
UNKNOWN = np.uint64(1 << 63)


class Entries(NamedTuple):
    """Entries by code. heads: uint64; data: uint8; both read-only."""

    heads: NDArray[np.uint64]
    data: NDArray[np.uint8]

    @staticmethod
    def of(data: NDArray[np.uint8], offsets: NDArray[np.int64], code_count: int) -> Entries:
        """Return the entries data[offsets[i] : offsets[i + 1]], for codes below `code_count`."""
        heads = np.full(code_count, UNKNOWN)
        known = len(offsets) - 1
        heads[:known] = offsets[:-1].astype(np.uint64) << np.uint64(32)
        heads[:known] |= np.diff(offsets).astype(np.uint64)
        padded = np.zeros(len(data) + COPIED_BYTES, np.uint8)
        padded[: len(data)] = data
        heads.flags.writeable = padded.flags.writeable = False
        return Entries(heads, padded)


@cache
def single_bytes() -> Entries:
    """Return the bytes as entries: what is stored as it is has codes of 8 bits."""
    return Entries.of(np.arange(256, dtype=np.uint8), np.arange(257), 256)


class Prefix(NamedTuple):
    """The bytes that texts begin with, and what the first code tells of it."""

    value: NDArray[np.uint8]
    states: NDArray[np.uint8]

    @staticmethod
    def of(value: bytes, entries: Entries) -> Prefix:
        """Return a prefix of texts of some entries."""
        found = Prefix(np.array(list(value), np.uint8), np.empty(len(entries.heads), np.uint8))
        match_loops().judge_entries(entries, *found)
        return found


class Target(NamedTuple):
    """Where texts are written: their bytes, and an offset behind each; positions: BLOCK_CODES + 1.

    offsets: int32 or int64, one more than rows; the first one is there.
    """

    data: NDArray[np.uint8]
    offsets: NDArray[np.int32] | NDArray[np.int64]
    positions: NDArray[np.int64]

    @staticmethod
    def of(row_count: int, byte_count: int, is_wide: bool) -> Target:
        """Make room for texts."""
        dtype: type[np.int32 | np.int64] = np.int64 if is_wide else np.int32
        offsets: NDArray[Any] = np.empty(row_count + 1, dtype)
        offsets[0] = 0
        return Target(np.empty(byte_count, np.uint8), offsets, np.empty(0, np.int64))

    def for_thread(self) -> Target:
        """Return the same target with positions of its own."""
        return self._replace(positions=np.empty(BLOCK_CODES + 1, np.int64))


class Form(IntEnum):
    """How chunks keep numbers: packed, above a line, by a stride, one a run, with exceptions.

    RUNS and CODES are of codes of entries.
    """

    PACKED = 0
    STRIDE = 1
    LINE = 2
    RUNS_LINE = 3
    RUNS = 4
    RUN_ENDS = 5
    CODES = 6
    PATCHED = 7
    ALP = 8
    ALP_RUNS = 9


class ByAddress:
    """Integers, and addresses of arrays, in words whose address loops are given; holds the arrays.

    Python takes 100 ns to hand over an array, 25 for an integer.
    """

    def __init__(self, *parts: NDArray[Any] | int) -> None:
        self._parts = parts
        words = [part if isinstance(part, int) else part.ctypes.data for part in parts]
        self._words = np.array(words, np.int64)
        self.address = int(self._words.ctypes.data)


class Slices(NamedTuple):
    """Rows of chunks, an array each: the chunk, the first and the one behind the last.

    to: the row of all of them to which the first one goes.
    """

    chunks: NDArray[np.int64]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    to: NDArray[np.int64]

    @staticmethod
    def of(
        chunks: NDArray[np.int64], starts: NDArray[np.int64], stops: NDArray[np.int64]
    ) -> Slices:
        """Return the slices whose rows follow each other."""
        counts = stops - starts
        return Slices(chunks, starts, stops, np.cumsum(counts) - counts)

    @property
    def row_count(self) -> int:
        """How many rows these are."""
        return int((self.stops - self.starts).sum())

    def part(self, first: int, last: int) -> Slices:
        """Return some of the slices."""
        return Slices(*(each[first:last] for each in self))


class Coded(NamedTuple):
    """The bytes of entries: of those that chunks share, then room for those of one chunk.

    places, counts: of each chunk, where its own entries lie, and how many they are.
    """

    entries: NDArray[np.uint8]
    shared_count: int
    places: NDArray[np.int64]
    counts: NDArray[np.int64]


class Places(NamedTuple):
    """Where the codes of some rows of chunks begin, in bits of the file, and how many rows."""

    begins: NDArray[np.int64]
    counts: NDArray[np.int64]


class Span(NamedTuple):
    """The part of a target that some texts go to: first byte, first row; no byte from `limit` on.

    What is before the limit and behind the texts may be overwritten, and is written later.
    """

    to: int
    row: int
    limit: int


def read_only(values: NDArray[Any]) -> NDArray[Any]:
    """View values as the loops take them, which are compiled once: not for a memory map again."""
    view = values.view()
    view.flags.writeable = False
    return view


@cache
def text_loops() -> ModuleType:
    """Return the loops, which are imported when they are first wanted."""
    from raydb.kernels.codecs.rows import text_loops  # noqa: PLC0415  (numba takes 0.24 s)

    return text_loops


@cache
def match_loops() -> ModuleType:
    """Return the loops that find rows."""
    from raydb.kernels.codecs.rows import match_loops  # noqa: PLC0415  (numba takes 0.24 s)

    return match_loops


@cache
def take_loops() -> ModuleType:
    """Return the loops that take rows."""
    from raydb.kernels.codecs.rows import take_loops  # noqa: PLC0415  (numba takes 0.24 s)

    return take_loops


@cache
def scan_loops() -> ModuleType:
    """Return the loop that reads whole chunks of numbers."""
    from raydb.kernels.codecs.rows import scan_loops  # noqa: PLC0415  (numba takes 0.24 s)

    return scan_loops


@cache
def mark_loops() -> ModuleType:
    """Return the loop that reads marks."""
    from raydb.kernels.codecs.rows import mark_loops  # noqa: PLC0415  (numba takes 0.24 s)

    return mark_loops


def are_loops_loaded() -> bool:
    """Tell whether the loops are there, or numba is, with which they are there in no time."""
    return _NUMBA_LOOPS in sys.modules


def in_slices(
    work: Callable[[int, int], None], count: int, size: int, at_once: int | None = None
) -> None:
    """Run `work` on slices, first to last, of `count` things that have `size` bytes.

    On several threads, as many as the setting allows, where that pays. at_once: how many things are
    a slice at most, by default those of 4 MiB.
    """
    if count:
        least = max(1, count * _THREAD_BYTES // max(size, 1))
        most = at_once or max(1, count * _SLICE_BYTES // max(size, 1))
        run_slices(lambda part: work(part.start, part.stop), count, least, most)
