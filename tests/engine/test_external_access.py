"""external_access=False: no statement reads or writes a file, whatever it is wrapped in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import raydb

READS = [
    "SELECT * FROM 'a.csv'",
    "FROM 'a.csv'",
    "SELECT * FROM 'missing.csv'",
    "SELECT * FROM 'a.*'",
    "SELECT * FROM '*.nothing'",
    "SELECT * FROM 'a.csv' AS t (x) WHERE x = 1",
    "SELECT * FROM t, 'a.csv'",
    "SELECT * FROM t JOIN 'a.csv' AS b ON t.a = b.a",
    "SELECT * FROM (SELECT * FROM 'a.csv') AS s",
    "SELECT (SELECT max(a) FROM 'a.csv')",
    "SELECT * FROM t WHERE a IN (SELECT a FROM 'a.csv')",
    "SELECT * FROM t WHERE EXISTS (SELECT 1 FROM 'a.csv')",
    "SELECT * FROM t ORDER BY (SELECT max(a) FROM 'a.csv')",
    "SELECT count(*) FROM t GROUP BY (SELECT max(a) FROM 'a.csv')",
    "SELECT a FROM t UNION ALL SELECT a FROM 'a.csv'",
    "SELECT a FROM t EXCEPT (SELECT a FROM 'a.csv')",
    "WITH c AS (SELECT * FROM 'a.csv') SELECT * FROM c",
    "WITH c AS (SELECT * FROM 'a.csv') SELECT 1",
    "WITH t AS (SELECT * FROM 'a.csv') SELECT * FROM t",
    "VALUES ((SELECT max(a) FROM 'a.csv'))",
    "SELECT * FROM read_csv('a.csv')",
    "SELECT * FROM READ_CSV('a.csv')",
    "SELECT * FROM read_csv(['a.csv', 'b.csv'])",
    "SELECT * FROM read_parquet('a.parquet')",
    "SELECT * FROM read_json('a.jsonl')",
    "SELECT * FROM read_flat('a.flat')",
    "SELECT * FROM glob('*')",
    "SELECT * FROM glob('/etc/*')",
    "EXPLAIN SELECT * FROM 'a.csv'",
    "EXPLAIN (FORMAT json) SELECT * FROM read_csv('a.csv')",
    "DESCRIBE SELECT * FROM 'a.csv'",
    "SUMMARIZE SELECT * FROM 'a.csv'",
    "SELECT * FROM over_file",
    "SELECT * FROM over_view",
    "SELECT 1 WHERE false AND EXISTS (SELECT 1 FROM over_view)",
    "DESCRIBE over_file",
    "SUMMARIZE over_file",
]
WRITES = [
    "COPY t FROM 'a.csv'",
    "COPY t FROM '*.csv'",
    "COPY t (a) FROM 'a.csv' (FORMAT csv)",
    "COPY t TO 'out.csv'",
    "COPY (SELECT 1 AS a) TO 'out.csv'",
    "COPY (SELECT a FROM t) TO 'a.csv' (FORMAT csv)",
    "COPY over_file TO 'out.csv'",
    "COPY (SELECT * FROM 'a.csv') TO 'out.csv'",
    "INSERT INTO t SELECT a FROM 'a.csv'",
    "INSERT INTO t SELECT a FROM over_file",
    "INSERT INTO t VALUES ((SELECT max(a) FROM 'a.csv'))",
    "WITH c AS (SELECT a FROM 'a.csv') INSERT INTO t SELECT a FROM c",
    "INSERT INTO t SELECT 1 RETURNING (SELECT max(a) FROM 'a.csv')",
    "CREATE TABLE u AS SELECT * FROM 'a.csv'",
    "CREATE TABLE u AS SELECT * FROM over_view WITH NO DATA",
    "CREATE VIEW u AS SELECT * FROM 'a.csv'",
    "CREATE OR REPLACE VIEW over_file AS SELECT a, 1 FROM 'a.csv'",
    "UPDATE t SET a = (SELECT max(a) FROM 'a.csv')",
    "UPDATE t SET a = 2 WHERE a IN (SELECT a FROM over_file)",
    "UPDATE t SET a = f.a FROM 'a.csv' AS f",
    "DELETE FROM t WHERE a IN (SELECT a FROM 'a.csv')",
    "DELETE FROM t USING 'a.csv' AS f WHERE f.a = t.a",
    "BEGIN; COPY t FROM 'a.csv'",
]
# What is no file, or not supported at all: nothing of a file may be read by way of it.
OTHERS = [
    'SELECT * FROM "a.csv"',
    "SELECT * FROM \"'a.csv'\"",
    "SELECT * FROM \"read_csv('a.csv')\"",
    "SELECT * FROM 'a.csv'.t",
    "SELECT * FROM a.csv",
    "ATTACH 'shop' AS other",
    "EXPORT DATABASE 'out'",
    "IMPORT DATABASE 'out'",
    "INSTALL httpfs",
    "LOAD 'a.csv'",
    "SELECT read_csv('a.csv')",
    "SELECT * FROM advise_bvh('a.csv')",
    "CREATE TABLE u (LIKE 'a.csv')",
    "PRAGMA external_access = on",
]
SWITCHES = [
    "SET external_access = on",
    "SET external_access = 'on'",
    "SET external_access TO true",
    "SET EXTERNAL_ACCESS = ON",
    'SET "external_access" = on',
    "RESET external_access",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A database with views over files, and files of each format beside it."""
    folder = tmp_path_factory.mktemp("access")
    before = Path.cwd()
    os.chdir(folder)
    try:
        with raydb.connect("shop") as con:
            con.execute("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1)")
            for kind in ("csv", "parquet", "jsonl", "flat"):
                con.execute(f"COPY t TO 'a.{kind}'")
            con.execute("COPY t TO 'b.csv'")
            con.execute("CREATE VIEW over_file AS SELECT a FROM 'a.csv'")
            con.execute("CREATE VIEW over_view AS SELECT a FROM over_file")
            con.execute("CREATE VIEW plain AS SELECT a FROM t")
        yield folder
    finally:
        os.chdir(before)


@pytest.fixture
def con(folder):
    with raydb.connect("shop", external_access=False) as connection:
        yield connection


def refused(statement):
    message = r"file '.*' cannot be accessed: external_access is off for this connection"
    return pytest.raises(raydb.OperationalError, match=message)


@pytest.mark.parametrize("statement", READS + WRITES)
def test_no_statement_reaches_a_file(con, folder, statement):
    files = sorted(path.name for path in folder.iterdir())
    before = (folder / "a.csv").read_bytes()
    with refused(statement):
        con.execute(statement)
    assert sorted(path.name for path in folder.iterdir()) == files
    assert (folder / "a.csv").read_bytes() == before
    assert con.execute("SELECT * FROM t").fetchall() == [(1,)]


@pytest.mark.parametrize("statement", READS)
def test_with_access_the_same_statements_do(folder, statement):
    with raydb.connect("shop", read_only=True) as con:
        if "missing" in statement or "nothing" in statement:
            with pytest.raises(raydb.OperationalError, match=r"does not exist|no file matches"):
                con.execute(statement)
        else:
            con.execute(statement)


@pytest.mark.parametrize("statement", OTHERS)
def test_nothing_else_is_a_file(con, statement):
    with pytest.raises(raydb.Error):
        con.execute(statement)


@pytest.mark.parametrize("statement", SWITCHES)
def test_no_statement_turns_it_on_again(con, statement):
    with pytest.raises(raydb.OperationalError, match="external_access cannot be turned on again"):
        con.execute(statement)
    with refused("FROM 'a.csv'"):
        con.execute("FROM 'a.csv'")


def test_parameters_do_not_help(con):
    for sql in ("SELECT * FROM read_csv(?)", "SELECT * FROM read_csv([$1])"):
        with refused(sql):
            con.execute(sql, ["a.csv"])
    with refused("several statements"):
        con.execute("SELECT 1; FROM 'a.csv'; SELECT 2")


def test_the_database_itself_is_no_such_file(con, folder):
    con.execute("CREATE TABLE u (a INTEGER); INSERT INTO u VALUES (5); CHECKPOINT")
    con.execute("CREATE BVH b ON u (SCAN (a), AGGREGATE (a))")
    assert con.execute("SELECT sum(a) FROM u WHERE a = 5").fetchall() == [(5,)]
    assert con.execute("SELECT * FROM plain").fetchall() == [(1,)]
    con.execute("DROP BVH b; DROP TABLE u; VACUUM")


def test_it_can_be_turned_off_and_stays_off(folder):
    with raydb.connect("shop") as con:
        assert con.execute("SHOW external_access").fetchall() == [("on",)]
        assert con.execute("SELECT a FROM 'a.csv'").fetchall() == [(1,)]
        assert con.execute("SELECT a FROM over_view").fetchall() == [(1,)]
        con.execute("SET external_access = on; BEGIN; SET external_access = off; ROLLBACK")
        assert con.execute("SHOW external_access").fetchall() == [("off",)]
        for statement in ("SELECT a FROM 'a.csv'", "SELECT a FROM over_view", "COPY t TO 'x.csv'"):
            with refused(statement):
                con.execute(statement)
        con.execute("SET external_access = off")
        with pytest.raises(raydb.ProgrammingError, match="external_access is 'on' or 'off', not"):
            con.execute("SET external_access = 'perhaps'")
        for statement in SWITCHES:
            with pytest.raises(raydb.OperationalError, match="cannot be turned on again"):
                con.execute(statement)


def test_a_database_in_memory(folder):
    with raydb.connect(external_access=False) as con:
        assert con.execute("SELECT sum(i) FROM range(4) AS r (i)").fetchall() == [(6,)]
        with refused("FROM 'a.csv'"):
            con.execute("FROM 'a.csv'")


def test_a_reader(folder):
    with raydb.connect("shop", read_only=True, external_access=False) as con:
        assert con.execute("SELECT a FROM t").fetchall() == [(1,)]
        with refused("COPY t TO 'out.csv'"):
            con.execute("COPY t TO 'out.csv'")
