"""The loops of pairs: a tree of entries, parsing by the longest one, counting pairs, decoding.

The tree: node 0 is none; the nodes of two bytes are in `first`, those behind a node and a byte in a
hash table of `node << 8 | byte`. codes[node] is the entry that ends there, -1 for none. As in
`fsst_loops`, every index is unsigned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raydb.kernels.codecs.packed_loops import load
from raydb.kernels.jit import compiled, inlined

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.kernels.codecs.onpair import Tree

_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@inlined
def _slot_of(keys: NDArray[np.uint32], bits: int, key: np.uint32) -> np.uint64:
    """Return the slot of a key other than 0, or the free one where it belongs."""
    last = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    slot = (np.uint64(key) * _FACTOR) >> np.uint64(64 - bits)
    while keys[slot] != 0 and keys[slot] != key:
        slot = (slot + np.uint64(1)) & last
    return slot


@compiled
def plant(tree: Tree, bits: int, texts: NDArray[np.uint8], lengths: NDArray[np.uint8]) -> None:
    """Put the entries from 256 on, of two bytes or more, into an empty tree."""
    first, keys, nexts, codes = tree
    nodes = np.uint32(0)
    for code in range(np.uint64(256), np.uint64(len(lengths))):
        pair = np.uint64(texts[code, 0]) | np.uint64(texts[code, 1]) << np.uint64(8)
        node = first[pair]
        if node == 0:
            nodes += np.uint32(1)
            node = nodes
            first[pair] = node
        for place in range(np.uint64(2), np.uint64(lengths[code])):
            key = node << np.uint32(8) | np.uint32(texts[code, place])
            slot = _slot_of(keys, bits, key)
            if keys[slot] == 0:
                nodes += np.uint32(1)
                keys[slot] = key
                nexts[slot] = nodes
            node = nexts[slot]
        codes[np.uint64(node)] = np.int32(code)


@compiled
def parse_items(
    tree: Tree,
    bits: int,
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    codes: NDArray[np.uint16],
    ends: NDArray[np.uint32],
) -> int:
    """Write the codes of every item and where they end; return how many there are.

    `codes` has room for one a byte.
    """
    first, keys, nexts, entries = tree
    out = np.uint64(0)
    for item in range(np.uint64(len(offsets) - 1)):
        place, end = np.uint64(offsets[item]), np.uint64(offsets[item + np.uint64(1)])
        while place < end:
            code, size = np.int32(data[place]), np.uint64(1)
            ahead = place + np.uint64(2)
            if ahead <= end:
                pair = np.uint64(data[place]) | np.uint64(data[ahead - np.uint64(1)]) << np.uint64(
                    8
                )
                node = first[pair]
                while node != 0:
                    if entries[np.uint64(node)] >= 0:
                        code, size = entries[np.uint64(node)], ahead - place
                    if ahead >= end:
                        break
                    key = node << np.uint32(8) | np.uint32(data[ahead])
                    slot = _slot_of(keys, bits, key)
                    node = nexts[slot]  # 0 in a free slot.
                    ahead += np.uint64(1)
            codes[out] = np.uint16(code)
            out += np.uint64(1)
            place += size
        ends[item] = np.uint32(out)
    return int(out)


@compiled
def count_pairs(
    codes: NDArray[np.uint16],
    ends: NDArray[np.uint32],
    lengths: NDArray[np.uint8],
    longest: int,
    bits: int,
    keys: NDArray[np.uint32],
    counts: NDArray[np.uint32],
) -> None:
    """Count the neighbours in items that make no entry longer than `longest`.

    A key is both codes and 1. There are twice as many slots as codes.
    """
    begin = np.uint64(0)
    for item in range(np.uint64(len(ends))):
        end = np.uint64(ends[item])
        for place in range(begin + np.uint64(1), end):
            one, other = codes[place - np.uint64(1)], codes[place]
            if np.int64(lengths[np.uint64(one)]) + np.int64(lengths[np.uint64(other)]) <= longest:
                key = (np.uint32(one) << np.uint32(16) | np.uint32(other)) + np.uint32(1)
                slot = _slot_of(keys, bits, key)
                keys[slot] = key
                counts[slot] += np.uint32(1)
        begin = end


@compiled
def measure_items(
    lengths: NDArray[np.uint8],
    data: NDArray[np.uint8],
    width: np.uint64,
    starts: NDArray[np.int64],
    counts: NDArray[np.int64],
    offsets: NDArray[np.int64],
) -> int:
    """Write where the bytes of every item end; return -1, or the first item of unknown codes.

    starts: the bit of `data` where the codes of an item begin; 8 bytes from the byte of every code
    on are there. offsets: of the items, from 0 on.
    """
    mask, known = (np.uint64(1) << width) - np.uint64(1), np.uint64(len(lengths))
    out = np.int64(0)
    offsets[np.uint64(0)] = 0
    for item in range(np.uint64(len(starts))):
        at = np.uint64(starts[item])
        for _ in range(counts[item]):
            code = load(data, at >> np.uint64(3)) >> (at & np.uint64(7)) & mask
            if code >= known:
                return int(np.int64(item))
            out += np.int64(lengths[code])
            at += width
        offsets[item + np.uint64(1)] = out
    return -1


@compiled
def decode_items(
    texts: NDArray[np.uint64],
    lengths: NDArray[np.uint8],
    data: NDArray[np.uint8],
    width: np.uint64,
    starts: NDArray[np.int64],
    counts: NDArray[np.int64],
    out: NDArray[np.uint8],
) -> None:
    """Write the bytes of items that have been measured; `out` has room for one entry more.

    texts: shape (entries, 4), the 32 bytes of each entry.
    """
    mask, to = (np.uint64(1) << width) - np.uint64(1), np.uint64(0)
    for item in range(np.uint64(len(starts))):
        at = np.uint64(starts[item])
        for _ in range(counts[item]):
            code = load(data, at >> np.uint64(3)) >> (at & np.uint64(7)) & mask
            size = np.uint64(lengths[code])
            for part in range(np.uint64(2)):
                word = texts[code, part]
                for byte in range(8):
                    out[to + np.uint64(8) * part + np.uint64(byte)] = np.uint8(
                        word >> np.uint64(8 * byte)
                    )
            if size > 16:
                for part in range(np.uint64(2), np.uint64(4)):
                    word = texts[code, part]
                    for byte in range(8):
                        out[to + np.uint64(8) * part + np.uint64(byte)] = np.uint8(
                            word >> np.uint64(8 * byte)
                        )
            to += size
            at += width
