"""What all parts of one statement share while it is bound."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from raydb.planner.expression import Column, Expression, Literal
from raydb.sql.bind_expression import AggregateList, Context
from raydb.sql.scope import Scope, resolve

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
    from sqlglot import exp

    from raydb.planner.catalog import CatalogInfo


@dataclass(frozen=True, slots=True)
class Binding:
    """The catalog, the parameters, the one counter of columns, and the queries that have names.

    `queries` are the common table expressions in sight; `views` those that are being expanded.
    """

    catalog: CatalogInfo
    parameters: Mapping[str, Literal]
    numbers: Iterator[int] = field(default_factory=itertools.count)
    queries: Mapping[str, NamedQuery] = field(default_factory=dict)
    views: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NamedQuery:
    """A common table expression: it is bound afresh at each place that names it.

    `binding` is what the query itself sees, which are the queries defined before it.
    """

    tree: exp.Expr
    columns: tuple[str, ...]
    binding: Binding


def new_column(binding: Binding, name: str, data_type: pa.DataType) -> Column:
    """Return a column with a number that no other column of the plan has."""
    return Column(next(binding.numbers), name, data_type)


def context_of(
    binding: Binding, scope: Scope, clause: str, aggregates: AggregateList | None = None
) -> Context:
    """Return the context of an expression that sees the names of a scope."""

    def find(name: str, table: str | None) -> Expression:
        return resolve(scope, name, table)

    return Context(find, binding.parameters, clause, aggregates)
