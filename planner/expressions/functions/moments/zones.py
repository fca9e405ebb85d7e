"""Functions of time zones: casts from and to TIMESTAMP WITH TIME ZONE, and AT TIME ZONE.

And the moment of the statement, with what clocks show then in the session's zone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import DataError, ProgrammingError
from raydb.planner.expressions.casts.cast import cast_values, try_cast_values
from raydb.planner.expressions.columns.adapters import with_constants
from raydb.planner.expressions.columns.moments import Integers, check_range, compute
from raydb.planner.expressions.columns.zones import find_zone
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.operators import arithmetic
from raydb.planner.expressions.registry import SCALARS, composed, scalar
from raydb.planner.expressions.signature import require_moment, require_text
from raydb.planner.expressions.types import (
    BIGINT,
    DATE,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    is_integer,
    is_interval,
)
from raydb.planner.expressions.typing_rules import cast, typed
from raydb.running import moment
from raydb.storage.clocks import TIMETZ
from raydb.storage.moments import INFINITE_MOMENT

if TYPE_CHECKING:
    from raydb.planner.expressions.columns.arrays import Values


@scalar(name="cast_in_zone", can_fail=True)
@with_constants
def _cast_in_zone(call: Call, values: Values, zone: str) -> Values:
    return cast_values(values, call.type, _known_zone(zone))


@scalar(name="try_cast_in_zone", can_fail=True)
@with_constants
def _try_cast_in_zone(call: Call, values: Values, zone: str) -> Values:
    return try_cast_values(values, call.type, _known_zone(zone))


def _known_zone(name: str) -> str:
    """Return a zone that a row names; raises DataError for an unknown one."""
    try:
        return find_zone(name)
    except ProgrammingError as error:
        raise DataError(str(error)) from None


@composed(
    "moment AT TIME ZONE zone, timezone(zone, moment)",
    "what clocks show in that zone at a TIMESTAMP WITH TIME ZONE, and when they show a TIMESTAMP:"
    " TIMESTAMPTZ '2026-05-17 10:37:00Z' AT TIME ZONE 'Europe/Oslo' -> 2026-05-17 12:37:00",
)
def _timezone(_: str, zone: Expression, moment: Expression) -> Expression:
    return at_time_zone(moment, zone)


def at_time_zone(moment: Expression, zone: Expression) -> Expression:
    """Return `moment AT TIME ZONE zone`; raises ProgrammingError for an unknown zone."""
    if moment.type == TIMETZ:
        return Call("clock_at_offset", (moment, _ahead_of_utc(zone)), TIMETZ)
    zone = require_text("timezone", zone)
    if isinstance(zone, Literal) and zone.value is not None:
        zone = Literal(find_zone(zone.value), TEXT)
    moment = require_moment("timezone", typed(moment, TIMESTAMPTZ))
    if moment.type == TIMESTAMPTZ:
        return Call("cast_in_zone", (moment, zone), TIMESTAMP)
    return Call("cast_in_zone", (cast(moment, TIMESTAMP), zone), TIMESTAMPTZ)


def _ahead_of_utc(zone: Expression) -> Expression:
    """Return how far an offset or a zone, today, is ahead of UTC."""
    if is_interval(zone.type):
        return zone
    now = Call("now", (), TIMESTAMPTZ)
    return arithmetic("subtract", at_time_zone(now, zone), at_time_zone(now, Literal("UTC", TEXT)))


@composed(
    "make_timestamptz(year, month, day, hour, minute, second [, zone]), make_timestamptz(n)",
    "a TIMESTAMP WITH TIME ZONE, in the session's zone or another, or of microseconds since 1970:"
    " make_timestamptz(2026, 5, 17, 10, 37, 0, 'UTC') = TIMESTAMPTZ '2026-05-17 10:37Z' -> true",
)
def _make_timestamptz(name: str, *numbers: Expression) -> Expression:
    if len(numbers) == 1:
        (number,) = (typed(each, BIGINT) for each in numbers)
        if not is_integer(number.type):
            raise ProgrammingError(f"{name}() needs an integer, not {describe(number)}")
        return Call("from_microseconds", (cast(number, BIGINT),), TIMESTAMPTZ)
    if len(numbers) not in (6, 7):
        raise ProgrammingError(f"{name}() takes 1, 6 or 7 arguments, not {len(numbers)}")
    moment = SCALARS["make_timestamp"].call(name, numbers[:6])
    return at_time_zone(moment, numbers[6]) if len(numbers) == 7 else cast(moment, TIMESTAMPTZ)


def _from_microseconds(numbers: Integers) -> Integers:
    check_range(numbers, 1 - INFINITE_MOMENT, INFINITE_MOMENT - 1)
    return numbers


scalar(name="from_microseconds", can_fail=True)(
    lambda call, values: compute(_from_microseconds, call.type, values)
)


# -- now


def current_moment(name: str) -> Expression:
    """Return CURRENT_DATE, CURRENT_TIMESTAMP, LOCALTIME and so on, by the name in lower case."""
    now = Call("now", (), TIMESTAMPTZ)
    if name in ("current_date", "today"):
        return cast(now, DATE)
    if name in ("current_time", "localtime", "current_localtime", "get_current_time"):
        return cast(now, TIME)
    return cast(now, TIMESTAMP) if name.endswith("localtimestamp") else now


composed("current_date, current_date(), today()", "today: current_date = today() -> true")(
    current_moment
)


@scalar(
    "now(), current_timestamp, current_timestamp(), get_current_timestamp(),"
    " transaction_timestamp()",
    "the moment of the statement, a TIMESTAMP WITH TIME ZONE: now() = current_timestamp -> true",
    bind=current_moment,
)
def _now(_: Call) -> Values:
    return pa.scalar(moment(), TIMESTAMPTZ)


composed(
    "ago(interval)",
    "the moment so long before: ago(INTERVAL 1 DAY) < now() -> true",
)(lambda _, interval: arithmetic("subtract", current_moment("now"), interval))


composed(
    "localtimestamp, localtimestamp(), current_localtimestamp()",
    "what clocks show then, a TIMESTAMP: localtimestamp = now()::TIMESTAMP -> true",
)(current_moment)


composed(
    "current_time, current_time(), localtime, localtime(), current_localtime(), get_current_time()",
    "its time of day: current_time = localtime -> true",
)(current_moment)
