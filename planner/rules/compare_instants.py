"""Rule: compare what clocks show with what they show at an instant.

CAST(t AS TIMESTAMP WITH TIME ZONE) < '2026-05-17 08:00:00+00'   ->  t < '2026-05-17 10:00:00'

`t > now() - INTERVAL '1 day'` compares a TIMESTAMP with an instant; this keeps the cast off the
column, for the zone maps and BVHs that know the column alone. Where the clocks of the zone change
within some hours of the instant, they do not show moments in their order, and the cast stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.planner.expressions.columns.zones import is_steady_around
from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.slots import records_conversion
from raydb.planner.expressions.types import TIMESTAMP, TIMESTAMPTZ
from raydb.storage.moments import python_number

if TYPE_CHECKING:
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.plan.nodes import Plan

_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


def compare_instants(plan: Plan, _: CatalogInfo) -> Plan:
    """Replace comparisons of timestamps with constant instants."""
    return plan.rewrite_calls(_compare)


def _compare(expression: Expression) -> Expression:
    match expression:
        case Call(
            function, (Literal() as constant, Call("cast_in_zone", (shown, Literal() as zone)))
        ) if function in _COMPARISONS:
            moment = _moment_of(constant, shown, zone)
            return expression if moment is None else Call(function, (moment, shown), pa.bool_())
        case Call(
            function, (Call("cast_in_zone", (shown, Literal() as zone)), Literal() as constant)
        ) if function in _COMPARISONS:
            moment = _moment_of(constant, shown, zone)
            return expression if moment is None else Call(function, (shown, moment), pa.bool_())
        case _:
            return expression


def _moment_of(constant: Literal, shown: Expression, zone: Literal) -> Literal | None:
    """Return what clocks show at an instant; None where that is not the same comparison."""
    is_known = not (constant.is_null or zone.is_null)
    if constant.type != TIMESTAMPTZ or shown.type != TIMESTAMP or not is_known:
        return None
    return _moment(constant, Literal(zone.value, zone.type))


@records_conversion
def _moment(constant: Literal, zone: Literal) -> Literal | None:
    instant = pa.array([constant.value], TIMESTAMPTZ).view(pa.int64()).to_numpy()
    if not is_steady_around(int(instant[0]), zone.value):
        return None
    (value,) = evaluate(Call("cast_in_zone", (constant, zone), TIMESTAMP), {}, 1)
    return Literal(python_number(value), TIMESTAMP)
