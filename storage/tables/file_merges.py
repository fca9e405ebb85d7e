"""Which files of a table become one: CHECKPOINT merges by tiers, VACUUM whatever fits together.

    files of    64 16 16 4 4 1 1 1     and a row in memory
    become      64 16 16 4 4 4         since those behind the first 1 hold 3 times its bytes

CHECKPOINT merges a file with all behind it as soon as those hold `FANOUT - 1` times its bytes. So
no file is less than a third of all behind it: their number is logarithmic, whatever was inserted,
and a file that is rewritten is part of one about 4 times as large. Of 10,000 inserts with a
CHECKPOINT each, 19 files are left at most, and each row has been written 6 times on average, as
the sizes of files are guessed; 5.3 times if they were known.
Only neighbours become one file, so that rows keep their numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.errors import OperationalError
from raydb.interrupts import check_interrupt
from raydb.storage.tables.parts import ArrowPart, FilePart, PackedPart, Part
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

FANOUT = 4

# How many bytes of rows are decoded at a time; encoding them takes up to four times as many. Where
# a statement writes a file it is 0.5 s of work, at CHECKPOINT 2 s.
STATEMENT_BYTES = 2**25
CHECKPOINT_BYTES = 2**27
VACUUM_BYTES = 2**29


@dataclass(frozen=True, eq=False, slots=True)
class TakenPart(Part):
    """Some rows of another part, by their ascending numbers."""

    part: Part
    row_numbers: NDArray[np.int64]

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return len(self.row_numbers)

    @property
    def size_bytes(self) -> int:
        """About how many bytes the rows take in memory."""
        return self.part.size_bytes * self.row_count // self.part.row_count

    def columns(self, names: Sequence[str]) -> list[pa.ChunkedArray]:
        """Return the values of some columns."""
        return [self.part.take(name, self.row_numbers) for name in names]


@dataclass(frozen=True, eq=False, slots=True)
class JoinedPart(Part):
    """The rows of several parts, one after the other, which are to be one file."""

    parts: tuple[Part, ...]

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return sum(part.row_count for part in self.parts)

    @property
    def size_bytes(self) -> int:
        """About how many bytes the rows take in memory."""
        return sum(part.size_bytes for part in self.parts)

    def columns(self, names: Sequence[str]) -> list[pa.ChunkedArray]:
        """Return the values of some columns."""
        found = []
        for part in self.parts:
            check_interrupt()
            found.append(part.columns(names))
        return [
            pa.chunked_array([chunk for piece in pieces for chunk in piece.chunks])
            for pieces in zip(*found, strict=True)
        ]


def tiered(parts: Sequence[Part], most: int) -> list[tuple[Part, ...]]:
    """Return the parts of a table in groups, each of which is to be one file.

    most: the bytes of rows in files that may be decoded at a time. A file of more than a quarter is
    final: with those behind it, it could have too many.
    """
    first, behind = len(parts), 0
    for number in reversed(range(len(parts))):
        size_bytes = _mergeable_bytes(parts[number], most)
        if size_bytes is None:
            break
        if behind >= (FANOUT - 1) * size_bytes:
            first = number
        behind += size_bytes
    return [*((part,) for part in parts[:first]), *_grouped(parts[first:], most)]


def _mergeable_bytes(part: Part, most: int) -> int | None:
    """Return the size of a part, None for a file that is to stay as it is."""
    if not isinstance(part, FilePart):
        return part.size_bytes
    try:
        size_bytes = part.size_bytes
    except OperationalError:  # It is damaged, which is an error of those who need its rows.
        return None
    return size_bytes if size_bytes * FANOUT <= most else None


def compacted(
    parts: Iterable[Part], live: NDArray[np.bool_] | None, most: int = VACUUM_BYTES
) -> tuple[Part, ...]:
    """Return parts with the visible rows of others alone, as few as fit.

    live: which rows are visible, None for all. Rows in files are read when the new ones are
    written, so that no more than `most` bytes of them are decoded at a time.
    """
    kept: list[Part] = []
    start = 0
    for part in parts:
        visible = None if live is None else live[start : start + part.row_count]
        start += part.row_count
        kept += [part] if visible is None or visible.all() else _visible(part, visible, most)
    joined: list[Part] = []
    for group in _grouped(kept, most):
        is_in_memory = all(part.is_decoded for part in group)
        joined += group if len(group) == 1 or is_in_memory else [JoinedPart(group)]
    return tuple(joined)


def _visible(part: Part, live: NDArray[np.bool_], most: int) -> list[Part]:
    """Return the visible rows of a part in pieces that are not too large."""
    row_numbers = np.flatnonzero(live)
    if not len(row_numbers):
        return []
    if isinstance(part, ArrowPart):
        return [ArrowPart(part.table.filter(pa.array(live)))]
    if isinstance(part, PackedPart):
        return [PackedPart(part.schema, part.packed.filter(pa.array(live)))]
    pieces = np.array_split(row_numbers, 1 + part.size_bytes // most)
    return [TakenPart(part, piece) for piece in pieces if len(piece)]


def _grouped(parts: Sequence[Part], most: int) -> list[tuple[Part, ...]]:
    """Return parts in groups with at most `most` bytes to decode, of one part at least."""
    groups: list[list[Part]] = []
    decoded = 0
    for part in parts:
        added = 0 if part.is_decoded else part.size_bytes
        if not groups or decoded + added > most:
            groups.append([])
            decoded = 0
        groups[-1].append(part)
        decoded += added
    return [tuple(group) for group in groups]
