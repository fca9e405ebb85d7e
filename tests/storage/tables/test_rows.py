"""Rows are read by several threads: a query's, and that of a BVH that is merged beside it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.storage.flat import open_table, write_table
from raydb.storage.tables.parts import FilePart
from raydb.storage.tables.rows import Rows

if TYPE_CHECKING:
    from pathlib import Path


def test_columns_are_decoded_while_their_bytes_are_counted(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(300)]
    path = tmp_path / "x.flat"
    write_table(pa.table({name: [1, 2, 3] for name in names}), path)
    flat = open_table(path)
    rows = Rows(flat.schema, (FilePart("x.flat", flat),))

    def decode() -> None:
        for name in names:
            rows.columns([name])

    thread = threading.Thread(target=decode)
    thread.start()
    while thread.is_alive():
        assert rows.kept_bytes >= 0
    thread.join()
    assert rows.kept_bytes > 0
