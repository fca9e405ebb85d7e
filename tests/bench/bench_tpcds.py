"""TPC-DS beside DuckDB, with BVHs and without: times, fused jobs, planning and peak memory.

    python tests/bench/bench_tpcds.py --kit ~/tpcds-kit [--sf 1] [--queries Q1,Q14a] [--runs 5]
        [--advised 10] [--no-bvhs] [--no-memory] [--json results.json]

The kit is gregrahn/tpcds-kit, which the user has built (`make OS=LINUX` in its folder `tools`); its
dsdgen makes the rows and its dsqgen the queries. RayDB has the keys of the kit and those from
returns to sales, and the BVHs that the advisor names; DuckDB has no keys, which is its faster form.
beside_duckdb.py says what is measured, and how.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import beside_duckdb
import tpcds_data

if TYPE_CHECKING:
    import duckdb


def workload(options: argparse.Namespace) -> beside_duckdb.Workload:
    tpcds_data.parquet_files(options.kit, options.sf)

    def load_duckdb(connection: duckdb.DuckDBPyConnection) -> None:
        # The queries are written for SQL's division, in which 4 / 6 is 0.
        connection.execute("SET integer_division = true")
        tpcds_data.load_duckdb(connection, options.kit, options.sf)

    return beside_duckdb.Workload(
        tpcds_data.query_texts(options.kit),
        (),
        lambda connection: tpcds_data.load_raydb(connection, options.kit, options.sf),
        load_duckdb,
        beside_duckdb.difference,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kit", type=Path, required=True, help="the folder of tpcds-kit, built")
    parser.add_argument("--sf", type=int, default=1, help="the scale factor")
    parser.set_defaults(advised=10)
    beside_duckdb.run(parser, workload)
