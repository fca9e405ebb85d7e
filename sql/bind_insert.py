"""INSERT: the rows to store, as a plan in the shape of the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from raydb.errors import DataError, ProgrammingError, did_you_mean
from raydb.planner.expression import Expression, Literal
from raydb.planner.logical import Plan, Project, Values, output_columns
from raydb.sql.bind_select import bind_query, value_row
from raydb.sql.binding import Binding, new_column
from raydb.sql.literals import is_bare_string, read_string
from raydb.sql.nodes import refuse_deep_nesting
from raydb.sql.parameters import Parameters, bind_parameters
from raydb.sql.types import can_assign
from raydb.sql.typing_rules import cast, describe
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from raydb.planner.catalog import CatalogInfo
    from raydb.sql.statements import Insert


def bind_insert(insert: Insert, catalog: CatalogInfo, parameters: Parameters = ()) -> Plan:
    """Return a plan whose columns are the table's, in its order and types.

    Columns that the statement does not name are NULL. Raises ProgrammingError, naming the column,
    for an unknown column, a wrong number of values and a value of the wrong type.
    """
    schema = _schema(insert, catalog)
    targets = _targets(insert, schema)
    tree = insert.select.tree
    with refuse_deep_nesting():
        binding = Binding(catalog, bind_parameters(tree, parameters))
        if isinstance(tree, exp.Values) and not any(
            tree.args.get(name) for name in ("with_", "order", "limit", "offset")
        ):
            return _insert_values(insert, tree, schema, targets, binding)
        return _insert_query(insert, bind_query(tree, binding), schema, targets, binding)


def _schema(insert: Insert, catalog: CatalogInfo) -> pa.Schema:
    table = insert.table
    if table in catalog.tables:
        return catalog.tables[table].definition.schema
    if table in catalog.views:
        raise ProgrammingError(f"'{table}' is a view; rows can be inserted into tables only")
    raise ProgrammingError(f"table '{table}' does not exist{did_you_mean(table, catalog.tables)}")


def _targets(insert: Insert, schema: pa.Schema) -> tuple[pa.Field, ...]:
    """Return the fields that the values are for, in the order of the values."""
    if insert.columns is None:
        return tuple(schema)
    for index, name in enumerate(insert.columns):
        if name not in schema.names:
            raise ProgrammingError(
                f"column '{name}' does not exist in '{insert.table}'"
                f"{did_you_mean(name, schema.names)}"
            )
        if name in insert.columns[:index]:
            raise ProgrammingError(f"column '{name}' is named twice in INSERT")
    return tuple(schema.field(name) for name in insert.columns)


def _insert_values(
    insert: Insert,
    tree: exp.Expr,
    schema: pa.Schema,
    targets: Sequence[pa.Field],
    binding: Binding,
) -> Plan:
    rows: list[tuple[Expression, ...]] = []
    for number, node in enumerate(tree.expressions, 1):
        cells = value_row(node, binding)
        _check_width(insert, f"row {number} of VALUES has {len(cells)} values", cells, targets)
        rows.append(_in_table_order(schema, targets, cells))
    columns = tuple(new_column(binding, field.name, field.type) for field in schema)
    return Values(columns, tuple(rows))


def _insert_query(
    insert: Insert,
    plan: Plan,
    schema: pa.Schema,
    targets: Sequence[pa.Field],
    binding: Binding,
) -> Plan:
    columns = output_columns(plan)
    _check_width(insert, f"the query has {len(columns)} columns", columns, targets)
    # A constant of the select list adapts to the column as it would in VALUES.
    constants: dict[Expression, Expression] = {}
    if isinstance(plan, Project):
        constants = {
            column: expression
            for column, expression in plan.items
            if isinstance(expression, Literal)
        }
    cells = [constants.get(column, column) for column in columns]
    values = _in_table_order(schema, targets, cells)
    items = zip(schema, values, strict=True)
    return Project(
        plan, tuple((new_column(binding, field.name, field.type), value) for field, value in items)
    )


def _check_width(
    insert: Insert, found: str, values: Sequence[object], targets: Sequence[pa.Field]
) -> None:
    if len(values) == len(targets):
        return
    if len(values) < len(targets):
        detail = f"there is none for column '{targets[len(values)].name}'"
    else:
        detail = f"'{targets[-1].name}' is the last column"
    raise ProgrammingError(
        f"{found}, but INSERT INTO '{insert.table}' needs {len(targets)}; {detail}"
    )


def _in_table_order(
    schema: pa.Schema, targets: Sequence[pa.Field], cells: Sequence[Expression]
) -> tuple[Expression, ...]:
    given = {field.name: assign(cell, field) for field, cell in zip(targets, cells, strict=True)}
    return tuple(given.get(field.name, Literal(None, field.type)) for field in schema)


def assign(value: Expression, field: pa.Field) -> Expression:
    """Return a value in the type of the column that it is stored in.

    Raises ProgrammingError, naming the column, for a value of the wrong type.
    """
    if isinstance(value, Literal):
        if value.value is None:
            return Literal(None, field.type)
        if is_bare_string(value):
            return _read(value, field)
    if not can_assign(value.type, field.type):
        raise ProgrammingError(
            f"column '{field.name}' has the type {sql_type_name(field.type)},"
            f" but its value is {describe(value)}"
        )
    return cast(value, field.type)


def _read(value: Literal, field: pa.Field) -> Expression:
    try:
        return cast(read_string(value, field.type), field.type)
    except DataError as error:
        raise DataError(f"column '{field.name}': {error}") from error
