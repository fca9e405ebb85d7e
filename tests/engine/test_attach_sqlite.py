"""ATTACH of SQLite files: types, values that do not fit, versions, locks, damaged files."""

from __future__ import annotations

import datetime as dt
import sqlite3
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

import raydb
from raydb.storage.sqlite import database, reading

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def other(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A connection of SQLite that writes to the file."""
    other = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    other.executescript("""
        CREATE TABLE sale (id INTEGER PRIMARY KEY, name VARCHAR(20), price DECIMAL(9, 2),
            raw BLOB, day DATE, at TIMESTAMP, paid BOOLEAN, size FLOAT,
            twice INTEGER AS (id * 2), any_);
        INSERT INTO sale VALUES
            (1, 'Åse', 2.5, x'00ff', '2024-02-29', '2024-02-29 12:30:00.5', 1, 1, 7),
            (2, NULL, 3, NULL, NULL, '2024-03-01T00:00:00', 0, 2.5, NULL),
            (9007199254740993, '', NULL, x'', '1999-12-31', NULL, NULL, NULL, 8);
        CREATE TABLE pair (a TEXT, b INTEGER, PRIMARY KEY (a, b)) WITHOUT ROWID;
        INSERT INTO pair VALUES ('x', 1), ('y', 2);
        CREATE VIEW named AS SELECT upper(name) AS n, count(*) AS k, 0.5 AS half FROM sale
            WHERE name <> '' GROUP BY name;
        CREATE TABLE "odd "" name" ("a b" INTEGER);
        CREATE TABLE gone (i INTEGER);
        CREATE VIEW broken AS SELECT i FROM gone;
        DROP TABLE gone;
    """)
    yield other
    other.close()


@pytest.fixture
def con(other: sqlite3.Connection, tmp_path: Path) -> Iterator[raydb.Connection]:
    with raydb.connect() as con:
        con.execute(f"ATTACH '{tmp_path / 'x.db'}' AS s (TYPE sqlite, READ_ONLY)")
        yield con


def ask(con: raydb.Connection, query: str) -> list[object]:
    rows = con.execute(query).fetchall()
    return [row[0] if len(row) == 1 else row for row in rows]


def test_types_and_values(con: raydb.Connection) -> None:
    described = [(name, kind) for name, kind, *_ in ask(con, "DESCRIBE s.sale")]
    assert described == [
        ("id", "BIGINT"),
        ("name", "VARCHAR"),
        ("price", "DOUBLE"),
        ("raw", "BLOB"),
        ("day", "DATE"),
        ("at", "TIMESTAMP"),
        ("paid", "BOOLEAN"),
        ("size", "DOUBLE"),
        ("twice", "BIGINT"),
        ("any_", "BIGINT"),
    ]
    date, moment = dt.date, dt.datetime
    assert ask(con, "SELECT * EXCLUDE (twice) FROM s.sale ORDER BY id") == [
        (1, "Åse", 2.5, b"\0\xff", date(2024, 2, 29), moment(2024, 2, 29, 12, 30, 0, 500000),
         True, 1.0, 7),
        (2, None, 3.0, None, None, moment(2024, 3, 1), False, 2.5, None),
        (2**53 + 1, "", None, b"", date(1999, 12, 31), None, None, None, 8),
    ]  # fmt: skip
    assert ask(con, "SELECT twice FROM s.sale WHERE id < 3 ORDER BY 1") == [2, 4]
    assert ask(con, "SELECT n, k, half FROM s.named") == [("ÅSE", 1, 0.5)]
    assert ask(con, "SELECT a, b FROM s.pair ORDER BY 1") == [("x", 1), ("y", 2)]
    assert ask(con, 'SELECT count(*), max("a b") FROM s."odd "" name"') == [(0, None)]
    assert ask(con, "SHOW TABLES FROM s") == ["named", 'odd " name', "pair", "sale"]
    assert ask(con, "SELECT count(*) FROM s.sale JOIN s.pair ON b = id") == [2]
    con.execute("CREATE TABLE own AS SELECT id, name FROM s.sale")
    con.execute("INSERT INTO own SELECT b, a FROM s.pair")
    assert ask(con, "SELECT count(*) FROM own") == [5]
    with pytest.raises(raydb.OperationalError, match="and so read-only"):
        con.execute("DELETE FROM s.sale")


def test_the_file_tells_its_type(other: sqlite3.Connection, tmp_path: Path) -> None:
    with raydb.connect() as con:
        con.execute(f"ATTACH '{tmp_path / 'x.db'}'")
        assert ask(con, "SELECT count(*) FROM x.sale") == [3]


# Each column of the first row of one table, and of the second of another.
@pytest.mark.parametrize(
    ("declared", "value", "message"),
    [
        ("INTEGER", "'ten'", "'ten' is TEXT, and the column BIGINT"),
        ("INTEGER", "1.5", "1.5 is REAL, and the column BIGINT"),
        ("REAL", "'x'", "'x' is TEXT, and the column DOUBLE"),
        ("TEXT", "x'00'", "b'\\\\x00' is BLOB, and the column VARCHAR"),
        ("BLOB", "'x'", "'x' is TEXT, and the column BLOB"),
        ("DATE", "'soon'", "'soon' is TEXT, and the column DATE"),
        ("DATE", "5", "5 is INTEGER, and the column DATE"),
        ("BOOLEAN", "2", "2 is INTEGER, and the column BOOLEAN"),
        ("DATETIME", "'x'", "'x' is TEXT, and the column TIMESTAMP"),
    ],
)
def test_values_of_another_type(
    con: raydb.Connection, other: sqlite3.Connection, declared: str, value: str, message: str
) -> None:
    other.execute(f"CREATE TABLE t (c {declared}, ok INTEGER)")
    other.execute(f"INSERT INTO t VALUES (NULL, 1), ({value}, 2)")
    with pytest.raises(raydb.DataError, match=f"table 't', column 'c', row 2: {message}"):
        con.execute("SELECT c FROM s.t")
    assert ask(con, "SELECT ok FROM s.t ORDER BY 1") == [1, 2]


def test_all_varchar(other: sqlite3.Connection, tmp_path: Path) -> None:
    other.execute("CREATE TABLE t (c INTEGER)")
    other.execute("INSERT INTO t VALUES (1), ('ten'), (2.5), (NULL)")
    with raydb.connect() as con:
        con.execute(f"ATTACH '{tmp_path / 'x.db'}' AS s (TYPE sqlite, sqlite_all_varchar true)")
        assert ask(con, "SELECT c FROM s.t") == ["1", "ten", "2.5", None]


def test_a_later_value_of_an_undeclared_column(
    con: raydb.Connection, other: sqlite3.Connection
) -> None:
    other.execute("CREATE TABLE t (c)")
    numbers = ", ".join(f"({number})" for number in range(1000))
    other.execute(f"INSERT INTO t VALUES {numbers}")
    other.execute("INSERT INTO t VALUES ('late')")
    with pytest.raises(raydb.DataError, match="column 'c', row 1001: 'late' is TEXT"):
        con.execute("SELECT sum(c) FROM s.t")
    other.execute("UPDATE t SET c = 'first' WHERE c = 0")
    assert ask(con, "SELECT count(c), max(c) FROM s.t") == [(1001, "late")]


def test_a_text_that_is_not_utf8(con: raydb.Connection, other: sqlite3.Connection) -> None:
    other.execute("CREATE TABLE t (ok INTEGER, c TEXT)")
    other.execute("INSERT INTO t VALUES (1, CAST(x'ff' AS TEXT))")
    place = "table 't', column 'c' has a text that is not UTF-8"
    with pytest.raises(raydb.DataError, match=place):
        con.execute("SELECT ok, c FROM s.t")
    assert ask(con, "SELECT ok FROM s.t") == [1]


# -- versions


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_commits_of_others_are_seen(
    con: raydb.Connection, other: sqlite3.Connection, mode: str
) -> None:
    other.execute(f"PRAGMA journal_mode = {mode}")
    con.execute("PREPARE p AS SELECT count(*) FROM s.sale WHERE id > $1")
    for count in (3, 4, 5):
        for _ in range(3):
            assert ask(con, "SELECT count(*) FROM s.sale") == [count]
            assert ask(con, "SELECT count(*) FROM s.sale WHERE id > 0") == [count]
            assert ask(con, "EXECUTE p(0)") == [count]
        other.execute("INSERT INTO sale (name) VALUES ('new')")
    other.execute("CREATE TABLE late AS SELECT 1 AS i")
    other.execute("ALTER TABLE sale ADD COLUMN more INTEGER DEFAULT 4")
    assert ask(con, "SELECT i FROM s.late") == [1]
    assert ask(con, "SELECT sum(more) FROM s.sale") == [24]


def test_a_transaction_reads_one_version(con: raydb.Connection, other: sqlite3.Connection) -> None:
    other.execute("PRAGMA journal_mode = WAL")
    con.execute("BEGIN")
    assert ask(con, "SELECT count(*) FROM s.sale") == [3]
    other.execute("DELETE FROM sale")
    assert ask(con, "SELECT count(id), count(name) FROM s.sale") == [(3, 2)]
    con.execute("COMMIT")
    assert ask(con, "SELECT count(*) FROM s.sale") == [0]


def test_nobody_waits_between_statements(con: raydb.Connection, other: sqlite3.Connection) -> None:
    assert ask(con, "SELECT count(*) FROM s.sale") == [3]
    other.execute("PRAGMA busy_timeout = 0")
    other.execute("DELETE FROM sale WHERE id = 1")
    con.execute("CREATE TABLE own (k BIGINT)")
    for count in (2, 5):
        con.executemany("INSERT INTO own SELECT id FROM s.sale WHERE id > ?", [(0,)] * count)
        other.execute("DELETE FROM sale WHERE id = 2")
    con.execute("BEGIN; FROM s.sale")
    con.commit()
    other.execute("DELETE FROM sale")
    assert ask(con, "SELECT count(*) FROM s.sale") == [0]


def test_a_stream_keeps_its_version(
    con: raydb.Connection, other: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_KEPT_BYTES", 0)
    monkeypatch.setattr(reading, "_BATCH_ROWS", 2)
    other.execute("PRAGMA journal_mode = WAL")
    other.execute("CREATE TABLE t (c INTEGER)")
    other.execute(f"INSERT INTO t VALUES {', '.join(f'({number})' for number in range(20))}")
    reader = con.stream("SELECT c FROM s.t")
    found = list(reader.read_next_batch().column(0).to_pylist())
    other.execute("DELETE FROM t")
    assert ask(con, "SELECT count(*) FROM s.t") == [0]
    found += [value for batch in reader for value in batch.column(0).to_pylist()]
    assert found == list(range(20))


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses of statements that wait for a locked file, which are none here."""
    pauses: list[float] = []
    monkeypatch.setattr(reading, "_WAIT_S", 0.05)
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=pauses.append)
    monkeypatch.setattr(reading, "time", clock)
    return pauses


def test_a_locked_file(
    con: raydb.Connection, other: sqlite3.Connection, waits: list[float]
) -> None:
    con.execute("CREATE VIEW v AS SELECT count(*) FROM s.sale; PREPARE p AS FROM v")
    other.execute("BEGIN EXCLUSIVE")
    for query in ("SELECT count(*) FROM s.sale", "FROM v", "EXECUTE p", "BEGIN; FROM v"):
        waits.clear()
        with pytest.raises(raydb.OperationalError, match="is locked by another program; try again"):
            con.execute(query)
        assert waits, query
    con.rollback()
    other.execute("COMMIT")
    assert ask(con, "FROM v") == [3]


def test_a_locked_file_hinders_no_other_statements(
    con: raydb.Connection, other: sqlite3.Connection, waits: list[float]
) -> None:
    other.execute("BEGIN EXCLUSIVE")
    con.execute("CREATE TABLE t (i INTEGER); BEGIN; INSERT INTO t VALUES (1); COMMIT")
    con.executemany("INSERT INTO t VALUES (?)", [(2,), (3,)])
    assert ask(con, "SELECT sum(i) FROM t") == [6]
    with con.duplicate() as again:
        assert ask(again, "SELECT sum(i) FROM t") == [6]
        assert not waits
        other.execute("COMMIT")
        assert ask(again, "SELECT count(*) FROM s.sale") == [3]


@pytest.mark.parametrize("begins", [False, True])
def test_a_file_that_is_locked_for_a_moment(
    con: raydb.Connection,
    other: sqlite3.Connection,
    monkeypatch: pytest.MonkeyPatch,
    *,
    begins: bool,
) -> None:
    con.execute("CREATE TABLE own AS SELECT 0 AS k")
    for number, query in enumerate(
        (
            "SELECT count(*) FROM s.sale",
            "SELECT count(*) FROM s.sale",
            "INSERT INTO own SELECT count(*) FROM s.sale RETURNING k",
            "UPDATE own SET k = (SELECT count(*) FROM s.sale) WHERE k = 0 RETURNING k",
            "CREATE VIEW v AS SELECT count(*) FROM s.sale; FROM v",
        )
    ):
        other.execute("BEGIN EXCLUSIVE")
        other.execute("INSERT INTO sale (name) VALUES ('new')")
        if begins:
            con.execute("BEGIN; DELETE FROM own WHERE k = -1")
        clock = SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: other.execute("COMMIT"))
        monkeypatch.setattr(reading, "time", clock)
        assert ask(con, query) == [4 + number]
        con.commit()


def test_a_file_that_takes_the_place_of_another_one(
    con: raydb.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ask(con, "SELECT count(*) FROM s.sale") == [3]
    with sqlite3.connect(tmp_path / "new.db") as new:
        new.executescript("CREATE TABLE sale (id INTEGER); INSERT INTO sale VALUES (7)")
    new.close()
    (tmp_path / "new.db").replace(tmp_path / "x.db")
    assert ask(con, "SELECT count(*) FROM s.sale") == [1]
    assert ask(con, "FROM s.sale") == [7]


# -- files


def test_files_that_are_no_databases(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database at all, and much longer than a hundred bytes" * 20)
    with raydb.connect() as con:
        with pytest.raises(raydb.DatabaseError, match="text' cannot be read: file is not a data"):
            con.execute(f"ATTACH '{tmp_path / 'text'}' AS s (TYPE sqlite)")
        with pytest.raises(raydb.OperationalError):
            con.execute(f"ATTACH '{tmp_path / 'text'}' AS s")
        with pytest.raises(raydb.OperationalError):
            con.execute(f"ATTACH '{tmp_path}' AS s (TYPE sqlite)")
        assert ask(con, "SHOW DATABASES") == ["raydb"]


def test_a_damaged_file(tmp_path: Path, other: sqlite3.Connection) -> None:
    long = "x" * 500
    rows = ", ".join(["('" + long + "')"] * 200)
    other.execute(f"INSERT INTO sale (name) VALUES {rows}")
    other.close()
    content = bytearray((tmp_path / "x.db").read_bytes())
    content[8192:] = b"\xff" * len(content[8192:])
    (tmp_path / "x.db").write_bytes(content)
    with (
        raydb.connect() as con,
        pytest.raises(raydb.DatabaseError, match=r"SQLite database '.*x\.db"),
    ):
        con.execute(f"ATTACH '{tmp_path / 'x.db'}' AS s; SELECT sum(length(name)) FROM s.sale")


def test_large_tables_stay_within_memory_limit(
    con: raydb.Connection, other: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_KEPT_BYTES", 2**16)
    other.execute("CREATE TABLE t (c INTEGER, text_ TEXT)")
    rows = ((number, f"text {number % 7}") for number in range(30_000))
    other.execute("BEGIN")
    other.executemany("INSERT INTO t VALUES (?, ?)", rows)
    other.execute("COMMIT")
    con.execute("SET memory_limit = '20MB'")
    query = "SELECT text_, count(*), sum(c) FROM s.t GROUP BY text_ ORDER BY 1"
    expected = other.execute(query.replace("s.t", "t")).fetchall()
    assert ask(con, query) == expected
    assert ask(con, query) == expected
    assert ask(con, "SELECT count(*) FROM s.t WHERE c % 2 = 0") == [15_000]
    assert ask(con, "SELECT c FROM s.t LIMIT 3") == [0, 1, 2]
