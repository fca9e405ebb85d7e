"""Loops that find rows by the codes of their texts: no text is decoded.

Each writes the numbers of the rows that match, ascending, and returns how many there are. The
number of a row is written before it is known whether it matches, so that nothing is guessed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raydb.kernels.codecs.packed_loops import load
from raydb.kernels.jit import compiled, inlined
from raydb.kernels.memory_loops import word_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.kernels.codecs.rows.entries import Entries, Places, Prefix

_ESCAPE = 255
_LOW = np.uint64(0xFFFFFFFF)
NO, YES, MAYBE = 0, 1, 2


@compiled
def match_codes(
    data: NDArray[np.uint8],
    width: np.uint64,
    places: Places,
    indexes: NDArray[np.int64],
    needle: NDArray[np.uint64],
    firsts: NDArray[np.int64],
    out: NDArray[np.int64],
) -> int:
    """Find the rows whose codes are those of a needle.

    indexes: of each chunk the address of the offset of its first row, as uint32; one is behind the
    last.
    """
    mask, found = (np.uint64(1) << width) - np.uint64(1), np.uint64(0)
    wanted = np.uint64(len(needle))
    for chunk in range(np.uint64(len(places.begins))):
        begin, number, index = np.uint64(places.begins[chunk]), firsts[chunk], indexes[chunk]
        for _ in range(np.uint64(places.counts[chunk])):
            offsets = word_at(index)
            index += 4
            start = offsets & _LOW
            if (offsets >> np.uint64(32)) - start == wanted:
                at, same = begin + start * width, np.uint64(0)
                while same < wanted:
                    code = load(data, at >> np.uint64(3)) >> (at & np.uint64(7)) & mask
                    if code != needle[same]:
                        break
                    same += np.uint64(1)
                    at += width
                if same == wanted:
                    out[found] = number
                    found += np.uint64(1)
            number += 1
    return int(found)


@compiled
def judge_entries(entries: Entries, prefix: NDArray[np.uint8], states: NDArray[np.uint8]) -> None:
    """Write of each entry whether a text of it first has a prefix: NO, YES or MAYBE.

    An entry without a head stands for no bytes.
    """
    heads, texts = entries
    wanted = np.uint64(len(prefix))
    for code in range(np.uint64(len(heads))):
        start, size = heads[code] >> np.uint64(32), heads[code] & np.uint64(0xFFFFFFFF)
        states[code] = YES if size >= wanted else MAYBE
        for byte in range(min(size, wanted)):
            if texts[start + byte] != prefix[byte]:
                states[code] = NO
                break


@inlined
def _begins(
    data: NDArray[np.uint8],
    width: np.uint64,
    at: np.uint64,
    end: np.uint64,
    entries: Entries,
    prefix: NDArray[np.uint8],
    escapes: bool,
) -> bool:
    """Tell whether the text of some codes begins with a prefix."""
    heads, texts = entries
    mask, same, wanted = (np.uint64(1) << width) - np.uint64(1), np.uint64(0), len(prefix)
    while same < wanted and at < end:
        code = load(data, at >> np.uint64(3)) >> (at & np.uint64(7)) & mask
        at += width
        if escapes and code == _ESCAPE:
            if data[at >> np.uint64(3)] != prefix[same]:
                return False
            same += np.uint64(1)
            at += width
            continue
        start, size = heads[code] >> np.uint64(32), heads[code] & np.uint64(0xFFFFFFFF)
        for byte in range(min(size, np.uint64(wanted) - same)):
            if texts[start + byte] != prefix[same + byte]:
                return False
        same += size
    return bool(same >= wanted)


@compiled
def match_prefix(
    data: NDArray[np.uint8],
    width: np.uint64,
    places: Places,
    indexes: NDArray[np.int64],
    entries: Entries,
    prefix: Prefix,
    firsts: NDArray[np.int64],
    out: NDArray[np.int64],
) -> int:
    """Find the rows that begin with some bytes; indexes as in `match_codes`.

    Where there are 255 entries, code 255 is followed by a byte that stands for itself.
    """
    mask, found = (np.uint64(1) << width) - np.uint64(1), np.uint64(0)
    escapes, is_any = len(entries.heads) == _ESCAPE, len(prefix.value) == 0
    for chunk in range(np.uint64(len(places.begins))):
        begin, number, index = np.uint64(places.begins[chunk]), firsts[chunk], indexes[chunk]
        for _ in range(np.uint64(places.counts[chunk])):
            offsets = word_at(index)
            index += 4
            at = begin + (offsets & _LOW) * width
            end = begin + (offsets >> np.uint64(32)) * width
            code = load(data, at >> np.uint64(3)) >> (at & np.uint64(7)) & mask
            state = np.uint8(MAYBE)
            if not escapes or code != _ESCAPE:
                state = prefix.states[code]
            if at >= end:
                state = np.uint8(is_any)
            if state == MAYBE:
                state = np.uint8(_begins(data, width, at, end, entries, prefix.value, escapes))
            out[found] = number
            found += np.uint64(state)
            number += 1
    return int(found)
