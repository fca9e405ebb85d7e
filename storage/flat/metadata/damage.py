"""The one error for a file whose bytes are not what the format says."""

from __future__ import annotations

from raydb.errors import OperationalError


def damaged(path: str, offset: int, expected: str, found: object) -> OperationalError:
    """Return the error for bytes at `offset` of a file that should be something else.

    >>> str(damaged("x.flat", 12, "format version 1", 7))
    "file 'x.flat' is damaged at offset 12: expected format version 1, found 7"
    """
    return OperationalError(
        f"file '{path}' is damaged at offset {offset}: expected {expected}, found {found}"
    )
