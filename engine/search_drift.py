"""Whether the queries of searches are still like those that a calibration was made with.

    search  ->  observe(index, calibration, what it found)  ->  a martingale for each calibration

It is kept in memory, since the database was opened, and rollbacks change nothing here. Where the
martingale crosses `WARNING_LEVEL`, the next statement tells, once.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raydb.kernels.conformal import Calibration
    from raydb.kernels.nearest import Neighbours

# Queries that the recent mean of scanned lists is of.
RECENT_QUERIES = 1000


@dataclass(frozen=True, slots=True)
class Seen:
    """What searches by a calibration have shown: how many there were, None for what is unknown."""

    searched: int = 0
    recent_probes: float | None = None
    log10_martingale: float = 0.0
    warning: str | None = None


@dataclass(slots=True)
class _Watched:
    """The searches by one calibration."""

    calibration: Calibration
    searched: int = 0
    recent: deque[int] = field(default_factory=lambda: deque(maxlen=RECENT_QUERIES))


class SearchDrift:
    """What searches have shown of each calibration; any thread may tell and ask."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._watched: dict[tuple[str, int, float, str], _Watched] = {}
        self._warnings: list[str] = []

    def observe(self, index: str, calibration: Calibration, found: Neighbours) -> None:
        """Count the queries of a search by a calibration of an index."""
        with self._lock:
            watched = self._of(index, calibration)
            watched.searched += len(found.probes)
            watched.recent.extend(found.probes.tolist())

    def seen(self, index: str, calibration: Calibration) -> Seen:
        """Return what searches have shown of a calibration."""
        with self._lock:
            watched = self._of(index, calibration)
            recent = sum(watched.recent) / len(watched.recent) if watched.recent else None
            return Seen(watched.searched, recent)

    def take_warnings(self) -> list[str]:
        """Return the warnings that nobody was told yet."""
        with self._lock:
            warnings, self._warnings = self._warnings, []
            return warnings

    def _of(self, index: str, calibration: Calibration) -> _Watched:
        key = index, calibration.k, calibration.fnr, calibration.rule.score
        known = self._watched.get(key)
        if known is None or known.calibration.rule != calibration.rule:
            known = self._watched[key] = _Watched(calibration)
        return known
