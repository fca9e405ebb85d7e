"""advise_keys: what it proposes holds, and it proposes what Python sets say of the same rows."""

from __future__ import annotations

from itertools import combinations
from random import Random
from typing import Any

import pytest

import raydb

Rows = list[tuple[int | None, ...]]


def make_table(con: Any, name: str, rows: Rows) -> None:
    columns = ", ".join(f"{name}{place} INTEGER" for place in range(len(rows[0])))
    con.execute(f"CREATE TABLE {name} ({columns})")
    marks = ", ".join("?" * len(rows[0]))
    con.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)


def random_rows(rng: Random, most: int) -> Rows:
    """Return rows of two columns, in which they, or the pair, may be a key."""
    pairs: Rows = [(a, b) for a in range(most) for b in range(most)]
    rows = rng.sample(pairs, rng.randint(1, len(pairs)))
    if rng.random() < 0.4:
        rows = [(place, b) for place, (_, b) in enumerate(rows)]
    if rng.random() < 0.3:
        rows += rng.choices(rows, k=2)
    if rng.random() < 0.3:
        rows.append((None, 0))
    return rows


def is_key(rows: Rows, columns: tuple[int, ...]) -> bool:
    keys = [key for row in rows if None not in (key := tuple(row[c] for c in columns))]
    return len(set(keys)) == len(keys)


def refers(child: Rows, parent: Rows, columns: tuple[int, ...]) -> bool:
    """Whether a child's rows have partners by the first columns of a parent that are a key."""
    for size in range(1, len(columns) + 1):
        for some in combinations(columns, size):
            if is_key(parent, some):
                known = {tuple(row[c] for c in some) for row in parent}
                asked = (tuple(row[c] for c in some) for row in child)
                return all(None in key or key in known for key in asked)
    return False


@pytest.mark.parametrize("seed", range(40))
def test_what_is_proposed_is_what_holds(seed: int) -> None:
    rng = Random(seed)
    con = raydb.connect()
    tables = {name: random_rows(rng, rng.randint(2, 5)) for name in "ab"}
    for name, rows in tables.items():
        make_table(con, name, rows)
    columns = rng.choice([(0,), (1,), (0, 1)])
    equal = " AND ".join(f"a{c} = b{c}" for c in columns)
    query = f"SELECT sum(a0), count(*) FROM a JOIN b ON {equal}"
    rows = con.execute("SELECT * FROM advise_keys(?)", [query]).fetchall()
    statements = [row[4] for row in rows if row[4] is not None]
    holds = any(refers(tables[x], tables[y], columns) for x, y in ("ab", "ba"))
    assert bool(statements) == holds, (tables, columns, rows)
    if not holds:
        ((*_, queries, reason),) = rows
        assert queries == [1]
        assert reason.startswith("table '")
        return
    before = con.execute(query).fetchall()
    for statement in statements:
        con.execute(statement)
    assert con.execute(query).fetchall() == before
    assert con.execute("SELECT * FROM advise_keys(?)", [query]).fetchall() == []
    told = str(con.execute(f"EXPLAIN {query}").fetchall())
    assert "declared foreign key" not in told


def test_deleted_rows_count_for_nothing() -> None:
    con = raydb.connect()
    make_table(con, "a", [(1, 1), (2, 2), (7, 1)])
    make_table(con, "b", [(1, 1), (2, 2), (2, 3), (5, 5)])
    query = "SELECT count(*) FROM a JOIN b ON a0 = b0"
    ask = "SELECT statement FROM advise_keys(?)"
    assert con.execute(ask, [query]).fetchall() == [(None,)]
    con.execute("DELETE FROM b WHERE b1 = 3")
    con.execute("DELETE FROM a WHERE a0 = 7")
    assert con.execute(ask, [query]).fetchall() == [
        ("ALTER TABLE b ADD PRIMARY KEY (b0);",),
        ("ALTER TABLE a ADD FOREIGN KEY (a0) REFERENCES b (b0);",),
    ]
    assert con.execute("SELECT count(*) FROM duckdb_constraints()").fetchall() == [(0,)]


def test_types_that_differ_are_refused() -> None:
    con = raydb.connect()
    con.execute("CREATE TABLE a (x DATE)")
    con.execute("CREATE TABLE b (y TIMESTAMP)")
    con.execute("INSERT INTO a VALUES (DATE '2020-01-01')")
    con.execute("INSERT INTO b VALUES (TIMESTAMP '2020-01-01')")
    found = con.execute("SELECT * FROM advise_keys('SELECT 1 FROM a JOIN b ON x = y')").fetchall()
    assert [row for row in found if row[4] is not None] == []
