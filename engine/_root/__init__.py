"""RayDB: an embedded analytical SQL database.

>>> import raydb
>>> con = raydb.connect()                       in memory; connect("shop.raydb") for a directory
>>> con.execute("SELECT 1 + 1 AS two").fetchone()
(2,)
>>> con.sql("SELECT 42 AS answer").df()         or .pl(), .arrow(), .show()
>>> raydb.sql("FROM 'sales.parquet'")           on a connection of the process, in memory

The module follows PEP 249. Importing it loads nothing but its errors; the engine is loaded by the
first `connect`.
"""

from __future__ import annotations

import threading
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
    ConflictError,
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
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from raydb import flatstor, gnn
    from raydb.engine.api.connection import Connection
    from raydb.engine.api.cursor import Cursor

__version__ = "0.1.0"

apilevel = "2.0"
threadsafety = 2
paramstyle = "qmark"

_default: Connection | None = None
_making = threading.Lock()


def connect(
    database: str | PathLike[str] | None = None,
    *,
    read_only: bool = False,
    external_access: bool = True,
    config: Mapping[str, object] | None = None,
    cluster: object = None,
    cluster_insecure: bool = False,
) -> Connection:
    """Open a database and return a connection to it.

    `database` is the path of a database directory, which is made when it is absent, or None (or
    ':memory:', or '') for a database in memory, which is gone when the connection is closed. One
    process writes to a directory; others open it with read_only=True and see each commit. With
    external_access=False no statement can read or write a file, for the life of the connection; the
    database's own directory is no such file. config: settings of SET by their names, such as
    {"threads": 4, "memory_limit": "2GB"}. cluster: workers that scan large tables, see
    docs/cluster.md: 'local', the address of a Dask scheduler or a dask Client; an address without
    TLS on another machine takes cluster_insecure=True. Raises OperationalError when the directory
    cannot be opened or another process writes to it, and where the cluster cannot be reached.
    """
    from raydb.engine.api.connection import open_connection

    return open_connection(
        database,
        read_only=read_only,
        external_access=external_access,
        config=config or {},
        cluster=cluster,
        cluster_insecure=cluster_insecure,
    )


def execute(sql: str, parameters: Sequence[object] | Mapping[str, object] = ()) -> Cursor:
    """Run a text on the connection of the process, and return a cursor; see `Connection.execute`.

    Its database is in memory and is made at the first call; threads share it. `raydb.sql` does as
    `Connection.sql` on it.
    """
    return default_connection().execute(sql, parameters)


def default_connection() -> Connection:
    """Return the connection of `raydb.sql` and `raydb.execute`."""
    global _default  # noqa: PLW0603  (it belongs to the process)
    with _making:
        if _default is None or _default.is_closed:
            _default = connect()
        return _default


def load_ipython_extension(shell: object) -> None:
    """Add `%sql` and `%%sql` to a notebook: what `%load_ext raydb` calls; see `raydb.jupyter`."""
    from raydb.jupyter import SqlMagic

    SqlMagic(shell)


# What is imported when it is first used, and where it is.
_LATER = {
    "Connection": "raydb.engine.api.connection",
    "Cursor": "raydb.engine.api.cursor",
    "flatstor": "raydb.flatstor",
    "gnn": "raydb.gnn",
    "sql": "raydb.sql",
}


def __getattr__(name: str) -> object:
    """Import what is seldom used, or needs the engine, when it is asked for."""
    if name not in _LATER:
        raise AttributeError(f"module 'raydb' has no attribute '{name}'")
    from importlib import import_module

    module = import_module(_LATER[name])
    return getattr(module, name, module)


__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "ConflictError",
    "Connection",
    "Cursor",
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
    "default_connection",
    "execute",
    "flatstor",
    "gnn",
    "paramstyle",
    "sql",
    "threadsafety",
]
