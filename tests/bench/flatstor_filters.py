"""Filters that one row in a hundred passes, on FlatStor beside Vortex and Parquet.

    city == 'city 7'                              100 cities, in any order
    caption starts with 'a dog p'                 the prefix that most nearly one in a hundred has
    day from 1995-03-01, below 1995-03-26         seven years of days, in any order

All columns of the rows are asked for, as Arrow. Parquet's filter is pushed down by pyarrow. Answers
are compared before the clock starts; times are the processor's, medians.
"""

from __future__ import annotations

import datetime as dt
import importlib
import statistics
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from bench_fsst import make_captions

from raydb.storage.flat import open_table, write_table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

REPEATS = 11
_FIRST_DAY, _DAYS = dt.date(1992, 1, 1), 2500


def processor_ms(run: Callable[[], object]) -> float:
    """Return the median time that the processor takes, in milliseconds, after two runs."""
    run()
    run()
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return 1e3 * statistics.median(times)


def make_table(row_count: int, seed: int) -> pa.Table:
    """Make captions with a number, a city and a day each."""
    random = np.random.default_rng(seed)
    days = pa.array(random.integers(0, _DAYS, row_count), pa.int32())
    first = (_FIRST_DAY - dt.date(1970, 1, 1)).days
    return pa.table(
        {
            "id": np.arange(row_count),
            "city": [f"city {number}" for number in random.integers(0, 100, row_count)],
            "day": pc.add(days, pa.scalar(first, pa.int32())).cast(pa.date32()),
            "caption": [caption.decode() for caption in make_captions(row_count, seed)],
        }
    )


def prefix_of_a_hundredth(captions: pa.ChunkedArray) -> str:
    """Return seven characters with which about one caption in a hundred begins."""
    counts = Counter(pc.utf8_slice_codeunits(captions, 0, 7).to_pylist())
    wanted = len(captions) / 100
    return min(counts, key=lambda prefix: (abs(counts[prefix] - wanted), prefix))


def measure_filters(folder: Path, row_count: int, seed: int) -> list[dict[str, Any]]:
    """Return the times of each filter."""
    table = make_table(row_count, seed)
    write_table(table, folder / "filters.flat")
    pq.write_table(table, folder / "filters.parquet")
    flat = open_table(folder / "filters.flat")
    prefix = prefix_of_a_hundredth(table.column("caption"))
    day, below = dt.date(1995, 3, 1), dt.date(1995, 3, 26)
    filters = {
        "city == 'city 7'": pc.field("city") == "city 7",
        f"caption like '{prefix}%'": pc.starts_with(pc.field("caption"), prefix),
        "25 days": (pc.field("day") >= day) & (pc.field("day") < below),
    }
    results: list[dict[str, Any]] = []
    for name, wanted in filters.items():
        expected = table.filter(wanted)

        def read_parquet(wanted: pc.Expression = wanted) -> pa.Table:
            return pq.read_table(folder / "filters.parquet", filters=wanted)

        def read_flat(wanted: pc.Expression = wanted) -> pa.Table:
            return flat.scan(filter=wanted)

        assert read_flat().equals(expected), name
        assert read_parquet().equals(expected), name
        result = {
            "filter": name,
            "rows": expected.num_rows,
            "flat_ms": processor_ms(read_flat),
            "parquet_ms": processor_ms(read_parquet),
        }
        result["parquet_part"] = result["flat_ms"] / result["parquet_ms"]
        results.append(result)
    _measure_vortex(folder, table, filters, prefix, results)
    return results


def measure_cities(folder: Path) -> dict[str, Any]:
    """Return the times of scanning the texts of a dictionary, of the files that filters read.

    Vortex hands out views into its dictionary; for vortex_as_texts_ms these are made the texts that
    were written. codes_ms: as a dictionary array.
    """
    flat = open_table(folder / "filters.flat")
    codes = flat.scan(["city"], read_dictionary=["city"]).column(0)
    assert codes.cast("string").equals(flat.column("city"))
    result: dict[str, Any] = {
        "flat_ms": processor_ms(lambda: flat.scan(["city"])),
        "codes_ms": processor_ms(lambda: flat.scan(["city"], read_dictionary=["city"])),
    }
    if (folder / "filters.vortex").exists():
        file = importlib.import_module("vortex").open(str(folder / "filters.vortex"))

        def read() -> pa.Table:
            return file.scan(["city"]).read_all().to_arrow_table()

        def read_texts() -> pa.Table:
            return read().cast(flat.schema.empty_table().select(["city"]).schema)

        assert read_texts().equals(flat.scan(["city"]))
        result["vortex_ms"] = processor_ms(read)
        result["vortex_as_texts_ms"] = processor_ms(read_texts)
    return result


def _measure_vortex(
    folder: Path, table: pa.Table, filters: dict[str, Any], prefix: str, results: list[Any]
) -> None:
    """Add Vortex's times where it is installed: its own scan, with its own expressions."""
    try:
        vortex = importlib.import_module("vortex")
        expressions = importlib.import_module("vortex.expr")
        convert = importlib.import_module("vortex.arrow.expression").arrow_to_vortex
    except ImportError:
        return
    vortex.io.write(vortex.array(table), str(folder / "filters.vortex"))
    file = vortex.open(str(folder / "filters.vortex"))
    schema = file.dtype.to_arrow_schema()
    text = expressions.literal(vortex.utf8(), f"{prefix}%")
    for result, (name, wanted) in zip(results, filters.items(), strict=True):
        if "like" in name:
            own = expressions.like(expressions.column("caption"), text)
        else:
            own = convert(wanted, schema)

        def read(own: Any = own) -> pa.Table:
            return file.scan(expr=own).read_all().to_arrow_table()

        found = read().column("id").to_pylist()
        assert found == table.filter(wanted).column("id").to_pylist(), name
        result["vortex_ms"] = processor_ms(read)
        result["vortex_part"] = result["flat_ms"] / result["vortex_ms"]
