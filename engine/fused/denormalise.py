"""Attributes for fact rows: the fact's own, and foreign key -> row number -> gather."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.kernels.bvh.bvh import Measure
from raydb.kernels.codecs.arrow_numbers import words_of
from raydb.kernels.codecs.packed_numbers import widened_column
from raydb.late import pc
from raydb.planner.expressions.nodes import Attribute
from raydb.storage.take_rows import take_rows
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from raydb.planner.expressions.nodes import Expression
    from raydb.storage.tables.rows import Rows
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
    rows = (first if row_ids is None else first[row_ids]).astype(np.int32, copy=False)
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
    if attribute.path:
        places = follow_path(tables, fact, attribute.path, row_ids)
        values = _taken(
            tables[attribute.path[-1].table].rows,
            attribute.name,
            lambda column: column.take(pa.array(places, mask=places < 0)),
        )
    elif row_ids is None:
        values = tables[fact].rows.column(attribute.name)
    else:
        values = _taken(tables[fact].rows, attribute.name, lambda column: _take(column, row_ids))
    # A foreign key may be a narrower integer than the key that it stands for.
    return values if values.type == attribute.type else values.cast(attribute.type)


def _taken(
    rows: Rows, name: str, take: Callable[[pa.ChunkedArray], pa.ChunkedArray]
) -> pa.ChunkedArray | pa.Array:
    """Return what is taken of a column; of what is kept narrower nothing else is widened."""
    integers = rows.integers(name)
    if integers is None:
        return take(rows.column(name))
    return widened_column(take(integers), rows.schema.field(name).type)


def dimension_values(
    tables: Mapping[str, Table],
    key: ForeignKey,
    attributes: Iterable[Attribute],
    row_ids: NDArray[np.uint32] | None = None,
) -> dict[Expression, pa.Array]:
    """Return attributes' values in rows of a dimension (None: all), then NULL for no partner."""
    values: dict[Expression, pa.Array] = {}
    for attribute in attributes:
        below = replace(attribute, path=attribute.path[1:])
        if not attribute.path:  # the foreign key itself
            below = replace(attribute, name=key.references[0])
        column = fetch(tables, key.table, below, row_ids)
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        values[attribute] = pa.concat_arrays([*chunks, pa.nulls(1, column.type)])
    return values


def own_rows(
    fact: Table, attribute: Attribute, start: int, stop: int
) -> pa.ChunkedArray | pa.Array:
    """Return a column of the fact table in the rows start to stop."""
    if not fact.rows.is_decoded(attribute.name):
        fact.rows.column(attribute.name)  # which is kept
    values = fact.rows.slice(attribute.name, start, stop)
    return values if values.type == attribute.type else values.cast(attribute.type)


def stored_measure(
    tables: Mapping[str, Table], fact: Table, expression: Expression, first_row: int
) -> Measure | None:
    """Return integers in one piece as they lie in memory, from a row on; None for others.

    Those with NULLs only where these are 0, as those of packed columns are.
    """
    if not isinstance(expression, Attribute) or expression.path:
        return None
    column = fact.rows.integers(expression.name)
    if column is None or expression.type != fact.rows.schema.field(expression.name).type:
        if not pa.types.is_signed_integer(expression.type):
            return None
        column = fetch(tables, fact.name, expression)
        if column.null_count:
            return None
    if isinstance(column, pa.ChunkedArray):
        if column.num_chunks != 1:
            return None
        column = column.chunk(0)
    whole = column.slice(first_row)
    if not len(whole):
        return None
    valid = pc.is_valid(whole).to_numpy(zero_copy_only=False) if whole.null_count else None
    numbers = words_of(whole)
    return Measure(numbers, valid, int(numbers.min()), int(numbers.max()))


def _take(column: pa.ChunkedArray, row_ids: NDArray[np.uint32]) -> pa.ChunkedArray:
    """Return a column's values in some rows, in the order of their numbers."""
    if len(row_ids) * FEW_OF > len(column):
        return column.take(pa.array(row_ids))
    return take_rows(column, row_ids.astype(np.int64))
