"""Keys of an edge that differ by a factor become one, so that its ranges are one range.

    9 * e1.amount <= 10 * e2.amount,      e2.amount <=      e1.amount    two keys of e2
    9 * e1.amount <= 10 * e2.amount, 10 * e2.amount <= 10 * e1.amount    one

Their numbers tell that two keys do, whatever these stand for. Where a factor is known before, it is
the other edge's key that is multiplied, and divided:

    9 * e1.amount <= 10 * e2.amount      e2.amount >= 9 * e1.amount / 10, rounded up
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from raydb.kernels.motif.conditions import NULL_KEY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# A key of an edge beside one of another, see condition_loops: key, edge (-1 for none), key, how.
Test: TypeAlias = tuple[int, int, int, int]

# A key, and what it is multiplied by.
_Factored: TypeAlias = tuple[int, int]

# What keys are multiplied by, and what is then added.
_Line: TypeAlias = tuple[int, int]

# How a key is beside another one; and how both are once their signs are changed.
LESS, AT_MOST, MORE, AT_LEAST, EQUAL, DIFFERENT = range(6)
TURNED = (MORE, AT_LEAST, LESS, AT_MOST, EQUAL, DIFFERENT)

_MOST = 2**62


class CommonKeys:
    """Keys, each with a number of every edge, to which those are appended that tests need."""

    def __init__(self, keys: Sequence[NDArray[np.int64]]) -> None:
        self.keys = list(keys)
        self._made: dict[tuple[int, _Line], int | None] = {}

    def with_fewest(self, tests: Sequence[Test]) -> list[Test]:
        """Return the tests of an edge by as few of its keys as can stand for all."""
        found = list(tests)
        own = sorted({key for key, edge, *_ in tests if edge >= 0})
        while own:
            one, rest = own[0], []
            for other in own[1:]:
                changed = self._by_one(found, one, other)
                if changed is None:
                    rest.append(other)
                else:
                    found, one = changed
            own = rest
        return found

    def compared(self, own: _Factored, edge: int, other: _Factored, asked: int) -> Test:
        """Return the test of a key of an edge beside one of another, both times a factor.

        The other one is divided, and the own one not multiplied: so it is the same for all factors.
        """
        (key, divisor), (other_key, factor) = own, other
        shared = gcd(divisor, factor) if divisor > 0 else -gcd(divisor, factor)
        divisor, factor = divisor // shared, factor // shared
        asked = TURNED[asked] if shared < 0 else asked
        if asked == DIFFERENT and divisor != 1:
            both = self.multiplied((key, divisor)), self.multiplied((other_key, factor))
            return both[0], edge, both[1], asked
        return key, edge, self._divided(other_key, factor, divisor, asked), asked

    def multiplied(self, factored: _Factored) -> int:
        """Return where a key is once it is multiplied."""
        place = self._place_of(factored[0], (factored[1], 0))
        assert place is not None, factored
        return place

    def _divided(self, key: int, factor: int, divisor: int, asked: int) -> int:
        """Return where a key is once it is multiplied and divided, to be asked about as before.

        It is NULL where nothing can be equal to it.
        """
        if divisor == 1:
            return self.multiplied((key, factor))
        numbers = self.keys[key]
        is_null = numbers == NULL_KEY if numbers.min(initial=0) == NULL_KEY else None
        # In one array: to map it into memory takes longer than to compute what is in it.
        found = numbers * factor
        if asked == EQUAL:
            is_fraction = found % divisor != 0
            is_null = is_fraction if is_null is None else is_null | is_fraction
        is_up = asked in (LESS, AT_LEAST)
        if is_up:
            found -= 1
        found //= divisor
        if is_up:
            found += 1
        if is_null is not None:
            found[is_null] = NULL_KEY
        self.keys.append(found)
        return len(self.keys) - 1

    def _by_one(self, tests: Sequence[Test], one: int, other: int) -> tuple[list[Test], int] | None:
        """Return tests in which one key stands for two, and that key; None where none does."""
        lines = _lines(self.keys[one], self.keys[other])
        if lines is None:
            return None
        common, found = self._place_of(one, lines[0]), []
        for key, edge, other_key, asked in tests:
            if edge < 0 or key not in (one, other):
                found.append((key, edge, other_key, asked))
                continue
            compared = self._place_of(other_key, lines[key == other])
            if common is None or compared is None:
                return None
            found.append((common, edge, compared, asked))
        return None if common is None else (found, common)

    def _place_of(self, key: int, line: _Line) -> int | None:
        """Return where a key is once it is changed, None where a number would be too large."""
        if line == (1, 0):
            return key
        if (key, line) not in self._made:
            factor, more = line
            numbers = self.keys[key]
            is_known = numbers != NULL_KEY if numbers.min(initial=0) == NULL_KEY else None
            known = numbers if is_known is None else numbers[is_known]
            fits = _largest(known) * factor + abs(more) < _MOST
            self._made[key, line] = len(self.keys) if fits else None
            if fits:
                moved = _moved(numbers, line)
                whole = moved if is_known is None else np.where(is_known, moved, NULL_KEY)
                self.keys.append(whole)
        return self._made[key, line]


def _lines(one: NDArray[np.int64], other: NDArray[np.int64]) -> tuple[_Line, _Line] | None:
    """Return what makes the same of two keys, both in their order; None where nothing does.

    >>> _lines(np.array([9, 27]), np.array([10, 30]))
    ((10, 0), (9, 0))
    """
    if NULL_KEY in (one.min(initial=0), other.min(initial=0)):
        is_known = one != NULL_KEY
        if not np.array_equal(is_known, other != NULL_KEY):
            return None
        one, other = one[is_known], other[is_known]
    if not len(one):
        return None
    first, last = int(one.argmin()), int(one.argmax())
    runs = [int(keys[last]) - int(keys[first]) for keys in (one, other)]
    if 0 in runs:
        runs = [1, 1]
    shared = gcd(*runs)
    factor, other_factor = runs[1] // shared, runs[0] // shared
    more = int(other[first]) * other_factor - int(one[first]) * factor
    largest = _largest(one) * factor + abs(more), _largest(other) * other_factor
    if factor <= 0 or max(largest) >= _MOST:
        return None
    lines = (factor, more), (other_factor, 0)
    if not np.array_equal(_moved(one, lines[0]), _moved(other, lines[1])):
        return None
    return lines


def _moved(keys: NDArray[np.int64], line: _Line) -> NDArray[np.int64]:
    factor, more = line
    if factor != 1:
        keys = keys * factor
    return keys + more if more else keys


def _largest(keys: NDArray[np.int64]) -> int:
    return max(abs(int(keys.min(initial=0))), abs(int(keys.max(initial=0))))
