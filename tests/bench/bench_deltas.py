"""What rows that a BVH lacks, and rows that are gone, cost the queries that it serves.

    python tests/bench/bench_deltas.py [--sf 1] [--data DIR] [--least-scanned ROWS]

The 13 queries of the Star Schema Benchmark with more and more newer rows, then with more and more
deleted ones: the geometric mean of the queries' medians, warm, and the first query after a change.
At the end all four BVHs are merged. The rows of a query of each flight are compared with those of
the general path before the clock starts.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from rich.console import Console

import raydb
from raydb.planner.stars import delta
from raydb.ssb import workload
from raydb.ssb.generate import DataSet, prepare
from raydb.ssb.progress import Progress
from raydb.ssb.run import build_bvhs, load

NEWER_ROWS = (0, 1, 1_000, 10_000, 30_000, 100_000, 300_000)
DELETED_SHARES = (1_000_000, 10_000, 1_000, 100, 20)
RUNS = 5


def ask(con: raydb.Connection, out: Console, what: str) -> None:
    """Print the time of the first query after a change, and of the 13 queries warm."""
    texts = [workload.query(name, "star") for name in workload.QUERIES]
    start = time.perf_counter()
    con.execute(texts[0]).fetchall()
    first_ms = (time.perf_counter() - start) * 1000
    medians = []
    for name, text in zip(workload.QUERIES, texts, strict=True):
        found = con.execute(text).fetchall()
        if name.endswith(".1"):
            con.execute("SET fused_path = 'off'")
            assert found == con.execute(text).fetchall(), text
            con.execute("SET fused_path = 'on'")
            con.execute(text).fetchall()
        times = []
        for _ in range(RUNS):
            start = time.perf_counter()
            con.execute(text).fetchall()
            times.append(time.perf_counter() - start)
        medians.append(statistics.median(times) * 1000)
    mean = statistics.geometric_mean(medians)
    out.print(
        f"{what:>24}: {mean:8.3f} ms, slowest {max(medians):8.3f} ms, first {first_ms:.1f} ms"
    )


def main() -> None:
    """Load, change, ask."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sf", type=float, default=1)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--least-scanned", type=int, default=delta.MIN_SCANNED)
    options = parser.parse_args()
    delta.MIN_SCANNED = options.least_scanned
    out = Console(highlight=False)
    progress = Progress(out)
    with tempfile.TemporaryDirectory() as scratch, raydb.connect() as con:
        data = DataSet(options.sf)
        folder = (options.data or Path(scratch)) / data.folder_name
        prepare(folder, data, progress)
        load(con, folder, progress)
        build_bvhs(con, progress)
        con.execute("SET bvh_merge = 'checkpoint'")
        described = con.execute("DESCRIBE lineorder").fetchall()
        others = ", ".join(name for name, *_ in described if name != "lo_orderkey")
        known = 0
        for count in NEWER_ROWS:
            con.execute(
                f"INSERT INTO lineorder SELECT lo_orderkey + 100000000, {others} FROM lineorder "
                f"LIMIT {count - known} OFFSET {known}"
            )
            known = count
            ask(con, out, f"{count} newer rows")
        start = time.perf_counter()
        con.execute("CHECKPOINT")
        out.print(f"merged in {time.perf_counter() - start:.2f} s")
        for share in DELETED_SHARES:
            con.execute(f"DELETE FROM lineorder WHERE lo_orderkey % {share} = 0")
            (deleted,) = con.execute("SELECT dead_rows FROM bvhs() LIMIT 1").fetchone()
            ask(con, out, f"{deleted} deleted rows")


if __name__ == "__main__":
    main()
