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

from raydb.errors import DataError
from raydb.late import pc
from raydb.planner.expressions.columns.adapters import of_doubles, of_numpy, of_values
from raydb.planner.expressions.columns.arrays import as_array, each
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.registry import composed, scalar
from raydb.planner.expressions.signature import as_double
from raydb.planner.expressions.types import BOOLEAN, DOUBLE, is_moment
from raydb.storage.moments import infinities

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from raydb.planner.expressions.columns.arrays import Values


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


def _cotangent(value: Values) -> Values:
    return pc.divide(1.0, pc.tan(value))


def _cube_root(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return cube roots; those of whole numbers are whole, which not each machine's cbrt gives."""
    roots = np.cbrt(numbers)
    whole = np.rint(roots)
    return np.where(whole * whole * whole == numbers, whole, roots)


def _gamma(value: float) -> float:
    try:
        return math.gamma(value)
    except (ValueError, OverflowError):  # A pole, or beyond the range of doubles.
        return math.nan if value < 0 else math.inf


def _log_gamma(value: float) -> float:
    try:
        return math.lgamma(value)
    except (ValueError, OverflowError):
        return math.inf


for _signature, _says, _kernel in (
    (
        "power(x: double, y: double), pow(x, y)",
        "`x ^ y`, a DOUBLE: power(2, 10) -> 1024.0",
        pc.power,
    ),
    ("sqrt(x: double)", "square root: sqrt(16) -> 4.0", pc.sqrt),
    ("exp(x: double)", "e to the power of `x`: exp(0) -> 1.0", pc.exp),
    ("ln(x: double)", "natural logarithm: ln(1) -> 0.0", pc.ln),
    ("log2(x: double)", "logarithm to the base 2: log2(8) -> 3.0", pc.log2),
    ("log10(x: double)", "logarithm to the base 10: log10(1000) -> 3.0", pc.log10),
    ("sin(x: double)", "sine; angles are in radians: sin(0) -> 0.0", pc.sin),
    ("cos(x: double)", "cosine: cos(0) -> 1.0", pc.cos),
    ("tan(x: double)", "tangent: tan(0) -> 0.0", pc.tan),
    ("asin(x: double)", "inverse sine: asin(0) -> 0.0", pc.asin),
    ("acos(x: double)", "inverse cosine: acos(1) -> 0.0", pc.acos),
    ("sinh(x: double)", "hyperbolic sine: sinh(0) -> 0.0", pc.sinh),
    ("cosh(x: double)", "hyperbolic cosine: cosh(0) -> 1.0", pc.cosh),
    ("acosh(x: double)", "inverse hyperbolic cosine: acosh(1) -> 0.0", pc.acosh),
    ("atanh(x: double)", "inverse hyperbolic tangent: atanh(0) -> 0.0", pc.atanh),
    ("degrees(x: double)", "radians to degrees: degrees(pi()) -> 180.0", of_doubles(np.degrees)),
):
    scalar(f"{_signature} -> DOUBLE", _says, can_fail=True)(functools.partial(_checked, _kernel))

for _signature, _says, _kernel in (
    ("cbrt(x: double) -> DOUBLE", "cube root: cbrt(-27) -> -3.0", of_doubles(_cube_root)),
    ("cot(x: double) -> DOUBLE", "cotangent: round(cot(1), 3) -> 0.642", _cotangent),
    ("atan(x: double) -> DOUBLE", "inverse tangent: atan(0) -> 0.0", pc.atan),
    ("atan2(y: double, x: double) -> DOUBLE", "the angle of a point: atan2(0, 1) -> 0.0", pc.atan2),
    ("tanh(x: double) -> DOUBLE", "hyperbolic tangent: tanh(0) -> 0.0", pc.tanh),
    ("asinh(x: double) -> DOUBLE", "inverse hyperbolic sine: asinh(0) -> 0.0", pc.asinh),
    (
        "even(x: double) -> DOUBLE",
        "the next even number away from zero: even(2.1) -> 4.0",
        of_doubles(lambda x: np.copysign(2 * np.ceil(np.abs(x) / 2), x)),
    ),
    (
        "nextafter(x: double, y: double) -> DOUBLE",
        "the next double after x towards y: nextafter(1, 2) > 1 -> true",
        of_doubles(np.nextafter),
    ),
    (
        "fmod(x: double, y: double) -> DOUBLE",
        "the remainder of a division that rounds down, with the sign of y: fmod(-7, 3) -> 2.0",
        of_doubles(np.mod),
    ),
    (
        "fdiv(x: double, y: double) -> DOUBLE",
        "the quotient, rounded down: fdiv(-7, 2) -> -4.0",
        of_doubles(np.floor_divide),
    ),
    (
        "gamma(x: double) -> DOUBLE",
        "the gamma function: gamma(5) -> 24.0",
        of_doubles(np.vectorize(_gamma, otypes=[np.float64])),
    ),
    (
        "lgamma(x: double) -> DOUBLE",
        "the logarithm of its absolute value: lgamma(2) -> 0.0",
        of_doubles(np.vectorize(_log_gamma, otypes=[np.float64])),
    ),
    (
        "signbit(x: double) -> BOOLEAN",
        "whether the sign is a minus, of -0.0 too: signbit(-1) -> true",
        functools.partial(of_numpy, np.signbit, BOOLEAN),
    ),
    (
        "radians(x: double) -> DOUBLE",
        "degrees to radians: radians(180) = pi() -> true",
        of_doubles(np.radians),
    ),
    ("isnan(x: double) -> BOOLEAN", "whether it is NaN: isnan('NaN'::DOUBLE) -> true", pc.is_nan),
):
    scalar(_signature, _says)(of_values(_kernel))


def _bind_infinite(name: str, operand: Expression) -> Expression:
    operand = operand if is_moment(operand.type) else as_double(name, operand)
    return Call(name, (operand,), BOOLEAN)


def _infinite(_: Call, values: Values) -> Values:
    if not is_moment(values.type):
        return pc.is_inf(values)

    def find(array: pa.Array) -> pa.Array:
        found = pa.array(infinities(array) != 0)
        return pc.if_else(array.is_valid(), found, pa.scalar(None, BOOLEAN))

    return each(values, find, BOOLEAN)


def _finite(call: Call, values: Values) -> Values:
    if is_moment(values.type):
        return pc.invert(_infinite(call, values))
    return pc.is_finite(values)


scalar(
    "isinf(x)",
    "whether a number, a date or a timestamp is infinite: isinf('-infinity'::DATE) -> true",
    bind=_bind_infinite,
)(_infinite)
scalar(
    "isfinite(x)",
    "whether it is neither NaN nor infinite: isfinite(1) -> true",
    bind=_bind_infinite,
)(_finite)


def _bind_log(name: str, *arguments: Expression) -> Expression:
    doubles = tuple(as_double(name, argument) for argument in arguments)
    return Call("log" if len(doubles) == 2 else "log10", doubles, DOUBLE)


@scalar(
    "log(x), log(base, x)",
    "logarithm to a base, 10 by default: log(1000), log(2, 8) -> 3.0 | 3.0",
    bind=_bind_log,
    can_fail=True,
)
def _log(call: Call, base: Values, value: Values) -> Values:
    def logarithm(base: Values, value: Values) -> Values:
        # NaN for a base that is not positive
        base = pc.if_else(pc.less_equal(base, 0.0), pa.scalar(math.nan), base)
        return pc.divide(pc.ln(value), pc.ln(base))

    return _checked(logarithm, call, base, value)


composed("pi()", "3.14159...: pi() > 3.14159 -> true")(lambda _: Literal(math.pi, DOUBLE))
