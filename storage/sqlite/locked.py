"""The error of an SQLite file that another program holds; it needs nothing of SQLite."""

from __future__ import annotations

from raydb.errors import OperationalError


class LockedError(OperationalError):
    """Another program writes to the file."""
