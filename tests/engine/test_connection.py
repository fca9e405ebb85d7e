"""Connections and cursors as PEP 249 has them, statements as units, the plan cache."""

from __future__ import annotations

import subprocess
import sys
import threading
from decimal import Decimal

import pyarrow as pa
import pytest

import raydb


@pytest.fixture
def con():
    with raydb.connect() as connection:
        connection.execute("CREATE TABLE t (a INTEGER, b VARCHAR)")
        connection.execute("INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, NULL)")
        yield connection


def test_module_globals():
    assert (raydb.apilevel, raydb.threadsafety, raydb.paramstyle) == ("2.0", 2, "qmark")
    assert issubclass(raydb.IntegrityError, raydb.DatabaseError)
    assert issubclass(raydb.DatabaseError, raydb.Error)
    assert not issubclass(raydb.Warning, raydb.Error)


def test_fetches(con):
    cur = con.execute("SELECT a, b FROM t ORDER BY a")
    assert cur.fetchone() == (1, "x")
    assert cur.fetchmany(1) == [(2, "y")]
    assert cur.fetchall() == [(3, None)]
    assert cur.fetchone() is None
    assert cur.fetchmany(5) == []
    assert list(con.execute("SELECT a FROM t WHERE a > 1 ORDER BY a")) == [(2,), (3,)]


def test_description_and_rowcount(con):
    cur = con.cursor()
    assert cur.description is None
    cur.execute("SELECT a, CAST(1.5 AS DECIMAL(4, 1)) AS d FROM t")
    assert [(c[0], c[1]) for c in cur.description] == [("a", "INTEGER"), ("d", "DECIMAL(4,1)")]
    assert cur.rowcount == 3
    cur.execute("INSERT INTO t VALUES (4, 'z')")
    assert (cur.description, cur.rowcount) == (None, 1)
    with pytest.raises(raydb.InterfaceError, match="returned no rows"):
        cur.fetchone()


def test_two_columns_may_have_one_name(con):
    cur = con.execute("SELECT a, a FROM t WHERE a = 1")
    assert cur.fetchall() == [(1, 1)]
    assert cur.to_arrow_table().column_names == ["a", "a"]


def test_a_result_longer_than_a_fetch_batch():
    con = raydb.connect()
    con.execute("CREATE TABLE n (i INTEGER)")
    con.execute("INSERT INTO n VALUES " + ", ".join(f"({i})" for i in range(10_000)))
    cur = con.execute("SELECT i FROM n ORDER BY i")
    assert [row[0] for row in cur.fetchmany(4_097)] == list(range(4_097))
    assert [row[0] for row in cur] == list(range(4_097, 10_000))


@pytest.mark.parametrize(
    ("sql", "parameters"),
    [
        ("SELECT b FROM t WHERE a = ? AND b = ?", [2, "y"]),
        ("SELECT b FROM t WHERE b = $2 AND a = $1", (2, "y")),
        ("SELECT b FROM t WHERE a = $number AND b = :text", {"number": 2, "text": "y"}),
    ],
)
def test_parameters(con, sql, parameters):
    assert con.execute(sql, parameters).fetchall() == [("y",)]


def test_parameters_reach_the_fused_path():
    con = raydb.connect()
    con.execute("CREATE TABLE t (a INTEGER, m DECIMAL(6, 2))")
    con.executemany("INSERT INTO t VALUES (?, ?)", [(1, Decimal("1.50")), (2, Decimal("2.25"))])
    con.execute("CREATE BVH x ON t (SCAN (a), AGGREGATE (m))")
    query = "SELECT sum(m) FROM t WHERE a = ?"
    assert "FusedScanAggregate" in str(con.execute("EXPLAIN " + query, [1]).fetchall())
    assert con.execute(query, [1]).fetchall() == [(Decimal("1.50"),)]
    assert con.execute(query, [2]).fetchall() == [(Decimal("2.25"),)]


@pytest.mark.parametrize(("parameters", "found"), [([], "0"), ([1], "1"), ([1, 2, 3], "3")])
def test_a_wrong_number_of_parameters(con, parameters, found):
    with pytest.raises(raydb.ProgrammingError, match=rf"2.*{found}"):
        con.execute("SELECT a FROM t WHERE a = ? AND a = ?", parameters)


def test_executemany(con):
    cur = con.executemany("INSERT INTO t VALUES (?, ?)", [(7, "p"), (8, "q")])
    assert cur.rowcount == 2
    assert con.execute("SELECT count(*) FROM t").fetchone() == (5,)


def test_use_after_close(con):
    cur = con.execute("SELECT a FROM t")
    cur.close()
    with pytest.raises(raydb.InterfaceError, match="cursor is closed"):
        cur.fetchone()
    other = con.execute("SELECT a FROM t")
    con.close()
    con.close()
    for use in (other.fetchone, con.cursor, con.commit, lambda: con.execute("SELECT 1")):
        with pytest.raises(raydb.InterfaceError, match="connection is closed"):
            use()


def test_transactions(con):
    con.begin()
    con.execute("INSERT INTO t VALUES (9, 'w')")
    con.execute("CREATE TABLE u (x INTEGER)")
    con.rollback()
    assert con.execute("SELECT count(*) FROM t").fetchone() == (3,)
    with pytest.raises(raydb.ProgrammingError, match="table 'u' does not exist"):
        con.execute("SELECT * FROM u")
    con.begin()
    con.execute("INSERT INTO t VALUES (9, 'w')")
    with pytest.raises(raydb.ProgrammingError):
        con.execute("SELECT nothing FROM t")
    con.commit()
    assert con.execute("SELECT count(*) FROM t").fetchone() == (4,)
    con.commit()
    con.rollback()


def test_a_failing_insert_changes_nothing(con):
    con.execute("CREATE TABLE p (id INTEGER PRIMARY KEY)")
    with pytest.raises(raydb.IntegrityError, match="row 3: the primary key"):
        con.execute("INSERT INTO p VALUES (1), (2), (1)")
    assert con.execute("SELECT count(*) FROM p").fetchone() == (0,)


def test_the_plan_cache_sees_every_change(con):
    query = "SELECT sum(a) FROM t WHERE b = 'x'"
    con.execute("CREATE BVH x ON t (SCAN (b), AGGREGATE (a))")
    assert con.execute(query).fetchone() == (1,)
    assert con.execute(query).fetchone() == (1,)
    con.execute("INSERT INTO t VALUES (10, 'x')")
    assert con.execute(query).fetchone() == (11,)
    con.begin()
    con.execute("INSERT INTO t VALUES (100, 'x')")
    assert con.execute(query).fetchone() == (111,)
    con.rollback()
    assert con.execute(query).fetchone() == (11,)
    con.execute("SET fused_path = 'off'")
    assert con.execute(query).fetchone() == (11,)
    con.execute("DROP BVH x")
    con.execute("SET fused_path = 'on'")
    assert con.execute(query).fetchone() == (11,)


def test_a_bvh_follows_its_dimensions():
    con = raydb.connect()
    con.execute(
        "CREATE TABLE d (id INTEGER PRIMARY KEY, name VARCHAR);"
        "CREATE TABLE f (d INTEGER REFERENCES d (id), m INTEGER);"
        "INSERT INTO d VALUES (1, 'one');"
        "INSERT INTO f VALUES (1, 5), (NULL, 7);"
        "CREATE BVH x ON f (SCAN (name), GROUP BY (name), AGGREGATE (m))"
    )
    query = "SELECT name, sum(m) FROM f JOIN d ON f.d = d.id GROUP BY name ORDER BY name"
    assert con.execute(query).fetchall() == [("one", 5)]
    con.execute("INSERT INTO d VALUES (2, 'two'); INSERT INTO f VALUES (2, 6)")
    assert "fused" in con.execute("EXPLAIN " + query).fetchone()[0]
    assert con.execute(query).fetchall() == [("one", 5), ("two", 6)]


def test_insert_from_a_query_sees_rows_added_since_the_bvh():
    con = raydb.connect()
    con.execute("CREATE TABLE t (a INTEGER, m BIGINT)")
    con.execute("INSERT INTO t VALUES (1, 5)")
    con.execute("CREATE BVH x ON t (SCAN (a), AGGREGATE (m))")
    con.execute("INSERT INTO t VALUES (1, 6)")
    con.execute("INSERT INTO t SELECT 2, sum(m) FROM t WHERE a = 1")
    assert con.execute("SELECT m FROM t WHERE a = 2").fetchall() == [(11,)]


def test_new_rows_that_do_not_fit_a_bvh_stay_beside_it():
    con = raydb.connect()
    con.execute("CREATE TABLE t (a INTEGER, b INTEGER)")
    con.execute("INSERT INTO t VALUES (1, 2)")
    con.execute("CREATE BVH x ON t (SCAN (a), AGGREGATE (a * b))")
    con.execute("INSERT INTO t VALUES (1000000, 1000000)")
    query = "SELECT sum(a * b) FROM t WHERE a < 10"
    assert con.execute(query).fetchone() == (2,)
    con.execute("CHECKPOINT")
    assert con.execute(query).fetchone() == (2,)
    lines = [line for (line,) in con.execute("EXPLAIN " + query).fetchall()]
    assert lines[0] == "path: fused"
    assert any("rows: 1, from row 1 on" in line for line in lines)
    (merge,) = con.execute("SELECT merge FROM bvhs()").fetchone()
    assert merge.startswith("failed: the measure (a * b) of a BVH: the result of the")
    with pytest.raises(raydb.DataError, match="out of range for INTEGER"):
        con.execute("CREATE BVH y ON t (SCAN (a), AGGREGATE (a * b))")


def test_threads_share_a_connection(con):
    con.execute("CREATE BVH x ON t (SCAN (b), AGGREGATE (a))")
    failures = []

    def work(number):
        try:
            for _ in range(20):
                con.execute(f"INSERT INTO t VALUES ({number}, 'thread')")
                assert con.execute("SELECT sum(a) FROM t WHERE b = 'x'").fetchone() == (1,)
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert con.execute("SELECT count(*) FROM t WHERE b = 'thread'").fetchone() == (80,)


def test_an_empty_path_is_a_database_in_memory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with raydb.connect("") as con, raydb.connect("") as other:
        con.execute("CREATE TABLE t (a INTEGER)")
        other.execute("CREATE TABLE t (a INTEGER)")
    assert not list(tmp_path.iterdir())


def test_a_database_in_memory_cannot_be_read_only():
    with pytest.raises(raydb.ProgrammingError, match="read_only has no use"):
        raydb.connect(read_only=True)


def test_arrow_results_are_typed_when_empty(con):
    table = con.execute("SELECT a, b FROM t WHERE a > 100").to_arrow_table()
    assert table.schema.types == [pa.int32(), pa.string()]
    assert table.num_rows == 0


def test_importing_raydb_loads_no_engine():
    script = (
        "import sys, raydb; heavy = {'numba', 'numpy', 'pyarrow', 'rich', 'sqlglot'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert found.stdout.decode().strip() == "[]"


def _chain(length, step):
    """Return a query of common table expressions, each of which reads the one before it."""
    steps = ", ".join(f"c{i} AS ({step.format(i - 1)})" for i in range(1, length))
    return f"WITH c0 AS (SELECT 1 AS x), {steps} SELECT x FROM c{length - 1}"


def test_each_common_table_of_a_chain_is_planned_once(con):
    # Planned once for each reference, the last of them would be planned 2**39 times.
    query = _chain(40, "SELECT a.x FROM c{0} a JOIN c{0} b ON a.x = b.x")
    assert con.execute(query).fetchall() == [(1,)]


def test_a_chain_too_deep_for_the_planner_is_refused(con):
    query = _chain(5000, "SELECT x + 1 AS x FROM c{0}")
    with pytest.raises(raydb.NotSupportedError, match="nested too deeply"):
        con.execute(query)
    assert con.execute("SELECT 1").fetchall() == [(1,)]
