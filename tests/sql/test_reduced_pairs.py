"""Joins of which each row matters once: their answers are DuckDB's, and few rows are made."""

from __future__ import annotations

from collections import Counter
from typing import Any

import duckdb
import pytest

import raydb

ROWS = """
CREATE TABLE sale (ticket INTEGER, shop INTEGER, item INTEGER);
CREATE TABLE back (ticket INTEGER, item INTEGER);
INSERT INTO sale SELECT x, (x * 7) % 5, CASE WHEN x % 13 = 0 THEN NULL ELSE x % 11 END
    FROM (SELECT (i * i) % 97 AS x FROM range(400) AS r (i)) AS s;
INSERT INTO back SELECT (i * 3) % 89, i % 11 FROM range(120) AS r (i);
"""
TWICE = (
    "WITH two AS (SELECT a.ticket, b.item FROM sale a JOIN sale b"
    " ON a.ticket = b.ticket AND a.shop <> b.shop)"
)
QUERIES = [
    "SELECT ticket FROM sale WHERE ticket IN"
    " (SELECT b.ticket FROM back b, sale s WHERE b.item = s.item)",
    "SELECT DISTINCT s.shop FROM sale s JOIN back b ON s.ticket = b.ticket"
    " JOIN sale t ON t.item = b.item",
    "SELECT DISTINCT s.shop, b.item FROM sale s JOIN back b ON s.ticket < b.ticket",
    "SELECT shop FROM sale WHERE item NOT IN"
    " (SELECT b.item FROM back b JOIN sale s ON b.ticket = s.ticket)",
    f"{TWICE} SELECT ticket FROM sale WHERE ticket IN (SELECT ticket FROM two)"
    " AND ticket IN (SELECT b.ticket FROM back b, two WHERE b.ticket = two.ticket)",
    f"{TWICE} SELECT count(*), (SELECT count(*) FROM two) FROM sale"
    " WHERE ticket IN (SELECT ticket FROM two)",
    f"{TWICE} SELECT DISTINCT item FROM two UNION ALL SELECT ticket FROM two",
    f"{TWICE}, more AS (SELECT two.ticket FROM two JOIN back ON two.ticket = back.ticket)"
    " SELECT shop FROM sale WHERE ticket IN (SELECT ticket FROM more)"
    " OR item IN (SELECT ticket FROM two)"
    " OR EXISTS (SELECT 1 FROM more WHERE more.ticket = sale.item)",
    "SELECT ticket FROM sale INTERSECT SELECT b.ticket FROM back b JOIN sale s ON b.item = s.item",
]


@pytest.fixture(scope="module")
def engines() -> tuple[Any, Any]:
    ours, theirs = raydb.connect(), duckdb.connect()
    for connection in (ours, theirs):
        for statement in ROWS.split(";")[:-1]:
            connection.execute(statement)
    return ours, theirs


@pytest.mark.parametrize("query", QUERIES)
def test_answers_are_those_of_all_pairs(engines: tuple[Any, Any], query: str) -> None:
    ours, theirs = (Counter(each.execute(query).fetchall()) for each in engines)
    assert ours == theirs


def test_pairs_that_nobody_reads_are_not_made(engines: tuple[Any, Any]) -> None:
    lines = [str(row[-1]) for row in engines[0].execute(f"EXPLAIN {QUERIES[4]}").fetchall()]
    assert sum("HashJoin: SEMI" in line for line in lines) == 4
    assert not any("HashJoin: INNER" in line for line in lines)
