"""A query's rows block by block, as they are asked for.

    for rows in blocks_of(plan, columns, sources):    up to 131,072 rows, from the first on

Filters, computed columns, UNNEST, UNION ALL, LIMIT and series hold a block at a time, joins their
sides and some of their pairs. What has to see all its rows before it gives the first one (a sort,
an aggregate) runs to its end, as it does anywhere, and its result is cut into blocks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.engine.operators import unnest
from raydb.engine.operators.join import join
from raydb.engine.operators.relation import MORSEL_ROWS, Relation
from raydb.engine.operators.scan import scan
from raydb.engine.operators.steps import scan_steps, steps_of
from raydb.engine.operators.values import columns_of_sources, renamed, series_blocks
from raydb.planner.plan.nodes import (
    Filter,
    HashJoin,
    KeyFilter,
    Limit,
    PhysicalPlan,
    Project,
    Scan,
    SearchRows,
    Series,
    Sort,
    Union,
    Unnest,
)
from raydb.storage.in_order import in_order

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raydb.engine.operators.run import Sources
    from raydb.planner.expressions.nodes import Column


def blocks_of(plan: PhysicalPlan, live: frozenset[Column], sources: Sources) -> Iterator[Relation]:
    """Yield the rows of a plan in order, some at a time, with those of its columns in `live`."""
    columns = [column for column in plan.columns if column in live]
    match plan:
        case Filter() | KeyFilter() | Project():
            steps = steps_of(plan, live, sources)
            found = scan_steps(steps, sources)
            if isinstance(found, scan.ScanBlocks):
                yield from steps.over(found, columns)
                return
            below = (
                blocks_of(steps.source, steps.live, sources) if found is None else _slices(found)
            )
            one_by_one = steps.one_by_one
            yield from in_order(
                lambda rows: steps.run(rows.combined()), below, one_by_one=one_by_one
            )
        case Scan():
            blocks = scan.large_scan(sources.tables[plan.table], columns, sources.memory)
            if blocks is None:
                yield from _slices(sources.rows_of(plan, live))
            else:
                yield from in_order(blocks.read, blocks.pieces(), blocks.ahead)
        case Unnest():
            steps = unnest.unnest_steps(plan, live)
            yield from in_order(
                lambda rows: steps.run(rows.combined()),
                blocks_of(steps.source, steps.live, sources),
            )
        case HashJoin():
            for rows in join.join_pieces(plan, columns, sources):
                yield from _slices(rows)
        case Series():
            yield from series_blocks(plan, columns)
        case Union():
            for source, theirs in columns_of_sources(plan, columns):
                for rows in blocks_of(source, frozenset(theirs), sources):
                    yield renamed(rows, theirs, columns)
        case SearchRows():
            found_rows = plan.function.stream(plan, columns, sources)
            yield from _slices(sources.rows_of(plan, live)) if found_rows is None else found_rows
        case Limit(source=source, count=count, offset=offset) if not isinstance(
            source, Sort | Series
        ):
            yield from limited(blocks_of(source, live, sources), offset, count)
        case _:
            yield from _slices(sources.rows_of(plan, live))


def _slices(rows: Relation) -> Iterator[Relation]:
    for start in range(0, rows.row_count, MORSEL_ROWS):
        yield rows.slice(start, MORSEL_ROWS)


def limited(blocks: Iterator[Relation], offset: int, count: int | None) -> Iterator[Relation]:
    """Yield so many rows of blocks behind the first ones, and take no block that is not needed."""
    if count == 0:
        return
    for rows in blocks:
        kept = rows.slice(offset, rows.row_count if count is None else count)
        offset = max(offset - rows.row_count, 0)
        if kept.row_count:
            yield kept
        if count is not None:
            count -= kept.row_count
            if count == 0:
                return
