"""Transactions, clients beside each other, cancelling, idleness, and bulk ingestion."""

import threading
import time

import adbc_driver_flightsql.dbapi as adbc
import adbc_driver_manager as manager
import pyarrow as pa
import pytest
from adbc_driver_flightsql import DatabaseOptions

import raydb


def rows(connection, text):
    with connection.cursor() as cursor:
        return cursor.execute(text).fetchall()


def test_commit_and_rollback(base, connect):
    base.execute("CREATE TABLE t (a INTEGER)")
    ours, other = connect(autocommit=False), connect()
    with ours.cursor() as cursor:
        cursor.execute("INSERT INTO t VALUES (1)")
        assert cursor.execute("FROM t").fetchall() == [(1,)]
        assert rows(other, "FROM t") == []
        ours.rollback()
        assert cursor.execute("FROM t").fetchall() == []
        ours.commit()
        cursor.executemany("INSERT INTO t VALUES (?)", [(2,), (3,)])
        ours.commit()
    assert rows(other, "FROM t") == [(2,), (3,)]


def test_a_transaction_sees_what_was_there_at_its_first_statement(base, connect):
    base.execute("CREATE TABLE t (a INTEGER)")
    ours = connect(autocommit=False)
    base.execute("INSERT INTO t VALUES (1)")
    assert rows(ours, "FROM t") == [(1,)]
    base.execute("INSERT INTO t VALUES (2)")
    assert rows(ours, "FROM t") == [(1,)]
    ours.commit()
    assert rows(ours, "FROM t") == [(1,), (2,)]


def test_a_conflict_is_told(base, connect):
    base.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, n INTEGER); INSERT INTO t VALUES (1, 0)")
    ours = connect(autocommit=False)
    rows(ours, "UPDATE t SET n = 1")
    base.execute("UPDATE t SET n = 2")
    with pytest.raises(manager.OperationalError) as caught:
        ours.commit()
    assert (b"x-raydb-error", b"ConflictError") in caught.value.details
    assert base.execute("SELECT n FROM t").fetchone() == (2,)


def test_temporary_tables_and_settings_are_a_clients_own(connect):
    ours, other = connect(autocommit=False), connect()
    rows(ours, "CREATE TEMP TABLE mine (a INTEGER)")
    ours.commit()
    rows(ours, "SET threads = 1")
    ours.commit()
    assert rows(ours, "FROM mine") == []
    assert rows(ours, "SHOW threads") == [("1",)]
    with pytest.raises(manager.ProgrammingError, match="table 'mine' does not exist"):
        rows(other, "FROM mine")


@pytest.mark.long
def test_clients_work_at_once(base, connect):
    base.execute("CREATE TABLE t (who INTEGER, n INTEGER)")
    connections = [connect() for _ in range(4)]
    failures = []

    def work(who):
        try:
            with connections[who].cursor() as cursor:
                for n in range(20):
                    cursor.execute("INSERT INTO t VALUES (?, ?)", (who, n))
                    own = cursor.execute("SELECT count(*) FROM t WHERE who = ?", (who,))
                    assert own.fetchone() == (n + 1,)
        except (AssertionError, manager.Error) as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert base.execute("SELECT count(*) FROM t").fetchone() == (80,)


@pytest.mark.long
def test_a_stream_keeps_its_rows_while_others_write(base, connect):
    base.execute("CREATE TABLE t AS FROM range(1_000_000) r (a)")
    with connect().cursor() as cursor:
        cursor.execute("FROM t")
        first = cursor.fetchmany(10)
        base.execute("DELETE FROM t")
        assert len(first) + len(cursor.fetchall()) == 1_000_000


LONG = "SELECT count(*) FROM range(100_000) a, range(1_000_000) b WHERE a.range * b.range = 7"


def test_a_statement_can_be_cancelled(connect):
    with connect().cursor() as cursor:
        cancelling = threading.Timer(0.5, cursor.adbc_cancel)
        began = time.monotonic()
        cancelling.start()
        with pytest.raises(manager.OperationalError, match="CANCELLED"):
            cursor.execute(LONG).fetchall()
        assert time.monotonic() - began < 30
    assert rows(connect(), "SELECT 1") == [(1,)]


def test_a_statement_ends_with_the_time_of_its_client(base, serve):
    server = serve(base)
    timeouts = {
        DatabaseOptions.TIMEOUT_QUERY.value: "0.5",
        DatabaseOptions.TIMEOUT_FETCH.value: "0.5",
    }
    uri = f"grpc://127.0.0.1:{server.port}"
    connection = adbc.connect(uri, conn_kwargs=timeouts, autocommit=True)
    with connection, pytest.raises(manager.OperationalError, match="TIMEOUT"):
        rows(connection, LONG)
    deadline = time.monotonic() + 20
    while server._clients._calls and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not server._clients._calls


def test_idle_clients_are_closed(base, serve):
    base.execute("CREATE TABLE t (a INTEGER)")
    server = serve(base, idle_s=0.3)
    with adbc.connect(f"grpc://127.0.0.1:{server.port}") as connection:
        rows(connection, "INSERT INTO t VALUES (1)")
        deadline = time.monotonic() + 20
        while server._clients._clients and time.monotonic() < deadline:
            time.sleep(0.05)
        with pytest.raises(manager.ProgrammingError, match="the transaction does not exist"):
            connection.commit()
    assert base.execute("FROM t").fetchall() == []


def test_a_client_that_leaves_is_forgotten(base, serve):
    server = serve(base)
    with adbc.connect(f"grpc://127.0.0.1:{server.port}") as connection:
        assert rows(connection, "SELECT 1") == [(1,)]
        assert len(server._clients._clients) == 1
    assert not server._clients._clients


def test_cookies_tell_clients_apart(base, serve):
    server = serve(base)
    cookies = {DatabaseOptions.WITH_COOKIE_MIDDLEWARE.value: "true"}
    with adbc.connect(f"grpc://127.0.0.1:{server.port}", db_kwargs=cookies) as connection:
        rows(connection, "CREATE TEMP TABLE mine (a INTEGER)")
        server._clients._ids.clear()  # As if each request came from another address.
        assert rows(connection, "FROM mine") == []
        assert len(server._clients._clients) == 1


def test_the_end_of_the_server_undoes_what_is_open(serve):
    with raydb.connect() as base:
        base.execute("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (0)")
        server = serve(base)
        connection = adbc.connect(f"grpc://127.0.0.1:{server.port}")
        rows(connection, "INSERT INTO t VALUES (1)")
        failures = []

        def ask():
            try:
                rows(connection, LONG)
            except manager.Error as error:
                failures.append(error)

        asking = threading.Thread(target=ask)
        asking.start()
        time.sleep(0.5)
        assert server.close()
        asking.join(20)
        assert failures
        assert base.execute("FROM t").fetchall() == [(0,)]
        with pytest.raises(manager.Error):
            rows(connection, "SELECT 1")


def test_ingest(base, connect):
    connection = connect()
    table = pa.table({"a": [1, 2, None], "b": ["x", None, "é"]})
    with connection.cursor() as cursor:
        assert cursor.adbc_ingest("new", table, mode="create") == 3
        with pytest.raises(manager.ProgrammingError, match="table 'new' exists already"):
            cursor.adbc_ingest("new", table, mode="create")
        with pytest.raises(manager.ProgrammingError, match="table 'none' does not exist"):
            cursor.adbc_ingest("none", table, mode="append")
        assert cursor.adbc_ingest("new", table.select(["b", "a"]), mode="append") == 3
        assert cursor.adbc_ingest("other", table, mode="create_append") == 3
        assert cursor.adbc_ingest("other", table.slice(0, 1), mode="replace") == 1
        assert cursor.adbc_ingest("empty", table.to_batches()[0].slice(0, 0), mode="create") == 0
        cursor.adbc_ingest("t", table, mode="create", temporary=True)
        assert cursor.execute("SELECT count(*) FROM t").fetchone() == (3,)
        assert cursor.adbc_ingest("t", table.slice(1), mode="create") == 2
        assert cursor.adbc_ingest("t", table, mode="append", temporary=True) == 3
        assert cursor.execute("SELECT count(*) FROM temp.t").fetchone() == (6,)
        cursor.execute("CREATE SCHEMA side")
        cursor.execute("SET schema = 'side'")
        cursor.adbc_ingest("t", table, mode="create")
        cursor.adbc_ingest("t", table, mode="append", db_schema_name="main")
    assert base.execute("SELECT count(*) FROM main.t").fetchone() == (5,)
    assert base.execute("SELECT count(*) FROM side.t").fetchone() == (3,)
    assert base.execute("FROM new").fetchall() == [(1, "x"), (2, None), (None, "é")] * 2
    assert base.execute("FROM other").fetchall() == [(1, "x")]
    assert base.execute("SELECT * FROM empty").fetchall() == []


def test_ingest_is_all_or_nothing(base, connect):
    base.execute("CREATE TABLE t (a INTEGER NOT NULL)")
    batches = [
        pa.record_batch({"a": [1] * 1000}),
        pa.record_batch({"a": pa.array([None], "int64")}),
    ]
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    with connect().cursor() as cursor, pytest.raises(manager.ProgrammingError, match="NOT NULL"):
        cursor.adbc_ingest("t", reader, mode="append")
    assert base.execute("SELECT count(*) FROM t").fetchone() == (0,)


def test_ingest_belongs_to_the_transaction(base, connect):
    connection = connect(autocommit=False)
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE t (a BIGINT)")
        cursor.adbc_ingest("t", pa.table({"a": [1]}), mode="append")
        assert cursor.execute("FROM t").fetchall() == [(1,)]
        connection.rollback()
        with pytest.raises(manager.ProgrammingError, match="does not exist"):
            cursor.execute("FROM t")
