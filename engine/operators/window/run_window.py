"""Window functions over all rows at once where they fit in memory, else partition by partition.

PARTITION BY k     parts by the hash of k, each with its windows computed

A partition that does not fit is sorted and goes block by block; see `large_partition`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.engine.operators.aggregate.run_aggregate import as_relation, guarded
from raydb.engine.operators.partition import part_count, split_by_hash, work_bytes
from raydb.engine.operators.relation import Collector, Relation
from raydb.engine.operators.window.frame import first_places
from raydb.engine.operators.window.frames import FRAME_BYTES, has_states
from raydb.engine.operators.window.large_partition import fits_files, windows_of_large
from raydb.engine.operators.window.window import compute_windows
from raydb.interrupts import beside
from raydb.planner.expressions.nodes import expressions_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raydb.engine.context.memory import Memory
    from raydb.engine.operators.run import Sources
    from raydb.planner.expressions.nodes import Column, Expression, WindowCall
    from raydb.planner.plan.nodes import Window

# What window functions hold of each row beside the values, and for each result.
_WINDOW_BYTES = 112
_BYTES_A_WINDOW = 16

# Numbers of partitions and of order, and what compares them, take so many bytes a row. Fewer rows
# are sorted as soon, and so are those of which not at least one of two is left out.
_NUMBERING_BYTES = 40
_MANY_ROWS = 10_000
_FEWER = 2


def run_window(plan: Window, columns: Sequence[Column], sources: Sources) -> Relation:
    """Return some columns of a plan's rows with those of its window functions."""
    live = frozenset(columns)
    calls = [(column, guarded(call)) for column, call in plan.calls if column in live]
    read = dict.fromkeys(e for _, call in calls for e in expressions_of(call))
    carried = [column for column in plan.source.columns if column in live]
    rows, values = sources.rows_with(plan.source, carried, list(read))
    of_expression: Mapping[Expression, pa.ChunkedArray | pa.Array]
    of_expression = dict(zip(read, values, strict=True))
    if plan.most is not None and calls:
        rows, of_expression = _first_rows(calls[0][1], rows, of_expression, plan.most, sources)
    return window_rows(rows, calls, of_expression, sources.memory)


def _first_rows(
    call: WindowCall,
    rows: Relation,
    values: Mapping[Expression, pa.ChunkedArray | pa.Array],
    most: int,
    sources: Sources,
) -> tuple[Relation, Mapping[Expression, pa.ChunkedArray | pa.Array]]:
    """Return rows, and what is computed of them, without those behind the first of partitions."""
    count = rows.row_count
    if count < _MANY_ROWS or _NUMBERING_BYTES * count > sources.memory.room():
        return rows, values
    places = beside(lambda: first_places(call, values, count, most), count)
    if places is None or len(places) * _FEWER > count:
        return rows, values
    taken = pa.array(places)
    return rows.take(taken), {each: held.take(taken) for each, held in values.items()}


def window_rows(
    rows: Relation,
    calls: Sequence[tuple[Column, WindowCall]],
    values: Mapping[Expression, pa.ChunkedArray | pa.Array],
    memory: Memory,
) -> Relation:
    """Return the rows with the values of window functions, within the memory that there is.

    Raises OperationalError for a partition that needs more.
    """
    whole, places = as_relation(rows.columns, values, rows.row_count)
    columns = [*rows.columns, *(column for column, _ in calls)]
    if _window_need(whole, calls) <= memory.room():
        count = rows.row_count
        computed = beside(lambda: compute_windows(calls, values, count), count)
        return Relation({**rows.columns, **computed}, count)
    for some in _with_one_split(calls):
        whole = _windows_by_parts(whole, some, places, memory)
    return whole.select(columns)


def _window_need(rows: Relation, calls: Sequence[tuple[Column, WindowCall]]) -> int:
    states = FRAME_BYTES if any(has_states(call) for _, call in calls) else 0
    return work_bytes(rows, _WINDOW_BYTES + _BYTES_A_WINDOW * len(calls) + states)


def _with_one_split(
    calls: Sequence[tuple[Column, WindowCall]],
) -> list[list[tuple[Column, WindowCall]]]:
    """Return the calls together that can be computed over the same parts of the rows."""
    if frozenset.intersection(*(frozenset(call.partition_by) for _, call in calls)):
        return [list(calls)]
    groups: dict[frozenset[Expression], list[tuple[Column, WindowCall]]] = {}
    for column, call in calls:
        groups.setdefault(frozenset(call.partition_by), []).append((column, call))
    return list(groups.values())


def _windows_by_parts(
    rows: Relation,
    calls: Sequence[tuple[Column, WindowCall]],
    places: Mapping[Expression, Column],
    memory: Memory,
) -> Relation:
    need = _window_need(rows, calls)
    shared = frozenset.intersection(*(frozenset(call.partition_by) for _, call in calls))
    parts = [rows]
    if shared:
        keys = [place for expression, place in places.items() if expression in shared]
        parts = split_by_hash(rows, keys, part_count(need, memory), memory)
    collector = Collector(memory, [*rows.columns, *(column for column, _ in calls)])
    for part in parts:
        need = _window_need(part, calls)
        if need > memory.room() and fits_files(calls):
            collector.add(windows_of_large(part, calls, places, memory))
            continue
        memory.check(need, "a window function over a partition of many rows")
        values = {expression: part.columns[place] for expression, place in places.items()}
        count = part.row_count
        computed = beside(partial(compute_windows, calls, values, count), count)
        collector.add(Relation({**part.columns, **computed}, count))
    return collector.relation()
