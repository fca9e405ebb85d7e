"""The loops of bloom filters: hashes of texts, and their bits, as `storage.flat.bloom` has them.

Texts of up to 240 bytes are hashed here, by the steps that XXH3-64 has for them; longer ones are
few. secret: the 192 bytes that are mixed in where there is no seed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raydb.kernels.codecs.packed_loops import load
from raydb.kernels.jit import compiled, inlined

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The longest text that `hash_texts` takes.
LONGEST_TEXT = 240
_BLOCK_BITS = np.uint64(256)

_PRIME_1 = np.uint64(0x9E3779B185EBCA87)
_PRIME_2 = np.uint64(0xC2B2AE3D27D4EB4F)
_PRIME_3 = np.uint64(0x165667B19E3779F9)
_MIXED_1 = np.uint64(0x165667919E3779F9)
_MIXED_2 = np.uint64(0x9FB21C651E98DF25)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


@inlined
def _load_half(data: NDArray[np.uint8], place: np.uint64) -> np.uint64:
    """Return the 4 bytes at `place` as a little-endian word."""
    return (
        np.uint64(data[place])
        | np.uint64(data[place + np.uint64(1)]) << np.uint64(8)
        | np.uint64(data[place + np.uint64(2)]) << np.uint64(16)
        | np.uint64(data[place + np.uint64(3)]) << np.uint64(24)
    )


@inlined
def _turned(word: np.uint64) -> np.uint64:
    """Return the bytes of a word in the opposite order."""
    turned = np.uint64(0)
    for byte in range(8):
        turned |= (word >> np.uint64(8 * byte) & np.uint64(0xFF)) << np.uint64(56 - 8 * byte)
    return turned


@inlined
def _rotated(word: np.uint64, bits: int) -> np.uint64:
    return word << np.uint64(bits) | word >> np.uint64(64 - bits)


@inlined
def _folded(one: np.uint64, other: np.uint64) -> np.uint64:
    """Return the lower half of the product, 128 bits, with the upper one mixed in."""
    low = (one & _LOW) * (other & _LOW)
    cross = (one >> _HALF) * (other & _LOW) + (low >> _HALF)
    middle = (one & _LOW) * (other >> _HALF) + (cross & _LOW)
    high = (one >> _HALF) * (other >> _HALF) + (cross >> _HALF) + (middle >> _HALF)
    return high ^ (middle << _HALF | low & _LOW)


@inlined
def _spread(word: np.uint64) -> np.uint64:
    word = (word ^ word >> np.uint64(37)) * _MIXED_1
    return word ^ word >> _HALF


@inlined
def _spread_few(word: np.uint64) -> np.uint64:
    word = (word ^ word >> np.uint64(33)) * _PRIME_2
    word = (word ^ word >> np.uint64(29)) * _PRIME_3
    return word ^ word >> _HALF


@inlined
def _sixteen(
    data: NDArray[np.uint8], place: np.uint64, secret: NDArray[np.uint8], at: int
) -> np.uint64:
    """Return what 16 bytes add, mixed with 16 of the secret."""
    low = load(data, place) ^ load(secret, np.uint64(at))
    high = load(data, place + np.uint64(8)) ^ load(secret, np.uint64(at + 8))
    return np.uint64(_folded(low, high))


@inlined
def _hash_few(
    data: NDArray[np.uint8], start: np.uint64, size: np.uint64, secret: NDArray[np.uint8]
) -> np.uint64:
    """Return the hash of a text of at most 16 bytes."""
    one, four, eight = np.uint64(1), np.uint64(4), np.uint64(8)
    if size > 8:
        low = load(secret, np.uint64(24)) ^ load(secret, np.uint64(32)) ^ load(data, start)
        high = load(secret, np.uint64(40)) ^ load(secret, np.uint64(48))
        high ^= load(data, start + size - eight)
        return np.uint64(_spread(size + _turned(low) + high + _folded(low, high)))
    if size >= 4:
        word = _load_half(data, start + size - four) + (_load_half(data, start) << _HALF)
        word ^= load(secret, eight) ^ load(secret, np.uint64(16))
        word ^= _rotated(word, 49) ^ _rotated(word, 24)
        word *= _MIXED_2
        word ^= (word >> np.uint64(35)) + size
        word *= _MIXED_2
        return np.uint64(word ^ word >> np.uint64(28))
    if size:
        middle, last = data[start + (size >> one)], data[start + size - one]
        word = np.uint64(data[start]) << np.uint64(16) | np.uint64(middle) << np.uint64(24)
        word |= np.uint64(last) | size << eight
        word ^= _load_half(secret, np.uint64(0)) ^ _load_half(secret, four)
        return np.uint64(_spread_few(word))
    return np.uint64(_spread_few(load(secret, np.uint64(56)) ^ load(secret, np.uint64(64))))


@inlined
def _hash_some(
    data: NDArray[np.uint8], start: np.uint64, size: np.uint64, secret: NDArray[np.uint8]
) -> np.uint64:
    """Return the hash of a text of 17 to 240 bytes."""
    total, sixteen = size * _PRIME_1, np.uint64(16)
    if size <= 128:
        for number in range((int(size) - 1) // 32, -1, -1):
            ahead = np.uint64(16 * number)
            total += _sixteen(data, start + ahead, secret, 32 * number)
            total += _sixteen(data, start + size - sixteen - ahead, secret, 32 * number + 16)
        return np.uint64(_spread(total))
    for number in range(8):
        total += _sixteen(data, start + np.uint64(16 * number), secret, 16 * number)
    total = _spread(total)
    for number in range(8, int(size) // 16):
        total += _sixteen(data, start + np.uint64(16 * number), secret, 16 * number - 125)
    return np.uint64(_spread(total + _sixteen(data, start + size - sixteen, secret, 119)))


@compiled
def hash_texts(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    secret: NDArray[np.uint8],
    hashes: NDArray[np.uint64],
) -> None:
    """Write the XXH3-64 of each text of at most 240 bytes; leave out those of longer ones."""
    for row in range(np.uint64(len(hashes))):
        start = np.uint64(offsets[row])
        size = np.uint64(offsets[row + np.uint64(1)]) - start
        if size <= 16:
            hashes[row] = _hash_few(data, start, size, secret)
        elif size <= LONGEST_TEXT:
            hashes[row] = _hash_some(data, start, size, secret)


@inlined
def _keep_distinct(
    hashes: NDArray[np.uint64], begin: np.uint64, end: np.uint64, slots: NDArray[np.uint64]
) -> np.uint64:
    """Put the distinct hashes of some before the others; return where they end."""
    to, last, has_zero = begin, np.uint64(len(slots) - 1), False
    slots[:] = 0
    for place in range(begin, end):
        key = hashes[place]
        slot = key & last
        while slots[slot] != 0 and slots[slot] != key:
            slot = (slot + np.uint64(1)) & last
        # A slot of zero is free: the first zero is told apart.
        is_new = slots[slot] != key or (key == 0 and not has_zero)
        has_zero |= key == 0
        slots[slot] = key
        hashes[to] = key
        to += np.uint64(is_new)
    return to


@compiled
def fill_filters(
    hashes: NDArray[np.uint64],
    bounds: NDArray[np.int64],
    salts: NDArray[np.uint32],
    bits_a_key: int,
    slots: NDArray[np.uint64],
    counts: NDArray[np.uint32],
    words: NDArray[np.uint32],
) -> None:
    """Write the filters of chunks one after another, and of how many blocks each is.

    hashes: bounds[chunk] to bounds[chunk + 1] of each; they are moved. slots: a power of two, twice
    as many as a chunk has or more. words: zeros, shape (block_count, 8); as many blocks as there
    were if all hashes of a chunk differed.
    """
    half, first = np.uint64(32), np.uint64(0)
    for chunk in range(np.uint64(len(counts))):
        begin = np.uint64(bounds[chunk])
        end = _keep_distinct(hashes, begin, np.uint64(bounds[chunk + np.uint64(1)]), slots)
        bits = (end - begin) * np.uint64(bits_a_key)
        block_count = max((bits + _BLOCK_BITS - np.uint64(1)) // _BLOCK_BITS, np.uint64(1))
        for place in range(begin, end):
            block = first + (((hashes[place] >> half) * block_count) >> half)
            low = np.uint32(hashes[place] & _LOW)
            for word in range(np.uint64(8)):
                shift = np.uint32(low * salts[word]) >> np.uint32(27)
                words[block, word] |= np.uint32(1) << shift
        counts[chunk] = np.uint32(block_count)
        first += block_count
