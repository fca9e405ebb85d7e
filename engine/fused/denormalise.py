"""Dimension attributes for fact rows: foreign key -> row number -> gather."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.storage.take_rows import take_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from raydb.planner.expressions.nodes import Attribute
    from raydb.storage.tables.table import ForeignKey, Table

# Of a column in chunks Arrow joins all of them first, to take few rows or many.
FEW_OF = 32


def follow_path(
    tables: Mapping[str, Table],
    fact: str,
    path: tuple[ForeignKey, ...],
    row_ids: NDArray[np.uint32] | None = None,
) -> NDArray[np.int32]:
    """Return the row of the path's last table for each fact row, -1 where a key is NULL.

    row_ids: the fact rows wanted, None for all. The path has at least one foreign key.
    """
    first = tables[fact].foreign_rows[path[0]]
    rows = first if row_ids is None else first[row_ids]
    for key, parent in zip(path[1:], path[:-1], strict=True):
        if tables[parent.table].row_count == 0:
            return np.full(len(rows), -1, np.int32)
        step = tables[parent.table].foreign_rows[key]
        rows = np.where(rows < 0, np.int32(-1), step[rows])
    return rows


def fetch(
    tables: Mapping[str, Table],
    fact: str,
    attribute: Attribute,
    row_ids: NDArray[np.uint32] | None = None,
) -> pa.ChunkedArray | pa.Array:
    """Return an attribute's values for fact rows (all where row_ids is None)."""
    if not attribute.path:
        values = tables[fact].rows.column(attribute.name)
        if row_ids is not None:
            values = _take(values, row_ids)
    else:
        rows = follow_path(tables, fact, attribute.path, row_ids)
        column = tables[attribute.path[-1].table].rows.column(attribute.name)
        values = column.take(pa.array(rows, mask=rows < 0))
    # A foreign key may be a narrower integer than the key that it stands for.
    return values if values.type == attribute.type else values.cast(attribute.type)


def _take(column: pa.ChunkedArray, row_ids: NDArray[np.uint32]) -> pa.ChunkedArray:
    """Return a column's values in some rows, in the order of their numbers."""
    if len(row_ids) * FEW_OF > len(column):
        return column.take(pa.array(row_ids))
    return take_rows(column, row_ids.astype(np.int64))
