"""Encodings: how the payload of a chunk spells its values, for writing and for reading.

Each allows reading one row on its own. A new one is an object of a class in a file of this folder,
and its line in the folder's registry; what it leaves out is done by way of `read_values` (numbers)
or `read_texts`.
"""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from raydb.kernels.codecs.rows.entries import Slices
from raydb.late import pc
from raydb.storage.flat.kinds import array_of, python_reader, text_parts
from raydb.storage.flat.layout import Kind
from raydb.storage.flat.metadata.damage import damaged
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from raydb.kernels.codecs.rows.entries import Entries
    from raydb.storage.flat.column_plan import ColumnPlan
    from raydb.storage.flat.encodings.survey import Survey
    from raydb.storage.flat.layout import ChunkEntry
    from raydb.storage.flat.metadata.column import Column

    Rows = slice | NDArray[np.int64]
    # From rows of the table and their chunks to an Arrow array of their values.
    Gather = Callable[[NDArray[np.int64], NDArray[np.int64]], Any]
    # From rows of the table to an Arrow array of their values, or None where it does not take them.
    Taker = Callable[[NDArray[np.int64]], Any]

# Of the offset of a text, which some types have in 32 bits.
OFFSET_BYTES = 8

INTEGERS = frozenset({Kind.BOOLEAN, Kind.SIGNED, Kind.UNSIGNED, Kind.DECIMAL})


@dataclass(eq=False)
class Values:
    """The rows of a chunk to be encoded, of which at least one is not NULL.

    array: an Arrow array. numbers: the values of a fixed width with a valid one in place of each
    NULL, shape (count,), or (count, 2) for decimals as they are in Arrow; None for bytes and nested
    values. words: the same as int64, modulo 2**64, where they are integers of 64 bits, and survey:
    what is known of them. kept: what an encoding has found out while its size was asked for.
    """

    plan: ColumnPlan
    first: int
    array: Any
    numbers: NDArray[Any] | None = None
    words: NDArray[np.int64] | None = None
    survey: Survey | None = None
    kept: dict[str, Any] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """The number of rows."""
        return len(self.array)

    @cached_property
    def run_starts(self) -> NDArray[np.bool_]:
        """Which rows have another integer than the row before."""
        assert self.words is not None
        starts = np.ones(len(self.words), np.bool_)
        np.not_equal(self.words[1:], self.words[:-1], out=starts[1:])
        return starts

    @cached_property
    def texts(self) -> Any:
        """The array without NULLs: what lies under one is dropped."""
        return without_nulls(self.array)

    @cached_property
    def text_parts(self) -> tuple[NDArray[np.uint8], NDArray[Any]]:
        """The bytes of all texts, and where each begins and the last one ends."""
        return text_parts(self.texts)


class Source(NamedTuple):
    """A column to be written, a chunked array. size_bytes: of texts and nested values."""

    column: Any
    kind: Kind
    chunk_rows: int
    size_bytes: int


class Encoded(NamedTuple):
    """The sections of a chunk but for its validity and its metadata, and how to read them.

    uses_shared: whether reading needs what the column shares, its dictionary or its symbols.
    """

    encoding: Encoding
    width: int = 0
    reference: int = 0
    flags: int = 0
    index: Any = b""
    payload: Any = b""
    dictionary: bytes = b""
    dictionary_count: int = 0
    symbols: bytes = b""
    uses_shared: bool = False


class Known(NamedTuple):
    """What has been found of a chunk of texts with those beside it: its least and greatest one.

    encoded: None where it is to be found still.
    """

    encoded: Encoded | None
    least: bytes
    greatest: bytes


def without_nulls(array: Any) -> Any:
    """Return an array of texts with an empty one in place of each NULL."""
    return pc.fill_null(array, pa.scalar("", array.type)) if array.null_count else array


class Sections(NamedTuple):
    """The sections of a chunk that an encoding may use, as views of the file."""

    offset_index: memoryview
    payload: memoryview
    dictionary: memoryview
    symbols: memoryview


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """A verified chunk.

    index: the u32 offsets of its rows (bytes). shared: what its encoding reads all rows with: the
    entries of a dictionary, a symbol table, an Arrow array.
    """

    column: Column
    entry: ChunkEntry
    encoding: Encoding
    validity: memoryview | None
    payload: memoryview
    index: Any
    shared: Any


class Piece(NamedTuple):
    """Rows start to stop of a chunk."""

    number: int
    chunk: Chunk
    start: int
    stop: int

    @property
    def is_whole(self) -> bool:
        """Whether these are all rows of the chunk."""
        return self.stop - self.start == self.chunk.entry.row_count


def slices_of(pieces: Sequence[Piece]) -> Slices:
    """Return rows of chunks as the loops take them."""
    places = [(piece.number, piece.start, piece.stop) for piece in pieces]
    return Slices.of(*np.array(places, np.int64).T.copy())


class Text(NamedTuple):
    """Texts that equal some bytes, or begin with them."""

    value: bytes
    is_prefix: bool


class Needle(NamedTuple):
    """Codes of some bits: those of a text, or the entries of which texts begin with one."""

    width: int
    codes: Sequence[int] | bytes | None
    entries: Entries | None


class Interval(NamedTuple):
    """Integers from one to another, both of the column's type."""

    least: int
    greatest: int


Wanted = Text | Interval


class Encoding:
    """One encoding.

    code, name: what files and people call it. kinds: the columns whose chunks it may have.
    choices: those for which `encodings=` may ask for it. shows_width: whether a drawing tells the
    bits of a value. competes: whether it is chosen by its `size`, where no other takes the values.
    """

    code: int
    name: str
    kinds: frozenset[Kind]
    choices: frozenset[Kind] = frozenset()
    shows_width = False
    competes = False

    # Writing

    def prepare(self, source: Source, is_wanted: bool) -> Any:
        """Return what the chunks of a column will share (`plan.prepared`); None if it won't pay."""

    def size(self, values: Values) -> int | None:
        """Return the bytes of values for which several encodings compete.

        Those that are slower to read ask for more than they take. None where it does not take them.
        """
        raise NotImplementedError

    def encode(self, values: Values, is_wanted: bool) -> Encoded | None:
        """Return the values in this encoding; None if it does not take them or does not pay.

        is_wanted: whether the caller asked for it, so that it need not pay.
        """
        raise NotImplementedError

    # Reading

    def open(self, column: Column, entry: ChunkEntry, sections: Sections) -> tuple[Any, Any]:
        """Return the chunk's `index` and `shared` after checking every length and code.

        Raises OperationalError, naming file, offset, expected and found.
        """
        raise NotImplementedError

    def read_values(self, chunk: Chunk, rows: Rows, count: int) -> NDArray[Any]:
        """Return the values of some rows of a chunk of numbers; those of NULLs are arbitrary.

        Shape (count,), or (count, 2) for wide decimals.
        """
        raise NotImplementedError

    def read_into(self, chunk: Chunk, start: int, out: NDArray[Any]) -> None:
        """Write the values of a chunk of numbers from row `start` on, in the column's dtype."""
        out[:] = self.read_values(chunk, slice(start, start + len(out)), len(out))

    def read_texts(self, chunk: Chunk, rows: Rows, count: int, validity: Any) -> Any:
        """Return the Arrow array of some rows of a chunk of bytes.

        Raises ValueError or ArrowInvalid for what is not UTF-8.
        """
        raise NotImplementedError

    def read(self, chunk: Chunk, rows: Rows, count: int, validity: Any) -> Any:
        """Return the Arrow array of some rows of a chunk: a slice without a step, or numbers."""
        column = chunk.column
        if column.kind is not Kind.BYTES:
            values = self.read_values(chunk, rows, count)
            return array_of(column.field.type, column.kind, values, validity)
        try:
            return self.read_texts(chunk, rows, count, validity)
        except (ValueError, pa.ArrowInvalid) as error:
            raise unreadable(chunk, error) from None

    def verify(self, chunk: Chunk) -> None:
        """Check what `open` leaves to reading: here nothing.

        Raises OperationalError, naming file, offset, expected and found.
        """

    def decoded_bytes(self, column: Column, entries: NDArray[Any]) -> NDArray[Any]:
        """Return the most bytes that the rows of some chunks take as Arrow arrays, of each.

        entries: a structured array of ENTRY_DTYPE.
        """
        rows = entries["row_count"].astype(np.float64)
        if column.kind is Kind.BYTES:
            return np.asarray(rows * OFFSET_BYTES + self.text_bytes(column, entries, rows))
        return np.asarray(rows * max(column.bits / 8, 1.0))

    def text_bytes(
        self, column: Column, entries: NDArray[Any], rows: NDArray[np.float64]
    ) -> NDArray[Any]:
        """Return the most bytes of the texts themselves in some chunks."""
        return entries["payload_length"].astype(np.float64)

    def exact_text_bytes(self, chunk: Chunk) -> float | None:
        """Return the bytes of a chunk's texts; None where `text_bytes` tells no more than those."""

    def number_reader(self, chunk: Chunk) -> Callable[[int], Any]:
        """Return the function from a row to its value as an integer or a float."""
        return lambda row: _number(self.read_values(chunk, slice(row, row + 1), 1)[0])

    def text_reader(self, chunk: Chunk) -> Callable[[int], Any]:
        """Return the function from a row to its text or bytes."""
        return lambda row: self.read(chunk, slice(row, row + 1), 1, None)[0].as_py()

    def item_reader(self, chunk: Chunk) -> Callable[[int], Any]:
        """Return the function from a row to its Python value, arbitrary for a NULL."""
        column = chunk.column
        if column.kind is Kind.BYTES:
            return self.text_reader(chunk)
        return python_reader(column.field.type, column.kind, self.number_reader(chunk))

    def match(self, chunk: Chunk, value: bytes, start: int, stop: int) -> NDArray[np.int64]:
        """Return those of the rows start..stop of a chunk of bytes that equal a value."""
        texts = self.read(chunk, slice(start, stop), stop - start, None)
        wanted = pa.scalar(value, pa.binary()).cast(texts.type)
        return np.flatnonzero(pc.equal(texts, wanted).to_numpy(zero_copy_only=False)) + start

    def find_key(self, chunk: Chunk) -> object:
        """Return what chunks that are searched for a text at once have in common, None if none is.

        By loops: of chunks with codes for those that pass, of others for a needle.
        """

    def passing(self, chunk: Chunk, wanted: Text) -> NDArray[np.uint8] | None:
        """Return which codes of a chunk are wanted, 1 or 0 each; None where it has no codes."""

    def needle(self, chunk: Chunk, wanted: Text) -> Needle:
        """Return the codes behind an offset index that are wanted."""
        raise NotImplementedError

    def gather(self, column: Column, width: int, flags: int) -> Gather | None:
        """Return the function that reads rows of all chunks of a width at once, if there is one.

        flags: those about the offset index, which these chunks have in common.

        The chunks have been verified, and have neither lengths for offsets nor own symbols.
        """

    def taker(self, column: Column) -> Taker | None:
        """Return the function that takes rows by one loop where all chunks have this encoding.

        None where there is none. It takes no row that is not there, whose chunk has not been
        verified, or that cannot be decoded.
        """

    def run_key(self, chunk: Chunk) -> object:
        """Return what chunks that are decoded in one call have in common, None if they are not."""

    def decode_run(self, run: Sequence[Piece], sizes: NDArray[np.int64], is_checked: bool) -> Any:
        """Return the rows of chunks that follow each other, as an array or a chunked one.

        sizes: the bytes of the texts of each, -1 for those to be filled in where they are asked
        for. is_checked: whether all of their texts are known to be UTF-8.
        """
        raise NotImplementedError


def _number(value: Any) -> Any:
    """Return a float16 as a float, and the two words of a wide decimal as an integer."""
    if isinstance(value, np.ndarray):
        low, high = value.tolist()
        return (high << 64) + low % 2**64
    return value.item()


def bad_chunk(
    column: Column, entry: ChunkEntry, place: int, expected: str, found: object
) -> Exception:
    """Return the error for a chunk that is damaged `place` bytes behind its start."""
    what = f"{expected} in a chunk of column '{column.field.name}'"
    return damaged(column.file.path, entry.offset + place, what, found)


def unreadable(chunk: Chunk, error: Exception) -> Exception:
    """Return the error for texts that are not UTF-8 or cannot be decoded."""
    entry = chunk.entry
    found = f"others ({error})"
    return bad_chunk(chunk.column, entry, entry.starts()[1], "readable texts", found)
