"""Sums and averages of vectors, FLOAT[n]: number by number, as doubles, in order of the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.engine.operators.relation import joined
from raydb.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from raydb.engine.operators.aggregate.grouped import Grouped
    from raydb.planner.expressions.nodes import AggregateCall


def _sums(call: AggregateCall, rows: Grouped) -> NDArray[np.float64]:
    """Return the sum of the vectors of each group (groups, d). Raises DataError for NULL in one."""
    # numba takes 0.3 s to import, and few processes add up vectors.
    from raydb.kernels.vector.exact_search import frozen  # noqa: PLC0415
    from raydb.kernels.vector.loops.kmeans_loops import add_members  # noqa: PLC0415

    members, width = rows.members, rows.arguments[0].type.list_size
    sums, sizes = np.zeros((members.count, width)), np.zeros(members.count, np.int64)
    elements = joined(rows.arguments[0]).flatten()
    if elements.null_count:
        name = call.function.removeprefix("vector_")
        raise DataError(f"{name}() of a vector that contains NULL is not defined")
    vectors = elements.to_numpy().reshape(-1, width)
    add_members(frozen(vectors), members.numbers.astype(np.int32), sums, sizes)
    return sums


def vectors_of(numbers: NDArray[np.float64], some: NDArray[np.bool_]) -> pa.Array:
    """Return vectors (n, d) as DOUBLE[d], NULL where there are none."""
    kind = pa.list_(pa.float64(), numbers.shape[1])
    return pa.FixedSizeListArray.from_arrays(
        pa.array(numbers.ravel()), type=kind, mask=pa.array(~some)
    )


def averages(sums: NDArray[np.float64], counts: NDArray[np.int64]) -> pa.Array:
    """Return sums of vectors (n, d) over their counts, NULL where that is 0."""
    return vectors_of(sums / np.maximum(counts, 1)[:, None], counts > 0)


def _sum(call: AggregateCall, rows: Grouped) -> pa.Array:
    return vectors_of(_sums(call, rows), rows.members.sizes > 0)


def _avg(call: AggregateCall, rows: Grouped) -> pa.Array:
    return averages(_sums(call, rows), rows.members.sizes)


VECTORS: Mapping[str, Callable[[AggregateCall, Grouped], pa.Array]] = {
    "vector_sum": _sum,
    "vector_avg": _avg,
}
