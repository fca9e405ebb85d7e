"""LIMIT over filters: the first rows that pass, whether the first blocks of a table have them."""

from __future__ import annotations

import pytest

import raydb
from raydb.engine.operators import limit as first_rows

ROWS = 1_600_000

FILTERS = [
    "v = 3",  # one of seven
    "id > 1500000",  # the last ones, which zone maps leave
    "id % 100000 = 99999",  # one in a block
    "id = 1234567 OR id = 5",  # the first blocks have one of two
    "w IS NULL AND v IN (1, 2)",
    "w LIKE '%77'",
    "v > 7",  # none
    "10 / (id + 1) > 4",
]


@pytest.fixture(scope="module")
def con():
    with raydb.connect() as con:
        con.execute(
            f"CREATE TABLE t AS SELECT range AS id, range % 7 AS v,"
            f" CASE WHEN range % 5 > 0 THEN 'w' || range END AS w FROM range({ROWS})"
        )
        con.execute("DELETE FROM t WHERE id % 9 = 4")
        con.execute("CREATE TABLE s AS SELECT * FROM t WHERE id < 20000")
        con.execute("CREATE TABLE kinds AS SELECT range AS v, 'k' || range AS name FROM range(5)")
        con.execute("CREATE TABLE late AS SELECT range AS id FROM range(19000, 19005)")
        yield con


@pytest.mark.parametrize("where", FILTERS)
@pytest.mark.parametrize(
    "rows", ["LIMIT 1", "LIMIT 5 OFFSET 3", "LIMIT 200000", "LIMIT 2 OFFSET 60000"]
)
def test_rows_are_the_first_in_the_order_of_the_table(con, where, rows):
    every = con.execute(f"SELECT id, w FROM t WHERE {where}").to_arrow_table()
    count, _, offset = rows.removeprefix("LIMIT ").partition(" OFFSET ")
    found = con.execute(f"SELECT id, w FROM t WHERE {where} {rows}").to_arrow_table()
    assert found.equals(every.slice(int(offset or 0), int(count)))
    inside = f"SELECT count(*), sum(id) FROM (SELECT id FROM t WHERE {where} {rows})"
    ((number, total),) = con.execute(inside).fetchall()
    assert number == found.num_rows
    assert total == (sum(found.column("id").to_pylist()) if number else None)


def test_no_more_than_the_first_blocks_are_read(con, monkeypatch):
    read = []
    seen = first_rows.scanned_blocks

    def blocks(*given):
        for rows in seen(*given):
            read.append(rows.row_count)
            yield rows

    monkeypatch.setattr(first_rows, "scanned_blocks", blocks)
    assert con.execute("SELECT id FROM t WHERE v = 3 LIMIT 5").fetchall()[0] == (3,)
    assert len(read) == 1
    con.execute("SELECT id FROM t WHERE id % 1500000 = 1499999 LIMIT 5").fetchall()
    assert len(read) == 1 + 2 * first_rows._FIRST_BLOCKS


JOINS = [
    "s JOIN kinds USING (v) WHERE id % 3 = 1",
    "s LEFT JOIN kinds USING (v) WHERE name IS NULL",
    "kinds RIGHT JOIN s USING (v)",
    "s WHERE v IN (SELECT v FROM kinds WHERE name <> 'k2')",
    "s WHERE v NOT IN (SELECT v FROM kinds)",
    "s JOIN late USING (id)",  # the first rows have none
    "s JOIN kinds USING (v) JOIN s AS u ON u.id = s.id + 1 WHERE u.v = 3",
    "s a JOIN s USING (id) WHERE a.v = 3",
    "s JOIN kinds ON s.v < kinds.v AND s.id > 19000",
]


@pytest.mark.parametrize("source", JOINS)
@pytest.mark.parametrize("limit", [1, 7, 2_000])
def test_rows_of_joins_are_rows_of_all(con, source, limit, monkeypatch):
    monkeypatch.setattr(first_rows, "_DRIVING_ROWS", 2000)
    query = f"SELECT s.id, s.w FROM {source}"
    every = con.execute(query).fetchall()
    found = con.execute(f"{query} LIMIT {limit}").fetchall()
    assert len(found) == min(limit, len(every))
    if "<" not in source:  # Each row of s comes once.
        assert len(set(found)) == len(found)
    assert set(found) <= set(every)
    after = con.execute(f"{query} LIMIT {limit} OFFSET 3").fetchall()
    assert len(after) == max(min(limit, len(every) - 3), 0)
