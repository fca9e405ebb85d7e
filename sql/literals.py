"""Constants: from text to a typed literal, and from one type to another without a cast."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import re
import struct
from typing import Any

import pyarrow as pa

from raydb.errors import DataError, ProgrammingError
from raydb.planner.expression import Literal
from raydb.sql.types import (
    INTEGERS,
    MAX_PRECISION,
    is_decimal,
    is_float,
    is_integer,
    is_number,
)
from raydb.storage.type_names import sql_type_name

_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?")
_BOOLEANS = {"true": True, "t": True, "false": False, "f": False}
# Exact at any size: the default context would round beyond 28 digits.
_EXACT = decimal.Context(prec=200)


def integer_literal(value: int) -> Literal:
    """Return a literal of the narrowest of INTEGER, BIGINT and DECIMAL(38,0) that holds a value."""
    for data_type in (pa.int32(), pa.int64()):
        if _fits_integer(value, data_type):
            return Literal(value, data_type)
    if abs(value) >= 10**MAX_PRECISION:
        raise ProgrammingError(f"a number has more than {MAX_PRECISION} digits")
    return Literal(decimal.Decimal(value), pa.decimal128(MAX_PRECISION, 0))


def decimal_literal(value: decimal.Decimal) -> Literal:
    """Return a literal of the narrowest DECIMAL that holds a value.

    >>> decimal_literal(decimal.Decimal("0.05")).type
    Decimal128Type(decimal128(2, 2))
    """
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(-exponent, 0)
    precision = max(len(digits) + max(exponent, 0), scale, 1)
    if precision > MAX_PRECISION:
        raise ProgrammingError(f"a number has more than {MAX_PRECISION} digits")
    return Literal(value, pa.decimal128(precision, scale))


def number_literal(text: str) -> Literal:
    """Return the literal of a number as written: 1 is an integer, 0.05 a decimal, 1e3 a double."""
    text = text.replace("_", "")
    if "e" in text.lower():
        value = float(text)
        if math.isinf(value):
            raise DataError(f"the number {text} is out of the range of DOUBLE")
        return Literal(value, pa.float64())
    exact = decimal_literal(decimal.Decimal(text))
    return integer_literal(int(exact.value)) if text.isdigit() else exact


def natural(literal: Literal) -> Literal:
    """Return an integer literal as the narrowest decimal; other literals are returned unchanged."""
    if literal.value is not None and is_integer(literal.type):
        return decimal_literal(decimal.Decimal(literal.value))
    return literal


def is_bare_string(literal: object) -> bool:
    """Say whether an expression is a string constant, whose type its neighbours decide."""
    return (
        isinstance(literal, Literal) and literal.type == pa.string() and literal.value is not None
    )


def read_string(literal: Literal, data_type: pa.DataType) -> Literal:
    """Return the value that a string constant stands for beside a value of `data_type`.

    A number keeps its own digits, as if it were written without quotes. Raises DataError, naming
    the string and the type, if it is none.
    """
    if data_type == pa.string():
        return literal
    text = str(literal.value).strip()
    try:
        value = _read(text, data_type)
    except (ValueError, decimal.InvalidOperation):
        value = None
    if value is None:
        raise DataError(f"'{literal.value}' is not a valid {_kind_name(data_type)}")
    if is_decimal(data_type):
        return decimal_literal(value)
    if is_integer(data_type):
        return integer_literal(value)
    return Literal(value, data_type)


def _kind_name(data_type: pa.DataType) -> str:
    return "DECIMAL" if is_decimal(data_type) else sql_type_name(data_type)


def _read(text: str, data_type: pa.DataType) -> Any:  # a Python value, or None
    if is_integer(data_type):
        return int(text)
    if is_decimal(data_type):
        value = decimal.Decimal(text)
        return value if value.is_finite() else None
    if is_float(data_type):
        return float(text)
    if pa.types.is_boolean(data_type):
        return _BOOLEANS.get(text.lower())
    if data_type == pa.date32():
        return _read_date(text)
    if data_type == pa.time64("us"):
        return _read_time(text)
    if data_type == pa.timestamp("us"):
        day, _, rest = text.replace("T", " ").partition(" ")
        moment = dt.time() if not rest else _read_time(rest.strip())
        return dt.datetime.combine(_read_date(day), moment)
    return None


def _read_date(text: str) -> dt.date:
    found = _DATE.fullmatch(text)
    if found is None:
        raise ValueError(text)
    return dt.date(*(int(part) for part in found.groups()))


def _read_time(text: str) -> dt.time:
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError(text)
    hour, minute, second, fraction = found.groups(default="0")
    return dt.time(int(hour), int(minute), int(second), int(fraction.ljust(6, "0")))


def convert(literal: Literal, data_type: pa.DataType) -> Literal | None:
    """Return a literal in another type if the value stays exactly the same, else None.

    A string is read (see `read_string`, which raises); DOUBLE and REAL take the nearest value.
    """
    value = literal.value
    if value is None or literal.type == data_type:
        return Literal(value, data_type)
    if is_bare_string(literal):
        return convert(read_string(literal, data_type), data_type)
    if is_number(literal.type) and is_number(data_type):
        return _convert_number(value, data_type)
    if literal.type == pa.date32() and data_type == pa.timestamp("us"):
        return Literal(dt.datetime.combine(value, dt.time()), data_type)
    return None


def _convert_number(value: int | float | decimal.Decimal, data_type: pa.DataType) -> Literal | None:
    if data_type == pa.float64():
        return Literal(float(value), data_type)
    if data_type == pa.float32():
        return _convert_to_real(float(value))
    if is_integer(data_type):
        whole = int(value) if math.isfinite(value) else None
        same = whole is not None and whole == value and _fits_integer(whole, data_type)
        return Literal(whole, data_type) if same else None
    if is_decimal(data_type) and not isinstance(value, float):
        exact = decimal.Decimal(value)
        digits = exact.scaleb(data_type.scale, _EXACT)
        complete = digits == digits.to_integral_value(context=_EXACT)
        if complete and digits.copy_abs() < 10**data_type.precision:
            return Literal(exact, data_type)
    return None


def _convert_to_real(value: float) -> Literal | None:
    """Round to 24 bits, so that the value stays the same when it becomes a DOUBLE again."""
    try:
        (rounded,) = struct.unpack("f", struct.pack("f", value))
    except OverflowError:
        return None
    return Literal(rounded, pa.float32())


def _fits_integer(value: int, data_type: pa.DataType) -> bool:
    bound = 1 << (data_type.bit_width - 1)
    return data_type in INTEGERS and -bound <= value < bound
