"""PEP 249, section by section."""

from __future__ import annotations

import datetime as dt
import threading
import time

import pytest

import raydb


@pytest.fixture
def con():
    con = raydb.connect()
    con.execute("CREATE TABLE booze (name VARCHAR, bottles INTEGER)")
    return con


# Module interface


def test_globals():
    assert raydb.apilevel == "2.0"
    assert raydb.threadsafety == 2
    assert raydb.paramstyle == "qmark"


ERRORS = {
    "Warning": Exception,
    "Error": Exception,
    "InterfaceError": raydb.Error,
    "DatabaseError": raydb.Error,
    "DataError": raydb.DatabaseError,
    "OperationalError": raydb.DatabaseError,
    "IntegrityError": raydb.DatabaseError,
    "InternalError": raydb.DatabaseError,
    "ProgrammingError": raydb.DatabaseError,
    "NotSupportedError": raydb.DatabaseError,
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_of_the_module_and_the_connection(con, name):
    error = getattr(raydb, name)
    assert error.__base__ is ERRORS[name]
    assert getattr(con, name) is error


def test_errors_are_caught_by_way_of_the_connection(con):
    with pytest.raises(con.ProgrammingError):
        con.execute("SELECT nothing")


# Connection objects


def test_commit_and_rollback_outside_of_a_transaction_do_nothing(con):
    con.commit()
    con.rollback()
    assert not con.in_transaction


def test_rollback_undoes(con):
    con.begin()
    assert con.in_transaction
    con.execute("INSERT INTO booze VALUES ('Vic', 1)")
    con.rollback()
    assert con.execute("SELECT * FROM booze").fetchall() == []


@pytest.mark.parametrize(
    "use",
    [
        lambda con: con.cursor(),
        lambda con: con.commit(),
        lambda con: con.rollback(),
        lambda con: con.begin(),
        lambda con: con.execute("SELECT 1"),
        lambda con: con.executemany("INSERT INTO booze VALUES (?, ?)", []),
        lambda con: con.register("x", {"a": [1]}),
        lambda con: con.unregister("x"),
        lambda con: con.appender("booze"),
        lambda con: con.in_transaction,
        lambda con: con.__enter__(),
    ],
)
def test_a_closed_connection_is_of_no_use(con, use):
    con.close()
    con.close()
    with pytest.raises(raydb.InterfaceError, match="the connection is closed"):
        use(con)


def test_a_cursor_of_a_closed_connection_is_of_no_use(con):
    cur = con.execute("SELECT 1")
    con.close()
    for use in (cur.fetchone, cur.fetchall, cur.fetchmany, lambda: cur.execute("SELECT 1")):
        with pytest.raises(raydb.InterfaceError, match="the connection is closed"):
            use()


def test_closing_rolls_back(tmp_path):
    with raydb.connect(tmp_path / "d") as con:
        con.execute("CREATE TABLE t (a INTEGER)")
        con.begin()
        con.execute("INSERT INTO t VALUES (1)")
    with raydb.connect(tmp_path / "d") as con:
        assert con.execute("SELECT count(*) FROM t").fetchone() == (0,)


# Cursor attributes


def test_cursors_of_one_connection_see_each_other(con):
    one, other = con.cursor(), con.cursor()
    one.execute("INSERT INTO booze VALUES ('Vic', 1)")
    assert other.execute("SELECT name FROM booze").fetchall() == [("Vic",)]


def test_description(con):
    cur = con.cursor()
    assert cur.description is None
    cur.execute("INSERT INTO booze VALUES ('Vic', 1)")
    assert cur.description is None
    cur.execute("SELECT name, bottles AS n FROM booze")
    assert cur.description == [
        ("name", "VARCHAR", None, None, None, None, None),
        ("n", "INTEGER", None, None, None, None, None),
    ]
    cur.execute("CREATE TABLE barflys (name VARCHAR)")
    assert cur.description is None


TYPE_OBJECTS = {"STRING", "BINARY", "NUMBER", "DATETIME", "ROWID"}


@pytest.mark.parametrize(
    ("sql", "name"),
    [
        ("'a'", "STRING"),
        ("CAST('a' AS BLOB)", "BINARY"),
        ("CAST(1 AS TINYINT)", "NUMBER"),
        ("1", "NUMBER"),
        ("CAST(1 AS HUGEINT)", "NUMBER"),
        ("1.50", "NUMBER"),
        ("CAST(1 AS REAL)", "NUMBER"),
        ("CAST(1 AS DOUBLE)", "NUMBER"),
        ("DATE '2026-05-01'", "DATETIME"),
        ("TIME '12:00:00'", "DATETIME"),
        ("TIMESTAMP '2026-05-01 12:00:00'", "DATETIME"),
        ("true", None),
        ("INTERVAL '1' DAY", None),
        ("[1, 2]", None),
    ],
)
def test_type_objects(con, sql, name):
    code = con.execute(f"SELECT {sql}").description[0][1]
    equal = {each for each in TYPE_OBJECTS if code == getattr(raydb, each)}
    assert equal == ({name} if name else set())


def test_type_objects_are_values():
    assert raydb.STRING == raydb.STRING
    assert raydb.STRING != raydb.NUMBER
    assert len({raydb.STRING, raydb.NUMBER, raydb.STRING}) == 2
    assert raydb.STRING != 1
    assert repr(raydb.STRING) == "TypeObject('VARCHAR')"


def test_rowcount(con):
    cur = con.cursor()
    assert cur.rowcount == -1
    cur.execute("CREATE TABLE barflys (name VARCHAR)")
    assert cur.rowcount == -1
    cur.execute("INSERT INTO booze VALUES ('Vic', 1), ('Red', 2)")
    assert cur.rowcount == 2
    cur.execute("SELECT * FROM booze")
    assert cur.rowcount == 2
    cur.execute("UPDATE booze SET bottles = 0")
    assert cur.rowcount == 2
    cur.execute("DELETE FROM booze WHERE name = 'Vic'")
    assert cur.rowcount == 1


def test_rownumber(con):
    cur = con.cursor()
    assert cur.rownumber is None
    cur.execute("SELECT * FROM generate_series(1, 9)")
    found = [cur.rownumber]
    cur.fetchone()
    found.append(cur.rownumber)
    cur.fetchmany(3)
    found.append(cur.rownumber)
    next(cur)
    found.append(cur.rownumber)
    cur.fetchall()
    found.append(cur.rownumber)
    assert found == [0, 1, 4, 5, 9]


# Cursor methods


def test_callproc(con):
    cur = con.cursor()
    given = ["FOO"]
    assert cur.callproc("lower", given) == given
    assert cur.fetchall() == [("foo",)]
    cur.callproc("generate_series", (1, 3))
    assert cur.fetchall() == [(1,), (2,), (3,)]
    cur.callproc("pi")
    assert cur.fetchone()[0] == pytest.approx(3.14159265)


@pytest.mark.parametrize("name", ["lower(1); DROP TABLE booze --", "", "1", "a.b", None])
def test_callproc_takes_names_only(con, name):
    with pytest.raises(raydb.ProgrammingError, match="is not the name of a function"):
        con.cursor().callproc(name)


def test_closed_cursors(con):
    cur = con.execute("SELECT 1")
    cur.close()
    cur.close()
    for use in (cur.fetchone, cur.fetchall, cur.fetchmany, lambda: cur.execute("SELECT 1")):
        with pytest.raises(raydb.InterfaceError, match="the cursor is closed"):
            use()
    with con.cursor() as cur:
        cur.execute("SELECT 1")
    with pytest.raises(raydb.InterfaceError):
        cur.fetchone()
    with pytest.raises(raydb.InterfaceError, match="the cursor is closed"), cur:
        pass


@pytest.mark.parametrize("sql", [None, 5, b"SELECT 1", ["SELECT 1"]])
def test_statements_are_texts(con, sql):
    for run in (con.execute, con.stream, lambda sql: con.executemany(sql, [()])):
        with pytest.raises(raydb.ProgrammingError, match="a statement is a text, not a"):
            run(sql)


def test_half_characters_are_refused(con):
    with pytest.raises(raydb.ProgrammingError, match=r"^parameter 1 has '\\ud800', half of"):
        con.execute("SELECT ?", ["x\ud800"])
    with pytest.raises(raydb.ProgrammingError, match=r"^parameter 1 has '\\ud800', half of"):
        con.execute("SELECT ?", [{"x\ud800": 1}])
    with pytest.raises(raydb.ProgrammingError, match=r"^the statement has '\\ud800', half of"):
        con.execute("SELECT '\ud800'")


@pytest.mark.parametrize(
    "sql",
    [
        "FROM 'a\0b.csv'",
        "COPY t FROM 'a\0b.csv'",
        "COPY (SELECT 1) TO 'a\0b.csv'",
        "COPY (SELECT 1 AS a, 2 AS b) TO 'a\0b' (FORMAT csv, PARTITION_BY (a))",
        "ATTACH 'a\0b' AS other",
    ],
)
def test_nul_is_in_no_path(con, sql):
    con.execute("CREATE TABLE IF NOT EXISTS t (a INTEGER)")
    with pytest.raises(raydb.OperationalError, match=r"^'a\\x00b.*' is not the path of a file"):
        con.execute(sql)


@pytest.mark.parametrize("path", [5, b"d", "a\0b", object()])
def test_paths_are_texts(path):
    with pytest.raises(raydb.ProgrammingError, match="is not the path of a database"):
        raydb.connect(path)


@pytest.mark.parametrize(
    "fetch",
    [
        lambda cur: cur.fetchone(),
        lambda cur: cur.fetchmany(4),
        lambda cur: cur.fetchall(),
        next,
        iter,
        lambda cur: cur.to_arrow_table(),
    ],
)
@pytest.mark.parametrize("before", [None, "CREATE TABLE barflys (name VARCHAR)", "COMMIT AND"])
def test_fetching_without_a_query(con, before, fetch):
    cur = con.execute("SELECT 1") if before else con.cursor()
    if before:
        # The rows of the query before are gone, even where the statement fails.
        try:
            cur.execute(before)
        except raydb.Error:
            assert before == "COMMIT AND"
    with pytest.raises(raydb.InterfaceError, match="returned no rows"):
        fetch(cur)


def test_fetches(con):
    cur = con.execute("SELECT * FROM generate_series(1, 6)")
    assert cur.arraysize == 1
    assert cur.fetchmany() == [(1,)]
    cur.arraysize = 2
    assert cur.fetchmany() == [(2,), (3,)]
    assert cur.fetchmany(0) == []
    assert cur.fetchone() == (4,)
    assert next(cur) == (5,)
    assert cur.fetchmany(10) == [(6,)]
    assert cur.fetchmany(10) == []
    assert cur.fetchone() is None
    assert cur.fetchall() == []
    assert list(cur) == []


def test_iteration_goes_on_where_a_fetch_ended(con):
    cur = con.execute("SELECT * FROM generate_series(1, 4)")
    assert cur.fetchone() == (1,)
    assert [row for (row,) in cur] == [2, 3, 4]


@pytest.mark.parametrize("size", [-1, 1.5, "3"])
def test_numbers_of_rows(con, size):
    cur = con.execute("SELECT 1")
    with pytest.raises(raydb.ProgrammingError, match="a number of rows is an integer from 0 on"):
        cur.fetchmany(size)
    with pytest.raises(raydb.ProgrammingError, match="a number of rows is an integer from 0 on"):
        cur.arraysize = size


def test_sizes_are_ignored(con):
    cur = con.cursor()
    cur.setinputsizes((25,))
    cur.setoutputsize(1000)
    cur.setoutputsize(2000, 0)
    cur.execute("INSERT INTO booze VALUES (?, ?)", ("Vic", 1))
    assert cur.rowcount == 1


# executemany


def test_executemany_adds_up(con):
    cur = con.executemany(
        "INSERT INTO booze VALUES ($name, $n)", ({"name": f"b{n}", "n": n} for n in range(5))
    )
    assert cur.rowcount == 5
    assert cur.description is None
    assert con.execute("SELECT sum(bottles) FROM booze").fetchone() == (10,)
    assert con.executemany("INSERT INTO booze VALUES (?, ?)", []).rowcount == 0


def test_executemany_is_all_or_nothing(con):
    with pytest.raises(raydb.DataError):
        con.executemany("INSERT INTO booze VALUES (?, ?)", [("a", 1), ("b", "many")])
    assert con.execute("SELECT * FROM booze").fetchall() == []
    assert not con.in_transaction


def test_executemany_inside_a_transaction(con):
    con.begin()
    con.executemany("INSERT INTO booze VALUES (?, ?)", [("a", 1), ("b", 2)])
    with pytest.raises(raydb.DataError):
        con.executemany("INSERT INTO booze VALUES (?, ?)", [("c", 3), ("d", "many")])
    assert con.in_transaction
    con.commit()
    assert con.execute("SELECT name FROM booze ORDER BY name").fetchall() == [("a",), ("b",)]


def test_executemany_refuses_queries(con):
    with pytest.raises(raydb.ProgrammingError, match="not a query"):
        con.executemany("SELECT ?", [(1,), (2,)])
    assert not con.in_transaction


# Type constructors


def test_constructors(con):
    values = (
        raydb.Date(2026, 5, 1),
        raydb.Time(13, 45, 30),
        raydb.Timestamp(2026, 5, 1, 13, 45, 30),
        raydb.Binary(b"\x00\xff"),
        None,
    )
    assert con.execute("SELECT ?, ?, ?, ?, ?", values).fetchone() == values


def test_constructors_from_ticks():
    ticks = time.mktime((2026, 5, 1, 13, 45, 30, 0, 0, -1))
    assert raydb.DateFromTicks(ticks) == dt.date(2026, 5, 1)
    assert raydb.TimeFromTicks(ticks) == dt.time(13, 45, 30)
    assert raydb.TimestampFromTicks(ticks) == dt.datetime(2026, 5, 1, 13, 45, 30)


# threadsafety 2: threads share the module and connections


def test_threads_share_a_connection(con):
    con.execute("INSERT INTO booze VALUES ('x', 0)")
    failures = []

    def work():
        try:
            for _ in range(40):
                con.execute("UPDATE booze SET bottles = bottles + 1")
                ((found,),) = con.execute("SELECT bottles FROM booze").fetchall()
                assert found > 0
        except Exception as error:  # noqa: BLE001  (told by the main thread)
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert con.execute("SELECT bottles FROM booze").fetchone() == (160,)
