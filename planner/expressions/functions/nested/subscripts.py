"""Subscripts, which are those of lists, structs, maps or texts."""

from __future__ import annotations

from raydb.planner.expressions.columns.adapters import of_rows
from raydb.planner.expressions.functions.nested.lists import list_element, list_slice, subscript
from raydb.planner.expressions.functions.nested.maps import map_value
from raydb.planner.expressions.functions.nested.structs import bind_extract
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.registry import scalar
from raydb.planner.expressions.types import BIGINT, TEXT, is_map, is_struct


def element(operand: Expression, index: Expression) -> Expression:
    """Return list[index], struct['name'], map[key] or text[index]."""
    if is_struct(operand.type):
        return bind_extract("a subscript", operand, index)
    if is_map(operand.type):
        return map_value(operand, index)
    if operand.type == TEXT:
        return part(operand, index, index)
    return list_element(operand, index)


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
