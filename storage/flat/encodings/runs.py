"""RUNS: short runs, found by a bit a row that begins one; then a line through their values.

    bits     u64 a 64 rows, 1 where a run begins           1 0 0 1 0 1 1 0
    ranks    u32 a 512 rows, the runs that begin before    0
    values   head of a line and packed(w), one a run       7 9 4 4

A row's run is the rank of its block and the ones up to the row: one load, no search.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from raydb.storage.flat.encodings.bits import (
    Line,
    bits_for,
    check_packed,
    line_reader,
    loops_for,
    pack_line,
    packed_bytes,
    signed_64,
    unpack_line,
)
from raydb.storage.flat.encodings.decimals import check_packed_decimals
from raydb.storage.flat.encodings.encoding import Encoded, bad_chunk
from raydb.storage.flat.encodings.integers import IntegerEncoding
from raydb.storage.flat.encodings.lines import HEAD, pack_head, read_head
from raydb.storage.flat.encodings.survey import survey_integers
from raydb.storage.flat.layout import Kind, align

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from raydb.storage.flat.encodings.encoding import Chunk, Rows, Sections, Values
    from raydb.storage.flat.encodings.survey import Survey
    from raydb.storage.flat.layout import ChunkEntry
    from raydb.storage.flat.metadata.column import Column

_BLOCK_ROWS = 512
# What is read by runs has to save an eighth: the loop over bits takes twice the time of a frame.
SLOWER = 8 / 7
# Runs shorter than this on average do not pay for a bit a row.
_LEAST_RUN_ROWS = 1.5


class Runs(NamedTuple):
    """Where the runs of a chunk begin. starts: the bytes of the bits; ranks: u32 a block."""

    row_count: int
    starts: memoryview
    ranks: NDArray[np.uint32]
    run_count: int

    def spread(
        self, values: NDArray[Any], rows: slice, out: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """Return, or write, the values of some rows, given those of all runs."""
        start, stop, _ = rows.indices(self.row_count)
        loops = loops_for(0)
        if loops is None or stop <= start:
            bits = np.frombuffer(self.starts, np.uint8)
            firsts = np.flatnonzero(np.unpackbits(bits, count=self.row_count, bitorder="little"))
            lengths = np.diff(firsts, append=self.row_count)
            found: NDArray[Any] = np.repeat(values, lengths)[rows]
            if out is not None:
                out[:] = found
            return found
        out = np.empty(stop - start, values.dtype) if out is None else out
        bits = np.frombuffer(self.starts, np.uint8)
        run = int(self.runs_of(np.array([start]))[0]) if start else 0
        bits.flags.writeable = False
        word = f"<u{values.itemsize}"
        loops.expand_runs(bits, values[run:].view(word), np.uint64(start), out.view(word))
        return out

    def runs_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the run of each of some rows."""
        words = np.frombuffer(self.starts, "<u8")
        # The runs before each word, then those in it up to the row.
        counts = np.bitwise_count(words).astype(np.int64)
        before = np.cumsum(counts) - counts
        places = rows >> 6
        kept = words[places] << (np.uint64(63) - (rows & 63).astype(np.uint64))
        found: NDArray[np.int64] = before[places] + np.bitwise_count(kept).astype(np.int64) - 1
        return found

    def reader(self) -> Callable[[int], int]:
        """Return the function from a row to its run."""
        starts, ranks, integer = self.starts, self.ranks.data, int.from_bytes

        def read(row: int) -> int:
            first = row & -_BLOCK_ROWS
            ones = integer(starts[first >> 3 : (row >> 3) + 1], "little")
            return ranks[row >> 9] + (ones & (2 << row - first) - 1).bit_count() - 1

        return read


def runs_bytes(row_count: Any) -> Any:
    """Return the bytes that say where the runs of so many rows, a number or an array, begin."""
    return align(-(-row_count // 8)) + align(4 * -(-row_count // _BLOCK_ROWS))


def pack_runs(starts: NDArray[np.bool_]) -> bytes:
    """Return the bits and the ranks of rows of which some begin a run."""
    row_count = len(starts)
    blocks = np.add.reduceat(starts, np.arange(0, row_count, _BLOCK_ROWS), dtype=np.int64)
    ranks = (np.cumsum(blocks) - blocks).astype("<u4").tobytes()
    bits = np.packbits(starts, bitorder="little").tobytes()
    length = align(-(-row_count // 8))
    return bits.ljust(length, b"\0") + ranks.ljust(runs_bytes(row_count) - length, b"\0")


def read_runs(column: Column, entry: ChunkEntry, payload: memoryview) -> tuple[Runs, memoryview]:
    """Return the runs at the start of a payload, checked, and what is behind them."""
    row_count, place = entry.row_count, entry.starts()[1]
    size, length = runs_bytes(row_count), align(-(-row_count // 8))
    if len(payload) < size:
        raise bad_chunk(column, entry, place, f"runs of {size} bytes", len(payload))
    starts = payload[:length]
    words = np.frombuffer(starts, "<u8")
    counts = np.bitwise_count(words).astype(np.int64)
    blocks = np.add.reduceat(counts, np.arange(0, len(words), _BLOCK_ROWS // 64))
    ranks = np.frombuffer(payload, "<u4", len(blocks), length)
    is_first = bool(words[0] & np.uint64(1))
    rest = int(words[-1]) >> (row_count - 1) % 64 >> 1
    if not is_first or rest or (ranks != np.cumsum(blocks) - blocks).any():
        raise bad_chunk(column, entry, place, f"the bits and ranks of {row_count} rows", "others")
    return Runs(row_count, starts, ranks, int(counts.sum())), payload[size:]


class _Runs(IntegerEncoding):
    code, name, shows_width = 9, "runs", True
    kinds = IntegerEncoding.choices

    def integers_size(self, values: Values, known: Survey) -> int | None:
        if known.run_count * _LEAST_RUN_ROWS > values.count:
            return None
        _, _, bits = _fitted(values)
        size = runs_bytes(values.count) + HEAD.size + packed_bytes(known.run_count, bits)
        return int(size * SLOWER)

    def encode_integers(
        self, values: Values, words: NDArray[np.int64], known: Survey
    ) -> Encoded | None:
        numbers, line, bits = _fitted(values)
        packed = pack_line(numbers, bits, line).tobytes()
        payload = pack_runs(values.run_starts) + pack_head(line) + packed
        return Encoded(self, bits, line.reference, payload=payload)

    def open(self, column: Column, entry: ChunkEntry, sections: Sections) -> tuple[Any, Any]:
        runs, rest = read_runs(column, entry, sections.payload)
        line, packed = read_head(column, entry, rest)
        check_packed(column, entry, len(packed), runs.run_count, min(column.bits, 64), 0)
        check_packed_decimals(column, entry, packed, runs.run_count, line)
        return None, (runs, line, packed)

    def read_values(self, chunk: Chunk, rows: Rows, count: int) -> NDArray[Any]:
        runs, line, packed = chunk.shared
        width, dtype = chunk.entry.width, chunk.column.dtype
        if isinstance(rows, slice):
            values = unpack_line(packed, width, runs.run_count, line, slice(None), dtype)
            found: NDArray[Any] = runs.spread(values, rows)
            return found
        return unpack_line(packed, width, runs.run_count, line, runs.runs_of(rows), dtype)

    def read_into(self, chunk: Chunk, start: int, out: NDArray[Any]) -> None:
        runs, line, packed = chunk.shared
        width = chunk.entry.width
        values = unpack_line(packed, width, runs.run_count, line, slice(None), out.dtype)
        runs.spread(values, slice(start, start + len(out)), out)

    def number_reader(self, chunk: Chunk) -> Callable[[int], Any]:
        runs, line, packed = chunk.shared
        unsigned = chunk.column.kind is Kind.UNSIGNED
        value_of = line_reader(packed, chunk.entry.width, line, unsigned=unsigned)
        run_of = runs.reader()
        return lambda row: value_of(run_of(row))


def _fitted(values: Values) -> tuple[NDArray[np.int64], Line, int]:
    """Return the values of the runs, the line below them, flat if no other pays, and the width."""
    fitted: tuple[NDArray[np.int64], Line, int] | None = values.kept.get("runs")
    if fitted is None:
        assert values.words is not None
        unsigned = values.plan.kind is Kind.UNSIGNED
        numbers = values.words[values.run_starts]
        known = survey_integers(numbers, unsigned=unsigned, eighths=8)
        line, bits = known.line, known.line_bits
        if line is None:
            line, bits = Line(signed_64(known.least)), bits_for(known.span) if known.span else 0
        fitted = values.kept["runs"] = numbers, line, bits
    return fitted


RUNS = _Runs()
