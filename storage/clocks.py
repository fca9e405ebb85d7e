"""TIME WITH TIME ZONE: a time of the day and how far it is from UTC, in one number.

    '10:00:00+02'  ->  08:00 in UTC, 16 hours later, as microseconds  |  15:59:59 - 2 hours
                       the upper bits                                    17 bits

So they compare as numbers: by the moment, and of one moment what is farther ahead of UTC is first,
as in DuckDB. Arrow has no such type. A column has that of durations in nanoseconds, which no other
values have in a table; other libraries and files get texts.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray

TIMETZ = pa.duration("ns")
MOST_OFFSET = 16 * 3600 - 1  # seconds
DAY = 86_400_000_000
_SECOND = 1_000_000
_BIAS = 16 * 3600 * _SECOND
_OFFSET_BITS = 17
_WRITTEN = re.compile(
    r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,9})\d*)?)?"
    r"(?: *(?:[Zz]|([+-])(\d{1,2})(?::?(\d{2})(?::?(\d{2}))?)?))?"
)


def packed(clock: NDArray[np.int64], offset: NDArray[np.int64] | int) -> NDArray[np.int64]:
    """Return the numbers of times: microseconds of the day, and seconds ahead of UTC."""
    moments = clock - np.asarray(offset) * _SECOND + _BIAS
    found: NDArray[np.int64] = (moments << _OFFSET_BITS) | (MOST_OFFSET - np.asarray(offset))
    return found


def clock_of(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the microseconds of the day that clocks show."""
    found: NDArray[np.int64] = (
        (numbers >> _OFFSET_BITS) - _BIAS + offset_of(numbers) * _SECOND
    ) % DAY
    return found


def offset_of(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the seconds that clocks are ahead of UTC."""
    found: NDArray[np.int64] = MOST_OFFSET - (numbers & ((1 << _OFFSET_BITS) - 1))
    return found


def timetz_texts(array: pa.Array) -> pa.Array:
    """Write times as '10:00:00.5+02'."""
    numbers = array.view(pa.int64()).to_pylist()
    return pa.array([None if each is None else _text(each) for each in numbers], pa.string())


def timetz_of(texts: pa.Array) -> pa.Array:
    """Read times, those without an offset as of UTC. Raises pa.ArrowInvalid for other texts."""
    numbers = [None if text is None else _read(text) for text in texts.to_pylist()]
    return pa.array(numbers, pa.int64()).view(TIMETZ)


def time_of(number: int) -> dt.time:
    """Return Python's value."""
    clock, offset = (int(part(np.asarray(number))) for part in (clock_of, offset_of))
    seconds, micros = divmod(clock, _SECOND)
    zone = dt.timezone(dt.timedelta(seconds=offset))
    return dt.time(seconds // 3600, seconds // 60 % 60, seconds % 60, micros, zone)


def number_of(value: dt.time) -> int:
    """Return the number of a time with an offset. Raises ValueError for one of 16 hours."""
    offset = value.utcoffset()
    seconds = 0 if offset is None else round(offset.total_seconds())
    if abs(seconds) > MOST_OFFSET:
        raise ValueError("an offset is less than 16 hours")
    clock = (value.hour * 60 + value.minute) * 60 + value.second
    return int(packed(np.asarray(clock * _SECOND + value.microsecond), seconds))


def _text(number: int) -> str:
    value = time_of(number)
    shown = value.replace(tzinfo=None).isoformat()
    shown = shown.rstrip("0") if "." in shown else shown
    offset = int(offset_of(np.asarray(number)))
    hours, rest = divmod(abs(offset), 3600)
    parts = [hours, *divmod(rest, 60)]
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return f"{shown}{'-' if offset < 0 else '+'}{':'.join(f'{part:02}' for part in parts)}"


def _read(text: str) -> int:
    found = _WRITTEN.fullmatch(text.strip())
    if found is None:
        raise pa.ArrowInvalid("no time")
    hour, minute, second = (int(part or 0) for part in found.groups()[:3])
    micros = (int((found[4] or "").ljust(9, "0")) + 500) // 1000
    hours, minutes, seconds = (int(part or 0) for part in found.groups()[5:])
    offset = (hours * 60 + minutes) * 60 + seconds
    clock = ((hour * 60 + minute) * 60 + second) * _SECOND + micros
    if max(hour // 24, minute // 60, second // 60, minutes // 60, seconds // 60) or clock >= DAY:
        raise pa.ArrowInvalid("no time")
    if offset > MOST_OFFSET:
        raise pa.ArrowInvalid("no offset")
    return int(packed(np.asarray(clock), -offset if found[5] == "-" else offset))
