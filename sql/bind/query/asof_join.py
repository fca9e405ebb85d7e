"""ASOF JOIN: the equalities and the one inequality by which a row finds its nearest one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.planner.expressions.nodes import Call, Expression, columns_of, has_subquery
from raydb.planner.expressions.show import show
from raydb.planner.plan.nodes import AsofJoin, SemiJoin, filter_rows
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.planner.plan.nodes import Plan

Inequality = Literal["less", "less_equal", "greater", "greater_equal"]
_MIRRORED: dict[str, Inequality] = {
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
}


def bind_asof_join(
    side: str | None, kind: str | None, left: Plan, right: Plan, conditions: Sequence[Expression]
) -> Plan:
    """Return the left rows with their nearest right row, or those that have one, or have none.

    Raises ProgrammingError for conditions that are not one inequality of both sides beside
    equalities of both and conditions on the right side.
    """
    if side not in (None, "LEFT"):
        raise NotSupportedError(f"ASOF {side} JOIN is not supported; ASOF and ASOF LEFT are")
    equal: list[tuple[Expression, Expression]] = []
    nearest: list[tuple[Inequality, Expression, Expression]] = []
    of_right: list[Expression] = []
    for condition in conditions:
        if has_subquery(condition):
            raise NotSupportedError("a subquery in ON of an ASOF JOIN is not supported")
        match _compared(condition, left, right):
            case ("equal", one, other):
                equal.append((one, other))
            case (function, one, other):
                nearest.append((cast("Inequality", function), one, other))
            case None if columns_of(condition) <= set(right.columns):
                of_right.append(condition)
            case None:
                raise ProgrammingError(
                    f"{show(condition)} is no condition of an ASOF JOIN: it takes equalities and"
                    " one inequality of its two sides, and conditions on the right one"
                )
    if len(nearest) != 1:
        found = "none" if not nearest else str(len(nearest))
        raise ProgrammingError(
            f"an ASOF JOIN needs one inequality of its two sides (>=, >, <= or <), not {found}"
        )
    if kind in ("SEMI", "ANTI"):
        return SemiJoin("semi" if kind == "SEMI" else "anti", left, right, tuple(conditions))
    function, value, other_value = nearest[0]
    return AsofJoin(
        "inner" if side is None else "left",
        function,
        left,
        filter_rows(right, of_right),
        tuple(one for one, _ in equal),
        tuple(other for _, other in equal),
        value,
        other_value,
    )


def nearest_by_last(conditions: Sequence[Expression]) -> list[Expression]:
    """Return the equalities of USING with the last as `left >= right`."""
    *equal, last = conditions
    assert isinstance(last, Call)
    return [*equal, replace(last, function="greater_equal")]


def _compared(
    condition: Expression, left: Plan, right: Plan
) -> tuple[str, Expression, Expression] | None:
    """Return a comparison of the two sides as (function, left, right)."""
    match condition:
        case Call(function=function, arguments=(one, other)) if (
            function == "equal" or function in _MIRRORED
        ):
            sides = columns_of(one), columns_of(other)
            if not all(sides):
                return None
            if sides[0] <= set(left.columns) and sides[1] <= set(right.columns):
                return function, one, other
            if sides[0] <= set(right.columns) and sides[1] <= set(left.columns):
                return _MIRRORED.get(function, function), other, one
    return None
