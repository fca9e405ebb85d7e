"""Text to statements: what each statement holds, and where a syntax error is."""

from __future__ import annotations

import logging
import re

import pyarrow as pa
import pytest

import raydb
from raydb import sql
from raydb.errors import NotSupportedError, ProgrammingError
from raydb.sql import alter, ast
from raydb.storage.tables.table import Check, ForeignKey, UniqueKey


def parse_one(text: str) -> ast.Statement:
    (statement,) = sql.parse(text)
    return statement


def test_statements_are_separated_by_semicolons() -> None:
    statements = sql.parse(";; BEGIN; SELECT ';' ;-- a comment; no statement\nCOMMIT;")
    assert [type(each).__name__ for each in statements] == ["Begin", "Select", "Commit"]


def test_a_byte_order_mark_is_a_space() -> None:
    assert sql.parse("\ufeffBEGIN") == sql.parse("BEGIN")
    with pytest.raises(ProgrammingError, match="line 1, column 2: unexpected 'BEGI'"):
        sql.parse("\ufeffBEGI")


@pytest.mark.parametrize("text", ["", "  ", ";;", "-- nothing", "/* nothing */ ;"])
def test_no_statement(text: str) -> None:
    with pytest.raises(ProgrammingError, match="there is no statement to run"):
        sql.parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELEC 1", "line 1, column 1: unexpected 'SELEC'; did you mean 'SELECT'?"),
        ("SELECT a fro t", "line 1, column 14: unexpected 't'"),
        ("SELECT 1;\nSELECT a\n  FROM t WHER x", "line 3, column 15: unexpected 'x'"),
        ("SELECT a FROM t WHERE", "line 1, column 22: the statement ends too early"),
        ("SELECT (1", "line 1, column 10: the statement ends too early, expected ')'"),
        ("SELECT sum(a FROM t", "line 1, column 14: unexpected 'FROM', expected ')'"),
        ("SELECT 'open", "line 1, column 8: this string does not end"),
        ('SELECT 1,\n"open', "line 2, column 1: this quoted name does not end"),
        ("SELECT 'it''s' /* open", "line 1, column 16: this comment does not end"),
        ("SELECT 1abc", "line 1, column 9: unexpected 'abc'"),
        ("SELECT a b c", "line 1, column 12: unexpected 'c'"),
        ("INSERT t VALUES (1)", "line 1, column 8: unexpected 't', expected 'INTO'"),
        ("COPY t FROM x", "line 1, column 13: unexpected 'x', expected the path of a file"),
        ("SET x", "line 1, column 6: the statement ends too early, expected 'TO'"),
        ("DROP TABLE t u", "line 1, column 14: unexpected 'u', expected the end"),
        ("BEGIN TRANSACTION ISOLATED", "line 1, column 19: unexpected 'ISOLATED'"),
        ("CREATE TABLE t (a INT) foo", "line 1, column 24: unexpected 'foo'"),
        ("CREATE TABLE t (a INT b INT)", "line 1, column 23: unexpected 'b'"),
        ("CREATE BVH b ON t ()", "column 20: unexpected ')', expected SCAN, GROUP BY or AGG"),
        ("CREATE BVH b ON t (SCAN (a,))", "line 1, column 28: unexpected ')'"),
        ("CREATE BVH b ON t (SCAN (a b))", "line 1, column 28: unexpected 'b'"),
        ("SELECT ?, $1", "written both as ? and as $"),
        ("SELECT 0x" + "F" * 10_000, "a number has more than 38 digits"),
    ],
)
def test_syntax_errors(text: str, message: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(ProgrammingError) as caught:
        sql.parse(text)
    assert message in str(caught.value)
    assert not caplog.records  # sqlglot logs where it gives up and takes any text


@pytest.mark.parametrize(
    ("text", "construct"),
    [
        ("DELETE FROM t, u", "a join in UPDATE or DELETE"),
        ("VACUUM t", "VACUUM of one table"),
        ("EXPLAIN DROP TABLE t", "EXPLAIN DROP"),
        ("EXPLAIN ANALYZE CREATE TABLE t AS SELECT 1", "EXPLAIN CREATE"),
        ("PREPARE p AS DROP TABLE t", "PREPARE of DROP"),
        ("CREATE INDEX i ON t (lower(a))", "an index of an expression"),
        ("CREATE TEMP INDEX t ON u (a)", "CREATE TEMP INDEX"),
        ("ALTER TABLE t RENAME CONSTRAINT a TO b", "RENAME CONSTRAINT"),
        ("ALTER TABLE t SET SCHEMA s", "ALTER TABLE ... SET"),
        ("CREATE TABLE t (a INT, UNIQUE NULLS NOT DISTINCT (a))", "NULLS NOT DISTINCT"),
        ("CREATE TABLE t (a VARIANT)", "the type VARIANT"),
        ("COPY t TO STDOUT", "COPY ... TO STDOUT"),
        ("COPY (SELECT 1) TO STDOUT", "COPY ... TO STDOUT"),
        ("SET LOCAL x = 1", "SET LOCAL"),
    ],
)
def test_unsupported_statements_are_named(text: str, construct: str) -> None:
    with pytest.raises(NotSupportedError) as caught:
        sql.parse(text)
    assert str(caught.value).startswith(construct)


def test_create_table() -> None:
    statement = parse_one(
        """CREATE TABLE IF NOT EXISTS Orders (
          o_id INT, line SMALLINT NOT NULL, price DECIMAL(10, 2), disc NUMERIC,
          note VARCHAR(9) NULL,
          "When" DATE UNIQUE, at TIMESTAMP, hour TIME, raw BLOB, ok BOOLEAN, f FLOAT, g REAL,
          h DOUBLE PRECISION, i TINYINT, j BIGINT, k CHAR(3), l TEXT,
          cust INTEGER REFERENCES customer, part INTEGER CONSTRAINT c1 REFERENCES part (p_key),
          PRIMARY KEY (o_id, line), CONSTRAINT c2 UNIQUE (price, disc),
          FOREIGN KEY (cust, part) REFERENCES pairs (x, y))"""
    )
    assert isinstance(statement, ast.CreateTable)
    assert statement.if_not_exists
    definition = statement.definition
    types = {field.name: field.type for field in definition.schema}
    assert definition.name == "Orders"
    assert types == {
        "o_id": pa.int32(),
        "line": pa.int16(),
        "price": pa.decimal128(10, 2),
        "disc": pa.decimal128(18, 3),
        "note": pa.string(),
        "When": pa.date32(),
        "at": pa.timestamp("us"),
        "hour": pa.time64("us"),
        "raw": pa.binary(),
        "ok": pa.bool_(),
        "f": pa.float32(),
        "g": pa.float32(),
        "h": pa.float64(),
        "i": pa.int8(),
        "j": pa.int64(),
        "k": pa.string(),
        "l": pa.string(),
        "cust": pa.int32(),
        "part": pa.int32(),
    }
    assert [field.name for field in definition.schema if not field.nullable] == ["o_id", "line"]
    assert definition.primary_key == UniqueKey(("o_id", "line"))
    assert definition.unique_keys == (UniqueKey(("When",)), UniqueKey(("price", "disc"), "c2"))
    assert definition.foreign_keys == (
        ForeignKey(("cust",), "customer", ()),
        ForeignKey(("part",), "part", ("p_key",), "c1"),
        ForeignKey(("cust", "part"), "pairs", ("x", "y")),
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("a INT, A TEXT", "table 't' has two columns that differ by case, 'a' and 'A'"),
        ("a INT PRIMARY KEY, b INT PRIMARY KEY", "table 't' has more than one primary key"),
        ("a INT, FOREIGN KEY (a) REFERENCES u (x, y)", "has 1 columns, but it references 2"),
        ("a DECIMAL(40, 2)", "DECIMAL has 1 to 38 digits, not 40"),
        ("a DECIMAL(4, 5)", "the scale of a DECIMAL is at most its digits, 4, not 5"),
        ("a", "the column 'a' has no type"),
        ("", "table 't' has no columns"),
    ],
)
def test_wrong_tables(body: str, message: str) -> None:
    with pytest.raises(ProgrammingError) as caught:
        sql.parse(f"CREATE TABLE t ({body})")
    assert message in str(caught.value)


def test_a_view_keeps_its_text() -> None:
    statement = parse_one("CREATE OR REPLACE VIEW V AS SELECT  A, /* b */ 'x' FROM t -- end\n;")
    assert statement == ast.CreateView("V", "SELECT  A, /* b */ 'x' FROM t", or_replace=True)
    with pytest.raises(ProgrammingError, match="the view 'v' can't have parameters"):
        sql.parse("CREATE VIEW v AS SELECT ?")


def test_small_statements() -> None:
    assert parse_one("DROP TABLE IF EXISTS T") == ast.Drop("table", ("T",), if_exists=True)
    drop = ast.Drop("view", ("V", "w"), if_exists=False, cascade=True)
    assert parse_one('DROP VIEW "V", w CASCADE') == drop
    assert parse_one('DROP VIEW main."V", main.w CASCADE') == ast.InPlace(("main",), drop)
    with pytest.raises(ProgrammingError, match="is in one"):
        parse_one('DROP VIEW "V", main.w')
    assert parse_one("drop bvh b") == ast.Drop("bvh", ("b",), if_exists=False)
    assert parse_one("SET Backend = 'cpu'") == ast.SetOption("backend", "cpu")
    assert parse_one("SET backend TO CPU") == ast.SetOption("backend", "cpu")
    assert parse_one("SET x = -1.5") == ast.SetOption("x", "-1.5")
    assert parse_one("START TRANSACTION") == ast.Begin()
    assert parse_one("ROLLBACK WORK") == parse_one("ABORT") == ast.Rollback()
    assert parse_one("END") == ast.Commit()
    assert parse_one("ROLLBACK TO SAVEPOINT A") == ast.RollbackTo("a")
    assert parse_one("RELEASE a") == ast.Release("a")
    assert parse_one("SHOW Backend") == ast.ShowOption("backend")
    assert parse_one("TRUNCATE TABLE a, b CASCADE") == ast.Truncate(("a", "b"), cascade=True)


def test_defaults_and_checks_are_kept_as_text() -> None:
    statement = parse_one(
        "CREATE TABLE t (a INT DEFAULT 1+2 CHECK (t.a>0), b TEXT DEFAULT 'x' || 'y' NOT NULL, "
        'c DATE, CONSTRAINT "C" CHECK (length(B) > a))'
    )
    assert isinstance(statement, ast.CreateTable)
    definition = statement.definition
    assert definition.defaults == (("a", "1 + 2"), ("b", "'x' || 'y'"))
    assert definition.checks == (
        Check("a > 0", ("a",)),
        Check("length(B) > a", ("a", "B"), "C"),
    )
    assert sql.renamed_columns("length(B) > a AND b <> 'b'", {"b": "New"}) == (
        'length("New") > a AND "New" <> \'b\''
    )


def test_alter_table() -> None:
    statement = parse_one(
        "ALTER TABLE IF EXISTS t ADD COLUMN IF NOT EXISTS a DECIMAL(4, 1) DEFAULT 1, "
        "DROP b CASCADE, RENAME c TO d, ALTER e TYPE TEXT USING f(e, 1), ALTER g DROP NOT NULL, "
        "ADD CHECK (a > 1), DROP CONSTRAINT IF EXISTS k"
    )
    assert isinstance(statement, ast.AlterTable)
    assert (statement.table, statement.if_exists) == ("t", True)
    add, drop, rename, set_type, set_null, check, drop_constraint = statement.alterations
    assert isinstance(add, alter.AddColumn)
    assert add.definition.schema == pa.schema([("a", pa.decimal128(4, 1))])
    assert add.definition.defaults == (("a", "1"),)
    assert drop == alter.DropColumn("b", if_exists=False, cascade=True)
    assert rename == alter.RenameColumn("c", "d")
    assert isinstance(set_type, alter.SetType)
    assert set_type.field == pa.field("e", pa.string())
    assert set_null == alter.SetNotNull("g", required=False)
    assert isinstance(check, alter.AddConstraint)
    assert check.definition.checks == (Check("a > 1", ("a",)),)
    assert drop_constraint == alter.DropConstraint("k", if_exists=True, cascade=False)


def test_a_schema() -> None:
    statement = parse_one("UPDATE main.t SET a = 1 FROM main.u WHERE main.t.b = u.b")
    assert isinstance(statement, ast.InPlace)
    assert statement.place == ("main",)
    assert isinstance(statement.statement, ast.Update)
    assert statement.statement.table == "t"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT 1 FROM s.t", "schema 's' does not exist"),
        ("UPDATE s.t SET a = 1", "schema 's' does not exist"),
        ("TRUNCATE s.t", "schema 's' does not exist"),
        ("CREATE TABLE t (a INTEGR)", "type 'INTEGR' does not exist; did you mean 'INTEGER'?"),
    ],
)
def test_names_of_databases_and_types_are_found_when_a_statement_runs(
    text: str, message: str
) -> None:
    sql.parse(text)
    with raydb.connect() as con, pytest.raises(ProgrammingError, match=re.escape(message)):
        con.execute(text)


def test_copy() -> None:
    assert parse_one("COPY t FROM 'x.tbl'") == ast.Copy("t", None, "x.tbl", {})
    options = "(FORMAT csv, HEADER, DELIMITER '|', NULL '', quote off)"
    assert parse_one(f"COPY T (A, \"B\") FROM 'it''s.csv' WITH {options}") == ast.Copy(
        "T",
        ("A", "B"),
        "it's.csv",
        {"format": "csv", "header": True, "delimiter": "|", "null": "", "quote": False},
    )
    with pytest.raises(ProgrammingError, match="the option 'header' of COPY is given twice"):
        sql.parse("COPY t FROM 'x' (HEADER, HEADER)")


def test_explain() -> None:
    text = parse_one("EXPLAIN SELECT 1")
    json = parse_one("EXPLAIN (FORMAT JSON) FROM t")
    assert isinstance(text, ast.Explain)
    assert isinstance(json, ast.Explain)
    assert (text.format, json.format) == ("text", "json")
    with pytest.raises(ProgrammingError, match="the formats TEXT, JSON and HTML, not YAML"):
        sql.parse("EXPLAIN (FORMAT YAML) SELECT 1")


def test_create_bvh_takes_its_parts_in_any_order() -> None:
    statement = parse_one("CREATE BVH B ON t (AGGREGATE (a, f(a, b) * 2), SCAN (x.y, z))")
    assert isinstance(statement, ast.CreateBvh)
    assert (statement.name, statement.table) == ("B", "t")
    sizes = (len(statement.scan), len(statement.group_by), len(statement.aggregate))
    assert sizes == (2, 0, 2)
    with pytest.raises(ProgrammingError, match="the BVH 'b' has SCAN twice"):
        sql.parse("CREATE BVH b ON t (SCAN (a), SCAN (b))")


@pytest.mark.parametrize("text", ["(" * 3000 + "1" + ")" * 3000, "NOT " * 3000 + "TRUE"])
def test_deep_nesting_is_an_error_of_ours(text: str) -> None:
    with pytest.raises(NotSupportedError, match="nested too deeply"):
        sql.parse(f"SELECT {text}")
