"""Each of the 13 queries, star and flat, returns exactly DuckDB's rows and is one fused job."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from rich.console import Console

import raydb
from raydb.ssb import check, rules, run, workload
from raydb.ssb.generate import DataSet, prepare
from raydb.ssb.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FORMS: list[workload.Form] = ["star", "flat"]


@pytest.fixture(scope="module")
def con(ssb_folder: Path) -> Iterator[Any]:
    progress = Progress(Console(file=io.StringIO()))
    connection = raydb.connect()
    run.load(connection, ssb_folder, progress)
    run.build_bvhs(connection, progress)
    yield connection
    connection.close()


@pytest.fixture(scope="module")
def expected(ssb_folder: Path) -> dict[str, list[check.Row]]:
    """DuckDB's rows of the star form, and the assertion that it is equivalent to the flat one."""
    oracle = duckdb.connect()
    for name in rules.TABLES:
        oracle.read_parquet(str(ssb_folder / f"{name}.parquet")).create_view(name)
    for statement in workload.statements("flat.sql"):
        oracle.execute(statement)
    rows = {}
    for name in workload.QUERIES:
        rows[name] = oracle.execute(workload.query(name, "star")).fetchall()
        assert oracle.execute(workload.query(name, "flat")).fetchall() == rows[name]
    return rows


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", workload.QUERIES)
def test_fused(con: Any, expected: dict[str, list[check.Row]], name: str, form: Any) -> None:
    text = workload.query(name, form)
    for _ in range(2):  # the second comes from the plan cache
        assert check.differences(name, con.execute(text).fetchall(), expected[name]) == []
    plan = run.explain(con, text)
    assert plan.bvh in {"discounts", "brands", "cities", "profits"}
    assert plan.backend == "cpu"
    assert plan.rows_touched is not None


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", workload.QUERIES)
def test_general(con: Any, expected: dict[str, list[check.Row]], name: str, form: Any) -> None:
    text = workload.query(name, form)
    con.execute("SET fused_path = 'off'")
    try:
        rows = con.execute(text).fetchall()
        assert run.explain(con, text).bvh is None
    finally:
        con.execute("SET fused_path = 'on'")
    assert check.differences(name, rows, expected[name]) == []


def test_a_flight_has_a_bvh_of_its_own(con: Any) -> None:
    chosen = {name: run.explain(con, workload.query(name, "star")).bvh for name in workload.QUERIES}
    flights = {"q1": "discounts", "q2": "brands", "q3": "cities", "q4": "profits"}
    assert chosen == {name: flights[name[:2]] for name in workload.QUERIES}


def test_tbl_files_of_the_same_data_give_the_same_answers(
    tmp_path: Path, expected: dict[str, list[check.Row]], progress: Progress
) -> None:
    prepare(tmp_path / "tbl", DataSet(0.1, file_format="tbl"), progress)
    connection = raydb.connect()
    for statement in workload.statements("schema.sql"):
        connection.execute(statement)
    for name in rules.TABLES:
        connection.execute(f"COPY {name} FROM '{tmp_path}/tbl/{name}.tbl'")
    for name in ("q1.1", "q2.1", "q3.1", "q4.3"):
        rows = connection.execute(workload.query(name, "star")).fetchall()
        assert check.differences(name, rows, expected[name]) == []
    connection.close()
