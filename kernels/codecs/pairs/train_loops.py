"""The loops that count neighbours and make entries of them.

words: the bytes of an entry as four little-endian words, zeros behind its end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raydb.kernels.jit import compiled, inlined

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FACTOR = np.uint64(0x9E3779B97F4A7C15)


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
    last = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    begin = np.uint64(0)
    for item in range(np.uint64(len(ends))):
        end = np.uint64(ends[item])
        for place in range(begin + np.uint64(1), end):
            one, other = codes[place - np.uint64(1)], codes[place]
            if np.int64(lengths[np.uint64(one)]) + np.int64(lengths[np.uint64(other)]) <= longest:
                key = (np.uint32(one) << np.uint32(16) | np.uint32(other)) + np.uint32(1)
                slot = (np.uint64(key) * _FACTOR) >> np.uint64(64 - bits)
                while keys[slot] != 0 and keys[slot] != key:
                    slot = (slot + np.uint64(1)) & last
                keys[slot] = key
                counts[slot] += np.uint32(1)
        begin = end


@inlined
def _is_new(
    entry: np.uint64,
    words: NDArray[np.uint64],
    lengths: NDArray[np.uint8],
    bits: int,
    slots: NDArray[np.uint32],
) -> bool:
    """Put an entry into a hash table of entries, by number and 1; tell whether no other is it."""
    last = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    mixed = np.uint64(lengths[entry])
    for part in range(np.uint64(4)):
        mixed = (mixed ^ words[entry, part]) * _FACTOR
        mixed ^= mixed >> np.uint64(32)
    slot = mixed & last
    while slots[slot] != 0:
        known = np.uint64(slots[slot]) - np.uint64(1)
        is_it = lengths[known] == lengths[entry]
        for part in range(np.uint64(4)):
            is_it &= words[known, part] == words[entry, part]
        if is_it:
            return False
        slot = (slot + np.uint64(1)) & last
    slots[slot] = np.uint32(entry + np.uint64(1))
    return True


@compiled
def add_pairs(
    chosen: NDArray[np.uint32],
    count: int,
    wanted: int,
    words: NDArray[np.uint64],
    lengths: NDArray[np.uint8],
    pairs: NDArray[np.uint16],
    bits: int,
    slots: NDArray[np.uint32],
) -> int:
    """Add up to `wanted` pairs of entries, those that are new; return how many entries there are.

    chosen: both codes in a word. slots: an empty table of 2**bits.
    """
    for entry in range(np.uint64(count)):
        _is_new(entry, words, lengths, bits, slots)
    most = count + wanted
    for place in range(np.uint64(len(chosen))):
        if count >= most:
            break
        left, right = np.uint64(chosen[place] >> 16), np.uint64(chosen[place] & 0xFFFF)
        new, size = np.uint64(count), np.uint64(lengths[left])
        shift, first = (size & np.uint64(7)) << np.uint64(3), size >> np.uint64(3)
        for part in range(np.uint64(4)):
            word = words[left, part]
            if part >= first:
                word |= words[right, part - first] << shift
            if shift and part > first:
                word |= words[right, part - first - np.uint64(1)] >> (np.uint64(64) - shift)
            words[new, part] = word
        lengths[new] = lengths[left] + lengths[right]
        if _is_new(new, words, lengths, bits, slots):
            pairs[new, 0], pairs[new, 1] = left, right
            count += 1
        else:
            for part in range(np.uint64(4)):
                words[new, part] = 0
    return count
