"""Pairs: texts in codes of up to 4,096 entries, each of which is two entries joined.

The entries below 256 are the bytes; each further one is named by two before it, so that a table is
a list of pairs. An item becomes the code of the longest entry that it begins with, then that of the
longest that the rest begins with, and so on. Equal items have equal codes.

    256 "a "   257 "th"   258 "the" = 257 "e"   259 "a the" = 256 258

After OnPair (Gargiulo, Venturini: OnPair: Short Strings Compression for Fast Random Access, 2025),
whose entries are found in one pass; here they are found in rounds, those that hardly serve give
way, and entries are longer. Single items are read and written in plain Python.
"""

from __future__ import annotations

import sys
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from raydb.kernels.codecs.rows.entries import Entries
from raydb.values import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

BYTES = 256
MAX_ENTRIES = 4096
LONGEST_ENTRY = 32

# The rounds of training, by the part of the sample that they parse, in 8ths; the first ones add few
# entries. Captions take 2 % fewer codes where all parse all of it, which takes half as long again.
_ROUNDS = (2, 2, 2, 2, 2, 4, 4, 4, 8, 8, 8)
_FIRST_ROUNDS = 3
# The last rounds drop the quarter of the entries that serve least, and fill up again.
_PRUNING_ROUNDS = 2
_PRUNED_PART = 1 / 4
# What occurs less often in the sample is no entry: it would cost more than it saves.
_MIN_COUNT = 4
# So many codes are read in plain Python, where no loop is there yet: 0.1 ms.
FEW_CODES = 1024
_LOOPS = "raydb.kernels.codecs.onpair_loops"


class Tree(NamedTuple):
    """The entries as `onpair_loops` looks for the longest one."""

    first: NDArray[np.uint32]
    keys: NDArray[np.uint32]
    nexts: NDArray[np.uint32]
    codes: NDArray[np.int32]

    @staticmethod
    def of(texts: NDArray[np.uint8], lengths: NDArray[np.uint8]) -> tuple[Tree, int]:
        """Return the tree of entries, and the bits of its hash table."""
        from raydb.kernels.codecs import onpair_loops as loops  # noqa: PLC0415  (numba: 0.24 s)

        nodes = int(lengths[BYTES:].sum()) + 1
        bits = max(8, (2 * nodes).bit_length())
        tree = Tree(
            np.zeros(2**16, np.uint32),
            np.zeros(2**bits, np.uint32),
            np.zeros(2**bits, np.uint32),
            np.full(nodes, -1, np.int32),
        )
        loops.plant(tree, bits, texts, lengths)
        return tree, bits


@dataclass(frozen=True, eq=False)
class PairTable:
    """Entries by code: the bytes, then pairs of codes of entries before them.

    pairs: uint16, shape (count, 2). ValueError for too many, for one that is named by later ones or
    itself, and for one of more than 32 bytes.
    """

    pairs: NDArray[np.uint16]

    @cached_property
    def entries(self) -> tuple[bytes, ...]:
        """The bytes of each entry."""
        found = [bytes([byte]) for byte in range(BYTES)]
        if len(self.pairs) > MAX_ENTRIES - BYTES:
            raise ValueError(f"at most {MAX_ENTRIES - BYTES} pairs, found {len(self.pairs)}")
        for left, right in self.pairs.tolist():
            if max(left, right) >= len(found):
                raise ValueError(f"entry {len(found)} is of the entries {left} and {right}")
            text = found[left] + found[right]
            if len(text) > LONGEST_ENTRY:
                raise ValueError(f"entry {len(found)} has {len(text)} bytes")
            found.append(text)
        return tuple(found)

    @property
    def width(self) -> int:
        """The bits of a code."""
        return (BYTES + len(self.pairs) - 1).bit_length()

    @cached_property
    def texts(self) -> NDArray[np.uint8]:
        """The bytes of each entry, shape (count, 32), zeros behind its end."""
        return _texts_of(self.entries)

    @cached_property
    def lengths(self) -> NDArray[np.uint8]:
        """The bytes of each entry: how many."""
        return np.fromiter(map(len, self.entries), np.uint8, len(self.entries))

    @cached_property
    def decoded(self) -> Entries:
        """The entries as the loops of texts read them, for all codes of the width."""
        offsets = np.zeros(len(self.entries) + 1, np.int64)
        np.cumsum(self.lengths, out=offsets[1:])
        data = np.frombuffer(b"".join(self.entries), np.uint8)
        return Entries.of(data, offsets, 1 << self.width)

    @cached_property
    def tree(self) -> tuple[Tree, int]:
        """The tree of the entries."""
        return Tree.of(self.texts, self.lengths)

    @cached_property
    def codes(self) -> dict[bytes, int]:
        """The code of each entry."""
        return {text: code for code, text in enumerate(self.entries)}

    def to_bytes(self) -> bytes:
        """Return the pairs as they are stored."""
        return self.pairs.astype("<u2").tobytes()

    @staticmethod
    def from_bytes(data: bytes | memoryview) -> PairTable:
        """Read what `to_bytes` wrote; a ValueError says what is wrong with any other bytes."""
        if len(data) % 4:
            raise ValueError(f"pairs take 4 bytes each, found {len(data)}")
        table = PairTable(np.frombuffer(data, "<u2").reshape(-1, 2))
        _ = table.entries
        return table


def compress(
    table: PairTable, data: NDArray[np.uint8], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.uint16], NDArray[np.uint32]]:
    """Return the codes of all items, and their offsets, shape (item_count + 1,)."""
    return _parse(table.tree, data, offsets)


def compress_one(table: PairTable, value: bytes) -> list[int]:
    """Return the codes of one item, those that `compress` gives it, without numba."""
    known, codes, place = table.codes, [], 0
    while place < len(value):
        length = min(LONGEST_ENTRY, len(value) - place)
        while value[place : place + length] not in known:
            length -= 1
        codes.append(known[value[place : place + length]])
        place += length
    return codes


def decompress(
    table: PairTable,
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    counts: NDArray[np.int64],
    width: int,
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the bytes of items and their offsets, given the bit of `data` where each begins.

    counts: the codes of each; 8 bytes from the byte of every code on are in the data.
    ValueError for a code without an entry.
    """
    if int(counts.sum()) <= FEW_CODES and _LOOPS not in sys.modules:
        return _decompress_few(table, data, starts, counts, width)
    from raydb.kernels.codecs import onpair_loops as loops  # noqa: PLC0415  (numba takes 0.24 s)

    places = (_read_only(data), np.uint64(width), starts, counts)
    offsets = np.empty(len(starts) + 1, np.int64)
    lengths = table.lengths
    bad = loops.measure_items(lengths, *places, offsets)
    if bad >= 0:
        raise ValueError(f"item {bad} has a code without an entry; there are {len(lengths)}")
    out = np.empty(int(offsets[-1]) + LONGEST_ENTRY, np.uint8)
    loops.decode_items(table.texts.view("<u8"), lengths, *places, out)
    return out[: int(offsets[-1])], offsets


def _decompress_few(
    table: PairTable,
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    counts: NDArray[np.int64],
    width: int,
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Do as `decompress` without numba."""
    entries, view, mask = table.entries, data.data, (1 << width) - 1
    items: list[bytes] = []
    for start, count in zip(starts.tolist(), counts.tolist(), strict=True):
        end = start + count * width
        bits = int.from_bytes(view[start >> 3 : end + 7 >> 3], "little") >> (start & 7)
        codes = [bits >> at & mask for at in range(0, count * width, width)]
        if max(codes, default=0) >= len(entries):
            raise ValueError(f"item {len(items)} has a code without an entry")
        items.append(b"".join([entries[code] for code in codes]))
    offsets = np.fromiter(accumulate(map(len, items), initial=0), np.int64, len(items) + 1)
    return np.frombuffer(b"".join(items), np.uint8), offsets


def train(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> PairTable:
    """Choose the entries that leave the fewest codes of a sample. Equal items, equal tables.

    Each round parses the sample, or a part of it, by the entries so far; the most frequent pairs of
    neighbours become entries.
    """
    entries = [bytes([byte]) for byte in range(BYTES)]
    pairs: list[tuple[int, int]] = []
    count = len(offsets) - 1
    for number, part in enumerate(_ROUNDS):
        some = offsets[: 1 + -(-count * part // 8)]
        left = len(_ROUNDS) - number
        codes, ends = _parsed(entries, data, some)
        if left <= _PRUNING_ROUNDS and len(entries) > MAX_ENTRIES * 3 // 4:
            entries, pairs = _pruned(entries, pairs, codes)
            codes, ends = _parsed(entries, data, some)
        room = MAX_ENTRIES - len(entries)
        # Slowly: pairs that are joined at once cannot be parts of each other.
        share = room // max(left - _PRUNING_ROUNDS, 1)
        wanted = min(share, 64 << number) if number < _FIRST_ROUNDS else share
        least = max(_MIN_COUNT * part // 8, 2)
        for left_code, right_code in _most_frequent(entries, codes, ends, wanted, least):
            entries.append(entries[left_code] + entries[right_code])
            pairs.append((left_code, right_code))
    return PairTable(np.array(pairs, np.uint16).reshape(-1, 2))


def _parsed(
    entries: list[bytes], data: NDArray[np.uint8], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.uint16], NDArray[np.uint32]]:
    lengths = np.fromiter(map(len, entries), np.uint8, len(entries))
    return _parse(Tree.of(_texts_of(entries), lengths), data, offsets)


def _parse(
    tree: tuple[Tree, int], data: NDArray[np.uint8], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.uint16], NDArray[np.uint32]]:
    from raydb.kernels.codecs import onpair_loops as loops  # noqa: PLC0415  (numba takes 0.24 s)

    codes = np.empty(int(offsets[-1] - offsets[0]), np.uint16)
    bounds = np.zeros(len(offsets), np.uint32)
    size = loops.parse_items(*tree, _read_only(data), offsets, codes, bounds[1:])
    codes.resize(size, refcheck=False)  # Gives the memory back without a copy.
    return codes, bounds


def _most_frequent(
    entries: list[bytes],
    codes: NDArray[np.uint16],
    bounds: NDArray[np.uint32],
    wanted: int,
    least: int,
) -> list[tuple[int, int]]:
    """Return the most frequent pairs of neighbours that make new entries."""
    from raydb.kernels.codecs import onpair_loops as loops  # noqa: PLC0415  (numba takes 0.24 s)

    bits = max(8, (2 * len(codes)).bit_length())
    keys, counts = np.zeros(2**bits, np.uint32), np.zeros(2**bits, np.uint32)
    lengths = np.fromiter(map(len, entries), np.uint8, len(entries))
    loops.count_pairs(codes, bounds[1:], lengths, LONGEST_ENTRY, bits, keys, counts)
    found = np.flatnonzero(counts >= least)
    order = np.lexsort((keys[found], -counts[found].astype(np.int64)))[: 2 * wanted]
    known = set(entries)
    chosen: list[tuple[int, int]] = []
    for key in (keys[found[order]] - 1).tolist():
        left, right = key >> 16, key & 0xFFFF
        text = entries[left] + entries[right]
        if len(chosen) < wanted and text not in known:
            known.add(text)
            chosen.append((left, right))
    return chosen


def _pruned(
    entries: list[bytes], pairs: list[tuple[int, int]], codes: NDArray[np.uint16]
) -> tuple[list[bytes], list[tuple[int, int]]]:
    """Return the entries without those that serve least and that no other one is of."""
    uses = np.bincount(codes, minlength=len(entries))
    limit = int(np.sort(uses[BYTES:])[int(len(pairs) * _PRUNED_PART)])
    needed = {code for pair in pairs for code in pair}
    kept = list(range(BYTES))
    kept += [code for code in range(BYTES, len(entries)) if uses[code] > limit or code in needed]
    places = {code: place for place, code in enumerate(kept)}
    moved = [pairs[code - BYTES] for code in kept[BYTES:]]
    return [entries[code] for code in kept], [(places[a], places[b]) for a, b in moved]


def _texts_of(entries: tuple[bytes, ...] | list[bytes]) -> NDArray[np.uint8]:
    padded = b"".join([entry.ljust(LONGEST_ENTRY, b"\0") for entry in entries])
    return np.frombuffer(padded, np.uint8).reshape(-1, LONGEST_ENTRY)


def _read_only(data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """View bytes as the loops take them, which are compiled once: not for a memory map again."""
    view = np.ascontiguousarray(data, np.uint8).view()
    view.flags.writeable = False
    return view
