"""The hot loops that number values in the order in which they first come.

A table of 2**m slots, at most half of them taken, has the codes of values, -1 where a slot is free.
Integers and texts have a table each: an integer is kept in its slot, of a text 32 bits of its hash.
Integers of a narrow span have a slot each, and no keys.

Values come in no order of their slots, so that those of the next ones are asked for early: Chen et
al., "Improving hash join performance through prefetching", ICDE 2004.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from raydb.kernels.jit import compiled, inlined
from raydb.kernels.memory_loops import prefetch, word_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Int: TypeAlias = int | np.int64
    Word: TypeAlias = np.uint64

# 2**64 divided by the golden ratio: a product with it has its high bits from all bits of a number.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_SPREAD_MORE = np.uint64(0xBF58476D1CE4E5B9)
_HALF, _LETTER, _LOW = np.uint64(32), np.uint64(8), np.uint64(2**32 - 1)

# So many values ahead slots are asked for, and so many texts are looked up together.
_AHEAD = 16
TEXTS_AHEAD = 64


class Texts(NamedTuple):
    """The table of texts: by slot a code and 32 bits of a hash, and by code its end in `kept`.

    slots: int32, shape (2**m, 2). ahead: room for what the next texts are looked up by, uint64,
    shape (TEXTS_AHEAD,).
    """

    slots: Any
    ends: Any
    kept: Any
    ahead: Any


@inlined
def _slot_of(key: Int, shift: int) -> Int:
    """Return where an integer is sought first: neighbours lie beside each other, 8 in a line."""
    line = (np.uint64(key >> 3) * _SPREAD) >> np.uint64(shift)
    return np.int64(line) << 3 | (key & 7)


@compiled
def number_integers(
    values: NDArray[np.int64],
    start: int,
    keys: NDArray[np.int64],
    codes: NDArray[np.int32],
    shift: int,
    count: int,
    may_add: bool,
    out: NDArray[np.int32],
) -> tuple[int, int]:
    """Write the codes of values from a place on; return the place and the count that it came to.

    It ends early where half of the table is taken. shift: 67 less the bits of a slot's number. A
    value that is not there gets -1 where none may be added.
    """
    mask, behind = len(codes) - 1, len(values) - 1
    key_bytes, code_bytes = keys.ctypes.data, codes.ctypes.data
    for place in range(start, len(values)):
        slot = _slot_of(values[min(place + _AHEAD, behind)], shift) & mask
        prefetch(key_bytes + 8 * slot)
        prefetch(code_bytes + 4 * slot)
        key = values[place]
        slot = _slot_of(key, shift) & mask
        while codes[slot] >= 0 and keys[slot] != key:
            slot = (slot + 1) & mask
        if codes[slot] < 0 and may_add:
            if 2 * count >= len(codes):
                return place, count
            keys[slot] = key
            codes[slot] = count
            count += 1
        out[place] = codes[slot]
    return len(values), count


@compiled
def number_near(
    values: NDArray[np.int64],
    start: int,
    low: int,
    codes: NDArray[np.int32],
    count: int,
    may_add: bool,
    out: NDArray[np.int32],
) -> tuple[int, int]:
    """Do what `number_integers` does for integers from `low` on, which have a slot each.

    It ends early at one that has none.
    """
    behind = len(values) - 1
    code_bytes = codes.ctypes.data
    for place in range(start, len(values)):
        prefetch(code_bytes + 4 * (values[min(place + _AHEAD, behind)] - low))
        slot = np.uint64(values[place] - low)
        if slot >= np.uint64(len(codes)):
            if may_add:
                return place, count
            out[place] = -1
            continue
        if codes[slot] < 0 and may_add:
            codes[slot] = count
            count += 1
        out[place] = codes[slot]
    return len(values), count


@compiled
def move_integers(
    keys: NDArray[np.int64],
    codes: NDArray[np.int32],
    new_keys: NDArray[np.int64],
    new_codes: NDArray[np.int32],
    shift: int,
) -> None:
    """Put what a table has into a larger one."""
    mask = len(new_codes) - 1
    for old in range(len(codes)):
        if codes[old] >= 0:
            slot = _slot_of(keys[old], shift) & mask
            while new_codes[slot] >= 0:
                slot = (slot + 1) & mask
            new_keys[slot] = keys[old]
            new_codes[slot] = codes[old]


@compiled
def integers_by_code(
    keys: NDArray[np.int64], codes: NDArray[np.int32], values: NDArray[np.int64]
) -> None:
    """Write the value of each code."""
    for slot in range(len(codes)):
        if codes[slot] >= 0:
            values[codes[slot]] = keys[slot]


@inlined
def _word(letters: NDArray[np.uint8], at: Int, size: Int) -> Word:
    """Return up to 8 letters as one number, zeros behind them."""
    if at + 8 <= len(letters):
        word: np.uint64 = word_at(letters.ctypes.data + at)
        if size >= 8:
            return word
        return word & ((np.uint64(1) << (np.uint64(size) * _LETTER)) - np.uint64(1))
    word = np.uint64(0)
    for letter in range(min(size, 8)):
        word |= np.uint64(letters[at + letter]) << (np.uint64(letter) * _LETTER)
    return word


@inlined
def _hash(letters: NDArray[np.uint8], start: Int, end: Int) -> Word:
    found = np.uint64(end - start) * _SPREAD
    for place in range(start, end, 8):
        found = (found ^ _word(letters, place, end - place)) * _SPREAD
        found ^= found >> _HALF
    found *= _SPREAD_MORE
    return found ^ (found >> _HALF)


@inlined
def _is_same(
    letters: NDArray[np.uint8], first: Int, kept: NDArray[np.uint8], at: Int, size: Int
) -> bool:
    for place in range(0, size, 8):
        left = size - place
        if _word(letters, first + place, left) != _word(kept, at + place, left):
            return False
    return True


@inlined
def _short(hashed: Word) -> np.int32:
    return np.int32(hashed >> _HALF)


@inlined
def _look_ahead(
    offsets: NDArray[np.int64], letters: NDArray[np.uint8], begin: Int, end: Int, texts: Texts
) -> None:
    """Find the slot of each text or of another one of its hash, else the free one where it goes.

    ahead: the hash in the upper half, the slot in the lower one. What the comparison needs is asked
    for.
    """
    slots, ends, kept, ahead = texts
    mask = np.uint64(len(slots) - 1)
    for number in range(end - begin):
        at = begin + number
        ahead[number] = _hash(letters, offsets[at], offsets[at + 1])
        prefetch(slots.ctypes.data + 8 * np.int64(ahead[number] & mask))
    for number in range(end - begin):
        hashed = ahead[number]
        slot = hashed & mask
        while slots[slot, 0] >= 0 and slots[slot, 1] != _short(hashed):
            slot = (slot + np.uint64(1)) & mask
        ahead[number] = (hashed >> _HALF) << _HALF | slot
        prefetch(ends.ctypes.data + 8 * (np.int64(slots[slot, 0]) - 1))
    for number in range(end - begin):
        code = np.int64(slots[ahead[number] & _LOW, 0])
        if code > 0:
            prefetch(kept.ctypes.data + ends[code - 1])


@compiled
def number_texts(
    offsets: NDArray[np.int64],
    letters: NDArray[np.uint8],
    start: int,
    texts: Texts,
    count: int,
    may_add: bool,
    out: NDArray[np.int32],
) -> tuple[int, int]:
    """Do what `number_integers` does for texts, which lie between offsets of letters.

    It ends early, too, where there is no room for a text.
    """
    slots, ends, kept, ahead = texts
    mask = np.uint64(len(slots) - 1)
    for place in range(start, len(offsets) - 1):
        turn = (place - start) % TEXTS_AHEAD
        if turn == 0:
            end = min(place + TEXTS_AHEAD, len(offsets) - 1)
            _look_ahead(offsets, letters, place, end, texts)
        first = offsets[place]
        size = offsets[place + 1] - first
        short, slot = _short(ahead[turn]), ahead[turn] & _LOW
        while slots[slot, 0] >= 0:
            if slots[slot, 1] == short:
                code = slots[slot, 0]
                at = ends[code - 1] if code > 0 else np.int64(0)
                if ends[code] - at == size and _is_same(letters, first, kept, at, size):
                    break
            slot = (slot + np.uint64(1)) & mask
        if slots[slot, 0] < 0 and may_add:
            at = ends[count - 1] if count > 0 else np.int64(0)
            if 2 * count >= len(slots) or count >= len(ends) or at + size > len(kept):
                return place, count
            for letter in range(size):
                kept[at + letter] = letters[first + letter]
            ends[count] = at + size
            slots[slot, 0], slots[slot, 1] = count, short
            count += 1
        out[place] = slots[slot, 0]
    return len(offsets) - 1, count


@compiled
def place_texts(
    ends: NDArray[np.int64], kept: NDArray[np.uint8], count: int, slots: NDArray[np.int32]
) -> None:
    """Put the texts of all codes into an empty table."""
    mask = np.uint64(len(slots) - 1)
    first = np.int64(0)
    for code in range(count):
        hashed = _hash(kept, first, ends[code])
        slot = hashed & mask
        while slots[slot, 0] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot, 0], slots[slot, 1] = code, _short(hashed)
        first = ends[code]
