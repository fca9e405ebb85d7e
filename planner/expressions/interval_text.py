"""Intervals as text, in PostgreSQL's style, and the names of units.

'1 year 2 mons 3 days 04:05:06.5'  <->  months 14, days 3, microseconds 14706500000
"""

from __future__ import annotations

import re
from decimal import Decimal

import pyarrow as pa

DAY_MICROSECONDS = 86_400_000_000
MONTH_DAYS = 30  # where a fraction of a month becomes days, and where intervals are compared
# A unit of an interval in months, days and microseconds.
UNITS: dict[str, tuple[int, int, int]] = {
    "microsecond": (0, 0, 1),
    "millisecond": (0, 0, 1_000),
    "second": (0, 0, 1_000_000),
    "minute": (0, 0, 60_000_000),
    "hour": (0, 0, 3_600_000_000),
    "day": (0, 1, 0),
    "week": (0, 7, 0),
    "month": (1, 0, 0),
    "quarter": (3, 0, 0),
    "year": (12, 0, 0),
    "decade": (120, 0, 0),
    "century": (1_200, 0, 0),
    "millennium": (12_000, 0, 0),
}
_SYNONYMS = {
    word: unit
    for unit, words in {
        "microsecond": "us usec",
        "millisecond": "ms msec",
        "second": "s sec",
        "minute": "m min",
        "hour": "h hr",
        "day": "d",
        "week": "w",
        "month": "mon",
        "quarter": "q qtr",
        "year": "y yr",
        "decade": "dec",
        "century": "c cent centuries",
        "millennium": "mil millennia",
    }.items()
    for word in words.split()
}
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)"
_PIECE = re.compile(
    rf"""\s*(?:
        (?P<sign>[+-]?)(?P<hours>[0-9]+):(?P<minutes>[0-5]?[0-9])(?::(?P<seconds>[0-9]+\.?[0-9]*))?(?=\s|$)
      | (?P<span_sign>[+-]?)(?P<years>[0-9]+)-(?P<months>[0-9]+)(?=\s|$)
      | (?P<number>{_NUMBER})\s*(?P<unit>[a-zA-Z]+)?
    )""",
    re.VERBOSE,
)
_CLOCK = re.compile(r"\s*[+-]?[0-9]+:")
_ISO_PIECE = re.compile(rf"({_NUMBER})([YMWDHS])")
_ISO_DATE_UNITS = {"Y": "year", "M": "month", "W": "week", "D": "day"}
_ISO_CLOCK_UNITS = {"H": "hour", "M": "minute", "S": "second"}


def unit_name(text: str) -> str | None:
    """Return the unit that a word stands for, or None.

    >>> unit_name("Days"), unit_name("mons")
    ('day', 'month')
    """
    word = text.lower()
    for candidate in (word, word.removesuffix("s")):
        if candidate in UNITS:
            return candidate
        if candidate in _SYNONYMS:
            return _SYNONYMS[candidate]
    return None


def interval_text(value: pa.MonthDayNano | None) -> str | None:
    """Return an interval in PostgreSQL's style.

    >>> interval_text(pa.MonthDayNano([14, 3, 14_706_500_000_000]))
    '1 year 2 mons 3 days 04:05:06.5'
    """
    if value is None:
        return None
    months, days, nanoseconds = value
    years, months = _split(months, 12)
    pieces = []
    negative = False  # what follows a negative part says its plus
    for number, unit in ((years, "year"), (months, "mon"), (days, "day")):
        if number:
            sign = "+" if negative and number > 0 else ""
            pieces.append(f"{sign}{number} {unit}{'' if number == 1 else 's'}")
            negative = number < 0
    if nanoseconds or not pieces:
        sign = "-" if nanoseconds < 0 else "+" if negative else ""
        seconds, part = divmod(abs(nanoseconds) // 1000, 1_000_000)
        clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        fraction = f".{part:06}".rstrip("0") if part else ""
        pieces.append(f"{sign}{clock}{fraction}")
    return " ".join(pieces)


def _split(number: int, by: int) -> tuple[int, int]:
    """Divide towards zero."""
    quotient = abs(number) // by * (1 if number >= 0 else -1)
    return quotient, number - quotient * by


def read_interval(text: str) -> pa.MonthDayNano | None:
    """Return the interval that a text stands for, None if it is none or out of range.

    Takes units ('1 year 2 mons -3 days 04:05:06', '2 weeks ago'), years and months ('1-2') and ISO
    8601 ('P1Y2M3DT4H5M6S'). The fraction of a unit goes to the smaller ones.
    """
    words = text.strip()
    if not words:
        return None
    parts = _read_iso(words[1:]) if words[0] in "Pp" else _read_pieces(words)
    if parts is None:
        return None
    months, days, microseconds = parts
    if max(abs(months), abs(days)) >= 2**31 or abs(microseconds) >= 2**63 // 1000:
        return None
    return pa.MonthDayNano([months, days, microseconds * 1000])


def _read_pieces(words: str) -> tuple[int, int, int] | None:
    total = (0, 0, 0)
    factor = 1
    if words.lower().endswith(" ago"):
        words, factor = words[:-4].rstrip(), -1
    words = words.removeprefix("@")
    place = 0
    while place < len(words):
        found = _PIECE.match(words, place)
        if found is None:
            return None
        place = found.end()
        piece = _piece_parts(found, words[place:])
        if piece is None:
            return None
        total = _plus(total, piece)
    return (total[0] * factor, total[1] * factor, total[2] * factor)


def _piece_parts(found: re.Match[str], rest: str) -> tuple[int, int, int] | None:
    if found["hours"]:
        seconds = Decimal(found["seconds"] or 0)
        if seconds >= 60:
            return None
        seconds += 3600 * int(found["hours"]) + 60 * int(found["minutes"])
        return (0, 0, round(seconds * 1_000_000) * (-1 if found["sign"] == "-" else 1))
    if found["years"]:
        months = 12 * int(found["years"]) + int(found["months"])
        return (-months if found["span_sign"] == "-" else months, 0, 0)
    if found["unit"] is not None:
        unit = unit_name(found["unit"])
    else:  # '1 02:03:04' is a day and some hours, '90' alone is seconds
        unit = "day" if _CLOCK.match(rest) else "second" if not rest else None
    return None if unit is None else interval_of(Decimal(found["number"]), unit)


def _read_iso(words: str) -> tuple[int, int, int] | None:
    date, separator, clock = words.upper().partition("T")
    if not words or (separator and not clock):
        return None
    total = (0, 0, 0)
    for text, units in ((date, _ISO_DATE_UNITS), (clock, _ISO_CLOCK_UNITS)):
        pieces = _ISO_PIECE.findall(text)
        if "".join(map("".join, pieces)) != text or any(unit not in units for _, unit in pieces):
            return None
        for number, unit in pieces:
            total = _plus(total, interval_of(Decimal(number), units[unit]))
    return total


def _plus(left: tuple[int, int, int], right: tuple[int, int, int]) -> tuple[int, int, int]:
    return (left[0] + right[0], left[1] + right[1], left[2] + right[2])


def interval_of(number: Decimal, unit: str) -> tuple[int, int, int]:
    """Return months, days and microseconds of a number of units; fractions go to smaller ones.

    >>> interval_of(Decimal("1.5"), "month")
    (1, 15, 0)
    """
    months, days, microseconds = UNITS[unit]
    if months >= 12:
        return (round(number * months), 0, 0)  # a fraction of a year is whole months
    if months:
        whole = int(number * months)
        days_left = (number * months - whole) * MONTH_DAYS
        return (whole, *_days_of(days_left))
    if days:
        return (0, *_days_of(number * days))
    return (0, 0, round(number * microseconds))


def _days_of(days: Decimal) -> tuple[int, int]:
    return int(days), round((days - int(days)) * DAY_MICROSECONDS)
