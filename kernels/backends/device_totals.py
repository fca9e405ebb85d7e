"""The totals of a job on a device: the words of its states, each with the input that it reads.

sum of integers   one word; two, the high and the low 32 bits of each value added up apart,
                  where the bounds of the measure do not rule out an overflow
sum of floats     one word, added up in no order
min, max          one word; floats as integers of the same order, so that NaN is the greatest
count             the sum of the validity as 0 and 1; without NULLs the rows, always counted
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.backends.aggregates import (
    GREATEST,
    STATES,
    WORDS,
    Input,
    plan_states,
    wide_sum,
)
from raydb.kernels.backends.backend import FusedResult
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raydb.kernels.bvh.bvh import Measure


@dataclass(frozen=True, slots=True)
class Total:
    """A word of some kind over an input, of the rows that `valid` (an input) lets pass.

    ordered: whether the input's floats are taken as integers of the same order.
    """

    kind: str
    input: int
    valid: int | None = None
    ordered: bool = False

    @property
    def neutral(self) -> int:
        """What the word of a group without rows holds."""
        return WORDS[self.kind].none[0]


@dataclass(frozen=True, slots=True)
class Totals:
    """All totals of a job, without repetition.

    answers: for each accumulator the positions of its totals; none for the number of rows.
    """

    inputs: tuple[Input, ...]
    totals: tuple[Total, ...]
    answers: tuple[tuple[int, ...], ...]


def plan_totals(
    functions: Sequence[tuple[str, int]], measures: Sequence[Measure], row_count: int
) -> Totals:
    """Return the totals of (function, measure) pairs over at most `row_count` rows."""
    planned = plan_states(functions, measures, row_count)
    inputs: dict[Input, int] = {}
    totals: dict[Total, int] = {}
    of_state = []
    for state in planned.states:
        values = inputs.setdefault(state.input, len(inputs))
        valid = None if state.valid is None else inputs.setdefault(state.valid, len(inputs))
        is_float = state.input.array(measures).dtype.kind == "f"
        found = []
        for word in STATES[state.kind]:
            kind = "float" if is_float and word == "sum" else word
            total = Total(kind, values, valid, ordered=is_float and kind != "float")
            found.append(totals.setdefault(total, len(totals)))
        of_state.append(tuple(found))
    answers = tuple(() if at is None else of_state[at[0]] for at in planned.answers)
    return Totals(tuple(inputs), tuple(totals), answers)


def answer(
    totals: Totals, rows: NDArray[np.int64], words: Sequence[NDArray[np.int64]]
) -> FusedResult:
    """Return a job's result from the words (int64, shape (group_count,)) of its totals."""
    values: list[NDArray[Any]] = []
    for positions in totals.answers:
        match [(totals.totals[position], words[position]) for position in positions]:
            case []:
                values.append(rows)
            case [(Total(kind="float"), word)]:
                values.append(word.view(np.float64))
            case [(Total(ordered=True) as total, word)]:
                values.append(_from_ordered(total, word))
            case [(_, word)]:
                values.append(word)
            case [(_, high), (_, low)]:
                values.append(wide_sum(high, low))
            case _:
                raise AssertionError(positions)
    return FusedResult(rows, tuple(values))


def merge_words(
    totals: Totals, words: Sequence[NDArray[np.int64]], others: Sequence[NDArray[np.int64]]
) -> None:
    """Add the words of another part of the rows, in place."""
    for total, mine, theirs in zip(totals.totals, words, others, strict=True):
        one, other = (as_summed(total, word) for word in (mine, theirs))
        WORDS[total.kind].merge(one, other, out=one)


def as_summed(total: Total, words: NDArray[np.int64]) -> NDArray[Any]:
    """View words as the numbers that they are: a sum of floats has the bits of one."""
    return words.view(np.float64) if total.kind == "float" else words


def _from_ordered(total: Total, word: NDArray[np.int64]) -> NDArray[np.float64]:
    """Undo the order of floats as integers: below zero, all bits but the sign are turned round."""
    bits = np.where(word < 0, word ^ GREATEST, word)
    return np.where(word == total.neutral, WORDS[total.kind].none[1], bits.view(np.float64))
