"""ORDER BY: all rows at once where they fit in memory, else by ranges of the order.

    split rows at some of them     ... < a | = a | a < ... < b | = b | b < ...
    sort each part                 (rows that are equal need no sort)
    one part after the other

The rows at which the others are split come from a sample, so parts are of about one size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.engine.operators.partition import MAX_PARTS, part_count, pieces_of, split_rows
from raydb.engine.operators.relation import (
    MIN_ROWS,
    Collector,
    Relation,
    concatenate,
    for_each_morsel,
    joined,
)
from raydb.interrupts import beside, check_interrupt
from raydb.late import pc
from raydb.planner.expressions.casts.cast import literal_value
from raydb.planner.expressions.columns.arrays import count_true
from raydb.planner.expressions.columns.nested_order import order_nested
from raydb.planner.expressions.columns.order import order_codes, order_intervals
from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.nodes import Call, Literal
from raydb.planner.top_rows import is_comparable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raydb.engine.context.memory import Memory
    from raydb.engine.operators.run import Sources
    from raydb.planner.expressions.nodes import Column, Expression
    from raydb.planner.plan.nodes import Sort, SortKey

# Beyond this many rows a selection of the first ones, kept in a heap, loses to a sort.
_MAX_SELECTED_ROWS = 10_000

# What a sort holds: each column once more in order, and for each row and key a code and a flag,
# beside the row's number and room to sort it.
_COLUMN_COPIES = 2
_BYTES_A_KEY = 16
_BYTES_A_ROW = 24

_SAMPLE_ROWS_A_PART = 64
_SEED = 3

# Of so many rows the first ones tell which of the others come too late, where there are more rows
# than several of such samples.
SAMPLE_ROWS = 32_768
_MANY_SAMPLES = 4


def run_sort(plan: Sort, columns: Sequence[Column], sources: Sources) -> Relation:
    """Return some columns of a plan's rows in order."""
    rows = sources.rows_of(plan.source, {*columns, *plan.required_columns})
    return sort(rows, plan.keys, None, sources.memory).select(columns)


def sort(rows: Relation, keys: Sequence[SortKey], limit: int | None, memory: Memory) -> Relation:
    """Return the rows in order, or the first `limit` of them; rows that compare equal stay put.

    Doubles are in total order, text is in order of its UTF-8 bytes.
    """
    is_short = limit is not None and limit <= min(_MAX_SELECTED_ROWS, rows.row_count // 8)
    if limit is not None and is_short and keys:
        rows = _without_late_rows(rows, keys[0], limit, memory)
    if rows.row_count <= MIN_ROWS:
        return _sort(rows, keys, limit if is_short else None)
    need = _COLUMN_COPIES * rows.size_bytes
    need += rows.row_count * (_BYTES_A_KEY * len(keys) + _BYTES_A_ROW)
    if need <= memory.room():
        return _sort(rows, keys, limit if is_short else None)
    if limit is not None and is_short:
        firsts = for_each_morsel(
            rows, lambda some: _sort(some, keys, limit), list(rows.columns), memory
        )
        if firsts.row_count < rows.row_count:
            return sort(firsts, keys, limit, memory)
    return _sort_by_ranges(rows, keys, part_count(need, memory), memory)


def _sort(rows: Relation, keys: Sequence[SortKey], limit: int | None) -> Relation:
    """Sort in memory; with a limit, only the first rows are there."""

    def ordered() -> Relation:
        order = row_order(rows, keys, limit)
        return rows if order is None else rows.take(order)

    return beside(ordered, rows.row_count)


def _without_late_rows(rows: Relation, key: SortKey, limit: int, memory: Memory) -> Relation:
    """Return the rows without those that come after `limit` others by the first key alone.

    A sample says which they are. To compare with one value takes a tenth of what it takes to
    select by several keys.
    """
    step = rows.row_count // SAMPLE_ROWS
    if step < _MANY_SAMPLES or not is_comparable(key.column.type):
        return rows
    places = pa.array(np.arange(0, rows.row_count, step))
    sample = rows.select([key.column]).take(places).columns[key.column]
    is_early = early_values(key, key.column, sample, limit)
    if is_early is None:
        return rows

    def mask_of(values: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
        return pc.fill_null(evaluate(is_early, {key.column: values}, len(values)), False)

    if _MANY_SAMPLES * count_true(mask_of(sample)) > len(sample):
        return rows

    def keep(some: Relation) -> Relation:
        mask = mask_of(some.columns[key.column])
        return some.filter(mask, count_true(mask))

    return for_each_morsel(rows, keep, list(rows.columns), memory)


def early_values(
    key: SortKey, value: Expression, sample: pa.ChunkedArray | pa.Array, count: int
) -> Expression | None:
    """Return the predicate that a value comes no later than `count` of a sample; None if all may.

    value: what the key is.
    """
    is_null = Call("is_null", (value,), pa.bool_())
    nulls = sample.null_count if key.nulls_first else 0
    if nulls >= count:
        return is_null
    known = joined(sample).drop_null()
    if nulls + len(known) < count:
        return None
    order = [("", "descending" if key.descending else "ascending")]
    codes = order_nested(order_codes(known))
    last = known[pc.select_k_unstable(codes, k=count - nulls, sort_keys=order)[-1].as_py()]
    try:
        bound = Literal(literal_value(last), value.type)
    except (ValueError, OverflowError):  # a date that Python does not have
        return None
    function = "greater_equal" if key.descending else "less_equal"
    early = Call(function, (value, bound), pa.bool_())
    return Call("or", (is_null, early), pa.bool_()) if key.nulls_first else early


def row_order(rows: Relation, keys: Sequence[SortKey], limit: int | None) -> pa.Array | None:
    """Return the numbers of the rows in order, or None where all compare equal."""
    values: dict[str, pa.ChunkedArray | pa.Array] = {}
    order: list[tuple[str, str]] = []
    for number, key in enumerate(keys):
        check_interrupt()
        column = joined(order_nested(order_intervals(order_codes(rows.columns[key.column]))))
        if column.null_count == rows.row_count:
            continue
        if column.null_count:
            # A key of its own places the NULLs; Arrow's option is one for all keys before 25.
            values[f"null{number}"] = pc.is_null(column)
            order.append((f"null{number}", "descending" if key.nulls_first else "ascending"))
            # What stands for a NULL is never compared with a value, but it has to be one.
            column = pc.fill_null(column, column.drop_null()[0])
        values[f"key{number}"] = column
        order.append((f"key{number}", "descending" if key.descending else "ascending"))
    if not order:
        return None
    if limit is not None:
        values["row"] = pa.array(np.arange(rows.row_count))
        order.append(("row", "ascending"))
        return pc.select_k_unstable(pa.table(values), k=limit, sort_keys=order)
    check_interrupt()
    arrays = list(values.values())
    if all(isinstance(each, pa.Array) for each in arrays):
        batch = pa.RecordBatch.from_arrays(arrays, list(values))
        return pc.sort_indices(batch, sort_keys=order)
    return pc.sort_indices(pa.table(values), sort_keys=order)


# -- ranges


def _sort_by_ranges(
    rows: Relation, keys: Sequence[SortKey], count: int, memory: Memory
) -> Relation:
    """Sort part by part, about `count` parts of rows between those that they are split at."""
    columns = list(dict.fromkeys(key.column for key in keys))
    splitters = _splitters(rows.select(columns), keys, min(count, MAX_PARTS // 2) - 1, memory)
    split_count = splitters.row_count

    def number_of(piece: Relation) -> NDArray[np.uint8]:
        """Count for each row the splitters not after it, and those before it."""
        chosen = piece.select(columns)
        # A stable sort puts the first splitters before rows that are equal, the last behind them.
        whole = concatenate([splitters, chosen, splitters], columns).combined()
        order = row_order(whole, keys, None)
        places = np.arange(whole.row_count) if order is None else order.to_numpy()
        is_first, is_last = places < split_count, places >= split_count + piece.row_count
        counts = np.cumsum(is_first | is_last)
        is_row = ~(is_first | is_last)
        numbers = np.empty(piece.row_count, np.uint8)
        numbers[places[is_row] - split_count] = counts[is_row]
        return numbers

    equal = frozenset(number_of(splitters).tolist())
    parts = split_rows(rows, number_of, 2 * split_count + 1, memory)
    collector = Collector(memory, list(rows.columns))
    for number, part in enumerate(parts):
        collector.add(part if number in equal else sort(part, keys, None, memory))
    return collector.relation()


def _splitters(rows: Relation, keys: Sequence[SortKey], count: int, memory: Memory) -> Relation:
    """Return some of the rows in order, with about as many rows between each two of them."""
    draw = np.random.default_rng(_SEED)
    share = (count + 1) * _SAMPLE_ROWS_A_PART / rows.row_count
    drawn = [
        piece.take(pa.array(np.flatnonzero(draw.random(piece.row_count) <= share)))
        for piece in pieces_of(rows, memory)
    ]
    sample = concatenate(drawn, list(rows.columns)).combined()
    if not sample.row_count:
        sample = rows.slice(0, 1).combined()
    places = np.linspace(0, sample.row_count, count + 2)[1:-1].astype(np.int64)
    return _sort(sample, keys, None).take(pa.array(places)).combined()
