"""RayDB: an embedded analytical SQL database.

>>> import raydb
>>> con = raydb.connect()
>>> con.execute("SELECT 1 + 1 AS two").fetchone()
(2,)

The module follows PEP 249. Importing it loads nothing but its errors; the engine is loaded by the
first `connect`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.errors import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,  # noqa: A004  (the name is PEP 249's)
)

if TYPE_CHECKING:
    from raydb.engine.connection import Connection

__version__ = "0.1.0"

apilevel = "2.0"
threadsafety = 2
paramstyle = "qmark"


def connect(database: str | None = None, *, read_only: bool = False) -> Connection:
    """Open a database and return a connection to it.

    `database` is None (or ':memory:') for a database in memory, which is gone when the connection
    is closed. Raises NotSupportedError for a path: databases on disk are not there yet.
    """
    from raydb.engine.connection import open_connection

    return open_connection(database, read_only=read_only)


__all__ = [
    "DataError",
    "DatabaseError",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Warning",
    "__version__",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]
