"""ATTACH, and loads of many rows, where descriptors or the space of a disk run out.

    python tests/reliability/shortages.py

Each statement is tried with no descriptor left, with one, with two and so on, and on a disk with
so many bytes free. It answers rightly or fails with an OperationalError; then nothing is changed
and no file is left behind, and without the shortage it is done. Databases are also attached until
no descriptor is left for another one; those that are there can be read.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import sqlite3
from collections import Counter
from contextlib import AbstractContextManager, chdir, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from full_disk import Disk, in_namespace, mounted, why_not
from processes import FindingError, scratch
from reloads import next_descriptor

import raydb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROWS = 22_000  # more than tell the types of a file, so that all is read as it is loaded
DISK_MB = 32
FREE_BYTES = (0, 4096, 8192, 20_000, 40_000, 80_000, 160_000, 300_000)

# With so little memory, each block of a text file becomes a file.
SQLITES = "wal.db-"  # files that SQLite makes and removes
OWN = "SET memory_limit = '800KB'; CREATE TABLE t (id INTEGER, kind INTEGER, name VARCHAR)"
OTHER = """
CREATE TABLE side (id INTEGER PRIMARY KEY, name VARCHAR);
CREATE TABLE fact (side INTEGER REFERENCES side (id), m INTEGER);
INSERT INTO side SELECT i, 'n' || i FROM range(10) AS r (i);
INSERT INTO fact SELECT i % 10, i FROM range(5000) AS r (i);
CREATE BVH x ON fact (SCAN (name), AGGREGATE (m));
CHECKPOINT;
"""
ATTACH = ("ATTACH 'other' AS o", "ATTACH 'lite.db' AS l", "ATTACH 'wal.db' AS w")
QUERIES = {
    "SELECT count(*), sum(m) FROM o.fact": [(5000, 12_497_500)],
    "SELECT sum(m) FROM o.fact JOIN o.side ON side = id WHERE name = 'n7'": [(1_251_000,)],
    "SELECT count(*), sum(id) FROM l.t": [(ROWS, ROWS * (ROWS - 1) // 2)],
    "SELECT count(*), sum(id) FROM w.t": [(ROWS, ROWS * (ROWS - 1) // 2)],
}
LOADS = (
    "COPY t FROM 'rows.csv'",
    "COPY t FROM 'rows.json'",
    "INSERT INTO t SELECT id, kind, name FROM 'rows.csv' ORDER BY id DESC",
    "INSERT INTO t SELECT * FROM l.t",
    "CREATE TABLE made AS SELECT * FROM 'rows.csv'",
    "COPY (SELECT * FROM o.fact) TO 'out.csv'",
    "COPY (SELECT * FROM o.fact) TO 'out.parquet'",
)


def make(folder: Path) -> None:
    """Make what is attached and loaded."""
    rows = [(number, number % 7, f"name {number % 11}") for number in range(ROWS)]
    with raydb.connect(folder / "other") as con:
        con.execute(OTHER)
    for name, mode in (("lite.db", "delete"), ("wal.db", "wal")):
        with closing(sqlite3.connect(folder / name)) as lite:
            lite.execute(f"PRAGMA journal_mode = {mode}")
            lite.execute("CREATE TABLE t (id INTEGER, kind INTEGER, name TEXT)")
            lite.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
            lite.commit()
    rows = [
        (number, kind, f"{name}, {number * 7919 % 99991} {'x' * 100}")
        for number, kind, name in rows
    ]
    lines = [f'{number},{kind},"{name}"\n' for number, kind, name in rows]
    (folder / "rows.csv").write_text("id,kind,name\n" + "".join(lines))
    objects = [f'{{"id": {n}, "kind": {kind}, "name": "{name}"}}\n' for n, kind, name in rows]
    (folder / "rows.json").write_text("".join(objects))


@contextmanager
def few(left: int) -> Iterator[None]:
    """Leave so many descriptors."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(next_descriptor() + left, soft), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def little_space(disk: Disk, free: int) -> Iterator[None]:
    """Leave so many bytes."""
    disk.fill(free)
    try:
        yield
    finally:
        disk.make_room()


def state(con: raydb.Connection) -> tuple[object, ...]:
    """Return what a statement changes: rows, files, tables and databases."""
    rows = con.execute("SELECT count(*), sum(id) FROM t").fetchall()
    files = sorted(each for folder in (".", "own/data") for each in Path(folder).iterdir())
    files = [str(each) for each in files if not each.name.startswith(SQLITES)]
    shown = [con.execute(text).fetchall() for text in ("SHOW TABLES", "SHOW DATABASES")]
    return rows, files, shown


def attempt(con: raydb.Connection, text: str, shortage: AbstractContextManager[None]) -> str:
    """Try a statement in a shortage, and then do it; return what came of the trial."""
    before = state(con)
    outcome = "done"
    try:
        with shortage:
            answer = answer_of(con, text)
    except raydb.OperationalError as error:
        outcome = str(error)
        if (after := state(con)) != before:
            change = f"{before}, then {after}"
            raise FindingError(
                f"{text} failed and changed something: {outcome}: {change}"
            ) from None
        answer = answer_of(con, text)
    if answer != QUERIES.get(text, []):
        raise FindingError(f"{text}: {answer} ({outcome})")
    return outcome


def answer_of(con: raydb.Connection, text: str) -> list[tuple[object, ...]]:
    cursor = con.execute(text)
    return cursor.fetchall() if text in QUERIES else []


def try_each(make_shortage: Callable[[], AbstractContextManager[None]]) -> str:
    """Try every statement in a shortage; return what came of the trials."""
    path = Path("own")
    with closing(raydb.connect(path)) as con:
        con.execute(OWN)
        texts = (*ATTACH, *QUERIES, *LOADS)
        outcomes = Counter(attempt(con, text, make_shortage()) for text in texts)
        (before, *_) = state(con)
        if len(list((path / "data").iterdir())) < 4:
            raise FindingError("what is loaded goes to the log, and not to files")
    with closing(raydb.connect(path)) as con:
        (after, *_) = state(con)
    if after != before:
        raise FindingError(f"opened again, the rows are {after}, which were {before}")
    for made in (path, *Path().glob("out.*")):
        shutil.rmtree(made) if made.is_dir() else made.unlink()
    done = outcomes.pop("done", 0)
    said = "".join(f"\n    {count}x {message}" for message, count in sorted(outcomes.items()))
    return f"{done} done, {outcomes.total()} failed{said}"


def attach_many(left: int) -> str:
    """Attach databases until no descriptor is left for another one; then read some of them."""
    queries = {}
    for number in range(left // 2):
        shutil.copytree("other", f"many{number}")
        shutil.copy("lite.db", f"lite{number}.db")
        queries[f"many{number}"] = f"SELECT count(*) FROM many{number}.side"
        queries[f"lite{number}.db"] = f"SELECT count(*) FROM lite{number}.t"
    attached: list[str] = []
    refused = ""
    with closing(raydb.connect()) as con, few(left):
        for path in queries:
            try:
                con.execute(f"ATTACH '{path}' AS {Path(path).stem}")
            except raydb.OperationalError as error:
                refused = str(error)
                break
            attached.append(path)
        if not refused:
            raise FindingError(f"{len(attached)} databases take fewer than {left} descriptors")
        # What reads a file for a moment needs one more.
        con.execute(f"DETACH {Path(attached.pop()).stem}")
        for path in attached[:: max(len(attached) // 10, 1)]:
            (count,) = con.execute(queries[path]).fetchone()
            if count != (ROWS if path.startswith("lite") else 10):
                raise FindingError(f"{path} has {count} rows")
    return f"{left} descriptors: {len(attached) + 1} databases attached, then: {refused}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, default=12)
    parser.add_argument("--descriptors", type=int, default=1000)
    parser.add_argument("--free", type=int, nargs="+", default=FREE_BYTES)
    parser.add_argument("--mounted", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.mounted:
        with mounted(DISK_MB) as disk, chdir(disk.folder):
            make(disk.folder)
            for free in options.free:
                print(f"{free} bytes:", try_each(partial(little_space, disk, free)))
        return
    with scratch() as folder, chdir(folder):
        make(folder)
        for left in range(options.most):
            print(f"{left} descriptors:", try_each(partial(few, left)))
        print(attach_many(options.descriptors))
    reason = why_not()
    print(reason or in_namespace(__file__, "--free", *map(str, options.free)))


if __name__ == "__main__":
    main()
