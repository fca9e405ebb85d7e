"""Rule: evaluate what does not depend on a row.

a < 2 + 3            ->  a < 5
WHERE true AND b     ->  WHERE b
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import DataError
from raydb.planner.expressions.casts.cast import literal_value
from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.registry import is_volatile
from raydb.planner.expressions.slots import Hole, records_conversion

if TYPE_CHECKING:
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.plan.nodes import Plan


def fold_constants(plan: Plan, _: CatalogInfo) -> Plan:
    """Replace calls whose arguments are all constant by their value."""
    return plan.rewrite(fold)


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
    try:
        value = evaluate(replace(call, arguments=arguments if call.arguments else ()), {}, 1)[0]
    except DataError:
        return None
    return Literal(literal_value(value), call.type)


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
        case _:
            return Call(function, tuple(rest), call.type)
