"""Rule: compare dates with dates.

CAST(d AS TIMESTAMP) < TIMESTAMP '1998-09-02 00:00'   ->  d < DATE '1998-09-02'
CAST(d AS TIMESTAMP) < TIMESTAMP '1998-09-02 12:00'   ->  d <= DATE '1998-09-02'

`date '1998-12-01' - interval '90' day` is a timestamp, as in PostgreSQL; this keeps the cast off
the column, for the sake of speed and of the zone maps and BVHs that know the column alone.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.slots import records_conversion
from raydb.planner.expressions.types import TIMESTAMP

if TYPE_CHECKING:
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.plan.nodes import Plan

# A comparison with the sides exchanged.
_MIRRORED = {
    "equal": "equal",
    "not_equal": "not_equal",
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
}
# A comparison of a midnight with a later time of a day, as one with the day.
_OF_DAY = {
    "less": "less_equal",
    "less_equal": "less_equal",
    "greater": "greater",
    "greater_equal": "greater",
}


def compare_dates(plan: Plan, _: CatalogInfo) -> Plan:
    """Replace comparisons of dates with constant timestamps."""
    return plan.rewrite_calls(_compare)


def _compare(expression: Expression) -> Expression:
    match expression:
        case Call(function, (Literal() as constant, Call("cast") as cast)) if function in _MIRRORED:
            return _with_date(_MIRRORED[function], cast, constant) or expression
        case Call(function, (Call("cast") as cast, Literal() as constant)) if function in _MIRRORED:
            return _with_date(function, cast, constant) or expression
        case _:
            return expression


def _with_date(function: str, cast: Call, constant: Literal) -> Expression | None:
    (operand,) = cast.arguments
    if operand.type != pa.date32() or constant.type != TIMESTAMP or constant.is_null:
        return None
    day = _day_of_midnight(constant)
    if day is None:
        if function not in _OF_DAY:
            return None  # never equal; rare, and NULL has to stay NULL
        function = _OF_DAY[function]
        day = Literal(constant.value.date(), pa.date32())
    return Call(function, (operand, day), pa.bool_())


@records_conversion
def _day_of_midnight(constant: Literal) -> Literal | None:
    """Return the day that begins with a moment; None for a later one."""
    moment = constant.value
    return Literal(moment.date(), pa.date32()) if moment.time() == dt.time() else None
