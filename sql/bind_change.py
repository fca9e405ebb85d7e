"""UPDATE and DELETE: the rows that match, by their numbers, and what they become."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from raydb.errors import NotSupportedError, ProgrammingError, did_you_mean
from raydb.planner.logical import Filter, Plan, Project, Scan
from raydb.sql.bind_expression import bind_condition, bind_expression
from raydb.sql.bind_insert import assign
from raydb.sql.binding import Binding, context_of, new_column
from raydb.sql.dialect import text_of
from raydb.sql.nodes import refuse_deep_nesting, require_only, unsupported
from raydb.sql.parameters import Parameters, bind_parameters
from raydb.sql.reader import fold
from raydb.sql.scope import Scope, table_scope
from raydb.storage.table import ROW_NUMBER

if TYPE_CHECKING:
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expression import Column, Expression
    from raydb.sql.statements import Delete, Update


@dataclass(frozen=True, slots=True)
class _Matching:
    """The rows that WHERE keeps, with the table's columns and their number."""

    plan: Plan
    scope: Scope
    number: Column
    columns: tuple[Column, ...]


def bind_update(update: Update, catalog: CatalogInfo, parameters: Parameters = ()) -> Plan:
    """Return a plan of the rows that match: the number, then the table's columns as they will be.

    The assignments see the old values. Raises ProgrammingError, naming the column, for an unknown
    column and for a value of the wrong type.
    """
    require_only(update.tree, "this", "expressions", "where")
    with refuse_deep_nesting():
        binding = Binding(catalog, bind_parameters(update.tree, parameters))
        matching = _bind_matching(update, binding)
        values = _bind_assignments(update, matching, binding)
        items: list[tuple[Column, Expression]] = [(matching.number, matching.number)]
        for column in matching.columns:
            value = values.get(column.name, column)
            kept = value is column
            items.append((column if kept else new_column(binding, column.name, column.type), value))
    return Project(matching.plan, tuple(items))


def bind_delete(delete: Delete, catalog: CatalogInfo, parameters: Parameters = ()) -> Plan:
    """Return a plan of the numbers of the rows that match."""
    require_only(delete.tree, "this", "where")
    with refuse_deep_nesting():
        binding = Binding(catalog, bind_parameters(delete.tree, parameters))
        matching = _bind_matching(delete, binding)
    return Project(matching.plan, ((matching.number, matching.number),))


def _bind_matching(statement: Update | Delete, binding: Binding) -> _Matching:
    table, tables = statement.table, binding.catalog.tables
    if table in binding.catalog.views:
        raise ProgrammingError(f"'{table}' is a view; only the rows of tables can be changed")
    if table not in tables:
        raise ProgrammingError(f"table '{table}' does not exist{did_you_mean(table, tables)}")
    schema = tables[table].definition.schema
    columns = tuple(new_column(binding, field.name, field.type) for field in schema)
    number = new_column(binding, ROW_NUMBER, pa.int32())
    plan: Plan = Scan(table, (*columns, number))
    scope = table_scope(_name(statement), columns, written=table)
    where = statement.tree.args.get("where")
    if where is not None:
        require_only(where, "this")
        plan = Filter(plan, bind_condition(where.this, context_of(binding, scope, "WHERE")))
    return _Matching(plan, scope, number, columns)


def _name(statement: Update | Delete) -> str:
    """Return the name that the statement has for the table."""
    alias = statement.tree.this.args.get("alias")
    if alias is None:
        return statement.table
    require_only(alias, "this")
    return fold(alias.this)


def _bind_assignments(
    update: Update, matching: _Matching, binding: Binding
) -> dict[str, Expression]:
    """Return the new values by the names of their columns."""
    schema = binding.catalog.tables[update.table].definition.schema
    context = context_of(binding, matching.scope, "SET")
    values: dict[str, Expression] = {}
    for node in update.tree.expressions:
        if not isinstance(node, exp.EQ):
            raise ProgrammingError(f"SET needs column = value, not {text_of(node)}")
        name = _assigned(node.this)
        if name not in schema.names:
            raise ProgrammingError(
                f"column '{name}' does not exist in '{update.table}'"
                f"{did_you_mean(name, schema.names)}"
            )
        if name in values:
            raise ProgrammingError(f"column '{name}' is named twice in UPDATE")
        if _is_default(node.expression):
            raise NotSupportedError("DEFAULT is not supported")
        value = bind_expression(node.expression, context)
        values[name] = assign(value, schema.field(name))
    return values


def _assigned(node: exp.Expr) -> str:
    """Return the name of the column that an assignment writes to."""
    match node:
        case exp.Column(this=exp.Identifier() as name):
            if node.args.get("table") is not None:
                raise ProgrammingError(
                    f"SET needs the name of a column alone: '{fold(name)}', not {text_of(node)}"
                )
            return fold(name)
        case exp.Tuple():
            raise NotSupportedError("SET (a, b) = ... is not supported")
        case _:
            raise unsupported(node)


def _is_default(node: exp.Expr) -> bool:
    """Say whether a value is the word DEFAULT, which sqlglot takes for a column."""
    return isinstance(node, exp.Column) and text_of(node).upper() == "DEFAULT"
