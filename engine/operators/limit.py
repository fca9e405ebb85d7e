"""LIMIT: nothing is computed for the rows that are left out, where that can be avoided."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.engine.operators.recursion import generations
from raydb.engine.operators.relation import Relation, concatenate
from raydb.engine.operators.scan import scan_slice
from raydb.engine.operators.sort import sort
from raydb.planner.plan.nodes import (
    Filter,
    Limit,
    Project,
    Recursive,
    Scan,
    Series,
    Sort,
    WorkingTable,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.engine.operators.run import Sources
    from raydb.planner.expressions.nodes import Column
    from raydb.planner.plan.nodes import PhysicalPlan


def run_limit(plan: Limit, columns: Sequence[Column], sources: Sources) -> Relation:
    """Return some rows; nothing is computed for the others where that can be avoided."""
    count, offset = plan.count, plan.offset
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
        case source:
            if isinstance(source, Scan) and count is not None:
                found = scan_slice(sources.tables[source.table], columns, offset, count)
                if found is not None:
                    return found
            rows = sources.rows_of(source, columns)
            return rows.slice(offset, rows.row_count if count is None else count)


def _recursion(plan: PhysicalPlan) -> Recursive | None:
    """Return the recursive query below filters and computed columns, if that is there."""
    while isinstance(plan, Filter | Project):
        plan = plan.source
    return plan if isinstance(plan, Recursive) else None


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
