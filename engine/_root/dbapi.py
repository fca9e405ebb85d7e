"""The type objects and constructors that PEP 249 asks of a module.

>>> cursor = raydb.connect().execute("SELECT DATE '2026-05-01' AS day")
>>> cursor.description[0][1], cursor.description[0][1] == raydb.DATETIME
('DATE', True)
"""

from __future__ import annotations

import datetime as dt
from typing import Final


class TypeObject:
    """Equals the names of some SQL types, which a cursor's description gives as type codes."""

    def __init__(self, *names: str) -> None:
        self._names = frozenset(names)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TypeObject):
            return self._names == other._names
        # A list is not what its elements are: INTEGER[] and DECIMAL(10,2) differ in that.
        return (
            isinstance(other, str)
            and not other.endswith("]")
            and other.partition("(")[0] in self._names
        )

    def __hash__(self) -> int:
        return hash(self._names)

    def __repr__(self) -> str:
        return f"TypeObject({', '.join(map(repr, sorted(self._names)))})"


STRING: Final = TypeObject("VARCHAR")
BINARY: Final = TypeObject("BLOB")
NUMBER: Final = TypeObject(
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "DECIMAL", "REAL", "FLOAT", "DOUBLE"),
    *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"),
)
DATETIME: Final = TypeObject(
    *("DATE", "TIME", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"),
    *("TIMESTAMP WITH TIME ZONE", "TIME WITH TIME ZONE"),
)
# No column is a row's identity.
ROWID: Final = TypeObject()

Date = dt.date
Time = dt.time
Timestamp = dt.datetime
Binary = bytes


# The names are PEP 249's.
def DateFromTicks(ticks: float) -> dt.date:  # noqa: N802
    """Return the local date of a time in seconds since the epoch."""
    return dt.date.fromtimestamp(ticks)


def TimeFromTicks(ticks: float) -> dt.time:  # noqa: N802
    """Return the local time of day of a time in seconds since the epoch."""
    return dt.datetime.fromtimestamp(ticks).time()


def TimestampFromTicks(ticks: float) -> dt.datetime:  # noqa: N802
    """Return the local date and time of a time in seconds since the epoch."""
    return dt.datetime.fromtimestamp(ticks)
