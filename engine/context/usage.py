"""Usage of BVHs and calibrations since the database was opened; no rollback changes it."""

from __future__ import annotations

import datetime as dt
import threading
from typing import TYPE_CHECKING

from raydb.engine.table_functions.vector.search_drift import SearchDrift
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class BvhUse:
    """How many queries used a BVH, and when the last one did."""

    hits: int
    last_used: dt.datetime


class Usage:
    """How each BVH was used, by name. searches: what searches with a promise have shown."""

    def __init__(self) -> None:
        self.bvhs: dict[str, BvhUse] = {}
        self.searches = SearchDrift()
        self._lock = threading.Lock()

    def note(self, names: Iterable[str]) -> None:
        """Count a query that used some BVHs."""
        now = dt.datetime.now()
        with self._lock:
            for name in names:
                known = self.bvhs.get(name)
                self.bvhs[name] = BvhUse(1 if known is None else known.hits + 1, now)

    def forget(self, names: Iterable[str]) -> None:
        """Begin anew for BVHs that are gone or were made anew."""
        for name in names:
            self.bvhs.pop(name, None)
