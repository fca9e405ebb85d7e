"""WITH RECURSIVE ... USING KEY beside DuckDB, and with little memory."""

from __future__ import annotations

import random

import duckdb
import pytest

import raydb

_PATHS = """
    WITH RECURSIVE near(node, distance) USING KEY (node{of}) AS (
        SELECT {start}, 0 UNION{all}
        SELECT target, min(near.distance + weight) FROM near JOIN edge ON near.node = source
        LEFT JOIN recurring.near AS r ON r.node = target
        WHERE near.distance + weight < coalesce(r.distance, 1000) GROUP BY target)
    SELECT node, distance::INTEGER AS distance FROM near ORDER BY node"""
_FOLDED = """
    WITH RECURSIVE t(k, n, v, w) USING KEY (k, {call}) AS (
        SELECT source, 0, weight, weight FROM edge UNION{all}
        SELECT target, n + 1, weight, weight FROM t JOIN edge ON k = source WHERE n < 4)
    SELECT k, v FROM t ORDER BY k"""
_CALLS = ("sum(v)", "count(v)", "min(v)", "max(v)", "bit_xor(v)", "max(-w) AS v", "sum(v * w) AS v")


@pytest.mark.parametrize("seed", range(4))
def test_answers_are_those_of_duckdb(seed: int) -> None:
    chance = random.Random(seed)
    size = chance.choice([5, 40, 2000])
    edges = [(chance.randrange(size), chance.randrange(size), 1 + n % 7) for n in range(2 * size)]
    own, other = raydb.connect(), duckdb.connect()
    rows = ", ".join(map(str, edges))
    for each in (own, other):
        each.execute("CREATE TABLE edge (source INTEGER, target INTEGER, weight INTEGER)")
        each.execute(f"INSERT INTO edge VALUES {rows}")
    texts = [
        _PATHS.format(of=of, start=edges[0][0], all=every)
        for of in ("", ", min(distance)")
        for every in ("", " ALL")
    ]
    texts += [_FOLDED.format(call=call, all="") for call in _CALLS[2:4]]
    # Which rows a step has twice is the same everywhere; which one comes last is not.
    texts += [_FOLDED.format(call=call, all=" ALL") for call in _CALLS if size < 2000]
    for text in texts:
        assert own.execute(text).fetchall() == other.execute(text).fetchall(), text


def test_keys_beyond_the_memory_are_in_files() -> None:
    own = raydb.connect()
    own.execute("SET memory_limit = '40MB'")
    text = """
        WITH RECURSIVE t(k, v) USING KEY (k) AS (
            SELECT i, 0 FROM range(400000) AS r(i) UNION
            SELECT n.k, r.v + 1 FROM t AS n JOIN recurring.t AS r USING (k) WHERE n.v < 2)
        SELECT count(*), min(v), max(v), count(DISTINCT k) FROM t"""
    assert own.execute(text).fetchall() == [(400000, 2, 2, 400000)]
