"""INSERT: the rows to store, as a plan in the shape of the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from raydb.errors import ProgrammingError
from raydb.planner.plan.nodes import Plan, Project, Values
from raydb.sql.bind.binding import Binding, context_of, table_columns
from raydb.sql.bind.query.query import bind_query, statement_binding
from raydb.sql.bind.query.set_operation import adapting_cells
from raydb.sql.bind.query.with_clause import with_queries
from raydb.sql.bind.scope import Scope
from raydb.sql.bind.statements.assignment import (
    assign,
    check_chosen,
    given_field,
    is_default,
    target_definition,
)
from raydb.sql.bind.statements.constraint import bind_default
from raydb.sql.bind.statements.generated import with_generated
from raydb.sql.bind.statements.returning import bind_returning, written_target
from raydb.sql.bind.statements.value import bind_value
from raydb.sql.parse.nodes import require_only
from raydb.sql.parse.reader import name_in
from raydb.sql.template.parameter_rows import ParameterRows
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Expression
    from raydb.sql.ast import Insert
    from raydb.sql.bind.expression.expression import Context
    from raydb.sql.template.parameters import Parameters
    from raydb.storage.tables.table import TableDefinition

_ARGUMENTS = (
    *("this", "expression", "default", "by_name", "with_"),
    *("alternative", "conflict", "returning"),
)


@dataclass(frozen=True, slots=True)
class _Target:
    """The table, and the columns that the statement names, in the order of its values."""

    definition: TableDefinition
    fields: tuple[pa.Field, ...]

    @property
    def name(self) -> str:
        return self.definition.name


def bind_insert(insert: Insert, catalog: CatalogInfo, parameters: Parameters = ()) -> Plan:
    """Return a plan whose columns are the table's, in its order and types, then RETURNING's.

    Columns that the statement does not name have their default. Raises ProgrammingError, naming
    the column, for an unknown column, a wrong number of values and a value of the wrong type.
    """
    tree = insert.tree
    require_only(tree, *_ARGUMENTS)
    definition = target_definition(insert.table, catalog)
    if insert.overrides:
        chosen = tuple(replace(each, always=False) for each in definition.identities)
        definition = replace(definition, identities=chosen)
    with statement_binding(tree, catalog, parameters) as outer:
        binding = with_queries(tree, outer)
        plan = _bind_rows(tree, definition, binding)
        plan, columns = with_generated(plan, plan.columns, definition, binding)
        if tree.args.get("returning") is None:
            return plan
        scope = written_target(tree.this, insert.table, catalog).scope(columns)
        returning = bind_returning(tree, scope, binding)
    return Project(plan, (*((column, column) for column in columns), *returning))


def _bind_rows(tree: exp.Expr, definition: TableDefinition, binding: Binding) -> Plan:
    query = tree.expression
    fields = _named_fields(tree.this, definition)
    if query is None:
        if isinstance(tree.this, exp.Schema):
            raise ProgrammingError("DEFAULT VALUES takes no list of columns")
        return _values(_Target(definition, ()), [()], binding)
    if tree.args.get("by_name"):
        if isinstance(tree.this, exp.Schema):
            raise ProgrammingError("BY NAME takes no list of columns")
        plan = bind_query(query, binding)
        names = [column.name for column in plan.columns]
        target = _Target(definition, _fields(definition, names, "the query"))
        return _insert_query(target, plan, binding)
    target = _Target(definition, fields)
    if isinstance(query, exp.Values) and not any(
        query.args.get(name) for name in ("with_", "order", "limit", "offset")
    ):
        require_only(query, "expressions")
        return _insert_values(target, query, binding)
    return _insert_query(target, bind_query(query, binding), binding)


def _named_fields(node: exp.Expr, definition: TableDefinition) -> tuple[pa.Field, ...]:
    """Return the fields that the values are for, in the order of the values."""
    if not isinstance(node, exp.Schema):
        return tuple(definition.given_schema)
    require_only(node, "this", "expressions")
    return _fields(definition, [name_in(name) for name in node.expressions], "INSERT")


def _fields(definition: TableDefinition, names: Sequence[str], where: str) -> tuple[pa.Field, ...]:
    fields: dict[str, pa.Field] = {}
    for name in names:
        field = given_field(definition, name)
        if field.name in fields:
            raise ProgrammingError(f"column '{field.name}' is named twice in {where}")
        fields[field.name] = field
    return tuple(fields.values())


def _insert_values(target: _Target, tree: exp.Expr, binding: Binding) -> Plan:
    context = context_of(binding, Scope(), "VALUES")
    rows: list[tuple[Expression, ...]] = []
    for number, row in enumerate(tree.expressions, 1):
        rows.append(_cells(target, row, f"row {number} of VALUES", context))
    if not isinstance(binding.parameters, ParameterRows):
        return _values(target, rows, binding)
    assert len(rows) == 1, "each run has one row"
    columns = table_columns(binding.numbers, target.definition.schema)
    values = _in_table_order(target, rows[0])
    return Project(binding.parameters.scan(), tuple(zip(columns, values, strict=True)))


def _cells(target: _Target, row: exp.Expr, what: str, context: Context) -> tuple[Expression, ...]:
    """Return the values that a row of VALUES gives to the columns of the target."""
    require_only(row, "expressions")
    nodes = row.expressions
    _check_width(target, f"{what} has {len(nodes)} values", nodes)
    return tuple(
        bind_default(target.definition, field.name)
        if is_default(node)
        else _chosen(target, node, field, context)
        for node, field in zip(nodes, target.fields, strict=True)
    )


def bind_merged_row(
    action: exp.Expr, definition: TableDefinition, source: Scope, context: Context
) -> tuple[Expression, ...]:
    """Return what the INSERT of a MERGE stores for a row of the source, in the table's order."""
    names, values = action.this, action.args.get("expression")
    if action.args.get("default"):
        return _in_table_order(_Target(definition, ()), ())
    if values is not None:
        target = _Target(definition, _named_fields(names, definition))
        return _in_table_order(target, _cells(target, values, "the row of VALUES", context))
    target = _Target(definition, tuple(definition.given_schema))
    if action.args.get("by_name"):
        found = [each.name for each in source.visible]
        target = _Target(definition, _fields(definition, found, "the source of MERGE"))
    columns = [each.expression for each in source.visible]
    _check_width(target, f"the source of MERGE has {len(columns)} columns", columns)
    for field in target.fields:
        check_chosen(definition, field.name)
    return _in_table_order(target, columns)


def _chosen(target: _Target, node: exp.Expr, field: pa.Field, context: Context) -> Expression:
    check_chosen(target.definition, field.name)
    return bind_value(node, field, context)


def _values(target: _Target, rows: Sequence[Sequence[Expression]], binding: Binding) -> Values:
    schema = target.definition.schema
    columns = table_columns(binding.numbers, schema)
    return Values(columns, tuple(_in_table_order(target, cells) for cells in rows))


def _insert_query(target: _Target, plan: Plan, binding: Binding) -> Plan:
    columns = plan.columns
    _check_width(target, f"the query has {len(columns)} columns", columns)
    for field in target.fields:
        check_chosen(target.definition, field.name)
    # A constant of the select list adapts to the column as it would in VALUES.
    values = _in_table_order(target, adapting_cells(plan))
    columns = table_columns(binding.numbers, target.definition.schema)
    return Project(plan, tuple(zip(columns, values, strict=True)))


def _check_width(target: _Target, found: str, values: Sequence[object]) -> None:
    wanted = target.fields
    if len(values) == len(wanted):
        return
    if len(values) < len(wanted):
        detail = f"there is none for column '{wanted[len(values)].name}'"
    else:
        detail = f"'{wanted[-1].name}' is the last column"
    raise ProgrammingError(
        f"{found}, but INSERT INTO '{target.name}' needs {len(wanted)}; {detail}"
    )


def _in_table_order(target: _Target, cells: Sequence[Expression]) -> tuple[Expression, ...]:
    given = {
        field.name: assign(cell, field) for field, cell in zip(target.fields, cells, strict=True)
    }
    return tuple(
        given[name] if name in given else bind_default(target.definition, name)
        for name in target.definition.schema.names
    )
