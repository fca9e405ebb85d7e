"""Kernels of columns made of other functions: of Arrow arrays, of numpy's, of Python's values."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.errors import DataError
from raydb.interrupts import check_interrupt
from raydb.late import pc
from raydb.planner.expressions.casts.cast import cast_values
from raydb.planner.expressions.columns.arrays import as_array, common_length, side_by_side

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from raydb.planner.expressions.columns.arrays import Values
    from raydb.planner.expressions.nodes import Call

_MAX_BYTES = 2**31 - 1


def of_values(kernel: Callable[..., Values]) -> Callable[..., Values]:
    """Make a function of the values alone a kernel."""
    return lambda _, *values: kernel(*values)


def of_arrow(name: str) -> Callable[..., Values]:
    """Make a function of pyarrow.compute, which is imported when it is called, a kernel."""
    return lambda _, *values: getattr(pc, name)(*values)


def of_columns(kernel: Callable[..., pa.Array]) -> Callable[..., Values]:
    """Make a function of the call and arrays of one length a kernel."""
    return lambda call, *values: side_by_side(functools.partial(kernel, call), *values)


def of_rows(function: Callable[..., object]) -> Callable[..., Values]:
    """Make a function of the values of one row, none of which is NULL, a kernel."""
    return lambda call, *values: row_by_row(function, call.type, *values)


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
        count = common_length((values, *others)) or 0
        rows, *columns = (as_array(each, count) for each in (values, *others))
        order, starts = _groups(columns, count)
        parts = []
        for start, stop in zip(starts, [*starts[1:], count], strict=True):
            check_interrupt()
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


def _groups(columns: list[pa.Array], count: int) -> tuple[NDArray[np.int64], list[int]]:
    """Return the rows ordered by the values of some columns, and where each new value begins."""
    codes = np.zeros(count, np.int64)
    for column in columns:
        encoded = column.dictionary_encode(null_encoding="encode")
        mixed = codes * len(encoded.dictionary) + encoded.indices.to_numpy()
        codes = np.unique(mixed, return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    return order, np.flatnonzero(np.diff(codes[order], prepend=-1)).tolist()


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
    if any(isinstance(value, pa.Scalar) and not value.is_valid for value in values):
        return pa.scalar(None, target)
    varying = [value for value in values if not isinstance(value, pa.Scalar)]
    if not varying:
        return pa.scalar(function(*(value.as_py() for value in values)), target)
    count, codes = len(varying[0]), None
    if len(varying) == 1:
        encoded = as_array(varying[0], count).dictionary_encode()
        count, codes = len(encoded.dictionary), encoded.indices
        values = tuple(
            value if isinstance(value, pa.Scalar) else encoded.dictionary for value in values
        )
    columns = [
        [value.as_py()] * count if isinstance(value, pa.Scalar) else value.to_pylist()
        for value in values
    ]
    rows = zip(*columns, strict=True)
    result = pa.array([None if None in row else function(*row) for row in rows], target)
    return result if codes is None else result.take(codes)


def of_numpy(function: Callable[..., NDArray[Any]], target: pa.DataType, *values: Values) -> Values:
    """Apply a function of numpy arrays; it sees 0 where a value is NULL, and the result is NULL."""

    def apply(*arrays: pa.Array) -> pa.Array:
        with np.errstate(all="ignore"):
            numbers = function(*(pc.fill_null(array, 0).to_numpy() for array in arrays))
        nulls = [
            array.is_null().to_numpy(zero_copy_only=False) for array in arrays if array.null_count
        ]
        return pa.array(numbers, target, mask=np.logical_or.reduce(nulls) if nulls else None)

    return side_by_side(apply, *values)


def of_doubles(function: Callable[..., NDArray[Any]]) -> Callable[..., Values]:
    """Make a function of numpy's doubles one of values."""
    return lambda *values: of_numpy(function, pa.float64(), *values)
