"""Rows in memory as narrow integers: every way to read them gives what was stored."""

import decimal

import numpy as np
import pyarrow as pa
import pytest

import raydb
from raydb.storage.tables import rows as stored
from raydb.storage.tables.parts import ArrowPart, PackedPart
from raydb.storage.tables.rows import Rows, part_of

ROWS = 1000


@pytest.fixture(autouse=True)
def few_rows_are_packed(monkeypatch):
    monkeypatch.setattr(stored, "PACK_ROWS", 100)


def decimals(kind, most, seed=1):
    """Return decimals with NULLs in chunks, over bytes that are not 0 where they are NULL."""
    draw = np.random.default_rng(seed)
    values = draw.integers(-most, most, ROWS, endpoint=True)
    values[:2] = most, -most
    words = np.stack([values, values >> 63], axis=1)
    valid = draw.random(ROWS) < 0.9
    valid[:2] = True
    words[~valid] = 77
    bits = pa.array(valid).buffers()[1]
    whole = pa.Array.from_buffers(kind, ROWS, [bits, pa.py_buffer(words)])
    return pa.chunked_array([whole.slice(0, 13), whole.slice(13, 500), whole.slice(513)])


@pytest.mark.parametrize(
    ("digits", "most", "stored"),
    [
        (4, 127, pa.int8()),
        (4, 9999, pa.int16()),
        (9, 10**9 - 1, pa.int32()),
        (18, 10**18 - 1, pa.int64()),
        (18, 5, pa.int8()),
    ],
)
def test_decimals_come_back(digits, most, stored):
    kind = pa.decimal128(digits, 2)
    table = pa.table({"x": decimals(kind, most), "s": pa.array(map(str, range(ROWS)))})
    part = part_of(table)
    assert isinstance(part, PackedPart)
    assert part.packed.schema.field("x").type == stored
    assert part.packed.column("s").num_chunks == 1
    rows = Rows(table.schema, (part,))
    assert rows.column("x").equals(table.column("x"))
    assert rows.column("x").type == kind
    for start, stop in ((0, ROWS), (3, 900), (8, 16), (500, 500), (999, ROWS)):
        assert rows.slice("x", start, stop).equals(table.column("x").slice(start, stop - start))
        only = rows.only(((start, stop),))
        assert only.column("x").equals(table.column("x").slice(start, stop - start))
    for numbers in (np.array([5]), np.arange(3, 700, 7), np.arange(0)):
        assert rows.take("x", numbers).equals(table.column("x").take(pa.array(numbers)))
    assert rows.null_count("x") == table.column("x").null_count
    assert rows.head(["x", "s"], 7)[0].equals(table.column("x").slice(0, 7))
    assert rows.integers("x").null_count == table.column("x").null_count
    assert rows.integers("s") is None


def integers(kind, low, high, seed=1):
    """Return integers with NULLs in chunks, of all widths that a range needs."""
    draw = np.random.default_rng(seed)
    values = draw.integers(low, high, ROWS, endpoint=True)
    values[:2] = low, high
    missing = draw.random(ROWS) < 0.1
    missing[:2] = False
    whole = pa.array(values, kind, mask=missing)
    return pa.chunked_array([whole.slice(0, 13), whole.slice(13, 500), whole.slice(513)])


@pytest.mark.parametrize(
    ("kind", "low", "high", "stored", "as_key"),
    [
        (pa.int32(), -128, 127, pa.int8(), pa.int8()),
        (pa.int32(), 0, 128, pa.int16(), pa.int32()),
        (pa.int32(), 0, 2**31 - 1, pa.int32(), pa.int32()),
        (pa.int64(), -(2**31), 5, pa.int32(), pa.int64()),
        (pa.int64(), -(2**63), 2**63 - 1, pa.int64(), pa.int64()),
        (pa.int16(), 0, 3, pa.int8(), pa.int8()),
    ],
)
def test_integers_come_back(kind, low, high, stored, as_key):
    table = pa.table({"x": integers(kind, low, high), "k": integers(kind, low, high)})
    part = part_of(table, {"k"})
    assert part.packed.schema.types == [stored, as_key]
    rows = Rows(table.schema, (part,))
    assert rows.table().equals(table)
    assert rows.slice("x", 5, 700).equals(table.column("x").slice(5, 695))
    numbers = np.arange(3, 900, 7)
    assert rows.take("x", numbers).equals(table.column("x").take(pa.array(numbers)))
    assert rows.bounds("x").to_pylist() == [low, high]
    assert (rows.integers("x") is None) == (stored == kind)
    assert (
        rows.append(table.slice(0, 200), {"k"})
        .table()
        .equals(pa.concat_tables([table, table.slice(0, 200)]))
    )


def test_unsigned_integers_stay():
    rows = pa.table({"x": pa.array(range(ROWS), pa.uint32())})
    assert part_of(rows).packed.schema.types == [pa.uint32()]


def test_columns_of_keys_are_told():
    connection = raydb.connect()
    connection.execute(
        "CREATE TABLE owner (id INTEGER PRIMARY KEY, chip INTEGER UNIQUE, age INTEGER);"
        "CREATE TABLE pet (owner INTEGER REFERENCES owner, kind INTEGER, age INTEGER);"
        "CREATE INDEX of_kind ON pet (kind);"
        "INSERT INTO owner SELECT i, 2 * i, i % 500 FROM range(1000) r(i);"
        "INSERT INTO pet SELECT i, i, i FROM range(1000) r(i);"
    )

    def stored(name):
        table = connection._session.database.snapshot.tables[name]
        packed = table.rows.parts[0].packed.schema
        return dict(zip(packed.names, packed.types, strict=True))

    assert stored("owner") == {"id": pa.int32(), "chip": pa.int32(), "age": pa.int16()}
    assert stored("pet") == {"owner": pa.int32(), "kind": pa.int32(), "age": pa.int16()}
    connection.execute("ALTER TABLE owner ADD COLUMN x INTEGER DEFAULT 300")
    connection.execute("ALTER TABLE pet RENAME COLUMN owner TO by")
    assert stored("owner")["chip"] == pa.int32()
    assert stored("owner")["x"] == pa.int16()
    assert stored("pet")["by"] == pa.int32()


def test_what_is_below_nulls_is_zero():
    part = part_of(pa.table({"x": decimals(pa.decimal128(9, 2), 10**8)}))
    whole = part.integers("x").chunk(0)
    words = np.frombuffer(whole.buffers()[1], np.int32)
    assert not words[whole.is_null().to_numpy(zero_copy_only=False)].any()


def test_few_rows_and_many_digits_stay():
    few = pa.table({"x": pa.array([decimal.Decimal("1.5")] * 99)})
    assert isinstance(part_of(few), ArrowPart)
    many = pa.table({"x": decimals(pa.decimal128(19, 2), 10**17)})
    rows = Rows(many.schema, (part_of(many),))
    assert rows.integers("x") is None
    assert rows.column("x").equals(many.column("x"))


def test_what_is_too_large_stays(monkeypatch):
    table = pa.table({"x": decimals(pa.decimal128(9, 2), 10**8)})
    monkeypatch.setattr(stored, "read_limit", lambda: table.nbytes)
    assert isinstance(part_of(table), ArrowPart)
    monkeypatch.setattr(stored, "read_limit", lambda: 4 * table.nbytes)
    rows = Rows(table.schema, (part_of(table),))
    assert rows.integers("x").num_chunks == 3
    assert rows.column("x").equals(table.column("x"))


def test_appended_rows_are_widened_where_they_need_it():
    schema = pa.schema([("x", pa.decimal128(18, 2)), ("b", pa.bool_())])
    rows, expected = Rows(schema), []
    for seed, most in enumerate((50, 10**10, 3, 10**4)):
        added = decimals(schema.field("x").type, most, seed)
        for count in (ROWS, 30, 90):
            some = pa.table([added.slice(0, count), pa.array([True] * count)], schema=schema)
            rows = rows.append(some)
            expected.append(some)
    whole = pa.concat_tables(expected)
    assert [type(part) for part in rows.parts] == [PackedPart]
    assert rows.table().equals(whole)
    assert rows.take("x", np.array([0, ROWS + 5])).equals(whole.column("x").take([0, ROWS + 5]))


@pytest.fixture
def con(monkeypatch):
    """A table and, unpacked, the same."""
    connection = raydb.connect()
    draw = np.random.default_rng(3)
    rows = pa.table(
        {
            "k": pa.array(draw.integers(0, 9, ROWS), pa.int32()),
            "n": integers(pa.int64(), -300, 300),
            "d": decimals(pa.decimal128(12, 2), 10**6),
            "e": decimals(pa.decimal128(5, 1), 99, seed=2),
        }
    )
    for name, least in (("packed_rows", 100), ("plain_rows", 10**9)):
        monkeypatch.setattr(stored, "PACK_ROWS", least)
        connection.execute(
            f"CREATE TABLE {name} (k INTEGER, n BIGINT, d DECIMAL(12, 2), e DECIMAL(5, 1))"
        )
        connection.execute(f"INSERT INTO {name} SELECT * FROM rows")
    assert rows is not None
    monkeypatch.setattr(stored, "PACK_ROWS", 100)
    return connection


QUERIES = [
    "SELECT * FROM t",
    "SELECT d FROM t WHERE k = 3",
    "SELECT k, d FROM t WHERE e > 5 AND d < 100",
    "SELECT k, sum(d), min(e), count(d), avg(e) FROM t GROUP BY k",
    "SELECT sum(d * e), max(d + e) FROM t WHERE d IS NOT NULL",
    "SELECT sum(d), sum(e), count(*) FROM t WHERE d > e",
    "SELECT a.k, sum(b.d) FROM t a JOIN t b ON a.d = b.d GROUP BY a.k",
    "SELECT d, e FROM t ORDER BY d, e, k LIMIT 10",
    "SELECT k, d FROM t ORDER BY k, d LIMIT 5 OFFSET 700",
    "SELECT DISTINCT e FROM t",
    "SELECT k, sum(d) OVER (PARTITION BY k ORDER BY d, e ROWS UNBOUNDED PRECEDING) FROM t",
    "SELECT median(d), stddev(e), min(d) FROM t",
    "SELECT k, sum(n), min(n), count(n), avg(n) FROM t GROUP BY k",
    "SELECT n, count(*), sum(n * d), sum(n * n) FROM t WHERE n > -5 AND k < 7 GROUP BY n",
    "SELECT a.k, count(*), max(b.n + 200) FROM t a JOIN t b ON a.n = b.n GROUP BY a.k",
    "SELECT DISTINCT n % 7, n / 2, CAST(n AS VARCHAR) FROM t WHERE n IS NOT NULL",
    "SELECT n, d FROM t ORDER BY n, d, k LIMIT 20",
]


@pytest.mark.parametrize("path", ["on", "off"])
def test_queries_give_what_they_did(con, path):
    def check():
        for sql in QUERIES:
            found, expected = (
                con.execute(sql.replace(" t", f" {name}")).to_arrow_table()
                for name in ("packed_rows", "plain_rows")
            )
            assert found.schema == expected.schema
            assert sorted(map(str, found.to_pylist())) == sorted(map(str, expected.to_pylist())), (
                sql
            )

    con.execute(f"SET fused_path = '{path}'")
    check()
    for change in (
        "DELETE FROM t WHERE k = 4 OR e IS NULL",
        "UPDATE t SET d = d + 1, n = n + 70000 WHERE k < 3",
        "INSERT INTO t VALUES (1, 3000000000, 9999999999.99, NULL)",
        "ALTER TABLE t RENAME COLUMN e TO f; ALTER TABLE t RENAME COLUMN f TO e",
        "ALTER TABLE t ADD COLUMN g DECIMAL(7, 3) DEFAULT 2.5",
        "ALTER TABLE t ALTER COLUMN g TYPE DECIMAL(9, 4)",
        "VACUUM",
        "ALTER TABLE t DROP COLUMN g",
    ):
        for name in ("packed_rows", "plain_rows"):
            con.execute(change.replace(" t ", f" {name} "))
        check()
