"""Aggregates that read rows: those that no kernel accumulates, and those that are of one row.

Gathered: a fused job has filtered the rows and numbered their groups; what the aggregate reads is
fetched for each of them, and the general path's folds do the rest, from median(price) to
list(name ORDER BY day).

By a row: ARG_MAX(x, y), FIRST(x), ANY_VALUE(x). A scan accumulates the least of numbers that put
the rows in order, of which one says its row:

    y         3   9   9   5       ARG_MAX(x, y): the first of the rows that have the greatest y
    rank      0   2   2   1
    number    0  -7  -6  -1       -rank * 4 + row;  -7 mod 4 = 1, the row
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.engine.operators.aggregate.run_aggregate import aggregate_rows
from raydb.engine.operators.relation import joined
from raydb.kernels.bvh.bvh import Measure, narrow_measure
from raydb.kernels.bvh.encode import encode_column
from raydb.kernels.codecs.arrow_numbers import is_number, to_numbers
from raydb.late import pc
from raydb.planner.expressions.nodes import Column, Literal, expressions_of
from raydb.planner.stars.answers import is_wide

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from raydb.engine.context.memory import Memory
    from raydb.engine.fused.table_scan import Image
    from raydb.engine.operators.relation import Relation
    from raydb.planner.expressions.nodes import AggregateCall, Call, Expression
    from raydb.planner.plan.nodes.node import Calls

# Columns of plans have numbers from 0 on, values of expressions those from -1 down.
_GROUP = Column(-(2**62), "group", pa.int64())


def fold_gathered(
    calls: Calls,
    evaluate: Callable[[Expression], pa.Array | pa.ChunkedArray],
    groups: NDArray[np.int64] | None,
    group_count: int,
    memory: Memory,
    row_count: int,
) -> dict[Column, pa.Array]:
    """Return each aggregate's value for every group.

    evaluate: returns the values of an expression in each row, in the order of the table. groups:
    the group of each row; None where all rows, even none, are one.
    """
    read = dict.fromkeys(each for _, call in calls for each in expressions_of(call))
    values = {each: evaluate(each) for each in read}
    keys = {} if groups is None else {_GROUP: pa.array(groups)}
    found = aggregate_rows(keys, calls, values, row_count, memory)
    columns = {column: joined(found.columns[column]) for column, _ in calls}
    if groups is None:
        return columns
    places = np.empty(group_count, np.int64)
    places[joined(found.columns[_GROUP]).to_numpy()] = np.arange(group_count)
    return {column: values.take(pa.array(places)) for column, values in columns.items()}


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


def read_chosen(rows: Relation, chosen: Mapping[Column, AggregateCall], image: Image) -> Relation:
    """Return a job's rows with the values of the rows that columns of numbers say."""
    found = {}
    for column, call in chosen.items():
        numbers = rows.columns[column]
        known = numbers.drop_null().to_numpy() % max(image.row_count, 1) + image.first_row
        values = image.values_at(call.arguments[0], known.astype(np.uint32))
        is_known = numbers.is_valid().to_numpy(zero_copy_only=False)
        places = pa.array(np.cumsum(is_known) - 1, mask=~is_known)
        found[column] = values.take(places)
    return rows.replaced(found) if found else rows


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
        ranks: NDArray[np.int64] = encode_column(found).codes.astype(np.int64)[codes]
        return ranks
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
