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

DuckDB's tests say more, and `duckdb_suite.py` runs them: loops (`loop i 0 9`, `foreach type
<integral> text`, up to `endloop`) whose names stand in braces, `statement maybe`, connections by
name, `require`, `load`, `restart`, `mode skip`.
"""

from __future__ import annotations

import hashlib
import operator
import re
import sqlite3
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb

import raydb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

ENGINES = ("raydb", "duckdb", "sqlite")
ERRORS = (raydb.Error, duckdb.Error, sqlite3.Error, sqlite3.Warning)


@dataclass(frozen=True, slots=True)
class Record:
    """A statement or query of a file; `types` is '' for a statement, `fails` says that it must.

    `command` is '' or what the file asks of its runner: load, restart, reconnect, unzip; `sql` is
    its argument then.
    """

    line: int
    sql: str
    fails: bool = False
    types: str = ""
    sort: str = "nosort"
    label: str = ""
    answer: tuple[str, ...] = ()
    connection: str = ""
    may_fail: bool = False
    command: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """Lines of a file that belong together, and the number of the first."""

    line: int
    lines: list[str]

    @property
    def words(self) -> list[str]:
        return self.lines[0].split()


class SkippedError(Exception):
    """A file that needs what is not there."""


ONE_LINE = frozenset(
    [
        "skipif",
        "onlyif",
        "hash-threshold",
        "halt",
        "mode",
        "loop",
        "foreach",
        "concurrentloop",
        "concurrentforeach",
        "endloop",
        "continue",
        "require",
        "require-env",
        "test-env",
        "load",
        "restart",
        "reconnect",
        "sleep",
        "unzip",
        "tags",
        "set",
        "reset",
        "include",
    ]
)
LOOPS = frozenset({"loop", "foreach", "concurrentloop", "concurrentforeach"})
SORTS = {
    "nosort": "nosort",
    "none": "nosort",
    "rowsort": "rowsort",
    "sort": "rowsort",
    "valuesort": "valuesort",
}
SIGNED = ("tinyint", "smallint", "integer", "bigint", "hugeint")
UNSIGNED = ("utinyint", "usmallint", "uinteger", "ubigint", "uhugeint")
INTEGRAL = (*SIGNED, *UNSIGNED)
NUMERIC = (*INTEGRAL, "float", "double")
TOKENS = {
    "<signed>": SIGNED,
    "<unsigned>": UNSIGNED,
    "<integral>": INTEGRAL,
    "<numeric>": NUMERIC,
    "<alltypes>": (*NUMERIC, "bool", "interval", "varchar"),
    "<compression>": ("uncompressed",),
}
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<>": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
}


def read_records(
    text: str,
    engine: str,
    names: Mapping[str, str] | None = None,
    has: Callable[[list[str]], bool] = bool,
    include: Callable[[str], str] = str,
) -> Iterator[Record]:
    """Yield the records of a file that an engine runs, loops unrolled.

    `names` stand in braces in the file, `has` says of the words of a `require` whether it is met,
    `include` gives the text of another file. Raises SkippedError where a `require` is not met,
    ValueError for a line that is no record.
    """
    yield from Reader(engine, dict(names or {}), has, include).records(blocks(text), {}, "")


def blocks(text: str) -> list[Block]:
    """Return what empty lines part, without comments; a command of one line is a block."""
    found: list[Block] = []
    lines: list[str] = []
    for number, line in enumerate([*text.replace("\r", "").split("\n"), ""], 1):
        if not line.strip():
            if lines:
                found.append(Block(number - len(lines), lines))
            lines = []
        elif not lines and line.startswith("#"):
            continue
        elif not lines and line.split()[0] in ONE_LINE:
            found.append(Block(number, [line.partition(" #")[0].rstrip()]))
        else:
            lines.append(line)
    return found


class Reader:
    """What a file has set as far as it is read: names, and whether records are skipped."""

    def __init__(
        self,
        engine: str,
        names: dict[str, str],
        has: Callable[[list[str]], bool],
        include: Callable[[str], str],
    ) -> None:
        self.engine, self.names, self.has, self.include = engine, names, has, include
        self.skips = 0
        self.halted = False

    def records(self, found: list[Block], loops: dict[str, str], thread: str) -> Iterator[Record]:
        """Yield the records of blocks in loops whose names have these values.

        `thread` is what names of connections begin with.
        """
        skipped = False
        index = 0
        while index < len(found) and not self.halted:
            block = self.filled(found[index], loops)
            word, *words = block.words
            index += 1
            if word in {"skipif", "onlyif"}:
                skipped = skipped or self.holds("".join(words), loops) == (word == "skipif")
                continue
            if word in LOOPS:
                end = end_of_loop(found, index)
                if not skipped:
                    yield from self.loop(word, words, found[index:end], loops, thread)
                index = end + 1
            elif word == "mode" and words[0] in {"skip", "unskip"}:
                self.skips += 1 if words[0] == "skip" else -1
            elif not skipped and not self.skips:
                if word == "continue":
                    return
                yield from self.record(block, word, words, loops, thread)
            skipped = False

    def record(
        self, block: Block, word: str, words: list[str], loops: dict[str, str], thread: str
    ) -> Iterator[Record]:
        """Yield the record of a block, if it is one, or do what it says."""
        match word:
            case "halt":
                self.halted = True
            case "statement":
                yield read_statement(block, thread)
            case "query":
                yield read_query(block, thread)
            case "load" | "restart" | "reconnect" | "unzip":
                yield Record(block.line, " ".join(words), command=word)
            case "require" | "require-env":
                if not self.has([word, *words]):
                    raise SkippedError(" ".join([word, *words]))
            case "set" | "test-env" if words[0] == "variable" or word == "test-env":
                self.names[words[-2]] = words[-1]
            case "include":
                yield from self.records(blocks(self.include(words[0])), loops, thread)
            case "hash-threshold" | "mode" | "tags" | "set" | "reset" | "sleep":
                pass
            case _:
                raise ValueError(f"line {block.line}: '{word}' is no record")

    def loop(
        self, word: str, words: list[str], body: list[Block], loops: dict[str, str], thread: str
    ) -> Iterator[Record]:
        """Yield the records of a loop; each turn of a concurrent one has connections of its own."""
        name, *tokens = words
        values = (
            [str(i) for i in range(*map(int, tokens))] if word.endswith("loop") else spread(tokens)
        )
        for value in values:
            together = (
                zip(name.split(","), value.split(","), strict=True)
                if "," in name
                else [(name, value)]
            )
            own = f"{thread}{value}/" if word.startswith("concurrent") else thread
            yield from self.records(body, {**loops, **dict(together)}, own)

    def filled(self, block: Block, loops: dict[str, str]) -> Block:
        """Return a block with values in place of names in braces."""
        text = "\n".join(block.lines)
        for names in (loops, self.names):
            for name, value in names.items():
                text = text.replace("${" + name + "}", value).replace("{" + name + "}", value)
        return Block(block.line, text.split("\n"))

    def holds(self, condition: str, loops: dict[str, str]) -> bool:
        """Whether a condition holds: the name of an engine, or comparisons of names in loops."""
        return all(self.compares(part, loops) for part in condition.split("&&"))

    def compares(self, part: str, loops: dict[str, str]) -> bool:
        for sign, compare in COMPARISONS.items():
            name, found, value = part.partition(sign)
            if found:
                left = loops.get(name, self.names.get(name, ""))
                both = left.lstrip("-").isdigit() and value.lstrip("-").isdigit()
                return compare(int(left), int(value)) if both else compare(left, value)
        return part == self.engine


def end_of_loop(found: list[Block], index: int) -> int:
    """Return the index of the `endloop` of a loop whose body begins at an index."""
    depth = 1
    for end in range(index, len(found)):
        word = found[end].words[0]
        depth += (word in LOOPS) - (word == "endloop")
        if not depth:
            return end
    raise ValueError(f"line {found[index - 1].line}: a loop without endloop")


def spread(tokens: list[str]) -> list[str]:
    """Return the values of a foreach: `<integral>` stands for types, `!bigint` takes one away."""
    values: list[str] = []
    for token in tokens:
        if token.startswith("!") and token[1:] in values:
            values.remove(token[1:])
        else:
            values.extend(TOKENS.get(token.lower(), (token,)))
    return values


def read_statement(block: Block, thread: str) -> Record:
    sql, _ = parted(block)
    words = block.words
    connection = thread + (words[2] if len(words) > 2 else "")
    return Record(
        block.line,
        sql,
        fails=words[1] == "error",
        may_fail=words[1] == "maybe",
        connection=connection,
    )


def read_query(block: Block, thread: str) -> Record:
    sql, answer = parted(block)
    types, *words = block.words[1:]
    sort = SORTS.get(words[0], "") if words else "nosort"
    return Record(
        block.line,
        sql,
        types=types,
        sort=sort or "nosort",
        label=words[1] if len(words) > 1 else "",
        answer=answer,
        connection=thread + ("" if sort else words[0]),
    )


def parted(block: Block) -> tuple[str, tuple[str, ...]]:
    """Return the statement of a block, which ends at a comment, and the lines of its answer."""
    end = block.lines.index("----") if "----" in block.lines else len(block.lines)
    comments = [i for i in range(1, end) if block.lines[i].startswith("#")]
    return "\n".join(block.lines[1 : min([end, *comments])]), tuple(block.lines[end + 1 :])


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
