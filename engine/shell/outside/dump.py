"""`.dump`: a database as statements that make it again, here and where their SQL is understood.

Tables come first, with their rows, then indexes and views. Behind the COMMIT is what only RayDB
has, or adds to tables: foreign keys in a circle, where sequences stand, BVHs, indexes of vectors.
"""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from raydb.engine.session.python_values import python_values
from raydb.engine.shell.render.words import word
from raydb.engine.shell.schema import (
    ColumnInfo,
    columns_by_relation,
    quoted_in,
    schema_names,
    schema_parts,
)
from raydb.keywords import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

# So many rows are one statement: few enough for every parser, and enough to be quick.
_ROWS_A_STATEMENT = 100


def dump(connection: Any, pattern: str | None = None) -> Iterator[str]:
    """Yield the statements that make the tables and views again, all or those of some names.

    They are of one moment. Raises ProgrammingError where no table or view has the name or matches
    the pattern.
    """
    begins = not connection.in_transaction
    if begins:
        connection.begin()
    try:
        parts = schema_parts(connection, pattern, self_later=True)
        yield "BEGIN TRANSACTION;"
        columns = columns_by_relation(connection)
        schemas = schema_names(connection)
        yield from (*parts.types, *parts.sequences)
        for name, statement in parts.tables:
            yield statement
            yield from _rows(connection, quoted_in(name, schemas), columns[name])
        yield from (*parts.indexes, *parts.views, "COMMIT;")
        yield from (*parts.references, *parts.restarts, *parts.own, *parts.comments)
    finally:
        if begins:
            connection.rollback()


def _rows(connection: Any, table: str, columns: list[ColumnInfo]) -> Iterator[str]:
    """Yield the INSERT statements of a table's rows; identities go on behind those."""
    columns = [column for column in columns if not column.is_computed]
    listed = ", ".join(quoted(column.name) for column in columns)
    always = any((column.default or "").startswith("GENERATED ALWAYS") for column in columns)
    overriding = " OVERRIDING SYSTEM VALUE" if always else ""
    begin = f"INSERT INTO {table} ({listed}){overriding} VALUES"
    for batch in connection.stream(f"SELECT {listed} FROM raydb.{table}"):  # noqa: S608  (names)
        for start in range(0, batch.num_rows, _ROWS_A_STATEMENT):
            arrays = batch.slice(start, _ROWS_A_STATEMENT).columns
            values = [_literals(*each) for each in zip(arrays, columns, strict=True)]
            rows = (", ".join(row) for row in zip(*values, strict=True))
            yield f"{begin}\n" + ",\n".join(f"({row})" for row in rows) + ";"


def _literals(values: pa.Array, column: ColumnInfo) -> list[str]:
    """Return the values of a column as SQL writes them, with a type where the text lacks it."""
    kind = values.type
    texts = [literal(value, kind) for value in python_values(values)]
    if not pa.types.is_nested(kind) or _is_known_by_values(kind):
        return texts
    return [text if text == "NULL" else f"CAST({text} AS {column.type})" for text in texts]


def _is_known_by_values(kind: pa.DataType) -> bool:
    """Say whether the elements of a list tell its type, as numbers do."""
    if not pa.types.is_list(kind) and not pa.types.is_fixed_size_list(kind):
        return False
    return bool(pa.types.is_integer(kind.value_type) or kind.value_type == pa.string())


def literal(value: Any, kind: pa.DataType | None = None) -> str:
    """Return a value as SQL writes it; what has no literal everywhere is a text of its type.

    kind: the type of the value, which tells a MAP from a STRUCT.

    >>> literal("it's"), literal(b"a"), literal([1, None])
    ("'it''s'", "x'61'", '[1, NULL]')
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case int() | Decimal():
            return format(value, "f") if isinstance(value, Decimal) else str(value)
        case float() if math.isfinite(value):
            return repr(value)
        case float():
            return f"'{value}'"
        case bytes():
            return f"x'{value.hex()}'"
        case list() | dict() if kind is not None and pa.types.is_map(kind):
            pairs = value.items() if isinstance(value, dict) else value
            kinds = kind.key_type, kind.item_type
            written = (": ".join(map(literal, pair, kinds)) for pair in pairs)
            return f"MAP {{{', '.join(written)}}}"
        case list() | tuple() if not isinstance(value, pa.MonthDayNano):
            element = None if kind is None else kind.value_type
            return f"[{', '.join(literal(each, element) for each in value)}]"
        case dict():
            fields_of = {} if kind is None else {field.name: field.type for field in kind}
            fields = (f"{_quoted(k)}: {literal(v, fields_of.get(k))}" for k, v in value.items())
            return f"{{{', '.join(fields)}}}"
        case dt.datetime():
            return _quoted(value.isoformat(" "))
        case _:
            return _quoted(word(value))


def _quoted(value: object) -> str:
    return "'" + str(value).replace("'", "''") + "'"
