"""SUMMARIZE: a row of statistics for each column of a query."""

from __future__ import annotations

import math
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from raydb.interrupts import beside
from raydb.planner.expressions.casts.cast import cast_values
from raydb.planner.expressions.columns.zones import session_zone
from raydb.storage.enums import stored_column
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Sequence

_TEXT = pa.string()
_SCHEMA = pa.schema(
    [
        *(pa.field(name, _TEXT) for name in ("column_name", "column_type", "min", "max")),
        pa.field("approx_unique", pa.int64()),
        *(pa.field(name, _TEXT) for name in ("avg", "std", "q25", "q50", "q75")),
        pa.field("count", pa.int64()),
        pa.field("null_percentage", pa.decimal128(9, 2)),
    ]
)


def summarize(rows: pa.Table, names: Sequence[str]) -> pa.Table:
    """Return a row for each column, with DuckDB's names.

    approx_unique is exact here; count counts all rows. The quartiles are values of the column: the
    first with at least so many quarters of the values up to it. avg, std and the quartiles are
    NULL where the type has none.
    """
    described = [
        beside(partial(_describe, name, column), rows.num_rows)
        for name, column in zip(names, rows.columns, strict=True)
    ]
    return pa.table(
        [pa.array([row[field.name] for row in described], field.type) for field in _SCHEMA],
        schema=_SCHEMA,
    )


def _describe(name: str, column: pa.ChunkedArray) -> dict[str, Any]:
    values = column.drop_null()
    row: dict[str, Any] = dict.fromkeys(_SCHEMA.names)
    row.update(column_name=name, column_type=sql_type_name(column.type), count=len(column))
    row["null_percentage"] = _percentage(column.null_count, len(column))
    if pt.is_nested(column.type) or pt.is_interval(column.type):
        return row
    keys = stored_column(values)
    row["approx_unique"] = pc.count_distinct(keys).as_py()
    if not len(values):
        return row
    ordered = values.take(pc.array_sort_indices(keys))
    row["min"], row["max"] = _text(ordered[0]), _text(ordered[-1])
    kind = column.type
    is_number = pt.is_integer(kind) or pt.is_floating(kind) or pt.is_decimal(kind)
    if is_number:
        doubles = cast_values(values, pa.float64())
        row["avg"] = _text(pc.mean(doubles))
        row["std"] = _text(pc.stddev(doubles, ddof=1)) if len(values) > 1 else None
    if is_number or pt.is_temporal(kind):
        for quarter in (1, 2, 3):
            place = math.ceil(quarter * len(ordered) / 4) - 1
            row[f"q{25 * quarter}"] = _text(ordered[place])
    return row


def _percentage(part: int, whole: int) -> Decimal | None:
    if not whole:
        return None
    return (Decimal(100 * part) / whole).quantize(Decimal("0.01"))


def _text(value: pa.Scalar) -> str | None:
    """Return a value as CAST(value AS VARCHAR) has it."""
    text = cast_values(value, _TEXT, session_zone()).as_py()
    return None if text is None else str(text)
