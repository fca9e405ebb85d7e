"""COPY of many rows writes them to files as they come: all of them are there, or none is."""

from __future__ import annotations

from pathlib import Path

import pytest

import raydb
from raydb.engine.statements import load
from raydb.storage.formats.delimited import blocks

ROWS = 30_000


@pytest.fixture(autouse=True)
def small(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1 << 14)
    monkeypatch.setattr(load, "FILE_BYTES", 1 << 17)


@pytest.fixture
def con(tmp_path):
    with raydb.connect(tmp_path / "shop") as found:
        yield found


def write(name="r.csv", rows=ROWS, **lines):
    text = [f"{n},{n % 7},name {n % 11}" for n in range(rows)]
    for number, line in lines.items():
        text[int(number[1:])] = line
    Path(name).write_text("id,kind,name\n" + "\n".join(text) + "\n")


def files():
    return sorted(path.name for path in Path("shop/data").iterdir())


def test_rows_are_in_several_files_and_stay(con, monkeypatch):
    con.execute(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, kind INTEGER, name TEXT, x INTEGER DEFAULT 3)"
    )
    con.execute("INSERT INTO t VALUES (-1, 0, 'before', 0)")
    original, written = load.write_part, []
    monkeypatch.setattr(load, "write_part", lambda *some: written.append(some) or original(*some))
    write()
    assert con.execute("COPY t (id, kind, name) FROM 'r.csv'").rowcount == ROWS
    con.execute("INSERT INTO t VALUES (-2, 0, 'after', 0)")
    assert len(written) > 3
    for _ in range(2):
        found = con.execute("SELECT count(*), sum(id), min(name), sum(x) FROM t").fetchone()
        assert found == (ROWS + 2, ROWS * (ROWS - 1) // 2 - 3, "after", 3 * ROWS)
        con.close()
        con = raydb.connect("shop")
    con.execute("CHECKPOINT")
    con.execute("VACUUM")
    assert con.execute("SELECT name FROM t WHERE id = 29999").fetchall() == [("name 2",)]
    con.close()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x,1,a", "line 25002, field 1 .id.: 'x' is not an INTEGER"),
        ("7,1,a", r"row 25001: the primary key \(id\) = \(7\) is that of row 8"),
        (",1,a", "row 25001: column 'id' is NOT NULL"),
        ("25000,9,a", r"row 25001: the check \(kind < 9\) does not hold: \(kind\) = \(9\)"),
        ("25000,8,a", r"row 25001: the foreign key \(kind\) = \(8\) has no row in 'kind'"),
    ],
)
def test_a_row_that_breaks_something_leaves_nothing(con, line, message):
    con.execute("CREATE TABLE kind (id INTEGER PRIMARY KEY)")
    con.execute("INSERT INTO kind SELECT i FROM range(8) t (i)")
    con.execute(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, kind INTEGER REFERENCES kind CHECK (kind < 9),"
        " name TEXT)"
    )
    con.execute("CHECKPOINT")
    before = files()
    write(n25000=line)
    with pytest.raises(raydb.Error, match=message):
        con.execute("COPY t FROM 'r.csv'")
    assert files() == before
    assert con.execute("SELECT count(*) FROM t").fetchone() == (0,)
    write()
    con.execute("COPY t FROM 'r.csv'")
    assert con.execute("SELECT count(*) FROM t").fetchone() == (ROWS,)


def test_what_a_transaction_loads_is_its_own_until_it_ends(con):
    con.execute("CREATE TABLE t (id INTEGER, kind INTEGER, name TEXT)")
    con.execute("CREATE TABLE other (a INTEGER)")
    write()
    with raydb.connect("shop") as second:
        con.execute("BEGIN")
        con.execute("COPY t FROM 'r.csv'")
        second.execute("INSERT INTO other VALUES (1)")
        second.execute("CHECKPOINT")  # collects what nobody needs
        assert con.execute("SELECT count(*), max(id) FROM t").fetchone() == (ROWS, ROWS - 1)
        assert second.execute("SELECT count(*) FROM t").fetchone() == (0,)
        con.execute("ROLLBACK")
        kept = files()
        con.execute("BEGIN")
        con.execute("COPY t FROM 'r.csv'")
        second.execute("INSERT INTO t VALUES (-1, 0, 'b')")
        second.execute("CHECKPOINT")
        con.execute("COMMIT")
        found = second.execute("SELECT count(*), sum(id) FROM t").fetchone()
        assert found == (ROWS + 1, ROWS * (ROWS - 1) // 2 - 1)
        assert len(kept) < 3


def test_an_interrupted_load_leaves_nothing(con, monkeypatch):
    con.execute("CREATE TABLE t (id INTEGER, kind INTEGER, name TEXT)")
    con.execute("CHECKPOINT")
    before, original, calls = files(), load.write_part, []

    def write_part(*arguments):
        calls.append(original(*arguments))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return calls[-1]

    monkeypatch.setattr(load, "write_part", write_part)
    write()
    with pytest.raises(KeyboardInterrupt):
        con.execute("COPY t FROM 'r.csv'")
    assert files() == before
    assert con.execute("SELECT count(*) FROM t").fetchone() == (0,)


@pytest.mark.parametrize(
    ("statement", "written"),
    [
        ("CREATE TABLE u AS SELECT id, kind, name FROM 'r.csv'", True),
        ("INSERT INTO t SELECT id, kind, upper(name) AS name FROM 'r.csv' WHERE kind < 6", True),
        ("INSERT INTO t SELECT id, kind, name FROM 'r.csv' ORDER BY id DESC", True),
        ("INSERT INTO t SELECT id, kind, name FROM 'r.csv' RETURNING id", False),
        ("INSERT INTO t SELECT id, kind, name FROM 'r.csv' LIMIT 10", False),
    ],
)
def test_rows_of_a_query_over_a_text_file_are_written_as_they_come(
    con, monkeypatch, statement, written
):
    con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, kind INTEGER CHECK (kind < 7), name TEXT)")
    original, calls = load.write_part, []
    monkeypatch.setattr(load, "write_part", lambda *some: calls.append(some) or original(*some))
    write()
    with raydb.connect() as memory:
        memory.execute("CREATE TABLE t (id INTEGER, kind INTEGER, name TEXT)")
        memory.execute(statement)
        con.execute(statement)
        assert bool(calls) == written
        name = "u" if "u AS" in statement else "t"
        for _ in range(2):
            query = f"SELECT * FROM {name} ORDER BY id"
            assert con.execute(query).fetchall() == memory.execute(query).fetchall()
            con.close()
            con = raydb.connect("shop")
    con.close()


def test_a_value_that_comes_late_changes_the_types_of_what_is_loaded(con):
    """The rows before it are written again, and their first files are given up."""
    write(n29000="29000,late,x")
    con.execute("CREATE TABLE t AS SELECT * FROM 'r.csv'")
    assert con.execute("SELECT kind FROM t WHERE id >= 28999 LIMIT 2").fetchall() == [
        ("5",),
        ("late",),
    ]
    assert con.execute("SELECT count(*) FROM t").fetchone() == (ROWS,)
    con.execute("CHECKPOINT")
    assert len(files()) == 1
