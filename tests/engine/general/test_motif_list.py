"""motif_list(), and motif_count() by vertex and window: streams, limits, interrupts, estimates."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import raydb

if TYPE_CHECKING:
    from pathlib import Path

ARGUMENTS = "src => 's', dst => 'd', time => 't'"
STAR = f"motif_list(star, {ARGUMENTS}, motif => 'star_out(6)', delta => 1000)"


@pytest.fixture(name="con", scope="module")
def _con() -> raydb.Connection:
    """Return a connection with a busy graph and a star of some 10**14 instances."""
    con = raydb.connect()
    rng = np.random.default_rng(5)
    ends = rng.integers(0, 30, (2, 3000))
    con.register("e", pa.table({"s": ends[0], "d": ends[1], "t": np.arange(3000)}))
    con.execute("CREATE TABLE star AS SELECT 0 AS s, range + 1 AS d, range AS t FROM range(900)")
    return con


@pytest.mark.long
def test_a_limit_ends_the_search(con: raydb.Connection) -> None:
    assert len(con.execute(f"SELECT a, b FROM {STAR} LIMIT 5").fetchall()) == 5
    assert len(con.execute(f"SELECT * FROM {STAR} LIMIT 3 OFFSET 2000").fetchall()) == 3
    found = con.execute(f"SELECT b + g AS x FROM {STAR} WHERE g > 8 LIMIT 4").fetchall()
    assert len(found) == 4
    reader = con.stream(f"FROM {STAR}")
    assert reader.read_next_batch().num_rows > 0
    reader.close()


@pytest.mark.long
def test_an_interrupt_ends_the_search(con: raydb.Connection) -> None:
    def stop(step: str, share: float) -> None:
        if step.endswith("list"):
            raise KeyboardInterrupt

    con.progress = stop
    try:
        with pytest.raises(KeyboardInterrupt):
            con.execute(f"SELECT count(*) FROM {STAR}")
    finally:
        con.progress = None
    assert con.execute("SELECT 1").fetchall() == [(1,)]


@pytest.mark.long
def test_groups_of_a_list_are_counts_by_vertex(con: raydb.Connection) -> None:
    call = f"(e, {ARGUMENTS}, motif => 'a->b, b->c, c->a', delta => 200"
    listed = con.execute(f"SELECT b, count(*) FROM motif_list{call}) GROUP BY b ORDER BY b")
    counted = con.execute(f"SELECT b, count FROM motif_count{call}, by => 'b') ORDER BY b")
    expected = listed.fetchall()
    assert counted.fetchall() == expected
    assert sum(count for _, count in expected) > 1000


@pytest.mark.long
@pytest.mark.parametrize("split", ["by => 'c'", "every => 500", "by => 'a', every => 1500"])
def test_estimates_of_parts_are_near_their_counts(con: raydb.Connection, split: str) -> None:
    call = f"motif_count(e, {ARGUMENTS}, motif => 'a->b, b->c, c->a', delta => 200, {split}"
    exact, estimated = (
        con.execute(f"SELECT * FROM {call}, method => '{method}')").arrow().to_pylist()
        for method in ("exact", "timest")
    )
    keys = [name for name in exact[0] if name in ("window", "a", "c")]
    counts = {tuple(row[key] for key in keys): row["count"] for row in exact}
    for row in estimated:
        count = counts.pop(tuple(row[key] for key in keys))
        assert abs(row["estimate"] - count) < 5 * row["std_error"]
        assert row["ci_low"] <= row["estimate"] <= row["ci_high"]
        assert not row["exact"]
    assert not counts
    total = sum(row["count"] for row in exact)
    assert math.isclose(sum(row["estimate"] for row in estimated), total, rel_tol=0.1)


def test_what_is_new_is_what_has_a_new_edge(con: raydb.Connection) -> None:
    call = f"(e, {ARGUMENTS}, motif => 'a->b, {{b->c, c->a}}', delta => 100"
    for since in (0, 1500, 2900, 5000):
        expected = con.execute(
            f"SELECT count(*) FROM motif_list{call}) WHERE last_time >= {since}"
        ).fetchone()
        asked = f"SELECT count FROM motif_count{call}, since => {since})"
        assert con.execute(asked).fetchone() == expected


def _check_new(con: raydb.Connection, since: int) -> None:
    """Check what is new in a log and in a view of it beside the list of all instances."""
    call = "({}, src => s, dst => d, time => t, motif => 'a->b, b->c', delta => 50"
    for rows in ("log", "late"):
        every = f"SELECT count(*) FROM motif_list{call.format(rows)}) WHERE last_time >= {since}"
        count = f"SELECT count FROM motif_count{call.format(rows)}, since => {since})"
        found = con.execute(count).fetchone()
        assert found == con.execute(every).fetchone()
        assert rows == "late" or found[0] > 0


@pytest.mark.long
def test_what_is_new_is_right_after_every_change(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    con = raydb.connect(tmp_path / "db")
    con.execute("CREATE TABLE log (s INTEGER, d INTEGER, t INTEGER)")
    con.execute("CREATE VIEW late AS SELECT s, d, t FROM log WHERE s <> 3")

    def add(count: int, first: int, last: int) -> None:
        ends, times = rng.integers(0, 12, (2, count)), rng.integers(first, last, count)
        con.register("more", pa.table({"s": ends[0], "d": ends[1], "t": times}))
        con.execute("INSERT INTO log SELECT * FROM more")

    add(40_000, 0, 40_000)
    con.execute("CHECKPOINT")
    for begin in range(40_000, 40_400, 100):
        add(60, begin, begin + 100)
        _check_new(con, begin)
        add(30, begin - 5000, begin + 100)  # some of them late
        _check_new(con, begin)
        con.execute(f"DELETE FROM log WHERE t >= {begin} AND s = {begin % 7}")
        _check_new(con, begin)
        con.execute(f"UPDATE log SET t = t + 7, d = (d + 1) % 12 WHERE t >= {begin - 40}")
        _check_new(con, begin)
        con.execute("BEGIN")
        add(50, begin, begin + 100)
        _check_new(con, begin)
        con.execute("ROLLBACK")
        _check_new(con, begin)
    con.close()


@pytest.mark.long
def test_what_is_new_has_the_commits_of_other_processes(tmp_path: Path) -> None:
    con = raydb.connect(tmp_path / "db")
    con.execute("CREATE TABLE log (s INTEGER, d INTEGER, t INTEGER)")
    con.execute("INSERT INTO log SELECT range % 9, range % 7, range FROM range(40000)")
    con.execute("CREATE VIEW late AS SELECT s, d, t FROM log WHERE s <> 3")
    con.close()
    reader = raydb.connect(tmp_path / "db", read_only=True)
    _check_new(reader, 39_900)
    script = "import sys, raydb; raydb.connect(sys.argv[1]).execute(sys.argv[2])"
    for begin in (40_000, 40_100):
        rows = f"SELECT range % 5, range % 6, {begin} + range FROM range(90)"
        command = [sys.executable, "-c", script, str(tmp_path / "db"), f"INSERT INTO log {rows}"]
        subprocess.run(command, check=True)
        _check_new(reader, begin)


def test_a_list_beyond_memory_lies_in_files(con: raydb.Connection) -> None:
    call = f"motif_list(e, {ARGUMENTS}, motif => 'a->b, b->c, c->d', delta => 400)"
    everything = con.execute(f"SELECT count(*), sum(e2_row) FROM {call}").fetchone()
    con.execute("SET memory_limit = '10MB'")
    try:
        rows = con.execute(f"FROM {call}").arrow()
    finally:
        con.execute("RESET memory_limit")
    assert (rows.num_rows, pc.sum(rows["e2_row"]).as_py()) == everything
    assert rows.nbytes > 10_000_000
