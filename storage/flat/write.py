"""The writer of FlatStor files, bottom up: chunks, then the three metadata tiers.

plan_columns -> chunks of each column -> blooms, dictionaries -> column metadata
             -> table metadata -> Global VTable -> tail
"""

from __future__ import annotations

import os
import struct
from dataclasses import field
from itertools import accumulate, chain, groupby, islice, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from xxhash import xxh3_64, xxh3_64_intdigest

from raydb.interrupts import beside
from raydb.kernels.codecs.onpair import PairTable
from raydb.storage.durable.replace import replace_file
from raydb.storage.flat import bloom
from raydb.storage.flat.column_plan import ColumnPlan, check_distinct, check_names, plan_columns
from raydb.storage.flat.encode_chunk import EncodedChunk, encode_rows, known_of, size_of
from raydb.storage.flat.encodings.dictionary import ColumnDictionary
from raydb.storage.flat.encodings.fsst import Symbols
from raydb.storage.flat.encodings.outside import folder_of
from raydb.storage.flat.encodings.references import FileNames
from raydb.storage.flat.encodings.referring import ReferredColumn, refer
from raydb.storage.flat.kinds import text_parts, values_of
from raydb.storage.flat.layout import (
    CHUNK_ALIGNMENT,
    CHUNK_ENTRY,
    CHUNK_RANGE,
    FORMAT_VERSION,
    HEADER,
    HEADER_CHECKED_BYTES,
    MAGIC,
    NO_SECTION,
    SECTION,
    SECTION_ALIGNMENT,
    SHARED_DICTIONARY,
    TAIL,
    TAIL_MAGIC,
    ChunkEntry,
    ColumnHeader,
    Flags,
    Kind,
    Section,
    Tier,
)
from raydb.storage.flat.metadata.compose import (
    chunk_metadata_length,
    compose_chunk,
    compose_column,
    compose_table,
    compose_vtable,
)
from raydb.storage.flat.zone_map import unpack_range
from raydb.storage.in_order import in_order
from raydb.storage.textual import check_texts
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.storage.flat.shared_dictionaries import SharedEntries

# A thousand columns are thousands of small pieces; written one by one they cost a system call each.
_BUFFER_BYTES = 2**20
# A filter for each chunk pays only where there are chunks to skip.
_MIN_BLOOM_CHUNKS = 4
# Filters are read as a whole to look for one key: they are to be far less than the column.
_LARGEST_BLOOMS = 0.25
# The chunks that a thread encodes at a time, 131,072 numbers: 1 to 3 ms.
_RUN_CHUNKS = 8
# Fewer runs are encoded on this thread, and columns of fewer chunks: what is compiled of a thousand
# rows takes microseconds, so that threads would only wait for each other's Python.
_FEW_RUNS = 4
_FEW_CHUNKS = 2
_BATCH_RUNS = 64
# The sections of a chunk of so many bytes are copied into one piece before they are written.
_JOINED_BYTES = 2**14

_CHECKSUM = struct.Struct("<Q")

T = TypeVar("T")


def write_table(
    table: Any,
    path: str | os.PathLike[str],
    *,
    chunk_rows: Mapping[str, int] | int | None = None,
    encodings: Mapping[str, str] | None = None,
    offset_index: Mapping[str, bool] | None = None,
    by_reference: Sequence[str] = (),
) -> None:
    """Write an Arrow table to a file, which appears complete and synced to disk, or not at all.

    chunk_rows: rows a chunk, for all columns or by name; chosen by modality and item size where
    not given. encodings: by name, one of auto, verbatim, frame, run_length, runs, line, stride,
    dictionary, fsst, onpair, alp, patched.
    offset_index: False, by name, keeps lengths in place of the offsets of a text column: smaller,
    and the first read of each chunk sums them up.
    by_reference: columns whose values stay where they are, in files of the same folder or below: a
    path each, or a struct of a file, an offset and a length. Readers get the bytes.

    Raises ProgrammingError for settings that do not fit; NotSupportedError for types that are not
    stored; DataError for a chunk of 2 GiB or more, and for texts that are no UTF-8;
    OperationalError where the disk fails, and for files that cannot be read.

    >>> write_table(pa.table({"id": [1, 2], "caption": ["a dog", None]}), "pets.flat")
    """
    name = os.fspath(path)
    replace_file(
        name,
        lambda sink: write_stream(
            sink,
            table,
            chunk_rows=chunk_rows,
            encodings=encodings,
            offset_index=offset_index,
            references=(folder_of(name), by_reference),
        ),
        _BUFFER_BYTES,
    )


def write_stream(
    sink: BinaryIO,
    table: Any,
    *,
    chunk_rows: Mapping[str, int] | int | None = None,
    encodings: Mapping[str, str] | None = None,
    offset_index: Mapping[str, bool] | None = None,
    references: tuple[str, Sequence[str]] = ("", ()),
) -> None:
    """Write the bytes of a FlatStor file to a sink, front to back.

    references: the folder that the file will be in, and the columns whose values stay in others.
    The other settings and errors are those of `write_table`; OSError of the sink is let through,
    and syncing is the caller's.
    """
    check_texts(table)
    referred = _refer(table, *references)
    plans, shared = beside(
        lambda: plan_columns(table, chunk_rows, encodings, offset_index, referred), table.num_rows
    )
    output = _Output(sink)
    head = HEADER.pack(MAGIC, FORMAT_VERSION, HEADER.size, 0, 0)[:HEADER_CHECKED_BYTES]
    output.write(HEADER.pack(MAGIC, FORMAT_VERSION, HEADER.size, 0, xxh3_64_intdigest(head)))
    drafts = _write_chunks(output, plans)
    _write_blooms(output, drafts)
    dictionaries = b"".join(_write_shared_dictionary(output, entries) for entries in shared)
    headers = [_write_column_parts(output, draft) for draft in drafts]
    sections = [
        output.write_section(_compose_column(draft, header))
        for draft, header in zip(drafts, headers, strict=True)
    ]
    schema = _schema(table, referred).serialize().to_pybytes()
    metadata = output.write_section(compose_table(table.num_rows, schema, dictionaries))
    columns = b"".join(SECTION.pack(*section) for section in sections)
    shape = compose_vtable(0, SECTION.pack(*metadata), columns)
    output.pad(SECTION_ALIGNMENT)
    file_length = output.position + len(shape) + TAIL.size
    vtable = output.write_section(compose_vtable(file_length, SECTION.pack(*metadata), columns))
    output.write(TAIL.pack(*vtable, TAIL_MAGIC))
    assert output.position == file_length


def _refer(table: Any, folder: str, names: Sequence[str]) -> dict[str, ReferredColumn]:
    """Return the columns whose values stay in other files."""
    check_names(names, table.column_names)
    check_distinct(table.column_names)
    return {name: refer(name, table.column(name), folder) for name in names}


def _schema(table: Any, referred: Mapping[str, ReferredColumn]) -> Any:
    """Return the schema of what readers get."""
    schema = table.schema
    for name in referred:
        place = schema.get_field_index(name)
        schema = schema.set(place, schema.field(place).with_type(pa.binary()))
    return schema


class _Output:
    """A sink that knows where it is."""

    __slots__ = ("_sink", "position")

    def __init__(self, sink: BinaryIO) -> None:
        self._sink, self.position = sink, 0

    def write(self, data: Any) -> None:
        """Write one piece of bytes."""
        self._sink.write(data)
        self.position += len(data)

    def pad(self, alignment: int) -> None:
        """Write zeros up to a multiple of `alignment`."""
        if rest := -self.position % alignment:
            self._sink.write(bytes(rest))
            self.position += rest

    def write_section(self, data: bytes) -> Section:
        """Write aligned bytes; return where they lie and their checksum."""
        self.pad(SECTION_ALIGNMENT)
        section = Section(self.position, len(data), xxh3_64_intdigest(data))
        self.write(data)
        return section


@dataclass(slots=True, eq=False)
class _Draft:
    """What is known of a column while its chunks are written.

    entries, checksums, ranges: as they are written, of all chunks; Python's collector has bytes
    not to look at. texts: the bounds of chunks of texts.
    """

    plan: ColumnPlan
    null_count: int = 0
    uses_shared: bool = False
    size_bytes: int = 0
    entries: bytearray = field(default_factory=bytearray)
    checksums: bytearray = field(default_factory=bytearray)
    ranges: bytearray = field(default_factory=bytearray)
    texts: list[bytes] = field(default_factory=list)
    blooms: Section = NO_SECTION
    bloom_starts: bytes = b""

    @property
    def chunk_count(self) -> int:
        """The number of chunks."""
        return -(-len(self.plan.column) // self.plan.chunk_rows)


def _write_chunks(output: _Output, plans: Sequence[ColumnPlan]) -> list[_Draft]:
    """Write the chunks of all columns, column by column; they are encoded in threads."""
    drafts = [_Draft(plan) for plan in plans]
    for draft, encoded in _computed(_encode_run, drafts):
        for chunk in encoded:
            _write_chunk(output, draft, chunk)
    return drafts


class _Run(NamedTuple):
    """Some chunks of a column, which begin at these rows: worth the way to a thread and back."""

    draft: _Draft
    firsts: range

    @staticmethod
    def of_column(draft: _Draft) -> Iterator[_Run]:
        """Yield all chunks of a column in their order."""
        step, count = draft.plan.chunk_rows, len(draft.plan.column)
        length = _RUN_CHUNKS * step
        for first in range(0, count, length):
            yield _Run(draft, range(first, min(first + length, count), step))


def _computed(compute: Callable[[_Run], T], drafts: Sequence[_Draft]) -> Iterator[tuple[_Draft, T]]:
    """Yield what a function makes of each run of chunks, in their order."""
    runs = (run for draft in drafts for run in _Run.of_column(draft))
    chunk_count = sum(draft.chunk_count for draft in drafts)
    if chunk_count <= max(_FEW_RUNS * _RUN_CHUNKS, _FEW_CHUNKS * len(drafts)):
        return _by_kind(compute, runs)
    return in_order(lambda run: (run.draft, compute(run)), runs)


def _by_kind(compute: Callable[[_Run], T], runs: Iterator[_Run]) -> Iterator[tuple[_Draft, T]]:
    """Yield as `_computed` does; of some runs those of a kind are computed one after another.

    They take the same steps, which the processor has at hand then: a sixth of the time.
    """
    while some := list(islice(runs, _BATCH_RUNS)):
        order = sorted(range(len(some)), key=lambda place: some[place].draft.plan.kind)
        found = {place: compute(some[place]) for place in order}
        yield from ((run.draft, found[place]) for place, run in enumerate(some))


def _encode_run(run: _Run) -> list[EncodedChunk]:
    plan = run.draft.plan
    return [
        encode_rows(plan, first, _rows(plan.column, first, plan.chunk_rows), known)
        for first, known in zip(run.firsts, known_of(plan, run.firsts), strict=True)
    ]


def _rows(column: Any, first: int, count: int) -> Any:
    """Return rows of a chunked array as one Arrow array, not copied where one chunk has them."""
    if column.num_chunks == 1:
        whole = column.chunk(0)
        return whole if len(whole) <= count else whole.slice(first, count)
    parts = column.slice(first, count).chunks
    return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)


def _write_chunk(output: _Output, draft: _Draft, chunk: EncodedChunk) -> None:
    encoded, validity, zone = chunk.encoded, chunk.validity, chunk.zone
    zone_lengths = (len(zone.value_range), len(zone.least), len(zone.greatest))
    output.pad(CHUNK_ALIGNMENT)
    entry = ChunkEntry(
        chunk.first,
        output.position,
        encoded.reference,
        chunk.row_count,
        chunk.null_count,
        len(validity.data),
        size_of(encoded.index),
        size_of(encoded.payload),
        len(encoded.dictionary),
        len(encoded.symbols),
        chunk_metadata_length(*zone_lengths),
        encoded.dictionary_count,
        encoded.encoding.code,
        encoded.width,
        encoded.flags | zone.flags | validity.flags,
    )
    packed = CHUNK_ENTRY.pack(*entry)
    metadata = compose_chunk(packed, *zone[1:])
    parts = (validity.data, encoded.index, encoded.payload, encoded.dictionary, encoded.symbols)
    draft.checksums += _CHECKSUM.pack(_write_parts(output, (*parts, metadata)))
    draft.null_count += chunk.null_count
    draft.uses_shared |= encoded.uses_shared
    draft.size_bytes += output.position - entry.offset
    draft.entries += packed
    draft.ranges += zone.value_range
    draft.texts += zone[2:]


def _write_parts(output: _Output, parts: Iterable[Any]) -> int:
    """Write the sections of a chunk, each aligned; return the checksum of all of them."""
    pieces: list[Any] = []
    length = 0
    for part in parts:
        size = size_of(part)
        if size:
            if rest := -length % SECTION_ALIGNMENT:
                pieces.append(bytes(rest))
                length += rest
            pieces.append(part)
            length += size
    if length <= _JOINED_BYTES:
        data = b"".join(pieces)
        output.write(data)
        return xxh3_64_intdigest(data)
    digest = xxh3_64()
    for piece in pieces:
        view = memoryview(piece).cast("B")
        digest.update(view)
        output.write(view)
    return int(digest.intdigest())


def _write_blooms(output: _Output, drafts: Sequence[_Draft]) -> None:
    """Write a bloom filter for each chunk of a column of many distinct integers or texts.

    Not where filters take more than a part of the chunks that they may leave out.
    """
    drafts = [draft for draft in drafts if _has_blooms(draft)]
    computed = _computed(_filters_of_run, drafts)
    for draft, runs in groupby(computed, key=itemgetter(0)):
        words, counts = zip(*(found for _, found in runs), strict=True)
        if sum(each.nbytes for each in words) > _LARGEST_BLOOMS * draft.size_bytes:
            continue
        starts = np.cumsum([0, *chain.from_iterable(counts)]).astype("<u4")
        draft.blooms = output.write_section(np.concatenate(words).astype("<u4").tobytes())
        draft.bloom_starts = starts.tobytes()


def _has_blooms(draft: _Draft) -> bool:
    plan = draft.plan
    return (
        draft.chunk_count >= _MIN_BLOOM_CHUNKS
        and plan.dictionary is None
        and not plan.is_opaque
        and plan.kind in {Kind.SIGNED, Kind.UNSIGNED, Kind.BYTES}
        and _zones_overlap(draft)
    )


def _filters_of_run(run: _Run) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the filters of the chunks of a run, and how many blocks each has."""
    plan, firsts = run.draft.plan, run.firsts
    rows = plan.column.slice(firsts.start, firsts.stop - firsts.start)
    bounds = np.array([*firsts, firsts.stop], np.int64) - firsts.start
    if rows.null_count:
        are_valid = rows.is_valid().to_numpy()
        bounds = np.concatenate([[0], np.cumsum(are_valid)])[bounds]
    hashes = [_hashes(plan.kind, each.drop_null()) for each in rows.chunks]
    joined = hashes[0] if len(hashes) == 1 else np.concatenate(hashes)
    return bloom.build_filters(joined, bounds, len(plan.column))


def _hashes(kind: Kind, array: Any) -> NDArray[np.uint64]:
    """Return the hashes of an Arrow array without NULLs."""
    if kind is Kind.BYTES:
        return bloom.hash_parts(*text_parts(array))
    return bloom.hash_integers(values_of(array, kind))


def _zones_overlap(draft: _Draft) -> bool:
    """Tell whether the zone maps leave several chunks for most keys."""
    zones: list[tuple[Any, Any]] = []
    ranges = memoryview(draft.ranges)
    for number, fields in enumerate(CHUNK_ENTRY.iter_unpack(draft.entries)):
        flags = fields[-1]
        if not flags & Flags.HAS_BOUNDS:
            continue
        if draft.plan.kind is Kind.BYTES:
            zones.append((draft.texts[2 * number], draft.texts[2 * number + 1]))
        else:
            place = number * CHUNK_RANGE.size
            packed = ranges[place : place + CHUNK_RANGE.size]
            bounds = unpack_range(draft.plan.kind, packed, flags)
            assert bounds is not None
            zones.append((bounds.minimum, bounds.maximum))
    zones.sort()
    # What two neighbours have in common is in both of them, and no filter leaves one out.
    overlaps: int = sum(before[1] > after[0] for before, after in pairwise(zones))
    return 2 * overlaps > len(zones)


def _write_shared_dictionary(output: _Output, entries: SharedEntries) -> bytes:
    section = output.write_section(entries.packed)
    return SHARED_DICTIONARY.pack(*section, entries.count, entries.kind, entries.value_size, 0)


def _write_column_parts(output: _Output, draft: _Draft) -> ColumnHeader:
    """Write the dictionary and the symbols of a column; return its header."""
    plan = draft.plan
    section, tier, count, shared, symbols = NO_SECTION, 0, 0, 0, NO_SECTION
    match plan.prepared if draft.uses_shared else None:
        case ColumnDictionary() as dictionary:
            tier, shared = dictionary.tier, dictionary.shared_dictionary
            if tier is Tier.COLUMN:
                count = len(dictionary.shared)
                section = output.write_section(dictionary.pack_shared())
        case FileNames() as files:
            tier, count = Tier.COLUMN, len(files.names)
            section = output.write_section(files.pack())
        case Symbols(table) | (PairTable() as table):
            symbols = output.write_section(table.to_bytes())
    return ColumnHeader(
        row_count=len(plan.column),
        null_count=draft.null_count,
        dictionary=section,
        symbols=symbols,
        blooms=draft.blooms,
        chunk_rows=plan.chunk_rows,
        dictionary_count=count,
        shared_dictionary=shared,
        kind=plan.kind,
        modality=plan.contents.modality,
        dictionary_tier=tier,
    )


def _compose_column(draft: _Draft, header: ColumnHeader) -> bytes:
    texts, contents = b"".join(draft.texts), draft.plan.contents
    offsets = b""
    if draft.plan.kind is Kind.BYTES and not draft.plan.is_opaque:
        bounds = list(accumulate(map(len, draft.texts), initial=0))
        offsets = struct.pack(f"<{len(bounds)}I", *bounds)
    return compose_column(
        header.pack(),
        draft.entries,
        draft.checksums,
        draft.ranges,
        texts,
        offsets,
        draft.bloom_starts,
        " ".join(contents.media_types).encode(),
        b"" if contents.added is None else contents.added.name.encode(),
    )
