"""Reads and runs files in the format of sqllogictest, SQLite's tests for SQL engines.

    statement ok                     a statement that has to succeed, or `statement error`
    CREATE TABLE t (a INTEGER)

    query IT rowsort label-1         columns are text (T), integers (I) or reals (R); rows in the
    SELECT a, b FROM t               order of the query (nosort), sorted (rowsort), or all values
    ----                             sorted (valuesort). Queries of one label have one answer.
    1
    one

Values stand one a line, or as `30 values hashing to 3c13dee48d9356ae19af2515e05e6b54`. A record of
`skipif ENGINE` or `onlyif ENGINE` belongs to the next one; `halt` ends the file.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb

import raydb

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ENGINES = ("raydb", "duckdb", "sqlite")
ERRORS = (raydb.Error, duckdb.Error, sqlite3.Error, sqlite3.Warning)


@dataclass(frozen=True, slots=True)
class Record:
    """A statement or query of a file; `types` is '' for a statement, `fails` says that it must."""

    line: int
    sql: str
    fails: bool = False
    types: str = ""
    sort: str = "nosort"
    label: str = ""
    answer: tuple[str, ...] = ()


def read_records(text: str, engine: str) -> Iterator[Record]:
    """Yield the records of a file that an engine runs."""
    skipped = False
    for line, block in blocks(text):
        words = block[0].split()
        match words[0]:
            case "skipif" | "onlyif":
                skipped = skipped or (words[1] == engine) == (words[0] == "skipif")
                continue
            case "halt" if not skipped:
                return
            case "statement" if not skipped:
                yield Record(line, "\n".join(block[1:]), fails=words[1] == "error")
            case "query" if not skipped:
                yield read_query(line, words, block)
            case "statement" | "query" | "halt" | "hash-threshold":
                pass
            case _:
                raise ValueError(f"line {line}: '{words[0]}' is no record")
        skipped = False


def blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield what empty lines part, without comments; conditions as blocks of their own."""
    block: list[str] = []
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if not line.strip():
            if block:
                yield number - len(block), block
            block = []
        elif not block and line.startswith("#"):
            continue
        elif not block and line.startswith(("skipif", "onlyif", "hash-threshold")):
            yield number, [line.partition("#")[0]]
        else:
            block.append(line.rstrip())


def read_query(line: int, words: list[str], block: list[str]) -> Record:
    end = block.index("----") if "----" in block else len(block)
    sorts = [word for word in words[2:] if word in {"nosort", "rowsort", "valuesort"}]
    labels = [word for word in words[2:] if word not in sorts]
    return Record(
        line,
        "\n".join(block[1:end]),
        types=words[1],
        sort=sorts[0] if sorts else "nosort",
        label=labels[0] if labels else "",
        answer=tuple(block[end + 1 :]),
    )


def show(value: Any, type_: str) -> str:
    """Write a value of a column as a file has it."""
    if value is None:
        return "NULL"
    if type_ == "R":
        return f"{float(value):.3f}"
    if type_ == "I":
        return str(int(value)) if isinstance(value, int | float | Decimal) else "0"
    text = str(int(value)) if isinstance(value, bool) else str(value)
    return re.sub(r"[^ -~]", "@", text) or "(empty)"


def show_rows(rows: list[tuple[Any, ...]], record: Record) -> list[str]:
    """Return the lines of an answer, in the order that the record asks for."""
    for row in rows:
        if len(row) != len(record.types):
            raise ValueError(f"{len(row)} columns, not {len(record.types)}")
    lines = [[show(value, record.types[i]) for i, value in enumerate(row)] for row in rows]
    if record.sort == "rowsort":
        lines.sort()
    values = [value for line in lines for value in line]
    return sorted(values) if record.sort == "valuesort" else values


def hashed(values: list[str]) -> str:
    digest = hashlib.md5("".join(f"{value}\n" for value in values).encode(), usedforsecurity=False)
    return f"{len(values)} values hashing to {digest.hexdigest()}"


def connect(engine: str) -> Any:
    """Open an empty database; DuckDB with the meaning of the standard for `/` and LIKE's case."""
    if engine == "raydb":
        return raydb.connect()
    if engine == "duckdb":
        connection = duckdb.connect()
        connection.execute("SET integer_division = true")
        connection.execute("SET default_null_order = 'nulls_last_on_asc_first_on_desc'")
        return connection
    sqlite = sqlite3.connect(":memory:", isolation_level=None)
    sqlite.execute("PRAGMA case_sensitive_like = ON")
    sqlite.execute("PRAGMA foreign_keys = ON")
    return sqlite


def run_file(path: Path, engine: str) -> list[str]:
    """Run a file on an engine; return what went wrong, with the number of the line."""
    problems = []
    labels: dict[str, list[str]] = {}
    connection = connect(engine)
    for record in read_records(path.read_text(encoding="utf-8"), engine):
        problem = run_record(connection, record, labels)
        if problem:
            problems.append(f"{path.name}:{record.line}: {record.sql}\n{problem}")
    connection.close()
    return problems


def run_record(connection: Any, record: Record, labels: dict[str, list[str]]) -> str:
    """Return what is wrong with a record, or ''."""
    try:
        cursor = connection.execute(record.sql)
        rows = cursor.fetchall() if record.types else []
    except ERRORS as error:
        return "" if record.fails else f"{type(error).__name__}: {error}"
    except AssertionError as error:
        return f"AssertionError: {error}"
    if record.fails:
        return "it has to fail"
    if not record.types:
        return ""
    try:
        values = show_rows(rows, record)
    except (TypeError, ValueError) as error:
        return str(error)
    if record.label and labels.setdefault(record.label, values) != values:
        return f"another answer with the label {record.label}: {labels[record.label]}"
    if list(record.answer) not in (values, [hashed(values)]):
        return f"expected: {list(record.answer)}\nfound:    {values}"
    return ""
