"""Whether queries are still like those that an index was calibrated with; see `observe`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Classes of margins; the last digits of a margin tell nothing of a drift.
_CLASSES = 64


@dataclass(frozen=True, eq=False, slots=True)
class Reference:
    """How the margins of the calibration queries were spread, margins as of `Neighbours`.

    cuts (c), ascending: quantiles of the tuning queries' margins. counts (c + 1): how many
    calibration queries lie below, between and above them.
    """

    cuts: NDArray[np.float64]
    counts: NDArray[np.int64]


def reference_of(tuning: NDArray[np.float64], calibration: NDArray[np.float64]) -> Reference:
    """Return how margins are spread: the bounds by some queries, the counts by others."""
    levels = np.linspace(0, 1, min(_CLASSES, len(tuning) + 1) + 1)[1:-1]
    cuts = np.unique(np.quantile(tuning, levels)) if len(levels) else np.empty(0)
    classes = np.searchsorted(cuts, calibration, side="right")
    return Reference(cuts, np.bincount(classes, minlength=len(cuts) + 1).astype(np.int64))
