"""One column of an open file: single rows, many rows in any order, all rows.

Rows in chunks of one encoding and width are gathered from the whole file at once: the places of
the values are computed with a few operations on arrays, however many chunks they lie in. Rows in
chunks of other encodings are read chunk by chunk.
"""

from __future__ import annotations

import math
import threading
from contextlib import suppress
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from raydb.errors import ProgrammingError
from raydb.interrupts import check_interrupt
from raydb.kernels.codecs.rows.entries import Slices, are_loops_loaded
from raydb.room import check_room, read_limit
from raydb.storage.flat.chunk import (
    check_chunk_metadata,
    coded_rows,
    item_reader,
    open_chunk,
    read_rows,
)
from raydb.storage.flat.encodings.bits import loops_for
from raydb.storage.flat.encodings.dictionary import DICTIONARY
from raydb.storage.flat.encodings.encoding import OFFSET_BYTES, Piece, slices_of
from raydb.storage.flat.encodings.integers import NUMBERS_RUN
from raydb.storage.flat.encodings.known import ENCODINGS
from raydb.storage.flat.encodings.references import REFERENCES
from raydb.storage.flat.encodings.scanner import Scanner
from raydb.storage.flat.encodings.taker import taker_of
from raydb.storage.flat.encodings.texts import arrays_of, is_narrow, narrow_texts
from raydb.storage.flat.layout import MAX_PAYLOAD_BYTES, Flags, Kind
from raydb.storage.flat.metadata.column import chunk_lengths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from raydb.storage.flat.encodings.encoding import Chunk, Gather, Taker
    from raydb.storage.flat.metadata.column import Column
    from raydb.storage.flat.zone_map import Bounds

# Codes, or values, of so many bytes are decoded in one call: few enough to be held twice.
_DECODED_AT_ONCE = 2**26
_CODE_BYTES = 4
# So many rows are worth loading the loops.
_MANY_ROWS = 2**20


class _Run(NamedTuple):
    """Chunks that are decoded in one call, or a single one. numbers, is_whole: of each piece.

    slices: the pieces of several chunks of numbers.
    """

    key: object
    pieces: list[Piece]
    numbers: NDArray[np.int64]
    is_whole: NDArray[np.bool_]
    slices: Slices | None

    @staticmethod
    def of(pieces: list[Piece], key: object) -> _Run:
        numbers = np.array([piece.number for piece in pieces], np.int64)
        is_whole = np.array([piece.is_whole for piece in pieces])
        are_numbers = key is NUMBERS_RUN and len(pieces) > 1
        return _Run(key, pieces, numbers, is_whole, slices_of(pieces) if are_numbers else None)


class ColumnReader:
    """The chunks of a column, each verified when it is first touched, then kept."""

    def __init__(self, column: Column) -> None:
        self.column, self.data_type = column, column.field.type
        count = len(column.entries)
        self._chunks: list[Chunk | None] = [None] * count
        # The bytes of texts that have once been decoded as a whole, to nothing but UTF-8; or -1.
        self._sizes = np.full(count, -1, np.int64)
        # Where the offset index of each verified chunk of texts lies in memory.
        self.indexes = np.zeros(count, np.int64)
        self._opening = threading.Lock()
        self._items: list[Callable[[int], Any] | None] = [None] * count

    def chunk(self, number: int) -> Chunk:
        """Return a chunk, verified."""
        chunk = self._chunks[number]
        return self._open_chunk(number) if chunk is None else chunk

    def _open_chunk(self, number: int) -> Chunk:
        opened = open_chunk(self.column, number)
        with self._opening:
            chunk = self._chunks[number]  # Of another thread: the address of its index is known.
            if chunk is None:
                # Others look for the chunk without the lock, and read by the address then.
                if isinstance(opened.index, np.ndarray):
                    self.indexes[number] = opened.index.ctypes.data
                chunk = self._chunks[number] = opened
                self.column.verified[number] = 1
        return chunk

    def bring(self, numbers: NDArray[np.int64] | None = None) -> None:
        """Bring chunks that are elsewhere, in one trip; None: all."""
        source = self.column.file.source
        if source.is_remote:
            entries = self.column.entries if numbers is None else self.column.entries[numbers]
            source.need(chunk_ranges(entries))

    def bring_rows(self, ranges: list[tuple[int, int]]) -> None:
        """Bring the chunks that hold rows of ascending ranges."""
        if self.column.file.source.is_remote:
            self.bring(touched_chunks(self.column.entries, ranges))

    def chunk_item(self, number: int) -> Callable[[int], Any]:
        """Return the function that reads single rows of a chunk."""
        read = self._items[number]
        if read is None:
            read = self._items[number] = item_reader(self.chunk(number))
        return read

    def reader_of_items(self) -> Callable[[int], Any]:
        """Return the function from a row of the table to its Python value.

        It refers to the reader, which must not keep it: the two would wait for the collector.
        """
        items, open_item = self._items, self.chunk_item
        row_count, chunk_rows = self.column.header.row_count, self.column.uniform_rows
        first_rows = self._firsts

        def read_uniform(row: int) -> Any:
            if not 0 <= row < row_count:
                raise missing_row(self.column.file.path, row, row_count)
            number = row // chunk_rows
            return (items[number] or open_item(number))(row - number * chunk_rows)

        def read_any(row: int) -> Any:
            if not 0 <= row < row_count:
                raise missing_row(self.column.file.path, row, row_count)
            number = int(np.searchsorted(first_rows, row, "right")) - 1
            return (items[number] or open_item(number))(row - int(first_rows[number]))

        return read_uniform if chunk_rows else read_any

    def take(self, rows: NDArray[np.int64]) -> Any:
        """Return the values of rows, in their order, as an Arrow array or a chunked array.

        rows: int64. Raises ProgrammingError for one that does not exist.
        """
        taker = self._taker if are_loops_loaded() or len(rows) >= _MANY_ROWS else None
        found = None if taker is None else taker(rows)
        if found is not None:
            return found
        check_rows(self.column.file.path, rows, self.column.header.row_count)
        if not len(rows):
            return pa.array([], self.data_type)
        numbers = self.column.chunks_of(rows)
        is_new = self.column.verified[numbers] == 0
        if is_new.any():
            touched = np.flatnonzero(np.bincount(numbers[is_new]))
            self.bring(touched)
            for number in touched.tolist():
                self.chunk(number)
            found = None if taker is None else taker(rows)
        return self._take_by_groups(rows, numbers) if found is None else found

    def _take_by_groups(self, rows: NDArray[np.int64], numbers: NDArray[np.int64]) -> Any:
        """Return the values of rows of verified chunks, those of some chunks at a time."""
        if len(rows) == 1 and self.has_plain_items:
            # By way of Python, where that takes a fifth of the time.
            number = int(numbers[0])
            item = self.chunk_item(number)(int(rows[0]) - self.chunk(number).entry.first_row)
            with suppress(pa.ArrowInvalid, OverflowError):  # A forged integer is cut to its type.
                return pa.array([item], self.data_type)
        group_of, gathers = self._groups
        if len(gathers) == 1:
            return self._take_group(gathers[0], rows, numbers)
        groups = group_of[numbers]
        if (groups == groups[0]).all():
            return self._take_group(gathers[groups[0]], rows, numbers)

        def take_part(places: NDArray[np.int64]) -> Any:
            return self._take_group(gathers[groups[places[0]]], rows[places], numbers[places])

        return _take_parts(self.column.field.type, groups, take_part)

    def _take_group(
        self, gather: Gather | None, rows: NDArray[np.int64], numbers: NDArray[np.int64]
    ) -> Any:
        if gather is not None:
            return gather(rows, numbers)

        def take_part(places: NDArray[np.int64]) -> Any:
            chunk = self.chunk(int(numbers[places[0]]))
            return read_rows(chunk, rows[places] - chunk.entry.first_row)

        return _take_parts(self.column.field.type, numbers, take_part)

    def read(self, ranges: list[tuple[int, int]] | None = None) -> list[Any]:
        """Return Arrow arrays with the rows of ascending disjoint ranges, all rows by default."""
        row_count = self.column.header.row_count
        if ranges is None:
            ranges = [(0, row_count)] if row_count else []
        self._check_room(ranges)
        self.bring_rows(ranges)
        if ranges == [(0, row_count)]:
            return [array for run in self._all_runs for array in self._decode(run)]
        return [array for run in self._runs(ranges) for array in self._decode(run)]

    def coded(self) -> list[Any] | None:
        """Return all texts as dictionary arrays, None where a chunk has no dictionary."""
        column = self.column
        is_coded = column.kind is Kind.BYTES and is_narrow(column.field.type)
        if not is_coded or (column.entries["encoding"] != DICTIONARY.code).any():
            return None
        row_count = column.header.row_count
        check_room(_CODE_BYTES * row_count, f"the codes of column '{column.field.name}'")
        self.bring_rows([(0, row_count)])
        chunks = []
        for number in range(len(column.entries)):
            check_interrupt()
            chunks.append(self.chunk(number))
        found, first = [], 0
        for _, shared in groupby(chunks, key=lambda chunk: id(chunk.shared.entries)):
            some = list(shared)
            found.append(coded_rows(some, first))
            first += len(some)
        return found

    @cached_property
    def _all_runs(self) -> list[_Run]:
        """The runs of all rows."""
        return list(self._runs([(0, self.column.header.row_count)]))

    def _runs(self, ranges: list[tuple[int, int]]) -> Iterator[_Run]:
        """Yield the chunks that hold some rows, those together that are decoded in one call."""
        run: list[Piece] = []
        run_key, run_bytes = None, 0
        values_bytes = self.column.dtype.itemsize
        for piece in self.pieces(self.slices(ranges)):
            chunk = piece.chunk
            key = chunk.encoding.run_key(chunk)
            if run and (key is None or key is not run_key or run_bytes >= _DECODED_AT_ONCE):
                yield _Run.of(run, run_key)
                run, run_bytes = [], 0
            run.append(piece)
            run_key = key
            run_bytes += max(chunk.entry.payload_length, (piece.stop - piece.start) * values_bytes)
        if run:
            yield _Run.of(run, run_key)

    def _decode(self, run: _Run) -> list[Any]:
        """Return the rows of the chunks of a run."""
        check_interrupt()
        first = run.pieces[0]
        if run.key is None:
            return arrays_of(read_rows(first.chunk, slice(first.start, first.stop)))
        slices = run.slices
        if (
            slices is not None
            and self.scanner.knows_all
            and loops_for(slices.row_count) is not None
        ):
            return [self.scanner.scan(run.pieces, slices)]
        known = self._sizes[run.numbers]
        sizes = np.where(run.is_whole, known, -1)
        array = first.chunk.encoding.decode_run(run.pieces, sizes, bool((known >= 0).all()))
        self._sizes[run.numbers[run.is_whole]] = sizes[run.is_whole]
        return arrays_of(array)

    def decoded_bytes(self, enough: float) -> float:
        """Return the most bytes that all rows take as Arrow arrays.

        Where these are more than `enough`, texts are counted in the codes of every chunk.
        """
        total = float(self._most_bytes.sum())
        return self._exact_bytes if total > enough else total

    @cached_property
    def _most_bytes(self) -> NDArray[np.float64]:
        """The most bytes that the rows of each chunk take, as its entry tells."""
        entries = self.column.entries
        sizes = np.zeros(len(entries))
        for code in np.flatnonzero(np.bincount(entries["encoding"])).tolist():
            places = entries["encoding"] == code
            sizes[places] = ENCODINGS[code].decoded_bytes(self.column, entries[places])
        return sizes

    @cached_property
    def _exact_bytes(self) -> float:
        return sum(map(self._exact_bytes_of, range(len(self.column.entries))))

    def _exact_bytes_of(self, number: int) -> float:
        check_interrupt()
        exact = None
        if self.column.kind is Kind.BYTES:
            chunk = self.chunk(number)
            exact = chunk.encoding.exact_text_bytes(chunk)
        if exact is None:
            return float(self._most_bytes[number])
        return exact + OFFSET_BYTES * chunk.entry.row_count

    def expected_bytes(self, rows: NDArray[np.int64]) -> int:
        """Return about how many bytes all rows take as Arrow arrays, by some of them."""
        # What lies in other files is read for none but those who ask for it.
        if not len(rows) or (self.column.entries["encoding"] == REFERENCES.code).any():
            return int(self.decoded_bytes(math.inf))
        return int(self.take(rows).nbytes) * self.column.header.row_count // len(rows)

    def _check_room(self, ranges: list[tuple[int, int]]) -> None:
        """Raise OperationalError where the rows of some ranges take more memory than they may."""
        limit = read_limit()
        if limit is None or self._most_bytes.sum() <= limit:
            return
        chunks, starts, stops, _ = self.slices(ranges)
        parts = (stops - starts) / self.column.entries["row_count"][chunks]
        need = float((self._most_bytes[chunks] * parts).sum())
        if need > limit and self.column.kind is Kind.BYTES:
            need = 0.0
            for number, part in zip(chunks.tolist(), parts.tolist(), strict=True):
                need += self._exact_bytes_of(number) * part
                if need > limit:
                    break
        check_room(need, f"column '{self.column.field.name}' of file '{self.column.file.path}'")

    @cached_property
    def blooms(self) -> NDArray[np.uint32]:
        """The blocks of the bloom filters of all chunks, shape (block_count, 8), verified."""
        column = self.column
        what = f"the bloom filters of column '{column.field.name}'"
        data = column.file.section(column.header.blooms, what, column.metadata_offset)
        return np.frombuffer(data, "<u4").reshape(-1, 8)

    def verify(self) -> None:
        """Check every chunk, and that its own metadata are those that the column holds of it."""
        column = self.column
        self.bring()
        if len(column.bloom_starts):
            _ = self.blooms
        for number in range(len(column.entries)):
            check_interrupt()
            chunk = self.chunk(number)
            chunk.encoding.verify(chunk)
            check_chunk_metadata(chunk)

    def slices(self, ranges: list[tuple[int, int]]) -> Slices:
        """Return the chunks that hold ascending disjoint ranges, with the rows of each."""
        begins, ends = np.array(ranges, np.int64).reshape(-1, 2).T
        low = np.searchsorted(self._firsts, begins, "right") - 1
        counts = np.searchsorted(self._firsts, ends, "left") - low
        chunks = np.arange(counts.sum()) + np.repeat(low - np.cumsum(counts) + counts, counts)
        firsts, row_counts = self._firsts[chunks], self.column.entries["row_count"][chunks]
        starts = np.maximum(np.repeat(begins, counts) - firsts, 0)
        return Slices.of(chunks, starts, np.minimum(np.repeat(ends, counts) - firsts, row_counts))

    def pieces(self, slices: Slices) -> Iterator[Piece]:
        """Yield rows of chunks, which are verified then."""
        for number, start, stop in zip(*(each.tolist() for each in slices[:3]), strict=True):
            check_interrupt()
            yield Piece(number, self.chunk(number), start, stop)

    def open_chunks(self, numbers: NDArray[np.int64]) -> None:
        """Verify those of some chunks that have not been."""
        for number in numbers[self.column.verified[numbers] == 0].tolist():
            check_interrupt()
            self.chunk(number)

    @cached_property
    def _firsts(self) -> NDArray[np.int64]:
        """The first row of each chunk."""
        return self.column.entries["first_row"].astype(np.int64)

    # Rows of all chunks at once

    @cached_property
    def has_plain_items(self) -> bool:
        """Whether Python has each value as it is: integers and texts, but no times or decimals."""
        column = self.column
        is_whole = pa.types.is_integer(column.field.type)
        return column.kind is Kind.BYTES or is_whole

    @cached_property
    def _taker(self) -> Taker | None:
        """The function for rows of all chunks, if one loop reads all of their encodings."""
        column = self.column
        codes = np.flatnonzero(np.bincount(column.entries["encoding"])).tolist()
        of_one = ENCODINGS[codes[0]].taker(column) if len(codes) == 1 else None
        return of_one or taker_of(column)

    @cached_property
    def scanner(self) -> Scanner:
        """The loops over numbers and codes of chunks."""
        return Scanner(self.column)

    @cached_property
    def bounds(self) -> list[Bounds | None]:
        """The zone map of each chunk, None where it has none."""
        return [self.column.bounds(number) for number in range(len(self.column.entries))]

    @cached_property
    def _groups(self) -> tuple[NDArray[np.int64], list[Gather | None]]:
        """The group of each chunk, and the function for each group: None if there is none."""
        entries = self.column.entries
        lengths = entries["flags"] & Flags.LENGTHS > 0
        special = lengths | (entries["symbols_length"] > 0)
        flags = entries["flags"].astype(np.int64) & Flags.NARROW
        keys = entries["encoding"].astype(np.int64) << 17 | entries["width"].astype(np.int64) << 9
        found, group_of = np.unique(keys | flags << 1 | special, return_inverse=True)
        return group_of, [
            None
            if key & 1
            else ENCODINGS[key >> 17].gather(self.column, key >> 9 & 0xFF, key >> 1 & 0xFF)
            for key in found.tolist()
        ]


def chunk_ranges(entries: NDArray[Any]) -> list[tuple[int, int]]:
    """Return where chunks lie in their file."""
    starts = entries["offset"].astype(np.int64)
    return list(zip(starts.tolist(), (starts + chunk_lengths(entries)).tolist(), strict=True))


def touched_chunks(entries: NDArray[Any], ranges: list[tuple[int, int]]) -> NDArray[np.int64]:
    """Return the chunks that hold rows of ascending disjoint ranges."""
    firsts = entries["first_row"].astype(np.int64)
    touched = np.zeros(len(firsts), np.bool_)
    for start, stop in ranges:
        low = max(int(np.searchsorted(firsts, start, "right")) - 1, 0)
        touched[low : int(np.searchsorted(firsts, stop, "left"))] = True
    return np.flatnonzero(touched)


def check_rows(path: str, rows: NDArray[np.int64], row_count: int) -> None:
    """Raise ProgrammingError for the first row that a file does not have."""
    # Seen as unsigned, negative ones are large.
    bad = rows[rows.view(np.uint64) >= row_count]
    if len(bad):
        raise missing_row(path, int(bad[0]), row_count)


def missing_row(path: str, row: int, row_count: int) -> ProgrammingError:
    """Return the error for a row that a file does not have."""
    return ProgrammingError(f"row {row} does not exist: file '{path}' has {row_count} rows")


def _take_parts(
    data_type: Any, keys: NDArray[Any], take_part: Callable[[NDArray[np.int64]], Any]
) -> Any:
    """Take the places with each key on their own; return the values in the order of the keys."""
    order = np.argsort(keys, kind="stable")
    cuts = np.flatnonzero(np.diff(keys[order])) + 1
    taken = [take_part(places) for places in np.split(order, cuts)]
    if len(taken) == 1:
        return taken[0]
    back = np.empty(len(keys), np.int64)
    back[order] = np.arange(len(keys))
    parts = pa.chunked_array([part for array in taken for part in arrays_of(array)], data_type)
    if parts.nbytes <= MAX_PAYLOAD_BYTES or not is_narrow(data_type):
        return parts.take(pa.array(back))
    # Arrow joins the parts, which do not fit 32-bit offsets.
    wide = pa.large_string() if pa.types.is_string(data_type) else pa.large_binary()
    return narrow_texts(parts.cast(wide).take(pa.array(back)).combine_chunks(), data_type)
