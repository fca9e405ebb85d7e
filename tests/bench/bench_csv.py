"""CSV beside DuckDB: an aggregate over a file and loading it, times and peak memory.

    python tests/bench/bench_csv.py --rows 4400000 20000000

Two files: ten columns as TPC-H's lineitem has them (some 400 MB of 4.4 million rows), and three
narrow ones. Each measurement is a process of its own with two threads, which reads the file once
before the clock; the medians of `--runs` are printed. Memory is the most that a process held of its
own (Linux), less what it held before.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

QUERIES = {
    "wide": "SELECT mode, sum(quantity), avg(price) FROM {} GROUP BY mode ORDER BY mode",
    "narrow": "SELECT kind, sum(amount) FROM {} GROUP BY kind ORDER BY kind",
}
WIDE = """
    SELECT i // 4 + 1 AS orderkey, hash(i) % 200000 AS partkey, i % 7 + 1 AS linenumber,
        hash(i + 1) % 50 + 1 AS quantity, round((hash(i + 2) % 10000000) / 100, 2) AS price,
        (hash(i + 3) % 11) / 100 AS discount,
        DATE '1992-01-01' + (hash(i + 4) % 2500)::INT AS shipped,
        TIMESTAMP '1992-01-01' + INTERVAL (hash(i + 5) % 200000000) SECOND AS committed,
        ['AIR', 'RAIL', 'SHIP', 'TRUCK', 'REG AIR', 'FOB'][(hash(i + 6) % 6)::INT + 1] AS mode,
        ['final deposits sleep', 'ironic, regular packages', 'bold "ideas"'][
            (hash(i + 7) % 3)::INT + 1] AS note
    FROM range({rows}) AS t (i)
"""
NARROW = """
    SELECT i AS id, ['a', 'bb', 'ccc'][(hash(i) % 3)::INT + 1] AS kind,
        round((hash(i + 1) % 1000000) / 100, 2) AS amount
    FROM range({rows}) AS t (i)
"""


def main() -> None:
    """Print a line for each file and statement."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rows", type=int, nargs=2, default=[4_400_000, 20_000_000])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--run", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        print(json.dumps(measure(*options.run)))
        return
    with tempfile.TemporaryDirectory() as folder:
        make_files(folder, *options.rows)
        for name in QUERIES:
            size = Path(folder, f"{name}.csv").stat().st_size
            print(f"{name}.csv, {size / 1e6:.0f} MB")
            for step in ("query", "load"):
                compare(folder, name, step, options.runs)


def make_files(folder: str, wide_rows: int, narrow_rows: int) -> None:
    """Write the files, by DuckDB."""
    import duckdb

    for name, text, rows in (("wide", WIDE, wide_rows), ("narrow", NARROW, narrow_rows)):
        duckdb.sql(f"COPY ({text.format(rows=rows)}) TO '{folder}/{name}.csv'")


def compare(folder: str, name: str, step: str, runs: int) -> None:
    """Print the medians of both systems, whose answers must be the same."""
    found: dict[str, list[dict[str, object]]] = {"duckdb": [], "raydb": []}
    for _ in range(runs):
        for system, measured in found.items():  # by turns, so that both meet the same load
            done = subprocess.run(
                [sys.executable, __file__, "--run", system, step, f"{folder}/{name}.csv"],
                capture_output=True, check=True, text=True,
            )  # fmt: skip
            measured.append(json.loads(done.stdout))
    answers = {json.dumps(run["answer"]) for each in found.values() for run in each}
    assert len(answers) == 1, answers
    figures = {
        system: [statistics.median(run[key] for run in each) for key in ("s", "cpu_s", "mb")]
        for system, each in found.items()
    }
    ratios = [ours / known for ours, known in zip(figures["raydb"], figures["duckdb"], strict=True)]
    for system, (wall, cpu, size) in figures.items():
        print(f"  {step:6} {system:7} {wall:6.2f} s  cpu {cpu:6.2f} s  {size:6.0f} MB")
    print(f"  {step:6} ratio   {ratios[0]:6.2f}    cpu {ratios[1]:6.2f}    {ratios[2]:6.2f}")


def measure(system: str, step: str, path: str) -> dict[str, object]:
    """Run a statement over a file in this process."""
    name = Path(path).stem
    folder = tempfile.mkdtemp(dir=Path(path).parent)
    execute = connect(system, folder)
    with open(path, "rb") as file:  # noqa: PTH123  (into the cache of the system)
        while file.read(1 << 20):
            pass
    before = own_bytes("VmRSS")
    start, start_cpu = time.perf_counter(), time.process_time()
    if step == "query":
        answer = execute(QUERIES[name].format(f"'{path}'"))
    else:
        execute(f"CREATE TABLE t AS SELECT * FROM '{path}' LIMIT 0")
        execute(f"COPY t FROM '{path}'")
        answer = execute("SELECT count(*) FROM t")
    seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    rows = [[str(value)[:9] for value in row] for row in answer]
    size = (own_bytes("VmHWM") - before) / 1e6
    shutil.rmtree(folder)
    return {"s": seconds, "cpu_s": cpu, "mb": size, "answer": rows}


def connect(system: str, folder: str):
    """Return what runs a statement of a system with two threads, in a new database."""
    if system == "duckdb":
        import duckdb

        duck = duckdb.connect(f"{folder}/x.duckdb", config={"threads": 2})
        return lambda text: duck.execute(text).fetchall()
    import pyarrow as pa

    import raydb

    pa.set_cpu_count(2)
    ours = raydb.connect(f"{folder}/x.raydb")

    def execute(text: str) -> list[tuple[object, ...]]:
        cursor = ours.execute(text)
        return cursor.fetchall() if cursor.description else []

    return execute


def own_bytes(field: str) -> int:
    """Return a figure of this process's memory."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    return 0


if __name__ == "__main__":
    main()
