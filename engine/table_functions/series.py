"""Table functions of constants: range and generate_series.

    range(5), range(1, 10, 2)    integers from the first up to the second, which is not reached
    generate_series(1, 10, 2)    likewise, and the second may be reached

Two dates or timestamps and an INTERVAL give a series of timestamps, with a time zone if one has.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from raydb.errors import DataError, ProgrammingError
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.nodes import Expression, Literal
from raydb.planner.expressions.operators import arithmetic
from raydb.planner.expressions.types import (
    TIMESTAMP,
    TIMESTAMPTZ,
    common_type,
    is_integer,
    is_interval,
    is_moment,
)
from raydb.planner.expressions.typing_rules import cast
from raydb.planner.plan.function_arguments import Argument
from raydb.planner.plan.nodes import Constants, Plan, Project, Series, Values
from raydb.planner.plan.table_function import PlannedFunction
from raydb.storage.moments import python_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.planner.expressions.nodes import Column
    from raydb.planner.plan.table_function import FunctionCall

_MAX_ROWS = 2**40  # 8 TiB of numbers, beyond any memory
_MONTH_DAYS = 30  # in the order of intervals


class SeriesFunction(PlannedFunction):
    """range() or generate_series(): one column of that name.

    It is BIGINT for integers and TIMESTAMP for dates and timestamps, as in PostgreSQL, or TIMESTAMP
    WITH TIME ZONE. Without rows where an argument is NULL.
    """

    is_positional = True

    def __init__(self, name: str, *, includes_stop: bool) -> None:
        self.name = name
        self.names_column = self.includes_stop = includes_stop
        self.arguments = (
            Argument("start", is_required=True),
            Argument("stop", is_required=includes_stop),
            Argument("step"),
        )

    def bind(self, call: FunctionCall) -> Plan:
        """Return the rows.

        Raises ProgrammingError for arguments of other types, DataError for a step of zero.
        """
        values = list(call.constants.values())
        if any(is_moment(value.type) or is_interval(value.type) for value in values):
            return _moments(self.name, values, call)
        for value in values:
            if not (is_integer(value.type) or pa.types.is_null(value.type)):
                raise ProgrammingError(
                    f"{self.name}() takes integers, or two dates or timestamps and an interval, "
                    f"not {describe(value)}"
                )
        return _integers(self.name, [value.value for value in values], call)


def _integers(name: str, values: Sequence[Any], call: FunctionCall) -> Plan:
    column = call.new_column(name, pa.int64())
    if None in values:
        return Values((column,), ())
    start, stop, step = [(0, *values, 1), (*values, 1), values][len(values) - 1]
    if step == 0:
        raise DataError(f"the step of {name}() cannot be zero")
    if name == "generate_series":
        stop += 1 if step > 0 else -1
    count = _step_count(stop - start, step)
    if count > _MAX_ROWS:
        raise DataError(f"{name}() would have {count} rows, which is more than fit in memory")
    if not -(2**63) <= stop < 2**63:
        numbers = range(start, stop, step)
        return Constants((column,), tuple((Literal(number, column.type),) for number in numbers))
    return Series(column, start, stop, step)


def _step_count(distance: int, step: int) -> int:
    """Return how many steps, the first of which is at 0, lie before a distance."""
    return max(-(-distance // step), 0)


# -- dates and timestamps


def _moments(name: str, values: Sequence[Literal], call: FunctionCall) -> Plan:
    if len(values) < 3:
        raise ProgrammingError(f"{name}() of dates needs a step, such as INTERVAL '1 day'")
    kind = common_type(*(value.type for value in values[:2])) or TIMESTAMP
    kind = TIMESTAMPTZ if kind == TIMESTAMPTZ else TIMESTAMP
    ends = [_as_moment(name, value, kind) for value in values[:2]]
    step = values[2]
    if not (is_interval(step.type) or pa.types.is_null(step.type)):
        raise ProgrammingError(f"{name}() of dates takes an interval, not {describe(step)}")
    start, stop = ends
    if start is None or stop is None or step.value is None:
        return Values((call.new_column(name, kind),), ())
    forward = _direction(name, step.value)
    inclusive = name == "generate_series"
    column = call.new_column(name, kind)
    # A day has 23 to 25 hours where clocks change.
    if step.value.months or (step.value.days and kind == TIMESTAMPTZ):
        return _by_calendar(column, start, stop, step, forward, inclusive)
    microseconds = step.value.days * 86_400_000_000 + step.value.nanoseconds // 1000
    distance = (stop - start) // dt.timedelta(microseconds=1)
    count = _step_count(distance + (forward if inclusive else 0), microseconds)
    number = call.new_column("number", pa.int64())
    moment = arithmetic("add", Literal(start, kind), arithmetic("multiply", step, number))
    return Project(Series(number, 0, count, 1), ((column, moment),))


def _as_moment(name: str, value: Literal, kind: pa.DataType) -> dt.datetime | None:
    if not (is_moment(value.type) or value.value is None):
        raise ProgrammingError(f"{name}() of dates takes two dates, not {describe(value)}")
    return _datetime(name, cast(value, kind))


def _datetime(name: str, moment: Expression) -> dt.datetime | None:
    """Return the value of a constant; raises DataError for a moment that Python lacks."""
    value: dt.datetime | int | None = python_number(evaluate(moment, {}, 1)[0])
    if isinstance(value, int):
        raise DataError(f"{name}() of dates goes beyond the years 1 to 9999")
    return value


def _direction(name: str, step: pa.MonthDayNano) -> int:
    """Return 1 for a step into the future and -1 for one into the past."""
    days = step.months * _MONTH_DAYS + step.days
    nanoseconds = days * 86_400_000_000_000 + step.nanoseconds
    if nanoseconds == 0:
        raise DataError(f"the step of {name}() cannot be zero")
    return 1 if nanoseconds > 0 else -1


def _by_calendar(
    column: Column,
    moment: dt.datetime,
    stop: dt.datetime,
    step: Literal,
    forward: int,
    inclusive: bool,
) -> Values:
    """Return moments whose distance depends on the calendar: each is found from the one before."""
    rows: list[tuple[Expression, ...]] = []
    while (moment < stop if forward > 0 else moment > stop) or (inclusive and moment == stop):
        rows.append((Literal(moment, column.type),))
        following = arithmetic("add", Literal(moment, column.type), step)
        after = _datetime(column.name, following)
        assert after is not None, "no part is NULL"
        if (after - moment) * forward <= dt.timedelta():
            raise DataError(f"the step of {column.name}() does not lead from {moment} to {stop}")
        moment = after
    return Values((column,), tuple(rows))
