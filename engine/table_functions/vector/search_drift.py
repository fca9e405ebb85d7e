"""The watch over queries of calibrated searches, which may drift away from the calibration's.

    search  ->  observe(index, calibration, what it found)  ->  a martingale for each calibration

What was seen is kept in memory while the database is open; rollbacks change nothing here. Once a
martingale is beyond `drift.WARNING`, the next query tells so in its messages, a single time.
"""

from __future__ import annotations

from collections import deque
from dataclasses import field
from math import log
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from raydb.kernels.vector import drift
from raydb.values import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.kernels.vector.conformal import Calibration
    from raydb.kernels.vector.drift import DriftState
    from raydb.kernels.vector.exact_search import Neighbours

# Queries that wait for each other: one alone takes as long in the monitor as in a search.
_TOGETHER = 64


@dataclass(slots=True)
class _Watched:
    """The searches by one calibration; the margins of the last ones wait."""

    calibration: Calibration
    state: DriftState
    waiting: list[NDArray[np.float64]] = field(default_factory=list)
    waiting_count: int = 0
    probes: deque[int] = field(default_factory=lambda: deque(maxlen=drift.RECENT))

    def catch_up(self) -> None:
        """Take note of the queries that wait."""
        if self.waiting:
            margins = np.concatenate(self.waiting)
            self.waiting, self.waiting_count = [], 0
            reference, seed = self.calibration.reference, self.calibration.seed
            self.state = drift.observe(self.state, reference, margins, seed)


class SearchDrift:
    """What searches have shown of each calibration; any thread may tell and ask."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._watched: dict[tuple[str, int, float, str], _Watched] = {}
        self._warnings: list[str] = []

    def observe(self, index: str, calibration: Calibration, found: Neighbours) -> None:
        """Take note of the queries of a search by a calibration of an index."""
        with self._lock:
            watched = self._of(index, calibration)
            watched.waiting.append(found.margins)
            watched.waiting_count += len(found.margins)
            watched.probes.extend(found.probes[-drift.RECENT :].tolist())
            if watched.waiting_count >= _TOGETHER:
                self._catch_up(index, watched)

    def seen(self, index: str, calibration: Calibration) -> dict[str, object]:
        """Return what searches by a calibration have shown, as index_calibrations() tells it.

        Of the last `drift.RECENT` queries the mean number of lists, and how far their margins are
        spread otherwise than those of the calibration, from 0 to 1; how strong the evidence of a
        change was at most: by chance alone it ever is 2 in 1 of 100 cases.
        """
        with self._lock:
            watched = self._of(index, calibration)
            self._catch_up(index, watched)
            probes, state = watched.probes, watched.state
            figures = drift.figures(state, calibration.reference)
            return {
                "searched": figures.queries,
                "recent_probes": sum(probes) / len(probes) if probes else None,
                "recent_distance": figures.recent_distance if probes else None,
                "log10_martingale": state.greatest / log(10),
                "warning": _warning(index, watched) if state.warned_at else None,
            }

    def take_warnings(self) -> list[str]:
        """Return the warnings that no query has told yet."""
        with self._lock:
            warnings, self._warnings = self._warnings, []
            return warnings

    def _of(self, index: str, calibration: Calibration) -> _Watched:
        """Return the searches by a calibration, none of which were by another one of its name."""
        key = index, calibration.k, calibration.fnr, calibration.rule.score
        known = self._watched.get(key)
        if known is None or not _is_same(known.calibration, calibration):
            state = drift.new_state(calibration.reference)
            known = self._watched[key] = _Watched(calibration, state)
        return known

    def _catch_up(self, index: str, watched: _Watched) -> None:
        was_warned = watched.state.warned_at
        watched.catch_up()
        if watched.state.warned_at and not was_warned:
            self._warnings.append(_warning(index, watched))


def _is_same(one: Calibration, other: Calibration) -> bool:
    """Say whether two calibrations say the same, as one does that was read from a file again."""
    return one is other or (
        one.rule == other.rule and np.array_equal(one.reference.cuts, other.reference.cuts)
    )


def _warning(index: str, watched: _Watched) -> str:
    calibration = watched.calibration
    return (
        f"the queries of index '{index}' for k => {calibration.k}, fnr => {calibration.fnr:g} are "
        f"not like those of its calibration, which search {watched.state.warned_at} has shown: "
        "more may be missed than promised; CALIBRATE INDEX with queries like these renews that"
    )
