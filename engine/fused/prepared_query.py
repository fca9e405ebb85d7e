"""A query over a star that is known but for its constants: from literals to a plan that has run.

What `planner.prepared_star` leaves to do is little: the nodes above the job, how its rows are
described and ordered, and what is accumulated are the same for all constants.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from raydb.engine.fused.post_aggregate import PostAggregate
from raydb.engine.fused.row_fast_path import (
    MAX_GROUPS,
    find_row_steps,
    known_key,
    total_sources,
)
from raydb.engine.session.plan_cache import PreparedPlan
from raydb.kernels.backends.aggregates import WIDE
from raydb.kernels.backends.cpu.cpu_backend import CpuBackend
from raydb.kernels.backends.cpu.runs import runs_of
from raydb.kernels.backends.cpu.states import find_states
from raydb.planner.plan.nodes import Aggregate, Star
from raydb.planner.prepared_star import has_holes, prepare_star
from raydb.planner.stars.fused_scan import FusedScanAggregate
from raydb.storage.enums import has_enums

if TYPE_CHECKING:
    from raydb import sql
    from raydb.engine.fused.row_fast_path import RowFastPath, RowSteps, Source
    from raydb.kernels.backends.cpu.cpu_backend import CpuJob
    from raydb.kernels.backends.cpu.runs import Runs
    from raydb.kernels.backends.cpu.states import CpuStates
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Column
    from raydb.planner.plan.nodes import PhysicalPlan, Plan
    from raydb.planner.prepared_star import FilledStar, PreparedStar


# A Python object, where it lies, and its rank.
VALUE_BYTES = 72


class PreparedQuery:
    """A query over a star with holes. first: its plan with some literals."""

    def __init__(self, first: PreparedPlan, star: PreparedStar) -> None:
        assert first.post_aggregate is not None
        job = first.post_aggregate.job
        assert isinstance(job, FusedScanAggregate)
        self._first = first
        self._steps = first.post_aggregate.steps
        self._names = first.post_aggregate.names
        self._star = star
        self._bvh = job.index.with_checked_rows()
        self._backend = CpuBackend()
        self._functions = [(each.function, each.measure) for each in job.job.accumulators]
        self._states = {by_runs: self._find_states(by_runs=by_runs) for by_runs in (False, True)}
        self._row_steps: RowSteps | None = None
        if not any(map(has_enums, first.types)):
            self._row_steps = find_row_steps(first.plan, first.plan.columns)
        self._totals = total_sources(job)
        self._keys = [[known_key(values) for values in key.values] for key in star.keys]

    @property
    def size_bytes(self) -> int:
        """About the bytes that it takes."""
        values = sum(len(key.values) for keys in self._keys for key in keys if key is not None)
        return self._star.size_bytes + values * VALUE_BYTES

    def plan(self, filling: sql.Filling) -> PreparedPlan | None:
        """Return the plan with other literals, its job prepared; None where it may be another."""
        filled = self._star.fill(filling.literals)
        if filled is None:
            return None
        job = filled.plan
        return PreparedPlan(
            _with_job(self._first.plan, job),
            self._first.names,
            self._first.types,
            PostAggregate(job, self._steps, self._names),
            jobs={job: self._prepare(filled)},
            row_fast_path=self._row_fast_path(filled),
            has_repeated=True,
        )

    def _prepare(self, filled: FilledStar) -> CpuJob:
        job = filled.plan.job
        runs = runs_of(self._bvh, job, filled.runs)
        return self._backend.prepare_runs(runs, job.group_count, partial(self._states_of, runs))

    def _states_of(self, runs: Runs, *, by_runs: bool) -> CpuStates:
        """Return the states of all rows, unless fewer rows make them narrower."""
        states = self._states[by_runs]
        if any(state.kind in WIDE for state in states.states):
            return self._find_states(by_runs=by_runs, row_count=runs.row_count)
        return states

    def _find_states(self, *, by_runs: bool, row_count: int | None = None) -> CpuStates:
        row_count = self._bvh.row_count if row_count is None else row_count
        return find_states(self._functions, self._bvh.measures, row_count, by_runs=by_runs)

    def _row_fast_path(self, filled: FilledStar) -> RowFastPath | None:
        """Return how rows come straight from the job, as `prepare_row_fast_path` does."""
        job = filled.plan
        if self._row_steps is None or job.job.group_count > MAX_GROUPS:
            return None
        numbers = np.arange(job.job.group_count)
        sources: dict[Column, Source] = dict(self._totals)
        for part, chosen, keys in zip(job.parts, filled.chosen, self._keys, strict=True):
            if not len(chosen):
                return None
            places = chosen[numbers // part.stride % part.count]
            known = zip(part.columns, keys, strict=True)
            sources |= {column: key.at(places) for column, key in known if key is not None}
        return self._row_steps.over(job, sources)


def prepare_query(
    filling: sql.Filling, first: PreparedPlan, catalog: CatalogInfo
) -> PreparedQuery | None:
    """Prepare a query whose plan with some literals is known; None where it is no such query."""
    if first.post_aggregate is None or not isinstance(first.post_aggregate.job, FusedScanAggregate):
        return None
    star = _only_star(filling.open_plan.plan)
    if star is None:
        return None
    prepared = prepare_star(star, filling.literals, first.post_aggregate.job, catalog)
    return None if prepared is None else PreparedQuery(first, prepared)


def _only_star(plan: Plan) -> Star | None:
    """Return the star below nodes without holes that have one source."""
    while not isinstance(plan, Aggregate):
        if len(plan.sources) != 1 or has_holes(plan.expressions):
            return None
        (plan,) = plan.sources
    return plan.star if isinstance(plan.star, Star) and plan.grouping is None else None


def _with_job(plan: PhysicalPlan, job: FusedScanAggregate) -> PhysicalPlan:
    """Return a plan with another job at its end."""
    if isinstance(plan, FusedScanAggregate):
        return job
    return plan.map_sources(lambda source: _with_job(source, job))
