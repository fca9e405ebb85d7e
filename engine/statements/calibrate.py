"""CALIBRATE INDEX: query vectors to calibrations of a vector index, in place of those before.

USING (query)   its vectors, without those that are NULL; they are kept, for REINDEX
without it      some rows of the index, each of which is searched for among the others
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb import sql
from raydb.engine.catalog.indexes.stored_calibration import StoredCalibration
from raydb.engine.catalog.indexes.vector_index import check_vectors, vector_blocks
from raydb.engine.context.progress import report, report_compiling
from raydb.engine.session.statement_sources import open_sources
from raydb.errors import ProgrammingError
from raydb.kernels.stored.deferred import Deferred
from raydb.kernels.vector.calibration_trace import Searched, some_rows
from raydb.kernels.vector.conformal import MAX_QUERIES, MAX_TUNING, calibrate, least_queries
from raydb.names import known_object
from raydb.storage.tables.table import has_bits
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.engine.catalog.indexes.stored_calibration import Calibrations
    from raydb.engine.catalog.snapshot import Snapshot
    from raydb.engine.context.statement_context import StatementContext
    from raydb.kernels.vector.ivf import Ivf
    from raydb.kernels.vector.stop_rule import Score
    from raydb.sql import ast
    from raydb.storage.tables.table import Table

# So many rows are held out where no queries are given.
HELD_OUT_ROWS = 1000

# What the scores of some rows and queries take.
_BLOCK_BYTES = 2**24


@dataclass(frozen=True, eq=False, slots=True)
class _Sample:
    """Query vectors (n, d); own_rows (n): the rows that they are, None for other vectors."""

    vectors: NDArray[np.float32]
    own_rows: NDArray[np.int64] | None
    null_count: int = 0


@dataclass(frozen=True, slots=True)
class _Request:
    """What an index is calibrated for: each k with each missed share."""

    index: str
    ks: tuple[int, ...]
    fnrs: tuple[float, ...]
    score: Score
    seed: int
    confidence: float | None


def calibrate_index(
    statement: ast.Calibrate, indexes: Mapping[str, Table], context: StatementContext
) -> Snapshot:
    """Return the snapshot in which an index is calibrated; `indexes` has the table of each index.

    Raises ProgrammingError for an index that is none of vectors and for too few queries or rows,
    DataError for a query vector without distances.
    """
    name, snapshot = known_object(statement.index, indexes, "index"), context.snapshot
    if name not in snapshot.vector_indexes:
        raise ProgrammingError(f"index '{name}' is no ivf index: there is nothing to calibrate")
    report_compiling()
    index, table = snapshot.vector_indexes[name].get(), indexes[name]
    score = statement.score or ("ratio" if index.graph is None else "ef")
    if score == "ef" and index.graph is None:
        raise ProgrammingError(f"index '{name}' has no graph, which score = 'ef' is for")
    given = statement.ks, statement.fnrs, score, statement.seed, statement.confidence
    request = _Request(name, *given)
    if statement.queries is None:
        sample = _held_out_rows(index, table, statement.seed)
    else:
        sample = _given_queries(statement.queries, request, index, table, context)
    made = _calibrated(request, index, table, sample, context)
    keys = {stored.key for stored in made}
    kept = (each for each in snapshot.calibrations_of(name) if each.key not in keys)
    return _with_calibrations(snapshot, name, (*kept, *made))


def recalibrated(
    snapshot: Snapshot, name: str, table: Table, context: StatementContext
) -> Snapshot:
    """Return the snapshot with an index's calibrations made anew, of the same queries.

    Those for which the index has too few rows now are gone, with a warning for each.
    """
    known = snapshot.calibrations_of(name)
    if not known:
        return snapshot
    index = snapshot.vector_indexes[name].get()
    groups: dict[Hashable, list[StoredCalibration]] = {}
    for stored in known:
        made_by = stored.calibration
        group = id(stored.queries), made_by.rule.score, made_by.seed, made_by.confidence
        groups.setdefault(group, []).append(stored)
    made: list[StoredCalibration] = []
    for members in groups.values():
        first = members[0]
        if first.calibration.held_out:
            sample = _held_out_rows(index, table, first.calibration.seed)
        else:
            sample = _Sample(first.queries, None, first.null_queries)
        possible = [
            each for each in members if _can_stay(name, each, index, table, sample, context)
        ]
        if possible:
            keys = {each.key for each in possible}
            request = _request(name, possible)
            every = _calibrated(request, index, table, sample, context)
            made += (each for each in every if each.key in keys)
    return _with_calibrations(snapshot, name, tuple(made)) if known else snapshot


def _request(name: str, members: Sequence[StoredCalibration]) -> _Request:
    """Return the request for calibrations that share their queries, score, seed and confidence."""
    calibrations = [each.calibration for each in members]
    return _Request(
        name,
        tuple(dict.fromkeys(each.k for each in calibrations)),
        tuple(dict.fromkeys(each.fnr for each in calibrations)),
        calibrations[0].rule.score,
        calibrations[0].seed,
        calibrations[0].confidence,
    )


def _can_stay(
    name: str,
    stored: StoredCalibration,
    index: Ivf,
    table: Table,
    sample: _Sample,
    context: StatementContext,
) -> bool:
    """Tell whether a calibration can be made anew, and say what it lacks where it cannot."""
    lack = _lack(_request(name, [stored]), index, table, sample)
    if lack is not None:
        k, fnr, score = stored.key
        context.warnings.append(
            f"index '{name}' has lost its calibration for k => {k}, fnr => {fnr:g}, "
            f"score => '{score}'; it cannot be calibrated for {lack}"
        )
    return lack is None


def _with_calibrations(snapshot: Snapshot, name: str, known: Calibrations) -> Snapshot:
    in_order = tuple(sorted(known, key=lambda stored: stored.key))
    calibrations = {**snapshot.calibrations, name: Deferred.of(in_order)}
    return replace(snapshot, calibrations=calibrations)


def _held_out_rows(index: Ivf, table: Table, seed: int) -> _Sample:
    """Return the vectors of some visible rows that are in lists."""
    return _Sample(*some_rows(Searched(index, table.live), HELD_OUT_ROWS, seed))


def _given_queries(
    queries: ast.Select, request: _Request, index: Ivf, table: Table, context: StatementContext
) -> _Sample:
    """Return the vectors that a query gives, of very many as many as are made use of."""
    files = open_sources(queries, context)
    catalog = context.all_databases.with_changes(files).describe()
    width, definition = index.vectors.shape[1], table.definition
    (column,) = next(each.columns for each in definition.ivf_indexes if each.name == request.index)
    stored = definition.schema.field(column).type
    kind = stored if has_bits(stored) else pa.list_(pa.float32(), width)
    plan = sql.bind_sample(queries, request.index, kind, catalog, context.parameters)
    values = context.run(plan, files).column(0)
    what = f"the query vector of CALIBRATE INDEX '{request.index}'"
    found = list(vector_blocks(values, what, bits=index.bits))
    if not found:
        return _Sample(np.empty((0, width), np.float32), None, len(values))
    vectors, numbers = (np.concatenate(parts) for parts in zip(*found, strict=True))
    check_vectors(vectors, numbers, index.metric, "row", what)
    null_count = len(values) - len(vectors)
    if len(vectors) > MAX_QUERIES:
        rng = np.random.default_rng(request.seed)
        vectors = vectors[np.sort(rng.choice(len(vectors), MAX_QUERIES, replace=False))]
    return _Sample(np.ascontiguousarray(vectors), None, null_count)


def _calibrated(
    request: _Request, index: Ivf, table: Table, sample: _Sample, context: StatementContext
) -> Calibrations:
    """Return the calibrations that are asked for, once rows and queries are known to suffice."""
    name = request.index
    lack = _lack(request, index, table, sample)
    if lack is not None:
        raise ProgrammingError(f"index '{name}' cannot be calibrated for {lack}")
    context.new_memory().check(_need(request, index, sample), f"CALIBRATE INDEX '{name}'")
    step = f"index {name}: calibration"
    # How much is left depends on how far the queries' neighbours are.
    searched = Searched(index, table.live, keep_going=partial(report, step, 0.0))
    made = calibrate(
        *(searched, sample.vectors, request.ks, request.fnrs, request.score, request.seed),
        sample.own_rows,
        request.confidence,
    )
    report(step, 1.0)
    kept = sample.vectors if sample.own_rows is None else sample.vectors[:0]
    return tuple(
        StoredCalibration(each, kept, sample.null_count, table.row_count, table.live_count)
        for each in made
    )


def _lack(request: _Request, index: Ivf, table: Table, sample: _Sample) -> str | None:
    """Return what a calibration takes that there is not, None where nothing is missing."""
    row_count = len(index.row_ids)
    if table.live is not None:
        row_count = int(np.count_nonzero(table.live[index.row_ids]))
    most = row_count if sample.own_rows is None else max(row_count - 1, 0)
    if max(request.ks) > most:
        beside = "" if sample.own_rows is None else " beside the one that is held out"
        return f"k = {max(request.ks)}: its lists have {most} vectors{beside}"
    fnr, count = min(request.fnrs), len(sample.vectors)
    least = least_queries(fnr, request.confidence)
    if count >= least:
        return None
    what = "rows to hold out"
    if sample.own_rows is None:
        what = "queries"
    skipped = f" beside {sample.null_count} that are NULL" if sample.null_count else ""
    how = "" if request.confidence is None else f" with confidence = {request.confidence:g}"
    return f"fnr = {fnr:g}{how}: that takes {least} {what}, and there are {count}{skipped}"


def _need(request: _Request, index: Ivf, sample: _Sample) -> int:
    """Return about how many bytes a calibration takes beside the index, and rather more."""
    # Rows of the index may tune, beside all queries.
    count = min(len(sample.vectors), MAX_QUERIES) + MAX_TUNING
    vectors: int = 2 * (sample.vectors.nbytes + 4 * sample.vectors.shape[1] * MAX_TUNING)
    # For each neighbour its list and scores there, for each query that tunes those at all lists.
    neighbours = 48 * max(request.ks) * count
    lists = 40 * index.list_count * min(count, 2 * MAX_TUNING)
    return _BLOCK_BYTES + vectors + neighbours + lists
