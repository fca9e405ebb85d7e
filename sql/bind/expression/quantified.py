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
from raydb.planner.expressions.types import BOOLEAN, is_list, is_struct
from raydb.planner.expressions.typing_rules import cast, comparable, compare, is_in, logical, typed
from raydb.sql.bind.expression.row_values import compare_rows
from raydb.sql.bind.expression.subquery import OPPOSITES

if TYPE_CHECKING:
    from collections.abc import Sequence


def compare_any(function: str, operands: Sequence[Expression], values: Expression) -> Expression:
    """Return whether a comparison holds for some element of a list.

    Raises ProgrammingError for what is no list, NotSupportedError for a row on the left.
    """
    if len(operands) != 1:
        return _compare_rows(function, operands, values)
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


def _compare_rows(function: str, operands: Sequence[Expression], values: Expression) -> Expression:
    """Return whether a comparison of rows holds for some row of a parameter: (a, b) IN ?."""
    items = _items(values)
    if items is None:
        raise NotSupportedError("a row beside ANY or ALL of a list of columns is not supported")
    rows = [_row(item) for item in items]
    if not rows:
        return Literal(False, BOOLEAN)
    return logical("or", [compare_rows(function, operands, row) for row in rows])


def _row(item: Expression) -> list[Expression]:
    """Return the values of an element of such a list, itself a list or a struct."""
    if isinstance(item, Literal) and not item.is_null and pa.types.is_nested(item.type):
        kinds = (
            [field.type for field in item.type]
            if is_struct(item.type)
            else [item.type.value_type] * len(item.value)
        )
        return [Literal(*each) for each in zip(item.value, kinds, strict=True)]
    return [item]


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
