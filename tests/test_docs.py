"""The documentation keeps its word: every example in README.md and docs/ runs and answers as said.

A block marked `sql` holds statements with their answers, as golden files do (see test_golden.py);
one marked `sql not-run` is left alone. One marked `console` holds commands behind `$` with what
they write, standard error included. A table with the columns Example and Answer has an
expression, or what follows SELECT, in each row, and the values that it gives, row by row.

A file has one connection and an empty folder to work in; commands and Python blocks share one,
in the order of the page. `pytest --golden-update` rewrites wrong
answers; review with `git diff`.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import os
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from test_golden import is_ordered, read_statements

import raydb
from raydb.engine.session.python_values import interval_word
from raydb.storage.tables.decoded import decoded_columns

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
# The records of docs/decisions have no examples; see test_decisions.py.
PAGES = sorted(ROOT.glob("docs/**/*.md"))
FILES = [
    ROOT / "README.md",
    *(path for path in PAGES if ROOT / "docs/decisions" not in path.parents),
]
REFERENCE = [ROOT / "docs" / "sql.md", *sorted(ROOT.glob("docs/sql/*.md"))]
CELL = re.compile(r"(?:\\.|[^|\\])*")


@dataclass(frozen=True, slots=True)
class Example:
    """A statement and its answer; lines[first:end] of the file are the answer's."""

    sql: str
    answer: tuple[str, ...]
    first: int
    end: int
    in_table: bool


def read_examples(lines: list[str]) -> Iterator[Example]:
    """Yield the examples of a file in order."""
    number = 0
    while number < len(lines):
        if lines[number] == "```sql":
            end = lines.index("```", number)
            for each in read_statements(lines[number + 1 : end]):
                answer = tuple(filter(None, each.answer))
                start = number + 1
                yield Example(each.sql, answer, start + each.answer_line, start + each.end, False)
            number = end
        elif lines[number].endswith("| Example | Answer |"):
            number += 2
            while number < len(lines) and lines[number].startswith("|"):
                *_, example, answer = cells(lines[number])
                yield Example(example, (answer,), number, number + 1, True)
                number += 1
        elif lines[number].startswith("```"):
            number = lines.index("```", number + 1)
        number += 1


def cells(row: str) -> list[str]:
    """Return what the cells of a table's row hold, without the backticks."""
    found = [cell.strip().replace("\\|", "|") for cell in CELL.findall(row.strip("| ")) if cell]
    return [cell.strip("`") if cell.count("`") == 2 else cell for cell in found]


def run(connection: Any, example: Example) -> tuple[str, ...]:
    """Return the answer to an example as it is written."""
    sql = f"SELECT {example.sql}" if example.in_table else example.sql
    try:
        cursor = connection.execute(sql)
        rows = [] if cursor.description is None else cursor.fetchall()
    except raydb.Error as error:
        return (f"error: {type(error).__name__}: {' '.join(str(error).split())}",)
    if cursor.description is None:
        return ()
    shown = [" | ".join(map(show, row)) for row in rows]
    if example.in_table:
        return (", ".join(shown),)
    return tuple(shown) or ("(no rows)",)


def show(value: Any) -> str:
    """Write a value as the shell does, a text in quotes."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case str():
            return "'" + value.replace("'", "''").replace("\n", "\\n") + "'"
        case bytes():
            return f"x'{value.hex().upper()}'"
        case dt.timedelta() | pa.MonthDayNano():
            return interval_word(value)
        case list():
            return "[" + ", ".join(map(show, value)) + "]"
        case _:
            return str(value)


def agrees(example: Example, answer: tuple[str, ...]) -> bool:
    if example.answer and example.answer[0].startswith("has:"):
        text = "\n".join(answer)
        return all(line.removeprefix("has:").strip() in text for line in example.answer)
    if example.in_table or is_ordered(example.sql):
        return example.answer == answer
    return sorted(example.answer) == sorted(answer)


def rewritten(lines: list[str], example: Example, answer: tuple[str, ...]) -> list[str]:
    """Return a file's lines with another answer to an example."""
    if not example.in_table:
        new = [f"-- {line}" for line in answer]
    else:
        *rest, _ = re.split(r"(?<!\\)\|", lines[example.first].rstrip("| "))
        code = answer[0].replace("|", "\\|")
        new = [f"{'|'.join(rest)}| `{code}` |"]
    return [*lines[: example.first], *new, *lines[example.end :]]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_examples(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = path.read_text(encoding="utf-8").splitlines()
    # What tables of other tests keep counts among what a page's memory_limit leaves.
    decoded_columns.drop(decoded_columns.size_bytes)
    connection = raydb.connect()
    wrong = []
    for example in read_examples(lines):
        answer = run(connection, example)
        if not agrees(example, answer):
            wrong.append((example, answer))
    if pytestconfig.getoption("--golden-update"):
        for example, answer in reversed(wrong):
            lines = rewritten(lines, example, answer)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        pytest.skip("answers are rewritten")
    assert not [(f"{path.name}:{e.first}", e.sql, e.answer, answer) for e, answer in wrong]


BLOCK = re.compile(r"```(console|python)\n(.*?)```\n", re.DOTALL)
WITH_BLOCKS = [path for path in FILES if BLOCK.search(path.read_text(encoding="utf-8"))]


# Each command is a process: those of a page that has many take half a minute.
MANY_COMMANDS = 15


def with_blocks(path: Path) -> Any:
    commands = path.read_text(encoding="utf-8").count("\n$ ")
    marks = [pytest.mark.long] if commands > MANY_COMMANDS else []
    return pytest.param(path, id=path.stem, marks=marks)


@pytest.mark.parametrize("page", [with_blocks(path) for path in WITH_BLOCKS])
def test_page_as_it_is_read(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    """Run a page's commands and its Python one after the other, in one folder.

    What commands write stands below them, what `print` writes is in the comment behind it.
    """
    command = tmp_path / "bin" / "raydb"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m raydb "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONUTF8", "1")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}

    def answered(block: re.Match[str]) -> str:
        if block[1] == "python":
            run_python(block[2], names)
            return block[0]
        commands = [line for line in block[2].splitlines() if line.startswith("$ ")]
        return "```console\n" + "".join(map(run_and_show, commands)) + "```\n"

    text = page.read_text(encoding="utf-8")
    answers = BLOCK.sub(answered, text)
    if pytestconfig.getoption("--golden-update") and answers != text:
        page.write_text(answers, encoding="utf-8")
        pytest.skip("answers are rewritten")
    assert answers == text


# What the first query of a new machine says beside its answer.
COMPILING = re.compile("^compiling loops, .*\n", re.MULTILINE)


def run_and_show(line: str) -> str:
    done = subprocess.run(
        ["/bin/sh", "-c", line.removeprefix("$ ")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    return f"{line}\n{COMPILING.sub('', done.stdout)}"


def run_python(block: str, names: dict[str, object]) -> None:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(block, names)
    for expected in re.findall(r"print\(.*\)  # (.+)", block):
        assert expected in output.getvalue().splitlines()


def test_update_writes_what_is_compared() -> None:
    lines = ["| f | means | Example | Answer |", "|---|---|---|---|", r"| x | y | `1 \| 2` | `4` |"]
    (example,) = read_examples(lines)
    assert example == Example("1 | 2", ("4",), 2, 3, True)
    assert not agrees(example, ("3",))
    lines = rewritten(lines, example, ("3",))
    (again,) = read_examples(lines)
    assert again == replace(example, answer=("3",))
