"""The loops of pairs: a tree of entries, parsing by the longest one, decoding.

The tree: node 0 is none; the nodes of two bytes are in `first`, edges from a node by a byte in a
hash table. As few other texts share what follows it, an edge has further bytes, its label, and one
look-up takes all of them. codes[node] is the entry that ends there, -1 for none. As in
`fsst_loops`, every index is unsigned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from raydb.kernels.codecs.packed_loops import load
from raydb.kernels.jit import compiled, inlined

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.kernels.codecs.onpair import Tree

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_KEY, _NODE = np.uint64(0xFFFFFFFF), np.uint64(0xFFFFFF)
_STAYS = np.uint32(1 << 16)
LABEL_BYTES = 6


class Plain(NamedTuple):
    """A tree with an edge a byte, of which that of longer edges is made.

    keys, nexts: a hash table from `node << 8 | byte` to the node behind. children: of each node,
    how many, or 2 and more where it is to stay. slots: that of its last child.
    """

    keys: NDArray[np.uint32]
    nexts: NDArray[np.uint32]
    children: NDArray[np.uint32]
    slots: NDArray[np.uint32]


@inlined
def _slot_of(keys: NDArray[np.uint32], bits: int, key: np.uint32) -> np.uint64:
    """Return the slot of a key other than 0, or the free one where it belongs."""
    last = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    slot = (np.uint64(key) * _FACTOR) >> np.uint64(64 - bits)
    while keys[slot] != 0 and keys[slot] != key:
        slot = (slot + np.uint64(1)) & last
    return slot


@inlined
def _edge_of(edges: NDArray[np.uint64], bits: int, key: np.uint64) -> np.uint64:
    """Return the slot of a key other than 0, or the free one where it belongs."""
    last = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    slot = (key * _FACTOR) >> np.uint64(64 - bits)
    while (edges[slot, 0] & _KEY) != 0 and (edges[slot, 0] & _KEY) != key:
        slot = (slot + np.uint64(1)) & last
    return slot


@compiled
def plant(
    first: NDArray[np.uint32],
    codes: NDArray[np.int32],
    plain: Plain,
    bits: int,
    texts: NDArray[np.uint8],
    lengths: NDArray[np.uint8],
) -> int:
    """Put the entries from 256 on, of two bytes or more, into an empty tree with an edge a byte.

    Returns how many edges are needed where chains of nodes are joined.
    """
    keys, nexts, children, slots = plain
    nodes = np.uint32(0)
    for code in range(np.uint64(256), np.uint64(len(lengths))):
        pair = np.uint64(texts[code, 0]) | np.uint64(texts[code, 1]) << np.uint64(8)
        node = first[pair]
        if node == 0:
            nodes += np.uint32(1)
            node = nodes
            first[pair] = node
            children[np.uint64(node)] = _STAYS
        for place in range(np.uint64(2), np.uint64(lengths[code])):
            key = node << np.uint32(8) | np.uint32(texts[code, place])
            slot = _slot_of(keys, bits, key)
            if keys[slot] == 0:
                nodes += np.uint32(1)
                keys[slot] = key
                nexts[slot] = nodes
                children[np.uint64(node)] += np.uint32(1)
                slots[np.uint64(node)] = np.uint32(slot)
            node = nexts[slot]
        codes[np.uint64(node)] = np.int32(code)
    edges = 0
    for node in range(np.uint64(1), np.uint64(nodes) + np.uint64(1)):
        if codes[node] >= 0:
            children[node] |= _STAYS
        edges += children[node] != 1
    # A chain longer than a label is cut: no more often than it has nodes for that.
    return edges + int(nodes) // LABEL_BYTES


@compiled
def join_edges(
    plain: Plain, codes: NDArray[np.int32], bits: int, edges: NDArray[np.uint64]
) -> None:
    """Join chains of nodes that have one child and end no entry to one edge, of 7 bytes at most.

    An edge is its key, `node << 8 | byte`, below its next node in 24 bits, below the length of its
    label; then the label, which follows the byte, below the code of the next node, 0 for none.
    """
    keys, nexts, children, slots = plain
    for start in range(np.uint64(len(keys))):
        slot = np.uint64(start)
        while keys[slot] != 0 and children[np.uint64(keys[slot] >> np.uint32(8))] != 1:
            key, node = np.uint64(keys[slot]), np.uint64(nexts[slot])
            label, size = np.uint64(0), np.uint64(0)
            while children[node] == 1 and size < LABEL_BYTES:
                slot = np.uint64(slots[node])
                label |= np.uint64(keys[slot] & np.uint32(0xFF)) << (np.uint64(8) * size)
                size += np.uint64(1)
                node = np.uint64(nexts[slot])
            at = _edge_of(edges, bits, key)
            code = np.uint64(max(codes[node], np.int32(0)))
            edges[at, 0] = key | node << np.uint64(32) | size << np.uint64(56)
            edges[at, 1] = label | code << np.uint64(48)
            if children[node] != 1:
                break
            children[node] = _STAYS
            slot = np.uint64(slots[node])


@inlined
def _load_there(data: NDArray[np.uint8], place: np.uint64) -> np.uint64:
    """Return the 8 bytes at `place`, 0 for those behind the end of the data."""
    if place + np.uint64(8) <= np.uint64(len(data)):
        return np.uint64(load(data, place))
    word = np.uint64(0)
    for byte in range(np.uint64(len(data)) - place):
        word |= np.uint64(data[place + byte]) << (np.uint64(8) * byte)
    return word


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
    first, edges, entries = tree
    out, one, two, byte = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(8)
    for item in range(np.uint64(len(offsets) - 1)):
        place, end = np.uint64(offsets[item]), np.uint64(offsets[item + np.uint64(1)])
        while place < end:
            code, length = np.uint64(data[place]), one
            ahead = place + two
            node = np.uint64(0)
            if ahead <= end:
                second = np.uint64(data[ahead - one])
                node = np.uint64(first[np.uint64(data[place]) | second << byte])
                if node and entries[node] >= 0:
                    code, length = np.uint64(entries[node]), two
            while node != 0 and ahead < end:
                # All that decides is worked out before it is asked: such branches are guesses.
                word = _load_there(data, ahead)
                slot = _edge_of(edges, bits, node << byte | (word & np.uint64(0xFF)))
                edge, tail = edges[slot, 0], edges[slot, 1]
                node = edge >> np.uint64(32) & _NODE  # 0 in a free slot.
                size = edge >> np.uint64(56)
                ahead += one + size
                mask = (one << (size << np.uint64(3))) - one
                differs = ((word >> byte) ^ tail) & mask
                if node == 0 or differs or ahead > end:
                    break
                found = tail >> np.uint64(48)
                code = found or code
                length = ahead - place if found else length
            codes[out] = np.uint16(code)
            out += np.uint64(1)
            place += length
        ends[item] = np.uint32(out)
    return int(out)


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
