"""Python objects as tables: variables, registered names, every kind of object and its types."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import raydb

DAY = dt.date(2026, 5, 1)
ROWS = [(1, "a", 0.5, DAY), (2, None, 1.5, DAY), (3, "c", None, DAY)]
COLUMNS = {
    "n": pa.array([1, 2, 3], pa.int64()),
    "s": pa.array(["a", None, "c"]),
    "x": pa.array([0.5, 1.5, None]),
    "d": pa.array([DAY] * 3),
}
GLOBAL_ROWS = pa.table({"n": [7, 8]})


class Stream:
    """Speaks the Arrow C stream protocol, and nothing else."""

    def __arrow_c_stream__(self, requested_schema=None):
        return pa.table(COLUMNS).__arrow_c_stream__(requested_schema)


class Array:
    """Speaks the Arrow C array protocol, and nothing else."""

    def __arrow_c_array__(self, requested_schema=None):
        batch = pa.RecordBatch.from_pydict(COLUMNS)
        return batch.__arrow_c_array__(requested_schema)


def _dataset(folder):
    pq.write_table(pa.table(COLUMNS), folder / "rows.parquet")
    return ds.dataset(folder)


OBJECTS = {
    "table": lambda _: pa.table(COLUMNS),
    "batch": lambda _: pa.RecordBatch.from_pydict(COLUMNS),
    "reader": lambda _: pa.table(COLUMNS).to_reader(1),
    "dataset": _dataset,
    "pandas": lambda _: pa.table(COLUMNS).to_pandas(),
    "pandas with Arrow types": lambda _: pa.table(COLUMNS).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda _: pl.DataFrame(pa.table(COLUMNS)),
    "lazy polars": lambda _: pl.DataFrame(pa.table(COLUMNS)).lazy(),
    "dict": lambda _: COLUMNS,
    "dict of lists": lambda _: {name: values.to_pylist() for name, values in COLUMNS.items()},
    "stream": lambda _: Stream(),
    "array": lambda _: Array(),
}


@pytest.fixture
def con():
    return raydb.connect()


@pytest.mark.parametrize("kind", OBJECTS)
def test_variables(con, tmp_path, kind):
    rows = OBJECTS[kind](tmp_path)
    assert con.execute("SELECT n, s, x, d FROM rows ORDER BY n").fetchall() == ROWS
    del rows


@pytest.mark.parametrize("kind", OBJECTS)
def test_registered(con, tmp_path, kind):
    con.register("Things", OBJECTS[kind](tmp_path))
    for _ in range(2):
        assert con.execute("SELECT n, s, x, d FROM things ORDER BY n").fetchall() == ROWS


@pytest.mark.parametrize(
    "names",
    [
        pa.array(["a", None, "more than twelve bytes", "a"], pa.string_view()),
        pc.run_end_encode(pa.array(["a", None, "more than twelve bytes", "a"])),
    ],
)
def test_layouts_of_which_arrow_takes_no_rows(con, names):
    con.register("people", pa.table({"name": names, "n": [1, 2, 3, 4]}))
    found = con.execute("SELECT name, count(*), max(n) FROM people GROUP BY name ORDER BY max(n)")
    assert found.fetchall() == [(None, 1, 2), ("more than twelve bytes", 1, 3), ("a", 2, 4)]
    pairs = con.execute(
        "SELECT a.n, b.n FROM people a JOIN people b USING (name) ORDER BY a.n, b.n"
    )
    assert pairs.fetchall() == [(1, 1), (1, 4), (3, 3), (4, 1), (4, 4)]


@pytest.mark.parametrize("path", [":memory:", "texts.raydb"])
def test_texts_that_are_none_are_not_stored(tmp_path, path):
    con = raydb.connect(path if path == ":memory:" else tmp_path / path)
    con.register("odd", pa.table({"t": pa.array([b"fine", b"\xff\xfe"]).view(pa.string())}))
    con.register("listed", pa.table({"t": pa.array([[b"\xff"]]).view(pa.list_(pa.string()))}))
    con.execute("CREATE TABLE kept AS SELECT 'fine' AS t")
    for statement in ("CREATE TABLE new AS FROM odd", "INSERT INTO kept FROM odd"):
        with pytest.raises(raydb.DataError, match="column 't' has a text that is no UTF-8"):
            con.execute(statement)
    with pytest.raises(raydb.DataError, match="column 't' has a text that is no UTF-8"):
        con.execute("CREATE TABLE new AS FROM listed")
    assert con.execute("FROM kept").fetchall() == [("fine",)]


@pytest.mark.parametrize("dictionary", [True, False])
def test_a_parquet_file_with_texts_that_are_none(con, tmp_path, dictionary):
    path = tmp_path / "odd.parquet"
    rows = pa.table({"n": [1, 2], "t": pa.array([b"fine", b"\xff\xfe"]).view(pa.string())})
    pq.write_table(rows, path, use_dictionary=dictionary)
    assert con.execute(f"SELECT sum(n) FROM '{path}'").fetchone() == (3,)
    for query in ("SELECT t FROM", "SELECT t, count(*) FROM", "SELECT max(length(t)) FROM"):
        grouped = " GROUP BY t" if "count" in query else ""
        with pytest.raises(raydb.DataError, match=r"odd.parquet', column 't' has a text that is"):
            con.execute(f"{query} '{path}'{grouped}").fetchall()


def test_a_cursor_is_a_table(con):
    halves = con.execute("SELECT n, n / 2.0 AS half FROM generate_series(1, 3) AS s(n)")
    assert con.execute("SELECT sum(half) FROM halves").fetchone() == (Decimal(3),)
    assert pa.table(halves).column_names == ["n", "half"]
    assert pl.DataFrame(halves).height == 3


# NumPy


@pytest.mark.parametrize(
    ("array", "rows"),
    [
        (np.array([1, 2], np.int16), [(1,), (2,)]),
        (np.array([[1, 2], [3, 4]]), [(1, 2), (3, 4)]),
        (np.array([(1, 0.5)], [("a", "i4"), ("b", ">f8")]), [(1, 0.5)]),
        (np.array([], np.float32), []),
        (np.array(["2026-05-01"], "datetime64[D]"), [(DAY,)]),
        (np.arange(10, dtype=np.int32)[::3], [(0,), (3,), (6,), (9,)]),
    ],
)
def test_arrays(con, array, rows):
    assert array is not None
    assert con.execute("SELECT * FROM array").fetchall() == rows


def test_a_matrix_in_a_dict_is_a_column_of_vectors(con):
    vectors = {"id": [1, 2], "v": np.array([[1, 2], [3, 4]], np.float32)}
    cur = con.execute("SELECT * FROM vectors")
    assert cur.fetchall() == [(1, (1.0, 2.0)), (2, (3.0, 4.0))]
    assert cur.description[1][1] == "FLOAT[2]"
    del vectors


def test_an_array_of_three_dimensions(con):
    cube = np.zeros((2, 2, 2))
    with pytest.raises(raydb.DataError, match=r"variable 'cube' .* 3 dimensions"):
        con.execute("SELECT * FROM cube")
    del cube


# Which object a name means


def test_the_globals_of_the_caller(con):
    assert con.execute("SELECT sum(n) FROM GLOBAL_ROWS").fetchone() == (15,)


def test_a_local_variable_hides_a_global_one(con):
    GLOBAL_ROWS = {"n": [1]}  # noqa: N806
    assert con.execute("SELECT sum(n) FROM GLOBAL_ROWS").fetchone() == (1,)
    del GLOBAL_ROWS


def test_a_variable_that_is_written_so_comes_first(con):
    assert con.execute("SELECT sum(n) FROM Global_Rows").fetchone() == (15,)
    global_rows = {"n": [1]}
    assert con.execute("SELECT sum(n) FROM global_rows").fetchone() == (1,)
    assert con.execute("SELECT sum(n) FROM GLOBAL_ROWS").fetchone() == (15,)
    with pytest.raises(raydb.ProgrammingError, match="variable 'Global_Rows' is ambiguous"):
        con.execute("SELECT sum(n) FROM Global_Rows")
    del global_rows


def test_a_registered_name_is_found_in_any_case(con):
    con.register("Sales", {"Amount": [1, 2]})
    cur = con.execute("SELECT AMOUNT FROM sales ORDER BY amount")
    assert [column[0] for column in cur.description] == ["Amount"]
    con.register("SALES", {"Amount": [3]})
    assert con.execute('SELECT amount FROM "sales"').fetchall() == [(3,)]
    con.unregister("sales")
    with pytest.raises(raydb.ProgrammingError, match="'Sales' is not registered"):
        con.unregister("Sales")


def test_columns_that_differ_by_case(con):
    frame = pd.DataFrame({"A": [1], "a": [2], "CustomerName": ["x"]})
    assert con.execute('SELECT "a", "A", customername FROM frame').fetchone() == (2, 1, "x")
    with pytest.raises(raydb.ProgrammingError, match="there are 'A' and 'a', which differ by case"):
        con.execute("SELECT a FROM frame")
    found = con.execute("SELECT * FROM frame").to_arrow_table()
    assert found.column_names == ["A", "a", "CustomerName"]
    del frame


def test_callers_of_the_caller_are_not_asked(con):
    hidden = {"n": [1]}

    def ask():
        return con.execute("SELECT * FROM hidden")

    with pytest.raises(raydb.ProgrammingError, match="table 'hidden' does not exist"):
        ask()
    assert con.cursor().execute("SELECT * FROM hidden").fetchall() == [(1,)]
    del hidden


def test_tables_views_and_common_tables_come_first(con):
    t = v = c = {"n": [0]}
    con.execute("CREATE TABLE t AS SELECT 1 AS n; CREATE VIEW v AS SELECT 2 AS n")
    found = con.execute("WITH c AS (SELECT 3 AS n) SELECT t.n, v.n, c.n FROM t, v, c").fetchall()
    assert found == [(1, 2, 3)]
    assert t is v is c


def test_a_variable_is_read_anew(con):
    for value in (1, 2):
        rows = {"n": [value]}
        assert con.execute("SELECT n FROM rows").fetchall() == [(value,)]
        del rows


def test_statements_that_write(con):
    rows = {"n": [1, 2]}
    con.execute("CREATE TABLE kept AS SELECT n FROM rows")
    con.execute("INSERT INTO kept SELECT n + 10 FROM rows")
    con.execute("UPDATE kept SET n = 0 FROM rows WHERE kept.n = rows.n")
    con.execute("DELETE FROM kept USING rows WHERE kept.n = rows.n + 10 AND rows.n = 2")
    assert con.execute("SELECT n FROM kept ORDER BY n").fetchall() == [(0,), (0,), (11,)]
    with pytest.raises(raydb.ProgrammingError, match="table 'rows' does not exist"):
        con.execute("INSERT INTO rows VALUES (3)")
    del rows


def test_what_is_stored_is_a_copy(con):
    array = np.array([1, 2])
    con.execute("CREATE TABLE kept AS SELECT column0 AS n FROM array")
    array[0] = 100
    assert con.execute("SELECT n FROM kept").fetchall() == [(1,), (2,)]


def test_views_know_no_variables(con):
    rows = {"n": [1]}
    con.register("named", rows)
    for name in ("rows", "named"):
        with pytest.raises(raydb.ProgrammingError, match=f"table '{name}' does not exist"):
            con.execute(f"CREATE VIEW v AS SELECT * FROM {name}")


@pytest.mark.parametrize("off", ["SET replacement_scans = 'off'", "SET external_access = 'off'"])
def test_switched_off(con, off):
    rows = {"n": [1]}
    con.register("named", rows)
    con.execute(off)
    with pytest.raises(raydb.ProgrammingError, match="table 'rows' does not exist"):
        con.execute("SELECT * FROM rows")
    assert con.execute("SELECT n FROM named").fetchall() == [(1,)]


def test_a_connection_without_external_access():
    rows = {"n": [1]}
    con = raydb.connect(external_access=False)
    with pytest.raises(raydb.ProgrammingError, match="table 'rows' does not exist"):
        con.execute("SELECT * FROM rows")
    del rows


def test_the_setting_is_shown(con):
    assert con.execute("SHOW replacement_scans").fetchone() == ("on",)


# Registered names


def test_a_registered_object_hides_a_variable(con):
    rows = {"n": [1]}
    con.register("rows", {"n": [2]})
    assert con.execute("SELECT n FROM rows").fetchall() == [(2,)]
    con.unregister("ROWS")
    assert con.execute("SELECT n FROM rows").fetchall() == [(1,)]
    del rows


def test_registering_replaces(con):
    con.register("r", {"n": [1]})
    con.register("r", {"n": [2]})
    assert con.execute("SELECT n FROM r").fetchall() == [(2,)]


def test_names_that_cannot_be_registered(con):
    con.execute("CREATE TABLE t (n INTEGER); CREATE VIEW v AS SELECT 1 AS n")
    with pytest.raises(raydb.ProgrammingError, match="table 't' exists already"):
        con.register("t", {"n": [1]})
    with pytest.raises(raydb.ProgrammingError, match="view 'v' exists already"):
        con.register("v", {"n": [1]})
    with pytest.raises(raydb.ProgrammingError, match="'x' is not registered"):
        con.unregister("x")


@pytest.mark.parametrize("data", [1, "text", [1, 2], None, {}, pa.array([1])])
def test_what_is_no_table(con, data):
    with pytest.raises(raydb.ProgrammingError, match="cannot be registered: a"):
        con.register("x", data)
    with pytest.raises(raydb.ProgrammingError, match="the Python variable 'data' is a"):
        con.execute("SELECT * FROM data")


# Types


def test_types_that_sql_lacks_become_wider_ones(con):
    odd = pa.table(
        {
            "u": pa.array([2**64 - 1], pa.uint64()),
            "t": pa.array(["x"]).dictionary_encode(),
            "big": pa.array(["y"], pa.large_string()),
            "ms": pa.array([dt.datetime(2026, 5, 1, 12)], pa.timestamp("ms")),
            "nothing": pa.nulls(1),
        }
    )
    cur = con.execute("SELECT * FROM odd")
    assert cur.fetchall() == [(2**64 - 1, "x", "y", dt.datetime(2026, 5, 1, 12), None)]
    assert [column[1] for column in cur.description] == [
        *("UBIGINT", "VARCHAR", "VARCHAR", "TIMESTAMP_MS", "VARCHAR")
    ]
    del odd


def test_a_type_that_sql_lacks_fails_where_it_is_read(con):
    union = pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])])
    odd = pa.table({"n": [1], "union": union})
    assert con.execute("SELECT n FROM odd").fetchall() == [(1,)]
    with pytest.raises(raydb.NotSupportedError, match="the variable 'odd', column 'union'"):
        con.execute('SELECT "union" FROM odd')
    del odd


def test_columns_of_one_name(con):
    twice = pa.table([pa.array([1]), pa.array([2])], ["n", "n"])
    with pytest.raises(raydb.ProgrammingError, match="'twice' has two columns named 'n'"):
        con.execute("SELECT * FROM twice")
    frame = pd.DataFrame([[1, 2]], columns=["n", "n"])
    with pytest.raises(raydb.ProgrammingError, match="two columns named 'n'"):
        con.execute("SELECT * FROM frame")
    del twice, frame


def test_columns_of_different_lengths(con):
    ragged = {"a": [1], "b": [1, 2]}
    with pytest.raises(raydb.DataError, match="the variable 'ragged' cannot be read as a table"):
        con.execute("SELECT * FROM ragged")
    del ragged


def test_only_the_columns_that_are_asked_for_are_read(con):
    frame = pd.DataFrame({"n": [1, 2], "mixed": pd.Categorical(["a", "b"])})
    frame[3] = [5, 6]
    assert con.execute('SELECT n, mixed, "3" FROM frame').fetchall() == [(1, "a", 5), (2, "b", 6)]
    mixed = pd.DataFrame({"n": [1], "what": [object()]})
    with pytest.raises(raydb.DataError, match="the variable 'mixed', column 'what': values of"):
        con.execute("SELECT n FROM mixed")
    del frame, mixed


def test_a_frame_without_columns(con):
    empty = pd.DataFrame()
    with pytest.raises(raydb.ProgrammingError, match="the variable 'empty' has no columns"):
        con.execute("SELECT * FROM empty")
    del empty


def test_a_name_is_that_of_a_table_or_of_a_variable(con):
    con.execute("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1)")
    with pytest.raises(raydb.ProgrammingError, match="'other' does not exist"):
        con.execute("INSERT INTO other SELECT t.a FROM t")
    with pytest.raises(raydb.ProgrammingError, match="'other' does not exist"):
        con.execute("SELECT a FROM t, other")
    other = pa.table({"b": [7]})
    assert con.execute("SELECT a, b FROM t, other").fetchall() == [(1, 7)]
    con.execute("CREATE TABLE other (b INTEGER); INSERT INTO other VALUES (8)")
    assert con.execute("SELECT b, a FROM t, other").fetchall() == [(8, 1)]
    assert con.execute("SELECT b + a FROM t, other").fetchall() == [(9,)]
    con.execute("DROP TABLE other")
    assert con.execute("SELECT b - a FROM t, other").fetchall() == [(6,)]
    con.execute("CREATE VIEW other AS SELECT 5 AS b")
    assert con.execute("SELECT b * a FROM t, other").fetchall() == [(5,)]
    con.execute("DROP VIEW other; CREATE SCHEMA s; CREATE TABLE s.other (b INTEGER)")
    con.execute("INSERT INTO s.other VALUES (4)")
    assert con.execute("SELECT a, b FROM t, s.other").fetchall() == [(1, 4)]
    assert con.execute("SELECT b, b FROM t, other").fetchall() == [(7, 7)]
    del other


# Results


def test_results_in_every_form(con):
    cur = con.execute("SELECT n, n * 0.5 AS x, 'a' AS s FROM generate_series(1, 3) AS t(n)")
    table = cur.to_arrow_table()
    assert cur.to_pandas()["n"].tolist() == [1, 2, 3]
    assert cur.to_polars().equals(pl.from_arrow(table))
    assert cur.to_polars(lazy=True).collect().height == 3
    assert cur.to_numpy()["n"].tolist() == [1, 2, 3]
    reader = cur.to_arrow_reader(2)
    assert [batch.num_rows for batch in reader] == [2, 1]
    assert cur.fetchall() == [
        (1, Decimal("0.5"), "a"),
        (2, Decimal("1.0"), "a"),
        (3, Decimal("1.5"), "a"),
    ]


def test_a_frame_makes_the_round_trip(con):
    frame = pd.DataFrame({"n": [1, 2], "s": ["a", "b"], "t": pd.to_datetime(["2026-05-01", None])})
    back = con.execute("SELECT * FROM frame").to_pandas()
    pd.testing.assert_frame_equal(back, frame, check_dtype=False)
    kept = pl.DataFrame(frame)
    assert con.execute("SELECT * FROM kept").to_polars().equals(kept)


def test_polars_reads_from_a_connection(con):
    con.execute("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (1), (2)")
    frame = pl.read_database("SELECT n FROM t ORDER BY n", con)
    assert frame["n"].to_list() == [1, 2]
