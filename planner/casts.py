"""Checked casts between the SQL types, vectorised.

Arrow's own casts differ from SQL's in small ways (rounding, '1' for 1.0, a hexadecimal text as a
number), so each pair of kinds has its conversion here:

    from / to   boolean  integer  float  decimal  text  date  timestamp  time
    boolean        .        x                       x
    integer        x        x       x       x       x
    float                   x       x       x       x
    decimal                 x       x       x       x
    text           x        x       x       x       .     x       x        x
    date                                            x     .       x
    timestamp                                       x     x       .
    time                                            x                      .

Doubles round half to even when they become integers, decimals round half away from zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from raydb.errors import DataError, NotSupportedError
from raydb.storage.type_names import sql_type_name

Values: TypeAlias = pa.Array | pa.ChunkedArray | pa.Scalar

# float64 holds every integer of 15 digits and every power of ten up to 10**22 exactly, so one
# division gives the nearest double.
_EXACT_DOUBLE_DIGITS = 15

_TRUE_TEXTS = ("true", "t", "yes", "y", "on", "1")
_FALSE_TEXTS = ("false", "f", "no", "n", "off", "0")


def cast_values(values: Values, target: pa.DataType) -> Values:
    """Return the values as `target`; NULL stays NULL and the length stays the same.

    Raises DataError, naming the first value that `target` cannot hold, and NotSupportedError for a
    pair of types without a cast.

    >>> cast_values(pa.array(["12", " 7 "]), pa.int32())
    [12, 7]
    """
    if values.type == target:
        return values
    if pt.is_null(values.type):
        return each(values, lambda array: pa.nulls(len(array), target), target)
    convert = _CONVERSIONS.get((_kind(values.type), _kind(target)))
    if convert is None:
        names = f"{sql_type_name(values.type)} to {sql_type_name(target)}"
        raise NotSupportedError(f"a cast from {names} is not supported")
    return each(values, lambda array: _checked(array, target, convert), target)


def each(values: Values, function: Callable[[pa.Array], pa.Array], target: pa.DataType) -> Values:
    """Apply a function of arrays to an array, to every chunk of one, or to a scalar."""
    if isinstance(values, pa.ChunkedArray):
        return pa.chunked_array([function(chunk) for chunk in values.chunks], type=target)
    if isinstance(values, pa.Scalar):
        return function(pa.repeat(values, 1))[0]
    return function(values)


def decimal_type(precision: int, scale: int) -> pa.DataType:
    """Return the narrowest Arrow decimal of that many digits, at most 76."""
    precision = min(precision, 76)
    return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)


def relabel(decimals: pa.Array, target: pa.DataType) -> pa.Array:
    """Return the same unscaled integers under another precision and scale, without a copy."""
    validity, digits = decimals.buffers()
    return pa.Array.from_buffers(target, len(decimals), [validity, digits], offset=decimals.offset)


def _kind(data_type: pa.DataType) -> str:
    """Return the row or column of the module's table that a type belongs to."""
    for kind, belongs in _KINDS.items():
        if belongs(data_type):
            return kind
    return str(data_type)


def _checked(array: pa.Array, target: pa.DataType, convert: _Conversion) -> pa.Array:
    """Convert an array; a failure becomes a DataError that names the first bad value."""
    try:
        return convert(array, target)
    except pa.ArrowInvalid:
        pass
    while len(array) > 1:  # halve until one value is left; the work adds up to one more cast
        half = array[: len(array) // 2]
        try:
            convert(half, target)
        except pa.ArrowInvalid:
            array = half
        else:
            array = array[len(half) :]
    value = cast_values(array, pa.string())[0].as_py()
    if pt.is_string(array.type):
        raise DataError(f"'{value}' is not a valid {sql_type_name(target)}")
    raise DataError(f"{value} is out of range for {sql_type_name(target)}")


def _plain(array: pa.Array, target: pa.DataType) -> pa.Array:
    return pc.cast(array, target)


def _integer_to_decimal(array: pa.Array, target: pa.DataType) -> pa.Array:
    # 20 digits hold any 64-bit integer; Arrow wants that room before it looks at the values.
    return decimal_to_decimal(pc.cast(array, pa.decimal128(20, 0)), target)


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
    return pc.cast(decimal_to_decimal(array, decimal_type(array.type.precision + 1, 0)), target)


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


def decimal_to_decimal(array: pa.Array, target: pa.DataType) -> pa.Array:
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


def _trimmed_text(array: pa.Array, target: pa.DataType) -> pa.Array:
    try:
        return pc.cast(array, target)
    except pa.ArrowInvalid:
        return pc.cast(pc.utf8_trim_whitespace(array), target)


def _text_to_time(array: pa.Array, target: pa.DataType) -> pa.Array:
    moments = pc.binary_join_element_wise("1970-01-01", pc.utf8_trim_whitespace(array), " ")
    return pc.cast(pc.cast(moments, pa.timestamp("us")), target)


def _text_to_decimal(array: pa.Array, target: pa.DataType) -> pa.Array:
    try:
        return pc.cast(array, target)
    except pa.ArrowInvalid:  # more digits behind the point than the scale, or spaces
        text = pc.utf8_trim_whitespace(array)
        return decimal_to_decimal(pc.cast(text, pa.decimal256(76, 38)), target)


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


def _clock_to_text(array: pa.Array, target: pa.DataType) -> pa.Array:
    # 10:11:12.500000 is shown as 10:11:12.5, and 10:11:12.000000 without a fraction.
    text = pc.cast(array, target)
    text = pc.replace_substring_regex(text, pattern=r"(\.[0-9]*[1-9])0+$", replacement=r"\1")
    return pc.replace_substring_regex(text, pattern=r"\.0+$", replacement="")


_Conversion: TypeAlias = Callable[[pa.Array, pa.DataType], pa.Array]

_KINDS: dict[str, Callable[[pa.DataType], bool]] = {
    "boolean": pt.is_boolean,
    "integer": pt.is_integer,
    "float": pt.is_floating,
    "decimal": pt.is_decimal,
    "text": pt.is_string,
    "date": pt.is_date32,
    "timestamp": pt.is_timestamp,
    "time": pt.is_time64,
}

_CONVERSIONS: dict[tuple[str, str], _Conversion] = {
    ("boolean", "integer"): _plain,
    ("boolean", "text"): _plain,
    ("integer", "boolean"): _plain,
    ("integer", "integer"): _plain,
    ("integer", "float"): _integer_to_float,
    ("integer", "decimal"): _integer_to_decimal,
    ("integer", "text"): _plain,
    ("float", "integer"): _float_to_integer,
    ("float", "float"): _float_to_float,
    ("float", "decimal"): _float_to_decimal,
    ("float", "text"): _float_to_text,
    ("decimal", "integer"): _decimal_to_integer,
    ("decimal", "float"): _decimal_to_float,
    ("decimal", "decimal"): decimal_to_decimal,
    ("decimal", "text"): _decimal_to_text,
    ("text", "boolean"): _text_to_boolean,
    ("text", "integer"): _text_to_integer,
    ("text", "float"): _trimmed_text,
    ("text", "decimal"): _text_to_decimal,
    ("text", "date"): _trimmed_text,
    ("text", "timestamp"): _trimmed_text,
    ("text", "time"): _text_to_time,
    ("date", "timestamp"): _plain,
    ("date", "text"): _plain,
    ("timestamp", "date"): _plain,
    ("timestamp", "text"): _clock_to_text,
    ("time", "text"): _clock_to_text,
}
