"""The states of a job on the CPU: words for each group, private to a thread until merged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from raydb.kernels.backends.aggregates import (
    STATES,
    WIDE,
    WORDS,
    Input,
    State,
    States,
    plan_states,
    wide_sum,
)
from raydb.kernels.backends.cpu.warm import frozen, loops
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raydb.kernels.backends.cpu.runs import RunTable
    from raydb.kernels.bvh.bvh import Measure

# The kinds of which all words begin from 0.
FROM_ZERO = {kind for kind, words in STATES.items() if not any(WORDS[w].none[0] for w in words)}

# Of each state its words, int64 or float64, shape (word_count, group_count).
Arrays: TypeAlias = "list[NDArray[Any]]"


@dataclass(frozen=True, eq=False, slots=True)
class CpuState:
    """A state with the columns that it reads.

    values: shape (row_count,), frozen; valid says which of them it may take.
    """

    kind: str
    values: NDArray[Any]
    valid: NDArray[np.bool_] | None

    @property
    def is_float(self) -> bool:
        """Whether its words are float64."""
        return self.values.dtype.kind == "f"

    def new_array(self, group_count: int) -> NDArray[Any]:
        """Return the words of no rows."""
        words, is_float = STATES[self.kind], self.values.dtype.kind == "f"
        array = np.zeros((len(words), group_count), np.float64 if is_float else np.int64)
        if self.kind not in FROM_ZERO:
            array[:] = [[WORDS[word].none[is_float]] for word in words]
        return array

    def add_runs(self, array: NDArray[Any], runs: RunTable) -> None:
        """Accumulate all rows of some runs."""
        getattr(loops(), f"{self.kind}_runs")(runs, self.values, array)

    def add_places(
        self, array: NDArray[Any], places: NDArray[np.int64], groups: NDArray[np.int64]
    ) -> None:
        """Accumulate the rows at some places, each into its group."""
        if self.valid is not None:
            kept = self.valid[places]
            places, groups = places[kept], groups[kept]
        getattr(loops(), f"{self.kind}_places")(places, groups, self.values, array)


@dataclass(frozen=True, eq=False, slots=True)
class CpuStates:
    """The states of a job, and where the value of each of its functions is, as `States` has it."""

    states: tuple[CpuState, ...]
    answers: tuple[tuple[int, int] | None, ...]

    @property
    def takes_runs(self) -> bool:
        """Whether all rows of a run count."""
        return all(state.valid is None for state in self.states)

    def new_arrays(self, group_count: int) -> Arrays:
        """Return the words of each state."""
        return [state.new_array(group_count) for state in self.states]

    def merge(self, mine: Arrays, theirs: Arrays) -> None:
        """Add what another thread has accumulated."""
        for state, own, others in zip(self.states, mine, theirs, strict=True):
            for word, row, other in zip(STATES[state.kind], own, others, strict=True):
                with np.errstate(all="ignore"):  # NaN and infinities are values
                    WORDS[word].merge(row, other, out=row)

    def values(self, rows: NDArray[np.int64], arrays: Arrays) -> tuple[NDArray[Any], ...]:
        """Return the values of each function; a wide sum becomes Python integers."""
        return tuple(
            [
                rows
                if answer is None
                else wide_sum(*arrays[answer[0]])
                if self.states[answer[0]].kind in WIDE
                else arrays[answer[0]][answer[1]]
                for answer in self.answers
            ]
        )


def find_states(
    functions: Sequence[tuple[str, int]],
    measures: Sequence[Measure],
    row_count: int,
    *,
    by_runs: bool = False,
) -> CpuStates:
    """Return the states of (function, measure) pairs over at most `row_count` rows.

    by_runs: whether groups are constant in runs: then one loop over a measure keeps its sum, its
    minimum and its maximum, for it takes no longer than one of them.
    """
    planned = plan_states(functions, measures, row_count)
    if by_runs:
        planned = _folded(planned)
    states = (
        CpuState(
            state.kind,
            _column(state.input, measures),
            None if state.valid is None else state.valid.array(measures),
        )
        for state in planned.states
    )
    return CpuStates(tuple(states), planned.answers)


def _column(each: Input, measures: Sequence[Measure]) -> NDArray[Any]:
    array = each.array(measures)
    return frozen(array.view(np.int8) if array.dtype == np.bool_ else array)


def _folded(planned: States) -> States:
    """Put the states that one loop keeps together."""
    extremes = {s.input for s in planned.states if s.kind in ("min", "max") and s.valid is None}
    if not extremes:
        return planned
    found: dict[State, int] = {}
    places = []
    for state in planned.states:
        word = 0
        if state.input in extremes and state.kind in ("sum", "min", "max"):
            word = ("sum", "min", "max").index(state.kind)
            state = State("fold", state.input)  # noqa: PLW2901
        places.append((found.setdefault(state, len(found)), word))
    return States(
        tuple(found), tuple(None if at is None else places[at[0]] for at in planned.answers)
    )
