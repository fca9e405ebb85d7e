"""Keys of one side of a join that filter the scans of its other side: answers are DuckDB's."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest

import raydb
from raydb.engine.operators import steps
from raydb.engine.operators.join import key_set
from raydb.engine.operators.relation import Relation
from raydb.planner import key_filters
from raydb.planner.expressions.nodes import Column
from raydb.storage.tables import zones

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from raydb.engine.api.connection import Connection

SCHEMA = """
CREATE TABLE product (p_id BIGINT PRIMARY KEY, kind INTEGER, name VARCHAR);
CREATE TABLE sale (
    id INTEGER, product BIGINT REFERENCES product (p_id), shop INTEGER, day DATE,
    price DECIMAL(9, 2), ratio DOUBLE, wide BIGINT, note VARCHAR);
CREATE TABLE pick (product BIGINT, shop SMALLINT, day DATE, price DECIMAL(9, 2), ratio DOUBLE,
    wide BIGINT, note VARCHAR);
"""
TABLES = ("product", "sale", "pick")

# What each of these asks has few keys on one side: those of `pick`, or of products of one kind.
QUERIES = {
    "inner": "SELECT s.id, k.shop FROM sale s JOIN pick k ON s.product = k.product",
    "comma": "SELECT s.id FROM sale s, pick k, product p WHERE p.p_id = s.product"
    " AND s.day = k.day AND p.kind = 3",
    "two keys": "SELECT s.id FROM sale s JOIN pick k ON s.product = k.product AND s.day = k.day",
    "decimals": "SELECT s.id FROM sale s JOIN pick k ON s.price = k.price",
    "doubles": "SELECT s.id FROM sale s JOIN pick k ON s.ratio = k.ratio",
    "far apart": "SELECT s.id FROM sale s JOIN pick k ON s.wide = k.wide",
    "texts": "SELECT s.id FROM sale s JOIN pick k ON s.note = k.note",
    "types that differ": "SELECT s.id FROM sale s JOIN pick k ON s.shop = k.shop",
    "null safe": "SELECT s.id FROM sale s JOIN pick k ON s.product IS NOT DISTINCT FROM k.product",
    "left": "SELECT k.product, s.id FROM pick k LEFT JOIN sale s ON s.product = k.product"
    " AND k.shop > 3",
    "right": "SELECT k.product, s.id FROM sale s RIGHT JOIN pick k ON s.product = k.product",
    "full": "SELECT k.product, s.id FROM sale s FULL JOIN pick k ON s.product = k.product",
    "kept left": "SELECT s.id, k.day FROM sale s LEFT JOIN pick k ON s.product = k.product",
    "in": "SELECT id FROM sale WHERE product IN (SELECT product FROM pick)",
    "not in": "SELECT id FROM sale WHERE product NOT IN (SELECT p_id FROM product WHERE kind = 3)",
    "exists": "SELECT product FROM pick k WHERE EXISTS (SELECT 1 FROM sale s"
    " WHERE s.product = k.product AND s.shop <> k.shop)",
    "not exists": "SELECT product FROM pick k WHERE NOT EXISTS (SELECT 1 FROM sale s"
    " WHERE s.product = k.product AND s.shop > 2)",
    "mark": "SELECT k.product FROM pick k WHERE k.shop = 1 OR EXISTS (SELECT 1 FROM sale s"
    " WHERE s.product = k.product)",
    "below a join": "SELECT a.id, b.id FROM sale a JOIN product p ON a.product = p_id"
    " JOIN sale b ON b.id = a.id JOIN pick k ON k.product = p_id",
    "below a left join": "SELECT s.id, p.name FROM sale s LEFT JOIN product p ON s.product = p_id"
    " JOIN pick k ON s.day = k.day",
    "of a left join's right side": "SELECT s.id FROM pick k LEFT JOIN sale s ON s.shop = k.shop"
    " JOIN product p ON p_id = s.product AND p.kind = 3",
    "correlated": "SELECT s.id FROM sale s JOIN product p ON p_id = s.product WHERE p.kind = 3"
    " AND s.price < (SELECT 0.9 * avg(price) FROM sale x WHERE x.product = p_id)",
    "groups": "SELECT k.product, t.total FROM pick k JOIN (SELECT product, sum(price) AS total,"
    " count(*) FROM sale GROUP BY product) t ON t.product = k.product",
    "groups by two": "SELECT k.product, t.total FROM pick k JOIN (SELECT product, day,"
    " count(*) AS total FROM sale GROUP BY product, day HAVING count(*) > 1) t"
    " ON t.product = k.product AND t.day = k.day",
    "sets of groups": "SELECT k.product, t.total FROM pick k JOIN (SELECT product, day,"
    " count(*) AS total FROM sale GROUP BY ROLLUP (product, day)) t ON t.product = k.product",
    "total": "SELECT k.product FROM pick k JOIN (SELECT max(product) AS most FROM sale) t"
    " ON t.most = k.product",
    "window": "SELECT s.id, s.place FROM pick k JOIN (SELECT id, product, row_number() OVER"
    " (PARTITION BY shop ORDER BY id) AS place FROM sale) s ON s.product = k.product",
    "limit": "SELECT s.id FROM pick k JOIN (SELECT id, product FROM sale ORDER BY id LIMIT 500) s"
    " ON s.product = k.product",
    "union": "SELECT s.id FROM pick k JOIN (SELECT product, id FROM sale WHERE shop = 1 UNION ALL"
    " SELECT p_id, kind FROM product) s ON s.product = k.product",
    "shared": "WITH s AS (SELECT DISTINCT id, product FROM sale WHERE shop < 4) SELECT a.id"
    " FROM s a JOIN pick k ON k.product = a.product UNION ALL"
    " SELECT b.id FROM s b WHERE b.id < 300",
    "fewer expected": "SELECT s.id FROM sale s JOIN pick k ON s.product = k.product"
    " WHERE s.price > 100 AND s.ratio = 1.5 AND s.note = 'aaa' AND s.wide > 0",
    "failing": "SELECT s.id FROM pick k JOIN sale s ON s.product = k.product"
    " WHERE 10 / (s.id + 1) >= 0",
}


def rows(draw: random.Random, count: int, products: int) -> dict[str, list[Any]]:
    """Return the rows of a sale but its number; every column has NULLs and repeats."""

    def column(one: Any) -> list[Any]:
        return [None if draw.random() < 0.05 else one() for _ in range(count)]

    return {
        "product": column(lambda: draw.randrange(products)),
        "shop": column(lambda: draw.randrange(8)),
        "day": column(lambda: f"2026-0{draw.randrange(1, 10)}-{draw.randrange(10, 29)}"),
        "price": column(lambda: draw.randrange(-500, 500) / 4),
        "ratio": column(lambda: draw.choice([0.0, -0.0, 1.5, -2.25, float("nan"), 1e300])),
        "wide": column(lambda: draw.randrange(300) * 2**54 - 2**60),
        "note": column(lambda: draw.choice("abcdefgh") * draw.randrange(1, 9)),
    }


def fill(connection: Any, seed: int, picks: int) -> None:
    """Put the same random rows into either engine; some sales are deleted, others come late."""
    draw = random.Random(seed)
    products, count = 400, 3000
    names = [
        {"p_id": n, "kind": draw.randrange(40), "name": f"product {n}"} for n in range(products)
    ]
    sales = pa.table({"id": range(count), **rows(draw, count, products)})
    some = rows(draw, picks, products)
    picked = pa.table({name: some[name] for name in some})
    given = {"product": pa.Table.from_pylist(names), "sale": sales, "pick": picked}
    for table, values in given.items():
        types = {"day": "DATE", "price": "DECIMAL(9, 2)", "product": "BIGINT", "shop": "INTEGER"}
        types |= {"ratio": "DOUBLE", "wide": "BIGINT", "note": "VARCHAR"}
        chosen = ", ".join(
            f"CAST({name} AS {types[name]})" if name in types else name
            for name in values.column_names
        )
        connection.register("given", values)
        connection.execute(f"INSERT INTO {table} SELECT {chosen} FROM given")
        connection.unregister("given")
    connection.execute("DELETE FROM sale WHERE id % 7 = 3")
    connection.execute("INSERT INTO sale SELECT id + 5000, product, shop, day, price, ratio, wide,"
                       " note FROM sale WHERE id % 11 = 0")  # fmt: skip


@pytest.fixture(params=[0, 5, 60], ids=["no key", "few keys", "some keys"])
def engines(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[tuple[Connection, Connection, Any]]:
    monkeypatch.setattr(key_filters, "_MIN_ROWS", 100)
    monkeypatch.setattr(zones, "ZONE_ROWS", 64)
    monkeypatch.setattr(steps, "MORSEL_ROWS", 500)
    monkeypatch.setattr(key_set, "MORSEL_ROWS", 300)
    oracle = duckdb.connect()
    oracle.execute(SCHEMA.replace("PRIMARY KEY", "").replace("REFERENCES product (p_id)", ""))
    fill(oracle, request.param, request.param)
    connections = []
    for database in (":memory:", str(tmp_path / "sales.raydb")):
        connection = raydb.connect(database)
        connection.execute(SCHEMA)
        fill(connection, request.param, request.param)
        connections.append(connection)
    connections[1].close()
    connections[1] = raydb.connect(str(tmp_path / "sales.raydb"))
    yield connections[0], connections[1], oracle
    for connection in (*connections, oracle):
        connection.close()


def answer(connection: Any, query: str) -> Counter[str]:
    return Counter(map(str, connection.execute(query).fetchall()))


@pytest.mark.long
def test_filters_by_keys_change_no_answer(engines: tuple[Connection, Connection, Any]) -> None:
    in_memory, on_disk, oracle = engines
    for name, query in QUERIES.items():
        expected = answer(oracle, query)
        assert answer(in_memory, query) == expected, name
        assert answer(on_disk, query) == expected, name
        in_memory.execute("SET fused_path = 'off'")
        assert answer(in_memory, query) == expected, name
        in_memory.execute("RESET fused_path")


@pytest.mark.parametrize(
    ("query", "filtered"),
    [
        (QUERIES["inner"], ["product among the values of product"]),
        (
            QUERIES["correlated"],
            ["product among the values of product", "product among the values of p_id"],
        ),
        (QUERIES["groups"], ["product among the values of product"]),
        (QUERIES["left"], ["product among the values of product"]),
        (QUERIES["in"], ["product among the values of product"]),
        (
            QUERIES["union"],
            ["product among the values of product", "p_id among the values of product"],
        ),
        (QUERIES["fewer expected"], ["product among the values of product"]),
        (QUERIES["kept left"], []),
        (QUERIES["full"], []),
        (QUERIES["null safe"], []),
        (QUERIES["limit"], []),
        (QUERIES["total"], []),
        (QUERIES["shared"], []),
        (QUERIES["failing"], []),
        ("SELECT s.id FROM sale s JOIN product p ON s.product = p_id", []),
    ],
)
def test_a_filter_is_placed_where_it_drops_rows_alone(
    monkeypatch: pytest.MonkeyPatch, query: str, filtered: list[str]
) -> None:
    monkeypatch.setattr(key_filters, "_MIN_ROWS", 100)
    with raydb.connect() as connection:
        connection.execute(SCHEMA)
        fill(connection, 1, 5)
        plan = connection.execute(f"EXPLAIN {query}").fetchall()
    lines = [str(row[-1]).strip() for row in plan]
    found = [line.removeprefix("KeyFilter: ") for line in lines if line.startswith("KeyFilter")]
    assert found == filtered


def test_few_rows_of_a_large_table_are_scanned_for_few_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(key_filters, "_MIN_ROWS", 100)
    with raydb.connect() as connection:
        connection.execute(SCHEMA)
        fill(connection, 1, 5)
        asked = QUERIES["groups"]
        lines = [str(row[-1]) for row in connection.execute(f"EXPLAIN ANALYZE {asked}").fetchall()]
        (place,) = [n for n, line in enumerate(lines) if "KeyFilter" in line]
        (kept,) = connection.execute(
            "SELECT count(*) FROM sale WHERE product IN (SELECT product FROM pick)"
        ).fetchone()  # type: ignore[misc]
    assert lines[place + 1].strip().startswith(f"gave: {kept} rows")


def test_keys_are_a_bitmap_of_bounded_size() -> None:
    near = pa.chunked_array([[5, None, 70], [], [5, 900]], pa.int64())
    keys = key_set.key_set(near, 2**20)
    assert keys is not None
    assert (keys.count, keys.least.as_py(), keys.most.as_py()) == (3, 5, 900)
    asked = pa.array([4, 5, 6, None, 900, 901, -(2**63), 2**63 - 1])
    assert keys.rows(asked).tolist() == [1, 4]  # type: ignore[union-attr]
    assert key_set.key_set(pa.array([-(2**63), 2**63 - 1]), 2**40) is None
    assert key_set.key_set(near, 16) is None
    nothing = key_set.key_set(pa.array([None], pa.int32()), 2**20)
    assert nothing is not None
    assert not len(nothing.rows(pa.array([0, 7, None], pa.int32())))  # type: ignore[arg-type]


def test_keys_of_empty_tables_are_sent_like_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("raydb.planner.key_filters._MIN_ROWS", 1)
    connection = raydb.connect()
    connection.execute("CREATE TABLE shop (id INTEGER PRIMARY KEY)")
    connection.execute("CREATE TABLE visit (shop INTEGER REFERENCES shop (id), day INTEGER)")
    connection.execute("CREATE TABLE closed (shop INTEGER)")
    connection.execute("CREATE TABLE days AS SELECT range AS day FROM range(9)")
    for query in (
        "SELECT shop FROM visit LEFT JOIN days USING (day) WHERE shop IN (SELECT shop FROM closed)",
        "SELECT id FROM shop LEFT JOIN days ON day = id WHERE id IN (SELECT shop FROM closed)",
    ):
        assert connection.execute(query).fetchall() == []


def test_bounds_of_keys_leave_rows_of_tables_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_filters, "_MIN_ROWS", 100)
    connection = raydb.connect()
    connection.execute("CREATE TABLE day (id INTEGER PRIMARY KEY, month INTEGER)")
    connection.execute("INSERT INTO day SELECT range, floor(range / 30) FROM range(360)")
    connection.execute("CREATE TABLE sale (day INTEGER REFERENCES day (id), n BIGINT)")
    connection.execute("INSERT INTO sale SELECT floor(range / 500), range FROM range(180000)")
    asked = "SELECT n FROM sale JOIN day ON day = id WHERE month = 5"
    answers = [connection.execute(f"{asked} -- {n}").fetchall() for n in range(3)]
    lines = [str(row[-1]) for row in connection.execute(f"EXPLAIN ANALYZE {asked}").fetchall()]
    (place,) = [n for n, line in enumerate(lines) if "ScanTable: sale" in line]
    assert answers == 3 * [[(n,) for n in range(75_000, 90_000)]]
    assert lines[place + 1].strip().startswith("gave: 32768 rows")


def test_a_join_with_no_row_on_one_side_does_not_run_the_other() -> None:
    connection = raydb.connect()
    connection.execute("CREATE TABLE nothing (id INTEGER)")
    connection.execute("CREATE TABLE some AS SELECT range AS id, 'x' AS name FROM range(200000)")
    for asked, rows in (
        ("FROM some JOIN nothing ON some.id = nothing.id", 0),
        ("FROM some SEMI JOIN nothing ON some.id = nothing.id", 0),
        ("FROM some, nothing", 0),
        ("FROM nothing LEFT JOIN some ON some.id = nothing.id", 0),
        ("FROM some LEFT JOIN nothing ON some.id = nothing.id", 200_000),
        ("FROM some RIGHT JOIN nothing ON some.id = nothing.id", 0),
        ("FROM some FULL JOIN nothing ON some.id = nothing.id", 200_000),
        ("FROM some ANTI JOIN nothing ON some.id = nothing.id", 200_000),
        ("FROM nothing ANTI JOIN some ON some.id = nothing.id", 0),
    ):
        assert connection.execute(f"SELECT count(*) {asked}").fetchall() == [(rows,)], asked
        whole = connection.execute(f"SELECT * {asked}")
        assert len(whole.fetchall()) == rows, asked
        lines = [
            str(row[-1])
            for row in connection.execute(f"EXPLAIN ANALYZE SELECT * {asked}").fetchall()
        ]
        scans = [n for n, line in enumerate(lines) if "ScanTable: some" in line]
        if rows == 0:
            assert all("gave" not in "".join(lines[n + 1 : n + 2]) for n in scans), asked


def test_filters_in_a_row_ask_the_strictest_first_and_leave_out_those_that_all_pass() -> None:
    count = 5000
    columns = [Column(place, "key", pa.int64()) for place in range(3)]
    numbers = pa.array(range(count))
    values = [numbers, pa.array([None if n % 5 == 0 else n % 7 for n in range(count)]), numbers]
    rows = Relation(dict(zip(columns, values, strict=True)), count)
    keys = [
        key_set.key_set(pa.array(some), 2**20)
        for some in (range(4000), [1, 3], range(10, count + 10))
    ]
    filters = key_set.KeyFilters(list(zip(columns, keys, strict=True)))  # type: ignore[arg-type]
    ordered = filters.strictest_first(rows)
    assert [column.number for column, _ in ordered.filters] == [1, 0]
    kept = [n for n in range(count) if n % 5 and n % 7 in (1, 3) and n < 4000]
    assert ordered.rows(rows).tolist() == kept  # type: ignore[union-attr]
    assert filters.rows_in_threads(rows).tolist() == kept  # type: ignore[union-attr]
