"""Rows found by a key or an index are those that a scan finds, whatever happened to the table."""

from __future__ import annotations

import random

import pytest

import raydb
from raydb.planner import index_lookup
from raydb.storage.tables import key_index

SEED = 11
COLUMNS = (
    "id INTEGER PRIMARY KEY, a SMALLINT, b VARCHAR, day DATE, amount DECIMAL(9, 2), UNIQUE (a, b)"
)
FILL = """
    INSERT INTO t SELECT i, i % 7, 'b' || i / 7, DATE '2026-01-01' + (i % 5)::INTEGER, i * 0.25
    FROM range(0, 200) r(i)
"""
DEFINITIONS = (
    *("CHECKPOINT", "CHECKPOINT", "CHECKPOINT", "VACUUM"),
    "DROP INDEX IF EXISTS by_day",
    "CREATE INDEX IF NOT EXISTS by_day ON t (day)",
    "ALTER TABLE t ALTER a TYPE INTEGER",
)
STEPS = ("insert", "update", "delete", "begin", "rollback", "commit", "savepoint", "checkpoint")


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Sort the smallest tables, at the second look-up, and added rows from three on."""
    monkeypatch.setattr(index_lookup, "MIN_ROWS", 1)
    monkeypatch.setattr(index_lookup, "_MIN_KEYS", 1)
    monkeypatch.setattr(key_index, "MIN_ROWS", 1)
    monkeypatch.setattr(key_index, "_COMPARED_IN_MEMORY", 1)
    monkeypatch.setattr(key_index, "_COMPARED_IN_FILES", 1)
    monkeypatch.setattr(key_index, "_MAX_UNSORTED", 3)


@pytest.fixture
def con():
    with raydb.connect() as con:
        con.execute(f"CREATE TABLE t ({COLUMNS})")
        con.execute("CREATE INDEX by_day ON t (day); CREATE INDEX by_amount ON t (amount)")
        con.execute(FILL)
        yield con


def rows(con, sql, parameters=()):
    return sorted(con.execute(sql, parameters).fetchall(), key=repr)


def explained(con, sql):
    lines = [line.strip() for (line,) in con.execute(f"EXPLAIN {sql}").fetchall()]
    return [line.removeprefix("index: ") for line in lines if line.startswith("index: ")]


FOUND = {
    "id = 5": "t_pkey (id), 1 key",
    "5 = id": "t_pkey (id), 1 key",
    "id = ANY ([5, 7, 9])": "t_pkey (id), 3 keys",
    "id IN (5, 7)": "t_pkey (id), 2 keys",
    "id = 5 OR id = 7 OR id IN (8, 9)": "t_pkey (id), 4 keys",
    "a > 2 AND id = 12": "t_pkey (id), 1 key",
    "a = 3 AND b = 'b2'": "t_a_b_key (a, b), 1 key",
    "a IN (1, 2) AND b IN ('b2', 'b3', 'b4')": "t_a_b_key (a, b), 6 keys",
    "day = '2026-01-03'": "by_day (day), 1 key",
    "day = '2026-01-03' AND id = 17": "t_pkey (id), 1 key",
    "amount = 2.25": "by_amount (amount), 1 key",
    "id = 5 AND 1 / (a + 1) IS NOT NULL": "t_pkey (id), 1 key",
    "id = 100000": "t_pkey (id), 1 key",
}
NOT_FOUND = [
    "id > 5",
    "id = a",
    "a = 3",
    "b = 'b2'",
    "id + 0 = 5",
    "id = 5 OR a = 2",
    "id <> 5",
    f"a IN ({', '.join(map(str, range(9)))}) AND b IN ({', '.join(map(repr, 'abcdefgh'))})",
    "1 / a = 1 AND id = 5",  # The division fails for other rows, and has to.
    f"id IN ({', '.join(map(str, range(65)))})",
]


@pytest.mark.parametrize("condition", FOUND)
def test_explain_names_the_index(con, condition):
    query = f"SELECT * FROM t WHERE {condition}"
    assert explained(con, query) == [FOUND[condition]]
    compared = f"SELECT * FROM t WHERE ({condition}) OR id < 0"
    assert explained(con, compared) == []
    for _ in range(3):
        assert rows(con, query) == rows(con, compared)


@pytest.mark.parametrize("condition", NOT_FOUND)
def test_other_conditions_compare_all_rows(con, condition):
    assert explained(con, f"SELECT * FROM t WHERE {condition}") == []


def test_an_index_of_few_values_is_none_to_search(con, monkeypatch):
    monkeypatch.setattr(index_lookup, "_MIN_KEYS", 64)
    assert explained(con, "SELECT * FROM t WHERE day = '2026-01-03'") == []
    assert explained(con, "SELECT * FROM t WHERE amount = 2.25") == ["by_amount (amount), 1 key"]
    con.execute("CREATE INDEX both ON t (a, amount)")
    query = "SELECT * FROM t WHERE a = 2 AND amount = 2.25"
    assert explained(con, query) == ["both (a, amount), 1 key"]


def test_an_aggregate_of_one_row_finds_it(con):
    query = "SELECT count(*), sum(amount) FROM t WHERE id = 8"
    assert explained(con, query) == ["t_pkey (id), 1 key"]
    for _ in range(3):
        assert rows(con, query) == [(1, 2)]


def test_joins_and_changes_find_rows(con):
    con.execute("CREATE TABLE u (t_id INTEGER REFERENCES t, x INTEGER)")
    con.execute("INSERT INTO u SELECT i, i FROM range(0, 100) r(i)")
    query = "SELECT x, b FROM t JOIN u ON t_id = id WHERE id = 8"
    assert explained(con, query) == ["t_pkey (id), 1 key"]
    for _ in range(3):
        assert rows(con, query) == [(8, "b1")]
        with pytest.raises(raydb.IntegrityError, match="has no row in 't'"):
            con.execute("INSERT INTO u VALUES (1000, 1)")
        with pytest.raises(raydb.IntegrityError, match="is in the table already"):
            con.execute("INSERT INTO t VALUES (8, 1, 'x', NULL, NULL)")
    for number in range(5):
        assert con.execute("UPDATE t SET b = b || '!' WHERE id = 8").rowcount == 1
        assert rows(con, query) == [(8, "b1" + "!" * (number + 1))]
        assert con.execute("DELETE FROM t WHERE id = ?", [150 + number]).rowcount == 1
        assert con.execute("DELETE FROM t WHERE id = ?", [150 + number]).rowcount == 0


def test_a_memory_limit_leaves_rows_unsorted(con, monkeypatch):
    monkeypatch.setattr(key_index, "SORTING_BYTES", 2**40)
    con.execute("SET memory_limit = '1GB'")
    for _ in range(4):
        assert len(rows(con, "SELECT * FROM t WHERE id = 5")) == 1
    assert all(
        not each.segments
        for each in con._session.database.snapshot.tables["t"].rows.key_indexes.values()
    )


def change(con, draw, step, number):
    match step:
        case "insert":
            count = draw.choice([1, 1, 2, 5, 40])
            con.executemany(
                "INSERT INTO t VALUES (?, ?, ?, ?, ?)",
                [
                    (number * 100 + n, draw.choice([None, 1, 2]), f"n{number} {n}",
                     draw.choice([None, "2026-01-02", "2027-01-01"]), draw.choice([None, 1, 2.25]))
                    for n in range(count)
                ],
            )  # fmt: skip
        case "update":
            con.execute("UPDATE t SET day = day + 1 WHERE id % 13 = ?", [draw.randrange(13)])
            con.execute("UPDATE t SET id = id + 100000 WHERE id = ?", [draw.randrange(200)])
        case "delete":
            con.execute("DELETE FROM t WHERE id % 31 = ?", [draw.randrange(31)])
        case "begin" if not con.in_transaction:
            con.begin()
        case "rollback":
            con.rollback()
        case "commit":
            con.commit()
        case "savepoint" if con.in_transaction:
            con.execute("SAVEPOINT s; DELETE FROM t WHERE id < 20")
            check(con, draw)
            con.execute("ROLLBACK TO s")
        case "checkpoint" if not con.in_transaction:
            con.execute(draw.choice(DEFINITIONS))


def check(con, draw):
    by_id = {row[0]: row for row in con.execute("SELECT * FROM t").fetchall()}
    some = draw.sample(sorted(by_id), min(len(by_id), 5))
    for number in (*some, draw.randrange(300), draw.randrange(100_000, 100_300)):
        found = rows(con, "SELECT * FROM t WHERE id = ?", [number])
        assert found == ([by_id[number]] if number in by_id else []), number
    pair = next((row[1:3] for row in by_id.values() if row[1] is not None), (1, "b1"))
    found = rows(con, "SELECT id FROM t WHERE a = ? AND b = ?", pair)
    assert found == [(key,) for key, row in by_id.items() if row[1:3] == pair]
    for column, value in (("day", "2026-01-02"), ("amount", "2.25")):
        found = rows(con, f"SELECT id FROM t WHERE {column} = '{value}'")
        assert found == rows(con, f"SELECT id FROM t WHERE {column}::VARCHAR = '{value}'")


@pytest.mark.parametrize("place", ["memory", "disk"])
@pytest.mark.parametrize("seed", range(SEED, SEED + 2))
def test_random_changes(tmp_path, monkeypatch, place, seed):
    print("seed", seed)
    monkeypatch.setattr("raydb.engine.operators.steps._SMALL", 0)  # few rows are searched, too
    draw = random.Random(seed)
    path = None if place == "memory" else tmp_path / "db"
    con = raydb.connect(path)
    con.execute(f"CREATE TABLE t ({COLUMNS})")
    con.execute("CREATE INDEX by_day ON t (day); CREATE INDEX by_amount ON t (amount)")
    con.execute(FILL)
    for number in range(10, 40):
        step = draw.choice(STEPS)
        change(con, draw, step, number)
        check(con, draw)
        if path is not None and not con.in_transaction and draw.random() < 0.1:
            with raydb.connect(path, read_only=True) as reader:
                check(reader, draw)
                check(reader, draw)
            con.close()
            con = raydb.connect(path)
    key_indexes = con._session.database.snapshot.tables["t"].rows.key_indexes
    assert any(each.segments for each in key_indexes.values())
    con.close()
