"""repeat('a', 3): the same row so many times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.planner.expressions.types import INTEGER
from raydb.planner.expressions.typing_rules import typed
from raydb.planner.plan.function_arguments import Argument, whole
from raydb.planner.plan.nodes import Plan, Project, Series
from raydb.planner.plan.table_function import PlannedFunction

if TYPE_CHECKING:
    from raydb.planner.plan.table_function import FunctionCall

_MAX_ROWS = 2**40


class Repeat(PlannedFunction):
    """repeat(value, count): one column of that name."""

    name = "repeat"
    names_column = True
    is_positional = True
    arguments = (
        Argument("value", is_required=True),
        Argument("count", whole(0, _MAX_ROWS), is_required=True),
    )
    usage = "a value, and how many rows have it"

    def bind(self, call: FunctionCall) -> Plan:
        """Return the rows."""
        value = typed(call.constants["value"], INTEGER)
        number = call.new_column("number", pa.int64())
        column = call.new_column(self.name, value.type)
        return Project(Series(number, 0, call.value("count"), 1), ((column, value),))
