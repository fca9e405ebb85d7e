"""SQL logic tests: the answers of tests/logic/*.test, which the SQL standard gives.

DuckDB and SQLite run the same files, but for what `skipif` says that they take differently: the
answers are not RayDB's own.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from duckdb_suite import Report, read_choices, run_files
from duckdb_values import is_same, written
from logic_files import ENGINES, SkippedError, hashed, read_records, run_file

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


# DuckDB's dialect


def test_loops_are_unrolled() -> None:
    text = (
        "loop i 1 3\nforeach type,n a,1 b,2\n\n"
        "onlyif i=2&&type<>a\nstatement ok\n{i} {type} ${n}\n\nendloop\nendloop\n\n"
        "foreach t <signed> !bigint !integer\n\nstatement maybe\n{t}\n\nendloop\n"
    )
    records = list(read_records(text, "raydb"))
    assert [record.sql for record in records] == ["2 b 2", "tinyint", "smallint", "hugeint"]
    assert [record.may_fail for record in records] == [False, True, True, True]


def test_parts_of_a_file_are_skipped() -> None:
    text = (
        "mode skip\n\nstatement ok\nA\n\nmode unskip\n\n"
        "query I con1\nB\n# ends it\nC\n----\n1\n\nrestart\n\n"
        "concurrentloop i 0 2\nstatement error\nD{x}\n----\nwhy\n\nendloop\n"
    )
    records = read_records(text, "raydb", {"x": "y"})
    found = [(one.command or one.sql, one.connection, one.fails) for one in records]
    assert found == [
        ("B", "con1", False),
        ("restart", "", False),
        ("Dy", "0/", True),
        ("Dy", "1/", True),
    ]

    with pytest.raises(SkippedError, match="lasers"):
        list(read_records("require lasers\n", "raydb", has=lambda words: "lasers" not in words))


def test_values_are_written_as_duckdb_does() -> None:
    assert written([{"a b": None, "c": "x, y"}], 'STRUCT("a b" INT, c VARCHAR)[]') == (
        "[{'a b': NULL, 'c': 'x, y'}]"
    )
    assert written({"k": [True, ""]}, "MAP(VARCHAR, BOOLEAN[])") == "{k=[true, '']}"
    assert is_same("0.30000000000000004", 0.30000000000000004, "0.3")
    assert is_same("3", 3, "3.0")
    assert not is_same("3", 3, "4")
    assert is_same("abc", "abc", "<REGEX>:a.*")
    assert is_same("abc", "abc", "<!REGEX>:b.*")


def test_each_outcome_of_a_suite_is_counted(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "test").mkdir()
    (tmp_path / "data" / "a.csv").write_text("a\n7\n", encoding="utf-8")
    records = {
        "right": "query I\nFROM 'data/a.csv'\n----\n7\n",
        "wrong": "query I\nSELECT 1\n----\n2\n",
        "accepted": "statement error\nSELECT 1\n----\nno\n",
        "error": "statement ok\nSELECT no\n",
        "choice": "query I\nSELECT 3 -- odd\n----\n4\n",
    }
    (tmp_path / "test" / "a.test").write_text("\n".join(records.values()), encoding="utf-8")
    (tmp_path / "test" / "b.test").write_text(
        "require lasers\n\nstatement ok\nA\n", encoding="utf-8"
    )
    files = ["test/a.test", "test/b.test"]
    results = run_files(tmp_path, files, "raydb", 1)
    report = Report()
    for file in files:
        report.add(file, results[file], read_choices("test/a* | -- odd | it is odd\n"))
    assert report.records == dict.fromkeys(records, 1)
    assert report.files == {"not clean": 1, "skipped": 1}
