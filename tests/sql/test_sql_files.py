"""Files in FROM and COPY TO: what the parser reads."""

from __future__ import annotations

import pytest

from raydb.errors import ProgrammingError
from raydb.planner.catalog import CatalogInfo
from raydb.sql import files_of, parse, sources_in, tables_in
from raydb.sql.ast import CopyTo, Select
from raydb.storage.formats.sources import FileSource


@pytest.mark.parametrize(
    ("sql", "files"),
    [
        ("SELECT 'a.csv' FROM t", ()),
        ("""SELECT * FROM "a.csv" """, ()),
        ("SELECT * FROM 'a.csv'", ("a.csv",)),
        ("FROM 'it''s.flat' AS t (a)", ("it's.flat",)),
        ("SELECT 1 FROM t JOIN 'b.csv' USING (id), 'b.csv' y", ("b.csv",)),
        ("WITH q AS (FROM 'a.csv') SELECT 1", ("a.csv",)),
        ("SELECT (SELECT max(a) FROM read_csv(['a.csv', '*.csv']))", ("a.csv", "*.csv")),
    ],
)
def test_files_of(sql: str, files: tuple[str, ...]) -> None:
    (select,) = parse(sql)
    assert isinstance(select, Select)
    assert (
        tuple(
            path
            for found in files_of(
                select, tables_in(sources_in(select.tree), CatalogInfo({}).relations)
            ).values()
            for path in found.patterns
        )
        == files
    )


@pytest.mark.parametrize(
    ("sql", "query"),
    [
        ("COPY t TO 'x.csv'", "SELECT * FROM t"),
        ("COPY T (a, \"B\") TO 'x.csv'", 'SELECT a, "B" FROM T'),
        ("COPY (SELECT (1), ')' FROM t) TO 'x.csv'", "SELECT (1), ')' FROM t"),
        ("COPY (FROM 'y.csv') TO 'x.csv'", "SELECT * FROM 'y.csv'"),
    ],
)
def test_copy_to(sql: str, query: str) -> None:
    (copy,) = parse(sql + " WITH (FORMAT csv, header off)")
    assert isinstance(copy, CopyTo)
    assert copy.select.tree.sql() == query
    assert (copy.path, copy.options) == ("x.csv", {"format": "csv", "header": False})


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("COPY (SELECT 1 TO 'x.csv'", "the statement ends too early, expected '\\)'"),
        ("COPY (SELECT 1) FROM 'x.csv'", "unexpected 'FROM', expected 'TO'"),
        ("COPY () TO 'x.csv'", "expected SELECT"),
        ("COPY (BEGIN) TO 'x.csv'", "unexpected 'BEGIN', expected SELECT"),
        ("COPY t TO x.csv", "expected the path of a file, in single quotes"),
    ],
)
def test_broken_copies(sql: str, message: str) -> None:
    with pytest.raises(ProgrammingError, match=message):
        parse(sql)


def test_files_of_views() -> None:
    views = {
        "v": "SELECT * FROM w, 'v.csv'",
        "w": "SELECT * FROM read_csv('w.csv', header => true) WHERE a IN (SELECT a FROM v)",
        "x": "SELECT * FROM 'x.csv'",
    }
    (select,) = parse("SELECT 1 WHERE EXISTS (SELECT 1 FROM V AS x)")
    assert isinstance(select, Select)
    assert files_of(
        select, tables_in(sources_in(select.tree), CatalogInfo({}, views).relations)
    ) == {
        "'v.csv'": FileSource(("v.csv",)),
        "read_csv('w.csv', header => TRUE)": FileSource(("w.csv",), "csv", (("header", True),)),
    }
