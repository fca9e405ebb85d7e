"""SSB's 13 queries and 20 others over its star beside DuckDB, with BVHs and without.

    python tests/bench/bench_ssb.py [--sf 1] [--folder DIR] [--queries q1.1,o01] [--runs 5]
        [--advised 4] [--json results.json]

What `raydb-ssb compare` does not tell: whether a BVH makes a query slower. RayDB has the
benchmark's BVHs. beside_duckdb.py says what is measured, and how.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import beside_duckdb
from rich.console import Console

from raydb.ssb import generate, run, workload
from raydb.ssb.progress import Progress

if TYPE_CHECKING:
    import duckdb


def star(options: argparse.Namespace) -> beside_duckdb.Workload:
    progress = Progress(Console(stderr=True))
    data = generate.DataSet(options.sf)
    folder = options.folder or Path(tempfile.gettempdir()) / data.folder_name
    generate.prepare(folder, data, progress, replace_unmarked=True)

    def load_duckdb(connection: duckdb.DuckDBPyConnection) -> None:
        for file in folder.glob("*.parquet"):
            connection.execute(f"CREATE TABLE {file.stem} AS SELECT * FROM read_parquet('{file}')")

    names = (*workload.QUERIES, *workload.OTHERS)
    return beside_duckdb.Workload(
        {name: workload.find(name).star for name in names},
        workload.statements("bvhs.sql"),
        lambda connection: run.load(connection, folder, progress),
        load_duckdb,
        beside_duckdb.difference,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sf", type=float, default=1.0, help="the scale factor")
    parser.add_argument("--folder", type=Path, help="for the files of the tables")
    beside_duckdb.run(parser, star)
