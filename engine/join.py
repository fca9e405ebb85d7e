"""Joins over Arrow: Acero finds the pairs, and what an outer join keeps beyond them is added here.

    pairs      = rows of both sides whose keys are equal, and that pass the residual condition
    left join  = pairs + left rows in no pair, with NULLs for the right columns

Acero joins rows on their keys alone; a residual condition has to be known before a row without a
partner is, so every kind of join takes this one path.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from pyarrow import acero

from raydb.engine.relation import MORSEL_ROWS, Relation, column_name, concatenate
from raydb.errors import NotSupportedError
from raydb.planner.expression import Column
from raydb.planner.functions import canonical_floats

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

# Numbers of a side's rows. The columns of plans have numbers from 0 on.
_LEFT_ROW = Column(-1, "left row", pa.int64())
_RIGHT_ROW = Column(-2, "right row", pa.int64())


@dataclass(frozen=True, eq=False, slots=True)
class Side:
    """One side of a join: the rows to carry, and the values of its keys for each of them."""

    rows: Relation
    keys: Sequence[pa.ChunkedArray | pa.Array]


def join(
    kind: Literal["inner", "left", "right", "full"],
    left: Side,
    right: Side,
    accept: Callable[[Relation], Relation],
) -> Relation:
    """Return the rows of a join: the columns of the left side, then those of the right side.

    Keys are equal as SQL has it: NULL equals nothing; doubles are in total order, so NaN equals
    NaN. Without keys every row of one side pairs with every row of the other. `accept` keeps the
    pairs for which the residual condition is true.
    """
    columns = (*left.rows.columns, *right.rows.columns)
    keep_left, keep_right = kind in ("left", "full"), kind in ("right", "full")
    numbered_left = _number_rows(left, _LEFT_ROW) if keep_left else left
    numbered_right = _number_rows(right, _RIGHT_ROW) if keep_right else right
    find_pairs = _equal_pairs if left.keys else _all_pairs
    pairs = find_pairs(numbered_left, numbered_right, accept)
    parts = [pairs]
    if keep_left:
        parts.append(_unpaired(left.rows, pairs.columns[_LEFT_ROW], columns))
    if keep_right:
        parts.append(_unpaired(right.rows, pairs.columns[_RIGHT_ROW], columns))
    return concatenate(parts, columns)


def _number_rows(side: Side, number: Column) -> Side:
    numbers = pa.array(np.arange(side.rows.row_count))
    return Side(Relation({**side.rows.columns, number: numbers}, side.rows.row_count), side.keys)


def _equal_pairs(left: Side, right: Side, accept: Callable[[Relation], Relation]) -> Relation:
    """Return the pairs with equal keys; the smaller side is hashed."""
    columns = (*left.rows.columns, *right.rows.columns)
    if right.rows.row_count > left.rows.row_count:
        left, right = right, left
    left_table, right_table = _keyed_table(left, "left"), _keyed_table(right, "right")
    key_count = len(left.keys)
    options = acero.HashJoinNodeOptions(
        "inner",
        left_table.column_names[:key_count],
        right_table.column_names[:key_count],
        # A key stands in where no column is wanted, or the number of pairs would be lost.
        left_output=[left_table.column_names[0], *left_table.column_names[key_count:]],
        right_output=right_table.column_names[key_count:],
    )
    sources = [
        acero.Declaration("table_source", acero.TableSourceNodeOptions(table))
        for table in (left_table, right_table)
    ]
    # Batch by batch, so that Ctrl-C ends a join that explodes, and what is not accepted goes.
    accepted = []
    with acero.Declaration("hashjoin", options, sources).to_reader() as reader:
        for batch in reader:
            pairs = {column: _column_of(batch, column) for column in columns}
            accepted.append(accept(Relation(pairs, batch.num_rows)))
    return concatenate(accepted, columns)


def _column_of(batch: pa.RecordBatch, column: Column) -> pa.Array:
    if pt.is_null(column.type):
        return pa.nulls(batch.num_rows)
    return batch.column(column_name(column))


def _keyed_table(side: Side, prefix: str) -> pa.Table:
    """Return a side's keys and then its columns, in types that Acero can join.

    It ends the process over others: NULL, which travels as TINYINT, and nested ones.
    """
    values = {f"{prefix}{i}": canonical_floats(key) for i, key in enumerate(side.keys)}
    values |= {column_name(column): array for column, array in side.rows.columns.items()}
    for array in values.values():
        if pt.is_nested(array.type):
            raise NotSupportedError(f"a join of rows with the type {array.type} is not supported")
    return pa.table(
        {
            name: array.cast(pa.int8()) if pt.is_null(array.type) else array
            for name, array in values.items()
        }
    )


def _all_pairs(left: Side, right: Side, accept: Callable[[Relation], Relation]) -> Relation:
    """Return the accepted pairs of the cross product, a morsel of pairs at a time."""
    columns = (*left.rows.columns, *right.rows.columns)
    left_rows, right_rows = left.rows.combined(), right.rows.combined()
    left_count, right_count = left_rows.row_count, right_rows.row_count
    step = max(1, MORSEL_ROWS // max(right_count, 1))
    accepted = []
    for start in range(0, left_count if right_count else 0, step):
        numbers = np.arange(start, min(start + step, left_count))
        some_left = left_rows.take(pa.array(np.repeat(numbers, right_count)))
        some_right = right_rows.take(pa.array(np.tile(np.arange(right_count), len(numbers))))
        pairs: Mapping[Column, pa.ChunkedArray] = {**some_left.columns, **some_right.columns}
        accepted.append(accept(Relation(pairs, len(numbers) * right_count)))
    return concatenate(accepted, columns)


def _unpaired(rows: Relation, paired: pa.ChunkedArray, columns: Sequence[Column]) -> Relation:
    """Return the rows of one side whose numbers are not in `paired`, NULL in other columns."""
    lonely = np.ones(rows.row_count, np.bool_)
    lonely[paired.to_numpy()] = False
    count = int(np.count_nonzero(lonely))
    kept = rows.filter(pa.array(lonely), count).columns
    return Relation({c: kept[c] if c in kept else pa.nulls(count, c.type) for c in columns}, count)
