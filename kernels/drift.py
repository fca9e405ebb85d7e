"""Whether queries are still like those that an index was calibrated with; see `observe`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, slots=True)
class Reference:
    """How the margins of the calibration queries were spread, margins as of `Neighbours`.

    cuts (c), ascending: quantiles of the tuning queries' margins. counts (c + 1): how many
    calibration queries lie below, between and above them.
    """

    cuts: NDArray[np.float64]
    counts: NDArray[np.int64]
