"""ORDER BY ... LIMIT: the first rows are sought among few, and are those of a whole sort."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import raydb

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = 3000
JOIN = "FROM sales JOIN store ON store_id = s_id"


@pytest.fixture(autouse=True)
def few_rows_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("raydb.planner.top_rows.MIN_ROWS", 0)
    monkeypatch.setattr("raydb.engine.operators.limit.SAMPLE_ROWS", 256)
    monkeypatch.setattr("raydb.engine.operators.limit._FIRST_OF_SAMPLE", 2)
    monkeypatch.setattr("raydb.engine.operators.sort.SAMPLE_ROWS", 256)


@pytest.fixture(params=[0.3, 0.998], ids="nulls {}".format)
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[Any, Any]]:
    """Stores and their sales with a column of each type, NULL in a share of the rows."""
    rng = np.random.default_rng(5)
    numbers = rng.integers(-500, 500, ROWS)
    mask = rng.random(ROWS) < request.param
    doubles = numbers / 4
    doubles[::97] = np.nan
    days = numbers.astype("datetime64[D]")
    sales = pa.table(
        {
            "id": np.arange(ROWS),
            "store_id": rng.integers(0, 20, ROWS),
            "i": pa.array(numbers.astype(np.int32), mask=mask),
            "n": pa.array(numbers, mask=mask).cast(pa.decimal128(21, 2)),
            "f": pa.array(doubles, mask=mask, from_pandas=False),
            "s": pa.array([f"text {number}" for number in numbers.tolist()], mask=mask),
            "d": pa.array(days, mask=mask),
            "m": pa.array(days.astype("datetime64[us]"), mask=mask),
            "b": pa.array(numbers > 0, mask=mask),
        }
    )
    store = pa.table({"s_id": np.arange(20), "city": [f"city {n % 6}" for n in range(20)]})
    ours, theirs = raydb.connect(), duckdb.connect()
    for connection, rows in ((c, r) for c in (ours, theirs) for r in (sales, store)):
        name = "sales" if rows is sales else "store"
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM rows")
    for connection in (ours, theirs):
        connection.execute("DELETE FROM sales WHERE id % 7 = 3")
    yield ours, theirs
    ours.close()
    theirs.close()


def plan_of(connection: Any, sql: str) -> str:
    return "\n".join(line for (line,) in connection.execute(f"EXPLAIN {sql}").fetchall())


@pytest.mark.long
@pytest.mark.parametrize("column", "infsdmb")
def test_the_first_rows_are_those_of_a_whole_sort(pair: tuple[Any, Any], column: str) -> None:
    ours, theirs = pair
    for order in ("ASC", "DESC"):
        for nulls in ("FIRST", "LAST"):
            first = f"ORDER BY {column} {order} NULLS {nulls}, id"
            for sql in (
                f"SELECT id, {column} FROM sales {first} LIMIT 5",
                f"SELECT id, {column}, city {JOIN} WHERE city > 'city 1' {first} LIMIT 9 OFFSET 3",
                f"SELECT id, {column} {JOIN} WHERE city = 'city 5' AND i < -480 {first} LIMIT 20",
                f"SELECT id, city FROM sales LEFT JOIN store ON store_id = s_id {first} LIMIT 4",
                f"SELECT id FROM sales WHERE store_id NOT IN (SELECT s_id FROM store"
                f" WHERE city < 'city 4') {first} LIMIT 7",
            ):
                found = ours.execute(sql).fetchall()
                assert repr(found) == repr(theirs.execute(sql).fetchall()), sql


def test_rows_are_sought_among_the_first_of_the_table_that_has_the_key() -> None:
    con = raydb.connect()
    con.execute("CREATE TABLE store (s_id BIGINT PRIMARY KEY, city VARCHAR)")
    con.execute("CREATE TABLE sales (id BIGINT, store_id BIGINT, price BIGINT)")
    con.execute("INSERT INTO store SELECT range, 'city ' || range % 5 FROM range(20)")
    con.execute("INSERT INTO sales SELECT range, range % 20, range * 7919 % 10007 FROM range(5000)")
    sql = f"SELECT id, city {JOIN} WHERE city <> 'city 2' ORDER BY price DESC LIMIT 3"
    assert "sought: among the rows of 'sales' of most price" in plan_of(con, sql)
    analyzed = con.execute(f"EXPLAIN ANALYZE {sql}").fetchall()
    assert "gave: 3 rows" in "\n".join(line for (line,) in analyzed)
    # A row that the join adds, an aggregate, a part that may fail: all rows are looked at.
    for other in (
        f"SELECT id {JOIN.replace('JOIN', 'FULL JOIN')} ORDER BY price DESC LIMIT 3",
        f"SELECT price, count(*) {JOIN} GROUP BY price ORDER BY price DESC LIMIT 3",
        f"SELECT id {JOIN} WHERE 1 / price > 0 ORDER BY price DESC LIMIT 3",
        f"SELECT id {JOIN} ORDER BY 1 / price DESC LIMIT 3",
        f"SELECT id {JOIN} ORDER BY price DESC LIMIT 3000",
    ):
        assert "TopRows" not in plan_of(con, other), other
    with pytest.raises(raydb.DataError, match="division by zero"):
        con.execute(f"SELECT id {JOIN} WHERE 1 / price > -1 ORDER BY price DESC LIMIT 3")


@pytest.mark.parametrize("order", ["", "DESC", "NULLS FIRST", "DESC NULLS LAST"])
def test_no_row_is_asked_for(order: str) -> None:
    con = raydb.connect()
    con.execute("CREATE TABLE t AS SELECT range AS a, range * 7919 % 3001 AS b FROM range(5000)")
    for _ in range(3):  # The numbers of a key are kept from the second time on.
        assert con.execute(f"SELECT * FROM t ORDER BY b {order} LIMIT 0").fetchall() == []
        found = con.execute(f"SELECT b FROM t ORDER BY b {order} LIMIT ?", [2]).fetchall()
        assert found == ([(3000,), (3000,)] if "DESC" in order else [(0,), (0,)])[: len(found)]
        assert len(found) == 2


def test_a_filter_that_leaves_no_rows_leaves_none() -> None:
    con = raydb.connect()
    con.execute("CREATE TABLE t (a BIGINT, b BIGINT)")
    sql = "SELECT a FROM t WHERE b > 10000 ORDER BY a LIMIT 3"
    assert con.execute(sql).fetchall() == []
    con.execute("INSERT INTO t SELECT range, range FROM range(5000)")
    assert "TopRows" in plan_of(con, sql.replace("10000", "100"))
    assert con.execute(sql).fetchall() == []


@pytest.mark.parametrize("nulls", ["FIRST", "LAST"])
def test_filters_that_leave_the_first_rows_out_are_asked_of_the_sample(nulls: str) -> None:
    rng = np.random.default_rng(8)
    texts = [f"t{number:03}" for number in rng.integers(0, 300, ROWS)]
    made = pa.table(  # noqa: F841  (both read it)
        {
            "id": np.arange(ROWS),
            "s": pa.array(np.where(rng.random(ROWS) < 0.6, "", texts), mask=rng.random(ROWS) < 0.1),
            "n": pa.array(np.where(rng.random(ROWS) < 0.6, 0, rng.integers(1, 900, ROWS))),
        }
    )
    ours, theirs = raydb.connect(), duckdb.connect()
    for connection in (ours, theirs):
        connection.execute("CREATE TABLE t AS SELECT * FROM made")
        connection.execute("DELETE FROM t WHERE id % 5 = 1")
    for where, key in (
        ("s <> ''", "s"),
        ("s <> '' AND id > 50", "upper(s)"),
        ("n > 0", "n"),
        ("n > 0 AND n < 880", "n DESC"),
        ("n > 890", "n"),  # too few of the sample pass to say anything
    ):
        order = f"ORDER BY {key} NULLS {nulls}, id LIMIT 6"
        sql = f"SELECT id, s, n FROM t WHERE {where} {order}"
        for _ in range(2):  # the numbers of a key are kept from the second time on
            assert ours.execute(sql).fetchall() == theirs.execute(sql).fetchall(), sql
    plan = ours.execute(
        f"EXPLAIN ANALYZE SELECT s FROM t WHERE s <> '' ORDER BY s NULLS {nulls} LIMIT 3"
    ).fetchall()
    scanned = [line for (line,) in plan[-2:]]
    assert f"gave: {ROWS * 4 // 5} rows" in scanned[0], "the table is read once"


@pytest.mark.parametrize(
    "condition", ["k IN (SELECT k FROM d)", "EXISTS (SELECT 1 FROM d WHERE d.k = f.k)"]
)
def test_keys_of_the_first_try_filter_no_other(condition):
    with raydb.connect() as con:
        # The rows of most i have keys that d lacks.
        con.execute(
            "CREATE TABLE f AS SELECT i, CASE WHEN i < 180000 THEN i ELSE -i END AS k, i % 100 AS g"
            " FROM range(200000) AS r(i)"
        )
        con.execute("CREATE TABLE d AS SELECT k FROM range(200000) AS r(k)")
        query = f"SELECT i FROM f WHERE g < 50 AND {condition} ORDER BY i DESC LIMIT 3"
        assert con.execute(query).fetchall() == [(179949,), (179948,), (179947,)]
