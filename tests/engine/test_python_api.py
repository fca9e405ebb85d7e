"""What users of other databases look for: sql(), df(), rows at the prompt, a default connection."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest

import raydb


@pytest.fixture
def con():
    with raydb.connect() as con:
        yield con


def test_sql_gives_rows_in_every_form(con, capsys):
    rows = con.sql("SELECT range AS n FROM range(?)", [50])
    assert rows.fetchone() == (0,)
    assert rows.df().n.sum() == 1225
    assert rows.pl().columns == ["n"]
    assert rows.pl(lazy=True).collect().height == 50
    assert rows.arrow() == pa.table({"n": pa.array(range(50), pa.int64())})
    rows.show(4)
    assert "50 rows (4 shown)" in capsys.readouterr().out
    rows.show(0)
    assert capsys.readouterr().out.count("\n") == 55
    assert con.sql("SELECT sum(n) FROM rows").fetchone() == (1225,)
    assert con.sql("CREATE TABLE t (a INTEGER)") is None


def test_a_cursor_shows_its_first_rows_at_the_prompt(con):
    assert repr(con.execute("SELECT 1 AS one")).splitlines()[1:4:2] == [
        "│     one │",
        "├─────────┤",
    ]
    assert repr(con.execute("EXPLAIN SELECT 1")).startswith("path: ")
    cursor = con.cursor()
    assert repr(cursor) == "<raydb.Cursor without rows>"
    cursor.close()
    assert repr(cursor) == "<raydb.Cursor closed>"


def test_an_interval_is_no_column_of_polars(con):
    with pytest.raises(raydb.DataError, match="column 'i' is an INTERVAL"):
        con.sql("SELECT INTERVAL 1 MONTH AS i").pl()


def test_the_module_has_a_connection():
    raydb.execute("CREATE OR REPLACE TABLE kept AS SELECT 7 AS a")
    assert raydb.sql("FROM kept").fetchall() == [(7,)]
    local = {"b": [1, 2]}
    assert raydb.sql("SELECT sum(b) FROM local").fetchone() == (3,)
    assert local
    raydb.default_connection().close()
    with pytest.raises(raydb.ProgrammingError, match="'kept' does not exist"):
        raydb.sql("FROM kept")


def test_the_module_imports_no_engine_until_it_is_used():
    program = (
        "import raydb, sys\n"
        "assert 'pyarrow' not in sys.modules\n"
        "print(raydb.sql('SELECT 1').fetchall(), raydb.Connection.__name__, raydb.Cursor.__name__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("[(1,)] Connection Cursor\n", "")
    assert raydb.__doc__.index("raydb.connect()") < raydb.__doc__.index("raydb.sql(")


def test_settings_of_a_connection_are_given_to_connect():
    with raydb.connect(config={"threads": 2, "memory_limit": "1GB", "fused_path": False}) as con:
        assert con.execute("SHOW threads").fetchone() == ("2",)
        asked = "SELECT current_setting('Threads')"
        assert con.execute(asked).fetchone() == ("2",)
        con.execute("SET threads = 1")
        assert con.execute(asked).fetchone() == ("1",)
        assert con.execute("SHOW fused_path").fetchone() == ("off",)
    with pytest.raises(raydb.ProgrammingError, match="setting 'thread' does not exist"):
        raydb.connect(config={"thread": 2})


def test_statements_run_with_the_threads_of_their_connection(con):
    con.execute("SELECT 2")
    before = pa.cpu_count()
    with raydb.connect(config={"threads": 3}) as other:
        assert other.execute("SELECT 1").fetchone() == (1,)
        assert pa.cpu_count() == 3
        con.execute("SELECT 2")
        assert pa.cpu_count() == before
    for text in ("0", "-1", "many", "2000"):
        with pytest.raises(raydb.ProgrammingError, match="threads is a number from 1 to 1024"):
            con.execute(f"SET threads = '{text}'")


@pytest.mark.parametrize(
    "sql",
    [
        "FROM 'ftp://example.org/a.parquet'",
        "SELECT * FROM read_csv('hdfs://bucket/a.csv')",
        "EXPORT DATABASE 's3://bucket/all'",
    ],
)
def test_other_remote_files_are_not_supported(con, sql):
    with pytest.raises(raydb.NotSupportedError, match=r"'.*://.*' is not a .*file"):
        con.execute(sql)


@pytest.mark.parametrize(
    "program",
    [
        "import raydb.sql; print(raydb.sql('SELECT 1').fetchall())",
        "import inspect, pickle, raydb.sql.bind\n"
        "from raydb import sql\n"
        "assert pickle.loads(pickle.dumps(sql)) is sql is raydb.sql\n"
        "assert 'parameters' in str(inspect.signature(sql))\n"
        "assert 'runs a text' in inspect.getdoc(sql)\n"
        "print(sql('SELECT 1').fetchall())",
    ],
)
def test_sql_is_called_however_it_is_imported(program: str) -> None:
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (found.stdout, found.stderr) == ("[(1,)]\n", "")
