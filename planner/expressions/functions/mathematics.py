"""Functions of doubles: powers, logarithms and trigonometry.

As in PostgreSQL an argument for which a function is not defined is an error, and so is a result
beyond the range of doubles: NaN comes of NaN alone, and infinity of infinity.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from raydb.errors import DataError
from raydb.planner.expressions.function import Function, arrow, as_array, of_doubles

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from raydb.planner.expressions.casts.casts import Values
    from raydb.planner.expressions.nodes import Call


def _checked(kernel: Callable[..., Values], call: Call, *values: Values) -> Values:
    """Apply a kernel, and raise DataError where it makes infinity or NaN of other doubles."""
    result = kernel(*values)
    if pc.all(pc.is_finite(result)).as_py() is not False:
        return result
    any_nan = functools.reduce(pc.or_, (pc.is_nan(value) for value in values))
    all_finite = functools.reduce(pc.and_, (pc.is_finite(value) for value in values))
    undefined = pc.and_not(pc.is_nan(result), any_nan)
    beyond = pc.and_(pc.is_inf(result), all_finite)
    if pc.any(undefined).as_py():
        raise DataError(f"{_first(call, values, undefined)} is not defined")
    if pc.any(beyond).as_py():
        raise DataError(f"{_first(call, values, beyond)} is out of range for DOUBLE")
    return result


def _first(call: Call, values: tuple[Values, ...], mask: Values) -> str:
    """Return how to write the call on the first row where a mask is true."""
    count = 1 if isinstance(mask, pa.Scalar) else len(mask)
    row = pc.index(as_array(mask, count), True).as_py()
    arguments = [as_array(value, count)[row].as_py() for value in values]
    return f"{call.function}({', '.join(str(argument) for argument in arguments)})"


def _log(base: Values, value: Values) -> Values:
    """Return the logarithm to a base, NaN for one that is not positive."""
    base = pc.if_else(pc.less_equal(base, 0.0), pa.scalar(math.nan), base)
    return pc.divide(pc.ln(value), pc.ln(base))


def _cbrt(value: Values) -> Values:
    return of_doubles(np.cbrt, value)


def _cotangent(value: Values) -> Values:
    return pc.divide(1.0, pc.tan(value))


def _degrees(value: Values) -> Values:
    return of_doubles(np.degrees, value)


def _radians(value: Values) -> Values:
    return of_doubles(np.radians, value)


_CHECKED: Mapping[str, Callable[..., Values]] = {
    "power": pc.power,
    "sqrt": pc.sqrt,
    "exp": pc.exp,
    "ln": pc.ln,
    "log": _log,
    "log2": pc.log2,
    "log10": pc.log10,
    "sin": pc.sin,
    "cos": pc.cos,
    "tan": pc.tan,
    "asin": pc.asin,
    "acos": pc.acos,
    "sinh": pc.sinh,
    "cosh": pc.cosh,
    "acosh": pc.acosh,
    "atanh": pc.atanh,
    "degrees": _degrees,
}

MATHEMATICS: Mapping[str, Function] = {
    **{
        name: Function(functools.partial(_checked, kernel), can_fail=True)
        for name, kernel in _CHECKED.items()
    },
    "cbrt": arrow(_cbrt),
    "cot": arrow(_cotangent),
    "atan": arrow(pc.atan),
    "atan2": arrow(pc.atan2),
    "tanh": arrow(pc.tanh),
    "asinh": arrow(pc.asinh),
    "radians": arrow(_radians),
    "isnan": arrow(pc.is_nan),
    "isinf": arrow(pc.is_inf),
    "isfinite": arrow(pc.is_finite),
}
