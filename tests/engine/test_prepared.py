"""PREPARE, EXECUTE and DEALLOCATE from Python: values of values, many rows, read-only databases."""

from __future__ import annotations

import datetime as dt

import pytest

import raydb


@pytest.fixture
def con():
    with raydb.connect() as con:
        con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
        con.execute("PREPARE add AS INSERT INTO t VALUES (?, ?)")
        con.execute("PREPARE get AS SELECT b FROM t WHERE a = $1")
        yield con


def test_values_of_execute_may_be_parameters(con):
    assert con.execute("EXECUTE add(?, upper(?))", [1, "x"]).rowcount == 1
    for _ in range(3):
        assert con.execute("EXECUTE get($1 - 1)", [2]).fetchall() == [("X",)]
    assert con.execute("EXECUTE get($key)", {"key": 5}).fetchall() == []
    con.execute("PREPARE later AS SELECT $1 + $2")
    day = dt.date(2026, 5, 1)
    assert con.execute("EXECUTE later(?, ?)", [day, 2]).fetchone() == (dt.date(2026, 5, 3),)
    with pytest.raises(raydb.ProgrammingError, match="the statement has 1 parameter, but 2 values"):
        con.execute("EXECUTE get(?)", [1, 2])
    with pytest.raises(raydb.ProgrammingError, match="PREPARE takes no values"):
        con.execute("PREPARE no AS SELECT ?", [1])


def test_many_rows(con):
    con.executemany("EXECUTE add(?, ?)", [(n, str(n)) for n in range(20)])
    assert con.execute("SELECT count(*), max(a) FROM t").fetchone() == (20, 19)
    with pytest.raises(raydb.IntegrityError):
        con.executemany("EXECUTE add(?, ?)", [(n, "") for n in (30, 31, 5)])
    assert con.execute("SELECT count(*) FROM t").fetchone() == (20,)


def test_an_error_tells_no_place_in_another_text(con):
    con.execute("PREPARE wrong AS SELECT missing\n FROM t WHERE a = $1")
    with pytest.raises(raydb.ProgrammingError, match=r"^column 'missing' does not exist in 't'$"):
        con.execute("EXECUTE wrong(1)")


def test_plans_are_for_the_rows_of_the_moment(con):
    found = []
    for number in range(4):
        con.execute("EXECUTE add(?, 'new')", [number])
        found.append(len(con.execute("EXECUTE get(3)").fetchall()))
    assert found == [0, 0, 0, 1]
    con.execute("ALTER TABLE t RENAME b TO c")
    with pytest.raises(raydb.ProgrammingError, match="column 'b' does not exist"):
        con.execute("EXECUTE get(3)")


def test_a_transaction_goes_on_after_a_failure(con):
    con.begin()
    con.execute("EXECUTE add(1, 'kept')")
    with pytest.raises(raydb.IntegrityError):
        con.execute("EXECUTE add(1, 'again')")
    con.commit()
    assert con.execute("FROM t").fetchall() == [(1, "kept")]


def test_read_only_connections(tmp_path):
    with raydb.connect(tmp_path / "db") as con:
        con.execute("CREATE TABLE t AS SELECT 1 AS a")
        with raydb.connect(tmp_path / "db", read_only=True) as reader:
            reader.execute(
                "PREPARE get AS SELECT a + $1 FROM t; PREPARE add AS INSERT INTO t VALUES (2)"
            )
            assert reader.execute("EXECUTE get(5)").fetchall() == [(6,)]
            with pytest.raises(raydb.OperationalError, match="read-only"):
                reader.execute("EXECUTE add")
            plan = reader.execute("EXPLAIN EXECUTE add").fetchall()
            assert ("InsertRows: t (a)",) in plan
        with pytest.raises(raydb.ProgrammingError, match="prepared statement 'get' does not exist"):
            con.execute("EXECUTE get(5)")


def test_a_stream_is_of_a_query(con):
    with pytest.raises(raydb.ProgrammingError, match="is one query"):
        con.stream("EXECUTE get(1)")
