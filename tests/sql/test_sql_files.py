"""Files in FROM and COPY TO: what the parser reads."""

from __future__ import annotations

import pytest

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.sql import CopyTo, Select, files_of, parse


@pytest.mark.parametrize(
    ("sql", "files"),
    [
        ("SELECT 'a.csv' FROM t", ()),
        ("""SELECT * FROM "a.csv" """, ()),
        ("SELECT * FROM 'a.csv'", ("a.csv",)),
        ("FROM 'it''s.flat' AS t (a)", ("it's.flat",)),
        ("SELECT 1 FROM t JOIN 'b.csv' USING (id), 'a.csv' x, 'b.csv' y", ("a.csv", "b.csv")),
        ("WITH q AS (FROM 'a.csv') SELECT * FROM (FROM 'b.csv') z", ("a.csv", "b.csv")),
    ],
)
def test_files_of(sql: str, files: tuple[str, ...]) -> None:
    (select,) = parse(sql)
    assert isinstance(select, Select)
    assert tuple(sorted(files_of(select))) == files


@pytest.mark.parametrize(
    ("sql", "query"),
    [
        ("COPY t TO 'x.csv'", 'SELECT * FROM "t"'),
        ("COPY T (a, \"B\") TO 'x.csv'", 'SELECT "a", "B" FROM "t"'),
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


def test_a_view_cannot_read_a_file() -> None:
    with pytest.raises(NotSupportedError, match="the view 'v' can't read a file"):
        parse("CREATE VIEW v AS SELECT * FROM t JOIN 'x.csv' USING (a)")
