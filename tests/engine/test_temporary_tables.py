"""Temporary tables and databases that statements write to beside their own."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import raydb
from raydb.engine.shell.outside.dump import dump

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def con(tmp_path: Path) -> Iterator[raydb.Connection]:
    with raydb.connect(tmp_path / "own") as con:
        con.execute("CREATE TABLE t AS SELECT 1 AS x")
        yield con


def ask(con: raydb.Connection, sql: str) -> list[object]:
    return [row[0] for row in con.execute(sql).fetchall()]


def test_they_are_the_connections_alone(con: raydb.Connection, tmp_path: Path) -> None:
    con.execute("CREATE TEMP TABLE t (y INTEGER); CREATE TEMP VIEW v AS FROM t")
    con.executemany("INSERT INTO t VALUES (?)", [(n,) for n in range(100)])
    with con:
        with con.duplicate() as other:
            assert ask(other, "FROM t") == [1]
            with pytest.raises(raydb.ProgrammingError, match="'v' does not exist"):
                other.execute("FROM v")
            other.execute("CREATE TEMP TABLE t AS SELECT 'mine' AS z")
            assert ask(other, "FROM t") == ["mine"]
        assert ask(con, "SELECT sum(y) FROM v") == [4950]
        con.execute(f"CHECKPOINT; EXPORT DATABASE '{tmp_path / 'saved'}'")
        assert "y" not in (tmp_path / "saved" / "schema.sql").read_text()
    with raydb.connect(tmp_path / "own", read_only=True) as reader:
        assert ask(reader, "FROM t") == [1]
        reader.execute("CREATE TEMP TABLE w AS FROM t; INSERT INTO w VALUES (2)")
        assert ask(reader, "SELECT sum(x) FROM w") == [3]
        with pytest.raises(raydb.OperationalError, match="is opened read-only"):
            reader.execute("INSERT INTO t VALUES (2)")


def test_copies_of_the_database_are_of_what_stays(con: raydb.Connection, tmp_path: Path) -> None:
    con.execute("CREATE TEMP TABLE t AS SELECT 'temporary' AS y; CREATE TEMP SEQUENCE s")
    con.execute(f"EXPORT DATABASE '{tmp_path / 'saved'}'")
    with raydb.connect() as other:
        other.execute(f"IMPORT DATABASE '{tmp_path / 'saved'}'")
        assert ask(other, "FROM t") == [1]
    assert not any("temporary" in line for line in dump(con))
    assert any("(1)" in line for line in dump(con))


def test_they_hide_variables_of_python(con: raydb.Connection) -> None:
    u = pa.table({"x": [5]})
    assert con.execute("SELECT * FROM u").fetchall() == [(5,)]
    con.execute("CREATE TEMP TABLE u AS SELECT 7 AS x")
    assert con.execute("SELECT * FROM u").fetchall() == [(7,)]
    con.execute("INSERT INTO u SELECT x + 1 FROM u; UPDATE u SET x = 0 WHERE x = 7")
    assert con.execute("SELECT x FROM u ORDER BY 1").fetchall() == [(0,), (8,)]
    del u


def test_a_plan_that_is_kept_sees_them(con: raydb.Connection) -> None:
    for _ in range(3):
        assert ask(con, "SELECT sum(x) FROM t") == [1]
    con.execute("CREATE TEMP TABLE t AS SELECT 5 AS x")
    for _ in range(3):
        assert ask(con, "SELECT sum(x) FROM t") == [5]
    con.execute("INSERT INTO t VALUES (6)")
    assert ask(con, "SELECT sum(x) FROM t") == [11]
    con.execute("DROP TABLE t")
    assert ask(con, "SELECT sum(x) FROM t") == [1]


def test_stars_over_them_are_fused(con: raydb.Connection) -> None:
    con.execute("""
        CREATE TEMP TABLE shop (id INTEGER PRIMARY KEY, city VARCHAR);
        CREATE TEMP TABLE sale (shop INTEGER REFERENCES shop (id), price INTEGER);
        INSERT INTO shop SELECT range, 'city ' || range % 3 FROM range(10);
        INSERT INTO sale SELECT range % 10, range FROM range(1000);
        CREATE BVH sales ON sale (SCAN (city), AGGREGATE (price))
    """)
    query = "SELECT city, sum(price) FROM sale JOIN shop ON shop = id GROUP BY city ORDER BY city"
    assert sum(total for _, total in con.execute(query).fetchall()) == 499_500
    assert con.execute(f"EXPLAIN {query}").fetchone() == ("path: fused",)
    con.execute("DELETE FROM sale WHERE price >= 500; INSERT INTO sale VALUES (1, 7)")
    assert sum(total for _, total in con.execute(query).fetchall()) == 124_757


def test_a_transaction_is_of_all(con: raydb.Connection) -> None:
    con.execute("BEGIN; CREATE TEMP TABLE u AS SELECT 1 AS x; INSERT INTO t VALUES (2)")
    con.execute("SAVEPOINT a; INSERT INTO u VALUES (2); INSERT INTO t VALUES (3)")
    con.execute("CREATE TEMP TABLE later AS FROM u; ROLLBACK TO a")
    assert (ask(con, "SELECT sum(x) FROM u"), ask(con, "SELECT sum(x) FROM t")) == ([1], [3])
    with pytest.raises(raydb.ProgrammingError, match="'later' does not exist"):
        con.execute("FROM later")
    with pytest.raises(raydb.DataError):
        con.execute("INSERT INTO u SELECT x // (x - 2) FROM t")
    con.commit()
    assert (ask(con, "SELECT sum(x) FROM u"), ask(con, "SELECT sum(x) FROM t")) == ([1], [3])
    con.execute("BEGIN; DROP TABLE u; INSERT INTO t VALUES (9); ROLLBACK")
    assert (ask(con, "SELECT sum(x) FROM u"), ask(con, "SELECT sum(x) FROM t")) == ([1], [3])


def test_directories_are_made_and_written(con: raydb.Connection, tmp_path: Path) -> None:
    path = tmp_path / "made"
    con.execute(f"ATTACH '{path}' AS made")
    con.execute("CREATE TABLE made.a (x INTEGER PRIMARY KEY); INSERT INTO made.a VALUES (1)")
    with pytest.raises(raydb.IntegrityError, match="is in the table already"):
        con.execute("INSERT INTO made.a VALUES (1)")
    # A connection to it shares it, as does a second session.
    with raydb.connect(path) as direct, con.duplicate() as again:
        direct.execute("INSERT INTO a VALUES (2)")
        again.execute("INSERT INTO made.a VALUES (3)")
        assert ask(con, "SELECT sum(x) FROM made.a") == [6]
    con.execute("BEGIN; INSERT INTO made.a VALUES (4)")
    with pytest.raises(raydb.OperationalError, match="has changed database 'made'"):
        con.execute("INSERT INTO t VALUES (4)")
    con.execute("CREATE TEMP TABLE both_sides AS SELECT a.x FROM made.a JOIN t USING (x)")
    con.commit()
    assert ask(con, "FROM both_sides") == [1]
    con.execute("DETACH made")
    with raydb.connect(path) as direct:
        assert ask(direct, "SELECT sum(x) FROM a") == [10]


def test_a_directory_is_read_until_it_is_written(con: raydb.Connection, tmp_path: Path) -> None:
    path = tmp_path / "other"
    raydb.connect(path).execute("CREATE TABLE a AS SELECT 1 AS x").connection.close()
    holder = (
        "import raydb, sys\n"
        f"con = raydb.connect({str(path)!r})\n"
        "print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        con.execute(f"ATTACH '{path}' AS o")
        assert ask(con, "FROM o.a") == [1]
        with pytest.raises(raydb.OperationalError, match="is open for writing in process"):
            con.execute("INSERT INTO o.a VALUES (2)")
        assert ask(con, "FROM o.a") == [1]
        other.stdin.close()
        other.wait()
    with pytest.raises(raydb.OperationalError, match="was read by this transaction"):
        con.execute("BEGIN; INSERT INTO o.a VALUES (2)")
    con.rollback()
    con.execute("INSERT INTO o.a VALUES (2); BEGIN; INSERT INTO o.a VALUES (3); COMMIT")
    assert ask(con, "SELECT sum(x) FROM o.a") == [6]
    con.execute(f"DETACH o; ATTACH '{path}' AS o (READ_ONLY)")
    with pytest.raises(raydb.OperationalError, match="is attached, and so read-only"):
        con.execute("INSERT INTO o.a VALUES (2)")


@pytest.mark.parametrize("seed", range(6))
def test_the_same_statements_beside_duckdb(seed: int) -> None:
    """Random changes of a temporary and a lasting table, transactions among them."""
    rng = np.random.default_rng(seed)
    theirs = duckdb.connect()
    with raydb.connect() as ours:
        names = {
            "raydb": ("t", "raydb.t", "temp.u", "u"),
            "memory": ("t", "memory.t", "temp.u", "u"),
        }
        start = "CREATE TABLE {0} (x BIGINT); CREATE TEMP TABLE {3} (x BIGINT)"
        ours.execute(start.format(*names["raydb"]))
        theirs.execute(start.format(*names["memory"]))
        in_transaction = False
        for _ in range(60):
            place, other = rng.choice(4, 2, replace=False)
            number = int(rng.integers(20))
            statements = [
                f"INSERT INTO {{{place}}} SELECT x + {number} FROM {{{other}}} WHERE x % 20 < 4",
                f"INSERT INTO {{{place}}} SELECT * FROM range({number})",
                f"DELETE FROM {{{place}}} WHERE x % 7 = {number % 7}",
                f"UPDATE {{{place}}} SET x = x * 2 WHERE x < {number}",
                *(("COMMIT", "ROLLBACK") if in_transaction else ("BEGIN", "BEGIN")),
            ]
            statement = statements[rng.integers(len(statements))]
            if statement in ("BEGIN", "COMMIT", "ROLLBACK"):
                in_transaction = statement == "BEGIN"
            ours.execute(statement.format(*names["raydb"]))
            theirs.execute(statement.format(*names["memory"]))
            for table in (1, 2):
                sums = f"SELECT count(*), sum(x) FROM {{{table}}}"
                want = theirs.execute(sums.format(*names["memory"])).fetchone()
                assert ours.execute(sums.format(*names["raydb"])).fetchone() == want


def test_options_of_duckdb(con: raydb.Connection, tmp_path: Path) -> None:
    cursor = con.execute(
        f"ATTACH '{tmp_path / 'new'}' AS n (READ_WRITE, STORAGE_VERSION 'latest', BLOCK_SIZE 16384)"
    )
    assert [str(text) for _, text in cursor.messages] == [
        "the option 'storage_version' is DuckDB's and has no effect",
        "the option 'block_size' is DuckDB's and has no effect",
    ]
    con.execute("CREATE TABLE n.a (x INTEGER)")
    with pytest.raises(raydb.ProgrammingError, match="READ_ONLY or READ_WRITE, not both"):
        con.execute(f"ATTACH '{tmp_path / 'other'}' AS o (READ_ONLY, READ_WRITE)")
