"""Vector search: which rows are nearest to query vectors, and then their columns by point read.

queries   ->   vectors (q, d)
rows      ->   numbers of those that count   ->   index, and rows beside it   ->   k numbers
                                                  or all within a distance
numbers   ->   rank, distance, and the columns that are asked for
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.engine.context.devices import search_graph, search_ivf
from raydb.engine.context.progress import report_compiling
from raydb.engine.operators.relation import Relation, joined
from raydb.engine.operators.scan.scan import fetch_rows, scan_table
from raydb.engine.table_functions.search.found_rows import allowed_rows, selected_rows, with_found
from raydb.engine.table_functions.search.paired_rows import PairedRows
from raydb.engine.table_functions.vector.questions import (
    Hits,
    Questions,
    check_bits,
    checked,
    hits_of,
    read_questions,
    rows_beside,
    table_blocks,
    tell_beside,
    vector_of,
)
from raydb.engine.table_functions.vector.range_search import source_within, table_within
from raydb.errors import DataError, ProgrammingError
from raydb.interrupts import check_interrupt
from raydb.kernels.vector.exact_search import nearest, no_neighbours
from raydb.kernels.vector.graph import MOST_EF
from raydb.kernels.vector.stop_rule import ANYWHERE
from raydb.planner.plan.nodes import Scan
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from raydb.engine.context.statement_context import StatementContext
    from raydb.engine.operators.run import Sources
    from raydb.engine.table_functions.vector.choose_index import VectorIndex
    from raydb.kernels.vector.exact_search import Neighbours
    from raydb.planner.expressions.nodes import Column
    from raydb.planner.plan.nodes import SearchRows
    from raydb.storage.tables.table import Table

    Block = tuple[NDArray[np.float32], NDArray[np.integer]]

# Vectors of an index that are copied at a time, where not all of its rows count. Where they are
# more than a part of all, or few queries share the copies, lists are scanned where they lie: as
# long as an interrupt need not wait for so many numbers.
_COPIED_ROWS = 2**16
_COPIED_PART = 1 / 16
_SHARING_QUERIES = 16
_MAX_COMPARED = 2**32

# What a search holds for each row that it finds, and for each number of its query vectors.
_FOUND_BYTES, _NUMBER_BYTES = 64, 8


def nearest_rows(plan: SearchRows, columns: Sequence[Column], sources: Sources) -> Relation:
    """Return some columns of each query's row with those of its nearest rows, in order of rank.

    Raises DataError for a vector that has no distance to others, ProgrammingError where a table has
    fewer than k rows, and OperationalError where memory is too small for what may be found.
    """
    sources.context.warnings.extend([plan.how.note] if plan.how.note else [])
    of_queries = [column for column in plan.left.columns if column in columns]
    of_rows = [column for column in plan.right.columns if column in columns]
    needed = list(dict.fromkeys((*of_queries, *(column for column, _ in plan.pairs))))
    names = [name for name, _ in plan.given]
    rows, given = sources.rows_with(plan.left, needed, [each for _, each in plan.given])
    try:
        asked = read_questions(plan, dict(zip(names, given, strict=True)))
    except DataError:
        if not plan.options.is_order:
            raise
        return _every_row(plan, of_rows, sources)
    if isinstance(plan.right, Scan):
        # An offset may go beyond all rows.
        there = max(sources.tables[plan.right.table].live_count, asked.k - plan.options.offset)
        asked = replace(asked, k=min(asked.k, there))
    vectors, places = asked.vectors, asked.places
    need = _FOUND_BYTES * len(vectors) * asked.k + _NUMBER_BYTES * vectors.size
    sources.memory.check(need, f"a search for {asked.k} rows near each of {len(vectors)} vectors")
    if len(vectors):
        report_compiling()
    if isinstance(plan.right, Scan):
        table = sources.tables[plan.right.table]
        hits = _search_table(plan, asked, table, sources)
        if hits is None:
            return _every_row(plan, of_rows, sources)
        # Rows are read in their order, each once.
        distinct, places_of = np.unique(hits.rows, return_inverse=True)
        partners = fetch_rows(table, of_rows, distinct).take(pa.array(places_of))
    else:
        queries = rows.take(pa.array(places))
        source, hits = _compare_source(plan, asked, queries, of_rows, sources)
        partners = source.select(of_rows).take(pa.array(hits.rows))
    rank, distance, probes, guarantee = plan.found
    made: dict[Column, Callable[[], pa.Array]] = {
        rank: lambda: pa.array(hits.ranks + 1),
        distance: lambda: pa.array(hits.distances),
        probes: lambda: pa.array(hits.probes[hits.queries]),
        guarantee: lambda: pa.array(hits.guarantees, pa.string()).take(pa.array(hits.queries)),
    }
    return with_found(plan, columns, rows, places[hits.queries], partners, made)


def _search_table(
    plan: SearchRows, asked: Questions, table: Table, sources: Sources
) -> Hits | None:
    """Return what there is near each vector; None where an order goes on with rows without one."""
    check_bits(plan, asked, table)
    if plan.options.is_every:
        return table_within(plan, asked, table, selected_rows(plan, sources), sources)
    if plan.options.is_order and asked.k > table.live_count:
        return None
    found, guarantees = _nearest_of_table(plan, asked, table, sources)
    if plan.options.is_order and found.rows[:, -1].min(initial=0) < 0:
        return None
    if sources.trace is None:
        show_found(plan, sources.context, found)
    elif plan.how.index is not None:
        lists = int(found.probes.sum())
        sources.trace.add(plan, queries=len(found.probes), lists=lists)
    return hits_of(plan, asked, found, guarantees)


def _compare_source(
    plan: SearchRows,
    asked: Questions,
    queries: Relation,
    of_rows: Sequence[Column],
    sources: Sources,
) -> tuple[Relation, Hits]:
    """Return the rows of what is no table, with some of their columns, and the nearest of them."""
    vector, vectors = vector_of(plan), asked.vectors
    read = list(dict.fromkeys((*of_rows, vector, *(column for _, column in plan.pairs))))
    source, _ = sources.rows_with(plan.right, read, ())
    guarantees = ["exact"] * len(vectors)
    if plan.options.is_every:
        return source, source_within(plan, asked, queries, source, sources)
    found = no_neighbours(len(vectors), asked.k)
    if plan.pairs:
        _search_own_rows(plan, asked, queries, source, found)
    else:
        blocks = checked(plan, asked, source.columns[vector], None)
        nearest(blocks, vectors, asked.k, plan.how.metric, found)
    return source, hits_of(plan, asked, found, guarantees)


def _every_row(plan: SearchRows, columns: Sequence[Column], sources: Sources) -> Relation:
    """Return all rows that may be in an order, for what is above puts them in order."""
    assert isinstance(plan.right, Scan)
    table = sources.tables[plan.right.table]
    selected = selected_rows(plan, sources)
    if selected is None:
        return scan_table(table, columns, sources.memory)
    return fetch_rows(table, columns, selected)


def show_found(plan: SearchRows, context: StatementContext, found: Neighbours) -> None:
    """Tell who watches the queries that users ask what a calibrated search has found.

    What EXPLAIN ANALYZE runs says nothing of them.
    """
    index: VectorIndex | None = plan.how.index
    if index is not None and index.calibrated is not None and plan.selection is None:
        searches = context.usage.searches
        searches.observe(index.name, index.calibrated.calibration, found)


def _search_own_rows(
    plan: SearchRows,
    asked: Questions,
    queries: Relation,
    source: Relation,
    found: Neighbours,
) -> None:
    """Compare each vector with the rows that there are for it."""
    column = joined(source.columns[vector_of(plan)])
    for asking, numbers in PairedRows(plan, queries, source).together():
        check_interrupt()
        some = no_neighbours(len(asking), asked.k)
        blocks = checked(plan, asked, column.take(pa.array(numbers)), numbers)
        nearest(blocks, asked.vectors[asking], asked.k, plan.how.metric, some)
        found.rows[asking], found.distances[asking] = some.rows, some.distances


def _nearest_of_table(
    plan: SearchRows, asked: Questions, table: Table, sources: Sources
) -> tuple[Neighbours, list[str]]:
    """Return the nearest rows of a table to each vector by their numbers, with their guarantees."""
    selected, vectors = selected_rows(plan, sources), asked.vectors
    if selected is None and asked.k > table.live_count:
        raise ProgrammingError(
            f"vector_search() cannot find {asked.k} rows: "
            f"table '{table.name}' has {table.live_count}"
        )
    if plan.how.index is not None:
        given = (vectors, table, selected, sources.context)
        return search_index(plan, plan.how.index, *given, asked.k)
    found = no_neighbours(len(vectors), asked.k)
    blocks = table_blocks(plan, asked, table, selected, sources)
    nearest(blocks, vectors, asked.k, plan.how.metric, found)
    return found, ["exact"] * len(vectors)


def search_index(
    plan: SearchRows,
    index: VectorIndex,
    vectors: NDArray[np.float32],
    table: Table,
    selected: NDArray[np.int64] | None,
    context: StatementContext,
    k: int,
) -> tuple[Neighbours, list[str]]:
    """Search the lists of an index, and compare all rows beside it."""
    arrays, metric = index.arrays, plan.how.metric
    tell_beside(index, table, context)
    allowed = allowed_rows(table, selected)
    is_exact = (
        plan.how.exact
        or index.ef > MOST_EF
        or (
            selected is not None
            and _is_selective(index, k, int(np.count_nonzero(selected < arrays.row_count)))
        )
    )
    if is_exact and _scans_in_place(index, allowed, len(vectors)):
        found = search_ivf(arrays, vectors, k, arrays.list_count, allowed, ANYWHERE, context)
        found.probes[:] = 0
    elif is_exact:
        found = no_neighbours(len(vectors), k)
        nearest(_index_blocks(index, allowed), vectors, k, metric, found)
    elif index.ef:
        found = _walked(index, vectors, k, table, allowed, context)
    else:
        rule = ANYWHERE if index.calibrated is None else index.calibrated.calibration.rule
        found = search_ivf(arrays, vectors, k, index.nprobe, allowed, rule, context)
    if table.row_count > arrays.row_count:
        nearest(rows_beside(table, vector_of(plan).name, index, allowed), vectors, k, metric, found)
    partial = "filtered" if selected is not None else _promise(index)
    every = -1 if index.ef else arrays.list_count
    # NumPy takes longer for the few queries that there mostly are.
    probes = found.probes.tolist()
    return found, ["exact" if is_exact or each == every else partial for each in probes]


def _walked(
    index: VectorIndex,
    vectors: NDArray[np.float32],
    k: int,
    table: Table,
    allowed: NDArray[np.bool_] | None,
    context: StatementContext,
) -> Neighbours:
    """Walk along the graph of an index; where too few rows are met, compare all.

    Without a promise a walk keeps the more vectors the more of them are deleted.
    """
    ef = max(index.ef, k)
    if index.calibrated is None:
        ef = min(ef * max(table.row_count, 1) // max(table.live_count, 1), max(MOST_EF, k))
    found = search_graph(index.arrays, vectors, k, ef, allowed, context)
    short = np.flatnonzero(found.rows[:, -1] < 0)
    if len(short):
        arrays, asked = index.arrays, vectors[short]
        others = search_ivf(arrays, asked, k, arrays.list_count, allowed, ANYWHERE, context)
        found.rows[short], found.distances[short] = others.rows, others.distances
    return found


def _promise(index: VectorIndex) -> str:
    """Return what is promised of a search of all rows that has not compared all of them."""
    if index.calibrated is None:
        return "uncalibrated"
    if index.calibrated.is_stale:
        return "stale"
    return "marginal" if index.calibrated.calibration.confidence is None else "confident"


def _is_selective(index: VectorIndex, k: int, selected_count: int) -> bool:
    """Tell whether comparing the selected rows takes less than scanning lists for k of them."""
    arrays = index.arrays
    if not selected_count:
        return True
    row_count = len(arrays.row_ids)
    share = max(index.nprobe / max(arrays.list_count, 1), min(1.0, k / selected_count))
    return selected_count <= share * row_count


def _scans_in_place(
    index: VectorIndex, allowed: NDArray[np.bool_] | None, query_count: int
) -> bool:
    """Tell whether to compare rows of an index list by list, passing over those that do not count.

    Else those that count are copied, in parts that many queries share.
    """
    if allowed is None or index.arrays.vectors.size > _MAX_COMPARED:
        return False
    counted = int(np.count_nonzero(allowed))
    return query_count < _SHARING_QUERIES or counted > _COPIED_PART * len(allowed)


def _index_blocks(index: VectorIndex, allowed: NDArray[np.bool_] | None) -> Iterator[Block]:
    """Yield the vectors of an index whose rows count."""
    arrays = index.arrays
    if allowed is None:
        yield arrays.vectors, arrays.row_ids
        return
    places = np.flatnonzero(allowed[arrays.row_ids])
    for start in range(0, len(places), _COPIED_ROWS):
        some = places[start : start + _COPIED_ROWS]
        yield arrays.vectors[some], arrays.row_ids[some]
