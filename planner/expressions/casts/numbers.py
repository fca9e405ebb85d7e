"""Casts between booleans, numbers and texts.

Doubles round half to even when they become integers, decimals round half away from zero. Every
function raises pa.ArrowInvalid for an array with a value that it cannot convert.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

# float64 holds every integer of 15 digits and every power of ten up to 10**22 exactly, so one
# division gives the nearest double.
_EXACT_DOUBLE_DIGITS = 15

# What PostgreSQL takes: every beginning of a word that is no beginning of another one.
_TRUE_TEXTS = ("true", "tru", "tr", "t", "yes", "ye", "y", "on", "1")
_FALSE_TEXTS = ("false", "fals", "fal", "fa", "f", "no", "n", "off", "of", "0")


def decimal_type(precision: int, scale: int) -> pa.DataType:
    """Return the narrowest Arrow decimal of that many digits, at most 76."""
    precision = min(precision, 76)
    return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)


def relabel(decimals: pa.Array, target: pa.DataType) -> pa.Array:
    """Return the same unscaled integers under another precision and scale, without a copy."""
    validity, digits = decimals.buffers()
    return pa.Array.from_buffers(target, len(decimals), [validity, digits], offset=decimals.offset)


def _integer_to_decimal(array: pa.Array, target: pa.DataType) -> pa.Array:
    # 20 digits hold any 64-bit integer; Arrow wants that room before it looks at the values.
    return _decimal_to_decimal(pc.cast(array, pa.decimal128(20, 0)), target)


def _integer_to_float(array: pa.Array, target: pa.DataType) -> pa.Array:
    return pc.cast(array, target, safe=False)  # to the nearest, beyond 2**53 too


def _float_to_integer(array: pa.Array, target: pa.DataType) -> pa.Array:
    return pc.cast(pc.round(array, 0, "half_to_even"), target)


def _float_to_float(array: pa.Array, target: pa.DataType) -> pa.Array:
    converted = pc.cast(array, target)
    lost = pc.and_(pc.is_inf(converted), pc.invert(pc.is_inf(array)))
    if pc.any(lost).as_py():
        raise pa.ArrowInvalid("overflow")
    return converted


def _float_to_decimal(array: pa.Array, target: pa.DataType) -> pa.Array:
    # As in DuckDB the product rounds, so that the double 2.675 becomes 2.68 and not 2.67.
    scaled = pc.multiply(pc.cast(array, pa.float64()), float(10**target.scale))
    digits = pc.cast(pc.round(scaled, 0, "half_towards_infinity"), pa.decimal128(38, 0))
    return pc.cast(relabel(digits, pa.decimal128(38, target.scale)), target)


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
        # 9.99 rounds to 10.0, which needs one digit more in front.
        room = decimal_type(kind.precision + 1, kind.scale)
        array = pc.round(pc.cast(array, room), target.scale, "half_towards_infinity")
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
            pc.utf8_trim_whitespace(array), pattern=r"^\+([0-9])", replacement=r"\1"
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
    try:
        return pc.cast(array, target)
    except pa.ArrowInvalid:  # more digits behind the point than the scale, or spaces
        text = pc.utf8_trim_whitespace(array)
        return _decimal_to_decimal(pc.cast(text, pa.decimal256(76, 38)), target)


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


CONVERSIONS = {
    ("boolean", "integer"): pc.cast,
    ("boolean", "text"): pc.cast,
    ("integer", "boolean"): pc.cast,
    ("integer", "integer"): pc.cast,
    ("integer", "float"): _integer_to_float,
    ("integer", "decimal"): _integer_to_decimal,
    ("integer", "text"): pc.cast,
    ("float", "integer"): _float_to_integer,
    ("float", "float"): _float_to_float,
    ("float", "decimal"): _float_to_decimal,
    ("float", "text"): _float_to_text,
    ("decimal", "integer"): _decimal_to_integer,
    ("decimal", "float"): _decimal_to_float,
    ("decimal", "decimal"): _decimal_to_decimal,
    ("decimal", "text"): _decimal_to_text,
    ("text", "boolean"): _text_to_boolean,
    ("text", "integer"): _text_to_integer,
    ("text", "float"): _text_to_float,
    ("text", "decimal"): _text_to_decimal,
}
