"""Stars over tables without a BVH: one fused pass over all rows, against the general path."""

from __future__ import annotations

import json
from functools import partial
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

import raydb
from raydb.engine.fused import delta, derived_cache, run, table_job
from raydb.engine.fused.column_codes import column_codes
from raydb.engine.fused.delta import look_up
from raydb.engine.fused.derived_cache import DerivedCache
from raydb.kernels.backends.cpu.scans import scan
from raydb.kernels.bvh.encode import encode_column
from raydb.planner.stars.table_scan import FusedTableScan

ROWS = 5_000


@pytest.fixture
def con(monkeypatch):
    monkeypatch.setattr("raydb.planner.stars.table_scan.MIN_ROWS", 0)
    monkeypatch.setattr(scan, "CHUNK_ROWS", 256)
    rng = np.random.default_rng(3)
    connection = raydb.connect()
    connection.execute(
        "CREATE TABLE nation (n_id INTEGER PRIMARY KEY, n_name VARCHAR);"
        "CREATE TABLE shop (s_id INTEGER PRIMARY KEY, city VARCHAR,"
        " n_id INTEGER REFERENCES nation);"
        "CREATE TABLE sale (id INTEGER, shop INTEGER REFERENCES shop, mode VARCHAR, size INTEGER,"
        " amount DECIMAL(9, 2), weight DOUBLE);"
        "INSERT INTO nation VALUES (1, 'NORWAY'), (2, 'FRANCE');"
        "INSERT INTO shop VALUES (1, 'Oslo', 1), (2, 'Lyon', 2), (3, NULL, NULL), (4, 'Bergen', 1);"
    )
    rows = pa.table(
        {
            "id": np.arange(ROWS, dtype=np.int32),
            "shop": pa.array(rng.integers(1, 5, ROWS), mask=rng.random(ROWS) < 0.1),
            "mode": pa.array(
                rng.choice(["AIR", "RAIL", "SHIP"], ROWS), mask=rng.random(ROWS) < 0.1
            ),
            "size": rng.integers(0, 9, ROWS),
            "amount": rng.integers(-500, 500, ROWS),
            "weight": pa.array(rng.normal(size=ROWS), mask=rng.random(ROWS) < 0.1),
        }
    )
    connection.register("given", rows)
    connection.execute("INSERT INTO sale SELECT * FROM given")
    return connection


QUERIES = [
    "SELECT count(*), sum(amount), min(weight), max(mode), count(DISTINCT city) FROM sale, shop "
    "WHERE shop = s_id",
    "SELECT mode, count(*), avg(amount), count(weight) FROM sale WHERE size < 3 GROUP BY mode",
    "SELECT n_name, city, sum(amount) FROM sale, shop, nation WHERE shop = s_id AND "
    "shop.n_id = nation.n_id GROUP BY n_name, city",
    "SELECT city, sum(size), max(size) FROM sale, shop WHERE shop = s_id "
    "AND (city = 'Oslo' OR size = 2) AND mode IN ('AIR', 'RAIL') GROUP BY city",
    "SELECT city, n_name, count(*), sum(amount), max(size), avg(size) FROM sale, shop, nation "
    "WHERE shop = s_id AND shop.n_id = nation.n_id AND (mode = 'AIR' OR size = 3) "
    "AND (city <> mode OR size > 4) GROUP BY city, n_name",
    "SELECT mode, count(DISTINCT size), count(*) FROM sale WHERE size BETWEEN 2 AND 6 "
    "GROUP BY mode",
    "SELECT size % 3 AS third, mode, count(*) FROM sale GROUP BY size % 3, mode",
    "SELECT upper(mode) || city AS both_of, sum(size) FROM sale, shop WHERE shop = s_id "
    "GROUP BY upper(mode) || city",
    # No row that divides by zero passes.
    "SELECT mode, sum(100 / size) FROM sale WHERE size > 0 GROUP BY mode",
    "SELECT count(*) FROM sale WHERE size <> 0 AND 10 / size > 2",
    "SELECT mode, sum(amount) FROM sale WHERE id BETWEEN 700 AND 710 AND size >= 0 GROUP BY mode",
    "SELECT sum(amount), count(DISTINCT mode) FROM sale WHERE size > 100",
    # A few values of columns that have many.
    "SELECT floor(amount / 50), count(*), stddev(size) FROM sale GROUP BY 1",
    "SELECT id % 7, city, sum(amount) FROM sale, shop WHERE shop = s_id GROUP BY 1, 2",
    "SELECT mode, median(size), quantile_disc(size, 0.2) FROM sale GROUP BY mode",
    # OR over more columns than have codes together, some of many values.
    "SELECT count(*), sum(amount) FROM sale, shop WHERE shop = s_id AND (city = 'Oslo' AND "
    "amount BETWEEN 10 AND 90 AND mode = 'AIR' OR amount < -3.5 AND size > 4 OR weight > 1 AND "
    "(mode = 'RAIL' OR city IS NULL))",
    "SELECT mode, count(*) FROM sale WHERE size + amount > 7 AND mode <> 'AIR' OR id < 900 AND "
    "weight IS NULL OR NOT (size < 3 AND weight < 0) AND mode IS NOT NULL GROUP BY mode",
    "SELECT count(*) FROM sale WHERE "
    + " OR ".join(f"id % 91 = {n} AND size = {n % 9} AND mode <= 'RAIL'" for n in range(40)),
    "SELECT count(*) FROM sale WHERE size > 0 AND (10 / size > 4 AND mode = 'AIR' OR amount > 9 "
    "AND weight < 0.5)",
]


def answers(con, query):
    found = []
    for path in ("on", "off"):
        con.execute(f"SET fused_path = '{path}'")
        rows = con.execute(query).fetchall()
        found.append(sorted(rows, key=repr))
    con.execute("SET fused_path = 'on'")
    return found


def node(con, query):
    return json.loads(con.execute(f"EXPLAIN (FORMAT JSON) {query}").fetchone()[0])


@pytest.mark.parametrize("query", QUERIES)
def test_a_scan_has_the_rows_of_the_general_path(con, query):
    assert "FusedTableScan" in json.dumps(node(con, query))
    for statement in (
        None,
        "DELETE FROM sale WHERE size = 4 OR mode = 'SHIP'",
        "UPDATE sale SET size = 7, shop = 1 WHERE size = 2",
        "INSERT INTO sale VALUES (-1, 4, 'BOAT', 3, 1.25, 2.5)",
        "UPDATE shop SET city = 'Nice' WHERE city = 'Lyon'",
        "INSERT INTO shop VALUES (9, 'Rome', 2)",
        "INSERT INTO sale VALUES (-2, 9, 'AIR', 1, 7.5, NULL)",
    ):
        if statement is not None:
            con.execute(statement)
        fused, general = answers(con, query)
        assert len(fused) == len(general)
        for one, other in zip(fused, general, strict=True):
            for value, right in zip(one, other, strict=True):
                is_float = isinstance(right, float)
                assert right == (pytest.approx(value, rel=1e-12) if is_float else value), statement


def test_a_scan_may_begin_at_a_later_row(con):
    query = "SELECT mode, count(*), sum(amount) FROM sale WHERE size < 5 GROUP BY mode"
    rows = con.execute(query.replace("WHERE", "WHERE id >= 1234 AND")).fetchall()
    with patch(
        "raydb.planner.stars.table_scan.FusedTableScan", partial(FusedTableScan, first_row=1234)
    ):
        assert sorted(con.execute(query).fetchall(), key=repr) == sorted(rows, key=repr)


def test_explain_says_that_the_table_is_scanned_and_why(con):
    lines = [line for (line,) in con.execute(f"EXPLAIN {QUERIES[1]}").fetchall()]
    assert lines[0] == "path: fused"
    assert any("FusedTableScan: count(*), avg(amount), count(weight) by mode" in x for x in lines)
    assert any("no bvh: there is no BVH on 'sale'" in line for line in lines)


@pytest.mark.parametrize("most", [3, 2**20])
def test_few_rows_that_pass_may_have_many_groups(con, most, monkeypatch):
    """Their groups are numbered as they come: by flags, by sorting, or by a hash table."""
    query = (
        "SELECT id % 1000, size, city, mode, sum(amount), count(*) FROM sale, shop "
        "WHERE shop = s_id AND mode <> 'AIR' AND city = 'Oslo' AND size < 7 GROUP BY 1, 2, 3, 4"
    )
    monkeypatch.setattr("raydb.planner.stars.table_scan.DENSE_GROUPS", 5)
    monkeypatch.setattr("raydb.planner.stars.fused_scan.DENSE_GROUPS", 5)
    monkeypatch.setattr("raydb.engine.fused.fold_values.DENSE_GROUPS", 5)
    monkeypatch.setattr("raydb.engine.fused.fold_values.MANY_CODES", most)
    assert "FusedTableScan" in json.dumps(node(con, query))
    fused, general = answers(con, query)
    assert fused == general
    assert len(fused) > 5
    every = node(con, "SELECT id % 1000, size, sum(amount) FROM sale GROUP BY 1, 2")
    assert every["path"] == "general"


def test_groups_that_are_many_for_their_rows_are_numbered(con, monkeypatch):
    query = "SELECT id % 50, city, mode, sum(amount), max(size) FROM sale, shop WHERE shop = s_id"
    query += " AND size < 7 GROUP BY 1, 2, 3"
    monkeypatch.setattr(table_job, "_FEW_GROUPS", 5)
    monkeypatch.setattr(table_job, "_GROUPS_A_ROW", 0.01)
    with patch.object(run, "_run_by_row", wraps=run._run_by_row) as by_row:
        fused, general = answers(con, query)
    assert fused == general
    assert by_row.called


def test_more_groups_than_numbers_are_looked_up(con, monkeypatch):
    """Samples told of fewer values than there are."""
    query = "SELECT size, mode, sum(amount) FROM sale WHERE size < 3 GROUP BY size, mode"
    rows = sorted(con.execute(query).fetchall(), key=repr)
    monkeypatch.setattr(table_job, "fuse", lambda *_: "the keys have more than 2**62 combinations")
    assert sorted(con.execute(f"{query} LIMIT 99").fetchall(), key=repr) == rows


def test_many_groups_are_left_to_the_general_path(con):
    explained = node(con, "SELECT weight, sum(amount) FROM sale GROUP BY weight")
    assert explained["path"] == "general"
    assert "there is no BVH" in explained["reasons"][0]


@pytest.mark.parametrize("digits", [4, 30])
def test_a_wide_decimal_is_added_up_whatever_its_values_are(con, digits, monkeypatch):
    """A sample that saw no large value is no promise that there is none."""
    monkeypatch.setattr("raydb.planner.stars.table_scan._fits_int64", lambda *_: True)
    con.execute("CREATE TABLE bill (kind INTEGER, total DECIMAL(38, 2))")
    con.execute(
        "INSERT INTO bill SELECT x % 3, CASE WHEN x = 400 THEN ?::DECIMAL(38, 2) ELSE x END"
        " FROM range(999) r (x)",
        ["1" + "0" * digits],
    )
    sql = "SELECT kind, sum(total), max(total * 2), count(*) FROM bill GROUP BY kind ORDER BY kind"
    assert "FusedTableScan" in str(con.execute(f"EXPLAIN {sql}").fetchall())
    found = con.execute(sql).fetchall()
    largest = 10**digits
    sums = [sum(x for x in range(kind, 999, 3) if x != 400) for kind in range(3)]
    assert found == [
        (0, sums[0], 2 * 996, 333),
        (1, sums[1] + largest, 2 * largest, 333),
        (2, sums[2], 2 * 998, 333),
    ]


def test_codes_of_dates_and_decimals_are_those_of_their_dictionary():
    """Whole numbers of a narrow span are encoded by a table, others by their sorted values."""
    rng = np.random.default_rng(5)
    days = pa.array(rng.integers(-400, 400, ROWS).astype(np.int32), mask=rng.random(ROWS) < 0.1)
    prices = pa.array(rng.integers(-900, 900, ROWS)).cast(pa.decimal128(38, 2))
    for column in (days.cast(pa.date32()), prices, days.cast(pa.int64()), days.slice(0, 0)):
        found = column_codes(pa.chunked_array([column.slice(0, 999), column.slice(999)]))
        expected = encode_column(column)
        assert found.values[0].equals(expected.values)
        assert np.array_equal(found.codes, expected.codes)


def test_intervals_and_lists_are_left_to_the_general_path(con):
    con.execute("CREATE TABLE stay (i INTERVAL, l INTEGER[], x INTEGER)")
    con.execute(
        "INSERT INTO stay SELECT INTERVAL '1 day' * (x % 3), [x % 5], x"
        " FROM generate_series(1, 999) g (x)"
    )
    counts = "SELECT CAST({0} AS VARCHAR), count(*) FROM stay GROUP BY {0} ORDER BY 1"
    assert con.execute(counts.format("i")).fetchall() == [
        ("00:00:00", 333),
        ("1 day", 333),
        ("2 days", 333),
    ]
    assert len(con.execute(counts.format("l")).fetchall()) == 5
    for predicate in ("i = INTERVAL '1 day'", "CAST(i AS VARCHAR) = '1 day'", "l = [1]"):
        found = con.execute(f"SELECT x % 2, count(*) FROM stay WHERE {predicate} GROUP BY 1")
        assert {key for key, _ in found.fetchall()} == {0, 1}
    assert con.execute("SELECT count(DISTINCT i) FROM stay").fetchone() == (3,)


def test_an_error_in_a_row_that_passes_is_raised(con):
    with pytest.raises(raydb.DataError, match="division by zero"):
        con.execute("SELECT mode, sum(100 / size) FROM sale WHERE size < 3 GROUP BY mode")


def test_what_is_kept_is_bounded():
    cache = DerivedCache()
    cache.limit = 100
    made = []

    def make(what):
        made.append(what)
        return np.zeros(60, np.uint8)

    for what in ("a", "b", "a", "c", "a"):
        cache.get((), what, lambda what=what: make(what))
    assert made == ["a", "b", "a", "c", "a"]
    assert cache.size_bytes == 60


def test_an_interrupt_takes_nothing_from_the_room():
    cache = DerivedCache()

    def interrupted():
        raise KeyboardInterrupt

    for what in range(3):
        cache.get((), what, lambda: np.zeros(60, np.uint8))
        with pytest.raises(KeyboardInterrupt):
            cache.get((kept_of := np.zeros(1),), what, interrupted)
    assert kept_of.size == 1
    assert cache.size_bytes == 0


def test_what_was_made_of_other_rows_is_dropped():
    cache = DerivedCache()
    old, new = np.zeros(1), np.zeros(1)
    for number in (1, 2):
        assert cache.get((old,), "a", partial(np.array, number)) == 1
    assert cache.get((new,), "a", lambda: np.array(3)) == 3
    assert cache.get((old,), "a", lambda: np.array(4)) == 4


def test_what_was_made_of_rows_that_are_gone_is_dropped(con):
    con.execute("CREATE TABLE other AS SELECT * FROM sale")
    for statement in ("DROP TABLE other", "INSERT INTO other SELECT * FROM sale"):
        con.execute("CREATE OR REPLACE TABLE other AS SELECT * FROM sale")
        for text in ("SELECT mode, sum(amount) FROM other WHERE size < 9 GROUP BY mode",) * 3:
            con.execute(text)
        cache = con._session.database.shared.cache
        assert any("other" in what for what in cache._items)
        con.execute(statement)
        con.execute("SELECT 1")
        assert not any("other" in what for what in cache._items)


def test_the_texts_of_a_key_are_as_many_groups_as_its_rows(con):
    con.execute(
        "CREATE TABLE buyer (b_id BIGINT PRIMARY KEY, name VARCHAR, street VARCHAR);"
        "CREATE TABLE bill (buyer INTEGER REFERENCES buyer, paid INTEGER);"
        "INSERT INTO buyer SELECT range, 'name ' || range, 'street ' || range / 2 FROM range(3000);"
        "INSERT INTO bill SELECT CASE WHEN range % 7 > 0 THEN range % 2000 END, range"
        " FROM range(9000)"
    )
    for keys in ("b_id, name, street", "buyer, street", "name, street, upper(name)", "buyer"):
        query = f"SELECT {keys}, sum(paid), count(*) FROM bill LEFT JOIN buyer ON buyer = b_id"
        both = f"{query} WHERE buyer IS NULL OR buyer <> 5 GROUP BY {keys}"
        for text in (f"{query} GROUP BY {keys}", both):
            plan = con.execute(f"EXPLAIN {text}").fetchall()
            assert any("FusedTableScan" in line for (line,) in plan)
            fused = con.execute(text).fetchall()
            con.execute("SET fused_path = 'off'")
            general = con.execute(text).fetchall()
            con.execute("SET fused_path = 'on'")
            assert sorted(fused, key=repr) == sorted(general, key=repr)
            assert len(fused) > 1000


def test_what_has_no_loops_is_folded_beside_its_count(monkeypatch) -> None:
    monkeypatch.setattr("raydb.planner.stars.table_scan.MIN_ROWS", 0)
    connection = raydb.connect()
    connection.execute("CREATE TABLE shop (id INTEGER PRIMARY KEY, city VARCHAR)")
    connection.execute("INSERT INTO shop VALUES (0, 'Ulm'), (1, 'Bonn')")
    connection.execute(
        "CREATE TABLE sale (shop INTEGER REFERENCES shop (id), code VARCHAR, number UBIGINT)"
    )
    connection.execute("INSERT INTO sale SELECT range % 2, 'c' || range, range FROM range(1000)")
    connection.execute("INSERT INTO sale VALUES (1, NULL, 18446744073709551615)")
    query = """SELECT city, count(code), min(code), max(code), count(number), sum(number),
        min(number) FROM sale JOIN shop ON shop = id GROUP BY city ORDER BY city"""
    counts = "SELECT count(code), count(number) FROM sale"
    assert connection.execute(f"EXPLAIN {counts}").fetchone() == ("path: fused",)
    assert connection.execute(counts).fetchone() == (1000, 1001)
    assert connection.execute(query).fetchall() == [
        ("Bonn", 500, "c1", "c999", 501, 18446744073709551615 + 250_000, 1),
        ("Ulm", 500, "c0", "c998", 500, 249_500, 0),
    ]
    assert connection.execute("SELECT sum(number) FROM sale").fetchone() == (2**64 + 499_499,)


def test_numbers_beyond_64_bits_are_counted_over_many_rows(monkeypatch) -> None:
    monkeypatch.setattr("raydb.planner.stars.table_scan.MIN_ROWS", 0)
    connection = raydb.connect()
    connection.execute("CREATE TABLE sale (shop INTEGER, worth HUGEINT)")
    connection.execute(
        "INSERT INTO sale SELECT range % 2, 10000000000000000000000000 + range FROM range(1000)"
    )
    connection.execute("INSERT INTO sale VALUES (1, NULL)")
    query = "SELECT shop, count(worth), count(*) FROM sale GROUP BY shop ORDER BY shop"
    assert connection.execute(query).fetchall() == [(0, 500, 500), (1, 500, 501)]


def test_values_that_are_more_than_a_sample_tells_are_counted_by_the_rows(con, monkeypatch):
    queries = [
        "SELECT mode, count(DISTINCT size), sum(size) FROM sale GROUP BY mode ORDER BY mode",
        "SELECT count(DISTINCT size) FROM sale WHERE id > 9",
    ]
    expected = [con.execute(query).fetchall() for query in queries]
    monkeypatch.setattr(table_job, "DENSE_GROUPS", 5)
    asked = []
    monkeypatch.setattr(delta, "look_up", lambda *given: asked.append(1) or look_up(*given))
    con.execute("SET plan_cache = 'off'")
    for query, rows in zip(queries, expected, strict=True):
        assert "FusedTableScan" in str(con.execute(f"EXPLAIN {query}").fetchall())
        assert con.execute(query).fetchall() == rows
    con.execute("SET plan_cache = 'on'")
    for query, rows in zip(queries, expected, strict=True):
        # A text that has no plan yet.
        assert [con.execute(f"{query} LIMIT 9").fetchall() for _ in range(3)] == [rows] * 3
    assert len(asked) == 8


def test_what_one_plan_asked_for_leaves_little(monkeypatch):
    monkeypatch.setattr(derived_cache, "ONCE_BYTES", 100)
    cache = DerivedCache()
    made = []

    def ask(what):
        cache.get((), what, lambda: made.append(what) or np.zeros(60, np.uint8))

    def plan(*names):
        cache.begin(None)
        for name in names:
            ask(name)

    plan("a", "b", "c")
    assert cache.size_bytes == 180  # A plan has whatever it needs.
    plan("a")
    plan("d")
    assert not cache.has((), "b")  # "a" came again, "c" may stay.
    assert cache.size_bytes == 180
    plan("e")
    assert not cache.has((), "c")
    assert cache.size_bytes == 180
    plan("b")
    assert made == ["a", "b", "c", "d", "e", "b"]
    for name in "fghi":
        plan(name)
    assert cache.has((), "b")  # It was asked for by two plans.
    plan("a", "b")
    assert made[6:] == list("fghi")


def test_much_that_is_dropped_goes_back_to_the_system(monkeypatch):
    told = []
    monkeypatch.setattr(derived_cache, "give_back_dropped", told.append)
    cache = DerivedCache()
    cache.limit = 100
    for what in "abb":
        cache.get((), what, lambda: np.zeros(60, np.uint8))
    assert told == [0, 60, 0]


@pytest.mark.parametrize("first", [0, 40])
def test_what_lies_behind_a_key_to_more_rows(con, first) -> None:
    """Values are made of the rows that are referred to, not of all of a large dimension."""
    con.execute("CREATE TABLE ticket (id INTEGER PRIMARY KEY, price DECIMAL(7, 2), kind INTEGER)")
    con.execute(
        "INSERT INTO ticket SELECT i, CASE WHEN i % 7 > 0 THEN i END, i % 5 FROM range(3000) r(i)"
    )
    con.execute("CREATE TABLE back (ticket INTEGER REFERENCES ticket, given INTEGER)")
    con.execute(
        "INSERT INTO back SELECT CASE WHEN i % 9 > 0 THEN i * 37 % 3000 END, i FROM range(900) r(i)"
    )
    con.execute(f"DELETE FROM back WHERE given < {first}")
    query = (
        "SELECT kind, sum(price * given), count(price), sum(price + 1)"
        " FROM back LEFT JOIN ticket ON ticket = id GROUP BY kind ORDER BY kind"
    )
    answers = []
    for fused in ("on", "off"):
        con.execute(f"SET fused_path = '{fused}'")
        assert ("FusedTableScan" in str(con.execute(f"EXPLAIN {query}").fetchall())) == (
            fused == "on"
        )
        answers.append(con.execute(query).fetchall())
    assert answers[0] == answers[1]
    assert len(answers[0]) == 6


def test_a_function_that_fails_for_a_row_that_is_left_out(con) -> None:
    con.execute("CREATE TABLE moment (ok BOOLEAN, at TIMESTAMP)")
    con.execute(
        "INSERT INTO moment SELECT i % 2 = 0, CASE WHEN i % 2 = 0 THEN TIMESTAMP '2020-01-01'"
        " ELSE TIMESTAMP '294247-01-10 04:00:54.775806' END FROM range(900) r(i)"
    )
    for function in ("date_diff", "date_sub"):
        condition = f"{function}('microsecond', TIMESTAMP '1900-01-01', at) > 0"
        query = f"SELECT count(*) FROM moment WHERE ok AND {condition}"
        for fused in ("on", "off"):
            con.execute(f"SET fused_path = '{fused}'")
            assert con.execute(query).fetchall() == [(450,)]


def test_distinct_values_of_lists_of_a_dimension(con) -> None:
    con.execute("CREATE TABLE tagged (id INTEGER PRIMARY KEY, tags INTEGER[])")
    con.execute("INSERT INTO tagged VALUES (1, [1, 1]), (2, [2]), (3, NULL)")
    con.execute("CREATE TABLE use (tagged INTEGER REFERENCES tagged)")
    con.execute("INSERT INTO use SELECT 1 + i % 3 FROM range(900) r(i)")
    for asked in ("len(tags)", "tags", "tags[1]"):
        query = f"SELECT count(DISTINCT {asked}) FROM use JOIN tagged ON tagged = id"
        assert con.execute(query).fetchall() == [(2,)]
