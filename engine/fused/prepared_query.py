"""A query over a star that is known but for its constants: from literals to a plan that has run.

What `planner.prepared_star` leaves to do is little: the nodes above the job, how its rows are
described and ordered, and what is accumulated are the same for all constants.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, TypeAlias

from raydb.engine.fused import delta as fused_delta
from raydb.engine.fused import row_fast_path
from raydb.engine.fused.post_aggregate import PostAggregate, prepare_post_aggregate
from raydb.engine.fused.run import StarJobs, decode_groups
from raydb.engine.plans.prepared_plan import PreparedPlan
from raydb.planner.expressions.nodes import expressions_of, map_call
from raydb.planner.plan.nodes import Aggregate, Filter, Project, Star
from raydb.planner.prepared_star import (
    filled,
    filled_predicates,
    has_open_lambda,
    holes_in,
    prepare_fetching,
    prepare_on,
    prepare_star,
)
from raydb.planner.stars.choose import fetch_limits
from raydb.planner.stars.codes.by_loop import MAX_CODES
from raydb.planner.stars.delta import MIN_SCANNED, DeltaScan, part_conditions
from raydb.planner.stars.fused_scan import FusedScanAggregate
from raydb.planner.stars.table_scan import FusedTableScan
from raydb.storage.enums import has_enums
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from raydb import sql
    from raydb.engine.fused.derived_cache import DerivedCache
    from raydb.engine.fused.row_fast_path import RowFastPath
    from raydb.engine.fused.table_job import TableJob
    from raydb.kernels.backends.backend import FusedResult
    from raydb.kernels.backends.cpu.cpu_backend import CpuJob
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Expression, Literal
    from raydb.planner.expressions.slots import SlotLiteral
    from raydb.planner.plan.nodes import PhysicalPlan, Plan
    from raydb.planner.prepared_scan import Rivals
    from raydb.planner.prepared_star import Literals, PreparedStar
    from raydb.planner.stars.choose import FetchLimits
    from raydb.planner.stars.fused_scan import JobCells
    from raydb.storage.tables.table import Table


# A Python object, where it lies, and its rank.
VALUE_BYTES = 72

# A number, or a short text, that is fetched for a row.
FETCHED_BYTES = 16


# The codes of an image that the compiled loop passes over, which takes less than a scan.
MOST_CODES = 2**20


@dataclass(frozen=True, eq=False, slots=True)
class _Open:
    """A plan over one star with holes: what its literals change beside the star's predicates.

    first: the plan with some literals. star: its predicates have holes, keys and aggregates have
    these literals, `fixed` by their holes. above: nodes with holes by how many are above them.
    """

    first: PreparedPlan
    star: Star
    fixed: Mapping[SlotLiteral, Literal]
    above: Mapping[int, Plan]

    def fits(self, literals: Literals) -> bool:
        """Tell whether keys and aggregates have the same literals."""
        return not self.fixed or all(
            repr(literals[hole.slot][hole.place]) == repr(literal)
            for hole, literal in self.fixed.items()
        )

    def plan(self, jobs: Mapping[Plan, Plan], literals: Literals) -> PhysicalPlan:
        """Return the plan with other jobs at its ends, and other literals."""
        return self._over(self.first.plan, 0, jobs, literals)

    def _over(
        self, plan: PhysicalPlan, place: int, jobs: Mapping[Plan, Plan], literals: Literals
    ) -> PhysicalPlan:
        if not plan.sources:  # to look any other node up would hash all that is in it
            return jobs.get(plan, plan)
        node = self.above.get(place)
        if node is not None:
            held = node.map_expressions(lambda each: filled(each, literals))
            plan = held.map_sources(lambda _: plan.sources[0])
        return plan.map_sources(lambda source: self._over(source, place + 1, jobs, literals))

    def post_aggregate(
        self, plan: PhysicalPlan, job: FusedScanAggregate | FusedTableScan
    ) -> PostAggregate | None:
        """Return how the rows of a plan come from its job, if those of the first do so."""
        known = self.first.post_aggregate
        if known is None or self.above:
            return prepare_post_aggregate(plan)
        return PostAggregate(job, known.steps, known.names)


class PreparedQuery:
    """A query over a star with holes that one job answers.

    names, types: of its columns. bvh: the one that the job reads. fast_path: how its rows come
    straight from the job, None where they do not.
    """

    def __init__(self, opened: _Open, job: FusedScanAggregate, star: PreparedStar) -> None:
        """Prepare a query. job: the one with the first literals."""
        first = opened.first
        self.names, self.types, self.bvh = first.names, first.types, job.bvh
        self.star, self.jobs = star, StarJobs(job)
        self._open, self._job = opened, job
        self.fast_path = None if any(map(has_enums, first.types)) else self._row_fast_path()

    @property
    def size_bytes(self) -> int:
        """About the bytes that it takes."""
        return self.star.size_bytes + self.star.value_count * VALUE_BYTES

    def plan(self, filling: sql.Filling) -> FilledQuery | None:
        """Return the query with other literals; None where its plan may be another one."""
        literals = filling.literals
        cells = self.star.fill(literals) if self._open.fits(literals) else None
        return None if cells is None else FilledQuery(self, cells, literals)

    def prepared(self, job: FusedScanAggregate, literals: Literals) -> PreparedPlan:
        """Return the plan with another job, as `first_row_path` does."""
        plan = self._open.plan({self._job: job}, literals)
        post_aggregate = self._open.post_aggregate(plan, job)
        return PreparedPlan(
            plan, self.names, self.types, post_aggregate, row_fast_path=self.fast_path
        )

    def _row_fast_path(self) -> RowFastPath | None:
        steps = row_fast_path.find_row_steps(self._open.first.plan)
        if steps is None:
            return None
        sources = row_fast_path.total_sources(self._job)
        for place, (columns, tuples) in enumerate(self.star.key_parts):
            sources |= row_fast_path.tuple_sources(tuples, columns, place, MAX_CODES)
        return steps.over(sources, has_keys=bool(self._job.keys))


class FilledQuery:
    """A query with its literals, ready to run once. cells: those that its job reads."""

    __slots__ = ("_job", "_literals", "cells", "query")

    def __init__(self, query: PreparedQuery, cells: JobCells, literals: Literals) -> None:
        self.query, self.cells, self._literals = query, cells, literals
        self._job: FusedScanAggregate | None = None

    @property
    def fast_path(self) -> RowFastPath | None:
        """How its rows come straight from its job, as far as there are few groups."""
        return self.query.fast_path if self.cells.group_count <= row_fast_path.MAX_GROUPS else None

    def launch(self) -> FusedResult:
        """Run the job."""
        return self._prepare().launch()

    def table(self, groups: FusedResult) -> pa.Table:
        """Return the rows of the query from what the job has found."""
        plan = self.plan()
        assert plan.post_aggregate is not None
        return plan.post_aggregate.rows(decode_groups(self._made(), groups).table())

    def plan(self) -> PreparedPlan:
        """Return the plan, its job prepared."""
        job = self._made()
        prepared = self.query.prepared(job, self._literals)
        prepared.jobs[job] = self._prepare()
        # Where a key has no value there are no keys of all groups, which the next run would take.
        chosen = [part.chosen for part in self.cells.parts]
        is_whole = all(each is not None and len(each) for each in chosen)
        return prepared if self.fast_path and is_whole else replace(prepared, row_fast_path=None)

    def _made(self) -> FusedScanAggregate:
        if self._job is None:
            self._job = self.query.star.plan(self.cells)
        return self._job

    def _prepare(self) -> CpuJob:
        return self.query.jobs.of_cells(self.cells)


class PreparedScan:
    """A query with holes that one scan answers.

    scan, job: those with the first literals. star: that of the job, with holes.
    """

    def __init__(
        self,
        opened: _Open,
        scan: FusedTableScan,
        job: TableJob,
        star: PreparedStar,
        rivals: Rivals,
    ) -> None:
        self._open, self._scan, self._job = opened, scan, job
        self._star, self._rivals = star, rivals

    @property
    def size_bytes(self) -> int:
        """About the bytes that it takes."""
        return self._star.size_bytes + self._star.value_count * VALUE_BYTES

    def plan(self, filling: sql.Filling) -> PreparedPlan | None:
        """Return the plan with other literals, its job ready; None where it may be another one."""
        literals, first = filling.literals, self._open.first
        if not self._open.fits(literals) or not self._rivals.lose(literals):
            return None
        cells = self._star.fill(literals)
        job = None if cells is None else self._job.over(self._star.plan(cells))
        if job is None:
            return None
        predicates = filled_predicates(self._open.star, literals)
        scan = replace(self._scan, star=replace(self._scan.star, predicates=predicates))
        plan = self._open.plan({self._scan: scan}, literals)
        post_aggregate = self._open.post_aggregate(plan, scan)
        return PreparedPlan(plan, first.names, first.types, post_aggregate, scans={scan: job})


class PreparedFetch:
    """A query with holes that one job answers which fetches what its BVH does not encode.

    job: that with the first literals. star: without the predicates that are `fetched`, with holes.
    """

    def __init__(
        self,
        opened: _Open,
        job: FusedScanAggregate,
        star: PreparedStar,
        fetched: tuple[Expression, ...],
        limits: FetchLimits,
    ) -> None:
        self._open, self._job, self._jobs = opened, job, StarJobs(job)
        self._star, self._fetched, self._limits = star, fetched, limits

    @property
    def size_bytes(self) -> int:
        """About the bytes that it takes."""
        return self._star.size_bytes + self._star.value_count * VALUE_BYTES

    def plan(self, filling: sql.Filling) -> PreparedPlan | None:
        """Return the plan with other literals, its job prepared; None where it may be another."""
        literals, first = filling.literals, self._open.first
        cells = self._star.fill(literals) if self._open.fits(literals) else None
        if cells is None:
            return None
        fetched = tuple([filled(each, literals) for each in self._fetched])
        job = replace(self._star.plan(cells), residual_predicates=fetched)
        if not self._limits.allow(job):
            return None
        plan = self._open.plan({self._job: job}, literals)
        return PreparedPlan(
            plan,
            first.names,
            first.types,
            self._open.post_aggregate(plan, job),
            jobs={job: self._jobs.of_cells(cells)},
        )


class PreparedWithNewer:
    """A query over a star with holes on a BVH that lacks the newest rows.

    star: the part on the BVH. parts: those with the first literals; newer rows are kept.
    """

    def __init__(self, opened: _Open, star: PreparedStar, parts: _Parts) -> None:
        self._open = opened
        self._star = star
        self._parts = parts
        self._jobs = StarJobs(parts.job)
        self._rows = fused_delta.FetchedRows()
        self._keeps_rows = parts.delta.scan is None and parts.delta.newer.count < MIN_SCANNED

    @property
    def size_bytes(self) -> int:
        """About the bytes that it takes, with the rows that it may keep."""
        star = self._parts.delta.star
        attributes = len(star.keys) + len(star.predicates) + len(star.aggregates)
        rows = self._parts.delta.newer.count if self._keeps_rows else 0
        return self._star.size_bytes + rows * attributes * FETCHED_BYTES

    def plan(self, filling: sql.Filling) -> PreparedPlan | None:
        """Return the plan with other literals, its job prepared; None where it may be another."""
        literals, delta = filling.literals, self._parts.delta
        cells = self._star.fill(literals) if self._open.fits(literals) else None
        if cells is None:
            return None
        job = self._star.plan(cells)
        predicates = filled_predicates(self._open.star, literals)
        star = replace(delta.star, predicates=predicates)
        scan = None if delta.scan is None else replace(delta.scan, star=star)
        newer = replace(delta, star=star, scan=scan)
        return PreparedPlan(
            self._open.plan({self._parts.job: job, delta: newer}, literals),
            self._open.first.names,
            self._open.first.types,
            None,
            jobs={job: self._jobs.of_cells(cells)},
            deltas={newer: self._rows} if self._keeps_rows else {},
        )


@dataclass(frozen=True, eq=False, slots=True)
class _Parts:
    """The jobs of a star on a BVH and on the rows that it lacks, with the first literals."""

    job: FusedScanAggregate
    delta: DeltaScan


AnyPrepared: TypeAlias = PreparedQuery | PreparedFetch | PreparedScan | PreparedWithNewer


def prepare_query(
    filling: sql.Filling,
    first: PreparedPlan,
    catalog: CatalogInfo,
    tables: Mapping[str, Table],
    cache: DerivedCache,
) -> AnyPrepared | None:
    """Prepare a query whose plan with some literals is known; None where it is no such query."""
    opened = _open(filling, first)
    if opened is None:
        return None
    ends = _ends(first.plan)
    match ends:
        case (FusedScanAggregate() as job,) if not job.is_direct:
            return _prepare_fetching(opened, job, filling, catalog)
        case (FusedScanAggregate() as job,) if first.post_aggregate is not None:
            prepared = prepare_star(opened.star, filling.literals, job, catalog)
            return None if prepared is None else PreparedQuery(opened, job, prepared)
        case (FusedScanAggregate() as job, DeltaScan() as delta):
            return _prepare_with_newer(opened, _Parts(job, delta), filling.literals, catalog)
        case (FusedTableScan() as scan,):
            rivals = _rivals_of(opened, scan, filling.literals, catalog)
            return None if rivals is None else _prepare_scan(opened, scan, rivals, tables, cache)
    return None


def _prepare_fetching(
    opened: _Open, job: FusedScanAggregate, filling: sql.Filling, catalog: CatalogInfo
) -> PreparedFetch | None:
    # A process that asks one question does without.
    from raydb.planner.lower import general_path_cost  # noqa: PLC0415

    literals = filling.literals
    found = prepare_fetching(opened.star, literals, job, catalog)
    # Conditions of aggregates may be a scan's keys.
    if found is None or part_conditions(opened.star, count()) is not None:
        return None
    plan = filling.plan()
    while not isinstance(plan, Aggregate):
        (plan,) = plan.sources
    asked = replace(opened.star, predicates=filled_predicates(opened.star, literals))
    limits = fetch_limits(asked, job, catalog, general_path_cost(plan, catalog))
    return PreparedFetch(opened, job, *found, limits)


def _rivals_of(
    opened: _Open, scan: FusedTableScan, literals: Literals, catalog: CatalogInfo
) -> Rivals | None:
    """Return what may be better than a scan; None where it does not ask all that the star does."""
    if scan.backends != ("cpu",) or scan.first_row:
        return None
    if filled_predicates(opened.star, literals) != scan.star.predicates:
        return None
    from raydb.planner.prepared_scan import find_rivals  # noqa: PLC0415  (as above)

    return find_rivals(opened.star, scan.star, literals, catalog)


def _prepare_scan(
    opened: _Open,
    scan: FusedTableScan,
    rivals: Rivals,
    tables: Mapping[str, Table],
    cache: DerivedCache,
) -> PreparedScan | None:
    from raydb.engine.fused.table_job import fuse_on_rows, open_star  # noqa: PLC0415  (as above)

    job = fuse_on_rows(scan, tables, cache)
    if job is None or job.scan is None:
        return None
    star = open_star(job, opened.star.predicates, scan.star)
    if star is None:
        return None
    prepared = prepare_on(star, job.plan, job.describe(), None, MOST_CODES)
    return None if prepared is None else PreparedScan(opened, scan, job, prepared, rivals)


def _prepare_with_newer(
    opened: _Open, parts: _Parts, literals: Literals, catalog: CatalogInfo
) -> PreparedWithNewer | None:
    delta = parts.delta
    # Else its predicates are not those of the whole.
    if filled_predicates(opened.star, literals) != delta.star.predicates:
        return None
    asked = replace(opened.star, keys=delta.star.keys, aggregates=delta.star.aggregates)
    prepared = prepare_star(asked, literals, parts.job, catalog)
    return None if prepared is None else PreparedWithNewer(opened, prepared, parts)


def _open(filling: sql.Filling, first: PreparedPlan) -> _Open | None:
    """Return what literals change of a plan over one star; None for another one.

    first: the plan with these literals. Below the nodes above the star there is one source each.
    """
    plan, physical, literals = filling.open_plan.plan, first.plan, filling.literals
    above: dict[int, Plan] = {}
    place = 0
    while not isinstance(plan, Aggregate):
        if len(plan.sources) != 1 or any(map(has_open_lambda, plan.expressions)):
            return None
        if holes_in(plan.expressions):
            known = plan.map_expressions(lambda each: filled(each, literals))
            if not isinstance(plan, Filter | Project) or type(physical) is not type(plan):
                return None
            if known.expressions != physical.expressions:
                return None
            above[place] = plan
        (plan,) = plan.sources
        (physical,) = physical.sources if len(physical.sources) == 1 else (physical,)
        place += 1
    if not isinstance(plan.star, Star) or plan.star.given or plan.grouping is not None:
        return None
    star = plan.star
    asked = [key for _, key in star.keys]
    asked += [each for _, call in star.aggregates for each in expressions_of(call)]
    if any(map(has_open_lambda, (*asked, *star.predicates))):
        return None
    fixed = {hole: literals[hole.slot][hole.place] for hole in holes_in(asked)}
    if fixed:
        star = replace(
            star,
            keys=tuple([(column, filled(key, literals)) for column, key in star.keys]),
            aggregates=tuple(
                [(c, map_call(call, lambda e: filled(e, literals))) for c, call in star.aggregates]
            ),
        )
    return _Open(first, star, fixed, above)


def _ends(plan: PhysicalPlan) -> tuple[Plan, ...]:
    """Return the sources below nodes that have one source each, or that one."""
    while len(plan.sources) == 1:
        (plan,) = plan.sources
    return plan.sources or (plan,)
