"""UPDATE, DELETE and VACUUM on disk: what was committed is there after any way to reopen."""

from __future__ import annotations

from decimal import Decimal

import pytest

import raydb
from raydb.storage.durable.database_directory import DatabaseDirectory

SCHEMA = """
CREATE TABLE d (id INTEGER PRIMARY KEY, name VARCHAR, up INTEGER REFERENCES d (id));
CREATE TABLE f (d INTEGER REFERENCES d (id), m DECIMAL(10, 2));
INSERT INTO d VALUES (1, 'x', NULL), (2, 'y', 1), (3, 'z', 3);
INSERT INTO f VALUES (1, 1), (2, 2), (NULL, 4), (2, 8), (1, 16);
CREATE BVH b ON f (SCAN (name), AGGREGATE (m));
CHECKPOINT;
"""
QUERY = "SELECT name, sum(m), count(*) FROM f JOIN d ON d = id GROUP BY name ORDER BY name"
TOTAL = "SELECT count(*), sum(m) FROM f"
START = [("x", Decimal(17), 2), ("y", Decimal(10), 2)], (5, Decimal(31))

# What is done, what QUERY and TOTAL give afterwards, and the rows written.
CHANGES = {
    "delete facts": (
        "DELETE FROM f WHERE m > 3",
        ([("x", Decimal(1), 1), ("y", Decimal(2), 1)], (2, Decimal(3))),
        3,
    ),
    "delete all facts": ("DELETE FROM f", ([], (0, None)), 5),
    "update facts": (
        "UPDATE f SET m = m * 2, d = 3 WHERE d = 2",
        ([("x", Decimal(17), 2), ("z", Decimal(20), 2)], (5, Decimal(41))),
        2,
    ),
    "update a dimension": (
        "UPDATE d SET name = name || id",
        ([("x1", Decimal(17), 2), ("y2", Decimal(10), 2)], (5, Decimal(31))),
        3,
    ),
    "move a key": ("UPDATE d SET id = 4, up = 4 WHERE id = 3", START, 1),
    "delete a dimension's row": ("DELETE FROM d WHERE id = 3", START, 1),
    "nothing": ("DELETE FROM f WHERE m > 99", START, 0),
    "several": (
        "DELETE FROM f WHERE d = 2; INSERT INTO d VALUES (5, 'n', 1); UPDATE d SET name = 'w' "
        "WHERE id = 5; INSERT INTO f VALUES (5, 64); DELETE FROM d WHERE id = 2; "
        "INSERT INTO d VALUES (2, 'v', 2); UPDATE f SET d = 2 WHERE m = 16; "
        "DELETE FROM f WHERE m = 4",
        ([("v", Decimal(16), 1), ("w", Decimal(64), 1), ("x", Decimal(1), 1)], (3, Decimal(81))),
        1,
    ),
}
change = pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "shop.raydb"
    with raydb.connect(path) as con:
        con.execute(SCHEMA)
    return path


def answers(con):
    """Return the answers to QUERY and TOTAL, which must be those of the general path."""
    found = []
    for fused_path in ("off", "on"):
        con.execute(f"SET fused_path = '{fused_path}'")
        found.append((con.execute(QUERY).fetchall(), con.execute(TOTAL).fetchone()))
    # An UPDATE of a dimension outdates the BVH until it is merged, in the background here.
    con._session.database.shared.merger.wait()
    ((is_stale,), (path,)) = (
        con.execute(text).fetchone() for text in ("SELECT is_stale FROM bvhs()", "EXPLAIN " + QUERY)
    )
    assert path.startswith("path: general (BVH 'b' serves no query" if is_stale else "path: fused")
    assert not is_stale or con._session.database.in_transaction
    assert found[0] == found[1]
    return found[0]


def files(path, kind):
    return list((path / "data").glob(f"*.{kind}"))


def check_keys(con):
    """Check that the keys are enforced as they are now."""
    ids = {row[0] for row in con.execute("SELECT id FROM d").fetchall()}
    for number in range(1, 7):
        con.execute("BEGIN")
        if number in ids:
            with pytest.raises(raydb.IntegrityError, match="is in the table already"):
                con.execute("INSERT INTO d VALUES (?, 'again', NULL)", [number])
            con.execute("INSERT INTO f VALUES (?, 1)", [number])
            with pytest.raises(raydb.IntegrityError, match="cannot be deleted"):
                con.execute("DELETE FROM d WHERE id = ?", [number])
        else:
            with pytest.raises(raydb.IntegrityError, match="has no row in 'd'"):
                con.execute("INSERT INTO f VALUES (?, 1)", [number])
            con.execute("INSERT INTO d VALUES (?, 'again', NULL)", [number])
        con.execute("ROLLBACK")


@change
@pytest.mark.parametrize("logged", [True, False])
@pytest.mark.parametrize("ending", ["", "CHECKPOINT", "VACUUM"])
def test_a_change_is_there_after_reopening(path, change, logged, ending, monkeypatch):
    text, expected, row_count = change
    if not logged:
        monkeypatch.setattr(DatabaseDirectory, "most_logged_bytes", -1)
    with raydb.connect(path) as con:
        assert answers(con) == START
        assert con.execute(text).rowcount == row_count
        if ending:
            con.execute(ending)
        assert answers(con) == expected
    for _ in range(2):
        with raydb.connect(path) as con:
            assert answers(con) == expected
            check_keys(con)
            con.execute("CHECKPOINT")
    if "VACUUM" in ending:
        assert not files(path, "live")


@change
def test_a_change_is_visible_and_undone_within_a_transaction(path, change):
    text, expected, _ = change
    with raydb.connect(path) as con, raydb.connect(path, read_only=True) as reader:
        con.begin()
        con.execute(text)
        assert answers(con) == expected
        assert answers(reader) == START
        con.rollback()
        assert answers(con) == START
        check_keys(con)
        con.begin()
        con.execute(text)
        con.execute("CREATE TABLE other (a INTEGER)")
        con.commit()
        assert answers(con) == answers(reader) == expected
    with raydb.connect(path) as con:
        assert answers(con) == expected
        check_keys(con)


@change
def test_a_reader_sees_changes_after_its_transaction(path, change):
    text, expected, _ = change
    with raydb.connect(path) as con, raydb.connect(path, read_only=True) as reader:
        reader.begin()
        assert answers(reader) == START
        con.execute(text)
        con.execute("VACUUM")
        assert answers(reader) == START
        reader.commit()
        assert answers(reader) == expected


def test_a_failed_change_leaves_nothing(path):
    with raydb.connect(path) as con:
        for text in (
            "DELETE FROM d",
            "UPDATE d SET id = id + 1",
            "UPDATE f SET m = m * 10000000",
            "UPDATE f SET d = 7 WHERE m > 10",
        ):
            with pytest.raises((raydb.IntegrityError, raydb.DataError)):
                con.execute(text)
        con.execute("BEGIN; DELETE FROM f WHERE d = 2")
        with pytest.raises(raydb.IntegrityError):
            con.execute("DELETE FROM d WHERE id < 3")
        con.commit()
        expected = [("x", Decimal(17), 2)], (3, Decimal(21))
        assert answers(con) == expected
    with raydb.connect(path) as con:
        assert answers(con) == expected


def test_visibility_is_kept_in_a_file_until_vacuum(path):
    with raydb.connect(path) as con:
        con.execute("DELETE FROM f WHERE m = 4; CHECKPOINT")
        (first,) = files(path, "live")
        con.execute("INSERT INTO d VALUES (9, 'q', NULL); CHECKPOINT")
        assert files(path, "live") == [first]
    with raydb.connect(path) as con:
        con.execute("CHECKPOINT")
        assert files(path, "live") == [first]
        con.execute("UPDATE d SET name = 'u' WHERE id = 9; CHECKPOINT")
        assert len(files(path, "live")) == 2
        size = sum(file.stat().st_size for file in files(path, "flat"))
        con.execute("VACUUM")
        assert not files(path, "live")
        assert sum(file.stat().st_size for file in files(path, "flat")) < size


def test_row_counts_leave_deleted_rows_out(path):
    with raydb.connect(path) as con:
        con.execute("DELETE FROM f WHERE m < 5")
        # COUNT(*) alone reads no column.
        con.execute("SET fused_path = 'off'")
        assert con.execute("SELECT count(*) FROM f").fetchone() == (2,)
        assert con.execute("SELECT m FROM f LIMIT 1 OFFSET 1").fetchall() == [(Decimal(16),)]
        assert con.execute("SELECT count(*) FROM f, d").fetchone() == (6,)


def test_a_repeated_text_sees_the_change(path):
    with raydb.connect(path) as con:
        for m in (8, 2, 16):
            before = con.execute(TOTAL).fetchone()
            con.execute("DELETE FROM f WHERE m = ?", [m])
            assert con.execute(TOTAL).fetchone() == (before[0] - 1, before[1] - m)


def test_executemany_counts_rows(path):
    with raydb.connect(path) as con:
        cursor = con.executemany("UPDATE f SET m = m + 1 WHERE d = ?", [(1,), (2,), (3,)])
        assert cursor.rowcount == 4
        assert con.execute(TOTAL).fetchone() == (5, Decimal(35))


@pytest.mark.parametrize("statement", ["UPDATE f SET m = 1", "DELETE FROM f", "VACUUM"])
def test_a_reader_cannot_change_rows(path, statement):
    with (
        raydb.connect(path, read_only=True) as reader,
        pytest.raises(raydb.OperationalError, match="opened read-only"),
    ):
        reader.execute(statement)


@pytest.mark.parametrize("step", ["commit", "collect_garbage"])
def test_an_interrupted_vacuum(path, step, monkeypatch):
    """An interrupt before or after VACUUM is durable: later changes mean the right rows."""
    expected = [("x", Decimal(17), 2), ("y", Decimal(8), 1)], (4, Decimal(29))
    with raydb.connect(path) as con:
        con.execute("DELETE FROM f WHERE m = 2")

        def interrupt(*_):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(
                f"raydb.storage.durable.database_directory.DatabaseDirectory.{step}", interrupt
            )
            with pytest.raises(KeyboardInterrupt):
                con.execute("VACUUM")
        assert answers(con) == expected
        con.execute("UPDATE f SET m = m + 1 WHERE m = 16")
        con.execute("DELETE FROM f WHERE d IS NULL")
        expected = [("x", Decimal(18), 2), ("y", Decimal(8), 1)], (3, Decimal(26))
        assert answers(con) == expected
    with raydb.connect(path) as con:
        assert answers(con) == expected
        con.execute("VACUUM")
        assert answers(con) == expected


def test_changes_of_a_database_in_memory():
    with raydb.connect() as con:
        con.execute(SCHEMA)
        for text, _, row_count in CHANGES.values():
            con.execute("BEGIN")
            assert con.execute(text).rowcount == row_count
            con.execute("ROLLBACK")
            assert answers(con) == START
        con.execute("DELETE FROM f WHERE d = 2; VACUUM; INSERT INTO f VALUES (2, 5)")
        assert answers(con) == ([("x", Decimal(17), 2), ("y", Decimal(5), 1)], (4, Decimal(26)))
