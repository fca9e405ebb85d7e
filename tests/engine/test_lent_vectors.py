"""Vectors that lie in the file of their index alone, and that rows borrow from there."""

from __future__ import annotations

import gc
import json
import shutil
import weakref
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import raydb
from raydb.engine.catalog.indexes.lent import LentColumn
from raydb.kernels.stored.deferred import Deferred
from raydb.storage.durable.database_directory import DatabaseDirectory
from raydb.storage.durable.database_files import DatabaseFiles

WIDTH = 16
VERSIONS = Path(__file__).parents[1] / "versions"


def vectors(seed, count):
    return np.random.default_rng(seed).normal(size=(count, WIDTH)).astype(np.float32)


def add(con, made, first, table="t"):
    """Insert rows with vectors; a row of NaN stands for NULL."""
    column = pa.FixedSizeListArray.from_arrays(
        pa.array(made.ravel()), WIDTH, mask=pa.array(np.isnan(made[:, 0]))
    )
    ids = np.arange(first, first + len(made), dtype=np.int32)
    con.register("made", pa.table({"id": ids, "emb": column}))
    con.execute(f"INSERT INTO {table} SELECT * FROM made")
    con.unregister("made")


def rows(con, table="t"):
    """Return the ids of a table, and its vectors, NaN for NULL."""
    found = con.execute(f"SELECT id, emb FROM {table} ORDER BY id").to_arrow_table()
    column = found.column("emb").combine_chunks()
    made = np.full((len(column), WIDTH), np.nan, np.float32)
    made[column.is_valid().to_numpy(False)] = column.flatten().to_numpy().reshape(-1, WIDTH)
    return found.column("id").to_numpy(), made


def check(con, ids, made, table="t"):
    found, vectors_ = rows(con, table)
    np.testing.assert_array_equal(found, ids)
    # Bit for bit.
    np.testing.assert_array_equal(vectors_.view(np.uint32), made.view(np.uint32))


def disk_bytes(path):
    return sum(file.stat().st_size for file in (path / "data").iterdir())


def described(path):
    """Return what the tables' files borrow, file by file."""
    with DatabaseDirectory.open(path, read_only=True) as directory:
        state = json.loads(directory.shown.state)
    return [lent for table in state["tables"] for *_, lent in table["files"]]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "t.raydb"


def make(con, count=2000, kind=f"FLOAT[{WIDTH}]", index="ivf (emb)"):
    con.execute(f"CREATE TABLE t (id INTEGER, emb {kind})")
    made = vectors(1, count)
    add(con, made, 0)
    con.execute(f"CREATE INDEX i ON t USING {index}")
    return made


def test_a_table_with_its_index_takes_little_more_than_its_vectors(path):
    with raydb.connect(path) as con:
        made = make(con, 20_000)
        assert disk_bytes(path) <= 1.1 * made.nbytes
        more = vectors(2, 2000)
        add(con, more, 20_000)
        con.execute("REINDEX i")
        made = np.concatenate((made, more))
        assert disk_bytes(path) <= 1.1 * made.nbytes
        con.execute("DELETE FROM t WHERE id % 10 = 3; VACUUM")
        kept = np.arange(len(made)) % 10 != 3
        assert disk_bytes(path) <= 1.1 * made[kept].nbytes
        check(con, np.flatnonzero(kept), made[kept])
    with raydb.connect(path) as con:
        check(con, np.flatnonzero(kept), made[kept])
        con.execute("DROP INDEX i")
        assert disk_bytes(path) <= 1.1 * made[kept].nbytes
        assert not list(path.rglob("*.ivf"))
        check(con, np.flatnonzero(kept), made[kept])


@pytest.mark.parametrize("index", ["ivf (emb)", "hnsw (emb) WITH (m = 4, metric = 'cosine')"])
def test_single_rows_and_some_columns_are_read(path, index):
    with raydb.connect(path) as con:
        made = make(con, index=index)
    with raydb.connect(path, read_only=True) as con:
        assert described(path) != [{}]
        one = con.execute("SELECT emb FROM t WHERE id = 1234").fetchone()
        assert one == (tuple(made[1234].tolist()),)
        assert con.execute("SELECT count(*), count(emb), sum(id) FROM t").fetchone() == (
            2000,
            2000,
            1999000,
        )
        few = con.execute("SELECT id, emb FROM t LIMIT 3").fetchall()
        assert few == [(i, tuple(made[i].tolist())) for i in range(3)]
        found = con.execute("SELECT id, emb FROM t WHERE emb = ?", [made[77].tolist()]).fetchall()
        assert found == [(77, tuple(made[77].tolist()))]
        near = (
            "SELECT id, emb FROM vector_search(t, emb, ?, k => 100, metric => 'ip') ORDER BY rank"
        )
        far = -(made @ made[5].astype(np.float64))
        nearest = np.argsort(far, kind="stable")[:100]
        assert con.execute(near, [made[5]]).fetchall() == [
            (i, tuple(made[i].tolist())) for i in nearest.tolist()
        ]


def test_a_table_of_vectors_alone(path):
    with raydb.connect(path) as con:
        con.execute("CREATE TABLE t (emb FLOAT[2])")
        con.execute("INSERT INTO t SELECT [range, 1]::FLOAT[2] FROM range(100)")
        con.execute("INSERT INTO t VALUES (NULL)")
        con.execute("CREATE INDEX i ON t USING ivf (emb)")
    assert all(described(path))
    with raydb.connect(path) as con:
        expected = [((float(i), 1.0),) for i in range(100)] + [(None,)]
        assert con.execute("SELECT * FROM t").fetchall() == expected
        assert con.execute("SELECT count(*) FROM t").fetchone() == (101,)
        assert con.execute("SELECT count(*) FROM t WHERE emb IS NULL").fetchone() == (1,)


@pytest.mark.parametrize("kind", ["DOUBLE[16]", "TINYINT[16]"])
def test_an_index_lends_no_column_of_other_numbers(path, kind):
    with raydb.connect(path) as con:
        con.execute(f"CREATE TABLE t (id INTEGER, emb {kind})")
        con.execute(
            f"INSERT INTO t SELECT range, [{', '.join(['range % 100'] * 16)}] FROM range(300)"
        )
        before = con.execute("SELECT * FROM t").fetchall()
        con.execute("CREATE INDEX i ON t USING ivf (emb)")
        assert con.execute("SELECT * FROM t").fetchall() == before
    assert not any(described(path))


def test_a_column_without_null_borrows_beside_deleted_rows(path):
    with raydb.connect(path) as con:
        con.execute(f"CREATE TABLE t (id INTEGER, emb FLOAT[{WIDTH}] NOT NULL)")
        made = vectors(1, 500)
        add(con, made, 0)
        con.execute("CHECKPOINT; DELETE FROM t WHERE id < 100")
        con.execute("CREATE INDEX i ON t USING ivf (emb)")
        check(con, np.arange(100, 500), made[100:])
    assert all(described(path))
    with raydb.connect(path) as con:
        check(con, np.arange(100, 500), made[100:])
        con.execute("DROP INDEX i")
    with raydb.connect(path) as con:
        check(con, np.arange(100, 500), made[100:])


def test_another_index_takes_over(path):
    with raydb.connect(path) as con:
        made = make(con)
        con.execute("CREATE INDEX j ON t USING ivf (emb) WITH (metric = 'cosine')")
        first = described(path)
        con.execute("DROP INDEX i")
        assert all(described(path))
        assert described(path) != first
        assert len(list(path.rglob("*.ivf"))) == 1
        check(con, np.arange(2000), made)


def test_columns_are_renamed_and_dropped(path):
    with raydb.connect(path) as con:
        made = make(con)
        con.execute("ALTER TABLE t RENAME COLUMN emb TO old; ALTER TABLE t ADD COLUMN emb INTEGER")
        assert con.execute("SELECT count(emb), count(old) FROM t").fetchone() == (0, 2000)
    with raydb.connect(path) as con:
        assert con.execute("SELECT count(emb), count(old) FROM t").fetchone() == (0, 2000)
        con.execute("ALTER TABLE t DROP COLUMN emb; ALTER TABLE t RENAME COLUMN old TO emb")
        check(con, np.arange(2000), made)
        con.execute("DROP INDEX i; ALTER TABLE t DROP COLUMN emb; CHECKPOINT")
        assert not list(path.rglob("*.ivf"))


def test_readers_go_on_with_what_they_have_begun(path):
    with raydb.connect(path) as con:
        made = make(con)
        reader = raydb.connect(path, read_only=True)
        reader.execute("BEGIN")
        check(reader, np.arange(2000), made)
        other = con.duplicate() if hasattr(con, "duplicate") else raydb.connect(path)
        other.execute("BEGIN")
        check(other, np.arange(2000), made)
        con.execute("DELETE FROM t WHERE id > 10; VACUUM; DROP INDEX i; CHECKPOINT")
        check(con, np.arange(11), made[:11])
        check(other, np.arange(2000), made)
        check(reader, np.arange(2000), made)
        other.execute("ROLLBACK")
        reader.execute("COMMIT")
        check(reader, np.arange(11), made[:11])
        reader.close()
        other.close()


def test_a_full_disk_leaves_rows_as_they_are(path, monkeypatch):
    write = DatabaseFiles.write_data

    def no_room(self, target, content, failure):
        if ".flat" in target.name:
            raise raydb.OperationalError(f"{failure}: no space left on device")
        return write(self, target, content, failure)

    with raydb.connect(path) as con:
        con.execute(f"CREATE TABLE t (id INTEGER, emb FLOAT[{WIDTH}])")
        made = vectors(1, 300)
        add(con, made, 0)
        con.execute("CHECKPOINT")
        with monkeypatch.context() as patch:
            patch.setattr(DatabaseFiles, "write_data", no_room)
            con.execute("CREATE INDEX i ON t USING ivf (emb)")
        assert not any(described(path))
        con.execute("REINDEX i")
        assert all(described(path))
        with monkeypatch.context() as patch:
            patch.setattr(DatabaseFiles, "write_data", no_room)
            con.execute("DROP INDEX i")
        assert all(described(path))
        check(con, np.arange(300), made)
    with raydb.connect(path) as con:
        check(con, np.arange(300), made)
        con.execute("CHECKPOINT")
        assert not any(described(path))
        assert not list(path.rglob("*.ivf"))
        check(con, np.arange(300), made)


def test_files_with_much_beside_their_vectors_stay(path):
    with raydb.connect(path) as con:
        con.execute("CREATE TABLE t (id INTEGER, text VARCHAR, emb FLOAT[2])")
        con.execute("INSERT INTO t SELECT range, md5(range::VARCHAR), [range, 1] FROM range(500)")
        con.execute("CHECKPOINT")
        files = {file.name for file in path.rglob("*.flat")}
        con.execute("CREATE INDEX i ON t USING ivf (emb)")
        assert {file.name for file in path.rglob("*.flat")} == files
    assert not any(described(path))


def test_a_copy_borrows_from_its_own_index(path, tmp_path):
    with raydb.connect(path) as con:
        made = make(con)
        con.execute(f"ATTACH '{tmp_path / 'copy.raydb'}' AS other")
        con.execute("COPY FROM DATABASE raydb TO other")
    shutil.rmtree(path)
    assert all(described(tmp_path / "copy.raydb"))
    with raydb.connect(tmp_path / "copy.raydb") as con:
        check(con, np.arange(2000), made)


def test_a_damaged_index_is_named_where_vectors_are_read(path):
    with raydb.connect(path) as con:
        make(con)
    (file,) = path.rglob("*.ivf")
    file.chmod(0o600)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with raydb.connect(path) as con:
        assert con.execute("SELECT count(*), max(id) FROM t").fetchone() == (2000, 1999)
        with pytest.raises(raydb.OperationalError, match=rf"'{file}' is damaged .*'vectors'"):
            con.execute("SELECT emb FROM t")


def test_what_was_lent_is_let_go_at_once():
    """An index that another one has taken the place of may be most of the memory."""
    arrays = vectors(1, 3), np.arange(3, dtype=np.uint32)
    lent = LentColumn("x.ivf", pa.list_(pa.float32(), WIDTH), 0, 3, Deferred.of(arrays))
    held = weakref.ref(arrays[0])
    del arrays
    gc.disable()
    try:
        del lent
        assert held() is None
    finally:
        gc.enable()


def rewrite(path, change):
    """Commit the state of a database anew, changed."""
    with DatabaseDirectory.open(path, read_only=False) as directory:
        state = json.loads(directory.shown.state)
        change(state["tables"][0]["files"][0])
        directory.commit(json.dumps(state).encode(), directory.shown.files)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda file: file.pop(), "column 'emb' as"),
        (lambda file: file.append(1), "an array of 4"),
        (lambda file: file[3]["emb"].pop(), "an array of 2"),
        (lambda file: file[3].update(emb=["x.ivf", 0]), "the name of a file"),
        (lambda file: file[3]["emb"].__setitem__(1, -1), "an integer of 0"),
        (lambda file: file[3]["emb"].__setitem__(1, 2**40), "an integer of 0"),
        (lambda file: file[3].update(id=file[3]["emb"]), "column 'id' as"),
        (lambda file: file.__setitem__(3, []), "an object"),
    ],
)
def test_forged_loans_are_refused(path, change, expected):
    with raydb.connect(path) as con:
        make(con, 50)
    rewrite(path, change)
    with pytest.raises(raydb.OperationalError, match=f"is damaged: expected .*{expected}"):
        raydb.connect(path).execute("SELECT * FROM t")


def test_a_loan_of_other_rows_gives_no_more_than_other_vectors(path):
    with raydb.connect(path) as con:
        make(con, 50)
    rewrite(path, lambda file: file[3]["emb"].__setitem__(1, 49))
    with raydb.connect(path) as con:
        found = rows(con)[1]
        assert (found[1:] == 0).all()
        assert (found[0] == vectors(1, 50)[49]).all()


def test_an_earlier_database_lends_once_its_index_is_made_anew(tmp_path):
    with zipfile.ZipFile(VERSIONS / "0.1.0a4.zip") as archive:
        archive.extractall(tmp_path)
    path = tmp_path / "everything.raydb"
    question = "SELECT * FROM item ORDER BY id"
    with raydb.connect(path) as con:
        before = con.execute(question).fetchall()
        con.execute("CHECKPOINT")
        assert not any(described(path))
        con.execute("REINDEX near")
        assert any(described(path))
        assert con.execute(question).fetchall() == before
    with raydb.connect(path) as con:
        assert con.execute(question).fetchall() == before


CHANGES = (
    "insert",
    "insert",
    "delete",
    "update",
    "REINDEX",
    "VACUUM",
    "CHECKPOINT",
    "DROP INDEX IF EXISTS i",
    "DROP INDEX IF EXISTS j",
    "CREATE INDEX IF NOT EXISTS i ON t USING ivf (emb) WITH (lists = 5)",
    "CREATE INDEX IF NOT EXISTS j ON t USING hnsw (emb) WITH (lists = 4, m = 4, metric = 'ip')",
    "reopen",
    "rollback",
)


@pytest.mark.parametrize("seed", range(8))
def test_random_changes_leave_every_vector_as_it_was(path, seed):
    rng = np.random.default_rng(seed)
    con = raydb.connect(path)
    con.execute(f"CREATE TABLE t (id INTEGER, emb FLOAT[{WIDTH}])")
    known = np.empty((0, WIDTH), np.float32)
    ids = np.empty(0, np.int64)
    for step in range(60):
        change = CHANGES[rng.integers(len(CHANGES))]
        if change == "insert" or step == 0:
            made = vectors([seed, step], int(rng.choice([20, 40, 300])))
            made[rng.random(len(made)) < 0.1] = np.nan
            add(con, made, 1000 * step)
            known = np.concatenate((known, made))
            ids = np.append(ids, np.arange(1000 * step, 1000 * step + len(made)))
        elif change == "delete":
            number = int(rng.integers(7))
            con.execute(f"DELETE FROM t WHERE id % 7 = {number} AND id % 1000 > 25")
            kept = (ids % 7 != number) | (ids % 1000 <= 25)
            known, ids = known[kept], ids[kept]
        elif change == "update":
            number = int(rng.choice(ids))
            made = vectors([seed, step, 1], 1)
            con.execute(f"UPDATE t SET emb = ? WHERE id = {number}", [made[0].tolist()])
            known[ids == number] = made
        elif change == "reopen":
            con.close()
            con = raydb.connect(path)
        elif change == "rollback":
            con.execute("BEGIN; DELETE FROM t WHERE id % 2 = 0; REINDEX; ROLLBACK")
        else:
            con.execute(change)
        if rng.random() < 0.3:
            check(con, ids, known)
    check(con, ids, known)
    con.close()
    with raydb.connect(path, read_only=True) as con:
        check(con, ids, known)
        for place in rng.integers(0, len(ids), 5).tolist():
            found = con.execute(f"SELECT emb FROM t WHERE id = {ids[place]}").fetchone()[0]
            expected = None if np.isnan(known[place, 0]) else tuple(known[place].tolist())
            assert found == expected
