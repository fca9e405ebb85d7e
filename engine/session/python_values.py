"""Values of rows in Python.

HUGEINT   int                    TIME      datetime.time
DECIMAL   decimal.Decimal        INTERVAL  datetime.timedelta, or pyarrow.MonthDayNano where it
BLOB      bytes                            has months, which a timedelta does not know
DATE      datetime.date          lists     list
UUID      uuid.UUID              STRUCT    dict
ENUM      str                    MAP       dict; a list of pairs where keys are nested
arrays    tuple
TIMESTAMP datetime.datetime, with the zone of the session if it has a time zone
"""

from __future__ import annotations

import datetime as dt
import uuid
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.types as pt

from raydb.errors import DataError
from raydb.planner.expressions.interval_text import interval_text
from raydb.storage.enums import EnumType
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Callable

_HUGEINT = pa.decimal128(38, 0)


def python_values(column: pa.Array) -> list[Any]:
    """Return a column's values as Python values, None for NULL.

    Raises DataError for a value that Python does not have: a day in the year 10000.
    """
    convert = _converter(column.type)
    try:
        values: list[Any] = column.to_pylist()
        if convert is not None:
            values = [None if value is None else convert(value) for value in values]
    except (ValueError, OverflowError) as error:
        kind = sql_type_name(column.type)
        raise DataError(f"a {kind} of the answer is no value of Python: {error}") from None
    return values


def _converter(data_type: pa.DataType) -> Callable[[Any], Any] | None:
    """Return what Arrow's own Python value has to pass through, if anything."""
    if data_type == _HUGEINT:
        return int
    if isinstance(data_type, EnumType):
        return data_type.labels.__getitem__
    if pt.is_fixed_size_binary(data_type):
        return _uuid
    if pt.is_struct(data_type):
        return _struct_converter(data_type)
    if pt.is_map(data_type):
        return _map_converter(data_type)
    if pt.is_interval(data_type):
        return _timedelta
    if pt.is_timestamp(data_type) and data_type.tz is not None:
        zone = dt.UTC if data_type.tz == "UTC" else ZoneInfo(data_type.tz)
        return lambda moment: moment.astimezone(zone)
    if pt.is_list(data_type) or pt.is_fixed_size_list(data_type):
        make = list if pt.is_list(data_type) else tuple
        convert = _converter(data_type.value_type)
        if convert is not None:
            return lambda values: make([None if v is None else convert(v) for v in values])
        return None if make is list else make
    return None


def _struct_converter(data_type: pa.DataType) -> Callable[[Any], Any] | None:
    converters = {field.name: convert for field in data_type if (convert := _converter(field.type))}
    if not converters:
        return None

    def convert_fields(value: dict[str, Any]) -> dict[str, Any]:
        changed = {
            name: convert(value[name])
            for name, convert in converters.items()
            if value[name] is not None
        }
        return {**value, **changed}

    return convert_fields


def _map_converter(data_type: pa.DataType) -> Callable[[Any], Any]:
    key, item = (_converter(kind) or _same for kind in (data_type.key_type, data_type.item_type))
    make = list if pt.is_nested(data_type.key_type) else dict

    def convert(entries: list[tuple[Any, Any]]) -> Any:
        return make([(key(k), None if v is None else item(v)) for k, v in entries])

    return convert


def _same(value: Any) -> Any:
    return value


def _uuid(value: bytes) -> uuid.UUID:
    return uuid.UUID(bytes=value)


def sql_types(schema: pa.Schema) -> tuple[str, ...]:
    """Return the SQL types of the columns of rows, such as 'DECIMAL(10,2)'."""
    return tuple(map(sql_type_name, schema.types))


def zoned_word(value: dt.datetime) -> str:
    """Return a datetime that has a zone as a CAST to VARCHAR writes it."""
    text = value.isoformat(" ")
    place = next(at for at in range(19, len(text)) if text[at] in "+-")
    shown, offset = text[:place], text[place:]
    if "." in shown:
        shown = shown.rstrip("0")
    return shown + offset.removesuffix(":00")


def interval_word(value: dt.timedelta | pa.MonthDayNano) -> str:
    """Return an interval as a CAST to VARCHAR writes it."""
    if isinstance(value, dt.timedelta):
        clock = (value - dt.timedelta(days=value.days)) // dt.timedelta(microseconds=1)
        value = pa.MonthDayNano([0, value.days, clock * 1000])
    text = interval_text(value)
    assert text is not None
    return text


def _timedelta(value: pa.MonthDayNano) -> dt.timedelta | pa.MonthDayNano:
    if value.months:
        return value
    return dt.timedelta(days=value.days, microseconds=value.nanoseconds // 1000)
