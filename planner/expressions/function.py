"""What a scalar function is, and how one is made of a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from raydb.errors import DataError
from raydb.planner.expressions.casts.casts import cast_values
from raydb.planner.expressions.nodes import Literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from raydb.planner.expressions.casts.casts import Values
    from raydb.planner.expressions.nodes import Call

_MAX_BYTES = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Function:
    """A scalar function of its arguments' values, in the same order as in the call.

    `compute(call, *values)` returns a scalar where all values are scalars, else one value for each
    row, of `call.type` or of a type that is cast to it.
    """

    compute: Callable[..., Values]
    # Whether it raises DataError, or pa.ArrowInvalid, for some values.
    can_fail: bool = False
    # How a message calls an operator: the addition; None for the name of the function.
    operation: str | None = None
    # Whether an argument of the type NULL makes the result NULL, so that `compute` never sees one.
    strict: bool = True
    # Tells the calls of a function that can fail which cannot, by the types of their arguments.
    is_safe: Callable[[Call], bool] | None = None


def arrow(kernel: Callable[..., Values]) -> Function:
    """Make a function of pyarrow.compute, which takes the values alone, a scalar function."""
    return Function(lambda _, *values: kernel(*values))


def with_constants(kernel: Callable[..., Values]) -> Callable[..., Values]:
    """Let `kernel(call, values, *constants)` take constants that differ from row to row.

    The rows are grouped by their constants, which the kernel sees as Python values and never NULL:

        lpad(name, width):   'a' 3, 'b' 5, 'c' 3   ->   lpad(['a', 'c'], 3), lpad(['b'], 5)
    """

    def compute(call: Call, values: Values, *others: Values) -> Values:
        if all(isinstance(other, pa.Scalar) for other in others):
            if not all(other.is_valid for other in others):
                return pa.scalar(None, call.type)
            return kernel(call, values, *(other.as_py() for other in others))
        count = next(len(each) for each in (values, *others) if not isinstance(each, pa.Scalar))
        rows, *columns = (as_array(each, count) for each in (values, *others))
        order, starts = _groups(columns, count)
        parts = []
        for start, stop in zip(starts, [*starts[1:], count], strict=True):
            places = order[start:stop]
            constants = [column[places[0]].as_py() for column in columns]
            if None in constants:
                parts.append(pa.nulls(len(places), call.type))
                continue
            part = kernel(call, rows.take(pa.array(places)), *constants)
            parts.append(as_array(cast_values(part, call.type), len(places)))
        back = np.empty(count, np.int64)
        back[order] = np.arange(count)
        return pa.concat_arrays(parts).take(pa.array(back))

    return compute


def by_constants(kernel: Callable[..., Values]) -> Function:
    """Make a kernel of (call, text, *constants) a function whose constants alone make it fail."""

    def is_safe(call: Call) -> bool:
        constants = [
            pa.scalar(argument.value, argument.type)
            for argument in call.arguments[1:]
            if isinstance(argument, Literal)
        ]
        if len(constants) < len(call.arguments) - 1:
            return False
        try:
            with_constants(kernel)(call, pa.scalar(""), *constants)
        except DataError:
            return False
        return True

    return Function(with_constants(kernel), can_fail=True, is_safe=is_safe)


def _groups(columns: list[pa.Array], count: int) -> tuple[NDArray[np.int64], list[int]]:
    """Return the rows ordered by the values of some columns, and where each new value begins."""
    codes = np.zeros(count, np.int64)
    for column in columns:
        encoded = column.dictionary_encode(null_encoding="encode")
        mixed = codes * len(encoded.dictionary) + encoded.indices.to_numpy()
        codes = np.unique(mixed, return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    return order, np.flatnonzero(np.diff(codes[order], prepend=-1)).tolist()


def as_array(values: Values, count: int) -> pa.Array:
    """Return the values as one array of `count`."""
    if isinstance(values, pa.Scalar):
        return pa.repeat(values, count)
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def require_room(
    function: str,
    text: Values,
    growth: int,
    count: Callable[[pa.Array], pa.Array],
    copies: int = 1,
) -> None:
    """Raise DataError if so many copies of text, and some bytes at each match, exceed an array.

    `count` returns the number of matches in each value. Arrow's functions that replace text (26.0)
    do not check the 32-bit addresses of their results.
    """
    texts = pa.repeat(text, 1) if isinstance(text, pa.Scalar) else text
    size = (pc.sum(pc.binary_length(texts)).as_py() or 0) * copies
    if size + (size + len(texts)) * growth <= _MAX_BYTES:
        return  # even if each byte, and each end, is a match
    if size + (pc.sum(count(texts)).as_py() or 0) * growth > _MAX_BYTES:
        raise DataError(f"the result of {function}() is too long")


def row_by_row(function: Callable[..., Any], target: pa.DataType, *values: Values) -> Values:
    """Apply a Python function to each row's values, none of which is NULL, or NULL where one is.

    A function of one column is called once for each value that occurs.
    """
    varying = [value for value in values if not isinstance(value, pa.Scalar)]
    if any(isinstance(value, pa.Scalar) and not value.is_valid for value in values):
        return pa.scalar(None, target)
    if not varying:
        return pa.scalar(function(*(value.as_py() for value in values)), target)
    count = len(varying[0])
    if len(varying) == 1:
        encoded = as_array(varying[0], count).dictionary_encode()
        count = len(encoded.dictionary)
        values = tuple(
            value if isinstance(value, pa.Scalar) else encoded.dictionary for value in values
        )
    columns = [
        [value.as_py()] * count if isinstance(value, pa.Scalar) else value.to_pylist()
        for value in values
    ]
    rows = zip(*columns, strict=True)
    result = pa.array([None if None in row else function(*row) for row in rows], target)
    return result.take(encoded.indices) if len(varying) == 1 else result


def of_numpy(function: Callable[..., NDArray[Any]], target: pa.DataType, *values: Values) -> Values:
    """Apply a function of numpy arrays; it sees 0 where a value is NULL, and the result is NULL."""
    if all(isinstance(value, pa.Scalar) for value in values):
        return of_numpy(function, target, *(pa.repeat(value, 1) for value in values))[0]
    count = next(len(value) for value in values if not isinstance(value, pa.Scalar))
    arrays = [as_array(value, count) for value in values]
    with np.errstate(all="ignore"):
        numbers = function(*(pc.fill_null(array, 0).to_numpy() for array in arrays))
    nulls = [array.is_null().to_numpy(zero_copy_only=False) for array in arrays if array.null_count]
    return pa.array(numbers, target, mask=np.logical_or.reduce(nulls) if nulls else None)


def of_doubles(function: Callable[..., NDArray[Any]], *values: Values) -> Values:
    """Apply a function of numpy's doubles."""
    return of_numpy(function, pa.float64(), *values)
