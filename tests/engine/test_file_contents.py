"""Files as they are, and what Parquet files say of themselves."""

from __future__ import annotations

import datetime as dt
import os
from typing import TYPE_CHECKING

import duckdb
import pytest

import raydb

if TYPE_CHECKING:
    from pathlib import Path


def test_texts_and_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in (("a.md", "naïve\n".encode()), ("b.md", b""), ("c.bin", b"\xff\x00")):
        (tmp_path / name).write_bytes(content)
        os.utime(tmp_path / name, (86400, 86400))
    with raydb.connect() as con:
        moment = dt.datetime(1970, 1, 2, tzinfo=dt.UTC)
        assert con.execute("FROM read_text('*.md')").fetchall() == [
            ("a.md", "naïve\n", 7, moment),
            ("b.md", "", 0, moment),
        ]
        found = con.execute("SELECT content, size FROM read_blob('c.bin')").fetchall()
        assert found == [(b"\xff\x00", 2)]
        for query, error, sentence in (
            ("FROM read_text('c.bin')", raydb.DataError, "is no text in UTF-8, at byte 1"),
            ("FROM read_text('nope')", raydb.OperationalError, "file 'nope' does not exist"),
            ("FROM read_text('*.nope')", raydb.OperationalError, "no file matches"),
            ("FROM read_blob('.')", raydb.OperationalError, "is a directory"),
            ("FROM read_text()", raydb.ProgrammingError, "path"),
            ("FROM parquet_metadata('a.md')", raydb.DataError, "'a.md' is no Parquet file"),
        ):
            with pytest.raises(error, match=sentence):
                con.execute(query)
        (tmp_path / "large").write_bytes(b"x" * 20_000_000)
        con.execute("SET memory_limit = '30MB'")
        with pytest.raises(raydb.OperationalError, match="memory_limit is 30 MB"):
            con.execute("SELECT size FROM read_blob('large')")
        con.execute("SET external_access = 'off'")
        with pytest.raises(raydb.OperationalError, match="external_access is off"):
            con.execute("FROM read_text('a.md')")


def test_what_parquet_files_say_of_themselves(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    theirs = duckdb.connect()
    theirs.execute(
        "COPY (SELECT range AS a, CASE WHEN range > 5 THEN 't' || range END AS b,"
        f" [range] AS l FROM range(5000)) TO '{path}' (ROW_GROUP_SIZE 2048, KV_METADATA {{k: 'v'}})"
    )
    query = (
        "SELECT row_group_id, row_group_num_rows, row_group_num_columns, row_group_bytes,"
        " column_id, num_values, type, stats_min, stats_max, stats_null_count, compression,"
        " data_page_offset, total_compressed_size, total_uncompressed_size"
        f" FROM parquet_metadata('{path}') ORDER BY ALL"
    )
    with raydb.connect() as con:
        found = con.execute(query).fetchall()
        assert found == theirs.execute(query).fetchall()
        assert len(found) == 9
        for columns, function in (
            ("num_rows, num_row_groups, file_size_bytes", "parquet_file_metadata"),
            ("key, value", "parquet_kv_metadata"),
            ("name, type, repetition_type, num_children, converted_type", "parquet_schema"),
        ):
            each = f"SELECT {columns} FROM {function}('{path}')"
            assert con.execute(each).fetchall() == theirs.execute(each).fetchall()


def test_a_parquet_file_tells_its_schema(tmp_path):
    con = raydb.connect()
    path = tmp_path / "a.parquet"
    con.execute(
        f"COPY (SELECT 1 AS \"a (b)\", [1.5] AS tags, {{'c': 'x', 'd': uuid()}} AS s) TO '{path}'"
    )
    rows = con.execute(
        "SELECT name, type, type_length, num_children, converted_type, scale, precision"
        f" FROM parquet_schema('{path}')"
    ).fetchall()
    assert rows[0][3] == 3
    kept = {name: rest for name, *rest in rows}
    assert kept["a (b)"] == ["INT32", None, None, None, None, None]
    assert kept["tags"][2:4] == [1, "LIST"]
    assert kept["element"] == ["FIXED_LEN_BYTE_ARRAY", "1", None, "DECIMAL", 1, 2]
    assert kept["s"][2] == 2
    assert kept["c"][:1] == ["BYTE_ARRAY"]


@pytest.mark.parametrize(
    ("text", "delimiter", "newline", "header", "types"),
    [
        ("a,b\n1,x\n", ",", "\\n", True, ["BIGINT", "VARCHAR"]),
        ("a b;it's\r\n1;2020-01-01\r\n", ";", "\\r\\n", True, ["BIGINT", "DATE"]),
        ("1\t1.5\n2\t2.5\n", "\t", "\\n", False, ["BIGINT", "DOUBLE"]),
    ],
)
def test_a_text_file_is_sniffed(tmp_path, text, delimiter, newline, header, types):
    path = tmp_path / "it's.csv"
    path.write_text(text, newline="")
    con = raydb.connect()
    sniff = f"""FROM sniff_csv('{str(path).replace("'", "''")}')"""
    row = con.execute(f"SELECT delimiter, newlinedelimiter, hasheader, columns, prompt {sniff}")
    *found, columns, prompt = row.fetchone()
    assert found == [delimiter, newline, header]
    assert [each["type"] for each in columns] == types
    plain = f"""FROM '{str(path).replace("'", "''")}'"""
    assert con.execute(prompt).fetchall() == con.execute(plain).fetchall()
