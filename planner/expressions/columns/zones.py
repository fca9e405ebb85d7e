"""Time zones: from instants, which are microseconds of UTC, to what clocks show, and back.

    local_moments(instants, "Europe/Berlin")    a TIMESTAMP WITH TIME ZONE as a TIMESTAMP there
    instants_of(moments, "Europe/Berlin")       and back

Zones are those of IANA, by Python's zoneinfo. A moment that comes twice, as clocks go back, is the
later one, that of standard time. One that never comes, as clocks go forward, counts on from before
the change: 02:30 is 03:30. So it is in PostgreSQL and in DuckDB.
"""

from __future__ import annotations

import datetime as dt
import functools
from contextlib import suppress

import numpy as np
import pyarrow as pa

from raydb import running
from raydb.errors import ProgrammingError, did_you_mean
from raydb.late import zoneinfo
from raydb.planner.expressions.columns.moments import (
    Integers,
    Intervals,
    add_interval,
    check_range,
    keep_infinite,
    shift_finite,
    split_moment,
)
from raydb.planner.expressions.interval_text import DAY_MICROSECONDS
from raydb.storage.moments import INFINITE_MOMENT

# The name of the system's own zone in settings.
LOCAL = "local"
_SECOND = 1_000_000
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
# Python's datetime ends with these years, in each zone.
_FIRST_SECOND, _LAST_SECOND = (
    int(dt.datetime(*day, tzinfo=dt.UTC).timestamp()) for day in ((1, 1, 2), (9999, 12, 30))
)
# No two changes of a zone's offset are nearer to each other: they are four days apart at least,
# in Freetown in 1939.
_STEP_SECONDS = 3 * 86_400
_LAST_YEAR = 9999
_MAX_SPAN = 10_000 * 366 * DAY_MICROSECONDS


def session_zone() -> str:
    """Return the time zone of the statement that runs on this thread."""
    return zone_name(running.time_zone())


def zone_name(setting: str) -> str:
    """Return the name of the zone that a setting means."""
    return _local_zone() if setting == LOCAL else setting


@functools.cache
def _local_zone() -> str:
    """Return the zone of the system, UTC where it has none that is known."""
    import tzlocal  # noqa: PLC0415  (most statements have no use for a zone)

    try:
        return find_zone(tzlocal.get_localzone_name() or "UTC")
    except (zoneinfo.ZoneInfoNotFoundError, ProgrammingError):
        return "UTC"


@functools.lru_cache(1024)
def find_zone(name: str) -> str:
    """Return the name of a zone as IANA writes it; raises ProgrammingError for an unknown one.

    >>> find_zone("europe/berlin")
    'Europe/Berlin'
    """
    with suppress(zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        zoneinfo.ZoneInfo(name)
        return name
    known = zoneinfo.available_timezones()
    found = next((each for each in known if each.lower() == name.lower()), None)
    if found is None:
        raise ProgrammingError(f"time zone '{name}' does not exist{did_you_mean(name, known)}")
    return found


def utc_offsets(instants: Integers, zone: str) -> Integers:
    """Return by how many microseconds a zone is ahead of UTC at instants."""
    changes, offsets = _changes_around(instants, zone)
    places = np.searchsorted(changes, instants, side="right") - 1
    found: Integers = offsets[np.maximum(places, 0)]
    return found


def local_moments(instants: Integers, zone: str) -> Integers:
    """Return what clocks show in a zone at instants."""
    return shift_finite(instants, utc_offsets(instants, zone))


def instants_of(moments: Integers, zone: str) -> Integers:
    """Return when clocks show moments in a zone; those that come twice or never as above."""
    changes, offsets = _changes_around(moments, zone)
    # A moment is after a change when the clock as it goes from then on shows so: where the clock
    # goes back, what it shows twice is after; where it goes forward, what it skips is before.
    places = np.searchsorted(changes + offsets, moments, side="right") - 1
    return shift_finite(moments, -offsets[np.maximum(places, 0)])


def add_in_zone(instants: Integers, intervals: Intervals, zone: str) -> Integers:
    """Return the instants an interval later: months, then days, as clocks show, then time.

    Raises pa.ArrowInvalid for one that is out of range.
    """
    return keep_infinite(functools.partial(_add_in_zone, zone=zone))(instants, intervals)


def _add_in_zone(instants: Integers, intervals: Intervals, zone: str) -> Integers:
    nothing = np.zeros_like(intervals.months)
    shifted = _shift(instants, Intervals(intervals.months, nothing, nothing), zone)
    shifted = _shift(shifted, Intervals(nothing, intervals.days, nothing), zone)
    check_range(intervals.microseconds, -_MAX_SPAN, _MAX_SPAN)
    return shift_finite(shifted, intervals.microseconds)


def _shift(instants: Integers, parts: Intervals, zone: str) -> Integers:
    """Add months or days; what is not shifted stays, in an hour that comes twice too."""
    is_shifted = (parts.months != 0) | (parts.days != 0)
    if not is_shifted.any():
        return instants
    shown = add_interval(*split_moment(local_moments(instants, zone)), parts)
    return np.where(is_shifted, instants_of(shown, zone), instants)


def is_steady_around(instant: int, zone: str) -> bool:
    """Tell whether a zone's offset does not change within days of an instant.

    Then clocks show every earlier moment before it, and every later one after it: no offset has
    ever changed by more than a day.
    """
    if abs(instant) > INFINITE_MOMENT - 3 * DAY_MICROSECONDS:
        return False
    days = instant + np.arange(-2, 3) * DAY_MICROSECONDS
    return len(np.unique(utc_offsets(days, zone))) == 1


def _changes_around(numbers: Integers, zone: str) -> tuple[Integers, Integers]:
    """Return the changes in the years of some instants or moments, in order: when, and to what.

    The beginning of each year is one of them, so that years between may be left out.
    """
    years = numbers.astype("M8[us]").astype("M8[Y]").astype(np.int64) + 1970
    present = np.zeros(_LAST_YEAR + 2, np.bool_)
    present[np.clip(years, 1, _LAST_YEAR)] = True
    # A moment may be an instant of the year before or after.
    present = present | np.roll(present, 1) | np.roll(present, -1)
    found = [_changes_of(zone, year) for year in np.flatnonzero(present).tolist()]
    changes = [change for year in found for change in year]
    table = np.array(changes, np.int64).reshape(-1, 2) * _SECOND
    return table[:, 0], table[:, 1]


@functools.lru_cache(2**16)
def _changes_of(zone: str, year: int) -> tuple[tuple[int, int], ...]:
    """Return when a zone's offset changes in a year, and to what: seconds since 1970, seconds."""
    clock = zoneinfo.ZoneInfo(zone)

    def offset_at(second: int) -> int:
        clipped = min(max(second, _FIRST_SECOND), _LAST_SECOND)
        offset = (_EPOCH + dt.timedelta(seconds=clipped)).astimezone(clock).utcoffset()
        assert offset is not None, "a zone has an offset"
        return round(offset.total_seconds())

    start, stop = _first_second(year), _first_second(year + 1)
    before = offset_at(start)
    changes = [(start, before)]
    for second in (*range(start + _STEP_SECONDS, stop, _STEP_SECONDS), stop - 1):
        after = offset_at(second)
        if after != before:
            low, high = max(second - _STEP_SECONDS, start), second
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if offset_at(middle) == after else (middle, high)
            changes.append((high, after))
            before = after
    return tuple(changes)


def _first_second(year: int) -> int:
    days = np.datetime64(f"{year:04}-01-01", "D").astype(np.int64)
    return int(days) * 86_400


def offset_texts(offsets: Integers) -> pa.Array:
    """Return offsets as they stand behind a time: '+02', '-03:30', '+00:53:28'."""
    distinct, places = np.unique(offsets, return_inverse=True)
    texts = [_offset_text(int(offset) // _SECOND) for offset in distinct]
    return pa.array(texts, pa.string()).take(pa.array(places))


def _offset_text(seconds: int) -> str:
    minutes, rest = divmod(abs(seconds), 60)
    text = f"{'-' if seconds < 0 else '+'}{minutes // 60:02}"
    if minutes % 60 or rest:
        text += f":{minutes % 60:02}"
    return f"{text}:{rest:02}" if rest else text
