"""The input of a build: rows that are read block by block, and what the build may take.

A code of a row is looked up where it is needed, so that no array of it, nor of the row's cell or
of the value of a measure, is ever made for all rows.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from raydb.kernels.bvh.encode import Hierarchy

    # The values of a measure in the rows from `low` to before `high`: int64 or float64, 0 where
    # NULL, and where they are valid (None: everywhere).
    ReadValues = Callable[[int, int], tuple[NDArray[Any], NDArray[np.bool_] | None]]


@dataclass(frozen=True, eq=False, slots=True)
class RowCodes:
    """The codes of one hierarchy in the rows of a BVH.

    codes: integers; of each row or, with `pointers`, of each thing that a row may point to.
    pointers: int32, for every row of the table; -1 points to the last thing.
    row_numbers: uint32, shape (row_count,), which rows of the table are rows of the BVH, None where
        all are. Codes without pointers are those of the BVH's rows.
    """

    codes: NDArray[Any]
    pointers: NDArray[np.int32] | None = None
    row_numbers: NDArray[np.uint32] | None = None

    def table(self, of_code: NDArray[Any]) -> NDArray[Any]:
        """Turn values by code into values by what `places` returns."""
        return of_code if self.pointers is None else of_code[self.codes]

    def places(self, low: int, high: int) -> NDArray[Any]:
        """Return where in a `table` the rows from `low` to before `high` find their values."""
        if self.pointers is None:
            return self.codes[low:high]
        if self.row_numbers is None:
            return self.pointers[low:high]
        return self.pointers[self.row_numbers[low:high]]


@dataclass(frozen=True, eq=False, slots=True)
class Source:
    """The rows of a BVH to be: their codes of each hierarchy, and how to read each measure.

    row_numbers: uint32, shape (row_count,), the row of the table behind each, None for the same.
    """

    hierarchies: tuple[Hierarchy, ...]
    codes: tuple[RowCodes, ...]
    measures: tuple[ReadValues, ...]
    row_count: int
    row_numbers: NDArray[np.uint32] | None = None


def source_of(
    hierarchies: Sequence[Hierarchy],
    row_codes: Sequence[NDArray[Any]],
    measures: Sequence[tuple[NDArray[Any], NDArray[np.bool_] | None]],
    row_count: int,
) -> Source:
    """Return rows that are arrays: codes of each hierarchy, measures with their validity."""
    return Source(
        tuple(hierarchies),
        tuple(RowCodes(codes) for codes in row_codes),
        tuple(_reader(values, valid) for values, valid in measures),
        row_count,
    )


def _reader(values: NDArray[Any], valid: NDArray[np.bool_] | None) -> ReadValues:
    return lambda low, high: (values[low:high], None if valid is None else valid[low:high])


class Room:
    """How many bytes a build may take; `refuse` makes the error for a number of them.

    >>> room = Room(1000, lambda size: MemoryError(size))
    >>> room.take(600); room.take(600)
    MemoryError: 1200
    """

    def __init__(
        self, limit: int | None = None, refuse: Callable[[int], Exception] = MemoryError
    ) -> None:
        self._limit = limit
        self._refuse = refuse
        self._taken = 0

    def take(self, size_bytes: int) -> None:
        """Count bytes before they are allocated. Raises what `refuse` made if they are too many."""
        if self._limit is not None and self._taken + size_bytes > self._limit:
            raise self._refuse(self._taken + size_bytes)
        self._taken += size_bytes

    def give(self, size_bytes: int) -> None:
        """Count bytes that are free again."""
        self._taken -= size_bytes

    @contextmanager
    def unless_failed(self) -> Iterator[None]:
        """Take what a block takes if it comes to its end, and else nothing."""
        before = self._taken
        try:
            yield
        except BaseException:
            self._taken = before
            raise

    def left(self) -> int | None:
        """Return how many bytes may still be taken, None for any number."""
        return None if self._limit is None else max(self._limit - self._taken, 0)


@dataclass(frozen=True, eq=False, slots=True)
class BuildControl:
    """How a build is bounded and watched.

    report: is told the name of the step and the share of it that is done, now and then, on the
        thread that called the build. What it raises ends the build.
    """

    room: Room
    report: Callable[[str, float], None]


def unwatched() -> BuildControl:
    """Return the control of a build that may take any room and tells nobody."""
    return BuildControl(Room(), lambda step, share: None)  # noqa: ARG005
