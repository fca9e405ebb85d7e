"""How rows are summarized: the statistics of each column."""

from __future__ import annotations

import math
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.engine.operators.partition import pieces_of
from raydb.engine.operators.relation import Relation
from raydb.engine.operators.sort import sort
from raydb.engine.table_functions.search.paired_rows import PairedRows
from raydb.engine.table_functions.summary import SUMMARY
from raydb.interrupts import beside
from raydb.late import pc
from raydb.planner.expressions.casts.cast import cast_values
from raydb.planner.expressions.columns.zones import session_zone
from raydb.planner.expressions.nodes import Column
from raydb.planner.plan.nodes import SortKey
from raydb.storage.enums import has_enums, stored_column, typed_column
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.engine.context.memory import Memory
    from raydb.engine.operators.run import Sources
    from raydb.planner.plan.nodes import SearchRows

_TEXT = pa.string()


def summarized_rows(plan: SearchRows, columns: Sequence[Column], sources: Sources) -> Relation:
    """Return some columns of each row that asks with those of its summary.

    Rows are summarized once, or for each row that asks where a query before them decides.
    """
    carried = [column for column in plan.left.columns if column in columns]
    needed = list(dict.fromkeys((*carried, *(ours for ours, _ in plan.pairs))))
    queries, _ = sources.rows_with(plan.left, needed, ())
    places = [] if plan.place is None else [plan.place]
    own = list(dict.fromkeys((*(theirs for _, theirs in plan.pairs), *places)))
    rows, values = sources.rows_with(plan.right, own, plan.read)
    described: pa.Schema = plan.options
    names = described.names
    typed = [
        typed_column(column, kind) if has_enums(kind) else column
        for column, kind in zip(values, described.types, strict=True)
    ]
    table = pa.Table.from_arrays(typed, [str(number) for number in range(len(names))])
    if plan.pairs:
        paired = PairedRows(plan, queries, rows)
        summaries = [
            summarize(table.take(pa.array(paired.numbers(row))), names, sources.memory)
            for row in range(queries.row_count)
        ]
    else:
        summaries = [summarize(table, names, sources.memory)] * queries.row_count
    found = pa.concat_tables([SUMMARY.empty_table(), *summaries])
    asking = np.repeat(np.arange(queries.row_count), len(names))
    made = {
        **queries.select(carried).take(pa.array(asking)).columns,
        **dict(zip(plan.found, found.columns, strict=True)),
    }
    return Relation({column: made[column] for column in columns}, found.num_rows)


def summarize(rows: pa.Table, names: Sequence[str], memory: Memory) -> pa.Table:
    """Return a row for each column, with DuckDB's names.

    approx_unique is exact here; count counts all rows. The quartiles are values of the column: the
    first with at least so many quarters of the values up to it. avg, std and the quartiles are
    NULL where the type has none. A column is sorted within `memory`, through a file if need be.
    """
    described = [
        _describe(name, column, memory) for name, column in zip(names, rows.columns, strict=True)
    ]
    return pa.table(
        [pa.array([row[field.name] for row in described], field.type) for field in SUMMARY],
        schema=SUMMARY,
    )


def _describe(name: str, column: pa.ChunkedArray, memory: Memory) -> dict[str, Any]:
    kind = column.type
    row: dict[str, Any] = dict.fromkeys(SUMMARY.names)
    row.update(column_name=name, column_type=sql_type_name(kind), count=len(column))
    row["null_percentage"] = _percentage(column.null_count, len(column))
    if pt.is_nested(kind) or pt.is_interval(kind):
        return row
    stored = stored_column(column)
    key = Column(0, name, stored.type)
    count = len(column) - column.null_count
    ordered = sort(Relation({key: stored}, len(column)), [SortKey(key)], None, memory)
    ordered = ordered.slice(0, count)
    row["approx_unique"] = beside(partial(_distinct_count, ordered, memory), count)
    if not count:
        return row
    values = typed_column(ordered.columns[key], kind)
    row["min"], row["max"] = _text(values[0]), _text(values[count - 1])
    is_number = pt.is_integer(kind) or pt.is_floating(kind) or pt.is_decimal(kind)
    if is_number:
        mean, deviation = beside(partial(_mean_and_deviation, ordered, memory), count)
        row["avg"], row["std"] = _text(mean), _text(deviation)
    if is_number or pt.is_temporal(kind):
        for quarter in (1, 2, 3):
            row[f"q{25 * quarter}"] = _text(values[math.ceil(quarter * count / 4) - 1])
    return row


def _distinct_count(ordered: Relation, memory: Memory) -> int:
    """Return how many values a column in order has."""
    found = 0
    last = None
    for piece in pieces_of(ordered, memory):
        (values,) = piece.columns.values()
        found += pc.count_distinct(values).as_py()
        if last is not None:
            found -= pc.count_distinct(pa.concat_arrays([last, values.slice(0, 1)])).as_py() == 1
        last = values.slice(len(values) - 1)
    return found


def _mean_and_deviation(rows: Relation, memory: Memory) -> tuple[pa.Scalar, pa.Scalar]:
    """Return the mean and the sample standard deviation of a column, a piece at a time.

    Chan and others, "Updating formulae and a pairwise algorithm for computing sample variances",
    1979.
    """
    count, mean, squares = 0, 0.0, 0.0
    with np.errstate(all="ignore"):
        for piece in pieces_of(rows, memory):
            (column,) = piece.columns.values()
            values = cast_values(column, pa.float64()).to_numpy(zero_copy_only=False)
            own = values.mean()
            distances = values - own
            ahead = own - mean
            squares += distances @ distances + ahead**2 * count * len(values) / (
                count + len(values)
            )
            count += len(values)
            mean += ahead * len(values) / count
    deviation = math.sqrt(squares / (count - 1)) if count > 1 else None
    return pa.scalar(float(mean)), pa.scalar(deviation, pa.float64())


def _percentage(part: int, whole: int) -> Decimal | None:
    if not whole:
        return None
    return (Decimal(100 * part) / whole).quantize(Decimal("0.01"))


def _text(value: pa.Scalar) -> str | None:
    """Return a value as CAST(value AS VARCHAR) has it."""
    text = cast_values(value, _TEXT, session_zone()).as_py()
    return None if text is None else str(text)
