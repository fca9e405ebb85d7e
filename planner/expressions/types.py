"""The Arrow types of SQL: their kinds, what casts to what, and the type that two have in common.

There is no type system of our own: a SQL type is an Arrow type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.names import fold
from raydb.storage.bits import BIT
from raydb.storage.clocks import TIMETZ
from raydb.storage.enums import is_enum, text_type
from raydb.storage.integers import INTEGER_DIGITS, UHUGEINT, is_unsigned, wider_integer
from raydb.storage.nested import leaf_types, map_leaves
from raydb.storage.uuids import UUID

if TYPE_CHECKING:
    from collections.abc import Callable

BOOLEAN, BLOB, TEXT = pa.bool_(), pa.binary(), pa.string()
INTEGER, BIGINT, REAL, DOUBLE = pa.int32(), pa.int64(), pa.float32(), pa.float64()
# The type of numbers in a vector, and of nothing else: what is computed of them is REAL.
HALF = pa.float16()
DATE, TIME, TIMESTAMP = pa.date32(), pa.time64("us"), pa.timestamp("us")
# An instant. In which zone it is shown and read is the session's.
TIMESTAMPTZ = pa.timestamp("us", "UTC")
# Timestamps without a time zone, the coarsest first.
TIMESTAMP_S, TIMESTAMP_MS, TIMESTAMP_NS = map(pa.timestamp, ("s", "ms", "ns"))
TIMESTAMPS = (TIMESTAMP_S, TIMESTAMP_MS, TIMESTAMP, TIMESTAMP_NS)
INTERVAL = pa.month_day_nano_interval()
MAX_PRECISION = 38  # of decimal128
MAX_ARRAY_LENGTH = 100_000  # which a NULL takes as well
# Two decimals of any types fit side by side in so many digits: 38 before the point, 38 behind it.
COMPARED_PRECISION = 76
HUGEINT = pa.decimal128(MAX_PRECISION, 0)
# The type of MAP {}, which becomes any other map.
EMPTY_MAP = pa.map_(pa.string(), pa.null())
# The types that have one name, by that.
TYPES: dict[str, pa.DataType] = {
    "BOOLEAN": BOOLEAN,
    "INTEGER": INTEGER,
    "BIGINT": BIGINT,
    "HUGEINT": HUGEINT,
    "UHUGEINT": UHUGEINT,
    "DOUBLE": DOUBLE,
    "VARCHAR": TEXT,
    "BLOB": BLOB,
    "DATE": DATE,
    "TIME": TIME,
    "TIMETZ": TIMETZ,
    "TIMESTAMP": TIMESTAMP,
    "TIMESTAMP_NS": TIMESTAMP_NS,
    "TIMESTAMPTZ": TIMESTAMPTZ,
    "INTERVAL": INTERVAL,
    "UUID": UUID,
    "BIT": BIT,
}


# Numbers of Arrow's kinds: to compare types, and to hash them, takes up to ten times as long.
_INTEGERS = frozenset(kind.id for kind in INTEGER_DIGITS)
_FLOATS = frozenset({REAL.id, DOUBLE.id})
_DECIMALS = (pa.decimal32, pa.decimal64, pa.decimal128, pa.decimal256)
_NUMBERS = _INTEGERS | _FLOATS | {make(1).id for make in _DECIMALS}
_TEMPORALS = frozenset(kind.id for kind in (DATE, TIMESTAMP, TIME, TIMETZ, INTERVAL))


def is_integer(data_type: pa.DataType) -> bool:
    """Say whether a type is TINYINT, SMALLINT, INTEGER or BIGINT, or one of these unsigned."""
    return data_type.id in _INTEGERS


def is_whole_unsigned(data_type: pa.DataType) -> bool:
    """Say whether a type is one of unsigned integers, UHUGEINT among them."""
    return data_type == UHUGEINT or is_unsigned(data_type)


def is_decimal(data_type: pa.DataType) -> bool:
    """Say whether a type is DECIMAL, or that in which two are compared."""
    return bool(pa.types.is_decimal(data_type))


def is_float(data_type: pa.DataType) -> bool:
    """Say whether a type is REAL or DOUBLE."""
    return data_type.id in _FLOATS


def is_number(data_type: pa.DataType) -> bool:
    """Say whether a type has arithmetic."""
    return data_type.id in _NUMBERS


def is_moment(data_type: pa.DataType) -> bool:
    """Say whether a type is DATE or TIMESTAMP, with a time zone or without, of any unit."""
    return data_type in (DATE, TIMESTAMPTZ) or data_type in TIMESTAMPS


def is_interval(data_type: pa.DataType) -> bool:
    """Say whether a type is INTERVAL."""
    return bool(pa.types.is_interval(data_type))


def is_temporal(data_type: pa.DataType) -> bool:
    """Say whether a type is DATE, TIME, TIMESTAMP, with a time zone or without, or INTERVAL."""
    return data_type.id in _TEMPORALS and (
        is_moment(data_type) or data_type in (TIME, TIMETZ) or is_interval(data_type)
    )


def is_zoned(data_type: pa.DataType) -> bool:
    """Say whether a type is TIMESTAMP WITH TIME ZONE, or values of it have such ones in them."""
    if not pa.types.is_nested(data_type):
        return bool(data_type == TIMESTAMPTZ)
    return TIMESTAMPTZ in leaf_types(data_type)


def is_list(data_type: pa.DataType) -> bool:
    """Say whether a type is a list, of any or of a fixed length."""
    return bool(pa.types.is_list(data_type) or pa.types.is_fixed_size_list(data_type))


def is_array(data_type: pa.DataType) -> bool:
    """Say whether a type is a list of a fixed length."""
    return bool(pa.types.is_fixed_size_list(data_type))


def is_half_vector(data_type: pa.DataType) -> bool:
    """Say whether a type is FLOAT16[n]."""
    return is_array(data_type) and bool(data_type.value_type == HALF)


def widened(data_type: pa.DataType) -> pa.DataType:
    """Return FLOAT[n] for FLOAT16[n], and any other type as it is."""
    return pa.list_(REAL, data_type.list_size) if is_half_vector(data_type) else data_type


def is_row(data_type: pa.DataType) -> bool:
    """Say whether a type is that of row(), whose fields are called f1, f2 and so on."""
    return is_struct(data_type) and all(
        field.name == f"f{number}" for number, field in enumerate(data_type, 1)
    )


def is_struct(data_type: pa.DataType) -> bool:
    """Say whether a type is STRUCT."""
    return bool(pa.types.is_struct(data_type))


def is_map(data_type: pa.DataType) -> bool:
    """Say whether a type is MAP."""
    return bool(pa.types.is_map(data_type))


def is_numbers(data_type: pa.DataType) -> bool:
    """Say whether a type is a list of numbers, or of nothing but NULLs."""
    return is_list(data_type) and (
        is_number(data_type.value_type) or pa.types.is_null(data_type.value_type)
    )


def as_decimal_type(data_type: pa.DataType) -> pa.DataType:
    """Return the decimal type that holds every value of an integer or decimal type."""
    if is_integer(data_type):
        return pa.decimal128(INTEGER_DIGITS[data_type], 0)
    return data_type


def common_type(
    left: pa.DataType, right: pa.DataType, most_digits: int = MAX_PRECISION
) -> pa.DataType | None:
    """Return the type that values of two types become side by side, or None.

    NULL takes the other's type; integers the wider, of unsigned and signed ones a signed type that
    holds both; an integer or a decimal beside a decimal the
    decimal with the integer digits and the scale of both, of which there are at most `most_digits`:
    the scale stays, so a value beyond it is an error and never rounded. Other mixes of numbers are
    DOUBLE; DATE beside TIMESTAMP is TIMESTAMP, and each beside one with a time zone is such a one;
    of timestamps of several units it is the finest.

    >>> common_type(pa.int32(), pa.decimal128(4, 2))
    Decimal128Type(decimal128(12, 2))
    """
    if left == right or pa.types.is_null(right):
        return left
    if pa.types.is_null(left):
        return right
    left, right = widened(left), widened(right)
    if left == right:
        return left
    if is_integer(left) and is_integer(right):
        return wider_integer((left, right))
    if is_number(left) and is_number(right):
        if is_float(left) or is_float(right):
            return pa.float64()
        if UHUGEINT in (left, right) and all(map(is_whole_unsigned, (left, right))):
            return UHUGEINT
        left, right = as_decimal_type(left), as_decimal_type(right)
        scale = max(left.scale, right.scale)
        digits = max(left.precision - left.scale, right.precision - right.scale)
        return decimal_type(min(digits + scale, most_digits), scale)
    if is_moment(left) and is_moment(right):
        both = (left, right)
        return TIMESTAMPTZ if TIMESTAMPTZ in both else max(both, key=(DATE, *TIMESTAMPS).index)
    if is_enum(left) or is_enum(right):
        # Beside another type, an ENUM is its text.
        return common_type(text_type(left), text_type(right), most_digits)
    if is_list(left) and is_list(right):
        return _common_list_type(left, right, most_digits)
    if is_struct(left) and is_struct(right):
        return _common_struct_type(left, right, most_digits)
    if EMPTY_MAP in (left, right) and is_map(left) and is_map(right):
        return right if left == EMPTY_MAP else left
    if is_map(left) and is_map(right):
        key = common_type(left.key_type, right.key_type, most_digits)
        item = common_type(left.item_type, right.item_type, most_digits)
        return None if key is None or item is None else pa.map_(key, item)
    return None


def closed(data_type: pa.DataType) -> pa.DataType:
    """Return a type of lists, structs or maps with INTEGER where only NULL has told an element's.

    >>> closed(pa.list_(pa.null()))
    ListType(list<item: int32>)
    """
    if not pa.types.is_nested(data_type):
        return data_type
    return map_leaves(data_type, lambda leaf: INTEGER if pa.types.is_null(leaf) else leaf)


def _common_struct_type(
    left: pa.DataType, right: pa.DataType, most_digits: int
) -> pa.DataType | None:
    """Return the struct of the fields of both, each of the type that is common.

    A row has its fields by their places, so it takes the names of the other.
    """
    if len(left) == len(right) and is_row(left) != is_row(right):
        left, right = (right, left) if is_row(left) else (left, right)
        right = pa.struct([each.with_name(own.name) for own, each in zip(left, right, strict=True)])
    fields = {field.name: field.type for field in left}
    for field in right:
        both = common_type(fields.get(field.name, field.type), field.type, most_digits)
        if both is None:
            return None
        fields[field.name] = both
    return pa.struct(list(fields.items()))


def decimal_type(precision: int, scale: int) -> pa.DataType:
    """Return the narrowest Arrow decimal of that many digits, at most 76."""
    if precision <= MAX_PRECISION:
        return pa.decimal128(precision, scale)
    wide = pa.decimal256(min(precision, COMPARED_PRECISION), scale)
    return pa.decimal256(precision + 1, scale) if wide == UHUGEINT else wide


def _common_list_type(
    left: pa.DataType, right: pa.DataType, most_digits: int
) -> pa.DataType | None:
    """Return a list of what elements have in common, which is an array beside an array.

    Vectors stay what they are beside a list of numbers, which may have more digits.
    """
    arrays = [kind for kind in (left, right) if is_array(kind)]
    if len({kind.list_size for kind in arrays}) > 1:
        return None
    if len(arrays) == 1 and is_float(arrays[0].value_type):
        other = right if arrays[0] is left else left
        if is_number(other.value_type):
            return arrays[0]
    element = common_type(left.value_type, right.value_type, most_digits)
    if element is None:
        return None
    return pa.list_(element, arrays[0].list_size) if arrays else pa.list_(element)


def can_cast(source: pa.DataType, target: pa.DataType) -> bool:
    """Say whether CAST is defined from one type to the other."""
    text = pa.string()
    if source == target or pa.types.is_null(source):
        return True
    source, target = widened(source), widened(target)
    if is_enum(source) or is_enum(target):
        # A number is no label.
        return is_enum(source) or source == text
    if text in (source, target):
        return True
    if is_list(source) and is_list(target):
        return can_cast(source.value_type, target.value_type)
    if is_struct(source) and is_struct(target):
        return _can_become(source, target, can_cast)
    if is_map(source) and is_map(target):
        return source == EMPTY_MAP or (
            can_cast(source.key_type, target.key_type)
            and can_cast(source.item_type, target.item_type)
        )
    if is_number(source) and is_number(target):
        return True
    if is_moment(source) and is_moment(target):
        return True
    if BIT in (source, target):
        other = target if source == BIT else source
        return other == BLOB or is_integer(other)
    if {source, target} == {UUID, BLOB}:
        return True
    if target == TIMETZ and source in (TIME, TIMESTAMPTZ):
        return True
    if source == TIMETZ:
        return bool(target == TIME)
    clock = pa.time64("us")
    if (is_moment(source) and source != DATE and target == clock) or {source, target} == {
        clock,
        INTERVAL,
    }:
        return True
    return (source == BOOLEAN and is_number(target)) or (is_number(source) and target == BOOLEAN)


def _can_become(
    source: pa.DataType, target: pa.DataType, can: Callable[[pa.DataType, pa.DataType], bool]
) -> bool:
    """Say whether a struct has a field of another one, and all that both have can be converted.

    The fields of row() have no names of their own: they become those of another by their places.
    """
    if is_row(source) and len(source) == len(target):
        return all(can(one.type, other.type) for one, other in zip(source, target, strict=True))
    given = {fold(field.name): field.type for field in source}
    both = [field for field in target if fold(field.name) in given]
    return bool(both) and all(can(given[fold(field.name)], field.type) for field in both)


def can_assign(source: pa.DataType, target: pa.DataType) -> bool:
    """Say whether INSERT stores a value of one type in a column of the other without a CAST."""
    if source == target or pa.types.is_null(source):
        return True
    source, target = widened(source), widened(target)
    if source == TIME and target == TIMETZ:
        return True
    if target == pa.string():
        return not (source == pa.binary() or pa.types.is_nested(source))
    if is_enum(target):
        return is_enum(source) or source == TEXT
    if is_list(source) and is_list(target):
        return can_assign(source.value_type, target.value_type)
    if is_struct(source) and is_struct(target):
        return _can_become(source, target, can_assign)
    if is_map(source) and is_map(target):
        return source == EMPTY_MAP or (
            can_assign(source.key_type, target.key_type)
            and can_assign(source.item_type, target.item_type)
        )
    return (is_number(source) and is_number(target)) or (is_moment(source) and is_moment(target))
