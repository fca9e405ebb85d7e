"""A sample: rows of the whole table, each once and in order, however few more rows there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import raydb
from raydb.storage.tables.table import SAMPLE_ROWS

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("more", [0, 1, 9, 100, 700, 2048, 50_000])
def test_rows_of_several_files_are_sampled_once_and_in_order(tmp_path: Path, more: int) -> None:
    rows = SAMPLE_ROWS + more
    with raydb.connect(tmp_path / "d.raydb") as con:
        con.execute("CREATE TABLE t (n INTEGER NOT NULL)")
        for start, stop in ((0, 426), (426, 1000), (1000, rows)):
            con.execute("INSERT INTO t SELECT * FROM range(?, ?)", [start, stop])
            con.execute("CHECKPOINT")
        database = con._open_session().database
        sample = database.snapshot.tables["t"].sample("n").cast(pa.int64())
    assert len(sample) == SAMPLE_ROWS
    assert pc.min_max(pc.subtract(sample[1:], sample[:-1]))["min"].as_py() >= 1
    assert sample[0].as_py() < 426
    assert sample[-1].as_py() >= rows - 0.01 * rows - 8
