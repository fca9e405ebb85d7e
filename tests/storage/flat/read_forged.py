"""Reads a hostile FlatStor file in every way; what is no answer and no error of PEP 249 is raised.

    read_forged(seed, folder)       a case for tests/reliability/sandbox.py

By the API: rows, columns, filters, metadata. By SQL, under a memory_limit: counts, groups, orders,
comparisons, joins. An interrupt ends a statement that takes long, as Ctrl-C would.
"""

from __future__ import annotations

import threading
import time
import traceback
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from forged_flat import forge, write_outside

import raydb
from raydb.flatstor import inspect, open_table
from raydb.running import DeviceMemory, Running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LIMIT_MB = 200
# Of the process, which has 300 MB of libraries.
MOST_MB = LIMIT_MB + 500
_LIMIT_BYTES = LIMIT_MB * 10**6
# So long after it was opened, a file's statements are interrupted.
_SECONDS = 3
_FEW_ROWS = 1000
# Of the questions about all columns, so that there is time for many files.
_FEW_QUERIES = 8

_QUERIES = """
SELECT count(*) FROM {file}
SELECT * FROM {file} LIMIT 5
SELECT * FROM {file}
SUMMARIZE SELECT * FROM {file}
"""
_COLUMN_QUERIES = """
SELECT {c}, count(*) FROM {file} GROUP BY {c}
SELECT {c} FROM {file} ORDER BY {c} LIMIT 3
SELECT {c} FROM {file} ORDER BY {c} DESC
SELECT count({c}), min({c}), max({c}) FROM {file}
SELECT count(*) FROM {file} WHERE {c} IS NOT NULL
SELECT count(*) FROM {file} WHERE {c} > (SELECT min({c}) FROM {file})
SELECT DISTINCT CAST({c} AS VARCHAR) FROM {file}
SELECT {c} FROM {file} WHERE {c} = '7' OR {c} IS NULL
SELECT count(*) FROM {file} a JOIN {file} b ON a.{c} = b.{c}
SELECT unnest({c}) FROM {file}
SELECT {c}[1], len({c}) FROM {file}
SELECT {c}['a'], cardinality({c}), to_json({c}) FROM {file}
"""


class UncleanError(Exception):
    """What is wrong with the reading of a file, a line a step."""


class _Steps:
    """Does one thing with a file after the other."""

    def __init__(self) -> None:
        self.wrong: list[str] = []

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Do one thing; an error of PEP 249 is as good as an answer, unless it is a surprise."""
        try:
            yield
        except raydb.InternalError as error:
            self.wrong.append(f"{name}: InternalError: {error}")
        except raydb.Error:
            pass
        except Exception as error:  # noqa: BLE001  (each one is a finding)
            where = traceback.extract_tb(error.__traceback__)[-1]
            text = f"{name}: {type(error).__name__}: {error}"[:300]
            self.wrong.append(f"{text} at {Path(where.filename).name}:{where.lineno}")


def read_forged(seed: int, folder: Path) -> None:
    """Read the file of a seed. Raises UncleanError."""
    pa.default_memory_pool().release_unused()  # What the file before left is not this one's.
    path = Path(folder) / "x.flat"
    path.write_bytes(forge(seed))
    write_outside(path.parent)
    steps = _Steps()
    with Running() as running:
        running.begin(DeviceMemory(), lambda: _LIMIT_BYTES)
        names = _read_by_api(path, steps)
    _read_by_sql(path, names, Random(seed), steps)
    if steps.wrong:
        raise UncleanError("\n".join(steps.wrong))


def _read_by_api(path: Path, steps: _Steps) -> list[str]:
    """Read a file by rows, by columns, with filters and as a description; return its columns."""
    names: list[str] = []
    with steps.step("open"), open_table(path) as flat:
        names = flat.schema.names
        last = flat.row_count - 1
        rows = sorted({row for row in (0, 1, last // 2, last) if 0 <= row <= last})
        for name in names:
            _read_column(flat, name, rows, steps)
        calls: dict[str, Callable[[], Any]] = {
            "scan": flat.scan,
            "scan of no column": lambda: flat.scan([]),
            "filter of no column": lambda: flat.scan(names, []),
            "verify": flat.verify,
            "metadata": lambda: flat.metadata,
            "inspect": lambda: inspect(path),
        }
        for name, call in calls.items():
            with steps.step(name):
                call()
    return names


def _read_column(flat: Any, name: str, rows: list[int], steps: _Steps) -> None:
    for row in rows:
        with steps.step(f"item {row}"):
            flat.item(row, name)
    with steps.step("take"):
        _check(flat.take(rows, [name]))
    with steps.step("column"):
        _check(flat.column(name))
    with steps.step("filter"):
        if not rows or pa.types.is_nested(flat.schema.field(name).type):
            return  # A printed list of 2**24 elements takes a minute.
        value = flat.take(rows[-1:], [name]).column(0)[0]
        for condition in (pc.field(name) == value, pc.field(name) > value):
            _check(flat.scan([name], condition))


def _check(found: Any) -> None:
    """Raise ArrowInvalid unless Arrow finds an answer sound; times may lie beyond their day."""
    types = getattr(found, "schema", None)
    types = [found.type] if types is None else types.types
    if not any(pa.types.is_time(each) or pa.types.is_date64(each) for each in types):
        found.validate(full=True)


def _read_by_sql(path: Path, names: list[str], random: Random, steps: _Steps) -> None:
    """Ask some questions about a file; a statement that takes long must hear an interrupt."""
    file = f"'{path}'"
    queries = [each.format(file=file) for each in _QUERIES.split("\n") if each]
    for name in names:
        quoted = '"' + name.replace('"', '""') + '"'
        queries += [
            each.format(file=file, c=quoted) for each in _COLUMN_QUERIES.split("\n") if each
        ]
    queries = random.sample(queries, min(_FEW_QUERIES, len(queries)))
    end = time.monotonic() + _SECONDS
    with raydb.connect() as connection:
        connection.execute(f"SET memory_limit = '{LIMIT_MB}MB'")
        for query in queries:
            timer = threading.Timer(max(0, end - time.monotonic()), connection.interrupt)
            timer.start()
            with steps.step(query.replace(file, "F")):
                connection.execute(query).fetchmany(_FEW_ROWS)
            timer.cancel()
            timer.join()
            if time.monotonic() > end:
                break


# What the first statements import and compile is no file's time or memory.
with raydb.connect() as _connection:
    _connection.execute("CREATE TABLE warm AS SELECT 1 AS c")
    for _query in (*_QUERIES.split("\n"), *_COLUMN_QUERIES.split("\n")):
        if _query and "SUMMARIZE" not in _query:
            with suppress(raydb.ProgrammingError):  # what is for nested columns
                _connection.execute(_query.format(file="warm", c="c")).fetchall()
