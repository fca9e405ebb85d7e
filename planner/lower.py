"""The last step of planning: an optimized logical plan to a physical one, with reasons."""

from __future__ import annotations

import itertools
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING

from raydb.kernels.stored.deferred import Deferred
from raydb.planner import first_numbers, key_filters, ordered_rows, top_rows
from raydb.planner.expressions.nodes import (
    Call,
    Column,
    Expression,
    Literal,
    columns_of,
    conjuncts,
)
from raydb.planner.index_lookup import find_lookup
from raydb.planner.optimizer import optimize_apart, optimize_unfused
from raydb.planner.plan.common_tables import fresh_numbers, reads_working_table
from raydb.planner.plan.nodes import (
    Aggregate,
    Apply,
    CommonTable,
    Filter,
    HashJoin,
    InnerJoin,
    Limit,
    NoStar,
    OuterJoin,
    PhysicalPlan,
    Plan,
    Project,
    Recursive,
    Scan,
    Search,
    SemiJoin,
    Star,
    Union,
    Values,
    Window,
)
from raydb.planner.plan.statistics import Statistics
from raydb.planner.stars import delta
from raydb.planner.stars.choose import choose_job, find_obstacle
from raydb.planner.stars.costs import general_cost
from raydb.planner.stars.deferred import MAX_MEMBERS, DeferredScan, with_values, without_values
from raydb.planner.stars.fused_scan import FusedScanAggregate
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from raydb.planner import PlannerOptions
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.plan.nodes import GroupingSets, IndexLookup

# So many rows at least have one group where several sets of keys are made of the groups of all.
_ROWS_A_GROUP = 8

# A subquery that seems to have more values is not run first for them.
_MANY = 8 * MAX_MEMBERS


@dataclass(frozen=True, slots=True)
class Lowering:
    """What the choices depend on, and the common table expressions that are lowered already."""

    catalog: CatalogInfo
    options: PlannerOptions
    # For columns that are in no plan yet.
    fresh: Iterator[int]
    shared: dict[int, PhysicalPlan] = field(default_factory=dict)
    # For parts of recursive queries that are kept likewise; those of the binder are not negative.
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(-1, -1))
    statistics: Statistics = field(init=False)
    # For filters by the keys of joins.
    filters: Iterator[int] = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        object.__setattr__(self, "statistics", Statistics(self.catalog))

    def lower(self, plan: Plan) -> PhysicalPlan:
        """Choose how to run each node of a plan."""
        return _lower(plan, self)

    def sending(self) -> key_filters.KeySending:
        """Return what tells which keys of joins filter their other sides."""
        return key_filters.KeySending(
            self.statistics, self.filters, partial(_groups_of_few_keys, lowering=self)
        )


def lower(plan: Plan, catalog: CatalogInfo, options: PlannerOptions) -> PhysicalPlan:
    """Choose how to run each node."""
    return _lower(plan, Lowering(catalog, options, fresh_numbers(plan)))


def _lower(plan: Plan, lowering: Lowering) -> PhysicalPlan:
    def go(source: Plan) -> PhysicalPlan:
        return _lower(source, lowering)

    match plan:
        case CommonTable(number=number):
            if number not in lowering.shared:
                lowering.shared[number] = go(plan.query)
            return replace(plan, query=lowering.shared[number])
        case Filter(source=Scan() as scan, predicate=predicate):
            # Rows of a table are found by a key where the predicate gives it.
            lookup = find_lookup([predicate], lowering.catalog.tables[scan.table])
            return replace(plan, source=replace(scan, lookup=lookup)) if lookup else plan
        case Filter(source=Window() as window, predicate=predicate):
            return replace(plan, source=first_numbers.with_most(window, predicate)).map_sources(go)
        case Limit():
            if (ordered := ordered_rows.lower_ordered(plan, lowering)) is not None:
                return ordered
            top = top_rows.find_top_rows(plan, lowering.catalog)
            return (plan if top is None else top).map_sources(go)
        case InnerJoin(sources=sources) if len(sources) != 2:
            raise AssertionError(f"order_joins left a join of {len(sources)} sources")
        case InnerJoin() | OuterJoin() | SemiJoin():
            return _lower_join(plan, lowering)
        case Search(function=function):
            return function.lower(plan, lowering)
        case Apply():
            raise AssertionError("unnest_subqueries left an Apply")
        case Aggregate():
            return _lower_aggregate(plan, lowering)
        case Recursive(step=step, number=number):
            kept = replace(plan, step=_keep_unchanged(step, number, lowering))
            return kept.map_sources(go)
        case _:
            # What remains has one way to run.
            return plan.map_sources(go)


def _keep_unchanged(step: Plan, number: int, lowering: Lowering) -> Plan:
    """Return a step of a recursion that computes once what is the same every time."""
    if not step.sources:
        return step
    if reads_working_table(step, number):
        if isinstance(step, Recursive):  # What its steps read changes with each of these.
            return replace(step, base=_keep_unchanged(step.base, number, lowering))
        return step.map_sources(lambda source: _keep_unchanged(source, number, lowering))
    number = next(lowering.numbers)
    return CommonTable(number, "the same in every step", step, step.columns)


def _lower_aggregate(plan: Aggregate, lowering: Lowering) -> PhysicalPlan:
    """Fuse an aggregate with its scan where a BVH serves it."""
    match plan.star:
        case NoStar(reason=reason):
            pass
        case Star() as star if (lookup := _unique_lookup(star, lowering.catalog)) is not None:
            reason = f"rows are found by '{lookup.index}'"
        case Star() as star if lowering.options.fused_path:
            if star.given:
                fused: PhysicalPlan | str = _defer(plan, star, lowering)
            elif plan.grouping is None:
                fused = _fuse(plan, star, lowering)
            else:
                fused = _fuse_sets(plan, star, plan.grouping, lowering)
            if not isinstance(fused, str):
                return fused
            reason = fused
        case _:
            reason = "SET fused_path = 'off'"
    if isinstance(plan.star, Star):
        return _lower(_unfused(plan, reason, lowering.catalog), lowering)
    source = _lower(plan.source, lowering)
    return replace(plan, source=source, star=NoStar(reason))


def _unique_lookup(star: Star, catalog: CatalogInfo) -> IndexLookup | None:
    """Return how the few rows of a star are found by a unique key of its fact table."""
    read = {attribute.name for attribute in star.scanned if not attribute.path}
    lookup = find_lookup(star.predicates, catalog.tables[star.fact], read)
    return lookup if lookup is not None and lookup.is_unique else None


def _fuse(plan: Aggregate, star: Star, lowering: Lowering) -> PhysicalPlan | str:
    """Return the fused plan that gives a star's rows, or why there is none, or a better one."""
    if not star.keys and not star.aggregates:
        # A total of which nothing is asked is one row, and a job's rows are counted by columns.
        return Values((), ((),))
    general = general_path_cost(plan, lowering.catalog)
    return choose_job(star, lowering.catalog, lowering.options, general, lowering.fresh)


def general_path_cost(plan: Aggregate, catalog: CatalogInfo) -> Callable[[], float]:
    """Return what tells the cost of the general path, for which that is planned, but once."""
    # Not `functools.cache`, which takes 2 us to make.
    return Deferred(lambda: general_cost(_unfused(plan, "", catalog), catalog)).get


def _unfused(plan: Aggregate, reason: str, catalog: CatalogInfo) -> Plan:
    """Return the plan of the general path for an aggregate that no fused job answers."""
    return optimize_unfused(replace(plan, star=NoStar(reason)), catalog)


def _defer(plan: Aggregate, star: Star, lowering: Lowering) -> PhysicalPlan | str:
    """Return a star with its subqueries before it, or why no fused job will answer it."""
    if plan.grouping is not None:
        return "it groups by several sets beside a subquery's value"
    statistics = Statistics(lowering.catalog)
    for given in star.given:
        # Estimates may be far off, but to run a subquery in vain takes time, too.
        if given.listed and statistics.distinct_count(given.plan, *given.plan.columns) > _MANY:
            return "a subquery has too many values to compare with"
    general = general_path_cost(plan, lowering.catalog)
    asked = without_values(star)
    obstacle = find_obstacle(asked, lowering.catalog, lowering.options, general, lowering.fresh)
    if obstacle is not None:
        return obstacle
    sources = tuple(
        lowering.lower(optimize_apart(given.plan, lowering.catalog)) for given in star.given
    )
    return DeferredScan(star, plan, sources, lowering.catalog, lowering.options)


def lower_deferred(plan: DeferredScan, values: Mapping[Column, Literal] | None) -> PhysicalPlan:
    """Choose how to run a star whose subqueries have these values; None where none can be told."""
    reason = "a subquery's value is no constant"
    if values is not None:
        general = general_path_cost(plan.aggregate, plan.catalog)
        fresh = fresh_numbers(plan.aggregate)
        star = with_values(plan.star, values)
        fused = choose_job(star, plan.catalog, plan.options, general, fresh)
        if not isinstance(fused, str):
            return fused
        reason = fused
    return lower(_unfused(plan.aggregate, reason, plan.catalog), plan.catalog, plan.options)


def _groups_of_few_keys(plan: Aggregate, share: float, lowering: Lowering) -> Plan | None:
    """Return a star on the general path, None where a BVH is the better way even so.

    share: of its groups those that are asked for.
    """
    assert isinstance(plan.star, Star)
    if plan.star.given:
        return None
    if lowering.options.fused_path:
        fused = _fuse(plan, plan.star, lowering)
        row_count = lowering.catalog.tables[plan.star.fact].row_count
        if isinstance(fused, FusedScanAggregate) and fused.estimated_reads < share * row_count:
            return None
    return _unfused(plan, "only the groups of a join's keys are asked for", lowering.catalog)


def _fuse_sets(
    plan: Aggregate, star: Star, grouping: GroupingSets, lowering: Lowering
) -> PhysicalPlan | str:
    """Return a fused job for all sets of keys, or one for each; or why there is none for one.

    Few groups of all keys are put together for each set, which costs nothing beside the job.
    """
    told_apart = [key for _, key in plan.keys]
    told_apart += [e for _, call in plan.aggregates if call.distinct for e in call.arguments]
    groups = Statistics(lowering.catalog).group_count(plan.source, told_apart)
    if groups * _ROWS_A_GROUP <= lowering.catalog.tables[star.fact].row_count:
        parted = delta.part_star(star, lowering.fresh)
        one_set = replace(plan, grouping=None)
        fused = parted if isinstance(parted, str) else _fuse(one_set, parted.star, lowering)
        if not isinstance(fused, str) and not isinstance(parted, str):
            keys = tuple((column, column) for column, _ in star.keys)
            sets = Aggregate(fused, keys, parted.merged, NoStar(""), grouping)
            return Project(sets, (*parted.items, (grouping.number, grouping.number)))
    parts: list[PhysicalPlan] = []
    for number, places in enumerate(grouping.sets):
        one = replace(plan, keys=tuple(plan.keys[place] for place in places), grouping=None)
        asked = replace(star, keys=tuple(star.keys[place] for place in places))
        fused = _fuse(one, asked, lowering)
        if isinstance(fused, str):
            return fused
        items: list[tuple[Column, Expression]] = [
            (column, column if place in places else Literal(None, column.type))
            for place, (column, _) in enumerate(star.keys)
        ]
        items += [(column, column) for column, _ in star.aggregates]
        items.append((grouping.number, Literal(number, grouping.number.type)))
        parts.append(Project(fused, tuple(items)))
    return Union(tuple(parts), plan.columns)


def _lower_join(plan: InnerJoin | OuterJoin | SemiJoin, lowering: Lowering) -> HashJoin:
    """Make keys of the equalities between the sides; the rest is checked for each pair."""
    left, right = plan.sources
    left_columns = left.column_set
    right_columns = right.column_set
    pairs: list[tuple[Expression, Expression]] = []
    null_safe: set[int] = set()
    residual: list[Expression] = []
    for condition in (part for whole in plan.conditions for part in conjuncts(whole)):
        match condition:
            case Call(function="equal" | "not_distinct" as function, arguments=(one, other)):
                if _is_key(other, one, left_columns, right_columns):
                    one, other = other, one
                if not _is_key(one, other, left_columns, right_columns):
                    residual.append(condition)
                    continue
                if function == "not_distinct":
                    null_safe.add(len(pairs))
                pairs.append((one, other))
            case _:
                residual.append(condition)
    sent = key_filters.send_keys(plan, pairs, null_safe, lowering.sending())
    return HashJoin(
        "inner" if isinstance(plan, InnerJoin) else plan.kind,
        _lower(sent.left, lowering),
        _lower(sent.right, lowering),
        tuple(one for one, _ in pairs),
        tuple(other for _, other in pairs),
        tuple(residual),
        plan.mark if isinstance(plan, SemiJoin) else None,
        frozenset(null_safe),
        sent.filtered,
        sent.keys,
    )


def _is_key(
    one: Expression, other: Expression, left: frozenset[Column], right: frozenset[Column]
) -> bool:
    """Whether `one` is computed from the left side and `other` from the right side."""
    if type(one) is Column and type(other) is Column:
        return one in left and other in right
    sides = columns_of(one), columns_of(other)
    return bool(sides[0]) and bool(sides[1]) and sides[0] <= left and sides[1] <= right
