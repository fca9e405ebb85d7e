"""Functions of dates and times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.compute as pc

from raydb.planner.functions.function import Function, arrow

if TYPE_CHECKING:
    from collections.abc import Mapping

TIME: Mapping[str, Function] = {
    "year": arrow(pc.year),
    "month": arrow(pc.month),
    "day": arrow(pc.day),
}
