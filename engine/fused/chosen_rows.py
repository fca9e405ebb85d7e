"""Aggregates that are the value of one row: ARG_MAX(x, y), FIRST(x), ANY_VALUE(x).

A scan accumulates the least of numbers that put the rows in order, of which one says its row:

    y         3   9   9   5       ARG_MAX(x, y): the first of the rows that have the greatest y
    rank      0   2   2   1
    number    0  -7  -6  -1       -rank * 4 + row;  -7 mod 4 = 1, the row
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from raydb.kernels.bvh.bvh import Measure, narrow_measure
from raydb.kernels.bvh.encode import encode_column
from raydb.kernels.codecs.arrow_numbers import is_number, to_numbers
from raydb.planner.expressions.nodes import Literal
from raydb.planner.stars.answers import is_wide

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from raydb.engine.fused.table_scan import Image
    from raydb.planner.expressions.nodes import AggregateCall, Call, Column, Expression


def row_order(image: Image, order: Call) -> Measure:
    """Return the numbers of 'row_order' (`planner/stars/answers.py`).

    Raises DataError where what is asked fails in some row.
    """
    function, *asked = order.arguments
    assert isinstance(function, Literal)
    count = image.row_count
    rows = np.arange(count)
    valid: NDArray[np.bool_] | None = None
    for expression in asked:
        known = _is_valid(image, expression)
        if known is not None:
            valid = known if valid is None else valid & known
    match function.value:
        case "last":
            ranks = rows[::-1]
        case "arg_min":
            ranks = _ranks(image, asked[1])
        case "arg_max":
            ranks = -_ranks(image, asked[1])
        case _:
            return narrow_measure(rows, valid)
    return narrow_measure(ranks * count + rows, valid)


def read_chosen(table: pa.Table, chosen: Mapping[Column, AggregateCall], image: Image) -> pa.Table:
    """Return a job's rows with the values of the rows that columns of numbers say."""
    for column, call in chosen.items():
        place = table.schema.get_field_index(f"c{column.number}")
        numbers = table.column(place)
        known = numbers.drop_null().to_numpy() % max(image.row_count, 1) + image.first_row
        values = image.values_at(call.arguments[0], known.astype(np.uint32))
        is_known = numbers.is_valid().to_numpy()
        places = pa.array(np.cumsum(is_known) - 1, mask=~is_known)
        table = table.set_column(place, table.schema.field(place).name, values.take(places))
    return table


def _is_valid(image: Image, expression: Expression) -> NDArray[np.bool_] | None:
    """Return where an expression is not NULL; None where it is NULL nowhere."""
    coded = image.coded(expression, np.arange(image.first_row, image.fact.row_count, dtype="u4"))
    if coded is None:
        values = image.values_of(expression)
        return pc.is_valid(values).to_numpy(zero_copy_only=False) if values.null_count else None
    codes, found = coded
    known: NDArray[np.bool_] = found.is_valid().to_numpy(zero_copy_only=False)[codes]
    return None if known.all() else known


def _ranks(image: Image, expression: Expression) -> NDArray[np.int64]:
    """Return numbers of rows in the order of an expression's values; of NULL any."""
    coded = image.coded(expression, np.arange(image.first_row, image.fact.row_count, dtype="u4"))
    if coded is not None:
        codes, found = coded
        return encode_column(found).codes.astype(np.int64)[codes]
    values = image.values_of(expression)
    if (
        is_number(values.type)
        and not is_wide(values.type)
        and not pa.types.is_floating(values.type)
    ):
        numbers, _ = to_numbers(values)
        low, high = (int(numbers.min()), int(numbers.max())) if len(numbers) else (0, 0)
        if (high - low + 1) * len(numbers) < 2**63:
            return numbers - low
    return encode_column(values).codes.astype(np.int64)
