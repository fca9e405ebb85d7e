"""The table of what fused jobs accumulate: aggregates, their states, and the words of a state.

    avg(x)          accumulates   the sum of x, and as of every measure the count     AGGREGATES
    var_pop(x)      accumulates   the sum of x and that of x * x, both exact
    the sum of x    is a state    `sum`, or `wide` where 64 bits might not hold it    plan_states
    `wide`          has words     `high` and `low`                                    STATES
    `high`          adds up       the high 32 bits of each value                      WORDS

A word is a number of 64 bits for each group. The CPU keeps the words of a state in one array, and
has a loop for each kind of state (`cpu/numba_loops.py`; those of NumPy are made from this table).
Devices keep each word by itself: CUDA's kernels are written from this table too, and
`rt/program.cu` has the same words in the same order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.kernels.bvh.bvh import Measure

VARIANCES = ("var_pop", "var_samp", "stddev_pop", "stddev_samp")

# What each aggregate of SQL accumulates of its argument, beside the count of its valid values.
AGGREGATES: Mapping[str, tuple[str, ...]] = {
    "count_star": (),
    "count": ("count",),
    "sum": ("sum",),
    "avg": ("sum",),
    "min": ("min",),
    "max": ("max",),
    **dict.fromkeys(VARIANCES, ("sum", "squares")),
}

LOW_BITS = 0xFFFFFFFF
GREATEST = np.iinfo(np.int64).max
SMALLEST = np.iinfo(np.int64).min


@dataclass(frozen=True, eq=False, slots=True)
class Word:
    """A number that a group has.

    merge: makes one of two, of different rows. none: what it is of no rows, among integers and
    among floats. part: what of each value goes into it. cuda, both: the part of a value and the
    merge, as kernels write them; atomic: CUDA's atomic function that merges.
    """

    merge: np.ufunc
    none: tuple[int, float] = (0, 0.0)
    part: Callable[[NDArray[Any]], NDArray[Any]] = lambda values: values
    cuda: str = "int64({})"
    both: str = "{} + {}"
    atomic: str = "add"


# In the order of `enum Kind` in `rt/program.cu`. The CPU's `sum` is of integers or floats; devices
# call that of floats `float`, and order the floats of `least` and `most` as integers. NaN is the
# greatest number, and stands for no number yet in `least`: fmin takes the other one.
WORDS = {
    "sum": Word(np.add),
    "high": Word(np.add, part=lambda values: values >> 32, cuda="(int64({}) >> 32)"),
    "low": Word(np.add, part=lambda values: values & LOW_BITS, cuda="(int64({}) & 0xFFFFFFFF)"),
    "float": Word(np.add, cuda="{}"),
    # Times one a signalling NaN is a quiet one: of the former fmin makes NaN beside any number.
    "least": Word(
        np.fmin,
        (GREATEST, np.nan),
        part=lambda values: values * 1,
        both="min({}, {})",
        atomic="min",
    ),
    "most": Word(np.maximum, (SMALLEST, -np.inf), both="max({}, {})", atomic="max"),
    "square": Word(np.add, part=lambda values: values * values, cuda="int64({0}) * int64({0})"),
    "square_high": Word(
        np.add, part=lambda values: values * values >> 32, cuda="(int64({0}) * int64({0}) >> 32)"
    ),
    "square_low": Word(
        np.add,
        part=lambda values: values * values & LOW_BITS,
        cuda="(int64({0}) * int64({0}) & 0xFFFFFFFF)",
    ),
}

# The words of each kind of state. `fold` is what one loop over runs keeps of a measure.
STATES = {
    "sum": ("sum",),
    "wide": ("high", "low"),
    "min": ("least",),
    "max": ("most",),
    "fold": ("sum", "least", "most"),
    "squares": ("square",),
    "wide_squares": ("square_high", "square_low"),
}

# The kinds whose two words are one number.
WIDE = ("wide", "wide_squares")

# The kinds that have a loop over runs, whose rows share a group, and those that have one over rows
# with a group each; scans know the latter by their numbers.
BY_RUN = ("sum", "wide", "fold", "squares", "wide_squares")
BY_ROW = ("sum", "wide", "min", "max", "squares", "wide_squares")

Part: TypeAlias = Literal["values", "valid"]


@dataclass(frozen=True, slots=True)
class Input:
    """An array of a measure: its values, or its validity as 0 and 1."""

    measure: int
    part: Part = "values"

    def array(self, measures: Sequence[Measure]) -> NDArray[Any]:
        """Return the array: signed integers, float64, or bool for a validity."""
        measure = measures[self.measure]
        if self.part == "values":
            return measure.values
        assert measure.valid is not None
        return measure.valid


@dataclass(frozen=True, slots=True)
class State:
    """A kind of state over an input, of the rows that `valid` lets pass."""

    kind: str
    input: Input
    valid: Input | None = None


@dataclass(frozen=True, eq=False, slots=True)
class States:
    """The states of a job, without repetition.

    answers: for each of its functions (number of the state, number of the word), or None for the
    number of rows.
    """

    states: tuple[State, ...]
    answers: tuple[tuple[int, int] | None, ...]


def plan_states(
    functions: Sequence[tuple[str, int]], measures: Sequence[Measure], row_count: int
) -> States:
    """Return the states of (function, measure) pairs over at most `row_count` rows."""
    states: dict[State, int] = {}
    answers: list[tuple[int, int] | None] = []
    for function, position in functions:
        state = _state_of(function, position, measures[position], row_count)
        answers.append(None if state is None else (states.setdefault(state, len(states)), 0))
    return States(tuple(states), tuple(answers))


def _state_of(function: str, position: int, measure: Measure, row_count: int) -> State | None:
    values = Input(position)
    valid = None if measure.valid is None else Input(position, "valid")
    match function:
        case "count":
            return None if valid is None else State("sum", valid)
        case "sum" if measure.is_float or measure.greatest * row_count < 2**63:
            return State("sum", values)
        case "sum":
            return State("wide", values)
        case "min" | "max":
            return State(function, values, valid)
        case "squares" if measure.greatest**2 * row_count < 2**63:
            return State("squares", values)
        case "squares":
            assert has_squares(measure)
            return State("wide_squares", values)
        case _:
            raise AssertionError(function)


def has_squares(measure: Measure) -> bool:
    """Whether the squares of a measure are added up exactly: of integers, each within 64 bits."""
    return not measure.is_float and measure.greatest**2 < 2**63


def word_of(function: str) -> Word:
    """Return the word that a function of an accumulator has where 64 bits hold it."""
    return WORDS[STATES["sum" if function == "count" else function][0]]


def wide_sum(high: NDArray[np.int64], low: NDArray[np.int64]) -> NDArray[np.object_]:
    """Return the sums of two words as Python integers."""
    # The low halves of 2**31 rows and more add up to a word without a sign.
    sums: NDArray[np.object_] = high.astype(object) * 2**32 + low.view(np.uint64).astype(object)
    return sums
