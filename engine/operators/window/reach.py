"""How far window functions see, where the rows of a partition come block by block.

whole      sum(x) OVER ()                      one value for all rows of a partition
around     lag(x, 2), ROWS 5 PRECEDING         so many rows, known from the text
nearby     RANGE 5 PRECEDING, GROUPS ...       rows on both sides: how many, the rows tell
before     ranks, running sums                 what was before goes on as one value
behind     CURRENT ROW AND UNBOUNDED FOLLOWING as before, with the rows turned round
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.types as pt

from raydb.planner.expressions.nodes import Bound, Frame, Literal, OrderItem
from raydb.values import replace

if TYPE_CHECKING:
    from raydb.planner.expressions.nodes import WindowCall

_RANKS = frozenset({"row_number", "rank", "dense_rank"})
# Those that need the number of a partition's rows, too.
SHARES = frozenset({"ntile", "percent_rank", "cume_dist"})
_NEIGHBOURS = frozenset({"lag", "lead"})
_PICKS = frozenset({"first_value", "last_value", "nth_value"})
_RUNNING = frozenset({"count_star", "count", "sum", "avg", "min", "max"})

# A frame of so many rows goes with every block.
_MOST_AROUND = 10_000

TO_HERE = Frame("rows", Bound("unbounded_preceding"), Bound("current_row"))

_MIRRORED_PICKS = {"first_value": "last_value", "last_value": "first_value"}


def plain(call: WindowCall) -> WindowCall:
    """Return the function with the least frame: without ORDER BY all rows are peers."""
    frame = call.frame
    if call.order_by or frame.unit == "rows":
        return call
    start, end = frame.start, frame.end
    if start.kind == "current_row":
        start = Bound("unbounded_preceding")
    if end.kind == "current_row":
        end = Bound("unbounded_following")
    return replace(call, frame=replace(frame, start=start, end=end))


def is_whole(call: WindowCall) -> bool:
    """Tell whether a function is an aggregate of the whole partition for each of its rows."""
    frame = call.frame
    if call.function in _RANKS | SHARES | _NEIGHBOURS | _PICKS or frame.exclude != "no_others":
        return False
    bounds = frame.start.kind, frame.end.kind
    return bounds == ("unbounded_preceding", "unbounded_following")


def around(call: WindowCall) -> tuple[int, int] | None:
    """Return how many rows before and behind its own a function sees, None where none knows."""
    if call.function in _NEIGHBOURS:
        offset = call.arguments[1] if len(call.arguments) > 1 else Literal(1, pa.int64())
        if call.ignore_nulls or not isinstance(offset, Literal) or offset.value is None:
            return None
        distance = int(offset.value) if call.function == "lead" else -int(offset.value)
        found = max(-distance, 0), max(distance, 0)
        return found if max(found) <= _MOST_AROUND else None
    frame = call.frame
    if frame.unit != "rows" or not is_nearby(call):
        return None
    reach = []
    for bound in (frame.start, frame.end):
        rows = 0
        if bound.kind != "current_row":
            assert isinstance(bound.offset, Literal), "offsets are constant"
            rows = int(bound.offset.value)
        reach.append(-rows if bound.kind == "preceding" else rows)
    before, behind = max(-min(reach), 0), max(*reach, 0)
    return (before, behind) if max(before, behind) <= _MOST_AROUND else None


def is_nearby(call: WindowCall) -> bool:
    """Tell whether a function sees the rows of a frame with an end on both sides, or a neighbour.

    What EXCLUDE takes out of a frame lies in it, so the frame's rows are enough.
    """
    if call.function in _NEIGHBOURS:
        return around(call) is not None
    bounds = call.frame.start.kind, call.frame.end.kind
    is_bounded = not any(kind.startswith("unbounded") for kind in bounds)
    return is_bounded and call.function not in _RANKS | SHARES


def is_running(call: WindowCall) -> bool:
    """Tell whether a value comes of that of the row before and of its own row, or its peers."""
    if call.function in _RANKS | SHARES:
        return True
    frame = call.frame
    if frame.start.kind != "unbounded_preceding" or frame.exclude != "no_others" or call.distinct:
        return False
    if call.function == "first_value" and not call.ignore_nulls:
        return frame.end.kind != "preceding"
    if frame.end.kind != "current_row":
        return False
    if call.function in ("min", "max"):
        return _is_comparable(call.type)
    return call.function in _RUNNING or call.function in _MIRRORED_PICKS


def _is_comparable(kind: pa.DataType) -> bool:
    is_plain = pt.is_integer(kind) or pt.is_decimal(kind) or pt.is_temporal(kind)
    is_plain = (is_plain and not pt.is_interval(kind)) or pt.is_floating(kind)
    return bool(is_plain or pt.is_string(kind))


def is_remaining(call: WindowCall) -> bool:
    """Tell whether a function is a running one over the rows in the opposite order."""
    return is_running(mirrored(call)) and call.function not in _RANKS | SHARES


def mirrored(call: WindowCall) -> WindowCall:
    """Return the function that gives the same values over the rows in the opposite order."""
    start, end = _mirrored_bound(call.frame.end), _mirrored_bound(call.frame.start)
    order = tuple(
        OrderItem(item.expression, not item.descending, not item.nulls_first)
        for item in call.order_by
    )
    function = _MIRRORED_PICKS.get(call.function, call.function)
    frame = replace(call.frame, start=start, end=end)
    return replace(call, function=function, frame=frame, order_by=order)


def _mirrored_bound(bound: Bound) -> Bound:
    match bound.kind:
        case "unbounded_preceding":
            return Bound("unbounded_following")
        case "unbounded_following":
            return Bound("unbounded_preceding")
        case "preceding":
            return Bound("following", bound.offset)
        case "following":
            return Bound("preceding", bound.offset)
        case _:
            return bound
