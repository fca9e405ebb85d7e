"""Filters that leave the first rows of each partition of a window alone, which then sees no others.

QUALIFY row_number() OVER (PARTITION BY k ORDER BY v) <= 2  ->  Window(.., most=2)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.planner.expressions.nodes import Call, Column, Literal, conjuncts
from raydb.planner.plan.nodes.window import NUMBERING
from raydb.values import replace

if TYPE_CHECKING:
    from raydb.planner.expressions.nodes import Expression
    from raydb.planner.plan.nodes import Window

# The rows of each number take a pass.
_MOST = 4

# The greatest number that passes a comparison with a constant: this much less than it.
_LESS = {"equal": 0, "less_equal": 0, "less": 1}
_MIRRORED = {"equal": 0, "greater_equal": 0, "greater": 1}


def with_most(window: Window, predicate: Expression) -> Window:
    """Return a window that may leave rows out for which a predicate over it is not true.

    Rows are numbered alike by all of its functions, so that those beyond a number do not matter to
    the ones before them.
    """
    calls = [call for _, call in window.calls]
    first = calls[0]
    is_alike = all(
        call.function in NUMBERING
        and call.filter is None
        and (call.partition_by, call.order_by) == (first.partition_by, first.order_by)
        for call in calls
    )
    if not (is_alike and first.partition_by and first.order_by):
        return window
    numbers = frozenset(column for column, _ in window.calls)
    found = [_most(part, numbers) for part in conjuncts(predicate)]
    most = min((each for each in found if each is not None), default=0)
    return replace(window, most=most) if 0 < most <= _MOST else window


def _most(part: Expression, numbers: frozenset[Column]) -> int | None:
    """Return the greatest of some numbers for which a comparison holds, None where any may be."""
    match part:
        case Call(function, (Column() as column, Literal(value=int() as value))):
            less = _LESS.get(function)
        case Call(function, (Literal(value=int() as value), Column() as column)):
            less = _MIRRORED.get(function)
        case _:
            return None
    return None if less is None or column not in numbers else value - less
