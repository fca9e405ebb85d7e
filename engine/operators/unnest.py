"""Lists to rows: a row for every element."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.engine.operators.relation import Relation, for_each_morsel, joined
from raydb.engine.operators.steps import Steps
from raydb.late import pc
from raydb.planner.expressions.nodes import Column
from raydb.planner.plan.nodes import Project

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.engine.operators.run import Sources
    from raydb.planner.plan.nodes import Unnest


def run_unnest(plan: Unnest, columns: Sequence[Column], sources: Sources) -> Relation:
    """Return some columns of the rows, each once for every element of its lists."""
    steps = unnest_steps(plan, frozenset(columns))
    rows = sources.rows_of(steps.source, steps.live)
    return for_each_morsel(rows, steps.run, columns, sources.memory)


def unnest_steps(plan: Unnest, live: frozenset[Column]) -> Steps:
    """Return UNNEST as a function of the rows that go with the lists."""
    columns = [column for column in plan.columns if column in live]
    carried = [column for column in plan.source.columns if column in live]
    # The columns of plans have numbers from 0 on.
    lists = {Column(-1 - i, "list", e.type): e for i, (_, e) in enumerate(plan.items)}
    elements = dict(zip(lists, (column for column, _ in plan.items), strict=True))

    def run(rows: Relation) -> Relation:
        return _unnest_lists(rows, elements, plan.number, keep=plan.keep).select(columns)

    items = (*zip(carried, carried, strict=True), *lists.items())
    computed = Project(plan.source, items)
    return Steps(computed, run, frozenset([*carried, *lists]), renames_only=False, lowest=None)


def _unnest_lists(
    rows: Relation, elements: Mapping[Column, Column], number: Column | None, *, keep: bool
) -> Relation:
    """Return each row once for every element of its longest list; see `Unnest`.

    `elements` has for each column of lists the column of their elements.
    """
    lengths = [_lengths(rows.columns[column]) for column in elements]
    counts = np.maximum.reduce(lengths)
    if keep:
        counts = np.maximum(counts, 1)
    row_numbers = np.repeat(np.arange(rows.row_count), counts)
    places = np.arange(len(row_numbers)) - np.repeat(np.cumsum(counts) - counts, counts)
    plain = rows.select(column for column in rows.columns if column not in elements)
    found = dict(plain.take(pa.array(row_numbers)).columns)
    for (column, element), length in zip(elements.items(), lengths, strict=True):
        starts = np.cumsum(length) - length
        missing = places >= length[row_numbers]
        numbers = pa.array(starts[row_numbers] + places, mask=missing)
        found[element] = pc.list_flatten(rows.columns[column]).take(numbers)
    if number is not None:
        missing = places >= np.maximum.reduce(lengths)[row_numbers]
        found[number] = pa.array(places + 1, mask=missing)
    return Relation(found, len(row_numbers))


def _lengths(lists: pa.Array | pa.ChunkedArray) -> NDArray[np.int64]:
    """Return how many elements each list has, 0 for NULL."""
    lengths = pc.fill_null(pc.list_value_length(joined(lists)), 0)
    counts: NDArray[np.int64] = lengths.to_numpy().astype(np.int64)
    return counts
