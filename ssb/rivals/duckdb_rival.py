"""DuckDB in memory: the flat table in the order of the dates, or a sorted copy a flight."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from raydb.ssb import rules
from raydb.ssb.rivals import FLIGHTS, THREADS, Ask, import_rival

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from raydb.ssb.flat import FlatTable
    from raydb.ssb.workload import Query, Workload

_RANGE: Final = re.compile(r"\b(\w+) BETWEEN ('[^']*') AND ('[^']*')")


class DuckDbFlat:
    """The flat table with ENUM columns, sorted by date so that its zone maps skip by date."""

    def __init__(self, _: Workload) -> None:
        duckdb = import_rival("duckdb")
        self.version: str = duckdb.__version__
        self.build_s: float | None = None
        self._connection = duckdb.connect()
        self._connection.execute(f"SET threads = {THREADS}")

    def load(self, flat: FlatTable, advance: Callable[[], None]) -> None:
        """Load the table in one statement that sorts it."""
        self._create("lineorder_flat", flat, advance, "ORDER BY lo_orderdate")

    def prepare(self, query: Query) -> Ask:
        """Ask by the flat text."""
        return self._ask(query.flat)

    def close(self) -> None:
        """Drop the tables."""
        self._connection.close()

    def _ask(self, text: str) -> Ask:
        # Against texts, an ENUM column would be turned into texts, row by row: three times slower.
        typed = _RANGE.sub(r"\1 BETWEEN \2::\1_values AND \3::\1_values", text)
        return lambda: list(self._connection.execute(typed).fetchall())

    def _create(
        self, name: str, flat: FlatTable, advance: Callable[[], None], order: str = ""
    ) -> None:
        for column, texts in rules.VALUES.items():
            values = ", ".join(f"'{text}'" for text in texts)
            self._connection.execute(f"CREATE TYPE {column}_values AS ENUM ({values})")
        items = (f"{c}::{c}_values AS {c}" if c in rules.VALUES else c for c in flat.schema.names)
        rows = pa.RecordBatchReader.from_batches(flat.schema, flat.batches(advance))
        self._connection.register("rows", rows)
        self._connection.execute(f"CREATE TABLE {name} AS {_select(items, 'rows')} {order}")
        self._connection.unregister("rows")


class DuckDbSorted(DuckDbFlat):
    """A copy of the flat table a flight: the flight's columns and measure, sorted by its keys."""

    def load(self, flat: FlatTable, advance: Callable[[], None]) -> None:
        """Load the flat table, sort the copies from it, which is what is timed, and drop it."""
        self._create("loaded", flat, advance)
        start = time.perf_counter()
        for number, flight in FLIGHTS.items():
            items = (*flight.keys, *flight.others, f"({flight.measure})::INTEGER AS measure")
            self._connection.execute(
                f"CREATE TABLE lineorder_{number} AS {_select(items, 'loaded')} "
                f"ORDER BY {', '.join(flight.keys)}"
            )
        self.build_s = time.perf_counter() - start
        self._connection.execute("DROP TABLE loaded")

    def prepare(self, query: Query) -> Ask:
        """Ask the copy of the query's flight."""
        assert query.flight is not None, f"{query.name} belongs to no flight"
        return self._ask(FLIGHTS[query.flight].query(query))


def _select(items: Iterable[str], table: str) -> str:
    return f"SELECT {', '.join(items)} FROM {table}"
