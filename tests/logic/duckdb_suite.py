"""Runs DuckDB's own tests, of a checkout that the user has.

    python tests/logic/duckdb_suite.py ~/duckdb --folders test/sql/cast test/sql/limit

A file runs in a process of its own, in an empty folder where `data` and `test` lead to the
checkout, for 20 seconds of a processor at most, 120 of the clock, and in 3 GB. Each of its records
is one of

    right       the answer, or the error, that the file has
    choice      another one, which duckdb_choices.txt gives a reason for
    wrong       another answer
    accepted    no error where the file has one
    error       an error where the file has an answer
    exception   an error that is no class of PEP 249, or one that says it is internal
    hang, crash, memory    the process did not end, or ended so; records behind it are not run

`--engine duckdb` runs the installed DuckDB instead. `--results FILE` keeps what came out, a file a
line, and `--beside FILE` then counts only the files that were clean there.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import gzip
import json
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
from duckdb_values import duckdb_rows_of, is_same, rows_of, written
from logic_files import Record, SkippedError, hashed, read_records

import raydb

PROCESSOR_SECONDS = 20
SECONDS = 120.0
MEMORY = 3 << 30
BAD = ("exception", "crash", "hang", "memory")
WITHIN = frozenset({"json", "parquet", "icu", "core_functions"})
ANYWHERE = frozenset(
    [
        "skip_reload",
        "noforcestorage",
        "no_alternative_verify",
        "notwindows",
        "notmingw",
        "notmusl",
        "64bit",
        "no_latest_storage",
        "no_vector_verification",
        "no_force_storage",
        "longdouble",
    ]
)
CHOICES = Path(__file__).with_name("duckdb_choices.txt")


@dataclass(frozen=True, slots=True)
class Choice:
    """Records that differ by choice: files, and words of their SQL, as patterns."""

    files: str
    sql: re.Pattern[str]
    reason: str

    def has(self, file: str, sql: str) -> bool:
        return fnmatch.fnmatch(file, self.files) and bool(self.sql.search(sql))


def read_choices(text: str) -> list[Choice]:
    """Return the choices of a text: lines of `files | pattern of SQL | reason`."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    parts = [[part.strip() for part in line.split(" | ")] for line in lines]
    return [Choice(files, re.compile(sql, re.IGNORECASE), why) for files, sql, why in parts]


def has(words: list[str]) -> bool:
    """Whether a `require` is met."""
    kind, what, *more = words
    if kind == "require-env":
        return False
    if what == "vector_size":
        return int(more[0]) <= 2048
    return what.lower() in WITHIN | ANYWHERE or (what, more) == ("block_size", ["262144"])


class Databases:
    """The database of a file and its connections by name."""

    def __init__(self, engine: str) -> None:
        self.engine = engine
        self.path = ""
        self.connections: dict[str, Any] = {}

    def connection(self, name: str) -> Any:
        if "" not in self.connections:
            module = raydb if self.engine == "raydb" else duckdb
            self.connections[""] = module.connect(self.path or ":memory:")
        if name not in self.connections:
            first = self.connections[""]
            other = first.duplicate() if self.engine == "raydb" else first.cursor()
            self.connections[name] = other
        return self.connections[name]

    def run(self, record: Record) -> None:
        """Do what a file asks of its runner."""
        words = record.sql.split()
        if record.command == "unzip":
            target = words[1] if len(words) > 1 else f"tmp/{Path(words[0]).stem}"
            with gzip.open(words[0]) as source, Path(target).open("wb") as file:
                shutil.copyfileobj(source, file)
            return
        for connection in self.connections.values():
            connection.close()
        self.connections.clear()
        if record.command == "load":
            self.path = words[0] if words else ""


def judge(databases: Databases, record: Record, labels: dict[str, list[str]]) -> tuple[str, str]:
    """Run a record; return what it is, and what is to say of it."""
    try:
        if record.command:
            databases.run(record)
            return "right", ""
        connection = databases.connection(record.connection)
        read = rows_of if databases.engine == "raydb" else duckdb_rows_of
        kinds, rows = read(connection, record.sql)
    except (raydb.InternalError, duckdb.InternalException) as error:
        return "exception", f"{type(error).__name__}: {error}"
    except (raydb.Error, duckdb.Error) as error:
        right = record.fails or record.may_fail
        return ("right", "") if right else ("error", f"{type(error).__name__}: {error}")
    except MemoryError as error:
        return "memory", str(error)
    except Exception as error:  # noqa: BLE001 - which one it is is what we want to know
        return "exception", f"{type(error).__name__}: {error}"
    if record.fails:
        return "accepted", "no error"
    if not record.types:
        return "right", ""
    difference = compared(record, kinds, rows, labels)
    return ("wrong", difference) if difference else ("right", "")


def compared(
    record: Record, kinds: list[str], rows: list[tuple[Any, ...]], labels: dict[str, list[str]]
) -> str:
    """Return how rows differ from the answer of a record, or ''."""
    lines = [[(written(value, kinds[i]), value) for i, value in enumerate(row)] for row in rows]
    if record.sort == "rowsort":
        lines.sort(key=lambda line: [text for text, _ in line])
    values = [value for line in lines for value in line]
    if record.sort == "valuesort":
        values.sort(key=lambda value: value[0])
    texts = [text for text, _ in values]
    if record.label:
        return "" if labels.setdefault(record.label, texts) == texts else "another answer by label"
    answer = list(record.answer)
    if len(answer) == 1 and " values hashing to " in answer[0]:
        return "" if hashed(texts) == answer[0] else f"{hashed(texts)[:40]}, not {answer[0][:40]}"
    if len(answer) == 1 and answer[0].startswith("<FILE>:"):
        return ""
    by_row = len(answer) == len(rows) and len(kinds) > 1
    if by_row or (answer and all("\t" in line for line in answer)):
        answer = [text for line in answer for text in line.split("\t") if text]
    if len(answer) != len(texts):
        return f"{len(texts)} values, not {len(answer)}: {texts[:8]} for {answer[:8]}"
    for (text, value), expected in zip(values, answer, strict=True):
        if not is_same(text, value, expected):
            return f"{text!r}, not {expected!r}"
    return ""


def read_text(path: str) -> str:
    return Path(path).read_text(encoding="utf-8", errors="replace")


def run_file(root: Path, file: str, engine: str, out: Any) -> None:
    """Run a file in the folder where the process is; write a line before and after each record."""
    for name in ("data", "test"):
        Path(name).symlink_to(root / name)
    Path("tmp").mkdir()
    names = dict.fromkeys(("TEST_DIR", "TEMP_DIR", "LOCAL_TEMP_DIR", "CATALOG_DIR"), "tmp")
    names |= dict.fromkeys(("DATA_DIR", "LOCAL_DATA_DIR"), "data")
    names |= dict.fromkeys(("WORKING_DIR", "WORKING_DIRECTORY"), str(Path.cwd()))
    names |= {"TEMP_DIR_ABSOLUTE": str(Path("tmp").resolve()), "TEST_NAME": file, "UUID": "u1"}
    text = read_text(str(root / file)).replace("__TEST_DIR__", "tmp")
    databases, labels = Databases(engine), {}
    try:
        for record in read_records(text, engine, names, has, read_text):
            print(json.dumps([record.line, record.sql, "begun", ""]), file=out, flush=True)
            outcome, message = judge(databases, record, labels)
            line = [record.line, record.sql, outcome, message[:500]]
            print(json.dumps(line), file=out, flush=True)
    except SkippedError as error:
        print(json.dumps([0, "", "skipped", str(error)]), file=out, flush=True)
    except (ValueError, OSError) as error:
        print(json.dumps([0, "", "unread", str(error)]), file=out, flush=True)


@dataclass(slots=True)
class Process:
    """A process that runs a file, in a folder that is removed with it."""

    file: str
    folder: str
    until: float = 0.0
    pid: int = 0
    late: bool = False

    def start(self, root: Path, engine: str) -> None:
        self.until = time.monotonic() + SECONDS
        self.pid = os.fork()
        if self.pid:
            return
        status = 1
        try:
            os.setpgrp()
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_SECONDS, PROCESSOR_SECONDS + 5))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            with Path(self.folder + ".out").open("w", encoding="utf-8") as out:
                silence = os.open(os.devnull, os.O_RDWR)
                for descriptor in range(3):
                    os.dup2(silence, descriptor)
                os.chdir(self.folder)
                run_file(root, self.file, engine, out)
            status = 0
        except MemoryError:
            status = 3
        finally:
            os._exit(status)

    def has_ended(self) -> bool:
        if not self.late and time.monotonic() > self.until:
            self.late = True
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid:
            self.pid = status
            self.late = self.late or os.WTERMSIG(status) == signal.SIGXCPU
        return bool(pid)

    def records(self) -> list[list[Any]]:
        """Return the records of the file, once the process has ended."""
        lines = Path(self.folder + ".out").read_text(encoding="utf-8").split("\n")[:-1]
        found = [json.loads(line) for line in lines]
        records = [record for record in found if record[2] != "begun"]
        if (found and found[-1][2] == "begun") or (self.pid and not self.late):
            how = "hang" if self.late else "memory" if self.pid >> 8 == 3 else "crash"
            line, sql = found[-1][:2] if found else (0, "")
            records.append([line, sql, how, f"status {self.pid}"])
        shutil.rmtree(self.folder, ignore_errors=True)
        Path(self.folder + ".out").unlink()
        return records


def run_files(root: Path, files: list[str], engine: str, jobs: int) -> dict[str, list[list[Any]]]:
    """Run files in so many processes at a time; return the records of each."""
    results: dict[str, list[list[Any]]] = {}
    waiting, running = files[::-1], list[Process]()
    with tempfile.TemporaryDirectory() as top:
        while waiting or running:
            while waiting and len(running) < jobs:
                file = waiting.pop()
                process = Process(file, tempfile.mkdtemp(dir=top))
                process.start(root, engine)
                running.append(process)
            for process in [process for process in running if process.has_ended()]:
                running.remove(process)
                results[process.file] = process.records()
                if not len(results) % 100:
                    print(f"{len(results)} of {len(files)} files", file=sys.stderr, flush=True)
            time.sleep(0.005)
    return results


@dataclass(slots=True)
class Report:
    """Counts of records and of clean files, and what failed first in each file."""

    records: Counter[str] = field(default_factory=Counter)
    files: Counter[str] = field(default_factory=Counter)
    first: Counter[str] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    bad: list[str] = field(default_factory=list)

    def add(self, file: str, records: list[list[Any]], choices: list[Choice]) -> None:
        is_clean = True
        for line, sql, outcome, message in records:
            if outcome in {"skipped", "unread"}:
                self.files[outcome] += 1
                return
            kind = outcome
            if outcome in {"wrong", "accepted", "error"}:
                kind = "choice" if any(one.has(file, sql) for one in choices) else outcome
            self.records[kind] += 1
            if kind in BAD:
                self.bad.append(f"{file}:{line}: {kind}: {message[:200]}\n    {sql[:300]}")
            if kind not in {"right", "choice"}:
                cause = cause_of(kind, message)
                self.causes[cause] += 1
                if is_clean:
                    self.first[cause] += 1
                is_clean = False
        self.files["clean" if is_clean else "not clean"] += 1

    def show(self, count: int) -> None:
        total = sum(self.records.values())
        for title, counts in (("records", self.records), ("files", self.files)):
            print(f"{title}: {sum(counts.values())}")
            for name, number in counts.most_common():
                print(f"  {name:12} {number:7}")
        right = self.records["right"] + self.records["choice"]
        print(f"right or by choice: {right / max(total, 1):.2%}")
        for title, counts in (("first failures of files", self.first), ("failures", self.causes)):
            print(title)
            for cause, number in counts.most_common(count):
                print(f"  {number:6} {cause}")
        for line in self.bad:
            print(line)


def cause_of(kind: str, message: str) -> str:
    """Return what messages of one cause share."""
    if kind in {"wrong", "accepted"}:
        return kind
    return (
        f"{kind}: " + re.sub(r"\(line .*?\)|[0-9]+", "#", message.split("\n", maxsplit=1)[0])[:140]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--folders", nargs="+", default=["test"], help="folders or files of it")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--engine", choices=("raydb", "duckdb"), default="raydb")
    parser.add_argument("--results", type=Path, help="write the records of each file here")
    parser.add_argument("--beside", type=Path, help="results of a run whose clean files count")
    parser.add_argument("--causes", type=int, default=40, help="how many causes to show")
    asked = parser.parse_args()
    root = asked.checkout.resolve()
    paths = [root / folder for folder in asked.folders]
    found = {one for path in paths for one in ([path] if path.is_file() else path.rglob("*.test"))}
    files = sorted(str(path.relative_to(root)) for path in found)
    if asked.beside:
        lines = asked.beside.read_text(encoding="utf-8").splitlines()
        clean = {
            file
            for file, records in map(json.loads, lines)
            if {one[2] for one in records} == {"right"}
        }
        files = [file for file in files if file in clean]
    module = raydb if asked.engine == "raydb" else duckdb
    module.connect().execute("SELECT 1").fetchall()
    results = run_files(root, files, asked.engine, asked.jobs)
    report = Report()
    choices = read_choices(CHOICES.read_text(encoding="utf-8"))
    for file in files:
        report.add(file, results[file], choices if asked.engine == "raydb" else [])
    if asked.results:
        lines = [json.dumps([file, results[file]]) for file in files]
        asked.results.write_text("\n".join(lines) + "\n", encoding="utf-8")
    report.show(asked.causes)
    sys.exit(bool(report.bad))


if __name__ == "__main__":
    main()
