"""Logical plan to physical plan: one rule a file, star matching, BVH choice.

physical = plan_query(logical, catalog, PlannerOptions())
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.late import import_on_use
from raydb.values import dataclass

if TYPE_CHECKING:
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.plan.common_tables import Contents
    from raydb.planner.plan.nodes import PhysicalPlan, Plan

import_on_use(__name__)


@dataclass(frozen=True, slots=True)
class PlannerOptions:
    """The settings that a plan depends on (`SET backend`, `SET fused_path` and so on).

    memory_limit: in bytes, None for any number. time_zone: that of constants and casts, which
    binding makes part of the plan. null_order, collation: see `raydb.running`.
    nprobe: the lists that a vector search scans which does not say; None for what the index says.
    ef: the vectors that a walk along a graph keeps which does not say; None as well.
    segment_rows: the rows of a segment that a worker of a cluster scans, None without a cluster.
    call_cost: the nanoseconds that a question to workers takes; a job on a BVH that takes less is
        not asked of them.
    """

    backend: str = "auto"
    fallback: str = "next"
    rt_encoding: str = "lanes"
    fused_path: bool = True
    memory_limit: int | None = None
    time_zone: str = "UTC"
    null_order: tuple[bool, bool] | None = None
    collation: str = ""
    nprobe: int | None = None
    ef: int | None = None
    segment_rows: int | None = None
    call_cost: float = 0.0


def plan_query(
    plan: Plan,
    catalog: CatalogInfo,
    options: PlannerOptions,
    found: Contents | None = None,
) -> PhysicalPlan:
    """Optimize a bound plan and choose how to run each part of it; found: see `optimize`."""
    from raydb.planner.optimizer import optimize

    return choose_plan(optimize(plan, catalog, found), catalog, options)


def choose_plan(plan: Plan, catalog: CatalogInfo, options: PlannerOptions) -> PhysicalPlan:
    """Choose how to run each part of an optimized plan."""
    from raydb.planner.lower import lower

    chosen = lower(plan, catalog, options)
    if options.segment_rows is None:
        return chosen
    from raydb.planner.segments.distribute import distribute

    return distribute(chosen, catalog, options)


__all__ = ["PlannerOptions", "choose_plan", "plan_query"]
