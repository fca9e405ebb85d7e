"""Casts of TIME WITH TIME ZONE: from and to texts, times and timestamps with a time zone."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from raydb.planner.expressions.columns.moments import compute
from raydb.planner.expressions.columns.zones import local_moments, utc_offsets
from raydb.storage.clocks import DAY, clock_of, packed, timetz_of, timetz_texts
from raydb.storage.moments import infinities

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.planner.expressions.columns.moments import Integers

import pyarrow as pa

CONVERSIONS = {
    ("timetz", "text"): lambda array, _: timetz_texts(array),
    ("text", "timetz"): lambda array, _: timetz_of(array),
    ("timetz", "time"): lambda array, target: compute(clock_of, target, array),
    ("time", "timetz"): lambda array, target: compute(partial(packed, offset=0), target, array),
}


def conversions_in(zone: str) -> dict[tuple[str, str], Callable[..., pa.Array]]:
    """Return the casts that depend on a time zone."""

    def shown(instants: Integers) -> Integers:
        clock = local_moments(instants, zone) % DAY
        return packed(clock, np.asarray(utc_offsets(instants, zone)) // 1_000_000)

    def convert(array: pa.Array, target: pa.DataType) -> pa.Array:
        if infinities(array).any():
            raise pa.ArrowInvalid("infinite")
        return compute(shown, target, array)

    return {("zoned", "timetz"): convert}
