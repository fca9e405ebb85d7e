"""What a job accumulates: some totals for each group, private to a thread until merged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from raydb.kernels.backends.cpu.warm import frozen, loops

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from raydb.kernels.backends.cpu.runs import Triple
    from raydb.kernels.bvh.bvh import Measure

Kind: TypeAlias = Literal["sum", "wide", "min", "max", "fold"]
Arrays: TypeAlias = "tuple[NDArray[Any], ...]"

# How the arrays of a total are merged with those of another thread. In a minimum NaN is none yet,
# or greater than every number, so fmin takes the other one.
_MERGES = {
    "sum": (np.add,),
    "wide": (np.add, np.add),
    "min": (np.fmin,),
    "max": (np.maximum,),
    "fold": (np.add, np.fmin, np.maximum),
}


@dataclass(frozen=True, eq=False, slots=True)
class Total:
    """A running value for each group, or several that one loop keeps.

    kind: `wide` is a sum that might not fit 64 bits; `fold` a sum, a minimum and a maximum.
    values: shape (row_count,), frozen; valid says which of them a minimum or maximum may take.
    """

    kind: Kind
    values: NDArray[Any]
    valid: NDArray[np.bool_] | None = None

    def new_arrays(self, group_count: int) -> Arrays:
        """Return arrays of shape (group_count,): one, (high, low) where wide, three of a fold."""
        is_float = self.values.dtype.kind == "f"
        dtype: Any = np.float64 if is_float else np.int64
        match self.kind:
            case "sum":
                return (np.zeros(group_count, dtype),)
            case "wide":
                return np.zeros(group_count, np.int64), np.zeros(group_count, np.int64)
        greatest = np.nan if is_float else np.iinfo(np.int64).max
        smallest = -np.inf if is_float else np.iinfo(np.int64).min
        match self.kind:
            case "min":
                return (np.full(group_count, greatest, dtype),)
            case "max":
                return (np.full(group_count, smallest, dtype),)
            case _:
                return (
                    np.zeros(group_count, dtype),
                    np.full(group_count, greatest, dtype),
                    np.full(group_count, smallest, dtype),
                )


@dataclass(frozen=True, eq=False, slots=True)
class Totals:
    """The totals of a job, and for each of its functions where its value is.

    picks: (number of the total, number of its array), or None for the rows of the groups.
    """

    totals: tuple[Total, ...]
    picks: tuple[tuple[int, int] | None, ...]

    @property
    def takes_runs(self) -> bool:
        """Whether all rows of a run count."""
        return all(total.valid is None for total in self.totals)

    def new_arrays(self, group_count: int) -> list[Arrays]:
        """Return the arrays of each total."""
        return [total.new_arrays(group_count) for total in self.totals]

    def values(self, rows: NDArray[np.int64], arrays: list[Arrays]) -> tuple[NDArray[Any], ...]:
        """Return the values of each function; a wide sum becomes Python integers."""
        return tuple(
            rows if pick is None else _value(self.totals[pick[0]].kind, arrays[pick[0]], pick[1])
            for pick in self.picks
        )


def plan_totals(
    functions: Iterable[tuple[str, Measure]], row_count: int, *, by_runs: bool
) -> Totals:
    """Return the totals of some functions over at most `row_count` values of their measures.

    by_runs: whether groups are constant in runs: then one loop over a measure keeps its sum, its
    minimum and its maximum, for it takes no longer than one of them.
    """
    totals: dict[tuple[str, int], Total] = {}
    picks: list[tuple[int, int] | None] = []
    functions = list(functions)
    for function, measure in functions:
        if function == "count" and measure.valid is None:
            picks.append(None)
            continue
        total, position = _total_of(function, measure, row_count), 0
        folds = {name for name, other in functions if other is measure} & {"min", "max"}
        if by_runs and folds and measure.valid is None and total.kind != "wide":
            position = ("sum", "min", "max").index(total.kind)
            total = Total("fold", total.values)
        key = "count" if function == "count" else total.kind, id(measure)
        totals.setdefault(key, total)
        picks.append((list(totals).index(key), position))
    return Totals(tuple(totals.values()), tuple(picks))


def _total_of(function: str, measure: Measure, row_count: int) -> Total:
    values = frozen(measure.values)
    match function:
        case "count":
            assert measure.valid is not None
            return Total("sum", frozen(measure.valid.view(np.int8)))
        case "sum" if measure.is_float or max(-measure.low, measure.high) * row_count < 2**63:
            return Total("sum", values)
        case "sum":
            return Total("wide", values)
        case "min":
            return Total("min", values, measure.valid)
        case "max":
            return Total("max", values, measure.valid)
        case _:
            raise AssertionError(function)


def add_runs(total: Total, arrays: Arrays, triple: Triple) -> None:
    """Accumulate all rows of some runs."""
    match total.kind:
        case "sum":
            loops().sum_runs(*triple, total.values, *arrays)
        case "wide":
            loops().sum_runs_wide(*triple, total.values, *arrays)
        case "fold":
            loops().fold_runs(*triple, total.values, *arrays)
        case _:
            raise AssertionError(total.kind)


def add_places(
    total: Total, arrays: Arrays, places: NDArray[np.int64], groups: NDArray[np.int64]
) -> None:
    """Accumulate the rows at some places, each into its group."""
    if total.valid is not None:
        kept = total.valid[places]
        places, groups = places[kept], groups[kept]
    match total.kind:
        case "sum":
            loops().sum_places(places, groups, total.values, *arrays)
        case "wide":
            loops().sum_places_wide(places, groups, total.values, *arrays)
        case "min":
            loops().least_places(places, groups, total.values, *arrays)
        case "max":
            loops().most_places(places, groups, total.values, *arrays)
        case _:
            raise AssertionError(total.kind)


def merge(totals: Sequence[Total], mine: list[Arrays], theirs: list[Arrays]) -> None:
    """Add what another thread has accumulated."""
    for total, own, others in zip(totals, mine, theirs, strict=True):
        for combine, array, other in zip(_MERGES[total.kind], own, others, strict=True):
            with np.errstate(all="ignore"):  # NaN and infinities are values
                combine(array, other, out=array)


def _value(kind: Kind, arrays: Arrays, position: int) -> NDArray[Any]:
    if kind == "wide":
        high, low = arrays
        wide: NDArray[Any] = high.astype(object) * 2**32 + low.astype(object)
        return wide
    return arrays[position]
