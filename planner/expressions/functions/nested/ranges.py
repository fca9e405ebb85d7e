"""range() and generate_series() as lists: of integers, or of timestamps at equal intervals."""

from __future__ import annotations

import calendar
import datetime as dt
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.errors import DataError, NotSupportedError, ProgrammingError
from raydb.planner.expressions.columns.adapters import of_columns, of_rows
from raydb.planner.expressions.columns.lists import array_of_lists, is_missing
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.registry import composed, scalar
from raydb.planner.expressions.signature import as_bigint
from raydb.planner.expressions.types import (
    BIGINT,
    INTERVAL,
    TIMESTAMP,
    TIMESTAMPTZ,
    is_interval,
    is_moment,
)
from raydb.planner.expressions.typing_rules import cast, typed
from raydb.room import read_limit, too_small
from raydb.storage.moments import are_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from raydb.planner.expressions.columns.arrays import Values

# Offsets of lists are 32 bits wide.
_MAX_ELEMENTS = 2**31 - 1

# What an element takes while its list is made, and how many take too little to ask.
_NUMBER_BYTES, _MOMENT_BYTES = 32, 72
_FEW_ELEMENTS = 2**18
_BEYOND = "a series of dates goes beyond the years 1 to 9999"


def _bind(name: str, *arguments: Expression) -> Expression:
    if any(is_moment(each.type) or is_interval(each.type) for each in arguments):
        return _bind_moments(name, arguments)
    numbers = [as_bigint(name, each) for each in arguments]
    if len(numbers) == 1:
        numbers.insert(0, Literal(0, BIGINT))
    numbers += [Literal(1, BIGINT)] * (3 - len(numbers))
    return Call(f"{name}_of_integers", tuple(numbers), pa.list_(BIGINT))


def _bind_moments(name: str, arguments: tuple[Expression, ...]) -> Expression:
    if len(arguments) < 3:
        raise ProgrammingError(f"{name}() of dates needs a step, such as INTERVAL '1 day'")
    *ends, step = arguments
    if TIMESTAMPTZ in (each.type for each in ends):
        raise NotSupportedError(
            f"{name}() of timestamps with a time zone stands in FROM; as a list it is not supported"
        )
    for each in ends:
        if not (is_moment(each.type) or pa.types.is_null(each.type)):
            raise ProgrammingError(f"{name}() of dates takes two dates, not {describe(each)}")
    step = typed(step, INTERVAL)
    if not is_interval(step.type):
        raise ProgrammingError(f"{name}() of dates takes an interval, not {describe(step)}")
    moments = (*(cast(each, TIMESTAMP) for each in ends), step)
    return Call(f"{name}_of_moments", moments, pa.list_(TIMESTAMP))


def _of_integers(name: str) -> Callable[..., pa.Array]:
    def numbers(_: Call, *columns: pa.Array) -> pa.Array:
        valid = ~is_missing(*columns)
        start, stop, step = (each.fill_null(1).to_numpy().astype(np.int64) for each in columns)
        # Of Python's integers, for distances may exceed 64 bits.
        distances = stop.astype(object) - start.astype(object)
        if name == "generate_series":
            distances = distances + np.sign(step)
        # A step of zero leads nowhere: there are no numbers.
        steps = np.where(step == 0, np.where(distances > 0, -1, 1), step).astype(object)
        counts = np.maximum(-(-distances // steps), 0) * (valid & (step != 0))
        _check_count(name, counts.sum(), _NUMBER_BYTES)
        lengths = counts.astype(np.int64)
        places = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        elements = np.repeat(start, lengths) + places * np.repeat(step, lengths)
        return array_of_lists(pa.array(elements), lengths, valid)

    return numbers


def _check_count(name: str, count: int, element_bytes: int) -> None:
    """Raise an error where the lists of a function do not fit in one column, or in memory."""
    if count > _MAX_ELEMENTS:
        raise DataError(f"{name}() would have {count} elements")
    limit = read_limit() if count > _FEW_ELEMENTS else None
    if limit is not None and count * element_bytes > limit:
        raise too_small(count * element_bytes, f"{name}()", limit)


def _of_moments(name: str) -> Callable[..., list[dt.datetime]]:
    def moments(start: dt.datetime, stop: dt.datetime, step: pa.MonthDayNano) -> list[dt.datetime]:
        return list(_steps(name, start, stop, step))

    return moments


def _steps(
    name: str, moment: dt.datetime, stop: dt.datetime, step: pa.MonthDayNano
) -> Iterator[dt.datetime]:
    forward = _following(moment, step) > moment
    if _following(moment, step) == moment:
        return
    if not step.months:  # a step of months makes few
        _check_count(name, (stop - moment) // (_following(moment, step) - moment), _MOMENT_BYTES)
    while (moment < stop if forward else moment > stop) or (
        moment == stop and name == "generate_series"
    ):
        yield moment
        after = _following(moment, step)
        if (after > moment) is not forward:
            raise DataError(f"the step of {name}() does not lead from {moment} to {stop}")
        moment = after


def _following(moment: dt.datetime, step: pa.MonthDayNano) -> dt.datetime:
    """Return a moment plus an interval; the day is the last of a month that is too short."""
    years, month = divmod(moment.month - 1 + step.months, 12)
    try:
        last = calendar.monthrange(moment.year + years, month + 1)[1]
        day = min(moment.day, last)
        moment = moment.replace(year=moment.year + years, month=month + 1, day=day)
        return moment + dt.timedelta(days=step.days, microseconds=step.nanoseconds // 1000)
    except (ValueError, OverflowError):
        raise DataError(_BEYOND) from None


def _of_plain(kernel: Callable[..., Values]) -> Callable[..., Values]:
    """Let a kernel refuse moments that Python lacks."""

    def check(call: Call, start: Values, stop: Values, step: Values) -> Values:
        if not (are_plain(start) and are_plain(stop)):
            raise DataError(_BEYOND)
        return kernel(call, start, stop, step)

    return check


for _name, _forms, _says in (
    (
        "range",
        "range(stop), range(start, stop [, step])",
        "a list of the integers up to `stop`, or of timestamps, without it:"
        " range(1, 10, 4) -> [1, 5, 9]",
    ),
    (
        "generate_series",
        "generate_series(stop), generate_series(start, stop [, step])",
        "likewise, with `stop`: generate_series(1, 9, 4) -> [1, 5, 9]",
    ),
):
    composed(_forms, _says)(_bind)
    scalar(name=f"{_name}_of_integers", can_fail=True)(of_columns(_of_integers(_name)))
    scalar(name=f"{_name}_of_moments", can_fail=True)(_of_plain(of_rows(_of_moments(_name))))
