"""The catalog under the names of DuckDB's functions, for scripts and tools that ask for these.

    SELECT table_name, column_count FROM duckdb_tables()
    PRAGMA table_info('sale')

They have the columns that tools read, with DuckDB's names and types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from raydb import sql
from raydb.engine.table_functions.functions import Functions
from raydb.engine.table_functions.information_schema import rows_by_name
from raydb.errors import ProgrammingError, did_you_mean
from raydb.names import Unquoted
from raydb.planner.catalog import CATALOG, MAIN, TEMP, in_schema, without_schema
from raydb.planner.plan.function_arguments import NAME, Argument
from raydb.planner.plan.table_function import RowsFunction
from raydb.storage.tables.table import Check, ForeignKey, UniqueKey, constraint_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from raydb.planner.catalog import TableInfo
    from raydb.planner.plan.table_function import FunctionCall

    RowsOf: TypeAlias = Callable[[FunctionCall], Iterator[tuple[Any, ...]]]

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

    def rows(self, call: FunctionCall) -> Iterator[tuple[Any, ...]]:
        return self._rows_of(call)


class TableInfoFunction(CatalogFunction):
    """pragma_table_info(table), which PRAGMA table_info is."""

    arguments = (Argument("table", NAME, is_required=True),)
    is_positional = True
    usage = "the name of a table"


def _tables(call: FunctionCall) -> Iterator[tuple[Any, ...]]:
    for database, schema, name, info in _stored_tables(call):
        own = info.definition
        yield (
            *(database, schema, name, False, database == TEMP, own.primary_key is not None),
            info.row_count,
            *(len(own.schema), len(own.indexes), len(own.checks)),
        )


def _columns(call: FunctionCall) -> Iterator[tuple[Any, ...]]:
    for row in _information("columns", call):
        database, schema, table, column, place, default, is_nullable, kind, digits, scale, *_ = row
        nullable = is_nullable == "YES"
        yield (
            *(database, schema, table, False, column, place, default, nullable, kind),
            *(digits, scale),
        )


def _views(call: FunctionCall) -> Iterator[tuple[Any, ...]]:
    widths: dict[tuple[str, str, str], int] = {}
    for database, schema, table, *_ in _information("columns", call):
        place = database, schema, table
        widths[place] = widths.get(place, 0) + 1
    for database, schema, name, text in _information("views", call):
        yield database, schema, name, False, database == TEMP, widths[database, schema, name], text


def _schemas(call: FunctionCall) -> Iterator[tuple[Any, ...]]:
    for database, schema in _information("schemata", call):
        yield database, schema, schema == "information_schema" or database == TEMP


def _databases(call: FunctionCall) -> Iterator[tuple[Any, ...]]:
    for database in call.catalog.relations.databases:
        yield database, False


def _functions(call: FunctionCall) -> Iterator[tuple[Any, ...]]:
    for name, kind in Functions().rows(call):
        yield CATALOG, MAIN, name, kind, None, None, None
    for database, schema, name, _, text in _information("routines", call):
        for overload in sql.macro_of(text):
            kind = "table_macro" if overload.is_table else "macro"
            names = [each.name for each in overload.parameters]
            types = [each.type and sql.text_of(each.type) for each in overload.parameters]
            yield database, schema, name, kind, names, types, sql.text_of(overload.body)


def _indexes(call: FunctionCall) -> Iterator[tuple[Any, ...]]:
    for database, schema, name, info in _stored_tables(call):
        for index in info.definition.indexes:
            own = index.name.removeprefix(info.definition.name.removesuffix(name))
            columns, descending = list(index.columns), list(index.descending)
            text = f"[{', '.join(columns)}]"
            yield database, schema, own, name, index.unique, False, text, columns, descending


def _constraints(call: FunctionCall) -> Iterator[tuple[Any, ...]]:
    for database, schema, name, info in _stored_tables(call):
        place, definition = (database, schema, name), info.definition
        for field in definition.schema:
            if not field.nullable:
                label = f"{name}_{field.name}_not_null"
                yield *place, "NOT NULL", None, [field.name], label, *_NOTHING
        for constraint, label in constraint_names(definition):
            columns = list(constraint.columns)
            match constraint:
                case UniqueKey():
                    kind = "PRIMARY KEY" if constraint is definition.primary_key else "UNIQUE"
                    yield *place, kind, None, columns, label, *_NOTHING
                case ForeignKey():
                    there = info.definition.name.removesuffix(in_schema(name, schema))
                    table = constraint.table.removeprefix(there)
                    other = call.catalog.relations.schema_of(table, database)
                    target = other, without_schema(table, other), list(constraint.references)
                    rules = (rule or "NO ACTION" for rule in constraint.actions)
                    yield *place, "FOREIGN KEY", None, columns, label, *target, *rules
                case Check():
                    yield *place, "CHECK", constraint.text, [], label, *_NOTHING


# What a constraint that refers to no table has in place of it.
_NOTHING = (None,) * 5


def _stored_tables(call: FunctionCall) -> Iterator[tuple[str, str, str, TableInfo]]:
    """Yield the database, the schema and the name of each table, and what is known of it."""
    for database, schema, name, kind in _information("tables", call):
        info = None if kind == "VIEW" else _table_of(call, database, in_schema(name, schema))
        if info is not None:
            yield database, schema, name, info


def _sequences(call: FunctionCall) -> Iterator[tuple[Any, ...]]:
    for row in _information("sequences", call):
        database, schema, name, _, start, step, most, least, cycles = row
        numbers = (int(start), int(least), int(most), int(step))
        yield database, schema, name, *numbers, cycles == "YES"


def _table_info(call: FunctionCall) -> Iterator[tuple[Any, ...]]:
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


def _information(name: str, call: FunctionCall) -> Iterator[tuple[Any, ...]]:
    """Return the rows of a table of the information schema."""
    return rows_by_name(name)(call)


def _table_of(call: FunctionCall, database: str, name: str) -> TableInfo | None:
    key = call.catalog.relations.databases[database].get(name)
    return None if key is None else call.catalog.tables.get(key)


_NAMED = "database_name:t schema_name:t"
CATALOG_FUNCTIONS = (
    CatalogFunction(
        "duckdb_tables",
        f"{_NAMED} table_name:t internal:b temporary:b has_primary_key:b estimated_size:i"
        " column_count:i index_count:i check_constraint_count:i",
        _tables,
    ),
    CatalogFunction(
        "duckdb_columns",
        f"{_NAMED} table_name:t internal:b column_name:t column_index:i column_default:t"
        " is_nullable:b data_type:t numeric_precision:i numeric_scale:i",
        _columns,
    ),
    CatalogFunction(
        "duckdb_views",
        f"{_NAMED} view_name:t internal:b temporary:b column_count:i sql:t",
        _views,
    ),
    CatalogFunction("duckdb_schemas", f"{_NAMED} internal:b", _schemas),
    CatalogFunction("duckdb_databases", "database_name:t internal:b", _databases),
    CatalogFunction(
        "duckdb_functions",
        f"{_NAMED} function_name:t function_type:t parameters:t[] parameter_types:t[]"
        " macro_definition:t",
        _functions,
    ),
    CatalogFunction(
        "duckdb_indexes",
        f"{_NAMED} index_name:t table_name:t is_unique:b is_primary:b expressions:t"
        " column_names:t[] descending:b[]",
        _indexes,
    ),
    CatalogFunction(
        "duckdb_constraints",
        f"{_NAMED} table_name:t constraint_type:t expression:t constraint_column_names:t[]"
        " constraint_name:t referenced_schema:t referenced_table:t referenced_column_names:t[]"
        " delete_rule:t update_rule:t",
        _constraints,
    ),
    CatalogFunction(
        "duckdb_sequences",
        f"{_NAMED} sequence_name:t start_value:i min_value:i max_value:i increment_by:i cycle:b",
        _sequences,
    ),
    TableInfoFunction(
        "pragma_table_info", "cid:i name:t type:t notnull:b dflt_value:t pk:b", _table_info
    ),
)
