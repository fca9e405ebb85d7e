"""Which rows of a plan are told apart: by the keys of a table, or by those of a GROUP BY."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.planner.expressions.nodes import Column
from raydb.planner.plan.nodes import (
    Aggregate,
    Filter,
    InnerJoin,
    Limit,
    OuterJoin,
    Plan,
    Project,
    Scan,
    SemiJoin,
    Sort,
    Values,
)

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from raydb.planner.catalog import CatalogInfo


def is_unique_by(plan: Plan, columns: AbstractSet[Column], catalog: CatalogInfo) -> bool:
    """Tell whether no two rows of a plan have the same values, none of them NULL, in columns."""
    match plan:
        case Scan(table=table, columns=own):
            names = {column.name for column in own if column in columns}
            keys = catalog.tables[table].definition.keys
            return any(names.issuperset(key.columns) for key in keys)
        case Filter(source=source) | Sort(source=source) | Limit(source=source):
            return is_unique_by(source, columns, catalog)
        case Project(source=source, items=items):
            below = {e for column, e in items if column in columns and isinstance(e, Column)}
            return is_unique_by(source, below, catalog)
        case SemiJoin(left=left):
            return is_unique_by(left, columns, catalog)
        case Aggregate(keys=keys, grouping=None):
            return {column for column, _ in keys} <= columns
        case _:
            return False


def has_one_row_at_most(plan: Plan) -> bool:
    """Tell whether a plan cannot have two rows."""
    match plan:
        case Aggregate(keys=(), grouping=None):
            return True
        case Project(source=source) | Filter(source=source) | Sort(source=source):
            return has_one_row_at_most(source)
        case Limit(source=source, count=count):
            return (count is not None and count <= 1) or has_one_row_at_most(source)
        case Values(rows=rows):
            return len(rows) <= 1
        case InnerJoin(sources=sources):
            return all(has_one_row_at_most(source) for source in sources)
        case SemiJoin(left=left):
            return has_one_row_at_most(left)
        case OuterJoin(kind="left", left=left, right=right):
            return has_one_row_at_most(left) and has_one_row_at_most(right)
        case _:
            return False


def has_one_row(plan: Plan) -> bool:
    """Tell whether a plan has a row, and no second one."""
    match plan:
        case Aggregate(keys=(), grouping=None):
            return True
        case Project(source=source) | Sort(source=source):
            return has_one_row(source)
        case Values(rows=rows):
            return len(rows) == 1
        case InnerJoin(sources=sources, conditions=()):
            return all(has_one_row(source) for source in sources)
        case _:
            return False
