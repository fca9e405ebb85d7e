"""Rule: one moment for the whole statement.

now(), CURRENT_DATE  ->  the moment of the statement
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.planner.expressions.nodes import Call, Expression, Literal, Subquery
from raydb.running import moment
from raydb.values import replace

if TYPE_CHECKING:
    import datetime as dt

    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.plan.nodes import Plan


def fix_clock(plan: Plan, _: CatalogInfo) -> Plan:
    """Replace now() by one constant, the local time."""
    return _fix(plan, moment()) if reads_clock(plan) else plan


def reads_clock(plan: Plan) -> bool:
    """Tell whether a plan that is bound, but not optimized, depends on the time."""
    return any(map(calls_clock, plan.expressions)) or any(map(reads_clock, plan.sources))


def calls_clock(expression: Expression) -> bool:
    """Tell whether an expression that is bound, but not optimized, depends on the time."""
    match expression:
        case Call(function=function, arguments=arguments):
            return function == "now" or any(map(calls_clock, arguments))
        case Subquery(plan=inner, arguments=given):
            return reads_clock(inner) or any(calls_clock(argument) for _, argument in given)
        case _:
            return False


def _fix(plan: Plan, now: dt.datetime) -> Plan:
    def fixed(expression: Expression) -> Expression:
        match expression:
            case Call(function="now", type=data_type):
                return Literal(now, data_type)
            case Subquery(plan=inner):
                return replace(expression, plan=_fix(inner, now))
            case _:
                return expression

    return plan.rewrite_calls(fixed)
