"""GROUP BY over Arrow: Acero groups and folds; what it wraps or rounds is made exact here.

Each aggregate becomes one or more of Acero's, run in a single pass, and a function that finishes
their results:

    sum(BIGINT)      hash_sum of the high and of the low 32 bits     high * 2**32 + low
    sum(DECIMAL)     hash_sum in 128 bits, or 256 where 128 might be too few
    avg(x)           the exact sum, hash_count                       sum / count, one rounding
    max(DOUBLE)      hash_max of order codes (Acero's skips NaN)     codes to doubles
    sum(DISTINCT x)  hash_distinct                                   sum of each list
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from pyarrow import acero

from raydb.engine.relation import Relation, joined
from raydb.errors import DataError, NotSupportedError
from raydb.planner.casts import cast_values, decimal_type, relabel
from raydb.planner.expression import AggregateCall, Column
from raydb.planner.functions import canonical_floats, doubles_of_codes, order_codes
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_VALID = pc.CountOptions(mode="only_valid")


@dataclass(frozen=True, eq=False, slots=True)
class Step:
    """Acero aggregates over arrays of one value a row, and how to finish their results.

    `finish` gets an array for each of `folds`, with one value for each group.
    """

    folds: Sequence[tuple[str, pa.ChunkedArray | pa.Array | None, Any]]
    finish: Callable[[Sequence[pa.Array]], pa.Array]


def aggregate(
    keys: Mapping[Column, pa.ChunkedArray | pa.Array],
    calls: Sequence[tuple[Column, AggregateCall, pa.ChunkedArray | pa.Array | None]],
    row_count: int,
) -> Relation:
    """Group `row_count` rows by their keys and return the keys and aggregates of each group.

    `calls` give the argument's values, None for count_star. NULL is a key like any other; without
    keys there is one group, even of no rows. Raises DataError where a sum exceeds its type.
    """
    if not keys and row_count == 0:
        nothing = {column: _of_nothing(call) for column, call, _ in calls}
        return Relation(nothing, 1)
    steps = [_step(call, values, row_count) for _, call, values in calls]
    # A constant key makes the one group of an aggregate without keys.
    grouping = [canonical_floats(values) for values in keys.values()] or [
        pa.repeat(pa.scalar(0, pa.int8()), row_count)
    ]
    folds = [fold for step in steps for fold in step.folds]
    folded_keys, folded = _fold(grouping, folds)
    columns: dict[Column, pa.ChunkedArray | pa.Array] = dict(zip(keys, folded_keys, strict=False))
    start = 0
    for (column, call, _), step in zip(calls, steps, strict=True):
        stop = start + len(step.folds)
        columns[column] = cast_values(step.finish(folded[start:stop]), call.type)
        start = stop
    return Relation(columns, len(folded_keys[0]))


def _of_nothing(call: AggregateCall) -> pa.Array:
    is_count = call.function in ("count", "count_star")
    return pa.array([0 if is_count else None], call.type)


def _fold(
    grouping: Sequence[pa.ChunkedArray | pa.Array],
    folds: Sequence[tuple[str, pa.ChunkedArray | pa.Array | None, Any]],
) -> tuple[list[pa.Array], list[pa.Array]]:
    """Run Acero's aggregate node; returns the keys' and the folds' values, one for each group."""
    columns = {f"key{i}": values for i, values in enumerate(grouping)}
    key_names = list(columns)
    aggregates = []
    for number, (function, values, options) in enumerate(folds):
        target: str | list[str] = []
        if values is not None:
            target = f"value{number}"
            columns[target] = values
        aggregates.append((target, function, options, f"fold{number}"))
    source = acero.TableSourceNodeOptions(pa.table(columns))
    groups = acero.Declaration.from_sequence(
        [
            acero.Declaration("table_source", source),
            acero.Declaration("aggregate", acero.AggregateNodeOptions(aggregates, key_names)),
        ]
    ).to_table()
    results = [joined(groups.column(f"fold{number}")) for number in range(len(folds))]
    return [joined(groups.column(name)) for name in key_names], results


def _step(call: AggregateCall, values: pa.ChunkedArray | pa.Array | None, row_count: int) -> Step:
    """Return how to compute an aggregate."""
    if values is None:
        return Step([("hash_count_all", None, None)], _only)
    if pt.is_null(values.type):
        values = cast_values(values, pa.int64() if call.function == "count" else call.type)
    values = canonical_floats(values)
    match call.function:
        case "count" if call.distinct:
            return Step([("hash_count_distinct", values, _VALID)], _only)
        case "count":
            return Step([("hash_count", values, _VALID)], _only)
        case "min":
            return Step([("hash_min", values, None)], _only)
        case "max":
            return _max(values)
        case "sum" | "avg" if call.distinct:
            return _of_distinct(call, values)
        case "sum":
            return _sum(values, row_count, call.type)
        case "avg":
            return _avg(values, row_count)
        case function:
            raise NotSupportedError(f"the aggregate '{function}' is not supported")


def _only(results: Sequence[pa.Array]) -> pa.Array:
    (result,) = results
    return result


def _max(values: pa.ChunkedArray | pa.Array) -> Step:
    if not (pt.is_floating(values.type) and pc.any(pc.is_nan(values)).as_py()):
        return Step([("hash_max", values, None)], _only)
    codes = order_codes(values)
    return Step([("hash_max", codes, None)], lambda results: doubles_of_codes(_only(results)))


def _of_distinct(call: AggregateCall, values: pa.ChunkedArray | pa.Array) -> Step:
    """Fold the distinct values of each group, which come as one list a group."""
    plain = AggregateCall(call.function, call.arguments, call.type)
    group = Column(0, "group", pa.int64())
    result = Column(1, "result", call.type)

    def finish(results: Sequence[pa.Array]) -> pa.Array:
        lists = _only(results)
        flat = pc.list_flatten(lists)
        groups = {group: pc.list_parent_indices(lists)}
        folded = aggregate(groups, [(result, plain, flat)], len(flat)).columns
        # A group of NULLs has an empty list and no result.
        place = pc.index_in(pa.array(np.arange(len(lists))), value_set=joined(folded[group]))
        return joined(folded[result]).take(place)

    return Step([("hash_distinct", values, _VALID)], finish)


# -- exact sums


def _sum(values: pa.ChunkedArray | pa.Array, row_count: int, target: pa.DataType) -> Step:
    """Return the exact sum in the type `target`, or the sum of doubles."""
    exact = _exact_sum(values, row_count)

    def finish(results: Sequence[pa.Array]) -> pa.Array:
        try:
            return cast_values(exact.finish(results), target)
        except DataError as error:
            raise DataError(f"the sum is out of range for {sql_type_name(target)}") from error

    return Step(exact.folds, finish)


def _exact_sum(values: pa.ChunkedArray | pa.Array, row_count: int) -> Step:
    """Return the sum as int64 or as a decimal wide enough, or as a double for doubles."""
    if pt.is_decimal(values.type):
        digits = values.type.precision + len(str(row_count))
        wide = values if digits <= 38 else cast_values(values, decimal_type(76, values.type.scale))
        return Step([("hash_sum", wide, None)], _only)
    if not pt.is_integer(values.type) or _fits(values, row_count):
        return Step([("hash_sum", values, None)], _only)
    high = pc.shift_right(values, 32)
    low = pc.bit_wise_and(values, 2**32 - 1)

    def finish(results: Sequence[pa.Array]) -> pa.Array:
        halves = [result.to_pylist() for result in results]
        sums = [
            None if top is None else top * 2**32 + rest for top, rest in zip(*halves, strict=True)
        ]
        return pa.array(sums, pa.decimal128(38, 0))

    return Step([("hash_sum", high, None), ("hash_sum", low, None)], finish)


def _fits(values: pa.ChunkedArray | pa.Array, row_count: int) -> bool:
    """Tell whether no sum of `row_count` of the integers can leave int64."""
    if values.type.bit_width <= 32:
        return row_count < 2**31
    bounds = pc.min_max(values).as_py()
    if bounds["min"] is None:
        return True
    return bool(max(-bounds["min"], bounds["max"]) * row_count < 2**63)


# -- averages


def _avg(values: pa.ChunkedArray | pa.Array, row_count: int) -> Step:
    """Return the nearest double to the exact sum over the count."""
    exact = _exact_sum(values, row_count)

    def finish(results: Sequence[pa.Array]) -> pa.Array:
        *sums, counts = results
        return _quotients(exact.finish(sums), counts)

    return Step([*exact.folds, ("hash_count", values, _VALID)], finish)


def _quotients(sums: pa.Array, counts: pa.Array) -> pa.Array:
    """Divide exact sums by counts, rounding once; NULL where there is no sum."""
    divisor = 1
    if pt.is_floating(sums.type):
        return pc.divide(cast_values(sums, pa.float64()), pc.cast(counts, pa.float64()))
    if pt.is_decimal(sums.type):
        divisor = 10**sums.type.scale
        sums = relabel(sums, decimal_type(sums.type.precision, 0))
    totals = [None if total is None else int(total) for total in sums.to_pylist()]
    counts = counts.to_pylist()
    # Python divides two integers of any size to the nearest double.
    quotients = [
        None if total is None else total / (count * divisor)
        for total, count in zip(totals, counts, strict=True)
    ]
    return pa.array(quotients, pa.float64())
