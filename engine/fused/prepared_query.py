"""A query over a star that is known but for its constants: from literals to a plan that has run.

What `planner.prepared_star` leaves to do is little: the nodes above the job, how its rows are
described and ordered, and what is accumulated are the same for all constants.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from raydb.engine.fused import delta as fused_delta
from raydb.engine.fused import row_fast_path
from raydb.engine.fused.post_aggregate import PostAggregate
from raydb.engine.fused.run import StarJobs, decode_groups
from raydb.engine.plans.prepared_plan import PreparedPlan
from raydb.planner.expressions.nodes import expressions_of
from raydb.planner.plan.nodes import Aggregate, Star
from raydb.planner.prepared_star import filled_predicates, has_holes, prepare_star
from raydb.planner.stars.codes.by_loop import MAX_CODES
from raydb.planner.stars.delta import MIN_SCANNED, DeltaScan
from raydb.planner.stars.fused_scan import FusedScanAggregate
from raydb.storage.enums import has_enums
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from raydb import sql
    from raydb.engine.fused.row_fast_path import RowFastPath
    from raydb.kernels.backends.backend import FusedResult
    from raydb.kernels.backends.cpu.cpu_backend import CpuJob
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.plan.nodes import PhysicalPlan, Plan
    from raydb.planner.prepared_star import PreparedStar
    from raydb.planner.stars.fused_scan import JobCells


# A Python object, where it lies, and its rank.
VALUE_BYTES = 72

# A number, or a short text, that is fetched for a row.
FETCHED_BYTES = 16


class PreparedQuery:
    """A query over a star with holes that one job answers.

    names, types: of its columns. bvh: the one that the job reads. fast_path: how its rows come
    straight from the job, None where they do not.
    """

    def __init__(self, first: PreparedPlan, star: PreparedStar) -> None:
        """Prepare a query. first: its plan with some literals."""
        assert first.post_aggregate is not None
        job = first.post_aggregate.job
        assert isinstance(job, FusedScanAggregate)
        self.names, self.types, self.bvh = first.names, first.types, job.bvh
        self.star, self.jobs = star, StarJobs(job)
        self._first, self._job = first, job
        self.fast_path = None if any(map(has_enums, first.types)) else self._row_fast_path()

    @property
    def size_bytes(self) -> int:
        """About the bytes that it takes."""
        return self.star.size_bytes + self.star.value_count * VALUE_BYTES

    def plan(self, filling: sql.Filling) -> FilledQuery | None:
        """Return the query with other literals; None where its plan may be another one."""
        cells = self.star.fill(filling.literals)
        return None if cells is None else FilledQuery(self, cells)

    def prepared(self, job: FusedScanAggregate) -> PreparedPlan:
        """Return the plan with another job, as `first_row_path` does."""
        known = self._first.post_aggregate
        assert known is not None
        return PreparedPlan(
            _with_jobs(self._first.plan, {self._job: job}),
            self.names,
            self.types,
            PostAggregate(job, known.steps, known.names),
            row_fast_path=self.fast_path,
        )

    def _row_fast_path(self) -> RowFastPath | None:
        steps = row_fast_path.find_row_steps(self._first.plan)
        if steps is None:
            return None
        sources = row_fast_path.total_sources(self._job)
        for place, (columns, tuples) in enumerate(self.star.key_parts):
            sources |= row_fast_path.tuple_sources(tuples, columns, place, MAX_CODES)
        return steps.over(sources, has_keys=bool(self._job.keys))


class FilledQuery:
    """A query with its literals, ready to run once. cells: those that its job reads."""

    __slots__ = ("_job", "cells", "query")

    def __init__(self, query: PreparedQuery, cells: JobCells) -> None:
        self.query, self.cells = query, cells
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
        prepared = self.query.prepared(job)
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


class PreparedWithNewer:
    """A query over a star with holes on a BVH that lacks the newest rows.

    first: its plan with some literals. star: the part on the BVH. open_star: the star with holes
    that `delta`, the part of the newer rows, is with some literals; these rows are kept.
    """

    def __init__(
        self, first: PreparedPlan, star: PreparedStar, parts: _Parts, open_star: Star
    ) -> None:
        self._first = first
        self._star = star
        self._parts = parts
        self._open_star = open_star
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
        cells, delta = self._star.fill(filling.literals), self._parts.delta
        if cells is None:
            return None
        job = self._star.plan(cells)
        predicates = filled_predicates(self._open_star, filling.literals)
        star = replace(delta.star, predicates=predicates)
        scan = None if delta.scan is None else replace(delta.scan, star=star)
        newer = replace(delta, star=star, scan=scan)
        return PreparedPlan(
            _with_jobs(self._first.plan, {self._parts.job: job, delta: newer}),
            self._first.names,
            self._first.types,
            None,
            jobs={job: self._jobs.of_cells(cells)},
            deltas={newer: self._rows} if self._keeps_rows else {},
        )


@dataclass(frozen=True, eq=False, slots=True)
class _Parts:
    """The jobs of a star on a BVH and on the rows that it lacks."""

    job: FusedScanAggregate
    delta: DeltaScan


AnyPrepared: TypeAlias = PreparedQuery | PreparedWithNewer


def prepare_query(
    filling: sql.Filling, first: PreparedPlan, catalog: CatalogInfo
) -> AnyPrepared | None:
    """Prepare a query whose plan with some literals is known; None where it is no such query."""
    star = _only_star(filling.open_plan.plan)
    if star is None:
        return None
    if first.post_aggregate is None:
        return _prepare_with_newer(star, filling, first, catalog)
    job = first.post_aggregate.job
    if not isinstance(job, FusedScanAggregate):
        return None
    prepared = prepare_star(star, filling.literals, job, catalog)
    return None if prepared is None else PreparedQuery(first, prepared)


def _prepare_with_newer(
    star: Star, filling: sql.Filling, first: PreparedPlan, catalog: CatalogInfo
) -> PreparedWithNewer | None:
    parts = _parts_of(first.plan)
    if parts is None:
        return None
    delta = parts.delta
    # Else its predicates are not those of the whole.
    if filled_predicates(star, filling.literals) != delta.star.predicates:
        return None
    asked = replace(star, keys=delta.star.keys, aggregates=delta.star.aggregates)
    prepared = prepare_star(asked, filling.literals, parts.job, catalog)
    return None if prepared is None else PreparedWithNewer(first, prepared, parts, star)


def _only_star(plan: Plan) -> Star | None:
    """Return the star below nodes without holes that have one source; its predicates may have."""
    while not isinstance(plan, Aggregate):
        if len(plan.sources) != 1 or has_holes(plan.expressions):
            return None
        (plan,) = plan.sources
    if not isinstance(plan.star, Star) or plan.grouping is not None:
        return None
    asked = [key for _, key in plan.star.keys]
    asked += [each for _, call in plan.star.aggregates for each in expressions_of(call)]
    return None if has_holes(asked) else plan.star


def _parts_of(plan: PhysicalPlan) -> _Parts | None:
    """Return the jobs below nodes that have one source each, if they are on a BVH and beside it."""
    while len(plan.sources) == 1:
        (plan,) = plan.sources
    match plan.sources:
        case (FusedScanAggregate() as job, DeltaScan() as delta):
            return _Parts(job, delta)
    return None


def _with_jobs(plan: PhysicalPlan, jobs: Mapping[Plan, Plan]) -> PhysicalPlan:
    """Return a plan with other jobs at its ends."""
    if not plan.sources:  # to look any other node up would hash all that is in it
        return jobs.get(plan, plan)
    return plan.map_sources(lambda source: _with_jobs(source, jobs))
