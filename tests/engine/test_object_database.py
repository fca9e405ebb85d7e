"""Databases in an object store, through SQL: what is there afterwards, and what is asked of it."""

from __future__ import annotations

import datetime as dt
import json
import shutil

import pytest

import raydb
from raydb.storage.objects.database_objects import DatabaseObjects
from raydb.storage.objects.store import open_store

ROWS = 50_000


@pytest.fixture
def url(bucket, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return f"s3://{bucket}/shop.raydb"


def fill(con):
    con.execute(f"""
        CREATE TABLE shop (s_id INTEGER PRIMARY KEY, city VARCHAR NOT NULL);
        INSERT INTO shop SELECT range, 'city ' || range % 7 FROM range(50);
        CREATE TABLE sale (
            id INTEGER PRIMARY KEY,
            shop_id INTEGER NOT NULL REFERENCES shop (s_id),
            amount INTEGER NOT NULL,
            note VARCHAR);
        INSERT INTO sale SELECT range, range % 50, range % 1000, 'note ' || range
            FROM range({ROWS});
        CREATE BVH sales ON sale (SCAN (city), GROUP BY (city), AGGREGATE (amount));
    """)


STAR = """
    SELECT city, sum(amount), count(*) FROM sale JOIN shop ON shop_id = s_id
    WHERE city <> 'city 3' GROUP BY city ORDER BY city"""

CHANGES = "DELETE FROM sale WHERE id % 10 = 0; UPDATE shop SET city = 'x' WHERE s_id = 1"


def methods(server):
    found = [request.method for request in server.log]
    server.log.clear()
    return found


def forget(tmp_path):
    """Remove the cache, so that the next connection is cold."""
    shutil.rmtree(tmp_path / "cache", ignore_errors=True)


def test_what_was_committed_is_there(url, tmp_path):
    local = raydb.connect()
    fill(local)
    with raydb.connect(url) as con:
        fill(con)
        con.execute(
            "BEGIN; DELETE FROM sale WHERE id % 10 = 0; UPDATE shop SET city = 'x' WHERE s_id = 1"
        )
        con.execute("COMMIT; BEGIN; DELETE FROM sale; ROLLBACK")
    local.execute("DELETE FROM sale WHERE id % 10 = 0; UPDATE shop SET city = 'x' WHERE s_id = 1")
    for _ in range(2):
        with raydb.connect(url, read_only=True) as con:
            for text in (
                STAR,
                "SELECT * FROM sale WHERE id IN (77, 4001) ORDER BY id",
                "FROM shop",
            ):
                assert con.execute(text).fetchall() == local.execute(text).fetchall()
        forget(tmp_path)
    with raydb.connect(url) as con:
        con.execute("VACUUM; CHECKPOINT")
        assert con.execute(STAR).fetchall() == local.execute(STAR).fetchall()
        assert "bvh" in str(con.execute(f"EXPLAIN {STAR}").fetchall()).lower()


def test_a_reader_sees_each_commit(url):
    with raydb.connect(url) as writer, raydb.connect(url, read_only=True) as reader:
        writer.execute("CREATE TABLE t (x INTEGER)")
        for number in range(5):
            writer.execute("INSERT INTO t VALUES (?)", [number])
            assert reader.execute("SELECT count(*) FROM t").fetchone() == (number + 1,)
        reader.execute("BEGIN; SELECT count(*) FROM t")
        writer.execute("INSERT INTO t VALUES (9)")
        assert reader.execute("SELECT count(*) FROM t").fetchone() == (5,)
        reader.execute("COMMIT")
        assert reader.execute("SELECT count(*) FROM t").fetchone() == (6,)
        with pytest.raises(raydb.Error, match="read"):
            reader.execute("INSERT INTO t VALUES (1)")


def test_what_is_asked_of_the_store(url, store_server, tmp_path):
    with raydb.connect(url) as con:
        fill(con)
        methods(store_server)
        con.execute("INSERT INTO sale VALUES (1000000, 1, 5, NULL)")
        assert methods(store_server) == ["PUT"]
        con.execute(STAR)
        assert methods(store_server) == []
        con.execute("CHECKPOINT")
    forget(tmp_path)
    methods(store_server)
    config = {"object_refresh": 10_000}
    with raydb.connect(url, read_only=True, config=config) as con:
        assert methods(store_server) == ["GET"]
        row = con.execute("SELECT * FROM sale WHERE id = 4001").fetchone()
        assert row == (4001, 1, 1, "note 4001")
        assert methods(store_server) == ["GET"]
        con.execute("SELECT * FROM sale WHERE id = 4001")
        assert methods(store_server) == []


def test_the_loser_of_a_race_loses_its_transaction_alone(url):
    with raydb.connect(url) as one:
        one.execute("CREATE TABLE t (x INTEGER PRIMARY KEY)")
        one.execute("INSERT INTO t VALUES (1); CHECKPOINT")
        # Connections of a process share a database, so the rival is another process's half.
        rival = DatabaseObjects.open(url, read_only=False)
        rival.commit(rival.shown.state, rival.shown.files)
        with pytest.raises(raydb.OperationalError, match=r"another writer .* has made version \d"):
            one.execute("INSERT INTO t VALUES (2)")
        one.execute("INSERT INTO t VALUES (3)")
        rival.close()
    with raydb.connect(url, read_only=True) as con:
        assert con.execute("SELECT x FROM t ORDER BY x").fetchall() == [(1,), (3,)]


def test_errors_name_the_database(url, bucket):
    with pytest.raises(
        raydb.OperationalError, match=r"database 's3://.*shop.raydb' does not exist"
    ):
        raydb.connect(url, read_only=True)
    with pytest.raises(raydb.OperationalError, match="no such bucket"):
        raydb.connect("s3://no-bucket-of-this-name/shop.raydb")


def test_without_a_cache_on_disk(url, tmp_path):
    with raydb.connect(url, config={"cache_size": 0}) as con:
        fill(con)
        expected = con.execute(STAR).fetchall()
    with raydb.connect(url, read_only=True, config={"cache_size": 0}) as con:
        assert con.execute(STAR).fetchall() == expected
    assert not (tmp_path / "cache").exists()


def test_a_cache_that_is_damaged_or_gone_is_fetched_anew(url, tmp_path):
    with raydb.connect(url) as con:
        fill(con)
        expected = con.execute(STAR).fetchall(), con.execute("SELECT sum(id) FROM sale").fetchall()
    files = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert files
    for path in files:
        size = path.stat().st_size
        with path.open("r+b") as file:
            file.write(b"\x55" * (size - 4096 if size > 4096 else 0))
    with raydb.connect(url, read_only=True) as con:
        assert (
            con.execute(STAR).fetchall(),
            con.execute("SELECT sum(id) FROM sale").fetchall(),
        ) == expected
        forget(tmp_path)
        assert con.execute("SELECT max(note) FROM sale").fetchone() == ("note 9999",)
    with raydb.connect(url, read_only=True) as con:
        assert con.execute(STAR).fetchall() == expected[0]


def test_vacuum_removes_what_no_version_names_after_a_while(url, bucket):
    store, prefix = open_store(url)

    def files():
        return {each.key for each in store.entries(f"{prefix}/data/")}

    with raydb.connect(url) as con:
        fill(con)
        first = files()
        con.execute("DELETE FROM sale WHERE id % 3 = 0; VACUUM; VACUUM")
        assert first < files()
        con.execute("SET object_retention = 0")
        con.execute("VACUUM; VACUUM; VACUUM")
        expected = con.execute(STAR).fetchall()
    with raydb.connect(url, read_only=True) as con:
        assert con.execute(STAR).fetchall() == expected
    newest = DatabaseObjects.open(url, read_only=True)
    assert files() == {f"{prefix}/data/{name}" for name in newest.shown.files}


def test_vacuums_that_are_killed_leave_one_note(url, monkeypatch):
    store, prefix = open_store(url)
    key = f"{prefix}/garbage.json"

    def noted():
        return json.loads(bytes(store.get(key).data))

    def fail(_self, _keys):
        raise OSError(0, "no more")

    with raydb.connect(url) as con:
        fill(con)
        con.execute("DELETE FROM sale WHERE id % 3 = 0; VACUUM")
        first = noted()
        assert set(first.values()) == {None}
        con.execute("DELETE FROM sale WHERE id % 3 = 1; VACUUM")
        second = noted()
        assert first.keys() < second.keys()
        moments = {second[name] for name in first}
        assert len(moments) == 1
        assert dt.datetime.fromisoformat(*moments) <= store.head(key).last_modified
        assert {second[name] for name in second.keys() - first.keys()} == {None}
        con.execute("SET object_retention = 0")
        with monkeypatch.context() as patch:
            patch.setattr(type(store), "delete", fail)
            for _ in range(3):
                with pytest.raises(raydb.OperationalError, match="cannot remove"):
                    con.execute("VACUUM")
        con.execute("VACUUM; VACUUM")
        with pytest.raises(FileNotFoundError):
            store.get(key)
        left = {each.key for each in store.entries(f"{prefix}/")}
    shown = DatabaseObjects.open(url, read_only=True).shown
    assert left == {f"{prefix}/HEAD", *(f"{prefix}/data/{name}" for name in shown.files)}


@pytest.mark.parametrize(
    "note",
    [
        "",
        "[1]",
        "{",
        '{"%s": 7}',
        '{"%s": "2026"}',
        '{"%s": "2026-01-01"}',
        "\xff",
        '{"../HEAD": null}',
    ],
)
def test_a_note_that_is_none_says_nothing(url, note):
    store, prefix = open_store(url)
    with raydb.connect(url) as con:
        fill(con)
        con.execute("DELETE FROM sale WHERE id % 3 = 0; VACUUM")
        name = min(json.loads(bytes(store.get(f"{prefix}/garbage.json").data)))
        store.put(f"{prefix}/garbage.json", (note.replace("%s", name)).encode("latin-1"))
        con.execute("VACUUM")
        assert name in json.loads(bytes(store.get(f"{prefix}/garbage.json").data))
        assert store.get(f"{prefix}/data/{name}") is not None
        assert con.execute("SELECT count(*) FROM sale").fetchone() is not None


def test_a_reader_of_an_old_version_is_told_and_goes_on(url):
    with raydb.connect(url, config={"object_retention": 0, "cache_size": 0}) as writer:
        fill(writer)
        reader = raydb.connect(url, read_only=True, config={"cache_size": 0})
        reader.execute("BEGIN; SELECT count(*) FROM shop")
        writer.execute("DELETE FROM sale WHERE id < 40000; VACUUM; VACUUM; VACUUM; VACUUM")
        with pytest.raises(raydb.OperationalError, match="is missing"):
            reader.execute("SELECT max(note), min(amount) FROM sale")
        reader.execute("ROLLBACK")
        assert reader.execute("SELECT count(*) FROM sale").fetchone() == (10_000,)
        reader.close()
