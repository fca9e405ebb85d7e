"""Tables in an object store: requests, trips and bytes of RayDB, Lance, Delta, Parquet and DuckDB.

    python tests/bench/bench_objects.py [--rows 100000] [--numbers 8] [--delay 0.05]
                                        [--seed 7] [--json results.json]

The store is that of the tests, on this machine, and each request of it takes 50 ms. What is counted
is what arrives there; requests that run side by side are one trip. Everything is cold: each step
opens anew and reads one row, first a column and then all. Answers are compared before anything is
counted. Rivals take part where they are installed, and are named where they are not.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import os
import statistics
import sys
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from bench_fsst import make_captions

sys.path.append(str(Path(__file__).parents[1]))
from store_server import StoreServer, trips

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from store_server import Request

REPEATS = 5
BATCH_ROWS = 100
STEPS = ("open", "one column", "all columns", "warm", "append")


class Subject:
    """A format in a bucket. Its methods are asked in this order, each cold but for `warm_row`."""

    name = ""

    def __init__(self, server: StoreServer, bucket: str, table: pa.Table) -> None:
        self.server = server
        self.url = f"s3://{bucket}/table"
        self.bucket = bucket
        self.write(table)

    def write(self, table: pa.Table) -> None:
        """Store the table."""

    def open(self) -> Any:
        """Return what rows are read from, as a process that begins has it."""

    def row(self, opened: Any, number: int, columns: Sequence[str]) -> dict[str, Any]:
        """Return some columns of a row."""

    def append(self, batch: pa.Table) -> None:
        """Add rows; NotImplementedError where a file is what it is."""
        raise NotImplementedError


def version(package: str) -> str:
    return importlib.metadata.version(package)


class FlatFile(Subject):
    """A lone FlatStor file, by the number of a row."""

    name = "FlatStor, a file"

    def write(self, table: pa.Table) -> None:
        import raydb

        self.url += ".flat"
        with raydb.connect() as con:
            con.register("given", table)
            con.execute(f"COPY (FROM given) TO '{self.url}'")

    def open(self) -> Any:
        from raydb import flatstor

        return flatstor.open_table(self.url)

    def row(self, opened: Any, number: int, columns: Sequence[str]) -> dict[str, Any]:
        return opened.take([number], list(columns)).to_pylist()[0]


class FlatQuery(FlatFile):
    """The same file, by a query of its key."""

    name = "FlatStor, FROM 's3://..'"

    def open(self) -> Any:
        import raydb

        return raydb.connect()

    def row(self, opened: Any, number: int, columns: Sequence[str]) -> dict[str, Any]:
        sql = f"SELECT {', '.join(columns)} FROM '{self.url}' WHERE id = ?"
        return opened.execute(sql, [number]).to_arrow_table().to_pylist()[0]


class Database(Subject):
    """A database of RayDB, with a primary key."""

    name = "RayDB, a database"

    def write(self, table: pa.Table) -> None:
        import raydb

        self.url += ".raydb"
        with raydb.connect(self.url) as con:
            con.register("given", table)
            con.execute("CREATE TABLE t AS FROM given")

    def open(self) -> Any:
        import raydb

        # Without the cache on disk, which the writer has filled.
        return raydb.connect(self.url, read_only=True, config={"cache_size": 0})

    def row(self, opened: Any, number: int, columns: Sequence[str]) -> dict[str, Any]:
        sql = f"SELECT {', '.join(columns)} FROM t WHERE id = ?"
        return opened.execute(sql, [number]).to_arrow_table().to_pylist()[0]

    def append(self, batch: pa.Table) -> None:
        import raydb

        if not hasattr(self, "writer"):
            self.writer = raydb.connect(self.url)
            self.writer.execute("SELECT count(*) FROM t").fetchall()
            self.server.log.clear()
        self.writer.register("batch", batch)
        self.writer.execute("INSERT INTO t FROM batch")


class Lance(Subject):
    """A Lance dataset, by the number of a row."""

    def __init__(self, *given: Any) -> None:
        self.module = importlib.import_module("lance")
        self.name = f"Lance (pylance {version('pylance')})"
        self.options = {"allow_http": "true", "aws_endpoint": os.environ["AWS_ENDPOINT_URL"]}
        super().__init__(*given)

    def write(self, table: pa.Table) -> None:
        self.module.write_dataset(table, self.url, storage_options=self.options)

    def open(self) -> Any:
        return self.module.dataset(self.url, storage_options=self.options)

    def row(self, opened: Any, number: int, columns: Sequence[str]) -> dict[str, Any]:
        return opened.take([number], columns=list(columns)).to_pylist()[0]

    def append(self, batch: pa.Table) -> None:
        self.module.write_dataset(batch, self.url, mode="append", storage_options=self.options)


class Delta(Subject):
    """A Delta table, by a query of its key."""

    def __init__(self, *given: Any) -> None:
        self.module = importlib.import_module("deltalake")
        self.name = f"Delta (deltalake {version('deltalake')})"
        self.options = {"allow_http": "true", "aws_conditional_put": "etag"}
        super().__init__(*given)

    def write(self, table: pa.Table) -> None:
        self.module.write_deltalake(self.url, table, storage_options=self.options)

    def open(self) -> Any:
        return self.module.DeltaTable(self.url, storage_options=self.options)

    def row(self, opened: Any, number: int, columns: Sequence[str]) -> dict[str, Any]:
        # Its own QueryBuilder keeps Python's lock while it waits for the store, which needs it.
        rows = opened.to_pyarrow_dataset()
        return rows.to_table(columns=list(columns), filter=pc.field("id") == number).to_pylist()[0]

    def append(self, batch: pa.Table) -> None:
        self.module.write_deltalake(self.url, batch, mode="append", storage_options=self.options)


class Parquet(Subject):
    """A Parquet file with row groups of 10,000 rows, by pyarrow, by a filter of its key."""

    def __init__(self, *given: Any) -> None:
        from pyarrow.fs import S3FileSystem

        self.name = f"Parquet (pyarrow {pa.__version__})"
        self.files = S3FileSystem(endpoint_override=os.environ["AWS_ENDPOINT_URL"], scheme="http")
        super().__init__(*given)

    def write(self, table: pa.Table) -> None:
        self.path = f"{self.bucket}/table.parquet"
        pq.write_table(table, self.path, filesystem=self.files, row_group_size=10_000)

    def open(self) -> Any:
        return pq.ParquetFile(self.files.open_input_file(self.path), pre_buffer=True)

    def row(self, opened: Any, number: int, columns: Sequence[str]) -> dict[str, Any]:
        found = opened.read_row_group(number // 10_000, columns=list(columns))
        return found.slice(number % 10_000, 1).to_pylist()[0]


class DuckDB(Parquet):
    """The same file, by a query of DuckDB."""

    def __init__(self, *given: Any) -> None:
        import duckdb

        self.con = duckdb.connect()
        try:
            self.con.execute("LOAD httpfs")
        except duckdb.Error:
            raise ImportError("its extension httpfs") from None
        super().__init__(*given)
        self.name = f"Parquet (DuckDB {duckdb.__version__})"

    def open(self) -> Any:
        con = self.con.cursor()
        host = os.environ["AWS_ENDPOINT_URL"].removeprefix("http://")
        con.execute(
            f"SET s3_endpoint = '{host}'; SET s3_use_ssl = false; SET s3_url_style = 'path'; "
            "SET s3_access_key_id = 'test'; SET s3_secret_access_key = 'test'"
        )
        return con

    def row(self, opened: Any, number: int, columns: Sequence[str]) -> dict[str, Any]:
        sql = f"SELECT {', '.join(columns)} FROM 's3://{self.path}' WHERE id = ?"
        return opened.execute(sql, [number]).to_arrow_table().to_pylist()[0]


SUBJECTS = FlatFile, FlatQuery, Database, Lance, Delta, Parquet, DuckDB


def make_table(row_count: int, numbers: int, seed: int) -> pa.Table:
    """Return ids, captions and columns of random numbers."""
    random = np.random.default_rng(seed)
    columns: dict[str, Any] = {
        "id": np.arange(row_count),
        "caption": [caption.decode() for caption in make_captions(row_count, seed)],
    }
    for number in range(numbers):
        columns[f"n{number}"] = random.integers(0, 10**6, row_count)
    return pa.table(columns)


def counted(server: StoreServer, run: Callable[[], object]) -> dict[str, float]:
    """Return what a step asked of the store, and how long it took, with the delay of requests."""
    server.log.clear()
    start = time.perf_counter()
    run()
    taken_ms = 1e3 * (time.perf_counter() - start)
    log: list[Request] = list(server.log)
    return {
        "requests": len(log),
        "trips": trips(log),
        "writes": sum(each.method in ("PUT", "POST", "DELETE") for each in log),
        "lists": sum(each.method == "GET" and "list-type" in each.query for each in log),
        "kb": sum(each.received + each.sent for each in log) / 1e3,
        "ms": taken_ms,
    }


def measure(subject: Subject, table: pa.Table, rows: Sequence[int], delay_s: float) -> Any:
    """Return for each step the medians over some rows."""
    server, names = subject.server, table.column_names
    for number in rows:
        found = subject.row(subject.open(), number, names)
        assert found == table.slice(number, 1).to_pylist()[0], (subject.name, number, found)
    found = []
    server.delay_s = delay_s
    try:
        for number in rows:
            opened: list[Any] = []
            steps = {"open": counted(server, lambda to=opened: to.append(subject.open()))}
            for step, columns in (("one column", ["caption"]), ("all columns", names)):
                steps[step] = counted(
                    server, lambda n=number, c=columns: subject.row(subject.open(), n, c)
                )
            near = (number + 1) % table.num_rows
            (first,) = opened
            subject.row(first, number, ["caption"])
            steps["warm"] = counted(server, lambda n=near, o=first: subject.row(o, n, ["caption"]))
            found.append(steps)
        try:
            for number, steps in enumerate(found):
                batch = table.slice(number * BATCH_ROWS, BATCH_ROWS)
                steps["append"] = counted(server, lambda b=batch: subject.append(b))
        except NotImplementedError:
            pass
    finally:
        server.delay_s = 0
    return {
        step: {key: statistics.median(each[step][key] for each in found) for key in found[0][step]}
        for step in found[0]
    }


def print_report(results: Sequence[dict[str, Any]]) -> None:
    print("requests / trips / KB / ms of each step, cold but for `warm`: a second row")
    print(f"{'':32}" + "".join(f"{step:>24}" for step in STEPS))
    for result in results:
        cells = []
        for step in STEPS:
            each = result.get(step)
            keys = ("requests", "trips", "kb", "ms")
            text = " / ".join(f"{each[key]:.0f}" for key in keys) if each else "-"
            cells.append(f"{text:>24}")
        print(f"{result['name']:32}" + "".join(cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--numbers", type=int, default=8, help="columns beside id and caption")
    parser.add_argument("--delay", type=float, default=0.05, help="seconds of each request")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--only", nargs="*", default=[], help="names of classes of this program")
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    options = parser.parse_args()
    server = StoreServer()
    os.environ.update(server.environment)
    table = make_table(options.rows, options.numbers, options.seed)
    rows = np.random.default_rng(options.seed).integers(0, options.rows, REPEATS).tolist()
    results: list[dict[str, Any]] = []
    for kind in SUBJECTS:
        if options.only and kind.__name__ not in options.only:
            continue
        bucket = f"bench-{uuid.uuid4().hex}"
        server.make_bucket(bucket)
        try:
            subject = kind(server, bucket, table)
        except ImportError as error:
            results.append({"name": f"{kind.__name__} (not there: {error})"})
            continue
        results.append({"name": subject.name} | measure(subject, table, rows, options.delay))
    print_report(results)
    if options.json:
        report = {"rows": options.rows, "numbers": options.numbers, "delay_s": options.delay}
        text = json.dumps(report | {"results": results}, indent=2)
        options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
