"""Parts of a TIMESTAMP that its day or its hour tells: the year, the month, the hour of the day.

    date_trunc('month', sold_at)   is   date_trunc('month', date_trunc('day', sold_at))

A column has nearly as many moments as rows, but few days, and not many hours. So a scan keeps the
day, or the hour, of each row as a code, and evaluates what it tells once for each of them.
"""

from __future__ import annotations

import datetime as dt

import pyarrow as pa

from raydb.late import pc
from raydb.planner.expressions.nodes import Attribute, Call, Expression, Literal, attributes_of
from raydb.values import replace

MOMENT = pa.timestamp("us")

# The units that rows are coded by, and their microseconds.
CODED_UNITS = {"day": 86_400_000_000, "hour": 3_600_000_000}

# How many days a unit has at least.
_UNIT_DAYS = {
    "day": 1,
    "week": 7,
    "month": 28,
    "quarter": 90,
    "year": 365,
    "decade": 3652,
    "century": 36524,
    "millennium": 365242,
}
# How many values a part has at most, by the function that gives it; years go on.
_PART_COUNTS = {
    **dict.fromkeys(("year", "isoyear", "decade", "century", "millennium", "last_day"), None),
    **dict.fromkeys(("month", "monthname"), 12),
    **dict.fromkeys(("dow", "dayofweek", "weekday", "isodow", "dayname"), 7),
    **dict.fromkeys(("week", "weekofyear"), 53),
    **dict.fromkeys(("doy", "dayofyear"), 366),
    "quarter": 4,
    "day": 31,
}
_HOURS_A_DAY = 24


def by_unit(expression: Expression) -> tuple[Expression, Call] | None:
    """Return an expression over the days of its one column, or over the hours, and these.

    None where it has other columns, or asks for more than the hour.
    """
    if isinstance(expression, Attribute):
        return None
    attributes = attributes_of(expression)
    if len(attributes) != 1:
        return None
    (column,) = attributes
    if column.type != MOMENT or column.path:
        return None
    for unit in CODED_UNITS:
        units = Call("date_trunc", (Literal(unit, pa.string()), column), MOMENT)
        changed = _over_units(expression, units, unit)
        if changed is not None:
            return changed, units
    return None


def _over_units(part: Expression, units: Call, unit: str) -> Expression | None:
    """Return a part of an expression over days or hours; None where it asks for more."""
    if isinstance(part, Attribute):
        return None
    if not isinstance(part, Call):
        return part
    if any(isinstance(argument, Attribute) for argument in part.arguments):
        if not _is_told_by(part, unit):
            return None
        over = (units if isinstance(each, Attribute) else each for each in part.arguments)
        return replace(part, arguments=tuple(over))
    changed = [_over_units(argument, units, unit) for argument in part.arguments]
    known = tuple(argument for argument in changed if argument is not None)
    return replace(part, arguments=known) if len(known) == len(changed) else None


def _is_told_by(call: Call, unit: str) -> bool:
    """Whether a function of a column is the same for all moments of a day, or of an hour."""
    match call:
        case Call(function="date_trunc", arguments=(Literal(value=cut), Attribute())):
            return cut in _UNIT_DAYS or cut == unit
        case Call(function="cast", arguments=(Attribute(),), type=kind):
            return bool(pa.types.is_date32(kind))
        case Call(function="less" | "greater_equal", arguments=(Attribute(), Literal(value=value))):
            step = dt.timedelta(microseconds=CODED_UNITS[unit])
            return isinstance(value, dt.datetime) and not (value - dt.datetime.min) % step
        case Call(function=function, arguments=(Attribute(),)):
            return function in _PART_COUNTS or function in ("is_null", unit)
        case _:
            return False


def count_by_unit(expression: Expression, sample: pa.Array) -> int:
    """Guess how many values an expression over days or hours has, from some of its column's."""
    least, most = pc.min_max(sample).values()
    if not least.is_valid:
        return 1
    span: int = most.cast(pa.int64()).as_py() - least.cast(pa.int64()).as_py()
    days = span // CODED_UNITS["day"] + 2
    match expression:
        case Call(function="date_trunc", arguments=(Literal(value="hour"), _)):
            return days * _HOURS_A_DAY
        case Call(function="date_trunc", arguments=(Literal(value=cut), _)):
            return days // _UNIT_DAYS.get(cut, 1) + 2
        case Call(function="hour"):
            return _HOURS_A_DAY + 1
        case Call(function=function, arguments=(Attribute(),)):
            return min(days, (_PART_COUNTS.get(function) or days) + 1)
        case _:
            return days * _HOURS_A_DAY
