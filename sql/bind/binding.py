"""The binding of one statement: what all its parts share while they are bound."""

from __future__ import annotations

import itertools
from dataclasses import field
from typing import TYPE_CHECKING

from raydb.planner.expressions.collations import collation_of
from raydb.planner.expressions.nodes import Column, Expression
from raydb.sql.bind.expression.expression import AggregateList, Context, Resolve
from raydb.sql.bind.scope import Outer, Scope, find, resolve, whole_row
from raydb.storage.fields import field_collation
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import pyarrow as pa
    from sqlglot import exp

    from raydb.planner.catalog import CatalogInfo, Place
    from raydb.planner.plan.nodes import Plan, WorkingTable
    from raydb.sql.template.parameterize import Slots


@dataclass(frozen=True, slots=True)
class Binding:
    """The catalog, the parameters, the one counter of columns, and the queries that have names.

    `bind_query` binds a query inside another; expressions and FROM hold such queries.

    `clock_reads` collects what was computed from the time: the plan is for that time only.
    `slots` knows which constants another text may replace, where the plan is kept for that.
    `queries` are the common table expressions in sight, by their folded names; `views` those that
    are being bound and `bound_views` those that were;
    `outer` is the row outside of the query that is being bound, if it is inside another;
    `inside` is the place of the view that is being bound, where its names are; `subqueries`
    collects the plans of those in expressions.
    """

    catalog: CatalogInfo
    parameters: Mapping[str, Expression]
    bind_query: Callable[[exp.Expr, Binding], Plan]
    numbers: Iterator[int] = field(default_factory=itertools.count)
    queries: Mapping[str, NamedQuery | OwnQuery] = field(default_factory=dict)
    views: tuple[str, ...] = ()
    bound_views: dict[str, NamedQuery] = field(default_factory=dict)
    outer: Outer | None = None
    slots: Slots | None = None
    clock_reads: list[Expression] = field(default_factory=list)
    inside: Place | None = None
    subqueries: list[Plan] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class NamedQuery:
    """A common table expression or a view, bound once for all that refer to it.

    `columns` names the plan's columns; `materialized` is what the query says of it; `outer` is the
    row outside that it was bound in.
    """

    number: int
    name: str
    plan: Plan
    columns: tuple[str, ...]
    materialized: bool | None
    outer: Outer | None


@dataclass(frozen=True, slots=True)
class OwnQuery:
    """A query of WITH RECURSIVE as it sees itself; `references` collects where it does.

    `columns` is None in the base, which decides them and cannot refer to the query; `whole` are
    those of `recurring.t`.
    """

    number: int
    name: str
    columns: tuple[tuple[str, pa.DataType], ...] | None
    whole: tuple[tuple[str, pa.DataType], ...] = ()
    references: list[WorkingTable] = field(default_factory=list)


def new_column(binding: Binding, name: str, data_type: pa.DataType, collation: str = "") -> Column:
    """Return a column with a number that no other column of the plan has."""
    return Column(next(binding.numbers), name, data_type, collation)


def table_columns(numbers: Iterable[int], schema: Iterable[pa.Field]) -> tuple[Column, ...]:
    """Return the columns of a table under some numbers, with their collations.

    schema: with the types of the values, see `typed_schema`.
    """
    return tuple(
        Column(number, field.name, field.type, field_collation(field))
        for field, number in zip(schema, numbers, strict=False)
    )


def renumbered(columns: Iterable[Column], binding: Binding) -> tuple[Column, ...]:
    """Return columns like others, with numbers of their own."""
    return tuple(replace(column, number=next(binding.numbers)) for column in columns)


def column_for(binding: Binding, name: str, value: Expression) -> Column:
    """Return a new column that holds a value, in its type and with its collation."""
    return new_column(binding, name, value.type, collation_of(value))


def context_of(
    binding: Binding, scope: Scope, clause: str, aggregates: AggregateList | None = None
) -> Context:
    """Return the context of an expression that sees the names of a scope, and those outside."""
    resolve_name = resolver(binding, scope)
    return Context(
        resolve_name, binding.parameters, clause, aggregates, scope=scope, binding=binding
    )


def resolver(binding: Binding, scope: Scope) -> Resolve:
    """Return what finds the names of a scope, and those outside."""
    outer = binding.outer

    def resolve_name(name: str, table: str | None) -> Expression:
        found = find(scope, name, table)
        if found is not None:
            return found
        row = whole_row(scope, name) if table is None else None
        if outer is not None:
            found = outer.find(name, table, hides_siblings=row is not None)
        if (found := found or row) is not None:
            return found
        # The message names the tables of this query, if it has any.
        near = scope if scope.tables or outer is None else outer.scope
        return resolve(near, name, table)

    return resolve_name
