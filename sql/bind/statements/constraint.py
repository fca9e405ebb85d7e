"""DEFAULT and CHECK: the expressions that a table's definition keeps as text."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from raydb.errors import ProgrammingError
from raydb.planner.catalog import CatalogInfo
from raydb.planner.expressions.nodes import Column, Expression, Literal
from raydb.running import letter_by_letter, without_variables
from raydb.sql.bind.binding import Binding, context_of, table_columns
from raydb.sql.bind.expression.expression import bind_condition, bind_expression
from raydb.sql.bind.query.query import bind_query
from raydb.sql.bind.scope import Scope, table_scope
from raydb.sql.bind.statements.assignment import assign
from raydb.sql.parse.stored_expressions import stored_tree
from raydb.storage.fields import field_type, typed_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from sqlglot import exp

    from raydb.storage.tables.table import Check, TableDefinition


def bind_check(check: Check, definition: TableDefinition) -> Expression:
    """Return the condition of a CHECK; the column numbered n is the table's n-th.

    Raises ProgrammingError for an unknown column, for what is no condition and for a variable.
    """
    columns = row_columns(typed_schema(definition.schema))
    context = context_of(_binding(), table_scope(definition.name, columns), "CHECK")
    with without_variables("CHECK"):
        return bind_condition(stored_tree(check.text), context)


def bind_default(definition: TableDefinition, column: str) -> Expression:
    """Return the value of a column that an INSERT does not name: its DEFAULT, or NULL.

    Raises ProgrammingError for a DEFAULT that reads columns or is of the wrong type.
    """
    stored = definition.schema.field(column)
    field = stored.with_type(field_type(stored))
    text = dict(definition.defaults).get(column)
    if text is None:
        return Literal(None, field.type)
    context = context_of(_binding(), Scope(), "DEFAULT")
    with letter_by_letter():
        return assign(bind_expression(stored_tree(text), context), field)


def bind_conversion(
    definition: TableDefinition, field: pa.Field, using: exp.Expr | None
) -> Expression:
    """Return what ALTER COLUMN ... TYPE makes of a column; numbers are as in `bind_check`.

    Raises ProgrammingError if there is no cast that an INSERT would make too, and no USING.
    """
    columns = row_columns(typed_schema(definition.schema))
    old = columns[definition.schema.get_field_index(field.name)]
    if using is None:
        return assign(old, field)
    context = context_of(_binding(), table_scope(definition.name, columns), "USING")
    return assign(bind_expression(using, context), field)


def check_texts(definition: TableDefinition) -> None:
    """Raise ProgrammingError for a DEFAULT or CHECK of a new definition that does not bind."""
    for column, _ in definition.defaults:
        if column not in definition.schema.names:
            raise ProgrammingError(f"column '{column}' does not exist in '{definition.name}'")
        bind_default(definition, column)
    for check in definition.checks:
        bind_check(check, definition)


def row_columns(schema: pa.Schema) -> tuple[Column, ...]:
    """Return a table's columns, numbered in order."""
    return table_columns(itertools.count(), schema)


def _binding() -> Binding:
    return Binding(CatalogInfo({}), {}, bind_query)
