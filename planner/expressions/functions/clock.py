"""The moment of the statement, and what clocks show then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.planner.expressions.nodes import Call, Expression
from raydb.planner.expressions.registry import composed, scalar
from raydb.planner.expressions.types import DATE, TIME, TIMESTAMP, TIMESTAMPTZ
from raydb.planner.expressions.typing_rules import cast
from raydb.running import moment

if TYPE_CHECKING:
    from raydb.planner.expressions.columns.arrays import Values


def current_moment(name: str) -> Expression:
    """Return CURRENT_DATE, CURRENT_TIMESTAMP, LOCALTIME and so on, by the name in lower case."""
    now = Call("now", (), TIMESTAMPTZ)
    if name in ("current_date", "today"):
        return cast(now, DATE)
    if name in ("current_time", "localtime"):
        return cast(now, TIME)
    return cast(now, TIMESTAMP) if name == "localtimestamp" else now


composed("current_date, current_date(), today()", "today: current_date = today() -> true")(
    current_moment
)


@scalar(
    "now(), current_timestamp, current_timestamp(), get_current_timestamp()",
    "the moment of the statement, a TIMESTAMP WITH TIME ZONE: now() = current_timestamp -> true",
    bind=current_moment,
)
def _now(_: Call) -> Values:
    return pa.scalar(moment(), TIMESTAMPTZ)


composed(
    "localtimestamp, localtimestamp()",
    "what clocks show then, a TIMESTAMP: localtimestamp = now()::TIMESTAMP -> true",
)(current_moment)


composed(
    "current_time, current_time(), localtime, localtime()",
    "its time of day: current_time = localtime -> true",
)(current_moment)
