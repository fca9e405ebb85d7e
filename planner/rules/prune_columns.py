"""Rule: read and carry only the columns that something above needs.

Project(a, Scan(t, [a, b, c]))  ->  Project(a, Scan(t, [a]))
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from raydb.planner.expression import Column, Expression, columns_of
from raydb.planner.logical import (
    Aggregate,
    Filter,
    InnerJoin,
    Limit,
    OuterJoin,
    Plan,
    Project,
    Scan,
    Sort,
    Values,
    output_columns,
)
from raydb.planner.star import NoStar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from raydb.planner.catalog import CatalogInfo


def prune_columns(plan: Plan, catalog: CatalogInfo) -> Plan:
    """Drop the columns that nothing needs; the plan's own output stays."""
    del catalog
    return _prune(plan, frozenset(output_columns(plan)))


def _prune(plan: Plan, needed: frozenset[Column]) -> Plan:
    """Return the plan with at least the needed columns."""
    match plan:
        case Scan(columns=columns):
            return replace(plan, columns=tuple(c for c in columns if c in needed))
        case Values():
            return plan
        case Filter(source=source, predicate=predicate):
            return replace(plan, source=_prune(source, needed | columns_of(predicate)))
        case Project(source=source, items=items):
            kept = tuple(item for item in items if item[0] in needed)
            return Project(_prune(source, _read_by(e for _, e in kept)), kept)
        case InnerJoin(sources=sources, conditions=conditions):
            needed |= _read_by(conditions)
            return replace(plan, sources=tuple(_prune(source, needed) for source in sources))
        case OuterJoin(left=left, right=right, conditions=conditions):
            needed |= _read_by(conditions)
            return replace(plan, left=_prune(left, needed), right=_prune(right, needed))
        case Aggregate(source=source, keys=keys, aggregates=aggregates):
            kept_calls = tuple(item for item in aggregates if item[0] in needed)
            read = _read_by(e for _, e in keys) | _read_by(
                call.argument for _, call in kept_calls if call.argument is not None
            )
            star = plan.star
            if star is not None and not isinstance(star, NoStar):
                star = replace(
                    star, aggregates=tuple(item for item in star.aggregates if item[0] in needed)
                )
            return Aggregate(_prune(source, read), keys, kept_calls, star)
        case Sort(source=source, keys=sort_keys):
            return replace(plan, source=_prune(source, needed | {k.column for k in sort_keys}))
        case Limit(source=source):
            return replace(plan, source=_prune(source, needed))
        case _:
            assert_never(plan)


def _read_by(expressions: Iterable[Expression]) -> frozenset[Column]:
    """Return the columns that any of the expressions reads."""
    return frozenset(column for expression in expressions for column in columns_of(expression))
