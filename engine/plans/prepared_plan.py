"""A physical plan with what its jobs have made, ready to run again."""

from __future__ import annotations

import functools
from dataclasses import field, fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.engine.fused import delta as fused_delta
from raydb.planner.stars.fused_scan import FusedScanAggregate
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from raydb.engine.fused.post_aggregate import PostAggregate
    from raydb.engine.fused.row_fast_path import RowFastPath
    from raydb.engine.fused.table_job import TableJob
    from raydb.engine.table_functions.vector.prepared_search import FilledSearch
    from raydb.kernels.backends.backend import PreparedJob
    from raydb.planner.plan.nodes import PhysicalPlan
    from raydb.planner.stars.deferred import DeferredScan
    from raydb.planner.stars.delta import DeltaScan
    from raydb.planner.stars.table_scan import FusedTableScan
    from raydb.storage.tables.table import Table

# The objects of a plan.
PLAN_BYTES = 2**13


@dataclass(frozen=True, eq=False, slots=True)
class PreparedPlan:
    """A physical plan with its output names, what its fused jobs made once, and its open files.

    post_aggregate: how its rows come from one fused job, if that is so. row_fast_path: how they
    come straight from it, once it has run twice, which has_repeated says, or was filled.
    search: how they come straight from a search.
    scans: scans of whole tables, None for those that look rows up. deltas: scans of rows that BVHs
    lack, or such rows where they are looked up. deferred: the plans of stars whose subqueries have
    run.
    """

    plan: PhysicalPlan
    names: tuple[str, ...]
    types: tuple[pa.DataType, ...]
    post_aggregate: PostAggregate | None
    jobs: dict[FusedScanAggregate, PreparedJob] = field(default_factory=dict)
    scans: dict[FusedTableScan, TableJob | None] = field(default_factory=dict)
    deltas: dict[DeltaScan, TableJob | fused_delta.FetchedRows | None] = field(default_factory=dict)
    deferred: dict[DeferredScan, PhysicalPlan] = field(default_factory=dict)
    files: Mapping[str, Table] = field(default_factory=dict)
    reads_clock: bool = False
    row_fast_path: RowFastPath | None = None
    search: FilledSearch | None = None
    has_repeated: bool = False

    @property
    def is_repeatable(self) -> bool:
        """Whether it is right the next time: a file may be another one, and time goes by."""
        return not (self.files or self.reads_clock)

    @property
    def size_bytes(self) -> int:
        """About the bytes that are there for the plan alone, after it has run."""
        size = PLAN_BYTES + (0 if self.row_fast_path is None else self.row_fast_path.size_bytes)
        for plan, prepared in self.jobs.items():
            size += job_bytes(plan) + _array_bytes(prepared)
        if not (self.scans or self.deltas):
            return size
        for job in (*self.scans.values(), *self.deltas.values()):
            if job is None:
                continue
            if isinstance(job, fused_delta.FetchedRows):
                size += sum([column.nbytes for column in job.attributes.values()])
                continue
            size += sum(_array_bytes(each) for each in (job.plan.job, *job.plan.job.maps, job.scan))
            size += sum(table.nbytes for table in job.scan.tables) if job.scan else 0
        return size


def job_bytes(plan: PhysicalPlan) -> int:
    """Return the bytes of the cells and groups that the jobs in a plan are for."""
    size = sum([job_bytes(source) for source in plan.sources])
    if isinstance(plan, FusedScanAggregate):
        size += plan.job.intervals.nbytes + sum([each.groups.nbytes for each in plan.job.maps])
    return size


def _array_bytes(value: Any) -> int:
    """Return the bytes of the arrays that are fields of a value."""
    kind: Any = type(value)
    arrays = [getattr(value, name) for name in _field_names(kind)]
    return sum([array.nbytes for array in arrays if isinstance(array, np.ndarray)])


@functools.cache
def _field_names(kind: Any) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind)) if is_dataclass(kind) else ()
