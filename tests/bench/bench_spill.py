"""Joins, groups and sorts of more rows than the memory limit holds: their times and peak memory.

    python tests/bench/bench_spill.py [--limit 500MB] [--rows 6000000] [--groups 60000000]

Each query runs in a process of its own, once without a limit and once with it, and the answers are
compared by their sums. The tables are made first and do not count. Peak memory is that of the
process's own pages beyond those before the query: pages of temporary files do not count, since the
system may drop them. It takes about 6 GB of memory and 3 GB of disk.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import raydb

QUERIES = {
    "join": "SELECT count(*), sum(a.id + b.id), sum(y), max(a.text), max(b.text)"
    " FROM a JOIN b ON a.key = b.id",
    "group": "SELECT count(*), sum(amount), sum(number) FROM"
    " (SELECT key, sum(y) AS amount, count(*) AS number FROM wide GROUP BY key) q",
    # The sort has to be done to its end for the last rows.
    "sort": "SELECT * FROM a ORDER BY text DESC, id LIMIT 3 OFFSET 5000000",
}


def own_bytes() -> int:
    """Return the size of this process's own pages in memory; Linux only."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("RssAnon"):
            return 1024 * int(line.split()[1])
    raise SystemExit("the system does not tell")


def load(name: str, options: argparse.Namespace) -> raydb.Connection:
    """Make the tables that a query reads."""
    connection = raydb.connect()
    if name == "group":
        connection.execute(
            "CREATE TABLE wide AS SELECT range * 7919 % "
            f"{options.groups} AS key, range % 100 AS y FROM range(0, {options.groups})"
        )
        return connection
    connection.execute(
        f"CREATE TABLE a AS SELECT range AS id, range * 7919 % {options.rows // 4} AS key,"
        f" range % 1000 AS y, 'row ' || (range * 31 % {options.rows}) AS text"
        f" FROM range(0, {options.rows})"
    )
    connection.execute(
        "CREATE TABLE b AS SELECT range AS id, 'key ' || range AS text"
        f" FROM range(0, {options.rows // 4})"
    )
    return connection


def run(options: argparse.Namespace) -> None:
    """Run one query in this process and print what it took."""
    connection = load(options.query, options)
    connection.execute(f"SET memory_limit = '{options.limit}'")
    before = most = own_bytes()
    done = threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.wait(0.005):
            most = max(most, own_bytes())

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.perf_counter()
    rows = connection.execute(QUERIES[options.query]).fetchall()
    seconds = time.perf_counter() - start
    done.set()
    watcher.join()
    print(json.dumps({"seconds": seconds, "bytes": most - before, "answer": repr(rows)}))


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure queries beyond the memory limit.")
    parser.add_argument("--limit", default="500MB")
    parser.add_argument("--rows", type=int, default=6_000_000, help="of the join and the sort")
    parser.add_argument("--groups", type=int, default=60_000_000, help="of the aggregate")
    parser.add_argument("--query", choices=QUERIES, help="only run this one, in this process")
    options = parser.parse_args()
    if options.query:
        run(options)
        return
    print(f"{'query':<8}{'limit':>8}{'seconds':>10}{'peak MB':>10}")
    for name in QUERIES:
        answers = set()
        for limit in ("none", options.limit):
            arguments = ["--query", name, "--limit", limit]
            arguments += ["--rows", str(options.rows), "--groups", str(options.groups)]
            done = subprocess.run(
                [sys.executable, __file__, *arguments], check=True, stdout=subprocess.PIPE
            )
            found = json.loads(done.stdout)
            answers.add(found["answer"])
            print(f"{name:<8}{limit:>8}{found['seconds']:>10.2f}{found['bytes'] / 1e6:>10.0f}")
        assert len(answers) == 1, answers


if __name__ == "__main__":
    main()
