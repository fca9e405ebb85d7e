"""Intervals: their order, their arithmetic and their text, as in PostgreSQL.

An interval has months, days and microseconds, which are kept apart: a month has 28 to 31 days, and
only a date decides. They are compared with 30 days a month and 24 hours a day.

    '1 year 2 mons 3 days 04:05:06.5'  ->  months 14, days 3, microseconds 14706500000
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.planner.moments import DAY_MICROSECONDS, INTERVAL, Integers, Intervals, check_range
from raydb.planner.moments import compute as compute_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.planner.casts import Values

MONTH_DAYS = 30
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
    "us": "microsecond",
    "usec": "microsecond",
    "ms": "millisecond",
    "msec": "millisecond",
    "s": "second",
    "sec": "second",
    "m": "minute",
    "min": "minute",
    "h": "hour",
    "hr": "hour",
    "d": "day",
    "w": "week",
    "mon": "month",
    "q": "quarter",
    "qtr": "quarter",
    "y": "year",
    "yr": "year",
    "dec": "decade",
    "c": "century",
    "cent": "century",
    "centuries": "century",
    "mil": "millennium",
    "millennia": "millennium",
}
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)"
_PIECE = re.compile(
    rf"""\s*(?:
        (?P<sign>[+-]?)(?P<hours>[0-9]+):(?P<minutes>[0-5]?[0-9])(?::(?P<seconds>[0-9]+\.?[0-9]*))?
      | (?P<span_sign>[+-]?)(?P<years>[0-9]+)-(?P<months>[0-9]+)(?=\s|$)
      | (?P<number>{_NUMBER})\s*(?P<unit>[a-zA-Z]+)?
    )""",
    re.VERBOSE,
)
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


# -- order


def order_intervals(values: Values) -> Values:
    """Return decimals in the order of intervals, equal where they are; other types unchanged."""
    if not pt.is_interval(values.type):
        return values

    def microseconds(intervals: Intervals) -> Integers:
        # 2**31 months are 6.4e10 days: the time of day goes into digits of its own.
        return intervals.days

    raise NotImplementedError(microseconds)
