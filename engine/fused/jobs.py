"""One run of the fused jobs of a plan: on BVHs and rows newer than these, on tables, at workers.

What a job needs is made on its first run and stays with the plan; what jobs tell of a run stays
with the run.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias

from raydb.engine.fused import delta as fused_delta
from raydb.engine.fused import table_job
from raydb.engine.fused.run import TimedJob, prepare_fused, run_fused, run_table_job
from raydb.engine.operators.relation import Relation, column_name
from raydb.planner.segments.nodes import SegmentScan
from raydb.planner.stars.delta import DeltaScan
from raydb.planner.stars.fused_scan import FusedScanAggregate
from raydb.planner.stars.table_scan import FusedTableScan
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raydb.engine.context.statement_context import StatementContext
    from raydb.engine.plans.prepared_plan import PreparedPlan
    from raydb.kernels.backends.backend import PreparedJob
    from raydb.storage.tables.table import Table

FusedJob: TypeAlias = FusedScanAggregate | FusedTableScan | DeltaScan | SegmentScan


@dataclass(eq=False, slots=True)
class JobRun:
    """One run of a plan's jobs over some tables.

    used: the BVHs that were read; ran_on: where jobs ran that could have run elsewhere;
    kernel_seconds: how long the kernel of each job on a BVH took, where that is asked for.
    """

    prepared: PreparedPlan
    tables: Mapping[str, Table]
    context: StatementContext
    used: set[str] = field(default_factory=set)
    ran_on: dict[FusedJob, str] = field(default_factory=dict)
    kernel_seconds: dict[FusedScanAggregate, float] | None = None

    def rows(self, job: FusedJob) -> Relation:
        """Return a job's rows: its keys, then its aggregates."""
        match job:
            case FusedScanAggregate():
                return self._on_bvh(job)
            case FusedTableScan():
                return self._on_table(job)
            case DeltaScan():
                return self._on_newer_rows(job)
            case SegmentScan():
                return self._at_workers(job)

    def _on_bvh(self, job: FusedScanAggregate) -> Relation:
        self.used.add(job.bvh)
        jobs = self.prepared.jobs
        if job not in jobs:
            jobs[job] = prepare_fused(job)
        timed = jobs[job] if self.kernel_seconds is None else TimedJob(jobs[job])
        with self.context.new_memory() as memory:
            groups = run_fused(job, timed, self.tables, self.context.cache, memory)
        if self.kernel_seconds is not None:
            assert isinstance(timed, TimedJob)
            self.kernel_seconds[job] = timed.seconds
        return self._noted(job, groups, jobs[job])

    def _on_table(self, scan: FusedTableScan) -> Relation:
        known = table_job.known_row(scan, self.tables)
        if known is not None:
            self.ran_on[scan] = "what is known of the table"
            return known
        scans = self.prepared.scans
        if scan in scans:
            job = scans[scan]
        else:
            job = scans[scan] = table_job.fuse_on_rows(scan, self.tables, self.context.cache)
        with self.context.new_memory() as memory:
            if job is None:
                return fused_delta.look_up(
                    scan.star, fused_delta.FetchedRows(), self.tables, memory
                )
            return self._noted(scan, *run_table_job(job, memory))

    def _on_newer_rows(self, delta: DeltaScan) -> Relation:
        deltas = self.prepared.deltas
        if delta not in deltas:
            deltas[delta] = fused_delta.prepare_delta(delta, self.tables, self.context.cache)
        with self.context.new_memory() as memory:
            return self._noted(
                delta, *fused_delta.run_delta(delta, deltas[delta], self.tables, memory)
            )

    def _at_workers(self, job: SegmentScan) -> Relation:
        cluster = self.context.queries.cluster
        assert cluster is not None
        found = cluster.rows(job, self.tables, self.context)
        if isinstance(found, str):
            self.context.warnings.append(f"the coordinator reads '{job.star.fact}': {found}")
            scan = job.scan
            return self._on_table(scan) if isinstance(scan, FusedTableScan) else self._on_bvh(scan)
        if job.bvh:
            self.used.add(job.bvh)
        self.ran_on[job] = found.said
        columns = {column: found.rows.column(column_name(column)) for column in job.columns}
        return Relation(columns, found.rows.num_rows)

    def _noted(self, job: FusedJob, groups: Relation, made: PreparedJob | None) -> Relation:
        """Keep what a prepared job says of its run."""
        if made is not None:
            self.context.warnings.extend(made.warnings())
            if (ran_on := made.ran_on()) is not None:
                self.ran_on[job] = ran_on
        return groups
