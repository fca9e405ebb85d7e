"""Named arrays of a file: each is taken with what its readers rely on.

    row_ids = arrays.take("row_ids", np.uint32, (row_count,), below(table_rows))
    offsets = arrays.take("offsets", np.int64, (list_count + 1,), spans(row_count))

Check sums tell that a file is as it was written, not who wrote it. Compiled loops index by what is
in these arrays without a test, so everything that an index, a length or an end of a loop is made of
is checked here, once a file. A value that is wrong and within its bounds gives a wrong answer, as a
wrong value in a column does, and nothing worse.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.errors import OperationalError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import DTypeLike, NDArray

    # What an array should be, where it is not.
    Rule = Callable[["Facts"], str | None]


class Facts:
    """What rules ask of an array, each of which takes a look at all of it, once."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array

    @cached_property
    def least(self) -> Any:
        """The least value; NaN where there is one, 0 of no values."""
        # What has no sign is not below 0, and need not be read for that.
        return 0 if self.array.dtype.kind == "u" or not self.array.size else self.array.min()

    @cached_property
    def greatest(self) -> Any:
        """The greatest value; NaN where there is one, 0 of no values."""
        return self.array.max() if self.array.size else 0

    @cached_property
    def is_ascending(self) -> bool:
        """Whether no value is less than the one before."""
        return bool((self.array[1:] >= self.array[:-1]).all())

    @cached_property
    def is_rising(self) -> bool:
        """Whether each value is greater than the one before."""
        return bool((self.array[1:] > self.array[:-1]).all())


class StoredArrays:
    """The arrays of a file by name; errors are OperationalError and name both."""

    def __init__(
        self,
        held: Mapping[str, NDArray[Any]],
        file: str,
        verify: Callable[[str], None] = lambda _: None,
        bring: Callable[[Iterable[str]], None] = lambda _: None,
    ) -> None:
        """Prepare; `verify` raises where an array's bytes are not those that were written.

        bring: fetches the bytes of arrays, of a file that is elsewhere.
        """
        self._held = held
        self._verify = verify
        self.bring = bring
        self._facts: dict[str, Facts] = {}
        self.file = file

    def __contains__(self, name: str) -> bool:
        """Whether there is an array of a name."""
        return name in self._held

    def take(
        self, name: str, dtype: DTypeLike, shape: tuple[int, ...], *rules: Rule
    ) -> NDArray[Any]:
        """Return an array of this type and shape for which the rules hold; -1 is any length."""
        array = self.peek(name, dtype, shape)
        self.check(name, *rules)
        return array

    def peek(self, name: str, dtype: DTypeLike, shape: tuple[int, ...]) -> NDArray[Any]:
        """Return an array of this type and shape; what is in it is still to be checked."""
        self.type_of(name, dtype)
        array = self._held[name]
        if len(array.shape) != len(shape) or any(
            wanted not in (-1, length) for wanted, length in zip(shape, array.shape, strict=True)
        ):
            raise self.fault(name, f"of shape {shape}", array.shape)
        return array

    def type_of(self, name: str, *known: DTypeLike) -> np.dtype[Any]:
        """Return which of some types an array has."""
        if name not in self._held:
            raise self.fault(name, "there", "nothing")
        found, types = self._held[name].dtype, [np.dtype(kind) for kind in known]
        if found not in types:
            raise self.fault(name, f"of type {' or '.join(map(str, types))}", found)
        return found

    def check(self, name: str, *rules: Rule) -> None:
        """Raise where an array is not as it was written, or breaks a rule."""
        if name not in self._facts:
            self._verify(name)
            self._facts[name] = Facts(self._held[name])
        for rule in rules:
            expected = rule(self._facts[name])
            if expected is not None:
                raise self.fault(name, expected, "other values")

    def fault(self, name: str, expected: str, found: object) -> OperationalError:
        """Return the error for an array that is not what it should be."""
        return OperationalError(
            f"file '{self.file}' is damaged: expected array '{name}' to be {expected}, "
            f"found {found}"
        )


def between(low: float, high: float) -> Rule:
    """Require every value to be one of low .. high; NaN is not."""

    def broken(facts: Facts) -> str | None:
        if not facts.array.size or (facts.least >= low and facts.greatest <= high):
            return None
        return f"between {low} and {high}"

    return broken


def below(count: int) -> Rule:
    """Require every value to be an index into `count` things."""
    return between(0, count - 1)


def ascending(facts: Facts) -> str | None:
    """Require no value to be less than the one before."""
    return None if facts.is_ascending else "ascending"


def rising(facts: Facts) -> str | None:
    """Require each value to be greater than the one before."""
    return None if facts.is_rising else "ascending, each value once"


def spans(count: int) -> Rule:
    """Require ends of ranges, one after the other, that part `count` things among themselves."""

    def broken(facts: Facts) -> str | None:
        ends = facts.array
        if len(ends) and ends[0] == 0 and ends[-1] == count and facts.is_ascending:
            return None
        return f"ascending from 0 to {count}"

    return broken


def flags(facts: Facts) -> str | None:
    """Require every byte of booleans to be 0 or 1: loops add them up."""
    array = facts.array
    return "0 or 1" if array.size and array.view(np.uint8).max() > 1 else None
