"""The command `raydb serve`: who may speak, where it listens, and how it ends."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import adbc_driver_flightsql.dbapi as adbc
import adbc_driver_manager as manager
import pytest
from adbc_driver_flightsql import DatabaseOptions

import raydb
from raydb.engine.serve.command import main

CERTIFICATE, KEY = (Path(__file__).parent / name for name in ("certificate.pem", "key.pem"))
LONG = "SELECT count(*) FROM range(100_000) a, range(1_000_000) b WHERE a.range * b.range = 7"


@contextmanager
def serving(*arguments):
    """Run the command on a free port; yield the process and the address."""
    command = [sys.executable, "-m", "raydb", "serve", *map(str, arguments), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        told = process.stdout.readline()
        assert told.startswith("RayDB serves "), told + process.stderr.read()
        yield process, told.split(" at ")[1].split(";")[0]
    finally:
        process.kill()
        process.communicate()


def ask(uri, text="SELECT 42", **options):
    with adbc.connect(uri, db_kwargs=options, autocommit=True) as con, con.cursor() as cursor:
        return cursor.execute(text).fetchall()


def test_ctrl_c_loses_nothing(tmp_path):
    path = tmp_path / "shop.raydb"
    with serving(path) as (process, uri):
        ask(uri, "CREATE TABLE t (a INTEGER)")
        ask(uri, "INSERT INTO t VALUES (1)")
        connection = adbc.connect(uri)
        cursor = connection.cursor()
        cursor.execute("INSERT INTO t VALUES (2)")
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert process.stderr.read() == ""
        with pytest.raises(manager.Error):
            connection.commit()
        with suppress(manager.Error):
            cursor.close()
        with suppress(manager.Error):
            connection.close()
    with raydb.connect(path) as own:
        assert own.execute("FROM t").fetchall() == [(1,)]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("SELECT range, range + 1 FROM range(1_000_000_000)", marks=pytest.mark.long),
        LONG,
    ],
)
def test_sigterm_ends_what_runs(text):
    """Such as a long statement, or rows that a client has begun to fetch and fetches no further."""
    failures = []

    def fetch():
        try:
            with adbc.connect(uri, autocommit=True) as connection, connection.cursor() as cursor:
                cursor.execute(text)
                cursor.fetchone()
                process.wait()
                cursor.fetchall()
        except manager.Error as error:
            failures.append(error)

    with serving() as (process, uri):
        fetching = threading.Thread(target=fetch)
        fetching.start()
        time.sleep(3)
        process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        assert process.wait(20) == 0
        assert time.monotonic() - began < 15
        fetching.join(30)
        assert failures


def test_read_only(tmp_path):
    path = tmp_path / "shop.raydb"
    with raydb.connect(path) as own:
        own.execute("CREATE TABLE t (a INTEGER)")
        with serving(path, "--read-only") as (_, uri):
            own.execute("INSERT INTO t VALUES (1)")
            assert ask(uri, "FROM t") == [(1,)]
            with pytest.raises(manager.Error, match=r"read-only|read_only"):
                ask(uri, "INSERT INTO t VALUES (2)")


@pytest.mark.parametrize("has_access", [False, True])
def test_files_are_for_those_who_say_so(tmp_path, has_access):
    (tmp_path / "f.csv").write_text("a\n1\n")
    arguments = ["--external-access"] if has_access else []
    with serving(*arguments) as (_, uri):
        query = f"FROM '{tmp_path}/f.csv'"
        if has_access:
            assert ask(uri, query) == [(1,)]
        else:
            with pytest.raises(manager.OperationalError, match="external_access is off"):
                ask(uri, query)
            with pytest.raises(manager.Error, match="external_access"):
                ask(uri, "SET external_access = on")


def test_tls_and_tokens(tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("# of the shop\nfirst-token\n\nsecond-token\n")
    options = ("--tls-cert", CERTIFICATE, "--tls-key", KEY, "--token-file", tokens)
    with serving(*options) as (_, uri):
        assert uri.startswith("grpc+tls://")
        known = {DatabaseOptions.TLS_ROOT_CERTS.value: CERTIFICATE.read_text()}
        header = DatabaseOptions.AUTHORIZATION_HEADER.value
        for token in ("first-token", "second-token"):
            assert ask(uri, **known, **{header: f"Bearer {token}"}) == [(42,)]
            assert ask(uri, **known, username="anyone", password=token) == [(42,)]
        for wrong in ("Bearer first", "Bearer # of the shop", "Bearer ", "Basic ???", "x"):
            with pytest.raises(manager.Error, match="no token that is known"):
                ask(uri, **known, **{header: wrong})
        with pytest.raises(manager.Error, match="no token that is known"):
            ask(uri, **known)
        with pytest.raises(manager.Error):
            ask(uri, **known, username="anyone", password="third-token")
        with pytest.raises(manager.Error, match="certificate"):
            ask(uri, **{header: "Bearer first-token"})


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--host", "0.0.0.0"], "give --tls-cert and --token-file, or --insecure"),
        (["--host", "::"], "'::' can be reached from other machines"),
        (["--host", "0.0.0.0", "--token-file", "t"], "give --tls-cert, or --insecure"),
        (["--tls-cert", "c"], "--tls-cert and --tls-key go together"),
        (["--token-file", "absent"], "file 'absent' cannot be read: no such file"),
        (["--token-file", os.devnull], "has no token"),
        (["--tls-cert", os.devnull, "--tls-key", os.devnull], "cannot listen at grpc.tls://127"),
    ],
)
def test_options_that_are_refused(arguments, sentence):
    with pytest.raises(raydb.Error, match=sentence):
        main([*arguments, "--port", "0"])


def test_a_port_is_not_shared():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(raydb.OperationalError, match=f"at 127.0.0.1:{port}: address already"):
            main(["--port", str(port)])


def test_a_database_that_another_process_writes(tmp_path):
    path = tmp_path / "shop.raydb"
    with serving(path):
        done = subprocess.run(
            [sys.executable, "-m", "raydb", "serve", str(path), "--port", "0"],
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert "is open for writing in process" in done.stderr
