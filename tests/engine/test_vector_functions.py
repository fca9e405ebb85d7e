"""Functions and aggregates of vectors beside NumPy, on random vectors with NULLs."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import raydb


@pytest.fixture(params=[np.float32, np.float64], ids=["FLOAT", "DOUBLE"])
def made(request):
    """A connection with vectors in groups, those that are not NULL, and their groups."""
    rng = np.random.default_rng(11)
    count, width = 3000, 7
    vectors = (rng.normal(size=(count, width)) * 10.0 ** rng.integers(-3, 4, (count, 1))).astype(
        request.param
    )
    groups, is_null = rng.integers(0, 40, count), rng.random(count) < 0.2
    is_null |= groups == 17
    column = pa.FixedSizeListArray.from_arrays(vectors.ravel(), width, mask=pa.array(is_null))
    con = raydb.connect()
    con.register("made", pa.table({"id": np.arange(count), "g": groups, "v": column}))
    con.execute("CREATE TABLE t AS SELECT * FROM made")
    yield con, vectors, groups, ~is_null
    con.close()


def test_lengths_and_distances(made):
    con, vectors, _, known = made
    query = vectors[0].astype(np.float64)
    found = con.execute(
        "SELECT l2_norm(v), normalize(v), v <+> $q FROM t ORDER BY id", {"q": query}
    ).fetchall()
    wide = vectors.astype(np.float64)
    norms = np.sqrt((wide * wide).sum(axis=1))
    for place, row in enumerate(found):
        if not known[place]:
            assert row == (None, None, None)
            continue
        np.testing.assert_allclose(row[0], norms[place], rtol=1e-14)
        np.testing.assert_allclose(row[1], wide[place] / norms[place], rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(row[2], np.abs(wide[place] - query).sum(), rtol=1e-12)


@pytest.mark.parametrize("memory_limit", ["1GB", "1MB"])
def test_sums_and_averages(made, memory_limit):
    con, vectors, groups, known = made
    con.execute(f"SET memory_limit = '{memory_limit}'")
    found = con.execute("SELECT g, sum(v), avg(v) FROM t GROUP BY g ORDER BY g").fetchall()
    assert len(found) == len(np.unique(groups))
    for group, total, mean in found:
        some = vectors[known & (groups == group)]
        if not len(some):
            assert (total, mean) == (None, None)
            continue
        # In the order of the rows.
        sums = np.cumsum(some.astype(np.float64), axis=0)[-1]
        assert list(total) == sums.astype(some.dtype).tolist()
        assert list(mean) == (sums / len(some)).astype(some.dtype).tolist()


def test_bits():
    rng = np.random.default_rng(12)
    pairs = [
        tuple("".join(map(str, rng.integers(0, 2, length))) for _ in range(2))
        for length in rng.integers(1, 200, 300)
    ]
    con = raydb.connect()
    con.execute("CREATE TABLE t (id INTEGER, a BIT, b BIT)")
    con.executemany("INSERT INTO t VALUES (?, ?, ?)", [(i, *p) for i, p in enumerate(pairs)])
    found = con.execute("SELECT a <~> b, jaccard_distance(a, b) FROM t ORDER BY id").fetchall()
    for (one, other), (hamming, jaccard) in zip(pairs, found, strict=True):
        first, second = int(one, 2), int(other, 2)
        assert hamming == (first ^ second).bit_count()
        either = (first | second).bit_count()
        assert jaccard == 1 - (first & second).bit_count() / max(either, 1)
    con.close()
