"""LIMIT: nothing is computed for the rows that are left out, where that can be avoided."""

from __future__ import annotations

from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.engine.operators.recursion import generations
from raydb.engine.operators.relation import MORSEL_ROWS, Relation, concatenate, joined
from raydb.engine.operators.scan.scan import fetch_rows, is_decoded, large_scan, scan_slice
from raydb.engine.operators.sort import SAMPLE_ROWS, early_values, sort
from raydb.engine.operators.steps import scanned_blocks
from raydb.errors import DataError
from raydb.interrupts import beside
from raydb.kernels.bvh.bvh import narrow_measure
from raydb.kernels.codecs.arrow_numbers import is_whole, to_numbers
from raydb.late import pc
from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.nodes import Attribute, Column, columns_of
from raydb.planner.plan.nodes import (
    CommonTable,
    Filter,
    HashJoin,
    KeyFilter,
    Limit,
    Project,
    Recursive,
    Scan,
    SearchRows,
    Series,
    Sort,
    WorkingTable,
)
from raydb.planner.segments.rows import driving
from raydb.storage.tables.table import ROW_NUMBER
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from numpy.typing import NDArray

    from raydb.engine.operators.run import Sources
    from raydb.kernels.bvh.bvh import Measure
    from raydb.planner.expressions.nodes import Expression
    from raydb.planner.plan.nodes import PhysicalPlan, TopRows
    from raydb.storage.tables.table import Table

# Of a sample's rows so many at least say which rows are the first, and so many times as many the
# next time.
_FIRST_OF_SAMPLE = 8
_GROWTH = 16

# Rows of LIMIT are sought in so many blocks of so many rows of a table, before all of it is
# filtered at once.
_FIRST_BLOCKS = 8
_FIRST_STEPS = (2**12, MORSEL_ROWS)

# And in what comes of so many rows of a table that drives a join, unless all has not many more, or
# is joined to tables of more rows, which would be read twice where the first ones are too few.
_DRIVING_ROWS = 2**17
_FEWER_DRIVING = 8
_OTHER_ROWS = 2**18


def run_limit(plan: Limit, columns: Sequence[Column], sources: Sources) -> Relation:
    """Return some rows; nothing is computed for the others where that can be avoided."""
    count, offset = plan.count, plan.offset
    if count == 0:
        return Relation({column: pa.nulls(0, column.type) for column in columns}, 0)
    found = None if count is None else _first_matches(plan.source, columns, sources, offset, count)
    if found is not None:
        return found
    match plan.source:
        case Project(source=source, items=items):
            return sources.rows_of(Project(Limit(source, count, offset), items), columns)
        case Sort(source=source, keys=keys) if count is not None:
            rows = sources.rows_of(source, {*columns, *(key.column for key in keys)})
            rows = sort(rows, keys, offset + count, sources.memory)
            return rows.select(columns).slice(offset, count)
        case Series(start=start, stop=stop, step=step) as series:
            kept = range(start, stop, step)[offset : None if count is None else offset + count]
            return sources.rows_of(replace(series, start=kept.start, stop=kept.stop), columns)
        case Filter() | Recursive() as source if count is not None and _recursion(source):
            return _first_rows(source, columns, sources, offset, count)
        case Filter() | SearchRows() as source if count is not None and _is_search(source):
            from raydb.engine.operators.blocks import blocks_of, limited  # noqa: PLC0415  (a circle)

            parts = limited(blocks_of(source, frozenset(columns), sources), offset, count)
            nothing = Relation({c: pa.nulls(0, c.type) for c in columns}, 0)
            return concatenate([nothing, *parts], columns)
        case source:
            if isinstance(source, Scan) and count is not None:
                found = scan_slice(sources.tables[source.table], columns, offset, count)
                if found is not None:
                    return found
            rows = sources.rows_of(source, columns)
            return rows.slice(offset, rows.row_count if count is None else count)


def _first_matches(
    plan: PhysicalPlan, columns: Sequence[Column], sources: Sources, offset: int, count: int
) -> Relation | None:
    """Return some rows of filters and joins of a large table, where its first rows give so many."""
    if sources.trace is not None:
        return None
    if _joins(plan):
        return _first_joined(plan, columns, sources, offset, count)
    if not isinstance(plan, Filter | KeyFilter):
        return None
    from raydb.engine.operators.blocks import limited  # noqa: PLC0415  (a circle)

    for step in _FIRST_STEPS:
        blocks = scanned_blocks(plan, frozenset(columns), sources, step)
        if blocks is None:
            return None
        with closing(blocks):
            parts = list(limited(islice(blocks, _FIRST_BLOCKS), offset, count))
        if sum(part.row_count for part in parts) == count:
            return concatenate(parts, columns)
    return None


def _joins(plan: PhysicalPlan) -> bool:
    """Tell whether filters and computed columns are over a join."""
    while isinstance(plan, Filter | KeyFilter | Project):
        plan = plan.source
    return isinstance(plan, HashJoin)


def _first_joined(
    plan: PhysicalPlan, columns: Sequence[Column], sources: Sources, offset: int, count: int
) -> Relation | None:
    """Return some rows of joins, where the first rows of their driving table give so many."""
    found = driving(plan, lambda name: sources.tables[name].row_count)
    if found is None or found.scan.lookup is not None:
        return None
    table = sources.tables[found.scan.table]
    is_small = table.row_count < _FEWER_DRIVING * _DRIVING_ROWS
    if is_small or table.rows.is_streamed or offset + count > _DRIVING_ROWS:
        return None
    if any(sources.tables[other].row_count > _OTHER_ROWS for other in found.others):
        return None
    if any(column.name == ROW_NUMBER for column in found.scan.columns):
        return None
    tables = {**sources.tables, found.scan.table: table.only(((0, _DRIVING_ROWS),))}
    rows = replace(sources, tables=tables, key_sets={}).rows_of(plan, columns)
    return rows.slice(offset, count) if rows.row_count >= offset + count else None


def _recursion(plan: PhysicalPlan) -> Recursive | None:
    """Return the recursive query below filters and computed columns, if that is there."""
    while isinstance(plan, Filter | Project):
        plan = plan.source
    # Rows of keys are known in the end.
    return plan if type(plan) is Recursive else None


def _is_search(plan: PhysicalPlan) -> bool:
    """Return whether filters and computed columns are over a search, which may be a long one."""
    while isinstance(plan, Filter | Project):
        plan = plan.source
    return isinstance(plan, SearchRows)


def _first_rows(
    plan: PhysicalPlan, columns: Sequence[Column], sources: Sources, offset: int, count: int
) -> Relation:
    """Return some rows over a recursive query, which need not come to its end for them."""
    recursion = _recursion(plan)
    assert recursion is not None
    over_working = _over_working(plan)
    parts = [Relation({c: pa.nulls(0, c.type) for c in columns}, 0)]
    found = 0
    for _ in generations(recursion, sources) if count else ():
        parts.append(sources.rows_of(over_working, columns))
        found += parts[-1].row_count
        if found >= offset + count:
            break
    return concatenate(parts, columns).slice(offset, count)


def _over_working(plan: PhysicalPlan) -> PhysicalPlan:
    """Return filters and computed columns over the rows that their recursion has added last."""
    match plan:
        case Filter(source=source) | Project(source=source):
            return replace(plan, source=_over_working(source))
        case Recursive(number=number, columns=columns):
            return WorkingTable(number, columns)
        case _:
            raise AssertionError(f"{type(plan).__name__} is above no recursion")


def run_top_rows(plan: TopRows, columns: Sequence[Column], sources: Sources) -> Relation:
    """Return the first rows of a sort, sought among few rows of a table before all of them."""
    wanted = plan.offset + plan.count
    live = {*columns, *plan.required_columns}
    rows = None
    numbers = _numbers_of_key(plan, sources)
    if numbers is None:
        firsts = _of_predicates(plan, wanted, live, sources)
    else:
        firsts = _of_numbers(plan, wanted, live, numbers, sources)
    for found in firsts:
        if found.row_count >= wanted:
            rows = found
            break
    rows = sources.rows_of(plan.source, live) if rows is None else rows
    rows = sort(rows, plan.keys, wanted, sources.memory)
    return rows.select(columns).slice(plan.offset, plan.count)


def _of_predicates(
    plan: TopRows, wanted: int, live: Collection[Column], sources: Sources
) -> Iterator[Relation]:
    """Yield what the first rows of the table give, each time of more of them than the last."""
    for is_first in _first_of_table(plan, wanted, sources):
        yield sources.rows_of(_only(plan.source, is_first), live)


# -- the first key as narrow numbers


def _numbers_of_key(plan: TopRows, sources: Sources) -> Measure | None:
    """Return the first key's values as narrow integers, from the second time on that it is asked.

    None where it is no column of whole numbers in memory. To compare with these takes a tenth of
    the time; fused scans have the same.
    """
    table, value = sources.tables[plan.scan.table], plan.value
    if not isinstance(value, Column) or not is_whole(value.type):
        return None
    if not is_decoded(table, [value]):
        return None
    cache, owners = sources.context.cache, (table.rows,)
    what = "measure", table.name, 0, Attribute((), value.name, value.type)

    def make() -> Measure | None:
        try:
            return narrow_measure(*to_numbers(table.rows.column(value.name)))
        except DataError:  # a decimal beyond 64 bits
            return None

    if not cache.has(owners, what) and not cache.has(owners, ("asked", *what)):
        cache.get(owners, ("asked", *what), lambda: None)
        return None
    found: Measure | None = cache.get(owners, what, lambda: beside(make, table.rows.row_count))
    return found


def _of_numbers(
    plan: TopRows, wanted: int, live: Collection[Column], key: Measure, sources: Sources
) -> Iterator[Relation]:
    """Yield what `_of_predicates` does; the rows of the table are found by a key's numbers."""
    assert isinstance(plan.value, Column)
    order = plan.keys[0]
    table = sources.tables[plan.scan.table]
    is_null = None if key.valid is None else ~key.valid
    step = max(len(key.values) // SAMPLE_ROWS, 1)
    is_asked = np.ones(len(key.values), np.bool_) if table.live is None else table.live
    drawn = np.flatnonzero(is_asked[::step]) * step
    sampled = drawn[_passing(plan, drawn, table)]
    is_known = np.ones(len(sampled), np.bool_) if key.valid is None else key.valid[sampled]
    known = np.sort(key.values[sampled[is_known]])
    has_nulls_first = order.nulls_first and is_null is not None
    null_count = len(sampled) - len(known) if has_nulls_first else 0
    for count in _counts(plan, wanted, len(sampled), int(np.count_nonzero(is_asked))):
        if count <= null_count:
            assert is_null is not None
            mask = is_null.copy()
        elif count - null_count > len(known):
            return
        elif order.descending:
            mask = key.values >= known[null_count - count]
        else:
            mask = key.values <= known[count - null_count - 1]
        if is_null is not None:
            mask = mask | is_null if order.nulls_first else mask & ~is_null
        numbers = np.flatnonzero(mask & is_asked)
        if 0 < wanted < len(numbers) and _keeps_rows(plan.source) and not has_nulls_first:
            numbers = _foremost(numbers, key.values[numbers], wanted, order.descending)
        yield _rows_of_few(plan.source, plan.value, numbers, live, sources)


def _keeps_rows(plan: PhysicalPlan) -> bool:
    """Return whether a plan has a row for each one of a table."""
    while isinstance(plan, Project):
        plan = plan.source
    return isinstance(plan, Scan)


def _foremost(
    numbers: NDArray[np.int64], values: NDArray[Any], wanted: int, descending: bool
) -> NDArray[np.int64]:
    """Return the first rows by their values, and those whose value is that of the last of them."""
    place = len(values) - wanted if descending else wanted - 1
    last = np.partition(values, place)[place]
    found: NDArray[np.int64] = numbers[values >= last if descending else values <= last]
    return found


def _rows_of_few(
    plan: PhysicalPlan,
    column: Column,
    numbers: NDArray[np.int64],
    live: Collection[Column],
    sources: Sources,
) -> Relation:
    """Return the rows of a plan of those numbers only of the table that a column is of."""
    # As a common table that has run, of a number that no other one has.
    shared = -(2**61) - column.number

    def change(node: PhysicalPlan) -> PhysicalPlan:
        if isinstance(node, Scan) and column in node.columns:
            rows = fetch_rows(sources.tables[node.table], node.columns, numbers)
            sources.shared[shared] = rows
            return CommonTable(shared, node.table, node, node.columns)
        return node.map_sources(change)

    try:
        return sources.rows_of(change(plan), live)
    finally:
        sources.shared.pop(shared, None)


def _counts(plan: TopRows, wanted: int, sampled: int, row_count: int) -> Iterator[int]:
    """Yield how many rows of a sample the first ones are to be among, more each time."""
    # Twice as many as should do, for the filters may leave fewer of just these.
    rows = 2 * wanted / max(plan.share, 1e-9)
    count = max(int(rows * sampled / max(row_count, 1)), _FIRST_OF_SAMPLE)
    while count * _GROWTH <= sampled:
        yield count
        count *= _GROWTH


def _passing(plan: TopRows, places: NDArray[np.int64], table: Table) -> NDArray[np.bool_]:
    """Return which rows of a sample pass the filters that stand on the table's scan.

    Those of the least values may be just the ones that a filter leaves out. All, where too few do.
    """
    passing = np.ones(len(places), np.bool_)
    for predicate in _filters_of(plan.source, columns_of(plan.value)) or ():
        read = sorted(columns_of(predicate), key=lambda column: column.number)
        if not is_decoded(table, read):
            continue  # A sample is not worth a column of a file.
        whole = table.rows.columns([column.name for column in read])
        taken = [values.take(pa.array(places)) for values in whole]
        mask = evaluate(predicate, dict(zip(read, taken, strict=True)), len(places))
        passing &= joined(pc.fill_null(mask, fill_value=False)).to_numpy(zero_copy_only=False)
    enough = np.count_nonzero(passing) >= _FIRST_OF_SAMPLE * _GROWTH
    return passing if enough else np.ones(len(places), np.bool_)


def _filters_of(
    plan: PhysicalPlan, columns: frozenset[Column], above: tuple[Expression, ...] = ()
) -> tuple[Expression, ...] | None:
    """Return the predicates of the filters on the scan of some columns, nothing between them.

    above: those of the filters that stand on the plan. None where the scan is not in it.
    """
    if isinstance(plan, Scan):
        return above if columns <= set(plan.columns) else None
    own = (*above, plan.predicate) if isinstance(plan, Filter) else ()
    found = (_filters_of(source, columns, own) for source in plan.sources)
    return next((each for each in found if each is not None), None)


# -- the first key as a predicate


def _first_of_table(plan: TopRows, wanted: int, sources: Sources) -> Iterator[Expression]:
    """Yield predicates for the first rows of the table, each for more of them than the last."""
    table = sources.tables[plan.scan.table]
    read = sorted(columns_of(plan.value), key=lambda column: column.number)
    if large_scan(table, read, sources.memory) is not None:
        return  # it is read but once
    live = None if table.live is None else np.flatnonzero(table.live)
    row_count = table.row_count if live is None else len(live)
    if not row_count:
        return
    sampled = np.arange(0, row_count, max(row_count // SAMPLE_ROWS, 1))
    places = sampled if live is None else live[sampled]
    passing = places[_passing(plan, places, table)]
    whole = table.rows.columns([column.name for column in read])
    taken = [values.take(pa.array(passing)) for values in whole]
    key = plan.keys[0]
    if isinstance(plan.value, Column) and not whole[0].null_count:
        key = replace(key, nulls_first=False)
    sample = evaluate(plan.value, dict(zip(read, taken, strict=True)), len(passing))
    for count in _counts(plan, wanted, len(passing), row_count):
        is_first = early_values(key, plan.value, sample, count)
        if is_first is None:
            return
        yield is_first


def _only(plan: PhysicalPlan, predicate: Expression) -> PhysicalPlan:
    """Return a plan of those rows only of a table for which a predicate over its columns holds."""
    if isinstance(plan, Scan):
        return Filter(plan, predicate) if columns_of(predicate) <= set(plan.columns) else plan
    return plan.map_sources(lambda source: _only(source, predicate))
