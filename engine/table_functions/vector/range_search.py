"""vector_search() with max_distance and without k: all rows that are near enough.

    FROM vector_search(docs, emb, $q, max_distance => 0.2)

With an index they are those of the lists that are scanned; with a filter, all that pass it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.engine.operators.relation import joined
from raydb.engine.table_functions.search.found_rows import allowed_rows
from raydb.engine.table_functions.search.paired_rows import PairedRows
from raydb.engine.table_functions.vector.questions import (
    Hits,
    checked,
    rows_beside,
    table_blocks,
    tell_beside,
    vector_of,
)
from raydb.interrupts import check_interrupt
from raydb.kernels.vector.range_search import Found, compare_lists, compare_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.engine.operators.relation import Relation
    from raydb.engine.operators.run import Sources
    from raydb.engine.table_functions.vector.questions import Questions
    from raydb.planner.plan.nodes import SearchRows
    from raydb.storage.tables.table import Table

# What a search holds for each row that it finds.
_FOUND_BYTES = 96


def table_within(
    plan: SearchRows,
    asked: Questions,
    table: Table,
    selected: NDArray[np.int64] | None,
    sources: Sources,
) -> Hits:
    """Return the rows of a table within the distances; selected: those that count, None for all.

    Raises OperationalError where memory is too small for them.
    """
    assert asked.most is not None
    found, metric, index = _room(sources), plan.how.metric, plan.how.index
    probes, guarantees = np.zeros(len(asked.places), np.int64), ["exact"] * len(asked.places)
    given = (asked.vectors, asked.most)
    if index is None:
        blocks = table_blocks(plan, asked, table, selected, sources)
        compare_rows(blocks, *given, metric, found)
        return _hits(plan, found, probes, guarantees)
    tell_beside(index, table, sources.context)
    allowed, lists = allowed_rows(table, selected), index.arrays.list_count
    # Which of the filter's rows lie in lists that are far, nobody knows.
    is_exact = plan.how.exact or selected is not None
    scanned = lists if is_exact else min(index.nprobe, lists)
    compare_lists(index.arrays, *given, scanned, allowed, found)
    compare_rows(rows_beside(table, vector_of(plan).name, index, allowed), *given, metric, found)
    if not is_exact:
        probes[:] = scanned
    if scanned < lists:
        guarantees = ["uncalibrated"] * len(asked.places)
    if sources.trace is not None:
        sources.trace.add(plan, queries=len(probes), lists=int(probes.sum()))
    return _hits(plan, found, probes, guarantees)


def source_within(
    plan: SearchRows, asked: Questions, queries: Relation, source: Relation, sources: Sources
) -> Hits:
    """Return the rows of what is no table within the distances, by their places."""
    assert asked.most is not None
    found, vector, metric = _room(sources), vector_of(plan), plan.how.metric
    if plan.pairs:
        column = joined(source.columns[vector])
        for asking, numbers in PairedRows(plan, queries, source).together():
            check_interrupt()
            blocks = checked(plan, asked, column.take(pa.array(numbers)), numbers)
            some = found.of_queries(asking)
            compare_rows(blocks, asked.vectors[asking], asked.most[asking], metric, some)
    else:
        blocks = checked(plan, asked, source.columns[vector], None)
        compare_rows(blocks, asked.vectors, asked.most, metric, found)
    count = len(asked.places)
    return _hits(plan, found, np.zeros(count, np.int64), ["exact"] * count)


def _room(sources: Sources) -> Found:
    what = "a search for all rows within a distance"
    return Found(lambda count: sources.memory.check(count * _FOUND_BYTES, what))


def _hits(plan: SearchRows, found: Found, probes: NDArray[np.int64], guarantees: list[str]) -> Hits:
    """Return the hits, each with its rank, without those that are passed over."""
    within = found.in_order()
    starts = np.searchsorted(within.queries, np.arange(len(probes)))
    ranks = np.arange(len(within.queries)) - starts[within.queries]
    kept = slice(None) if not plan.options.offset else ranks >= plan.options.offset
    pairs = (within.queries[kept], ranks[kept], within.rows[kept], within.distances[kept])
    return Hits(*pairs, probes, guarantees)
