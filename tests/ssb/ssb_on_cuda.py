"""The benchmark's queries on the CUDA backend; run by `test_ssb_devices` in numba's simulator."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import raydb
from raydb.ssb import run, workload

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raydb.ssb.progress import Progress


@pytest.fixture(scope="module")
def con(progress: Progress) -> Iterator[Any]:
    connection = raydb.connect()
    run.load(connection, Path(os.environ["RAYDB_SSB_FOLDER"]), progress)
    run.build_bvhs(connection, progress)
    yield connection
    connection.close()


def answers(con: Any, name: str, backend: str) -> list[tuple[Any, ...]]:
    con.execute(f"SET backend = '{backend}'")
    cursor = con.execute(workload.query(name, "star"))
    assert cursor.messages == []
    rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


@pytest.mark.parametrize("name", workload.QUERIES)
def test_a_bvh(con: Any, name: str) -> None:
    assert answers(con, name, "cuda") == answers(con, name, "cpu")
    con.execute("SET backend = 'cuda'")
    assert run.explain(con, workload.query(name, "star")).backend == "cuda, else cpu"


def test_a_whole_table(con: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("raydb.planner.stars.table_scan.MIN_ROWS", 0)
    for bvh in ("discounts", "brands", "cities", "profits"):
        con.execute(f"DROP BVH {bvh}")
    for name in ("q1.2", "q2.3"):
        plan = con.execute(f"EXPLAIN {workload.query(name, 'star')}").fetchall()
        assert any("FusedTableScan" in row[0] for row in plan)
        assert answers(con, name, "cuda") == answers(con, name, "cpu")
