"""RayDB against DuckDB on random stars, with the fused path on and off.

RAYDB_FUZZ_SEED chooses other stars and RAYDB_FUZZ_CASES how many queries; both are printed in
pytest's header. A star does not depend on those before it: `pytest tests/fuzz -k 'star-12'`.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import duckdb
import pytest
from differential import Pair, Step, answers, difference, open_pair, path_of, script, shrunk
from star_queries import Query, random_query
from stars import CASES, SEED, more_rows, random_rows, random_star

import raydb

QUERIES_A_STAR = 20
STAR_COUNT = -(-CASES // QUERIES_A_STAR)

# What the stars' queries were: on which path they ran, and how many no engine answered.
outcomes: Counter[str] = Counter()


@pytest.mark.parametrize("number", range(STAR_COUNT), ids="star-{}".format)
def test_star_has_the_rows_of_duckdb(number: int) -> None:
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
            for insert in more_rows(rng, star):
                run(pair, insert)
        check(pair, random_query(rng, star))
    pair.close()


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


def test_half_of_the_queries_take_the_fused_path() -> None:
    if outcomes["queries"] < STAR_COUNT * QUERIES_A_STAR:
        pytest.skip("only some of the stars have run, or not all of their queries")
    print(dict(outcomes))
    assert outcomes["fused"] >= 0.5 * outcomes["queries"], outcomes
    assert outcomes["general"] >= 0.1 * outcomes["queries"], outcomes
    assert outcomes["refused"] <= 0.01 * outcomes["queries"], outcomes
