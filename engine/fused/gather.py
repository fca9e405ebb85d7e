"""Aggregates that no kernel accumulates: what they read is fetched for each row that passed.

A fused job has filtered the rows and numbered their groups; the general path's folds do the rest,
from median(price) to list(name ORDER BY day).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.engine.operators.aggregate.run_aggregate import aggregate_rows
from raydb.engine.operators.relation import joined
from raydb.planner.expressions.nodes import Column, expressions_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from raydb.engine.context.memory import Memory
    from raydb.planner.expressions.nodes import Expression
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
