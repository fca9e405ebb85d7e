"""TPC-H's 22 queries beside DuckDB, with BVHs and without: times and peak memory.

    python tests/bench/bench_tpch.py [--sf 1] [--queries Q1,Q5] [--runs 5] [--advised 6]
        [--json results.json]

RayDB has the keys of the specification, and the BVHs of tpch/bvhs.sql or as many as the advisor
names; DuckDB has no keys, which is its faster form. beside_duckdb.py says what is measured, and
how.
"""

from __future__ import annotations

import argparse

import beside_duckdb
import tpch_data


def workload(options: argparse.Namespace) -> beside_duckdb.Workload:
    tpch_data.parquet_files(options.sf)
    return beside_duckdb.Workload(
        {f"Q{number}": tpch_data.query_text(number) for number in tpch_data.QUERY_NUMBERS},
        ((tpch_data.FOLDER / "bvhs.sql").read_text(encoding="utf-8"),),
        lambda connection: tpch_data.load_raydb(connection, options.sf),
        lambda connection: tpch_data.load_duckdb(connection, options.sf),
        lambda name, ours, theirs: tpch_data.difference(int(name[1:]), ours, theirs),
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sf", type=float, default=1.0, help="the scale factor")
    beside_duckdb.run(parser, workload)
