"""Days of moments: the last one of a month, how many a month has, and the day itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.planner.expressions.columns.moments import compute_finite, first_day, month_number
from raydb.planner.expressions.functions.moments.time import date_part
from raydb.planner.expressions.nodes import Call, Expression
from raydb.planner.expressions.registry import composed, scalar
from raydb.planner.expressions.signature import require_moment
from raydb.planner.expressions.types import DATE
from raydb.planner.expressions.typing_rules import cast

if TYPE_CHECKING:
    from raydb.planner.expressions.columns.arrays import Values


def _bind_last_day(name: str, operand: Expression) -> Expression:
    return Call(name, (cast(require_moment(name, operand), DATE),), DATE)


@scalar(
    "last_day(moment)",
    "the last day of the month: last_day(DATE '2024-02-03') -> 2024-02-29",
    bind=_bind_last_day,
    can_fail=True,
)
def _last_day(_: Call, values: Values) -> Values:
    return compute_finite(lambda days: first_day(month_number(days) + 1) - 1, DATE, values)


@composed(
    "days_in_month(moment)",
    "how many days its month has: days_in_month(DATE '2024-02-03') -> 29",
)
def _days_in_month(_: str, operand: Expression) -> Expression:
    return date_part("day", _bind_last_day("last_day", operand))


@composed("date(moment)", "the day, as a cast: date(TIMESTAMP '2024-02-03 10:00:00') -> 2024-02-03")
def _date(_: str, operand: Expression) -> Expression:
    return cast(operand, DATE)
