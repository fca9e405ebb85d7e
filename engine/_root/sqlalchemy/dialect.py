"""RayDB as SQLAlchemy sees it: connections, what they can do, and URLs."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from sqlalchemy.engine import default
from sqlalchemy.exc import ArgumentError
from sqlalchemy.sql import sqltypes
from sqlalchemy.sql.compiler import InsertmanyvaluesSentinelOpts

import raydb
from raydb.engine.api.connection import Connection as OwnConnection
from raydb.sqlalchemy.compiler import RayCompiler, RayDDLCompiler, RayTypeCompiler
from raydb.sqlalchemy.reflection import Reflection
from raydb.sqlalchemy.sql_types import JSONIndex, JSONPath, RayInterval, RayNumeric

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from sqlalchemy.engine import URL, Connection

_SNAPSHOT = "REPEATABLE READ"
_SWITCH = {"true": True, "1": True, "on": True, "false": False, "0": False, "off": False}


class RayExecutionContext(default.DefaultExecutionContext):
    """What runs one statement."""

    def fire_sequence(self, seq: Any, type_: Any) -> Any:
        """Return the next value of a sequence."""
        name = self.identifier_preparer.format_sequence(seq).replace("'", "''")
        return self._execute_scalar(f"SELECT nextval('{name}')", type_)


class RayDialect(Reflection):
    """RayDB for SQLAlchemy 2."""

    name = "raydb"
    driver = "raydb"
    default_paramstyle = "qmark"
    statement_compiler = RayCompiler
    ddl_compiler = RayDDLCompiler
    type_compiler_cls = RayTypeCompiler
    supports_statement_cache = True
    supports_native_boolean = True
    supports_native_decimal = True
    supports_multivalues_insert = True
    supports_default_values = True
    supports_identity_columns = True
    supports_comments = True
    colspecs = {  # noqa: RUF012  (SQLAlchemy's own is such a mapping)
        sqltypes.Interval: RayInterval,
        sqltypes.Numeric: RayNumeric,
        sqltypes.JSON.JSONIndexType: JSONIndex,
        sqltypes.JSON.JSONPathType: JSONPath,
    }
    supports_alter = True
    supports_sequences = True
    sequences_optional = False
    preexecute_autoincrement_sequences = False
    use_insertmanyvalues = True
    insertmanyvalues_implicit_sentinel = InsertmanyvaluesSentinelOpts.ANY_AUTOINCREMENT
    insert_returning = update_returning = delete_returning = True
    requires_name_normalize = False
    postfetch_lastrowid = True
    supports_native_uuid = True
    execution_ctx_cls = RayExecutionContext

    def __init__(
        self,
        json_serializer: Callable[[Any], str] | None = None,
        json_deserializer: Callable[[str], Any] | None = None,
        **kw: Any,
    ) -> None:
        super().__init__(**kw)
        self._json_serializer, self._json_deserializer = json_serializer, json_deserializer
        self._memory: OwnConnection | None = None
        self._making = threading.Lock()
        self._levels = WeakKeyDictionary[OwnConnection, str]()

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        """Return the module."""
        return raydb

    def create_connect_args(self, url: URL) -> tuple[list[str], dict[str, bool]]:
        """Return what raydb.connect takes. Raises ArgumentError for options that it lacks."""
        return [url.database or ":memory:"], _options(url)

    def connect(self, *names: Any, **options: Any) -> Any:
        """Return a connection; all those to a database in memory share that of the engine."""
        if names != (":memory:",) or options.get("read_only"):
            return raydb.connect(*names, **options)
        with self._making:
            if self._memory is None:
                self._memory = raydb.connect(*names, **options)
            return self._memory.duplicate()

    def do_begin(self, dbapi_connection: Any) -> None:
        """Begin; RayDB commits each statement otherwise."""
        if not self.detect_autocommit_setting(dbapi_connection):
            dbapi_connection.begin()

    def get_isolation_level_values(self, dbapi_conn: Any) -> list[Any]:
        """Return the levels: snapshot isolation is REPEATABLE READ and does for those below."""
        return ["AUTOCOMMIT", _SNAPSHOT, "READ COMMITTED", "READ UNCOMMITTED"]

    def get_isolation_level(self, dbapi_connection: Any) -> Any:
        """Return what a connection was given."""
        # A pool's connection is asked for as well as the one in it.
        own = getattr(dbapi_connection, "dbapi_connection", dbapi_connection)
        return self._levels.get(own, _SNAPSHOT)

    def set_isolation_level(self, dbapi_connection: Any, level: Any) -> None:
        """Let a connection have another one."""
        self._levels[dbapi_connection] = level

    def detect_autocommit_setting(self, dbapi_conn: Any) -> bool:
        """Tell whether each statement is a transaction."""
        return bool(self.get_isolation_level(dbapi_conn) == "AUTOCOMMIT")

    def _get_server_version_info(self, connection: Connection) -> tuple[int, ...]:
        return tuple(int(part) for part in raydb.__version__.split("."))


def _options(url: URL) -> dict[str, bool]:
    options = {}
    for name, value in url.query.items():
        if name not in ("read_only", "external_access") or str(value).lower() not in _SWITCH:
            raise ArgumentError(
                f"'{name}={value}' is no option of a raydb URL: it takes read_only=true and"
                " external_access=false"
            )
        options[name] = _SWITCH[str(value).lower()]
    return options
