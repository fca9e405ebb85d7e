"""What statements take beyond `memory_limit`: the peak of this program's own memory, by statement.

    python tests/bench/bench_memory.py [--limit 200MB] [--rows 10000000] [--folder build]

A database on disk is made first: `line`, eight columns of numbers, dates and short texts, and
`note`, a key and a text of some 40 bytes. Each statement then runs in a process of its own on a
copy of that database (files are linked), watched from outside every 10 ms. What counts is what the
process has to itself and the system cannot drop, beyond what it had after opening the database.
Pages of files that are mapped (the database, temporary files) stand in a column of their own.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

LINE = """
    CREATE TABLE line AS SELECT range AS id, (range * 7919) % 1000 AS k,
        (range * 7919) % 1000003 AS many, range % 50 AS quantity,
        ((range * 31) % 1000000)::DECIMAL(12, 2) AS price, range * 0.25::DOUBLE AS share,
        DATE '1992-01-01' + (range % 2400)::INTEGER AS day, 'mode ' || (range % 7) AS mode
    FROM range(0, {rows})
"""
NOTE = """
    CREATE TABLE note AS SELECT range AS id,
        'note ' || (range * 7919) % 1000003 || ' about line ' || range AS text
    FROM range(0, {rows} / 2)
"""

STATEMENTS = {
    "update all": "UPDATE line SET quantity = quantity + 1",
    "update a tenth": "UPDATE line SET quantity = quantity + 1 WHERE k < 100",
    "delete a half": "DELETE FROM line WHERE k < 500",
    "create as": "CREATE TABLE copied AS SELECT * FROM line",
    "create as text": "CREATE TABLE copied AS SELECT * FROM note",
    "insert select": "INSERT INTO line SELECT * FROM line",
    "group 1,000": "SELECT k, count(*), sum(price), min(share), max(day) FROM line GROUP BY k",
    "group by text": "SELECT mode, day, count(*), sum(quantity) FROM line GROUP BY mode, day",
    "group 1 million": "SELECT count(*), sum(n) FROM"
    " (SELECT many, count(*) AS n, sum(price) FROM line GROUP BY many) q",
    "count distinct": "SELECT k, count(DISTINCT many) FROM line GROUP BY k",
    "order by": "SELECT * FROM line ORDER BY price, id LIMIT 10 OFFSET 1000000",
    "join": "SELECT count(*), sum(a.price + b.quantity) FROM line a JOIN line b ON a.id = b.many",
    "window": "SELECT max(r) FROM"
    " (SELECT row_number() OVER (PARTITION BY k ORDER BY price) AS r FROM line) q",
    "copy to parquet": "COPY line TO '{folder}/out.parquet'",
    "copy to csv": "COPY line TO '{folder}/out.csv'",
    "copy from csv": "CREATE TABLE c AS SELECT * FROM line WHERE false;"
    " COPY c FROM '{folder}/line.csv'",
    "create index": "CREATE UNIQUE INDEX i ON line (id)",
    "create bvh": "CREATE BVH b ON line (SCAN (quantity), GROUP BY (mode), AGGREGATE (price))",
    "vacuum": "DELETE FROM line WHERE id % 10 = 3; VACUUM",
    "checkpoint": "INSERT INTO line SELECT * FROM line LIMIT 1000; CHECKPOINT",
    "series": "SELECT sum(range) FROM range(100000000)",
    "order all": "SELECT * FROM line ORDER BY price, id",
    "order series": "SELECT range * 7919 % 10000019 AS k, range FROM range(20000000) ORDER BY k",
    "rank": "SELECT max(r) FROM (SELECT row_number() OVER (ORDER BY price, id) AS r FROM line) q",
    "running sum": "SELECT max(s) FROM"
    " (SELECT sum(quantity) OVER (ORDER BY price, id) AS s FROM line) q",
    "share of all": "SELECT max(s) FROM (SELECT price / sum(price) OVER () AS s FROM line) q",
    "lag": "SELECT max(s) FROM (SELECT id - lag(id) OVER (ORDER BY price) AS s FROM line) q",
    "distinct": "SELECT count(*) FROM (SELECT DISTINCT many, day FROM line) q",
    "count distinct of all": "SELECT count(DISTINCT id), count(DISTINCT many) FROM line",
    "median": "SELECT median(share), quantile_disc(id, 0.9) FROM line",
    "medians of 2": "SELECT id % 2, median(share), mode(day) FROM line GROUP BY 1",
    "string_agg": "SELECT k, string_agg(mode, ',') FROM line GROUP BY k",
    "list": "SELECT k, list(id ORDER BY price) FROM line GROUP BY k",
    "except": "SELECT count(*) FROM (SELECT id FROM line EXCEPT SELECT many FROM line) q",
    "recursion": "WITH RECURSIVE r AS (SELECT id AS n FROM line UNION ALL"
    " SELECT n / 10 FROM r WHERE n > 1000000) SELECT count(*), sum(n) FROM r",
    "skewed join": "SELECT count(*), sum(b.id) FROM line a JOIN"
    " (SELECT id, 7 * (id % 20 > 0)::INTEGER AS q FROM line WHERE id < 1000) b"
    " ON a.quantity = b.q AND a.id > b.id",
    "range join": "SELECT count(*) FROM line a JOIN (SELECT id AS low, id + 10 AS high FROM line"
    " WHERE id % 1000 = 0) b ON a.id BETWEEN low AND high",
    "interrupted order": "SELECT * FROM line ORDER BY price, id",
    "fetchmany": "SELECT * FROM line",
    "stream": "SELECT * FROM line",
}


# What is left is read so long after the end: an interrupted sort ends by itself.
SETTLED_S = 1

# So long after its begin a statement is interrupted that is measured for what it leaves.
INTERRUPTED_S = 2


def run(options: argparse.Namespace) -> None:
    """Run a statement in this process between two lines of output."""
    import raydb

    connection = raydb.connect(options.database)
    connection.execute(f"SET memory_limit = '{options.limit}'")
    print("open", flush=True)
    sys.stdin.readline()
    start = time.perf_counter()
    outcome = "done"
    sql = STATEMENTS[options.statement].format(folder=Path(options.database).parent)
    if options.statement == "interrupted order":
        threading.Timer(INTERRUPTED_S, connection.interrupt).start()
    try:
        if options.statement == "stream":
            sum(batch.num_rows for batch in connection.stream(sql))
        else:
            cursor = connection.execute(sql)
            while options.statement == "fetchmany" and cursor.fetchmany(10_000):
                pass
    except raydb.Error as error:
        outcome = str(error)
    print(json.dumps([time.perf_counter() - start, outcome]), flush=True)
    sys.stdin.readline()


def sizes_of(process: int) -> tuple[int, int]:
    """Return the bytes of a process's own pages, and of the pages of files that it has mapped."""
    found = {}
    for line in Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii").splitlines()[1:]:
        name, size, *_ = line.split()
        found[name] = 1024 * int(size)
    private = found["Private_Clean:"] + found["Private_Dirty:"]
    anonymous = found["Anonymous:"]
    return anonymous, private - anonymous


def measure(name: str, options: argparse.Namespace) -> None:
    """Run a statement in another process and print what it took."""
    copy = options.folder / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    database = copy / "line.raydb"
    shutil.copytree(
        options.folder / "line.raydb",
        database,
        copy_function=lambda a, b: os.link(a, b) if a.endswith(".flat") else shutil.copy(a, b),
    )
    if name == "copy from csv":
        os.link(options.folder / "line.csv", copy / "line.csv")
    command = [sys.executable, __file__, "--statement", name, "--limit", options.limit]
    process = subprocess.Popen(
        [*command, "--database", str(database)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), True)
    assert process.stdout.readline() == "open\n"
    before = sizes_of(process.pid)
    own, mapped = before
    process.stdin.write("go\n")
    process.stdin.flush()
    os.set_blocking(process.stdout.fileno(), False)
    answer = ""
    while not answer.endswith("\n"):
        time.sleep(0.01)
        now = sizes_of(process.pid)
        own, mapped = max(own, now[0]), max(mapped, now[1])
        answer += process.stdout.readline()
    time.sleep(SETTLED_S)
    after = sizes_of(process.pid)
    process.stdin.write("end\n")
    process.communicate()
    seconds, outcome = json.loads(answer)
    print(
        f"{name:<16}{seconds:>9.2f}{(own - before[0]) / 1e6:>9.0f}"
        f"{(after[0] - before[0]) / 1e6:>9.0f}{(mapped - before[1]) / 1e6:>9.0f}  {outcome[:110]}",
        flush=True,
    )
    shutil.rmtree(copy)


def make(options: argparse.Namespace) -> None:
    """Make the database that statements are measured on, unless it is there."""
    import raydb

    if (options.folder / "line.raydb").exists():
        return
    options.folder.mkdir(parents=True, exist_ok=True)
    with raydb.connect(options.folder / "line.raydb") as connection:
        connection.execute(LINE.format(rows=options.rows))
        connection.execute(NOTE.format(rows=options.rows))
        connection.execute(f"COPY line TO '{options.folder}/line.csv'; CHECKPOINT")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what statements take of memory.")
    parser.add_argument("--limit", default="200MB")
    parser.add_argument("--rows", type=int, default=10_000_000, help="of the larger table")
    parser.add_argument("--folder", type=Path, default=Path("build/memory"))
    parser.add_argument("--statement", choices=STATEMENTS, action="append", help="only these")
    parser.add_argument("--database", help="run one statement on it, in this process")
    options = parser.parse_args()
    if options.database:
        (options.statement,) = options.statement
        run(options)
        return
    make(options)
    print(f"{'statement':<16}{'seconds':>9}{'own MB':>9}{'left MB':>9}{'mapped':>9}  outcome")
    for name in options.statement or STATEMENTS:
        measure(name, options)


if __name__ == "__main__":
    main()
