"""Rows one by one: what INSERT, UPDATE and executemany() cost, beside sqlite3 and DuckDB.

python tests/bench/bench_rows.py            on disk, each database in a folder of its own
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

import raydb

if TYPE_CHECKING:
    from collections.abc import Callable

CREATE = "CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR, amount DOUBLE)"
INSERT = "INSERT INTO t VALUES (?, ?, ?)"


def main() -> None:
    """Print milliseconds for each way and database."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--single", type=int, default=200, help="statements one by one")
    given = parser.parse_args()
    databases: dict[str, Callable[[str], Any]] = {
        "raydb": raydb.connect,
        "sqlite3": lambda path: sqlite3.connect(path, isolation_level=None),
        "duckdb": duckdb.connect,
    }
    for name, connect in databases.items():
        with tempfile.TemporaryDirectory() as folder:
            con = connect(str(Path(folder) / "db"))
            figures = measure(con, given.rows, given.single)
            con.close()
        shown = ", ".join(f"{what} {ms:.3f} ms" for what, ms in figures.items())
        print(f"{name}: {shown}")


def measure(con: Any, count: int, single: int) -> dict[str, float]:
    """Return the milliseconds of each way; those of single statements for one of them."""
    con.execute(CREATE)
    rows = [(n, f"name {n}", n / 2) for n in range(count)]
    figures = {}
    con.execute("BEGIN")
    figures[f"executemany of {count} rows"] = timed(lambda: con.executemany(INSERT, rows))
    con.execute("COMMIT")
    changed = [(n, n) for n in range(0, count, 10)]
    con.execute("BEGIN")
    update = "UPDATE t SET amount = ? WHERE id = ?"
    took = timed(lambda: con.executemany(update, changed))
    figures[f"executemany of {len(changed)} updates"] = took
    con.execute("COMMIT")

    def insert(first: int) -> None:
        for n in range(first, first + single):
            con.execute(INSERT, (n, "one", 1.5))

    con.execute("BEGIN")
    figures["INSERT in a transaction"] = timed(lambda: insert(count)) / single
    con.execute("COMMIT")
    figures["INSERT"] = timed(lambda: insert(count + single)) / single
    (found,) = con.execute("SELECT count(*) FROM t").fetchone()
    assert found == count + 2 * single, found
    return figures


def timed(run: Callable[[], object]) -> float:
    """Return how many milliseconds a function takes."""
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1000


if __name__ == "__main__":
    main()
