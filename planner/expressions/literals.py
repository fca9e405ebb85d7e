"""Constants: from text to a typed literal, and from one type to another without a cast."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import re
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.errors import DataError, ProgrammingError
from raydb.planner.expressions.casts import cast as casting
from raydb.planner.expressions.columns import zones
from raydb.planner.expressions.nodes import Literal
from raydb.planner.expressions.slots import records_conversion
from raydb.planner.expressions.types import (
    BIGINT,
    COMPARED_PRECISION,
    INTEGER,
    MAX_PRECISION,
    TIMESTAMP,
    TIMESTAMPS,
    TIMESTAMPTZ,
    is_decimal,
    is_float,
    is_integer,
    is_list,
    is_moment,
    is_number,
)
from raydb.planner.expressions.vector_value import Vector, vector_of
from raydb.storage.enums import EnumType
from raydb.storage.integers import UHUGEINT, bounds_of
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Sequence

# The plain forms, which Python reads faster than a cast of one value does.
_PLAIN_VECTOR = re.compile(r"\[[0-9.eE,\s+-]*\]")
_DATE = re.compile(r"(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(
    r"(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{6})?"
)
# So many digits fit any integer that has a literal: most constants are shorter.
_PLAIN_DIGITS = 19
_MOST_DIGITS = 1000
# A number that it would have to round, or that is longer, is an error.
_EXACT = decimal.Context(prec=COMPARED_PRECISION, traps=[decimal.Inexact, decimal.InvalidOperation])


def integer_literal(value: int) -> Literal:
    """Return a literal of the narrowest of INTEGER, BIGINT, HUGEINT and UHUGEINT of a value."""
    if -(2**31) <= value < 2**31:
        return Literal(value, INTEGER)
    if -(2**63) <= value < 2**63:
        return Literal(value, BIGINT)
    if 10**MAX_PRECISION <= value < 2**128:
        return Literal(decimal.Decimal(value), UHUGEINT)
    if abs(value) >= 10**MAX_PRECISION:
        raise ProgrammingError(f"a number has more than {MAX_PRECISION} digits")
    return Literal(decimal.Decimal(value), pa.decimal128(MAX_PRECISION, 0))


def decimal_literal(value: decimal.Decimal) -> Literal:
    """Return a literal of the narrowest DECIMAL that holds a value.

    >>> decimal_literal(decimal.Decimal("0.05")).type
    Decimal128Type(decimal128(2, 2))
    """
    data_type = _narrowest(value)
    if data_type is None:
        raise ProgrammingError(f"a number has more than {MAX_PRECISION} digits")
    return Literal(value, data_type)


def _narrowest(value: decimal.Decimal) -> pa.DataType | None:
    """Return the narrowest DECIMAL that holds a value, None where none does."""
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(-exponent, 0)
    precision = max(len(digits) + max(exponent, 0), scale, 1)
    return pa.decimal128(precision, scale) if precision <= MAX_PRECISION else None


def constant(text: str, *, is_string: bool) -> Literal:
    """Return the literal of a constant, a number or what stands between quotes."""
    return Literal(text, pa.string()) if is_string else number_literal(text)


def number_literal(text: str) -> Literal:
    """Return the literal of a number as written: 1 is an integer, 0.05 a decimal, 1e3 a double."""
    if len(text) < _PLAIN_DIGITS and text.isascii() and text.isdigit():
        return integer_literal(int(text))
    text = text.replace("_", "")
    if "e" in text.lower():
        try:
            value = float(text)
        except ValueError:  # 1e
            raise ProgrammingError(f"the number {text} has an exponent without digits") from None
        if math.isinf(value):
            raise DataError(f"the number {text} is out of the range of DOUBLE")
        return Literal(value, pa.float64())
    if text.isdigit():
        # What has more digits than Python reads has too many for SQL as well.
        return integer_literal(int(text[:_MOST_DIGITS]))
    return decimal_literal(decimal.Decimal(text))


def vector_literal(text: str) -> Literal | None:
    """Return the literal of a vector as written, [1, 0.5, -2e3], of DOUBLE; None if it is none."""
    try:
        numbers = np.array(text[1:-1].split(","), np.float64)
    except ValueError:
        return None
    return Literal(Vector(numbers), pa.list_(pa.float64())) if np.isfinite(numbers).all() else None


def natural(literal: Literal) -> Literal:
    """Return an integer literal as the narrowest decimal; other literals are returned unchanged."""
    if not literal.is_null and is_integer(literal.type):
        return _as_decimal(literal)
    return literal


@records_conversion
def _as_decimal(literal: Literal) -> Literal:
    return decimal_literal(decimal.Decimal(literal.value))


def is_bare_null(expression: object) -> bool:
    """Say whether an expression is NULL without a type of its own, as CAST(NULL AS t) has one."""
    return isinstance(expression, Literal) and pa.types.is_null(expression.type)


def is_bare_string(literal: object) -> bool:
    """Say whether an expression is a string constant, whose type its neighbours decide."""
    return isinstance(literal, Literal) and literal.type == pa.string() and not literal.is_null


@records_conversion
def read_string(literal: Literal, data_type: pa.DataType) -> Literal:
    """Return the value that a string constant stands for beside a value of `data_type`.

    A number keeps its own digits, as if it were written without quotes. Raises DataError, naming
    the string and the type, if it is none.
    """
    if data_type == pa.string():
        return literal
    value = _read(literal, data_type)
    if data_type == UHUGEINT and value == int(value) and 0 <= value <= bounds_of(UHUGEINT)[1]:
        return Literal(value, data_type)
    if is_integer(data_type):
        value = decimal.Decimal(value)
    if not isinstance(value, decimal.Decimal):
        return Literal(value, data_type)
    if _narrowest(value) is None:
        raise DataError(f"'{literal.value}' has more than {MAX_PRECISION} digits")
    return integer_literal(int(value)) if is_integer(data_type) else decimal_literal(value)


def _read(literal: Literal, data_type: pa.DataType) -> Any:
    """Return the Python value of a string of any number of digits; errors as `read_string`."""
    try:
        value = _parse(str(literal.value), data_type)
    except (ValueError, decimal.InvalidOperation, DataError):
        value = None
    if value is None and isinstance(data_type, EnumType):
        raise DataError(f"'{literal.value}' is no value of {data_type.title}")
    if value is None:
        raise DataError(f"'{literal.value}' is not a valid {_kind_name(data_type)}")
    return value


def _kind_name(data_type: pa.DataType) -> str:
    is_any = is_decimal(data_type) and data_type != UHUGEINT
    return "DECIMAL" if is_any else sql_type_name(data_type)


def _parse(text: str, data_type: pa.DataType) -> Any:  # a Python value, or None
    if isinstance(data_type, EnumType):
        return data_type.code_of(text)
    if is_number(data_type) and ("_" in text or not text.isascii()):
        return None  # which Python reads
    if is_integer(data_type):
        return int(text)
    if is_decimal(data_type):
        value = decimal.Decimal(text.strip())
        return value if value.is_finite() else None
    if is_float(data_type):
        number = float(text)
        if math.isinf(number) and "inf" not in text.lower():
            return None
        return _as_real(number) if data_type == pa.float32() else number
    if data_type == pa.date32() and _DATE.fullmatch(text):
        return dt.date.fromisoformat(text)
    if data_type == pa.timestamp("us") and _TIMESTAMP.fullmatch(text):
        return dt.datetime.fromisoformat(text)
    if pa.types.is_fixed_size_list(data_type) and (read := _read_vector(text, data_type)):
        return read
    found = casting.cast_values(pa.scalar(text), data_type, zones.session_zone())
    vector = vector_of(found) if is_list(data_type) else None
    return casting.literal_value(found) if vector is None else vector


def _read_vector(text: str, data_type: pa.DataType) -> Vector | None:
    """Return a vector of plain numbers in a fraction of the time of a cast; None for other text."""
    if not is_float(data_type.value_type) or _PLAIN_VECTOR.fullmatch(text) is None:
        return None
    words = [word.strip() for word in text[1:-1].split(",")]
    try:
        numbers = pa.array(words, pa.string()).cast(data_type.value_type).to_numpy()
    except pa.ArrowInvalid:
        return None
    fits = len(words) == data_type.list_size and np.isfinite(numbers).all()
    return Vector(numbers) if fits else None


@records_conversion
def member(literal: Literal, kind: EnumType) -> Literal | None:
    """Return the value of an ENUM that a string constant is the label of, None where it is none."""
    code = kind.code_of(str(literal.value))
    return None if code is None else Literal(code, kind)


@records_conversion
def convert(literal: Literal, data_type: pa.DataType) -> Literal | None:
    """Return a literal in another type if the value stays exactly the same, else None.

    A string is read (see `read_string`, which raises); DOUBLE and REAL take the nearest value.
    """
    value = literal.value
    if value is None or literal.type == data_type:
        return Literal(value, data_type)
    if type(value) is Vector:
        return _convert_list(literal, data_type) if is_list(data_type) else None
    if is_bare_string(literal):
        value = _read(literal, data_type)
        if is_number(data_type):
            return _convert_number(value, data_type)
        return Literal(value, data_type)
    if is_number(literal.type) and is_number(data_type):
        return _convert_number(value, data_type)
    if literal.type == pa.date32() and data_type in TIMESTAMPS:
        return _as_midnight(literal, data_type)
    if literal.type in TIMESTAMPS and data_type in TIMESTAMPS:
        return _in_unit(literal, data_type)
    if data_type == TIMESTAMPTZ and is_moment(literal.type):
        return _as_instant(literal)
    if is_list(literal.type) and is_list(data_type):
        return _convert_list(literal, data_type)
    return None


def _as_midnight(literal: Literal, data_type: pa.DataType) -> Literal | None:
    """Return a date as a timestamp, None where no timestamp is so far away."""
    if data_type == TIMESTAMP and isinstance(literal.value, dt.date):
        return Literal(dt.datetime.combine(literal.value, dt.time()), TIMESTAMP)
    try:
        moment = casting.cast_values(pa.scalar(literal.value, literal.type), data_type)
    except DataError:
        return None
    return Literal(casting.literal_value(moment), data_type)


def _in_unit(literal: Literal, data_type: pa.DataType) -> Literal | None:
    """Return a timestamp in another unit, None where that would be another moment."""
    given = pa.scalar(literal.value, literal.type)
    try:
        moment = casting.cast_values(given, data_type)
        same = casting.cast_values(moment, literal.type).value == given.value
    except DataError:
        return None
    return Literal(casting.literal_value(moment), data_type) if same else None


def _as_instant(literal: Literal) -> Literal | None:
    """Return a date or a timestamp in the session's time zone."""
    shown = pa.scalar(literal.value, literal.type)
    try:
        value = casting.literal_value(casting.cast_values(shown, TIMESTAMPTZ, zones.session_zone()))
    except DataError:
        return None
    return Literal(value, TIMESTAMPTZ)


def _convert_list(literal: Literal, data_type: pa.DataType) -> Literal | None:
    if pa.types.is_fixed_size_list(data_type) and len(literal.value) != data_type.list_size:
        return None
    if isinstance(literal.value, Vector) and is_float(data_type.value_type):
        vector = literal.value.converted(data_type.value_type)
        return None if vector is None else Literal(vector, data_type)
    elements = []
    for value in literal.value:
        element = convert(Literal(value, literal.type.value_type), data_type.value_type)
        if element is None:
            return None
        elements.append(element.value)
    return Literal(tuple(elements), data_type)


def list_literal(elements: Sequence[Literal], data_type: pa.DataType) -> Literal:
    """Return the list, or array, of constants that are of its elements' type."""
    return Literal(tuple(element.value for element in elements), data_type)


def _convert_number(value: int | float | decimal.Decimal, data_type: pa.DataType) -> Literal | None:
    if is_float(data_type):
        # Python's decimals have a negative zero; those of SQL do not.
        number = value if isinstance(value, float) else float(value) + 0.0
        return Literal(number, data_type) if data_type == pa.float64() else _convert_to_real(number)
    if is_integer(data_type):
        whole = int(value) if math.isfinite(value) else None
        same = whole is not None and whole == value and fits_integer(whole, data_type)
        return Literal(whole, data_type) if same else None
    if is_decimal(data_type) and not isinstance(value, float):
        exact = decimal.Decimal(value)
        quantum = decimal.Decimal(1).scaleb(-data_type.scale)
        try:
            digits = exact.quantize(quantum, context=_EXACT).as_tuple().digits
        except (decimal.InvalidOperation, decimal.Inexact):
            return None
        if data_type == UHUGEINT and not 0 <= exact <= bounds_of(UHUGEINT)[1]:
            return None
        if len(digits) <= data_type.precision:
            return Literal(exact, data_type)
    return None


def _convert_to_real(value: float) -> Literal | None:
    """Round to 24 bits, so that the value stays the same when it becomes a DOUBLE again."""
    rounded = _as_real(value)
    return None if rounded is None else Literal(rounded, pa.float32())


def _as_real(value: float) -> float | None:
    """Return the nearest number of 24 bits, None for a number that becomes infinite."""
    # Packed in the native format, what is too large is infinite rather than an error.
    (rounded,) = struct.unpack("f", struct.pack("f", value))
    return None if math.isinf(rounded) and not math.isinf(value) else float(rounded)


def fits_integer(value: int, data_type: pa.DataType) -> bool:
    """Say whether a type is one of integers and holds a value."""
    least, most = bounds_of(data_type) if is_integer(data_type) else (0, -1)
    return least <= value <= most
