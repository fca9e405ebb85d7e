"""EXPORT DATABASE and IMPORT DATABASE: a backup that makes the same database again."""

from __future__ import annotations

import pytest

import raydb

SALES = """
CREATE TABLE shop (id INTEGER PRIMARY KEY, city VARCHAR NOT NULL UNIQUE);
CREATE TABLE "Odd sale" (
    shop INTEGER REFERENCES shop (id), day DATE,
    amount DECIMAL(10, 2) DEFAULT 1 CHECK (amount >= 0),
    share DOUBLE, ok BOOLEAN, at TIMESTAMP, note VARCHAR, place FLOAT[2], list INTEGER[]);
CREATE TABLE nothing (a INTEGER);
INSERT INTO shop VALUES (1, 'O''Hara'), (2, '東京');
INSERT INTO "Odd sale" SELECT 1 + range % 2, DATE '2026-01-01' + range, range / 4.0, range * 0.1,
    range % 3 = 0, TIMESTAMP '2026-01-01 10:00:00', CASE WHEN range % 7 > 0 THEN 'a, "b"' END,
    [range, 1], [range, NULL] FROM range(250);
CREATE INDEX by_day ON "Odd sale" (day);
CREATE INDEX near ON "Odd sale" USING ivf (place) WITH (lists = 4, seed = 1);
CREATE BVH days ON "Odd sale" (SCAN (day), GROUP BY (city), AGGREGATE (amount));
CREATE VIEW total AS SELECT sum(amount) AS amount FROM "Odd sale";
"""
QUERIES = (
    'SELECT * FROM "Odd sale" ORDER BY day',
    "FROM shop ORDER BY id",
    "FROM nothing",
    "FROM total",
    "FROM indexes() ORDER BY name",
    "SELECT name, scan, group_by, aggregate, row_count FROM bvhs()",
    "SELECT name, metric, lists, vectors FROM vector_indexes()",
    "SELECT table_name, constraint_type FROM information_schema.table_constraints ORDER BY ALL",
)


def state(con):
    return [list(map(repr, con.execute(query).fetchall())) for query in QUERIES]


@pytest.fixture
def con(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with raydb.connect("old") as con:
        con.execute(SALES)
        yield con


@pytest.mark.parametrize("file_format", ["", "(FORMAT flat)", "(FORMAT parquet)"])
def test_an_export_makes_the_same_database(con, tmp_path, file_format):
    con.execute(f"EXPORT DATABASE 'saved' {file_format}")
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    # The folder may have moved meanwhile.
    (tmp_path / "saved").rename(tmp_path / "moved")
    with raydb.connect("new") as other:
        other.execute("IMPORT DATABASE 'moved'")
        assert state(other) == state(con)
    with raydb.connect("new") as other:
        assert state(other) == state(con)
        with pytest.raises(raydb.IntegrityError):
            other.execute("INSERT INTO shop VALUES (1, 'again')")


def test_an_export_as_csv_is_read_again(con, tmp_path):
    with raydb.connect() as first, raydb.connect() as second:
        first.execute("CREATE TABLE kept (a INTEGER, s VARCHAR)")
        first.execute("INSERT INTO kept VALUES (1, NULL), (2, ''), (3, 'b')")
        first.execute("EXPORT DATABASE 'saved' (FORMAT csv)")
        second.execute("IMPORT DATABASE 'saved'")
        assert second.execute("FROM kept").fetchall() == [(1, None), (2, ""), (3, "b")]
    con.execute("EXPORT DATABASE 'lists' (FORMAT csv)")
    with raydb.connect() as other:
        other.execute("IMPORT DATABASE 'lists'")
        assert state(other) == state(con)
    con.execute("CREATE TABLE bytes AS SELECT ['x'::BLOB] AS b")
    with pytest.raises(raydb.NotSupportedError, match="cannot be written to a"):
        con.execute("EXPORT DATABASE 'other' (FORMAT csv)")
    assert not list(tmp_path.glob("*other*"))


TYPES = """
CREATE TABLE kept (
    i INTERVAL, s STRUCT(d DATE, u UUID, m MAP(INTEGER, VARCHAR)), u UUID[], m MAP(VARCHAR, DATE),
    k MAP(STRUCT(a INTEGER), VARCHAR), e MAP(INTEGER, INTEGER), z TIMESTAMPTZ[], x BLOB[]);
INSERT INTO kept SELECT INTERVAL '1 month 2 hours',
    {'d': DATE '2026-01-01', 'u': u, 'm': MAP {1: 'a'}},
    [u, NULL], MAP {'a b': DATE '2026-01-02'}, MAP {{'a': 1}: 'b'}, MAP {},
    [TIMESTAMPTZ '2026-10-25 02:30:00+02'], [x'00ff']
    FROM (SELECT '00112233-4455-6677-8899-aabbccddeeff'::UUID AS u);
INSERT INTO kept (i) VALUES (NULL);
CREATE TABLE ids (u STRUCT(ids UUID[]));
INSERT INTO ids VALUES ({'ids': ['00112233-4455-6677-8899-aabbccddeeff'::UUID]});
"""


@pytest.mark.parametrize("file_format", ["flat", "parquet"])
def test_an_export_has_every_type(tmp_path, monkeypatch, file_format):
    monkeypatch.chdir(tmp_path)
    with raydb.connect() as first, raydb.connect() as second:
        first.execute(TYPES)
        first.execute(f"EXPORT DATABASE 'saved' (FORMAT {file_format})")
        second.execute("IMPORT DATABASE 'saved'")
        for table in ("kept", "ids"):
            query = f"SELECT * FROM {table}"
            rows = first.execute(query).fetchall()
            assert repr(second.execute(query).fetchall()) == repr(rows)


def test_fields_with_names_that_are_words_of_sql_come_back(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with raydb.connect() as first, raydb.connect() as second:
        first.execute('CREATE TABLE t (s STRUCT("order" INTEGER, "Odd name" INTEGER[]))')
        first.execute("INSERT INTO t VALUES ({'order': 1, 'Odd name': [2]})")
        first.execute("EXPORT DATABASE 'saved'")
        second.execute("IMPORT DATABASE 'saved'")
        assert second.execute("SELECT s FROM t").fetchone() == ({"order": 1, "Odd name": [2]},)


def test_sequences_go_on_behind_an_export(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with raydb.connect() as first, raydb.connect() as second:
        first.execute("""
            CREATE SEQUENCE "odd name" START 100 INCREMENT 5;
            CREATE SEQUENCE fresh;
            CREATE SEQUENCE ended MAXVALUE 2;
            CREATE SEQUENCE falls INCREMENT -1;
            CREATE SEQUENCE round MINVALUE 3 MAXVALUE 4 CYCLE;
            CREATE TABLE sale (id INTEGER GENERATED ALWAYS AS IDENTITY (START 10 INCREMENT 10),
                number BIGINT DEFAULT nextval('odd name'), day DATE);
            INSERT INTO sale (day) VALUES (NULL), (NULL), (NULL);
            DELETE FROM sale WHERE id = 30;
            ALTER TABLE sale RENAME TO sold;
            SELECT nextval('ended'), nextval('ended'), nextval('falls'), nextval('round');
        """)
        first.execute("EXPORT DATABASE 'saved'")
        second.execute("IMPORT DATABASE 'saved'")
        for con in (first, second):
            found = con.execute("INSERT INTO sold (day) VALUES (NULL) RETURNING id, number")
            assert found.fetchall() == [(40, 115)]
            asked = "SELECT nextval('fresh'), nextval('falls'), nextval('round'), nextval('round')"
            assert con.execute(asked).fetchall() == [(1, -2, 4, 3)]
            with pytest.raises(raydb.DataError, match="has given out its greatest value"):
                con.execute("SELECT nextval('ended')")
            con.execute("TRUNCATE sold RESTART IDENTITY")
            found = con.execute("INSERT INTO sold (day) VALUES (NULL) RETURNING id")
            assert found.fetchall() == [(10,)]


def test_an_export_is_of_one_moment_and_leaves_the_transaction(con):
    con.execute("BEGIN; INSERT INTO nothing VALUES (1); EXPORT DATABASE 'saved'")
    assert con.in_transaction
    con.rollback()
    with raydb.connect() as other:
        other.execute("IMPORT DATABASE 'saved'")
        assert other.execute("FROM nothing").fetchall() == [(1,)]


def test_an_import_is_all_or_nothing(con, tmp_path):
    con.execute("EXPORT DATABASE 'saved'")
    with (tmp_path / "saved" / "load.sql").open("a") as file:
        file.write("CREATE TABLE shop (a INTEGER);\n")
    with raydb.connect("new") as other:
        with pytest.raises(raydb.ProgrammingError, match="'shop' exists already"):
            other.execute("IMPORT DATABASE 'saved'")
        assert other.execute("SHOW TABLES").fetchall() == []
    (tmp_path / "saved" / "load.sql").write_text("SET threads = 1;")
    with (
        raydb.connect() as other,
        pytest.raises(raydb.DataError, match="a statement that EXPORT does not write"),
    ):
        other.execute("IMPORT DATABASE 'saved'")


def test_what_is_refused(con, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    (tmp_path / "file").touch()
    for folder, why in (("full", "is not empty"), ("file/below", "cannot be written")):
        with pytest.raises(raydb.OperationalError, match=why):
            con.execute(f"EXPORT DATABASE '{folder}'")
    with pytest.raises(raydb.OperationalError, match=r"schema\.sql' cannot be read: no such file"):
        con.execute("IMPORT DATABASE 'nowhere'")
    with pytest.raises(raydb.ProgrammingError, match="EXPORT has the formats"):
        con.execute("EXPORT DATABASE 'x' (FORMAT xml)")
    con.execute("SET external_access = 'off'")
    for sql in ("EXPORT DATABASE 'x'", "IMPORT DATABASE 'x'"):
        with pytest.raises(raydb.OperationalError, match="external_access is off"):
            con.execute(sql)
    con.close()
    with (
        raydb.connect("old", read_only=True) as reader,
        pytest.raises(raydb.OperationalError, match="read-only"),
    ):
        reader.execute("EXPORT DATABASE 'saved'; IMPORT DATABASE 'saved'")
    assert (tmp_path / "saved" / "load.sql").exists()


def test_numbers_that_are_none_come_back_from_csv(tmp_path):
    rows = "'NaN', 'Infinity'), ('-Infinity', '-Infinity'), (1.5, NULL"
    with raydb.connect() as con:
        con.execute(f"CREATE TABLE t (d DOUBLE, r REAL); INSERT INTO t VALUES ({rows})")
        con.execute(f"EXPORT DATABASE '{tmp_path}/saved' (FORMAT csv)")
        expected = con.execute("SELECT d, r FROM t ORDER BY d").fetchall()
    with raydb.connect() as other:
        other.execute(f"IMPORT DATABASE '{tmp_path}/saved'")
        assert repr(other.execute("SELECT d, r FROM t ORDER BY d").fetchall()) == repr(expected)


def test_numbers_of_38_digits_come_back_from_csv(tmp_path):
    con = raydb.connect()
    con.execute("CREATE TABLE t (h HUGEINT, d DECIMAL(38,10))")
    nines = "9" * 38
    values = f"({nines}, {nines[:28]}.{nines[28:]}), (-{nines}, -{nines[:28]}.{nines[28:]})"
    con.execute(f"INSERT INTO t VALUES {values}; EXPORT DATABASE '{tmp_path}/saved' (FORMAT csv)")
    other = raydb.connect()
    other.execute(f"IMPORT DATABASE '{tmp_path}/saved'")
    assert other.execute("FROM t").fetchall() == con.execute("FROM t").fetchall()
