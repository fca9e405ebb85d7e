"""Readers of databases in stores: a query runs while the store is asked for a newer version."""

from __future__ import annotations

import pytest
from store_server import trips

import raydb


@pytest.fixture
def url(bucket, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return f"s3://{bucket}/shop.raydb"


def test_each_query_is_of_the_newest_version(url, store_server, monkeypatch):
    with raydb.connect(url) as writer, raydb.connect(url, read_only=True) as reader:
        writer.execute("CREATE TABLE t (x INTEGER PRIMARY KEY)")
        monkeypatch.setattr(store_server, "delay_s", 0.02)
        for number in range(6):
            writer.execute("INSERT INTO t VALUES (?)", [number])
            for _ in range(2):
                assert reader.execute("SELECT count(*) FROM t").fetchone() == (number + 1,)
        writer.execute("CREATE TABLE u AS SELECT 7 AS y")
        assert reader.execute("SELECT y FROM u").fetchone() == (7,)
        writer.execute("DROP TABLE u")
        with pytest.raises(raydb.ProgrammingError, match="table 'u' does not exist"):
            reader.execute("SELECT y FROM u")
        writer.execute("ALTER TABLE t ADD COLUMN z INTEGER DEFAULT 3; CHECKPOINT")
        assert reader.execute("SELECT DISTINCT z FROM t").fetchall() == [(3,)]
        reader.execute("SELECT 1; SELECT 2")
        assert reader.execute("SELECT max(x) FROM t; SELECT count(*) FROM t").fetchone() == (6,)


def test_the_question_takes_no_trip_of_its_own(url, store_server, monkeypatch):
    with raydb.connect(url) as con:
        con.execute(
            "CREATE TABLE t AS SELECT range AS x, 'name ' || range AS y FROM range(100_000)"
        )
    with raydb.connect(url, read_only=True, config={"cache_size": 0}) as con:
        store_server.log.clear()
        monkeypatch.setattr(store_server, "delay_s", 0.2)
        assert con.execute("SELECT y FROM t WHERE x = 77").fetchone() == ("name 77",)
        assert {request.path.rpartition("/")[2][-5:] for request in store_server.log} == {
            "HEAD",
            ".flat",
        }
        assert trips(store_server.log) == 1


def test_metadata_that_head_has_no_room_for_take_one_trip(url, store_server, monkeypatch):
    columns = ", ".join(f"x + {number} AS c{number}" for number in range(1200))
    with raydb.connect(url) as con:
        con.execute(
            f"CREATE TABLE t AS SELECT x, 'name ' || x AS y, {columns} FROM range(2000) r(x)"
        )
    with raydb.connect(url, read_only=True, config={"cache_size": 0}) as con:
        store_server.log.clear()
        monkeypatch.setattr(store_server, "delay_s", 0.2)
        row = con.execute("SELECT y, c0, c9, c1199 FROM t WHERE x = 77").fetchone()
        assert row == ("name 77", 77, 86, 1276)
        # Beside them the store is asked for a newer version, unless planning takes longer.
        assert trips([each for each in store_server.log if not each.path.endswith("HEAD")]) == 2


def test_a_database_that_is_removed_is_named(url, store_server):
    from raydb.storage.objects.store import open_store

    with raydb.connect(url) as con:
        con.execute("CREATE TABLE t (x INTEGER)")
    with raydb.connect(url, read_only=True) as con:
        store, key = open_store(url)
        store.delete([f"{key}/HEAD"])
        with pytest.raises(raydb.OperationalError, match="cannot be read: no such object"):
            con.execute("SELECT * FROM t")


def test_a_version_that_another_session_has_heard_of_is_news(url):
    with raydb.connect(url) as writer, raydb.connect(url, read_only=True) as reader:
        writer.execute("CREATE TABLE t (x INTEGER)")
        reader.execute("SELECT count(*) FROM t")
        shared = reader._session.database.shared
        writer.execute("INSERT INTO t VALUES (1)")
        is_news = shared.catch_up_later()
        assert reader.duplicate().execute("SELECT count(*) FROM t").fetchone() == (1,)
        assert is_news()
        assert not shared.catch_up_later()()
