"""l1 and hamming beside NumPy: all rows, through indexes, under a promise, and after a restart."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import raydb

COUNT, ASKED, WIDTH = 2_000, 150, 45
KINDS = {"hamming": ("BIT", "text"), "l1": (f"FLOAT[{WIDTH}]", "emb"), "bytes": ("BLOB", "packed")}


def texts(bits):
    return ["".join(map(str, row)) for row in bits.astype(int)]


@pytest.fixture(params=list(KINDS))
def made(request, tmp_path):
    """A database with rows near 30 centers, an index and queries, and all their distances."""
    rng = np.random.default_rng(33)
    centers = rng.random((30, WIDTH)) < 0.5
    every = centers[rng.integers(0, 30, COUNT + ASKED)] ^ (rng.random((COUNT + ASKED, WIDTH)) < 0.1)
    numbers = (every + rng.normal(size=every.shape)).astype(np.float32)
    shown = {
        "text": pa.array(texts(every)),
        "emb": pa.FixedSizeListArray.from_arrays(numbers.ravel(), WIDTH),
        "packed": pa.array([each.tobytes() for each in np.packbits(every, axis=1)]),
    }
    kind, column = KINDS[request.param]
    con = raydb.connect(tmp_path / "db")
    con.register("made", pa.table({"id": np.arange(COUNT + ASKED), "v": shown[column]}))
    con.execute(f"CREATE TABLE t (id INTEGER, v {kind})")
    con.execute(f"INSERT INTO t SELECT id, v::{kind} FROM made WHERE id < {COUNT - 100}")
    con.execute(f"CREATE TABLE asked AS SELECT id, v::{kind} AS v FROM made WHERE id >= {COUNT}")
    metric = "l1" if request.param == "l1" else "hamming"
    con.execute(f"CREATE INDEX i ON t USING hnsw (v) WITH (lists = 30, metric = '{metric}')")
    con.execute(
        f"INSERT INTO t SELECT id, v::{kind} FROM made WHERE id >= {COUNT - 100} AND id < {COUNT}"
    )
    con.execute("DELETE FROM t WHERE id % 7 = 3")
    whole = numbers if metric == "l1" else every
    rows, asked = whole[:COUNT], whole[COUNT:]
    pairs = asked[:, None].astype(np.float64) - rows[None]
    away = np.abs(pairs).sum(axis=2)
    away[:, np.arange(COUNT) % 7 == 3] = np.inf
    con.close()
    con = raydb.connect(tmp_path / "db")
    yield con, away
    con.close()


def found(con, options, rows="t"):
    searched = f"LATERAL vector_search({rows}, v, a.v, {options}) d"
    text = f"SELECT a.id, d.id, distance FROM asked a, {searched} ORDER BY a.id, rank"
    return np.array(con.execute(text).fetchall(), float)


def test_all_rows_all_lists_and_a_filter_are_exact(made):
    con, away = made
    order = np.argsort(away, axis=1, kind="stable")[:, :5]
    expected = np.take_along_axis(away, order, 1)
    for options in ("k => 5, exact => true", "k => 5, nprobe => 30"):
        rows = found(con, options)
        np.testing.assert_array_equal(rows[:, 1].reshape(ASKED, 5), order)
        np.testing.assert_allclose(rows[:, 2].reshape(ASKED, 5), expected, rtol=1e-6)
    away[:, np.arange(COUNT) % 2 == 1] = np.inf
    order = np.argsort(away, axis=1, kind="stable")[:, :5]
    rows = found(con, "k => 5, exact => true", "(SELECT * FROM t WHERE id % 2 = 0)")
    np.testing.assert_array_equal(rows[:, 1].reshape(ASKED, 5), order)


def test_walks_and_lists_find_most_and_a_promise_is_kept(made):
    con, away = made
    farthest = np.sort(away, axis=1)[:, 4]
    con.execute("CALIBRATE INDEX i WITH (fnr = '0.1', k = '5')")
    con.execute("CALIBRATE INDEX i WITH (fnr = '0.1', k = '5', score = 'ratio')")
    for options, least in (
        ("ef => 60", 0.95),
        ("nprobe => 5", 0.5),
        ("fnr => 0.1", 0.85),
        ("fnr => 0.1, score => 'ratio'", 0.85),
    ):
        distances = found(con, f"k => 5, {options}")[:, 2].reshape(ASKED, 5)
        share = (distances <= farthest[:, None] * (1 + 1e-6)).mean()
        print(f"{options}: {share}")
        assert share > least


def test_an_order_is_that_of_the_function(made):
    con, away = made
    (vector,) = con.execute(f"SELECT v FROM asked WHERE id = {COUNT + 3}").fetchone()
    function = "l1_distance" if isinstance(vector, (list, tuple)) else "hamming_distance"
    con.execute("SET nprobe = 'all'")
    text = f"SELECT id, {function}(v, ?) AS far FROM t ORDER BY far LIMIT 7"
    rows = con.execute(text, [vector]).fetchall()
    np.testing.assert_allclose([far for _, far in rows], np.sort(away[3])[:7], rtol=1e-6)
    plan = str(con.execute("EXPLAIN " + text, [vector]).fetchall())
    assert "30 of 30 lists" in plan
