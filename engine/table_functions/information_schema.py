"""The information schema: what the catalog holds, as tables that queries can read.

    SELECT column_name FROM information_schema.columns WHERE table_name = 'sale'

The tables and columns are those of the SQL standard, without columns that would always be NULL. Of
attached databases there are the tables, views and columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from raydb.errors import DatabaseError
from raydb.planner.catalog import CATALOG, MAIN, TEMP, without_schema
from raydb.planner.plan.table_function import RowsFunction
from raydb.planner.postgres_types import postgres_type
from raydb.running import current
from raydb.sql.parse.schema_names import INFORMATION
from raydb.storage.clocks import TIMETZ
from raydb.storage.enums import EnumType
from raydb.storage.fields import field_collation, typed_schema
from raydb.storage.nested import leaf_types
from raydb.storage.tables.table import Check, ForeignKey, UniqueKey, constraint_names
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from raydb.planner.catalog import TableInfo
    from raydb.planner.plan.table_function import FunctionCall
    from raydb.storage.tables.sequence import Identity, SequenceOptions
    from raydb.storage.tables.table import Constraint, TableDefinition

    RowsOf: TypeAlias = Callable[[FunctionCall], Iterator["Row"]]

Row: TypeAlias = "tuple[Any, ...]"

# The digits of a second that moments have.
_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
_NUMBERS = (
    *("ordinal_position", "position_in_unique_constraint"),
    *("numeric_precision", "numeric_scale", "character_maximum_length", "datetime_precision"),
)


class InformationTable(RowsFunction):
    """A table of the information schema, which SQL reads as a call of a function without arguments.

    columns: their names, in order. They are VARCHAR but for those that hold numbers.
    """

    def __init__(self, name: str, columns: str, rows_of: RowsOf) -> None:
        self.name = f"{INFORMATION}.{name}"
        self.schema = pa.schema(
            [(name, pa.int32() if name in _NUMBERS else pa.string()) for name in columns.split()]
        )
        self._rows_of = rows_of

    def rows(self, call: FunctionCall) -> Iterator[Row]:
        return self._rows_of(call)


def _schemata(call: FunctionCall) -> Iterator[Row]:
    relations = call.catalog.relations
    for database in relations.databases:
        yield database, MAIN, OWNER
        yield from ((database, each, OWNER) for each in relations.schemas.get(database, ()))
    yield CATALOG, INFORMATION, OWNER


def _split(call: FunctionCall, database: str, name: str) -> tuple[str, str]:
    """Return the schema of what a database has, and its name there."""
    schema = call.catalog.relations.schema_of(name, database)
    return schema, without_schema(name, schema)


def _tables(call: FunctionCall) -> Iterator[Row]:
    for database, name, key in relations(call):
        kind = "LOCAL TEMPORARY" if database == TEMP else "BASE TABLE"
        place = (database, *_split(call, database, name))
        is_view = key in call.catalog.views
        comment = call.catalog.comments.get(("view" if is_view else "table", key, ""))
        yield *place, "VIEW" if is_view else kind, "NO" if is_view else "YES", comment


def relations(call: FunctionCall) -> Iterator[tuple[str, str, str]]:
    """Yield the database, the name and the key of each table and then of each view.

    An attached database that cannot be read is left out, with a warning.
    """
    catalog = call.catalog
    found = []
    for database, known in catalog.relations.databases.items():
        try:
            found += [(database, name, key) for name, key in known.items()]
        except DatabaseError as error:
            running = current.get()
            if running is not None:
                text = f"the tables of '{database}' are left out: {error.sentence}"
                running.remarks.warnings.append(text)
    for kind in (catalog.tables, catalog.views):
        yield from (each for each in found if each[2] in kind)


def _columns(call: FunctionCall) -> Iterator[Row]:
    for row, _ in columns_with_types(call):
        yield row


def columns_with_types(call: FunctionCall) -> Iterator[tuple[Row, pa.DataType]]:
    """Yield the rows of information_schema.columns, each with the type of its column."""
    types = _types_of(call)
    for database, name, key in relations(call):
        known = call.catalog.tables.get(key)
        if known is None:
            schema = pa.schema([(each.name, each.type) for each in call.view_columns(key)])
        else:
            schema = typed_schema(known.definition.schema)
        defaults = {} if known is None else dict(known.definition.defaults)
        own = () if known is None else known.definition.identities
        identities = {each.column: each for each in own}
        computed = () if known is None else known.definition.generated
        texts = {each.column: each.text for each in computed}
        for number, field in enumerate(schema, 1):
            identity = identities.get(field.name)
            default = None if identity else defaults.get(field.name)
            row = (
                *(database, *_split(call, database, name), field.name, number, default),
                "YES" if field.nullable else "NO",
                sql_type_name(field.type),
                *_digits(field.type),
                *_identity(identity),
                sql_type_name(field.type, _same_types(field.type, types[database])),
                "ALWAYS" if field.name in texts else "NEVER",
                texts.get(field.name),
                *_in_postgres(field, database, types[database]),
                "NO" if known is None or field.name in texts else "YES",
                call.catalog.comments.get(("column", key, field.name)),
            )
            yield row, field.type


def _in_postgres(field: pa.Field, database: str, types: Mapping[str, pa.DataType]) -> Row:
    """Return what tools for PostgreSQL ask of a type: lengths that it has not, and its name."""
    kind = field.type
    is_own = isinstance(kind, EnumType) and types.get(kind.type_name) == kind
    _, name, _ = postgres_type(kind, database if is_own else "")
    is_moment = pa.types.is_timestamp(kind) or pa.types.is_time(kind)
    digits = 6 if kind == TIMETZ else _DIGITS[kind.unit] if is_moment else None
    collation = field_collation(field).upper() or None
    return None, digits, collation, None, database, MAIN if is_own else "pg_catalog", name


def _types_of(call: FunctionCall) -> Mapping[str, Mapping[str, pa.DataType]]:
    """Return the named types of each database."""
    return {CATALOG: call.catalog.types, **call.catalog.attached_types}


def _same_types(kind: pa.DataType, types: Mapping[str, pa.DataType]) -> set[str]:
    """Return the names of the ENUMs in a type that are still what they were, of some types."""
    named = {each.type_name: each for each in leaf_types(kind) if isinstance(each, EnumType)}
    return {name for name, each in named.items() if types.get(name) == each}


def _types(call: FunctionCall) -> Iterator[Row]:
    """Yield the types of each database in the order in which they were made."""
    for database, types in _types_of(call).items():
        for name, kind in types.items():
            written = sql_type_name(kind, _same_types(kind, types) - {name})
            yield database, MAIN, name, "ENUM" if isinstance(kind, EnumType) else "ALIAS", written


def _identity(identity: Identity | None) -> tuple[str | None, ...]:
    if identity is None:
        return "NO", *(None,) * 6
    return "YES", identity.generation, *_numbers_of(identity.options)


def _numbers_of(options: SequenceOptions) -> tuple[str, ...]:
    """Return start, increment, maximum, minimum and whether it cycles, texts as in the standard."""
    numbers = (options.start, options.increment, options.high, options.low)
    return (*map(str, numbers), "YES" if options.cycles else "NO")


def _sequences(call: FunctionCall) -> Iterator[Row]:
    owned = {each.sequence for table in _own_tables(call) for each in table.definition.identities}
    for name, sequence in call.catalog.sequences.items():
        if name not in owned:
            yield CATALOG, *_split(call, CATALOG, name), "BIGINT", *_numbers_of(sequence.options)


def _own_tables(call: FunctionCall) -> Iterator[TableInfo]:
    own = call.catalog.relations.databases[CATALOG]
    return (table for name, table in call.catalog.tables.items() if name in own)


def _digits(data_type: pa.DataType) -> tuple[int | None, int | None]:
    """Return the precision and the scale of an exact number; an integer's precision is in bits."""
    if pa.types.is_decimal(data_type):
        return data_type.precision, data_type.scale
    if pa.types.is_integer(data_type):
        return data_type.bit_width, 0
    return None, None


def _views(call: FunctionCall) -> Iterator[Row]:
    for database, name, key in relations(call):
        if key in call.catalog.views:
            yield database, *_split(call, database, name), call.catalog.views[key], "NONE", "NO"


def _routines(call: FunctionCall) -> Iterator[Row]:
    macros = call.catalog.relations.macros
    if macros is None:
        return
    for database, known in macros.databases.items():
        for name, key in known.items():
            place = database, *_split(call, database, name.removesuffix("()"))
            yield *place, "FUNCTION", macros.views[key]


def _constraints(call: FunctionCall) -> Iterator[tuple[TableDefinition, Constraint, str]]:
    """Yield the constraints of the connection's own tables."""
    for table in _own_tables(call):
        for constraint, name in constraint_names(table.definition):
            yield table.definition, constraint, name


def _table_constraints(call: FunctionCall) -> Iterator[Row]:
    for definition, constraint, name in _constraints(call):
        match constraint:
            case UniqueKey():
                is_primary = constraint is definition.primary_key
                kind = "PRIMARY KEY" if is_primary else "UNIQUE"
            case ForeignKey():
                kind = "FOREIGN KEY"
            case Check():
                kind = "CHECK"
        schema, table = _split(call, CATALOG, definition.name)
        distinct = "YES" if kind == "UNIQUE" else None
        yield CATALOG, schema, name, CATALOG, schema, table, kind, "NO", "NO", "YES", distinct
    for whole, _, name in _not_null(call):
        schema, table = _split(call, CATALOG, whole)
        yield CATALOG, schema, name, CATALOG, schema, table, "CHECK", "NO", "NO", "YES", None


def _not_null(call: FunctionCall) -> Iterator[tuple[str, str, str]]:
    """Yield the table and the column of each NOT NULL, and the name that PostgreSQL gives it."""
    for table in _own_tables(call):
        definition = table.definition
        for field in definition.schema:
            if not field.nullable:
                bare = definition.name.rpartition(".")[2]
                yield definition.name, field.name, f"{bare}_{field.name}_not_null"


def _key_column_usage(call: FunctionCall) -> Iterator[Row]:
    for definition, constraint, name in _constraints(call):
        if isinstance(constraint, Check):
            continue
        for number, column in enumerate(constraint.columns, 1):
            position = None
            if isinstance(constraint, ForeignKey):
                target, _ = _referenced(constraint, call)
                position = target.columns.index(constraint.references[number - 1]) + 1
            schema, table = _split(call, CATALOG, definition.name)
            yield (
                *(CATALOG, schema, name, CATALOG, schema, table),
                *(column, number, position),
            )


def _referenced(key: ForeignKey, call: FunctionCall) -> tuple[UniqueKey, str]:
    """Return the key that a foreign key refers to, and its name."""
    for constraint, name in constraint_names(call.catalog.tables[key.table].definition):
        if isinstance(constraint, UniqueKey) and set(constraint.columns) == set(key.references):
            return constraint, name
    raise AssertionError(f"{key} refers to no key")


def _referential_constraints(call: FunctionCall) -> Iterator[Row]:
    for definition, constraint, name in _constraints(call):
        if isinstance(constraint, ForeignKey):
            _, target = _referenced(constraint, call)
            delete_rule, update_rule = (rule or "NO ACTION" for rule in constraint.actions)
            schema, _ = _split(call, CATALOG, definition.name)
            there, _ = _split(call, CATALOG, constraint.table)
            yield (
                *(CATALOG, schema, name, CATALOG, there, target),
                *("NONE", update_rule, delete_rule),
            )


def _check_constraints(call: FunctionCall) -> Iterator[Row]:
    for definition, constraint, name in _constraints(call):
        if isinstance(constraint, Check):
            yield CATALOG, _split(call, CATALOG, definition.name)[0], name, constraint.text
    for table, column, name in _not_null(call):
        yield CATALOG, _split(call, CATALOG, table)[0], name, f"{column} IS NOT NULL"


def _constraint_columns(call: FunctionCall) -> Iterator[Row]:
    """Yield the columns that constraints name: of a foreign key those that it refers to."""
    for definition, constraint, name in _constraints(call):
        columns, whole = constraint.columns, definition.name
        if isinstance(constraint, ForeignKey):
            columns, whole = constraint.references, constraint.table
        schema, _ = _split(call, CATALOG, definition.name)
        place = CATALOG, *_split(call, CATALOG, whole)
        for column in columns:
            yield *place, column, CATALOG, schema, name


def _column_options(call: FunctionCall) -> Iterator[Row]:
    for table in _own_tables(call):
        name, layout = table.definition.name, table.definition.layout
        switches = [(column, "on" if is_on else "off") for column, is_on in layout.offset_index]
        for option, chosen in (
            ("chunk_rows", layout.chunk_rows),
            ("encoding", layout.encodings),
            ("offset_index", switches),
        ):
            for column, value in chosen:
                yield CATALOG, *_split(call, CATALOG, name), column, option, str(value)


OWNER = "raydb"
"""The user that all is of."""

_CONSTRAINT = "constraint_catalog constraint_schema constraint_name"
_TABLE = "table_catalog table_schema table_name"
INFORMATION_SCHEMA = (
    InformationTable("schemata", "catalog_name schema_name schema_owner", _schemata),
    InformationTable("tables", f"{_TABLE} table_type is_insertable_into table_comment", _tables),
    InformationTable(
        "columns",
        f"{_TABLE} column_name ordinal_position column_default is_nullable data_type"
        " numeric_precision numeric_scale is_identity identity_generation identity_start"
        " identity_increment identity_maximum identity_minimum identity_cycle declared_type"
        " is_generated generation_expression character_maximum_length datetime_precision"
        " collation_name domain_name udt_catalog udt_schema udt_name is_updatable column_comment",
        _columns,
    ),
    InformationTable(
        "sequences",
        "sequence_catalog sequence_schema sequence_name data_type start_value increment"
        " maximum_value minimum_value cycle_option",
        _sequences,
    ),
    InformationTable(
        "user_defined_types",
        "user_defined_type_catalog user_defined_type_schema user_defined_type_name"
        " user_defined_type_category data_type",
        _types,
    ),
    InformationTable("views", f"{_TABLE} view_definition check_option is_updatable", _views),
    InformationTable(
        "routines",
        "routine_catalog routine_schema routine_name routine_type routine_definition",
        _routines,
    ),
    InformationTable(
        "table_constraints",
        f"{_CONSTRAINT} {_TABLE} constraint_type is_deferrable initially_deferred"
        " enforced nulls_distinct",
        _table_constraints,
    ),
    InformationTable(
        "key_column_usage",
        f"{_CONSTRAINT} {_TABLE} column_name ordinal_position position_in_unique_constraint",
        _key_column_usage,
    ),
    InformationTable(
        "referential_constraints",
        f"{_CONSTRAINT} unique_constraint_catalog unique_constraint_schema unique_constraint_name"
        " match_option update_rule delete_rule",
        _referential_constraints,
    ),
    InformationTable(
        "constraint_column_usage", f"{_TABLE} column_name {_CONSTRAINT}", _constraint_columns
    ),
    InformationTable("check_constraints", f"{_CONSTRAINT} check_clause", _check_constraints),
    InformationTable(
        "column_options", f"{_TABLE} column_name option_name option_value", _column_options
    ),
)


def rows_by_name(name: str) -> RowsOf:
    """Return what makes the rows of a table of the information schema."""
    return next(each.rows for each in INFORMATION_SCHEMA if each.name == f"{INFORMATION}.{name}")
