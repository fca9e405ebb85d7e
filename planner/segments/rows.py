"""Rows of which each comes of one row of a large table, the driving one: its segments give them.

LIMIT               the first rows of those that each segment gives
ORDER BY, LIMIT     the first in order of the first ones of each segment
a search            what its function says, see `SearchFunction.in_segments`
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from raydb.planner.expressions.registry import is_volatile, may_raise
from raydb.planner.plan.common_tables import contents, nodes_in
from raydb.planner.plan.nodes import (
    Filter,
    HashJoin,
    KeyFilter,
    Limit,
    Project,
    Scan,
    SearchRows,
    Sort,
    TopRows,
)
from raydb.planner.plan.statistics import Statistics
from raydb.planner.segments.digest import digest
from raydb.planner.segments.nodes import SegmentRows
from raydb.planner.segments.stars import less_than_a_call
from raydb.planner.stars.costs import general_cost
from raydb.planner.stars.table_scan import MIN_ROWS
from raydb.storage.tables.table import ROW_NUMBER
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from raydb.planner import PlannerOptions
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Column, Expression
    from raydb.planner.plan.nodes import PhysicalPlan, SortKey

# More rows are not sent from each segment.
_MOST_ROWS = 2**16

# What a worker runs beside the driving table: nothing that is chosen by what a process holds.
_PLAIN = (Filter, HashJoin, KeyFilter, Project, Scan)

_KEPT_SIDES = {
    "inner": ("left", "right"),
    "left": ("left",),
    "right": ("right",),
    "semi": ("left",),
    "anti": ("left",),
    "mark": ("left",),
}


@dataclass(frozen=True, eq=False, slots=True)
class AskedRows:
    """What each segment of a table is asked, and what becomes of the rows.

    rows: the plan of a segment's rows. told: what tells it from other plans of a text. driving:
    whose segments they are. cost: of all segments, in ns. put_together: makes a plan of the rows of
    all segments, which come in their order. segment_rows: at most so many rows are a segment.
    slices: segments are so many parts that the function of a search makes, and it puts them
    together; 0 for ranges of the table's rows.
    """

    rows: PhysicalPlan
    told: object
    driving: Driving
    cost: float
    put_together: Callable[[SegmentRows], PhysicalPlan]
    segment_rows: int | None = None
    slices: int = 0


@dataclass(frozen=True, eq=False, slots=True)
class Driving:
    """The table whose rows a plan takes one by one, and predicates that hold for all that it gives.

    others: the tables that it looks them up in.
    """

    scan: Scan
    predicates: tuple[Expression, ...] = ()
    others: tuple[str, ...] = ()


def driving(plan: PhysicalPlan, row_count: Callable[[str], int]) -> Driving | None:
    """Return the largest table that drives a plan; None where it takes rows together.

    row_count: tells it of a table.
    """
    match plan:
        case Scan():
            return Driving(plan)
        case Filter(source=Scan() as scan, predicate=predicate):
            return Driving(scan, (predicate,))
        case Filter(source=source) | Project(source=source) | KeyFilter(source=source):
            return driving(source, row_count)
        case HashJoin(kind=kind):
            sides = [
                _beside(getattr(plan, side), plan.sources, row_count)
                for side in _KEPT_SIDES.get(kind, ())
            ]
            found = [side for side in sides if side is not None]
            return max(found, key=lambda it: row_count(it.scan.table), default=None)
        case _:
            return None


def rows_in(catalog: CatalogInfo, table: str) -> int:
    """Return how many rows a table of the catalog has."""
    return catalog.tables[table].row_count


def _beside(
    side: PhysicalPlan, sides: tuple[PhysicalPlan, ...], row_count: Callable[[str], int]
) -> Driving | None:
    """Return the table that drives one side of a join, if the other side does not read it."""
    found = driving(side, row_count)
    (other,) = (each for each in sides if each is not side)
    others = contents(other).tables
    is_plain = all(isinstance(each, _PLAIN) for each in nodes_in(other))
    if found is None or not is_plain or found.scan.table in others:
        return None
    return replace(found, others=tuple(sorted({*found.others, *others})))


def rows_in_segments(
    plan: PhysicalPlan, catalog: CatalogInfo, options: PlannerOptions, numbers: Iterator[int]
) -> PhysicalPlan | str | None:
    """Return the plan that puts the rows of segments together, or why there is none.

    None for rows that are not of one driving table.
    """
    asked = _asked(plan, catalog, numbers)
    if asked is None or isinstance(asked, str):
        return asked
    table = asked.driving.scan.table
    if asked.cost < options.call_cost:
        return less_than_a_call(f"a scan of '{table}'", asked.cost, options)
    question = digest(asked.told)
    if question is None:
        return "a constant of it is not sent to workers"
    assert options.segment_rows is not None
    rows = min(options.segment_rows, asked.segment_rows or options.segment_rows)
    read = SegmentRows(
        asked.rows,
        asked.rows.columns,
        (table, *asked.driving.others),
        asked.driving.predicates,
        rows,
        question,
        asked.slices,
    )
    return asked.put_together(read)


def _asked(
    plan: PhysicalPlan, catalog: CatalogInfo, numbers: Iterator[int]
) -> AskedRows | str | None:
    match plan:
        case Limit(source=Sort(source=source, keys=keys), count=int() as count):
            pass
        case TopRows(source=source, keys=keys, count=count):
            pass
        case Limit(source=Scan() | Project(source=Scan())):
            return None
        case Limit(source=source, count=int() as count):
            keys = ()
        case SearchRows():
            return plan.function.in_segments(plan, catalog, numbers)
        case _:
            return None
    found = driving(source, partial(rows_in, catalog))
    if found is None:
        return None
    wanted = count + plan.offset
    if wanted > _MOST_ROWS:
        return f"more than {_MOST_ROWS} rows are asked for"
    obstacle = _obstacle(source, found, catalog, {key.column for key in keys})
    if obstacle is not None:
        return obstacle
    rows = replace(plan, count=wanted, offset=0)
    cost = general_cost(source, catalog)
    if not (keys or found.others):  # The first blocks may have them.
        cost *= min(wanted / Statistics(catalog).row_count(source), 1.0)
    together = partial(_first_of, keys=keys, count=count, offset=plan.offset)
    return AskedRows(rows, rows, found, cost, together)


def _first_of(
    rows: PhysicalPlan, keys: tuple[SortKey, ...], count: int, offset: int
) -> PhysicalPlan:
    return Limit(Sort(rows, keys) if keys else rows, count, offset)


def _obstacle(
    plan: PhysicalPlan, found: Driving, catalog: CatalogInfo, keys: Collection[Column]
) -> str | None:
    """Return why segments of a driving table are not asked for the first rows of a plan.

    keys: columns that they are in the order of. What these are computed of fails in any case: each
    row has to be looked at.
    """
    table = found.scan.table
    info = catalog.tables[table]
    if found.scan.lookup is not None:
        return f"rows are found by '{found.scan.lookup.index}'"
    if info.row_count < MIN_ROWS or info.is_streamed:
        return f"'{table}' has less than {MIN_ROWS} rows"
    if any(column.name == ROW_NUMBER for column in found.scan.columns):
        return "it reads the numbers of rows"
    below = plan.source if isinstance(plan, Project) else plan
    expressions = [each for node in nodes_in(below) for each in node.expressions]
    expressions += [each for key, each in getattr(plan, "items", ()) if key not in keys]
    if any(may_raise(each) or is_volatile(each) for each in expressions):
        return "an expression of it may fail, or gives another value each time"
    return None
