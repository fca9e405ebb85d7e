"""The loops of pairs: a tree of entries, parsing by the longest one, decoding.

The tree: a node is a number from 1 on, 0 is none, and its edge by a byte lies at `node ^ byte`, if
that names the node (a double array: Aoe, 1989). Those of two bytes are in `first`. As few other
texts share what follows it, an edge has further bytes, its label. As in `fsst_loops`, every index
is unsigned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from raydb.kernels.codecs.packed_loops import load
from raydb.kernels.jit import compiled, inlined

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.kernels.codecs.onpair import Tree

LABEL_BYTES = 6
CODE_BITS = 12
_CODE = np.uint64((1 << CODE_BITS) - 1)
_NODE = np.uint64(0xFFFFFF)
_IS_FIRST = np.uint32(1 << 31)


class Plain(NamedTuple):
    """A tree with a node a byte, numbered from 1 on, of which that of longer edges is made.

    codes: the entry that ends at each node; children, siblings: its first child and the next one of
    its parent, 0 for none; labels: the byte that leads to it. homes: where the tree has its number,
    a slot of an edge or, with `_IS_FIRST`, a place of `first`; 0 where a label goes on.
    """

    codes: NDArray[np.uint16]
    children: NDArray[np.uint32]
    siblings: NDArray[np.uint32]
    labels: NDArray[np.uint8]
    homes: NDArray[np.uint32]


@inlined
def _goes_on(plain: Plain, node: np.uint64) -> bool:
    """Tell whether a node ends no entry and has one child."""
    child = np.uint64(plain.children[node])
    return bool(child != 0 and plain.siblings[child] == 0 and plain.codes[node] == 0)


@compiled
def plant(
    first: NDArray[np.uint32],
    plain: Plain,
    texts: NDArray[np.uint8],
    lengths: NDArray[np.uint8],
) -> int:
    """Put the entries from 256 on, of two bytes or more, into an empty plain tree.

    first: filled with the nodes of two bytes. Returns how many edges there are at most where nodes
    that go on are labels.
    """
    codes, children, siblings, labels, homes = plain
    count = np.uint32(0)
    for code in range(np.uint64(256), np.uint64(len(lengths))):
        pair = np.uint64(texts[code, 0]) | np.uint64(texts[code, 1]) << np.uint64(8)
        if first[pair] == 0:
            count += np.uint32(1)
            first[pair] = count
            homes[np.uint64(count)] = np.uint32(pair) | _IS_FIRST
        node = np.uint64(first[pair])
        for place in range(np.uint64(2), np.uint64(lengths[code])):
            byte, child = texts[code, place], np.uint64(children[node])
            while child != 0 and labels[child] != byte:
                child = np.uint64(siblings[child])
            if child == 0:
                count += np.uint32(1)
                child = np.uint64(count)
                labels[child] = byte
                siblings[child], children[node] = children[node], count
            node = child
        codes[node] = np.uint16(code)
    edges = 0
    for number in range(np.uint64(1), np.uint64(count) + np.uint64(1)):
        edges += not _goes_on(plain, number)
    # A chain longer than a label is cut: no more often than it has nodes for that.
    return edges + int(count) // LABEL_BYTES


@inlined
def _fits(
    plain: Plain,
    child: np.uint64,
    node: np.uint64,
    is_taken: NDArray[np.bool_],
    edges: NDArray[np.uint64],
) -> bool:
    """Tell whether a node may have a number: it is free, and so are the slots of its edges."""
    if is_taken[node]:
        return False
    while child != 0:
        if edges[(node ^ np.uint64(plain.labels[child])) << np.uint64(1)] != 0:
            return False
        child = np.uint64(plain.siblings[child])
    return True


@compiled
def place_edges(
    first: NDArray[np.uint32],
    plain: Plain,
    is_taken: NDArray[np.bool_],
    edges: NDArray[np.uint64],
) -> None:
    """Give each node with edges the first number with which they fit, in slots that are zeros.

    An edge is two words: the node that it comes from, below the one that it leads to in 24 bits,
    below the length of its label; then the label, which follows the byte, below the entry that ends
    there.
    """
    codes, children, siblings, labels, homes = plain
    free, one = np.uint64(1), np.uint64(1)
    edges[np.uint64(0)] = _NODE  # No edge: a home is no 0.
    is_taken[np.uint64(0)] = True
    for node in range(one, np.uint64(len(homes))):
        home = np.uint64(homes[node])
        if home == 0:
            continue
        number, child = np.uint64(0), np.uint64(children[node])
        if child != 0:
            while edges[free << one] != 0:
                free += one
            at = free
            number = at ^ np.uint64(labels[child])
            while not _fits(plain, child, number, is_taken, edges):
                at += one
                number = at ^ np.uint64(labels[child])
            is_taken[number] = True
        while child != 0:
            slot, end = number ^ np.uint64(labels[child]), child
            label, size = np.uint64(0), np.uint64(0)
            while _goes_on(plain, end) and size < LABEL_BYTES:
                end = np.uint64(children[end])
                label |= np.uint64(labels[end]) << (np.uint64(8) * size)
                size += one
            edges[slot << one] = number | size << np.uint64(48)
            edges[slot << one | one] = label | np.uint64(codes[end]) << np.uint64(48)
            homes[end] = np.uint32(slot)
            child = np.uint64(siblings[child])
        if home & np.uint64(_IS_FIRST):
            pair = home ^ np.uint64(_IS_FIRST)
            first[pair] = np.uint32(number << np.uint64(CODE_BITS) | np.uint64(codes[node]))
        else:
            edges[home << one] |= number << np.uint64(24)


@inlined
def _load_there(data: NDArray[np.uint8], place: np.uint64) -> np.uint64:
    """Return the 8 bytes at `place`, 0 for those behind the end of the data."""
    if place + np.uint64(8) <= np.uint64(len(data)):
        return np.uint64(load(data, place))
    word = np.uint64(0)
    for byte in range(np.uint64(len(data)) - place):
        word |= np.uint64(data[place + byte]) << (np.uint64(8) * byte)
    return word


@inlined
def parse_item(
    tree: Tree,
    data: NDArray[np.uint8],
    place: np.uint64,
    end: np.uint64,
    codes: NDArray[np.uint16],
    out: np.uint64,
) -> np.uint64:
    """Write the codes of an item from `out` on; return where they end."""
    first, edges = tree
    one, two, byte = np.uint64(1), np.uint64(2), np.uint64(8)
    while place < end:
        code, length, node, ahead = np.uint64(data[place]), one, np.uint64(0), place + two
        if ahead <= end:
            found = np.uint64(first[code | np.uint64(data[ahead - one]) << byte])
            node = found >> np.uint64(CODE_BITS)
            if found & _CODE:
                code, length = found & _CODE, two
        while node != 0 and ahead < end:
            # All that decides is worked out before it is asked: such branches are guesses.
            word = _load_there(data, ahead)
            slot = (node ^ (word & np.uint64(0xFF))) << one
            edge, tail = edges[slot], edges[slot | one]
            size, found = edge >> np.uint64(48), tail >> np.uint64(48)
            ahead += one + size
            mask = (one << (size << np.uint64(3))) - one
            is_there = (edge & _NODE == node) & ((word >> byte ^ tail) & mask == 0)
            is_there &= ahead <= end
            is_longer = is_there & (found != 0)
            code = found if is_longer else code
            length = ahead - place if is_longer else length
            node = edge >> np.uint64(24) & _NODE
            if not is_there:
                break
        codes[out] = np.uint16(code)
        out += one
        place += length
    return out


@compiled
def parse_items(
    tree: Tree,
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    codes: NDArray[np.uint16],
    ends: NDArray[np.uint32],
) -> int:
    """Write the codes of every item and where they end; return how many there are.

    `codes` has room for one a byte.
    """
    out, one = np.uint64(0), np.uint64(1)
    for item in range(np.uint64(len(offsets) - 1)):
        place, end = np.uint64(offsets[item]), np.uint64(offsets[item + one])
        out = parse_item(tree, data, place, end, codes, out)
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
