"""ALL_NULL: a chunk without any value, and without a payload."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.room import check_room
from raydb.storage.flat.encodings.encoding import Encoded, Encoding
from raydb.storage.flat.kinds import null_bytes
from raydb.storage.flat.layout import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from raydb.storage.flat.encodings.encoding import Chunk, Piece, Rows, Sections, Values
    from raydb.storage.flat.layout import ChunkEntry
    from raydb.storage.flat.metadata.column import Column


class _AllNull(Encoding):
    code, name, kinds = 0, "all_null", frozenset(Kind)

    def encode(self, values: Values, is_wanted: bool) -> Encoded | None:
        return Encoded(self) if values.array.null_count == len(values.array) else None

    def open(self, column: Column, entry: ChunkEntry, sections: Sections) -> tuple[Any, Any]:
        return None, None

    def read(self, chunk: Chunk, rows: Rows, count: int, validity: Any) -> Any:
        column = chunk.column
        check_room(count * null_bytes(column.field.type), f"column '{column.field.name}'")
        return pa.nulls(count, column.field.type)

    def run_key(self, chunk: Chunk) -> object:
        return self

    def decode_run(self, run: Sequence[Piece], sizes: NDArray[np.int64], is_checked: bool) -> Any:
        count = sum(piece.stop - piece.start for piece in run)
        return self.read(run[0].chunk, slice(0, count), count, None)

    def decoded_bytes(self, column: Column, entries: NDArray[Any]) -> NDArray[Any]:
        return entries["row_count"] * null_bytes(column.field.type)

    def item_reader(self, chunk: Chunk) -> Callable[[int], Any]:
        return lambda _row: None

    def match(self, chunk: Chunk, value: bytes, start: int, stop: int) -> NDArray[np.int64]:
        return np.empty(0, np.int64)


ALL_NULL = _AllNull()
