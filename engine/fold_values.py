"""Aggregates that ask which values of an attribute occur: COUNT(DISTINCT x), MIN(x), MAX(x).

A fused job groups by x as well (planner/fuse.py). What it returns is folded here: a group of the
query is made of those that differ in the values alone, and these tell which values it has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.kernels.backend import FusedResult
from raydb.kernels.encode import EncodedColumn, encode_column, join_codes
from raydb.planner.fuse import DENSE_GROUPS, FusedScanAggregate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raydb.planner.expression import AggregateCall, Column


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
    """Number the groups that occur."""
    if len(groups) and int(groups.max()) < DENSE_GROUPS:
        present = np.zeros(int(groups.max()) + 1, np.bool_)
        present[groups] = True
        rank = np.cumsum(present, dtype=np.int32) - 1
        return EncodedColumn(rank[groups], pa.array(np.flatnonzero(present)))
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
            columns[column] = _answer(
                calls[column], encoded, encoded.codes[places], codes[occur], count
            )
    return Groups.of_tuples(keys, tuples, FusedResult(rows, values)), columns


def _added(values: NDArray[Any], codes: NDArray[np.int32], count: int) -> NDArray[Any]:
    sums = np.zeros(count, values.dtype)
    np.add.at(sums, codes, values)
    return sums


def _fold(
    function: str,
    values: NDArray[Any],
    is_valid: NDArray[np.bool_],
    codes: NDArray[np.int32],
    count: int,
) -> NDArray[Any]:
    """Fold a running value; a minimum or maximum of no valid row is arbitrary."""
    if function not in ("min", "max"):
        return _added(values, codes, count)
    values, codes = values[is_valid], codes[is_valid]
    is_float = values.dtype.kind == "f"
    if function == "min":
        folded = np.full(count, np.nan if is_float else np.iinfo(np.int64).max, values.dtype)
        np.fmin.at(folded, codes, values)
    else:
        folded = np.full(count, -np.inf if is_float else np.iinfo(np.int64).min, values.dtype)
        np.maximum.at(folded, codes, values)
    return folded


def _answer(
    call: AggregateCall,
    encoded: EncodedColumn,
    values: NDArray[np.int32],
    codes: NDArray[np.int32],
    count: int,
) -> pa.Array:
    """Answer an aggregate from the pairs (value, group) that occur, both as codes."""
    # A NULL has the last code.
    value_count = encoded.cardinality - encoded.values.null_count
    is_valid = values < value_count
    values, codes = values[is_valid], codes[is_valid]
    if call.function == "count":
        pairs = np.unique(codes * np.int64(value_count) + values)
        owners = pairs // max(value_count, 1)
        return pa.array(np.bincount(owners, minlength=count).astype(np.int64))
    if call.function == "min":
        chosen = np.full(count, value_count, np.int32)
        np.minimum.at(chosen, codes, values)
    else:
        chosen = np.full(count, -1, np.int32)
        np.maximum.at(chosen, codes, values)
    absent = (chosen < 0) | (chosen == value_count)
    return encoded.values.take(pa.array(chosen, mask=absent))
