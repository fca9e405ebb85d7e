"""Rule: compute of the groups what other keys determine, and not of the rows.

GROUP BY a, a - 1, date_trunc('month', a), 'x'   ->   GROUP BY a, and the others of each group

It goes before stars are matched: a star is scanned by codes of its keys, and of these there is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.planner.expressions.nodes import Column, Expression, columns_of, has_subquery, substitute
from raydb.planner.expressions.registry import is_volatile
from raydb.planner.plan.nodes import Aggregate, Plan, Project
from raydb.storage.tables.key_index import is_searchable
from raydb.values import replace

if TYPE_CHECKING:
    from raydb.planner.catalog import CatalogInfo


def lift_computed_keys(plan: Plan, catalog: CatalogInfo) -> Plan:
    """Turn keys that are computed of other keys into a projection above the groups."""
    plan = plan.map_sources(lambda source: lift_computed_keys(source, catalog), leaves=False)
    match plan:
        case Aggregate(keys=keys, grouping=None) if len(keys) > 1:
            return _lift(plan)
        case _:
            return plan


def _lift(plan: Aggregate) -> Plan:
    # Equal doubles may differ, 0.0 and -0.0, and intervals, 1 month and 30 days.
    named: dict[Column, Expression] = {
        key: column
        for column, key in plan.keys
        if isinstance(key, Column) and is_searchable(key.type)
    }
    computed = {
        column: substitute(key, named)
        for column, key in plan.keys
        if not isinstance(key, Column) and _depends_on(key, named)
    }
    if not computed or len(computed) == len(plan.keys):
        return plan
    kept = tuple(key for key in plan.keys if key[0] not in computed)
    items = tuple((column, computed.get(column, column)) for column in plan.columns)
    return Project(replace(plan, keys=kept), items)


def _depends_on(key: Expression, columns: dict[Column, Expression]) -> bool:
    """Tell whether rows that are equal in some columns have the same value of a key."""
    return columns_of(key) <= columns.keys() and not (is_volatile(key) or has_subquery(key))
