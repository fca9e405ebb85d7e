"""SQL's names for Arrow types, for messages to people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.keywords import quoted
from raydb.storage.bits import BIT
from raydb.storage.clocks import TIMETZ
from raydb.storage.enums import EnumType
from raydb.storage.integers import UHUGEINT

if TYPE_CHECKING:
    from collections.abc import Container

_NAMES = {
    pa.null(): "NULL",
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.uint8(): "UTINYINT",
    pa.uint16(): "USMALLINT",
    pa.uint32(): "UINTEGER",
    pa.uint64(): "UBIGINT",
    pa.float16(): "FLOAT16",
    pa.float32(): "REAL",
    pa.float64(): "DOUBLE",
    pa.string(): "VARCHAR",
    pa.binary(): "BLOB",
    pa.date32(): "DATE",
    pa.month_day_nano_interval(): "INTERVAL",
    pa.decimal128(38, 0): "HUGEINT",
    UHUGEINT: "UHUGEINT",
    BIT: "BIT",
    pa.binary(16): "UUID",
    pa.uuid(): "UUID",
}


def sql_type_name(data_type: pa.DataType, named: Container[str] = ()) -> str:
    """Return the SQL name of an Arrow type, or Arrow's own name where SQL has none.

    named: the types of CREATE TYPE that are told by their names, and not by their labels.

    >>> sql_type_name(pa.decimal128(10, 2))
    'DECIMAL(10,2)'
    """
    if data_type in _NAMES:
        return _NAMES[data_type]
    if pa.types.is_decimal(data_type):
        return f"DECIMAL({data_type.precision},{data_type.scale})"
    if data_type == TIMETZ:
        return "TIME WITH TIME ZONE"
    if pa.types.is_time(data_type):
        return "TIME"
    if pa.types.is_timestamp(data_type):
        unit = "" if data_type.unit == "us" else f"_{data_type.unit.upper()}"
        return f"TIMESTAMP{unit}" if data_type.tz is None else "TIMESTAMP WITH TIME ZONE"
    if pa.types.is_list(data_type):
        return f"{sql_type_name(data_type.value_type, named)}[]"
    if pa.types.is_fixed_size_list(data_type):
        element = sql_type_name(data_type.value_type, named).replace("REAL", "FLOAT")
        return f"{element}[{data_type.list_size}]"
    if pa.types.is_struct(data_type):
        fields = (f"{quoted(field.name)} {sql_type_name(field.type, named)}" for field in data_type)
        return f"STRUCT({', '.join(fields)})"
    if pa.types.is_map(data_type):
        parts = (sql_type_name(each, named) for each in (data_type.key_type, data_type.item_type))
        return f"MAP({', '.join(parts)})"
    if isinstance(data_type, EnumType):
        if data_type.type_name in named:
            return quoted(data_type.type_name)
        labels = ("'" + label.replace("'", "''") + "'" for label in data_type.labels)
        return f"ENUM({', '.join(labels)})"
    if pa.types.is_dictionary(data_type):
        return "ENUM"
    return str(data_type).upper()
