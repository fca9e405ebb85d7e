"""A dependent query turned into a plain one: rows for every outer row, and which belong to which.

A query that reads columns of an outer row is joined with the outer rows once it no longer does:

    outer row o, query {i.b | i.a = o.a}   ->   rows of i, joined on i.a = o.a
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from raydb.planner.expressions.nodes import Call, Column, columns_of, substitute
from raydb.planner.plan.common_tables import free_columns
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa

    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Expression
    from raydb.planner.plan.nodes import Plan


@dataclass(frozen=True, slots=True)
class Independent:
    """A query without its dependence on the outer row.

    For an outer row, the query's rows are those of `plan` for which all `conditions` hold; they
    read columns of the plan and the columns that stood for the outer row. `definitions` give, over
    the same columns, those columns of the query that the plan does not have.

    `always`: the query has one row for every outer row, at most one row of the plan belongs to it,
    and where none does the definitions hold with NULL for the plan's columns. It is no row if one
    of the `guards`, which read as the definitions do, is not true.
    """

    plan: Plan
    conditions: tuple[Expression, ...] = ()
    definitions: Mapping[Column, Expression] = field(default_factory=dict)
    always: bool = False
    guards: tuple[Expression, ...] = ()

    def resolve(self, expression: Expression) -> Expression:
        """Return an expression over the query's columns as one over the plan's."""
        return substitute(expression, self.definitions)


@dataclass(frozen=True, slots=True)
class PlanBuilder:
    """What the making of plans needs: a counter of numbers that are not used yet, the catalog."""

    numbers: Iterator[int]
    catalog: CatalogInfo

    def new_column(self, name: str, data_type: pa.DataType) -> Column:
        """Return a column that is in no plan yet."""
        return Column(next(self.numbers), name, data_type)


def reads(expression: Expression, columns: frozenset[Column]) -> bool:
    """Tell whether an expression reads any of the columns."""
    return not columns.isdisjoint(columns_of(expression))


def depends(plan: Plan, outer: frozenset[Column]) -> bool:
    """Tell whether a plan reads any of the columns that stand for an outer row."""
    return not outer.isdisjoint(free_columns(plan))


def key_side(condition: Expression, outer: frozenset[Column]) -> Expression | None:
    """Return the inner side of an equality between the plan's columns and the outer row's."""
    match condition:
        case Call(function="equal" | "not_distinct", arguments=(left, right)):
            for one, other in ((left, right), (right, left)):
                inner = columns_of(one)
                if inner and inner.isdisjoint(outer) and columns_of(other) <= outer:
                    return one
    return None
