"""SQL logic tests: the answers of tests/logic/*.test, which the SQL standard gives.

DuckDB and SQLite run the same files, but for what `skipif` says that they take differently: the
answers are not RayDB's own.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from logic_files import ENGINES, hashed, read_records, run_file

FILES = sorted(Path(__file__).parent.glob("*.test"))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_file(path: Path, engine: str) -> None:
    problems = run_file(path, engine)
    if problems:
        pytest.fail("\n\n".join(problems), pytrace=False)


# The runner


def write(folder: Path, text: str) -> Path:
    path = folder / "example.test"
    path.write_text(text, encoding="utf-8")
    return path


def test_wrong_answers_are_found(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "statement ok\nSELEC 1\n\n"
        "statement error\nSELECT 1\n\n"
        "query I\nSELECT 1\n----\n2\n\n"
        "query II\nSELECT 1\n----\n1\n\n"
        "query I nosort x\nSELECT 1\n----\n1\n\n"
        "query I nosort x\nSELECT 2\n----\n2\n",
    )
    lines = [problem.split(":")[1] for problem in run_file(path, "raydb")]
    assert lines == ["1", "4", "7", "12", "22"]


def test_values_are_written_as_the_format_says(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "# comment\nquery ITRTT\nSELECT 2, 'a', 1.5, '', CAST(NULL AS VARCHAR)\n----\n"
        "2\na\n1.500\n(empty)\nNULL\n\n"
        "query I valuesort\nVALUES (10), (9)\n----\n10\n9\n\n"
        "query IT rowsort\nVALUES (2, 'a'), (1, 'b')\n----\n1\nb\n2\na\n\n"
        f"hash-threshold 2\n\nquery I\nVALUES (1), (2), (3)\n----\n{hashed(['1', '2', '3'])}\n",
    )
    assert not run_file(path, "raydb")


def test_records_of_other_engines_are_left_out() -> None:
    text = (
        "skipif raydb\nstatement ok\nA\n\nonlyif raydb # only here\nstatement ok\nB\n\n"
        "onlyif sqlite\nhalt\n\nstatement ok\nC\n\nhalt\n\nstatement ok\nD\n"
    )
    assert [record.sql for record in read_records(text, "raydb")] == ["B", "C"]
    assert [record.sql for record in read_records(text, "sqlite")] == ["A"]
