"""The SQL type of each Arrow type, and columns of other libraries in it.

large_string, dictionary<string>, string_view   VARCHAR
decimal256(40, 2)                               DECIMAL(38,2), where the values fit
decimal256(39, 0)                               UHUGEINT
list_view, large_list                           lists
fixed_size_list of 1 or more                    arrays
halffloat                                       REAL, but in a column of arrays FLOAT16[n]
timestamp of any unit                           TIMESTAMP, TIMESTAMP_S, TIMESTAMP_MS, TIMESTAMP_NS
timestamp of any unit and zone                  TIMESTAMP WITH TIME ZONE
duration                                        INTERVAL
"""

from __future__ import annotations

import pyarrow as pa

from raydb.errors import DataError
from raydb.late import pc
from raydb.storage.bits import BIT
from raydb.storage.clocks import TIMETZ
from raydb.storage.enums import EnumType, is_enum, texts_of
from raydb.storage.integers import INTEGER_DIGITS, UHUGEINT
from raydb.storage.nested import is_list_like, rebuild
from raydb.storage.uuids import UUID

_TYPES = pa.types
_MAX_PRECISION = 38
_SQL_TYPES = frozenset(
    {
        *INTEGER_DIGITS,
        *(pa.bool_(), pa.float32(), pa.float64()),
        *(pa.string(), pa.binary(), pa.date32(), pa.time64("us")),
        *map(pa.timestamp, ("s", "ms", "us", "ns")),
        pa.timestamp("us", "UTC"),
        pa.month_day_nano_interval(),
        UUID,
        BIT,
        TIMETZ,
        UHUGEINT,
    }
)
_VIEWS = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
# The narrowest SQL type with all the values of a type that SQL lacks.
_WIDENED = {
    pa.null(): pa.string(),
    pa.float16(): pa.float32(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
    pa.date64(): pa.date32(),
    pa.bool8(): pa.bool_(),
    pa.json_(): pa.string(),
    pa.uuid(): UUID,
}


def sql_type(found: pa.DataType, *, is_column: bool = True) -> pa.DataType:
    """Return the SQL type for the values of a type, which itself is returned where there is none.

    is_column: whether the values are a column, and no part of those of another: only then FLOAT16
    stays in an array.

    >>> sql_type(pa.dictionary(pa.int8(), pa.large_string()))
    DataType(string)
    """
    if _TYPES.is_dictionary(found) or _TYPES.is_run_end_encoded(found):
        return sql_type(found.value_type)
    if _TYPES.is_timestamp(found):
        return pa.timestamp(found.unit) if found.tz is None else pa.timestamp("us", "UTC")
    if _TYPES.is_duration(found):
        return pa.month_day_nano_interval()
    if _TYPES.is_time(found):
        return pa.time64("us")
    if _TYPES.is_decimal(found):
        return _sql_decimal(found)
    if _TYPES.is_fixed_size_binary(found):
        return pa.binary()
    if _TYPES.is_struct(found):
        fields = [(field.name, sql_type(field.type, is_column=False)) for field in found]
        return pa.struct(fields)
    if _TYPES.is_map(found):
        parts = (sql_type(part, is_column=False) for part in (found.key_type, found.item_type))
        return pa.map_(*parts)
    if is_half_vector(found) and is_column:
        return pa.list_(pa.float16(), found.list_size)
    if _is_array(found):
        return pa.list_(sql_type(found.value_type, is_column=False), found.list_size)
    if is_list_like(found):
        return pa.list_(sql_type(found.value_type, is_column=False))
    return _WIDENED.get(found, found)


def check_names(path: str, schema: pa.Schema) -> None:
    """Raise DataError for a column of a file, or a field in one, whose name is no UTF-8."""
    waiting = list(schema)
    try:
        while waiting:
            field = waiting.pop()
            if not field.name.isascii():
                field.name.encode()
            waiting += [field.type.field(place) for place in range(field.type.num_fields)]
    except UnicodeError:
        raise DataError(f"file '{path}' has a column or a field whose name is no UTF-8") from None


def _sql_decimal(found: pa.DataType) -> pa.DataType:
    """Return the DECIMAL with the digits of a type; beyond 38 of them, its values must fit.

    A type with more than 38 digits behind the point has none.
    """
    if found == UHUGEINT:
        return found
    precision, scale = found.precision, found.scale
    if scale < 0:
        precision, scale = precision - scale, 0
    if scale > _MAX_PRECISION:
        return found
    return pa.decimal128(min(precision, _MAX_PRECISION), scale)


def is_sql_type(kind: pa.DataType) -> bool:
    """Tell whether columns of tables have a type."""
    if is_half_vector(kind):
        return True
    if _TYPES.is_list(kind) or _is_array(kind):
        return is_sql_type(kind.value_type)
    if _TYPES.is_struct(kind):
        names = {field.name.casefold() for field in kind}
        return 0 < len(kind) == len(names) and all(is_sql_type(field.type) for field in kind)
    if _TYPES.is_map(kind):
        return is_sql_type(kind.key_type) and is_sql_type(kind.item_type)
    return kind in _SQL_TYPES or bool(_TYPES.is_decimal128(kind)) or is_enum(kind)


def is_half_vector(kind: pa.DataType) -> bool:
    """Tell whether values are FLOAT16[n]."""
    return _is_array(kind) and bool(_TYPES.is_float16(kind.value_type))


def _is_array(kind: pa.DataType) -> bool:
    """Tell whether values are arrays; those without elements are lists."""
    return bool(_TYPES.is_fixed_size_list(kind) and kind.list_size)


def in_sql_layout(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column in the layout that its SQL type has, its numbers as they are.

    Dictionaries and runs are decoded, extension types are what they are stored as, views are
    lists; so that a cast of Arrow's is all that is left to do.
    """
    kind = _plain_type(column.type)
    if kind == column.type:
        return column
    return pa.chunked_array([_plain(chunk, kind) for chunk in column.chunks], kind)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if isinstance(kind, EnumType):
        return pa.string()
    if isinstance(kind, pa.BaseExtensionType):
        return _plain_type(kind.storage_type)
    if _TYPES.is_dictionary(kind) or _TYPES.is_run_end_encoded(kind):
        return _plain_type(kind.value_type)
    if _is_array(kind):
        return pa.list_(_plain_type(kind.value_type), kind.list_size)
    if is_list_like(kind):
        return pa.list_(_plain_type(kind.value_type))
    if kind in _VIEWS:
        return _VIEWS[kind]
    if _TYPES.is_struct(kind):
        return pa.struct([(field.name, _plain_type(field.type)) for field in kind])
    if _TYPES.is_map(kind):
        return pa.map_(_plain_type(kind.key_type), _plain_type(kind.item_type))
    return kind


def _plain(array: pa.Array, kind: pa.DataType) -> pa.Array:
    have = array.type
    if have == kind:
        return array
    if isinstance(have, EnumType):
        return texts_of(array)
    if isinstance(have, pa.BaseExtensionType):
        return _plain(array.storage, kind)
    if _TYPES.is_dictionary(have):
        # Arrow (26.0) takes nothing from views.
        values = _plain(array.dictionary, _plain_type(have.value_type))
        decoded = pa.DictionaryArray.from_arrays(array.indices, values, safe=False)
        return _plain(decoded.dictionary_decode(), kind)
    if have in _VIEWS:
        return array.cast(kind)
    if _TYPES.is_run_end_encoded(have):
        return _plain(pc.run_end_decode(array), kind)
    return rebuild(array, kind, _plain)
