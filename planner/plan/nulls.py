"""Where NULL cannot be: columns that are never NULL, and predicates that no NULL passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.planner.expressions.nodes import Call, Column, Expression, Literal, conjuncts
from raydb.planner.plan.nodes import (
    Aggregate,
    CommonTable,
    Filter,
    InnerJoin,
    Limit,
    OuterJoin,
    Plan,
    Project,
    Scan,
    SemiJoin,
    Series,
    Sort,
    Union,
    Values,
    Window,
)
from raydb.storage.tables.table import ROW_NUMBER

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import AggregateCall

COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
# Functions that are NULL where an argument is, and nowhere else.
_STRICT = (*COMPARISONS, "add", "subtract", "multiply", "divide", "modulo", "negate", "cast", "not")
_COUNTS = ("count", "count_star")
_OF_VALUES = ("sum", "min", "max", "avg")
_NUMBERING = ("row_number", "rank", "dense_rank")


def columns_without_null(plan: Plan, catalog: CatalogInfo) -> frozenset[Column]:
    """Return the columns of a plan's rows that are never NULL, as far as it can be told."""
    match plan:
        case Scan(table=table, columns=columns):
            counts = catalog.tables[table].null_counts
            return frozenset(c for c in columns if c.name == ROW_NUMBER or counts[c.name] == 0)
        case Values(columns=columns, rows=rows):
            return frozenset(
                column
                for place, column in enumerate(columns)
                if all(is_never_null(row[place], ()) for row in rows)
            )
        case Series(column=column):
            return frozenset({column})
        case CommonTable(query=query, columns=columns):
            return _by_place((query,), columns, catalog)
        case Union(sources=sources, columns=columns):
            return _by_place(sources, columns, catalog)
        case Filter(source=source, predicate=predicate):
            return columns_without_null(source, catalog) | _required(plan, conjuncts(predicate))
        case Project(source=source, items=items):
            known = columns_without_null(source, catalog)
            return frozenset(column for column, e in items if is_never_null(e, known))
        case Window(source=source, calls=calls):
            numbers = frozenset(c for c, call in calls if call.function in _NUMBERING)
            return columns_without_null(source, catalog) | numbers
        case InnerJoin(sources=sources, conditions=conditions):
            known = frozenset(c for s in sources for c in columns_without_null(s, catalog))
            return known | _required(plan, conditions)
        case OuterJoin(kind="left", left=kept) | OuterJoin(kind="right", right=kept):
            return columns_without_null(kept, catalog)
        case SemiJoin(left=left, mark=mark):
            marks = frozenset() if mark is None else frozenset({mark})
            return columns_without_null(left, catalog) | marks
        case Aggregate(grouping=None):
            return _of_groups(plan, catalog)
        case Sort(source=source) | Limit(source=source):
            return columns_without_null(source, catalog)
        case _:
            return frozenset()


def is_never_null(expression: Expression, known: Collection[Column]) -> bool:
    """Tell whether an expression cannot be NULL where the known columns are not."""
    match expression:
        case Literal(value=value):
            return value is not None
        case Column():
            return expression in known
        case Call(function="is_null" | "not_distinct"):
            return True
        case Call(function="coalesce", arguments=arguments):
            return any(is_never_null(argument, known) for argument in arguments)
        case Call(function=function, arguments=arguments):
            can_tell = function in _STRICT or function in ("and", "or", "in")
            return can_tell and all(is_never_null(argument, known) for argument in arguments)
        case _:
            return False


def rejects_null(predicate: Expression, columns: Collection[Column]) -> bool:
    """Tell whether a predicate cannot be true where all of the columns are NULL."""
    match predicate:
        case Literal(value=value):
            return value is not True
        case Call(function="and", arguments=parts):
            return any(rejects_null(part, columns) for part in parts)
        case Call(function="or", arguments=parts):
            return all(rejects_null(part, columns) for part in parts)
        case Call(function="coalesce", arguments=parts):
            return all(rejects_null(part, columns) for part in parts)
        case Call(function="not", arguments=(Call(function="is_null", arguments=(inner,)),)):
            return _is_null_with(inner, columns)
        case _:
            return _is_null_with(predicate, columns)


def _is_null_with(expression: Expression, columns: Collection[Column]) -> bool:
    """Tell whether an expression is NULL where all of the columns are."""
    match expression:
        case Column():
            return expression in columns
        case Literal(value=value):
            return value is None
        case Call(function="in", arguments=(operand, *_)):
            return _is_null_with(operand, columns)
        case Call(function=function, arguments=arguments) if function in _STRICT:
            return any(_is_null_with(argument, columns) for argument in arguments)
        case _:
            return False


def _required(plan: Plan, predicates: Iterable[Expression]) -> frozenset[Column]:
    """Return the columns that cannot be NULL where the predicates are true."""
    columns, parts = plan.columns, tuple(predicates)
    return frozenset(c for c in columns if any(rejects_null(part, (c,)) for part in parts))


def _by_place(
    sources: Iterable[Plan], columns: tuple[Column, ...], catalog: CatalogInfo
) -> frozenset[Column]:
    known = frozenset(columns)
    for source in sources:
        theirs = columns_without_null(source, catalog)
        pairs = zip(columns, source.columns, strict=True)
        known &= frozenset(column for column, their in pairs if their in theirs)
    return known


def _of_groups(plan: Aggregate, catalog: CatalogInfo) -> frozenset[Column]:
    known = columns_without_null(plan.source, catalog)

    def is_known(call: AggregateCall) -> bool:
        if call.function in _COUNTS:
            return True
        # Every group of an aggregate with keys has a row.
        has_value = bool(plan.keys) and call.filter is None and call.function in _OF_VALUES
        return has_value and all(is_never_null(argument, known) for argument in call.arguments)

    keys = frozenset(column for column, key in plan.keys if is_never_null(key, known))
    return keys | frozenset(column for column, call in plan.aggregates if is_known(call))
