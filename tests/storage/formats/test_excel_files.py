"""Excel workbooks: read, written, and what is wrong with them; pandas and openpyxl made some."""

from __future__ import annotations

import datetime as dt
import random
import sys
import zipfile
from typing import TYPE_CHECKING, Any

import openpyxl
import pandas as pd
import pyarrow as pa
import pytest
from openpyxl.cell import WriteOnlyCell

import raydb

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MAIN = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"


@pytest.fixture
def con() -> raydb.Connection:
    return raydb.connect()


def make(path: Path, rows: Sequence[Sequence[Any]], name: str = "Sheet") -> Path:
    """Write a workbook of one sheet."""
    book = openpyxl.Workbook()
    book.active.title = name
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def types_of(con: raydb.Connection, source: str) -> list[tuple[str, str]]:
    return [row[:2] for row in con.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()]


def parts_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_parts(path: Path, parts: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def replace_sheet(path: Path, rows: bytes, before: bytes = b"") -> None:
    """Give the sheet of a workbook other rows."""
    text = b'<worksheet xmlns="%s"><sheetData>%s</sheetData></worksheet>' % (MAIN, rows)
    write_parts(path, parts_of(path) | {"xl/worksheets/sheet1.xml": before + text})


def add_shared_texts(path: Path, texts: bytes) -> None:
    """Give a workbook texts that its cells name by their numbers, as Excel does."""
    parts = parts_of(path)
    types = parts["[Content_Types].xml"]
    name = b"application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
    entry = b'<Override PartName="/xl/sharedStrings.xml" ContentType="%s"/></Types>' % name
    parts["[Content_Types].xml"] = types.replace(b"</Types>", entry)
    parts["xl/sharedStrings.xml"] = b'<sst xmlns="%s">%s</sst>' % (MAIN, texts)
    write_parts(path, parts)


def test_round_trip(con: raydb.Connection, tmp_path: Path) -> None:
    """Each type comes back as it was, all digits of numbers and texts that look like others."""
    rows = pa.table(
        {
            "i": pa.array([1, -(2**53), None], pa.int64()),
            "f": [0.1 + 0.2, 2.0, 1e300],
            "t": ["=1+1", " a <b> & \n c ", "#N/A"],
            "b": [True, None, False],
            "d": pa.array([dt.date(1900, 1, 1), dt.date(1900, 2, 28), dt.date(9999, 12, 31)]),
            "ts": pa.array(
                [dt.datetime(2024, 2, 29, 23, 59, 59, 999000), None, dt.datetime(2000, 1, 1)],
                pa.timestamp("us"),
            ),
            "tm": pa.array([dt.time(0, 0), dt.time(23, 59, 59, 1000), None], pa.time64("us")),
        }
    )
    path = tmp_path / "r.xlsx"
    con.register("rows", rows)
    con.execute(f"COPY (FROM rows) TO '{path}'")
    assert con.execute(f"FROM '{path}'").to_arrow_table().equals(rows)
    con.execute(f"CREATE TABLE t AS FROM '{path}'; DELETE FROM t; COPY t FROM '{path}'")
    assert con.execute("FROM t").to_arrow_table().equals(rows)
    frame = pd.read_excel(path, keep_default_na=False, na_values=[""])
    assert frame["t"].tolist() == rows["t"].to_pylist()
    assert frame["f"].tolist() == rows["f"].to_pylist()
    con.execute(f"COPY (FROM rows LIMIT 0) TO '{path}'")
    assert con.execute(f"FROM '{path}'").to_arrow_table().column_names == rows.column_names
    assert con.execute(f"SELECT count(*) FROM '{path}'").fetchone() == (0,)


def test_other_types_and_options(con: raydb.Connection, tmp_path: Path) -> None:
    path = tmp_path / "o.xlsx"
    con.execute(
        "CREATE TABLE t (m DECIMAL(12,2), h HUGEINT, u UUID, c VARCHAR, r REAL, z UTINYINT);"
        "INSERT INTO t VALUES (1234.5, 12, '0123456789abcdef0123456789abcdef', '007', 1.5, 200)"
    )
    con.execute(f"COPY t TO '{path}' (SHEET 'Some sheet', HEADER false)")
    assert openpyxl.load_workbook(path).sheetnames == ["Some sheet"]
    con.execute("CREATE TABLE u AS FROM t LIMIT 0")
    con.execute(f"COPY u FROM '{path}' (HEADER false, SHEET 'some SHEET')")
    assert con.execute("FROM u EXCEPT FROM t").fetchall() == []
    assert types_of(con, f"read_xlsx('{path}', header => false)")[:2] == [
        ("column1", "DOUBLE"),
        ("column2", "BIGINT"),
    ]
    con.execute(f"CREATE TABLE v (c VARCHAR, m VARCHAR); COPY t (c, m) TO '{path}'")
    con.execute(f"COPY v FROM '{path}'")
    assert con.execute("FROM v").fetchall() == [("007", "1234.5")]
    con.execute(f"DELETE FROM v; COPY (SELECT 1 AS m, 2 AS c) TO '{path}'; COPY v FROM '{path}'")
    assert con.execute("FROM v").fetchall() == [("2", "1")]


def test_types_of_cells(con: raydb.Connection, tmp_path: Path) -> None:
    """Pandas reads the same values of the same cells."""
    moment = dt.datetime(2024, 5, 6, 7, 8, 9)
    rows = [
        ["n", "d", "ts", "tm", "span", "mixed", "blank", None, "b"],
        [1, moment.date(), moment, dt.time(12), dt.timedelta(days=1, hours=2), 1, None, "x", True],
        [2.5, None, moment.date(), None, None, "a", None, None, False],
        [None, None, None, None, None, True, None, "y", None],
    ]
    path = make(tmp_path / "c.xlsx", rows)
    assert types_of(con, f"'{path}'") == [
        ("n", "DOUBLE"),
        ("d", "DATE"),
        ("ts", "TIMESTAMP"),
        ("tm", "TIME"),
        ("span", "INTERVAL"),
        ("mixed", "VARCHAR"),
        ("blank", "VARCHAR"),
        ("column8", "VARCHAR"),
        ("b", "BOOLEAN"),
    ]
    cursor = con.execute(f"SELECT n, d, ts, tm, mixed, column8, b FROM '{path}'")
    assert cursor.fetchall() == [
        (1.0, moment.date(), moment, dt.time(12), "1", "x", True),
        (2.5, None, dt.datetime(2024, 5, 6), None, "a", None, False),
        (None, None, None, None, "true", "y", None),
    ]
    (told,) = [str(text) for _, text in cursor.messages]
    assert "column 'mixed' is VARCHAR, for cell F2 is an integer and cell F3 is a text" in told
    texts = con.execute(f"FROM read_xlsx('{path}', all_varchar => true)").fetchall()
    assert texts[0][:4] == ("1", "2024-05-06", "2024-05-06 07:08:09", "12:00:00")
    query = f"SELECT mixed FROM read_xlsx('{path}', ignore_errors => true)"
    assert con.execute(query).fetchall() == [(1,), (None,), (None,)]
    frame = pd.read_excel(path)
    assert frame["n"].tolist()[:2] == [1.0, 2.5]
    assert frame["ts"].tolist()[0] == moment


def test_where_the_table_is(con: raydb.Connection, tmp_path: Path) -> None:
    """Blank rows and columns around it are no part of it; a range says where it is."""
    rows = [[], [], [None, "a", "b"], [None, 1, "x"], [], [None, 2, None], [None, None, " "]]
    path = make(tmp_path / "w.xlsx", rows)

    def read(options: str) -> list[tuple[Any, ...]]:
        return con.execute(f"FROM read_xlsx('{path}'{options})").fetchall()

    whole = [(1, "x"), (None, None), (2, None), (None, " ")]
    assert read("") == whole
    assert types_of(con, f"'{path}'") == [("a", "BIGINT"), ("b", "VARCHAR")]
    assert read(", stop_at_empty => true") == whole[:1]
    assert read(", range => 'b3:C6'") == whole[:3]
    assert read(", range => 'B:B'") == [(1,), (None,), (2,)]
    assert read(", range => 'A4:C4'") == [(None, 1, "x")]
    assert read(", range => 'B4:B6', header => true") == [(None,), (2,)]
    assert types_of(con, f"read_xlsx('{path}', range => 'B4:B6', header => true)") == [
        ("1", "BIGINT")
    ]
    for bad in ("B3", "C3:B4", "B4:B3", "A1:XFE2", "x:1:2", "A1:B9999999"):
        with pytest.raises(raydb.ProgrammingError, match="a range of cells such as 'B2:D20'"):
            read(f", range => '{bad}'")
    with pytest.raises(raydb.DataError, match=r"sheet 'Sheet' is empty"):
        read(", range => 'F1:G20'")
    with pytest.raises(raydb.ProgrammingError, match="no sheet 'Shet'; did you mean 'Sheet'"):
        read(", sheet => 'Shet'")
    con.execute("CREATE TABLE t (a INTEGER)")
    con.execute(f"COPY t FROM '{path}' (RANGE 'B3:B4')")
    assert con.execute("FROM t").fetchall() == [(1,)]
    empty = make(tmp_path / "e.xlsx", [])
    con.execute(f"COPY t FROM '{empty}'")
    with pytest.raises(raydb.DataError, match="is empty"):
        con.execute(f"FROM '{empty}'")


def test_sheets_files_and_frames_of_pandas(con: raydb.Connection, tmp_path: Path) -> None:
    frame = pd.DataFrame({"Year": [2024, 2025], "Sum": [1.5, 2]})
    with pd.ExcelWriter(tmp_path / "p1.xlsx") as writer:
        frame.to_excel(writer, sheet_name="first")
        frame.assign(Sum=0).to_excel(writer, sheet_name="second", index=False)
    assert con.execute(f"FROM '{tmp_path}/p1.xlsx'").fetchall() == [(0, 2024, 1.5), (1, 2025, 2.0)]
    assert types_of(con, f"'{tmp_path}/p1.xlsx'")[0] == ("column1", "BIGINT")
    query = f"SELECT sum(sum) FROM read_xlsx('{tmp_path}/p1.xlsx', sheet => 'second')"
    assert con.execute(query).fetchone() == (0,)
    frame.to_excel(tmp_path / "p2.xlsx")
    query = f"SELECT year, count(*) FROM '{tmp_path}/p*.xlsx' GROUP BY ALL ORDER BY 1"
    assert con.execute(query).fetchall() == [(2024, 2), (2025, 2)]


def test_errors_and_formulas(con: raydb.Connection, tmp_path: Path) -> None:
    """A formula has the value that was saved; an error is NULL, and told."""
    path = make(tmp_path / "f.xlsx", [[]])
    replace_sheet(
        path,
        b'<row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c></row>'
        b'<row r="2"><c r="A2"><f>1+1</f><v>2</v></c></row>'
        b'<row r="3"><c r="A3" t="e"><f>1/0</f><v>#DIV/0!</v></c></row>'
        b'<row r="4"><c r="A4"><v>2.5e1</v></c></row>',
    )
    cursor = con.execute(f"FROM '{path}'")
    assert cursor.fetchall() == [(2.0,), (None,), (25.0,)]
    (told,) = [str(text) for _, text in cursor.messages]
    assert "a cell of column 'a' with an error, such as #DIV/0! in cell A3, read as NULL" in told
    texts = con.execute(f"FROM read_xlsx('{path}', all_varchar => true)").fetchall()
    assert texts == [("2",), ("#DIV/0!",), ("25",)]
    con.execute(f"CREATE TABLE t (a INTEGER); COPY t FROM '{path}'")
    assert con.execute("FROM t").fetchall() == [(2,), (None,), (25,)]


@pytest.mark.parametrize(
    ("kind", "value", "told"),
    [
        ("INTEGER", 1.5, "cell B3 (v): '1.5' is not an INTEGER"),
        ("TINYINT", 300, "cell B3 (v): '300' is not a TINYINT"),
        ("INTEGER", "n/a", "cell B3 (v): 'n/a' is not an INTEGER"),
        ("DATE", 5, "cell B3 (v): '5' is not a DATE"),
        ("DATE", dt.datetime(2024, 1, 1, 5), "'2024-01-01 05:00:00' is not a DATE"),
        ("DECIMAL(5,1)", 0.25, "'0.25' is not a DECIMAL(5,1)"),
        ("BOOLEAN", 1, "'1' is not a BOOLEAN"),
        ("BLOB", "a", "'a' is not a BLOB"),
        ("INTEGER[]", "[1]", "'[1]' is not an INTEGER[]"),
        ("UUID", "a", "'a' is not a UUID"),
    ],
)
def test_a_cell_that_does_not_fit(
    con: raydb.Connection, tmp_path: Path, kind: str, value: object, told: str
) -> None:
    path = make(tmp_path / "x.xlsx", [["k", "v"], [1, None], [2, value]])
    con.execute(f"CREATE TABLE t (k INTEGER, v {kind})")
    with pytest.raises(raydb.DataError) as raised:
        con.execute(f"COPY t FROM '{path}'")
    assert f"sheet 'Sheet', {told}" in str(raised.value) or told in str(raised.value)
    assert con.execute("SELECT count(*) FROM t").fetchone() == (0,)


def test_numbers_and_dates_as_texts(con: raydb.Connection, tmp_path: Path) -> None:
    """COPY reads cells whose values were typed as texts, as it reads those of .csv."""
    path = make(tmp_path / "x.xlsx", [["i", "d", "m"], ["42", "2024-01-05", 0.1], [7, None, 3]])
    con.execute(f"CREATE TABLE t (i INTEGER, d DATE, m DECIMAL(9,3)); COPY t FROM '{path}'")
    assert con.execute("SELECT i, d, m::VARCHAR FROM t").fetchall() == [
        (42, dt.date(2024, 1, 5), "0.100"),
        (7, None, "3.000"),
    ]


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("SELECT 'nan'::DOUBLE AS x", "column 'x' has NaN or an infinity"),
        ("SELECT 9007199254740993 AS x", "more digits than a double keeps"),
        ("SELECT 123456789012345678.12::DECIMAL(20,2) AS x", "more digits than a double keeps"),
        ("SELECT DATE '1899-12-31' AS x", "a day before 1900"),
        ("SELECT repeat('a', 32768) AS x", "a text of more than 32767 characters"),
        ("SELECT chr(7) AS x", "a text with a control character"),
        ("SELECT [1] AS x", "INTEGER[], which cannot be written to an .xlsx file"),
        ("SELECT TIMESTAMPTZ '2024-01-01 00:00:00+00' AS x", "cast it to TIMESTAMP or VARCHAR"),
        ("SELECT 1 AS x FROM range(1048576)", "would have 1048577 rows with the header"),
    ],
)
def test_what_no_cell_holds(con: raydb.Connection, tmp_path: Path, query: str, told: str) -> None:
    """What cannot be written leaves the file that was there, and nothing beside it."""
    path = tmp_path / "x.xlsx"
    path.write_text("before")
    with pytest.raises((raydb.DataError, raydb.NotSupportedError)) as raised:
        con.execute(f"COPY ({query}) TO '{path}'")
    assert told in str(raised.value)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_microseconds_are_told(con: raydb.Connection, tmp_path: Path) -> None:
    cursor = con.execute(
        f"COPY (SELECT TIMESTAMP '2024-01-01 00:00:00.123456' AS x) TO '{tmp_path}/m.xlsx'"
    )
    assert "keeps milliseconds" in str(cursor.messages)
    assert con.execute(f"FROM '{tmp_path}/m.xlsx'").fetchall() == [
        (dt.datetime(2024, 1, 1, 0, 0, 0, 123000),)
    ]


def test_names_of_sheets_and_options(con: raydb.Connection, tmp_path: Path) -> None:
    for name in ("", "a/b", "x" * 32):
        with pytest.raises(raydb.ProgrammingError, match="option sheet is a name of at most 31"):
            con.execute(f"COPY (SELECT 1) TO '{tmp_path}/x.xlsx' (SHEET '{name}')")
    with pytest.raises(raydb.ProgrammingError, match="option 'delimiter' does not apply to xlsx"):
        con.execute(f"COPY (SELECT 1) TO '{tmp_path}/x.xlsx' (DELIMITER ';')")


def test_without_the_library(
    con: raydb.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make(tmp_path / "x.xlsx", [[1]])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    for statement in (f"FROM '{path}'", f"COPY (SELECT 1) TO '{path}'"):
        with pytest.raises(raydb.OperationalError, match=r"pip install 'raydb\[excel\]'$"):
            con.execute(statement)


def test_without_access_to_files(tmp_path: Path) -> None:
    path = make(tmp_path / "x.xlsx", [[1]])
    closed = raydb.connect(external_access=False)
    closed.execute("CREATE TABLE t (a INTEGER)")
    for statement in (f"FROM '{path}'", f"COPY (SELECT 1) TO '{path}'", f"COPY t FROM '{path}'"):
        with pytest.raises(raydb.OperationalError, match="external_access is off"):
            closed.execute(statement)


def bombs() -> dict[str, bytes]:
    entity = b"".join(
        b'<!ENTITY e%d "%s">' % (level, b"&e%d;" % (level - 1) * 10) for level in range(1, 10)
    )
    return {
        "one row of cells": b"<row>" + b"<c/>" * 10**6 + b"</row>",
        "one text": b'<row><c t="inlineStr"><is><t>' + b"a" * 3 * 10**7 + b"</t></is></c></row>",
        "beyond the last row": b'<row r="999999999"><c><v>1</v></c></row>',
        "beyond the last column": b'<row><c r="XFE1"><v>1</v></c></row>',
        "many columns": b"<row>" + b"<c><v>1</v></c>" * 2 * 10**4 + b"</row>",
        "rows in no order": b'<row r="2"><c><v>1</v></c></row><row r="1"><c><v>1</v></c></row>',
        "cells everywhere": b'<row r="1">%s</row><row r="1048576">%s</row>'
        % ((b"<c><v>1</v></c>" * 16384,) * 2),
        "entities": b'<!DOCTYPE x [<!ENTITY e0 "a">' + entity + b"]>",
        "a number of many digits": b"<row><c><v>" + b"9" * 10**6 + b"</v></c></row>",
    }


@pytest.mark.long
@pytest.mark.parametrize("kind", bombs())
def test_bombs_are_refused(con: raydb.Connection, tmp_path: Path, kind: str) -> None:
    """Small files that would be gigabytes: an error of PEP 249 soon, and little memory."""
    path = make(tmp_path / "b.xlsx", [["a"]])
    rows = bombs()[kind]
    if kind == "entities":
        replace_sheet(path, b'<row><c t="str"><v>&e9;</v></c></row>', rows)
    else:
        replace_sheet(path, rows)
    assert path.stat().st_size < 2**20
    con.execute("SET memory_limit = '100MB'")
    with pytest.raises((raydb.DataError, raydb.OperationalError), match=r"b\.xlsx"):
        con.execute(f"SELECT count(*) FROM '{path}'")


def test_shared_texts(con: raydb.Connection, tmp_path: Path) -> None:
    path = make(tmp_path / "s.xlsx", [["a"]])
    replace_sheet(path, b'<row><c t="s"><v>1</v></c></row><row><c t="s"><v>0</v></c></row>')
    add_shared_texts(path, b"<si><t>x</t></si><si><r><t>na</t></r><r><t>me</t></r></si>")
    assert con.execute(f"SELECT name FROM '{path}'").fetchall() == [("x",)]
    add_shared_texts(path, b"<si><t>%s</t></si>" % (b"a" * 3 * 10**7))
    con.execute("SET memory_limit = '100MB'")
    with pytest.raises(raydb.OperationalError, match="memory_limit is 100 MB"):
        con.execute(f"FROM '{path}'")


def test_damage_is_answered_or_refused(con: raydb.Connection, tmp_path: Path) -> None:
    """Whatever bytes are changed or cut off: rows, or an error of PEP 249, and nothing else."""
    path = make(tmp_path / "d.xlsx", [["a", "b"], [1, dt.date(2024, 1, 1)], ["x", 2.5]])
    parts = parts_of(path)
    content = path.read_bytes()
    chance = random.Random(9)
    refused = 0
    for number in range(120):
        if number % 2:
            changed = bytearray(content)
            for _ in range(chance.randint(1, 4)):
                changed[chance.randrange(len(changed))] = chance.randrange(256)
            stop = chance.choice([len(changed), chance.randrange(len(changed))])
            path.write_bytes(changed[:stop])
        else:
            chosen = chance.choice(sorted(parts))
            part = bytearray(parts[chosen])
            for _ in range(chance.randint(1, 3)):
                part[chance.randrange(len(part))] = chance.randrange(32, 127)
            write_parts(path, parts | {chosen: bytes(part)})
        try:
            con.execute(f"FROM '{path}'").fetchall()
        except raydb.Error as error:
            refused += "d.xlsx" in str(error)
    assert 20 < refused < 120


def test_an_encrypted_file_is_told(con: raydb.Connection, tmp_path: Path) -> None:
    path = tmp_path / "x.xlsx"
    path.write_bytes(b"\xd0\xcf\x11\xe0" + bytes(600))
    with pytest.raises(raydb.DataError, match="protected by a password"):
        con.execute(f"FROM '{path}'")
    path.write_bytes(b"no archive")
    with pytest.raises(raydb.DataError, match=r"is no \.xlsx file or a damaged one"):
        con.execute(f"FROM '{path}'")
    path.write_bytes(b"")
    with pytest.raises(raydb.DataError, match=r"is no \.xlsx file: it is empty"):
        con.execute(f"FROM '{path}'")


def test_formats_of_moments(con: raydb.Connection, tmp_path: Path) -> None:
    """A number format without hours and seconds shows a date, whatever else is in it."""
    path = tmp_path / "m.xlsx"
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()
    row = []
    for style in ("[$-en-US]d-mmm-yy;@", '"has" dd/mm/yyyy', "DD.MM.YYYY", "yyyy-mm-dd hh:mm"):
        cell = WriteOnlyCell(sheet, value=dt.datetime(2024, 1, 2))
        cell.number_format = style
        row.append(cell)
    sheet.append(row)
    book.save(path)
    assert [kind for _, kind in types_of(con, f"'{path}'")] == ["DATE", "DATE", "DATE", "TIMESTAMP"]
