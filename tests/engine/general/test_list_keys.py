"""Lists as keys of groups and joins, in memory and out of it, beside DuckDB."""

from __future__ import annotations

import random

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import raydb
from raydb.engine.operators.partition import hash_rows

KINDS = (
    pa.list_(pa.float32(), 3),
    pa.list_(pa.float64()),
    pa.list_(pa.int32()),
    pa.list_(pa.string()),
    pa.list_(pa.list_(pa.int64())),
)


def value(rng, kind):
    """Return a random value of a type, of a few different ones; lists and elements may be NULL."""
    if rng.random() < 0.1:
        return None
    if pa.types.is_floating(kind):
        return rng.choice([0.0, -0.0, 1.5, float("inf")])
    if pa.types.is_fixed_size_list(kind):
        return [rng.choice([0.0, 1.5, -2.0]) for _ in range(kind.list_size)]
    if pa.types.is_list(kind):
        return [value(rng, kind.value_type) for _ in range(rng.randrange(3))]
    return f"text {rng.randrange(3)}" if kind == pa.string() else rng.randrange(-1, 2)


def make(seed, kind, count):
    rng = random.Random(seed)
    return pa.table(
        {
            "id": pa.array(range(count)),
            "v": pa.chunked_array(
                [
                    pa.array([value(rng, kind) for _ in range(half)], kind)
                    for half in (count // 2, count - count // 2)
                ]
            ),
        }
    )


QUERIES = (
    "SELECT min(id), count(*), sum(id) FROM a GROUP BY v ORDER BY 1",
    "SELECT count(DISTINCT v) FROM a",
    "SELECT a.id, b.id FROM a JOIN b ON a.v = b.v ORDER BY 1, 2",
    "SELECT a.id FROM a WHERE v IN (SELECT v FROM b WHERE v IS NOT NULL) ORDER BY 1",
    "SELECT count(*) FROM (SELECT v FROM a EXCEPT SELECT v FROM b)",
    "SELECT count(*) FROM (SELECT v FROM a INTERSECT SELECT v FROM b)",
    "SELECT count(*) FROM (SELECT v FROM a UNION SELECT v FROM b)",
    "SELECT id, count(*) OVER (PARTITION BY v) FROM a ORDER BY 1",
    "SELECT id, (SELECT count(*) FROM b WHERE b.v = a.v) FROM a ORDER BY 1",
)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("seed", range(2))
def test_lists_are_keys_as_in_duckdb(kind, seed):
    con, other = raydb.connect(), duckdb.connect()
    for name, count in (("a", 60), ("b", 25)):
        table = make(f"{seed} {name}", kind, count)
        con.register(name, table)
        other.register(name, table)
    for query in QUERIES:
        assert con.execute(query).fetchall() == other.execute(query).fetchall(), (query, seed)


def test_more_lists_than_fit_in_memory():
    con = raydb.connect()
    count = 60_000
    vectors = np.random.default_rng(1).integers(0, 40, (count, 3)).astype(np.float32)
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), 3)
    con.register("t", pa.table({"id": range(count), "v": column}))
    expected = len(np.unique(vectors, axis=0))
    text = "SELECT count(*), sum(n) FROM (SELECT v, count(*) AS n FROM t GROUP BY v)"
    join = "SELECT count(*) FROM t JOIN (SELECT DISTINCT v FROM t) u ON t.v = u.v"
    for limit in ("none", "12MB"):
        con.execute(f"SET memory_limit = '{limit}'")
        assert con.execute(text).fetchall() == [(expected, count)]
        assert con.execute(join).fetchall() == [(count,)]


def test_equal_lists_have_equal_hashes():
    kind = pa.list_(pa.float64(), 2)
    one = pa.array([[0.0, 1.0], None, [float("nan"), None], [2.0, 1.0]], kind)
    other = pa.array([None, [9.0, 9.0], [-0.0, 1.0], None, [float("nan"), None]], kind)[2:]
    hashes, others = hash_rows([one]), hash_rows([other])
    assert hashes[:3].tolist() == others.tolist()
    assert hashes[0] != hashes[3]
    texts = pa.array([["a"], ["b"]])
    assert hash_rows([texts]).tolist() == [0, 0]
    assert hash_rows([pa.array([[], [1]], pa.list_(pa.int8()))[:1]]).shape == (1,)
