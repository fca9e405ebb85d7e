"""BVHs beside changing tables: what a merge takes in, and when it comes to nothing."""

from __future__ import annotations

import threading

import pytest

import raydb
from raydb.engine.catalog import merge as merging
from raydb.engine.catalog import stored_bvh
from raydb.engine.fused import build_bvh

SCHEMA = """
CREATE TABLE d (id INTEGER PRIMARY KEY, name VARCHAR, other INTEGER);
CREATE TABLE f (d INTEGER REFERENCES d (id), m INTEGER);
INSERT INTO d SELECT range, 'n' || range % 3, range FROM range(9);
INSERT INTO f SELECT range % 9, range FROM range(90);
CREATE BVH b ON f (SCAN (name), AGGREGATE (m));
"""
QUERY = "SELECT name, sum(m), count(*) FROM f JOIN d ON d = id GROUP BY name ORDER BY name"
PARTS = "SELECT row_count, newer_rows, dead_rows, is_stale, merge FROM bvhs()"


@pytest.fixture(params=["memory", "disk"])
def path(request, tmp_path):
    return None if request.param == "memory" else tmp_path / "shop.raydb"


@pytest.fixture
def con(path):
    with raydb.connect(path) as con:
        con.execute(SCHEMA)
        yield con


@pytest.fixture
def due(monkeypatch):
    """Every newer row is a reason to merge."""
    monkeypatch.setattr(stored_bvh, "MIN_MERGED", 0)
    monkeypatch.setattr(stored_bvh, "MERGED_SHARE", 0.0)


@pytest.fixture
def gate(monkeypatch):
    """A merge in the background waits until the gate is opened."""
    gate = threading.Event()
    rebuilt = merging.rebuilt

    def wait(bvh, tables, context):
        assert gate.wait(60)
        return rebuilt(bvh, tables, context)

    monkeypatch.setattr(merging, "rebuilt", wait)
    yield gate
    gate.set()


def check(con):
    """Check that the answer is that of the general path, and return it."""
    found = con.execute(QUERY).fetchall()
    con.execute("SET fused_path = 'off'")
    assert con.execute(QUERY).fetchall() == found
    con.execute("SET fused_path = 'on'")
    return found


def wait(con):
    con._session.database.shared.merger.wait()


def parts(con):
    return con.execute(PARTS).fetchone()


def explained(con):
    return "\n".join(line for (line,) in con.execute("EXPLAIN " + QUERY).fetchall())


def test_newer_rows_are_merged_in_the_background(con, due):
    con.execute("INSERT INTO f VALUES (0, 1000)")
    con.execute("DELETE FROM f WHERE m = 5")
    before = check(con)
    wait(con)
    assert parts(con) == (90, 0, 0, False, None)
    assert check(con) == before
    assert "DeltaScan" not in explained(con)


def test_few_newer_rows_stay_beside_the_bvh(con):
    con.execute("INSERT INTO f VALUES (0, 1000)")
    check(con)
    wait(con)
    assert parts(con) == (90, 1, 0, False, None)
    assert "DeltaScan" in explained(con)


def test_an_outdated_bvh_is_built_anew_beside_the_queries(con, gate):
    con.execute("UPDATE d SET name = 'new' WHERE id = 4")
    before = check(con)
    assert parts(con) == (90, 0, 0, True, "under way")
    assert "serves no query: rows that it encodes were changed" in explained(con)
    gate.set()
    wait(con)
    assert check(con) == before
    assert parts(con) == (90, 0, 0, False, None)
    assert explained(con).startswith("path: fused")


def test_with_checkpoint_nothing_is_merged_before(con, due):
    con.execute("SET bvh_merge = 'checkpoint'")
    con.execute("INSERT INTO f VALUES (0, 1000)")
    con.execute("UPDATE d SET name = 'new' WHERE id = 4")
    before = check(con)
    assert con._session.database.shared.merger.is_idle
    assert parts(con) == (90, 1, 0, True, None)
    con.execute("CHECKPOINT")
    assert parts(con) == (91, 0, 0, False, None)
    assert check(con) == before


def test_rows_that_change_during_a_merge_are_newer_than_it(con, due, gate):
    con.execute("INSERT INTO f VALUES (0, 1000)")
    check(con)
    con.execute("SET bvh_merge = 'checkpoint'")
    con.execute("INSERT INTO d VALUES (9, 'n9', 0); INSERT INTO f VALUES (9, 7), (1, 8)")
    con.execute("DELETE FROM f WHERE m = 1000")
    con.execute("UPDATE d SET other = -1")
    before = check(con)
    gate.set()
    wait(con)
    assert parts(con) == (91, 2, 1, False, None)
    assert check(con) == before


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE d SET name = 'new' WHERE id = 4",
        "DELETE FROM f WHERE m = 3; VACUUM",
        "TRUNCATE f",
        "ALTER TABLE f ALTER m TYPE INTEGER USING m + 1",
        "DROP BVH b; CREATE BVH b ON f (SCAN (name, m), AGGREGATE (m))",
        "DROP BVH b; DROP TABLE f; CREATE TABLE f (d INTEGER REFERENCES d (id), m INTEGER);"
        "CREATE BVH b ON f (SCAN (name), AGGREGATE (m)); INSERT INTO f VALUES (2, 3)",
    ],
)
def test_a_merge_that_does_not_fit_any_more_is_given_up(con, path, due, gate, change):
    con.execute("INSERT INTO f VALUES (0, 1000)")
    check(con)
    con.execute("SET bvh_merge = 'checkpoint'")
    con.execute(change)
    before, kept = check(con), parts(con)[:4]
    gate.set()
    wait(con)
    assert check(con) == before
    assert parts(con)[:4] == kept
    con.execute("CHECKPOINT")
    assert check(con) == before
    if path is not None:
        assert len(list((path / "data").glob("*.bvh"))) == 1


def test_a_merge_waits_for_the_end_of_a_transaction(con, due, gate):
    con.execute("INSERT INTO f VALUES (0, 1000)")
    before = check(con)
    con.execute("BEGIN; INSERT INTO f VALUES (1, 2000); DELETE FROM f WHERE m < 20")
    gate.set()
    wait(con)
    inside = check(con)
    assert inside != before
    assert parts(con)[:3] == (90, 2, 20)
    con.execute("ROLLBACK")
    assert check(con) == before
    assert parts(con)[:3] == (91, 0, 0)


def test_no_merge_begins_within_a_transaction(con, due):
    con.execute("BEGIN; INSERT INTO f VALUES (1, 2000)")
    check(con)
    assert con._session.database.shared.merger.is_idle
    con.execute("ROLLBACK")
    assert parts(con) == (90, 0, 0, False, None)


def test_a_failed_merge_is_told_and_not_tried_again(con, due, monkeypatch):
    def fail(definition, tables, context):
        raise MemoryError

    con.execute("INSERT INTO f VALUES (0, 1000)")
    with monkeypatch.context() as patch:
        patch.setattr(build_bvh, "build_bvh", fail)
        before = check(con)
        wait(con)
        failed = (90, 1, 0, False, "failed: there is not enough memory to build it")
        assert parts(con) == failed
    assert check(con) == before
    wait(con)
    assert parts(con) == failed
    con.execute("CHECKPOINT")
    assert parts(con) == (91, 0, 0, False, None)


def test_an_interrupted_checkpoint_changes_nothing(con, monkeypatch):
    def interrupt(definition, tables, context):
        raise KeyboardInterrupt

    con.execute("INSERT INTO f VALUES (0, 1000)")
    before = check(con)
    with monkeypatch.context() as patch:
        patch.setattr(build_bvh, "build_bvh", interrupt)
        with pytest.raises(KeyboardInterrupt):
            con.execute("CHECKPOINT")
    assert parts(con) == (90, 1, 0, False, None)
    assert check(con) == before


def test_a_cached_plan_knows_the_rows_of_its_snapshot(con):
    text = "SELECT sum(m), count(*) FROM f JOIN d ON d = id WHERE name = 'n1'"
    total, count = con.execute(text).fetchone()
    for number in range(1, 4):
        con.execute(f"INSERT INTO f VALUES (1, {number})")
        total, count = total + number, count + 1
        assert con.execute(text).fetchone() == con.execute(text).fetchone() == (total, count)
    con.execute("DELETE FROM f WHERE m = 1 AND d = 1")
    assert con.execute(text).fetchone() == (total - 2, count - 2)


# -- on disk


@pytest.fixture
def disk(tmp_path):
    path = tmp_path / "shop.raydb"
    with raydb.connect(path) as con:
        con.execute(SCHEMA)
    return path


@pytest.mark.parametrize("is_logged", [True, False])
def test_a_reopened_database_has_its_newer_rows_without_a_rebuild(disk, is_logged, monkeypatch):
    with raydb.connect(disk) as con:
        con.execute("INSERT INTO d VALUES (9, 'n9', 0); INSERT INTO f VALUES (9, 1000)")
        con.execute("DELETE FROM f WHERE m < 3; UPDATE f SET m = m + 1 WHERE m = 50")
        if not is_logged:
            con.execute("CREATE TABLE other (a INTEGER)")
        before, known = check(con), parts(con)
        assert known == (90, 2, 4, False, None)
    monkeypatch.setattr(build_bvh, "build_bvh", None)
    for read_only in (False, True):
        with raydb.connect(disk, read_only=read_only) as con:
            assert parts(con) == known
            assert check(con) == before
            assert "DeltaScan" in explained(con)


def test_a_merge_in_the_background_is_on_disk_after_closing(disk, due, monkeypatch):
    with raydb.connect(disk) as con:
        con.execute("INSERT INTO f VALUES (0, 1000)")
        before = check(con)
        wait(con)
        check(con)
    monkeypatch.setattr(build_bvh, "build_bvh", None)
    with raydb.connect(disk) as con:
        assert parts(con) == (91, 0, 0, False, None)
        assert check(con) == before
    assert len(list((disk / "data").glob("*.bvh"))) == 1


def test_closing_gives_a_merge_up(disk, due, gate):
    with raydb.connect(disk) as con:
        con.execute("INSERT INTO f VALUES (0, 1000)")
        before = check(con)
        threading.Timer(0.05, gate.set).start()
    with raydb.connect(disk) as con:
        assert parts(con)[:4] == (90, 1, 0, False)
        assert check(con) == before


def test_a_reader_keeps_its_version_while_the_writer_merges(disk, due):
    with raydb.connect(disk) as con, raydb.connect(disk, read_only=True) as reader:
        before = check(reader)
        con.execute("INSERT INTO f VALUES (0, 1000)")
        after = check(con)
        assert after != before
        wait(con)
        con.execute("CHECKPOINT")
        assert check(con) == check(reader) == after
        con.execute("VACUUM")
        assert check(reader) == after


@pytest.fixture
def large(con, monkeypatch):
    """No BVH is so small that CHECKPOINT merges a single row."""
    monkeypatch.setattr(stored_bvh, "ALWAYS_MERGED", 0)
    con.execute("SET bvh_merge = 'checkpoint'; SET bvh_merge_share = '5%'")


def test_a_checkpoint_leaves_few_changed_rows_beside_a_large_bvh(con, large, path):
    con.execute("INSERT INTO f VALUES (0, 1000), (1, 2000), (2, 3000)")
    con.execute("DELETE FROM f WHERE m = 5")
    before = check(con)
    index = con._session.database.snapshot.bvhs["b"].info.index.row_ids
    con.execute("CHECKPOINT")
    assert parts(con) == (90, 3, 1, False, None)
    assert con._session.database.snapshot.bvhs["b"].info.index.row_ids is index
    assert "DeltaScan" in explained(con)
    assert check(con) == before
    if path is not None:
        files = sorted(each.name for each in (path / "data").glob("*.bvh"))
        con.close()
        con = raydb.connect(path)
        con.execute("SET bvh_merge_share = '5%'")
        assert check(con) == before
        assert parts(con) == (90, 3, 1, False, None)
        assert sorted(each.name for each in (path / "data").glob("*.bvh")) == files
    con.execute("INSERT INTO f VALUES (3, 4000)")
    before = check(con)
    con.execute("CHECKPOINT")
    assert parts(con) == (93, 0, 0, False, None)
    assert check(con) == before
    con.close()


def test_a_share_of_nothing_merges_every_row(con, large):
    con.execute("INSERT INTO f VALUES (0, 1000)")
    con.execute("CHECKPOINT")
    assert parts(con)[:2] == (90, 1)
    con.execute("SET bvh_merge_share = '0%'; CHECKPOINT")
    assert parts(con)[:2] == (91, 0)


def test_a_checkpoint_builds_a_large_bvh_that_is_outdated(con, large):
    con.execute("UPDATE d SET name = 'new' WHERE id = 4")
    assert parts(con)[3] is True
    con.execute("CHECKPOINT")
    assert parts(con) == (90, 0, 0, False, None)


def test_a_checkpoint_merges_a_row_into_a_small_bvh(con):
    con.execute("SET bvh_merge = 'checkpoint'; INSERT INTO f VALUES (0, 1000); CHECKPOINT")
    assert parts(con)[:2] == (91, 0)


def test_a_vacuum_builds_bvhs_whatever_their_size(con, large):
    con.execute("DELETE FROM f WHERE m = 5; INSERT INTO f VALUES (0, 1000); VACUUM")
    assert parts(con) == (90, 0, 0, False, None)


@pytest.mark.parametrize("share", ["", "1", "-1%", "101%", "many", "1e1%"])
def test_a_wrong_share(con, share):
    with pytest.raises(raydb.ProgrammingError, match="bvh_merge_share is like '1%', from '0%' to"):
        con.execute(f"SET bvh_merge_share = '{share}'")
    assert con.execute("SHOW bvh_merge_share").fetchone() == ("1%",)
