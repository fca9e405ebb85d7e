"""The catalog under the names of DuckDB's functions, for scripts and tools that ask for these.

    SELECT table_name, column_count FROM duckdb_tables()
    PRAGMA table_info('sale')

They have the columns that tools read, with DuckDB's names and types, and what pg_catalog is made
of, see `raydb.sql.system_catalog`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from raydb import sql
from raydb.engine.context.setting import SETTINGS
from raydb.engine.table_functions.functions import Functions
from raydb.engine.table_functions.information_schema import (
    columns_with_types,
    relations,
    rows_by_name,
)
from raydb.errors import ProgrammingError, did_you_mean
from raydb.keywords import quoted
from raydb.names import Unquoted
from raydb.planner.catalog import CATALOG, MAIN, TEMP, in_schema, without_schema
from raydb.planner.expressions.nodes import Call
from raydb.planner.plan.function_arguments import NAME, Argument
from raydb.planner.plan.nodes import Project
from raydb.planner.plan.table_function import RowsFunction
from raydb.planner.postgres_types import oid_of, postgres_type
from raydb.storage.enums import EnumType
from raydb.storage.tables.table import Check, ForeignKey, UniqueKey, constraint_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from raydb.planner.catalog import TableInfo
    from raydb.planner.expressions.nodes import Column, Expression
    from raydb.planner.plan.nodes import Plan
    from raydb.planner.plan.table_function import FunctionCall
    from raydb.storage.tables.table import Constraint, TableDefinition

    Row: TypeAlias = tuple[Any, ...]
    RowsOf: TypeAlias = Callable[[FunctionCall], Iterator[Row]]

_TYPES = {"b": pa.bool_(), "i": pa.int64(), "t": pa.string()}
_TYPES |= {f"{kind}[]": pa.list_(each) for kind, each in _TYPES.items()}


class CatalogFunction(RowsFunction):
    """A function of the catalog.

    columns: `name:kind`, where b is BOOLEAN, i BIGINT, t VARCHAR, and b[] a list.
    """

    def __init__(self, name: str, columns: str, rows_of: RowsOf) -> None:
        self.name = name
        parts = [column.partition(":") for column in columns.split()]
        self.schema = pa.schema([(column, _TYPES[kind]) for column, _, kind in parts])
        self._rows_of = rows_of

    def rows(self, call: FunctionCall) -> Iterator[Row]:
        return self._rows_of(call)


class TableInfoFunction(CatalogFunction):
    """pragma_table_info(table), which PRAGMA table_info is."""

    arguments = (Argument("table", NAME, is_required=True),)
    is_positional = True
    usage = "the name of a table"


class SettingsFunction(CatalogFunction):
    """duckdb_settings(), whose values are those of the moment, also where a plan is kept."""

    def bind(self, call: FunctionCall) -> Plan:
        """Return the rows as a plan, in which a setting is asked for by its name."""
        rows = super().bind(call)
        name, value, *_ = rows.columns
        asked = call.new_column("value", value.type)
        items: list[tuple[Column, Expression]] = [(each, each) for each in rows.columns]
        items[1] = (asked, Call("current_setting", (name,), value.type))
        return Project(rows, tuple(items))


def _placed(database: str, schema: str, name: str, kind: str = "relation") -> Row:
    """Return a database, a schema and what is in it, each with its number."""
    place = database, oid_of("database", database), schema, oid_of("schema", database, schema)
    return *place, name, oid_of(kind, database, schema, name)


def _comment(call: FunctionCall, kind: str, key: str) -> str | None:
    return call.catalog.comments.get((kind, key, ""))


def _key(call: FunctionCall, database: str, schema: str, name: str) -> str:
    """Return the key in the catalog of a table or a view."""
    return call.catalog.relations.databases[database][in_schema(name, schema)]


def _tables(call: FunctionCall) -> Iterator[Row]:
    for database, schema, name, info in _stored_tables(call):
        own = info.definition
        yield (
            *(*_placed(database, schema, name), _comment(call, "table", own.name)),
            *(False, database == TEMP, own.primary_key is not None, info.row_count),
            *(len(own.schema), len(own.indexes), len(own.checks)),
        )


def _columns(call: FunctionCall) -> Iterator[Row]:
    for row, kind in columns_with_types(call):
        database, schema, table, column, place, default, is_nullable, name, digits, scale, *_ = row
        generation, is_generated, expression, comment = row[11], row[18], row[19], row[-1]
        oid, _, modifier = postgres_type(kind, database if row[-4] != "pg_catalog" else "")
        yield (
            *(*_placed(database, schema, table), column, place, comment, False, default),
            *(is_nullable == "YES", name, oid, row[20], digits, scale),
            *(is_generated == "ALWAYS", expression, generation, modifier),
        )


def _views(call: FunctionCall) -> Iterator[Row]:
    widths: dict[tuple[str, str, str], int] = {}
    for database, schema, table, *_ in _information("columns", call):
        place = database, schema, table
        widths[place] = widths.get(place, 0) + 1
    for database, schema, name, text, *_ in _information("views", call):
        comment = _comment(call, "view", _key(call, database, schema, name))
        width = widths.get((database, schema, name))
        yield *_placed(database, schema, name), comment, False, database == TEMP, width, text


def _schemas(call: FunctionCall) -> Iterator[Row]:
    for database, schema, _ in _information("schemata", call):
        comment = _comment(call, "schema", schema) if database == CATALOG else None
        is_internal = schema == "information_schema" or database == TEMP
        numbers = oid_of("schema", database, schema), oid_of("database", database)
        yield numbers[0], database, numbers[1], schema, comment, is_internal


def _databases(call: FunctionCall) -> Iterator[Row]:
    for database in call.catalog.relations.databases:
        yield database, oid_of("database", database), False, "raydb"


def _functions(call: FunctionCall) -> Iterator[Row]:
    for name, kind in Functions().rows(call):
        yield *_placed(CATALOG, MAIN, str(name), f"{kind} function"), kind, None, None, None, None
    for database, schema, name, _, text in _information("routines", call):
        for overload in sql.macro_of(text):
            kind = "table_macro" if overload.is_table else "macro"
            key = in_schema(name, schema) if database == CATALOG else ""
            comment = _comment(call, kind.replace("_", " "), key)
            names = [each.name for each in overload.parameters]
            types = [each.type and sql.text_of(each.type) for each in overload.parameters]
            yield (
                *(*_placed(database, schema, name, kind), kind, comment),
                *(names, types, sql.text_of(overload.body)),
            )


def _types(call: FunctionCall) -> Iterator[Row]:
    for database, types in {CATALOG: call.catalog.types, **call.catalog.attached_types}.items():
        for name, kind in types.items():
            comment = _comment(call, "type", name) if database == CATALOG else None
            place = database, oid_of("database", database), MAIN, oid_of("schema", database, MAIN)
            is_enum = isinstance(kind, EnumType)
            oid = oid_of("type", database, name) if is_enum else postgres_type(kind)[0]
            labels = list(kind.labels) if isinstance(kind, EnumType) else None
            yield *place, oid, name, "ENUM" if is_enum else "ALIAS", comment, False, labels


def _indexes(call: FunctionCall) -> Iterator[Row]:
    for database, schema, name, info in _stored_tables(call):
        for index in info.definition.indexes:
            own = index.name.removeprefix(info.definition.name.removesuffix(name))
            columns, descending = list(index.columns), list(index.descending)
            comment = _comment(call, "index", index.name)
            numbers = _numbers(columns, info.definition)
            keys = [
                quoted(column) + " DESC" * down
                for column, down in zip(columns, descending, strict=True)
            ]
            unique = "UNIQUE " if index.unique else ""
            made = f"CREATE {unique}INDEX {quoted(own)} ON {quoted(schema)}.{quoted(name)}"
            yield (
                *(
                    *_placed(database, schema, own, "index"),
                    name,
                    _relation(database, schema, name),
                ),
                *(comment, index.unique, False, f"[{', '.join(columns)}]"),
                *(f"{made} ({', '.join(keys)})", columns, descending, numbers),
            )


def _relation(database: str, schema: str, name: str) -> int:
    return oid_of("relation", database, schema, name)


def _numbers(columns: Sequence[str], definition: TableDefinition) -> list[int]:
    """Return the numbers of columns, from 0 on."""
    return [definition.schema.get_field_index(each) for each in columns]


def _constraints(call: FunctionCall) -> Iterator[Row]:
    for database, schema, name, info in _stored_tables(call):
        place, definition = _placed(database, schema, name), info.definition
        for field in definition.schema:
            if not field.nullable:
                column, label = [field.name], f"{name}_{field.name}_not_null"
                oid = oid_of("constraint", database, schema, name, label)
                numbers = _numbers(column, definition)
                known = "NOT NULL", "NOT NULL", None, numbers, column, label, oid
                yield *place, *known, *_NOTHING
        for constraint, label in constraint_names(definition):
            oid = oid_of("constraint", database, schema, name, label)
            before = definition.name.removesuffix(in_schema(name, schema))
            kind, expression, referred = _of_constraint(
                constraint, definition, call, (database, before)
            )
            columns = [] if isinstance(constraint, Check) else list(constraint.columns)
            text = f"{kind} ({expression})"
            if not isinstance(constraint, Check):
                text = f"{kind} ({', '.join(map(quoted, columns))})"
            if referred is not _NOTHING:
                there, table, others, *_ = referred
                target = [quoted(each) for each in (there, table)]
                listed = ", ".join(map(quoted, others))
                text += f" REFERENCES {'.'.join(target[there == schema :])}({listed})"
                for event, rule in zip(("DELETE", "UPDATE"), referred[3:5], strict=True):
                    text += "" if rule == "NO ACTION" else f" ON {event} {rule}"
            numbers = _numbers(columns, definition)
            yield *place, kind, text, expression, numbers, columns, label, oid, *referred


def _of_constraint(
    constraint: Constraint, definition: TableDefinition, call: FunctionCall, place: tuple[str, str]
) -> tuple[str, str | None, Row]:
    """Return the kind of a constraint, its expression, and what is known of what it refers to.

    place: the database, and what stands before its names.
    """
    database, before = place
    match constraint:
        case UniqueKey():
            kind = "PRIMARY KEY" if constraint is definition.primary_key else "UNIQUE"
            return kind, None, _NOTHING
        case ForeignKey():
            table = constraint.table.removeprefix(before)
            other = call.catalog.relations.schema_of(table, database)
            bare, references = without_schema(table, other), list(constraint.references)
            rules = [rule or "NO ACTION" for rule in constraint.actions]
            numbers = _numbers(references, call.catalog.tables[constraint.table].definition)
            return (
                "FOREIGN KEY",
                None,
                (other, bare, references, *rules, _relation(database, other, bare), numbers),
            )
        case Check():
            return "CHECK", constraint.text, _NOTHING


# What a constraint that refers to no table has in place of it.
_NOTHING = (None,) * 7


def _stored_tables(call: FunctionCall) -> Iterator[tuple[str, str, str, TableInfo]]:
    """Yield the database, the schema and the name of each table, and what is known of it."""
    for database, schema, name, kind, *_ in _information("tables", call):
        info = None if kind == "VIEW" else _table_of(call, database, in_schema(name, schema))
        if info is not None:
            yield database, schema, name, info


def _sequences(call: FunctionCall) -> Iterator[Row]:
    for row in _information("sequences", call):
        database, schema, name, _, start, step, most, least, cycles = row
        numbers = (int(start), int(least), int(most), int(step))
        comment = _comment(call, "sequence", in_schema(name, schema))
        yield *_placed(database, schema, name, "sequence"), comment, *numbers, cycles == "YES"


def _settings(_: FunctionCall) -> Iterator[Row]:
    for name, each in SETTINGS.items():
        yield name, name, each.meaning, "VARCHAR", "LOCAL"


def _comments(call: FunctionCall) -> Iterator[Row]:
    """Yield the comments, by the names that queries use: those of others with their database."""
    keys = {
        key: name if database == CATALOG else f"{database}.{name}"
        for database, name, key in relations(call)
    }
    for (kind, key, column), text in call.catalog.comments.items():
        if kind not in ("table", "view", "column"):
            yield kind, key, None, text
        elif key in keys:
            yield kind, keys[key], column or None, text


def _table_info(call: FunctionCall) -> Iterator[Row]:
    wanted, relations = call.value("table"), call.catalog.relations
    *before, bare = map(Unquoted, wanted.split("."))
    places = relations.places(before[-2:])
    found = relations.find(bare, places)
    if found is None:
        near = did_you_mean(bare, [each for place in places for each in relations.names_at(place)])
        raise ProgrammingError(f"table '{wanted}' does not exist{near}")
    info = call.catalog.tables.get(found.key)
    primary = None if info is None else info.definition.primary_key
    keys = () if primary is None else primary.columns
    for row in _information("columns", call):
        database, schema, table, column, place, default, is_nullable, kind, *_ = row
        if (database, schema, table) == (*found.place, found.bare):
            yield place - 1, column, kind, is_nullable == "NO", default, column in keys


def _information(name: str, call: FunctionCall) -> Iterator[Row]:
    """Return the rows of a table of the information schema."""
    return rows_by_name(name)(call)


def _table_of(call: FunctionCall, database: str, name: str) -> TableInfo | None:
    key = call.catalog.relations.databases[database].get(name)
    return None if key is None else call.catalog.tables.get(key)


_NAMED = "database_name:t database_oid:i schema_name:t schema_oid:i"
CATALOG_FUNCTIONS = (
    CatalogFunction(
        "duckdb_tables",
        f"{_NAMED} table_name:t table_oid:i comment:t internal:b temporary:b has_primary_key:b"
        " estimated_size:i column_count:i index_count:i check_constraint_count:i",
        _tables,
    ),
    CatalogFunction(
        "duckdb_columns",
        f"{_NAMED} table_name:t table_oid:i column_name:t column_index:i comment:t internal:b"
        " column_default:t is_nullable:b data_type:t data_type_id:i character_maximum_length:i"
        " numeric_precision:i numeric_scale:i is_generated:b generation_expression:t"
        " identity_generation:t type_modifier:i",
        _columns,
    ),
    CatalogFunction(
        "duckdb_views",
        f"{_NAMED} view_name:t view_oid:i comment:t internal:b temporary:b column_count:i sql:t",
        _views,
    ),
    CatalogFunction(
        "duckdb_schemas",
        "oid:i database_name:t database_oid:i schema_name:t comment:t internal:b",
        _schemas,
    ),
    CatalogFunction(
        "duckdb_databases", "database_name:t database_oid:i internal:b type:t", _databases
    ),
    CatalogFunction(
        "duckdb_functions",
        f"{_NAMED} function_name:t function_oid:i function_type:t comment:t parameters:t[]"
        " parameter_types:t[] macro_definition:t",
        _functions,
    ),
    CatalogFunction(
        "duckdb_types",
        f"{_NAMED} type_oid:i type_name:t logical_type:t comment:t internal:b labels:t[]",
        _types,
    ),
    CatalogFunction(
        "duckdb_indexes",
        f"{_NAMED} index_name:t index_oid:i table_name:t table_oid:i comment:t is_unique:b"
        " is_primary:b expressions:t sql:t column_names:t[] descending:b[] column_indexes:i[]",
        _indexes,
    ),
    CatalogFunction(
        "duckdb_constraints",
        f"{_NAMED} table_name:t table_oid:i constraint_type:t constraint_text:t expression:t"
        " constraint_column_indexes:i[] constraint_column_names:t[] constraint_name:t"
        " constraint_oid:i referenced_schema:t referenced_table:t referenced_column_names:t[]"
        " delete_rule:t update_rule:t referenced_table_oid:i referenced_column_indexes:i[]",
        _constraints,
    ),
    CatalogFunction(
        "duckdb_sequences",
        f"{_NAMED} sequence_name:t sequence_oid:i comment:t start_value:i min_value:i max_value:i"
        " increment_by:i cycle:b",
        _sequences,
    ),
    SettingsFunction(
        "duckdb_settings", "name:t value:t description:t input_type:t scope:t", _settings
    ),
    CatalogFunction("comments", "kind:t name:t column_name:t comment:t", _comments),
    TableInfoFunction(
        "pragma_table_info", "cid:i name:t type:t notnull:b dflt_value:t pk:b", _table_info
    ),
)
