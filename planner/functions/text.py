"""Functions of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from raydb.errors import DataError
from raydb.planner.casts import Values, cast_values
from raydb.planner.functions.function import Function, arrow, row_by_row

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raydb.planner.expression import Call


def _concat(_: Call, *values: Values) -> Values:
    texts = [cast_values(value, pa.string()) for value in values]
    return pc.binary_join_element_wise(*texts, "", null_handling="emit_null")


def _substring(call: Call, text: Values, start: Values, length: Values | None = None) -> Values:
    """Return the characters at the positions start, ..., start + length - 1 that exist.

    Position 1 is the first character; as in the SQL standard the positions before it count:
    substring('hello', -1, 3) is 'h'.
    """
    positions = (start,) if length is None else (start, length)
    if not all(isinstance(position, pa.Scalar) for position in positions):
        return row_by_row(_slice, call.type, text, *positions)
    first, stop = _span(*(position.as_py() for position in positions))
    if first is None:
        return pa.scalar(None, call.type)
    return pc.utf8_slice_codeunits(text, first, stop)


def _span(start: int | None, *length: int | None) -> tuple[int | None, int | None]:
    """Return the slice [first, stop) of SQL's start and length; (None, None) if one is NULL."""
    if start is None or None in length:
        return None, None
    if not length:
        return max(start, 1) - 1, None
    (count,) = length
    assert count is not None
    if count < 0:
        raise DataError(f"the length of a substring cannot be negative, as {count} is")
    first = max(start, 1) - 1
    return first, max(start + count - 1, first)


def _slice(text: str | None, *at: int | None) -> str | None:
    first, stop = _span(*at)
    return None if text is None or first is None else text[first:stop]


TEXT: Mapping[str, Function] = {
    "concat": Function(_concat),
    "lower": arrow(pc.utf8_lower),
    "upper": arrow(pc.utf8_upper),
    "trim": arrow(lambda text: pc.utf8_trim(text, " ")),
    "length": arrow(pc.utf8_length),
    "substring": Function(_substring, can_fail=True),
}
