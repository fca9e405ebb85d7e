"""What PostgreSQL calls things: numbers of objects, and the numbers and names of types.

Tools that know PostgreSQL ask for these in pg_catalog; see `raydb.sql.system_catalog`.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.storage.enums import EnumType
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Iterator

# 48 bits: a million objects have two of the same number once in five hundred databases.
_OID_BYTES = 6


def oid_of(kind: str, *names: str) -> int:
    """Return the number of an object, the same in each connection and after each reopening.

    >>> oid_of("schema", "raydb", "main") == oid_of("schema", "raydb", "main")
    True
    """
    text = "\0".join((kind, *names))
    return int.from_bytes(blake2b(text.encode(), digest_size=_OID_BYTES).digest(), "big")


# The number of a type and that of its arrays, its names, its category and its bytes.
_TYPES = [
    (16, 1000, "bool", "boolean", "B", 1),
    (17, 1001, "bytea", "bytea", "U", -1),
    (20, 1016, "int8", "bigint", "N", 8),
    (21, 1005, "int2", "smallint", "N", 2),
    (23, 1007, "int4", "integer", "N", 4),
    (25, 1009, "text", "text", "S", -1),
    (700, 1021, "float4", "real", "N", 4),
    (701, 1022, "float8", "double precision", "N", 8),
    (1082, 1182, "date", "date", "D", 4),
    (1083, 1183, "time", "time without time zone", "D", 8),
    (1266, 1270, "timetz", "time with time zone", "D", 12),
    (1114, 1115, "timestamp", "timestamp without time zone", "D", 8),
    (1184, 1185, "timestamptz", "timestamp with time zone", "D", 8),
    (1186, 1187, "interval", "interval", "T", 16),
    (1562, 1563, "varbit", "bit varying", "V", -1),
    (1700, 1231, "numeric", "numeric", "N", -1),
    (2249, 2287, "record", "record", "P", -1),
    (2950, 2951, "uuid", "uuid", "U", 16),
]
_BY_NAME = {each[2]: each for each in _TYPES}
# Those that PostgreSQL has for types of RayDB; the values of integers fit.
_NAMES = {
    "BOOLEAN": "bool",
    "BLOB": "bytea",
    "TINYINT": "int2",
    "SMALLINT": "int2",
    "INTEGER": "int4",
    "BIGINT": "int8",
    "UTINYINT": "int2",
    "USMALLINT": "int4",
    "UINTEGER": "int8",
    "FLOAT16": "float4",
    "REAL": "float4",
    "DOUBLE": "float8",
    "DATE": "date",
    "TIME": "time",
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), "timestamp"),
    "TIMESTAMP WITH TIME ZONE": "timestamptz",
    "TIME WITH TIME ZONE": "timetz",
    "INTERVAL": "interval",
    "UBIGINT": "numeric",
    "HUGEINT": "numeric",
    "UHUGEINT": "numeric",
    "UUID": "uuid",
    "BIT": "varbit",
}
_HEADER = 4


def postgres_types() -> Iterator[tuple[object, ...]]:
    """Yield what pg_type says of each type and of its arrays.

    The number, name, length, category, the numbers of the elements and of the arrays, the title.
    """
    for oid, array, name, title, category, size in _TYPES:
        yield oid, name, size, category, 0, array, title
        yield array, f"_{name}", -1, "A", oid, 0, f"{title}[]"


def postgres_type(kind: pa.DataType, database: str = "") -> tuple[int, str, int]:
    """Return the number, the name and the modifier that a type has in PostgreSQL.

    database: that of an ENUM with a name. A list of lists is an array of their elements.
    """
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        while pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
            kind = kind.value_type
        _, name, modifier = postgres_type(kind)
        return _BY_NAME[name][1], f"_{name}", modifier
    if isinstance(kind, EnumType) and kind.type_name and database:
        return oid_of("type", database, kind.type_name), kind.type_name, -1
    if pa.types.is_struct(kind) or pa.types.is_map(kind):
        name = "record"
    elif pa.types.is_decimal(kind):
        name = "numeric"
        if kind.precision < 38 or kind.scale:
            return _BY_NAME[name][0], name, (kind.precision << 16 | kind.scale) + _HEADER
    else:
        name = _NAMES.get(sql_type_name(kind), "text")
    return _BY_NAME[name][0], name, -1
