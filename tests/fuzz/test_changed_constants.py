"""Random queries whose constants change: a plan from the cache answers as one that is made anew.

Between them tables and BVHs change, by this connection and by another one. A star that the compiled
loop finds, be it planned or filled, is compared with arrays: the same cells, maps, groups and runs.

RAYDB_FUZZ_SEED chooses other queries and RAYDB_FUZZ_CASES how many.
"""

from __future__ import annotations

import itertools
import math
import os
import re
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from plain_stars import insert, plain_change, plain_query, plain_star, scanned_query
from random_queries import random_trial
from random_tables import random_bvh, random_rows, random_tables
from star_queries import random_query
from stars import SEED, random_insert, random_star
from stars import Star as RandomStar
from stars import random_rows as random_star_rows

import raydb
from raydb.engine.fused import prepared_query
from raydb.engine.fused.prepared_query import (
    FilledQuery,
    PreparedFetch,
    PreparedQuery,
    PreparedScan,
    PreparedWithNewer,
)
from raydb.engine.fused.table_job import fuse_on_rows
from raydb.engine.plans.template_cache import TemplateCache
from raydb.kernels.backends.backend import FusedJob
from raydb.kernels.backends.cpu import warm
from raydb.kernels.backends.cpu.cpu_backend import CpuJob
from raydb.kernels.backends.cpu.runs import find_runs
from raydb.planner import PlannerOptions
from raydb.planner.plan.nodes import Aggregate, Star
from raydb.planner.plan.nodes.node import Node
from raydb.planner.stars import fuse as fuse_module
from raydb.planner.stars.choose import choose_job
from raydb.planner.stars.codes.by_arrays import find_by_arrays
from raydb.planner.stars.codes.by_loop import find_by_loop
from raydb.planner.stars.costs import bvh_cost
from raydb.planner.stars.fused_scan import JobCells
from raydb.planner.stars.table_scan import FusedTableScan

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb import sql
    from raydb.engine.plans.prepared_plan import PreparedPlan
    from raydb.kernels.backends.backend import CodeMap
    from raydb.planner.catalog import BvhInfo, CatalogInfo
    from raydb.planner.plan.nodes.node import Items
    from raydb.planner.stars.fused_scan import FusedScanAggregate

CASES = int(os.environ.get("RAYDB_FUZZ_CASES", "60"))
CASES_A_DATABASE = 20
DATABASE_COUNT = -(-CASES // CASES_A_DATABASE)
VARIANTS = 6

# Whether a template gave the plan of a text whose shape was there before.
outcomes: Counter[str] = Counter()

# What makes as many rows, or as long a text, as a constant says.
_ENDLESS = re.compile(r"\b(RECURSIVE|generate_series|range|repeat|lpad|rpad)\b", re.IGNORECASE)

_CONSTANT = re.compile(r"'(?:[^']|'')*'|(?<![\w.$])\d+(?:\.\d+)?(?![\w.])")
_NUMBERS = (
    "0",
    "1",
    "2",
    "5",
    "10",
    "12",
    "99",
    "128",
    "300",
    "40000",
    "3000000000",
    "1.5",
    "0.25",
)
# What changes the shape of the text, or the type of a literal.
_OTHERS = ("NULL", "-3", "CAST(7 AS BIGINT)", "'a%'", "1e2", "TRUE")
_STRINGS = ("''", "'a'", "'b'", "'it''s'", "'A%'", "'_'", "'12'", "'1.5'", "'2024-02-29'", "'--'")


def other_constants(rng: Random, text: str) -> str:
    """Return a text with one constant replaced, or several, mostly by others of the same kind."""
    places = list(_CONSTANT.finditer(text))
    if not places or _ENDLESS.search(text):
        return text
    chosen = rng.sample(places, rng.choice((1, 1, 1, min(2, len(places)), len(places))))
    for place in sorted(chosen, key=lambda match: -match.start()):
        text = text[: place.start()] + other_constant(rng, place[0], places) + text[place.end() :]
    return text


def other_constant(rng: Random, text: str, places: list[re.Match[str]]) -> str:
    if rng.random() < 0.1:
        return rng.choice(places)[0]
    if rng.random() < 0.04:
        return rng.choice(_OTHERS)
    if text[0] == "'":
        alike = [each[0] for each in places if each[0][0] == "'" and len(each[0]) == len(text)]
        return rng.choice((*alike, rng.choice(_STRINGS)))
    if text.isdigit() and rng.random() < 0.7:
        return str(max(int(text) + rng.choice((-1, 1)) * rng.choice((1, 1, 2, 7)), 0))
    return rng.choice(_NUMBERS)


def answer(connection: raydb.Connection, text: str) -> Any:
    """Return the names and rows of a query, or its error."""
    try:
        cursor = connection.execute(text)
        return cursor.description, sorted(map(repr, cursor.fetchall()))
    except raydb.Error as error:
        return type(error).__name__, str(error)


def compare(
    steps: list[str],
    rng: Random,
    query: Callable[[], str],
    change: Callable[[], str] = lambda: "SELECT 1",
) -> None:
    """Ask random queries, each with several constants, with the cache and without."""
    with raydb.connect() as cached, cached.duplicate() as other, raydb.connect() as plain:
        plain.execute("SET plan_cache = 'off'")
        for step in steps:
            cached.execute(step)
            plain.execute(step)
        for _ in range(CASES_A_DATABASE):
            text = query()
            for variant in [text, *(other_constants(rng, text) for _ in range(VARIANTS)), text]:
                assert answer(cached, variant) == answer(plain, variant), variant
                if rng.random() < 0.03:
                    changed = change()
                    writer = rng.choice((cached, other))
                    assert answer(writer, changed) == answer(plain, changed), changed


@pytest.fixture(autouse=True)
def _counted(monkeypatch: pytest.MonkeyPatch) -> None:
    warm.wait()
    filled = TemplateCache.filled

    def count(*arguments: Any) -> Any:
        plan = filled(*arguments)
        outcomes["filled" if plan is not None else "bound"] += 1
        return plan

    monkeypatch.setattr(TemplateCache, "filled", count)
    plan, plan_with_newer = PreparedQuery.plan, PreparedWithNewer.plan

    def check(query: PreparedQuery, filling: sql.Filling) -> FilledQuery | None:
        filled = plan(query, filling)
        if filled is not None:
            outcomes["prepared"] += 1
            check_job(filled.plan(), star_of(filling), query.star._bvh)
        return filled

    def check_with_newer(query: PreparedWithNewer, filling: sql.Filling) -> PreparedPlan | None:
        prepared = plan_with_newer(query, filling)
        if prepared is not None:
            outcomes["with newer rows"] += 1
            (delta,) = prepared.deltas
            assert delta.star.predicates == star_of(filling).predicates
            check_job(prepared, delta.star, query._star._bvh)
        return prepared

    def check_found(star: Star, bvh: BvhInfo, values: Items) -> JobCells | None:
        found = find_by_loop(star, bvh, values)
        if found is not None:
            outcomes["found by the loop"] += 1
            check_cells(found, find_by_arrays(star, bvh, values))
        return found

    plan_scan = PreparedScan.plan

    def check_scan(query: PreparedScan, filling: sql.Filling) -> PreparedPlan | None:
        prepared = plan_scan(query, filling)
        if prepared is not None:
            outcomes["scans"] += 1
            check_table_job(prepared, star_of(filling))
            check_choice(star_of(filling), catalogs[id(query)])
        return prepared

    plan_fetch = PreparedFetch.plan

    def check_fetch(query: PreparedFetch, filling: sql.Filling) -> PreparedPlan | None:
        prepared = plan_fetch(query, filling)
        if prepared is not None:
            outcomes["fetches"] += 1
            star, bvh = star_of(filling), query._star._bvh
            anew = fuse_module.fuse(star, bvh, ("cpu",), "")
            assert not isinstance(anew, str)
            ((job, _),) = prepared.jobs.items()
            check_cells(cells_of(job), cells_of(anew))
            assert job.fetched == anew.fetched
            assert bvh_cost(star, job, catalogs[id(query)]) <= query._limits.most
        return prepared

    monkeypatch.setattr(PreparedFetch, "plan", check_fetch)
    prepare, catalogs = prepared_query.prepare_query, {}

    def prepare_noted(filling: sql.Filling, first: PreparedPlan, catalog: CatalogInfo, *rest: Any):
        query = prepare(filling, first, catalog, *rest)
        catalogs[id(query)] = catalog
        return query

    monkeypatch.setattr(prepared_query, "prepare_query", prepare_noted)

    monkeypatch.setattr(PreparedScan, "plan", check_scan)
    monkeypatch.setattr(fuse_module, "find_by_loop", check_found)
    monkeypatch.setattr(PreparedQuery, "plan", check)
    monkeypatch.setattr(PreparedWithNewer, "plan", check_with_newer)


def star_of(filling: sql.Filling) -> Star:
    """Return the star of a query that is filled."""
    node = filling.plan()
    while not isinstance(node, Aggregate):
        (node,) = node.sources
    assert isinstance(node.star, Star)
    return node.star


def check_job(prepared: PreparedPlan, star: Star, bvh: BvhInfo) -> None:
    """Compare the job of a star that was filled with the one that is found by arrays."""
    ((filled, job),) = prepared.jobs.items()
    answered = {column for part in filled.value_parts for column in part.columns}
    values = tuple([(c, call.arguments[0]) for c, call in star.aggregates if c in answered])
    planned = find_by_arrays(star, bvh, values)
    check_cells(cells_of(filled), planned)
    assert isinstance(job, CpuJob)
    by_arrays = FusedJob(planned.intervals, planned.maps, planned.group_count, ())
    assert job.runs.table.tolist() == find_runs(bvh.index, by_arrays).table.tolist()


def check_table_job(prepared: PreparedPlan, star: Star) -> None:
    """Compare the job of a scan that was filled with one that is made anew."""
    ((scan, job),) = prepared.scans.items()
    assert scan.star.predicates == star.predicates
    assert job is not None
    anew = fuse_on_rows(scan, job.image.tables, job.image.cache)
    assert anew is not None
    assert anew.scan is not None
    assert job.scan is not None
    assert job.measures == anew.measures
    assert job.plan.running == anew.plan.running
    assert [each.sources for each in job.image.hierarchies] == [
        each.sources for each in anew.image.hierarchies
    ]
    check_cells(cells_of(job.plan), cells_of(anew.plan))
    for name in ("hierarchies", "tables", "filters", "pieces", "bases", "active"):
        mine, theirs = getattr(job.scan, name), getattr(anew.scan, name)
        assert list(map(str, mine)) == list(map(str, theirs)), name


def check_choice(star: Star, catalog: CatalogInfo) -> None:
    """Look whether a scan is what would be chosen anew, be it of a part of the star."""
    chosen = choose_job(star, catalog, PlannerOptions(), lambda: math.inf, itertools.count(10**6))
    while isinstance(chosen, Node) and len(chosen.sources) == 1:
        (chosen,) = chosen.sources
    assert isinstance(chosen, FusedTableScan), chosen


def cells_of(plan: FusedScanAggregate) -> JobCells:
    job = plan.job
    return JobCells(
        job.intervals,
        job.maps,
        job.group_count,
        plan.estimated_rows,
        plan.parts,
        plan.key_count,
        plan.value_parts,
    )


def check_cells(found: JobCells, by_arrays: JobCells) -> None:
    assert found.intervals.tolist() == by_arrays.intervals.tolist()
    assert list(map(looked_up, found.maps)) == list(map(looked_up, by_arrays.maps))
    assert counts(found) == counts(by_arrays)
    assert not by_arrays.residual_predicates
    assert not by_arrays.residual_keys
    parts = found.parts + found.value_parts, by_arrays.parts + by_arrays.value_parts
    for mine, theirs in zip(*parts, strict=True):
        assert (mine.columns, mine.stride, mine.count) == (
            theirs.columns,
            theirs.stride,
            theirs.count,
        )
        assert list(map(str, mine.values)) == list(map(str, theirs.values))


def counts(cells: JobCells) -> tuple[int, int, int]:
    return cells.group_count, cells.row_count, cells.key_count


def looked_up(code_map: CodeMap) -> tuple[Any, ...]:
    return code_map.hierarchy, code_map.by_cell, code_map.filters, code_map.groups.tolist()


def random_change(rng: Random, star: RandomStar) -> str:
    """Return a statement that changes rows or BVHs; some are refused."""
    fact = star.fact.name
    name = rng.choice([column for group in star.fact.groups for column in group.columns]).name
    dropped = rng.choice(star.bvhs).sql.split()[2] if star.bvhs else "nothing"
    return rng.choice(
        (
            random_insert(rng, star, rng.choice(star.tables), 5).sql,
            f"DELETE FROM {fact} WHERE {name} = (SELECT max({name}) FROM {fact})",
            f"UPDATE {fact} SET {name} = (SELECT min({name}) FROM {fact}) WHERE {name} IS NULL",
            f"DROP BVH {dropped}",
            *(bvh.sql for bvh in star.bvhs),
        )
    )


@pytest.fixture(autouse=True)
def templates_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the first text of a shape make the template, as the second one does otherwise."""
    monkeypatch.setattr(TemplateCache, "knows", lambda *_: True)


@pytest.mark.parametrize("number", range(DATABASE_COUNT), ids="database-{}".format)
def test_queries_with_other_constants_are_right(number: int) -> None:
    rng = Random(f"constants {SEED} {number}")
    tables = random_tables(rng)
    rows = [rows.sql for rows in random_rows(rng, tables)]
    steps = [*(table.ddl for table in tables), *rows, random_bvh(rng, tables)]
    compare(steps, rng, lambda: random_trial(rng, tables).sql)


@pytest.mark.long
@pytest.mark.parametrize("number", range(DATABASE_COUNT), ids="star-{}".format)
def test_star_queries_with_other_constants_are_right(number: int) -> None:
    rng = Random(f"star constants {SEED} {number}")
    star = random_star(rng)
    rows = [each.sql for each in random_star_rows(rng, star)]
    steps = [*(table.ddl for table in star.tables), *rows, *(bvh.sql for bvh in star.bvhs)]
    compare(
        steps,
        rng,
        lambda: random_query(rng, star).sql,
        lambda: random_change(rng, star),
    )


@pytest.mark.parametrize("number", range(-(-DATABASE_COUNT // 3)), ids="plain-{}".format)
def test_plain_stars_with_other_constants_are_right(number: int) -> None:
    rng = Random(f"plain constants {SEED} {number}")
    steps = list(plain_star(rng))
    if number % 2:
        steps.append(insert(rng, 12))  # which BVHs lack
    compare(steps, rng, lambda: plain_query(rng), lambda: plain_change(rng))
    outcomes["plain stars"] += 1


@pytest.mark.parametrize("number", range(-(-DATABASE_COUNT // 3)), ids="scans-{}".format)
def test_scans_with_other_constants_are_right(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scans of small tables; BVHs may be better with some constants, or fetch too dearly."""
    monkeypatch.setattr("raydb.planner.stars.table_scan.MIN_ROWS", 0)
    monkeypatch.setattr("raydb.kernels.backends.cpu.scans.scan.CHUNK_ROWS", 16)
    if number % 2 == 0:
        monkeypatch.setattr("raydb.planner.stars.costs.FETCH_COST", 1_000_000)
    rng = Random(f"scans {SEED} {number}")
    compare(list(plain_star(rng)), rng, lambda: scanned_query(rng), lambda: plain_change(rng))


def test_many_plans_come_from_templates() -> None:
    asked = outcomes["filled"] + outcomes["bound"]
    if outcomes["plain stars"] < 2 or asked < DATABASE_COUNT * CASES_A_DATABASE * VARIANTS:
        pytest.skip("only some of the queries have run")
    assert outcomes["filled"] >= 0.1 * asked, outcomes
    # It is these that are prepared, of which another process may have run most.
    assert outcomes["prepared"] >= outcomes["plain stars"], outcomes
    assert outcomes["found by the loop"] >= outcomes["plain stars"], outcomes
    assert outcomes["with newer rows"] >= 0.001 * asked, outcomes
    assert outcomes["fetches"] >= outcomes["plain stars"], outcomes
    assert outcomes["scans"] >= outcomes["plain stars"], outcomes
