"""The first rows in order of one table are the first ones of those of its segments."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from raydb.planner.expressions.registry import is_volatile, may_raise
from raydb.planner.plan.nodes import Filter, Limit, Project, Scan, Sort, TopRows
from raydb.planner.segments.digest import digest
from raydb.planner.segments.nodes import SegmentRows
from raydb.planner.segments.stars import less_than_a_call
from raydb.planner.stars.costs import general_cost
from raydb.planner.stars.table_scan import MIN_ROWS
from raydb.storage.tables.table import ROW_NUMBER
from raydb.values import dataclass

if TYPE_CHECKING:
    from raydb.planner import PlannerOptions
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Expression
    from raydb.planner.plan.nodes import PhysicalPlan, SortKey

# More rows are not sent from each segment.
_MOST_ROWS = 2**16


@dataclass(frozen=True, eq=False, slots=True)
class _FirstRows:
    """The first rows in order of what projections and filters make of a table."""

    plan: Limit | TopRows
    source: PhysicalPlan
    keys: tuple[SortKey, ...]
    count: int
    scan: Scan
    expressions: tuple[Expression, ...]
    predicates: tuple[Expression, ...]


def first_rows(plan: Limit | TopRows) -> _FirstRows | None:
    """Return what a plan is the first rows of; None where that is not one table's rows."""
    match plan:
        case Limit(source=Sort(source=source, keys=keys), count=int() as count):
            pass
        case TopRows(source=source, keys=keys, count=count):
            pass
        case _:
            return None
    expressions: list[Expression] = []
    predicates: list[Expression] = []
    below = source
    while isinstance(below, Project | Filter):
        expressions += below.expressions
        if isinstance(below, Filter) and isinstance(below.source, Scan):
            predicates = [below.predicate]
        below = below.source
    if not isinstance(below, Scan):
        return None
    listed = tuple(expressions), tuple(predicates)
    return _FirstRows(plan, source, keys, count + plan.offset, below, *listed)


def rows_in_segments(
    first: _FirstRows, catalog: CatalogInfo, options: PlannerOptions
) -> PhysicalPlan | str:
    """Return the plan that puts the first rows of segments in order, or why there is none."""
    plan, table = first.plan, first.scan.table
    if first.scan.lookup is not None:
        return f"rows are found by '{first.scan.lookup.index}'"
    info = catalog.tables[table]
    if info.row_count < MIN_ROWS or info.is_streamed:
        return f"'{table}' has less than {MIN_ROWS} rows"
    if first.count > _MOST_ROWS:
        return f"more than {_MOST_ROWS} rows are asked for"
    if any(column.name == ROW_NUMBER for column in first.scan.columns):
        return "it reads the numbers of rows"
    if any(may_raise(each) or is_volatile(each) for each in first.expressions):
        return "an expression of it may fail, or gives another value each time"
    cost = general_cost(first.source, catalog)
    if cost < options.call_cost:
        return less_than_a_call(f"a scan of '{table}'", cost, options)
    rows = replace(plan, count=first.count, offset=0)
    question = digest(rows)
    if question is None:
        return "a constant of it is not sent to workers"
    assert options.segment_rows is not None
    columns = plan.columns
    read = SegmentRows(rows, columns, table, first.predicates, options.segment_rows, question)
    return Limit(Sort(read, first.keys), plan.count, plan.offset)
