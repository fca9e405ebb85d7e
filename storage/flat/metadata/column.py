"""The metadata of one column, checked once: its header, its chunks, what they share.

Offsets, lengths and counts come from a file that may be damaged or hostile, so that each is
compared with what it must be before anything is read through it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.codecs.rows.entries import read_only
from raydb.storage.flat import bloom, zone_map
from raydb.storage.flat.encodings import all_null, entry_texts, onpair, validity
from raydb.storage.flat.encodings import dictionary as dictionaries
from raydb.storage.flat.encodings import fsst as fsst_encoding
from raydb.storage.flat.encodings import known as known_encodings
from raydb.storage.flat.kinds import is_text, kind_of, text_parts, type_bits, value_dtype
from raydb.storage.flat.layout import (
    CHUNK_ALIGNMENT,
    CHUNK_RANGE,
    COLUMN_HEADER,
    ENTRY_DTYPE,
    HEADER,
    MAX_CHUNK_ROWS,
    TAIL,
    ChunkEntry,
    ColumnHeader,
    Kind,
    Modality,
    Section,
    Tier,
)
from raydb.storage.flat.metadata.damage import damaged
from raydb.storage.flat.metadata.flatbuffer import RootTable
from raydb.storage.flat.modality import MAX_NAME, is_name
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raydb.kernels.codecs import fsst
    from raydb.kernels.codecs.onpair import PairTable
    from raydb.storage.mapped import Source


# What a chunk consists of beside its metadata, each part of whole words.
_SIZES = (
    "validity_length",
    "index_length",
    "payload_length",
    "dictionary_length",
    "symbols_length",
)


@dataclass(frozen=True, slots=True, eq=False)
class File:
    """An open file: its name for errors, its bytes, and where its chunks must end.

    source: brings bytes that are elsewhere; what is read here has been asked for. place: the path
    of a local file, which stays the same when the process goes to another folder.
    """

    path: str
    place: str
    source: Source
    view: memoryview
    bytes_: NDArray[np.uint8]
    data_end: int

    @staticmethod
    def of(source: Source) -> File:
        """Return a file whose bytes a source brings."""
        view = source.view
        data = read_only(np.frombuffer(view, np.uint8))
        place = source.name
        if not (source.is_remote or os.path.isabs(place)):  # noqa: PTH117  (a Path costs 5 us)
            place = str(Path.cwd() / place)
        return File(source.name, place, source, view, data, len(view) - TAIL.size)

    def section(self, section: Section, what: str, named_at: int) -> memoryview:
        """Return the bytes of a section after checking its bounds and its checksum.

        `named_at` is the offset of the metadata that names the section, for errors.
        """
        end = section.offset + section.length
        if section.offset < HEADER.size or end > len(self.view):
            found = f"bytes {section.offset} to {end}"
            expected = f"{what} inside of bytes {HEADER.size} to {len(self.view)}"
            raise damaged(self.path, named_at, expected, found)
        digest = self.source.digest(section.offset, end, section.checksum)
        if digest != section.checksum:
            expected = f"{what} with checksum {section.checksum:016x}"
            raise damaged(self.path, section.offset, expected, f"{digest:016x}")
        return self.view[section.offset : end]

    def offset_of(self, view: memoryview) -> int:
        """Return where a slice of the file's bytes lies in it, 0 for an empty one."""
        if not len(view):
            return 0
        start = np.frombuffer(view, np.uint8).__array_interface__["data"][0]
        return int(start - self.bytes_.__array_interface__["data"][0])


@dataclass(frozen=True, slots=True)
class SharedDictionary:
    """A dictionary of the table tier, as the table metadata describes it."""

    section: Section
    entry_count: int
    kind: int
    value_size: int


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One column of an open file.

    entries: the chunks, a structured array of ENTRY_DTYPE. uniform_rows: the rows of every chunk
    but the last, 0 where they differ. dictionary: the shared entries, an Arrow array of kind BYTES
    or a numpy array, None without any; dictionary_texts: those of kind BYTES. longest_entry: the
    most bytes of one of them. bitmaps: the validity of chunks, None where the file has its bits.
    verified: of each chunk 1 when it has been, else 0.
    """

    file: File
    field: Any
    kind: Kind
    bits: int
    dtype: np.dtype[Any]
    is_text: bool
    header: ColumnHeader
    modality: str
    tier: Tier | None
    media_types: tuple[str, ...]
    metadata_offset: int
    metadata_length: int
    entries: NDArray[Any]
    checksums: NDArray[np.uint64]
    ranges: memoryview
    texts: memoryview
    text_offsets: NDArray[np.uint32]
    bloom_starts: NDArray[np.uint32]
    uniform_rows: int
    dictionary: Any
    dictionary_texts: entry_texts.EntryTexts | None
    dictionary_count: int
    longest_entry: int
    symbols: fsst.SymbolTable | PairTable | None
    bitmaps: validity.Bitmaps | None
    verified: NDArray[np.int64]

    def entry(self, chunk: int) -> ChunkEntry:
        """Return the fields of a chunk's entry."""
        return ChunkEntry._make(self.entries[chunk].item())

    def bounds(self, chunk: int) -> zone_map.Bounds | None:
        """Return the zone map of a chunk; None if it has none."""
        flags = int(self.entries["flags"][chunk])
        if self.kind is Kind.BYTES:
            if not len(self.text_offsets):
                return None
            start, middle, end = self.text_offsets[2 * chunk : 2 * chunk + 3].tolist()
            return zone_map.unpack_texts(
                bytes(self.texts[start:middle]), bytes(self.texts[middle:end]), flags
            )
        if self.kind is Kind.NESTED:
            return None
        size = CHUNK_RANGE.size
        return zone_map.unpack_range(
            self.kind, self.ranges[size * chunk : size * (chunk + 1)], flags
        )

    def chunks_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the chunk of each row."""
        if self.uniform_rows:
            return rows // self.uniform_rows
        return np.searchsorted(self.entries["first_row"].astype(np.int64), rows, "right") - 1


def read_header(
    file: File, field: Any, section: Section, named_at: int
) -> tuple[RootTable, ColumnHeader]:
    """Return the table of a column's metadata and its fixed part, which nothing has checked."""
    view = file.section(section, f"the metadata of column '{field.name}'", named_at)
    root = RootTable(file.path, section.offset, view)
    return root, ColumnHeader.unpack(view, root.required(0, COLUMN_HEADER.size))


def extent(
    file: File, field: Any, section: Section, named_at: int, shared: Sequence[SharedDictionary]
) -> tuple[list[tuple[int, int]], NDArray[Any]]:
    """Return where what the chunks of a column share lies, and their entries, unchecked."""
    root, header = read_header(file, field, section, named_at)
    sections = [header.dictionary, header.symbols]
    if header.dictionary_tier == Tier.TABLE and header.shared_dictionary < len(shared):
        sections.append(shared[header.shared_dictionary].section)
    entries = np.frombuffer(root.bytes_of(1, ENTRY_DTYPE.itemsize), ENTRY_DTYPE)
    return [(each.offset, each.offset + each.length) for each in sections], entries


def chunk_lengths(entries: NDArray[Any]) -> NDArray[np.int64]:
    """Return the bytes of each chunk: those which its checksum covers."""
    lengths = entries["metadata_length"].astype(np.int64)
    for name in _SIZES:
        lengths += -(-entries[name].astype(np.int64) // 8) * 8
    return lengths


def read_column(
    file: File,
    field: Any,
    section: Section,
    row_count: int,
    shared: Sequence[SharedDictionary],
    named_at: int,
) -> Column:
    """Return the column whose metadata lies in `section`.

    Raises OperationalError, naming file, offset, expected and found, for metadata that contradict
    themselves, the file or the table.
    """
    root, header = read_header(file, field, section, named_at)
    kind = kind_of(field.name, field.type)

    def fail(expected: str, found: object) -> None:
        raise damaged(file.path, section.offset, f"column '{field.name}' with {expected}", found)

    if header.kind != kind or header.row_count != row_count:
        fail(f"kind {int(kind)} and {row_count} rows", (header.kind, header.row_count))
    if header.dictionary_tier not in {0, *Tier}:
        fail("a tier", header.dictionary_tier)
    entries = np.frombuffer(root.bytes_of(1, ENTRY_DTYPE.itemsize), ENTRY_DTYPE)
    checksums = np.frombuffer(root.bytes_of(2, 8), "<u8")
    ranges, texts = root.bytes_of(3, CHUNK_RANGE.size), root.bytes_of(4, 1)
    text_offsets, bloom_starts = (np.frombuffer(root.bytes_of(n, 4), "<u4") for n in (5, 6))
    count = len(entries)
    has_ranges = kind not in {Kind.BYTES, Kind.NESTED}
    if len(checksums) != count or len(ranges) != CHUNK_RANGE.size * count * has_ranges:
        fail(f"{count} checksums and ranges", (len(checksums), len(ranges)))
    if kind is not Kind.BYTES and len(text_offsets):
        fail("no text bounds", len(text_offsets))
    _check_offsets(fail, "text bounds", text_offsets, 2 * count, len(texts))
    _check_blooms(fail, bloom_starts, count, header.blooms.length)
    uniform_rows = _check_entries(file, fail, kind, header, entries)
    dictionary, dictionary_count = _read_dictionary(file, field, kind, header, shared, section)
    symbols = _read_symbols(file, header, entries, section) if header.symbols.length else None
    return Column(
        file=file,
        field=field,
        kind=kind,
        bits=type_bits(field.type, kind),
        dtype=value_dtype(field.type, kind),
        is_text=is_text(field.type),
        header=header,
        modality=_modality(fail, root, header),
        tier=Tier(header.dictionary_tier) if header.dictionary_tier else None,
        media_types=tuple(bytes(root.bytes_of(7, 1)).decode("ascii", "replace").split()),
        metadata_offset=section.offset,
        metadata_length=section.length,
        entries=entries,
        checksums=checksums,
        ranges=ranges,
        texts=texts,
        text_offsets=text_offsets,
        bloom_starts=bloom_starts,
        uniform_rows=uniform_rows,
        dictionary=dictionary,
        dictionary_texts=entry_texts.EntryTexts.of(dictionary, kind),
        dictionary_count=dictionary_count,
        longest_entry=_longest(dictionary) if kind is Kind.BYTES else 0,
        symbols=symbols,
        bitmaps=validity.Bitmaps.of(entries),
        verified=np.zeros(count, np.int64),
    )


def _read_symbols(
    file: File, header: ColumnHeader, entries: NDArray[Any], section: Section
) -> fsst.SymbolTable | PairTable:
    view = file.section(header.symbols, "a symbol table", section.offset)
    has_pairs = (entries["encoding"] == onpair.ONPAIR.code).any()
    read_symbols = onpair.pairs_of if has_pairs else fsst_encoding.symbols_of
    return read_symbols(file, view, header.symbols.offset)


def _modality(fail: Any, root: RootTable, header: ColumnHeader) -> str:
    """Return the name of a column's modality, that of an added one if it has one."""
    if header.modality not in set(Modality):
        fail("a modality", header.modality)
    name = bytes(root.bytes_of(8, 1)).decode("utf-8", "backslashreplace")
    if name and not is_name(name):
        fail("the name of a modality", repr(name[:MAX_NAME]))
    return name or Modality(header.modality).name.lower()


def _check_offsets(
    fail: Any, what: str, offsets: NDArray[np.uint32], count: int, length: int
) -> None:
    """Raise unless there are none, or one more than `count` that rise from 0 to `length`."""
    if not len(offsets):
        return
    falls = bool((offsets[1:] < offsets[:-1]).any())
    if len(offsets) != count + 1 or offsets[0] or int(offsets[-1]) != length or falls:
        fail(f"{count} {what} that rise from 0 to {length}", offsets[-1])


def _check_blooms(fail: Any, starts: NDArray[np.uint32], count: int, length: int) -> None:
    """Raise unless the filters of `count` chunks are whole blocks of a section's length."""
    block_count, rest = divmod(length, bloom.BLOCK_BYTES)
    if rest:
        fail(f"bloom filters of {bloom.BLOCK_BYTES} bytes a block", length)
    _check_offsets(fail, "bloom blocks", starts, count, block_count)


def _check_entries(
    file: File, fail: Any, kind: Kind, header: ColumnHeader, entries: NDArray[Any]
) -> int:
    """Raise unless the chunks hold the column's rows, in the file; return their uniform rows."""
    counts = entries["row_count"].astype(np.int64)
    total = int(counts.sum())
    if total != header.row_count or not (counts > 0).all():
        fail(f"chunks of {header.row_count} rows", total)
    if counts.max(initial=0) > MAX_CHUNK_ROWS:
        fail(f"at most {MAX_CHUNK_ROWS} rows a chunk", int(counts.max()))
    if (entries["first_row"].astype(np.int64) != np.cumsum(counts) - counts).any():
        fail("chunks that follow each other", entries["first_row"].tolist()[:8])
    nulls = entries["null_count"].astype(np.int64)
    if (nulls > counts).any() or int(nulls.sum()) != header.null_count:
        fail(f"{header.null_count} NULLs", int(nulls.sum()))
    with_validity = (nulls > 0) & (nulls < counts) & (kind is not Kind.NESTED)
    lengths = entries["validity_length"].astype(np.int64)
    is_right = np.where(
        with_validity, validity.is_right_length(lengths, counts, entries["flags"]), lengths == 0
    )
    if not is_right.all():
        fail("validity of a bit a row, or of marks in fewer bytes", lengths.tolist()[:8])
    offsets = entries["offset"]
    ends = offsets + chunk_lengths(entries).astype(np.uint64)
    inside = (offsets >= HEADER.size) & (offsets <= file.data_end) & (ends <= file.data_end)
    if not inside.all() or (offsets % CHUNK_ALIGNMENT).any():
        bad = int(np.argmin(inside & (offsets % CHUNK_ALIGNMENT == 0)))
        fail(f"chunk {bad} aligned and before byte {file.data_end}", int(offsets[bad]))
    # Or the same bytes could stand for any number of rows.
    if (ends[:-1] > offsets[1:]).any():
        fail("chunks behind each other", offsets.tolist()[:8])
    encodings = entries["encoding"]
    # np.unique() would import numpy.ma, which takes 5 ms.
    found = np.flatnonzero(np.bincount(encodings)).tolist()
    if not set(found) <= {each.code for each in known_encodings.encodings_of(kind)}:
        fail("encodings of its kind", found)
    if ((encodings == all_null.ALL_NULL.code) != (nulls == counts)).any():
        fail("ALL_NULL exactly where all rows are NULL", encodings.tolist()[:8])
    rows = header.chunk_rows
    if len(counts) and (counts[:-1] == rows).all() and counts[-1] <= rows:
        return int(rows)
    if rows == 0 or not len(counts):
        return 0
    fail(f"chunks of {rows} rows", counts.tolist()[:8])
    raise AssertionError("fail always raises")


def _longest(entries: Any) -> int:
    """Return the most bytes of an entry; 0 without any."""
    if entries is None or not len(entries):
        return 0
    return int(np.diff(text_parts(entries)[1]).max())


def _read_dictionary(
    file: File,
    field: Any,
    kind: Kind,
    header: ColumnHeader,
    shared: Sequence[SharedDictionary],
    metadata: Section,
) -> tuple[Any, int]:
    """Return the shared entries of a column, wherever they are promoted to, and their count."""

    def read(section: Section, count: int) -> Any:
        what = f"a dictionary of column '{field.name}'"
        return dictionaries.entries_of(
            file, field, kind, file.section(section, what, section.offset), count
        )

    if header.dictionary_tier == Tier.COLUMN:
        return read(header.dictionary, header.dictionary_count), header.dictionary_count
    if header.dictionary_tier != Tier.TABLE:
        return None, 0
    if header.shared_dictionary >= len(shared):
        expected = f"one of {len(shared)} shared dictionaries"
        raise damaged(file.path, metadata.offset, expected, header.shared_dictionary)
    dictionary = shared[header.shared_dictionary]
    size = 0 if kind is Kind.BYTES else value_dtype(field.type, kind).itemsize
    if dictionary.kind != kind or dictionary.value_size != size:
        expected = f"a shared dictionary of kind {int(kind)} and size {size}"
        found = (dictionary.kind, dictionary.value_size)
        raise damaged(file.path, metadata.offset, expected, found)
    return read(dictionary.section, dictionary.entry_count), dictionary.entry_count
