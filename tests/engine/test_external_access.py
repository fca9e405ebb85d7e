"""external_access=False: no statement reads or writes a file, whatever it is wrapped in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

import raydb
from raydb.engine.shell.commands import COMMANDS as COMMANDS_BY_NAME
from raydb.engine.shell.completion import SqlCompleter
from raydb.engine.shell.session import Settings, Shell

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
    "EXPLAIN (ANALYZE, FORMAT html) SELECT * FROM 'a.csv'",
    "PREPARE p AS SELECT * FROM 'a.csv'; EXECUTE p; DEALLOCATE p",
    "PREPARE p AS SELECT * FROM over_view; EXPLAIN EXECUTE p; DEALLOCATE p",
    "SELECT * FROM t, LATERAL (SELECT * FROM 'a.csv' AS f WHERE f.a = t.a) AS s",
    "SELECT unnest((SELECT array_agg(a) FROM 'a.csv'))",
    "WITH RECURSIVE r (a) AS (SELECT a FROM 'a.csv' UNION SELECT a FROM r) SELECT * FROM r",
    "SELECT * FROM motif_count((FROM 'a.csv'), src => 'a', dst => 'a', time => 'a',"
    " motif => 'path(2)', delta => 1)",
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
    "INSERT INTO k SELECT 1, 1 FROM 'a.csv' ON CONFLICT (id) DO UPDATE SET v = 2",
    "INSERT INTO k VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET v = (SELECT max(a) FROM 'a.csv')",
    "INSERT INTO k VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET v = 3"
    " WHERE k.v IN (SELECT a FROM over_file)",
    "INSERT OR REPLACE INTO k SELECT a, a FROM over_view",
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
    "INSTALL spatial",
    "LOAD 'a.csv'",
    "SELECT read_csv('a.csv')",
    "SELECT * FROM advise_bvh('a.csv')",
    "CREATE TABLE u (LIKE 'a.csv')",
    "PRAGMA external_access = on",
    "ALTER TABLE t ALTER a TYPE VARCHAR USING (SELECT max(a) FROM 'a.csv')",
    "ALTER TABLE t ALTER a TYPE BIGINT USING a + (SELECT max(a) FROM read_csv('a.csv'))",
    "ALTER TABLE t ADD COLUMN c INTEGER DEFAULT (SELECT max(a) FROM 'a.csv')",
    "ALTER TABLE t ADD CHECK (a IN (SELECT a FROM 'a.csv'))",
    "CREATE TABLE u (a INTEGER CHECK (a IN (SELECT a FROM over_file)))",
    "CREATE BVH b ON t (SCAN (a), AGGREGATE ((SELECT max(a) FROM 'a.csv')))",
    "SELECT sum(a) OVER (ROWS BETWEEN (SELECT 1 FROM 'a.csv') PRECEDING AND CURRENT ROW) FROM t",
    "SELECT * FROM t LIMIT (SELECT max(a) FROM 'a.csv')",
    "PREPARE p AS SELECT $1; EXECUTE p((SELECT max(a) FROM 'a.csv'))",
    "SET temp_directory = '/tmp'",
    "COPY t TO PROGRAM 'cat > out.csv'",
    "COPY t FROM STDIN",
    "SELECT * FROM 'https://example.org/a.csv'",
    "SELECT * FROM frame",
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
            con.execute("CREATE TABLE k (id INTEGER PRIMARY KEY, v INTEGER)")
            con.execute("INSERT INTO k VALUES (1, 7)")
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


@pytest.mark.parametrize("statement", WRITES)
def test_with_access_a_statement_that_writes_does(folder, statement):
    with raydb.connect("shop") as con:
        con.execute("BEGIN")
        con.execute(statement.removeprefix("BEGIN;"))
        con.execute("ROLLBACK")
    (folder / "out.csv").unlink(missing_ok=True)


@pytest.mark.parametrize("statement", OTHERS)
def test_nothing_else_is_a_file(con, folder, statement):
    frame = {"a": [1]}  # noqa: F841  (a statement may not find it)
    files = sorted(path.name for path in folder.iterdir())
    with pytest.raises(raydb.Error):
        con.execute(statement)
    assert sorted(path.name for path in folder.iterdir()) == files
    with pytest.raises(raydb.Error), raydb.connect("shop", external_access=False) as other:
        other.execute(statement)


CALLS = {
    "execute": lambda con: con.execute("FROM 'a.csv'"),
    "executemany": lambda con: con.executemany("INSERT INTO t SELECT ? FROM 'a.csv'", [(1,)]),
    "callproc": lambda con: con.cursor().callproc("read_csv", ["a.csv"]),
    "stream": lambda con: con.stream("FROM 'a.csv'").read_all(),
}


@pytest.mark.parametrize("call", CALLS)
def test_no_method_of_a_connection_reaches_a_file(con, call):
    with refused(call):
        CALLS[call](con)


def test_an_appender_writes_to_no_file(con, folder):
    with pytest.raises(raydb.Error), con.appender("'a.csv'") as appender:
        appender.append(1)
    assert (folder / "a.csv").read_text() == "a\n1\n"


def test_what_the_program_registers_is_no_file(con):
    rows = {"a": [5]}
    with pytest.raises(raydb.ProgrammingError, match="table 'rows' does not exist"):
        con.execute("SELECT * FROM rows")
    con.register("known", rows)
    assert con.execute("SELECT a FROM known").fetchall() == [(5,)]


# What a dot command may not do, and what it says in place of a file.
COMMANDS = [
    ".once out.csv",
    ".output out.csv",
    ".read a.sql",
    ".import a.csv u",
    ".import --csv a.csv u",
    ".pager cat",
    ".on out.csv",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_dot_command_reaches_a_file(con, folder, capsys, command):
    shell = Shell(con, Settings(), is_interactive=False)
    files = sorted(path.name for path in folder.iterdir())
    shell.run_text(f"{command}\n")
    found = capsys.readouterr()
    assert "is not allowed: external_access is off for this connection" in found.err
    assert found.out == ""
    assert sorted(path.name for path in folder.iterdir()) == files


def test_every_dot_command_of_a_file_or_a_program_is_among_them():
    outside = {name for name, command in COMMANDS_BY_NAME.items() if command.reaches_outside}
    files = {name for name, command in COMMANDS_BY_NAME.items() if command.completes == "file"}
    assert outside == files | {".pager"}


def test_other_dot_commands_go_on(con, capsys):
    shell = Shell(con, Settings(), is_interactive=False)
    shell.run_text(".output\n.pager\n.tables\n.print done\n")
    found = capsys.readouterr()
    assert found.err == ""
    assert found.out == "off\nk          over_file  over_view  plain      t\ndone\n"


def test_a_script_that_turns_it_off_reads_no_other(folder, capsys):
    (folder / "a.sql").write_text("SET external_access = off;\n.read b.sql\n")
    (folder / "b.sql").write_text("SELECT 'read';\n")
    with raydb.connect() as con:
        shell = Shell(con, Settings(), is_interactive=False)
        shell.run_text(".read b.sql\n.read a.sql\n")
    found = capsys.readouterr()
    assert found.out.count("read") == 2
    assert "command '.read' is not allowed" in found.err


def test_no_file_is_completed(con):
    completer = SqlCompleter(con)
    for text in (".read a", "SELECT * FROM 'a"):
        assert not list(completer.get_completions(Document(text), CompleteEvent()))


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
