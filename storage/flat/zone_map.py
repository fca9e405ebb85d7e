"""The zone map of a chunk: its least and greatest value, NULLs and NaN left out.

Numbers are kept as 64 bits in a ChunkRange, floats as the bits of a float64. Texts are cut to 24
bytes, a greatest text upwards, so that every value lies between the bounds:

    least "zebra crossing ahead, please wait"  ->  "zebra crossing ahead, pl"
    greatest                                   ->  "zebra crossing ahead, pm"
"""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from raydb.late import pc
from raydb.storage.flat.encodings.bits import signed_64
from raydb.storage.flat.encodings.survey import survey_loops
from raydb.storage.flat.layout import CHUNK_RANGE, Flags, Kind
from raydb.values import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.storage.flat.encodings.encoding import Values

MAX_TEXT_BYTES = 24

_ALL_VALID = np.empty(0, np.bool_)
_FLOAT = struct.Struct("<d")
_WORD = struct.Struct("<q")
EXACT = Flags.HAS_BOUNDS | Flags.MINIMUM_EXACT | Flags.MAXIMUM_EXACT


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


class ZoneMap(NamedTuple):
    """What is written of a chunk's bounds: its flags, the ChunkRange of numbers, cut texts."""

    flags: int = 0
    value_range: bytes = b""
    least: bytes = b""
    greatest: bytes = b""


# Of texts and nested values, and of numbers, without bounds.
NO_TEXTS, NO_NUMBERS = ZoneMap(), ZoneMap(0, bytes(CHUNK_RANGE.size))


def integer_zone(least: int, greatest: int) -> ZoneMap:
    """Return the zone map of integers; a uint64 is stored modulo 2**64."""
    return ZoneMap(EXACT, CHUNK_RANGE.pack(signed_64(least), signed_64(greatest)))


def float_zone(values: NDArray[Any]) -> ZoneMap:
    """Return the zone map of floats, NaN aside; there is at least one value."""
    # The place takes a half of the time that a reduction takes; that of a NaN comes first.
    least, greatest = values.item(values.argmin()), values.item(values.argmax())
    flags = EXACT
    if math.isnan(least):
        flags |= Flags.HAS_NAN
        numbers = values[~np.isnan(values)]
        if not len(numbers):
            return ZoneMap(Flags.HAS_NAN, bytes(CHUNK_RANGE.size))
        least, greatest = float(numbers.min()), float(numbers.max())
    return ZoneMap(flags, _FLOAT.pack(least) + _FLOAT.pack(greatest))


def text_zone(values: Values, mask: NDArray[np.bool_] | None) -> ZoneMap:
    """Return the zone map of texts or bytes, at least one of which is not NULL.

    mask: which of them are not; None where none is.
    """
    return zone_of_texts(*_text_bounds(values, mask))


def zone_of_texts(least: bytes, greatest: bytes) -> ZoneMap:
    """Return the zone map of texts of which two are the least and the greatest."""
    flags = Flags.HAS_BOUNDS
    if len(least) <= MAX_TEXT_BYTES:
        flags |= Flags.MINIMUM_EXACT
    if len(greatest) <= MAX_TEXT_BYTES:
        return ZoneMap(flags | Flags.MAXIMUM_EXACT, b"", least[:MAX_TEXT_BYTES], greatest)
    above = round_up(greatest[:MAX_TEXT_BYTES])
    flags |= 0 if above else Flags.MAXIMUM_UNBOUNDED
    return ZoneMap(flags, b"", least[:MAX_TEXT_BYTES], above or b"")


def _text_bounds(values: Values, mask: NDArray[np.bool_] | None) -> tuple[bytes, bytes]:
    loops = survey_loops()
    if loops is None:
        bounds = pc.min_max(values.array)
        return bounds["min"].as_buffer().to_pybytes(), bounds["max"].as_buffer().to_pybytes()
    data, offsets = values.text_parts
    valid = _ALL_VALID if mask is None else mask
    for each in (data, offsets, valid):
        each.flags.writeable = False  # One type of array: the loop is compiled once.
    rows = loops.survey_texts(data, offsets, valid)
    least, greatest = (data[offsets[row] : offsets[row + 1]].tobytes() for row in rows)
    return least, greatest


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
