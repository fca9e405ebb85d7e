"""What detect_changes(), detect_states() and state_profile() are asked, from their arguments."""

from __future__ import annotations

from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from raydb.errors import ProgrammingError
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.interval_text import read_interval
from raydb.planner.expressions.types import is_moment, is_number
from raydb.planner.plan.function_arguments import COLUMN, FLAG, Argument, Kind, whole, word
from raydb.storage.type_names import sql_type_name
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raydb.planner.expressions.nodes import Column, Literal

# The least window: half of it is compared, and three points are the least that have a shape.
_LEAST_WINDOW = 6

# Times and steps of so many units, or further from 0, are no integers of 64 bits that are added up.
MOST_UNITS = 2**62

_DAY_NANOSECONDS = 86_400 * 10**9
_UNIT_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def _is_window(value: Any) -> bool:
    return value == "auto" or whole(_LEAST_WINDOW, 2**31).accepts(value)


_WINDOW = Kind(
    "a whole number or 'auto'",
    lambda kind: pa.types.is_integer(kind) or pa.types.is_string(kind),
    _is_window,
    lambda _: f"'auto' or a whole number from {_LEAST_WINDOW}",
    lambda value: None if value == "auto" else int(value),
)

SERIES_ARGUMENTS = (
    Argument("time", COLUMN, is_required=True),
    Argument("partition_by", COLUMN),
    Argument("window", _WINDOW, None, varies=True),
    Argument("gaps", word("error", "split", "interpolate"), "error", varies=True),
    Argument("resample"),
    Argument("seed", whole(0, 2**32), 1, varies=True),
)
"""How rows become series, and how change points are found."""

STATE_ARGUMENTS = (
    Argument("classifier", word("rocket", "minirocket"), "rocket", varies=True),
    Argument("merge", FLAG, True, varies=True),
    Argument("n_states", whole(1, 2**31), None, varies=True, null=True),
)
"""How segments become states."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a call asks.

    window: the points of a pattern, None for what SuSS finds. resample: the step of points in units
    of the times, None for the rows' own. n_states: the most states, None for any number. classifier
    and what follows are those of states alone.
    """

    window: int | None
    gaps: str
    seed: int
    resample: float | None = None
    classifier: str = "rocket"
    merge: bool = True
    n_states: int | None = None


def resample_step(function: str, given: Literal, time: Column) -> float:
    """Return a step in units of the times, of decimals in those of their last digit.

    Raises ProgrammingError for what is none.
    """
    kind = time.type
    column = f"the {sql_type_name(kind)} column '{time.name}'"
    value: Any = given.value
    if is_number(kind):
        is_real = is_number(given.type) and not isinstance(value, bool)
        if not is_real or not 0 < float(value) < inf:
            raise ProgrammingError(
                f"resample of {function}() is a number above 0 for {column}, not {describe(given)}"
            )
        units = Fraction(value) * 10 ** (kind.scale if pa.types.is_decimal(kind) else 0)
        is_exact = units.denominator == 1 and units < MOST_UNITS
        return int(units) if is_exact else float(units)
    interval = read_interval(value) if given.type == pa.string() else value
    if not isinstance(interval, pa.MonthDayNano):
        raise ProgrammingError(
            f"resample of {function}() is an interval, such as '1s', for {column}, not "
            f"{describe(given)}"
        )
    unit = _UNIT_NANOSECONDS[kind.unit] if not pa.types.is_date(kind) else _DAY_NANOSECONDS
    steps = (interval.days * _DAY_NANOSECONDS + interval.nanoseconds) // unit
    if interval.months or steps < 1:
        raise ProgrammingError(
            f"resample of {function}() is a step of one length in days or less, and at least a "
            f"unit of {column}; not {describe(given)}"
        )
    return int(steps) if steps < MOST_UNITS else float(steps)


def check_time(function: str, time: Column) -> None:
    """Raise ProgrammingError for a column that has no times."""
    if not (is_number(time.type) or is_moment(time.type) or pa.types.is_time(time.type)):
        raise ProgrammingError(
            f"column '{time.name}' of {function}() is {sql_type_name(time.type)}; times are "
            "numbers, TIMESTAMP, DATE or TIME"
        )


def check_channel(function: str, channel: Column) -> None:
    """Raise ProgrammingError for a column that is no channel."""
    if not is_number(channel.type):
        raise ProgrammingError(
            f"column '{channel.name}' of {function}() is {sql_type_name(channel.type)}; channels, "
            "which are all columns beside time and partition_by, have numbers: leave out others"
        )


def make_question(values: Mapping[str, Any], step: float | None, function: str) -> Question:
    """Return a question from the values of arguments; raises ProgrammingError where they clash."""
    asked = Question(resample=step, **values)
    if not asked.merge and asked.n_states is not None:
        raise ProgrammingError(
            f"{function}() merges segments to n_states at most; it cannot with merge => false"
        )
    return asked
