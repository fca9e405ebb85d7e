"""Checked casts between the SQL types, vectorised.

Arrow's own casts differ from SQL's in small ways (rounding, '1' for 1.0, a hexadecimal text as a
number), so each pair of kinds has its conversion here:

    boolean     integer, text
    integer     boolean, integer, float, decimal, text
    float       integer, float, decimal, text
    decimal     integer, float, decimal, text
    date        timestamp, text
    timestamp   date, time, text
    time        interval, text
    interval    time, text
    bytes       text
    list        list, text                                  lists of any and of a fixed length
    text        all of these

Doubles round half to even when they become integers, decimals round half away from zero.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from raydb.errors import DataError, NotSupportedError
from raydb.planner.expressions.casts import cast_moments
from raydb.storage.type_names import sql_type_name

Values: TypeAlias = pa.Array | pa.ChunkedArray | pa.Scalar

# float64 holds every integer of 15 digits and every power of ten up to 10**22 exactly, so one
# division gives the nearest double.
_EXACT_DOUBLE_DIGITS = 15

# What PostgreSQL takes: every beginning of a word that is no beginning of another one.
_TRUE_TEXTS = ("true", "tru", "tr", "t", "yes", "ye", "y", "on", "1")
_FALSE_TEXTS = ("false", "fals", "fal", "fa", "f", "no", "n", "off", "of", "0")


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


def literal_value(scalar: pa.Scalar) -> Any:
    """Return a scalar as the Python value of a literal, which can be hashed: lists are tuples."""
    return _frozen(scalar.as_py())


def _frozen(value: Any) -> Any:
    return tuple(_frozen(part) for part in value) if isinstance(value, list) else value


def try_cast_values(values: Values, target: pa.DataType) -> Values:
    """Return the values as `target`, and NULL for those that it cannot hold.

    >>> try_cast_values(pa.array(["12", "twelve"]), pa.int32())
    [12, null]
    """

    def convert(array: pa.Array) -> pa.Array:
        try:
            return cast_values(array, target)
        except DataError:
            return _halve(_plausible(array, target), target)

    return each(values, convert, target)


def _halve(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Convert what can be, splitting an array in which something cannot."""
    try:
        return cast_values(array, target)
    except DataError:
        if len(array) == 1:
            return pa.nulls(1, target)
    middle = len(array) // 2
    return pa.concat_arrays([_halve(array[:middle], target), _halve(array[middle:], target)])


def _plausible(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Return an array with NULL for most values that no cast takes, found in one pass."""
    if pt.is_string(array.type):
        pattern = _TEXT_PATTERNS.get(_kind(target))
        if pattern is None:
            return array
        keep = pc.match_substring_regex(array, pattern=pattern)
    elif _kind(array.type) in ("integer", "float") and pt.is_integer(target):
        bound = 2.0 ** (target.bit_width - 1)
        doubles = pc.cast(array, pa.float64(), safe=False)
        keep = pc.and_(pc.less_equal(doubles, bound), pc.greater_equal(doubles, -bound - 1))
    else:
        return array
    return pc.if_else(keep, array, pa.scalar(None, array.type))


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
    is_vector = pt.is_fixed_size_list(target) and not pt.is_string(array.type)
    if is_vector and len(array[0]) != target.list_size:
        # A vector of hundreds of numbers would hide the sentence.
        raise DataError(f"a list of {len(array[0])} elements does not fit {sql_type_name(target)}")
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


def _list_to_list(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Convert the elements; to a list of a fixed length only lists of that length."""
    elements = cast_values(array.flatten(), target.value_type)  # without those of NULL
    lengths = pc.fill_null(pc.list_value_length(array), 0)
    ends = np.concatenate([[0], np.cumsum(lengths.to_numpy())]).astype(np.int32)
    if pt.is_list(target):
        mask = array.is_null() if array.null_count else None
        return pa.ListArray.from_arrays(pa.array(ends), elements, type=target, mask=mask)
    size = target.list_size
    if pc.any(pc.and_(array.is_valid(), pc.not_equal(lengths, size))).as_py():
        raise pa.ArrowInvalid("another length")
    if not array.null_count:
        return pa.FixedSizeListArray.from_arrays(elements, type=target)
    places = pa.array(np.repeat(ends[:-1], size) + np.tile(np.arange(size), len(array)))
    missing = pa.array(np.repeat(array.is_null().to_numpy(zero_copy_only=False), size))
    filled = elements.take(pc.if_else(missing, pa.scalar(None, places.type), places))
    return pa.FixedSizeListArray.from_arrays(filled, type=target, mask=array.is_null())


def _list_to_text(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Write lists as [1, 2, NULL]; a text that could be misread stands in quotes."""
    elements = array.flatten()
    texts = pc.fill_null(cast_values(elements, target), "NULL")
    if pt.is_string(elements.type):
        unclear = pc.match_substring_regex(elements, pattern=_UNCLEAR_ELEMENT)
        quoted = pc.replace_substring(texts, "'", "''")
        quoted = pc.binary_join_element_wise("'", quoted, "'", "")
        texts = pc.if_else(pc.fill_null(unclear, False), quoted, texts)
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy()
    ends = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    mask = array.is_null() if array.null_count else None
    inner = pc.binary_join(pa.ListArray.from_arrays(ends, texts, mask=mask), ", ")
    return pc.binary_join_element_wise("[", inner, "]", "")


def _text_to_list(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Read lists written as [1, 2, NULL] or, as PostgreSQL does, {1,2,NULL}; not lists of lists."""
    if pt.is_nested(target.value_type):
        names = f"{sql_type_name(array.type)} to {sql_type_name(target)}"
        raise NotSupportedError(f"a cast from {names} is not supported")
    lists = [None if text is None else _elements_of(text) for text in array.to_pylist()]
    return _list_to_list(pa.array(lists, pa.list_(pa.string())), target)


def _elements_of(text: str) -> list[str | None]:
    words = text.strip()
    if words[:1] + words[-1:] not in ("[]", "{}"):
        raise pa.ArrowInvalid("no list")
    inner = words[1:-1].strip()
    elements: list[str | None] = []
    place = 0
    more = bool(inner)
    while more:
        found = _ELEMENT.match(inner, place)
        if found is None:
            raise pa.ArrowInvalid("no list")
        place = found.end()
        more = found["comma"] == ","
        if found["plain"] is not None:
            plain = found["plain"].strip()
            elements.append(None if plain.upper() == "NULL" else plain)
        else:
            quote = found["quoted"][0]
            elements.append(found["quoted"][1:-1].replace(quote * 2, quote))
    return elements


_UNCLEAR_ELEMENT = r"""^$|^\s|\s$|[\[\]{},'"]|^(?i:null)$"""
_ELEMENT = re.compile(
    r"""\s*(?:(?P<quoted>'(?:[^']|'')*'|"(?:[^"]|"")*")|(?P<plain>[^\[\]{},'"]+))\s*(?P<comma>,|$)"""
)
# What a text must look like at least, for TRY_CAST not to try one by one.
_NUMBER_PATTERN = r"^\s*[+-]?(?:[0-9]|\.[0-9]|(?i:inf|nan))"
_TEXT_PATTERNS = {
    "integer": r"^\s*[+-]?[0-9]+\s*$",
    "float": _NUMBER_PATTERN,
    "decimal": _NUMBER_PATTERN,
    "date": r"^\s*[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}",
    "timestamp": r"^\s*[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}",
    "time": r"^\s*[0-9]{1,2}:[0-9]{1,2}",
    "boolean": r"^\s*(?i:true|tru|tr|t|yes|ye|y|on|1|false|fals|fal|fa|f|no|n|off|of|0)\s*$",
}

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
    "interval": pt.is_interval,
    "bytes": pt.is_binary,
    "list": lambda data_type: pt.is_list(data_type) or pt.is_fixed_size_list(data_type),
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
    ("text", "float"): _text_to_float,
    ("text", "decimal"): _text_to_decimal,
    ("text", "date"): cast_moments.text_to_date,
    ("text", "timestamp"): cast_moments.text_to_timestamp,
    ("text", "time"): cast_moments.text_to_time,
    ("text", "interval"): cast_moments.text_to_interval,
    ("text", "bytes"): cast_moments.text_to_blob,
    ("text", "list"): _text_to_list,
    ("date", "timestamp"): _plain,
    ("date", "text"): _plain,
    ("timestamp", "date"): _plain,
    ("timestamp", "text"): _clock_to_text,
    ("timestamp", "timestamp"): _plain,
    ("timestamp", "time"): cast_moments.timestamp_to_time,
    ("time", "text"): _clock_to_text,
    ("time", "interval"): cast_moments.time_to_interval,
    ("interval", "text"): cast_moments.interval_to_text,
    ("interval", "time"): cast_moments.interval_to_time,
    ("bytes", "text"): cast_moments.blob_to_text,
    ("list", "list"): _list_to_list,
    ("list", "text"): _list_to_text,
}
