"""Names in letters of any case: they change no answer, and results have the names that were made.

The statements of golden files in other letters, DuckDB for the names of results, and what is kept
on disk. `pytest -m long` takes every golden file. Random queries have letters of chance in
tests/fuzz/test_random_queries.py.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from random import Random

import duckdb
import pytest
from respelling import in_any_case
from stars import SEED
from test_golden import FILES, agrees, asked_for, read_statements, run

import raydb

# What tells of letters; and files whose columns are compared letter by letter.
OF_LETTERS = {"name_case", "keyword_case", "globs", "read_csv"}
SAMPLED = Random(f"name case {SEED}").sample(FILES, 8)


def check_golden(path, tmp_path):
    if path.stem in OF_LETTERS:
        pytest.skip("the answers have other letters")
    rng = Random(f"{path.stem} {SEED}")
    connection = raydb.connect()
    wrong = []
    for statement in read_statements(path.read_text(encoding="utf-8").splitlines()):
        # Definitions stay, for what is told of them has the letters in which they were made.
        text = statement.sql
        if text.split()[0].upper() not in ("CREATE", "ALTER"):
            with suppress(raydb.Error):  # some texts are none of tokens
                text = in_any_case(rng, text)
        answer = asked_for(statement, run(connection, text, tmp_path))
        expected = replace(statement, answer=tuple(line.lower() for line in statement.answer))
        if not agrees(expected, tuple(line.lower() for line in answer)):
            wrong.append(f"{path.name}:{statement.first_line + 1}: {text}\n{answer}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", SAMPLED, ids=lambda path: path.stem)
def test_golden_answers(path, tmp_path):
    check_golden(path, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_all_golden_answers(path, tmp_path):
    check_golden(path, tmp_path)


TABLES = """
CREATE TABLE Sale (Id INTEGER, shopId INTEGER, AMOUNT INTEGER);
CREATE TABLE shop (ID INTEGER, City VARCHAR);
INSERT INTO Sale VALUES (1, 1, 10), (2, 2, 20);
INSERT INTO shop VALUES (1, 'Oslo'), (2, 'Lyon');
"""
QUERIES = [
    "SELECT id, ShopID, amount FROM sale ORDER BY id",
    "SELECT * FROM sale ORDER BY 1",
    "SELECT s.id, S.amount AS Total FROM sale s ORDER BY total",
    "SELECT * FROM sale JOIN shop ON shopid = shop.id ORDER BY 1",
    "SELECT * FROM sale JOIN shop USING (iD) ORDER BY 1",
    "SELECT * FROM sale NATURAL JOIN shop ORDER BY 1",
    "SELECT City, max(amount) AS M FROM sale, shop WHERE shopid = shop.id GROUP BY city ORDER BY M",
    "SELECT a, B FROM (SELECT Id, Amount FROM sale) AS t(A, b) ORDER BY a",
    "WITH c AS (SELECT amount FROM sale) SELECT AMOUNT FROM C ORDER BY amount",
    "SELECT id FROM sale UNION SELECT ID FROM shop ORDER BY 1",
    "SELECT Amount, id FROM sale UNION ALL BY NAME SELECT ID, CITY FROM shop ORDER BY 2, 1, 3",
    "SELECT * EXCLUDE (amount) FROM sale ORDER BY id",
    "SELECT * REPLACE (amount * 2 AS amount) FROM sale ORDER BY id",
    "SELECT id AS Number, NUMBER FROM sale ORDER BY 1",
]


@pytest.mark.parametrize("query", QUERIES)
def test_results_have_duckdbs_names(query):
    ours, theirs = raydb.connect(), duckdb.connect()
    rng = Random(query)
    for connection in (ours, theirs):
        connection.execute(TABLES)
    expected = theirs.execute(query)
    names = [column[0] for column in expected.description]
    rows = expected.fetchall()
    answer = ours.execute(query)
    assert [column[0] for column in answer.description] == names
    assert answer.fetchall() == rows
    for _ in range(3):
        assert ours.execute(in_any_case(rng, query)).fetchall() == rows


def test_a_database_that_is_opened_again(tmp_path):
    path = tmp_path / "shop.raydb"
    with raydb.connect(path) as con:
        con.execute(
            "CREATE TABLE Shop (Id INTEGER PRIMARY KEY, City VARCHAR DEFAULT 'Oslo');"
            "CREATE TABLE Sale (ShopId INTEGER REFERENCES SHOP (ID), Amount INTEGER,"
            " CHECK (AMOUNT > 0));"
            "CREATE VIEW Large AS SELECT SHOPID, amount AS Much FROM sale WHERE AMOUNT > 5;"
            "CREATE INDEX ByCity ON shop (CITY);"
            "INSERT INTO SHOP (ID) VALUES (1); INSERT INTO sale VALUES (1, 10);"
            "CREATE BVH Sales ON SALE (SCAN (city), AGGREGATE (AMOUNT)); CHECKPOINT;"
            "UPDATE SALE SET amount = 11 WHERE shopid = 1"
        )
    with raydb.connect(path) as con:
        assert con.execute("SHOW TABLES").fetchall() == [("Large",), ("Sale",), ("Shop",)]
        found = con.execute("SELECT * FROM LARGE").to_arrow_table()
        assert found.to_pydict() == {"ShopId": [1], "Much": [11]}
        assert con.execute("SELECT name, columns FROM indexes()").fetchall() == [("ByCity", "City")]
        plan = con.execute("EXPLAIN SELECT sum(AMOUNT) FROM sale JOIN shop ON shopid = id")
        assert "bvh: Sales (the only BVH on 'Sale')" in str(plan.fetchall())
        with pytest.raises(raydb.IntegrityError, match=r"the check \(AMOUNT > 0\) does not hold"):
            con.execute("INSERT INTO SALE VALUES (1, 0)")
