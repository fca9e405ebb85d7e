"""CREATE TABLE ... WITH: the files are written as it says, and bad settings are named at once."""

from __future__ import annotations

import pytest

import raydb
from raydb import flatstor


def test_chunks_and_encodings_are_as_asked(tmp_path):
    path = tmp_path / "db"
    with raydb.connect(path) as con:
        con.execute(
            "CREATE TABLE t (id INTEGER, image BLOB, note VARCHAR) WITH ("
            "chunk_rows = 50, image.chunk_rows = 7, note.encoding = verbatim, offset_index = off)"
        )
        rows = [(n, bytes([n]) * 9, f"note {n % 3}") for n in range(100)]
        con.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
        con.execute("CHECKPOINT")
    with raydb.connect(path) as con:
        con.execute("INSERT INTO t VALUES (100, NULL, 'last'); CHECKPOINT")
        assert con.execute("SELECT * FROM t ORDER BY id").fetchall()[:100] == rows
    files = sorted((path / "data").glob("*.flat"), key=lambda file: file.stat().st_size)
    with flatstor.open_table(files[-1]) as table:
        id_column, image, note = table.metadata.columns
    assert [chunk.row_count for chunk in id_column.chunks] == [50, 50]
    assert [chunk.row_count for chunk in image.chunks] == [7] * 14 + [2]
    assert {chunk.encoding for chunk in note.chunks} == {"verbatim"}
    chunks = (*image.chunks, *note.chunks)
    assert not any(chunk.offset_index for chunk in chunks)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("chunk_row = 5", "option 'chunk_row' of a table does not exist; did you mean"),
        ("chunk_rows = 0", "chunk_rows is a number above 0, not '0'"),
        ("imag.chunk_rows = 5", "column 'imag' does not exist in 't'; did you mean 'image'"),
        ("encoding = fsst", "encoding is an option of a column"),
        ("id.encoding = fsst", "fsst"),
        ("image.encoding = zip", "zip"),
        ("offset_index = maybe", "offset_index is 'on' or 'off', not 'maybe'"),
    ],
)
def test_bad_settings_are_named_and_no_table_is_made(options, message):
    con = raydb.connect()
    with pytest.raises(raydb.ProgrammingError, match=message):
        con.execute(f"CREATE TABLE t (id INTEGER, image BLOB) WITH ({options})")
    with pytest.raises(raydb.ProgrammingError, match="table 't' does not exist"):
        con.execute("SELECT * FROM t")
