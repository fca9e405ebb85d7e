"""Statistics of the elements of lists, which aggregates of a group's values are made of."""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.errors import ProgrammingError
from raydb.planner.expressions.columns.adapters import of_columns
from raydb.planner.expressions.columns.lists import is_missing, lists_of, nullable
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.operators import arithmetic
from raydb.planner.expressions.registry import scalar
from raydb.planner.expressions.types import DOUBLE, TIMESTAMP, is_moment, is_number
from raydb.planner.expressions.typing_rules import cast
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from numpy.typing import NDArray


def mad_of(values: Expression) -> Expression:
    """Return the median of the distances of a list's values from their median."""
    element = values.type.value_type
    if is_number(element):
        return Call("list_mad", (cast(values, pa.list_(DOUBLE)),), DOUBLE)
    if not is_moment(element):
        raise ProgrammingError(
            f"mad() needs numbers, dates or timestamps, not {sql_type_name(element)}"
        )
    micros = Call("list_mad", (cast(values, pa.list_(TIMESTAMP)),), TIMESTAMP)
    return arithmetic("subtract", micros, Literal(dt.datetime(1970, 1, 1), TIMESTAMP))


@scalar(name="list_mad")
@of_columns
def _mad(call: Call, array: pa.Array) -> pa.Array:
    lists = lists_of(array)
    present = ~is_missing(lists.elements)
    parents = lists.parents()[present]
    values = lists.elements.drop_null()
    numbers = (
        values.view(pa.int64()).to_numpy() if pt.is_timestamp(values.type) else values.to_numpy()
    )
    sizes = np.bincount(parents, minlength=len(array))
    with np.errstate(invalid="ignore"):
        distances = _distances(numbers, _medians(parents, numbers, sizes)[parents])
    found = _medians(parents, distances, sizes)
    if found.dtype == np.uint64:
        # Half of the numbers are as far off as the nearer end of their range, or less.
        found = found.view(np.int64)
    return nullable(found, sizes > 0).view(call.type)


def _distances(numbers: NDArray[Any], others: NDArray[Any]) -> NDArray[Any]:
    """Return how far numbers are from others; integers may be up to 2**64 - 1 apart."""
    distances: NDArray[Any] = np.where(numbers >= others, numbers - others, others - numbers)
    return distances if numbers.dtype.kind == "f" else distances.view(np.uint64)


def _medians(
    parents: NDArray[np.int64], numbers: NDArray[Any], sizes: NDArray[np.int64]
) -> NDArray[Any]:
    """Return the median of the numbers of each list; of integers it is cut to one."""
    order = np.lexsort((numbers, parents))
    ordered = np.append(numbers[order], numbers[:0].sum())
    starts = np.cumsum(sizes) - sizes
    low = ordered[starts + np.maximum(sizes - 1, 0) // 2]
    high = ordered[starts + sizes // 2 * (sizes > 0)]
    # Half of the way from the lower, for the sum of both may be too large.
    if numbers.dtype.kind == "f":
        middle = low + (high - low) / 2
    else:
        middle = low + ((high - low).view(np.uint64) // 2).view(low.dtype)
    found: NDArray[Any] = np.where(low == high, low, middle)
    return found


@scalar(name="list_fsum")
@of_columns
def _fsum(_: Call, array: pa.Array) -> pa.Array:
    return pa.array(
        [_sum(numbers) if len(numbers) else None for numbers in _numbers(array)], DOUBLE
    )


@scalar(name="list_favg")
@of_columns
def _favg(_: Call, array: pa.Array) -> pa.Array:
    found = [_sum(n) / len(n) if len(n) else None for n in _numbers(array)]
    return pa.array(found, DOUBLE)


def _numbers(array: pa.Array) -> list[NDArray[np.float64]]:
    """Return the values of each list of doubles, without NULLs."""
    lists = lists_of(array)
    parents = lists.parents()[~is_missing(lists.elements)]
    ends = np.searchsorted(parents, np.arange(1, len(array)))
    return np.split(lists.elements.drop_null().to_numpy(), ends)


def _sum(numbers: NDArray[np.float64]) -> float:
    """Return the sum that is rounded once, or what infinities and such give."""
    try:
        return math.fsum(numbers)
    except (OverflowError, ValueError):
        with np.errstate(all="ignore"):
            return float(numbers.sum())
