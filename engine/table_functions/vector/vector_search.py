"""Vector search: which rows are nearest to query vectors, and then their columns by point read.

queries   ->   vectors (q, d)
rows      ->   numbers of those that count   ->   index, and rows beside it   ->   k numbers
numbers   ->   rank, distance, and the columns that are asked for
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.engine.catalog.vector_index import check_vectors, column_text, vector_blocks
from raydb.engine.context.devices import search_ivf
from raydb.engine.context.progress import report_compiling
from raydb.engine.operators.relation import Relation, joined
from raydb.engine.operators.scan.scan import fetch_rows, scan_table
from raydb.engine.table_functions.paired_rows import PairedRows
from raydb.errors import DataError, ProgrammingError
from raydb.interrupts import check_interrupt
from raydb.kernels.vector.exact_search import nearest, no_neighbours
from raydb.kernels.vector.stop_rule import ANYWHERE
from raydb.planner.expressions.nodes import Column
from raydb.planner.plan.nodes import Scan
from raydb.storage.tables.rows import Rows
from raydb.storage.tables.table import ROW_NUMBER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from raydb.engine.context.statement_context import StatementContext
    from raydb.engine.operators.run import Sources
    from raydb.engine.table_functions.vector.choose_index import VectorIndex
    from raydb.kernels.vector.exact_search import Neighbours
    from raydb.planner.expressions.nodes import Expression
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

# Rows beside an index that are worth a REINDEX.
_MANY_BESIDE = 5000
_MANY_BESIDE_PART = 1 / 8

# What a search holds for each row that it finds, and for each number of its query vectors.
_FOUND_BYTES, _NUMBER_BYTES = 64, 8

_QUERY = "the query of vector_search()"

# The columns of plans have numbers from 0 on.
_NUMBER = Column(-1, ROW_NUMBER, pa.int32())


def nearest_rows(plan: SearchRows, columns: Sequence[Column], sources: Sources) -> Relation:
    """Return some columns of each query's row with those of its nearest rows, in order of rank.

    Raises DataError for a vector that has no distance to others, ProgrammingError where a table has
    fewer than k rows, and OperationalError where memory is too small for what may be found.
    """
    sources.context.warnings.extend([plan.how.note] if plan.how.note else [])
    of_queries = [column for column in plan.left.columns if column in columns]
    of_rows = [column for column in plan.right.columns if column in columns]
    needed = list(dict.fromkeys((*of_queries, *(column for column, _ in plan.pairs))))
    ((_, query),) = plan.given
    rows, (values,) = sources.rows_with(plan.left, needed, [query])
    try:
        vectors, places = _query_vectors(plan, query, values)
    except DataError:
        if not plan.options.is_order:
            raise
        return _every_row(plan, of_rows, sources)
    k = plan.options.k
    need = _FOUND_BYTES * len(vectors) * k + _NUMBER_BYTES * vectors.size
    sources.memory.check(need, f"a search for {k} rows near each of {len(vectors)} vectors")
    if len(vectors):
        report_compiling()
    if isinstance(plan.right, Scan):
        table = sources.tables[plan.right.table]
        found, guarantees = _search_table(plan, vectors, table, sources)
        if plan.options.is_order and found.rows[:, -1].min(initial=0) < 0:
            return _every_row(plan, of_rows, sources)
        if sources.trace is None:
            show_found(plan, sources.context, found)
        elif plan.how.index is not None:
            lists = int(found.probes.sum())
            sources.trace.add(plan, queries=len(found.probes), lists=lists)
    else:
        queries = rows.take(pa.array(places))
        source, found = _compare_source(plan, vectors, queries, of_rows, sources)
        guarantees = ["exact"] * len(vectors)
    query_numbers, ranks = np.nonzero(found.rows >= 0)
    numbers = found.rows[query_numbers, ranks]
    if isinstance(plan.right, Scan):
        # Rows are read in their order, each once.
        distinct, places_of = np.unique(numbers, return_inverse=True)
        partners = fetch_rows(table, of_rows, distinct).take(pa.array(places_of))
    else:
        partners = source.select(of_rows).take(pa.array(numbers))
    rank, distance, probes, guarantee = plan.found
    made: dict[Column, Callable[[], pa.Array]] = {
        rank: lambda: pa.array(ranks + 1),
        distance: lambda: pa.array(found.distances[query_numbers, ranks]),
        probes: lambda: pa.array(found.probes[query_numbers]),
        guarantee: lambda: pa.array(guarantees, pa.string()).take(pa.array(query_numbers)),
    }
    given = {column: make() for column, make in made.items() if column in columns}
    hits = Relation({**partners.columns, **given}, len(numbers))
    row_numbers = places[query_numbers]
    if plan.keep:
        row_numbers, hit_numbers = _with_missing(row_numbers, rows.row_count)
        hits = hits.take(hit_numbers)
    every = {**rows.take(pa.array(row_numbers)).columns, **hits.columns}
    return Relation({column: every[column] for column in columns}, len(row_numbers))


def _compare_source(
    plan: SearchRows,
    vectors: NDArray[np.float32],
    queries: Relation,
    of_rows: Sequence[Column],
    sources: Sources,
) -> tuple[Relation, Neighbours]:
    """Return the rows of what is no table, with some of their columns, and the nearest of them."""
    vector = _vector_of(plan)
    read = list(dict.fromkeys((*of_rows, vector, *(column for _, column in plan.pairs))))
    source, _ = sources.rows_with(plan.right, read, ())
    found = no_neighbours(len(vectors), plan.options.k)
    if plan.pairs:
        _search_own_rows(plan, vectors, queries, source, found)
    else:
        blocks = _checked(plan, source.columns[vector], None)
        nearest(blocks, vectors, plan.options.k, plan.how.metric, found)
    return source, found


def _every_row(plan: SearchRows, columns: Sequence[Column], sources: Sources) -> Relation:
    """Return all rows that may be in an order, for what is above puts them in order."""
    assert isinstance(plan.right, Scan)
    table = sources.tables[plan.right.table]
    selected = _selected(plan, sources)
    if selected is None:
        return scan_table(table, columns, sources.memory)
    return fetch_rows(table, columns, selected)


def _vector_of(plan: SearchRows) -> Column:
    (vector,) = plan.read
    assert isinstance(vector, Column)
    return vector


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
    vectors: NDArray[np.float32],
    queries: Relation,
    source: Relation,
    found: Neighbours,
) -> None:
    """Compare each vector with the rows that there are for it."""
    column = joined(source.columns[_vector_of(plan)])
    for asking, numbers in PairedRows(plan, queries, source).together():
        check_interrupt()
        some = no_neighbours(len(asking), plan.options.k)
        blocks = _checked(plan, column.take(pa.array(numbers)), numbers)
        nearest(blocks, vectors[asking], plan.options.k, plan.how.metric, some)
        found.rows[asking], found.distances[asking] = some.rows, some.distances


def _with_missing(
    row_numbers: NDArray[np.int64], row_count: int
) -> tuple[NDArray[np.int64], pa.Array]:
    """Return the rows of hits, and those without a hit, in order; and the hit of each, or NULL."""
    missing = np.setdiff1d(np.arange(row_count), row_numbers)
    every = np.concatenate((row_numbers, missing))
    order = np.argsort(every, kind="stable")
    return every[order], pa.array(order, mask=order >= len(row_numbers))


def _query_vectors(
    plan: SearchRows, query: Expression, values: pa.ChunkedArray | pa.Array
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the query vectors that are not NULL, and the places of their rows."""
    found = list(vector_blocks(values, _QUERY))
    if not found:
        return np.empty((0, query.type.list_size), np.float32), np.empty(0, np.int64)
    vectors, places = (np.concatenate(parts) for parts in zip(*found, strict=True))
    check_vectors(vectors, places, plan.how.metric, "row", _QUERY)
    return np.ascontiguousarray(vectors), places


def _search_table(
    plan: SearchRows,
    vectors: NDArray[np.float32],
    table: Table,
    sources: Sources,
) -> tuple[Neighbours, list[str]]:
    """Return the nearest rows of a table to each vector by their numbers, with their guarantees."""
    selected = _selected(plan, sources)
    if selected is None and plan.options.k > table.live_count:
        raise ProgrammingError(
            f"vector_search() cannot find {plan.options.k} rows: "
            f"table '{table.name}' has {table.live_count}"
        )
    if plan.how.index is not None:
        return search_index(plan, plan.how.index, vectors, table, selected, sources.context)
    vector = _vector_of(plan)
    found = no_neighbours(len(vectors), plan.options.k)
    if selected is None:
        rows = scan_table(table, [vector, _NUMBER], sources.memory)
        selected = joined(rows.columns[_NUMBER]).to_numpy().astype(np.int64)
    else:
        rows = fetch_rows(table, [vector], selected)
    blocks = _checked(plan, rows.columns[vector], selected)
    nearest(blocks, vectors, plan.options.k, plan.how.metric, found)
    return found, ["exact"] * len(vectors)


def _selected(plan: SearchRows, sources: Sources) -> NDArray[np.int64] | None:
    """Return the numbers of the rows that count, None for all."""
    if plan.selection is None:
        return None
    ((number, _),) = plan.selection.items
    chosen, _ = sources.rows_with(plan.selection, [number], ())
    numbers: NDArray[np.int64] = joined(chosen.columns[number]).to_numpy().astype(np.int64)
    return numbers


def _checked(
    plan: SearchRows, values: pa.ChunkedArray | pa.Array, numbers: NDArray[np.int64] | None
) -> Iterator[Block]:
    """Yield the vectors of a column with the numbers of their rows, once they are known good."""
    text = column_text(_vector_of(plan).name)
    for vectors, places in vector_blocks(values, text):
        known = places if numbers is None else numbers[places]
        check_vectors(vectors, known, plan.how.metric, "row", text)
        yield vectors, known


def search_index(
    plan: SearchRows,
    index: VectorIndex,
    vectors: NDArray[np.float32],
    table: Table,
    selected: NDArray[np.int64] | None,
    context: StatementContext,
) -> tuple[Neighbours, list[str]]:
    """Search the lists of an index, and compare all rows beside it."""
    arrays, k, metric = index.arrays, plan.options.k, plan.how.metric
    beside = table.row_count - arrays.row_count
    if beside > max(_MANY_BESIDE, _MANY_BESIDE_PART * len(arrays.row_ids)):
        context.warnings.append(
            f"{beside} rows lie beside the {arrays.list_count} lists of index '{index.name}', and "
            f"each search compares them all: REINDEX {index.name} puts them into lists"
        )
    allowed = table.live
    if selected is not None:
        # Visible rows alone are selected.
        allowed = np.zeros(table.row_count, np.bool_)
        allowed[selected] = True
    is_exact = plan.how.exact or (
        selected is not None
        and _is_selective(index, k, int(np.count_nonzero(selected < arrays.row_count)))
    )
    if is_exact and _scans_in_place(index, allowed, len(vectors)):
        found = search_ivf(arrays, vectors, k, arrays.list_count, allowed, ANYWHERE, context)
        found.probes[:] = 0
    elif is_exact:
        found = no_neighbours(len(vectors), k)
        nearest(_index_blocks(index, allowed), vectors, k, metric, found)
    else:
        rule = ANYWHERE if index.calibrated is None else index.calibrated.calibration.rule
        found = search_ivf(arrays, vectors, k, index.nprobe, allowed, rule, context)
    nearest(_beside(table, _vector_of(plan).name, index, allowed), vectors, k, metric, found)
    partial = "filtered" if selected is not None else _promise(index)
    complete = np.logical_or(is_exact, found.probes == arrays.list_count)
    return found, ["exact" if each else partial for each in complete]


def _promise(index: VectorIndex) -> str:
    """Return what is promised of a search of all rows that has not compared all of them."""
    if index.calibrated is None:
        return "uncalibrated"
    return "stale" if index.calibrated.is_stale else "marginal"


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


def _beside(
    table: Table, column: str, index: VectorIndex, allowed: NDArray[np.bool_] | None
) -> Iterator[Block]:
    """Yield the vectors of the rows that were added since an index was built, where they count."""
    first = 0
    for part in table.rows.parts:
        start = max(index.arrays.row_count - first, 0)
        if start < part.row_count:
            values = Rows(table.rows.schema, (part,)).column(column).slice(start)
            for vectors, places in vector_blocks(values, column_text(column)):
                numbers = places + first + start
                if allowed is not None:
                    counts = allowed[numbers]
                    vectors, numbers = vectors[counts], numbers[counts]  # noqa: PLW2901
                yield vectors, numbers
        first += part.row_count
