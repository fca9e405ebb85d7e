"""Parts of dates and timestamps of all years; Arrow knows those from 1 to 9999."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.late import pc
from raydb.planner.expressions.columns.arrays import each
from raydb.planner.expressions.columns.moments import finite
from raydb.storage.moments import are_plain, into_one_cycle, is_moment

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.planner.expressions.columns.arrays import Values


def of_calendar(kernel: Callable[..., Values], *, is_year: bool = False) -> Callable[..., Values]:
    """Let a kernel of Arrow's take dates and timestamps of all years; NULL for infinite ones.

    is_year: what it returns is a year, or else the same 400 years later.
    """

    def find(values: Values) -> Values:
        if not is_moment(values.type) or are_plain(values):
            return kernel(values)
        return each(finite(values), find_far, pa.int64())

    def find_far(array: pa.Array) -> pa.Array:
        moved, years = into_one_cycle(array)
        found = kernel(moved)
        return pc.add(found, pa.array(years)) if is_year else found

    return find


year_of = of_calendar(pc.year, is_year=True)


def era_of(values: Values) -> Values:
    """Return 1, or 0 for a moment before the year 1."""
    return pc.cast(pc.greater(year_of(values), 0), pa.int64())


def name_of(moments: Values, form: str) -> Values:
    """Return the name of a day or a month; NULL for infinite moments."""
    if are_plain(moments):
        return pc.strftime(moments, form)

    def names(array: pa.Array) -> pa.Array:
        return pc.strftime(into_one_cycle(array)[0], form)

    return each(finite(moments), names, pa.string())
