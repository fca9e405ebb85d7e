"""Several connections of a process: what each reads, whose commit wins, and what closes when."""

from __future__ import annotations

import errno
import gc
import os
import threading
from contextlib import closing

import pytest

import raydb
from raydb.engine.databases import open_databases
from raydb.storage.durable.filesystem import File


@pytest.fixture(params=["memory", "disk"])
def pair(request, tmp_path):
    """Two connections to a database with accounts."""
    path = None if request.param == "memory" else tmp_path / "d"
    with raydb.connect(path) as one:
        one.execute("CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER)")
        one.execute("CREATE TABLE note (account INTEGER REFERENCES account (id), text VARCHAR)")
        one.execute("INSERT INTO account VALUES (1, 100), (2, 100), (3, 100)")
        other = one.duplicate() if path is None else raydb.connect(path)
        with other:
            yield one, other


def rows(con, sql="SELECT id, balance FROM account ORDER BY id"):
    return con.execute(sql).fetchall()


# what each reads


def test_a_commit_is_seen_by_the_next_statement(pair):
    one, other = pair
    one.execute("INSERT INTO account VALUES (4, 5)")
    assert rows(other)[-1] == (4, 5)
    other.execute("CREATE VIEW rich AS SELECT * FROM account WHERE balance > 50")
    assert rows(one, "SELECT count(*) FROM rich") == [(3,)]
    one.execute("UPDATE account SET balance = 1 WHERE id = 1")
    assert rows(other, "SELECT count(*) FROM rich") == [(2,)]


def test_a_transaction_reads_what_it_began_from_and_its_own_changes(pair):
    one, other = pair
    one.begin()
    # Its first statement settles what it reads.
    other.execute("UPDATE account SET balance = balance + 10 WHERE id = 1")
    assert rows(one, "SELECT sum(balance), count(*) FROM account") == [(310, 3)]
    other.execute("UPDATE account SET balance = 0; DROP TABLE note")
    other.execute("INSERT INTO account VALUES (4, 0)")
    one.execute("UPDATE account SET balance = balance + 1 WHERE id = 9")
    assert rows(one, "SELECT sum(balance), count(*) FROM account") == [(310, 3)]
    assert rows(one, "SELECT count(*) FROM note") == [(0,)]
    one.execute("INSERT INTO account VALUES (5, 7)")
    assert rows(one, "SELECT sum(balance) FROM account") == [(317,)]
    assert rows(other, "SELECT sum(balance) FROM account") == [(0,)]
    one.commit()
    assert rows(one, "SELECT sum(balance), count(*) FROM account") == [(7, 5)]
    assert rows(other) == rows(one)


def test_many_runs_may_begin_a_transaction(pair):
    one, other = pair
    one.begin()
    other.execute("INSERT INTO account VALUES (4, 0)")
    one.executemany("INSERT INTO account VALUES (?, ?)", [(each, 1) for each in range(5, 30)])
    other.execute("INSERT INTO account VALUES (30, 0)")
    assert [row[0] for row in rows(one)] == [*range(1, 30)]
    one.commit()
    assert [row[0] for row in rows(other)] == [*range(1, 31)]


def test_cursors_share_a_transaction_and_duplicates_do_not(pair):
    one, other = pair
    one.cursor().execute("BEGIN")
    one.cursor().execute("DELETE FROM account")
    with one.duplicate() as third:
        assert rows(one.cursor().execute("SELECT 1").connection) == []
        assert len(rows(third)) == len(rows(other)) == 3
        assert not third.in_transaction
    one.rollback()
    assert len(rows(one)) == 3


def test_settings_are_of_the_connection(pair):
    one, other = pair
    one.execute("SET memory_limit = '77MB'; SET external_access = 'off'; PREPARE p AS SELECT 1")
    one.register("thing", {"x": [1]})
    assert rows(other, "SHOW memory_limit") != [("77MB",)]
    with one.duplicate() as third:
        assert rows(third, "SHOW memory_limit") == [("77MB",)]
        with pytest.raises(raydb.OperationalError, match="external_access is off"):
            third.execute("FROM 'file.csv'")
        for text in ("FROM thing", "EXECUTE p"):
            with pytest.raises(raydb.ProgrammingError, match="does not exist"):
                third.execute(text)


def test_a_stream_goes_on_with_its_rows(pair):
    one, other = pair
    one.execute("INSERT INTO note SELECT 1, 'x' FROM range(200000)")
    reader = one.stream("SELECT account FROM note")
    other.execute("DELETE FROM note; VACUUM; DROP TABLE note")
    assert sum(batch.num_rows for batch in reader) == 200_000


def test_connections_in_memory_are_private():
    with raydb.connect() as one, raydb.connect() as other:
        one.execute("CREATE TABLE t (a INTEGER)")
        with pytest.raises(raydb.ProgrammingError, match="'t' does not exist"):
            other.execute("FROM t")


# whose commit wins


def test_both_may_append_and_keys_hold(pair):
    one, other = pair
    one.begin()
    other.begin()
    one.execute("INSERT INTO account VALUES (4, 1)")
    one.execute("INSERT INTO note VALUES (4, 'own')")
    other.execute("INSERT INTO account VALUES (5, 2)")
    other.commit()
    one.execute("UPDATE account SET balance = 9 WHERE id = 4")
    one.commit()
    assert rows(other)[3:] == [(4, 9), (5, 2)]
    one.begin()
    one.execute("INSERT INTO account VALUES (6, 1), (7, 1)")
    other.execute("INSERT INTO account VALUES (7, 2)")
    with pytest.raises(raydb.IntegrityError, match="account"):
        one.commit()
    assert not one.in_transaction
    assert rows(one)[5:] == rows(other)[5:] == [(7, 2)]


def test_the_first_to_commit_a_row_wins(pair):
    one, other = pair
    for text in ("UPDATE account SET balance = 0 WHERE id = 1", "DELETE FROM account WHERE id = 1"):
        one.begin()
        one.execute("INSERT INTO account VALUES (9, 9)")
        one.execute("UPDATE account SET balance = balance + 1 WHERE id = 1")
        other.execute(text)
        with pytest.raises(raydb.ConflictError, match=r"of table 'account'.*try again") as told:
            one.commit()
        assert isinstance(told.value, raydb.OperationalError)
        assert (9, 9) not in rows(one)
        assert rows(one) == rows(other)
    assert rows(one) == [(2, 100), (3, 100)]


def test_other_rows_and_other_tables_do_not_conflict(pair):
    one, other = pair
    one.begin()
    other.begin()
    one.execute("UPDATE account SET balance = 1 WHERE id = 1")
    one.execute("DELETE FROM account WHERE id = 3")
    other.execute("UPDATE account SET balance = 2 WHERE id = 2")
    other.execute("INSERT INTO note VALUES (1, 'hello')")
    other.commit()
    one.commit()
    assert rows(one) == rows(other) == [(1, 1), (2, 2)]
    assert rows(one, "SELECT a.balance FROM note JOIN account a ON a.id = account") == [(1,)]


def test_foreign_keys_hold_between_transactions(pair):
    one, other = pair
    one.begin()
    one.execute("INSERT INTO note VALUES (3, 'of one that goes')")
    other.execute("DELETE FROM account WHERE id = 3")
    with pytest.raises(raydb.IntegrityError, match="note"):
        one.commit()
    one.begin()
    one.execute("DELETE FROM account WHERE id = 2")
    other.execute("INSERT INTO note VALUES (2, 'in the way')")
    with pytest.raises(raydb.IntegrityError, match="account"):
        one.commit()
    assert rows(other, "SELECT text FROM note") == [("in the way",)]


def test_write_skew_is_allowed(pair):
    """Each reads what the other writes: snapshot isolation lets both commit."""
    one, other = pair
    total = "(SELECT sum(balance) FROM account)"
    one.begin()
    other.begin()
    one.execute(f"UPDATE account SET balance = balance - {total} WHERE id = 1")
    other.execute(f"UPDATE account SET balance = balance - {total} WHERE id = 2")
    one.commit()
    other.commit()
    assert rows(one) == [(1, -200), (2, -200), (3, 100)]


@pytest.mark.parametrize(
    ("mine", "theirs", "name"),
    [
        ("UPDATE account SET balance = 1", "ALTER TABLE account ADD COLUMN c INTEGER", "account"),
        ("UPDATE account SET balance = 1", "VACUUM", "account"),
        ("INSERT INTO note VALUES (1, 'x')", "DROP TABLE note", "note"),
        ("INSERT INTO note VALUES (1, 'x')", "TRUNCATE note", "note"),
        ("ALTER TABLE note ADD COLUMN c INTEGER", "INSERT INTO note VALUES (1, 'x')", "note"),
        ("ALTER TABLE note ADD COLUMN c INTEGER", "DELETE FROM account WHERE id = 3", "account"),
        ("CREATE TABLE t (a INTEGER)", "CREATE TABLE t (b INTEGER)", "t"),
        ("CREATE TABLE t (a INTEGER)", "CREATE VIEW t AS SELECT 1", "t"),
        ("CREATE VIEW v AS SELECT * FROM note", "DROP TABLE note", "note"),
        ("CREATE BVH b ON note (AGGREGATE (account))", "INSERT INTO note VALUES (1, 'x')", "note"),
        ("DROP TABLE note", "INSERT INTO note VALUES (1, 'x')", "note"),
        ("CREATE TABLE t (a INTEGER REFERENCES account (id))", "DELETE FROM account", "account"),
    ],
)
def test_definitions_conflict(pair, mine, theirs, name):
    one, other = pair
    other.execute("DELETE FROM account WHERE id = 3; INSERT INTO account VALUES (3, 1)")
    one.begin()
    one.execute(mine)
    other.execute(theirs)
    with pytest.raises(raydb.ConflictError, match=rf"'{name}' was changed by another .*try again"):
        one.commit()
    one.execute("INSERT INTO account (id, balance) VALUES (8, 8)")
    assert rows(other, "SELECT balance FROM account WHERE id = 8") == [(8,)]


def test_definitions_and_rows_of_other_tables_both_commit(pair):
    one, other = pair
    one.begin()
    one.execute("CREATE TABLE t AS SELECT 1 AS a")
    one.execute("CREATE VIEW v AS SELECT * FROM t")
    other.execute("UPDATE account SET balance = 5 WHERE id = 1")
    one.commit()
    assert rows(other, "FROM v") == [(1,)]
    assert rows(one)[0] == (1, 5)


def test_statements_of_their_own_wait_instead_of_failing(pair, monkeypatch):
    """One that was overtaken between its reading and its commit is run again, alone."""
    one, other = pair
    for mine, theirs, expected in (
        (
            "UPDATE account SET balance = balance + 1 WHERE id = 1",
            "UPDATE account SET balance = balance * 2 WHERE id = 1",
            (1, 201),
        ),
        (
            "INSERT INTO account VALUES (4, 1) ON CONFLICT (id) DO UPDATE SET balance = 7",
            "INSERT INTO account VALUES (4, 2)",
            (4, 7),
        ),
        ("ALTER TABLE account ADD COLUMN c INTEGER DEFAULT 3", "DELETE FROM note", (1, 201)),
    ):
        database = one._session.database
        save = database.save

        def late(*, frees_space, save=save, theirs=theirs):
            monkeypatch.undo()
            other.execute(theirs)
            save(frees_space=frees_space)

        monkeypatch.setattr(database, "save", late)
        one.execute(mine)
        assert expected in rows(other)
    assert rows(one) == rows(other)


def test_savepoints_and_conflicts(pair):
    one, other = pair
    one.begin()
    one.execute("SAVEPOINT s; UPDATE account SET balance = 0 WHERE id = 1; ROLLBACK TO s")
    one.execute("UPDATE account SET balance = 0 WHERE id = 2")
    other.execute("UPDATE account SET balance = 7 WHERE id = 1")
    one.commit()
    assert rows(other) == [(1, 7), (2, 0), (3, 100)]


def test_bvhs_answer_for_each_snapshot(pair):
    one, other = pair
    one.execute("CREATE TABLE f (g INTEGER NOT NULL, m INTEGER NOT NULL)")
    one.execute("INSERT INTO f SELECT range % 10, range FROM range(1000)")
    one.execute("CREATE BVH b ON f (SCAN (g), AGGREGATE (m))")
    query = "SELECT sum(m) FROM f WHERE g = 3"
    before = rows(one, query)
    other.begin()
    assert rows(other, query) == before
    one.execute("DELETE FROM f WHERE m > 500; INSERT INTO f VALUES (3, 1000000)")
    after = rows(one, query)
    assert after != before
    for _ in range(3):
        assert rows(other, query) == before
        assert rows(one, query) == after
    assert rows(other, "EXPLAIN " + query)[0] == ("path: fused",)
    other.execute("INSERT INTO f VALUES (3, -1)")
    other.commit()
    assert rows(one, query) == rows(other, query) == [(after[0][0] - 1,)]
    assert rows(one, "EXPLAIN " + query)[0] == ("path: fused",)


# files and the log


def test_files_of_a_snapshot_stay_readable(tmp_path):
    with raydb.connect(tmp_path / "d") as one, raydb.connect(tmp_path / "d") as other:
        for start in range(3):
            one.execute(f"CREATE TABLE t{start} AS SELECT range AS a FROM range(50000)")
        one.execute("ALTER TABLE t0 ADD CONSTRAINT k PRIMARY KEY (a)")
        other.begin()
        other.execute("CREATE TABLE mine (a INTEGER REFERENCES t0 (a))")
        one.execute("DELETE FROM t1 WHERE a % 2 = 0; VACUUM; CHECKPOINT; DROP TABLE t2; CHECKPOINT")
        for name in ("t0", "t1", "t2"):
            assert rows(other, f"SELECT sum(a) FROM {name}") == [(1249975000,)]
        other.execute("INSERT INTO mine VALUES (7)")
        with pytest.raises(raydb.ConflictError):
            other.commit()
        other.begin()
        one.execute("CHECKPOINT")
        other.execute("UPDATE t1 SET a = 0 WHERE a = 1")
        one.execute("CHECKPOINT")
        other.commit()
        total = rows(one, "SELECT sum(a) FROM t1")
    with raydb.connect(tmp_path / "d") as con:
        assert rows(con, "SELECT sum(a) FROM t1") == total == [(625_000_000 - 1,)]


def test_a_failed_commit_leaves_the_others_sound(tmp_path, monkeypatch):
    """Commits that were queued behind one that fails fail as well, and later ones do not."""
    path = tmp_path / "d"
    with raydb.connect(path) as con:
        con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
        others = [con.duplicate() for _ in range(4)]
        begun, let_go, failures = threading.Event(), threading.Event(), []
        sync = File.sync

        def fail(file):
            if not begun.is_set():
                begun.set()
                assert let_go.wait(60)
                raise OSError(5, "Input/output error", "log")
            sync(file)

        def insert(place):
            try:
                others[place].execute("INSERT INTO t VALUES (?)", [place])
            except raydb.OperationalError as error:
                failures.append(str(error))

        monkeypatch.setattr(File, "sync", fail)
        threads = [threading.Thread(target=insert, args=(place,)) for place in range(4)]
        threads[0].start()
        assert begun.wait(60)
        for thread in threads[1:]:
            thread.start()
        queue = con._session.database.shared.store.directory._writer._queue
        while len(queue) < 3:
            assert rows(con, "SELECT count(*) FROM t") == [(0,)]
        let_go.set()
        for thread in threads:
            thread.join()
        assert len(failures) == 4
        assert all("input/output error" in text for text in failures)
        assert [rows(each, "SELECT count(*) FROM t") for each in others] == [[(0,)]] * 4
        for place in (0, 1):
            insert(place)
        assert rows(con, "FROM t ORDER BY a") == [(0,), (1,)]
    with raydb.connect(path) as con:
        assert rows(con, "FROM t ORDER BY a") == [(0,), (1,)]


def test_one_sync_serves_several_commits(tmp_path, monkeypatch):
    with raydb.connect(tmp_path / "d") as con:
        con.execute("CREATE TABLE t (a INTEGER)")
        others = [con.duplicate() for _ in range(6)]
        begun, let_go, syncs = threading.Event(), threading.Event(), []
        sync = File.sync

        def counted(file):
            syncs.append(file)
            begun.set()
            assert let_go.wait(60)
            sync(file)

        monkeypatch.setattr(File, "sync", counted)
        threads = [
            threading.Thread(target=each.execute, args=("INSERT INTO t VALUES (1)",))
            for each in others
        ]
        threads[0].start()
        assert begun.wait(60)
        for thread in threads[1:]:
            thread.start()
        queue = con._session.database.shared.store.directory._writer._queue
        while len(queue) < 5:
            assert rows(con, "SELECT count(*) FROM t") == [(0,)]  # a reader waits for nobody
        let_go.set()
        for thread in threads:
            thread.join()
        assert len(syncs) == 2
        assert rows(con, "SELECT count(*) FROM t") == [(6,)]


# opening and closing


def test_paths_of_one_directory_are_one_database(tmp_path, monkeypatch):
    (tmp_path / "link").symlink_to(tmp_path / "d")
    monkeypatch.chdir(tmp_path)
    with raydb.connect("d") as one, raydb.connect(tmp_path / "link") as other:
        one.execute("CREATE TABLE t AS SELECT 1 AS a")
        assert rows(other, "FROM t") == [(1,)]


def test_a_database_that_cannot_be_told_from_others_is_not_left_open(tmp_path, monkeypatch):
    def fail(path):
        raise OSError(errno.EIO, "Input/output error", path)

    path = tmp_path / "d"
    monkeypatch.setattr(open_databases, "_identity", fail)
    with pytest.raises(raydb.OperationalError, match=r"'.*d' cannot be opened: .*input/output"):
        raydb.connect(path)
    monkeypatch.undo()
    raydb.connect(path).close()


def test_a_directory_that_was_replaced_is_another_database(tmp_path):
    path = tmp_path / "d"
    with raydb.connect(path) as one:
        one.execute("CREATE TABLE t (a INTEGER)")
        path.rename(tmp_path / "old")
        with raydb.connect(path) as other, pytest.raises(raydb.ProgrammingError):
            other.execute("FROM t")


def test_the_last_close_gives_the_database_back(tmp_path):
    path = tmp_path / "d"
    one = raydb.connect(path)
    one.execute("CREATE TABLE t (a INTEGER)")
    other, third = raydb.connect(path), one.duplicate()
    one.close()
    one.close()
    other.execute("INSERT INTO t VALUES (1)")
    other.close()
    assert is_locked(path)
    third.begin()
    third.execute("INSERT INTO t VALUES (2)")
    third.close()
    assert not is_locked(path)
    with raydb.connect(path) as con:
        assert rows(con, "FROM t") == [(1,)]


def test_dropped_connections_give_the_database_back(tmp_path):
    path = tmp_path / "d"
    one = raydb.connect(path)
    other = raydb.connect(path)
    other.execute("BEGIN; CREATE TABLE t (a INTEGER)")
    del other
    gc.collect()
    one.execute("CREATE TABLE t (a INTEGER)")
    assert is_locked(path)
    one.close()
    assert not is_locked(path)
    one, other = raydb.connect(path), raydb.connect(path)
    del one, other
    gc.collect()
    assert not is_locked(path)


def test_a_reader_beside_the_writer_sees_each_commit_and_writes_nothing(tmp_path):
    path = tmp_path / "d"
    with raydb.connect(path) as con, raydb.connect(path, read_only=True) as reader:
        con.execute("CREATE TABLE t AS SELECT 1 AS a")
        assert rows(reader, "FROM t") == [(1,)]
        with reader.duplicate() as other, pytest.raises(raydb.OperationalError, match="read-only"):
            other.execute("INSERT INTO t VALUES (2)")


def test_close_waits_for_the_statement_that_runs(tmp_path):
    con = raydb.connect(tmp_path / "d")
    other = con.duplicate()
    begun, let_go, closed = threading.Event(), threading.Event(), threading.Event()

    def pause(*_):
        begun.set()
        assert let_go.wait(60)

    con.progress = pause
    text = "CREATE TABLE t AS SELECT range AS a FROM range(10); CREATE BVH b ON t (AGGREGATE (a))"
    work = threading.Thread(target=con.execute, args=(text,))
    close = threading.Thread(target=lambda: (con.close(), closed.set()))
    work.start()
    assert begun.wait(60)
    close.start()
    other.close()
    assert not closed.is_set()
    let_go.set()
    work.join()
    close.join()
    with raydb.connect(tmp_path / "d") as again:
        assert rows(again, "SELECT name FROM bvhs()") == [("b",)]


def test_a_child_uses_nothing_of_its_parent(tmp_path):
    path = tmp_path / "d"
    with raydb.connect(path) as con, closing(con.duplicate()) as other:
        con.execute("CREATE TABLE t (a INTEGER)")

        def check():
            for each, text in ((con, "FROM t"), (other, "INSERT INTO t VALUES (1)")):
                with pytest.raises(raydb.InterfaceError, match="before this process was forked"):
                    each.execute(text)
            with pytest.raises(raydb.OperationalError, match="is open for writing in process"):
                raydb.connect(path)
            other.close()
            con.close()

        assert in_a_child(check)
        con.execute("INSERT INTO t VALUES (2)")
        assert rows(other, "FROM t") == [(2,)]


def is_locked(path):
    """Whether another process could not open a database for writing."""
    return not in_a_child(lambda: raydb.connect(path).close())


def in_a_child(check):
    """Run a function in a forked process; return whether it raised nothing."""
    child = os.fork()
    if not child:
        code = 1
        try:
            check()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
