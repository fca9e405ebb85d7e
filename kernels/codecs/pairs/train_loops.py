"""The loops that count neighbours and make entries of them.

words: the bytes of an entry as four little-endian words, zeros behind its end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from raydb.kernels.jit import compiled, inlined

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FACTOR = np.uint64(0x9E3779B97F4A7C15)


class PairRoom(NamedTuple):
    """Where neighbours are counted.

    starts, stops: by code, where the codes that follow it begin and end in `followers`, which has
    room for all codes and one more. counts: by code, zeros.
    """

    starts: NDArray[np.uint32]
    stops: NDArray[np.uint32]
    followers: NDArray[np.uint16]
    counts: NDArray[np.uint32]


@inlined
def _slot_of(key: np.uint32, bits: int, keys: NDArray[np.uint32]) -> np.uint64:
    """Return where a key is, or has room, in a table of 2**bits."""
    last = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    slot = (np.uint64(key) * _FACTOR) >> np.uint64(64 - bits)
    while keys[slot] != 0 and keys[slot] != key:
        slot = (slot + np.uint64(1)) & last
    return slot


@inlined
def _key_of(one: np.uint16, other: np.uint16) -> np.uint32:
    """Return both codes and 1."""
    return np.uint32((np.uint32(one) << np.uint32(16) | np.uint32(other)) + np.uint32(1))


@compiled
def count_pairs(
    codes: NDArray[np.uint16],
    ends: NDArray[np.uint32],
    lengths: NDArray[np.uint8],
    longest: int,
    least: int,
    room: PairRoom,
    found: NDArray[np.uint64],
) -> int:
    """Find the neighbours in items that occur `least` times and make no entry above `longest`.

    Returns how many pairs are found: each is ~count above both codes. found: room for one a code
    and one more. What follows each code is put side by side, and counted there.
    """
    starts, stops, followers, counts = room
    one, bits = np.uint64(1), np.uint64(16)
    starts[:] = 0
    for place in range(np.uint64(len(codes))):
        starts[np.uint64(codes[place]) + one] += np.uint32(1)
    for number in range(np.uint64(len(stops))):
        stops[number] = starts[number]
        starts[number + one] += starts[number]
    begin = np.uint64(0)
    for item in range(np.uint64(len(ends))):
        end = np.uint64(ends[item])
        for place in range(begin + one, end):
            code, follower = np.uint64(codes[place - one]), codes[place]
            length = np.int64(lengths[code]) + np.int64(lengths[np.uint64(follower)])
            followers[np.uint64(stops[code])] = follower
            stops[code] += np.uint32(length <= longest)
        begin = end
    # Nothing is asked that is not foreseen: a count is written, and stays where it is enough.
    to = np.uint64(0)
    for number in range(np.uint64(len(stops))):
        first, last = np.uint64(starts[number]), np.uint64(stops[number])
        for place in range(first, last):
            counts[np.uint64(followers[place])] += np.uint32(1)
        for place in range(first, last):
            followed = np.uint64(followers[place])
            count = np.uint64(counts[followed])
            found[to] = ~count << np.uint64(32) | number << bits | followed
            to += np.uint64(count >= np.uint64(least))
            counts[followed] = 0
    return int(to)


@compiled
def join_pairs(
    codes: NDArray[np.uint16],
    ends: NDArray[np.uint32],
    pairs: NDArray[np.uint16],
    first: int,
    bits: int,
    keys: NDArray[np.uint32],
    joined: NDArray[np.uint16],
) -> int:
    """Join neighbours in items that are a pair from `first` on; return how many codes are left.

    codes, ends: changed in place. keys, joined: an empty table of 2**bits.
    """
    for pair in range(np.uint64(first), np.uint64(len(pairs))):
        key = _key_of(pairs[pair, 0], pairs[pair, 1])
        slot = _slot_of(key, bits, keys)
        keys[slot], joined[slot] = key, np.uint16(pair)
    begin, to = np.uint64(0), np.uint64(0)
    for item in range(np.uint64(len(ends))):
        end = np.uint64(ends[item])
        if begin < end:
            held = codes[begin]
            for place in range(begin + np.uint64(1), end):
                key = _key_of(held, codes[place])
                slot = _slot_of(key, bits, keys)
                if keys[slot] == key:
                    held = joined[slot]
                else:
                    codes[to], held = held, codes[place]
                    to += np.uint64(1)
            codes[to] = held
            to += np.uint64(1)
        begin = end
        ends[item] = np.uint32(to)
    return int(to)


@compiled
def part_codes(
    codes: NDArray[np.uint16],
    ends: NDArray[np.uint32],
    pairs: NDArray[np.uint16],
    is_kept: NDArray[np.bool_],
    places: NDArray[np.uint16],
    out: NDArray[np.uint16],
) -> int:
    """Write the new places of codes, two for one that is not kept; return how many these are.

    ends: changed in place.
    """
    begin, to = np.uint64(0), np.uint64(0)
    for item in range(np.uint64(len(ends))):
        end = np.uint64(ends[item])
        for place in range(begin, end):
            code = np.uint64(codes[place])
            if is_kept[code]:
                out[to] = places[code]
                to += np.uint64(1)
            else:
                out[to] = places[np.uint64(pairs[code, 0])]
                out[to + np.uint64(1)] = places[np.uint64(pairs[code, 1])]
                to += np.uint64(2)
        begin = end
        ends[item] = np.uint32(to)
    return int(to)


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
