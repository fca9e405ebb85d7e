"""The zone map of a chunk: its least and greatest value, NULLs and NaN left out.

Numbers are kept as 64 bits in a ChunkRange, floats as the bits of a float64. Texts are cut to 24
bytes, a greatest text upwards, so that every value lies between the bounds:

    least "zebra crossing ahead, please wait"  ->  "zebra crossing ahead, pl"
    greatest                                   ->  "zebra crossing ahead, pm"
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from raydb.storage.flat.encodings.bits import signed_64
from raydb.storage.flat.layout import CHUNK_RANGE, Flags, Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_TEXT_BYTES = 24

_FLOAT = struct.Struct("<d")
_WORD = struct.Struct("<q")


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a chunk's zone map says; `None` where it says nothing, and for an open upper end.

    Numbers are int or float, texts bytes. Decimals are unscaled, dates and times integers.
    """

    minimum: Any
    maximum: Any
    has_nan: bool
    minimum_exact: bool
    maximum_exact: bool


def pack_integers(least: int, greatest: int) -> bytes:
    """Return the ChunkRange of integers; a uint64 is stored modulo 2**64."""
    return CHUNK_RANGE.pack(signed_64(least), signed_64(greatest))


def pack_floats(values: NDArray[Any]) -> tuple[bytes, int]:
    """Return the ChunkRange of floats, NaN aside, and the flags; there is at least one value."""
    least, greatest = float(values.min()), float(values.max())
    flags = Flags.HAS_BOUNDS | Flags.MINIMUM_EXACT | Flags.MAXIMUM_EXACT
    if math.isnan(least):
        flags |= Flags.HAS_NAN
        numbers = values[~np.isnan(values)]
        if not len(numbers):
            return bytes(CHUNK_RANGE.size), Flags.HAS_NAN
        least, greatest = float(numbers.min()), float(numbers.max())
    return _FLOAT.pack(least) + _FLOAT.pack(greatest), flags


def bound_texts(array: Any) -> tuple[bytes, bytes, int]:
    """Return the cut bounds of an Arrow array of texts or bytes with a value, and the flags."""
    bounds = pc.min_max(array)
    least, greatest = (bounds[end].as_buffer().to_pybytes() for end in ("min", "max"))
    flags = Flags.HAS_BOUNDS
    if len(least) <= MAX_TEXT_BYTES:
        flags |= Flags.MINIMUM_EXACT
    if len(greatest) <= MAX_TEXT_BYTES:
        return least[:MAX_TEXT_BYTES], greatest, flags | Flags.MAXIMUM_EXACT
    above = round_up(greatest[:MAX_TEXT_BYTES])
    if above is None:
        return least[:MAX_TEXT_BYTES], b"", flags | Flags.MAXIMUM_UNBOUNDED
    return least[:MAX_TEXT_BYTES], above, flags


def round_up(prefix: bytes) -> bytes | None:
    """Return the least string above all that begin with `prefix`; None if there is none.

    >>> round_up(b"ab")
    b'ac'
    """
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None


def unpack_range(kind: Kind, packed: memoryview, flags: int) -> Bounds | None:
    """Return the bounds of a chunk of numbers; None if its flags say that there are none."""
    if not flags & Flags.HAS_BOUNDS:
        return None
    if kind is Kind.FLOAT:
        (least,), (greatest,) = _FLOAT.unpack(packed[:8]), _FLOAT.unpack(packed[8:])
    else:
        (least,), (greatest,) = _WORD.unpack(packed[:8]), _WORD.unpack(packed[8:])
        if kind is Kind.UNSIGNED:
            least, greatest = least % 2**64, greatest % 2**64
    exact = bool(flags & Flags.MINIMUM_EXACT), bool(flags & Flags.MAXIMUM_EXACT)
    return Bounds(least, greatest, bool(flags & Flags.HAS_NAN), *exact)


def unpack_texts(least: bytes, greatest: bytes, flags: int) -> Bounds | None:
    """Return the bounds of a chunk of texts; None if its flags say that there are none."""
    if not flags & Flags.HAS_BOUNDS:
        return None
    above = None if flags & Flags.MAXIMUM_UNBOUNDED else greatest
    exact = bool(flags & Flags.MINIMUM_EXACT), bool(flags & Flags.MAXIMUM_EXACT)
    return Bounds(least, above, has_nan=False, minimum_exact=exact[0], maximum_exact=exact[1])
