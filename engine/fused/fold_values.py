"""Aggregates that the values of an encoded attribute answer: COUNT(DISTINCT x), MIN(x), SUM(x).

A fused job groups by x as well (`planner/stars/fuse.py`). What it returns is folded here: a group
of the query is made of those that differ in the value alone. They tell which values it has, and how
often: SUM(x) is the sum of value x rows, and no row is read for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.engine.operators.aggregate import exact_sums, ordered
from raydb.errors import DataError
from raydb.kernels.backends.aggregates import AGGREGATES, word_of
from raydb.kernels.backends.backend import FusedResult
from raydb.kernels.bvh.encode import (
    FEW_FLAGS,
    FLAGS_A_ROW,
    EncodedColumn,
    encode_column,
    join_codes,
)
from raydb.kernels.codecs.arrow_numbers import from_numbers, to_numbers
from raydb.kernels.codecs.code_table import MANY_CODES, number_codes
from raydb.planner.stars.fused_scan import DENSE_GROUPS, FusedScanAggregate
from raydb.storage.type_names import sql_type_name
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raydb.planner.expressions.nodes import AggregateCall, Column


@dataclass(frozen=True, eq=False, slots=True)
class Groups:
    """Groups with their rows and values; `numbers` (int64) are group numbers of the fused job.

    residual_keys: the group's key for each of the plan's residual keys.
    """

    numbers: NDArray[np.int64]
    residual_keys: tuple[EncodedColumn, ...]
    result: FusedResult

    @staticmethod
    def of_tuples(
        keys: Sequence[EncodedColumn], tuples: NDArray[np.int32], result: FusedResult
    ) -> Groups:
        """Return the groups of key tuples; the first key is the number."""
        number, *residual = keys
        return Groups(
            number.values.to_numpy()[tuples[:, 0]],
            tuple(
                EncodedColumn(tuples[:, place], key.values)
                for place, key in enumerate(residual, start=1)
            ),
            result,
        )


def renumber(groups: NDArray[np.int64]) -> EncodedColumn:
    """Number the groups that occur; many of a wide range in the order in which they come."""
    most = int(groups.max()) if len(groups) else 0
    if len(groups) and most < min(DENSE_GROUPS, max(FLAGS_A_ROW * len(groups), FEW_FLAGS)):
        present = np.zeros(int(groups.max()) + 1, np.bool_)
        present[groups] = True
        rank = np.cumsum(present, dtype=np.int32) - 1
        return EncodedColumn(rank[groups], pa.array(np.flatnonzero(present)))
    if len(groups) >= MANY_CODES:
        table, numbers = number_codes(groups)
        return EncodedColumn(numbers.astype(np.int32), pa.array(table.known))
    distinct, codes = np.unique(groups, return_inverse=True)
    return EncodedColumn(codes.astype(np.int32), pa.array(distinct))


def fold_values(plan: FusedScanAggregate, groups: Groups) -> tuple[Groups, dict[Column, pa.Array]]:
    """Return the query's groups, and the aggregates that the values answer."""
    keys = [renumber(groups.numbers % plan.key_count), *groups.residual_keys]
    codes, tuples = join_codes(keys)
    count = len(tuples)
    rows = _added(groups.result.rows, codes, count)
    counts = {
        run.measure: values
        for run, values in zip(plan.running, groups.result.values, strict=True)
        if run.function == "count"
    }
    values = tuple(
        _fold(run.function, running, counts[run.measure] > 0, codes, count)
        for run, running in zip(plan.running, groups.result.values, strict=True)
    )
    calls = dict(plan.aggregates)
    occur = groups.result.rows > 0
    columns = {}
    for part in plan.value_parts:
        places = groups.numbers[occur] // part.stride % part.count
        for column, dictionary in zip(part.columns, part.values, strict=True):
            encoded = encode_column(dictionary)
            found = _Values(
                encoded, encoded.codes[places], codes[occur], groups.result.rows[occur], count
            )
            columns[column] = _answer(calls[column], found)
    return Groups.of_tuples(keys, tuples, FusedResult(rows, values)), columns


def count_values(
    plan: FusedScanAggregate, result: FusedResult
) -> tuple[Groups, dict[Column, pa.Array]] | None:
    """Answer a query of one COUNT(DISTINCT x), and COUNT(*), from the table of rows by x and key.

    None for other queries, which `fold_values` answers.
    """
    calls = dict(plan.aggregates)
    if plan.running or [len(part.columns) for part in plan.value_parts] != [1]:
        return None
    (part,) = plan.value_parts
    (column,) = part.columns
    if calls[column].function != "count" or not calls[column].distinct:
        return None
    occur = result.rows.reshape(part.count, plan.key_count)
    rows = occur.sum(axis=0)
    is_valid = part.values[0].is_valid().to_numpy(zero_copy_only=False)
    flags = occur > 0
    counts = flags.sum(axis=0) if is_valid.all() else flags[is_valid[: part.count]].sum(axis=0)
    numbers = (rows != 0).nonzero()[0] if plan.keys else np.arange(len(rows))
    groups = Groups(numbers, (), FusedResult(rows[numbers], ()))
    return groups, {column: pa.array(counts[numbers].astype(np.int64))}


def _added(values: NDArray[Any], codes: NDArray[np.int32], count: int) -> NDArray[Any]:
    sums = np.zeros(count, values.dtype)
    np.add.at(sums, codes, values)
    return sums


@np.errstate(invalid="ignore", over="ignore")  # NaN and infinities are values.
def _fold(
    function: str,
    values: NDArray[Any],
    is_valid: NDArray[np.bool_],
    codes: NDArray[np.int32],
    count: int,
) -> NDArray[Any]:
    """Fold an accumulator; a minimum or maximum of no valid row is arbitrary."""
    word = word_of(function)
    folded = np.full(count, word.none[values.dtype.kind == "f"], values.dtype)
    word.merge.at(folded, codes[is_valid], values[is_valid])
    return folded


@dataclass(frozen=True, eq=False, slots=True)
class _Values:
    """Which values occur: row_counts[i] rows of group `groups[i]` have the value `codes[i]`."""

    dictionary: EncodedColumn
    codes: NDArray[np.int32]
    groups: NDArray[np.int32]
    row_counts: NDArray[np.int64]
    group_count: int

    @property
    def value_count(self) -> int:
        """The number of values; a NULL has the code after the last of them."""
        return self.dictionary.cardinality - int(self.dictionary.values.null_count)


def _answer(call: AggregateCall, found: _Values) -> pa.Array:
    """Answer an aggregate from the values that occur."""
    is_valid = found.codes < found.value_count
    codes, groups = found.codes[is_valid], found.groups[is_valid]
    match call.function:
        case "count" if call.distinct:
            pairs = groups * np.int64(found.value_count) + codes
            if found.group_count * found.value_count <= DENSE_GROUPS:
                # Flags are 20 times faster than to sort, or to hash, the pairs.
                occur = np.zeros((found.group_count, found.value_count), np.bool_)
                occur.ravel()[pairs] = True
                return pa.array(np.count_nonzero(occur, axis=1).astype(np.int64))
            owners = np.unique(pairs) // found.value_count
            return pa.array(np.bincount(owners, minlength=found.group_count).astype(np.int64))
        case "min":
            chosen = np.full(found.group_count, found.value_count, np.int32)
            np.minimum.at(chosen, groups, codes)
        case "max":
            chosen = np.full(found.group_count, -1, np.int32)
            np.maximum.at(chosen, groups, codes)
        case "mode":
            chosen = _most_frequent(found, codes, groups, found.row_counts[is_valid])
        case "quantile_cont" | "quantile_disc":
            return _quantile(call, found, codes, groups, found.row_counts[is_valid])
        case function:
            row_counts = found.row_counts[is_valid]
            counts = _added(row_counts, groups, found.group_count)
            if function == "count":
                return pa.array(counts)
            numbers = to_numbers(found.dictionary.values)[0][codes]
            sums = [_weighted(numbers, row_counts, groups, counts)]
            if "squares" in AGGREGATES[function]:
                sums.append(_weighted(numbers.astype(object) ** 2, row_counts, groups, counts))
            return finish(call, sums, counts)
    absent = (chosen < 0) | (chosen == found.value_count)
    return found.dictionary.values.take(pa.array(chosen, mask=absent))


def _most_frequent(
    found: _Values,
    codes: NDArray[np.int32],
    groups: NDArray[np.int32],
    row_counts: NDArray[np.int64],
) -> NDArray[np.int32]:
    """Return the code that most rows of each group have, the least of several; -1 for no row."""
    pairs, places = np.unique(groups * np.int64(found.value_count) + codes, return_inverse=True)
    counts = _added(row_counts, places.astype(np.int32), len(pairs))
    # The last that is written stays: the greatest count, and of equal ones the least code.
    order = np.lexsort((-pairs, counts))
    chosen = np.full(found.group_count, -1, np.int32)
    owners, kept = np.divmod(pairs[order], max(found.value_count, 1))
    chosen[owners] = kept
    return chosen


def _quantile(
    call: AggregateCall,
    found: _Values,
    codes: NDArray[np.int32],
    groups: NDArray[np.int32],
    row_counts: NDArray[np.int64],
) -> pa.Array:
    """Return a quantile of each group, whose rows in order are the codes in order, repeated."""
    order = np.lexsort((codes, groups))
    ends = np.cumsum(row_counts[order])
    sizes = _added(row_counts, groups, found.group_count)
    starts = np.cumsum(sizes) - sizes
    low, high, share = ordered.quantile_places(call, sizes)
    if len(call.arguments) > 2:  # In descending order.
        low, high = sizes - 1 - low, sizes - 1 - high

    def at(places: NDArray[np.int64]) -> pa.Array:
        rows = np.searchsorted(ends, np.where(sizes > 0, starts + places, 0), side="right")
        return found.dictionary.values.take(pa.array(codes[order][rows]))

    if not len(order):
        return pa.nulls(found.group_count, call.type)
    return ordered.between(call, at(low), at(high), share, sizes == 0)


def _weighted(
    numbers: NDArray[np.int64],
    row_counts: NDArray[np.int64],
    groups: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> NDArray[Any]:
    """Return each group's sum of number x rows, as Python integers where int64 might overflow."""
    largest = max(-int(numbers.min()), int(numbers.max())) if len(numbers) else 0
    if largest * int(counts.sum()) < 2**63:
        return _added(numbers * row_counts, groups, len(counts))
    return _added(numbers.astype(object) * row_counts.astype(object), groups, len(counts))


def finish(
    call: AggregateCall, values: Sequence[NDArray[Any]], counts: NDArray[np.int64]
) -> pa.Array:
    """Return an aggregate from what it accumulates (AVG a sum) and the rows in it.

    Raises DataError when a sum does not fit its type.
    """
    kind = call.arguments[0].type
    if "squares" in AGGREGATES[call.function]:
        total, squares = values
        return _variance(call.function, total, squares, counts, kind)
    (value,) = values
    if call.function == "avg":
        return _average(value, counts, kind)
    try:
        return from_numbers(value, counts > 0, call.type)
    except OverflowError as error:
        raise DataError(f"the sum is out of range for {sql_type_name(call.type)}") from error


def _average(sums: NDArray[Any], counts: NDArray[np.int64], kind: pa.DataType) -> pa.Array:
    """Divide exact sums once, so that the quotient is the nearest double."""
    if sums.dtype.kind == "f":
        return pa.array(sums / np.maximum(counts, 1), mask=counts == 0)
    if sums.dtype == np.int64:
        return exact_sums.average([sums], counts, kind)
    scale = 10**kind.scale if pa.types.is_decimal(kind) else 1
    quotients = [
        int(s) / (int(c) * scale) if c else None for s, c in zip(sums, counts, strict=True)
    ]
    return pa.array(quotients, pa.float64())


def _variance(
    function: str,
    sums: NDArray[Any],
    squares: NDArray[Any],
    counts: NDArray[np.int64],
    kind: pa.DataType,
) -> pa.Array:
    """Return variances, or their roots, from exact sums: they are rounded once, at the end."""
    freedom = function.endswith("_samp")
    known = counts > freedom
    scale = 10**kind.scale if pa.types.is_decimal(kind) else 1
    values = np.zeros(len(counts))
    n, total, whole = counts.astype(float), sums.astype(float), squares.astype(float)
    # Of numbers below it the nearest doubles tell that they are: then one division rounds once.
    largest = np.maximum(np.maximum(n * whole, total * total), n * n * float(scale) ** 2)
    easy = known & (largest < exact_sums.EXACT_DOUBLE)
    values[easy] = (n * whole - total * total)[easy] / (n * (n - freedom) * float(scale) ** 2)[easy]
    # Python divides integers of any size to the nearest double.
    rest = known & ~easy
    n, total, whole = (each[rest].astype(object) for each in (counts, sums, squares))
    above, below = n * whole - total * total, n * (n - freedom) * scale**2
    values[rest] = (above / below).astype(np.float64)
    if function.startswith("stddev"):
        values = np.sqrt(values)
    return pa.array(values, mask=~known)
