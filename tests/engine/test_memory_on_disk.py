"""The memory limit where tables lie in files: they are read and written block by block."""

from __future__ import annotations

import shutil
import tracemalloc
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import raydb
from raydb.engine.context.memory import Memory, SpillFile
from raydb.engine.operators.scan import scan
from raydb.errors import IntegrityError, OperationalError, ProgrammingError
from raydb.storage.flat import write
from raydb.storage.row_hashes import add_to_hashes
from raydb.storage.tables.decoded import decoded_columns
from raydb.storage.tables.parts import FilePart, MadePart
from raydb.storage.tables.rows import Rows

ROWS = 60_000
LIMIT = "2MB"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A database whose table lies in two files and its log, with NULLs, texts and deleted rows."""
    path = tmp_path_factory.mktemp("made") / "made.raydb"
    with raydb.connect(path) as con:
        con.execute(
            "CREATE TABLE t AS SELECT range AS id, range * 7919 % 40 AS k,"
            " CASE WHEN range % 11 > 0 THEN range * 0.3::DOUBLE END AS x,"
            " (range * 31 % 9999)::DECIMAL(12, 2) AS d, 'text ' || range % 700 AS s"
            f" FROM range(0, {ROWS // 2})"
        )
        con.execute(f"CHECKPOINT; INSERT INTO t SELECT id + {ROWS // 2}, k, x, d, s FROM t")
        con.execute("CHECKPOINT; DELETE FROM t WHERE id % 17 = 3; INSERT INTO t (id) VALUES (-1)")
    return path


@pytest.fixture
def blocks(monkeypatch):
    """Return a list that gets each block of rows that is read; they are small."""
    read = []
    whole = scan.ScanBlocks.read

    def counting(self, piece):
        read.append(piece)
        return whole(self, piece)

    monkeypatch.setattr(scan.ScanBlocks, "read", counting)
    monkeypatch.setattr(scan, "_CHUNK_ROWS", 1000)
    return read


def limited(path, limit=LIMIT):
    """Open a database with a memory limit."""
    con = raydb.connect(path, read_only=True)
    con.execute(f"SET memory_limit = '{limit}'")
    return con


def rows_of(table):
    """Return rows as a multiset; doubles are compared to the last bit."""
    columns = [column.to_pylist() for column in table.columns]
    return Counter(repr(row) for row in zip(*columns, strict=True))


QUERIES = [
    "SELECT * FROM t",
    "SELECT id, s, x FROM t WHERE k < 3 OR d > 9000",
    "SELECT id, s, x, d FROM t WHERE id BETWEEN 29990 AND 30010",
    "SELECT s, id + k FROM t WHERE s = 'text 3'",
    "SELECT k, count(*), count(x), sum(x), avg(x), avg(d), min(s), max(x) FROM t GROUP BY k",
    "SELECT s, sum(x) FILTER (WHERE k > 3), avg(id) FROM t WHERE d > 100 GROUP BY s",
    "SELECT id, sum(x), avg(d) FROM t GROUP BY id",
    "SELECT count(*), sum(x), min(id), max(s) FROM t",
    "SELECT count(*), sum(x), max(s) FROM t WHERE id < -5 AND k < 3",
    "SELECT k, count(*), sum(x) FROM t WHERE id < -5 AND s > 'a' GROUP BY k",
    "SELECT k, count(DISTINCT s), median(x) FROM t GROUP BY k",
    "SELECT k, s, count(*), sum(d) FROM t GROUP BY ROLLUP (k, s)",
    "SELECT a.id, b.s, a.x FROM t a JOIN t b ON a.id = b.id + 30000",
    "SELECT id, rank() OVER (PARTITION BY s ORDER BY x, id), k FROM t",
]


@pytest.mark.long
@pytest.mark.parametrize("sql", QUERIES)
def test_blocks_give_the_rows_of_whole_columns(made, blocks, sql):
    expected = raydb.connect(made, read_only=True).execute(sql).to_arrow_table()
    assert not blocks
    found = limited(made).execute(sql).to_arrow_table()
    assert len(blocks) > 3 or " id " in sql, "columns were read whole"
    assert found.schema == expected.schema
    assert rows_of(found) == rows_of(expected)


def test_rows_stay_in_their_order(made, blocks):
    sql = "SELECT id, s FROM t WHERE k <> 5"
    found = limited(made).execute(sql).to_arrow_table()
    assert blocks
    assert found.equals(raydb.connect(made, read_only=True).execute(sql).to_arrow_table())


def test_zone_maps_leave_blocks_out(made, blocks):
    limited(made).execute("SELECT * FROM t WHERE id = 59000").fetchall()
    rows = sum(stop - start for _, _, start, stop in blocks)
    assert 0 < rows < ROWS / 2


def test_what_was_read_in_blocks_is_not_kept(made, blocks):
    con = limited(made)
    con.execute("SELECT k, sum(x), sum(d), min(s) FROM t GROUP BY k").fetchall()
    table = con._open_session().database.snapshot.tables["t"]
    assert table.rows.kept_bytes < 1_000_000


def test_a_star_beyond_the_limit_says_why_it_is_no_pass(made):
    (plan,) = zip(
        *limited(made, "100KB").execute("EXPLAIN SELECT k, sum(d) FROM t GROUP BY k").fetchall(),
        strict=True,
    )
    assert "FusedTableScan" not in "\n".join(plan)


# -- writes


@pytest.fixture
def con(made, tmp_path):
    """A copy of the database, open for writing, with a memory limit."""
    shutil.copytree(made, tmp_path / "copy.raydb")
    with raydb.connect(tmp_path / "copy.raydb") as connection:
        connection.execute(f"SET memory_limit = '{LIMIT}'")
        yield connection


def data_files(tmp_path):
    """Return the names of the data files of the copy."""
    return {entry.name for entry in (tmp_path / "copy.raydb" / "data").iterdir()}


def answers(con, table):
    """Return what tells the rows of a table."""
    return con.execute(
        f"SELECT count(*), sum(id), sum(k), sum(d), min(s), max(s), count(x) FROM {table}"
    ).fetchall()


WRITES = [
    "CREATE TABLE u AS SELECT * FROM t",
    "CREATE TABLE u AS SELECT k, x, d, s, id FROM t WHERE k > 3",
    "CREATE TABLE u AS SELECT * FROM t; INSERT INTO u SELECT * FROM t",
    "CREATE TABLE u AS SELECT * FROM t; UPDATE u SET k = k + 1, s = s || '!'",
    "CREATE TABLE u AS SELECT * FROM t; UPDATE u SET d = 0 WHERE k < 10",
    "CREATE TABLE u AS SELECT * FROM t; UPDATE u SET x = t.x * 2 FROM t WHERE t.id = u.id",
    "CREATE TABLE u AS SELECT * FROM t; DELETE FROM u WHERE k < 20",
    "CREATE TABLE u AS SELECT * FROM t; ALTER TABLE u ADD COLUMN y VARCHAR DEFAULT 'y'",
    "CREATE TABLE u AS SELECT * FROM t; DELETE FROM u WHERE k = 3;"
    " ALTER TABLE u ALTER COLUMN k TYPE DOUBLE USING k + id",
    "CREATE TABLE u (id BIGINT PRIMARY KEY, k BIGINT, x DOUBLE, d DECIMAL(12, 2), s VARCHAR);"
    " INSERT INTO u SELECT id, k, x, d, s FROM t WHERE id % 2 = 0; INSERT INTO u SELECT * FROM t"
    " ON CONFLICT (id) DO UPDATE SET s = excluded.s || u.k, d = u.d + 1 WHERE u.k > 2",
]


@pytest.mark.long
@pytest.mark.parametrize("sql", WRITES)
def test_writes_are_the_same_with_little_memory(con, spilled, tmp_path, sql):
    con.execute(sql)
    assert spilled, "the rows were in memory as a whole"
    found = answers(con, "u")
    con.execute("DROP TABLE u; RESET memory_limit")
    con.execute(sql)
    assert answers(con, "u") == found
    con.close()
    with raydb.connect(tmp_path / "copy.raydb") as again:
        assert answers(again, "u") == found


@pytest.mark.parametrize(
    "sql",
    [
        "ALTER TABLE t ADD COLUMN y VARCHAR DEFAULT 'y'",
        "ALTER TABLE t ALTER COLUMN k TYPE VARCHAR",
    ],
)
def test_a_table_is_altered_piece_by_piece(con, spilled, monkeypatch, sql):
    whole, read = FilePart.columns, set()

    def columns(part, names):
        read.update(names)
        return whole(part, names)

    monkeypatch.setattr(FilePart, "columns", columns)
    con.execute(sql)
    assert spilled
    assert read <= {"k"}


def test_rows_that_numpy_holds_are_counted_while_they_wait(spilled, tmp_path):
    """Arrow does not count them: what is decoded from files is numpy's."""
    with Memory(2**20, str(tmp_path)) as memory:
        rows = [memory.keep_rows(pa.table({"n": np.arange(2**13)})) for _ in range(64)]
        assert len(spilled) >= 32
        assert pa.concat_tables(rows).column("n").to_pylist() == [*range(2**13)] * 64


# Table u has the keys 0, 2, 4, ...; SHUFFLED are 0, 1, 2, ... in another order.
KEYED = f"""
    CREATE TABLE u (id BIGINT PRIMARY KEY, n INTEGER);
    INSERT INTO u SELECT range * 2, range % 7 FROM range(0, {4 * ROWS});
    CREATE TABLE v AS SELECT range AS id, range * 0.5::DOUBLE AS x FROM range(0, {4 * ROWS});
    CHECKPOINT
"""
SHUFFLED = f"range * 7919 % {8 * ROWS}"
KEYED_LIMIT = 6_000_000
# Of each row the place of its partner and its part are held.
KEYED_PEAK = KEYED_LIMIT + 5 * 8 * ROWS


@pytest.fixture(scope="module")
def keyed(tmp_path_factory):
    for value in (1, "a"):  # Numba's loops are read now, which takes memory of its own.
        add_to_hashes(pa.array([value]), np.zeros(1, np.uint64))
    path = tmp_path_factory.mktemp("keyed") / "keyed.raydb"
    with raydb.connect(path) as con:
        con.execute(KEYED)
    return path


@pytest.mark.parametrize(
    "sql",
    [
        f"INSERT INTO u SELECT {SHUFFLED} + 1, 8 FROM range(0, {8 * ROWS}) WHERE range % 2 = 0",
        "UPDATE u SET id = id * 3 + 1",
        f"INSERT INTO u SELECT {SHUFFLED}, 8 FROM range(0, {8 * ROWS})"
        " ON CONFLICT (id) DO UPDATE SET n = u.n + excluded.n",
        f"INSERT INTO u SELECT {SHUFFLED}, 8 FROM range(0, {8 * ROWS}) ON CONFLICT DO NOTHING",
        "CREATE UNIQUE INDEX i ON v (x, id)",
    ],
)
def test_keys_are_checked_part_by_part(keyed, tmp_path, sql):
    shutil.copytree(keyed, tmp_path / "keyed.raydb")
    with raydb.connect(tmp_path / "keyed.raydb") as con:
        sums = "SELECT count(*), sum(id), sum(n) FROM u"
        expected = con.execute(f"BEGIN; {sql}; {sums}").fetchall()
        con.execute(f"ROLLBACK; SET memory_limit = '{KEYED_LIMIT}B'; BEGIN")
        tracemalloc.start()
        try:
            con.execute(sql)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < KEYED_PEAK
        assert con.execute(f"COMMIT; {sums}").fetchall() == expected


def test_a_rollback_of_a_large_table_leaves_nothing(con, spilled, tmp_path):
    before = data_files(tmp_path)
    con.execute("BEGIN; CREATE TABLE u AS SELECT * FROM t; INSERT INTO t SELECT * FROM t; ROLLBACK")
    assert spilled
    assert data_files(tmp_path) == before
    with pytest.raises(ProgrammingError, match="'u' does not exist"):
        con.execute("SELECT * FROM u")


def test_a_broken_constraint_in_the_last_row_leaves_nothing(con, spilled, tmp_path):
    con.execute(
        "CREATE TABLE u (id BIGINT, k BIGINT, x DOUBLE, d DECIMAL(12, 2), s VARCHAR NOT NULL)"
    )
    before = data_files(tmp_path)
    with pytest.raises(IntegrityError, match="column 's' is NOT NULL"):
        con.execute("INSERT INTO u SELECT * FROM t")
    assert spilled
    assert con.execute("SELECT count(*) FROM u").fetchall() == [(0,)]
    assert data_files(tmp_path) == before


def test_ctrl_c_amid_a_large_table_leaves_nothing(con, spilled, tmp_path, monkeypatch):
    """Interrupted while its rows go to a temporary file, and while they become a data file."""
    before = data_files(tmp_path)
    expected = answers(con, "t")
    for owner, name in ((SpillFile, "write"), (write, "encode_rows")):
        work = getattr(owner, name)

        def interrupted(*arguments, work=work):
            con.interrupt()
            return work(*arguments)

        with monkeypatch.context() as patch:
            patch.setattr(owner, name, interrupted)
            with pytest.raises(OperationalError, match="interrupted"):
                con.execute("CREATE TABLE u AS SELECT * FROM t")
        assert data_files(tmp_path) == before
        assert answers(con, "t") == expected
    assert spilled
    con.execute("CREATE TABLE u AS SELECT * FROM t")
    assert answers(con, "u") == expected


def test_columns_of_all_tables_share_the_limit(tmp_path):
    path, rows, tables = tmp_path / "many.raydb", 20_000, 8
    with raydb.connect(path) as con:
        for n in range(tables):
            con.execute(
                f"CREATE TABLE t{n} AS SELECT range * {n + 1} AS id, range % 7 AS k"
                f" FROM range({rows})"
            )
    column_bytes = 8 * rows
    before = decoded_columns.size_bytes
    with raydb.connect(path) as con:
        con.execute(f"SET memory_limit = '{before + 6 * column_bytes} B'")

        def ask(n):
            (found,) = con.execute(f"SELECT sum(id) + median(id) FROM t{n}").fetchone()
            return found

        first = [ask(n) for n in range(tables)]
        # Half of the limit before a statement, and half of its own room more.
        assert before < decoded_columns.size_bytes <= before + 5 * column_bytes
        # The table that was asked last is still there, and so is its answer.
        kept = con._session.database.snapshot.tables[f"t{tables - 1}"].rows
        assert kept.is_decoded("id")
        assert [ask(n) for n in range(tables)] == first


def test_columns_that_are_kept_make_way_for_what_can_do_with_no_less():
    numbers = pa.chunked_array([range(9)])
    rows = Rows(pa.schema({"x": pa.int64()}), (MadePart(9, lambda _: numbers),))
    rows.column("x")
    before = decoded_columns.size_bytes
    assert before >= numbers.nbytes
    memory = Memory(10_000)
    memory.check(9000, "a scan")
    assert decoded_columns.size_bytes == before
    memory.check(10_000 + before, "a scan")
    assert decoded_columns.size_bytes == 0
    with pytest.raises(OperationalError, match="a scan needs about 90 KB"):
        memory.check(90_000, "a scan")
