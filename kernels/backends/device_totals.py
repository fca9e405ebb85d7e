"""What a job accumulates on a device: totals over inputs, each one word of 64 bits a group.

sum of integers   one word; two, the high and the low 32 bits of each value added up apart,
                  where the bounds of the measure do not rule out an overflow
sum of floats     one word, added up in no order
min, max          one word; floats as integers of the same order, so that NaN is the greatest
count             the sum of the validity as 0 and 1; without NULLs the rows, always counted
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from raydb.kernels.backends.backend import FusedResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raydb.kernels.bvh.bvh import Measure

Kind = Literal["rows", "sum", "high", "low", "float", "least", "most"]

GREATEST = np.iinfo(np.int64).max
SMALLEST = np.iinfo(np.int64).min
NEUTRAL = {"sum": 0, "high": 0, "low": 0, "float": 0, "least": GREATEST, "most": SMALLEST}


@dataclass(frozen=True, slots=True)
class Input:
    """An array of a measure: its values, or its validity as int8."""

    measure: int
    part: Literal["values", "valid"]


@dataclass(frozen=True, slots=True)
class Total:
    """A word for each group: `kind` over an input, of the rows that `valid` (an input) lets pass.

    ordered: whether the input's floats are taken as integers of the same order.
    """

    kind: Kind
    input: int
    valid: int | None = None
    ordered: bool = False

    @property
    def neutral(self) -> int:
        """What the word of a group without rows holds."""
        return NEUTRAL[self.kind]


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
    inputs: dict[Input, int] = {}
    totals: dict[Total, int] = {}
    answers = []
    for function, position in functions:
        found = [
            totals.setdefault(total, len(totals))
            for total in _totals_of(function, position, measures[position], row_count, inputs)
        ]
        answers.append(tuple(found))
    return Totals(tuple(inputs), tuple(totals), tuple(answers))


def _totals_of(
    function: str, position: int, measure: Measure, row_count: int, inputs: dict[Input, int]
) -> list[Total]:
    def place(part: Literal["values", "valid"]) -> int:
        return inputs.setdefault(Input(position, part), len(inputs))

    match function:
        case "count":
            return [] if measure.valid is None else [Total("sum", place("valid"))]
        case "sum" if measure.is_float:
            return [Total("float", place("values"))]
        case "sum" if max(-measure.low, measure.high) * row_count < 2**63:
            return [Total("sum", place("values"))]
        case "sum":
            return [Total("high", place("values")), Total("low", place("values"))]
        case "min" | "max":
            valid = None if measure.valid is None else place("valid")
            kind: Kind = "least" if function == "min" else "most"
            return [Total(kind, place("values"), valid, ordered=measure.is_float)]
        case _:
            raise AssertionError(function)


def input_array(each: Input, measures: Sequence[Measure]) -> NDArray[Any]:
    """Return the host array of an input: signed integers, float64, or bool for a validity."""
    measure = measures[each.measure]
    if each.part == "values":
        return measure.values
    assert measure.valid is not None
    return measure.valid


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
                # The low halves of 2**31 rows and more add up to a word without a sign.
                low = low.view(np.uint64)
                values.append(high.astype(object) * 2**32 + low.astype(object))
            case _:
                raise AssertionError(positions)
    return FusedResult(rows, tuple(values))


def merge_words(
    totals: Totals, words: Sequence[NDArray[np.int64]], others: Sequence[NDArray[np.int64]]
) -> None:
    """Add the words of another part of the rows, in place."""
    for total, mine, theirs in zip(totals.totals, words, others, strict=True):
        match total.kind:
            case "least":
                np.minimum(mine, theirs, out=mine)
            case "most":
                np.maximum(mine, theirs, out=mine)
            case "float":
                mine.view(np.float64)[:] += theirs.view(np.float64)
            case _:
                np.add(mine, theirs, out=mine)


def _from_ordered(total: Total, word: NDArray[np.int64]) -> NDArray[np.float64]:
    """Undo the order of floats as integers: below zero, all bits but the sign are turned round."""
    bits = np.where(word < 0, word ^ GREATEST, word)
    values = bits.view(np.float64)
    none = -np.inf if total.kind == "most" else np.nan
    return np.where(word == total.neutral, none, values)
