"""GROUP BY over Arrow: rows are numbered by their group, and each aggregate folds by number.

    groups = group_rows(keys)        the number of each row's group
    rows_of(call, groups, values)    the rows that count: FILTER, NULLs, DISTINCT, ORDER BY
    _FOLDS[function](call, rows)     a value for each group

Integers and decimals are added up exactly; doubles in the order of the rows.
"""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.engine.operators.aggregate.exact_sums import (
    as_doubles,
    average,
    is_exact,
    join_limbs,
    sum_of_few,
)
from raydb.engine.operators.aggregate.grouped import Grouped, rows_of, sees_nulls
from raydb.engine.operators.aggregate.ordered import list_values, mode, quantile, string_agg
from raydb.engine.operators.aggregate.statistics import ENTROPY, OF_PARTS, STATISTICS
from raydb.engine.operators.aggregate.vectors import VECTORS
from raydb.engine.operators.codes import encode, group_rows
from raydb.engine.operators.relation import Relation, joined
from raydb.errors import DataError
from raydb.interrupts import check_interrupt
from raydb.late import pc
from raydb.planner.expressions.casts.cast import cast_values
from raydb.planner.expressions.columns.order import canonical_floats
from raydb.storage.bits import BIT, combined
from raydb.storage.textual import is_textual

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.planner.expressions.nodes import AggregateCall, Column, Expression


def aggregate(
    keys: Mapping[Column, pa.ChunkedArray | pa.Array],
    calls: Sequence[tuple[Column, AggregateCall]],
    values: Mapping[Expression, pa.ChunkedArray | pa.Array],
    row_count: int,
) -> Relation:
    """Group `row_count` rows by their keys and return the keys and aggregates of each group.

    `values` has those of every expression that a call reads. NULL is a key like any other; without
    keys there is one group, even of no rows. Raises DataError where a sum exceeds its type.
    """
    groups = group_rows(list(keys.values()), row_count)
    columns: dict[Column, pa.ChunkedArray | pa.Array] = {}
    if keys:
        rows = pa.array(groups.rows)
        for column, key in keys.items():
            columns[column] = canonical_floats(joined(key).take(rows))
    inputs: dict[Any, Grouped] = {}
    # A call alone shares its rows with no other one.
    reads = [_read_by(call) for _, call in calls] if len(calls) > 1 else [None] * len(calls)
    last = {read: column for read, (column, _) in zip(reads, calls, strict=True)}
    for read, (column, call) in zip(reads, calls, strict=True):
        check_interrupt()
        if call.function == "first" and not call.order_by and call.filter is None and keys:
            columns[column] = joined(values[call.arguments[0]]).take(rows)
            continue
        if read not in inputs:
            inputs[read] = rows_of(call, groups, values)
        columns[column] = cast_values(_FOLDS[call.function](call, inputs[read]), call.type)
        if last[read] is column:
            del inputs[read]  # Nobody reads it again, and it may be as large as the rows.
    return Relation(columns, groups.members.count)


def _read_by(call: AggregateCall) -> Any:
    """Return what tells the rows that calls fold apart, see `rows_of`."""
    return call.arguments, call.distinct, call.filter, call.order_by, sees_nulls(call)


# -- counts, sums, extremes


def _count(_: AggregateCall, rows: Grouped) -> pa.Array:
    return pa.array(rows.members.sizes)


def _sum(call: AggregateCall, rows: Grouped) -> pa.Array:
    """Return the exact sum of integers and decimals, or the sum of doubles."""
    few = rows.few_integers
    if few is not None:
        return sum_of_few(few, call.type)
    (values,) = rows.arguments
    some = rows.members.sizes > 0
    if is_exact(values.type):
        return join_limbs(rows.limb_sums, some, call.type)
    return pa.array(rows.members.sums(as_doubles(values)), mask=~some)


def _avg(_: AggregateCall, rows: Grouped) -> pa.Array:
    """Return the nearest double to the exact sum over the count."""
    few = rows.few_integers
    if few is not None:
        return pa.array([sum(few) / len(few) if few else None], pa.float64())
    (values,) = rows.arguments
    sizes = rows.members.sizes
    if is_exact(values.type):
        return average(rows.limb_sums, sizes, values.type)
    sums = rows.members.sums(as_doubles(values))
    return pa.array(sums / np.maximum(sizes, 1), mask=sizes == 0)


def _avg_of_sums(_: AggregateCall, rows: Grouped) -> pa.Array:
    """Return the average of values from their sums (first argument) and counts (second)."""
    values, counts = rows.arguments
    sizes = np.zeros(rows.members.count, np.int64)
    np.add.at(sizes, rows.members.numbers, joined(counts).to_numpy())
    if is_exact(values.type):
        return average(rows.limb_sums, sizes, values.type)
    sums = rows.members.sums(as_doubles(values))
    return pa.array(sums / np.maximum(sizes, 1), mask=sizes == 0)


def _product(_: AggregateCall, rows: Grouped) -> pa.Array:
    products = np.ones(rows.members.count)
    with np.errstate(over="ignore", invalid="ignore"):  # It is infinite, or NaN, as in DuckDB.
        np.multiply.at(products, rows.members.numbers, as_doubles(rows.arguments[0]))
    return pa.array(products, mask=rows.members.sizes == 0)


def _extreme(call: AggregateCall, rows: Grouped) -> pa.Array:
    """Return the value of the least or greatest code of each group; true is above false."""
    (values,) = rows.arguments
    is_least = call.function in ("min", "bool_and")
    if rows.members.count == 1 and _has_own_extremes(values.type):
        return pa.repeat(pc.min(values) if is_least else pc.max(values), 1)
    if is_textual(values.type):
        return _extreme_text(call, rows)
    codes = encode(values)
    some = rows.members.sizes > 0
    found = _extreme_codes(rows, codes.codes, least=is_least)
    if pt.is_interval(values.type):
        return _first(call, rows.take(np.flatnonzero(codes.codes == found[rows.members.numbers])))
    return codes.decode(np.where(some, found, 0), some)


def _has_own_extremes(kind: pa.DataType) -> bool:
    """Tell whether the order of a type is Arrow's, which needs no codes for the least of all."""
    is_moment = pt.is_date32(kind) or pt.is_timestamp(kind) or pt.is_time64(kind)
    return bool(pt.is_integer(kind) or pt.is_decimal(kind) or is_moment or is_textual(kind))


def _extreme_text(call: AggregateCall, rows: Grouped) -> pa.Array:
    """Return the least or greatest text of each group by Acero, which needs no codes for it."""
    table = pa.table({"group": rows.members.numbers, "text": rows.arguments[0]})
    found = table.group_by("group").aggregate([("text", call.function)])
    places = np.full(rows.members.count, -1)
    places[found.column("group").to_numpy()] = np.arange(len(found))
    texts = joined(found.column(f"text_{call.function}"))
    return texts.take(pa.array(places, mask=places < 0))


def _extreme_codes(rows: Grouped, codes: NDArray[np.int64], *, least: bool) -> NDArray[np.int64]:
    if least:
        found = np.full(rows.members.count, 2**63 - 1)
        np.minimum.at(found, rows.members.numbers, codes)
    else:
        found = np.full(rows.members.count, -(2**63))
        np.maximum.at(found, rows.members.numbers, codes)
    return found


def _bits(fold: np.ufunc, nothing: int, call: AggregateCall, rows: Grouped) -> pa.Array:
    if call.type == BIT:
        return _bit_texts(call.function, rows)
    numbers = joined(rows.arguments[0]).to_numpy()
    found = np.full(rows.members.count, nothing).astype(numbers.dtype)
    fold.at(found, rows.members.numbers, numbers)
    return pa.array(found, mask=rows.members.sizes == 0)


def _bit_texts(function: str, rows: Grouped) -> pa.Array:
    """Combine the bits of each group, which are of one length."""
    found: list[bytes | None] = [None] * rows.members.count
    values = joined(rows.arguments[0]).to_pylist()
    for group, value in zip(rows.members.numbers.tolist(), values, strict=True):
        before = found[group]
        if before is not None and len(before) != len(value):
            raise DataError(
                f"{function}() needs bits of one length, not of {len(before)} and {len(value)}"
            )
        found[group] = value if before is None else combined(_BITS[function], before, value)
    return pa.array(found, BIT)


# -- the value of one row


def _first(_: AggregateCall, rows: Grouped) -> pa.Array:
    """Return the value of each group's first row."""
    here = np.arange(len(rows.members.numbers))
    return _values_at(rows, _extreme_codes(rows, here, least=True))


def _last(_: AggregateCall, rows: Grouped) -> pa.Array:
    here = np.arange(len(rows.members.numbers))
    return _values_at(rows, _extreme_codes(rows, here, least=False))


def _values_at(rows: Grouped, places: NDArray[np.int64]) -> pa.Array:
    """Return the first argument at a row of each group, NULL for groups without a row."""
    return joined(rows.arguments[0]).take(pa.array(places, mask=rows.members.sizes == 0))


def _arg_extreme(call: AggregateCall, rows: Grouped) -> pa.Array:
    """Return the first argument of the first row where the second is least or greatest."""
    codes = encode(rows.arguments[1]).codes
    found = _extreme_codes(rows, codes, least=call.function == "arg_min")
    return _first(call, rows.take(np.flatnonzero(codes == found[rows.members.numbers])))


_BITS = {"bit_and": operator.and_, "bit_or": operator.or_, "bit_xor": operator.xor}
_FOLDS: Mapping[str, Callable[[AggregateCall, Grouped], pa.Array]] = {
    "count_star": _count,
    "count": _count,
    "sum": _sum,
    "avg": _avg,
    "avg_of_sums": _avg_of_sums,
    "product": _product,
    "min": _extreme,
    "max": _extreme,
    "bool_and": _extreme,
    "bool_or": _extreme,
    "bit_and": functools.partial(_bits, np.bitwise_and, -1),
    "bit_or": functools.partial(_bits, np.bitwise_or, 0),
    "bit_xor": functools.partial(_bits, np.bitwise_xor, 0),
    "any_value": _first,
    "first": _first,
    "last": _last,
    "arg_min": _arg_extreme,
    "arg_max": _arg_extreme,
    "quantile_cont": quantile,
    "quantile_disc": quantile,
    "mode": mode,
    "string_agg": string_agg,
    "list": list_values,
    **STATISTICS,
    **ENTROPY,
    **OF_PARTS,
    **VECTORS,
}
