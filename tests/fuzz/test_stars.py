"""RayDB against DuckDB on random stars, with the fused path on and off.

RAYDB_FUZZ_SEED chooses other stars and RAYDB_FUZZ_CASES how many queries; both are printed in
pytest's header. A star does not depend on those before it: `pytest tests/fuzz -k 'star-12'`.

Every fourth star runs with tiny limits, for the code that else only meets large data, every fourth
one scans its fact table wherever a BVH lacks anything, and every fourth one takes each way that is
else kept for large tables.
"""

from __future__ import annotations

import functools
from collections import Counter
from random import Random

import duckdb
import pytest
from differential import (
    Pair,
    Step,
    answers,
    difference,
    every_optimizer,
    open_pair,
    path_of,
    script,
    shrunk,
)
from star_queries import Query, random_query
from stars import CASES, SEED, Star, more_rows, random_bvh, random_rows, random_star

import raydb
from raydb.kernels.bvh.intervals import cell_intervals

QUERIES_A_STAR = 20
STAR_COUNT = -(-CASES // QUERIES_A_STAR)

# What the stars' queries were: on which path they ran, and how many no engine answered.
outcomes: Counter[str] = Counter()

# Small enough for a few hundred rows to exceed.
TINY_LIMITS = {
    "raydb.engine.fused.fold_values.DENSE_GROUPS": 3,
    "raydb.engine.operators.join.partners.MORSEL_ROWS": 16,
    "raydb.engine.operators.limit.SAMPLE_ROWS": 32,
    "raydb.engine.operators.limit._FIRST_OF_SAMPLE": 1,
    "raydb.engine.operators.limit._GROWTH": 2,
    "raydb.engine.operators.relation.MORSEL_ROWS": 16,
    "raydb.engine.operators.sort.SAMPLE_ROWS": 8,
    "raydb.kernels.backends.cpu.cpu_backend.BLOCK_ROWS": 7,
    "raydb.kernels.backends.cpu.cpu_backend.CHUNK_ROWS": 11,
    "raydb.kernels.backends.cpu.cpu_backend.CODE_CHUNK_ROWS": 5,
    "raydb.kernels.backends.cpu.cpu_backend.KEPT_GROUPS": 2,
    "raydb.kernels.backends.cpu.cpu_backend.LISTED_ROWS": 0,
    "raydb.kernels.backends.cpu.cpu_backend.THREAD_BLOCK_ROWS": 20,
    "raydb.kernels.backends.cpu.cpu_backend.THREAD_CODE_ROWS": 20,
    "raydb.kernels.backends.cpu.cpu_backend.THREAD_RUN_ROWS": 20,
    "raydb.kernels.backends.cpu.blocks.BLOCK_ROWS": 13,
    "raydb.kernels.backends.cpu.build.DENSE_CELLS": 1,
    "raydb.kernels.backends.cpu.blocks.THREAD_ROWS": 50,
    "raydb.kernels.backends.cpu.radix.PARTITION_ROWS": 5,
    "raydb.kernels.bvh.encode.BLOCK_ROWS": 11,
    "raydb.kernels.bvh.encode.FLAG_LIMIT": 4,
    "raydb.planner.stars.fused_scan.DENSE_GROUPS": 3,
    "raydb.planner.top_rows.MIN_ROWS": 0,
    "raydb.planner.top_rows._MANY": 1.0,
    "raydb.planner.stars.codes.by_arrays.cell_intervals": functools.partial(
        cell_intervals, limit=3
    ),
    "raydb.planner.stars.fuse.find_by_loop": lambda *_: None,
}

SCANS = {
    "raydb.engine.fused.column_codes.DIRECT_CODES": 5,
    "raydb.kernels.backends.cpu.scans.scan.CHUNK_ROWS": 16,
    "raydb.kernels.backends.cpu.scans.scan.SLICE_PIECES": 2,
    "raydb.kernels.backends.cpu.scans.scan.THREAD_ROWS": 40,
    "raydb.planner.stars.costs.FETCH_COST": 1_000_000,
    "raydb.planner.stars.table_scan.MIN_ROWS": 0,
}

LARGE = {
    "raydb.planner.index_lookup.MIN_ROWS": 0,
    "raydb.planner.index_lookup._MIN_KEYS": 0,
    "raydb.planner.key_filters._MIN_ROWS": 0,
    "raydb.planner.stars.costs.MIN_COMPARED": 0,
    "raydb.planner.stars.delta.MIN_SCANNED": 0,
    "raydb.planner.stars.table_scan.DENSE_GROUPS": 50,
    "raydb.planner.stars.table_scan.MIN_ROWS": 0,
    "raydb.planner.top_rows.MIN_ROWS": 0,
}


@pytest.mark.parametrize("number", range(STAR_COUNT), ids="star-{}".format)
def test_star_has_the_rows_of_duckdb(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {0: TINY_LIMITS, 1: LARGE, 2: SCANS}.get(number % 4, {})
    for name, limit in limits.items():
        monkeypatch.setattr(name, limit)
    rng = Random(f"{SEED} {number}")
    star = random_star(rng)
    pair = open_pair()
    for table in star.tables:
        run(pair, table.ddl)
    for insert in random_rows(rng, star):
        run(pair, insert)
    for bvh in star.bvhs:
        run(pair, bvh.sql)
    for _ in range(QUERIES_A_STAR):
        if rng.random() < 0.1:
            write_rows(rng, star, pair)
        if rng.random() < 0.05:
            replace_bvh(rng, star, pair)
        check(pair, random_query(rng, star))
    pair.close()


def write_rows(rng: Random, star: Star, pair: Pair) -> None:
    """Insert rows, sometimes in a transaction with a query in it, sometimes for nothing."""
    ending = rng.choice((None, None, "COMMIT", "ROLLBACK"))
    keys = {name: list(known) for name, known in star.keys.items()}
    if ending:
        run(pair, "BEGIN")
    for insert in more_rows(rng, star):
        run(pair, insert)
    if ending:
        with every_optimizer(pair.theirs):
            check(pair, random_query(rng, star))
        run(pair, ending)
    if ending == "ROLLBACK":
        star.keys = keys


def replace_bvh(rng: Random, star: Star, pair: Pair) -> None:
    number = rng.randrange(len(star.bvhs))
    bvh = random_bvh(rng, star, number)
    star.bvhs = (*star.bvhs[:number], bvh, *star.bvhs[number + 1 :])
    run(pair, f"DROP BVH b{number}")
    run(pair, bvh.sql)


def run(pair: Pair, step: Step) -> None:
    try:
        pair.run(step)
    except (raydb.Error, duckdb.Error) as error:
        sql = script(pair.steps)
        pytest.fail(f"seed {SEED}: the last statement fails: {error}\n\n{sql}", pytrace=False)


def check(pair: Pair, query: Query) -> None:
    found = answers(pair, query)
    outcomes["queries"] += 1
    outcomes["refused"] += isinstance(found.duckdb, str)
    if not difference(found, query):
        outcomes[path_of(pair, query)] += 1
        return
    steps, found = shrunk(pair.steps, query)
    pytest.fail(
        f"seed {SEED}: the answers differ.\n\n{script([*steps, query.sql])}\n"
        f"fused path:    {found.fused}\n"
        f"general path:  {found.general}\n"
        f"DuckDB:        {found.duckdb}\n",
        pytrace=False,
    )


def test_half_of_the_queries_take_the_fused_path(capsys: pytest.CaptureFixture[str]) -> None:
    if outcomes["queries"] < STAR_COUNT * QUERIES_A_STAR:
        pytest.skip("only some of the stars have run, or not all of their queries")
    with capsys.disabled():
        print(f"\n{outcomes['fused']} of {outcomes['queries']} queries ran on the fused path")
    assert outcomes["fused"] >= 0.5 * outcomes["queries"], outcomes
    assert outcomes["general"] >= 0.1 * outcomes["queries"], outcomes
    assert outcomes["refused"] <= 0.01 * outcomes["queries"], outcomes
