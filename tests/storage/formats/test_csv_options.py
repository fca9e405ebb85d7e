"""CSV as people have it: headers, blank lines, encodings, what may be left out, every option."""

from __future__ import annotations

import csv
import datetime as dt
import io
import random
import re
from decimal import Decimal

import duckdb
import pytest

import raydb

RAGGED = "a,b\n1,2\n3\n4,5,6\n7,x\n8,9\n"


@pytest.fixture
def con(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with raydb.connect() as connection:
        yield connection


def write(content, name="f.csv", encoding="utf-8"):
    with open(name, "wb") as file:  # noqa: PTH123
        file.write(content if isinstance(content, bytes) else content.encode(encoding))


def said(cursor):
    return [str(message) for _, message in cursor.messages]


# -- headers


@pytest.mark.parametrize(
    ("content", "names", "rows"),
    [
        (",a,b\n0,1,2\n", ["column1", "a", "b"], [(0, 1, 2)]),
        (",name\nx,Ann\n", ["column1", "name"], [("x", "Ann")]),
        ("a,a,A,a_1\n1,2,3,4\n", ["a", "a_2", "A_3", "a_1"], [(1, 2, 3, 4)]),
        ("a,b,\n1,2,\n", ["a", "b", "column3"], [(1, 2, None)]),
        ("a,b,\n1,2\n3,4\n", ["a", "b"], [(1, 2), (3, 4)]),
        ("name,city\nAnn,Oslo\n", ["name", "city"], [("Ann", "Oslo")]),
        ("a,,c\nx,y,z\n", ["column1", "column2", "column3"], [("a", None, "c"), ("x", "y", "z")]),
        ("01,x\n02,y\n", ["column1", "column2"], [("01", "x"), ("02", "y")]),
        ("\n\r\na,b\n1,2\n", ["a", "b"], [(1, 2)]),
    ],
)
def test_headers(con, content, names, rows):
    write(content)
    cursor = con.execute("FROM 'f.csv'")
    assert [column[0] for column in cursor.description] == names
    assert cursor.fetchall() == rows


def test_another_header_is_no_row_of_a_table_of_texts(con):
    con.execute("CREATE TABLE t (a VARCHAR, b VARCHAR)")
    write("name,city\nAnn,Oslo\n")
    warning = (
        "file 'f.csv', line 1: 'name', 'city' is read as a header; "
        "header => false reads it as a row"
    )
    assert said(con.execute("COPY t FROM 'f.csv'")) == [warning]
    assert con.execute("FROM t").fetchall() == [("Ann", "Oslo")]
    con.execute("COPY t FROM 'f.csv' (HEADER false)")
    assert con.execute("SELECT count(*) FROM t").fetchone() == (3,)


# -- lines


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_blank_lines_are_left_out_and_told_inside(con, line_end):
    write(line_end.join(["a,b", "1,x", "", "", "2,y", "", ""]))
    cursor = con.execute("SELECT * FROM 'f.csv'")
    assert cursor.fetchall() == [(1, "x"), (2, "y")]
    assert said(cursor) == ["file 'f.csv', line 3: the line is blank; blank lines are left out"]
    con.execute("CREATE TABLE t (a INTEGER, b VARCHAR)")
    assert len(said(con.execute("COPY t FROM 'f.csv'"))) == 1
    assert con.execute("SELECT count(*) FROM t").fetchone() == (2,)


def test_blank_lines_at_the_end_are_not_told_and_those_in_quotes_are_text(con):
    write('a,b\n1,"x\n\n\ny"\n' + "\n" * 9)
    cursor = con.execute("FROM 'f.csv'")
    assert (cursor.fetchall(), said(cursor)) == ([(1, "x\n\n\ny")], [])


@pytest.mark.parametrize("name", ["f.csv", "f.jsonl", "f.tbl"])
def test_an_empty_file_has_no_rows_for_a_table(con, name):
    con.execute("CREATE TABLE t (a INTEGER, b VARCHAR)")
    write("", name)
    assert con.execute(f"COPY t FROM '{name}'").rowcount == 0
    with pytest.raises(raydb.DataError, match=f"^file '{name}' is empty$"):
        con.execute(f"FROM '{name}'")


# -- types


def test_numbers_keep_their_digits(con):
    write("zip,long,longer,mixed\n00501,12345678901234567890," + "9" * 40 + ",1\n10001,1,1,1.5\n")
    cursor = con.execute("FROM 'f.csv'")
    assert [column[1] for column in cursor.description] == [
        "VARCHAR", "HUGEINT", "VARCHAR", "DOUBLE",
    ]  # fmt: skip
    first = ("00501", Decimal(12345678901234567890), "9" * 40, 1.0)
    assert tuple(cursor.fetchone()) == first


def test_a_zero_behind_the_sample_makes_a_text(con):
    write("zip,n\n" + "".join(f"{n},{n}\n" for n in range(10_000, 40_000)) + "00501,1\n")
    query = "SELECT min(zip), max(n), count(*) FROM 'f.csv'"
    assert con.execute(query).fetchone() == ("00501", 39_999, 30_001)
    assert con.execute("SELECT typeof(zip) FROM 'f.csv' LIMIT 1").fetchone() == ("BIGINT",)


@pytest.mark.long
def test_a_late_value_is_found_in_any_block(con):
    lines = [f'{n},"x, {n}",2026-01-01\n' for n in range(10_000, 400_000)]
    for place in (25_000, 380_000):
        late = [*lines[:place], "007,y,2026-01-01\n", *lines[place:]]
        write("zip,b,c\n" + "".join(late))
        query = "SELECT count(*), count(DISTINCT c), max(zip), min(zip) FROM 'f.csv'"
        assert con.execute(query).fetchone() == (390_001, 1, "99999", "007")


# -- options


@pytest.mark.parametrize(
    ("content", "options", "rows"),
    [
        ("a,b\n1,2\n3\n", "null_padding => true", [(1, 2), (3, None)]),
        ("a\n1,2\n3\n", "null_padding => true", [(1, 2), (3, None)]),
        (RAGGED, "ignore_errors => true", [(1, "2"), (7, "x"), (8, "9")]),
        (RAGGED, "ignore_errors => true, types => ['INT', 'INT']", [(1, 2), (8, 9)]),
        (RAGGED, "store_rejects => true, null_padding => true",
         [(1, "2", None), (3, None, None), (4, "5", 6), (7, "x", None), (8, "9", None)]),
        ("# c\na,b\n1,2 # x\n  # y, z\n3,\"#4\"\n", "comment => '#'", [(1, "2 "), (3, "#4")]),
        ("a;b\n1,5;2\n", "decimal_separator => ','", [(1.5, 2)]),
        ("a;b\n1,5;2\n", "decimal => ',', types => {'a': 'DECIMAL(4,2)'}", [(Decimal("1.50"), 2)]),
        ("a,b\nNA,-\n1,2\n", "nullstr => ['NA', '-']", [(None, None), (1, 2)]),
        ("a,b\n1,2\n", "auto_detect => false", [("a", "b"), ("1", "2")]),
        ("a;b\n1;2\n", "auto_detect => false, sep => ';', header => true", [("1", "2")]),
        ("a,b\n1,2\n", "all_varchar => true", [("1", "2")]),
        ("a,b\n1,2\n", "dtype => {'a': 'VARCHAR'}", [("1", 2)]),
        ("a,b\n'x,y',2\n", "quote => ''''", [("x,y", 2)]),
        ("a,b\n\"x,2\n", "quote => ''", [('"x', 2)]),
        ("x\nx\na,b\n1,2\n", "skip => 2", [(1, 2)]),
        ("1|a|\n2|b|\n", "delimiter => '|', names => ['n', 't']", [(1, "a", None), (2, "b", None)]),
    ],
)  # fmt: skip
def test_options(con, content, options, rows):
    write(content)
    for function in ("read_csv", "read_csv_auto"):
        assert con.execute(f"FROM {function}('f.csv', {options})").fetchall() == rows


@pytest.mark.parametrize(
    "encoding", ["latin-1", "CP1252", "utf-16", "utf-16-le", "utf-8", "koi8-r"]
)
def test_encodings(con, encoding):
    text = "ж,\n" if encoding == "koi8-r" else "é,\n"
    write("a,b\n" + text * 3, encoding=encoding)
    query = f"SELECT a FROM read_csv('f.csv', encoding => '{encoding}')"
    assert con.execute(query).fetchall() == [(text[0],)] * 3
    con.execute("CREATE TABLE t (a VARCHAR, b INTEGER)")
    con.execute(f"COPY t FROM 'f.csv' (ENCODING '{encoding}')")
    assert con.execute("FROM t").fetchall() == [(text[0], None)] * 3


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("encoding => 'latn'", "option encoding is utf-8, utf-16, latin-1, cp1252 or another one"),
        ("encoding => 'base64'", "option encoding is utf-8, utf-16, latin-1"),
        ("comment => '##'", "option comment is one ASCII character, no quote and no delimiter"),
        ("comment => ','", "option comment is one ASCII character, no quote and no delimiter"),
        ("decimal_separator => ';'", "option decimal_separator is '.' or ',', not ';'"),
        ("null_padding => 'maybe'", "option null_padding is true or false, not 'maybe'"),
        ("ignore_errors => 7", "option ignore_errors is true or false, not '7'"),
        ("store_rejects => true, ignore_errors => false", "option store_rejects is for errors"),
        ("nullstr => [',']", "option null is a text without delimiter, quote and line end"),
        ("hive_partitioning => 'x'", "option hive_partitioning is true or false, not 'x'"),
        ("null_pading => true", "option 'null_pading' does not exist; did you mean"),
    ],
)  # fmt: skip
def test_wrong_options(con, option, message):
    write("a,b\n1,2\n")
    with pytest.raises(raydb.ProgrammingError, match="^" + re.escape(message)):
        con.execute(f"FROM read_csv('f.csv', {option})")


def test_bytes_of_another_encoding_are_refused(con):
    write(b"a,b\n\x81,1\n")
    with pytest.raises(raydb.DataError, match=r"^file 'f.csv' is not CP1252 behind byte 0: "):
        con.execute("FROM read_csv('f.csv', encoding => 'cp1252')")
    with pytest.raises(
        raydb.DataError, match=r"line 2, field 1 \(a\): byte 0x81 is not valid UTF-8"
    ):
        con.execute("FROM 'f.csv'")


# -- rejects


def test_what_is_left_out_is_in_a_table(con):
    write(RAGGED)
    query = "FROM read_csv('f.csv', ignore_errors => true, columns => {'a': 'INT', 'b': 'INT'})"
    cursor = con.execute(query)
    assert cursor.fetchall() == [(1, 2), (8, 9)]
    assert said(cursor) == [
        "3 records of files are left out, the first is line 3 of 'f.csv'; "
        "table reject_errors tells why"
    ]
    rejects = "SELECT line, column_idx, column_name, error_type, csv_line, error_message"
    assert con.execute(f"{rejects} FROM reject_errors").fetchall() == [
        (3, None, None, "MISSING COLUMNS", "3", "1 field where 2 are expected"),
        (4, None, None, "TOO MANY COLUMNS", "4,5,6", "3 fields where 2 are expected"),
        (5, 2, "b", "CAST", "7,x", "'x' is not an INTEGER"),
    ]
    con.execute("CREATE TABLE t (a INTEGER, b INTEGER)")
    con.execute("COPY t FROM 'f.csv' (IGNORE_ERRORS)")
    assert con.execute("FROM t").fetchall() == [(1, 2), (8, 9)]
    con.execute("FROM read_csv('f.csv', ignore_errors => true)")
    assert con.execute("SELECT count(*) FROM reject_errors").fetchone() == (2,)


def test_all_rows_may_be_left_out(con):
    write("a,b\nx,1\ny,2\n")
    query = "FROM read_csv('f.csv', ignore_errors => true, types => {'a': 'INT'})"
    assert con.execute(query).fetchall() == []
    assert con.execute("SELECT count(*) FROM reject_errors").fetchone() == (2,)


@pytest.mark.long
def test_the_rows_are_the_same_whatever_columns_are_asked_for(con):
    chance = random.Random(3)
    lines = [f"{n},{'x' if chance.random() < 0.001 else n},{n % 7}" for n in range(60_000)]
    write("a,b,c\n" + "\n".join(lines))
    bad = sum("x" in line for line in lines)
    source = (
        "read_csv('f.csv', ignore_errors => true, columns => {'a': 'INT', 'b': 'INT', 'c': 'INT'})"
    )
    for count in ("count(*)", "count(a)", "count(c)", "count(b)"):
        assert con.execute(f"SELECT {count} FROM {source}").fetchone() == (60_000 - bad,)
        assert con.execute("SELECT count(*) FROM reject_errors").fetchone() == (bad,)


# -- folders


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_folders_are_columns(con, tmp_path, kind):
    for year, city, day in ((2025, "Oslo", "2025-01-31"), (2026, "Lyon%2F1", "2026-02-01")):
        folder = tmp_path / f"s/year={year}/city={city}/day={day}"
        folder.mkdir(parents=True)
        con.execute(f"COPY (SELECT {year} * 10 AS v) TO '{folder}/part.{kind}'")
    files = f"'s/**/*.{kind}'"
    cursor = con.execute(f"SELECT * FROM {files} ORDER BY v")
    assert [column[:2] for column in cursor.description[1:]] == [
        ("year", "BIGINT"), ("city", "VARCHAR"), ("day", "DATE"),
    ]  # fmt: skip
    assert [row[:3] for row in cursor.fetchall()] == [
        (20250, 2025, "Oslo"),
        (20260, 2026, "Lyon/1"),
    ]
    query = f"SELECT v, city FROM read_{kind}({files}, hive_partitioning => true) WHERE year > 2025"
    assert con.execute(query).fetchall() == [(20260, "Lyon/1")]
    query = f"SELECT * FROM read_{kind}({files}, hive_partitioning => false, filename => true)"
    names = [column[0] for column in con.execute(query).description]
    assert names[1:] == ["filename"]
    con.execute(
        f"COPY (SELECT 1 AS w, 7 AS year) TO 's/year=2025/city=Oslo/day=2025-01-31/b.{kind}'"
    )
    query = f"SELECT v, w, year FROM read_{kind}({files}, union_by_name => true) ORDER BY v"
    assert con.execute(query).fetchall() == [
        (20250, None, 2025), (20260, None, 2026), (None, 1, 2025),
    ]  # fmt: skip


# -- COPY as DuckDB and PostgreSQL write it


@pytest.mark.parametrize(
    "options",
    [
        "(DELIMITER '|', HEADER)", "(FORMAT csv, DELIMITER '|', HEADER true, NULLSTR ['', 'NA'])",
        "WITH CSV HEADER DELIMITER AS '|'", "CSV HEADER DELIMITER '|' NULL ''",
        "WITH (FORMAT CSV, HEADER, DELIM '|', ENCODING 'UTF8')", "(AUTO_DETECT true, SEP '|')",
    ],
)  # fmt: skip
def test_copy_takes_the_options_of_others(con, options):
    con.execute("CREATE TABLE t (a INTEGER, b VARCHAR)")
    write("a|b\n1|x\n2|\n")
    con.execute(f"COPY t FROM 'f.csv' {options}")
    assert con.execute("FROM t").fetchall() == [(1, "x"), (2, None)]


# -- against DuckDB

FIELDS = ["", "x", "y z", '"', "a,b", "l1\nl2", "é", "'", '5" pipe', "#", " z "]


def odd_file(chance):
    """A file of an integer, two texts and a day, as programs write it: (bytes, its rows)."""
    line_end = chance.choice(["\n", "\r\n"])
    rows = [
        (n, chance.choice(FIELDS), chance.choice(FIELDS), f"2026-01-{1 + n % 28:02}")
        for n in range(chance.randint(2, 40))
    ]
    out = io.StringIO()
    quoting = chance.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
    writer = csv.writer(out, lineterminator=line_end, quoting=quoting)
    writer.writerow(["id", "one", "two", "day"])
    for row in rows:
        if chance.random() < 0.05:
            out.write(line_end)
        writer.writerow(row)
    out.write(line_end * chance.randint(0, 3))
    mark = chance.choice([b"", b"\xef\xbb\xbf"])
    return mark + out.getvalue().encode(), rows


@pytest.mark.parametrize("seed", range(40))
def test_odd_files_are_read_as_duckdb_and_python_do(con, seed):
    content, rows = odd_file(random.Random(seed))
    write(content)
    query = "SELECT id, coalesce(one, ''), coalesce(two, ''), day::VARCHAR FROM {}"
    found = con.execute(query.format("'f.csv'")).fetchall()
    assert found == rows
    options = "header=true, columns={'id':'BIGINT','one':'VARCHAR','two':'VARCHAR','day':'DATE'}"
    known = f"read_csv('f.csv', delim=',', quote='\"', escape='\"', strict_mode=false, {options})"
    assert found == duckdb.sql(query.format(known)).fetchall()


@pytest.mark.parametrize("seed", range(20))
def test_ragged_files_are_padded_and_left_out_as_duckdb_does(con, seed):
    chance = random.Random(seed)
    lines = ["id,a,b"]
    for n in range(chance.randint(5, 60)):
        width = chance.choice([1, 2, 3, 3, 3, 3, 4])
        lines.append(",".join([str(n), "x", str(chance.choice([7, "y", ""])), "z"][:width]))
        lines += ["# a comment"] * (chance.random() < 0.1)
    write("\n".join(lines) + "\n")
    columns = "columns={'id': 'BIGINT', 'a': 'VARCHAR', 'b': 'BIGINT'}, header=true"
    for padding in ("false", "true"):
        options = f"{columns}, null_padding={padding}, delim=',', comment='#', ignore_errors=true"
        query = f"SELECT * FROM read_csv('f.csv', {options})"
        known = duckdb.sql(query.replace("delim", "auto_detect=false, delim"))
        assert con.execute(query).fetchall() == known.fetchall()


def test_empty_fields_in_quotes(con, tmp_path):
    """In a column of numbers, dates or UUIDs "" is NULL, as in DuckDB; a text is empty."""
    path = tmp_path / "q.csv"
    lines = ['"a","b","c","d"', '"1","","x","2024-01-01"', '"2","3","",""', '"","4.5","y",""']
    path.write_text("\n".join(lines) + "\n")
    oracle = duckdb.connect()
    for source in (f"'{path}'", f"read_csv('{path}', types => {{'a': 'INTEGER'}})"):
        query = f"SELECT a, b, nullif(c, '') AS c, d FROM {source}"
        assert con.execute(query).fetchall() == oracle.execute(query).fetchall()
        kinds = f"SELECT typeof(a), typeof(b), typeof(c), typeof(d) FROM {source} LIMIT 1"
        assert con.execute(kinds).fetchall() == oracle.execute(kinds).fetchall()
    assert con.execute(f"SELECT c, sum(b) FROM '{path}' GROUP BY c ORDER BY c").fetchall() == [
        ("", 3.0),
        ("x", None),
        ("y", 4.5),
    ]
    con.execute("CREATE TABLE t (a INTEGER, b DECIMAL(5,1), c VARCHAR, d DATE)")
    con.execute(f"COPY t FROM '{path}'")
    day = dt.date(2024, 1, 1)
    assert con.execute("SELECT a, b::DOUBLE, c, d FROM t").fetchall() == [
        (1, None, "x", day),
        (2, 3.0, "", None),
        (None, 4.5, "y", None),
    ]
    path.write_text('a,b\n"",""\n1,\n')
    assert con.execute(f"SELECT a, b, typeof(b) FROM '{path}'").fetchall() == [
        (None, "", "VARCHAR"),
        (1, None, "VARCHAR"),
    ]
    path.write_text('a,b\n"",x\n"1z",y\n')
    con.execute("CREATE TABLE u (a INTEGER, b VARCHAR)")
    with pytest.raises(raydb.DataError, match=r"line 3, field 1 \(a\): '1z' is not an INTEGER"):
        con.execute(f"COPY u FROM '{path}'")


def test_names_of_several_files_in_any_case(con):
    """They are one column, under the name that the first file has, also in other formats."""
    write("Id,Name,Extra\n1,x,5\n", "a1.csv")
    write("name,ID\ny,2.5\n", "a2.csv")
    query = "read_csv('a*.csv', union_by_name => true)"
    oracle = duckdb.connect()
    for select in ("*", "id, extra", "count(*)", "max(NAME)"):
        both = f"SELECT {select} FROM {query.replace('=>', '=')}"
        assert con.execute(both).fetchall() == oracle.execute(both).fetchall()
    assert [each[0] for each in con.execute(f"FROM {query}").description] == ["Id", "Name", "Extra"]
    assert con.execute(f"SELECT id FROM {query} WHERE name = 'y'").fetchall() == [(2.5,)]
    with pytest.raises(raydb.ProgrammingError, match=r"'a2\.csv' has no column 'Extra'"):
        con.execute("FROM 'a*.csv'")
    for extension in ("parquet", "flat", "jsonl", "arrow"):
        con.execute(f"COPY (SELECT 1 AS Id, 'x' AS Name) TO 'b1.{extension}'")
        con.execute(f"COPY (SELECT 'y' AS nAME, 2 AS id) TO 'b2.{extension}'")
        files = f"'b*.{extension}'"
        assert con.execute(f"FROM {files}").fetchall() == [(1, "x"), (2, "y")]
        assert con.execute(f"SELECT id FROM {files} WHERE name = 'y'").fetchall() == [(2,)]
        assert con.execute(f"SELECT name FROM {files} ORDER BY id DESC LIMIT 1").fetchall() == [
            ("y",)
        ]
        grouped = f"SELECT name, count(*) FROM {files} GROUP BY name ORDER BY name"
        assert con.execute(grouped).fetchall() == [("x", 1), ("y", 1)]


def test_a_folder_names_a_column_in_any_case(con, tmp_path):
    (tmp_path / "Year=2026").mkdir()
    write("year,n\n1,2\n", "Year=2026/a.csv")
    assert con.execute("FROM 'Year=2026/a.csv'").fetchall() == [(2026, 2)]


def test_a_header_that_is_no_text_is_an_error(tmp_path):
    path = tmp_path / "header.csv"
    path.write_bytes(b'a,"b\xff"\n1,2\n')
    with pytest.raises(raydb.DataError, match="line 1: a name is not valid UTF-8"):
        raydb.connect().execute(f"FROM read_csv('{path}', header => true)")
