"""Rule: leave out what changes nothing.

DISTINCT over the keys of a GROUP BY        ->  the GROUP BY
ORDER BY below a join, a sum, another sort  ->  nothing
WHERE true                                  ->  nothing
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.kernels.backends.aggregates import AGGREGATES
from raydb.planner.expressions.nodes import Literal
from raydb.planner.plan.nodes import (
    Aggregate,
    Filter,
    InnerJoin,
    OuterJoin,
    Plan,
    Project,
    SemiJoin,
    Sort,
)
from raydb.values import replace

if TYPE_CHECKING:
    from raydb.planner.catalog import CatalogInfo


def remove_redundant(plan: Plan, catalog: CatalogInfo) -> Plan:
    """Remove nodes that give what their source gives."""
    plan = plan.map_sources(lambda source: remove_redundant(source, catalog), leaves=False)
    match plan:
        case Filter(source=source, predicate=Literal(value=True)):
            return source
        case Aggregate(keys=keys, aggregates=()) if keys and _is_unique(plan):
            return Project(plan.source, keys)
        case Aggregate(source=source, aggregates=calls):
            # Others, such as string_agg, see the rows in the order in which they come.
            ordered = all(call.function in AGGREGATES for _, call in calls)
            return replace(plan, source=_unsorted(source)) if ordered else plan
        case Sort(source=source):
            return replace(plan, source=_unsorted(source))
        case InnerJoin() | OuterJoin() | SemiJoin():
            return plan.map_sources(_unsorted)
        case _:
            return plan


def _is_unique(distinct: Aggregate) -> bool:
    """Tell whether each row of the source has a tuple of keys of its own already."""
    source = distinct.source
    keys = {key for _, key in distinct.keys}
    while isinstance(source, Filter | Sort | Project):
        if isinstance(source, Project):
            keys = {expression for column, expression in source.items if column in keys}
        source = source.source
    if distinct.grouping is not None or not isinstance(source, Aggregate):
        return False
    number = () if source.grouping is None else (source.grouping.number,)
    return {*(column for column, _ in source.keys), *number} <= keys


def _unsorted(plan: Plan) -> Plan:
    """Return the plan without the order of its rows, which the node above does not see."""
    match plan:
        case Sort(source=source):
            return _unsorted(source)
        case Filter(source=source) | Project(source=source):
            return replace(plan, source=_unsorted(source))
        case _:
            return plan
