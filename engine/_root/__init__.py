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

from raydb.dbapi import (
    BINARY,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    Binary,
    Date,
    DateFromTicks,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
)
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
    from os import PathLike

    from raydb import flatstor
    from raydb.engine.api.connection import Connection

__version__ = "0.1.0"

apilevel = "2.0"
threadsafety = 2
paramstyle = "qmark"


def connect(
    database: str | PathLike[str] | None = None,
    *,
    read_only: bool = False,
    external_access: bool = True,
) -> Connection:
    """Open a database and return a connection to it.

    `database` is the path of a database directory, which is made when it is absent, or None (or
    ':memory:') for a database in memory, which is gone when the connection is closed. One process
    writes to a directory; others open it with read_only=True and see each commit. With
    external_access=False no statement can read or write a file, for the life of the connection; the
    database's own directory is no such file. Raises OperationalError when the directory cannot be
    opened or another process writes to it.
    """
    from raydb.engine.api.connection import open_connection

    return open_connection(database, read_only=read_only, external_access=external_access)


def load_ipython_extension(shell: object) -> None:
    """Add `%sql` and `%%sql` to a notebook: what `%load_ext raydb` calls; see `raydb.jupyter`."""
    from raydb.jupyter import SqlMagic

    SqlMagic(shell)


def __getattr__(name: str) -> object:
    """Import the file format when it is first used: `raydb.flatstor`."""
    if name == "flatstor":
        from importlib import import_module

        return import_module("raydb.flatstor")
    raise AttributeError(f"module 'raydb' has no attribute '{name}'")


__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "__version__",
    "apilevel",
    "connect",
    "flatstor",
    "paramstyle",
    "threadsafety",
]
