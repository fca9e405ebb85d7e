"""Generated columns: what their expressions are worth in a row, and of which type.

A row that is written has them computed of its other columns, so they are read as others are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.errors import ProgrammingError
from raydb.names import known_name
from raydb.planner.catalog import CatalogInfo
from raydb.planner.expressions.collations import collation_of
from raydb.planner.expressions.registry import is_volatile
from raydb.planner.expressions.types import closed
from raydb.planner.expressions.typing_rules import explicit_cast
from raydb.planner.plan.nodes import Plan, Project
from raydb.planner.rules.fix_clock import calls_clock
from raydb.running import in_zone, without_variables
from raydb.sql.bind.binding import Binding, context_of
from raydb.sql.bind.expression.expression import bind_expression
from raydb.sql.bind.query.output import typed
from raydb.sql.bind.query.query import bind_query
from raydb.sql.bind.scope import table_scope
from raydb.sql.bind.statements.constraint import row_columns
from raydb.sql.parse.stored_expressions import stored_tree
from raydb.sql.types import resolved_field
from raydb.storage.fields import field_collation, field_type, stored_field, typed_schema
from raydb.storage.tables.table import UNTYPED
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from raydb.planner.expressions.nodes import Column, Expression
    from raydb.storage.tables.table import Generated, TableDefinition


def typed_generated(definition: TableDefinition) -> TableDefinition:
    """Return a new definition whose generated columns have types and name columns as these are.

    Raises ProgrammingError for columns that depend on each other, and for an expression that does
    not bind, cannot be cast to the type of its column, or has not the same value each time.
    """
    if not definition.generated:
        return definition
    names, where = definition.schema.names, f" in '{definition.name}'"
    known = [
        replace(each, columns=tuple(known_name(n, names, "column", where) for n in each.columns))
        for each in definition.generated
    ]
    definition = replace(definition, generated=tuple(known))
    for step in definition.in_order():
        for each in step:
            value = generated_value(each, definition)
            _check_lasting(each, value, definition)
            position = definition.schema.get_field_index(each.column)
            field = definition.schema.field(position)
            if field.type == UNTYPED:
                kind = closed(typed(value).type)
                collation = field_collation(field) or collation_of(value)
                made = stored_field(each.column, kind, nullable=field.nullable, collation=collation)
                resolved_field(made)
                definition = replace(definition, schema=definition.schema.set(position, made))
    return definition


def generated_value(
    each: Generated,
    definition: TableDefinition,
    columns: Sequence[Column] = (),
    binding: Binding | None = None,
) -> Expression:
    """Return what a generated column is worth in a row, whose columns are the table's in order.

    Without columns that numbered n is the table's n-th.
    """
    columns = columns or row_columns(typed_schema(definition.schema))
    scope = table_scope(definition.name, columns, definition.schema.names)
    alone = Binding(CatalogInfo({}), {}, bind_query)
    if binding is not None:
        alone = replace(alone, numbers=binding.numbers)
    what = f"the generated column '{each.column}'"
    with without_variables(what):
        value = bind_expression(stored_tree(each.text), context_of(alone, scope, what))
    field = definition.schema.field(each.column)
    return value if field.type == UNTYPED else explicit_cast(value, field_type(field))


def is_lasting(value: Expression) -> bool:
    """Say whether an expression has the same value each time for the same row."""
    return not (is_volatile(value) or calls_clock(value))


def _check_lasting(each: Generated, value: Expression, definition: TableDefinition) -> None:
    """Raise ProgrammingError for an expression whose value is not that of the row alone."""
    has_other = not is_lasting(value)
    for zone in ("UTC", "Asia/Tokyo"):
        with in_zone(zone):
            has_other |= generated_value(each, definition) != value
    if has_other:
        raise ProgrammingError(
            f"the generated column '{each.column}' needs an expression whose value is that of the"
            f" row alone, at all times and in all time zones: {each.text}"
        )


def with_generated(
    plan: Plan,
    columns: Sequence[Column],
    definition: TableDefinition,
    binding: Binding,
    changed: Collection[str] | None = None,
) -> tuple[Plan, tuple[Column, ...]]:
    """Return a plan of rows to write with the generated columns computed, and the table's columns.

    columns: those of the plan that are the table's, in its order. changed: the names of those that
    have new values, None for new rows.
    """
    after = dict(zip(definition.schema.names, columns, strict=True))
    stale = None if changed is None else set(changed)
    for step in definition.in_order():
        computed: dict[Column, tuple[Column, Expression]] = {}
        for each in step:
            if stale is not None and stale.isdisjoint(each.columns):
                continue
            old = after[each.column]
            value = generated_value(each, definition, tuple(after.values()), binding)
            computed[old] = replace(old, number=next(binding.numbers)), value
            if stale is not None:
                stale.add(each.column)
        plan = Project(plan, tuple(computed.get(each, (each, each)) for each in plan.columns))
        after = {
            name: computed[each][0] if each in computed else each for name, each in after.items()
        }
    return plan, tuple(after.values())
