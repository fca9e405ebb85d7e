"""Checked casts between the SQL types, vectorised.

Arrow's own casts differ from SQL's in small ways (rounding, '1' for 1.0, a hexadecimal text as a
number), so each pair of kinds has its conversion here:

    boolean     integer, text
    integer     boolean, integer, float, decimal, text
    float       integer, float, decimal, text
    decimal     integer, float, decimal, text
    date        timestamp, text
    timestamp   date, time, text
    zoned       date, time, timestamp, text                 and back; all depend on a time zone
    time        interval, text, timetz
    timetz      time, text                                  and of a zoned timestamp
    interval    time, text
    bytes       text, bits
    bits        text, bytes, integer                        and back
    list        list, text                                  lists of any and of a fixed length
    struct      struct, text
    map         map, text
    uuid        text
    enum        text
    text        all of these
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.types as pt

from raydb.errors import DataError, NotSupportedError
from raydb.late import pc
from raydb.planner.expressions.casts import (
    bits,
    blobs,
    clocks,
    moments,
    nested,
    nested_text,
    numbers,
    uuids,
)
from raydb.planner.expressions.columns.arrays import Values, each
from raydb.planner.expressions.types import TIMESTAMPTZ
from raydb.storage.bits import BIT
from raydb.storage.clocks import TIMETZ
from raydb.storage.enums import EnumType, is_enum, texts_of, values_of
from raydb.storage.integers import bounds_of
from raydb.storage.moments import python_number
from raydb.storage.nested import rebuild
from raydb.storage.type_names import sql_type_name


def cast_values(values: Values, target: pa.DataType, zone: str | None = None) -> Values:
    """Return the values as `target`; NULL stays NULL and the length stays the same.

    zone: the name of the time zone of casts that depend on one. Raises DataError, naming the first
    value that `target` cannot hold, and NotSupportedError for a pair of types without a cast.

    >>> cast_values(pa.array(["12", " 7 "]), pa.int32())
    [12, 7]
    """
    if values.type == target:
        return values
    if pt.is_null(values.type):
        return each(values, lambda array: pa.nulls(len(array), target), target)
    halves = [pt.is_float16(kind) for kind in (values.type, target)]
    if any(halves) and not all(map(pt.is_floating, (values.type, target))):
        return cast_values(cast_values(values, pa.float32(), zone), target, zone)
    convert = _conversion(values.type, target, zone)
    return each(values, lambda array: _checked(array, target, convert), target)


def _conversion(source: pa.DataType, target: pa.DataType, zone: str | None) -> _Conversion:
    found = _conversions(zone).get((_kind(source), _kind(target)))
    if found is None:
        names = f"{sql_type_name(source)} to {sql_type_name(target)}"
        raise NotSupportedError(f"a cast from {names} is not supported")
    return found


def literal_value(scalar: pa.Scalar) -> Any:
    """Return a scalar as the Python value of a literal, which can be hashed: lists are tuples."""
    return _frozen(python_number(scalar))


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(_frozen(part) for part in value.values())
    if type(value) is tuple:  # an entry of a map
        return (_frozen(value[0]), _frozen(value[1]))
    return tuple(_frozen(part) for part in value) if isinstance(value, list) else value


def try_cast_values(values: Values, target: pa.DataType, zone: str | None = None) -> Values:
    """Return the values as `target`, and NULL for those that it cannot hold; see `cast_values`.

    >>> try_cast_values(pa.array(["12", "twelve"]), pa.int32())
    [12, null]
    """

    def convert(array: pa.Array) -> pa.Array:
        try:
            return cast_values(array, target, zone)
        except DataError:
            return _halve(_plausible(array, target), target, zone)

    return each(values, convert, target)


def _halve(array: pa.Array, target: pa.DataType, zone: str | None) -> pa.Array:
    """Convert what can be, splitting an array in which something cannot."""
    try:
        return cast_values(array, target, zone)
    except DataError:
        if len(array) == 1:
            return pa.nulls(1, target)
    middle = len(array) // 2
    halves = (array[:middle], array[middle:])
    return pa.concat_arrays([_halve(half, target, zone) for half in halves])


def _plausible(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Return an array with NULL for most values that no cast takes, found in one pass."""
    if pt.is_string(array.type):
        pattern = _TEXT_PATTERNS.get(_kind(target))
        if pattern is None:
            return array
        keep = pc.match_substring_regex(array, pattern=pattern)
    elif _kind(array.type) in ("integer", "float") and pt.is_integer(target):
        least, most = map(float, bounds_of(target))
        doubles = pc.cast(array, pa.float64(), safe=False)
        keep = pc.and_(pc.less_equal(doubles, most + 1), pc.greater_equal(doubles, least - 1))
    else:
        return array
    return pc.if_else(keep, array, pa.scalar(None, array.type))


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
        elements = "1 element" if len(array[0]) == 1 else f"{len(array[0])} elements"
        raise DataError(f"a list of {elements} does not fit {sql_type_name(target)}")
    value = cast_values(array, pa.string(), "UTC")[0].as_py()
    if isinstance(target, EnumType):
        raise DataError(f"'{value}' is no value of {target.title}")
    if pt.is_string(array.type):
        raise DataError(f"'{value}' is not a valid {sql_type_name(target)}")
    raise DataError(f"{value} is out of range for {sql_type_name(target)}")


def _list_to_list(array: pa.Array, target: pa.DataType, zone: str | None) -> pa.Array:
    """Convert the elements; to a list of a fixed length only lists of that length."""
    return rebuild(array, target, partial(cast_values, zone=zone))


# What a text must look like at least, for TRY_CAST not to try one by one.
_NUMBER_PATTERN = r"^\s*[+-]?(?:[0-9]|\.[0-9]|(?i:inf|nan))"
_DATE_PATTERN = r"^\s*(?:-?[0-9]{1,7}[-/ \\][0-9]{1,2}[-/ \\][0-9]{1,2}|(?i:-?inf|epoch))"
_TEXT_PATTERNS = {
    "integer": r"^\s*[+-]?[0-9]+\s*$",
    "float": _NUMBER_PATTERN,
    "decimal": _NUMBER_PATTERN,
    "date": _DATE_PATTERN,
    "timestamp": _DATE_PATTERN,
    "zoned": _DATE_PATTERN,
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
    "zoned": lambda data_type: data_type == TIMESTAMPTZ,
    "timestamp": pt.is_timestamp,
    "timetz": lambda data_type: data_type == TIMETZ,
    "time": pt.is_time64,
    "interval": pt.is_interval,
    "bytes": pt.is_binary,
    "bits": lambda data_type: data_type == BIT,
    "uuid": pt.is_fixed_size_binary,
    "enum": is_enum,
    "struct": pt.is_struct,
    "map": pt.is_map,
    "list": lambda data_type: pt.is_list(data_type) or pt.is_fixed_size_list(data_type),
}


@lru_cache(64)
def _conversions(zone: str | None) -> Mapping[tuple[str, str], _Conversion]:
    """Return the casts; without a time zone, those alone that depend on none."""
    return {
        **numbers.CONVERSIONS,
        **moments.CONVERSIONS,
        **clocks.CONVERSIONS,
        **({} if zone is None else moments.conversions_in(zone)),
        **({} if zone is None else clocks.conversions_in(zone)),
        **blobs.CONVERSIONS,
        **bits.CONVERSIONS,
        **uuids.CONVERSIONS,
        **nested.conversions(partial(cast_values, zone=zone)),
        ("text", "enum"): values_of,
        ("enum", "text"): lambda array, _: texts_of(array),
        **nested_text.conversions(partial(cast_values, zone=zone)),
        ("list", "list"): partial(_list_to_list, zone=zone),
    }
