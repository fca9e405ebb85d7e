"""Golden SQL: tests/golden/*.sql are statements with their answers, one feature a file.

    -- Prose comes before a statement, after an empty line.
    SELECT a, sum(b) FROM t GROUP BY a ORDER BY a;
    -- 1 | 10
    -- 2 | NULL
    SELECT x FROM t;
    -- error: ProgrammingError: column 'x' does not exist in 't'; did you mean 'a'?

A statement ends with the line that ends in `;`. The comment lines right below are its answer: rows
(text in quotes; in any order where the statement has no ORDER BY), `(no rows)`, an error, or
`has:` lines, each a part of the answer's text. A statement that gives no rows at all, such as
CREATE TABLE, has no answer. Below the rows, `warning:` lines are all that `cursor.messages` says;
an answer without such a line does not ask for them. `$DATA` is tests/golden/data, `$TMP` an empty
folder.

Every file runs twice, each time on a fresh connection: as it is, and with `SET fused_path = 'off'`,
which must not change an answer, `has:` lines excepted, for they say which path was taken.
`pytest --golden-update` rewrites wrong answers, `has:` lines excepted; review with `git diff`.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import raydb

if TYPE_CHECKING:
    from collections.abc import Iterable

GOLDEN = Path(__file__).parent / "golden"
FILES = sorted(GOLDEN.glob("*.sql"))

# How a line of an answer begins that tells of a warning.
WARNING = "warning:"


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement and its answer. The lines are numbered from 0; the answer ends before `end`."""

    sql: str
    answer: tuple[str, ...]
    first_line: int
    answer_line: int
    end: int


def read_statements(lines: list[str]) -> list[Statement]:
    """Split a golden file's lines."""
    statements = []
    number = 0
    while number < len(lines):
        if not lines[number].strip() or lines[number].startswith("--"):
            number += 1
            continue
        first = number
        while not lines[number].endswith(";"):
            number += 1
            assert number < len(lines), f"no ';' ends the statement on line {first + 1}"
        number += 1
        answer_line = number
        while number < len(lines) and lines[number].startswith("--"):
            number += 1
        sql = "\n".join(lines[first:answer_line]).removesuffix(";")
        answer = tuple(line.removeprefix("--").strip() for line in lines[answer_line:number])
        statements.append(Statement(sql, answer, first, answer_line, number))
    return statements


def run(connection: Any, sql: str, tmp_path: Path) -> tuple[str, ...]:
    """Return the answer to a statement as a golden file has it."""
    folders = {"$DATA": str(GOLDEN / "data"), "$TMP": str(tmp_path)}
    written = sql
    for name, folder in folders.items():
        sql = sql.replace(name, folder)
    try:
        cursor = connection.execute(sql)
        rows = [] if cursor.description is None else cursor.fetchall()
    except raydb.Error as error:
        # Behind the name of a folder, columns depend on where the folder is.
        text = str(error) if sql == written else error.sentence
        message = " ".join(text.split())
        for name, folder in folders.items():
            message = message.replace(folder, name)
        return (f"error: {type(error).__name__}: {message}",)
    warnings = tuple(f"{WARNING} {warning}" for _, warning in cursor.messages)
    if cursor.description is None:
        return warnings
    lines = [" | ".join(map(show, row)) for row in rows]
    return (*(lines or ["(no rows)"]), *warnings)


def is_ordered(sql: str) -> bool:
    return sql.upper().startswith("EXPLAIN") or "ORDER BY" in sql.upper()


def show(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case str():
            return "'" + value.replace("'", "''").replace("\n", "\\n") + "'"
        case int() | float() | Decimal():
            return str(value)
        case dt.date():
            return value.isoformat()
        case _:
            return repr(value)


def is_part(answer: tuple[str, ...]) -> bool:
    """Say whether a golden answer only names parts of the answer's text."""
    return bool(answer) and answer[0].startswith("has:")


def asked_for(statement: Statement, answer: tuple[str, ...]) -> tuple[str, ...]:
    """Return an answer without its warnings where the statement's own answer has none."""
    if any(line.startswith(WARNING) for line in statement.answer):
        return answer
    return tuple(line for line in answer if not line.startswith(WARNING))


def agrees(statement: Statement, answer: tuple[str, ...]) -> bool:
    if is_part(statement.answer):
        text = "\n".join(answer).replace("''", "'")
        return all(line.removeprefix("has:").strip() in text for line in statement.answer)
    if is_ordered(statement.sql):
        return answer == statement.answer
    return sorted(answer) == sorted(statement.answer)


def as_lines(answer: Iterable[str]) -> list[str]:
    return [f"-- {line}" for line in answer]


def with_answers(lines: list[str], answers: list[tuple[Statement, tuple[str, ...]]]) -> str:
    """Return the file's text with new answers where the old ones are wrong; parts stay."""
    for statement, answer in reversed(answers):
        if not agrees(statement, answer) and not is_part(statement.answer):
            told = [line for line in answer if line.startswith(WARNING)]
            rows = [line for line in answer if not line.startswith(WARNING)]
            new = [*(rows if is_ordered(statement.sql) else sorted(rows)), *told]
            lines[statement.answer_line : statement.end] = as_lines(new)
    return "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize("fused_path", ["on", "off"])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_golden(path: Path, fused_path: str, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    connection = raydb.connect()
    connection.execute(f"SET fused_path = '{fused_path}'")
    statements = read_statements(lines)
    answers = [(s, asked_for(s, run(connection, s.sql, tmp_path))) for s in statements]
    assert answers, "the file has no statements"
    if pytestconfig.getoption("--golden-update"):
        if fused_path == "on":
            path.write_text(with_answers(lines, answers), encoding="utf-8")
        pytest.skip("answers are rewritten")
    wrong = [
        f"{path.name}:{statement.first_line + 1}: {statement.sql}\n"
        + "\n".join(["expected:", *as_lines(statement.answer), "found:", *as_lines(answer)])
        for statement, answer in answers
        if not agrees(statement, answer) and not (fused_path == "off" and is_part(statement.answer))
    ]
    if wrong:
        pytest.fail("\n\n".join(wrong), pytrace=False)
