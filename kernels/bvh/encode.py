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

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.errors import DataError
from raydb.kernels.bvh.bvh import code_type
from raydb.kernels.codecs.arrow_numbers import from_numbers, is_whole, to_numbers
from raydb.late import pc
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    # The values of the rows from `low` to before `high`.
    ReadBlock = Callable[[int, int], pa.ChunkedArray | pa.Array]
    # Sorted distinct values, and what encodes some by them.
    _Dictionary = tuple[pa.Array, Callable[[pa.ChunkedArray | pa.Array], NDArray[np.int32]]]

# Below this many possible tuples, distinct ones are found by a table of flags (64 MiB at most),
# which is 10x faster than sorting 6M of them.
FLAG_LIMIT = 2**26

# To number the flags takes 3 ns for each, to sort a row's pair 100 ns.
FLAGS_A_ROW = 32
FEW_FLAGS = 2**16

# Rows are encoded and joined in blocks, so that the arrays in between fit the cache.
BLOCK_ROWS = 2**17

# Whole numbers are their own dictionary, a table of flags, where they span less than this, or than
# some numbers a row: a flag and its rank are 5 bytes.
DIRECT_SPAN = 2**20
DIRECT_SPAN_A_ROW = 2
# Of few rows a table of more takes longer than to look the values up.
SHORT_SPAN = 2**12

# Columns that do not determine each other share an attribute when at most one tuple in four of
# their product occurs, (month, week of the year) has 430 of 4,452, and each in four rows or more:
# of few rows no two columns have many tuples.
CORRELATION = 4

# What a value takes in Python. A list of more of them takes as long to make as many predicates to
# evaluate, so none is kept.
_VALUE_BYTES = 48
MOST_VALUES = 2**16


@dataclass(frozen=True, eq=False, slots=True)
class EncodedColumn:
    """A column as codes into its sorted distinct values.

    codes: int32, of `encode_blocks` the narrowest unsigned integers, shape (row_count,).
    values: Arrow array of the distinct values, NULL last.
    """

    codes: NDArray[Any]
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
    def size_bytes(self) -> int:
        """The bytes of its arrays, with about what is kept of its levels: ranks and values."""
        kept = 4 * self.code_count + _VALUE_BYTES * min(self.code_count, MOST_VALUES)
        return int(sum(level.nbytes + kept for level in self.levels))

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
    is_encoded = pa.types.is_dictionary(chunked.type)
    if is_encoded and pa.types.is_floating(chunked.type.value_type):
        chunked, is_encoded = chunked.cast(chunked.type.value_type), False
    if is_whole(chunked.type):
        direct = _direct_codes(lambda low, high: chunked[low:high], [(0, len(chunked))], SHORT_SPAN)
        if direct is not None:
            values, encode = direct
            return EncodedColumn(encode(chunked), values)
    if pa.types.is_floating(chunked.type):
        chunked = pc.add(chunked, pa.scalar(0.0, chunked.type))  # -0.0 and 0.0 are one value
    if len(chunked) == 0:
        return EncodedColumn(np.empty(0, np.int32), pa.array([], chunked.type))
    encoded = chunked if is_encoded else pc.dictionary_encode(chunked)
    encoded = encoded.unify_dictionaries()
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


def encode_blocks(read: ReadBlock, row_count: int, take: Callable[[int], None]) -> EncodedColumn:
    """Encode a column of many rows, which is read in blocks, twice; the codes are narrow.

    take: is told the bytes of the codes before they are allocated.
    """
    blocks = [
        (low, min(low + BLOCK_ROWS, row_count)) for low in range(0, max(row_count, 1), BLOCK_ROWS)
    ]
    direct = _direct_codes(read, blocks, DIRECT_SPAN)
    values, encode = direct or _dictionary_codes(read, blocks)
    kind = code_type(len(values))
    take(row_count * kind.itemsize)
    codes = np.empty(row_count, kind)
    # To encode a block by a dictionary hashes all its values.
    step = BLOCK_ROWS if direct else max(BLOCK_ROWS, len(values))
    for low in range(0, row_count, step):
        high = min(low + step, row_count)
        codes[low:high] = encode(read(low, high))
    return EncodedColumn(codes, values)


def _direct_codes(
    read: ReadBlock, blocks: Sequence[tuple[int, int]], span: int
) -> _Dictionary | None:
    """Encode whole numbers by a table over their span; None for other columns, and a wide span.

    span: how wide it may be, however few rows there are.
    """
    kind = read(0, 0).type
    if not is_whole(kind):
        return None
    low, high, has_null = 0, -1, False
    most = max(span, DIRECT_SPAN_A_ROW * blocks[-1][1])
    try:
        for block in blocks:
            numbers, valid = to_numbers(read(*block))
            has_null |= valid is not None
            known = numbers if valid is None else numbers[valid]
            if len(known):
                low, high = _widened(low, high, int(known.min()), int(known.max()))
            if high - low >= most:
                return None
    except DataError:  # a decimal beyond 64 bits
        return None
    occurs = np.zeros(high - low + 2, np.bool_)  # the last is that of NULL

    def places(values: pa.ChunkedArray | pa.Array) -> NDArray[np.int64]:
        numbers, valid = to_numbers(values)
        return numbers - low if valid is None else np.where(valid, numbers - low, high - low + 1)

    for block in blocks:
        occurs[places(read(*block))] = True
    rank = np.cumsum(occurs, dtype=np.int32) - np.int32(1)
    values = from_numbers(np.flatnonzero(occurs[:-1]) + low, None, kind)
    if has_null:
        values = pa.concat_arrays([values, pa.nulls(1, kind)])
    return values, lambda some: rank[places(some)]


def _widened(low: int, high: int, other_low: int, other_high: int) -> tuple[int, int]:
    """Return the range of two; one whose end is below its start is empty."""
    if high < low:
        return other_low, other_high
    return min(low, other_low), max(high, other_high)


def _dictionary_codes(read: ReadBlock, blocks: Sequence[tuple[int, int]]) -> _Dictionary:
    """Encode by the sorted distinct values of all blocks."""
    kept: list[pa.Array] = []
    waiting = 0
    for block in blocks:
        kept.append(pc.unique(_with_one_zero(_whole(read(*block)))))
        waiting += len(kept[-1])
        # Merged as often as they double, so that a value is hashed a few times only.
        if waiting > len(kept[0]):
            kept, waiting = [pc.unique(pa.concat_arrays(kept))], 0
    values = encode_column(pc.unique(pa.concat_arrays(kept))).values
    present = values.drop_null()

    def encode(some: pa.ChunkedArray | pa.Array) -> NDArray[np.int32]:
        encoded = pc.dictionary_encode(_with_one_zero(_whole(some)))
        found = pc.index_in(encoded.dictionary, value_set=present).to_numpy(zero_copy_only=False)
        rank = np.append(found.astype(np.int32), np.int32(len(present)))
        codes: NDArray[np.int32] = rank[pc.fill_null(encoded.indices, len(found)).to_numpy()]
        return codes

    return values, encode


def _whole(values: pa.ChunkedArray | pa.Array) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def _with_one_zero(values: pa.Array) -> pa.Array:
    """Make -0.0 and 0.0 one value."""
    is_floating = pa.types.is_floating(values.type)
    return pc.add(values, pa.scalar(0.0, values.type)) if is_floating else values


def join_codes(columns: Sequence[EncodedColumn]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Number the distinct tuples of several columns in lexicographic order.

    Returns (codes, tuples): codes int32 (those of a single column as they are) of shape
    (row_count,); tuples int32 of shape (code_count, len(columns)), the column codes of each tuple.
    """
    first = columns[0]
    codes: NDArray[np.int32] = first.codes
    tuples: NDArray[np.int32] = np.arange(first.cardinality, dtype=np.int32)[:, None]
    for column in columns[1:]:
        if 0 < len(codes) == len(tuples) and np.bincount(codes).max() == 1:
            # Every row has a tuple of its own: what more a tuple has changes no number.
            codes_in_order = np.empty(len(codes), np.int32)
            codes_in_order[codes] = column.codes
            tuples = np.column_stack([tuples, codes_in_order])
            continue
        codes, pairs = _rank(codes, len(tuples), column)
        left, right = np.divmod(pairs, max(column.cardinality, 1))
        tuples = np.column_stack([tuples[left], right.astype(np.int32)])
    return codes, tuples


def count_tuples(first: EncodedColumn, second: EncodedColumn) -> int:
    """Count the distinct pairs of two columns' codes."""
    present = _flag_pairs(first.codes, first.cardinality, second)
    if present is None:
        return len(join_codes([first, second])[1])
    return int(np.count_nonzero(present))


def _pairs(codes: NDArray[Any], column: EncodedColumn, low: int) -> NDArray[np.int64]:
    """Return code * k + column code of a block of rows."""
    block = slice(low, low + BLOCK_ROWS)
    pairs: NDArray[np.int64] = codes[block].astype(np.int64) * column.cardinality
    pairs += column.codes[block]
    return pairs


def _flag_pairs(
    codes: NDArray[Any], code_count: int, column: EncodedColumn
) -> NDArray[np.bool_] | None:
    """Return which pairs (code, column code) occur, None where there may be too many."""
    size = code_count * column.cardinality
    if size > min(FLAG_LIMIT, max(FLAGS_A_ROW * len(codes), FEW_FLAGS)):
        return None
    present = np.zeros(size, np.bool_)
    for low in range(0, len(codes), BLOCK_ROWS):
        present[_pairs(codes, column, low)] = True
    return present


def _rank(
    codes: NDArray[Any], code_count: int, column: EncodedColumn
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Number the distinct pairs (code, column code); the pairs come back as code * k + column."""
    present = _flag_pairs(codes, code_count, column)
    if present is None:
        pairs = codes.astype(np.int64) * column.cardinality + column.codes
        distinct, inverse = np.unique(pairs, return_inverse=True)
        return inverse.astype(np.int32), distinct
    rank = np.cumsum(present, dtype=np.int32) - 1
    ranked = np.empty(len(codes), np.int32)
    for low in range(0, len(codes), BLOCK_ROWS):
        ranked[low : low + BLOCK_ROWS] = rank[_pairs(codes, column, low)]
    return ranked, np.flatnonzero(present)


def find_hierarchies(
    columns: Sequence[EncodedColumn], is_scan: Sequence[bool], row_count: int | None = None
) -> list[tuple[Hierarchy, NDArray[np.int32]]]:
    """Group a table's columns into hierarchies; `is_scan` marks the columns of the Z axis.

    A column joins a hierarchy when one determines the other, or when few of the possible tuples
    occur. Returns each hierarchy with the code of every row (int32, shape (row_count,)), in the
    order of its first column; a column alone keeps its codes as they are. All columns have the same
    number of rows, which may stand for more: `row_count`.
    """
    if row_count is None:
        row_count = len(columns[0].codes) if columns else 0
    by_scan_first = sorted(range(len(columns)), key=lambda position: not is_scan[position])
    clusters: list[list[int]] = []
    joined: list[EncodedColumn] = []
    for position in by_scan_first:
        column = columns[position]
        for number, cluster in enumerate(clusters):
            pair_count = count_tuples(joined[number], column)
            sizes = joined[number].cardinality, column.cardinality
            if pair_count == max(sizes) or (
                pair_count * CORRELATION <= min(sizes[0] * sizes[1], row_count)
            ):
                codes, _ = join_codes([joined[number], column])
                cluster.append(position)
                joined[number] = EncodedColumn(codes, pa.nulls(pair_count))
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
