"""Functions of dates, times and intervals."""

from __future__ import annotations

import datetime as dt
import functools
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import NotSupportedError, ProgrammingError, did_you_mean
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.functions.time_format import strftime_pieces, to_char_pieces
from raydb.planner.expressions.interval_text import DAY_MICROSECONDS, UNITS, unit_name
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.sql.bind.expression.literals import is_bare_string, read_string
from raydb.sql.bind.expression.operators import arithmetic
from raydb.sql.functions.signature import Signature, require_number, require_text, typed
from raydb.sql.types import INTERVAL, is_integer, is_interval, is_moment
from raydb.sql.typing_rules import cast

if TYPE_CHECKING:
    from collections.abc import Callable

_DATE, _TIME, _TIMESTAMP = pa.date32(), pa.time64("us"), pa.timestamp("us")
_BIGINT, _TEXT = pa.int64(), pa.string()

_CLOCK_PARTS = ("hour", "minute", "second", "millisecond", "microsecond")
_DAY_PARTS = ("week", "isoyear", "dow", "isodow", "doy")
_PART_SYNONYMS = {"dayofweek": "dow", "weekday": "dow", "dayofyear": "doy", "weekofyear": "week"}
_PARTS = ("epoch", *UNITS, *_DAY_PARTS)
# The parts with digits behind the point, as in PostgreSQL.
_PART_TYPES = {
    "second": pa.decimal128(8, 6),
    "millisecond": pa.decimal128(8, 3),
    "epoch": pa.decimal128(18, 6),
}


def date_part(part: str, operand: Expression) -> Expression:
    """Return EXTRACT(part FROM operand): a BIGINT, or a DECIMAL with the fraction of a second."""
    name = _part_name(part)
    operand = _as_moment(part, operand)
    if operand.type == _TIME:
        known = name in (*_CLOCK_PARTS, "epoch")
    else:
        known = not is_interval(operand.type) or name not in ("week", *_DAY_PARTS)
    if not known:
        raise ProgrammingError(f"{describe(operand)} has no part '{part}'")
    if operand.type == _DATE and name in _CLOCK_PARTS:
        operand = cast(operand, _TIMESTAMP)
    is_whole = operand.type == _DATE and name == "epoch"
    return Call(name, (operand,), _BIGINT if is_whole else _PART_TYPES.get(name, _BIGINT))


def _part_name(part: str) -> str:
    word = part.lower()
    name = _PART_SYNONYMS.get(word, word if word in _PARTS else unit_name(word))
    if name is None:
        raise ProgrammingError(
            f"there is no part '{part}' of a date or time{did_you_mean(word, _PARTS)}"
        )
    return name


def _as_moment(name: str, operand: Expression) -> Expression:
    operand = typed(operand, _DATE)
    if not (is_moment(operand.type) or is_interval(operand.type) or operand.type == _TIME):
        raise ProgrammingError(f"{name}() needs a date, not {describe(operand)}")
    return operand


def _date_part(_: str, part: Expression, operand: Expression) -> Expression:
    return date_part(_constant_text("date_part", part), operand)


def _constant_text(name: str, operand: Expression) -> str:
    operand = require_text(name, operand)
    if not isinstance(operand, Literal) or operand.value is None:
        raise NotSupportedError(f"{name}() needs a constant string, not {describe(operand)}")
    return str(operand.value)


def _unit(name: str, operand: Expression) -> Literal:
    text = _constant_text(name, operand)
    unit = unit_name(text)
    if unit is None:
        raise ProgrammingError(f"there is no unit '{text}' of time{did_you_mean(text, UNITS)}")
    return Literal(unit, _TEXT)


def _date_trunc(name: str, unit: Expression, operand: Expression) -> Expression:
    cut = _unit(name, unit)
    operand = _as_moment(name, operand)
    if is_interval(operand.type):
        if cut.value == "week":
            raise NotSupportedError("an interval cannot be cut to weeks")
        return Call("date_trunc", (cut, operand), INTERVAL)
    return Call("date_trunc", (cut, _as_timestamp(name, operand)), _TIMESTAMP)


def _as_timestamp(name: str, operand: Expression) -> Expression:
    return cast(_as_date_or_timestamp(name, operand), _TIMESTAMP)


def _as_date_or_timestamp(name: str, operand: Expression) -> Expression:
    operand = typed(operand, _TIMESTAMP)
    if isinstance(operand, Literal) and is_bare_string(operand):
        operand = read_string(operand, _TIMESTAMP)
    if not is_moment(operand.type):
        raise ProgrammingError(f"{name}() needs a date or a timestamp, not {describe(operand)}")
    return operand


def _difference(
    function: str, name: str, unit: Expression, start: Expression, end: Expression
) -> Expression:
    bounds = (_as_timestamp(name, start), _as_timestamp(name, end))
    return Call(function, (_unit(name, unit), *bounds), _BIGINT)


def _time_bucket(
    name: str, width: Expression, moment: Expression, *origin: Expression
) -> Expression:
    """Return the beginning of the bucket that a date or timestamp is in.

    Buckets are counted from an origin, by default Monday 2000-01-03, or January 2000 for months.
    """
    months, days, microseconds = _bucket_width(name, width)
    moment = _as_date_or_timestamp(name, moment)
    start: Expression = Literal(dt.datetime(2000, 1, 1 if months else 3), _TIMESTAMP)
    offset: Expression | None = None
    if origin and is_interval(origin[0].type):
        (offset,) = origin
    elif origin:
        start = _as_timestamp(name, origin[0])
    size = months or days * DAY_MICROSECONDS + microseconds
    inner = cast(moment, _TIMESTAMP) if offset is None else arithmetic("subtract", moment, offset)
    function = "bucket_of_months" if months else "bucket_of_span"
    bucket: Expression = Call(function, (inner, start, Literal(size, _BIGINT)), _TIMESTAMP)
    bucket = bucket if offset is None else arithmetic("add", bucket, offset)
    is_day = moment.type == _DATE and not microseconds and not origin and name != "date_bin"
    return cast(bucket, _DATE) if is_day else bucket


def _bucket_width(name: str, width: Expression) -> tuple[int, int, int]:
    """Return the width of a bucket: some months, or days and microseconds."""
    if isinstance(width, Literal) and is_bare_string(width):
        width = read_string(width, INTERVAL)
    if not isinstance(width, Literal) or width.value is None or not is_interval(width.type):
        raise ProgrammingError(f"{name}() needs a constant INTERVAL, not {describe(width)}")
    months, days, nanoseconds = width.value
    span = days * DAY_MICROSECONDS + nanoseconds // 1000
    if min(months, span) < 0 or bool(months) == bool(span) or (months and name == "date_bin"):
        units = "days and time" if name == "date_bin" else "months, or of days and time"
        raise ProgrammingError(f"{name}() needs an interval of {units}, not {describe(width)}")
    return months, days, nanoseconds // 1000


def _date_add(_: str, moment: Expression, interval: Expression) -> Expression:
    return arithmetic("add", moment, interval)


def _age(name: str, left: Expression, *right: Expression) -> Expression:
    """Return left - right, or today - left, in years, months and days."""
    sides = (left, *right) if right else (cast(Call("now", (), _TIMESTAMP), _DATE), left)
    return Call("age", tuple(_as_timestamp(name, side) for side in sides), INTERVAL)


def _of_timestamp(data_type: pa.DataType) -> Callable[..., Expression]:
    def bind(name: str, operand: Expression) -> Expression:
        return Call(name, (_as_timestamp(name, operand),), data_type)

    return bind


def _last_day(name: str, operand: Expression) -> Expression:
    return Call(name, (cast(_as_date_or_timestamp(name, operand), _DATE),), _DATE)


def _now(name: str) -> Expression:
    now = Call("now", (), _TIMESTAMP)
    if name in ("current_date", "today"):
        return cast(now, _DATE)
    return cast(now, _TIME) if name in ("current_time", "localtime") else now


def current_moment(name: str) -> Expression:
    """Return CURRENT_DATE, CURRENT_TIMESTAMP, LOCALTIME and so on, by the name in lower case."""
    return _now(name)


def _from_numbers(data_type: pa.DataType, last_is_double: bool) -> Callable[..., Expression]:
    """Return a binder of make_date and its like: integers, the last one a number of seconds."""

    def bind(name: str, *numbers: Expression) -> Expression:
        arguments = []
        for place, number in enumerate(numbers, 1):
            is_double = last_is_double and place == len(numbers)
            arguments.append(_number(name, number, pa.float64() if is_double else _BIGINT))
        return Call(name, tuple(arguments), data_type)

    return bind


def _number(name: str, operand: Expression, wanted: pa.DataType) -> Expression:
    operand = typed(operand, wanted)
    require_number(name, operand)
    if wanted == _BIGINT and not is_integer(operand.type):
        raise ProgrammingError(f"{name}() needs an integer, not {describe(operand)}")
    return cast(operand, wanted)


def _epoch_ms(name: str, operand: Expression) -> Expression:
    operand = typed(operand, _BIGINT)
    if is_integer(operand.type):
        return Call("from_milliseconds", (cast(operand, _BIGINT),), _TIMESTAMP)
    return Call("to_milliseconds", (_as_timestamp(name, operand),), _BIGINT)


def interval_of_units(number: Expression, unit: str) -> Expression:
    """Return the interval of a number of units, such as `INTERVAL (x) DAY`."""
    months, days, microseconds = UNITS[unit]
    one = Literal(pa.MonthDayNano([months, days, microseconds * 1000]), INTERVAL)
    number = typed(number, _BIGINT)
    require_number("INTERVAL", number)
    return arithmetic("multiply", one, number)


def _to_units(unit: str) -> Callable[..., Expression]:
    return lambda _, number: interval_of_units(number, unit)


def _make_interval(_: str, *numbers: Expression) -> Expression:
    units = ("year", "month", "week", "day", "hour", "minute", "second")
    parts = [interval_of_units(number, unit) for number, unit in zip(numbers, units, strict=False)]
    return functools.reduce(functools.partial(arithmetic, "add"), parts)


def _format(split: Callable[[str], list[str]]) -> Callable[..., Expression]:
    def bind(name: str, moment: Expression, form: Expression) -> Expression:
        if isinstance(moment, Literal) and is_bare_string(moment):  # DuckDB takes both orders
            moment, form = form, moment
        text = _constant_text(name, form)
        split(text)  # refuses what it does not know
        return Call(name, (_as_timestamp(name, moment), Literal(text, _TEXT)), _TEXT)

    return bind


def _strptime(name: str, text: Expression, form: Expression) -> Expression:
    pattern = _constant_text(name, form)
    strftime_pieces(pattern)
    return Call(name, (require_text(name, text), Literal(pattern, _TEXT)), _TIMESTAMP)


_PART_FUNCTIONS = (*UNITS, *_DAY_PARTS, *_PART_SYNONYMS, "epoch")
_PLURALS = {"century": "centuries", "millennium": "millennia"}
_NOW = ("current_date", "current_time", "current_timestamp", "localtime", "localtimestamp")

TIME = {
    **{part: Signature(date_part, 1, 1) for part in _PART_FUNCTIONS},
    **{name: Signature(_now, 0, 0) for name in (*_NOW, "now", "today")},
    **{f"to_{unit}s": Signature(_to_units(unit), 1, 1) for unit in UNITS if unit not in _PLURALS},
    **{f"to_{plural}": Signature(_to_units(unit), 1, 1) for unit, plural in _PLURALS.items()},
    "age": Signature(_age, 1, 2),
    "date_add": Signature(_date_add, 2, 2),
    "date_bin": Signature(_time_bucket, 3, 3),
    "date_diff": Signature(functools.partial(_difference, "date_diff"), 3, 3),
    "date_part": Signature(_date_part, 2, 2),
    "date_sub": Signature(functools.partial(_difference, "date_sub"), 3, 3),
    "date_trunc": Signature(_date_trunc, 2, 2),
    "datediff": Signature(functools.partial(_difference, "date_diff"), 3, 3),
    "datepart": Signature(_date_part, 2, 2),
    "datesub": Signature(functools.partial(_difference, "date_sub"), 3, 3),
    "datetrunc": Signature(_date_trunc, 2, 2),
    "dayname": Signature(_of_timestamp(_TEXT), 1, 1),
    "epoch_ms": Signature(_epoch_ms, 1, 1),
    "last_day": Signature(_last_day, 1, 1),
    "make_date": Signature(_from_numbers(_DATE, last_is_double=False), 3, 3),
    "make_interval": Signature(_make_interval, 1, 7),
    "make_time": Signature(_from_numbers(_TIME, last_is_double=True), 3, 3),
    "make_timestamp": Signature(_from_numbers(_TIMESTAMP, last_is_double=True), 6, 6),
    "monthname": Signature(_of_timestamp(_TEXT), 1, 1),
    "strftime": Signature(_format(strftime_pieces), 2, 2),
    "strptime": Signature(_strptime, 2, 2),
    "time_bucket": Signature(_time_bucket, 2, 3),
    "to_char": Signature(_format(to_char_pieces), 2, 2),
    "to_timestamp": Signature(_from_numbers(_TIMESTAMP, last_is_double=True), 1, 1),
}
