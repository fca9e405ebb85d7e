"""The choice of what runs a star: a BVH, a pass over the table, or the general path.

Of BVHs those are looked at that have the most of max{x + y + alpha*z} (RayDB 4.5), and others only
where none of these answers alone; costs decide (`planner/stars/costs.py`).
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from raydb.kernels.backends.choice import choose_backends, choose_by_cost
from raydb.kernels.stored.deferred import Deferred
from raydb.planner.catalog import guessed
from raydb.planner.expressions.show import show
from raydb.planner.stars import delta as star_parts
from raydb.planner.stars import table_scan
from raydb.planner.stars.codes import shares
from raydb.planner.stars.costs import (
    DEVICE_COST,
    DEVICE_SCAN_COST,
    MIN_COMPARED,
    SCAN_COST,
    bvh_cost,
    chunk_share,
    least_cost,
    scan_cost,
)
from raydb.planner.stars.fuse import fuse, highest_scores, lacking
from raydb.planner.stars.fused_scan import FusedScanAggregate
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from raydb.planner import PlannerOptions
    from raydb.planner.catalog import BvhInfo, CatalogInfo
    from raydb.planner.expressions.nodes import Expression
    from raydb.planner.plan.nodes import PhysicalPlan, Star


# What differs by less than a twentieth of a millisecond is the same.
SAME_COST = 5e4

# With other constants a job may cost so many times as much before the choice is looked at again.
MOST_TIMES = 2.0

# Nor is a BVH looked at that seems to cost so many times as much as a scan.
_TOO_DEAR = 2.0


@dataclass(frozen=True, eq=False, slots=True)
class Priced:
    """A fused job and what it costs."""

    plan: FusedScanAggregate
    cost: float

    @property
    def rank(self) -> tuple[float, int, int]:
        """What the best of several has the least of."""
        return round(self.cost / SAME_COST), -self.plan.coverage.score, self.plan.estimated_reads


@dataclass(frozen=True, eq=False, slots=True)
class Other:
    """A BVH that was not fused: it covers less than one that answers alone, or costs too much.

    cost: at least, for what is lacking for about so many rows.
    """

    bvh: str
    score: int
    cost: float = inf
    fetched: tuple[Expression, ...] = ()
    row_count: int = 0


def find_obstacle(
    star: Star,
    catalog: CatalogInfo,
    options: PlannerOptions,
    general: Callable[[], float],
    numbers: Iterator[int],
) -> str | None:
    """Return why no fused job will run a star, whatever its constants are; None where one may.

    Where a scan can, there is one: then no BVH is looked at. The arguments are `choose_job`'s.
    """
    if not _scan(star, catalog, options.memory_limit)[0]:
        return None
    job = choose_job(star, catalog, options, general, numbers)
    return job if isinstance(job, str) else None


def choose_job(
    star: Star,
    catalog: CatalogInfo,
    options: PlannerOptions,
    general: Callable[[], float],
    numbers: Iterator[int],
) -> PhysicalPlan | str:
    """Return the cheapest fused job, or why none or why the general path is cheaper.

    general: tells the cost of the general path, asked only where that may be the best: it is
        planned for it.
    numbers: those of new columns, where a star is chosen in parts.
    """
    whole = _choose_whole(star, catalog, options, general, numbers)
    if isinstance(whole, FusedScanAggregate) and whole.is_direct:
        return whole

    def choose(part: Star) -> PhysicalPlan | None:
        """Return a job of a part that needs nothing but codes and measures."""
        job = _choose_whole(part, catalog, options, lambda: inf, numbers, fetches=False)
        if isinstance(job, FusedScanAggregate):
            return job if job.is_direct else None
        is_better = isinstance(job, table_scan.FusedTableScan) and isinstance(
            whole, str | table_scan.FusedTableScan
        )
        return job if is_better and not isinstance(job, str) else None

    parted = star_parts.part_conditions(star, numbers)
    if parted is not None and (part := choose(parted.star)) is not None:
        return star_parts.merge_parts(star, parted, (part,))
    split = star_parts.split_values(star)
    if len(split) < 2 or not isinstance(whole, str):  # none is asked for by DISTINCT
        return whole
    jobs = []
    for each in split:
        job = choose(each)
        if job is None:
            return whole
        jobs.append((each, job))
    return star_parts.join_groups(star, jobs, numbers)


def _choose_whole(
    star: Star,
    catalog: CatalogInfo,
    options: PlannerOptions,
    general: Callable[[], float],
    numbers: Iterator[int],
    *,
    fetches: bool = True,
) -> PhysicalPlan | str:
    """Return the cheapest job of a star as it is; rows newer than a BVH have a job of their own.

    fetches: whether a BVH may fetch what it does not encode.
    """
    backends, backend_reason = choose_backends(
        options.backend, options.fallback, options.rt_encoding
    )
    scan = Deferred(lambda: _scan(star, catalog, options.memory_limit))
    best = _choose_bvh(star, catalog, backends, backend_reason, scan if fetches else None)
    if isinstance(best, Priced) and best.plan.is_direct:
        best = _on_device(best, options)
    row_count = catalog.tables[star.fact].row_count
    found: PhysicalPlan | str = best if isinstance(best, str) else ""
    # No scan costs less than some BVHs do: then columns are not looked at for it.
    read = chunk_share(best.plan, row_count) if isinstance(best, Priced) else 1.0
    is_cheapest = isinstance(best, Priced) and best.cost <= read * row_count * SCAN_COST
    if isinstance(best, Priced) and is_cheapest:
        found = _by_bvh(star, best, general, catalog, numbers)
        if not isinstance(found, str):
            return found
    obstacles, cost = scan.get()
    if isinstance(best, Priced) and not is_cheapest:
        cost *= read
        if cost < best.cost:
            found = f"{_shortcoming(best.plan)}: about {_ms(best.cost)}, a scan {_ms(cost)}"
        else:
            found = _by_bvh(star, best, general, catalog, numbers)
            if not isinstance(found, str):
                return found
    reason = str(found)
    if obstacles:
        return f"{reason}; no scan, for {', and '.join(obstacles)}"
    backends, backend_reason = choose_by_cost(
        options.backend, backends, backend_reason, cost, DEVICE_SCAN_COST
    )
    return table_scan.FusedTableScan(star, backends, backend_reason, reason, row_count)


def _scan(
    star: Star, catalog: CatalogInfo, memory_limit: int | None = None
) -> tuple[list[str], float]:
    """Return what keeps a star from being a scan, and what a scan of it costs."""
    obstacles = table_scan.scan_obstacles(star, catalog)
    limit = inf if obstacles or memory_limit is None else memory_limit
    if limit < inf and table_scan.scan_bytes(star, catalog) > limit:
        obstacles.append(f"the columns of '{star.fact}' would not fit in memory_limit")
    row_count = catalog.tables[star.fact].row_count
    return obstacles, inf if obstacles else scan_cost(star, row_count, catalog)


def _by_bvh(
    star: Star,
    best: Priced,
    general: Callable[[], float],
    catalog: CatalogInfo,
    numbers: Iterator[int],
) -> PhysicalPlan | str:
    """Return the job on a BVH, or why the general path is better."""
    cheaper = _cheaper_in_general(best, general)
    return cheaper or _with_newer_rows(star, best.plan, catalog, numbers)


def _on_device(priced: Priced, options: PlannerOptions) -> Priced:
    """Give a job to a device where it answers sooner; its cost is still the processor's."""
    plan = priced.plan
    backends, reason = choose_by_cost(
        options.backend, plan.backends, plan.backend_reason, priced.cost, DEVICE_COST
    )
    if backends == plan.backends and reason == plan.backend_reason:
        return priced
    return replace(priced, plan=replace(plan, backends=backends, backend_reason=reason))


def cost_limit(star: Star, plan: FusedScanAggregate, catalog: CatalogInfo) -> float:
    """Return what the job of a star on its BVH may cost, with other constants, to be the best one.

    A BVH that answers alone, but for newer rows, and covers more than all others is the best one
    while a scan costs more. Of others one may be the better one where the job costs far more than
    with these.
    """
    _, scan = _scan(star, catalog)
    if plan.newer is not None:
        scan -= scan_cost(star, plan.newer.count, catalog)
    others = (each for each in catalog.bvhs.values() if each.definition.table == star.fact)
    scores = highest_scores(star, [each for each in others if each.index is not plan.index])
    if max(scores, default=0) < plan.coverage.score:
        return scan
    return min(scan, max(MOST_TIMES * bvh_cost(star, plan, catalog), SAME_COST))


@dataclass(frozen=True, eq=False, slots=True)
class FetchLimits:
    """What a job on a BVH that fetches may cost, with other constants, to be the best one.

    most: beside other BVHs and the general path; scan: what a scan costs.
    """

    star: Star
    catalog: CatalogInfo
    most: float
    scan: float

    def allow(self, plan: FusedScanAggregate) -> bool:
        """Tell whether a job costs no more; scans leave chunks without its rows out."""
        cost = bvh_cost(self.star, plan, self.catalog)
        if cost > self.most:
            return False
        return cost <= self.scan * chunk_share(plan, self.catalog.tables[self.star.fact].row_count)


def fetch_limits(
    star: Star, plan: FusedScanAggregate, catalog: CatalogInfo, general: Callable[[], float]
) -> FetchLimits:
    """Return what other constants may cost. general: tells what the general path does with these.

    Another BVH may be the better one where the job costs far more than with these.
    """
    most = MOST_TIMES * bvh_cost(star, plan, catalog)
    if most > MIN_COMPARED:
        most = min(most, max(general(), MIN_COMPARED))
    return FetchLimits(star, catalog, most, scan_limit(star, catalog))


def scan_limit(star: Star, catalog: CatalogInfo) -> float:
    """Return what a scan of a star costs; BVHs that cost more are not chosen."""
    return _scan(star, catalog)[1]


def _with_newer_rows(
    star: Star, best: FusedScanAggregate, catalog: CatalogInfo, numbers: Iterator[int]
) -> PhysicalPlan | str:
    """Return the plan of a BVH and of the rows that it does not hold, or why there is none."""
    if best.newer is None:
        return best
    parted = star_parts.part_star(star, numbers)
    if isinstance(parted, str):
        return parted
    info = catalog.bvhs[best.bvh]
    part = fuse(parted.star, info, best.backends, best.backend_reason)
    if isinstance(part, str):
        return part
    delta = star_parts.scan_delta(parted.star, part, catalog)
    return star_parts.merge_parts(
        star, parted, (replace(part, choice_reason=best.choice_reason), delta)
    )


def _cheaper_in_general(best: Priced, general: Callable[[], float]) -> str | None:
    """Say what the general path costs where that is less than a BVH, None where it is more."""
    if best.plan.is_direct or best.cost < MIN_COMPARED:
        return None
    other = general()
    if other >= best.cost:
        return None
    return f"{_shortcoming(best.plan)}: about {_ms(best.cost)}, the general path {_ms(other)}"


def _ms(cost: float) -> str:
    """Return nanoseconds in words."""
    return f"{cost / 1e6:.3g} ms"


def _shortcoming(plan: FusedScanAggregate) -> str:
    """Say why a BVH does not answer a star alone."""
    if plan.newer is not None and plan.is_direct:
        return f"BVH '{plan.bvh}' lacks {plan.newer.count} rows"
    if not plan.fetched:
        return f"BVH '{plan.bvh}' would sort {plan.estimated_rows} rows into groups"
    return _fetches(plan.bvh, plan.fetched, plan.estimated_rows)


def _fetches(bvh: str, fetched: Iterable[Expression], row_count: int) -> str:
    return f"BVH '{bvh}' would fetch {', '.join(map(show, fetched))} for {row_count} rows"


def _choose_bvh(
    star: Star,
    catalog: CatalogInfo,
    backends: tuple[str, ...],
    backend_reason: str,
    scan: Deferred[tuple[list[str], float]] | None,
) -> Priced | str:
    """Return the cheapest fused job on a BVH of the fact table, or why there is none.

    scan: what keeps the star from being a scan, and what that costs; None where no BVH may fetch.
    """
    candidates = [bvh for bvh in catalog.bvhs.values() if bvh.definition.table == star.fact]
    if not candidates:
        return f"there is no BVH on '{star.fact}'"
    names = [bvh.definition.name for bvh in candidates]
    scores = dict(zip(names, highest_scores(star, candidates), strict=True))
    candidates.sort(key=lambda bvh: -scores[bvh.definition.name])
    useful: list[Priced] = []
    obstacles: list[str] = []
    others: list[Other] = []
    answered = 0
    for bvh in candidates:
        name = bvh.definition.name
        score = scores[name]
        if not score and bvh.obstacle is None:
            continue
        if score < answered:
            # One of a higher score answers alone: to fuse the others too would take longer than the
            # rest of planning.
            others += [Other(name, score)] if score else []
            continue
        if (other := _too_dear(star, bvh, score, catalog, scan)) is not None:
            others.append(other)
            continue
        plan = fuse(star, bvh, backends, backend_reason)
        if isinstance(plan, str):
            obstacles.append(plan)
        elif plan.coverage.score > 0:
            useful.append(Priced(plan, bvh_cost(star, plan, catalog)))
            answered = max(answered, plan.coverage.score if plan.is_direct else 0)
    if not useful:
        if others:
            least = min(others, key=lambda other: other.cost)
            told = _fetches(least.bvh, least.fetched, least.row_count)
            if scan is not None:
                told += f": about {_ms(least.cost)}, a scan {_ms(scan.get()[1])}"
            obstacles.insert(0, told)
        unused = f"no BVH on '{star.fact}' encodes an attribute of the query"
        return "; ".join(dict.fromkeys(obstacles)) or unused
    useful.sort(key=lambda each: (each.rank, each.plan.bvh))
    reason = _reason(useful, others, len(candidates))
    return replace(useful[0], plan=replace(useful[0].plan, choice_reason=reason))


def _too_dear(
    star: Star,
    bvh: BvhInfo,
    score: int,
    catalog: CatalogInfo,
    scan: Deferred[tuple[list[str], float]] | None,
) -> Other | None:
    """Return a BVH that would fetch so much that a scan is cheaper for certain.

    That is told in a part of the time that it takes to fuse a star.
    """
    if bvh.obstacle is not None:
        return None
    missing = lacking(star, bvh)
    fetched = missing.fetched
    if not fetched:
        return None
    name = bvh.definition.name
    if scan is None:
        return Other(name, score, inf, tuple(fetched), bvh.index.row_count)
    _, limit = scan.get()
    asked = missing.predicates
    rows = guessed(bvh, asked, lambda: shares.rows_passing(asked, bvh))
    cost = least_cost(star, missing, catalog, rows)
    if cost < _TOO_DEAR * limit:
        return None
    return Other(name, score, cost, tuple(fetched), round(rows))


def _reason(ranked: Sequence[Priced], others: Sequence[Other], candidate_count: int) -> str:
    """Say why the first of the ranked jobs won; others were not fused."""
    best = ranked[0].plan
    if candidate_count == 1:
        return f"the only BVH on '{best.table}'"
    if len(ranked) + len(others) == 1:
        return f"the only one of {candidate_count} BVHs that encodes an attribute of the query"
    if len(ranked) > 1:
        plan, cost = ranked[1].plan, ranked[1].cost
        second, score = plan.bvh, plan.coverage.score
    else:
        second, score, cost = others[0].bvh, others[0].score, others[0].cost
    if best.coverage.score > score:
        return (
            f"largest coverage of {candidate_count} BVHs: {best.coverage.score} "
            f"against {score} of '{second}'"
        )
    if len(ranked) == 1 or best.coverage.score < score or ranked[0].rank[0] < ranked[1].rank[0]:
        costs = f"about {_ms(ranked[0].cost)} against {_ms(cost)} of '{second}'"
        return f"the cheapest of {candidate_count} BVHs: {costs}"
    reads, second_reads = (each.plan.estimated_reads for each in ranked[:2])
    if reads < second_reads:
        sieved = best.job.sieved or ranked[1].plan.job.sieved
        fewer = "less to read" if sieved else "fewer rows"
        return (
            f"coverage {best.coverage.score} as '{second}', but {fewer}: "
            f"{reads} against {second_reads}"
        )
    return f"as good as '{second}', first by name"
