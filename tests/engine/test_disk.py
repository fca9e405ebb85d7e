"""Databases on disk: what was committed is there after close and reopen, and readers see it."""

from __future__ import annotations

import os
from decimal import Decimal

import pytest

import raydb

SCHEMA = """
CREATE TABLE d (id INTEGER PRIMARY KEY, name VARCHAR);
CREATE TABLE f (d INTEGER REFERENCES d (id), m DECIMAL(10, 2));
INSERT INTO d VALUES (1, 'x'), (2, 'y');
INSERT INTO f VALUES (1, 1.50), (2, 2.50), (NULL, 3.50);
CREATE BVH b ON f (SCAN (name), AGGREGATE (m));
CREATE VIEW v AS SELECT * FROM f JOIN d ON d = id;
"""
QUERY = "SELECT name, sum(m) FROM v GROUP BY name ORDER BY name"
ANSWER = [("x", Decimal("1.50")), ("y", Decimal("2.50"))]


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "shop.raydb"
    with raydb.connect(path) as con:
        con.execute(SCHEMA)
    return path


def test_everything_is_there_after_reopening(path):
    with raydb.connect(path) as con:
        assert con.execute(QUERY).fetchall() == ANSWER
        assert con.execute("EXPLAIN " + QUERY).fetchone() == ("path: fused",)
        assert con.execute("SELECT name FROM bvhs()").fetchall() == [("b",)]
        con.execute("DROP BVH b; DROP VIEW v; DROP TABLE f")
    with raydb.connect(path) as con:
        with pytest.raises(raydb.ProgrammingError, match="table 'f' does not exist"):
            con.execute("SELECT * FROM f")
        assert con.execute("SELECT count(*) FROM d").fetchone() == (2,)


def test_a_bvh_is_not_rebuilt_at_open(path, monkeypatch):
    from raydb.engine.fused import build_bvh

    monkeypatch.setattr(build_bvh, "build_bvh", None)
    with raydb.connect(path) as con:
        assert con.execute(QUERY).fetchall() == ANSWER


def test_totals_of_cells_are_not_rebuilt_at_open(path, monkeypatch):
    asked = "SELECT sum(m), min(m), max(m), count(*) FROM f"
    with raydb.connect(path) as con:
        con.execute("DROP BVH b")
        con.execute("CREATE BVH b ON f (SCAN (name), AGGREGATE (m)) WITH (sieve = true)")
        plan = con.execute(f"EXPLAIN {asked}").fetchall()
        assert ("    sieve: 3 cells in place of 3 rows",) in plan
        answer = con.execute(asked).fetchall()
        sizes = con.execute("SELECT sieve, size_bytes, sieve_bytes FROM bvhs()").fetchall()
    from raydb.engine.fused import build_bvh

    monkeypatch.setattr(build_bvh, "build_bvh", None)
    monkeypatch.setattr(build_bvh, "build_sieve", None)
    with raydb.connect(path, read_only=True) as con:
        assert con.execute(f"EXPLAIN {asked}").fetchall() == plan
        assert con.execute(asked).fetchall() == answer
        assert con.execute("SELECT sieve, size_bytes, sieve_bytes FROM bvhs()").fetchall() == sizes


@pytest.mark.parametrize("checkpoint", [False, True])
def test_small_inserts_are_logged_and_replayed(path, checkpoint):
    with raydb.connect(path) as con:
        con.execute("INSERT INTO d VALUES (3, 'z')")
        con.executemany("INSERT INTO f VALUES (3, ?)", [(n,) for n in range(20)])
        if checkpoint:
            con.execute("CHECKPOINT")
        with pytest.raises(raydb.IntegrityError):
            con.execute("INSERT INTO d VALUES (3, 'again')")
    with raydb.connect(path) as con:
        assert con.execute(QUERY).fetchall() == [*ANSWER, ("z", Decimal("190.00"))]
        with pytest.raises(raydb.IntegrityError):
            con.execute("INSERT INTO d VALUES (3, 'again')")


def test_a_transaction_is_durable_at_its_commit_only(path):
    with raydb.connect(path) as con, raydb.connect(path, read_only=True) as reader:
        con.execute("BEGIN; INSERT INTO d VALUES (4, 'w'); INSERT INTO f VALUES (4, 4)")
        assert reader.execute(QUERY).fetchall() == ANSWER
        con.rollback()
        con.execute("BEGIN; INSERT INTO d VALUES (4, 'w'); INSERT INTO f VALUES (4, 5)")
        con.execute("CREATE TABLE extra (a INTEGER)")
        con.commit()
        assert ("w", Decimal("5.00")) in reader.execute(QUERY).fetchall()
        assert reader.execute("SELECT count(*) FROM extra").fetchone() == (0,)
        con.execute("BEGIN; INSERT INTO d VALUES (5, 'q')")
    with raydb.connect(path) as con:
        assert con.execute("SELECT count(*) FROM d").fetchone() == (3,)


def test_a_reader_keeps_its_version_within_a_transaction(path):
    with raydb.connect(path) as con, raydb.connect(path, read_only=True) as reader:
        reader.begin()
        assert reader.execute("SELECT count(*) FROM d").fetchone() == (2,)
        con.execute("INSERT INTO d VALUES (9, 'new'); CHECKPOINT")
        assert reader.execute("SELECT count(*) FROM d").fetchone() == (2,)
        reader.commit()
        assert reader.execute("SELECT count(*) FROM d").fetchone() == (3,)


@pytest.mark.parametrize(
    "statement",
    ["INSERT INTO d VALUES (7, 'a')", "CREATE TABLE t (a INTEGER)", "DROP BVH b", "CHECKPOINT"],
)
def test_a_reader_cannot_write(path, statement):
    with (
        raydb.connect(path, read_only=True) as reader,
        pytest.raises(raydb.OperationalError, match="opened read-only"),
    ):
        reader.execute(statement)


def test_one_process_writes(path):
    with raydb.connect(path):
        child = os.fork()
        if not child:
            code = 1
            try:
                raydb.connect(path)
            except raydb.OperationalError as error:
                code = 0 if "open for writing in process" in str(error) else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    raydb.connect(path).close()


def test_every_type_survives(tmp_path):
    values = (
        "(true, 1, -2, 3, 9223372036854775807, 1.5, 2.25, -12.345, 'é', DATE '1999-12-31', "
        "TIMESTAMP '2020-01-02 03:04:05.678', TIME '01:02:03')"
    )
    with raydb.connect(tmp_path / "types") as con:
        con.execute(
            "CREATE TABLE t (a BOOLEAN, b TINYINT, c SMALLINT, d INTEGER, e BIGINT, f REAL, "
            "g DOUBLE, h DECIMAL(20, 3), i VARCHAR, j DATE, k TIMESTAMP, l TIME)"
        )
        con.execute(f"INSERT INTO t VALUES {values}, ({', '.join(['NULL'] * 12)})")
        before = con.execute("SELECT * FROM t").to_arrow_table()
        con.execute("CHECKPOINT")
    with raydb.connect(tmp_path / "types") as con:
        assert con.execute("SELECT * FROM t").to_arrow_table().equals(before)


def test_what_cannot_be_opened_is_named(tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "other").write_text("x")
    for name in ("file", "folder"):
        with pytest.raises(raydb.OperationalError, match=name):
            raydb.connect(tmp_path / name)
    with pytest.raises(raydb.OperationalError, match="does not exist"):
        raydb.connect(tmp_path / "absent", read_only=True)
