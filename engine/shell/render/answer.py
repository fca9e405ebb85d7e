"""An answer and how it is to look."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from raydb.dbapi import NUMBER
from raydb.engine.session.python_values import sql_types
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Rows become text this many at a time: a large answer is never held as text.
BATCH_ROWS = 10_000


class Answer:
    """The rows of a query, which are read once, and the names and SQL types of their columns.

    table: all rows, None where they are still to come.
    """

    def __init__(
        self, schema: pa.Schema, batches: Iterable[pa.RecordBatch], table: pa.Table | None = None
    ) -> None:
        self.names: tuple[str, ...] = tuple(schema.names)
        self.types: tuple[str, ...] = sql_types(schema)
        self.table = table
        self.row_count = 0 if table is None else int(table.num_rows)
        self._batches = batches

    @classmethod
    def of(cls, cursor: Any) -> Answer:
        """Return the answer to the query that a cursor ran last."""
        table = cursor.to_arrow_table()
        return cls(table.schema, table.to_batches(), table)

    @classmethod
    def streamed(cls, reader: pa.RecordBatchReader) -> Answer:
        """Return an answer that is computed as it is read; its first rows are computed now."""
        batches = iter(reader)
        first = next(batches, None)
        return cls(reader.schema, () if first is None else chain([first], batches))

    @property
    def is_number(self) -> tuple[bool, ...]:
        """Say for each column whether its values are numbers, which stand at the right."""
        return tuple(name == NUMBER for name in self.types)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows, BATCH_ROWS at a time; those of a stream are counted meanwhile."""
        held: list[pa.RecordBatch] = []
        count = 0
        for batch in self._batches:
            start = 0
            while start < batch.num_rows:
                part = batch.slice(start, BATCH_ROWS - count)
                held.append(part)
                start += part.num_rows
                count += part.num_rows
                if count == BATCH_ROWS:
                    yield self._joined(held)
                    held, count = [], 0
        if count:
            yield self._joined(held)

    def _joined(self, batches: list[pa.RecordBatch]) -> pa.RecordBatch:
        (joined,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
        if self.table is None:
            self.row_count += joined.num_rows
        return joined


@dataclass(frozen=True, slots=True)
class Layout:
    """How an answer is to look.

    null: what stands for NULL, but in CSV, TSV and JSON. max_rows: how many rows a box may show,
    0 for all. width: columns of the terminal that a box must fit in, 0 for any number. is_colored:
    whether the reader is a terminal that shows colours. is_ascii: whether the lines of a box must
    be ASCII. separator: what stands between the values of a list or of CSV, None for what is usual.
    widths: the width of each column of a box, from the left, 0 for what it needs; below 0, texts
    are at the right.
    """

    has_headers: bool = True
    null: str = "NULL"
    max_rows: int = 0
    width: int = 0
    is_colored: bool = False
    is_ascii: bool = False
    separator: str | None = None
    widths: tuple[int, ...] = ()
