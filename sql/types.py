"""SQL types as they are written: `DECIMAL(10, 2)`, `INTEGER[]`, and their Arrow types."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from raydb.errors import NotSupportedError, ProgrammingError, did_you_mean
from raydb.names import find_object, is_same
from raydb.planner.catalog import MAIN
from raydb.planner.expressions.collations import known_collation
from raydb.planner.expressions.types import (
    HALF,
    HUGEINT,
    INTERVAL,
    MAX_ARRAY_LENGTH,
    MAX_PRECISION,
    TIMESTAMP_MS,
    TIMESTAMP_NS,
    TIMESTAMP_S,
    TIMESTAMPS,
    TIMESTAMPTZ,
    is_half_vector,
)
from raydb.running import user_types
from raydb.sql.named_types import NamedType
from raydb.sql.parse.reader import name_in
from raydb.storage.bits import BIT
from raydb.storage.clocks import TIMETZ
from raydb.storage.enums import enum_of
from raydb.storage.fields import field_collation, stored_schema, with_collation
from raydb.storage.integers import UHUGEINT
from raydb.storage.nested import leaf_types, map_leaves
from raydb.storage.tables.table import UNTYPED
from raydb.storage.type_names import sql_type_name
from raydb.storage.uuids import UUID
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raydb.storage.tables.table import TableDefinition

_DType = exp.DType
_TYPES: dict[exp.DType, pa.DataType] = {
    _DType.BOOLEAN: pa.bool_(),
    _DType.TINYINT: pa.int8(),
    _DType.SMALLINT: pa.int16(),
    _DType.INT: pa.int32(),
    _DType.BIGINT: pa.int64(),
    _DType.UTINYINT: pa.uint8(),
    _DType.USMALLINT: pa.uint16(),
    _DType.UINT: pa.uint32(),
    _DType.UBIGINT: pa.uint64(),
    _DType.INT128: HUGEINT,
    _DType.UINT128: UHUGEINT,
    _DType.FLOAT: pa.float32(),
    _DType.DOUBLE: pa.float64(),
    _DType.VARCHAR: pa.string(),
    _DType.CHAR: pa.string(),
    _DType.TEXT: pa.string(),
    _DType.NVARCHAR: pa.string(),
    _DType.BPCHAR: pa.string(),
    _DType.DATE: pa.date32(),
    _DType.TIME: pa.time64("us"),
    _DType.TIMETZ: TIMETZ,
    _DType.TIMESTAMP: pa.timestamp("us"),
    _DType.DATETIME: pa.timestamp("us"),
    _DType.TIMESTAMP_S: TIMESTAMP_S,
    _DType.TIMESTAMP_MS: TIMESTAMP_MS,
    _DType.TIMESTAMP_NS: TIMESTAMP_NS,
    _DType.TIMESTAMPTZ: TIMESTAMPTZ,
    _DType.VARBINARY: pa.binary(),
    _DType.BINARY: pa.binary(),
    _DType.INTERVAL: INTERVAL,
    _DType.UUID: UUID,
    _DType.BIT: BIT,
    # Text, of which only a cast asks whether it is JSON.
    _DType.JSON: pa.string(),
    _DType.JSONB: pa.string(),
}
# DuckDB's other names, where CREATE TYPE has given them to no type.
_ALIASES: dict[str, pa.DataType] = {
    "uint8": pa.uint8(),
    "uint16": pa.uint16(),
    "uint32": pa.uint32(),
    "uint64": pa.uint64(),
    "uint128": UHUGEINT,
    "integral": pa.int32(),
    "signed": pa.int32(),
    "logical": pa.bool_(),
    "guid": UUID,
    "bitstring": BIT,
    "float16": HALF,
    "half": HALF,
    "timestamptz_ns": TIMESTAMPTZ,
    "char": pa.string(),
}
# PostgreSQL's types of its own tables: numbers of objects, and their names.
_SYSTEM_TYPES = {
    **dict.fromkeys(("OID", "REGCLASS", "REGTYPE", "REGPROC", "REGNAMESPACE"), pa.int64()),
    "NAME": pa.string(),
}
_MORE_NAMES = (
    "BLOB",
    "BYTEA",
    "DECIMAL",
    "HUGEINT",
    "INTEGER",
    "NUMERIC",
    "REAL",
    "UINTEGER",
    "UHUGEINT",
)
# Those of a TIMESTAMP choose its unit; the others have microseconds.
_WITH_DIGITS = (_DType.TIMESTAMP, _DType.TIMESTAMPTZ, _DType.DATETIME, _DType.TIME, _DType.TIMETZ)
_MOST_DIGITS = 9
# FLOAT(n) has at least n bits.
_REAL_BITS, _DOUBLE_BITS = 24, 53
_WITH_LENGTH = (
    *(_DType.VARCHAR, _DType.CHAR, _DType.TEXT, _DType.NVARCHAR, _DType.BPCHAR),
    *_WITH_DIGITS,
)
_TYPE_NAMES = (*(kind.value for kind in _TYPES), *_MORE_NAMES)


def data_type_of(node: exp.DataType) -> pa.DataType:
    """Return the Arrow type of a SQL type as written, such as `DECIMAL(10, 2)`.

    A name of another kind stands for a type of CREATE TYPE, see `named_types`. The length of
    VARCHAR(n) and CHAR(n) is not kept, nor are the digits of TIME(n) and of a TIMESTAMP(n) with
    a time zone. FLOAT(n) is REAL up to 24 bits. Raises NotSupportedError for types of other
    databases, ProgrammingError for a precision or scale out of range.
    """
    kind = node.this
    if isinstance(kind, exp.Interval):  # INTERVAL DAY TO SECOND: a value may have other fields too
        kind = _DType.INTERVAL
    if node.args.get("collate") is not None:
        raise NotSupportedError("COLLATE in a type is not supported: it goes behind the value")
    if (system := _SYSTEM_TYPES.get(system_type(node))) is not None:
        return system
    if kind is _DType.USERDEFINED:
        return NamedType(_user_name(node))
    if kind is _DType.ENUM:
        return enum_of([_label(each, node) for each in node.expressions])
    if kind is _DType.ARRAY:
        return _list_type(node)
    if kind is _DType.STRUCT and node.expressions:
        return _struct_type(node)
    if kind is _DType.MAP and len(node.expressions) == 2:
        return pa.map_(*(data_type_of(_part(each, node)) for each in node.expressions))
    parameters = [_parameter(part, node) for part in node.expressions]
    if kind is _DType.DECIMAL and len(parameters) <= 2:
        return _decimal(parameters)
    if kind is _DType.FLOAT and len(parameters) == 1 and 1 <= parameters[0] <= _DOUBLE_BITS:
        return pa.float32() if parameters[0] <= _REAL_BITS else pa.float64()
    lengths = 1 if kind in _WITH_LENGTH else 0
    is_beyond = kind in _WITH_DIGITS and any(digits > _MOST_DIGITS for digits in parameters)
    if kind not in _TYPES or len(parameters) > lengths or is_beyond or node.args.get("nested"):
        raise NotSupportedError(f"the type {_written(node)} is not supported")
    if parameters and kind in (_DType.TIMESTAMP, _DType.DATETIME):
        return TIMESTAMPS[-(-parameters[0] // 3)]
    return _TYPES[kind]


def system_type(node: exp.Expr) -> str:
    """Return the name of one of PostgreSQL's types for its own tables, such as REGCLASS, or ''."""
    match node:
        case exp.ObjectIdentifier():
            return str(node.name).upper()
        case exp.DataType(this=_DType.NAME):
            return "NAME"
        case exp.DataType(this=_DType.USERDEFINED):
            written = node.args.get("kind")
            if isinstance(written, exp.Dot) and written.this.name.lower() == "pg_catalog":
                return str(written.expression.name).upper()
    return ""


def resolved(kind: pa.DataType) -> pa.DataType:
    """Return a type with those that names stand for; raises ProgrammingError for an unknown one."""
    if not any(isinstance(leaf, NamedType) for leaf in leaf_types(kind)):
        return kind
    types = user_types()
    found = map_leaves(kind, lambda leaf: _named(leaf, types) if _is_named(leaf) else leaf)
    if HALF in leaf_types(found) and not is_half_vector(found):
        raise NotSupportedError(
            f"the type {sql_type_name(found)} is not supported: FLOAT16 is the type of the numbers "
            "in a vector, FLOAT16[n]"
        )
    return found


def _is_named(kind: pa.DataType) -> bool:
    return isinstance(kind, NamedType)


def _named(kind: NamedType, types: Mapping[str, pa.DataType]) -> pa.DataType:
    name = find_object(kind.type_name, types, "type")
    if name is None and kind.type_name.lower() in _ALIASES:
        return _ALIASES[kind.type_name.lower()]
    if name is None:
        near = did_you_mean(kind.type_name, (*types, *_TYPE_NAMES))
        raise ProgrammingError(f"type '{kind.type_name}' does not exist{near}")
    return types[name]


def resolved_definition(definition: TableDefinition) -> TableDefinition:
    """Return the definition of a new table, or of one more column, as the table has it."""
    schema = pa.schema(map(resolved_field, definition.schema))
    return replace(definition, schema=stored_schema(schema))


def resolved_field(field: pa.Field) -> pa.Field:
    """Return a new column with its type, see `resolved`, and its collation.

    Raises ProgrammingError for one of no text, and for an unknown one.
    """
    field = field.with_type(resolved(field.type))
    written = field_collation(field)
    if not written:
        return field
    if field.type not in (pa.string(), UNTYPED):
        raise ProgrammingError(
            f"column '{field.name}' is {sql_type_name(field.type)}; only VARCHAR has a collation"
        )
    return with_collation(field, known_collation(written))


def is_type_name(name: str) -> bool:
    """Say whether SQL itself has a type of a name."""
    return name.upper() in _TYPE_NAMES


def bound_type(node: exp.DataType) -> pa.DataType:
    """Return the type of a statement that runs, which knows those of CREATE TYPE."""
    return resolved(data_type_of(node))


def _user_name(node: exp.DataType) -> str:
    name = node.args.get("kind")
    if isinstance(name, exp.Dot) and name.this.name.lower() == MAIN:
        name = name.expression
    if not isinstance(name, exp.Identifier) or node.expressions:
        raise NotSupportedError(f"the type {_written(node)} is not supported")
    return name_in(name)


def _label(node: exp.Expr, whole: exp.DataType) -> str | None:
    if isinstance(node, exp.Null):
        return None
    if not (isinstance(node, exp.Literal) and node.is_string):
        raise ProgrammingError(f"the labels of an ENUM are strings, in {_written(whole)}")
    return str(node.name)


def _list_type(node: exp.DataType) -> pa.DataType:
    """Return `INTEGER[]`, a list, or `INTEGER[3]`, an array: a list of a fixed length."""
    (element,) = node.expressions or (None,)
    if not isinstance(element, exp.DataType):
        raise NotSupportedError(f"the type {_written(node)} is not supported")
    data_type = data_type_of(element)
    match node.args.get("values"):
        case None | []:
            return pa.list_(data_type)
        case [exp.Literal(is_string=False) as size] if size.name.isdigit():
            if 1 <= int(size.name) <= MAX_ARRAY_LENGTH:
                return pa.list_(data_type, int(size.name))
    raise ProgrammingError(
        f"the type {_written(node)} is not one: an array has a length of 1 to {MAX_ARRAY_LENGTH}"
    )


def _struct_type(node: exp.DataType) -> pa.DataType:
    """Return STRUCT(a INTEGER, b VARCHAR)."""
    fields: dict[str, pa.DataType] = {}
    for part in node.expressions:
        if not isinstance(part, exp.ColumnDef) or part.args.get("constraints"):
            raise NotSupportedError(f"the type {_written(node)} is not supported")
        if any(is_same(part.name, known) for known in fields):
            raise ProgrammingError(f"a STRUCT has two fields named '{part.name}'")
        fields[part.name] = data_type_of(_part(part.args.get("kind"), node))
    return pa.struct(list(fields.items()))


def _part(node: exp.Expr | None, whole: exp.DataType) -> exp.DataType:
    if not isinstance(node, exp.DataType):
        raise NotSupportedError(f"the type {_written(whole)} is not supported")
    return node


def _parameter(node: exp.Expr, whole: exp.DataType) -> int:
    value = node.this if isinstance(node, exp.DataTypeParam) else None
    if not (isinstance(value, exp.Literal) and value.name.isdigit()):
        raise NotSupportedError(f"the type {_written(whole)} is not supported")
    return int(value.name)


def _written(node: exp.DataType) -> str:
    return node.sql(dialect="postgres").upper()


def _decimal(parameters: list[int]) -> pa.DataType:
    match parameters:
        case []:
            precision, scale = 18, 3
        case [precision]:
            scale = 0
        case _:
            precision, scale = parameters
    if not 1 <= precision <= MAX_PRECISION:
        raise ProgrammingError(f"DECIMAL has 1 to {MAX_PRECISION} digits, not {precision}")
    if scale > precision:
        raise ProgrammingError(
            f"the scale of a DECIMAL is at most its digits, {precision}, not {scale}"
        )
    return pa.decimal128(precision, scale)
