"""The benchmark on a cluster: what it prints, and that wrong answers show."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

import raydb
from raydb.ssb import cluster as clustered
from raydb.ssb import workload
from raydb.ssb.__main__ import main
from raydb.ssb.rivals.cluster_rival import OnCluster

if TYPE_CHECKING:
    from pathlib import Path

RUN = ["run", "--cluster=local", "--form=star", "--repeat=1"]


@pytest.fixture(autouse=True)
def no_warming_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clustered, "_WARM_UP_S", 0)


def without_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(self: OnCluster) -> None:
        if self._connection is None:
            self._connection = raydb.connect(self.path, read_only=True)

    monkeypatch.setattr(OnCluster, "connect", connect)


def lines_of(out: str) -> list[str]:
    return [line for line in out.splitlines() if re.match(r"q\d\.\d ", line)]


@pytest.mark.long
def test_workers_answer_all_queries(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "--sf=0.02", "--segments=3", "--data", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    lines = lines_of(out)
    assert [line.split()[0] for line in lines] == list(workload.QUERIES)
    assert all(line.split()[2] == "3" and line.split()[-1] == "yes" for line in lines)
    assert "x one process (geometric mean)" in out
    options = ["--rivals=duckdb-flat", "--runs=1", "--no-memory", "--no-cold-start"]
    common = ["--cluster=local", "--sf=0.02", "--queries=q1.1,q2.1", "--data", str(tmp_path)]
    assert main(["compare", *common, *options]) == 0
    assert "raydb-cluster" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["sf0.02-seed1"], "databases are removed"


def test_what_the_coordinator_scans_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    without_workers(monkeypatch)
    assert main([*RUN, "--sf=0.001", "--data", str(tmp_path)]) == 0
    assert {line.split()[2] for line in lines_of(capsys.readouterr().out)} == {"-"}


def test_wrong_answers_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    without_workers(monkeypatch)
    asking = OnCluster.asking

    def falsified(self: OnCluster, text: str) -> Any:
        return asking(self, text.replace("SUM(lo_revenue)", "1 + SUM(lo_revenue)"))

    monkeypatch.setattr(OnCluster, "asking", falsified)
    assert main([*RUN, "--sf=0.001", "--check=none", "--data", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    wrong = {line.split()[0] for line in lines_of(out) if line.split()[-1] == "WRONG"}
    assert "q2.1" in wrong, "others have no rows"
    assert all(name[1] in "23" for name in wrong)
    assert "WRONG: q2.1 star: row 1 is " in out


def test_nobody_else_is_beside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "--beside=duckdb", "--data", str(tmp_path)]) == 1
    assert "RayDB in one process is beside" in capsys.readouterr().err
