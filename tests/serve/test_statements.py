"""Statements over Flight SQL, as ADBC's dbapi sends them: rows, counts, parameters, errors."""

import datetime as dt
import decimal
import uuid

import adbc_driver_manager as manager
import pyarrow as pa
import pytest


def test_rows_have_their_types(cursor):
    cursor.execute("""
        SELECT 1 AS i, 'é' AS t, 1.50::DECIMAL(5, 2) AS d, DATE '2026-05-01' AS day,
               0.5::DOUBLE AS f, TIMESTAMP '2026-05-01 10:00:00' AS at, [1, 2] AS l,
               {'a': 1} AS s, true AS b,
               'ab'::BLOB AS y, NULL::INTEGER AS n, TIME '10:00:00' AS c
    """)
    assert cursor.fetchall() == [
        (
            *(1, "é", decimal.Decimal("1.50"), dt.date(2026, 5, 1), 0.5),
            *(dt.datetime(2026, 5, 1, 10), [1, 2], {"a": 1}, True, b"ab", None, dt.time(10)),
        )
    ]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 'a'::ENUM('a', 'b') AS e FROM range(3)",
        "SELECT uuid '12345678-1234-1234-1234-123456789abc' AS u",
        "SELECT INTERVAL 1 MONTH AS i",
        "SELECT MAP {'a': [1, 2]} AS m",
        "SELECT 12345678901234567890123456789012345678::HUGEINT AS h",
        "SELECT TIMESTAMPTZ '2026-05-01 10:00:00+02' AS z",
        "SELECT NULL AS n, 255::UTINYINT AS u, [[1], NULL] AS l",
        "SELECT 1 AS x WHERE false",
        "SELECT 1 AS a, 2 AS a",
    ],
)
def test_rows_are_those_of_the_process(base, cursor, query):
    assert cursor.execute(query).fetch_arrow_table() == base.execute(query).to_arrow_table()


def test_statements_tell_what_they_wrote(cursor):
    cursor.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
    assert cursor.fetchall() == []
    cursor.execute("INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'z')")
    assert cursor.rowcount == 3
    assert cursor.execute("DELETE FROM t WHERE a = 1 RETURNING b").fetchall() == [("x",)]
    cursor.execute("UPDATE t SET b = 'q'")
    assert cursor.rowcount == 2


def test_other_texts_have_rows_too(cursor):
    cursor.execute("CREATE TABLE t (a INTEGER)")
    assert cursor.execute("SHOW TABLES").fetchall() == [("t",)]
    assert cursor.execute("DESCRIBE t").fetchone()[:2] == ("a", "INTEGER")
    assert cursor.execute("INSERT INTO t VALUES (1); SELECT a + 1 FROM t").fetchall() == [(2,)]
    assert "Scan" in str(cursor.execute("EXPLAIN SELECT * FROM t").fetchall())


def test_parameters(cursor):
    assert cursor.execute("SELECT ?::INTEGER + ?", (40, 2)).fetchall() == [(42,)]
    assert cursor.execute("SELECT $1 || $1", ("ab",)).fetchall() == [("abab",)]
    assert cursor.execute("SELECT ? IS NULL", (None,)).fetchall() == [(True,)]
    row = (decimal.Decimal("1.25"), dt.date(2026, 1, 2), b"x", "é", 2**40, 0.5, True)
    assert cursor.execute("SELECT ?, ?, ?, ?, ?, ?, ?", row).fetchall() == [row]


def test_parameters_by_name(cursor):
    values = pa.record_batch({"high": [9], "low": [2]})
    cursor.execute("SELECT $low - $high", values)
    assert cursor.fetchall() == [(-7,)]


def test_several_rows_of_parameters(cursor):
    cursor.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
    cursor.executemany("INSERT INTO t VALUES (?, ?)", [(n, str(n)) for n in range(1000)])
    assert cursor.rowcount == 1000
    values = pa.record_batch({"x": [3, 5, 7000]})
    assert cursor.execute("SELECT b FROM t WHERE a = ?", values).fetchall() == [("3",), ("5",)]
    with pytest.raises(manager.ProgrammingError, match="parameter set 2"):
        cursor.executemany("INSERT INTO t VALUES (?, ?)", [(1000, "a"), (1, "b"), (1001, "c")])
    assert cursor.execute("SELECT count(*) FROM t").fetchone() == (1000,)


def test_prepared_statements_tell_their_columns(connect):
    with connect().cursor() as cursor:
        cursor.execute("CREATE TABLE t (a INTEGER, b VARCHAR)")
        parameters = cursor.adbc_prepare("SELECT b, a + ? AS c FROM t WHERE a > ?")
        assert parameters.names == ["1", "2"]
        schema = cursor.adbc_execute_schema("SELECT b, a::BIGINT AS c FROM t")
        assert schema == pa.schema({"b": pa.string(), "c": pa.int64()})


def test_a_prepared_statement_runs_again(cursor):
    cursor.execute("CREATE TABLE t (a INTEGER)")
    for number in range(3):
        cursor.execute("INSERT INTO t VALUES (?)", (number,))
    assert [cursor.execute("SELECT sum(a) FROM t").fetchone() for _ in range(3)] == [(3,)] * 3


@pytest.mark.parametrize(
    ("text", "kind", "name", "sentence"),
    [
        ("SELEC 1", manager.ProgrammingError, "ProgrammingError", "unexpected 'SELEC'"),
        ("SELECT x FROM t", manager.ProgrammingError, "ProgrammingError", "column 'x' does not"),
        ("INSERT INTO t VALUES (1)", manager.ProgrammingError, "IntegrityError", "primary key"),
        ("SELECT a / 0 FROM t", manager.ProgrammingError, "DataError", "division by zero"),
        ("FROM 'f.csv'", manager.OperationalError, "OperationalError", "external_access is off"),
        ("FROM base", manager.ProgrammingError, "ProgrammingError", "table 'base' does not exist"),
    ],
)
def test_errors_keep_their_sentence(base, cursor, text, kind, name, sentence):
    base.execute("CREATE TABLE t (a INTEGER PRIMARY KEY); INSERT INTO t VALUES (1)")
    with pytest.raises(kind) as caught:
        cursor.execute(text).fetchall()
    with pytest.raises(Exception, match=sentence) as own:
        base.execute(text)
    if "FROM base" not in text:
        assert str(own.value) in str(caught.value)
    assert "Traceback" not in str(caught.value)
    assert (b"x-raydb-error", name.encode()) in caught.value.details


def test_an_error_of_any_length_arrives(cursor):
    with pytest.raises(manager.ProgrammingError, match=r"column 'éééé.* \.\.\. "):
        cursor.execute(f'SELECT "{"é" * 5000}"')


def test_uuids_are_uuids(cursor):
    table = cursor.execute("SELECT uuid() AS u").fetch_arrow_table()
    assert isinstance(table["u"][0].as_py(), uuid.UUID)


def test_parameters_that_python_does_not_have(connect):
    moment = 253_402_300_799_999_999  # the last microsecond of the year 9999
    given = pa.record_batch(
        [
            pa.array([1_684_158_330_123_456_789], pa.timestamp("ns")),
            pa.array([moment], pa.timestamp("us", "Asia/Tokyo")),
            pa.array([moment + 1], pa.timestamp("us")),
            pa.array([[moment + 1, None]], pa.list_(pa.timestamp("us", "UTC"))),
            pa.array([None], pa.timestamp("ns")),
        ],
        names=list("12345"),
    )
    with connect().cursor() as cursor:
        cursor.execute("SET timezone = 'UTC'")
        cursor.execute("SELECT " + ", ".join(f"${n}::VARCHAR" for n in range(1, 6)), given)
        assert cursor.fetchone() == (
            "2023-05-15 13:45:30.123456789",
            "9999-12-31 23:59:59.999999+00",
            "10000-01-01 00:00:00",
            "['10000-01-01 00:00:00+00', NULL]",
            None,
        )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (pa.array([1], pa.time64("ns")), "'00:00:00.000000001' has nanoseconds"),
        (pa.array([1], pa.timestamp("ns", "UTC")), "has nanoseconds"),
        (pa.array([b"\xff"]).view(pa.string()), "the rows of the client are damaged: .* UTF8"),
    ],
)
def test_parameters_that_are_no_values(connect, given, message):
    with connect().cursor() as cursor, pytest.raises(manager.Error, match=message):
        cursor.execute("SELECT ?", pa.record_batch([given], names=["1"])).fetchall()


def test_damaged_rows_of_a_client(base, connect):
    codes = pa.DictionaryArray.from_arrays(pa.array([10**9]), pa.array(["a"]), safe=False)
    for damaged in (codes, pa.array([b"\xff"]).view(pa.string())):
        rows = pa.record_batch([damaged], names=["t"])
        with connect().cursor() as cursor:
            with pytest.raises(manager.Error, match="the rows of the client are damaged"):
                cursor.execute("SELECT ?", rows)
            with pytest.raises(manager.Error, match="the rows of the client are damaged"):
                cursor.adbc_ingest("new", rows, mode="create")
    assert base.execute("SHOW TABLES").fetchall() == []
