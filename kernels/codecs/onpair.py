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

from raydb.kernels.codecs.rows.entries import Entries, are_loops_loaded
from raydb.values import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

BYTES = 256
MAX_ENTRIES = 4096
LONGEST_ENTRY = 32

# So many codes are read in plain Python, where no loop is there yet: 0.1 ms.
FEW_CODES = 1024
_LOOPS = "raydb.kernels.codecs.onpair_loops"


class Tree(NamedTuple):
    """The entries as `onpair_loops` looks for the longest one.

    first: uint32, shape (65536,): the node of two bytes above the code of the entry that they are,
    0 for none. edges: uint64, two words a slot.
    """

    first: NDArray[np.uint32]
    edges: NDArray[np.uint64]

    @staticmethod
    def of(texts: NDArray[np.uint8], lengths: NDArray[np.uint8]) -> Tree:
        """Return the tree of entries."""
        from raydb.kernels.codecs import onpair_loops as loops  # noqa: PLC0415  (numba: 0.24 s)

        first, nodes = np.zeros(2**16, np.uint32), int(lengths[BYTES:].sum()) + 1
        plain = loops.Plain(
            codes=np.zeros(nodes, np.uint16),
            children=np.zeros(nodes, np.uint32),
            siblings=np.zeros(nodes, np.uint32),
            labels=np.zeros(nodes, np.uint8),
            homes=np.zeros(nodes, np.uint32),
        )
        edge_count = loops.plant(first, plain, _read_only(texts), _read_only(lengths))
        # A node of k edges fits into 256 slots of which fewer than 256 / (k + 1) are used. So those
        # of 16 and fewer need edge_count / 15 times 256 slots at most, and others edge_count / 16.
        # What is never used takes no memory.
        slot_count = 256 * (edge_count // 7 + 2)
        assert slot_count << loops.CODE_BITS < 2**32
        edges = np.zeros(2 * slot_count, np.uint64)
        loops.place_edges(first, plain, np.zeros(slot_count, np.bool_), edges)
        return Tree(first, edges)


@dataclass(frozen=True, eq=False)
class PairTable:
    """Entries by code: the bytes, then pairs of codes of entries before them.

    pairs: uint16, shape (count, 2). ValueError for too many, for one that is named by later ones or
    itself, and for one of more than 32 bytes.
    """

    pairs: NDArray[np.uint16]

    @staticmethod
    def of_entries(
        pairs: NDArray[np.uint16], texts: NDArray[np.uint8], lengths: NDArray[np.uint8]
    ) -> PairTable:
        """Return a table whose entries are known, as `texts` and `lengths` have them."""
        table = PairTable(pairs)
        vars(table).update(texts=texts, lengths=lengths)
        return table

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
    def tree(self) -> Tree:
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
    return parse(table.tree, data, offsets)


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
    if _LOOPS not in sys.modules and not are_loops_loaded() and int(counts.sum()) <= FEW_CODES:
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


def parse(
    tree: Tree, data: NDArray[np.uint8], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.uint16], NDArray[np.uint32]]:
    """Return the codes of all items by a tree of entries, and their offsets."""
    from raydb.kernels.codecs import onpair_loops as loops  # noqa: PLC0415  (numba takes 0.24 s)

    codes = np.empty(int(offsets[-1] - offsets[0]), np.uint16)
    bounds = np.zeros(len(offsets), np.uint32)
    size = loops.parse_items(tree, _read_only(data), offsets, codes, bounds[1:])
    codes.resize(size, refcheck=False)  # Gives the memory back without a copy.
    return codes, bounds


def _texts_of(entries: tuple[bytes, ...] | list[bytes]) -> NDArray[np.uint8]:
    padded = b"".join([entry.ljust(LONGEST_ENTRY, b"\0") for entry in entries])
    return np.frombuffer(padded, np.uint8).reshape(-1, LONGEST_ENTRY)


def _read_only(data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """View bytes as the loops take them, which are compiled once: not for a memory map again."""
    view = np.ascontiguousarray(data, np.uint8).view()
    view.flags.writeable = False
    return view
