"""The files: both formats, the same bytes, reuse and rebuild, and nothing broken left behind."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow.parquet as pq
import pytest
from rich.console import Console

import raydb
from raydb.ssb import generate, rules, workload
from raydb.ssb.__main__ import main
from raydb.ssb.generate import DataSet, prepare
from raydb.ssb.progress import Progress

if TYPE_CHECKING:
    from pathlib import Path

TINY = DataSet(0.001)


class Told(Progress):
    """Progress that remembers what was said."""

    def __init__(self) -> None:
        super().__init__(Console(file=io.StringIO()))
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)


def hashes(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
    }


@pytest.mark.parametrize("file_format", ["tbl", "parquet"])
def test_the_same_seed_gives_the_same_bytes(tmp_path: Path, file_format: Any) -> None:
    for name in ("one", "two"):
        prepare(tmp_path / name, DataSet(0.01, 5, file_format), Told())
    prepare(tmp_path / "three", DataSet(0.01, 6, file_format), Told())
    assert hashes(tmp_path / "one") == hashes(tmp_path / "two")
    same = hashes(tmp_path / "one").items() & hashes(tmp_path / "three").items()
    assert {name for name, _ in same} == {f"date.{file_format}"}


def test_both_formats_hold_the_same_rows(tmp_path: Path) -> None:
    prepare(tmp_path / "tbl", DataSet(0.01, file_format="tbl"), Told())
    prepare(tmp_path / "parquet", DataSet(0.01), Told())
    for name in rules.TABLES:
        table = pq.read_table(tmp_path / "parquet" / f"{name}.parquet")
        text = (tmp_path / "tbl" / f"{name}.tbl").read_text()
        rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
        assert text == "".join("".join(f"{value}|" for value in row) + "\n" for row in rows)


def test_duckdb_reads_the_tbl_files(tmp_path: Path) -> None:
    prepare(tmp_path / "tbl", DataSet(0.01, file_format="tbl"), Told())
    con = duckdb.connect()
    for statement in workload.statements("schema.sql"):
        con.execute(statement)
    for name in rules.TABLES:
        # The '|' at the end of a line is one field more.
        names = [
            name for name, *_ in con.execute(f"SELECT * FROM {name} LIMIT 0").description or []
        ]
        con.execute(
            f"INSERT INTO {name} SELECT {', '.join(names)} FROM read_csv("
            f"'{tmp_path}/tbl/{name}.tbl', delim = '|', header = false, quote = '', "
            f"names = {[*names, 'rest']}, all_varchar = true)"
        )
        expected = sum(batch.num_rows for batch in rules.table_blocks(name, 0.01, 1))
        assert con.execute(f"SELECT COUNT(*) FROM {name}").fetchone() == (expected,)


def test_parquet_columns_are_plain_and_required(tmp_path: Path) -> None:
    prepare(tmp_path / "data", TINY, Told())
    for name in rules.TABLES:
        file = pq.ParquetFile(tmp_path / "data" / f"{name}.parquet")
        assert not any(field.nullable for field in file.schema_arrow)
        assert {str(kind) for kind in file.schema_arrow.types} <= {
            "int8", "int16", "int32", "string",
        }  # fmt: skip


def test_a_good_folder_is_reused(tmp_path: Path) -> None:
    prepare(tmp_path / "data", TINY, Told())
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "data").iterdir()}
    told = Told()
    prepare(tmp_path / "data", TINY, told)
    assert told.lines == [f"reusing {tmp_path / 'data'}"]
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "data").iterdir()}


def _cut(folder: Path) -> None:
    with (folder / "part.parquet").open("r+b") as file:
        file.truncate(100)


def _mangle(folder: Path) -> None:
    (folder / "manifest.json").write_text('{"version"')


def _mistype(folder: Path) -> None:
    (folder / "manifest.json").write_text("[1]")


def _forget(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["files"]["part.parquet"]
    (folder / "manifest.json").write_text(json.dumps(manifest))


def _age(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"version": 0}))


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (_cut, "part.parquet should have"),
        (lambda folder: (folder / "date.parquet").unlink(), "date.parquet should have"),
        (_mangle, "its manifest is damaged"),
        (_mistype, "its manifest is damaged"),
        (_forget, "its manifest is damaged"),
        (_age, "it holds other data"),
        (lambda folder: (folder / "manifest.json").unlink(), "it has no manifest"),
    ],
)
def test_a_damaged_folder_is_rebuilt(tmp_path: Path, damage: Any, reason: str) -> None:
    folder = tmp_path / "data"
    prepare(folder, TINY, Told())
    before = hashes(folder)
    damage(folder)
    told = Told()
    prepare(folder, TINY, told, replace_unmarked=True)
    assert told.lines[0].startswith(f"rebuilding {folder}: {reason}")
    assert hashes(folder) == before


def test_other_data_of_ours_is_replaced(tmp_path: Path) -> None:
    prepare(tmp_path / "data", TINY, Told())
    told = Told()
    prepare(tmp_path / "data", DataSet(0.001, 2, "tbl"), told)
    assert told.lines[0] == f"rebuilding {tmp_path / 'data'}: it holds other data"
    assert {path.suffix for path in (tmp_path / "data").iterdir()} == {".tbl", ".json"}


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    told = Told()
    prepare(tmp_path / "data", TINY, told)
    assert (tmp_path / "data" / "manifest.json").exists()
    assert not any("rebuilding" in line for line in told.lines)


def test_a_folder_with_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("all my work")
    with pytest.raises(raydb.OperationalError, match=r"'thesis\.txt'"):
        prepare(tmp_path, TINY, Told(), replace_unmarked=True)
    assert (tmp_path / "thesis.txt").read_text() == "all my work"


def test_files_without_a_manifest_may_be_someone_elses(tmp_path: Path) -> None:
    (tmp_path / "lineorder.tbl").write_text("made by the official program")
    with pytest.raises(raydb.OperationalError, match="no manifest"):
        prepare(tmp_path, DataSet(0.001, file_format="tbl"), Told())
    assert (tmp_path / "lineorder.tbl").read_text() == "made by the official program"


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(raydb.OperationalError, match="is not a folder"):
        prepare(tmp_path / "data", TINY, Told())


POINTS = ["_write_table", "_tbl_writer", "_parquet_writer", "_flush", "_header", "_put_in_place"]


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("stop", [KeyboardInterrupt(), OSError(errno.ENOSPC, "no space")])
def test_an_interrupt_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str, after: bool, stop: BaseException
) -> None:
    """Stops before or after each step of writing; then the same call must succeed."""
    file_format: Any = "tbl" if point == "_tbl_writer" else "parquet"
    data = DataSet(0.001, file_format=file_format)
    original = getattr(generate, point)

    def stopping(*args: Any) -> Any:
        if after and point != "_put_in_place":
            original(*args)
        raise stop

    with monkeypatch.context() as patch:
        patch.setattr(generate, point, stopping)
        kind = KeyboardInterrupt if isinstance(stop, KeyboardInterrupt) else raydb.OperationalError
        with pytest.raises(kind):
            prepare(tmp_path / "data", data, Told())
    assert list(tmp_path.iterdir()) == []
    prepare(tmp_path / "data", data, Told())
    assert len(list((tmp_path / "data").iterdir())) == 6


@pytest.mark.parametrize("stop_at", range(5))
def test_an_interrupt_between_blocks_keeps_the_old_folder(tmp_path: Path, stop_at: int) -> None:
    prepare(tmp_path / "data", TINY, Told())
    before = hashes(tmp_path / "data")

    class Stopping(Told):
        def step(self, name: str, total: int) -> Any:
            assert total == 5
            return _stopping_step(stop_at)

    with pytest.raises(KeyboardInterrupt):
        prepare(tmp_path / "data", DataSet(0.001, 2), Stopping())
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
    assert hashes(tmp_path / "data") == before


class _stopping_step:  # noqa: N801
    def __init__(self, stop_at: int) -> None:
        self.left = stop_at

    def __enter__(self) -> Any:
        return self.advance

    def __exit__(self, *_: object) -> None:
        return None

    def advance(self) -> None:
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1


def _dead_pid() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
        return process.pid


def test_leftovers_of_dead_processes_are_removed(tmp_path: Path) -> None:
    dead = tmp_path / f"data.partial-{_dead_pid()}"
    own = tmp_path / f"data.partial-{os.getpid()}"
    alive = tmp_path / f"data.partial-{os.getppid()}"
    other = tmp_path / "data.partial-mine"
    for folder in (dead, own, alive, other):
        folder.mkdir()
        (folder / "lineorder.parquet").write_text("half")
    prepare(tmp_path / "data", TINY, Told())
    assert {path.name for path in tmp_path.iterdir()} == {"data", alive.name, other.name}


def test_a_faster_process_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs make the same data; the second to finish keeps what the first may be reading."""
    write = generate._write_tables

    def racing(folder: Path, data: DataSet, progress: Progress) -> None:
        write(folder, data, progress)
        monkeypatch.setattr(generate, "_write_tables", write)
        monkeypatch.setattr(os, "getpid", lambda: 1)
        prepare(tmp_path / "data", data, progress)
        (tmp_path / "data" / "manifest.json").touch()

    monkeypatch.setattr(generate, "_write_tables", racing)
    prepare(tmp_path / "data", TINY, Told())
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "x", "", "1e9"])
def test_the_command_refuses_a_bad_scale_factor(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (["run", "--data"], ["generate", "--out"]):
        with pytest.raises(SystemExit) as caught:
            main([*command, str(tmp_path / "data"), f"--sf={text}"])
        assert caught.value.code == 2
        assert "scale factor" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["--seed=-1", "--seed=x", "--repeat=0", "--check=sqlite"])
def test_the_command_refuses_bad_options(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["run", option])
    assert caught.value.code == 2
    assert option.partition("=")[0] in capsys.readouterr().err


def test_the_command_generates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["generate", "--sf", "0.001", "--out", str(tmp_path / "data")]
    assert main(arguments) == 0
    assert (tmp_path / "data" / "lineorder.tbl").exists()
    assert main(arguments) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert f"reusing {tmp_path / 'data'}" in captured.err.replace("\n", " ")


def test_the_command_says_why_it_cannot_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main(["generate", "--sf=0.001", "--out", str(tmp_path / "file" / "data")]) == 1
    assert capsys.readouterr().err == (
        f"raydb-ssb: cannot write '{tmp_path / 'file' / 'data'}': Not a directory\n"
    )

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(generate, "_write_table", full)
    assert main(["generate", "--sf=0.001", "--out", str(tmp_path / "data")]) == 1
    captured = capsys.readouterr().err
    assert f"cannot write '{tmp_path / 'data'}': No space left on device\n" in captured
    assert "Traceback" not in captured


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to one process")
def test_ctrl_c_while_generating(tmp_path: Path) -> None:
    arguments = ["generate", "--sf=20", "--out", str(tmp_path / "data")]
    with subprocess.Popen(
        [sys.executable, "-m", "raydb.ssb", *arguments], stderr=subprocess.PIPE, text=True
    ) as process:
        deadline = time.monotonic() + 30
        while not list(tmp_path.glob("data.partial-*/lineorder.tbl")):
            assert process.poll() is None, process.stderr
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (130, "raydb-ssb: interrupted\n")
    assert list(tmp_path.iterdir()) == []
