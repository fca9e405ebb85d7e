"""Casts of texts to dates, times, timestamps and intervals, and back.

A date is read as PostgreSQL reads ISO 8601: '2024-1-2', '2024-01-02 3:04', '2024-01-02T03:04:05.5'.
Every function raises pa.ArrowInvalid for an array with a value that it cannot convert.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from raydb.planner.expressions.columns.moments import (
    Integers,
    Intervals,
    compute,
    day_number,
    split_moment,
)
from raydb.planner.expressions.interval_text import DAY_MICROSECONDS, interval_text, read_interval

_DATE = r"(?P<year>[0-9]{4})-(?P<month>[0-9]{1,2})-(?P<day>[0-9]{1,2})"
_CLOCK = (
    r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{1,2})"
    r"(?::(?P<second>[0-9]{1,2})(?:\.(?P<fraction>[0-9]{0,9}))?)?"
)


def _text_to_date(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Read dates; a time behind one is cut off."""
    text = pc.utf8_trim_whitespace(array)
    fields = _fields(text, rf"^{_DATE}(?:[ Tt]+{_CLOCK})?$")
    _microseconds(fields)
    return _with_nulls(_days(fields), array, target)


def _text_to_time(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Read times of the day."""
    fields = _fields(pc.utf8_trim_whitespace(array), f"^{_CLOCK}$")
    return _with_nulls(_microseconds(fields), array, target)


def _text_to_timestamp(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Read timestamps; a date alone is its midnight."""
    text = pc.utf8_trim_whitespace(array)
    fields = _fields(text, rf"^{_DATE}(?:[ Tt]+{_CLOCK})?$")
    moments = _days(fields) * DAY_MICROSECONDS + _microseconds(fields)
    return _with_nulls(moments, array, target)


def _fields(text: pa.Array, pattern: str) -> dict[str, Integers]:
    """Return the numbers behind a pattern's names for the texts that are not NULL, 0 if empty."""
    found = pc.extract_regex(text.drop_null(), pattern=pattern)
    if found.null_count:
        raise pa.ArrowInvalid("no moment")
    fields = {}
    for name in (field.name for field in found.type):
        digits = found.field(name)
        if name == "fraction":
            # Nine digits, of which the last three round.
            digits = pc.utf8_rpad(digits, 9, "0")
        numbers = pc.cast(pc.if_else(pc.equal(digits, ""), "0", digits), pa.int64())
        fields[name] = numbers.to_numpy()
    return fields


def _days(fields: dict[str, Integers]) -> Integers:
    return day_number(fields["year"], fields["month"], fields["day"])


def _microseconds(fields: dict[str, Integers]) -> Integers:
    hour, minute, second = fields["hour"], fields["minute"], fields["second"]
    if ((hour > 23) | (minute > 59) | (second > 59)).any():
        raise pa.ArrowInvalid("no time")
    return ((hour * 60 + minute) * 60 + second) * 1_000_000 + (fields["fraction"] + 500) // 1000


def _with_nulls(numbers: Integers, array: pa.Array, target: pa.DataType) -> pa.Array:
    """Return numbers as `target`, NULL where the array is; there are none for its NULLs."""
    found = compute(lambda values: values, target, pa.array(numbers))
    if not array.null_count:
        return found
    valid = array.is_valid()
    places = pc.subtract(pc.cumulative_sum(valid.cast(pa.int64())), 1)
    return found.take(pc.if_else(valid, places, pa.scalar(None, pa.int64())))


def _timestamp_to_time(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Return the time of the day."""
    return compute(lambda moments: split_moment(moments)[1], target, array)


def _time_to_interval(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Return the time since midnight."""

    def convert(clock: Integers) -> Intervals:
        return Intervals(np.zeros_like(clock), np.zeros_like(clock), clock)

    return compute(convert, target, array)


def _interval_to_time(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Return the time of the day, without months and days."""
    return compute(lambda intervals: intervals.microseconds % DAY_MICROSECONDS, target, array)


def _text_to_interval(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Read intervals; each distinct text once."""
    encoded = array.dictionary_encode()
    intervals = [read_interval(text) for text in encoded.dictionary.to_pylist()]
    if None in intervals:
        raise pa.ArrowInvalid("no interval")
    return pa.array(intervals, target).take(encoded.indices)


def _interval_to_text(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Write intervals in PostgreSQL's style."""
    return pa.array([interval_text(value) for value in array.to_pylist()], target)


def _clock_to_text(array: pa.Array, target: pa.DataType) -> pa.Array:
    # 10:11:12.500000 is shown as 10:11:12.5, and 10:11:12.000000 without a fraction.
    text = pc.cast(array, target)
    text = pc.replace_substring_regex(text, pattern=r"(\.[0-9]*[1-9])0+$", replacement=r"\1")
    return pc.replace_substring_regex(text, pattern=r"\.0+$", replacement="")


CONVERSIONS = {
    ("text", "date"): _text_to_date,
    ("text", "timestamp"): _text_to_timestamp,
    ("text", "time"): _text_to_time,
    ("text", "interval"): _text_to_interval,
    ("date", "timestamp"): pc.cast,
    ("date", "text"): pc.cast,
    ("timestamp", "date"): pc.cast,
    ("timestamp", "text"): _clock_to_text,
    ("timestamp", "timestamp"): pc.cast,
    ("timestamp", "time"): _timestamp_to_time,
    ("time", "text"): _clock_to_text,
    ("time", "interval"): _time_to_interval,
    ("interval", "text"): _interval_to_text,
    ("interval", "time"): _interval_to_time,
}
