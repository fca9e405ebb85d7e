"""Functions of dates and times."""

from __future__ import annotations

import pyarrow as pa

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.planner.expression import Call, Expression
from raydb.sql.functions.signature import Signature, typed
from raydb.sql.types import is_moment
from raydb.sql.typing_rules import describe

_DATE_PARTS = ("year", "month", "day")


def date_part(part: str, operand: Expression) -> Expression:
    """Return EXTRACT(part FROM operand), a BIGINT."""
    if part not in _DATE_PARTS:
        raise NotSupportedError(f"EXTRACT({part.upper()} FROM ...) is not supported")
    operand = typed(operand, pa.date32())
    if not is_moment(operand.type):
        raise ProgrammingError(f"{part}() needs a date, not {describe(operand)}")
    return Call(part, (operand,), pa.int64())


TIME = {part: Signature(date_part, 1, 1) for part in _DATE_PARTS}
