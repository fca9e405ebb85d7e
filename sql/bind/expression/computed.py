"""Constants that a plan itself depends on, such as LIMIT 2 + 3: they are computed while binding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.nodes import Expression, Literal
from raydb.planner.plan.enum_codes import coded
from raydb.planner.rules.fix_clock import calls_clock
from raydb.storage.moments import python_number

if TYPE_CHECKING:
    from raydb.sql.bind.binding import Binding


def compute_constant(expression: Expression, binding: Binding | None) -> Literal:
    """Return the value of an expression without columns; one of the time is noted in the binding.

    Raises DataError where it has no value.
    """
    if binding is not None and calls_clock(expression):
        binding.clock_reads.append(expression)
    return Literal(python_number(evaluate(coded(expression), {}, 1)[0]), expression.type)
