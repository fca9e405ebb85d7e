"""REINDEX while others search and write: nobody waits for the files that it writes."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pytest

import raydb
from raydb.storage.durable.database_directory import DatabaseDirectory

COUNT, WIDTH = 4_000, 8
# Loops may have to be compiled meanwhile.
PATIENCE_S = 300
SEARCH = "SELECT id FROM vector_search(docs, emb, $q, k => 5, nprobe => 4) ORDER BY rank"
EVERY = SEARCH.replace("nprobe => 4", "exact => true")
COUNTS = "SELECT vectors, rows_beside FROM vector_indexes()"


def vectors(seed, count):
    return np.random.default_rng(seed).normal(size=(count, WIDTH)).astype(np.float32)


def add(con, first, made):
    column = pa.FixedSizeListArray.from_arrays(pa.array(made.ravel()), WIDTH)
    con.register("made", pa.table({"id": np.arange(first, first + len(made)), "emb": column}))
    con.execute("INSERT INTO docs SELECT * FROM made")


def start(path, options=""):
    con = raydb.connect(path)
    con.execute("CREATE TABLE docs (id INTEGER PRIMARY KEY, emb FLOAT[8])")
    add(con, 0, vectors(1, COUNT))
    con.execute(f"CREATE INDEX near ON docs USING {options or 'ivf (emb)'}")
    add(con, COUNT, vectors(2, 200))
    return con


@contextmanager
def while_it_writes(monkeypatch, con, kind="ivf"):
    """Run REINDEX in a thread, and the block once it begins to write its file; yield outcomes."""
    began, may_go_on, outcomes = threading.Event(), threading.Event(), []
    write = DatabaseDirectory.write_file

    def held(self, file_kind, content):
        if file_kind == kind and not began.is_set():
            began.set()
            assert may_go_on.wait(PATIENCE_S)
        return write(self, file_kind, content)

    def run():
        try:
            outcomes.append(con.execute("REINDEX near"))
        except raydb.Error as error:
            outcomes.append(error)

    monkeypatch.setattr(DatabaseDirectory, "write_file", held)
    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert began.wait(PATIENCE_S)
        yield outcomes
    finally:
        may_go_on.set()
        thread.join(PATIENCE_S)
    monkeypatch.undo()


@pytest.mark.parametrize("options", ["", "hnsw (emb)", "ivf (emb) WITH (quantization = 'int8')"])
def test_nobody_waits_while_an_index_is_written(monkeypatch, tmp_path, options):
    con = start(tmp_path / "db", options)
    other, fresh = con.duplicate(), vectors(3, 5)
    with while_it_writes(monkeypatch, con) as outcomes:
        for number, vector in enumerate(fresh):
            other.execute("INSERT INTO docs VALUES (?, ?)", [10_000 + number, vector])
            assert other.execute(SEARCH, {"q": vector}).fetchone() == (10_000 + number,)
        other.execute("DELETE FROM docs WHERE id IN (7, 10001)")
        other.execute("UPDATE docs SET emb = ? WHERE id = 8", [fresh[1]])
        assert not outcomes
    assert not isinstance(outcomes[0], raydb.Error)
    for each in (con, other, None):
        if each is None:
            con.close()
            other.close()
            each = raydb.connect(tmp_path / "db")  # noqa: PLW2901
        # Those that came meanwhile are beside it, with the row that was changed.
        assert each.execute(COUNTS).fetchall() == [(COUNT + 200, 6)]
        assert each.execute(SEARCH, {"q": fresh[0]}).fetchone() == (10_000,)
        assert each.execute(SEARCH, {"q": fresh[1]}).fetchone() == (8,)
        gone = each.execute(EVERY, {"q": vectors(1, COUNT)[7]}).fetchall()
        assert (7,) not in gone


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("TRUNCATE docs", 1),
        ("DELETE FROM docs WHERE id < 4000; VACUUM", 201),
        ("DROP TABLE docs; CREATE TABLE docs (id INTEGER, emb FLOAT[8])", None),
        ("DROP INDEX near", None),
        ("ALTER TABLE docs ADD COLUMN more INTEGER", COUNT + 201),
        ("REINDEX near", COUNT + 201),
    ],
)
def test_what_others_define_meanwhile_is_not_undone(monkeypatch, tmp_path, text, left):
    con = start(tmp_path / "db")
    other, far = con.duplicate(), np.full(WIDTH, 50, np.float32)
    with while_it_writes(monkeypatch, con) as outcomes:
        other.execute(text)
        other.execute("INSERT INTO docs (id, emb) VALUES (20000, ?)", [far])
    if left is None:
        assert str(outcomes[0]).startswith("index 'near' does not exist")
    else:
        # It was run again, on what was there then.
        assert con.execute(COUNTS).fetchall() == [(left, 0)]
    assert con.execute(SEARCH.replace("k => 5", "k => 1"), {"q": far}).fetchall() == [(20_000,)]
    names = {file.suffix for file in (tmp_path / "db" / "data").iterdir()}
    assert (".ivf" in names) == (left is not None)


def test_a_transaction_keeps_its_index_beside_rows_of_others(tmp_path):
    con = start(tmp_path / "db")
    other, far = con.duplicate(), np.full(WIDTH, 50, np.float32)
    con.begin()
    con.execute("REINDEX near")
    assert con.execute(COUNTS).fetchall() == [(COUNT + 200, 0)]
    other.execute("INSERT INTO docs VALUES (20000, ?)", [far])
    assert other.execute(COUNTS).fetchall() == [(COUNT, 201)]
    con.commit()
    assert con.execute(COUNTS).fetchall() == [(COUNT + 200, 1)]
    assert con.execute(SEARCH, {"q": far}).fetchone() == (20_000,)


def test_what_is_rolled_back_leaves_no_file(tmp_path):
    con = start(tmp_path / "db")
    files = {file.name for file in (tmp_path / "db" / "data").iterdir()}
    con.begin()
    con.execute("REINDEX near; SAVEPOINT a; REINDEX near; ROLLBACK TO a")
    con.rollback()
    assert {file.name for file in (tmp_path / "db" / "data").iterdir()} == files
    assert con.execute(COUNTS).fetchall() == [(COUNT, 200)]


def test_what_is_closed_within_a_transaction_leaves_no_file(tmp_path):
    con = start(tmp_path / "db")
    files = {file.name for file in (tmp_path / "db" / "data").iterdir()}
    other = con.duplicate()
    other.begin()
    other.execute("REINDEX near")
    other.close()
    assert {file.name for file in (tmp_path / "db" / "data").iterdir()} == files
    assert con.execute(COUNTS).fetchall() == [(COUNT, 200)]


def test_words_are_indexed_beside_writers(monkeypatch, tmp_path):
    con = raydb.connect(tmp_path / "db")
    con.execute("CREATE TABLE docs (id INTEGER, words VARCHAR)")
    con.execute("INSERT INTO docs SELECT range, 'word ' || range FROM range(2000)")
    con.execute("CREATE INDEX near ON docs USING fts (words)")
    other = con.duplicate()
    with while_it_writes(monkeypatch, con, "fts"):
        other.execute("INSERT INTO docs VALUES (5000, 'late word')")
    found = "SELECT id FROM text_search(docs, words, 'late', k => 3)"
    assert con.execute(found).fetchall() == [(5000,)]


def test_a_disk_without_room_keeps_the_index(monkeypatch, tmp_path):
    con = start(tmp_path / "db")

    def fails(*_):
        raise raydb.OperationalError("database cannot write a file: no space left")

    monkeypatch.setattr(DatabaseDirectory, "write_file", fails)
    with pytest.raises(raydb.OperationalError, match="no space left"):
        con.execute("REINDEX near")
    monkeypatch.undo()
    assert con.execute(COUNTS).fetchall() == [(COUNT, 200)]
    con.execute("REINDEX near")
    assert con.execute(COUNTS).fetchall() == [(COUNT + 200, 0)]
