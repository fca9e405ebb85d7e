"""Vector search from SQL: beside NumPy, through changes, and after any way to reopen."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

import raydb
from raydb.engine.session import queries

WIDTH = 5
METRICS = ("l2", "cosine", "ip")


def vectors(rng, count):
    # Small whole numbers: many rows at the same distance, and sums without rounding.
    made = rng.integers(-3, 4, (count, WIDTH)).astype(np.float32)
    made[~made.any(axis=1)] = 1
    return made


def fill(con, made, first=0):
    """Add rows with some vectors, every seventh of which is NULL."""
    count = len(made)
    mask = np.arange(count) % 7 == 3
    column = pa.FixedSizeListArray.from_arrays(made.ravel(), WIDTH, mask=pa.array(mask))
    rows = pa.table({"id": range(first, first + count), "emb": column})
    con.register("added", rows)
    con.execute("INSERT INTO t SELECT id, id % 4, emb FROM added")
    con.unregister("added")


def expect(rows, query, k, metric):
    """Return the ids of the k nearest of (id, vector) pairs; the rows are in the order of ids."""
    query = query.astype(np.float64)
    found = []
    for place, (number, written) in enumerate(rows):
        vector = np.array(written, np.float64)
        product = float(vector @ query)
        match metric:
            case "l2":
                distance = float(((vector - query) ** 2).sum()) ** 0.5
            case "cosine":
                distance = 1 - product / float(np.sqrt((vector @ vector) * (query @ query)))
            case _:
                distance = -product
        found.append((round(distance, 12), place, number))
    return sorted(found)[:k]


def check(con, query, k, metric, where="true", options="exact => true"):
    """Compare a search of all that fulfils a condition with NumPy's."""
    rows = con.execute(f"SELECT id, emb FROM t WHERE emb IS NOT NULL AND {where}").fetchall()
    found = con.execute(
        "SELECT id, distance FROM vector_search"
        f"((SELECT * FROM t WHERE {where}), emb, $q, k => {k}, metric => '{metric}', {options}) "
        "ORDER BY rank",
        {"q": query},
    ).fetchall()
    expected = expect(rows, query, k, metric)
    np.testing.assert_allclose([d for _, d in found], [d for d, _, _ in expected], atol=1e-9)
    if metric != "cosine":
        # The cosines of parallel vectors may differ by their last bit.
        assert [number for number, _ in found] == [number for _, _, number in expected]


@pytest.mark.parametrize(("method", "seed"), [*(("ivf", seed) for seed in range(4)), ("hnsw", 4)])
@pytest.mark.parametrize("metric", METRICS)
def test_searches_agree_with_numpy_through_changes(tmp_path, method, seed, metric):
    print(f"seed {seed}")
    rng, chance = np.random.default_rng(seed), random.Random(seed)
    path = tmp_path / "db"
    con = raydb.connect(path)
    con.execute(f"CREATE TABLE t (id INTEGER PRIMARY KEY, kind INTEGER, emb FLOAT[{WIDTH}])")
    fill(con, vectors(rng, 200))
    options = f"lists = 12, metric = '{metric}'"
    con.execute(f"CREATE INDEX i ON t USING {method} (emb) WITH ({options})")
    count, missed = 200, []
    for _ in range(12):
        match chance.choice(("insert", "delete", "update", "vacuum", "reindex", "reopen", "undo")):
            case "insert":
                fill(con, vectors(rng, 20), count)
                count += 20
            case "delete":
                con.execute("DELETE FROM t WHERE id % 13 = ?", [chance.randrange(13)])
            case "update":
                con.execute("UPDATE t SET emb = [1, 0, -1, 2, 0] WHERE id % 11 = 5")
            case "vacuum":
                con.execute(chance.choice(("VACUUM", "CHECKPOINT")))
            case "reindex":
                con.execute("REINDEX i")
            case "reopen":
                con.close()
                con = raydb.connect(path)
            case _:
                con.execute("BEGIN; DELETE FROM t WHERE id % 2 = 0; REINDEX i; ROLLBACK")
        query = vectors(rng, 1)[0]
        for options in ("exact => true", "nprobe => 12"):
            check(con, query, 9, metric, options=options)
            check(con, query, 9, metric, "kind = 1", options)
            check(con, query, 300, metric, "kind < 3 AND id % 5 <> 2", options)
        for options in ("nprobe => 1", *(["ef => 20"] if method == "hnsw" else [])):
            short = con.execute(
                "SELECT count(*), count(DISTINCT id) FROM vector_search(t, emb, ?, k => 20, "
                f"{options}, metric => '{metric}')",
                [query],
            ).fetchall()
            assert short == [(20, 20)]
        if method == "hnsw":
            text = "SELECT distance FROM vector_search(t, emb, ?, k => 20, metric => ?, {})"
            every, some = (
                np.array(con.execute(text.format(options), [query, metric]).fetchall())
                for options in ("exact => true", "ef => 40")
            )
            missed.append((some > every.max() + 1e-9).mean())
    assert np.mean(missed or 0) < 0.03
    con.close()


def test_a_batch_finds_what_single_queries_find():
    con = raydb.connect()
    con.execute(f"CREATE TABLE t (id INTEGER, kind INTEGER, emb FLOAT[{WIDTH}])")
    rng = np.random.default_rng(5)
    fill(con, vectors(rng, 300))
    con.execute("CREATE INDEX i ON t USING ivf (emb) WITH (lists = 9)")
    batch = con.execute(
        "SELECT q.id, d.id, d.rank FROM t q, "
        "LATERAL vector_search(t, emb, q.emb, k => 4, exact => true) d ORDER BY q.id, d.rank"
    ).fetchall()
    rows = con.execute("SELECT id, emb FROM t WHERE emb IS NOT NULL").fetchall()
    single = [
        (number, found, rank)
        for number, vector in rows
        for found, rank in con.execute(
            "SELECT id, rank FROM vector_search(t, emb, ?, k => 4, exact => true) ORDER BY rank",
            [vector],
        ).fetchall()
    ]
    assert batch == single


def test_a_batch_keeps_to_the_memory_limit():
    con = raydb.connect()
    con.execute(
        "CREATE TABLE t AS SELECT range AS id, [range, 0]::FLOAT[2] AS emb FROM range(3000)"
    )
    con.execute("SET memory_limit = '20MB'")
    batch = "SELECT count(*) FROM t q, LATERAL vector_search(t, emb, q.emb, k => {}) d"
    with pytest.raises(raydb.OperationalError, match="1000 rows near each of 3000 vectors"):
        con.execute(batch.format(1000))
    assert con.execute(batch.format(10)).fetchall() == [(30000,)]


def test_other_parameters_fill_the_same_plan():
    con = raydb.connect()
    con.execute("CREATE TABLE t (id INTEGER, emb FLOAT[2])")
    con.execute("INSERT INTO t SELECT range, [range, 0]::FLOAT[2] FROM range(50)")
    text = "SELECT id FROM vector_search(t, emb, ?, k => 1)"
    for number in (3, 9, 44):
        for vector in ([number, 0], [float(number), 0.1], np.array([number, 0], np.float32)):
            assert con.execute(text, [vector]).fetchall() == [(number,)]
    assert con.execute(text, ["[3, 0]"]).fetchall() == [(3,)]
    with pytest.raises(raydb.DataError, match=r"'x' is not a valid FLOAT\[2\]"):
        con.execute(text, ["x"])
    for wrong in ([1], [1, 2, 3], 7, None):
        if wrong is None:
            assert con.execute(text, [wrong]).fetchall() == []
        else:
            with pytest.raises(raydb.ProgrammingError):
                con.execute(text, [wrong])


def test_a_search_reads_python_tables_and_streams():
    found = pa.table(
        {"n": [1, 2], "v": pa.FixedSizeListArray.from_arrays(pa.array([0, 1, 5, 5], "f4"), 2)}
    )
    con = raydb.connect()
    assert con.execute("SELECT n FROM vector_search(found, v, [4, 4], k => 1)").fetchall() == [(2,)]
    con.register("known", found)
    reader = con.execute("SELECT n, rank FROM vector_search(known, v, [0, 0], k => 2)")
    assert reader.to_arrow_reader().read_all().num_rows == 2


def test_a_reader_sees_the_index_of_the_writer(tmp_path):
    path = tmp_path / "db"
    with raydb.connect(path) as con:
        con.execute(f"CREATE TABLE t (id INTEGER, kind INTEGER, emb FLOAT[{WIDTH}])")
        fill(con, vectors(np.random.default_rng(1), 60))
        con.execute("CREATE INDEX i ON t USING ivf (emb) WITH (lists = 6)")
        fill(con, vectors(np.random.default_rng(2), 10), 60)
        with raydb.connect(path, read_only=True) as reader:
            check(reader, np.ones(WIDTH, np.float32), 7, "l2")
            assert reader.execute(
                "SELECT lists, vectors, rows_beside FROM vector_indexes()"
            ).fetchall() == [(6, 51, 10)]
            con.execute("DROP INDEX i")
            assert reader.execute("SELECT * FROM vector_indexes()").fetchall() == []
    with raydb.connect(path) as con:
        con.execute("CHECKPOINT")
    assert not list(path.rglob("*.ivf"))


def test_a_damaged_index_is_named(tmp_path):
    path = tmp_path / "db"
    with raydb.connect(path) as con:
        con.execute(f"CREATE TABLE t (id INTEGER, kind INTEGER, emb FLOAT[{WIDTH}])")
        fill(con, vectors(np.random.default_rng(3), 60))
        con.execute("CREATE INDEX i ON t USING ivf (emb)")
    (file,) = path.rglob("*.ivf")
    file.chmod(0o600)
    data = bytearray(file.read_bytes())
    data[-70] ^= 1
    file.write_bytes(data)
    with raydb.connect(path) as con, pytest.raises(raydb.OperationalError, match=r"\.ivf"):
        con.execute("SELECT * FROM vector_indexes()")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("metric", METRICS)
def test_each_row_has_rows_of_its_own_to_search(seed, metric):
    rng = np.random.default_rng(seed)
    con = raydb.connect()
    for name, count in (("t", 300), ("q", 25)):
        made = rng.normal(size=(count, WIDTH)).astype(np.float32)
        column = pa.FixedSizeListArray.from_arrays(
            made.ravel(), WIDTH, mask=pa.array(rng.random(count) < 0.1)
        )
        grade = pa.array(rng.integers(0, 6, count), mask=rng.random(count) < 0.1)
        con.register("made", pa.table({"id": range(count), "grade": grade, "emb": column}))
        con.execute(f"CREATE TABLE {name} (id INTEGER, grade INTEGER, emb FLOAT[{WIDTH}])")
        con.execute(f"INSERT INTO {name} FROM made")
    if seed:
        con.execute(f"CREATE INDEX i ON t USING ivf (emb) WITH (metric = '{metric}')")
    given = f"k => 4, metric => '{metric}'"
    for where in (
        "t.grade = {}",
        "t.grade IS NOT DISTINCT FROM {}",
        "t.grade < {}",
        "t.id > {} * 60",
    ):
        rows = f"(SELECT * FROM t WHERE {where.format('q.grade')})"
        found = con.execute(
            f"SELECT q.id, d.rank, d.id, d.distance FROM q LEFT JOIN LATERAL "
            f"vector_search({rows}, emb, q.emb, {given}) d ON true ORDER BY 1, 2"
        ).fetchall()
        expected = []
        for number, grade, emb in con.execute("FROM q ORDER BY id").fetchall():
            rows = f"(SELECT * FROM t WHERE {where.format('NULL' if grade is None else grade)})"
            alone = con.execute(
                f"SELECT rank, id, distance FROM vector_search({rows}, emb, $q, {given}, "
                "exact => true) ORDER BY 1",
                {"q": emb},
            ).fetchall()
            expected += [(number, *row) for row in alone or [(None, None, None)]]
        assert found == expected, (seed, metric, where)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_vector_as_a_parameter_is_a_list_like_any_other(dtype):
    con = raydb.connect()
    given = np.array([0.5, -0.0, np.nan, 1e30, 3.25], dtype)
    text = (
        "SELECT list_sum(list_slice($v, 4, 5)), $v[5], len($v), list_contains($v, 0.5), $v = $v, "
        "[x * 2 FOR x IN $v][1], $v::VARCHAR, typeof($v)"
    )
    expected = con.execute(
        "SELECT list_sum(list_slice(v, 4, 5)), v[5], len(v), list_contains(v, 0.5), v = v, "
        f"[x * 2 FOR x IN v][1], v::VARCHAR, typeof(v) FROM (SELECT [0.5, '-0', 'nan', 1e30, 3.25]"
        f"::{'FLOAT' if dtype == np.float32 else 'DOUBLE'}[] AS v)"
    ).fetchall()
    for value in (given, given, np.ascontiguousarray(given[::-1])[::-1]):
        assert con.execute(text, {"v": value}).fetchall() == expected
    if dtype == np.float64:
        assert con.execute(text, {"v": given.tolist()}).fetchall() == expected
    con.execute("CREATE TABLE t (v FLOAT[5], w DOUBLE[])")
    con.execute("INSERT INTO t VALUES ($v, $v)", {"v": given})
    con.execute("INSERT INTO t SELECT $v, $v", {"v": given})
    assert con.execute("SELECT count(DISTINCT v::VARCHAR) FROM t").fetchall() == [(1,)]
    with pytest.raises(raydb.DataError, match="out of range for REAL"):
        con.execute("SELECT $v::FLOAT[2]", {"v": [1e300, 1.0]})


def test_other_vectors_in_the_text_fill_the_same_plan(monkeypatch):
    rng = np.random.default_rng(8)
    made = rng.normal(size=(300, 12)).astype(np.float32)
    con = raydb.connect()
    column = pa.FixedSizeListArray.from_arrays(pa.array(made.ravel()), 12)
    con.register("made", pa.table({"id": range(300), "emb": column}))
    con.execute("CREATE TABLE t AS SELECT * FROM made; CREATE INDEX i ON t USING ivf (emb)")
    text = "SELECT id, distance FROM vector_search(t, emb, {}, k => 4, exact => true) WHERE id > 2"
    parsed = []
    parse = queries.sql.parse

    def count(read):
        parsed.append(read)
        return parse(read)

    monkeypatch.setattr(queries.sql, "parse", count)
    for query in rng.normal(size=(5, 12)):
        expected = con.execute(text.format("?"), [query.astype(np.float32)]).fetchall()
        numbers = ", ".join(map(str, query))
        for written in (f"[{numbers}]", f"'[{numbers}]'"):
            assert con.execute(text.format(written)).fetchall() == expected
    # With a parameter once, in brackets and in quotes twice: the second text makes the template.
    assert len(parsed) == 5
    with pytest.raises(raydb.Error, match="vectors of 12 numbers, the query has 11"):
        con.execute(text.format([1.5] * 11))
    whole = "[" + ", ".join(["1"] * 11)
    for written, same in ((f"{whole}, 1e-3]", "0.001"), (f"{whole}, -- 7\n 2]", "2")):
        expected = con.execute(text.format(f"{whole}, {same}]")).fetchall()
        assert con.execute(text.format(written)).fetchall() == expected
    with pytest.raises(raydb.DataError, match="out of range"):
        con.execute(text.format(f"{whole}, 1e300]"))


@pytest.mark.parametrize("metric", ["l2", "cosine", "ip"])
@pytest.mark.parametrize("method", ["", "ivf", "hnsw"])
def test_vectors_of_bytes(metric, method):
    """TINYINT[n] is searched as the same numbers of FLOAT[n] are, rows beside an index too."""
    con = raydb.connect()
    rng = np.random.default_rng(3)
    given = rng.integers(-100, 100, (400, 5))
    con.execute(
        "CREATE TABLE t (id INTEGER, v TINYINT[5]); CREATE TABLE u (id INTEGER, v FLOAT[5])"
    )
    rows = [(number, vector.tolist()) for number, vector in enumerate(given)]
    for name in ("t", "u"):
        con.executemany(f"INSERT INTO {name} VALUES (?, ?)", rows[:350])
        if method:
            con.execute(
                f"CREATE INDEX i{name} ON {name} USING {method} (v) WITH (metric='{metric}')"
            )
        con.executemany(f"INSERT INTO {name} VALUES (?, ?)", rows[350:])
    for query in rng.normal(size=(10, 5)) * 60:
        search = (
            f"SELECT id, distance FROM vector_search({{}}, v, $q, k => 7, metric => '{metric}')"
        )
        found = [con.execute(search.format(name), {"q": query}).fetchall() for name in ("t", "u")]
        assert found[0] == found[1]
    (value,) = con.execute("SELECT v FROM vector_search(t, v, [1, 2, 3, 4, 5], k => 1)").fetchone()
    assert all(isinstance(each, int) for each in value)
