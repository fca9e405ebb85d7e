"""The comparison with rivals: what it checks, shows and writes. Nothing here asserts a time."""

from __future__ import annotations

import io
import json
import math
import os
import sys
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

import raydb
from raydb.ssb import compare as comparing
from raydb.ssb import footprint, machine, rivals, workload
from raydb.ssb.__main__ import main
from raydb.ssb.check import ordered_differences
from raydb.ssb.compare import Options, chosen_queries, compare
from raydb.ssb.compare_report import as_json, as_svg, print_comparison
from raydb.ssb.flat import FlatTable
from raydb.ssb.machine import limited_cores, median_ms, read_bandwidth, read_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

QUERY_FIGURES = {
    "name", "row_count", "bvh", "backend", "rows_touched", "repeated", "new_constants", "new_text",
    "is_kept", "sieved_ms_median", "kernel", "fixed_us", "memory_ms", "rivals",
}  # fmt: skip


def run_small(folder: Path, **options: Any) -> comparing.Comparison:
    messages = Console(file=io.StringIO())
    asked = {"memory": False, "cold_start": False, "runs": 2, "rivals": ("duckdb-flat",), **options}
    return compare(Options(folder, scale_factor=0.01, **asked), messages)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compare")


@pytest.fixture(scope="module")
def star(folder: Path) -> comparing.Comparison:
    return run_small(folder, rivals=("duckdb-flat", "duckdb-sorted"))


@pytest.mark.long
def test_all_answers_are_right(star: comparing.Comparison) -> None:
    assert star.fault_lines() == []
    for rival in star.rivals.values():
        assert tuple(rival.times) == workload.QUERIES
    assert star.rivals["duckdb-flat"].build_s is None
    assert star.rivals["duckdb-sorted"].build_s is not None


def test_json_has_all_figures(star: comparing.Comparison) -> None:
    figures = json.loads(json.dumps(as_json(star)))
    assert [query["name"] for query in figures["queries"]] == list(workload.QUERIES)
    assert all(set(query) == QUERY_FIGURES for query in figures["queries"])
    first = figures["queries"][0]
    assert first["bvh"] == "discounts"
    low, high = first["repeated"]["quartiles_ms"]
    assert 0 < low <= first["repeated"]["median_ms"] <= high
    assert first["kernel"]["bytes_touched"] >= first["rows_touched"] > 0
    assert first["kernel"]["read_ms"] > 0
    assert set(first["rivals"]) == {"duckdb-flat", "duckdb-sorted"}
    for kind in ("repeated", "new_constants", "new_text"):
        ratios = [
            query["rivals"]["duckdb-flat"]["median_ms"] / query[kind]["median_ms"]
            for query in figures["queries"]
        ]
        mean = figures["rivals"]["duckdb-flat"]["geometric_means"][kind]
        assert mean == pytest.approx(math.prod(ratios) ** (1 / len(ratios)))
    assert {"processor", "cores", "memory_bytes", "python", "raydb"} <= set(figures["machine"])
    assert figures["bandwidth_bytes_per_s"] > 0
    assert figures["wrong"] == []


def test_tables_name_every_query_and_rival(star: comparing.Comparison) -> None:
    out = io.StringIO()
    print_comparison(star, Console(file=out, width=120))
    lines = out.getvalue().splitlines()
    for name in workload.QUERIES:
        assert sum(line.startswith(name) for line in lines) == 2
    means = [line for line in lines if "geometric means: " in line]
    assert len(means) == 2
    for line in means:
        assert all(f"x {kind} (least" in line for kind in ("repeated", "new constants", "new text"))
    assert any(line.startswith("between the quartiles, of the median: RayDB ") for line in lines)
    assert any("four BVHs built in" in line for line in lines)


def test_answers_that_are_kept_are_no_ratio(star: comparing.Comparison) -> None:
    """COUNT alone over a BVH's groups reads no row when its text is repeated."""
    first = star.own.queries[0]
    assert not first.is_kept
    kept = replace(first, kernel=replace(first.kernel, bytes_touched=0))
    found = replace(star, own=replace(star.own, queries=[kept, *star.own.queries[1:]]))
    assert "q1.1" not in found.ratios("duckdb-flat", "repeated")
    assert "q1.1" in found.ratios("duckdb-flat", "new_constants")
    out = io.StringIO()
    print_comparison(found, Console(file=out, width=120))
    assert "repeated, q1.1 read nothing" in out.getvalue()


def test_chart_has_a_bar_for_each_figure(star: comparing.Comparison) -> None:
    chart = as_svg(star)
    assert chart.count("<title>") == 13 * 3
    assert chart.count("q4.3, duckdb-sorted: ") == 1


@pytest.mark.long
@pytest.mark.parametrize("name", ["polars", "chdb"])
def test_other_rivals_answer_right(folder: Path, name: str) -> None:
    pytest.importorskip(name)
    for kind in ("star", "other"):
        found = run_small(folder, rivals=(name,), workload=kind)
        assert found.fault_lines() == []
        assert len(found.rivals[name].times) == len(workload.names(found.options.workload))


@pytest.mark.long
def test_other_workload(folder: Path) -> None:
    found = run_small(folder, workload="other", queries=("o03", "o13", "o17"))
    assert found.fault_lines() == []
    assert [query["name"] for query in as_json(found)["queries"]] == ["o03", "o13", "o17"]
    # These two have no constant to compare with by '='.
    assert [one.new_constants is None for one in found.own.queries] == [True, False, True]
    assert "20 other queries" in as_svg(found)


def test_both_forms_of_the_other_queries_agree(ssb_folder: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        for name in comparing.rules.TABLES:
            connection.read_parquet(str(ssb_folder / f"{name}.parquet")).create_view(name)
        for statement in workload.statements("flat.sql"):
            connection.execute(statement)
        for name in workload.OTHERS:
            query = workload.find(name)
            rows = connection.execute(query.star).fetchall()
            assert rows
            assert connection.execute(query.flat).fetchall() == rows


@pytest.mark.long
def test_flat_table_is_the_join(ssb_folder: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    flat = FlatTable(ssb_folder)
    batches = list(flat.batches())
    assert len(batches) == flat.batch_count
    assert sum(batch.num_rows for batch in batches) == flat.row_count
    assert flat.row_bytes == 47
    with duckdb.connect() as connection:
        for name in comparing.rules.TABLES:
            connection.read_parquet(str(ssb_folder / f"{name}.parquet")).create_view(name)
        for statement in workload.statements("flat.sql"):
            connection.execute(statement)
        columns = ", ".join(flat.schema.names)
        connection.register("first_batch", batches[0])
        lacking = connection.execute(
            f"(SELECT {columns} FROM lineorder_flat LIMIT 1000)"
            f" EXCEPT ALL SELECT {columns} FROM first_batch"
        )
        assert lacking.fetchall() == []


def test_wrong_answers_are_shown_and_not_timed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def falsify(query: workload.Query) -> workload.Query:
        return workload.Query(query.name, query.star, query.flat.replace("SUM(", "1 + SUM("))

    found = [falsify(workload.find("q1.1")), workload.find("q1.2")]
    monkeypatch.setattr(comparing, "chosen_queries", lambda kind, names: found)
    arguments = ["compare", "--sf=0.01", "--runs=1", "--rivals=duckdb-flat", "--no-memory"]
    assert main([*arguments, "--no-cold-start", "--data", str(folder)]) == 1
    assert "WRONG: duckdb-flat, q1.1: missing row" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--rivals=oracle"], "there is no rival 'oracle'; the rivals are duckdb-flat, "),
        (["--queries=q5.1"], "the workload 'star' has no query 'q5.1'; its queries are q1.1 to q4"),
        (["--workload=other", "--queries=q1.1"], "the workload 'other' has no query 'q1.1'"),
        (
            ["--workload=other", "--queries=o01", "--rivals=duckdb-sorted"],
            "cannot run the rival duckdb-sorted: its copies are sorted for the 13 queries only",
        ),
        (["--svg=/nowhere/a.svg"], "cannot write '/nowhere/a.svg': there is no folder '/nowhere'"),
    ],
)
def test_wrong_options_are_one_sentence(
    folder: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--queries=q1.2", "--rivals=duckdb-flat", *options]
    common = ["--sf=0.01", "--runs=1", "--no-memory", "--no-cold-start", "--data", str(folder)]
    assert main(["compare", *common, *asked]) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith(f"raydb-ssb: {message}")


def test_a_missing_rival_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rivals, "is_installed", lambda name: name.startswith("duckdb"))
    assert rivals.choose(None, "star") == (
        ["duckdb-flat", "duckdb-sorted"],
        dict.fromkeys(("polars", "chdb"), "it is not installed; install raydb[compare]"),
    )
    with pytest.raises(raydb.OperationalError, match=r"rival polars: .* install raydb\[compare\]"):
        rivals.choose(("duckdb-flat", "polars"), "star")
    monkeypatch.setattr(rivals, "is_installed", lambda name: False)
    with pytest.raises(raydb.OperationalError, match=r"no rival is installed; install raydb"):
        rivals.choose(None, "star")
    with pytest.raises(raydb.OperationalError, match=r"cannot import no_such .*raydb\[compare\]"):
        rivals.import_rival("no_such")


@pytest.mark.long
def test_what_cannot_be_measured_is_noted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = (sys.executable, "-c", "import sys; sys.exit('it has no disk')")
    monkeypatch.setattr(footprint, "COMMAND", failing)
    found = run_small(folder, queries=("q1.1",), cold_start=True)
    assert found.cold_start_ms is None
    assert found.own.notes[-1] == "cannot measure the cold start: it has no disk"


@pytest.mark.long
def test_memory_of_a_process(folder: Path, star: comparing.Comparison) -> None:
    data = folder / "sf0.01-seed1"
    found = footprint.measure_memory(data, "raydb")
    assert 0 < found["loaded_bytes"] <= found["peak_bytes"]
    with pytest.raises(raydb.OperationalError, match="cannot measure the memory of raydb: "):
        footprint.measure_memory(folder / "nothing", "raydb")


def test_constants_move_on_and_never_come_twice() -> None:
    text = "WHERE lo_orderdate = d_datekey AND s_region = 'ASIA' AND d_year = 1998 AND n >= 3"
    moved = list(workload.with_other_constants(text))
    assert len(moved) == len(set(moved)) == 5 * 7 - 1
    assert moved[0] == text.replace("'ASIA'", "'EUROPE'").replace("1998", "1992")
    assert text not in moved
    assert list(workload.with_other_constants("WHERE a BETWEEN 1 AND 2")) == []
    ends = list(workload.with_other_constants("WHERE lo_discount BETWEEN 4 AND 6 AND a = 1"))
    assert len(ends) == len(set(ends)) == 9 - 1
    assert ends[0] == "WHERE lo_discount BETWEEN 5 AND 7 AND a = 1"


@pytest.mark.parametrize("name", workload.QUERIES)
def test_queries_have_other_constants(name: str) -> None:
    texts = list(islice(workload.with_other_constants(workload.query(name, "star")), 40))
    assert len(texts) == len(set(texts)) >= 24


def test_ordered_differences() -> None:
    assert ordered_differences([(1, 0.1 + 0.2)], [(1, 0.3)]) == []
    assert ordered_differences([(2,), (1,)], [(1,), (2,)]) == [
        "row 1 is (2,) instead of (1,)",
        "row 2 is (1,) instead of (2,)",
    ]
    assert ordered_differences([], [(1,)]) == ["0 rows instead of 1"]


def test_queries_are_chosen_by_name() -> None:
    assert [query.name for query in chosen_queries("star", ("q2.1",))] == ["q2.1"]


def test_a_median_is_that_of_the_runs_there_is_time_for(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    durations = iter([4.0, 1.0, 2.0, 8.0])

    def ask() -> None:
        nonlocal now
        now += next(durations)

    monkeypatch.setattr(machine.time, "perf_counter", lambda: now)
    assert median_ms(ask, 3, 100.0) == 2000  # the median of 4, 1 and 2 s
    assert median_ms(ask, 3, 5.0) == 8000  # one run takes all the time


def test_bandwidth_is_bytes_by_the_median_time_to_add_them(monkeypatch: pytest.MonkeyPatch) -> None:
    added: list[int] = []

    def sum_seconds(parts: Sequence[NDArray[np.int64]], runs: int) -> float:
        added.append(sum(part.nbytes for part in parts))
        return 0.5 if len(parts) == 1 else 0.25

    with limited_cores(1):
        assert len(os.sched_getaffinity(0)) == 1
    monkeypatch.setattr(machine, "_sum_seconds", sum_seconds)
    assert read_bandwidth(1) == added[0] / 0.5
    assert read_bandwidth(2) == added[0] / 0.25
    assert read_seconds(1 << 20, 2) == 0.25
    assert added == [added[0]] * 2 + [1 << 20] * 2
