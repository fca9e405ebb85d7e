"""JSON files that are one array: read as their elements, and written."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest

import raydb

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def con() -> raydb.Connection:
    return raydb.connect()


def _random_text(chance: random.Random) -> str:
    return "".join(chance.choice('ab"\\[]{},:\n ä') for _ in range(chance.randint(0, 12)))


@pytest.mark.parametrize("seed", range(6))
def test_arrays_are_read(con: raydb.Connection, tmp_path: Path, seed: int, monkeypatch) -> None:
    """Whatever is in the strings, however the array is laid out, wherever a block ends."""
    from raydb.storage.formats.json import array

    monkeypatch.setattr(array, "_BLOCK_BYTES", 7)
    chance = random.Random(seed)
    rows = [
        {"t": _random_text(chance), "n": n, "s": {"l": [n, n + 1], "t": _random_text(chance)}}
        for n in range(20)
    ]
    path = tmp_path / "rows.json"
    indent = chance.choice([None, 0, 3])
    path.write_text(json.dumps(rows, indent=indent, ensure_ascii=chance.random() < 0.5))
    assert con.execute(f"FROM '{path}'").to_arrow_table().to_pylist() == rows
    con.execute("CREATE TABLE t (n BIGINT, t VARCHAR, s STRUCT(l BIGINT[], t VARCHAR))")
    con.execute(f"COPY t FROM '{path}'")
    assert con.execute("SELECT t, n, s FROM t").to_arrow_table().to_pylist() == rows


@pytest.mark.parametrize("count", [0, 1, 3])
def test_arrays_are_written(con: raydb.Connection, tmp_path: Path, count: int) -> None:
    path = tmp_path / "rows.json"
    query = f"SELECT range AS n, {{'a': range}} AS s FROM range({count})"
    con.execute(f"COPY ({query}) TO '{path}' (FORMAT json, ARRAY true)")
    assert json.loads(path.read_text()) == [{"n": n, "s": {"a": n}} for n in range(count)]


REFUSED = {
    '[{"a": 1}': "its array does not end",
    '[{"a": "x]': "its array does not end",
    '[{"a": 1}] x': "something is behind its array",
    '[{"a": 1}] [{"a": 2}]': "something is behind its array",
    '[{"a": 1}]]': "something is behind its array",
    "[[1], [2]]": "holds an array of arrays",
    '[{"a": "x\ny"}]': "has the end of a line in it",
    '[{"a": 1}, {"a": 1, }]': "element 2",
    "[" * 300 + "]" * 300: "rows.json",
    '[{"a": ' + "[" * 80 + "]" * 80 + "}]": "element 1: values are nested more than 50 deep",
}


@pytest.mark.parametrize("content", REFUSED)
def test_what_is_no_array_of_objects(con: raydb.Connection, tmp_path: Path, content: str) -> None:
    path = tmp_path / "rows.json"
    path.write_text(content)
    with pytest.raises(raydb.DataError) as raised:
        con.execute(f"FROM '{path}'")
    assert REFUSED[content] in str(raised.value)


def test_an_empty_array(con: raydb.Connection, tmp_path: Path) -> None:
    """It has no rows; what columns there are is told by others, or by DuckDB's name for none."""
    path = tmp_path / "e.json"
    con.execute("CREATE TABLE t (a INTEGER, b VARCHAR)")
    con.execute(f"COPY t TO '{path}' (ARRAY true)")
    for content in (path.read_text(), "[]", " [ \n ] \n"):
        path.write_text(content)
        con.execute(f"COPY t FROM '{path}'")
        assert con.execute("SELECT count(*) FROM t").fetchone() == (0,)
        described = con.execute(f"DESCRIBE SELECT * FROM '{path}'").fetchall()
        assert [row[:2] for row in described] == [("json", "VARCHAR")]
        query = f"FROM read_json('{path}', columns => {{'a': 'INTEGER'}})"
        assert con.execute(f"SELECT sum(a), count(*) {query}").fetchone() == (None, 0)
        assert con.execute(f"FROM '{path}'").fetchall() == []
    (tmp_path / "f.json").write_text('[{"a": 1}]')
    query = f"SELECT a, filename FROM read_json('{tmp_path}/*.json', filename => true)"
    assert con.execute(query).fetchall() == [(1, f"{tmp_path}/f.json")]
