"""A folder of files as people have them: from pandas, Excel, R, dbgen, exports of databases."""

from __future__ import annotations

import datetime as dt
import gzip

import pandas as pd
import pytest

import raydb


@pytest.fixture
def con(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with raydb.connect("shop.raydb") as connection:
        yield connection


def loaded(con, source):
    """The rows of a source as a query gives them, and as a table has them after a copy of it."""
    rows = con.execute(f"SELECT * FROM {source}").fetchall()
    con.execute(f"CREATE OR REPLACE TABLE copied AS SELECT * FROM {source}")
    assert con.execute("SELECT * FROM copied").fetchall() == rows
    return rows


def test_pandas_with_its_index(con, tmp_path):
    frame = pd.DataFrame({"city": ["Oslo", None], "price": [1.5, 2.0]})
    frame.to_csv(tmp_path / "frame.csv")
    assert loaded(con, "'frame.csv'") == [(0, "Oslo", 1.5), (1, None, 2.0)]
    names = [column[0] for column in con.execute("FROM 'frame.csv'").description]
    assert names == ["column1", "city", "price"]


def test_excel_with_semicolons_and_decimal_commas(con, tmp_path):
    text = "Artikel;Preis;Datum\r\nBirne;1,25;31.01.2026\r\nNuß;0,5;01.02.2026\r\n"
    (tmp_path / "excel.csv").write_bytes(text.encode("cp1252"))
    source = (
        "read_csv('excel.csv', encoding => 'cp1252', decimal_separator => ',', "
        "dateformat => '%d.%m.%Y')"
    )
    assert loaded(con, source) == [
        ("Birne", 1.25, dt.date(2026, 1, 31)),
        ("Nuß", 0.5, dt.date(2026, 2, 1)),
    ]


def test_excel_as_unicode_text(con, tmp_path):
    (tmp_path / "excel.tsv").write_text("name\tcount\nŁódź\t7\n", encoding="utf-16")
    assert loaded(con, "'excel.tsv'") == [("Łódź", 7)]


def test_write_csv_of_r_in_latin_1(con, tmp_path):
    text = '"","espèce","largeur"\n"1","crocus",1.5\n"2","été",NA\n'
    (tmp_path / "iris.csv").write_bytes(text.encode("latin-1"))
    source = "read_csv('iris.csv', encoding => 'latin-1', nullstr => ['NA', ''])"
    assert loaded(con, source) == [(1, "crocus", 1.5), (2, "été", None)]


def test_tabs_from_a_database(con, tmp_path):
    (tmp_path / "dump.tsv").write_text("id\tnote\n1\ta, b\n2\t\\N\n")
    assert loaded(con, r"read_csv('dump.tsv', nullstr => ['\N'])") == [(1, "a, b"), (2, None)]


def test_tbl_of_dbgen(con, tmp_path):
    (tmp_path / "nation.tbl").write_text("0|ALGERIA|0|\n1|ARGENTINA|1|\n")
    con.execute("CREATE TABLE nation (id INTEGER PRIMARY KEY, name VARCHAR, region INTEGER)")
    con.execute("COPY nation FROM 'nation.tbl' (DELIMITER '|')")
    assert con.execute("FROM nation").fetchall() == [(0, "ALGERIA", 0), (1, "ARGENTINA", 1)]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_hive_folders(con, tmp_path, kind):
    for year in (2025, 2026):
        folder = tmp_path / f"sales/year={year}"
        folder.mkdir(parents=True)
        con.execute(f"COPY (SELECT {year % 100} AS amount) TO '{folder}/part.{kind}'")
    rows = loaded(con, f"'sales/*/*.{kind}'")
    assert rows == [(25, 2025), (26, 2026)]
    query = f"SELECT sum(amount) FROM 'sales/*/*.{kind}' WHERE year = 2026"
    assert con.execute(query).fetchone() == (26,)


def test_compressed_months_with_another_column_each(con, tmp_path):
    for month, text in (("01", "id,zip\n1,00501\n"), ("02", "id,zip,tip\n2,10001,0.5\n")):
        (tmp_path / f"trips-{month}.csv.gz").write_bytes(gzip.compress(text.encode()))
    source = (
        "read_csv('trips-*.csv.gz', union_by_name => true, filename => true, "
        "types => {'zip': 'VARCHAR'})"
    )
    query = f"SELECT id, zip, tip, right(filename, 9) FROM {source}"
    assert con.execute(query).fetchall() == [
        (1, "00501", None, "01.csv.gz"),
        (2, "10001", 0.5, "02.csv.gz"),
    ]


def test_a_log_with_comments_blank_and_broken_lines(con, tmp_path):
    text = "# made by a meter\ntime,watt\n2026-01-01,5\n\n2026-01-02\n2026-01-03,x\n"
    (tmp_path / "meter.csv").write_text(text)
    cursor = con.execute(
        "SELECT count(*), sum(watt) FROM read_csv('meter.csv', comment => '#', "
        "ignore_errors => true, types => {'watt': 'INTEGER'})"
    )
    assert cursor.fetchone() == (1, 5)
    assert len(cursor.messages) == 2
    lines = con.execute("SELECT line, error_type FROM reject_errors").fetchall()
    assert lines == [(5, "MISSING COLUMNS"), (6, "CAST")]


def test_an_export_that_is_empty_today(con, tmp_path):
    con.execute("CREATE TABLE event (id INTEGER, name VARCHAR)")
    for name in ("today.csv", "today.jsonl"):
        con.execute(f"COPY (SELECT * FROM event) TO '{name}'")
        con.execute(f"COPY event FROM '{name}'")
        (tmp_path / name).write_bytes(b"")
        con.execute(f"COPY event FROM '{name}'")
    assert con.execute("SELECT count(*) FROM event").fetchone() == (0,)
