"""Jobs on BVHs at workers: each reads a share of the places, and the answers are those of one.

RAYDB_FUZZ_CLUSTER says how many more random tables the long test asks 25 queries of (8).
"""

from __future__ import annotations

import os
from contextlib import suppress
from random import Random

import pytest
from cluster_cases import explained, wait_for_workers
from differential import answer, same
from plain_stars import plain_change, plain_query, plain_star
from star_queries import star_query
from stars import random_bvh, random_rows, random_star

import raydb
from raydb.engine.session import queries

CASES = int(os.environ.get("RAYDB_FUZZ_CLUSTER", "8"))


@pytest.fixture
def free_calls(monkeypatch):
    """Let questions to workers cost nothing, so that they are asked for jobs of any size."""
    monkeypatch.setattr(queries, "CALL_COST", 0.0)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.usefixtures("free_calls")
def test_random_stars_with_bvhs(workers, tmp_path, seed):
    assert compare_random(workers, tmp_path, Random(seed), 12)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(200, 200 + CASES))
@pytest.mark.usefixtures("free_calls")
def test_more_random_stars_with_bvhs(workers, tmp_path, seed):
    compare_random(workers, tmp_path, Random(seed), 25)


def compare_random(workers, tmp_path, rng, count):
    """Ask queries of BVHs while tables change, and return how many went to workers."""
    path = str(tmp_path / "random.raydb")
    star = random_star(rng) if rng.random() < 0.5 else None
    distributed = 0
    with raydb.connect(path, cluster=workers.client) as con:
        wait_for_workers(con, 2)
        if star is None:
            made = list(plain_star(rng))
            bvhs = [step for step in made if step.startswith("CREATE BVH")]
            steps = [step for step in made if step not in bvhs]
        else:
            steps = [table.ddl for table in star.tables]
            steps += [insert.sql for insert in random_rows(rng, star)]
            bvhs = [random_bvh(rng, star, number).sql for number in range(rng.randint(1, 2))]
        for step in steps:
            con.execute(step)
        if star is None:  # The keys of others have to be their own.
            con.execute("INSERT INTO f SELECT f.* FROM f, range(?)", (rng.choice((1, 30)),))
        ((rows,),) = con.execute("SELECT count(*) FROM f").fetchall()
        for bvh in bvhs:
            con.execute(bvh)
        con.execute(f"SET segment_rows = {max(-(-rows // rng.randint(1, 9)), 1000)}")
        with raydb.connect(path, read_only=True) as alone:
            for _ in range(count):
                if star is None and rng.random() < 0.5:
                    change(con, plain_change(rng))
                query = plain_query(rng) if star is None else star_query(rng, star).sql
                distributed += "SegmentScan" in explained(con, query)
                found, expected = answer(con, query), answer(alone, query)
                assert same(found, expected, False), query
    return distributed


def change(con, statement):
    with suppress(raydb.Error):
        con.execute(statement)


SALES = "SELECT k, count(*), sum(v), min(x) FROM f GROUP BY k ORDER BY k"


@pytest.fixture
def sales(workers, tmp_path):
    """Return a connection with workers to a table of 20,000 rows and a BVH on it."""
    path = str(tmp_path / "sales.raydb")
    with raydb.connect(path, cluster=workers.client, config={"segment_rows": 3000}) as con:
        con.execute("CREATE TABLE f (id INTEGER, k INTEGER, v INTEGER, x DOUBLE)")
        con.execute(
            "INSERT INTO f SELECT range, range % 50, range % 977, range / 7 FROM range(20000)"
        )
        con.execute("CREATE BVH b ON f (SCAN (k), AGGREGATE (v, x))")
        wait_for_workers(con, 2)
        yield con


def test_a_job_that_takes_less_than_a_call_stays(sales):
    lines = explained(sales, SALES)
    assert "SegmentScan" not in lines
    assert "cluster: at the coordinator: BVH 'b' takes about 0." in lines
    assert "ms, a question to workers 3 ms" in lines


@pytest.mark.usefixtures("free_calls")
def test_segments_are_ranges_of_places(sales):
    lines = explained(sales, SALES)
    assert "cluster: workers answer 1 of 1 parts" in lines
    assert "bvh: b (" in lines
    assert "at workers: segments of up to 3000 rows" in lines
    assert "2 workers, 7 of 7 segments read" in explained(
        sales, SALES.replace("SELECT", "ANALYZE SELECT", 1)
    )
    ((hits,),) = sales.execute("SELECT hits FROM bvhs()").fetchall()
    assert hits >= 1


@pytest.mark.usefixtures("free_calls")
def test_segments_without_rows_of_the_job_are_not_read(sales):
    one = "SELECT sum(v) FROM f WHERE k = 8"
    assert "1 workers, 1 of 7 segments read, 6 pruned" in explained(sales, f"ANALYZE {one}")
    none = "SELECT count(*), sum(v) FROM f WHERE k = 777"
    assert "0 workers, 0 of 7 segments read, 7 pruned" in explained(sales, f"ANALYZE {none}")
    assert sales.execute(none).fetchall() == [(0, None)]
    assert sales.execute(f"{SALES}".replace("GROUP", "WHERE k > 777 GROUP")).fetchall() == []


@pytest.mark.usefixtures("free_calls")
def test_rows_come_and_go_beside_a_bvh(sales):
    for change in (
        "INSERT INTO f SELECT range, range % 60, 5, NULL FROM range(40)",
        "DELETE FROM f WHERE id % 31 = 3",
        "UPDATE f SET v = v + 1 WHERE k = 9",
        "CHECKPOINT",
    ):
        sales.execute(change)
        assert "SegmentScan" in explained(sales, SALES)
        cursor = sales.execute(SALES)
        found = cursor.fetchall()
        assert not cursor.messages
        sales.execute("SET fused_path = 'off'")
        assert same(found, sales.execute(SALES).fetchall(), True)
        sales.execute("SET fused_path = 'on'")
