"""Texts of collations, compared, grouped and put in order, against DuckDB."""

from __future__ import annotations

import random

import duckdb
import pytest

import raydb

_COLLATIONS = ("NOCASE", "NOACCENT", "NFC", "NOCASE.NOACCENT", "NOACCENT.NOCASE")
# {c} is a column of the collation, {d} one of none.
_QUERIES = (
    "SELECT count(*) FROM s WHERE {c} {sign} {text}",
    "SELECT count(*) FROM s WHERE {text} {sign} {c}",
    "SELECT count(*) FROM s WHERE {c} IN ({text}, 'b', NULL)",
    "SELECT count(*) FROM s WHERE {c} NOT BETWEEN {text} AND 'B'",
    "SELECT count(*) FROM s WHERE {c} IS DISTINCT FROM {text}",
    "SELECT count(*) FROM s WHERE {c} LIKE {text} || '%'",
    "SELECT count(*) FROM s a JOIN s b ON a.{c} = b.{d}",
    "SELECT count(*) FROM s a WHERE {c} IN (SELECT {d} FROM s b WHERE b.id < 9)",
    "SELECT count(DISTINCT {c}) FROM s",
    "SELECT count(*), sum(id) FROM s GROUP BY {c} ORDER BY ALL",
    "SELECT count(*) FROM (SELECT DISTINCT {c} FROM s)",
    "SELECT id FROM s ORDER BY {c} NULLS FIRST, id",
    "SELECT id FROM s ORDER BY {c} DESC NULLS LAST, id",
    "SELECT id, rank() OVER (PARTITION BY {c} ORDER BY id) FROM s ORDER BY id",
    "SELECT id, dense_rank() OVER (ORDER BY {c} NULLS FIRST) FROM s ORDER BY id",
    "SELECT list(id ORDER BY {c} NULLS FIRST, id) FROM s",
    "SELECT min({c}) = {text}, max({c}) < {text} FROM s",
    "SELECT CASE {c} WHEN {text} THEN 1 ELSE 0 END FROM s ORDER BY id",
    "SELECT count(*) FROM (SELECT {c} FROM s UNION SELECT {d} FROM s)",
    "SELECT count(*) FROM (SELECT {c} FROM s WHERE id < 40 EXCEPT SELECT {d} FROM s WHERE id > 30)",
    "SELECT count(*) FROM (SELECT {d} FROM s WHERE id < 9 INTERSECT ALL SELECT {c} FROM s)",
    "SELECT count(*) FROM (SELECT {c} FROM s EXCEPT ALL SELECT {d} FROM s WHERE id > 30)",
)


@pytest.mark.parametrize("seed", range(2))
def test_collations_are_as_in_duckdb(seed: int) -> None:
    rng = random.Random(seed)
    ours, theirs = raydb.connect(), duckdb.connect()
    letters = [*"aAbBäÄéEß", "e\u0301", "A\u0308"]
    texts = ["".join(rng.choices(letters, k=rng.randint(0, 3))) for _ in range(40)]
    rows = [(number, rng.choice([*texts, None])) for number in range(120)]
    for connection in (ours, theirs):
        connection.execute("CREATE TABLE plain (id INTEGER, d VARCHAR)")
        connection.executemany("INSERT INTO plain VALUES (?, ?)", rows)
        for place, collation in enumerate(_COLLATIONS):
            kept = (
                f"CREATE TABLE kept{place} (id INTEGER, d VARCHAR, c VARCHAR COLLATE {collation})"
            )
            connection.execute(kept)
            connection.execute(f"INSERT INTO kept{place} SELECT id, d, d FROM plain")
    for _ in range(200):
        collation = rng.choice(_COLLATIONS)
        source = f"WITH s AS (SELECT id, d, d COLLATE {collation} AS c FROM plain) "
        if rng.random() < 0.5:
            source = f"WITH s AS (FROM kept{_COLLATIONS.index(collation)}) "
        query = source + rng.choice(_QUERIES).format(
            c="c", d="d", text=f"'{rng.choice(texts)}'", sign=rng.choice(("=", "<", ">=", "<>"))
        )
        expected = theirs.execute(query).fetchall()
        assert ours.execute(query).fetchall() == expected, query
