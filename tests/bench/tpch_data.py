"""TPC-H for tests and benchmarks: its data, both engines' tables, the queries, the comparison."""

from __future__ import annotations

import functools
import math
import os
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "tpch"
TABLES = ("region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem")
QUERY_NUMBERS = range(1, 23)

# The queries whose ORDER BY does not decide on every row, with the places of its columns.
SORT_COLUMNS = {3: (1, 2), 5: (1,), 10: (2,), 11: (1,), 18: (4, 3)}

Row = tuple[Any, ...]


def query_text(number: int) -> str:
    """Return a query with the validation parameters of the specification."""
    return (FOLDER / f"q{number:02}.sql").read_text(encoding="utf-8")


@functools.cache
def parquet_files(scale_factor: float) -> dict[str, Path]:
    """Return each table's Parquet file; what is not in the temporary folder yet is generated."""
    folder = Path(tempfile.gettempdir()) / f"raydb-tpch-{os.getuid()}" / f"sf-{scale_factor:g}"
    if not folder.exists():
        folder.parent.mkdir(exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(dir=folder.parent))
        program = Path(sysconfig.get_path("scripts")) / "tpchgen-cli"
        size = ["--scale-factor", f"{scale_factor:g}", "--output-dir", str(unfinished)]
        subprocess.run([str(program), "parquet", *size], check=True, capture_output=True)
        try:
            unfinished.rename(folder)
        except OSError:  # another process was faster
            shutil.rmtree(unfinished)
    return {table: folder / f"{table}.parquet" for table in TABLES}


def load_raydb(connection: Any, scale_factor: float) -> None:
    """Create the tables in RayDB, with their keys."""
    connection.execute((FOLDER / "schema.sql").read_text(encoding="utf-8"))
    for table, file in parquet_files(scale_factor).items():
        connection.execute(f"COPY {table} FROM '{file}'")


def build_bvhs(connection: Any) -> None:
    connection.execute((FOLDER / "bvhs.sql").read_text(encoding="utf-8"))


def load_duckdb(connection: Any, scale_factor: float) -> None:
    """Create the tables in DuckDB, without keys: its indexes only slow these queries down."""
    for table, file in parquet_files(scale_factor).items():
        connection.execute(f"CREATE TABLE {table} AS SELECT * FROM read_parquet('{file}')")


def difference(number: int, ours: list[Row], theirs: list[Row]) -> str:
    """Say how two answers to a query differ, or return ''.

    Values have to be equal, doubles within 1e-9 of each other. Rows have to be in the same order,
    but those that ORDER BY leaves open are compared as a multiset.
    """
    if len(ours) != len(theirs):
        return f"{len(ours)} rows for {len(theirs)}"
    if number in SORT_COLUMNS:
        for place in SORT_COLUMNS[number]:
            ordered = [row[place] for row in ours], [row[place] for row in theirs]
            if ordered[0] != ordered[1]:
                return f"column {place + 1} is in another order"
        ours, theirs = sorted(ours), sorted(theirs)
    for left, right in zip(ours, theirs, strict=True):
        if len(left) != len(right) or not all(map(same_value, left, right)):
            return f"{left} for {right}"
    return ""


def same_value(left: Any, right: Any) -> bool:
    if isinstance(left, float) or isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-9)
    return bool(left == right)
