"""Range searches, offsets and counts a row beside NumPy, with indexes, filters and changes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import raydb
from raydb.errors import OperationalError

WIDTH = 6
COUNT = 600


def distances(metric, vectors, queries):
    """Return the distance of each query (q, d) from each vector (n, d), in doubles (q, n)."""
    rows, asked = vectors.astype(np.float64), queries.astype(np.float64)
    if metric == "l2":
        return np.sqrt(((rows[None] - asked[:, None]) ** 2).sum(axis=2))
    if metric == "l1":
        return np.abs(rows[None] - asked[:, None]).sum(axis=2)
    products = asked @ rows.T
    if metric == "ip":
        return -products
    return 1 - products / np.linalg.norm(asked, axis=1)[:, None] / np.linalg.norm(rows, axis=1)


def table_of(vectors, numbers, **columns):
    column = pa.FixedSizeListArray.from_arrays(vectors.ravel(), WIDTH)
    return pa.table({"id": numbers, "emb": column, **columns})


@pytest.fixture(params=["l2", "cosine", "ip", "l1"])
def made(request):
    """A connection with a table that was changed since it has an index, and its rows."""
    rng = np.random.default_rng(21)
    vectors = rng.normal(size=(COUNT, WIDTH)).astype(np.float32)
    con = raydb.connect()
    con.register("made", table_of(vectors, np.arange(COUNT)))
    con.execute("CREATE TABLE t AS SELECT *, id % 5 AS kind FROM made WHERE id < 500")
    quantization = "int8" if request.param in ("l2", "cosine") else "none"
    con.execute(
        "CREATE INDEX i ON t USING ivf (emb) "
        f"WITH (lists = 20, metric = '{request.param}', quantization = '{quantization}')"
    )
    con.execute("INSERT INTO t SELECT *, id % 5 FROM made WHERE id >= 500")
    con.execute("DELETE FROM t WHERE id % 7 = 3")
    queries = rng.normal(size=(40, WIDTH)).astype(np.float32)
    away = distances(request.param, vectors, queries)
    # Halfway between two distances, so that no rounding decides.
    ordered = np.sort(away, axis=1)
    ranks = rng.integers(1, 60, 40)
    most = (ordered[np.arange(40), ranks - 1] + ordered[np.arange(40), ranks]) / 2
    numbers = rng.integers(1, 9, 40)
    con.register("asked", table_of(queries, np.arange(40), most=most, n=numbers))
    yield con, away, most, numbers, request.param
    con.close()


def wanted(away, is_row, most=np.inf, skipped=0, count=None):
    """Return the ids of the rows within a distance, the nearest first, as far as asked for."""
    order = np.argsort(away, kind="stable")
    found = [int(number) for number in order if is_row[number] and away[number] <= most]
    return found[skipped : None if count is None else skipped + count]


def lists_by_query(rows):
    found = {}
    for query, number, _ in rows:
        found.setdefault(query, []).append(number)
    return found


@pytest.mark.long
@pytest.mark.parametrize("how", ["exact => true", "nprobe => 20"])
@pytest.mark.parametrize("where", ["true", "kind < 2"])
def test_each_row_has_a_distance_and_a_count(made, how, where):
    con, away, most, counts, metric = made
    ids = np.arange(COUNT)
    is_row = ids % 7 != 3
    if where != "true":
        is_row &= ids % 5 < 2
    for given, limited in (
        ("max_distance => a.most", (True, False)),
        ("k => a.n", (False, True)),
        ("max_distance => a.most, k => a.n, offset => 2", (True, True)),
        ("max_distance => a.most, offset => 3", (True, False)),
    ):
        skipped = int(given[-1]) if "offset" in given else 0
        rows = con.execute(
            f"SELECT a.id, d.id, d.rank FROM asked a, LATERAL vector_search((SELECT * FROM t WHERE "
            f"{where}), emb, a.emb, {given}, {how}, metric => '{metric}') d ORDER BY a.id, d.rank"
        ).fetchall()
        expected = {}
        for query in range(40):
            bound = most[query] if limited[0] else np.inf
            count = int(counts[query]) if limited[1] else None
            some = wanted(away[query], is_row, bound, skipped, count)
            expected |= {query: some} if some else {}
        assert lists_by_query(rows) == expected, given


@pytest.mark.long
def test_few_lists_find_some_of_the_rows(made):
    con, away, most, _, metric = made
    is_row = np.arange(COUNT) % 7 != 3
    text = "SELECT id, distance, guarantee FROM vector_search(t, emb, ?, max_distance => ?, "
    text += f"nprobe => 3, metric => '{metric}') ORDER BY rank"
    found_count = wanted_count = 0
    queries = con.execute("SELECT emb FROM asked ORDER BY id").fetchall()
    for query, (vector,) in enumerate(queries):
        found = con.execute(text, [vector, float(most[query])]).fetchall()
        expected = wanted(away[query], is_row, most[query])
        assert {number for number, _, _ in found} <= set(expected)
        assert {word for _, _, word in found} <= {"uncalibrated"}
        for number, distance, _ in found:
            assert distance == pytest.approx(away[query, number], abs=1e-9)
        # Rows beside the index are always compared.
        assert {number for number in expected if number >= 500} <= {row[0] for row in found}
        found_count, wanted_count = found_count + len(found), wanted_count + len(expected)
    assert 0.3 * wanted_count < found_count <= wanted_count


def test_where_a_distance_is_exact(made):
    con, away, most, _, metric = made
    operator = {"l2": "<->", "cosine": "<=>", "ip": "<#>", "l1": "<+>"}[metric]
    is_row = np.arange(COUNT) % 7 != 3
    queries = con.execute("SELECT emb FROM asked ORDER BY id").fetchall()
    for query, (vector,) in enumerate(queries[:10]):
        found = con.execute(
            f"SELECT id FROM t WHERE emb {operator} $q <= $most ORDER BY id",
            {"q": vector, "most": float(most[query])},
        ).fetchall()
        assert [number for (number,) in found] == sorted(wanted(away[query], is_row, most[query]))


def test_memory_is_asked_for():
    con = raydb.connect()
    con.execute(
        "CREATE TABLE t AS SELECT range AS id, [range % 7, 1]::FLOAT[2] AS emb FROM range(9000)"
    )
    con.execute("SET memory_limit = '5MB'")
    with pytest.raises(OperationalError, match="all rows within a distance"):
        con.execute(
            "SELECT count(*) FROM t a, LATERAL vector_search(t, emb, a.emb, max_distance => 99) d"
        )
    con.close()
