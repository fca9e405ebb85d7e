"""Whole tables in FlatStor beside Vortex and Parquet: bytes, scans of each column, and filters.

    python tests/bench/bench_flatstor_tables.py [--sf 1] [--kit ~/tpcds-kit] [--runs 11]
                                                [--tables lineitem lineorder store_sales]
                                                [--directory DIR]

lineitem is of TPC-H, as tpchgen-cli makes it, lineorder of the Star Schema Benchmark, store_sales
of TPC-DS, by the kit that the user has built (`gregrahn/tpcds-kit`); without it that table is left
out. Parquet is written by PyArrow with zstd. Every column is compared before it is timed. Formats
take turns; times are medians, by the clock and, in parentheses, of a processor. Vortex hands out
texts as views into its own buffers: for "as written" they become the type that was written. Filters
give the first six columns and their own.
"""

from __future__ import annotations

import argparse
import datetime as dt
import importlib
import re
import statistics
import tempfile
import time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import tpcds_data
import tpch_data
from rich.console import Console
from rich.table import Table

from raydb.ssb.generate import DataSet, prepare
from raydb.ssb.progress import Progress
from raydb.storage.flat import open_table, write_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FORMATS = ("FlatStor", "Vortex", "Parquet")

PREFIX = "arefully "
# Those of whole numbers have their column's type, which Vortex asks for.
FILTERS = {
    "lineitem": {
        "25 days": (pc.field("l_shipdate") >= dt.date(1995, 3, 1))
        & (pc.field("l_shipdate") < dt.date(1995, 3, 26)),
        "one of seven texts": pc.field("l_shipmode") == "AIR",
        "an order": pc.field("l_orderkey") == 3_000_000,
        "1 % of the orders": (pc.field("l_orderkey") >= 1_000_000)
        & (pc.field("l_orderkey") < 1_060_000),
        "one of fifty quantities": pc.field("l_quantity") == pa.scalar(7, pa.decimal128(15, 2)),
        "prices below 1500": pc.field("l_extendedprice")
        < pa.scalar(Decimal(1500), pa.decimal128(15, 2)),
        "a prefix of comments": pc.starts_with(pc.field("l_comment"), PREFIX),
    },
    "lineorder": {
        "one of five texts in runs": pc.field("lo_orderpriority") == "5-LOW",
        "25 days as numbers": (pc.field("lo_orderdate") >= pa.scalar(19950301, pa.int32()))
        & (pc.field("lo_orderdate") < pa.scalar(19950326, pa.int32())),
        "2 % of the revenues": pc.field("lo_revenue") < pa.scalar(200_000, pa.int32()),
        "a part": pc.field("lo_partkey") == pa.scalar(777, pa.int32()),
    },
}


def read(file: Path) -> pa.Table:
    """Return a Parquet file's rows, texts as Arrow's strings: no codes, no views."""
    table = pq.read_table(file)
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type) or pa.types.is_string_view(field.type):
            plain = field.with_type(pa.string())
            table = table.set_column(place, plain, table.column(place).cast(pa.string()))
    return table


def load(name: str, scale_factor: float, kit: Path | None, folder: Path) -> pa.Table | None:
    """Return a table, or None for one that needs a kit where there is none."""
    if name == "lineitem":
        return read(tpch_data.parquet_files(scale_factor)["lineitem"])
    if name == "lineorder":
        prepare(folder / "ssb", DataSet(scale_factor), Progress(Console(stderr=True)))
        return read(folder / "ssb" / "lineorder.parquet")
    return None if kit is None else read(tpcds_data.parquet_files(kit, int(scale_factor))[name])


def timed(asks: Mapping[str, Callable[[], object]], runs: int) -> dict[str, tuple[float, float]]:
    """Return each one's median time in ms, of the clock and of a processor, after two turns."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in asks}
    for run in range(-2, runs):
        for name, ask in asks.items():
            start = time.perf_counter(), time.process_time()
            ask()
            taken = time.perf_counter() - start[0], time.process_time() - start[1]
            if run >= 0:
                found[name].append(taken)
    return {
        name: (
            1e3 * statistics.median(wall for wall, _ in each),
            1e3 * statistics.median(cpu for _, cpu in each),
        )
        for name, each in found.items()
    }


def write_files(name: str, table: pa.Table, folder: Path) -> dict[str, Path]:
    """Write a table in each format that is installed and return the files."""
    files = {form: folder / f"{name}.{form.lower()}" for form in FORMATS}
    write_table(table, files["FlatStor"])
    pq.write_table(table, files["Parquet"], compression="zstd")
    try:
        vortex = importlib.import_module("vortex")
    except ImportError:
        print("without Vortex: vortex-data is not installed")
        del files["Vortex"]
    else:
        vortex.io.write(vortex.array(table), str(files["Vortex"]))
    return files


def readers(files: Mapping[str, Path], field: pa.Field) -> dict[str, Callable[[], pa.Table]]:
    """Return what scans a column in each format."""
    flat, parquet = open_table(files["FlatStor"]), pq.ParquetFile(files["Parquet"])
    asks: dict[str, Callable[[], pa.Table]] = {
        "FlatStor": lambda: flat.scan([field.name]),
        "Parquet": lambda: parquet.read([field.name]),
    }
    if "Vortex" in files:
        vortex: Any = importlib.import_module("vortex").open(str(files["Vortex"]))
        asks["Vortex"] = lambda: vortex.scan([field.name]).read_all().to_arrow_table()
        if asks["Vortex"]().schema.field(0).type != field.type:
            asks["as written"] = lambda: asks["Vortex"]().cast(pa.schema([field]))
    return asks


def scan_columns(files: Mapping[str, Path], table: pa.Table, runs: int) -> Table:
    report = Table("column", "type", "FlatStor, ms", "Vortex, ms", "as written", "Parquet, ms")
    for field in table.schema:
        asks = readers(files, field)
        right = table.select([field.name]).combine_chunks()
        for who, ask in asks.items():
            found = ask().cast(right.schema).combine_chunks()
            assert found.equals(right), f"{who} reads {field.name} wrongly"
        times = timed(asks, runs)
        cells = [
            "{:.1f} ({:.1f})".format(*times[who]) if who in times else ""
            for who in ("FlatStor", "Vortex", "as written", "Parquet")
        ]
        report.add_row(field.name, str(field.type), *cells)
    return report


def filter_rows(files: Mapping[str, Path], table: pa.Table, name: str, runs: int) -> Table:
    report = Table("filter", "rows", "FlatStor, ms", "Vortex, ms", "Parquet, ms")
    flat = open_table(files["FlatStor"])
    for what, wanted in FILTERS.get(name, {}).items():
        own = [each for each in table.column_names if each in re.findall(r"\w+", str(wanted))]
        columns = list(dict.fromkeys([*table.column_names[:6], *own]))
        right = table.select(columns).filter(wanted)
        asks: dict[str, Callable[[], pa.Table]] = {
            "FlatStor": lambda some=columns, given=wanted: flat.scan(some, filter=given),
            "Parquet": lambda some=columns, given=wanted: pq.read_table(
                files["Parquet"], columns=some, filters=given
            ),
        }
        if "Vortex" in files:
            asks["Vortex"] = vortex_filter(files["Vortex"], columns, wanted)
        for who, ask in asks.items():
            assert ask().cast(right.schema).equals(right), f"{who}: {what}"
        times = timed(asks, runs)
        cells = ["{:.1f} ({:.1f})".format(*times[who]) if who in times else "" for who in FORMATS]
        report.add_row(what, f"{right.num_rows:,}", *cells)
    return report


def vortex_filter(file: Path, columns: list[str], wanted: Any) -> Callable[[], pa.Table]:
    """Return what filters rows in Vortex, by its own expressions."""
    vortex: Any = importlib.import_module("vortex")
    expressions: Any = importlib.import_module("vortex.expr")
    convert = importlib.import_module("vortex.arrow.expression").arrow_to_vortex
    opened = vortex.open(str(file))
    if str(wanted).startswith("starts_with("):
        begins = expressions.literal(vortex.utf8(), f"{PREFIX}%")
        own = expressions.like(expressions.column("l_comment"), begins)
    else:
        own = convert(wanted, opened.dtype.to_arrow_schema())
    return lambda: opened.scan(columns, expr=own).read_all().to_arrow_table()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sf", type=float, default=1.0)
    parser.add_argument("--kit", type=Path, help="a folder with tpcds-kit, built")
    parser.add_argument("--runs", type=int, default=11)
    names = ["lineitem", "lineorder", "store_sales"]
    parser.add_argument("--tables", nargs="*", choices=names, default=names)
    parser.add_argument("--directory", type=Path, help="where the files are written")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as folder:
        for name in options.tables:
            table = load(name, options.sf, options.kit, Path(folder))
            if table is None:
                print(f"without {name}: --kit names no kit")
                continue
            files = write_files(name, table, Path(folder))
            mib = (f"{who} {file.stat().st_size / 2**20:.1f}" for who, file in files.items())
            print(f"{name}, {table.num_rows:,} rows, MiB: " + ", ".join(mib))
            Console(width=120).print(scan_columns(files, table, options.runs))
            if name in FILTERS:
                Console(width=120).print(filter_rows(files, table, name, options.runs))


if __name__ == "__main__":
    main()
