"""Casts of texts to dates, times, timestamps and intervals, and back, and between time zones.

A date is read as PostgreSQL reads ISO 8601: '2024-1-2', '2024-01-02 3:04', '2024-01-02T03:04:05.5',
and as DuckDB does with slashes or spaces, '2024/01/02', with any year, '10000-01-01' and
'0044-03-15 (BC)', or as 'epoch', 'infinity' or '-infinity'. A time may have a zone behind it: 'Z',
'+02', '-03:30', 'Europe/Oslo'. A date or a timestamp without a time zone is what the text shows,
whatever zone that is in.
Every function raises pa.ArrowInvalid for an array with a value that it cannot convert.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.errors import ProgrammingError
from raydb.late import pc
from raydb.planner.expressions.columns.moments import (
    Integers,
    Intervals,
    compute,
    day_number,
    join_moment,
    shift_finite,
    split_moment,
)
from raydb.planner.expressions.columns.units import (
    in_unit,
    whole_microseconds,
    with_nanoseconds,
)
from raydb.planner.expressions.columns.zones import (
    find_zone,
    instants_of,
    local_moments,
    offset_texts,
    utc_offsets,
)
from raydb.planner.expressions.interval_text import DAY_MICROSECONDS, interval_text, read_interval
from raydb.planner.expressions.types import TIMESTAMP, TIMESTAMP_NS
from raydb.storage.moments import (
    INFINITE_DAY,
    INFINITE_MOMENT,
    are_plain,
    infinities,
    integers_of,
    moment_texts,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_DATE = r"(?P<year>[0-9]{4})-(?P<month>[0-9]{1,2})-(?P<day>[0-9]{1,2})"
_CLOCK = (
    r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{1,2})"
    r"(?::(?P<second>[0-9]{1,2})(?:\.(?P<fraction>[0-9]{0,9})[0-9]*)?)?"
)


_ZONE = r"[Zz]|[+-][0-9]{2}(?::?[0-9]{2}(?::?[0-9]{2})?)?|[A-Za-z][A-Za-z0-9_+/-]*"
_AFTER_DATE = rf"(?:[ Tt]+{_CLOCK}(?: *(?P<zone>{_ZONE}))?)?$"
_MOMENT = rf"^{_DATE}{_AFTER_DATE}"
# Years of any length, also those before the year 1.
_FAR_DATE = _DATE.replace("{4}", "{1,7}")
_FAR_MOMENT = rf"^(?P<minus>-?){_FAR_DATE}(?P<before>(?i: \(BC\))?){_AFTER_DATE}"
_INFINITY = r"^(?i)-?inf(inity)?$"
_EPOCH = "1970-01-01 00:00:00Z"
# Other marks between year, month and day, as dashes.
_MARKED_DATES = tuple(
    rf"^(-?[0-9]{{1,7}}){mark}([0-9]{{1,2}}){mark}([0-9]{{1,2}})" for mark in ("/", " ", r"\\")
)
_OFFSET = re.compile(r"([+-])([0-9]{2}):?([0-9]{2})?:?([0-9]{2})?")
# Of PostgreSQL; no zone was ever so far from UTC.
_MAX_OFFSET_HOURS = 15


def _text_to_date(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Read dates; a time behind one is cut off."""
    fields, _, signs = _moment_fields(array)
    _microseconds(fields)
    days = np.where(signs, signs * INFINITE_DAY, _days(fields))
    return _with_nulls(days, array, target)


def _text_to_time(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Read times of the day."""
    fields = _numbers(_fields(pc.utf8_trim_whitespace(array), f"^{_CLOCK}$"))
    return _with_nulls(_microseconds(fields), array, target)


def _text_to_timestamp(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Read timestamps as they are shown; a date alone is its midnight."""
    fields, _, signs = _moment_fields(array)
    rest = fields["fraction"] % 1000
    if target == TIMESTAMP_NS:
        fields["fraction"] = fields["fraction"] - rest
    moments = join_moment(_days(fields), _microseconds(fields))
    moments = np.where(signs, signs * INFINITE_MOMENT, moments)
    if target == TIMESTAMP_NS:
        return _with_nulls(with_nanoseconds(moments, rest), array, target)
    return in_unit(_with_nulls(moments, array, TIMESTAMP), target)


def _text_to_zoned(array: pa.Array, target: pa.DataType, zone: str) -> pa.Array:
    """Read timestamps in the zones that the texts name, or else in that of the session."""
    fields, zones, signs = _moment_fields(array)
    moments = join_moment(_days(fields), _microseconds(fields))
    moments = np.where(signs, signs * INFINITE_MOMENT, moments)
    encoded = zones.dictionary_encode()
    codes = encoded.indices.to_numpy()
    for code, text in enumerate(encoded.dictionary.to_pylist()):
        rows = codes == code
        moments[rows] = _instants(moments[rows], text or zone)
    return _with_nulls(moments, array, target)


def _instants(moments: Integers, zone: str) -> Integers:
    """Return when clocks show moments in a zone, or so far from UTC as a text says."""
    offset = _offset_of(zone)
    return (
        instants_of(moments, find_zone(zone))
        if offset is None
        else shift_finite(moments, np.full_like(moments, -offset))
    )


def _offset_of(zone: str) -> int | None:
    """Return the microseconds that 'Z' or '+02:00' is ahead of UTC, None for the name of a zone."""
    if zone in ("Z", "z"):
        return 0
    found = _OFFSET.fullmatch(zone)
    if found is None:
        return None
    hours, minutes, seconds = (int(part or 0) for part in found.groups()[1:])
    if hours > _MAX_OFFSET_HOURS or minutes > 59 or seconds > 59:
        raise pa.ArrowInvalid("no offset")
    offset = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000
    return -offset if found[1] == "-" else offset


def _moment_fields(array: pa.Array) -> tuple[dict[str, Integers], pa.Array, Integers]:
    """Return the numbers of dates and times that are not NULL, and the texts of their zones.

    The last array has 1 for 'infinity', -1 for '-infinity' and 0 for any other text.
    """
    texts = pc.utf8_trim_whitespace(array)
    try:
        found = _fields(texts, _MOMENT)
        signs = np.zeros(len(found["zone"]), np.int64)
    except pa.ArrowInvalid:
        found, signs = _far_fields(texts.drop_null())
    zones = found.pop("zone")
    for zone in zones.unique().to_pylist():
        try:
            if zone and _offset_of(zone) is None:
                find_zone(zone)
        except ProgrammingError as error:
            raise pa.ArrowInvalid(str(error)) from error
    numbers = _numbers(found)
    if "minus" in numbers:
        year, before = numbers["year"], numbers.pop("before")
        year = np.where(numbers.pop("minus"), -year, year)
        if (before.astype(np.bool_) & (year < 1)).any():
            raise pa.ArrowInvalid("no year before the year 1")
        numbers["year"] = np.where(before, 1 - year, year)
    return numbers, zones, signs


def _far_fields(texts: pa.Array) -> tuple[dict[str, pa.Array], Integers]:
    """Return what is behind a pattern's names in texts of any form, and which are infinite."""
    is_infinite = pc.match_substring_regex(texts, pattern=_INFINITY)
    signs = pc.if_else(pc.starts_with(texts, "-"), -1, 1)
    signs = pc.if_else(is_infinite, signs, 0).to_numpy()
    texts = pc.if_else(is_infinite, _EPOCH, texts)
    texts = pc.replace_substring_regex(texts, pattern="^(?i)epoch$", replacement=_EPOCH)
    for pattern in _MARKED_DATES:
        texts = pc.replace_substring_regex(texts, pattern=pattern, replacement=r"\1-\2-\3")
    found = _fields(texts, _FAR_MOMENT)
    for mark in ("minus", "before"):
        found[mark] = pc.if_else(pc.equal(found[mark], ""), "0", "1")
    return found, signs


def _fields(text: pa.Array, pattern: str) -> dict[str, pa.Array]:
    """Return what is behind a pattern's names in the texts that are not NULL."""
    found = pc.extract_regex(text.drop_null(), pattern=pattern)
    if found.null_count:
        raise pa.ArrowInvalid("no moment")
    return {field.name: found.field(field.name) for field in found.type}


def _numbers(fields: dict[str, pa.Array]) -> dict[str, Integers]:
    """Return digits as numbers, 0 where there are none."""
    numbers = {}
    for name, written in fields.items():
        # Nine digits of a fraction, of which the last three round.
        digits = pc.utf8_rpad(written, 9, "0") if name == "fraction" else written
        whole = pc.cast(pc.if_else(pc.equal(digits, ""), "0", digits), pa.int64())
        numbers[name] = whole.to_numpy()
    return numbers


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


def _to_local(array: pa.Array, target: pa.DataType, zone: str) -> pa.Array:
    """Return what clocks show in a zone, or the date or the time of that."""
    shown = compute(partial(local_moments, zone=zone), TIMESTAMP, array)
    if pa.types.is_timestamp(target):
        return in_unit(shown, target)
    return CONVERSIONS["timestamp", "date" if pa.types.is_date(target) else "time"](shown, target)


def _to_instants(array: pa.Array, target: pa.DataType, zone: str) -> pa.Array:
    """Return when clocks show dates, at midnight, and timestamps in a zone."""
    moments = _date_to_timestamp(array, TIMESTAMP)
    return compute(partial(_instants, zone=zone), target, moments)


def _zoned_to_text(array: pa.Array, target: pa.DataType, zone: str) -> pa.Array:
    """Write what clocks show in a zone, and how far that is from UTC."""
    shown = _clock_to_text(_to_local(array, TIMESTAMP, zone), target)
    offsets = offset_texts(utc_offsets(integers_of(array), zone))
    texts = pc.binary_join_element_wise(shown, offsets, "")
    return pc.if_else(pa.array(infinities(array) == 0), texts, shown)


def _timestamp_to_time(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Return the time of the day; an infinite timestamp has none."""
    if infinities(array).any():
        raise pa.ArrowInvalid("infinite")
    return compute(lambda moments: split_moment(moments)[1], target, whole_microseconds(array))


def _date_to_timestamp(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Return the midnights of dates; timestamps are brought to the unit."""
    if not pa.types.is_date32(array.type):
        return in_unit(array, target)
    if target != TIMESTAMP:
        return in_unit(_date_to_timestamp(array, TIMESTAMP), target)
    if are_plain(array):
        return pc.cast(array, target)

    def convert(days: Integers) -> Integers:
        signs = (days == INFINITE_DAY).astype(np.int64) - (days == -INFINITE_DAY)
        return np.where(signs, signs * INFINITE_MOMENT, join_moment(np.where(signs, 0, days)))

    return compute(convert, target, array)


def _timestamp_to_date(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Return the days of timestamps."""
    if are_plain(array):
        return pc.cast(array, target)

    def convert(moments: Integers) -> Integers:
        signs = (moments == INFINITE_MOMENT).astype(np.int64) - (moments == -INFINITE_MOMENT)
        return np.where(signs, signs * INFINITE_DAY, split_moment(moments)[0])

    return compute(convert, target, whole_microseconds(array))


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
    text = pc.cast(array, target) if pa.types.is_time(array.type) else moment_texts(array)
    text = pc.replace_substring_regex(text, pattern=r"(\.[0-9]*[1-9])0+$", replacement=r"\1")
    return pc.replace_substring_regex(text, pattern=r"\.0+$", replacement="")


CONVERSIONS = {
    ("text", "date"): _text_to_date,
    ("text", "timestamp"): _text_to_timestamp,
    ("text", "time"): _text_to_time,
    ("text", "interval"): _text_to_interval,
    ("date", "timestamp"): _date_to_timestamp,
    ("date", "text"): lambda array, _: moment_texts(array),
    ("timestamp", "date"): _timestamp_to_date,
    ("timestamp", "text"): _clock_to_text,
    ("timestamp", "timestamp"): in_unit,
    ("timestamp", "time"): _timestamp_to_time,
    ("time", "text"): _clock_to_text,
    ("time", "interval"): _time_to_interval,
    ("interval", "text"): _interval_to_text,
    ("interval", "time"): _interval_to_time,
}


def conversions_in(zone: str) -> dict[tuple[str, str], Callable[..., pa.Array]]:
    """Return the casts that depend on a time zone."""
    to_local, to_instants = partial(_to_local, zone=zone), partial(_to_instants, zone=zone)
    return {
        ("text", "zoned"): partial(_text_to_zoned, zone=zone),
        ("date", "zoned"): to_instants,
        ("timestamp", "zoned"): to_instants,
        ("zoned", "date"): to_local,
        ("zoned", "time"): to_local,
        ("zoned", "timestamp"): to_local,
        ("zoned", "text"): partial(_zoned_to_text, zone=zone),
    }
