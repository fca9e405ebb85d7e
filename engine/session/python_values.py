"""Values of rows in Python.

HUGEINT, UHUGEINT int                 TIME      datetime.time
DECIMAL   decimal.Decimal        INTERVAL  datetime.timedelta, or pyarrow.MonthDayNano where it
BLOB      bytes                            has months, which a timedelta does not know
DATE      datetime.date          lists     list
UUID      uuid.UUID              STRUCT    dict
ENUM      str                    MAP       dict; a list of pairs where keys are nested
arrays    tuple
TIMESTAMP datetime.datetime, with the zone of the session if it has a time zone; nanoseconds are
          cut off

A DATE or TIMESTAMP beyond the years 1 to 9999, which Python lacks, is the text of it; an infinite
one is the last, or the first, that Python has.
"""

from __future__ import annotations

import datetime as dt
import uuid
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.types as pt

from raydb.errors import DataError
from raydb.late import zoneinfo
from raydb.planner.expressions.casts import cast as casting
from raydb.planner.expressions.columns import units
from raydb.planner.expressions.interval_text import interval_text
from raydb.planner.expressions.types import TIMESTAMP, TIMESTAMP_NS
from raydb.storage.bits import BIT
from raydb.storage.clocks import TIMETZ, time_of
from raydb.storage.enums import EnumType
from raydb.storage.integers import UHUGEINT
from raydb.storage.moments import infinities, is_moment, python_number
from raydb.storage.nested import leaf_types, map_leaves, rebuild
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Callable

_HUGEINT = pa.decimal128(38, 0)

# By their ids, the types of which Arrow's own Python values are ours.
_PLAIN = frozenset(
    pa.type_for_alias(name).id
    for name in (
        "bool",
        "string",
        "float",
        "double",
        *(f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)),
    )
)


def python_values(column: pa.Array) -> list[Any]:
    """Return a column's values as Python values, None for NULL.

    Raises DataError for a value that Python does not have.
    """
    kind = column.type
    is_plain = kind.id in _PLAIN
    if not is_plain:
        kind = map_leaves(kind, _coarser)
        if kind != column.type or TIMETZ in leaf_types(kind):
            column = _in_python_units(column, map_leaves(kind, _readable))
    try:
        values = column.to_pylist()
        return values if is_plain else _converted(values, _converter(kind))
    except (ValueError, OverflowError) as error:
        if not any(map(is_moment, leaf_types(column.type))):
            name = sql_type_name(kind)
            raise DataError(f"a {name} of the answer is no value of Python: {error}") from None
    values = [None if each is None else python_number(each) for each in column]
    return _converted(values, _converter(kind, is_far=True))


def _coarser(kind: pa.DataType) -> pa.DataType:
    return TIMESTAMP if kind == TIMESTAMP_NS else kind


def _readable(kind: pa.DataType) -> pa.DataType:
    return pa.int64() if kind == TIMETZ else kind


def _in_python_units(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return timestamps without their nanoseconds, and times with a zone as their numbers."""
    if array.type == kind:
        return array
    if pt.is_nested(kind):
        return rebuild(array, kind, _in_python_units)
    return array.view(kind) if array.type == TIMETZ else units.whole_microseconds(array)


def _converted(values: list[Any], convert: Callable[[Any], Any] | None) -> list[Any]:
    if convert is None:
        return values
    return [None if value is None else convert(value) for value in values]


def _far_moment(value: Any, kind: pa.DataType) -> Any:
    """Return a date or a datetime, or its text, of what Arrow has, or of a number that it has not.

    >>> _far_moment(3_000_000, pa.date32())
    '10183-09-21'
    """
    if not isinstance(value, int):
        try:
            return value.astimezone(_zone_of(kind)) if pt.is_timestamp(kind) and kind.tz else value
        except OverflowError:
            value = pa.scalar(value, kind).value
    (sign,) = infinities(pa.array([value], kind))
    if not sign:
        zone = kind.tz if pt.is_timestamp(kind) else None
        moment = pa.scalar(value, pa.timestamp("us", "UTC") if zone else kind)
        return casting.cast_values(moment, pa.string(), zone).as_py()
    if pt.is_date32(kind):
        return dt.date.max if sign > 0 else dt.date.min
    end = dt.datetime.max if sign > 0 else dt.datetime.min
    return end.replace(tzinfo=_zone_of(kind)) if kind.tz else end


def _zone_of(kind: pa.DataType) -> dt.tzinfo:
    return dt.UTC if kind.tz == "UTC" else zoneinfo.ZoneInfo(kind.tz)


def _converter(data_type: pa.DataType, *, is_far: bool = False) -> Callable[[Any], Any] | None:
    """Return what Arrow's own Python value has to pass through, if anything.

    is_far: numbers may stand for dates and timestamps.
    """
    if is_far and is_moment(data_type):
        return partial(_far_moment, kind=data_type)
    if data_type == BIT:
        return bytes.decode
    if data_type == TIMETZ:
        return time_of
    if data_type in (_HUGEINT, UHUGEINT):
        return int
    if isinstance(data_type, EnumType):
        return data_type.labels.__getitem__
    if pt.is_fixed_size_binary(data_type):
        return _uuid
    if pt.is_struct(data_type):
        return _struct_converter(data_type, is_far=is_far)
    if pt.is_map(data_type):
        return _map_converter(data_type, is_far=is_far)
    if pt.is_interval(data_type):
        return _timedelta
    if pt.is_timestamp(data_type) and data_type.tz is not None:
        zone = _zone_of(data_type)
        return lambda moment: moment.astimezone(zone)
    if pt.is_list(data_type) or pt.is_fixed_size_list(data_type):
        make = list if pt.is_list(data_type) else tuple
        convert = _converter(data_type.value_type, is_far=is_far)
        if convert is not None:
            return lambda values: make([None if v is None else convert(v) for v in values])
        return None if make is list else make
    return None


def _struct_converter(data_type: pa.DataType, *, is_far: bool) -> Callable[[Any], Any] | None:
    converters = {
        field.name: convert
        for field in data_type
        if (convert := _converter(field.type, is_far=is_far))
    }
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


def _map_converter(data_type: pa.DataType, *, is_far: bool) -> Callable[[Any], Any]:
    kinds = data_type.key_type, data_type.item_type
    key, item = (_converter(kind, is_far=is_far) or _same for kind in kinds)
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
