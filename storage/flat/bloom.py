"""Split-block bloom filters: one 32-byte block a key, one bit in each of its eight words.

A chunk's filter has 10 bits a distinct key, and takes 1 to 2 % of the absent keys for present. The
key's 64-bit hash chooses the block with its upper half and the bits with its lower half, as
the filters of Parquet do:

    block = (hash >> 32) * block_count >> 32        bit of word i = (low half * SALT[i]) >> 27
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from xxhash import xxh3_64_intdigest

from raydb.storage.flat.encodings.bits import loops_for

if TYPE_CHECKING:
    from types import ModuleType

    from numpy.typing import NDArray

BLOCK_BYTES = 32
BITS_A_KEY = 10

_SALT = np.array(
    [
        0x47B6137B,
        0x44974D91,
        0x8824AD5B,
        0xA2B7289D,
        0x705495C7,
        0x2DF1424B,
        0x9EFC4947,
        0x5C6BFB31,
    ],
    np.uint32,
)
# What XXH3 mixes in where there is no seed.
_SECRET = np.frombuffer(
    bytes.fromhex(
        "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
        "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
        "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
        "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
        "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
        "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
    ),
    np.uint8,
)
_HALF = np.uint64(32)
_BIT_SHIFT = np.uint32(27)


def hash_integers(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Return splitmix64's finalizer of each integer's 64 bits, sign-extended."""
    mixed = values.astype(np.int64).view(np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def hash_texts(values: list[bytes]) -> NDArray[np.uint64]:
    """Return the XXH3-64 of each byte string."""
    return np.fromiter(map(xxh3_64_intdigest, values), np.uint64, len(values))


def hash_parts(data: NDArray[np.uint8], offsets: NDArray[Any]) -> NDArray[np.uint64]:
    """Return the XXH3-64 of each text from offsets[row] to offsets[row + 1] of the bytes."""
    loops = _loops_for(0)
    if loops is None:
        texts, ends = data.tobytes(), offsets.tolist()
        return hash_texts([texts[start:end] for start, end in pairwise(ends)])
    bounds = offsets.astype(np.int64)
    hashes = np.empty(len(bounds) - 1, np.uint64)
    for each in (data, bounds, _SECRET):
        each.flags.writeable = False  # One type of array: the loop is compiled once.
    loops.hash_texts(data, bounds, _SECRET, hashes)
    for row in np.flatnonzero(np.diff(bounds) > loops.LONGEST_TEXT).tolist():
        hashes[row] = xxh3_64_intdigest(data[bounds[row] : bounds[row + 1]].data)
    return hashes


def _loops_for(count: int) -> ModuleType | None:
    """Return the compiled loops for so many rows; None where NumPy has done before they come."""
    if loops_for(count) is None:
        return None
    from raydb.kernels.codecs import bloom_loops  # noqa: PLC0415  (numba is there, or pays)

    return bloom_loops


def build_filters(
    hashes: NDArray[np.uint64], bounds: NDArray[np.int64], row_count: int
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the filters of chunks one after another, and how many blocks each has.

    hashes: bounds[chunk] to bounds[chunk + 1] of each; they are moved. row_count: of the whole
    column. The filters are uint32, shape (block_count, 8).
    """
    sizes = np.diff(bounds)
    loops = _loops_for(row_count)
    if loops is None:
        some = [_build_filter(_distinct(hashes[start:end])) for start, end in pairwise(bounds)]
        return np.concatenate(some), np.array([len(each) for each in some], np.uint32)
    counts = np.empty(len(sizes), np.uint32)
    words = np.zeros((int(_block_counts(sizes).sum()), 8), np.uint32)
    slots = np.empty(1 << (2 * int(sizes.max())).bit_length(), np.uint64)
    loops.fill_filters(hashes, bounds, _SALT, BITS_A_KEY, slots, counts, words)
    return words[: int(counts.sum())], counts


def _block_counts(key_counts: Any) -> Any:
    return np.maximum(-(-key_counts * BITS_A_KEY // (8 * BLOCK_BYTES)), 1)


def _distinct(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the distinct values by a sort, which NumPy does 5x faster than its np.unique."""
    ordered = np.sort(hashes)
    return ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])] if len(hashes) else hashes


def _build_filter(hashes: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """Return the filter of distinct hashes in ascending order."""
    block_count = int(_block_counts(len(hashes)))
    words = np.zeros((block_count, 8), np.uint32)
    blocks = (((hashes >> _HALF) * np.uint64(block_count)) >> _HALF).astype(np.int64)
    if len(hashes):
        # A block is the high part of a hash, so the hashes of one block lie side by side.
        firsts = np.flatnonzero(np.diff(blocks, prepend=-1))
        words[blocks[firsts]] = np.bitwise_or.reduceat(_bits(hashes), firsts, axis=0)
    return words


def may_contain(
    words: NDArray[np.uint32], starts: NDArray[np.uint32], digest: int
) -> NDArray[np.bool_]:
    """Tell of each of several filters whether it may hold a key with this hash; False is certain.

    words: the blocks of all filters, shape (block_count, 8). starts: the first block of each
    filter and their end, shape (filter_count + 1,). A filter without a block holds nothing.
    """
    firsts, counts = starts[:-1].astype(np.int64), np.diff(starts).astype(np.uint64)
    key = np.array([digest], np.uint64)
    blocks = (((key >> _HALF) * counts) >> _HALF).astype(np.int64)
    present = counts > 0
    found = np.zeros(len(counts), np.bool_)
    bits = _bits(key)
    found[present] = ((words[(firsts + blocks)[present]] & bits) == bits).all(axis=1)
    return found


def _bits(hashes: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """Return the bit that each hash sets in each word of its block, shape (count, 8)."""
    shifts = (hashes.astype(np.uint32)[:, None] * _SALT[None, :]) >> _BIT_SHIFT
    return np.uint32(1) << shifts
