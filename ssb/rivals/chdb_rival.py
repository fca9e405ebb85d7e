"""chDB, ClickHouse in the process: MergeTree tables with Enum columns and the best primary key."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow.parquet as pq

from raydb.ssb import rules
from raydb.ssb.rivals import FLIGHTS, THREADS, Ask, import_rival

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.ssb.flat import FlatTable
    from raydb.ssb.workload import Query, Workload

_INTEGERS: Final = {"int8": "Int8", "int16": "Int16", "int32": "Int32"}


class ChDb:
    """One table a flight with the flight's keys, or one for all in the order of the dates.

    ClickHouse keeps a primary key on disk only; the files are in the page cache when it is timed.
    """

    def __init__(self, workload: Workload) -> None:
        session = import_rival("chdb.session")
        self.version: str = import_rival("chdb").__version__
        self.build_s: float | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="raydb-ssb-chdb-")
        self._session = session.Session(f"{self._folder.name}/tables")
        self._by_flight = workload == "star"
        for statement in ("CREATE DATABASE ssb", "USE ssb", f"SET max_threads = {THREADS}"):
            self._session.query(statement)

    def load(self, flat: FlatTable, advance: Callable[[], None]) -> None:
        """Load the table by way of a Parquet file, sort it by each key, and merge its parts."""
        path = Path(self._folder.name) / "flat.parquet"
        with pq.ParquetWriter(path, flat.schema, store_schema=False) as writer:
            for batch in flat.batches(advance):
                writer.write_batch(batch)
        start = time.perf_counter()
        if self._by_flight:
            for number, flight in FLIGHTS.items():
                columns = {name: name for name in (*flight.keys, *flight.others)}
                columns["measure"] = f"toInt32({flight.measure})"
                self._create(flat, path, f"lineorder_{number}", columns, flight.keys)
            self.build_s = time.perf_counter() - start
        else:
            columns = {name: name for name in flat.schema.names}
            self._create(flat, path, "lineorder_flat", columns, ("lo_orderdate",))
        path.unlink()

    def prepare(self, query: Query) -> Ask:
        """Ask by the flat text; the rows come as JSON, which keeps an Enum's text."""
        text = query.flat
        if self._by_flight:
            assert query.flight is not None, f"{query.name} belongs to no flight"
            text = FLIGHTS[query.flight].query(query)

        def ask() -> list[tuple[object, ...]]:
            answer = self._session.query(text, "JSONCompact")
            return [tuple(row) for row in json.loads(answer.bytes())["data"]]

        return ask

    def close(self) -> None:
        """Drop the tables and their files."""
        self._session.close()
        self._folder.cleanup()

    def _create(
        self,
        flat: FlatTable,
        path: Path,
        name: str,
        columns: dict[str, str],
        keys: tuple[str, ...],
    ) -> None:
        """Create a table of named expressions over the flat table's columns."""
        # Without a codec no column is decompressed in each query.
        definitions = ", ".join(f"{column} {_type(flat, column)} CODEC(NONE)" for column in columns)
        order = ", ".join(keys)
        self._session.query(
            f"CREATE TABLE {name} ({definitions}) ENGINE = MergeTree ORDER BY ({order})"
        )
        self._session.query(
            f"INSERT INTO {name} SELECT {', '.join(columns.values())} FROM file('{path}', Parquet)"
        )
        self._session.query(f"OPTIMIZE TABLE {name} FINAL")


def _type(flat: FlatTable, column: str) -> str:
    texts = rules.VALUES.get(column)
    if column == "measure":
        return "Int32"
    if texts is None:
        return _INTEGERS[str(flat.schema.field(column).type)]
    values = ", ".join(f"'{text}' = {code}" for code, text in enumerate(texts))
    return f"Enum{8 if len(texts) < 2**7 else 16}({values})"
