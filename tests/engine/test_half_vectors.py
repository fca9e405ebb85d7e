"""FLOAT16[n]: vectors of half the bytes, which are computed with as FLOAT[n]."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import raydb

WIDTH = 6


def halves(seed, count):
    return np.random.default_rng(seed).normal(size=(count, WIDTH)).astype(np.float16)


def column_of(made):
    return pa.FixedSizeListArray.from_arrays(pa.array(made.ravel()), made.shape[1])


@pytest.fixture
def con():
    with raydb.connect() as con:
        con.execute("CREATE TABLE t (id INTEGER, v FLOAT16[3])")
        con.execute("INSERT INTO t VALUES (1, [1, 2, 3]), (2, [0.1, 0.2, 0.3]), (3, NULL)")
        con.execute("INSERT INTO t VALUES (4, '[4, 5, 6]'), (5, ?)", [np.ones(3, np.float16)])
        yield con


NEAR = tuple(np.array([0.1, 0.2, 0.3], np.float16).tolist())


@pytest.mark.parametrize("is_durable", [False, True])
def test_what_is_stored_is_what_was_given(tmp_path, is_durable):
    made = halves(1, 500)
    path = tmp_path / "t.raydb"
    con = raydb.connect(path) if is_durable else raydb.connect()
    con.register("made", pa.table({"id": np.arange(500), "v": column_of(made)}))
    con.execute("CREATE TABLE t AS SELECT * FROM made")
    assert con.execute("SELECT data_type FROM information_schema.columns").fetchall() == [
        ("BIGINT",),
        ("FLOAT16[6]",),
    ]
    if is_durable:
        con.close()
        con = raydb.connect(path)
    found = con.execute("SELECT v FROM t ORDER BY id").to_arrow_table().column(0)
    assert found.type == pa.list_(pa.float16(), WIDTH)
    numbers = found.combine_chunks().flatten().to_numpy().reshape(-1, WIDTH)
    np.testing.assert_array_equal(numbers.view(np.uint16), made.view(np.uint16))
    assert con.execute("SELECT v FROM t WHERE id = 77").fetchone() == (tuple(made[77].tolist()),)
    con.close()


@pytest.mark.parametrize("metric", ["l2", "cosine", "ip"])
@pytest.mark.parametrize("method", ["", "ivf", "hnsw"])
def test_they_are_searched_as_the_same_numbers_of_float(metric, method):
    con = raydb.connect()
    made = halves(3, 400)
    con.execute(
        "CREATE TABLE t (id INTEGER, v FLOAT16[6]); CREATE TABLE u (id INTEGER, v FLOAT[6])"
    )
    first, last = (
        pa.table({"id": np.arange(start, stop), "v": column_of(made[start:stop])})
        for start, stop in ((0, 350), (350, 400))
    )
    for name in ("t", "u"):
        con.register("made", first)
        con.execute(f"INSERT INTO {name} SELECT * FROM made")
        if method:
            with_ = f"WITH (metric = '{metric}')"
            con.execute(f"CREATE INDEX i{name} ON {name} USING {method} (v) {with_}")
        con.register("made", last)
        con.execute(f"INSERT INTO {name} SELECT * FROM made")
    search = f"SELECT id, distance FROM vector_search({{}}, v, $q, k => 7, metric => '{metric}')"
    operator = {"l2": "<->", "cosine": "<=>", "ip": "<#>"}[metric]
    order = f"SELECT id FROM {{}} ORDER BY v {operator} $q::FLOAT[6] LIMIT 5"
    for query in np.random.default_rng(5).normal(size=(10, WIDTH)):
        for text in (search, order):
            found = [con.execute(text.format(name), {"q": query}).fetchall() for name in ("t", "u")]
            assert found[0] == found[1]
    if method:
        plan = con.execute("EXPLAIN " + order.format("t"), {"q": query}).fetchall()
        assert any("NearestRows" in line for (line,) in plan)
    lateral = (
        "SELECT q.id, d.id FROM {0} q, LATERAL vector_search({0}, v, q.v, k => 2, exact => true) d"
    )
    both = [sorted(con.execute(lateral.format(name)).fetchall()) for name in ("t", "u")]
    assert both[0] == both[1]


def test_a_table_of_half_the_bytes(tmp_path):
    made = halves(4, 5000)
    with raydb.connect(tmp_path / "t.raydb") as con:
        con.register("made", pa.table({"v": column_of(made)}))
        con.execute("CREATE TABLE t AS SELECT * FROM made; CHECKPOINT")
        size = sum(file.stat().st_size for file in (tmp_path / "t.raydb" / "data").iterdir())
        assert size < 1.1 * made.nbytes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "SELECT v[2], v[1:2], v::VARCHAR FROM t WHERE id = 4",
            (5.0, [4.0, 5.0], "[4.0, 5.0, 6.0]"),
        ),
        (
            "SELECT v <-> [1, 2, 3], v = [1, 2, 3], v <+> [0, 0, 0] FROM t WHERE id = 1",
            (0.0, True, 6.0),
        ),
        (
            "SELECT typeof(v), typeof(v || v), typeof(coalesce(v, [0, 0, 0])) FROM t LIMIT 1",
            ("FLOAT16[3]", "REAL[]", "FLOAT[3]"),
        ),
        (
            "SELECT v::FLOAT[3], v::DOUBLE[], v::INTEGER[3] FROM t WHERE id = 4",
            ((4.0, 5.0, 6.0), [4.0, 5.0, 6.0], (4, 5, 6)),
        ),
        ("SELECT [0.1, 0.2, 0.3]::FLOAT16[3]", (NEAR,)),
        ("SELECT '[0.1, 0.2, 0.3]'::HALF[3]", (NEAR,)),
        (
            "SELECT TRY_CAST([1e6] AS FLOAT16[1]), [65504]::FLOAT16[1], [1e-9]::FLOAT16[1]",
            (None, (65504.0,), (0.0,)),
        ),
        ("SELECT count(DISTINCT v), count(v) FROM t", (4, 4)),
        ("SELECT avg(v), max(v) FROM t WHERE id IN (1, 4)", ((2.5, 3.5, 4.5), (4.0, 5.0, 6.0))),
        (
            "SELECT list(v), {'a': v}, MAP {'a': v} FROM t WHERE id = 1 GROUP BY v",
            ([(1.0, 2.0, 3.0)], {"a": (1.0, 2.0, 3.0)}, {"a": (1.0, 2.0, 3.0)}),
        ),
        ("SELECT count(*) FROM t a JOIN t b ON a.v = b.v", (4,)),
        ("SELECT count(*) FROM t NATURAL JOIN (SELECT v FROM t) b", (4,)),
        ("SELECT id FROM t WHERE v IN (SELECT v FROM t WHERE id = 2)", (2,)),
        ("SELECT (SELECT v FROM t WHERE id = 2)", (NEAR,)),
        ("SELECT v FROM t ORDER BY v DESC NULLS LAST LIMIT 1", ((4.0, 5.0, 6.0),)),
        ("SELECT count(*) FROM (SELECT v FROM t UNION SELECT v::FLOAT[3] FROM t)", (5,)),
        ("SELECT count(*) FROM (SELECT v FROM t EXCEPT SELECT v FROM t WHERE id > 2)", (2,)),
        (
            "SELECT lag(v) OVER (ORDER BY id) FROM t QUALIFY row_number() OVER (ORDER BY id) = 2",
            ((1.0, 2.0, 3.0),),
        ),
        (
            "SELECT count(*) FROM (SELECT DISTINCT x FROM (VALUES ([0.0]::HALF[1]), "
            "([-0.0]::HALF[1]), (['nan']::HALF[1]), (['nan']::HALF[1])) s(x))",
            (2,),
        ),
    ],
)
def test_they_are_numbers_of_float_where_they_are_computed_with(con, text, expected):
    assert con.execute(text).fetchone() == expected


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        (
            "INSERT INTO t VALUES (6, [70000, 0, 0])",
            raydb.DataError,
            "70000.0 is out of range for FLOAT16",
        ),
        ("INSERT INTO t VALUES (6, [1, 2])", raydb.DataError, "does not fit FLOAT16"),
        (
            "SELECT 1::FLOAT16",
            raydb.NotSupportedError,
            "FLOAT16 is the type of the numbers in a vector",
        ),
        (
            "CREATE TABLE x (v FLOAT16[])",
            raydb.NotSupportedError,
            "FLOAT16 is the type of the numbers in a vector",
        ),
        (
            "CREATE TABLE x (v STRUCT(a FLOAT16[2]))",
            raydb.NotSupportedError,
            "FLOAT16 is the type of the numbers in a vector",
        ),
        ("CREATE INDEX i ON t (v)", raydb.NotSupportedError, "cannot be part of an index"),
        (
            "CREATE TABLE x (v FLOAT16[2] PRIMARY KEY)",
            raydb.NotSupportedError,
            "cannot be part of a primary key",
        ),
        ("SELECT v + 1 FROM t", raydb.ProgrammingError, "cannot add"),
        (
            "INSERT INTO t VALUES (6, [1, NULL, 2]); CREATE INDEX i ON t USING ivf (v)",
            raydb.DataError,
            "has a NULL in it",
        ),
    ],
)
def test_errors(con, text, error, said):
    with pytest.raises(error, match=said):
        con.execute(text)


def test_rows_are_changed(con):
    con.execute("UPDATE t SET v = [9, 9, 9] WHERE id = 4")
    con.execute("UPDATE t SET v = o.v FROM (SELECT v FROM t WHERE id = 2) o WHERE t.id = 5")
    con.execute("DELETE FROM t WHERE v = [1, 2, 3]")
    con.execute("ALTER TABLE t ADD COLUMN w FLOAT16[2] DEFAULT [1, 2]")
    expected = [(2, NEAR, (1.0, 2.0)), (3, None, (1.0, 2.0))]
    expected += [(4, (9.0, 9.0, 9.0), (1.0, 2.0)), (5, NEAR, (1.0, 2.0))]
    assert con.execute("SELECT * FROM t ORDER BY id").fetchall() == expected
    con.execute("ALTER TABLE t ALTER v TYPE FLOAT[3]")
    assert con.execute("SELECT * FROM t ORDER BY id").fetchall() == expected
    con.execute("ALTER TABLE t ALTER v TYPE FLOAT16[3]; CREATE VIEW s AS SELECT id, v FROM t")
    assert con.execute("SELECT * FROM s ORDER BY id").fetchall() == [row[:2] for row in expected]


@pytest.mark.parametrize("suffix", ["parquet", "flat", "arrow", "jsonl"])
def test_files(con, tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    con.execute(f"COPY t TO '{path}'; CREATE TABLE u (id INTEGER, v FLOAT16[3])")
    con.execute(f"COPY u FROM '{path}'; CREATE TABLE w (id INTEGER, v FLOAT[3])")
    rows = con.execute("SELECT * FROM t ORDER BY id").fetchall()
    assert con.execute("SELECT * FROM u ORDER BY id").fetchall() == rows
    con.execute(f"COPY w FROM '{path}'")
    assert con.execute("SELECT * FROM w ORDER BY id").fetchall() == rows
    if suffix != "jsonl":
        kinds = con.execute(f"DESCRIBE SELECT * FROM '{path}'").fetchall()
        assert kinds[1][1] == "FLOAT16[3]"
    con.execute("UPDATE w SET v = [70000, 0, 0] WHERE id = 1")
    con.execute(f"COPY w TO '{path}'")
    with pytest.raises(
        raydb.DataError, match=r"row \d, column 'v': .* (does not fit|is not a) FLOAT16\[3\]"
    ):
        con.execute(f"COPY u FROM '{path}'")


def test_a_csv_file(con, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('id,v\n6,"[1, 2, 3.5]"\n7,\n')
    con.execute(f"COPY t FROM '{path}'")
    found = con.execute("SELECT * FROM t WHERE id > 5 ORDER BY id").fetchall()
    assert found == [(6, (1.0, 2.0, 3.5)), (7, None)]
    path.write_text('id,v\n6,"[1, 2, 70000]"\n')
    with pytest.raises(raydb.DataError, match=r"'\[1, 2, 70000\]' is not a FLOAT16\[3\]"):
        con.execute(f"COPY t FROM '{path}'")


def test_numbers_of_half_precision_alone_are_real():
    """As before: Arrow can hardly compute with them, and a table has no column of them."""
    con = raydb.connect()
    con.register("made", pa.table({"x": pa.array(np.array([1.5, 2], np.float16))}))
    assert con.execute("SELECT typeof(x), sum(x) OVER () FROM made LIMIT 1").fetchone() == (
        "REAL",
        3.5,
    )
