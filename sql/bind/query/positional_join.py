"""POSITIONAL JOIN: the first rows of both sides as one, the second ones, and so on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.planner.expressions.nodes import Call
from raydb.planner.expressions.types import BOOLEAN
from raydb.planner.plan.nodes import OuterJoin
from raydb.sql.bind.query.output import numbered_rows

if TYPE_CHECKING:
    from raydb.planner.plan.nodes import Plan
    from raydb.sql.bind.binding import Binding


def bind_positional_join(left: Plan, right: Plan, binding: Binding) -> Plan:
    """Return the rows of both sides by their numbers, with NULLs where one side has no more."""
    one, first = numbered_rows(left, (), (), binding)
    other, second = numbered_rows(right, (), (), binding)
    return OuterJoin("full", first, second, (Call("equal", (one, other), BOOLEAN),))
