"""DICTIONARY: codes of entries, which lie at the metadata tier where they belong (FlatStor, 3.4).

    chunks          {A F N} {A F R} {A F N O}
    column  A F N   entries in half of the chunks or more
    chunk   R, O    the rest: codes from the column's entry count on
    table           the union of the entries of columns whose Jaccard index is 0.8 or more

A chunk's code is an index into the shared entries (the column's, or the table's in their place),
or the number of shared entries plus an index into the chunk's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from raydb.kernels.codecs.rows.entries import (
    Places,
    Span,
    Target,
    read_only,
    text_loops,
)
from raydb.late import pc
from raydb.room import check_room
from raydb.storage.flat.encodings.alp import bits_a_value
from raydb.storage.flat.encodings.bits import (
    bits_for,
    check_packed,
    pack,
    packed_bytes,
    packed_reader,
    unpack,
)
from raydb.storage.flat.encodings.encoding import Encoded, Piece, bad_chunk
from raydb.storage.flat.encodings.entry_texts import EntryTexts, passing
from raydb.storage.flat.encodings.repeats import repeats_in_sample
from raydb.storage.flat.encodings.runs import SLOWER, Runs, pack_runs, read_runs, runs_bytes
from raydb.storage.flat.encodings.text_runs import CodedTexts
from raydb.storage.flat.encodings.texts import (
    narrow_texts,
    pack_entries,
    unpack_entries,
)
from raydb.storage.flat.kinds import (
    has_large_offsets,
    pooled,
    text_parts,
    valid_mask,
    value_dtype,
    values_of,
)
from raydb.storage.flat.layout import MAX_PAYLOAD_BYTES, Flags, Kind, Tier
from raydb.storage.flat.metadata.damage import damaged
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from raydb.storage.flat.encodings.encoding import (
        Chunk,
        Rows,
        Sections,
        Source,
        Text,
        Values,
    )
    from raydb.storage.flat.layout import ChunkEntry
    from raydb.storage.flat.metadata.column import Column, File

# More distinct values than this take 32-bit codes, which hardly ever pay.
_MAX_ENTRIES = 2**16
# Encoding must save a fifth, since it costs a second look-up.
_LARGEST_PART = 0.8
# Less than this is read without a count.
_SURE_BYTES = 2**26
_COUNTED_ROWS = 2**18
# FSST is expected to keep this part of the bytes of a text.
_FSST_PART = 0.45
# Arrow takes 10 ns a row, loading the loops 0.3 s.
_MANY_ROWS = 2**20
# Rows are coded so many at a time, and codes of more rows are not kept: 16 MiB a column.
_CODED_ROWS = 2**20
_MAX_KEPT_CODES = 2**22


@dataclass(frozen=True, slots=True, eq=False)
class ColumnDictionary:
    """The entries of a column and where they are promoted to.

    codes: int32, shape (row_count,), the entry of each row, 0 where it is NULL; None for a column
    of many rows, whose codes are found again chunk by chunk.
    entries: the distinct values, an Arrow array without NULLs.
    shared: the entries promoted to the column, by their index in `entries`.
    tier: COLUMN or TABLE; positions: int64, shape (len(entries),), the place of each entry in the
    dictionary of that tier, -1 for those that stay in chunks; shared_count: its length.
    """

    kind: Kind
    codes: NDArray[np.int32] | None
    entries: Any
    shared: NDArray[np.int64]
    tier: Tier
    positions: NDArray[np.int64]
    shared_count: int
    shared_dictionary: int

    def codes_of(self, first: int, array: Any) -> NDArray[np.int32]:
        """Return the codes of an Arrow array, whose rows begin at `first`."""
        if self.codes is not None:
            return self.codes[first : first + len(array)]
        words = array if self.kind is Kind.BYTES else array.view(self.entries.type)
        return _codes_of(pc.index_in(words, value_set=self.entries))

    def pack_shared(self) -> bytes:
        """Return the packed entries that are promoted to the column."""
        return pack_dictionary(self.kind, self.entries.take(pa.array(self.shared)))


class _Codes(NamedTuple):
    """The codes of a chunk, one a row or one a run, and the entries that they mean.

    texts: the entries of a column of bytes.
    """

    entries: Any
    texts: EntryTexts | None
    packed: memoryview
    width: int
    code_count: int
    runs: Runs | None

    def place_of(self, entry: ChunkEntry, row: int) -> tuple[int, int]:
        """Return the bit of the file where the code of a row begins, and the bit of its run or -1.

        The bit of a row's run says whether the row begins it.
        """
        payload = 8 * (entry.offset + entry.starts()[1])
        if self.runs is None:
            return payload + row * self.width, -1
        run = int(self.runs.runs_of(np.array([row]))[0]) if row else 0
        return payload + 8 * runs_bytes(entry.row_count) + run * self.width, payload + row

    def of(self, rows: Rows) -> NDArray[Any]:
        """Return the codes of some rows."""
        if self.runs is None:
            return unpack(self.packed, self.width, self.code_count, rows)
        if not isinstance(rows, slice):
            return unpack(self.packed, self.width, self.code_count, self.runs.runs_of(rows))
        return self.runs.spread(unpack(self.packed, self.width, self.code_count), rows)

    def reader(self) -> Callable[[int], int]:
        """Return the function from a row to its code."""
        code_of = packed_reader(self.packed, self.width)
        if self.runs is None:
            return code_of
        run_of = self.runs.reader()
        return lambda row: code_of(run_of(row))


def _pack_codes(codes: NDArray[Any], bits: int) -> tuple[Any, int]:
    """Return packed codes, of all rows or of runs, whichever take less, and the flags of that."""
    starts = np.ones(len(codes), np.bool_)
    np.not_equal(codes[1:], codes[:-1], out=starts[1:])
    in_runs = runs_bytes(len(codes)) + packed_bytes(int(np.count_nonzero(starts)), bits)
    if in_runs * SLOWER > packed_bytes(len(codes), bits):
        return pack(codes, bits), 0
    return pack_runs(starts) + pack(codes[starts], bits).tobytes(), Flags.RUNS


class _Dictionary(CodedTexts):
    code, name, shows_width = 5, "dictionary", True
    kinds = frozenset({Kind.SIGNED, Kind.UNSIGNED, Kind.FLOAT, Kind.BYTES})
    choices = kinds

    def prepare(self, source: Source, is_wanted: bool) -> ColumnDictionary | None:
        """Return the dictionary of a chunked array; None if it would not save a fifth."""
        column, kind, chunk_rows, _ = source
        if not len(column):
            return None
        if not is_wanted and not repeats_in_sample(column, kind):
            return None
        words = column if kind is Kind.BYTES else _as_integers(column)
        most = None if is_wanted else _MAX_ENTRIES
        coded = _code(words, chunk_rows, most)
        if coded is None or not len(coded.entries):
            return None
        entries, counts, codes = coded
        shared = np.flatnonzero(2 * counts >= -(-len(words) // chunk_rows))
        positions = np.full(len(entries), -1, np.int64)
        positions[shared] = np.arange(len(shared))
        if not is_wanted:
            cost = _dictionary_bytes(entries, kind, counts, shared, len(words))
            if cost > _LARGEST_PART * _other_bytes(words, kind, chunk_rows):
                return None
        tier = Tier.COLUMN if len(shared) else Tier.CHUNK
        return ColumnDictionary(kind, codes, entries, shared, tier, positions, len(shared), 0)

    def encode(self, values: Values, is_wanted: bool) -> Encoded | None:
        dictionary = values.plan.prepared
        if not isinstance(dictionary, ColumnDictionary):
            return None
        codes = dictionary.codes_of(values.first, values.array)
        if values.survey is not None and not values.survey.span:
            return None
        if values.numbers is None and not values.array.null_count and (codes == codes[0]).all():
            return None
        places = dictionary.positions[codes]
        own = np.unique(codes[places < 0])
        if len(own):
            missing = places < 0
            places[missing] = dictionary.shared_count + np.searchsorted(own, codes[missing])
        bits = bits_for(dictionary.shared_count + len(own) - 1)
        entries = dictionary.entries.take(pa.array(own)) if len(own) else None
        payload, flags = _pack_codes(places, bits)
        return Encoded(
            self,
            bits,
            flags=flags,
            payload=payload,
            dictionary=b"" if entries is None else pack_dictionary(dictionary.kind, entries),
            dictionary_count=len(own),
            uses_shared=True,
        )

    def open(self, column: Column, entry: ChunkEntry, sections: Sections) -> tuple[Any, Any]:
        """Return the entries that codes refer to: the shared ones, then the chunk's own."""
        entries, own_count = column.dictionary, entry.dictionary_count
        texts = column.dictionary_texts
        if own_count:
            own = entries_of(column.file, column.field, column.kind, sections.dictionary, own_count)
            if entries is None:
                entries = own
            elif column.kind is Kind.BYTES:
                entries = _joined(column, entry, entries, own)
            else:
                entries = np.concatenate([entries, own])
            texts = EntryTexts.of(entries, column.kind)
        count = column.dictionary_count + own_count
        runs, packed, code_count = None, sections.payload, entry.row_count
        if entry.flags & Flags.RUNS:
            runs, packed = read_runs(column, entry, packed)
            code_count = runs.run_count
        check_packed(column, entry, len(packed), code_count, 32)
        greatest = int(unpack(packed, entry.width, code_count).max())
        if greatest >= count:
            raise bad_chunk(column, entry, entry.starts()[1], f"codes below {count}", greatest)
        return None, _Codes(entries, texts, packed, entry.width, code_count, runs)

    def read_values(self, chunk: Chunk, rows: Rows, count: int) -> NDArray[Any]:
        codes: _Codes = chunk.shared
        if codes.runs is None or not isinstance(rows, slice):
            return np.asarray(codes.entries.take(codes.of(rows)))
        found = codes.entries.take(unpack(codes.packed, codes.width, codes.code_count))
        return codes.runs.spread(found, rows)

    def read_into(self, chunk: Chunk, start: int, out: NDArray[Any]) -> None:
        codes, rows = chunk.shared, slice(start, start + len(out))
        if codes.runs is None:
            # Codes have been checked, and with other modes NumPy writes to a copy first.
            codes.entries.take(codes.of(rows), out=out, mode="clip")
        else:
            found = codes.entries.take(unpack(codes.packed, codes.width, codes.code_count))
            codes.runs.spread(found, rows, out)

    def read_texts(self, chunk: Chunk, rows: Rows, count: int, validity: Any) -> Any:
        column, entries, codes = chunk.column, chunk.shared.entries, chunk.shared.of(rows)
        is_long = False
        if count * self._longest(column, chunk.entry.dictionary_length) > _SURE_BYTES:
            need = _bytes_of(entries, codes)
            check_room(need, f"texts of column '{column.field.name}'")
            is_long = need > MAX_PAYLOAD_BYTES and not has_large_offsets(entries.type)
        if is_long:
            entries = entries.cast("large_string" if column.is_text else "large_binary")
        values = entries.take(pa.array(codes))
        if validity is not None:
            _, offsets, data = values.buffers()
            values = pa.Array.from_buffers(values.type, len(values), [validity, offsets, data])
        return narrow_texts(values, column.field.type) if is_long else values

    few_codes = _MANY_ROWS

    def code_count(self, piece: Piece) -> int:
        return piece.stop - piece.start

    def measure_texts(self, chunk: Chunk, start: int, stop: int) -> int:
        data, width, places = _stored_codes([Piece(0, chunk, start, stop)])
        heads, begin = chunk.shared.texts.decoded.heads, np.uint64(places.begins[0])
        return int(text_loops().measure_codes(data, width, begin, stop - start, heads))

    def table_key(self, chunk: Chunk) -> object:
        codes: _Codes = chunk.shared
        texts = chunk if chunk.entry.dictionary_count else codes.texts
        return texts, codes.width, codes.runs is None

    def spread_texts(self, pieces: Sequence[Piece], target: Target, span: Span) -> None:
        codes: _Codes = pieces[0].chunk.shared
        assert codes.texts is not None
        stored = _stored_codes(pieces)
        text_loops().spread_rows(*stored, codes.texts.decoded, target, span)

    def text_bytes(
        self, column: Column, entries: NDArray[Any], rows: NDArray[np.float64]
    ) -> NDArray[Any]:
        return np.asarray(rows * self._longest(column, entries["dictionary_length"]))

    def exact_text_bytes(self, chunk: Chunk) -> float:
        return float(_bytes_of(chunk.shared.entries, chunk.shared.of(slice(None))))

    def _longest(self, column: Column, own_bytes: Any) -> Any:
        """Return the most bytes of an entry of chunks with so many bytes of their own ones."""
        return np.maximum(column.longest_entry, own_bytes)

    def number_reader(self, chunk: Chunk) -> Callable[[int], Any]:
        code_of, entries = chunk.shared.reader(), chunk.shared.entries
        return lambda row: entries[code_of(row)].item()

    def text_reader(self, chunk: Chunk) -> Callable[[int], Any]:
        code_of, entries = chunk.shared.reader(), chunk.shared.entries
        return lambda row: entries[code_of(row)].as_py()

    def match(self, chunk: Chunk, value: bytes, start: int, stop: int) -> NDArray[np.int64]:
        is_text = chunk.column.is_text
        entries = chunk.shared.entries.cast("string" if is_text else "binary")
        code = entries.index(value.decode() if is_text else value).as_py()
        if code < 0:
            return np.empty(0, np.int64)
        return np.flatnonzero(chunk.shared.of(slice(start, stop)) == code) + start

    def find_key(self, chunk: Chunk) -> object:
        return id(chunk.shared.entries)

    def passing(self, chunk: Chunk, wanted: Text) -> NDArray[np.uint8]:
        return passing(chunk.shared.entries, wanted, chunk.column.is_text)


DICTIONARY = _Dictionary()


def _stored_codes(pieces: Sequence[Piece]) -> tuple[NDArray[np.uint8], np.uint64, Places]:
    """Return bytes with a code for each row, the bits of a code, and the places of the codes.

    The chunks have codes of one width, all of them a code a row or all a code a run. 8 bytes are
    behind each code.
    """
    codes: _Codes = pieces[0].chunk.shared
    data, width = pieces[0].chunk.column.file.bytes_, codes.width
    at = [piece.chunk.shared.place_of(piece.chunk.entry, piece.start) for piece in pieces]
    begins, runs = np.array(at, np.int64).T.copy()
    places = Places(begins, np.array([piece.stop - piece.start for piece in pieces], np.int64))
    if codes.runs is None:
        return data, np.uint64(width), places
    ends = np.cumsum(places.counts)
    spread = pooled(int(ends[-1]) + 2, np.int32)
    spread[-2:] = 0
    text_loops().copy_codes(data, np.full(len(pieces), width, np.uint8), places, runs, spread)
    begins = (ends - places.counts) * 32
    return read_only(spread.view(np.uint8)), np.uint64(32), Places(begins, places.counts)


def _joined(column: Column, entry: ChunkEntry, shared: Any, own: Any) -> Any:
    try:
        return pa.concat_arrays([shared, own])
    except pa.ArrowInvalid as error:
        raise bad_chunk(column, entry, 0, "entries of less than 2 GiB", error) from None


def _bytes_of(entries: Any, codes: NDArray[Any]) -> int:
    """Return the bytes of the texts of some codes, without an array of all their lengths."""
    lengths = np.diff(text_parts(entries)[1])
    blocks = range(0, len(codes), _COUNTED_ROWS)
    return sum(int(lengths[codes[first : first + _COUNTED_ROWS]].sum()) for first in blocks)


def _as_integers(column: Any) -> Any:
    """View numbers as integers of their size: the entries are bits, so -0.0 and NaN stay as is."""
    whole = getattr(pa, f"int{column.type.bit_width}")()
    return pa.chunked_array([chunk.view(whole) for chunk in column.chunks], whole)


class _Coded(NamedTuple):
    """Distinct values, in how many chunks each of them is, and the code of each row."""

    entries: Any
    counts: NDArray[np.int64]
    codes: NDArray[np.int32] | None


def _code(words: Any, chunk_rows: int, most: int | None) -> _Coded | None:
    """Return the distinct values of a column in the order of their first rows, and its codes.

    Some chunks at a time; the codes are kept where the rows are not many. None for more than `most`
    values, which further rows are not asked for.
    """
    entries = pa.array([], words.type)
    counts = np.zeros(0, np.int64)
    kept: list[NDArray[np.int32]] = []
    step = max(_CODED_ROWS // chunk_rows, 1) * chunk_rows
    for first in range(0, len(words), step):
        codes, entries = _extend(words.slice(first, step), entries)
        if most is not None and len(entries) > most:
            return None
        # A count of every entry is faster than np.unique, which hashes: 20 against 280 µs a chunk.
        present = [np.flatnonzero(np.bincount(part)) for part in _chunks(codes, chunk_rows)]
        found = np.bincount(np.concatenate(present), minlength=len(entries))
        found[: len(counts)] += counts
        counts = found
        if len(words) <= _MAX_KEPT_CODES:
            kept.append(codes)
    is_kept = len(words) <= _MAX_KEPT_CODES
    return _Coded(entries, counts, np.concatenate(kept) if is_kept else None)


def _extend(words: Any, entries: Any) -> tuple[NDArray[np.int32], Any]:
    """Return the codes of some rows, and the distinct values with theirs behind those known."""
    encoded = pc.dictionary_encode(words)
    # The chunks of an encoded chunked array have one and the same dictionary.
    own = encoded.chunk(0).dictionary
    codes = np.concatenate([_codes_of(chunk.indices) for chunk in encoded.chunks])
    if not len(entries):
        return codes, own
    if not len(own):  # All rows are NULL.
        return codes, entries
    known = pc.index_in(own, value_set=entries)
    new = known.is_null().to_numpy(zero_copy_only=False)
    places = np.where(new, len(entries) + np.cumsum(new) - 1, known.fill_null(0).to_numpy())
    return places.astype(np.int32)[codes], pa.concat_arrays([entries, own.filter(pa.array(new))])


def _codes_of(indices: Any) -> NDArray[np.int32]:
    codes = np.frombuffer(indices.buffers()[1], np.int32, len(indices), 4 * indices.offset)
    return np.where(valid_mask(indices), codes, 0) if indices.null_count else codes


def _chunks(codes: NDArray[np.int32], chunk_rows: int) -> Iterator[NDArray[np.int32]]:
    for first in range(0, len(codes), chunk_rows):
        yield codes[first : first + chunk_rows]


def _dictionary_bytes(
    entries: Any, kind: Kind, counts: NDArray[Any], shared: NDArray[np.int64], row_count: int
) -> float:
    size = (entries.nbytes / len(entries)) if kind is Kind.BYTES else entries.type.bit_width / 8
    stored = len(shared) + counts.sum() - counts[shared].sum()
    return float(stored * size + packed_bytes(row_count, bits_for(len(entries) - 1)))


def _other_bytes(words: Any, kind: Kind, chunk_rows: int) -> float:
    """Estimate the bytes of a column in the best encoding without a dictionary."""
    if kind is Kind.BYTES:
        return float(words.nbytes) * _FSST_PART + 4.0 * len(words)
    if kind is Kind.FLOAT:
        is_double = words.type == pa.int64()
        return len(words) * (bits_a_value(words) if is_double else words.type.bit_width) / 8
    total = 0
    for first in range(0, len(words), chunk_rows):
        part = words.slice(first, chunk_rows)
        bounds = pc.min_max(part)
        least, greatest = bounds["min"].as_py() or 0, bounds["max"].as_py() or 0
        total += packed_bytes(len(part), bits_for(greatest - least) if greatest > least else 0)
    return float(total)


def entries_of(file: File, field: Any, kind: Kind, view: memoryview, count: int) -> Any:
    """Return `count` entries from their bytes: an Arrow or a numpy array."""
    try:
        if kind is Kind.BYTES:
            return unpack_entries(view, count, field.type)
        dtype = value_dtype(field.type, kind)
        if len(view) != count * dtype.itemsize:
            raise ValueError(f"{count} entries of {dtype.itemsize} bytes")
        return np.frombuffer(view, dtype)
    except (ValueError, pa.ArrowInvalid) as error:
        expected = f"a dictionary of {count} entries"
        found = f"{len(view)} bytes ({error})"
        raise damaged(file.path, file.offset_of(view), expected, found) from None


def pack_dictionary(kind: Kind, entries: Any) -> bytes:
    """Return entries as they are stored."""
    if kind is Kind.BYTES:
        return pack_entries(entries)
    return values_of(entries, Kind.SIGNED).tobytes()
