"""Vectors in CSV files: read as DuckDB reads them, and what is wrong is named."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest

import raydb


@pytest.fixture
def con(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with raydb.connect() as found:
        found.execute("CREATE TABLE t (id INTEGER, v FLOAT[3])")
        yield found


def write(*values):
    rows = [f"{number},{value}\n" for number, value in enumerate(values)]
    Path("v.csv").write_text("id,v\n" + "".join(rows))


def test_vectors_are_those_of_duckdb(con):
    write('"[1, 2, 3]"', '" [ -1.5 ,2e3,0] "', "", '"[7,8,9]"')
    con.execute("COPY t FROM 'v.csv'")
    duck = duckdb.connect()
    duck.execute("CREATE TABLE t (id INTEGER, v FLOAT[3])")
    duck.execute("COPY t FROM 'v.csv'")
    expected = [(n, None if v is None else list(v)) for n, v in duck.execute("FROM t").fetchall()]
    for query in ("FROM t", "FROM read_csv('v.csv', types => {'v': 'FLOAT[3]'})"):
        found = con.execute(query).fetchall()
        assert [(n, None if v is None else list(v)) for n, v in found] == expected


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ('"[1, 2]"', "a list of 2 elements does not fit FLOAT[3]"),
        ('"[1, 2, 3, 4]"', "a list of 4 elements does not fit FLOAT[3]"),
        ("[1]", "a list of 1 element does not fit FLOAT[3]"),
        ('"[1, 2, x]"', "'[1, 2, x]' is not a FLOAT[3]"),
        ('"[1, 2, 1e400]"', "'[1, 2, 1e400]' is not a FLOAT[3]"),
        ('"1, 2, 3"', "'1, 2, 3' is not a FLOAT[3]"),
        ('"[1, [2], 3]"', "'[1, [2], 3]' is not a FLOAT[3]"),
    ],
)
def test_what_is_no_vector_is_named(con, value, what):
    write(*['"[1, 2, 3]"'] * 5, value, "")
    with pytest.raises(raydb.DataError, match=f"line 7, field 2 .v.: {re.escape(what)}$"):
        con.execute("COPY t FROM 'v.csv'")
    assert con.execute("SELECT count(*) FROM t").fetchone() == (0,)
    con.execute("COPY t FROM 'v.csv' (ignore_errors)")
    assert con.execute("SELECT count(*), count(v) FROM t").fetchone() == (6, 5)
