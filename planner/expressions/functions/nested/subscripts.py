"""Subscripts, which are those of lists, structs or maps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.planner.expressions.functions.nested.lists import list_element
from raydb.planner.expressions.functions.nested.maps import map_value
from raydb.planner.expressions.functions.nested.structs import bind_extract
from raydb.planner.expressions.types import is_map, is_struct

if TYPE_CHECKING:
    from raydb.planner.expressions.nodes import Expression


def element(operand: Expression, index: Expression) -> Expression:
    """Return list[index], struct['name'] or map[key]."""
    if is_struct(operand.type):
        return bind_extract("a subscript", operand, index)
    if is_map(operand.type):
        return map_value(operand, index)
    return list_element(operand, index)
