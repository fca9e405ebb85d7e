"""What a scalar function is, and how one is made of a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.planner.casts import Values


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


def arrow(kernel: Callable[..., Values], *, can_fail: bool = False) -> Function:
    """Make a function of pyarrow.compute, which takes the values alone, a scalar function."""
    return Function(lambda _, *values: kernel(*values), can_fail)


def row_by_row(function: Callable[..., Any], target: pa.DataType, *values: Values) -> Values:
    """Apply a Python function to each row's values; a scalar where all of them are scalars."""
    count = next((len(value) for value in values if not isinstance(value, pa.Scalar)), None)
    columns = [
        [value.as_py()] * (count or 1) if isinstance(value, pa.Scalar) else value.to_pylist()
        for value in values
    ]
    result = pa.array([function(*row) for row in zip(*columns, strict=True)], target)
    return result[0] if count is None else result
