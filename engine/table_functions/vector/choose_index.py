"""The choice of an index for a vector search, or of comparing all rows, with its reason.

    Search(queries, Project(Filter(Scan)))  ->  Project(SearchRows(queries, Scan,
                                                    selection = row numbers of the Filter))

A table is searched by row numbers, so that columns are read for the rows that are found only.
What is no table (a join, a sum) is searched row by row.
"""

from __future__ import annotations

from math import isclose, sqrt
from typing import TYPE_CHECKING, cast

from raydb.engine.table_functions.search.found_rows import over_table
from raydb.errors import ProgrammingError
from raydb.kernels.vector.graph import MOST_EF, USUAL_EF
from raydb.planner.expressions.nodes import Column
from raydb.planner.plan.nodes import Plan, Project, Scan, SearchRows
from raydb.planner.plan.table_rows import rows_of_table
from raydb.storage.tables.table import has_bits
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from raydb.kernels.vector.exact_search import Metric
    from raydb.kernels.vector.ivf import Ivf
    from raydb.kernels.vector.stop_rule import Score
    from raydb.planner.catalog import CalibrationInfo, CatalogInfo
    from raydb.planner.lower import Lowering
    from raydb.planner.plan.nodes import PhysicalPlan, Search
    from raydb.storage.tables.table import Index


# For more rows than this, lists are scanned.
_MOST_WALKED = 1000

# Which of several calibrations for one promise is taken.
_PREFERRED: tuple[Score, ...] = ("ef", "ratio", "kth")


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How many rows vector_search() is to find, and how; what is None is for the index to say.

    nprobe: how many lists of an index to scan. exact: whether to compare all rows. fnr: the share
    of the k nearest rows that may be missed, by a calibration with `score`. is_order: whether rows
    without a distance, NULLs too, follow where there are fewer, as in ORDER BY. offset: how many of
    the nearest rows, which are among the k, are passed over. most: the greatest distance of a row
    that is found, where it is the same for all vectors. is_every: whether all rows within that are
    asked for, and not k of them. ef: how many vectors a walk along a graph keeps.
    """

    k: int
    nprobe: int | None
    exact: bool
    metric: str | None
    fnr: float | None = None
    score: Score | None = None
    is_order: bool = False
    offset: int = 0
    most: float | None = None
    is_every: bool = False
    ef: int | None = None


@dataclass(frozen=True, slots=True)
class VectorIndex:
    """An index that a vector search uses: its name, its arrays, and how many lists to scan.

    calibrated: what says when to stop instead, for a search with a promise. ef: how many vectors a
    walk along its graph keeps; 0 where lists are scanned.
    """

    name: str
    arrays: Ivf
    nprobe: int
    calibrated: CalibrationInfo | None = None
    ef: int = 0


@dataclass(frozen=True, slots=True)
class VectorJob:
    """How the rows of a search are compared: all of them where `exact`, or those of an index.

    metric: the index's, where there is one. reason: why all rows are compared, or which index it
    is. note: which argument has no effect.
    """

    metric: Metric
    exact: bool
    index: VectorIndex | None
    reason: str
    note: str = ""


def lower_vector_search(plan: Search, lowering: Lowering) -> PhysicalPlan:
    """Choose how to run a search.

    Raises ProgrammingError where the metric is not told, or more rows are asked for than there are.
    """
    options: SearchOptions = plan.options
    catalog = lowering.catalog
    (column,) = plan.read
    assert isinstance(column, Column)
    rows = None if plan.pairs else rows_of_table(plan.right)
    vector = None if rows is None else rows.definitions[column]
    if rows is None or not isinstance(vector, Column):
        if options.fnr is not None:
            raise ProgrammingError(
                "vector_search() with fnr needs rows of one table, which an ivf index has"
            )
        which = "that are the same for all vectors" if plan.pairs else "of one table"
        reason, metric = (
            "all rows of the query are compared",
            _metric(options, column),
        )
        stored = stored_column(plan.right, column) if plan.pairs else None
        if stored is not None:
            reason = "all rows that there are for a vector are compared"
            _, metric = _choose_index(options, stored[0], replace(column, name=stored[1]), catalog)
        note = _note(options, f"only rows {which} have an index")
        return SearchRows.of(plan, lowering, VectorJob(metric, True, None, reason, note))
    scan, selection = rows.scan, rows.selection(lowering.fresh)
    name, metric = _choose_index(options, scan.table, vector, catalog)
    if options.fnr is not None and name is None:
        raise ProgrammingError(
            f"vector_search() with fnr needs an ivf index of '{vector.name}' of '{scan.table}' for "
            f"{metric}: CREATE INDEX and CALIBRATE INDEX make one"
        )
    index, reason = _use_index(options, name, lowering, is_filtered=selection is not None)
    note = "" if index is None else _note_of_walk(options, index)
    if index is None and name is None:
        lack = f"no ivf index of '{vector.name}' of '{scan.table}' for {metric}"
        reason, note = f"all rows are compared ({lack})", _note(options, f"there is {lack}")
    # Nobody knows what a filter leaves in lists that are far: only all of it keeps a promise.
    is_exact = options.exact or (options.fnr is not None and selection is not None)
    job = VectorJob(metric, is_exact, index, reason, note)
    return over_table(plan, lowering, rows, job, selection)


def _note(options: SearchOptions, why: str) -> str:
    """Return what to tell a user who has asked for lists of an index where there are none."""
    given = {"nprobe": options.nprobe, "ef": options.ef}
    told = [f"{name} => {value}" for name, value in given.items() if value is not None]
    return f"{told[0]} has no effect: {why}, and all rows are compared" if told else ""


def _note_of_walk(options: SearchOptions, index: VectorIndex) -> str:
    """Return why a walk that a user asks for is none."""
    if options.ef is None or index.ef:
        return ""
    why = f"index '{index.name}' has no graph"
    if index.arrays.graph is not None:
        why = f"among filtered rows, and for more than {_MOST_WALKED}, lists are scanned"
    return f"ef => {options.ef} has no effect: {why}"


def stored_column(plan: Plan, column: Column) -> tuple[str, str] | None:
    """Return the table and the name of the stored column whose values a column has."""
    match plan:
        case Scan(table=table):
            return table, column.name
        case Project(source=source, items=items):
            below = dict(items)[column]
            return stored_column(source, below) if isinstance(below, Column) else None
        case _:
            owners = [each for each in plan.sources if column in each.columns]
            return stored_column(owners[0], column) if len(owners) == 1 else None


def _metric(options: SearchOptions, vector: Column) -> Metric:
    """Return the metric of a search without an index."""
    return cast("Metric", options.metric or ("hamming" if has_bits(vector.type) else "l2"))


def _choose_index(
    options: SearchOptions, table: str, vector: Column, catalog: CatalogInfo
) -> tuple[Index | None, Metric]:
    """Return the index for a search, if there is one, and the metric. vector: the table's."""
    wanted, column = options.metric, vector.name
    indexes = catalog.tables[table].definition.ivf_indexes
    usable = [
        index
        for index in indexes
        if index.ivf is not None
        and index.columns == (column,)
        and wanted in (None, index.ivf.metric)
    ]
    if len(usable) > 1:
        metrics = " and ".join(f"'{index.ivf.metric}'" for index in usable if index.ivf)
        raise ProgrammingError(
            f"column '{column}' of table '{table}' has ivf indexes for {metrics}: "
            "vector_search() needs metric => one of them"
        )
    if not usable:
        return None, _metric(options, vector)
    (index,) = usable
    assert index.ivf is not None
    return index, cast("Metric", index.ivf.metric)


def _use_index(
    options: SearchOptions, index: Index | None, lowering: Lowering, *, is_filtered: bool
) -> tuple[VectorIndex | None, str]:
    """Return how an index is used, and a word on it."""
    if index is None:
        return None, ""
    catalog = lowering.catalog
    arrays = catalog.vector_indexes[index.name].get()
    nprobe = options.nprobe or lowering.options.nprobe or max(1, round(sqrt(arrays.list_count)))
    used = VectorIndex(index.name, arrays, min(nprobe, arrays.list_count))
    if options.exact and options.is_order:
        return used, f"all rows that the filter leaves are compared, those of '{index.name}' in it"
    if options.exact:
        return used, f"all rows are compared, those of '{index.name}' in it (exact => true)"
    if options.fnr is not None:
        info = _choose_calibration(options, index.name, catalog)
        if is_filtered:
            told = f"all rows that the filter leaves are compared, those of '{index.name}' in it"
            return used, f"{told}: at most {options.fnr:g} missed, whatever it leaves"
        used = replace(used, nprobe=1, calibrated=info, ef=info.calibration.ef)
        told = _describe_rule(info, index.name, arrays.list_count)
        return used, f"{told}; {_describe_promise(info)}"
    is_walk = not (options.nprobe or lowering.options.nprobe or options.is_every or is_filtered)
    if is_walk and arrays.graph is not None and options.k <= _MOST_WALKED:
        used = replace(used, ef=max(options.ef or lowering.options.ef or USUAL_EF, options.k))
        return used, f"a walk along the graph of '{index.name}' that keeps {used.ef} vectors"
    return used, f"{used.nprobe} of {arrays.list_count} lists of '{index.name}'"


def _choose_calibration(
    options: SearchOptions, index: str, catalog: CatalogInfo
) -> CalibrationInfo:
    """Return the calibration that a search asks for; see `_PREFERRED` where it names no score.

    Raises ProgrammingError where there is none for just this k and fnr, naming those that are.
    """
    assert options.fnr is not None
    known = [
        info
        for info in catalog.calibrations.get(index, ())
        if options.score in (None, info.calibration.rule.score)
    ]
    fitting = [
        info
        for info in known
        if info.calibration.k == options.k
        # A parameter may be a number of float32.
        and isclose(info.calibration.fnr, options.fnr, rel_tol=1e-6)
    ]
    if fitting:
        return min(fitting, key=lambda info: _PREFERRED.index(info.calibration.rule.score))
    wanted = f"k => {options.k}, fnr => {options.fnr:g}"
    if options.score is not None:
        wanted += f", score => '{options.score}'"
    told = f"index '{index}' is not calibrated for {wanted}"
    if not known:
        raise ProgrammingError(f"{told}: CALIBRATE INDEX does that")
    raise ProgrammingError(f"{told}, only for {_listed(known)}: CALIBRATE INDEX adds to that")


def _listed(known: Iterable[CalibrationInfo]) -> str:
    """Return what an index is calibrated for, such as `k => 10 with fnr => 0.05 or 0.1`."""
    shares: dict[int, set[float]] = {}
    for info in known:
        shares.setdefault(info.calibration.k, set()).add(info.calibration.fnr)
    return "; ".join(
        f"k => {k} with fnr => {' or '.join(f'{fnr:g}' for fnr in sorted(shares[k]))}"
        for k in sorted(shares)
    )


def _describe_rule(info: CalibrationInfo, index: str, list_count: int) -> str:
    """Return when a search stops, and how many lists that takes."""
    rule, ef = info.calibration.rule, info.calibration.ef
    if ef > MOST_EF:
        return f"all rows are compared: no walk along the graph of '{index}' finds enough"
    if ef:
        looked_at = f"looks at about {info.calibration.probes:.0f}"
        return f"a walk along the graph of '{index}' that keeps {ef} vectors and {looked_at}"
    if info.first_list_suffices:
        return f"the first of {list_count} lists of '{index}', which finds enough"
    penalty = f" with {rule.gamma:g} a list after {rule.kreg}" if rule.gamma else ""
    return (
        f"lists of '{index}' until the {rule.score} score{penalty} is {rule.threshold:.6g}, "
        f"about {info.calibration.probes:.1f} of {list_count}"
    )


def _describe_promise(info: CalibrationInfo) -> str:
    """Return what is promised, and what it rests on."""
    calibration = info.calibration
    kind = "held-out rows" if calibration.held_out else "queries"
    state = "fresh"
    if info.is_stale:
        state = f"stale: {info.rows_added} rows added, {info.rows_deleted} deleted since"
    promise = f"at most {calibration.fnr:g} missed on average"
    if calibration.confidence is not None:
        promise += f" with confidence {calibration.confidence:g}"
    return f"{promise}, calibrated with {calibration.calibration_count} {kind} ({state})"
