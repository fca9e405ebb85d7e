"""Casts between booleans, numbers and texts.

Doubles round half to even when they become integers, decimals round half away from zero. Every
function raises pa.ArrowInvalid for an array with a value that it cannot convert.
"""

from __future__ import annotations

import decimal
import math
import re
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.late import pc
from raydb.planner.expressions.columns.rounding import relabel, round_decimals
from raydb.planner.expressions.types import (
    COMPARED_PRECISION,
    HUGEINT,
    MAX_PRECISION,
    decimal_type,
)
from raydb.storage.integers import UHUGEINT, fits_unsigned

if TYPE_CHECKING:
    from collections.abc import Callable

# float64 holds every integer of 15 digits and every power of ten up to 10**22 exactly, so one
# division gives the nearest double.
_EXACT_DOUBLE_DIGITS = 15

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")

# What PostgreSQL takes: every beginning of a word that is no beginning of another one.
_TRUE_TEXTS = ("true", "tru", "tr", "t", "yes", "ye", "y", "on", "1")
_FALSE_TEXTS = ("false", "fals", "fal", "fa", "f", "no", "n", "off", "of", "0")


def _boolean_to_decimal(array: pa.Array, target: pa.DataType) -> pa.Array:
    return _integer_to_decimal(pc.cast(array, pa.int8()), target)


def _is_not_zero(array: pa.Array, _: pa.DataType) -> pa.Array:
    return pc.not_equal(array, pa.scalar(0, array.type))


def _integer_to_decimal(array: pa.Array, target: pa.DataType) -> pa.Array:
    # 20 digits hold any 64-bit integer; Arrow wants that room before it looks at the values.
    return _decimal_to_decimal(pc.cast(array, pa.decimal128(20, 0)), target)


def _integer_to_float(array: pa.Array, target: pa.DataType) -> pa.Array:
    return pc.cast(array, target, safe=False)  # to the nearest, beyond 2**53 too


def _float_to_integer(array: pa.Array, target: pa.DataType) -> pa.Array:
    return pc.cast(pc.round(array, 0, "half_to_even"), target)


def _float_to_float(array: pa.Array, target: pa.DataType) -> pa.Array:
    is_wider = target.bit_width > array.type.bit_width
    if is_wider and pt.is_float64(target) and not array.null_count:
        return pa.array(array.to_numpy().astype(np.float64))  # of few a third of the time
    converted = pc.cast(array, target)
    if is_wider:
        return converted
    lost = pc.and_(pc.is_inf(converted), pc.invert(pc.is_inf(array)))
    if pc.any(lost).as_py():
        raise pa.ArrowInvalid("overflow")
    return converted


def _float_to_decimal(array: pa.Array, target: pa.DataType) -> pa.Array:
    doubles = pc.cast(array, pa.float64())
    # The products of 1.0 and 10**38 is less than that.
    if pc.any(pc.greater_equal(pc.abs(doubles), _above(target.precision - target.scale))).as_py():
        raise pa.ArrowInvalid("overflow")
    if target == UHUGEINT:
        return _wide_integers(doubles)
    # As in DuckDB the product rounds, so that the double 2.675 becomes 2.68 and not 2.67.
    scaled = pc.multiply(doubles, float(10**target.scale))
    # HUGEINT is an integer.
    mode = "half_to_even" if target == HUGEINT else "half_towards_infinity"
    digits = pc.cast(pc.round(scaled, 0, mode), pa.decimal128(38, 0))
    return pc.cast(relabel(digits, pa.decimal128(38, target.scale)), target)


def _wide_integers(doubles: pa.Array) -> pa.Array:
    """Return whole numbers beyond 38 digits, half to even."""
    if pc.any(pc.is_nan(doubles)).as_py():
        raise pa.ArrowInvalid("no number")
    whole = (
        None if value is None else decimal.Decimal(round(value)) for value in doubles.to_pylist()
    )
    return pa.array(list(whole), UHUGEINT)


def _above(digits: int) -> float:
    """Return the least double that has more digits before the point."""
    bound = float(10**digits)
    return bound if bound >= 10**digits else math.nextafter(bound, math.inf)


def _decimal_to_integer(array: pa.Array, target: pa.DataType) -> pa.Array:
    return pc.cast(_decimal_to_decimal(array, decimal_type(array.type.precision + 1, 0)), target)


def _decimal_to_float(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Return the nearest doubles, where Arrow's cast makes 0.30000000000000004 of 0.3."""
    kind = array.type
    if len(array) and pt.is_decimal128(kind) and kind.precision <= _EXACT_DOUBLE_DIGITS:
        words = np.frombuffer(array.buffers()[1], np.int64)
        low = words[2 * array.offset : 2 * (array.offset + len(array)) : 2]
        quotient = pa.array(low / np.float64(10**kind.scale))
        doubles = pc.if_else(array.is_valid(), quotient, pa.scalar(None, pa.float64()))
    else:
        doubles = pc.cast(pc.cast(array, pa.string()), pa.float64())
    return pc.cast(doubles, target)


def _decimal_to_decimal(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Rescale decimals, rounding half away from zero.

    Raises pa.ArrowInvalid if one does not fit.
    """
    kind = array.type
    if kind.scale > target.scale:
        array = round_decimals(array, target.scale, "half_towards_infinity")
    elif kind.precision + target.scale - kind.scale > MAX_PRECISION:
        # Arrow (26.0) sees only some of the products that overflow 128 bits.
        array = pc.cast(array, pa.decimal256(COMPARED_PRECISION, target.scale))
    return pc.cast(array, target)


def _text_to_boolean(array: pa.Array, _: pa.DataType) -> pa.Array:
    text = pc.utf8_lower(pc.utf8_trim_whitespace(array))
    index = pc.index_in(text, value_set=pa.array(_TRUE_TEXTS + _FALSE_TEXTS))
    if index.null_count > array.null_count:
        raise pa.ArrowInvalid("no boolean")
    return pc.less(index, len(_TRUE_TEXTS))


def _text_to_integer(array: pa.Array, target: pa.DataType) -> pa.Array:
    try:
        numbers = pc.cast(array, target)
    except pa.ArrowInvalid:
        text = pc.replace_substring_regex(
            pc.utf8_trim_whitespace(array), pattern=r"^\+([0-9])|^-(0+)$", replacement=r"\1\2"
        )
        numbers = pc.cast(text, target)
    # Arrow reads 0x1A, and 0xFFFFFFFFFFFFFFFF as -1.
    if pc.any(pc.match_substring(array, "x", ignore_case=True)).as_py():
        raise pa.ArrowInvalid("hexadecimal")
    return numbers


def _text_to_float(array: pa.Array, target: pa.DataType) -> pa.Array:
    try:
        numbers = pc.cast(array, target)
    except pa.ArrowInvalid:
        text = pc.utf8_trim_whitespace(array)
        numbers = pc.cast(pc.replace_substring_regex(text, pattern=r"^\+", replacement=""), target)
    endless = pc.is_inf(numbers)
    written = pc.match_substring(array, "inf", ignore_case=True)
    if pc.any(pc.and_not(endless, written)).as_py():
        raise pa.ArrowInvalid("overflow")
    return numbers


def _text_to_decimal(array: pa.Array, target: pa.DataType) -> pa.Array:
    longest = pc.max(pc.binary_length(array)).as_py() or 1
    if longest > MAX_PRECISION or _has_exponents(array):
        return _long_text_to_decimal(array, target)
    # Arrow (26.0) sees only some of the numbers that overflow: none of so many digits does.
    try:
        exact = pc.cast(array, decimal_type(longest + target.scale, target.scale))
    except pa.ArrowInvalid:  # more digits behind the point than the scale, or spaces
        text = pc.utf8_trim_whitespace(array)
        exact = pc.cast(text, decimal_type(2 * longest, longest))
    return _decimal_to_decimal(exact, target)


def _has_exponents(array: pa.Array) -> bool:
    """Say whether there is an E in any text; words such as 'one' are no numbers either way."""
    offsets = np.frombuffer(array.buffers()[1], np.int32)[array.offset :]
    letters = np.frombuffer(array.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[len(array)]]
    return bool((letters | 0x20 == ord("e")).any())


def _long_text_to_decimal(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Read numbers of any length, one by one."""
    quantum = decimal.Decimal(1).scaleb(-target.scale)
    # What has more digits than the context, exponents aside, is InvalidOperation.
    context = decimal.Context(prec=COMPARED_PRECISION, rounding=decimal.ROUND_HALF_UP)

    def read(text: str) -> decimal.Decimal:
        number = text.strip()
        if not _NUMBER.fullmatch(number):
            raise pa.ArrowInvalid("no number")
        try:
            return decimal.Decimal(number).quantize(quantum, context=context)
        except decimal.InvalidOperation:
            raise pa.ArrowInvalid("overflow") from None

    numbers = [None if text is None else read(text) for text in array.to_pylist()]
    return pc.cast(pa.array(numbers, pa.decimal256(COMPARED_PRECISION, target.scale)), target)


def _float_to_text(array: pa.Array, target: pa.DataType) -> pa.Array:
    # Python prints the shortest digits that read back the same, with '.0' and exponents as DuckDB.
    values = array.to_pylist()
    if not pt.is_float64(array.type):
        # numpy knows the shortest digits of a float32; the double of those digits prints them.
        values = [None if value is None else float(str(np.float32(value))) for value in values]
    return pa.array([None if value is None else repr(value) for value in values], target)


def _decimal_to_text(array: pa.Array, target: pa.DataType) -> pa.Array:
    text = pc.cast(array, target)
    if pc.any(pc.match_substring(text, "E")).as_py():  # 1E-8, of six and more zeros
        values = array.to_pylist()
        return pa.array([None if value is None else f"{value:f}" for value in values], target)
    return text


def _checked(
    convert: Callable[[pa.Array, pa.DataType], pa.Array],
) -> Callable[[pa.Array, pa.DataType], pa.Array]:
    """Let a cast to decimals raise pa.ArrowInvalid for what is no UHUGEINT, if it makes these."""

    def converted(array: pa.Array, target: pa.DataType) -> pa.Array:
        found = convert(array, target)
        if target == UHUGEINT and not fits_unsigned(found):
            raise pa.ArrowInvalid("out of range")
        return found

    return converted


CONVERSIONS = {
    ("boolean", "integer"): pc.cast,
    ("boolean", "float"): pc.cast,
    ("boolean", "decimal"): _checked(_boolean_to_decimal),
    ("boolean", "text"): pc.cast,
    ("integer", "boolean"): pc.cast,
    ("integer", "integer"): pc.cast,
    ("integer", "float"): _integer_to_float,
    ("integer", "decimal"): _checked(_integer_to_decimal),
    ("integer", "text"): pc.cast,
    ("float", "boolean"): _is_not_zero,
    ("float", "integer"): _float_to_integer,
    ("float", "float"): _float_to_float,
    ("float", "decimal"): _checked(_float_to_decimal),
    ("float", "text"): _float_to_text,
    ("decimal", "boolean"): _is_not_zero,
    ("decimal", "integer"): _decimal_to_integer,
    ("decimal", "float"): _decimal_to_float,
    ("decimal", "decimal"): _checked(_decimal_to_decimal),
    ("decimal", "text"): _decimal_to_text,
    ("text", "boolean"): _text_to_boolean,
    ("text", "integer"): _text_to_integer,
    ("text", "float"): _text_to_float,
    ("text", "decimal"): _checked(_text_to_decimal),
}
