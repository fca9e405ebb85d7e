"""Columns of INTERVAL for libraries that know durations alone."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.types as pt

from raydb.errors import DataError
from raydb.planner.expressions.columns.arrays import as_array
from raydb.planner.expressions.columns.moments import Intervals, compute
from raydb.planner.expressions.interval_text import DAY_MICROSECONDS
from raydb.storage.nested import leaf_types

_DURATION = pa.duration("us")


def with_durations(rows: pa.Table, *, strict: bool) -> pa.Table:
    """Return rows with intervals of days and time as durations, a day being 24 hours.

    Intervals with months stay as they are. strict: they are a DataError that
    names the column, and so are intervals in lists and structs.
    """
    for place, field in enumerate(rows.schema):
        if pt.is_interval(field.type):
            durations = _durations(as_array(rows.column(place), rows.num_rows))
            if durations is not None:
                rows = rows.set_column(place, field.name, durations)
                continue
        if strict and any(map(pt.is_interval, leaf_types(field.type))):
            raise DataError(
                f"column '{field.name}' is an INTERVAL with months, which Polars lacks; CAST it"
                " to VARCHAR"
            )
    return rows


def _durations(intervals: pa.Array) -> pa.Array | None:
    """Return intervals as durations, None where one has months or is too long."""

    def sizes(parts: Intervals) -> object:
        if parts.months.any():
            raise pa.ArrowInvalid("months")
        return parts.days * DAY_MICROSECONDS + parts.microseconds

    try:
        return compute(sizes, pa.int64(), intervals).view(_DURATION)
    except pa.ArrowInvalid:
        return None
