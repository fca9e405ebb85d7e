"""Rule: rows of a left join that are asked to have no partner come of an anti join.

Filter(b.key IS NULL, a LEFT JOIN b ON a.key = b.key)   ->  a ANTI JOIN b, NULL for b's columns

No pair is made. A column tells that there is no partner where the join's conditions are true for
no row that has NULL in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.planner.expressions.nodes import Call, Column, Literal, conjuncts, substitute
from raydb.planner.plan.common_tables import fresh_numbers, nodes_in, renumbered
from raydb.planner.plan.nodes import (
    Filter,
    InnerJoin,
    OuterJoin,
    Plan,
    Project,
    Scan,
    SemiJoin,
    filter_rows,
)
from raydb.planner.plan.nulls import rejects_null
from raydb.planner.stars.star import map_unfused_sources

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Expression


# What the right side is made of; its columns get new numbers, for NULL has the old ones.
_COPIED = (Filter, InnerJoin, Project, Scan)


def find_anti_joins(plan: Plan, _: CatalogInfo) -> Plan:
    """Turn left joins of which only rows without a partner are kept into anti joins."""
    return _find(plan, fresh_numbers(plan))


def _find(plan: Plan, numbers: Iterator[int]) -> Plan:
    plan = map_unfused_sources(plan, lambda source: _find(source, numbers))
    match plan:
        case Filter(source=OuterJoin(kind="left") as outer, predicate=predicate):
            parts = conjuncts(predicate)
            others = [part for part in parts if not _asks_for_none(part, outer)]
            if len(others) == len(parts):
                return plan
            if not all(isinstance(node, _COPIED) for node in nodes_in(outer.right)):
                return plan
            right = renumbered(outer.right, numbers)
            names = dict(zip(outer.right.columns, right.columns, strict=True))
            conditions = tuple(substitute(each, names) for each in outer.conditions)
            items: dict[Column, Expression] = {column: column for column in outer.left.columns}
            items |= {column: Literal(None, column.type) for column in outer.right.columns}
            anti = SemiJoin("anti", outer.left, right, conditions)
            return filter_rows(Project(anti, tuple(items.items())), others)
        case _:
            return plan


def _asks_for_none(predicate: Expression, outer: OuterJoin) -> bool:
    """Tell whether a predicate is true for the rows without a partner, and for no others."""
    match predicate:
        case Call(function="is_null", arguments=(Column() as column,)):
            return column in outer.right.column_set and any(
                rejects_null(each, (column,)) for each in outer.conditions
            )
        case _:
            return False
