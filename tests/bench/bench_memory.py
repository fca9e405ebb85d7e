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
    "summarize": "SUMMARIZE line",
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
    "range": "SELECT sum(range) FROM range(300000000)",
    "generate_series": "SELECT max(g) FROM (SELECT g * 2 AS g FROM"
    " generate_series(1, 50000000) t(g) ORDER BY g LIMIT 5 OFFSET 1000000) q",
    "ntile": "SELECT max(r) FROM (SELECT ntile(7) OVER (ORDER BY price, id) AS r FROM line) q",
    "percent_rank": "SELECT max(r) FROM"
    " (SELECT percent_rank() OVER (ORDER BY price) AS r FROM line) q",
    "cume_dist": "SELECT max(r) FROM"
    " (SELECT cume_dist() OVER (PARTITION BY id % 2 ORDER BY price) AS r FROM line) q",
    "range frame": "SELECT max(s) FROM (SELECT sum(quantity) OVER"
    " (ORDER BY many RANGE BETWEEN 10 PRECEDING AND 10 FOLLOWING) AS s FROM line) q",
    "groups frame": "SELECT max(s) FROM (SELECT sum(quantity) OVER"
    " (ORDER BY many GROUPS BETWEEN 2 PRECEDING AND 2 FOLLOWING) AS s FROM line) q",
    "rows frame": "SELECT max(s) FROM (SELECT avg(share) OVER"
    " (PARTITION BY k ORDER BY id ROWS BETWEEN 50 PRECEDING AND CURRENT ROW) AS s FROM line) q",
    "remaining rows": "SELECT max(s) FROM (SELECT sum(quantity) OVER"
    " (ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS s FROM line) q",
    "first and last": "SELECT max(f - l) FROM"
    " (SELECT first_value(id) OVER (ORDER BY price, id) AS f,"
    " last_value(id) OVER (ORDER BY price, id) AS l FROM line) q",
    "nth_value": "SELECT max(f) FROM"
    " (SELECT nth_value(id, 3) OVER (PARTITION BY id % 2 ORDER BY price, id) AS f FROM line) q",
    "lag of two groups": "SELECT max(s) FROM"
    " (SELECT id - lag(id) OVER (PARTITION BY id % 2 ORDER BY price) AS s FROM line) q",
    "running stddev": "SELECT max(s) FROM"
    " (SELECT stddev(share) OVER (ORDER BY day) AS s FROM line) q",
    "running max": "SELECT max(s) FROM"
    " (SELECT max(share) OVER (ORDER BY price, id) AS s FROM line) q",
    "distinct on": "SELECT count(*) FROM"
    " (SELECT DISTINCT ON (many) many, day, id FROM line ORDER BY many, day, id) q",
    "stddev": "SELECT stddev(share), corr(share, id), arg_max(id, price) FROM line",
    "stddev of 2": "SELECT id % 2, stddev(share), skewness(share) FROM line GROUP BY 1",
    "arg_max of 2": "SELECT id % 2, arg_max(mode, price), first(id), last(day) FROM line"
    " GROUP BY 1",
    "stddev of many": "SELECT count(*), max(s) FROM"
    " (SELECT many, stddev(share) AS s, arg_max(id, price) FROM line GROUP BY many) q",
    "entropy": "SELECT entropy(many), product(share + 1) FROM line",
    "medians of many": "SELECT count(*), max(s) FROM"
    " (SELECT many, median(share) AS s FROM line GROUP BY many) q",
    "list of all": "SELECT len(list(id)) FROM line",
    "string_agg of all": "SELECT length(string_agg(mode, ',')) FROM line",
    "grouping sets": "SELECT count(*), max(s) FROM (SELECT many, day, sum(price) AS s FROM line"
    " GROUP BY GROUPING SETS ((many), (day, mode), ())) q",
    "cube": "SELECT count(*), max(s) FROM"
    " (SELECT k, day, count(DISTINCT many) AS s FROM line GROUP BY CUBE (k, day)) q",
    "recursive union": "WITH RECURSIVE r AS (SELECT id AS n FROM line UNION"
    " SELECT n / 10 FROM r WHERE n > 1000000) SELECT count(*), sum(n) FROM r",
    "left join": "SELECT count(*), sum(b.id) FROM line a LEFT JOIN note b ON a.id = b.id + 1000000",
    "full join": "SELECT count(*), sum(b.id), max(b.text) FROM line a"
    " FULL JOIN note b ON a.id = b.id + 6000000",
    "semi join": "SELECT count(*), sum(price) FROM line a WHERE EXISTS"
    " (SELECT 1 FROM line b WHERE b.many = a.id)",
    "anti join": "SELECT count(*), sum(price) FROM line a WHERE id NOT IN (SELECT many FROM line)",
    "full range join": "SELECT count(*), sum(a.id) FROM line a FULL JOIN"
    " (SELECT id AS low, id + 10 AS high FROM line WHERE id % 1000 = 0) b"
    " ON a.id BETWEEN low AND high",
    "left range join": "SELECT count(*), sum(a.id) FROM line a LEFT JOIN"
    " (SELECT id AS low, id + 10 AS high FROM line WHERE id % 10 = 0) b"
    " ON a.id BETWEEN low AND high",
    "right range join": "SELECT count(*), sum(a.id) FROM line a RIGHT JOIN"
    " (SELECT id AS low, id + 10 AS high FROM line WHERE id % 10 = 0) b"
    " ON a.id BETWEEN low AND high",
    "cross join": "SELECT count(*), max(a.id - b.id) FROM line a, line b"
    " WHERE a.id < 10000000 AND b.id < 6",
    "join of texts": "SELECT count(*), max(a.text) FROM note a JOIN note b ON a.text = b.text",
    "union": "SELECT count(*), sum(id) FROM (SELECT id FROM line UNION SELECT many FROM line) q",
    "union of texts": "SELECT count(*), max(t) FROM"
    " (SELECT text AS t FROM note UNION SELECT text || '!' FROM note) q",
    "union all": "SELECT * FROM line UNION ALL SELECT * FROM line",
    "intersect": "SELECT count(*) FROM (SELECT id FROM line INTERSECT SELECT many FROM line) q",
    "intersect all": "SELECT count(*) FROM"
    " (SELECT id FROM line INTERSECT ALL SELECT many FROM line) q",
    "except all": "SELECT count(*) FROM (SELECT many FROM line EXCEPT ALL SELECT k FROM line) q",
    "unnest": "SELECT count(*), sum(u) FROM (SELECT unnest([id, many, k]) AS u FROM line) q",
    "unnest of lists": "SELECT count(*), sum(u) FROM (SELECT unnest(l) AS u FROM"
    " (SELECT many, list(id) AS l FROM line GROUP BY many) p) q",
    "upsert": "CREATE TABLE u (id BIGINT PRIMARY KEY, price DECIMAL(12, 2));"
    " INSERT INTO u SELECT id, price FROM line WHERE id % 2 = 0;"
    " INSERT INTO u SELECT id, price FROM line"
    " ON CONFLICT (id) DO UPDATE SET price = excluded.price + 1",
    "insert of keys": "CREATE TABLE u (id BIGINT PRIMARY KEY, price DECIMAL(12, 2));"
    " INSERT INTO u SELECT id * 7919 % 10000019, price FROM line;"
    " INSERT INTO u SELECT -1 - id, price FROM line",
    "update of keys": "CREATE TABLE u (id BIGINT PRIMARY KEY, price DECIMAL(12, 2));"
    " INSERT INTO u SELECT id, price FROM line; UPDATE u SET id = id * 3 + 1",
    "update from": "UPDATE line SET price = n.id FROM note n WHERE n.id = line.id",
    "delete using": "DELETE FROM line WHERE id IN (SELECT id FROM note)",
    "returning": "DELETE FROM line WHERE k < 500 RETURNING *",
    "order into": "CREATE TABLE copied AS SELECT * FROM line ORDER BY price, id",
    "create text index": "CREATE INDEX i ON note (text)",
    "alter column": "ALTER TABLE line ADD COLUMN more VARCHAR DEFAULT 'more';"
    " ALTER TABLE line ALTER COLUMN quantity TYPE VARCHAR",
    "copy to json": "COPY line TO '{folder}/out.json'",
    "copy from parquet": "COPY line TO '{folder}/out.parquet';"
    " CREATE TABLE c AS SELECT * FROM '{folder}/out.parquet'",
    "copy from json": "COPY note TO '{folder}/out.json';"
    " CREATE TABLE c AS SELECT * FROM '{folder}/out.json'",
    "order of parquet": "COPY line TO '{folder}/out.parquet';"
    " SELECT * FROM '{folder}/out.parquet' ORDER BY price, id",
    "export": "EXPORT DATABASE '{folder}/exported'",
    "interrupted window": "SELECT max(r) FROM"
    " (SELECT row_number() OVER (PARTITION BY k ORDER BY price, share) AS r FROM line) q",
    "interrupted group": "SELECT count(*) FROM (SELECT id, median(share) FROM line GROUP BY id) q",
    "interrupted join": "SELECT count(*), sum(a.price + b.quantity) FROM line a"
    " JOIN line b ON a.id = b.many",
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
    if options.statement.startswith("interrupted"):
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
    copy = options.folder / f"copy-{os.getpid()}"
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
    end = time.perf_counter() + options.seconds
    while not answer.endswith("\n"):
        time.sleep(0.01)
        if time.perf_counter() > end:
            answer = json.dumps([options.seconds, "did not end"]) + "\n"
            break
        now = sizes_of(process.pid)
        own, mapped = max(own, now[0]), max(mapped, now[1])
        answer += process.stdout.readline()
    time.sleep(SETTLED_S)
    after = sizes_of(process.pid)
    process.kill()
    process.communicate()
    seconds, outcome = json.loads(answer)
    print(
        f"{name:<20}{seconds:>9.2f}{(own - before[0]) / 1e6:>9.0f}"
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
    parser.add_argument("--seconds", type=float, default=600, help="that a statement may take")
    parser.add_argument("--database", help="run one statement on it, in this process")
    options = parser.parse_args()
    if options.database:
        (options.statement,) = options.statement
        run(options)
        return
    make(options)
    print(f"{'statement':<20}{'seconds':>9}{'own MB':>9}{'left MB':>9}{'mapped':>9}  outcome")
    for name in options.statement or STATEMENTS:
        measure(name, options)


if __name__ == "__main__":
    main()
