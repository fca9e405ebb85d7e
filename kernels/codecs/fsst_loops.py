"""The FSST loops: match, parse, encode, decode.

Every index is unsigned: for a signed one numba tests whether it counts from the end, and then LLVM
does not see that eight accesses to bytes are one to a word. Decoding would be five times slower.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raydb.kernels.codecs.packed_loops import load
from raydb.kernels.jit import entry

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.kernels.codecs.fsst import Matcher

ESCAPE = 255


@entry
def load_word(data: NDArray[np.uint8], place: np.uint64) -> np.uint64:
    """Return the 8 bytes at `place` as a little-endian word; past the end of data they are 0."""
    word = np.uint64(0)
    if np.int64(place) > np.int64(len(data)) - 8:
        for byte in range(np.int64(len(data)) - np.int64(place)):
            word |= np.uint64(data[place + np.uint64(byte)]) << np.uint64(8 * byte)
        return word
    return np.uint64(load(data, place))


@entry
def match_word(matcher: Matcher, word: np.uint64, room: np.uint64) -> np.uint64:
    """Return the entry of the longest symbol that `word` begins with and that fits in `room`.

    The entries of a word's first two bytes lie together, longest first; the last one has length 1
    and mask 0, so that the search always ends.
    """
    first, words, masks, lengths, _ = matcher
    entry = np.uint64(first[word & np.uint64(0xFFFF)])
    while (word ^ words[entry]) & masks[entry] != 0 or lengths[entry] > room:
        entry += np.uint64(1)
    return entry


@entry
def encode_items(
    matcher: Matcher,
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    codes: NDArray[np.uint8],
    code_offsets: NDArray[np.uint32],
) -> int:
    """Write the codes of every item and where they end; return how many bytes of codes there are.

    `codes` has room for two bytes a byte of data. Both bytes of an escape are always written; what
    follows a plain code is overwritten by the next.
    """
    _, _, _, lengths, entry_codes = matcher
    out = np.uint64(0)
    code_offsets[0] = 0
    for item in range(len(offsets) - 1):
        place = np.uint64(offsets[item])
        end = np.uint64(offsets[item + 1])
        while place < end:
            word = load_word(data, place)
            entry = match_word(matcher, word, end - place)
            codes[out] = entry_codes[entry]
            codes[out + np.uint64(1)] = np.uint8(word & np.uint64(0xFF))
            out += np.uint64(1) + np.uint64(entry_codes[entry] == ESCAPE)
            place += lengths[entry]
        code_offsets[item + 1] = out
    return int(np.int64(out))


@entry
def parse_items(
    matcher: Matcher,
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    tokens: NDArray[np.uint16],
) -> int:
    """Write what `encode_items` would write as tokens, without item ends; return their number.

    A token is an escaped byte (0..255) or 256 + a code. `tokens` has room for one a byte of data.
    """
    _, _, _, lengths, entry_codes = matcher
    out = np.uint64(0)
    for item in range(len(offsets) - 1):
        place = np.uint64(offsets[item])
        end = np.uint64(offsets[item + 1])
        while place < end:
            word = load_word(data, place)
            entry = match_word(matcher, word, end - place)
            code = entry_codes[entry]
            tokens[out] = np.uint16(word & np.uint64(0xFF)) if code == ESCAPE else 256 + code
            out += np.uint64(1)
            place += lengths[entry]
    return int(np.int64(out))


@entry
def decode_items(
    words: NDArray[np.uint64],
    lengths: NDArray[np.uint8],
    symbol_count: int,
    codes: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
) -> int:
    """Write the bytes of every item and where they end; return how many bytes there are.

    The items lie inside `codes`, and `data` has room for the longest symbol a code, and 8 bytes.
    An item with an unknown code or a lone escape at its end stops the loop: -1 - its number is
    returned.
    """
    out = np.uint64(0)
    known = np.uint8(symbol_count)
    offsets[0] = 0
    for item in range(len(starts)):
        place = np.uint64(starts[item])
        end = np.uint64(ends[item])
        while place < end:
            code = codes[place]
            if code < known:
                word = words[code]
                for byte in range(8):
                    data[out + np.uint64(byte)] = np.uint8(word >> np.uint64(8 * byte))
                out += np.uint64(lengths[code])
                place += np.uint64(1)
            elif code == ESCAPE and place + np.uint64(1) < end:
                data[out] = codes[place + np.uint64(1)]
                out += np.uint64(1)
                place += np.uint64(2)
            else:
                return -1 - item
        offsets[item + 1] = np.int64(out)
    return int(np.int64(out))
