"""Which segments are one state: those that a classifier confuses are merged while that pays off.

    confusion (u, u)  ->  the pair that is confused most, if cgain does not fall  ->  one less

cgain, the gain of a classification, is its macro F1 less that of random labels, which is 1 / u
(Ermshaus, Schaefer and Leser, "CLaP", 2025, sections 3.1 and 3.2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Step(NamedTuple):
    """A state of the merging: states by their least segment, and how they are confused.

    states (s): that of each segment. confusion (u, u): samples by state and predicted state, in the
    order of the states. merged: the pair that is merged next, the one that stays first; None at the
    end. is_forced: cgain falls by that merge, which the bound on states asks for.
    """

    states: NDArray[np.int64]
    confusion: NDArray[np.int64]
    merged: tuple[int, int] | None
    is_forced: bool


def macro_f1(confusion: NDArray[np.int64]) -> float:
    """Return the mean F1 of all classes; of a class that occurs nowhere it is 0."""
    right = np.diagonal(confusion)
    both = confusion.sum(axis=0) + confusion.sum(axis=1)
    return float(np.mean(2 * right / np.maximum(both, 1)))


def gain(confusion: NDArray[np.int64]) -> float:
    """Return cgain."""
    return macro_f1(confusion) - 1 / len(confusion)


def merge(confusion: NDArray[np.int64], kept: int, gone: int) -> NDArray[np.int64]:
    """Return the confusion where two classes are one, at the place of the first."""
    both = confusion.copy()
    both[kept] += both[gone]
    both[:, kept] += both[:, gone]
    return np.delete(np.delete(both, gone, 0), gone, 1)


def merge_states(confusion: NDArray[np.int64], most: int | None) -> list[Step]:
    """Return the steps from a state for each segment (s, s) to the states that stay.

    most: how many stay at most, None for any number; 0 where all do.
    """
    states = np.arange(len(confusion))
    steps = []
    while True:
        numbers = np.unique(states)
        pair, is_forced = None if most == 0 else _next_pair(confusion), False
        if pair is None and most and len(numbers) > most:
            pair, is_forced = _least_loss(confusion), True
        merged = None if pair is None else (int(numbers[pair[0]]), int(numbers[pair[1]]))
        steps.append(Step(states.copy(), confusion, merged, is_forced))
        if pair is None or merged is None:
            return steps
        confusion = merge(confusion, *pair)
        states[states == merged[1]] = merged[0]


def _next_pair(confusion: NDArray[np.int64]) -> tuple[int, int] | None:
    """Return the pair of the greatest confusion whose merge does not lower cgain."""
    wrong = confusion * (1 - np.eye(len(confusion), dtype=np.int64))
    shares = wrong.max(axis=1) / np.maximum(confusion.sum(axis=1), 1)
    before = gain(confusion)
    for one in np.argsort(-shares, kind="stable"):
        if shares[one] > 0:
            other = int(wrong[one].argmax())
            pair = min(int(one), other), max(int(one), other)
            if gain(merge(confusion, *pair)) >= before:
                return pair
    return None


def _least_loss(confusion: NDArray[np.int64]) -> tuple[int, int]:
    pairs = [(i, j) for j in range(len(confusion)) for i in range(j)]
    return max(pairs, key=lambda pair: gain(merge(confusion, *pair)))
