"""The hot loops that number values in the order in which they first come.

A table of 2**m slots, at most half of them taken, has the codes of values, -1 where a slot is free.
Integers and texts have a table each: an integer is kept in its slot, of a text 32 bits of its hash.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from raydb.kernels.jit import compiled, inlined

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Int: TypeAlias = int | np.int64
    Word: TypeAlias = np.uint64

# 2**64 divided by the golden ratio: a product with it has its high bits from all bits of a number.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_FNV_BASIS = np.uint64(0xCBF29CE484222325)
_FNV_PRIME = np.uint64(0x100000001B3)


class Texts(NamedTuple):
    """The table of texts: by slot their hashes and codes, and by code where each ends in `kept`."""

    hashes: Any
    codes: Any
    ends: Any
    kept: Any


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
    mask = len(codes) - 1
    for place in range(start, len(values)):
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
def _hash(letters: NDArray[np.uint8], start: Int, end: Int) -> Word:
    found = _FNV_BASIS
    for place in range(start, end):
        found = (found ^ np.uint64(letters[place])) * _FNV_PRIME
    return (found * _SPREAD) ^ (found >> np.uint64(29))


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
    hashes, codes, ends, kept = texts.hashes, texts.codes, texts.ends, texts.kept
    mask = np.uint64(len(codes) - 1)
    for place in range(start, len(offsets) - 1):
        first, last = offsets[place], offsets[place + 1]
        hashed = _hash(letters, first, last)
        short = np.uint32(hashed >> np.uint64(32))
        slot = hashed & mask
        while codes[slot] >= 0:
            if hashes[slot] == short:
                code = codes[slot]
                at = ends[code - 1] if code > 0 else np.int64(0)
                same = ends[code] - at == last - first
                letter = first
                while same and letter < last:
                    same = letters[letter] == kept[at + letter - first]
                    letter += 1
                if same:
                    break
            slot = (slot + np.uint64(1)) & mask
        if codes[slot] < 0 and may_add:
            at = ends[count - 1] if count > 0 else np.int64(0)
            size = last - first
            if 2 * count >= len(codes) or count >= len(ends) or at + size > len(kept):
                return place, count
            for letter in range(size):
                kept[at + letter] = letters[first + letter]
            ends[count] = at + size
            hashes[slot] = short
            codes[slot] = count
            count += 1
        out[place] = codes[slot]
    return len(offsets) - 1, count


@compiled
def place_texts(
    ends: NDArray[np.int64],
    kept: NDArray[np.uint8],
    count: int,
    hashes: NDArray[np.uint32],
    codes: NDArray[np.int32],
) -> None:
    """Put the texts of all codes into an empty table."""
    mask = np.uint64(len(codes) - 1)
    first = np.int64(0)
    for code in range(count):
        hashed = _hash(kept, first, ends[code])
        slot = hashed & mask
        while codes[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        hashes[slot] = np.uint32(hashed >> np.uint64(32))
        codes[slot] = code
        first = ends[code]
