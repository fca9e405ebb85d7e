"""RayDB on random queries: against DuckDB and SQLite, with and without BVHs, and split by TLP and NoREC.

RAYDB_FUZZ_SEED chooses other queries and RAYDB_FUZZ_CASES how many; a database does not depend on
those before it: `pytest tests/fuzz/test_random_queries.py -k 'database-12'`.
"""

from __future__ import annotations

import os
from collections import Counter
from random import Random

import pytest
from random_queries import random_trial
from random_tables import random_bvh, random_rows, random_tables
from stars import SEED
from trials import Refused, judge, open_engines, report, shrunk

CASES = int(os.environ.get("RAYDB_FUZZ_CASES", "500"))
CASES_A_DATABASE = 25
DATABASE_COUNT = -(-CASES // CASES_A_DATABASE)

outcomes: Counter[str] = Counter()
refusals: Counter[str] = Counter()


@pytest.mark.parametrize("number", range(DATABASE_COUNT), ids="database-{}".format)
def test_random_queries_are_answered_right(number: int) -> None:
    rng = Random(f"queries {SEED} {number}")
    tables = random_tables(rng)
    ddl = [table.ddl for table in tables]
    engines = open_engines(iter([*ddl, *random_rows(rng, tables), random_bvh(rng, tables)]))
    for _ in range(CASES_A_DATABASE):
        trial = random_trial(rng, tables)
        outcomes["cases"] += 1
        try:
            verdict = judge(engines, trial)
        except Refused as error:
            outcomes["refused"] += 1
            refusals[str(error)] += 1
            continue
        if verdict.problem:
            found = report(*shrunk(engines.steps, trial))
            pytest.fail(f"seed {SEED}, database {number}: {found}", pytrace=False)
        outcomes.update(verdict.oracles or ["no oracle"])
    engines.close()


def test_hardly_a_query_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    if outcomes["cases"] < DATABASE_COUNT * CASES_A_DATABASE:
        pytest.skip("only some of the queries have run")
    with capsys.disabled():
        print(f"\n{dict(outcomes)}")
    assert not refusals, refusals.most_common(20)
    assert outcomes["no oracle"] <= 0.02 * outcomes["cases"], outcomes
    assert outcomes["SQLite"] >= 0.05 * outcomes["cases"], outcomes
