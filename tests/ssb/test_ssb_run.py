"""The runner with a stand-in for the engine: what it prints, and that wrong answers show."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from rich.console import Console

import raydb
from raydb.ssb import run as runner
from raydb.ssb import workload
from raydb.ssb.__main__ import main
from raydb.ssb.machine import Timing
from raydb.ssb.progress import Progress
from raydb.ssb.rivals.run_rival import RivalRun
from raydb.ssb.run import Options, run

if TYPE_CHECKING:
    from pathlib import Path

EXPLAINED = {
    "path": "fused",
    "plan": {
        "node": "SortRows",
        "children": [
            {
                "node": "FusedScanAggregate",
                "bvh": "brands",
                "backend": "cpu",
                "rows_touched": 12345,
                "children": [],
            }
        ],
    },
}


class StandIn:
    """DuckDB behind the engine's interface; `falsify` changes the rows of a statement."""

    def __init__(self, falsify: Any = lambda sql, rows, fused: rows) -> None:
        self.duckdb = duckdb.connect()
        self.statements: list[str] = []
        self.falsify = falsify
        self.fused = True
        self.rows: list[Any] = []

    def execute(self, sql: str) -> StandIn:
        self.statements.append(sql)
        match sql.split():
            case ["EXPLAIN", *_]:
                self.rows = [(json.dumps(EXPLAINED),)]
            case ["SET", "fused_path", "=", value]:
                self.fused = value == "'on'"
            case ["CREATE", "BVH", *_]:
                self.rows = []
            case _:
                rows = self.duckdb.execute(sql).fetchall()
                self.rows = self.falsify(sql, rows, self.fused)
        return self

    def fetchall(self) -> list[Any]:
        return self.rows

    def close(self) -> None:
        self.duckdb.close()


def run_on(
    stand_in: StandIn, folder: Path, monkeypatch: pytest.MonkeyPatch, **options: Any
) -> tuple[int, str, str]:
    monkeypatch.setattr(raydb, "connect", lambda: stand_in)
    options.setdefault("beside", "general")
    out, messages = io.StringIO(), io.StringIO()
    code = run(
        Options(folder, scale_factor=0.001, repeat=2, **options),
        Console(file=out, width=120),
        Console(file=messages, width=120),
    )
    return code, out.getvalue(), messages.getvalue()


@pytest.mark.parametrize("oracle", ["brute", "duckdb"])
def test_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oracle: Any) -> None:
    stand_in = StandIn()
    code, out, messages = run_on(stand_in, tmp_path, monkeypatch, oracle=oracle)
    assert code == 0
    lines = [line for line in out.splitlines() if "q" in line and "yes" in line]
    assert len(lines) == 26
    assert "12,345" in lines[0]
    assert "brands" in lines[0]
    assert "cpu" in lines[0]
    assert "q4.3 flat" in lines[-1]
    assert "geometric mean" in out
    assert [line.partition(":")[0] for line in messages.splitlines()] == [
        "generate SF 0.001",
        "brute force" if oracle == "brute" else "DuckDB",
        "load",
        "build BVHs",
        "queries",
        "general path",
    ]
    assert sum(sql.startswith("COPY") for sql in stand_in.statements) == 4
    (lines,) = (sql for sql in stand_in.statements if sql.startswith("INSERT"))
    assert lines.endswith("ORDER BY lo_orderdate")
    assert sum(sql.startswith("CREATE BVH") for sql in stand_in.statements) == 4
    assert stand_in.statements[-1] == "SET fused_path = 'on'"

    again = run_on(StandIn(), tmp_path, monkeypatch, oracle=oracle)[2]
    assert again.startswith(f"reusing {tmp_path / 'sf0.001-seed1'}\n")


def test_without_check_and_general_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = StandIn()
    code, out, messages = run_on(
        stand_in, tmp_path, monkeypatch, oracle="none", forms=("flat",), beside="none"
    )
    assert code == 0
    assert "yes" not in out
    assert "general path" not in messages
    assert not any("SET" in sql or "FROM lineorder," in sql for sql in stand_in.statements)


def test_duckdb_is_timed_and_checked_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, messages = run_on(StandIn(), tmp_path, monkeypatch, beside=None)
    assert code == 0
    assert "DuckDB ms" in out
    assert "x DuckDB (geometric mean" in out
    assert "general" not in out + messages
    assert messages.splitlines()[-2].startswith("load duckdb-flat: ")

    wrong = {"q1.1": ["missing row (1,)"]}
    found = RivalRun(
        "2", 1.0, None, dict.fromkeys(workload.QUERIES[1:], Timing(5.0, (4.0, 6.0))), wrong
    )
    monkeypatch.setattr(runner, "run_rival", lambda *_: found)
    code, out, _ = run_on(StandIn(), tmp_path, monkeypatch, beside="duckdb", forms=("star",))
    assert code == 1
    assert "DuckDB: missing row (1,)" in out
    assert out.split().count("5.0") == 12


@pytest.mark.parametrize("fused", [True, False])
def test_a_wrong_answer_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fused: bool
) -> None:
    def falsify(sql: str, rows: list[Any], on: bool) -> list[Any]:
        # One cent too much in q4.1's first row.
        if on == fused and "FROM lineorder_flat" in sql and "GROUP BY d_year, c_nation" in sql:
            (year, nation, profit), *others = rows
            return [(year, nation, profit + 1), *others]
        return rows

    code, out, _ = run_on(StandIn(falsify), tmp_path, monkeypatch)
    assert code == 1
    assert "q4.1 flat differs from brute force:" in out
    assert ("general path: missing row" in out) == (not fused)
    assert out.count("missing row") == out.count("surplus row") == 1
    assert sum("WRONG" in line for line in out.splitlines()) == 1


def test_many_differences_are_cut_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def falsify(sql: str, rows: list[Any], on: bool) -> list[Any]:
        if "lo_revenue" in sql and "p_category = 'MFGR#12'" in sql and on:
            return [(0,) + row[1:] for row in rows]  # noqa: RUF005
        return rows

    code, out, _ = run_on(StandIn(falsify), tmp_path, monkeypatch, forms=("star",))
    assert code == 1
    assert "q2.1 differs" in out
    assert " more\n" in out


def test_a_query_on_the_general_path_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = {"path": "general", "plan": {"node": "HashAggregate", "children": []}}
    monkeypatch.setattr(sys.modules[__name__], "EXPLAINED", plan)
    code, out, _ = run_on(StandIn(), tmp_path, monkeypatch, forms=("star",))
    assert code == 0
    assert out.count("(general)") == 13


def test_the_folder_name_tells_data_sets_apart() -> None:
    names = {
        runner.DataSet(*which).folder_name
        for which in [(1, 1), (0.1, 1), (0.1, 2), (0.123456789012, 1), (10.0, 1)]
    }
    assert names == {
        "sf1-seed1", "sf0.1-seed1", "sf0.1-seed2", "sf0.123456789012-seed1", "sf10-seed1",
    }  # fmt: skip


def test_duckdb_is_asked_for_before_the_long_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert main(["run", "--sf=0.001", "--check=duckdb", "--data", str(tmp_path / "data")]) == 1
    assert "install raydb[compare]" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
@pytest.mark.parametrize("oracle", ["brute", "duckdb"])
def test_damaged_data_of_the_right_size_are_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], oracle: str
) -> None:
    monkeypatch.setattr(raydb, "connect", StandIn)
    arguments = ["run", "--sf=0.001", "--data", str(tmp_path), "--check", oracle]
    assert main(arguments) == 0
    for name in ("lineorder", "date"):
        path = tmp_path / "sf0.001-seed1" / f"{name}.parquet"
        path.write_bytes(bytes(path.stat().st_size))
        assert main(arguments) == 1
        last = capsys.readouterr().err.splitlines()[-1]
        assert last.startswith(f"raydb-ssb: cannot read the data in '{path.parent}': ")
        assert last.endswith("; remove the folder to have it made again")


def test_errors_of_the_engine_are_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(sql: str, rows: list[Any], on: bool) -> list[Any]:
        raise raydb.OperationalError("out of memory")

    monkeypatch.setattr(raydb, "connect", lambda: StandIn(fail))
    assert main(["run", "--sf=0.001", "--data", str(tmp_path)]) == 1
    assert capsys.readouterr().err.endswith("raydb-ssb: out of memory\n")


def test_ctrl_c_while_asking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(sql: str, rows: list[Any], on: bool) -> list[Any]:
        if sql.startswith("SELECT"):
            raise KeyboardInterrupt
        return rows

    monkeypatch.setattr(raydb, "connect", lambda: StandIn(stop))
    assert main(["run", "--sf=0.001", "--data", str(tmp_path)]) == 130
    assert capsys.readouterr().err.endswith("raydb-ssb: interrupted\n")
    assert [path.name for path in tmp_path.iterdir()] == ["sf0.001-seed1"]


@pytest.mark.parametrize("terminal", [True, False])
def test_progress(terminal: bool) -> None:
    """A bar on a terminal only; the seconds of a step count once it is complete."""
    console = Console(file=io.StringIO(), force_terminal=terminal, width=80)
    progress = Progress(console)
    with progress.step("load", 2) as advance:
        advance()
        advance()
    with pytest.raises(KeyboardInterrupt), progress.step("build", 2):
        raise KeyboardInterrupt
    assert list(progress.seconds) == ["load"]
    shown = console.file.getvalue()
    assert ("2/2" in shown) == terminal
    assert ("load: 0.0 s\n" in shown) != terminal
