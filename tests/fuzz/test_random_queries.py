"""RayDB on random queries: against DuckDB and SQLite, with and without BVHs, and split in parts.

RAYDB_FUZZ_SEED chooses other queries and RAYDB_FUZZ_CASES how many; a database does not depend on
those before it: `pytest tests/fuzz/test_random_queries.py -k 'database-12'`. Every fourth database
runs with tiny morsels, for the code that else only meets large data; every second one has names and
words in letters of upper and lower case, by chance, in definitions and in queries.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from query_features import FEATURES, OFF
from random_queries import random_trial
from random_tables import random_bvh, random_rows, random_tables
from respelling import in_any_case
from shrink_trials import report, shrunk
from stars import SEED
from trials import RefusedError, judge, open_engines

CASES = int(os.environ.get("RAYDB_FUZZ_CASES", "300"))
CASES_A_DATABASE = 25
DATABASE_COUNT = -(-CASES // CASES_A_DATABASE)

# How many queries each engine and each way to split judged, and how often a feature was used.
outcomes: Counter[str] = Counter()
uses: Counter[str] = Counter()
refusals: Counter[str] = Counter()


@pytest.mark.parametrize("number", range(DATABASE_COUNT), ids="database-{}".format)
def test_random_queries_are_answered_right(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if number % 4 == 0:
        monkeypatch.setattr("raydb.engine.operators.relation.MORSEL_ROWS", 16)
    rng = Random(f"queries {SEED} {number}")
    tables = random_tables(rng)
    letters = Random(f"letters {SEED} {number}")
    ddl = [in_any_case(letters, table.ddl) if number % 2 else table.ddl for table in tables]
    engines = open_engines([*ddl, *random_rows(rng, tables), random_bvh(rng, tables)])
    for _ in range(CASES_A_DATABASE):
        trial = random_trial(rng, tables)
        if number % 2:
            trial = replace(trial, sql=in_any_case(letters, trial.sql))
        outcomes["cases"] += 1
        uses.update(trial.used)
        try:
            verdict = judge(engines, trial)
        except RefusedError as error:
            refusals[str(error)] += 1
            continue
        if verdict.problem:
            found = report(*shrunk(engines.steps, trial))
            pytest.fail(f"seed {SEED}, database {number}: {found}", pytrace=False)
        outcomes.update(verdict.oracles or ["no oracle"])
    engines.close()


def test_every_feature_is_used_and_no_query_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    if outcomes["cases"] < DATABASE_COUNT * CASES_A_DATABASE:
        pytest.skip("only some of the queries have run")
    share = refusals.total() / outcomes["cases"]
    with capsys.disabled():
        print(f"\n{share:.1%} of the queries are refused; judged: {dict(outcomes)}")
    assert not refusals, refusals.most_common(20)
    assert outcomes["no oracle"] <= 0.02 * outcomes["cases"], outcomes
    assert outcomes["SQLite"] >= 0.1 * outcomes["cases"], outcomes
    if CASES >= 2000:
        assert set(uses) == FEATURES - OFF
