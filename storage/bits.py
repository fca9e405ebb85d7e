"""BIT: texts of 0 and 1, of any length. A column has a byte for each, so that they sort as texts.

Other libraries and files get texts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable

# No other values of a table have this type: a BLOB has 32-bit offsets.
BIT = pa.large_binary()
_WRITTEN = re.compile("[01]+")
_HEXADECIMAL = re.compile("0[xX]([0-9a-fA-F]+)")


def bit_texts(array: pa.Array) -> pa.Array:
    """Write bits as texts."""
    return array.cast(pa.large_string()).cast(pa.string())


def bits_of(texts: pa.Array) -> pa.Array:
    """Read texts such as '0101' and '0x5F'. Raises pa.ArrowInvalid for one that is no bits."""
    return pa.array([None if text is None else _read(text) for text in texts.to_pylist()], BIT)


def bits_of_number(value: int, width: int) -> bytes:
    """Return the bits of a number, so many of them; the last ones where it has more.

    >>> bits_of_number(-2, 4)
    b'1110'
    """
    return format(value & ((1 << width) - 1), f"0{width}b").encode()


def combined(function: Callable[[int, int], int], one: bytes, other: bytes) -> bytes:
    """Return the bits of two as a function of numbers combines them; both are of one length."""
    return bits_of_number(function(int(one, 2), int(other, 2)), len(one))


def _read(text: str) -> bytes:
    text = text.strip()
    found = _HEXADECIMAL.fullmatch(text)
    if found is not None:
        return bits_of_number(int(found[1], 16), 4 * len(found[1]))
    if _WRITTEN.fullmatch(text) is None:
        raise pa.ArrowInvalid("no bits")
    return text.encode()
