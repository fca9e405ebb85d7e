"""Scalar functions by their SQL names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.errors import ProgrammingError, did_you_mean
from raydb.sql.functions.aggregates import AGGREGATES
from raydb.sql.functions.conditional import CONDITIONAL
from raydb.sql.functions.database import DATABASE
from raydb.sql.functions.lists import LISTS
from raydb.sql.functions.numbers import NUMBERS
from raydb.sql.functions.patterns import PATTERNS
from raydb.sql.functions.signature import Signature, check_count
from raydb.sql.functions.text import TEXT
from raydb.sql.functions.text_format import TEXT_FORMAT
from raydb.sql.functions.time import TIME

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raydb.planner.expressions.nodes import Expression

SCALARS: Mapping[str, Signature] = {
    **CONDITIONAL,
    **NUMBERS,
    **TEXT,
    **TEXT_FORMAT,
    **PATTERNS,
    **TIME,
    **LISTS,
    **DATABASE,
}


def bind_scalar(name: str, arguments: Sequence[Expression]) -> Expression:
    """Return a call of a scalar function by its SQL name (in lower case)."""
    if name not in SCALARS:
        known = (*SCALARS, *AGGREGATES, "cast", "extract")
        raise ProgrammingError(f"function '{name}' does not exist{did_you_mean(name, known)}")
    signature = SCALARS[name]
    check_count(name, signature.least, signature.most, len(arguments))
    return signature.bind(name, *arguments)
