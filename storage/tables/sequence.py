"""Sequences: numbers that are given out once each, to whoever asks next.

    Sequence("order_id_seq", SequenceOptions(start=1)).take(3)      array([1, 2, 3])

A sequence is part of a snapshot, and where it stands is not: what was given out stays so when a
transaction is rolled back, and sessions that share a database never get the same value.
"""

from __future__ import annotations

import threading
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from raydb.errors import DataError, ProgrammingError
from raydb.values import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST, MOST = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class SequenceOptions:
    """CREATE SEQUENCE: low and high are the least and the greatest value, both are given out.

    cycles: whether it goes on from the other end; without it the last value is followed by an
    error.
    """

    start: int = 1
    increment: int = 1
    low: int = 1
    high: int = MOST
    cycles: bool = False

    @staticmethod
    def of(
        name: str,
        start: int | None = None,
        increment: int = 1,
        low: int | None = None,
        high: int | None = None,
        *,
        cycles: bool = False,
        most: int = MOST,
    ) -> SequenceOptions:
        """Return options of which some are given; most: the greatest value of the column's type.

        Raises ProgrammingError for those that contradict each other.
        """
        rises = increment > 0
        low = low if low is not None else 1 if rises else -most - 1
        high = high if high is not None else most if rises else -1
        start = start if start is not None else low if rises else high
        if not increment:
            raise ProgrammingError(f"the INCREMENT of sequence '{name}' cannot be 0")
        if not -most - 1 <= low < high <= most:
            raise ProgrammingError(
                f"sequence '{name}' cannot have values from {low} to {high}:"
                f" MINVALUE is less than MAXVALUE, and both from {-most - 1} to {most}"
            )
        if not low <= start <= high:
            raise ProgrammingError(
                f"the START {start} of sequence '{name}' is not within {low} to {high}"
            )
        return SequenceOptions(start, increment, low, high, cycles)


@dataclass(frozen=True, slots=True)
class Identity:
    """GENERATED [ALWAYS | BY DEFAULT] AS IDENTITY: a column whose default is a sequence of its own.

    always: whether INSERT may not give the column a value.
    """

    column: str
    always: bool
    options: SequenceOptions
    sequence: str = ""

    @property
    def generation(self) -> str:
        """ALWAYS or BY DEFAULT."""
        return "ALWAYS" if self.always else "BY DEFAULT"

    @property
    def words(self) -> str:
        """What CREATE TABLE says of the column."""
        return f"GENERATED {self.generation} AS IDENTITY"


class Position:
    """Where a sequence stands: `next` is given out next.

    stamp: rises with each change, so that of two records the later one counts. saved: the stamp
    that is durable.
    """

    __slots__ = ("lock", "next", "saved", "stamp")

    def __init__(self, start: int) -> None:
        self.lock = threading.Lock()
        self.next = start
        self.stamp = 0
        self.saved = 0

    def read(self) -> tuple[int, int]:
        """Return what is given out next, and the stamp."""
        with self.lock:
            return self.next, self.stamp

    def move(self, value: int, stamp: int) -> None:
        """Go to where a record of the log says that it stood."""
        with self.lock:
            if stamp > self.stamp:
                self.next, self.stamp, self.saved = value, stamp, stamp


@dataclass(frozen=True, eq=False, slots=True)
class Sequence:
    """A sequence of a snapshot."""

    name: str
    options: SequenceOptions
    position: Position = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "position", Position(self.options.start))

    @property
    def is_moved(self) -> bool:
        """Whether values were given out, or chosen, that are not durable."""
        return self.position.stamp != self.position.saved

    def take(self, count: int) -> NDArray[np.int64]:
        """Return the next values, none of them where there are not so many.

        Raises DataError at the end of a sequence that does not cycle.
        """
        options, position = self.options, self.position
        step = options.increment
        parts: list[NDArray[np.int64]] = []
        with position.lock:
            following, wanted = position.next, count
            while wanted:
                left = self._left(following)
                if not left:
                    if not options.cycles:
                        end = "greatest" if step > 0 else "least"
                        bound = options.high if step > 0 else options.low
                        raise DataError(
                            f"sequence '{self.name}' has given out its {end} value, {bound}"
                        )
                    following = options.low if step > 0 else options.high
                    continue
                some = min(left, wanted)
                parts.append(np.arange(some, dtype=np.int64) * step + following)
                following += some * step
                wanted -= some
            if count:
                position.next = following
                position.stamp += 1
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    def _left(self, following: int) -> int:
        """Return how many values there are from one on, to the end."""
        options = self.options
        rest = options.high - following if options.increment > 0 else following - options.low
        return max(rest // abs(options.increment) + 1, 0) if rest >= 0 else 0

    def altered(self, name: str, options: SequenceOptions) -> Sequence:
        """Return a sequence with another name or other options, which goes on where this stands.

        Both give out values together. Raises DataError where it stands before its first value.
        """
        following, step = self.position.read()[0], options.increment
        if following < options.low if step > 0 else following > options.high:
            raise DataError(
                f"the next value of sequence '{self.name}', {following}, is not within"
                f" {options.low} to {options.high}; RESTART WITH gives it another one"
            )
        changed = Sequence(name, options)
        object.__setattr__(changed, "position", self.position)
        return changed

    def restarted(self, value: int | None = None) -> Sequence:
        """Return a sequence that begins again, with a value or where this one began.

        The value may be one step behind the last, as that of a sequence with none left. Raises
        DataError for one out of bounds.
        """
        options = self.options
        begun = Sequence(self.name, options)
        if value is not None:
            step = options.increment
            low, high = options.low + min(step, 0), options.high + max(step, 0)
            if not low <= value <= high:
                raise self._out_of_bounds(value)
            begun.position.next, begun.position.stamp = value, 1
        return begun

    def restart(self, value: int, *, is_taken: bool) -> None:
        """Go on behind a value, or with it; raises DataError for one out of bounds."""
        options = self.options
        if not options.low <= value <= options.high:
            raise self._out_of_bounds(value)
        with self.position.lock:
            self.position.next = value + options.increment if is_taken else value
            self.position.stamp += 1

    def _out_of_bounds(self, value: int) -> DataError:
        options = self.options
        return DataError(
            f"{value} is not within {options.low} to {options.high}, as the values of sequence"
            f" '{self.name}' are"
        )

    def pass_over(self, value: int) -> None:
        """Go on behind a value that somebody else has chosen, unless the sequence is there."""
        options, position = self.options, self.position
        if not options.low <= value <= options.high:
            return
        with position.lock:
            missed = (value - position.next) // options.increment + 1
            if missed > 0:
                position.next += missed * options.increment
                position.stamp += 1
