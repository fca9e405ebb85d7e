"""Which BVHs to create for a workload, and what they would do for it.

    attributes_wanted(stars, catalog), measures_wanted(star)     what the profile of a table needs
    advise(asked, profiles, memory, max_bvhs)                   the BVHs, and the queries without

A SCAN gets what stars filter by, GROUP BY their other keys, AGGREGATE what they add up. Which stars
share a BVH is for the search (`search_bvhs`), what each of them costs for the model (`bvh_model`).
In Z the attributes are then ordered so that the stars read the fewest intervals.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import pyarrow.types as pt

from raydb.kernels.bvh.encode import encode_column
from raydb.kernels.codecs.arrow_numbers import is_number
from raydb.planner.advisor.bvh_model import BvhModel, Candidate, determines
from raydb.planner.advisor.search_bvhs import Member, Search
from raydb.planner.expressions.nodes import attributes_of
from raydb.planner.expressions.show import show
from raydb.planner.stars.answers import may_be_accumulated, needs_values
from raydb.planner.stars.table_scan import is_small
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from raydb.planner.advisor.bvh_model import Profile
    from raydb.planner.catalog import BvhDefinition, CatalogInfo, TableInfo
    from raydb.planner.expressions.nodes import Attribute, Expression
    from raydb.planner.plan.nodes import Star
    from raydb.planner.stars.fused_scan import FusedScanAggregate

# Levels that are looked at of each attribute, the finest: of a day its week, month, quarter, year.
MAX_LEVELS = 4


@dataclass(frozen=True, eq=False, slots=True)
class Asked:
    """A star, and the number of the query that it is a part of."""

    query: int
    star: Star


@dataclass(frozen=True, eq=False, slots=True)
class Proposal:
    """A BVH to create. rows_touched: what its queries would read, of rows_total without it.

    definition: without name and text.
    """

    definition: BvhDefinition
    queries: tuple[int, ...]
    rows_touched: int
    rows_total: int
    size_bytes: int
    reason: str


@dataclass(frozen=True, eq=False, slots=True)
class Advice:
    """The BVHs to create, and why there is none for the other queries, by their number."""

    proposals: tuple[Proposal, ...]
    refused: Mapping[int, str]


# -- what the profile of a table needs


def attributes_wanted(stars: Iterable[Star], catalog: CatalogInfo) -> list[Attribute]:
    """Return the attributes that BVHs for some stars might encode, with their coarser levels.

    A level is a column of the same table that an attribute determines, as far as a sample tells.
    """
    found: dict[Attribute, None] = {}
    levels: dict[tuple[str, str], list[str]] = {}
    for star in stars:
        for expression in (*star.predicates, *_keys(star)):
            for attribute in sorted(attributes_of(expression), key=repr):
                if not _is_encodable(attribute.type):
                    continue
                found[attribute] = None
                table = catalog.tables[attribute.path[-1].table if attribute.path else star.fact]
                place = table.definition.name, attribute.name
                if place not in levels:
                    levels[place] = _levels(attribute, table)
                for name in levels[place]:
                    kind = table.definition.schema.field(name).type
                    found[replace(attribute, name=name, type=kind)] = None
    return list(found)


def _levels(attribute: Attribute, table: TableInfo) -> list[str]:
    """Return the columns that an attribute determines, the finest first, one of each size."""
    values = table.sample[attribute.name]
    if not attribute.path and is_small(values) is None:
        return []  # nearly a key of the fact table: all of its columns would be levels
    own = encode_column(values)
    by_size: dict[int, str] = {}
    for field in table.definition.schema:
        if field.name == attribute.name or not _is_encodable(field.type):
            continue
        other = encode_column(table.sample[field.name])
        if 1 < other.cardinality < own.cardinality and determines(own, other):
            # Others with as many values are mostly the same level: of a month its first day.
            by_size.setdefault(other.cardinality, field.name)
    return [by_size[size] for size in sorted(by_size, reverse=True)][:MAX_LEVELS]


def _is_encodable(kind: pa.DataType) -> bool:
    return not (pt.is_nested(kind) or pt.is_interval(kind))


def measures_wanted(star: Star) -> list[Expression]:
    """Return the expressions that a BVH for a star might hold."""
    return [
        argument
        for _, call in star.aggregates
        if may_be_accumulated(call)
        for argument in call.arguments
        if is_number(argument.type) and attributes_of(argument)
    ]


def _keys(star: Star) -> Iterator[Expression]:
    """Yield the keys of a star, and the arguments of which it asks what values occur."""
    yield from (key for _, key in star.keys)
    measures = measures_wanted(star)
    for _, call in star.aggregates:
        if needs_values(call, measures):
            yield call.arguments[0]


# -- the advice


def advise(
    asked: Sequence[Asked],
    profiles: Mapping[str, Profile],
    catalog: CatalogInfo,
    memory: int | None,
    max_bvhs: int,
) -> Advice:
    """Return the BVHs to create.

    profiles: by fact table, with the attributes and measures wanted. memory: the bytes that all
    BVHs may take together, None for any number.
    """
    refused: dict[int, str] = {}
    useful: list[Asked] = []
    for each in asked:
        obstacle = _obstacle(each.star, profiles[each.star.fact], catalog)
        if obstacle is None:
            useful.append(each)
        else:
            refused[each.query] = obstacle
    stars = [each.star for each in useful]
    models = {table: BvhModel(profile, stars, catalog) for table, profile in profiles.items()}
    needs = [(star.fact, _need(star, models[star.fact])) for star in stars]
    limit = inf if memory is None else memory
    search = Search(models, needs, limit, max_bvhs)
    members = search.run()
    if not search.is_spent:
        members = [_in_best_order(member, models[member.table]) for member in members]
    served = _assign(members, stars, models)
    proposals = []
    for number, member in enumerate(members):
        jobs = {star: job for star, (place, job) in served.items() if place == number}
        if jobs:
            proposals.append(_proposal(member, models[member.table], jobs, useful))
    for star, each in enumerate(useful):
        if star not in served:
            refused[each.query] = (
                f"no BVH within the limits is faster than a scan of '{each.star.fact}'"
            )
    answered = {query for proposal in proposals for query in proposal.queries}
    return Advice(
        tuple(proposals), {query: why for query, why in refused.items() if query not in answered}
    )


def _obstacle(star: Star, profile: Profile, catalog: CatalogInfo) -> str | None:
    """Say why no BVH at all serves a star."""
    if not profile.row_count:
        return f"'{star.fact}' has no rows"
    larger = _larger(star.fact, catalog)
    if larger is not None:
        return f"'{star.fact}' is a dimension of '{larger}'"
    model = BvhModel(profile, [star], catalog)
    need = _need(star, model)
    if need == Candidate():
        return "it filters, groups and adds up nothing that a BVH encodes"
    # Without SCAN, for the cells do not matter here.
    job = model.job(Candidate((), need.scan + need.group_by, need.aggregate), 0)
    return job if isinstance(job, str) else None


def _larger(table: str, catalog: CatalogInfo) -> str | None:
    """Return the table with the most rows that refers to one with fewer, None where none does."""
    own = catalog.tables[table].row_count
    referring = {
        name: info.row_count
        for name, info in catalog.tables.items()
        if info.row_count > own and any(k.table == table for k in info.definition.foreign_keys)
    }
    return max(referring, key=lambda name: referring[name], default=None)


def _need(star: Star, model: BvhModel) -> Candidate:
    """Return what a BVH for one star would hold, whatever the number of cells."""
    scan = {a for predicate in star.predicates for a in model.encoded(predicate)}
    keys = {a for key in _keys(star) for a in model.encoded(key)} - scan
    wanted = measures_wanted(star)
    measures = (number for number, measure in enumerate(model.measures) if measure in wanted)
    return Candidate(model.in_order(scan), model.in_order(keys), tuple(measures))


def _in_best_order(member: Member, model: BvhModel) -> Member:
    """Order Z so that the stars have the fewest intervals: move an attribute while that helps."""

    def interval_count(levels: list[tuple[int, ...]]) -> int:
        candidate = _with_scan(member, levels).candidate
        jobs = (model.job(candidate, star) for star in member.stars)
        return sum(len(job.job.intervals) for job in jobs if not isinstance(job, str))

    best = model.levels(member.candidate)
    fewest = interval_count(best)
    is_done = False
    while not is_done:
        is_done = True
        for level in list(best):
            rest = [other for other in best if other != level]
            for place in range(len(best)):
                option = [*rest[:place], level, *rest[place:]]
                if (count := interval_count(option)) < fewest:
                    best, fewest, is_done = option, count, False
    ordered = _with_scan(member, best)
    readable = _with_scan(member, [tuple(sorted(level, key=model.cardinality)) for level in best])
    # What hangs together may depend on the order in which it is looked at.
    cells = [model.cell_count(each.candidate) for each in (ordered, readable)]
    return readable if cells[0] == cells[1] else ordered


def _with_scan(member: Member, levels: Iterable[tuple[int, ...]]) -> Member:
    scan = tuple(attribute for level in levels for attribute in level)
    return replace(member, candidate=replace(member.candidate, scan=scan))


def _assign(
    members: Sequence[Member], stars: Sequence[Star], models: Mapping[str, BvhModel]
) -> dict[int, tuple[int, FusedScanAggregate]]:
    """Choose a BVH for each star as a query will; none where a scan is cheaper than the best."""
    served = {}
    for number, star in enumerate(stars):
        model = models[star.fact]
        answers = [
            (answer.rank, place)
            for place, member in enumerate(members)
            if member.table == star.fact
            and (answer := model.answer(member.candidate, number)) is not None
            and answer.cost < model.scan_cost(number)
        ]
        if answers:
            _, place = min(answers)
            job = model.job(members[place].candidate, number)
            assert not isinstance(job, str)
            served[number] = (place, job)
    return served


def _proposal(
    member: Member,
    model: BvhModel,
    jobs: Mapping[int, FusedScanAggregate],
    asked: Sequence[Asked],
) -> Proposal:
    touched = sum(job.estimated_rows for job in jobs.values())
    total = len(jobs) * model.profile.row_count
    cells = model.cell_count(member.candidate)
    reason = f"{cells} cell{'' if cells == 1 else 's'}; "
    reason += f"its queries read {100 * touched / total:.3g} % of the rows"
    for star, job in jobs.items():
        fetched = ", ".join(show(expression) for expression in job.fetched)
        if fetched:
            reason += f"; query {asked[star].query} fetches {fetched} by row id"
    return Proposal(
        definition=model.definition(member.candidate),
        queries=tuple(sorted({asked[star].query for star in jobs})),
        rows_touched=touched,
        rows_total=total,
        size_bytes=model.size_bytes(member.candidate),
        reason=reason,
    )
