"""Split-block bloom filters: one 32-byte block a key, one bit in each of its eight words.

A chunk's filter has 10 bits a distinct key, and takes 1 to 2 % of the absent keys for present. The
key's 64-bit hash chooses the block with its upper half and the bits with its lower half, as
the filters of Parquet do:

    block = (hash >> 32) * block_count >> 32        bit of word i = (low half * SALT[i]) >> 27
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from xxhash import xxh3_64_intdigest

if TYPE_CHECKING:
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


def build_filter(hashes: NDArray[np.uint64], *, is_one_of_many: bool) -> NDArray[np.uint32]:
    """Return the filter of distinct hashes in ascending order; uint32, shape (block_count, 8).

    is_one_of_many: whether a compiled loop pays off, which takes 30 us for 16,384 hashes instead
    of 120, and 0.3 s to import.
    """
    block_count = max(1, -(-len(hashes) * BITS_A_KEY // (8 * BLOCK_BYTES)))
    words = np.zeros((block_count, 8), np.uint32)
    if is_one_of_many:
        from raydb.kernels.codecs.bloom_loops import set_bits  # noqa: PLC0415  (as above)

        set_bits(hashes, _SALT, words)
        return words
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
