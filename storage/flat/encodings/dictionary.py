"""Dictionaries, at the metadata tier where their entries belong (FlatStor, section 3.4).

    chunks          {A F N} {A F R} {A F N O}
    column  A F N   entries in half of the chunks or more
    chunk   R, O    the rest: codes from the column's entry count on
    table           the union of the entries of columns whose Jaccard index is 0.8 or more

A chunk's code is an index into the shared entries (the column's, or the table's in their place),
or the number of shared entries plus an index into the chunk's own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from raydb.storage.flat.encodings.numbers import Encoded, bits_for, pack, packed_bytes
from raydb.storage.flat.encodings.texts import pack_entries
from raydb.storage.flat.kinds import valid_mask, values_of
from raydb.storage.flat.layout import Encoding, Kind, Tier

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

SHARING_JACCARD = 0.8

# More distinct values than this take 32-bit codes, which hardly ever pay.
_MAX_ENTRIES = 2**16
# Encoding must save a fifth, since it costs a second look-up.
_LARGEST_PART = 0.8
# FSST is expected to keep this part of the bytes of a text.
_FSST_PART = 0.45
_SAMPLE_ROWS = 1024
# A sample of 1,024 rows without 3 % of duplicates comes from more than 16,000 distinct values.
_LARGEST_DISTINCT_PART = 0.97
_FEW_SAMPLE_ROWS = 64


@dataclass(frozen=True, slots=True, eq=False)
class ColumnDictionary:
    """The entries of a column and where they are promoted to.

    codes: int32, shape (row_count,), the entry of each row; 0 where it is NULL.
    entries: the distinct values, an Arrow array without NULLs.
    shared: the entries promoted to the column, by their index in `entries`.
    tier: COLUMN or TABLE; positions: int64, shape (len(entries),), the place of each entry in the
    dictionary of that tier, -1 for those that stay in chunks; shared_count: its length.
    """

    kind: Kind
    codes: NDArray[np.int32]
    entries: Any
    shared: NDArray[np.int64]
    tier: Tier
    positions: NDArray[np.int64]
    shared_count: int
    shared_dictionary: int


@dataclass(frozen=True, slots=True)
class SharedEntries:
    """A dictionary of the table tier: packed entries of one kind and size."""

    kind: Kind
    value_size: int
    count: int
    packed: bytes


def propose_dictionary(
    column: Any, kind: Kind, chunk_rows: int, wanted: bool
) -> ColumnDictionary | None:
    """Return the dictionary of a chunked array; None if it would not save a fifth."""
    if kind not in {Kind.SIGNED, Kind.UNSIGNED, Kind.FLOAT, Kind.BYTES} or not len(column):
        return None
    if not wanted and not _sample_repeats(column, kind):
        return None
    words = column if kind is Kind.BYTES else _as_integers(column)
    encoded = pc.dictionary_encode(words)
    # The chunks of an encoded chunked array have one and the same dictionary.
    entries = encoded.chunk(0).dictionary
    if not len(entries) or (not wanted and len(entries) > _MAX_ENTRIES):
        return None
    codes = np.concatenate([_codes_of(chunk.indices) for chunk in encoded.chunks])
    # A count of every entry is faster than np.unique, which hashes: 20 against 280 µs a chunk.
    present = [np.flatnonzero(np.bincount(part)) for part in _chunks(codes, chunk_rows)]
    counts = np.bincount(np.concatenate(present), minlength=len(entries))
    shared = np.flatnonzero(2 * counts >= len(present))
    positions = np.full(len(entries), -1, np.int64)
    positions[shared] = np.arange(len(shared))
    if not wanted:
        cost = _dictionary_bytes(entries, kind, counts, shared, len(codes))
        if cost > _LARGEST_PART * _other_bytes(words, kind, chunk_rows):
            return None
    tier = Tier.COLUMN if len(shared) else Tier.CHUNK
    return ColumnDictionary(kind, codes, entries, shared, tier, positions, len(shared), 0)


@lru_cache(maxsize=8)
def _sample_rows(count: int) -> NDArray[np.int64]:
    wanted = _FEW_SAMPLE_ROWS if count <= _SAMPLE_ROWS else _SAMPLE_ROWS
    return np.unique(np.linspace(0, count - 1, min(wanted, count)).astype(np.int64))


def _sample_repeats(column: Any, kind: Kind) -> bool:
    rows = _sample_rows(len(column))
    if kind is not Kind.BYTES and column.num_chunks == 1:
        # A set of a few numbers takes 3 µs, Arrow's take and unique 20.
        distinct = len(set(values_of(column.chunk(0), kind)[rows].tolist()))
    else:
        distinct = len(column.take(pa.array(rows)).unique())
    return distinct <= _LARGEST_DISTINCT_PART * len(rows)


def _as_integers(column: Any) -> Any:
    """View numbers as integers of their size: the entries are bits, so -0.0 and NaN stay as is."""
    whole = getattr(pa, f"int{column.type.bit_width}")()
    return pa.chunked_array([chunk.view(whole) for chunk in column.chunks], whole)


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
        return len(words) * int(words.type.bit_width) / 8
    total = 0
    for first in range(0, len(words), chunk_rows):
        part = words.slice(first, chunk_rows)
        bounds = pc.min_max(part)
        least, greatest = bounds["min"].as_py() or 0, bounds["max"].as_py() or 0
        total += packed_bytes(len(part), bits_for(greatest - least) if greatest > least else 0)
    return float(total)


def share_dictionaries(
    dictionaries: Sequence[ColumnDictionary | None],
) -> tuple[list[ColumnDictionary | None], list[SharedEntries]]:
    """Move the entries of columns that have nearly the same ones to the table tier."""
    sets = [_entry_set(dictionary) for dictionary in dictionaries]
    groups = _similar_groups(dictionaries, sets)
    result = list(dictionaries)
    tables: list[SharedEntries] = []
    for members in groups:
        union = list(dict.fromkeys(entry for member in members for entry in sets[member]))
        place = {entry: position for position, entry in enumerate(union)}
        for member in members:
            dictionary = dictionaries[member]
            assert dictionary is not None
            positions = dictionary.positions.copy()
            positions[dictionary.shared] = [place[entry] for entry in sets[member]]
            result[member] = replace(
                dictionary,
                tier=Tier.TABLE,
                positions=positions,
                shared_count=len(union),
                shared_dictionary=len(tables),
            )
        first = dictionaries[members[0]]
        assert first is not None
        entries = pa.array(union, first.entries.type)
        tables.append(
            SharedEntries(first.kind, _value_size(first), len(union), _pack(first.kind, entries))
        )
    return result, tables


def _entry_set(dictionary: ColumnDictionary | None) -> dict[Any, None]:
    """Return the promoted entries in their order, as the keys of a dict."""
    if dictionary is None or not len(dictionary.shared):
        return {}
    return dict.fromkeys(dictionary.entries.take(pa.array(dictionary.shared)).to_pylist())


def _value_size(dictionary: ColumnDictionary) -> int:
    if dictionary.kind is Kind.BYTES:
        return 0
    return int(dictionary.entries.type.bit_width) // 8


def _similar_groups(
    dictionaries: Sequence[ColumnDictionary | None], sets: Sequence[dict[Any, None]]
) -> list[list[int]]:
    """Return the groups of two or more columns whose entries are alike, by their first member.

    A set is compared with the groups that hold half of eight of its entries, found by entry, since
    comparing every pair of 1,000 columns would take seconds.
    """
    groups: list[list[int]] = []
    holders: dict[tuple[Any, ...], list[int]] = {}
    for column, entries in enumerate(sets):
        dictionary = dictionaries[column]
        if dictionary is None or not entries:
            continue
        family = (dictionary.kind, str(dictionary.entries.type))
        keys = list(entries)
        hits: dict[int, int] = {}
        sample = keys[:: max(1, len(keys) // 8)]
        for entry in sample:
            for group in holders.get((*family, entry), ()):
                hits[group] = hits.get(group, 0) + 1
        for group, count in hits.items():
            if 2 * count >= len(sample) and _jaccard(entries, sets[groups[group][0]]):
                groups[group].append(column)
                break
        else:
            for entry in keys:
                holders.setdefault((*family, entry), []).append(len(groups))
            groups.append([column])
    return [group for group in groups if len(group) > 1]


def _jaccard(one: dict[Any, None], other: dict[Any, None]) -> bool:
    both = len(one.keys() & other.keys())
    return both >= SHARING_JACCARD * (len(one) + len(other) - both)


def encode_codes(dictionary: ColumnDictionary, first: int, count: int) -> Encoded:
    """Return the codes of a chunk's rows and the entries that only this chunk holds."""
    codes = dictionary.codes[first : first + count]
    places = dictionary.positions[codes]
    own = np.unique(codes[places < 0])
    if len(own):
        missing = places < 0
        places[missing] = dictionary.shared_count + np.searchsorted(own, codes[missing])
    bits = bits_for(dictionary.shared_count + len(own) - 1)
    entries = dictionary.entries.take(pa.array(own)) if len(own) else None
    return Encoded(
        Encoding.DICTIONARY,
        bits,
        payload=pack(places, bits),
        dictionary=b"" if entries is None else _pack(dictionary.kind, entries),
        dictionary_count=len(own),
    )


def pack_shared(dictionary: ColumnDictionary) -> bytes:
    """Return the packed entries that are promoted to the column."""
    return _pack(dictionary.kind, dictionary.entries.take(pa.array(dictionary.shared)))


def _pack(kind: Kind, entries: Any) -> bytes:
    if kind is Kind.BYTES:
        return pack_entries(entries)
    return values_of(entries, Kind.SIGNED).tobytes()
