"""A value and the column that it is stored in: its type, the word DEFAULT, the default itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from raydb.errors import DataError, ProgrammingError, did_you_mean
from raydb.names import known_name
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.literals import is_bare_string
from raydb.planner.expressions.nodes import Expression, Literal
from raydb.planner.expressions.types import TEXT, can_assign, is_list
from raydb.planner.expressions.typing_rules import cast
from raydb.sql.parse.written import text_of
from raydb.storage.fields import typed_schema
from raydb.storage.tables.table import check_given
from raydb.storage.type_names import sql_type_name
from raydb.values import replace

if TYPE_CHECKING:
    import pyarrow as pa

    from raydb.planner.catalog import CatalogInfo
    from raydb.storage.tables.table import TableDefinition


def target_definition(table: str, catalog: CatalogInfo) -> TableDefinition:
    """Return the definition of the table that a statement writes to, with the types of its values.

    Raises ProgrammingError for a view and for what is not there.
    """
    if table in catalog.tables:
        return typed(catalog.tables[table].definition)
    if table in catalog.views:
        raise ProgrammingError(f"'{table}' is a view, not a table")
    raise ProgrammingError(f"table '{table}' does not exist{did_you_mean(table, catalog.tables)}")


def typed(definition: TableDefinition) -> TableDefinition:
    """Return a definition whose schema has the types of the values."""
    schema = typed_schema(definition.schema)
    return definition if schema is definition.schema else replace(definition, schema=schema)


def field_of(definition: TableDefinition, name: str) -> pa.Field:
    """Return the column of a name that a statement writes to; raises ProgrammingError for none."""
    schema = definition.schema
    return schema.field(known_name(name, schema.names, "column", f" in '{definition.name}'"))


def given_field(definition: TableDefinition, name: str) -> pa.Field:
    """Return the column of a name that a statement gives a value to.

    Raises ProgrammingError for a generated column and for none.
    """
    field = field_of(definition, name)
    check_given(definition, field.name)
    return field


def check_chosen(definition: TableDefinition, column: str) -> None:
    """Raise ProgrammingError for a column that takes no value but its own."""
    if any(each.column == column and each.always for each in definition.identities):
        raise ProgrammingError(
            f"column '{column}' of table '{definition.name}' is GENERATED ALWAYS AS IDENTITY:"
            " leave it out, or write DEFAULT"
        )


def assign(value: Expression, field: pa.Field) -> Expression:
    """Return a value in the type of the column that it is stored in.

    Raises ProgrammingError for a value of the wrong type, DataError for a constant that does not
    fit; both name the column.
    """
    if isinstance(value, Literal) and value.value is None:
        return Literal(None, field.type)
    if not _is_read(value, field.type) and not can_assign(value.type, field.type):
        raise ProgrammingError(
            f"column '{field.name}' has the type {sql_type_name(field.type)},"
            f" but its value is {describe(value)}"
        )
    try:
        return cast(value, field.type)
    except DataError as error:
        raise DataError(f"column '{field.name}': {error}") from error


def _is_read(value: Expression, kind: pa.DataType) -> bool:
    """Say whether a value is a string, or a list of strings, which are read as what is wanted."""
    if not isinstance(value, Literal):
        return False
    given = value.type
    while is_list(given) and is_list(kind):
        given, kind = given.value_type, kind.value_type
    return is_bare_string(value) if given == value.type else given == TEXT


def is_default(node: exp.Expr) -> bool:
    """Say whether a value is the word DEFAULT, which sqlglot takes for a column in an UPDATE."""
    return isinstance(node, exp.Column | exp.Var) and text_of(node).upper() == "DEFAULT"
