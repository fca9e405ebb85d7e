"""The brute force agrees with DuckDB, and comparing answers finds every kind of difference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pytest

from raydb.ssb import check, rules, workload
from raydb.ssb.generate import DataSet, prepare

if TYPE_CHECKING:
    from pathlib import Path

    from raydb.ssb.progress import Progress


def duckdb_on(folder: Path) -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    for name in rules.TABLES:
        con.read_parquet(str(folder / f"{name}.parquet")).create_view(name)
    for statement in workload.statements("flat.sql"):
        con.execute(statement)
    return con


@pytest.mark.parametrize("scale_factor", [1e-6, 0.01, 0.05])
def test_brute_force_equals_duckdb(tmp_path: Path, progress: Progress, scale_factor: float) -> None:
    prepare(tmp_path / "data", DataSet(scale_factor), progress)
    answers = check.brute_force(tmp_path / "data")
    con = duckdb_on(tmp_path / "data")
    for name in workload.QUERIES:
        expected = con.execute(workload.query(name, "star")).fetchall()
        assert check.differences(name, expected, answers[name].rows) == []
        assert sorted(answers[name].rows, key=repr) == sorted(expected, key=repr)
        assert con.execute(workload.query(name, "flat")).fetchall() == expected


def test_brute_force_in_several_batches(ssb_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = check.brute_force(ssb_folder)
    monkeypatch.setattr(check, "_BATCH_ROWS", 100_003)
    advanced: list[None] = []
    parts = check.brute_force(ssb_folder, lambda: advanced.append(None))
    assert len(advanced) == check.batch_count(ssb_folder) > 5
    for name in workload.QUERIES:
        assert check.differences(name, parts[name].rows, whole[name].rows) == []
        assert parts[name].matched_rows == whole[name].matched_rows


def test_every_query_has_rows(ssb_folder: Path) -> None:
    """A data set on which an answer is empty would not test much."""
    for name, answer in check.brute_force(ssb_folder).items():
        assert answer.matched_rows > 0 or name in {"q3.3", "q3.4"}, name


ROWS = [("UNITED KI1", "UNITED KI5", 1992, 30), ("UNITED KI1", "UNITED KI1", 1992, 20)]


@pytest.mark.parametrize(
    ("found", "fault"),
    [
        (ROWS, None),
        (ROWS[:1], "missing row ('UNITED KI1', 'UNITED KI1', 1992, 20)"),
        ([*ROWS, ROWS[1]], "surplus row ('UNITED KI1', 'UNITED KI1', 1992, 20)"),
        ([ROWS[0], (*ROWS[1][:3], 21)], "missing row ('UNITED KI1', 'UNITED KI1', 1992, 20)"),
        (ROWS[::-1], "the rows are not in the order of d_year, -sum"),
    ],
)
def test_differences(found: list[check.Row], fault: str | None) -> None:
    assert check.differences("q3.3", found, ROWS)[:1] == ([] if fault is None else [fault])


def test_rows_that_the_query_leaves_equal_come_in_any_order() -> None:
    rows: list[check.Row] = [("A", "B", 1992, 5), ("B", "A", 1992, 5)]
    assert check.differences("q3.3", rows[::-1], rows) == []


def test_workload_is_complete() -> None:
    assert tuple(check.QUESTIONS) == workload.QUERIES
    assert len(workload.statements("bvhs.sql")) <= 4
    assert len(workload.statements("schema.sql")) == 5
    for name in workload.QUERIES:
        assert "lineorder_flat" in workload.query(name, "flat")
        assert "lineorder_flat" not in workload.query(name, "star")
