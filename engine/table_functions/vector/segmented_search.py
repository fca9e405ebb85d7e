"""vector_search() at workers: each compares one vector with a part of the rows, or a part of many.

one vector, all rows compared    segments of the table: the k nearest of each, and of these the
k nearest
a vector of each row before it   segments of the rows that ask: each has the same table and the
same index as a whole, so a promise is kept as without workers
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from raydb.planner.expressions.nodes import Bound, Frame, Literal, WindowCall
from raydb.planner.expressions.registry import is_volatile, may_raise
from raydb.planner.plan.common_tables import nodes_in
from raydb.planner.plan.nodes import Limit, Project, Scan, SearchRows, Sort, SortKey, Values, Window
from raydb.planner.segments.rows import AskedRows, Driving, driving, rows_in
from raydb.storage.tables.table import has_bits
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.plan.nodes import PhysicalPlan
    from raydb.planner.segments.nodes import SegmentRows

# What it takes to compare two numbers, in ns of a processor.
_COMPARE_COST = 0.1

# A calibrated search looks at about so much of an index.
_CALIBRATED_SHARE = 0.05

# A walk along a graph compares so many rows for each that it keeps.
_WALKED = 20.0

# Bits take about as long to compare as so many numbers.
_BIT_WIDTH = 32.0

# Rows that ask are cut into so many segments.
_PIECES = 16

_SO_FAR = Frame("rows", Bound("unbounded_preceding"), Bound("current_row"))


def search_in_segments(
    plan: SearchRows, catalog: CatalogInfo, numbers: Iterator[int]
) -> AskedRows | str:
    """Return how segments of a table give what a search finds, or why they do not."""
    if not isinstance(plan.right, Scan):
        return "a vector search of rows that are not those of one table"
    is_alone = isinstance(plan.left, Values) and not plan.left.columns
    parts = [plan.left] if plan.selection is None else [plan.left, plan.selection]
    computed = [each for part in parts for node in nodes_in(part) for each in node.expressions]
    computed += [expression for _, expression in plan.given]
    if any(may_raise(each) or is_volatile(each) for each in computed):
        return "an expression of it may fail, or gives another value each time"
    if is_alone:
        return _over_rows(plan, catalog, numbers)
    return _over_questions(plan, catalog)


def _told(plan: SearchRows) -> object:
    """Return what tells a search from all others of a text."""
    job = plan.how
    index = () if job.index is None else (job.index.name, job.index.nprobe, job.index.ef)
    how = job.metric, job.exact, index
    searched = plan.right, plan.selection, plan.read, plan.pairs
    return plan.function.name, how, plan.options, plan.given, plan.left, searched, plan.keep


def _over_rows(plan: SearchRows, catalog: CatalogInfo, numbers: Iterator[int]) -> AskedRows | str:
    """Return a search for one vector over the segments of the table."""
    assert isinstance(plan.right, Scan)
    job, options = plan.how, plan.options
    if not job.exact and job.index is not None:
        return f"'{job.index.name}' finds the rows near one vector sooner"
    if not all(isinstance(each, Literal) for _, each in plan.given):
        return "a vector search whose arguments are not constants"
    found, rows = Driving(plan.right), partial(rows_in, catalog)
    if plan.selection is not None and (below := driving(plan.selection, rows)) is not None:
        found = replace(found, predicates=below.predicates)
    # Its rows are those of the whole table by their numbers.
    asked = replace(plan, how=replace(job, index=None), options=replace(options, offset=0))
    cost = _cost_of(plan, float(catalog.tables[plan.right.table].row_count))
    return AskedRows(asked, _told(asked), found, cost, partial(_nearest_of, plan, numbers))


def _nearest_of(plan: SearchRows, numbers: Iterator[int], read: SegmentRows) -> PhysicalPlan:
    """Return the rows nearest to a vector among those nearest in each segment, ranked anew."""
    options = plan.options
    if options.is_order:  # What is above puts them in order.
        return read
    rank, distance = plan.found[:2]
    count = None if options.is_every else options.k - options.offset
    own = replace(rank, number=next(numbers))
    call = WindowCall("row_number", (), rank.type, (), (), _SO_FAR)
    ranked = Window(Sort(read, (SortKey(distance),)), ((own, call),))
    items = tuple((each, own if each == rank else each) for each in plan.columns)
    return Project(Limit(ranked, count, options.offset), items)


def _over_questions(plan: SearchRows, catalog: CatalogInfo) -> AskedRows | str:
    """Return a search for the vectors of many rows over segments of these."""
    assert isinstance(plan.right, Scan)
    found = driving(plan.left, partial(rows_in, catalog))
    if found is None:
        return "a vector search for rows that are not those of one table"
    table = found.scan.table
    searched = plan.right.table
    if searched in (table, *found.others):
        return f"a vector search in '{searched}' for rows of it"
    rows = catalog.tables[table].row_count
    found = replace(found, others=(*found.others, searched))
    cost = rows * _cost_of(plan, float(catalog.tables[searched].row_count))
    return AskedRows(plan, _told(plan), found, cost, lambda read: read, max(-(-rows // _PIECES), 1))


def _cost_of(plan: SearchRows, row_count: float) -> float:
    """Return what it takes to search for one vector, in ns."""
    (vector,) = plan.read
    index = plan.how.index
    if index is not None and not plan.how.exact:
        share = index.nprobe / max(index.arrays.list_count, 1)
        if index.calibrated is not None:
            row_count *= _CALIBRATED_SHARE
        else:
            row_count = index.ef * _WALKED if index.ef else row_count * share
    width = _BIT_WIDTH if has_bits(vector.type) else float(vector.type.list_size)
    return row_count * width * _COMPARE_COST
