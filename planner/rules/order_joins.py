"""Rule: turn n-ary inner joins into two-way joins, the largest table first.

The left side streams through the join and the right side is hashed, so the fact table comes first
and each next source is the smallest one that a condition connects to what is joined already:

    InnerJoin([date, lineorder, part], [...])  ->  (lineorder JOIN date) JOIN part
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.planner.expression import Call, Column, Expression, columns_of
from raydb.planner.logical import (
    Aggregate,
    Apply,
    CommonTable,
    Filter,
    InnerJoin,
    Limit,
    OuterJoin,
    Plan,
    Project,
    Recursive,
    Scan,
    SemiJoin,
    Series,
    Sort,
    Union,
    Values,
    Window,
    WorkingTable,
    map_sources,
    output_columns,
)
from raydb.planner.rules.push_down_filters import filter_rows

if TYPE_CHECKING:
    from raydb.planner.catalog import CatalogInfo

# A filter keeps one row in five where nothing better is known.
FILTER_SELECTIVITY = 0.2


def order_joins(plan: Plan, catalog: CatalogInfo) -> Plan:
    """Order the sources of every inner join."""
    plan = map_sources(plan, lambda source: order_joins(source, catalog))
    if isinstance(plan, InnerJoin) and len(plan.sources) > 1:
        return _order(plan, catalog)
    return plan


def _order(join: InnerJoin, catalog: CatalogInfo) -> Plan:
    sizes = {id(source): _estimate(source, catalog) for source in join.sources}
    rest = sorted(join.sources, key=lambda source: -sizes[id(source)])
    plan = rest.pop(0)
    conditions = list(join.conditions)
    while rest:
        joined = frozenset(output_columns(plan))
        following = min(rest, key=lambda s: (not _connects(joined, s, conditions), sizes[id(s)]))
        rest = [source for source in rest if source is not following]
        known = joined | frozenset(output_columns(following))
        here = [c for c in conditions if columns_of(c) and columns_of(c) <= known]
        conditions = [c for c in conditions if c not in here]
        plan = InnerJoin((plan, following), tuple(here))
    return filter_rows(plan, conditions)


def _connects(joined: frozenset[Column], source: Plan, conditions: list[Expression]) -> bool:
    """Whether an equality connects the source to the columns that are joined already."""
    own = frozenset(output_columns(source))
    for condition in conditions:
        match condition:
            case Call(function="equal", arguments=(left, right)):
                sides = columns_of(left), columns_of(right)
                for one, other in (sides, sides[::-1]):
                    if one and other and one <= joined and other <= own:
                        return True
    return False


def _estimate(plan: Plan, catalog: CatalogInfo) -> float:
    """Guess the number of rows."""
    match plan:
        case Scan(table=table):
            return float(catalog.tables[table].row_count)
        case Values(rows=rows):
            return float(len(rows))
        case Series(start=start, stop=stop, step=step):
            return float(len(range(start, stop, step)))
        case CommonTable(query=query):
            return _estimate(query, catalog)
        case WorkingTable():
            return 1000.0  # nothing is known of it
        case Filter(source=source):
            return FILTER_SELECTIVITY * _estimate(source, catalog)
        case Aggregate(source=source, keys=keys):
            return FILTER_SELECTIVITY * _estimate(source, catalog) if keys else 1.0
        case Limit(source=source, count=count):
            size = _estimate(source, catalog)
            return size if count is None else min(size, float(count))
        case InnerJoin(sources=sources):
            return max(_estimate(source, catalog) for source in sources)
        case OuterJoin(left=left, right=right) | Apply(left=left, right=right):
            return max(_estimate(left, catalog), _estimate(right, catalog))
        case SemiJoin(left=left):
            return _estimate(left, catalog)
        case Union(sources=sources):
            return sum(_estimate(source, catalog) for source in sources)
        case Recursive(base=base, step=step):
            return _estimate(base, catalog) + _estimate(step, catalog)
        case Project(source=source) | Sort(source=source) | Window(source=source):
            return _estimate(source, catalog)
