"""UPDATE and DELETE: the rows that match, by their numbers, and what they become."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.planner.plan.nodes import Filter, InnerJoin, Plan, Project, Scan
from raydb.sql.bind.binding import Binding, context_of, new_column, table_columns
from raydb.sql.bind.expression.expression import bind_condition
from raydb.sql.bind.expression.row_values import row_nodes
from raydb.sql.bind.query.from_clause import bind_from
from raydb.sql.bind.query.query import statement_binding
from raydb.sql.bind.query.with_clause import with_queries
from raydb.sql.bind.scope import Scope, join_scopes
from raydb.sql.bind.statements.assignment import (
    assign,
    check_chosen,
    given_field,
    is_default,
    target_definition,
)
from raydb.sql.bind.statements.constraint import bind_default
from raydb.sql.bind.statements.generated import with_generated
from raydb.sql.bind.statements.returning import Target, bind_returning, written_target
from raydb.sql.bind.statements.value import bind_value
from raydb.sql.parse.nodes import require_only, unsupported
from raydb.sql.parse.reader import name_in
from raydb.sql.parse.written import text_of
from raydb.storage.tables.table import ROW_NUMBER
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Column, Expression
    from raydb.sql.ast import Delete, Update
    from raydb.sql.template.parameters import Parameters
    from raydb.storage.tables.table import TableDefinition


@dataclass(frozen=True, slots=True)
class Matching:
    """The rows that WHERE keeps, of the table and of what it is joined with.

    `number` and `columns` are the table's row number and columns; `others` is the scope of the
    rest.
    """

    definition: TableDefinition
    target: Target
    plan: Plan
    number: Column
    columns: tuple[Column, ...]
    others: Scope

    def scope(self, columns: Sequence[Column]) -> Scope:
        """Return the scope in which the table's columns are those given."""
        return join_scopes(self.target.scope(columns, row_number=self.number), self.others)


def bind_update(update: Update, catalog: CatalogInfo, parameters: Parameters = ()) -> Plan:
    """Return a plan of the rows that match: the number, then the table's columns as they will be.

    The columns of RETURNING follow. A row that FROM joins with several others is there as often.
    The assignments see the old values. Raises ProgrammingError, naming the column, for an unknown
    column and for a value of the wrong type.
    """
    tree = update.tree
    require_only(tree, "this", "expressions", "from_", "where", "with_", "returning")
    with statement_binding(tree, catalog, parameters) as outer:
        binding = with_queries(tree, outer)
        matching = bind_matching(update, tree.args.get("from_"), binding)
        scope = matching.scope(matching.columns)
        values = bind_assignments(tree.expressions, matching.definition, scope, binding)
        return changed_rows(matching, values, tree, binding)


def bind_delete(delete: Delete, catalog: CatalogInfo, parameters: Parameters = ()) -> Plan:
    """Return a plan of the numbers of the rows that match, and of RETURNING's columns.

    A row that USING joins with several others is there as often.
    """
    tree = delete.tree
    require_only(tree, "this", "using", "where", "with_", "returning")
    with statement_binding(tree, catalog, parameters) as outer:
        binding = with_queries(tree, outer)
        first, *others = tree.args.get("using") or [None]
        if others:
            first = first.copy()
            commas = [exp.Join(this=each.copy()) for each in others]
            first.set("joins", [*(first.args.get("joins") or ()), *commas])
        source = None if first is None else exp.From(this=first)
        matching = bind_matching(delete, source, binding)
        returning = bind_returning(tree, matching.scope(matching.columns), binding)
    return Project(matching.plan, ((matching.number, matching.number), *returning))


def bind_matching(
    statement: Update | Delete, source: exp.Expr | None, binding: Binding
) -> Matching:
    """Return the rows of a statement's table that its WHERE keeps, joined with those of FROM."""
    definition = target_definition(statement.table, binding.catalog)
    columns = table_columns(binding.numbers, definition.schema)
    number = new_column(binding, ROW_NUMBER, pa.int32())
    plan: Plan = Scan(statement.table, (*columns, number))
    others = Scope()
    if source is not None:
        # sqlglot hangs the joins of UPDATE ... FROM on the first table, not on the statement.
        first = source.this.copy()
        joined = bind_from(exp.From(this=first), first.args.pop("joins", None) or [], binding)
        plan, others = InnerJoin((plan, joined.plan), ()), joined.scope
    target = written_target(statement.tree.this, statement.table, binding.catalog)
    matching = Matching(definition, target, plan, number, columns, others)
    where = statement.tree.args.get("where")
    if where is None:
        return matching
    require_only(where, "this")
    context = context_of(binding, matching.scope(columns), "WHERE")
    return replace(matching, plan=Filter(plan, bind_condition(where.this, context)))


def bind_assignments(
    nodes: Sequence[exp.Expr], definition: TableDefinition, scope: Scope, binding: Binding
) -> dict[str, Expression]:
    """Return the values that SET gives columns, by the names of the columns."""
    context = context_of(binding, scope, "SET")
    values: dict[str, Expression] = {}
    for name, node in (pair for each in nodes for pair in _assigned_pairs(each)):
        field = given_field(definition, name)
        if field.name in values:
            raise ProgrammingError(f"column '{field.name}' is named twice in UPDATE")
        if is_default(node):
            values[field.name] = bind_default(definition, field.name)
        else:
            check_chosen(definition, field.name)
            values[field.name] = assign(bind_value(node, field, context), field)
    return values


def _assigned_pairs(node: exp.Expr) -> Iterator[tuple[str, exp.Expr]]:
    """Yield the columns and values of `a = 1`, `(a) = 1` or `(a, b) = (1, 2)`."""
    if not isinstance(node, exp.EQ):
        raise ProgrammingError(f"SET needs column = value, not {text_of(node)}")
    targets, values = row_nodes(node.this), row_nodes(node.expression)
    if isinstance(node.this, exp.Paren):
        targets, values = [node.this.this], values or [node.expression]
    if targets is None:
        yield _assigned(node.this), node.expression
        return
    if values is None:
        raise NotSupportedError(f"SET (a, b) = {text_of(node.expression)} is not supported")
    if len(values) != len(targets):
        raise ProgrammingError(
            f"SET names {len(targets)} columns in {text_of(node.this)}, but gives {len(values)}"
        )
    for target, value in zip(targets, values, strict=True):
        yield _assigned(target), value


def _assigned(node: exp.Expr) -> str:
    """Return the name of the column that an assignment writes to."""
    match node:
        case exp.Column(this=exp.Identifier() as name):
            if node.args.get("table") is not None:
                raise ProgrammingError(
                    f"SET needs the name of a column alone: '{name.name}', not {text_of(node)}"
                )
            return name_in(name)
        case _:
            raise unsupported(node)


def changed_rows(
    matching: Matching, values: dict[str, Expression], tree: exp.Expr, binding: Binding
) -> Plan:
    """Return the plan of rows as they will be: number, the table's columns, RETURNING's."""
    items: list[tuple[Column, Expression]] = [(matching.number, matching.number)]
    for column in matching.columns:
        value = values.get(column.name, column)
        kept = value is column
        items.append((column if kept else replace(column, number=next(binding.numbers)), value))
    known = {column for column, _ in items}
    returns = tree.args.get("returning") is not None
    others = [each for each in matching.plan.columns if each not in known] if returns else []
    plan: Plan = Project(matching.plan, (*items, *((column, column) for column in others)))
    columns = [column for column, _ in items[1:]]
    plan, after = with_generated(plan, columns, matching.definition, binding, values)
    returning = bind_returning(tree, matching.scope(after), binding)
    if not returning:
        return plan
    return Project(plan, (*((column, column) for column in (matching.number, *after)), *returning))
