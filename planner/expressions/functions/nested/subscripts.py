"""Subscripts, which are those of lists, structs, maps or texts."""

from __future__ import annotations

from raydb.planner.expressions.columns.adapters import of_rows
from raydb.planner.expressions.functions.nested.lists import (
    list_element,
    list_slice,
    list_steps,
    subscript,
)
from raydb.planner.expressions.functions.nested.maps import map_value
from raydb.planner.expressions.functions.nested.structs import bind_extract
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.registry import composed, scalar
from raydb.planner.expressions.types import BIGINT, TEXT, is_map, is_struct


@composed(
    "list[n], list_extract(list, n), list_element(list, n), array_extract(list, n)",
    "an element, from the end if `n` is negative, NULL outside of the list; also a character of"
    " text: [10, 20][2], [10, 20][-2], [10, 20][3] -> 20 | 10 | NULL",
)
def _element(_: str, operand: Expression, index: Expression) -> Expression:
    return element(operand, index)


def element(operand: Expression, index: Expression) -> Expression:
    """Return list[index], struct['name'], map[key] or text[index]."""
    if is_struct(operand.type):
        return bind_extract("a subscript", operand, index)
    if is_map(operand.type):
        return map_value(operand, index)
    if operand.type == TEXT:
        return part(operand, index, index)
    return list_element(operand, index)


@composed(
    "list[n:m], list_slice(list, n, m [, step]), array_slice(list, n, m [, step])",
    "the elements from `n` to `m`, both included, counted from the end where these are negative;"
    " also characters of text: [10, 20, 30][2:3], [10, 20, 30][:-2] -> [20, 30] | [10, 20]",
)
def _part(
    name: str, operand: Expression, first: Expression, last: Expression, *step: Expression
) -> Expression:
    return list_steps(name, operand, first, last, *step) if step else part(operand, first, last)


composed("array_pop_back(list)", "without the last element: array_pop_back([1, 2, 3]) -> [1, 2]")(
    lambda _, operand: list_slice(operand, Literal(1, BIGINT), Literal(-2, BIGINT))
)
composed("array_pop_front(list)", "without the first: array_pop_front([1, 2, 3]) -> [2, 3]")(
    lambda _, operand: list_slice(operand, Literal(2, BIGINT), None)
)


def part(operand: Expression, first: Expression | None, last: Expression | None) -> Expression:
    """Return list[first:last] or text[first:last], both ends included."""
    if operand.type != TEXT:
        return list_slice(operand, first, last)
    start = Literal(1, BIGINT) if first is None else subscript(first)
    stop = Literal(-1, BIGINT) if last is None else subscript(last)
    return Call("text_slice", (operand, start, stop), TEXT)


@scalar(
    "text[n:m], text[n]",
    "characters, both ends included, counted from the end where these are negative; '' outside of"
    " the text: 'Bergen'[2:3], 'Bergen'[-1] -> 'er' | 'n'",
    name="text_slice",
    bind=lambda _, *arguments: part(*arguments),
)
@of_rows
def _text_slice(text: str, first: int, last: int) -> str:
    start = first + len(text) + 1 if first < 0 else first
    stop = last + len(text) + 1 if last < 0 else last
    return text[max(start, 1) - 1 : max(stop, 0)]
