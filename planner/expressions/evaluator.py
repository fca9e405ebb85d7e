"""The vectorised evaluator: expressions over Arrow arrays.

Rules that hold throughout:

- NULL in, NULL out, but for `is_null`, `coalesce`, `case`, the three-valued `and` and `or`, and the
  functions that say so.
- Nothing wraps: a result that its type cannot hold is a DataError, as is a division by zero.
- A branch of `case`, a later argument of `coalesce`, or of `and` and `or`, cannot fail for a row
  that does not need it: `CASE WHEN b <> 0 THEN a / b END` divides only where b is not 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.errors import DataError, NotSupportedError
from raydb.planner.expressions.casts import cast as casting
from raydb.planner.expressions.columns import arrays, decimals
from raydb.planner.expressions.nodes import (
    Attribute,
    Call,
    Column,
    Expression,
    Lambda,
    Literal,
    Subquery,
    attributes_of,
    columns_of,
)
from raydb.planner.expressions.registry import FUNCTIONS, ScalarFunction
from raydb.planner.expressions.vector_value import Vector
from raydb.storage.nested import scalar_of
from raydb.storage.type_names import sql_type_name
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from raydb.planner.expressions.columns.arrays import Values


@dataclass(frozen=True, eq=False, slots=True)
class Rows:
    """The rows that an expression is evaluated on: `inputs` has `count` values for each leaf."""

    inputs: Mapping[Any, pa.Array | pa.ChunkedArray]
    count: int

    def value(self, expression: Expression) -> Values:
        """Return an expression's values: a scalar where it is constant, else `count` of them."""
        match expression:
            case Literal(value=value, type=data_type):
                if isinstance(value, Vector):
                    return value.scalar(data_type)
                return scalar_of(value, data_type)
            case Column() | Attribute():
                return self.inputs[expression]
            case Call(function=name, arguments=arguments):
                if name in _EXACT and pt.is_decimal128(expression.type):
                    result = _exact(expression, self)
                    return (
                        decimals.widen(result, expression.type)
                        if isinstance(result, decimals.Scaled)
                        else result
                    )
                function = FUNCTIONS.get(name)
                if function is None or function.compute is None:
                    raise NotSupportedError(f"the function '{name}' is not supported")
                if function.takes == "rows":
                    return _answer(expression, function.compute, (self,))
                values = [self.value(argument) for argument in arguments]
                return _apply(expression, function, values)
            case Lambda():
                raise AssertionError("a lambda is evaluated by the function that takes it")
            case Subquery():
                raise AssertionError("a subquery has become a join before it is evaluated")
            case _:
                assert_never(expression)

    def value_on(
        self, expression: Expression, inputs: Mapping[Any, pa.Array | pa.ChunkedArray], count: int
    ) -> pa.Array:
        """Return an expression's values on `count` other rows, such as the elements of lists."""
        return arrays.as_array(evaluate(expression, inputs, count), count)

    def value_where(self, expression: Expression, mask: pa.Array) -> pa.Array:
        """Return an expression's values on the rows where `mask` is true, and NULL elsewhere.

        Only those rows are evaluated. `mask` holds no NULLs.
        """
        count = arrays.count_true(mask)
        if count == 0:
            return pa.nulls(self.count, expression.type)
        if count == self.count:
            return arrays.as_array(evaluate(expression, self.inputs, count), count)
        needed = (*columns_of(expression), *attributes_of(expression))
        chosen = {leaf: self.inputs[leaf].filter(mask) for leaf in needed}
        values = evaluate(expression, chosen, count)
        is_needed = mask.to_numpy(zero_copy_only=False)
        places = np.cumsum(is_needed) - 1
        return arrays.as_array(values, count).take(pa.array(places, mask=~is_needed))


def evaluate(
    expression: Expression, inputs: Mapping[Any, pa.Array | pa.ChunkedArray], row_count: int
) -> pa.Array | pa.ChunkedArray:
    """Return the value of an expression for each row: `row_count` values of `expression.type`.

    `inputs` maps the expression's Column and Attribute leaves to arrays of `row_count` values; a
    constant expression needs none. No rows means no errors: `1 / 0` over zero rows is an empty
    array. Raises DataError for a value that cannot be computed, NotSupportedError for operand
    types that a function does not take.

    >>> evaluate(Call("add", (a, Literal(1, pa.int64())), pa.int64()), {a: pa.array([1, 2])}, 2)
    [2, 3]
    """
    if row_count == 0:
        return pa.array([], expression.type)
    values = Rows(inputs, row_count).value(expression)
    if values.type != expression.type:
        values = casting.cast_values(values, expression.type)
    if not isinstance(values, pa.Scalar):
        return values
    if not values.is_valid:
        return pa.nulls(row_count, expression.type)
    return pa.repeat(values, row_count)


_NULL = pa.null()

# Arithmetic that may be of decimals.
_EXACT = ("add", "subtract", "multiply")


def _is_exact(expression: Expression) -> TypeGuard[Call]:
    """Tell whether an expression is arithmetic that 64-bit integers may do for decimals."""
    return (
        isinstance(expression, Call)
        and expression.function in _EXACT
        and pt.is_decimal128(expression.type)
    )


def _exact(expression: Expression, rows: Rows) -> decimals.Scaled | Values:
    """Return an operand of exact arithmetic, or its result, in 64 bits if it fits.

    So `price * (1 - discount) * (1 + tax)` reads each column and writes its result once.
    """
    if not _is_exact(expression):
        values = rows.value(expression)
        return decimals.narrow(values) or values
    operands = [_exact(argument, rows) for argument in expression.arguments]
    left, right = operands
    if isinstance(left, decimals.Scaled) and isinstance(right, decimals.Scaled):
        result = decimals.calculate(expression.function, left, right, expression.type)
        if result is not None:
            return result
    values = [_full(*pair) for pair in zip(operands, expression.arguments, strict=True)]
    return _apply(expression, FUNCTIONS[expression.function], values)


def _full(operand: decimals.Scaled | Values, argument: Expression) -> Values:
    """Return an operand of exact arithmetic as Arrow's numbers."""
    if not isinstance(operand, decimals.Scaled):
        return operand
    return (
        decimals.widen(operand, argument.type) if pt.is_decimal(argument.type) else operand.values
    )


def _apply(call: Call, function: ScalarFunction, values: Sequence[Values]) -> Values:
    """Return a function's values for those of its arguments."""
    assert function.compute is not None, "calls name functions that are computed"
    if function.takes == "values":
        for value in values:
            if value.type == _NULL:
                return pa.scalar(None, call.type)
    return _answer(call, function.compute, values)


def _answer(call: Call, compute: Callable[..., Values], given: Sequence[Any]) -> Values:
    """Return what `compute` makes of a call in its type, and its errors as those of the call."""
    try:
        values = compute(call, *given)
    except pa.ArrowCapacityError as error:
        raise DataError(f"the result of {call.function}() is too long") from error
    except pa.ArrowInvalid as error:
        raise DataError(_sentence(call, str(error))) from error
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        types = ", ".join(sql_type_name(argument.type) for argument in call.arguments)
        raise NotSupportedError(f"{call.function}({types}) is not supported") from error
    return values if values.type == call.type else _fit(values, call)


def _fit(values: Values, call: Call) -> Values:
    """Return a function's values in its type; the error of an operator names the operator."""
    if FUNCTIONS[call.function].operation is None:
        return casting.cast_values(values, call.type)
    try:
        return casting.cast_values(values, call.type)
    except DataError:
        raise DataError(_sentence(call, "overflow")) from None


def _sentence(call: Call, reason: str) -> str:
    """Return what to tell the user of a function that failed."""
    if "divide by zero" in reason.lower():
        return "division by zero"
    name = FUNCTIONS[call.function].operation or call.function
    return f"the result of the {name} is out of range for {sql_type_name(call.type)}"
