"""Samples of columns, and what they tell, as a mapping: only columns asked for are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa

from raydb.late import pc

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.storage.tables.table import Table

_Known = TypeVar("_Known")

# So much is kept of a long value: characters, bytes or elements.
_KEPT = 256


def beginnings(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the first characters, bytes or elements of values."""
    kind = values.type
    if pa.types.is_string(kind):
        return pc.utf8_slice_codeunits(values, 0, _KEPT)
    if pa.types.is_binary(kind):
        return pc.binary_slice(values, 0, _KEPT)
    if pa.types.is_list(kind):
        return pc.list_slice(values, 0, _KEPT, return_fixed_size_list=False)
    return values


def estimated_count(sample: pa.Array, row_count: float, run_rows: int) -> float:
    """Return about how many values a sample's rows have; run_rows of it lie side by side.

    The estimator is Duj1 of Haas et al. (VLDB 1995), as in PostgreSQL: n d / (n - f + f n / N) for
    d values in a sample of n of N rows, f of them once. Equal values often lie side by side. What
    is counted is therefore not rows but the values of each run of them; and there are no more
    values than changes from a row to the next.
    """
    is_coded = pa.types.is_dictionary(sample.type)
    codes = sample if is_coded else pc.dictionary_encode(sample, "encode")
    numbers = codes.indices.fill_null(len(codes.dictionary)).to_numpy().astype(np.int64)
    runs = np.arange(len(numbers)) // run_rows
    pairs = np.unique(numbers * len(numbers) + runs)
    counts = np.unique(pairs // len(numbers), return_counts=True)[1]
    size, once = len(pairs), int(np.count_nonzero(counts == 1))
    share = len(numbers) / max(row_count, len(numbers))
    estimate = size * len(counts) / (size - once + once * share)
    beside = runs[1:] == runs[:-1]
    if not beside.any():
        return estimate
    changes = np.count_nonzero(beside & (numbers[1:] != numbers[:-1])) / np.count_nonzero(beside)
    return max(min(estimate, changes * row_count), float(len(counts)))


class ByColumn(Mapping[str, _Known]):
    """What `read` tells of each of a table's columns, by name."""

    def __init__(self, table: Table, read: Callable[[str], _Known]) -> None:
        self._schema = table.definition.schema  # every statement makes some, few want names
        self._read = read

    def __getitem__(self, name: str) -> _Known:
        return self._read(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._schema.names)

    def __len__(self) -> int:
        return len(self._schema)
