"""Lists to rows: a row for every element."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from raydb.engine.operators.relation import Relation, joined

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from raydb.planner.expressions.nodes import Column


def unnest_lists(
    rows: Relation, elements: Mapping[Column, Column], number: Column | None, *, keep: bool
) -> Relation:
    """Return each row once for every element of its longest list; see `logical.Unnest`.

    `elements` has for each column of lists the column of their elements.
    """
    lengths = [_lengths(rows.columns[column]) for column in elements]
    counts = np.maximum.reduce(lengths)
    if keep:
        counts = np.maximum(counts, 1)
    row_numbers = np.repeat(np.arange(rows.row_count), counts)
    places = np.arange(len(row_numbers)) - np.repeat(np.cumsum(counts) - counts, counts)
    plain = rows.select(column for column in rows.columns if column not in elements)
    found = dict(plain.take(pa.array(row_numbers)).columns)
    for (column, element), length in zip(elements.items(), lengths, strict=True):
        starts = np.cumsum(length) - length
        missing = places >= length[row_numbers]
        numbers = pa.array(starts[row_numbers] + places, mask=missing)
        found[element] = pc.list_flatten(rows.columns[column]).take(numbers)
    if number is not None:
        missing = places >= np.maximum.reduce(lengths)[row_numbers]
        found[number] = pa.array(places + 1, mask=missing)
    return Relation(found, len(row_numbers))


def _lengths(lists: pa.Array | pa.ChunkedArray) -> NDArray[np.int64]:
    """Return how many elements each list has, 0 for NULL."""
    lengths = pc.fill_null(pc.list_value_length(joined(lists)), 0)
    counts: NDArray[np.int64] = lengths.to_numpy().astype(np.int64)
    return counts
