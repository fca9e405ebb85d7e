"""The logical plan: what is asked, in relational algebra, as frozen values.

    Plan = Scan | Values | Filter | Project | InnerJoin | OuterJoin | Aggregate | Sort | Limit

Every node knows its output columns. A column number is defined by exactly one node of a plan.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, assert_never

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.planner.expression import AggregateCall, Column, Expression
    from raydb.planner.star import NoStar, Star


@dataclass(frozen=True, slots=True)
class Scan:
    """Rows of a stored table; each output column bears the name of the table's column it reads."""

    table: str
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Values:
    """Rows written in the statement; every row has one constant expression a column."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Expression, ...], ...]


@dataclass(frozen=True, slots=True)
class Filter:
    """Rows for which the predicate is true (neither false nor NULL)."""

    source: Plan
    predicate: Expression


@dataclass(frozen=True, slots=True)
class Project:
    """New columns computed from the source's columns; those not listed are gone."""

    source: Plan
    items: tuple[tuple[Column, Expression], ...]


@dataclass(frozen=True, slots=True)
class InnerJoin:
    """All combinations of the sources' rows for which every condition is true."""

    sources: tuple[Plan, ...]
    conditions: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class OuterJoin:
    """A join that keeps the rows without a partner on the left, the right or both sides."""

    kind: Literal["left", "right", "full"]
    left: Plan
    right: Plan
    conditions: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One row for each distinct tuple of keys; exactly one row where there are no keys.

    `star` is set by the rule `match_stars`: how a fused job sees this node, or why it can't.
    """

    source: Plan
    keys: tuple[tuple[Column, Expression], ...]
    aggregates: tuple[tuple[Column, AggregateCall], ...]
    star: Star | NoStar | None = None


@dataclass(frozen=True, slots=True)
class SortKey:
    """A column to order by, one of the source's."""

    column: Column
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, slots=True)
class Sort:
    """The source's rows in order; rows that compare equal come in any order."""

    source: Plan
    keys: tuple[SortKey, ...]


@dataclass(frozen=True, slots=True)
class Limit:
    """`count` rows (all where None) after the first `offset`."""

    source: Plan
    count: int | None
    offset: int = 0


Plan = Scan | Values | Filter | Project | InnerJoin | OuterJoin | Aggregate | Sort | Limit


def output_columns(plan: Plan) -> tuple[Column, ...]:
    """Return the columns of a plan's rows, in order."""
    match plan:
        case Scan(columns=columns) | Values(columns=columns):
            return columns
        case Filter(source=source) | Sort(source=source) | Limit(source=source):
            return output_columns(source)
        case Project(items=items):
            return tuple(column for column, _ in items)
        case InnerJoin(sources=sources):
            return tuple(column for source in sources for column in output_columns(source))
        case OuterJoin(left=left, right=right):
            return output_columns(left) + output_columns(right)
        case Aggregate(keys=keys, aggregates=aggregates):
            return tuple(c for c, _ in keys) + tuple(c for c, _ in aggregates)
        case _:
            assert_never(plan)


def sources_of(plan: Plan) -> tuple[Plan, ...]:
    """Return the plans that a node reads from."""
    match plan:
        case Scan() | Values():
            return ()
        case InnerJoin(sources=sources):
            return sources
        case OuterJoin(left=left, right=right):
            return (left, right)
        case Filter() | Project() | Aggregate() | Sort() | Limit():
            return (plan.source,)


def map_sources(plan: Plan, change: Callable[[Plan], Plan]) -> Plan:
    """Return the plan with `change` applied to each of its sources."""
    match plan:
        case Scan() | Values():
            return plan
        case InnerJoin(sources=sources):
            changed = tuple(change(source) for source in sources)
            return plan if changed == sources else replace(plan, sources=changed)
        case OuterJoin(left=left, right=right):
            return replace(plan, left=change(left), right=change(right))
        case Filter() | Project() | Aggregate() | Sort() | Limit():
            return replace(plan, source=change(plan.source))
        case _:
            assert_never(plan)


def map_expressions(plan: Plan, change: Callable[[Expression], Expression]) -> Plan:
    """Return the plan with `change` applied to each expression of the node itself."""
    match plan:
        case Scan() | Sort() | Limit():
            return plan
        case Values(rows=rows):
            return replace(plan, rows=tuple(tuple(change(e) for e in row) for row in rows))
        case Filter(predicate=predicate):
            return replace(plan, predicate=change(predicate))
        case Project(items=items):
            return replace(plan, items=tuple((column, change(e)) for column, e in items))
        case InnerJoin(conditions=conditions) | OuterJoin(conditions=conditions):
            return replace(plan, conditions=tuple(change(e) for e in conditions))
        case Aggregate(keys=keys, aggregates=aggregates):
            return replace(
                plan,
                keys=tuple((column, change(e)) for column, e in keys),
                aggregates=tuple(
                    (
                        column,
                        call
                        if call.argument is None
                        else replace(call, argument=change(call.argument)),
                    )
                    for column, call in aggregates
                ),
            )
        case _:
            assert_never(plan)
