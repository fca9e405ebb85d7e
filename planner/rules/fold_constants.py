"""Rule: evaluate what does not depend on a row.

a < 2 + 3            ->  a < 5
WHERE true AND b     ->  WHERE b
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import DataError
from raydb.planner.expressions.casts.cast import literal_value
from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.registry import is_volatile
from raydb.planner.expressions.slots import Hole, records_conversion
from raydb.storage.integers import bounds_of
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.plan.nodes import Plan


def fold_constants(plan: Plan, _: CatalogInfo) -> Plan:
    """Replace calls whose arguments are all constant by their value."""
    return plan.rewrite_calls(fold)


def fold(expression: Expression) -> Expression:
    """Return a call of constants as its value, and what constants of AND and OR leave of them."""
    match expression:
        case Call(function="and" | "or" as function, arguments=arguments):
            return _fold_logic(expression, function, arguments)
        case Call(function="not", arguments=(Call(function="not", arguments=(inner,)),)):
            return inner
        case Call(arguments=arguments) if all(
            isinstance(argument, Literal) for argument in arguments
        ) and not is_volatile(expression):
            # What the value of a slot comes to is another value for each that replaces it.
            place = next((i for i, each in enumerate(arguments) if isinstance(each, Hole)), 0)
            literal = arguments[place] if arguments else Literal(None, pa.null())
            assert isinstance(literal, Literal), literal
            # 1 / 0 is an error only for the rows that reach it: leave it to the execution.
            return _value(literal, expression, place) or expression
        case _:
            return expression


@records_conversion
def _value(literal: Literal, call: Call, place: int) -> Literal | None:
    """Return the value of a call with the literal as an argument; None where it is an error."""
    arguments = (*call.arguments[:place], literal, *call.arguments[place + 1 :])
    whole = _whole_number(call, arguments)
    if whole is not None:
        return Literal(whole, call.type)
    try:
        value = evaluate(replace(call, arguments=arguments if call.arguments else ()), {}, 1)[0]
    except DataError:
        return None
    return Literal(literal_value(value), call.type)


# Arithmetic of whole numbers, which Arrow takes ten times as long for.
_OF_WHOLE_NUMBERS: dict[str, Callable[..., int]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "negate": operator.neg,
}
_BOUNDS = {kind: bounds_of(kind) for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64())}


def _whole_number(call: Call, arguments: Sequence[Expression]) -> int | None:
    """Return the value of plain arithmetic of integers, if its type and theirs can hold it."""
    compute, bounds = _OF_WHOLE_NUMBERS.get(call.function), _BOUNDS.get(call.type)
    if compute is None or bounds is None:
        return None
    values = [each.value for each in arguments if isinstance(each, Literal)]
    if not all(type(value) is int for value in values):
        return None  # a NULL, a Boolean or no whole number
    value = compute(*values)
    least, most = bounds
    fits = all(least <= each <= most for each in (*values, value))
    return value if fits else None


def _fold_logic(call: Call, function: str, arguments: tuple[Expression, ...]) -> Expression:
    """Drop the neutral constant of AND or OR; its opposite decides the whole."""
    neutral = function == "and"
    rest = []
    for argument in arguments:
        if isinstance(argument, Literal) and argument.value is not None:
            if argument.value is not neutral:
                return Literal(not neutral, pa.bool_())
        else:
            rest.append(argument)
    match rest:
        case []:
            return Literal(neutral, pa.bool_())
        case [only]:
            return only
        case _ if len(rest) == len(arguments):
            return call
        case _:
            return Call(function, tuple(rest), call.type)
