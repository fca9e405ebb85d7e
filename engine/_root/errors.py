"""The exceptions of PEP 249, each raised with one plain sentence that names the thing.

Each class stands below its base:

    Exception
    |- Warning
    `- Error
    |- InterfaceError        the connection or cursor is misused (closed, nothing to fetch)
    `- DatabaseError
    |- DataError          a value does not fit: overflow, a bad number in a file
    |- OperationalError   the world outside: a missing file, a full disk, an interrupt
    |  `- ConflictError   another connection was faster: try the transaction again
    |- IntegrityError     a constraint: NOT NULL, PRIMARY KEY, FOREIGN KEY
    |- InternalError      our own mistake
    |- ProgrammingError   the statement: syntax, unknown names, wrong types
    `- NotSupportedError  valid SQL that RayDB does not run
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Warning(Exception):  # noqa: A001, N818  (the name is PEP 249's)
    """An important notice, such as data that was truncated."""


class Error(Exception):
    """The base of every error that RayDB raises.

    position: the line and the column of the statement, both from 1, that the error is about, where
    that is known; the text ends with it.
    """

    position: tuple[int, int] | None = None

    def __str__(self) -> str:
        text = super().__str__()
        if self.position is None:
            return text
        line, column = self.position
        return f"{text} (line {line}, column {column})"

    @property
    def sentence(self) -> str:
        """The text without the position."""
        return super().__str__()


class InterfaceError(Error):
    """The database interface is misused, for example a closed connection."""


class DatabaseError(Error):
    """The base of every error that concerns the database itself."""


class DataError(DatabaseError):
    """A value cannot be processed: out of range, division by zero, malformed input."""


class OperationalError(DatabaseError):
    """Something outside of the statement failed: a file, memory, an interrupt."""


class ConflictError(OperationalError):
    """Another connection has committed a change of the same; the transaction can be tried again."""


class IntegrityError(DatabaseError):
    """A constraint would be violated."""


class InternalError(DatabaseError):
    """RayDB found itself in a state that it should never reach."""


class ProgrammingError(DatabaseError):
    """The statement is wrong: its syntax, a name, a type or the number of parameters."""


class NotSupportedError(DatabaseError):
    """The statement is valid SQL that RayDB does not support."""


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Return "; did you mean 'x'?" for the candidate nearest to `name`, or an empty string.

    >>> did_you_mean("lo_pric", ["lo_price", "lo_tax"])
    "; did you mean 'lo_price'?"
    """
    folded = {candidate.lower(): candidate for candidate in candidates}
    near = difflib.get_close_matches(name.lower(), folded, n=1)
    return f"; did you mean '{folded[near[0]]}'?" if near else ""
