"""An answer and how it is to look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

# Rows become text this many at a time: a large answer is never held as text.
BATCH_ROWS = 10_000

_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "REAL", "DOUBLE", "DECIMAL")


@dataclass(frozen=True, eq=False, slots=True)
class Answer:
    """The rows of a query, the names of its columns and their SQL types."""

    names: tuple[str, ...]
    types: tuple[str, ...]
    rows: pa.Table

    @classmethod
    def of(cls, cursor: Any) -> Answer:
        """Return the answer to the query that a cursor ran last."""
        names, types = zip(*((name, kind) for name, kind, *_ in cursor.description), strict=True)
        return cls(names, types, cursor.to_arrow_table())

    @property
    def is_number(self) -> tuple[bool, ...]:
        """Say for each column whether its values are numbers, which stand at the right."""
        return tuple(t.startswith(_NUMBERS) and not t.endswith("]") for t in self.types)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows, some at a time."""
        yield from self.rows.to_batches(max_chunksize=BATCH_ROWS)

    def slice(self, first: int, row_count: int) -> pa.RecordBatch:
        """Return some of the rows."""
        return self.rows.slice(first, row_count).combine_chunks().to_batches()[0]


@dataclass(frozen=True, slots=True)
class Layout:
    """How an answer is to look.

    null: what stands for NULL, but in CSV, TSV and JSON. max_rows: how many rows a box may show,
    0 for all. width: columns of the terminal that a box must fit in, 0 for any number. is_colored:
    whether the reader is a terminal that shows colours. is_ascii: whether the lines of a box must
    be ASCII.
    """

    has_headers: bool = True
    null: str = "NULL"
    max_rows: int = 0
    width: int = 0
    is_colored: bool = False
    is_ascii: bool = False
