"""Comparisons with the elements of a list: `x = ANY (list)`, `x <> ALL (list)`.

    1 = ANY ([1, NULL])    true: one is enough         1 <> ALL ([2, NULL])    NULL: who knows
    1 = ANY ([])           false, also of NULL         1 <> ALL ([])           true, also of NULL

A NULL for the list gives NULL. Elements that stand in the statement, or in a parameter, are those
of IN; a list of the row is compared by a function of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.nodes import Call, Column, Expression, Literal
from raydb.planner.expressions.types import BOOLEAN, is_list
from raydb.planner.expressions.typing_rules import cast, comparable, compare, is_in, logical, typed
from raydb.sql.bind.expression.subquery import OPPOSITES

if TYPE_CHECKING:
    from collections.abc import Sequence


def compare_any(function: str, operands: Sequence[Expression], values: Expression) -> Expression:
    """Return whether a comparison holds for some element of a list.

    Raises ProgrammingError for what is no list, NotSupportedError for a row on the left.
    """
    if len(operands) != 1:
        raise NotSupportedError("a row beside ANY or ALL of a list is not supported")
    (operand,) = operands
    values = typed(values, pa.list_(operand.type))
    if not is_list(values.type):
        raise ProgrammingError(f"IN, ANY and ALL need a list or a query, not {describe(values)}")
    items = _items(values)
    if items is None:
        element, operand = comparable(Column(-1, "element", values.type.value_type), operand)
        values = cast(values, pa.list_(element.type))
        compare(function, operand, element)
        return Call(f"any_{function}", (operand, values), BOOLEAN)
    if not items:
        compare(function, operand, Literal(None, values.type.value_type))
        return Literal(False, BOOLEAN)
    if function == "equal":
        return is_in(operand, items)
    return logical("or", [compare(function, operand, item) for item in items])


def compare_all(function: str, operands: Sequence[Expression], values: Expression) -> Expression:
    """Return whether a comparison holds for every element of a list; errors as `compare_any`."""
    return logical("not", (compare_any(OPPOSITES[function], operands, values),))


def _items(values: Expression) -> list[Expression] | None:
    """Return the elements of a list that is written with its elements; None for another one."""
    match values:
        case Literal(value=tuple() | list() as elements):
            return [Literal(each, values.type.value_type) for each in elements]
        case Call(function="list_value", arguments=arguments):
            return list(arguments)
        case _:
            return None
