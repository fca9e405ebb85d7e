"""Segments in which no row can pass are asked of nobody, and answers are those of one process."""

from __future__ import annotations

import re
from random import Random

import pytest
from cluster_cases import explained, wait_for_workers
from differential import same

import raydb
from raydb.engine.cluster.pruning import passing_ranges

pytestmark = pytest.mark.long

DAYS = 400


@pytest.fixture(scope="module")
def sold(tmp_path_factory):
    """Return a database whose sales rise by day, and in which few places sell."""
    path = str(tmp_path_factory.mktemp("pruning") / "sold.raydb")
    with raydb.connect(path) as con:
        con.execute("CREATE TABLE day (d_id INTEGER PRIMARY KEY, d_year INTEGER, d_name VARCHAR)")
        con.execute(
            "INSERT INTO day SELECT range, 2020 + range // 100, 'd' || (range % 7)"
            f" FROM range({DAYS})"
        )
        con.execute("CREATE TABLE place (p_id VARCHAR PRIMARY KEY, city VARCHAR)")
        con.execute("INSERT INTO place SELECT 'p' || range, 'c' || (range // 4) FROM range(12)")
        con.execute(
            "CREATE TABLE f (id BIGINT, d_id SMALLINT REFERENCES day,"
            " p_id VARCHAR REFERENCES place, at TIMESTAMP, x DOUBLE)"
        )
        con.execute(
            f"INSERT INTO f SELECT range, range // 500, 'p' || (range % 12),"
            f" TIMESTAMP '2020-01-01' + to_minutes(range), range / 3 FROM range({DAYS} * 500)"
        )
        con.execute("CHECKPOINT")
        con.execute("INSERT INTO f VALUES (7, NULL, NULL, NULL, 1), (8, 399, 'p3', NULL, 2)")
        con.execute("DELETE FROM f WHERE id % 97 = 1")
    return path


@pytest.fixture
def con(workers, sold):
    config = {"segment_rows": 25_000}
    with raydb.connect(sold, read_only=True, cluster=workers.client, config=config) as con:
        wait_for_workers(con, 2)
        yield con


# Segments that are read at most: of whole chunks, and the last one has rows that no file has yet.
CONDITIONS = {
    "id >= 150000": 4,
    "id < 1000": 2,
    "at BETWEEN '2020-01-01' AND '2020-01-03'": 2,
    "at < '2020-01-03' AND d_year = 2023": 1,
    "d_year = 2021": 5,
    "d_year = 2021 AND d_name = 'd3'": 5,
    "d_year = 1066": 0,
    "d_name = 'd3'": 9,
    "d.d_id = 7": 2,
    "d_year IS NULL": 9,
    "city = 'c1'": 9,
    "city > 'c5'": 0,
    "x < 0": 9,
    "1000 / (id + 1) > 5 AND d_year = 2021": 9,
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_segments_are_pruned(con, sold, condition):
    query = (
        "SELECT p.city, count(*), sum(id) FROM f LEFT JOIN day d ON d.d_id = f.d_id"
        f" LEFT JOIN place p ON p.p_id = f.p_id WHERE {condition} GROUP BY 1 ORDER BY 1"
    )
    lines = explained(con, f"ANALYZE {query}")
    read = re.search(r"(\d) of 9 segments read", lines)
    assert read, lines
    assert int(read[1]) <= CONDITIONS[condition], lines
    cursor = con.execute(query)
    with raydb.connect(sold, read_only=True) as alone:
        assert same(cursor.fetchall(), alone.execute(query).fetchall(), True)
    assert not cursor.messages


@pytest.mark.parametrize("seed", range(5))
def test_no_row_that_passes_is_outside(sold, seed):
    """The ranges of random conditions hold all rows that pass."""
    rng = Random(seed)
    seen = []
    with raydb.connect(sold, read_only=True) as con:
        for _ in range(20):
            low, high = sorted(rng.sample(range(DAYS), 2))
            condition = " AND ".join(
                rng.sample(
                    [
                        f"id BETWEEN {low * 500} AND {high * 500}",
                        f"at >= TIMESTAMP '2020-01-01' + INTERVAL '{low * 9} hours'",
                        f"d_year = {rng.randint(2019, 2024)}",
                        f"d_name IN ('d{rng.randrange(8)}', 'd{rng.randrange(8)}')",
                        f"city <> 'c{rng.randrange(4)}'",
                        f"(d_year < 2021 OR id > {low})",
                    ],
                    rng.randint(1, 3),
                )
            )
            query = (
                f"SELECT id FROM f JOIN day USING (d_id) JOIN place USING (p_id) WHERE {condition}"
            )
            star, tables = star_of(con, query)
            ranges = passing_ranges(star, tables)
            found = {number for (number,) in con.execute(query).fetchall()}
            ids = tables["f"].rows.column("id").to_pylist()
            inside = {i for first, stop in ranges for i in ids[first:stop]}
            assert found <= inside, condition
            seen.append(len(inside) < len(ids))
    assert any(seen)


def star_of(con, query):
    """Return the star of a query, and the tables that it reads."""
    found = []
    changes = con._session.queries
    original = changes._plan

    def plan(logical, *rest, **options):
        prepared = original(logical, *rest, **options)
        found.append(prepared.plan)
        return prepared

    changes._plan = plan
    try:
        con.execute(f"EXPLAIN {query.replace('SELECT id', 'SELECT sum(id)')}")
    finally:
        del changes._plan
    waiting = list(found)
    for node in waiting:
        waiting += node.children
        if getattr(node, "star", None) is not None:
            return node.star, con._session.databases.snapshot.tables
    raise AssertionError(query)
