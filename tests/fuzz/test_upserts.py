"""INSERT ... ON CONFLICT, UPDATE ... FROM and DELETE on one table, at random, against SQLite.

RAYDB_FUZZ_UPSERTS says how many statements to run. SQLite changes row after row, so statements that
meet a row twice, which is an error here, are left out there too.
"""

from __future__ import annotations

import os
import sqlite3
from random import Random

import pytest
from stars import SEED

import raydb

STATEMENTS = int(os.environ.get("RAYDB_FUZZ_UPSERTS", "400"))
STATEMENTS_A_RUN = 100

SCHEMA = (
    "CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR UNIQUE, n INTEGER NOT NULL DEFAULT 5 "
    "CHECK (n < 90), a INTEGER, b INTEGER, UNIQUE (a, b))",
    "CREATE TABLE s (k INTEGER, m INTEGER)",
)
ACTIONS = (
    "",
    "ON CONFLICT DO NOTHING",
    "ON CONFLICT (id) DO NOTHING",
    "ON CONFLICT (name) DO UPDATE SET n = t.n + excluded.n",
    "ON CONFLICT (id) DO UPDATE SET n = excluded.n, a = t.a + 10, b = excluded.b + 20",
    "ON CONFLICT (id) DO UPDATE SET n = n + 1 WHERE excluded.n > t.n",
    "ON CONFLICT (b, a) DO UPDATE SET n = (SELECT count(*) FROM s WHERE k = excluded.n)",
)


def insert(rng: Random) -> str:
    rows = []
    for _ in range(rng.randint(1, 5)):
        cells = [rng.randint(1, 12), f"'n{rng.randint(1, 9)}'", rng.randint(1, 95)]
        cells += [rng.randint(1, 4), rng.randint(1, 4)]
        rows.append(cells)
    # SQLite gives an INTEGER PRIMARY KEY a value of its own for NULL.
    for cells in rows:
        for place in (1, 3, 4):
            if rng.random() < 0.2:
                cells[place] = "NULL"
    columns = ["id", "name", "n", "a", "b"]
    kept = [place for place in range(5) if place == 0 or rng.random() < 0.9]
    listed = ", ".join(columns[place] for place in kept)
    values = ", ".join(f"({', '.join(str(cells[place]) for place in kept)})" for cells in rows)
    return f"INSERT INTO t ({listed}) VALUES {values} {rng.choice(ACTIONS)}"


def change(rng: Random) -> str:
    k = rng.randint(1, 12)
    return rng.choice(
        (
            f"UPDATE t SET n = s.m FROM s WHERE s.k = t.id AND s.m < {k * 8}",
            f"UPDATE t SET n = n + q.c FROM (SELECT k, count(*) AS c FROM s GROUP BY k) AS q "
            f"WHERE q.k = t.id AND t.id > {k}",
            f"UPDATE t SET (n, a) = (n - 1, NULL) WHERE id = {k}",
            f"DELETE FROM t WHERE id IN (SELECT k FROM s WHERE m < {k * 5})",
            f"DELETE FROM t WHERE n > (SELECT avg(n) + {k} FROM t)",
        )
    )


@pytest.mark.parametrize("number", range(-(-STATEMENTS // STATEMENTS_A_RUN)), ids="run-{}".format)
def test_random_upserts_give_the_rows_of_sqlite(number: int) -> None:
    rng = Random(f"upserts {SEED} {number}")
    steps = list(SCHEMA)
    steps += [f"INSERT INTO s VALUES ({k}, {rng.randint(1, 89)})" for k in range(1, 13)]
    ours, theirs = raydb.connect(), sqlite3.connect(":memory:", isolation_level=None)
    for step in steps:
        ours.execute(step)
        theirs.execute(step)
    applied = 0
    for _ in range(STATEMENTS_A_RUN):
        text = insert(rng) if rng.random() < 0.7 else change(rng)
        text += rng.choice(("", " RETURNING id, n, a"))
        steps.append(text)
        try:
            cursor = ours.execute(text)
        except raydb.ProgrammingError as error:
            if "a second time" not in str(error):
                raise
            continue
        except raydb.IntegrityError:
            with pytest.raises(sqlite3.IntegrityError):
                theirs.execute(text).fetchall()
            continue
        applied += 1
        found = cursor.fetchall() if cursor.description else []
        expected = theirs.execute(text).fetchall()
        assert sorted(found, key=repr) == sorted(expected, key=repr), steps
        rows = "SELECT * FROM t ORDER BY id"
        assert ours.execute(rows).fetchall() == theirs.execute(rows).fetchall(), steps
    assert applied > STATEMENTS_A_RUN / 4
