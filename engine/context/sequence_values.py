"""Values of sequences, as the statements of one session take them: nextval(), currval(), setval().

They are taken for good: a statement that fails, or is rolled back, leaves a gap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.errors import OperationalError, ProgrammingError
from raydb.names import known_object

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from raydb.storage.tables.sequence import Position, Sequence


class SequenceValues:
    """The sequences that statements see, and the last value that the session took of each.

    are_used: whether values were taken since this was last set to False.
    """

    def __init__(self, *, read_only: bool) -> None:
        self._read_only = read_only
        self._sequences: Mapping[str, Sequence] = {}
        self._last: dict[Position, int] = {}
        self.are_used = False

    def begin(self, sequences: Mapping[str, Sequence]) -> None:
        """Go on with the sequences of the next statement's snapshot."""
        self._sequences = sequences

    def include(self, sequence: Sequence) -> None:
        """Let the statement see a sequence that it has made itself."""
        self._sequences = {**self._sequences, sequence.name: sequence}

    def take(self, name: str, count: int) -> NDArray[np.int64]:
        """Return the next values of a sequence; raises DataError where there are not so many."""
        sequence = self._writable(name)
        values = sequence.take(count)
        if count:
            self._last[sequence.position] = int(values[-1])
        return values

    def last(self, name: str) -> int:
        """Return the last value that the session took; raises ProgrammingError before the first."""
        sequence = self._find(name)
        if sequence.position not in self._last:
            raise ProgrammingError(
                f"currval('{name}') has no value: nextval() was not called on this connection yet"
            )
        return self._last[sequence.position]

    def restart(self, name: str, value: int, *, is_taken: bool) -> None:
        """Let a sequence go on behind a value, or with it."""
        sequence = self._writable(name)
        sequence.restart(value, is_taken=is_taken)
        if is_taken:
            self._last[sequence.position] = value

    def _writable(self, name: str) -> Sequence:
        sequence = self._find(name)
        if self._read_only:
            raise OperationalError("the database is opened read-only")
        self.are_used = True
        return sequence

    def _find(self, name: str) -> Sequence:
        return self._sequences[known_object(name, self._sequences, "sequence")]
