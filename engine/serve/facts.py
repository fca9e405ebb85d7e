"""What clients ask of the server: SqlInfo, facts by number, and the types of SQL.

The numbers are those of FlightSql.proto of Apache Arrow, as are the columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

import raydb
from raydb.engine.serve.catalog import of_schema, schema_of
from raydb.keywords import KEYWORDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raydb.engine.api.connection import Connection
    from raydb.engine.serve.messages import Message

# The kinds of a fact, by their places in the union that they are told by.
_KINDS = (
    pa.field("string_value", pa.string()),
    pa.field("bool_value", pa.bool_()),
    pa.field("bigint_value", pa.int64()),
    pa.field("int32_bitmask", pa.int32()),
    pa.field("string_list", pa.list_(pa.string())),
    pa.field("int32_to_int32_list_map", pa.map_(pa.int32(), pa.list_(pa.int32()))),
)
_STRING, _BOOL, _BIGINT, _INT32, _STRINGS, _MAP = range(6)
_READ_ONLY = 3
_SQL_INFO = pa.schema(
    [
        pa.field("info_name", pa.uint32(), nullable=False),
        pa.field("value", pa.dense_union(_KINDS), nullable=False),
    ]
)


# The kind and the value of each fact that is always the same.
_FACTS: Mapping[int, tuple[int, object]] = {
    0: (_STRING, "RayDB"),
    1: (_STRING, raydb.__version__),
    2: (_STRING, pa.__version__),
    4: (_BOOL, True),  # SQL
    5: (_BOOL, False),  # Substrait
    8: (_INT32, 1),  # transactions, and no savepoints
    9: (_BOOL, True),  # cancelling
    10: (_BOOL, True),  # bulk ingestion
    11: (_BOOL, True),  # ... in transactions
    100: (_INT32, 0),  # prepared statements last as long as their client
    101: (_INT32, 0),
    500: (_BOOL, False),
    501: (_BOOL, True),
    502: (_BOOL, True),
    503: (_BIGINT, 1),  # names in any case
    504: (_STRING, '"'),
    505: (_BIGINT, 1),
    506: (_BOOL, True),
    507: (_BIGINT, 0),  # NULL is greater than any value
    508: (_STRINGS, sorted(KEYWORDS)),
    **dict.fromkeys(range(509, 513), (_STRINGS, [])),  # no functions in braces: {fn ...}
    513: (_STRING, "\\"),
    514: (_STRING, ""),
    515: (_BOOL, True),
    516: (_BOOL, True),
    517: (_MAP, []),
    518: (_BOOL, True),
    519: (_BOOL, False),
    520: (_BOOL, True),
    521: (_BOOL, True),
    522: (_INT32, 0b11),
    523: (_BOOL, True),
    524: (_BOOL, True),
    525: (_INT32, 0b111),
    526: (_INT32, 0b11),
    527: (_BOOL, True),
    528: (_BIGINT, 2),  # outer joins of all kinds
    529: (_STRING, "schema"),
    530: (_STRING, "procedure"),
    531: (_STRING, "database"),
    532: (_BOOL, True),
    533: (_INT32, 0b010),
    534: (_INT32, 0b010),
    535: (_INT32, 0),
    536: (_BOOL, False),
    537: (_BOOL, False),
    538: (_INT32, 0b1111),
    539: (_BOOL, True),
    540: (_INT32, 0b11),
    **dict.fromkeys(range(541, 556), (_BIGINT, 0)),  # no limits
    556: (_BOOL, True),
    **dict.fromkeys(range(557, 562), (_BIGINT, 0)),
    562: (_BIGINT, 3),  # a transaction has a snapshot: repeatable read
    563: (_BOOL, True),
    564: (_INT32, 1 << 3),
    565: (_BOOL, False),
    566: (_BOOL, False),
    567: (_INT32, 1 << 1),  # forward only
    568: (_INT32, 0),
    569: (_INT32, 1 << 1),
    570: (_INT32, 0),
    571: (_INT32, 0),
    572: (_BOOL, True),
    573: (_BOOL, True),
    574: (_BOOL, False),
    575: (_BOOL, False),
    576: (_BOOL, False),
}


def _sql_info(connection: Connection, message: Message) -> pa.Table:
    """Return the facts of some numbers, of all where none is given; unknown ones are left out."""
    is_read_only = connection._open_session().read_only  # noqa: SLF001
    facts = {**_FACTS, _READ_ONLY: (_BOOL, is_read_only)}
    wanted = [number for number in message.numbers(1) or facts if number in facts]
    kinds = [facts[number][0] for number in wanted]
    values: list[list[object]] = [[] for _ in _KINDS]
    places = []
    for number in wanted:
        kind, value = facts[number]
        places.append(len(values[kind]))
        values[kind].append(value)
    union = pa.UnionArray.from_dense(
        pa.array(kinds, pa.int8()),
        pa.array(places, pa.int32()),
        [pa.array(each, field.type) for each, field in zip(values, _KINDS, strict=True)],
        [field.name for field in _KINDS],
    )
    return pa.Table.from_arrays([pa.array(wanted, pa.uint32()), union], schema=_SQL_INFO)


_TYPES = schema_of(
    {
        "type_name": pa.string(),
        "data_type": pa.int32(),
        "column_size": pa.int32(),
        "literal_prefix": pa.string(),
        "literal_suffix": pa.string(),
        "create_params": pa.list_(pa.field("item", pa.string(), nullable=False)),
        "nullable": pa.int32(),
        "case_sensitive": pa.bool_(),
        "searchable": pa.int32(),
        "unsigned_attribute": pa.bool_(),
        "fixed_prec_scale": pa.bool_(),
        "auto_increment": pa.bool_(),
        "local_type_name": pa.string(),
        "minimum_scale": pa.int32(),
        "maximum_scale": pa.int32(),
        "sql_data_type": pa.int32(),
        "datetime_subcode": pa.int32(),
        "num_prec_radix": pa.int32(),
        "interval_precision": pa.int32(),
    },
    [
        *("column_size", "literal_prefix", "literal_suffix", "create_params"),
        *("unsigned_attribute", "auto_increment", "local_type_name", "minimum_scale"),
        *("maximum_scale", "datetime_subcode", "num_prec_radix", "interval_precision"),
    ],
)

# Where NULL may be, and what WHERE may do with a column: anything.
_NULLABLE, _SEARCHABLE = 1, 3
_DATETIME = 9
# Of dates and times what JDBC calls them: the subcode of each.
_SUBCODES = {91: 1, 92: 2, 93: 3}

# The types by JDBC's numbers: name, number, digits or bits or characters, and what a literal is in.
_NAMED = (
    ("BOOLEAN", -7, 1, None),
    ("TINYINT", -6, 3, None),
    ("UTINYINT", -6, 3, None),
    ("BIGINT", -5, 19, None),
    ("UBIGINT", -5, 20, None),
    ("BLOB", -3, None, "'"),
    ("DECIMAL", 3, 38, None),
    ("HUGEINT", 3, 39, None),
    ("UHUGEINT", 3, 39, None),
    ("INTEGER", 4, 10, None),
    ("UINTEGER", 4, 10, None),
    ("SMALLINT", 5, 5, None),
    ("USMALLINT", 5, 5, None),
    ("REAL", 7, 24, None),
    ("DOUBLE", 8, 53, None),
    ("INTERVAL", 10, None, "'"),
    ("UUID", 12, 36, "'"),
    ("VARCHAR", 12, None, "'"),
    ("DATE", 91, 10, "'"),
    ("TIME", 92, 15, "'"),
    ("TIME WITH TIME ZONE", 92, 24, "'"),
    ("TIMESTAMP", 93, 26, "'"),
    ("TIMESTAMP WITH TIME ZONE", 93, 32, "'"),
    ("TIMESTAMP_MS", 93, 23, "'"),
    ("TIMESTAMP_NS", 93, 29, "'"),
    ("TIMESTAMP_S", 93, 19, "'"),
)


def _type_info(_: Connection, message: Message) -> pa.Table:
    """Return the types of SQL, all of them or those of one number of JDBC's."""
    wanted = message.number(1) if message.has(1) else None
    rows = [_type_row(*named) for named in _NAMED if wanted in (None, named[1])]
    return pa.Table.from_pylist(rows, schema=_TYPES)


def _type_row(name: str, number: int, size: int | None, quote: str | None) -> dict[str, object]:
    is_double = name in ("REAL", "DOUBLE")
    is_number = name != "BOOLEAN" and quote is None
    is_decimal = name == "DECIMAL"
    is_integer = is_number and not is_double and not is_decimal
    generic = _DATETIME if number in _SUBCODES else number
    return {
        "type_name": name,
        "data_type": number,
        "column_size": size,
        "literal_prefix": quote,
        "literal_suffix": quote,
        "create_params": ["precision", "scale"] if is_decimal else None,
        "nullable": _NULLABLE,
        "case_sensitive": name == "VARCHAR",
        "searchable": _SEARCHABLE,
        "unsigned_attribute": name.startswith("U") if is_number else None,
        "fixed_prec_scale": is_integer,
        "auto_increment": False if is_number else None,
        "local_type_name": name,
        "minimum_scale": 0 if is_decimal or is_integer else None,
        "maximum_scale": 38 if is_decimal else 0 if is_integer else None,
        "sql_data_type": generic,
        "datetime_subcode": _SUBCODES.get(number),
        "num_prec_radix": 2 if is_double else 10 if is_number else None,
        "interval_precision": None,
    }


FACTS = {
    "CommandGetSqlInfo": of_schema(_SQL_INFO, _sql_info),
    "CommandGetXdbcTypeInfo": of_schema(_TYPES, _type_info),
}
