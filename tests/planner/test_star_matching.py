"""Star matching, the choice of a BVH, and what EXPLAIN says of both."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import raydb
from raydb.planner.expressions.nodes import Attribute
from raydb.planner.stars.star import canonical

SCHEMA = """
CREATE TABLE nation (n_id INTEGER PRIMARY KEY, n_name VARCHAR);
CREATE TABLE shop (s_id INTEGER PRIMARY KEY, s_city VARCHAR, s_nation INTEGER REFERENCES nation);
CREATE TABLE day (d_id BIGINT PRIMARY KEY, d_year INTEGER);
CREATE TABLE sale (
    shop INTEGER REFERENCES shop, sold INTEGER REFERENCES day, sent INTEGER REFERENCES day,
    amount INTEGER, price DECIMAL(8, 2), note VARCHAR);
INSERT INTO nation VALUES (1, 'NORWAY'), (2, 'FRANCE');
INSERT INTO shop VALUES (1, 'Oslo', 1), (2, 'Lyon', 2), (3, 'Nowhere', NULL);
INSERT INTO day VALUES (10, 1994), (11, 1995);
INSERT INTO sale VALUES
    (1, 10, 11, 1, 1.00, 'a'), (2, 11, 11, 2, 2.00, 'b'), (3, 10, 10, 4, 3.00, NULL),
    (NULL, 11, 11, 8, 4.00, 'd');
CREATE BVH wide ON sale (
    SCAN (n_name, s_city, sold.d_year, amount), GROUP BY (s_city), AGGREGATE (price, amount * 2));
CREATE BVH small ON sale (SCAN (note), AGGREGATE (price));
"""


@pytest.fixture(scope="module")
def con():
    connection = raydb.connect()
    connection.execute(SCHEMA)
    return connection


def explain(con, query):
    return json.loads(con.execute(f"EXPLAIN (FORMAT JSON) {query}").fetchone()[0])


def fused(con, query):
    """Return the fused node of a query's plan."""
    nodes = [explain(con, query)["plan"]]
    while nodes:
        node = nodes.pop()
        if node["node"] == "FusedScanAggregate":
            return node
        nodes += node["children"]
    raise AssertionError(f"not fused: {query}")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT sum(price) FROM sale, shop WHERE shop = s_id AND s_city = 'Oslo'",
        "SELECT sum(price) FROM shop JOIN sale ON s_id = shop WHERE s_city = 'Oslo'",
        "SELECT sum(p) FROM (SELECT price AS p, s_city AS c FROM sale, shop WHERE shop = s_id) "
        "WHERE c = 'Oslo'",
        "WITH v AS (SELECT * FROM sale, shop WHERE shop = s_id) "
        "SELECT sum(price) FROM v WHERE s_city = 'Oslo'",
        "SELECT sum(price) FROM (SELECT * FROM shop WHERE s_city = 'Oslo') AS x "
        "JOIN sale ON shop = s_id",
    ],
)
def test_one_star_in_many_forms(con, query):
    node = fused(con, query)
    assert (node["table"], node["bvh"], node["rows_touched"]) == ("sale", "wide", 1)
    assert [float(value) for value in con.execute(query).fetchone()] == [1.0]


def test_a_snowflake_is_followed_and_null_keys_have_no_partner(con):
    query = (
        "SELECT n_name, count(*) FROM sale, shop, nation "
        "WHERE shop = s_id AND s_nation = n_id GROUP BY n_name ORDER BY n_name"
    )
    assert fused(con, query)["bvh"] == "wide"
    assert con.execute(query).fetchall() == [("FRANCE", 1), ("NORWAY", 1)]


def test_a_join_that_adds_nothing_still_drops_null_keys(con):
    query = "SELECT sum(price) FROM sale, shop WHERE shop = s_id AND amount > 0"
    assert fused(con, query)["by_row_id"] == ["NOT (shop IS NULL)"]
    assert float(con.execute(query).fetchone()[0]) == 6.0


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        # No row without a shop is in Oslo, and none has a city that is not NULL.
        ("SELECT sum(price) FROM sale, shop WHERE shop = s_id AND s_city = 'Oslo'", [(1,)]),
        (
            "SELECT s_city, sum(price) FROM sale, shop WHERE shop = s_id GROUP BY s_city",
            [("Lyon", 2), ("Nowhere", 3), ("Oslo", 1)],
        ),
        (
            "SELECT s_city, sum(price) FROM sale, shop, nation WHERE shop = s_id"
            " AND s_nation = n_id AND n_name > 'A' GROUP BY s_city",
            [("Lyon", 2), ("Oslo", 1)],
        ),
    ],
)
def test_what_implies_that_a_key_is_not_null_spares_the_question(con, query, rows):
    assert fused(con, query)["by_row_id"] == []
    assert sorted((*keys, float(total)) for *keys, total in con.execute(query).fetchall()) == rows


def test_a_condition_that_null_passes_implies_nothing(con):
    query = "SELECT sum(price) FROM sale, shop WHERE shop = s_id AND coalesce(s_nation, 0) < 2"
    assert "NOT (shop IS NULL)" in fused(con, query)["by_row_id"]
    assert float(con.execute(query).fetchone()[0]) == 4.0


ALL = [(None, 4), ("Lyon", 2), ("Nowhere", 3), ("Oslo", 1)]


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("s_city, sum(price) FROM sale LEFT JOIN shop ON shop = s_id GROUP BY s_city", ALL),
        ("s_city, sum(price) FROM shop RIGHT JOIN sale ON shop = s_id GROUP BY s_city", ALL),
        (
            "s_city, sum(price) FROM sale LEFT JOIN shop ON shop = s_id AND s_city < 'N'"
            " GROUP BY s_city",
            [(None, 4 + 3 + 1), ("Lyon", 2)],
        ),
        (
            "n_name, sum(price) FROM sale LEFT JOIN shop ON shop = s_id AND s_city < 'N'"
            " LEFT JOIN nation ON s_nation = n_id GROUP BY n_name",
            [(None, 4 + 3 + 1), ("FRANCE", 2)],
        ),
        (
            "s_city, sum(price) FROM sale LEFT JOIN (shop JOIN nation ON s_nation = n_id)"
            " ON shop = s_id GROUP BY s_city",
            [(None, 4 + 3), ("Lyon", 2), ("Oslo", 1)],
        ),
        (
            "coalesce(s_city, '?'), sum(price) FROM sale LEFT JOIN shop ON shop = s_id"
            " WHERE s_city IS NULL OR s_city = 'Oslo' GROUP BY 1",
            [("?", 4), ("Oslo", 1)],
        ),
        ("sum(price) FROM sale LEFT JOIN shop ON shop = s_id WHERE s_id IS NULL", [(4,)]),
        (
            "sum(price) FROM sale WHERE shop IN (SELECT s_id FROM shop WHERE s_city > 'N')",
            [(1 + 3,)],
        ),
        (
            "sum(price) FROM sale WHERE sold NOT IN (SELECT d_id FROM day WHERE d_year = 1994)",
            [(2 + 4,)],
        ),
        (
            "sum(price) FROM sale WHERE EXISTS (SELECT 1 FROM shop, nation WHERE s_id = shop"
            " AND s_nation = n_id)",
            [(1 + 2,)],
        ),
        (
            "sum(price) FROM sale WHERE NOT EXISTS (SELECT 1 FROM shop WHERE s_id = shop"
            " AND s_city > 'N')",
            [(2 + 4,)],
        ),
        (
            "sum(price) FROM sale WHERE sold IN (SELECT d_id FROM day WHERE d_year = 1994)"
            " OR amount = 8",
            [(1 + 3 + 4,)],
        ),
        (
            "sum(price) FILTER (WHERE s_city > 'N'), count(*) FILTER (WHERE s_city > 'N'),"
            " count(DISTINCT amount) FILTER (WHERE amount > 1)"
            " FROM sale, shop WHERE shop = s_id",
            [(1 + 3, 2, 2)],
        ),
    ],
)
def test_joins_that_only_look_up_are_fused(con, query, rows):
    query = f"SELECT {query}"
    assert fused(con, query)
    assert answer(con, query) == sorted(rows, key=repr)
    con.execute("SET fused_path = 'off'")
    try:
        assert answer(con, query) == sorted(rows, key=repr)
    finally:
        con.execute("RESET fused_path")


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("d_year = (SELECT max(d_year) FROM day)", [(2 + 4,)]),
        ("d_year = (SELECT DISTINCT d_year FROM day WHERE d_id = 10)", [(1 + 3,)]),
        ("d_year = (SELECT max(d_year) FROM day WHERE d_id = 7)", [(None,)]),
        ("d_year < (SELECT avg(d_year) FROM day) AND amount > 1", [(3,)]),
        ("(amount = 8 OR EXISTS (SELECT 1 FROM day WHERE d_year = 1990))", [(4,)]),
        # Its joins are put in another order, and with it their columns.
        ("(amount = 8 OR EXISTS (SELECT 1 FROM day AS a, day WHERE a.d_year = 1990))", [(4,)]),
        ("shop NOT IN (SELECT s_id FROM shop WHERE s_city > 'N')", [(2,)]),
        ("shop NOT IN (SELECT s_id FROM shop WHERE s_city > 'Z')", [(1 + 2 + 3 + 4,)]),
    ],
)
def test_a_subquery_that_reads_no_outer_row_runs_first(con, condition, rows):
    query = f"SELECT sum(price) FROM sale, day WHERE sold = d_id AND {condition}"
    plan = explain(con, query)
    assert plan["path"] == "fused"
    assert plan["plan"]["children"][0]["node"] == "DeferredScan"
    for path in ("on", "on", "off"):
        con.execute(f"SET fused_path = '{path}'")
        assert answer(con, query) == rows
    con.execute("RESET fused_path")
    lines = con.execute(f"EXPLAIN ANALYZE {query}").fetchall()
    assert any("ran: FusedScanAggregate" in line for (line,) in lines)


def test_what_a_subquery_gives_is_asked_again_when_its_table_has_changed():
    con = raydb.connect()
    con.execute(SCHEMA)
    query = "SELECT sum(price) FROM sale, day WHERE sold = d_id AND d_year = " + (
        "(SELECT max(d_year) FROM day)"
    )
    assert answer(con, query) == [(6,)]
    con.execute("UPDATE day SET d_year = 2000 WHERE d_id = 10")
    assert answer(con, query) == [(4,)]
    several = "(SELECT d_year FROM day)"
    # No sale at all asks for it.
    for condition in ("", " AND price < 0", " AND 1 = 0"):
        for path in ("on", "off"):
            con.execute(f"SET fused_path = '{path}'")
            with pytest.raises(raydb.DataError, match="more than one row"):
                con.execute(query.replace("(SELECT max(d_year) FROM day)", several) + condition)


def answer(con, query):
    """Return a query's rows in the order of their texts, with decimals as integers."""
    rows = con.execute(query).fetchall()
    return sorted(
        (tuple(v if isinstance(v, str | None) else int(v) for v in row) for row in rows), key=repr
    )


def test_roles_of_one_dimension_are_told_apart(con):
    query = (
        "SELECT a.d_year, b.d_year, sum(price) FROM sale, day a, day b "
        "WHERE sold = a.d_id AND sent = b.d_id AND a.d_year = 1994 GROUP BY a.d_year, b.d_year"
    )
    node = fused(con, query)
    assert node["by_row_id"] == ["d_year"]
    rows = [(a, b, float(total)) for a, b, total in con.execute(query).fetchall()]
    assert sorted(rows) == [(1994, 1994, 3.0), (1994, 1995, 1.0)]


def test_a_referenced_key_is_the_foreign_key_itself(con):
    query = "SELECT sum(price) FROM sale, day WHERE sold = d_id AND d_year = 1994 AND d_id = 10"
    assert fused(con, query)["by_row_id"] == ["(sold = 10)"]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT note FROM sale", "the query has no aggregate"),
        (
            "SELECT sum(price) FROM sale, shop WHERE amount = s_id",
            "'shop' is not joined to 'sale' on a declared foreign key",
        ),
        ("SELECT sum(price) FROM sale, shop", "'shop' is not joined to 'sale'"),
        ("SELECT sum(price) FROM sale FULL JOIN shop ON shop = s_id", "an outer join"),
        ("SELECT sum(price) FROM sale LEFT JOIN shop ON amount = s_id", "an outer join"),
        (
            "SELECT sum(price) FROM sale WHERE EXISTS (SELECT 1 FROM shop WHERE s_id > amount)",
            "semi",
        ),
        ("SELECT count(*) FROM day WHERE d_year = 1994", "there is no BVH on 'day'"),
        ("SELECT count(*) FROM sale", "no BVH on 'sale' encodes an attribute"),
        ("SELECT sum(a) FROM (SELECT amount AS a FROM sale LIMIT 2)", "over a LIMIT"),
    ],
)
def test_the_general_path_says_why(con, query, reason):
    described = explain(con, query)
    assert described["path"] == "general"
    assert reason in "; ".join(described["reasons"])
    assert reason in con.execute("EXPLAIN " + query).fetchone()[0]


def test_the_largest_coverage_wins_then_the_fewest_rows(con):
    tied = fused(con, "SELECT sum(price) FROM sale WHERE note = 'a' AND amount = 1")
    assert tied["choice_reason"] == "as good as 'wide', first by name"
    both = fused(con, "SELECT sum(price) FROM sale WHERE note = 'a' AND amount < 5")
    assert both["bvh"] == "small"
    assert both["choice_reason"] == "coverage 3 as 'wide', but fewer rows: 1 against 3"
    only = fused(con, "SELECT sum(price) FROM sale WHERE note = 'a'")
    assert only["choice_reason"] == "largest coverage of 2 BVHs: 3 against 1 of 'wide'"


def test_measures_match_whatever_the_order_of_their_operands(con):
    assert fused(con, "SELECT sum(2 * amount) FROM sale WHERE amount = 1")["by_row_id"] == []
    assert fused(con, "SELECT sum(amount + price) FROM sale WHERE amount = 1")["by_row_id"] != []


@pytest.mark.parametrize(
    ("predicate", "intervals", "rows"),
    [
        ("amount = 3", 0, 0),
        ("amount IN (1, 8)", 2, 2),
        ("amount IN (1, 2)", 1, 2),
        ("amount = 1 OR amount > 3", 2, 3),
        ("amount <> 2", 2, 3),
        ("amount BETWEEN 2 AND 5", 1, 2),
        ("amount % 2 = 0", 1, 3),
        ("amount IS NULL", 0, 0),
        ("NOT amount < 4", 1, 2),
    ],
)
def test_any_predicate_on_one_attribute_becomes_intervals(predicate, intervals, rows):
    con = raydb.connect()
    con.execute("CREATE TABLE t (amount INTEGER, m INTEGER)")
    con.execute("INSERT INTO t VALUES (1, 1), (2, 1), (4, 1), (8, 1)")
    con.execute("CREATE BVH x ON t (SCAN (amount), AGGREGATE (m))")
    query = f"SELECT count(*) FROM t WHERE {predicate}"
    node = fused(con, query)
    assert (node["intervals"], node["rows_touched"]) == (intervals, rows)
    assert con.execute(query).fetchone() == (rows,)


@pytest.mark.parametrize("is_snowflake", [False, True])
def test_a_city_restricts_the_cells_of_its_nation(is_snowflake):
    con = raydb.connect()
    con.execute("CREATE TABLE nation (n_id INTEGER PRIMARY KEY, n_name VARCHAR)")
    con.execute(
        "CREATE TABLE shop (s_id INTEGER PRIMARY KEY, s_city VARCHAR, s_nation VARCHAR,"
        " s_n INTEGER NOT NULL REFERENCES nation)"
    )
    con.execute("CREATE TABLE sale (shop INTEGER NOT NULL REFERENCES shop, price INTEGER)")
    con.execute("INSERT INTO nation VALUES (0, 'N0'), (1, 'N1'), (2, 'N2')")
    cities = [f"({i}, 'C{i}', 'N{i % 3}', {i % 3})" for i in range(12)]
    con.execute(f"INSERT INTO shop VALUES {', '.join(cities)}")
    con.execute(f"INSERT INTO sale VALUES {', '.join(f'({i % 12}, {i})' for i in range(36))}")
    nation = "n_name" if is_snowflake else "s_nation"
    con.execute(f"CREATE BVH x ON sale (SCAN ({nation}), GROUP BY (s_city), AGGREGATE (price))")
    query = (
        "SELECT s_city, sum(price) FROM sale JOIN shop ON shop = s_id "
        "WHERE s_city IN ('C4', 'C7') GROUP BY s_city ORDER BY s_city"
    )
    node = fused(con, query)
    # Both cities are of N1: 12 of the 36 rows are read, and their cities looked at.
    assert (node["intervals"], node["rows_touched"], node["by_row_id"]) == (1, 12, [])
    assert con.execute(query).fetchall() == [("C4", 4 + 16 + 28), ("C7", 7 + 19 + 31)]


def test_an_error_over_an_unused_dictionary_value_is_not_raised():
    con = raydb.connect()
    con.execute(
        "CREATE TABLE d (id INTEGER PRIMARY KEY, z INTEGER);"
        "CREATE TABLE f (d INTEGER NOT NULL REFERENCES d, m INTEGER);"
        "INSERT INTO d VALUES (1, 0), (2, 5); INSERT INTO f VALUES (2, 7);"
        "CREATE BVH x ON f (SCAN (z), AGGREGATE (m))"
    )
    query = "SELECT sum(m) FROM f JOIN d ON d = id WHERE 10 / z = 2"
    assert con.execute(query).fetchone() == (7,)
    con.execute("INSERT INTO f VALUES (1, 9)")
    with pytest.raises(raydb.DataError, match="division by zero"):
        con.execute(query)


def test_backend_settings_are_named(con):
    con.execute("SET backend = 'cpu'")
    assert fused(con, "SELECT sum(price) FROM sale WHERE note = 'a'")["backend_reason"] == (
        "SET backend = 'cpu'"
    )
    con.execute("SET backend = 'auto'")


def test_equal_attributes_are_one():
    one, other = (canonical(Attribute((), "amount", pa.int32())) for _ in range(2))
    assert one is other


@pytest.mark.parametrize("operator", ["=", "<>", "<", "<=", ">", ">="])
@pytest.mark.parametrize("constant", ["7", "100000", "-9000000000", "CAST(NULL AS BIGINT)"])
def test_whole_numbers_are_compared_whatever_their_width(operator, constant):
    con = raydb.connect()
    con.execute("CREATE TABLE n (a TINYINT, b SMALLINT, c INTEGER, d BIGINT)")
    con.execute(
        "INSERT INTO n VALUES (7, 7, 7, 7), (8, 8, 100000, 100000), (NULL, -1, 6, -9000000000)"
    )
    for column in "abcd":
        conditions = [
            f"{column} {operator} {constant}",
            f"{column}::HUGEINT {operator} ({constant})::HUGEINT",
        ]
        one, other = (
            con.execute(f"SELECT {condition} FROM n").fetchall() for condition in conditions
        )
        assert one == other, (column, operator, constant)
