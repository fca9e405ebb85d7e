"""MERGE at random, against DuckDB: what the table holds, and what RETURNING tells.

DuckDB 2.0 has no plan for some subqueries in conditions, so there are none.
RAYDB_FUZZ_MERGE_STATEMENTS says how many statements to run.
"""

from __future__ import annotations

import os
from random import Random

import duckdb
import pytest
from stars import SEED

import raydb

STATEMENTS = int(os.environ.get("RAYDB_FUZZ_MERGE_STATEMENTS", "200"))
STATEMENTS_A_RUN = 50

SOURCES = (
    "s",
    "(SELECT k, max(m) AS m FROM s GROUP BY k)",
    "(SELECT k + 3 AS k, m FROM s WHERE m > 20)",
)
CONDITIONS = {
    "matched": ("t.n > s.m", "s.m < 40", "t.k = 3 OR t.n IS NULL", "s.m % 3 = t.n % 3"),
    "not matched": ("s.m > 50", "s.k IS NULL", "s.k % 2 = 0"),
    "not matched by source": ("t.n > 30", "t.k IS NULL", "t.n % 2 = 1"),
}
ACTIONS = {
    "matched": ("UPDATE SET n = n + s.m", "UPDATE SET (k, n) = (s.k + 1, 5)", "DELETE"),
    "not matched": ("INSERT", "INSERT (n) VALUES (s.m - 1)", "INSERT (n, k) VALUES (DEFAULT, s.k)"),
    "not matched by source": ("UPDATE SET n = coalesce(n, 0) - 1", "DELETE"),
}


def merge(rng: Random) -> tuple[str, str]:
    """Return what a MERGE joins its table with, and the statement."""
    on = rng.choice(("t.k = s.k", "t.k = s.k AND t.n > 10", "t.k = s.k + 1 OR t.n = s.m"))
    whens = []
    for case in rng.sample(list(ACTIONS), rng.randint(1, 3)):
        for _ in range(rng.randint(0, 2)):
            action = rng.choice((*ACTIONS[case], "DO NOTHING"))
            whens.append(f"WHEN {case} AND {rng.choice(CONDITIONS[case])} THEN {action}")
        if rng.random() < 0.7:
            whens.append(f"WHEN {case} THEN {rng.choice(ACTIONS[case])}")
    if not whens:
        whens.append("WHEN MATCHED THEN DELETE")
    join = f"{rng.choice(SOURCES)} AS s ON {on}"
    return join, f"MERGE INTO t USING {join} {' '.join(whens)}"


@pytest.mark.parametrize("number", range(-(-STATEMENTS // STATEMENTS_A_RUN)), ids="run-{}".format)
def test_random_merges_give_the_rows_of_duckdb(number: int) -> None:
    rng = Random(f"merges {SEED} {number}")
    ours, theirs = raydb.connect(), duckdb.connect()
    steps = ["CREATE TABLE t (k INTEGER, n INTEGER DEFAULT 7)"]
    steps.append("CREATE TABLE s (k INTEGER, m INTEGER)")
    for step in steps:
        ours.execute(step)
        theirs.execute(step)
    applied = 0
    for _ in range(STATEMENTS_A_RUN):
        keys = ["NULL" if rng.random() < 0.1 else key for key in rng.sample(range(1, 14), 6)]
        pairs = ", ".join(f"({key}, {rng.randint(1, 80)})" for key in keys)
        texts = ["DELETE FROM s", f"INSERT INTO s VALUES {pairs}"]
        if rng.random() < 0.3:
            texts.append(f"INSERT INTO t VALUES {pairs}")
        join, statement = merge(rng)
        texts.append(statement + rng.choice(("", " RETURNING merge_action, k, n")))
        for text in texts:
            steps.append(text)
            try:
                cursor = ours.execute(text)
            except raydb.ProgrammingError as error:
                if "a second time" not in str(error):
                    raise
                # DuckDB 2.0.1 takes one of the rows, as it comes.
                several = f"SELECT 1 FROM t JOIN {join} GROUP BY t.rowid HAVING count(*) > 1"
                assert theirs.execute(several).fetchall(), steps
                continue
            expected = theirs.execute(text).fetchall()
            if "RETURNING" in text:
                assert sorted(cursor.fetchall(), key=repr) == sorted(expected, key=repr), steps
            else:
                assert [(cursor.rowcount,)] == expected, steps
            applied += text.startswith("MERGE")
        rows = "SELECT * FROM t ORDER BY ALL"
        assert ours.execute(rows).fetchall() == theirs.execute(rows).fetchall(), steps
    assert applied > STATEMENTS_A_RUN / 4
