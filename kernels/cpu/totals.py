"""What a job accumulates: one `Total` for each accumulator, private to a thread until merged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from raydb.kernels.cpu.warm import frozen, loops

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.kernels.bvh import Measure
    from raydb.kernels.cpu.runs import Runs


@dataclass(frozen=True, eq=False, slots=True)
class Total:
    """A running value for each group.

    kind: `rows` is the number of the group's rows, which is counted anyway; `wide` a sum that might
        not fit 64 bits.
    values: shape (row_count,), frozen; valid says which of them a minimum or maximum may take.
    arrays: of shape (group_count,): one; (high, low) where wide; none for `rows`.
    """

    kind: Literal["rows", "sum", "wide", "min", "max"]
    values: NDArray[Any]
    valid: NDArray[np.bool_] | None = None
    arrays: tuple[NDArray[Any], ...] = ()

    @property
    def takes_runs(self) -> bool:
        """Whether all rows of a run count."""
        return self.valid is None


def new_total(function: str, measure: Measure, group_count: int, row_count: int) -> Total:
    """Return the total of a function over at most `row_count` values of a measure."""
    values = frozen(measure.values)

    def full(value: float) -> tuple[NDArray[Any]]:
        return (np.full(group_count, value, np.float64 if measure.is_float else np.int64),)

    match function:
        case "count":
            if measure.valid is None:
                return Total("rows", values)
            counts = np.zeros(group_count, np.int64)
            return Total("sum", frozen(measure.valid.view(np.int8)), arrays=(counts,))
        case "sum" if measure.is_float:
            return Total("sum", values, arrays=(np.zeros(group_count),))
        case "sum" if max(-measure.low, measure.high) * row_count < 2**63:
            return Total("sum", values, arrays=(np.zeros(group_count, np.int64),))
        case "sum":
            high, low = np.zeros((2, group_count), np.int64)
            return Total("wide", values, arrays=(high, low))
        case "min":
            greatest = np.nan if measure.is_float else np.iinfo(np.int64).max
            return Total("min", values, measure.valid, full(greatest))
        case "max":
            smallest = -np.inf if measure.is_float else np.iinfo(np.int64).min
            return Total("max", values, measure.valid, full(smallest))
        case _:
            raise AssertionError(function)


def add_runs(total: Total, runs: Runs) -> None:
    """Accumulate all rows of some runs."""
    match total.kind:
        case "sum":
            loops().sum_runs(*runs.triple, total.values, *total.arrays)
        case "wide":
            loops().sum_runs_wide(*runs.triple, total.values, *total.arrays)
        case "min":
            loops().least_runs(*runs.triple, total.values, *total.arrays)
        case "max":
            loops().most_runs(*runs.triple, total.values, *total.arrays)


def add_places(total: Total, places: NDArray[np.int64], groups: NDArray[np.int64]) -> None:
    """Accumulate the rows at some places, each into its group."""
    if total.valid is not None:
        kept = total.valid[places]
        places, groups = places[kept], groups[kept]
    match total.kind:
        case "sum":
            loops().sum_places(places, groups, total.values, *total.arrays)
        case "wide":
            loops().sum_places_wide(places, groups, total.values, *total.arrays)
        case "min":
            loops().least_places(places, groups, total.values, *total.arrays)
        case "max":
            loops().most_places(places, groups, total.values, *total.arrays)


def merge(total: Total, other: Total) -> None:
    """Add what another thread has accumulated."""
    for mine, theirs in zip(total.arrays, other.arrays, strict=True):
        match total.kind:
            case "min":
                np.fmin(mine, theirs, out=mine)  # NaN is none yet, or greater than every number
            case "max":
                np.maximum(mine, theirs, out=mine)
            case _:
                np.add(mine, theirs, out=mine)


def value_of(total: Total, rows: NDArray[np.int64]) -> NDArray[Any]:
    """Return the value of each group; a wide sum becomes Python integers."""
    match total.arrays:
        case ():
            return rows
        case (values,):
            return values
        case (high, low):
            wide: NDArray[Any] = high.astype(object) * 2**32 + low.astype(object)
            return wide
        case _:
            raise AssertionError(total.kind)
