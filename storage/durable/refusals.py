"""Why a database directory takes no changes, and what is uncertain after a commit that failed."""

from __future__ import annotations

from raydb.errors import InterfaceError, OperationalError
from raydb.storage.durable.wal import REMEDY

UNFINISHED = f"a commit did not finish, so {REMEDY}"


def forked(name: str) -> InterfaceError:
    """Return the error of a process that has only a copy of the one that opened the database."""
    return InterfaceError(
        f"database '{name}' was opened before this process was forked; open it again"
    )


def unlocked(name: str) -> OperationalError:
    """Return the error of a writer whose lock others cannot see."""
    return OperationalError(
        f"database '{name}' takes no changes: its file 'LOCK' was removed, so another process may"
        " be writing; open it again"
    )


def overtaken(name: str) -> OperationalError:
    """Return the error of a writer that has not seen the newest version."""
    return OperationalError(
        f"database '{name}' takes no changes: another process has written to it; open it again"
    )


def tell_doubt(error: BaseException) -> None:
    """Let an error of the file system say that it is not certain what is stored."""
    if isinstance(error, OSError):
        error.strerror = f"{error.strerror or error}; {UNFINISHED}"
