"""Order-preserving dictionaries, and hierarchies found from the data (RayDB, section 4.2).

A column becomes codes 0..k-1 in the order of its values, NULL last. Columns of one table that hang
together (each city lies in one nation) become one `Hierarchy`: its codes are the distinct tuples in
lexicographic order, coarse level first, so every value of the coarse level is a range of codes:

    code   region   nation   city          region = 'ASIA'  ->  codes 0..2
       0   ASIA     CHINA    CHINA    0    nation = 'JAPAN' ->  code  2
       1   ASIA     CHINA    CHINA    1
       2   ASIA     JAPAN    JAPAN    0
       3   EUROPE   FRANCE   FRANCE   0
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# Below this many possible tuples, distinct ones are found by a table of flags (64 MiB at most),
# which is 10x faster than sorting 6M of them.
FLAG_LIMIT = 2**26

# Columns that do not determine each other share an attribute when at most one tuple in four of
# their product occurs, (month, week of the year) has 430 of 4,452, and each in four rows or more:
# of few rows no two columns have many tuples.
CORRELATION = 4


@dataclass(frozen=True, eq=False, slots=True)
class EncodedColumn:
    """A column as codes into its sorted distinct values.

    codes: int32, shape (row_count,); values: Arrow array of the distinct values, NULL last.
    """

    codes: NDArray[np.int32]
    values: pa.Array

    @property
    def cardinality(self) -> int:
        """The number of distinct values, NULL included."""
        return len(self.values)


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Hierarchy:
    """Columns encoded as one attribute.

    columns: positions, in the caller's list, of the levels from coarse to fine.
    levels: for each level the value of every code (Arrow, shape (code_count,)).
    scan_codes: int32, shape (code_count,): the coordinate of a code on the Z axis. It never falls
        as the code rises, because the levels in Z come first.
    scan_count: number of coordinates; 1 for a hierarchy that is not part of Z.
    """

    columns: tuple[int, ...]
    levels: tuple[pa.Array, ...]
    scan_codes: NDArray[np.int32]
    scan_count: int

    @property
    def code_count(self) -> int:
        """The number of distinct tuples."""
        return len(self.scan_codes)

    @property
    def is_scan_only(self) -> bool:
        """Whether a row's cell says all about this hierarchy, so that no code is stored."""
        return self.scan_count == self.code_count


def encode_column(values: pa.ChunkedArray | pa.Array) -> EncodedColumn:
    """Encode a column by its sorted dictionary.

    >>> encode_column(pa.array(["b", None, "a", "b"]))
    codes [1, 2, 0, 1], values ["a", "b", None]
    """
    chunked = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
    if pa.types.is_floating(chunked.type):
        chunked = pc.add(chunked, pa.scalar(0.0, chunked.type))  # -0.0 and 0.0 are one value
    if len(chunked) == 0:
        return EncodedColumn(np.empty(0, np.int32), pa.array([], chunked.type))
    encoded = pc.dictionary_encode(chunked).unify_dictionaries()
    values = encoded.chunk(0).dictionary
    order = pc.array_sort_indices(values).to_numpy()
    null_code = len(order)
    rank = np.empty(null_code + 1, np.int32)
    rank[order] = np.arange(null_code, dtype=np.int32)
    rank[null_code] = null_code
    codes = np.concatenate(
        [rank[pc.fill_null(chunk.indices, null_code).to_numpy()] for chunk in encoded.chunks]
    )
    values = values.take(pa.array(order))
    if chunked.null_count:
        values = pa.concat_arrays([values, pa.nulls(1, values.type)])
    return EncodedColumn(codes, values)


def join_codes(columns: Sequence[EncodedColumn]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Number the distinct tuples of several columns in lexicographic order.

    Returns (codes, tuples): codes int32 of shape (row_count,); tuples int32 of shape
    (code_count, len(columns)), the column codes of each tuple.
    """
    first = columns[0]
    codes: NDArray[np.int32] = first.codes
    tuples: NDArray[np.int32] = np.arange(first.cardinality, dtype=np.int32)[:, None]
    for column in columns[1:]:
        codes, pairs = _rank(codes, len(tuples), column)
        left, right = np.divmod(pairs, max(column.cardinality, 1))
        tuples = np.column_stack([tuples[left], right.astype(np.int32)])
    return codes, tuples


def _rank(
    codes: NDArray[np.int32], code_count: int, column: EncodedColumn
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Number the distinct pairs (code, column code); the pairs come back as code * k + column."""
    pairs = codes.astype(np.int64) * column.cardinality + column.codes
    size = code_count * column.cardinality
    if size > FLAG_LIMIT:
        distinct, inverse = np.unique(pairs, return_inverse=True)
        return inverse.astype(np.int32), distinct
    present = np.zeros(size, np.bool_)
    present[pairs] = True
    rank = np.cumsum(present, dtype=np.int32) - 1
    return rank[pairs], np.flatnonzero(present)


def find_hierarchies(
    columns: Sequence[EncodedColumn], is_scan: Sequence[bool], row_count: int | None = None
) -> list[tuple[Hierarchy, NDArray[np.int32]]]:
    """Group a table's columns into hierarchies; `is_scan` marks the columns of the Z axis.

    A column joins a hierarchy when one determines the other, or when few of the possible tuples
    occur. Returns each hierarchy with the code of every row (int32, shape (row_count,)), in the
    order of its first column. All columns have the same number of rows, which may stand for more:
    `row_count`.
    """
    if row_count is None:
        row_count = len(columns[0].codes) if columns else 0
    by_scan_first = sorted(range(len(columns)), key=lambda position: not is_scan[position])
    clusters: list[list[int]] = []
    joined: list[EncodedColumn] = []
    for position in by_scan_first:
        column = columns[position]
        for number, cluster in enumerate(clusters):
            codes, tuples = join_codes([joined[number], column])
            sizes = joined[number].cardinality, column.cardinality
            if len(tuples) == max(sizes) or (
                len(tuples) * CORRELATION <= min(sizes[0] * sizes[1], row_count)
            ):
                cluster.append(position)
                joined[number] = EncodedColumn(codes, pa.nulls(len(tuples)))
                break
        else:
            clusters.append([position])
            joined.append(column)
    return [_build(columns, is_scan, cluster) for cluster in clusters]


def _build(
    columns: Sequence[EncodedColumn], is_scan: Sequence[bool], cluster: list[int]
) -> tuple[Hierarchy, NDArray[np.int32]]:
    """Order a cluster's levels (those of Z first, each coarse to fine) and number its tuples."""
    scan = [position for position in cluster if is_scan[position]]
    scan_count = 1
    if scan:
        scan_count = len(join_codes([columns[position] for position in scan])[1])
        for position in cluster:  # A column that Z determines comes for free.
            if position not in scan:
                _, tuples = join_codes([columns[p] for p in (*scan, position)])
                if len(tuples) == scan_count:
                    scan.append(position)
    rest = [position for position in cluster if position not in scan]
    levels = [
        *sorted(scan, key=lambda position: columns[position].cardinality),
        *sorted(rest, key=lambda position: columns[position].cardinality),
    ]
    codes, tuples = join_codes([columns[position] for position in levels])
    hierarchy = Hierarchy(
        columns=tuple(levels),
        levels=tuple(
            columns[position].values.take(pa.array(tuples[:, level]))
            for level, position in enumerate(levels)
        ),
        scan_codes=_prefix_codes(tuples[:, : len(scan)]),
        scan_count=scan_count,
    )
    return hierarchy, codes


def _prefix_codes(prefixes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Number the distinct rows of sorted prefixes; no columns at all give coordinate 0."""
    if len(prefixes) == 0:
        return np.empty(0, np.int32)
    changes: NDArray[Any] = np.any(prefixes[1:] != prefixes[:-1], axis=1)
    return np.concatenate([[0], np.cumsum(changes)]).astype(np.int32)
