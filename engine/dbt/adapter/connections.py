"""Connections of dbt's threads to one database."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from dbt.adapters.contracts.connection import AdapterResponse, ConnectionState, Credentials
from dbt.adapters.exceptions import FailedToConnectError
from dbt.adapters.raydb.handle import Database
from dbt.adapters.sql import SQLConnectionManager
from dbt_common.exceptions import DbtDatabaseError

import raydb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbt.adapters.contracts.connection import Connection


@dataclass
class RayDBCredentials(Credentials):
    """An output in profiles.yml.

    path: that of the database directory, or `:memory:`, whose tables are gone when dbt ends.
    settings: settings of each connection by their names, such as {"memory_limit": "4GB"}.
    """

    database: str = "raydb"
    schema: str = "main"
    path: str = ":memory:"
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def type(self) -> str:
        """The name of the adapter."""
        return "raydb"

    @property
    def unique_field(self) -> str:
        """What tells one database from another, hashed in dbt's statistics."""
        return self.path

    def _connection_keys(self) -> tuple[str, ...]:
        return ("database", "schema", "path", "settings")


class RayDBConnectionManager(SQLConnectionManager):
    """The connections of dbt's threads, all to one database of this process."""

    TYPE = "raydb"

    _opening: ClassVar[threading.Lock] = threading.Lock()
    _databases: ClassVar[dict[str, Database]] = {}

    @classmethod
    def open(cls, connection: Connection) -> Connection:
        """Open a connection, and the database with the first one.

        Raises: FailedToConnectError
        """
        if connection.state == ConnectionState.OPEN:
            return connection
        asked = connection.credentials
        try:
            with cls._opening:
                database = cls._databases.get(asked.path)
                if database is None:
                    database = cls._databases[asked.path] = Database(asked.path, asked.settings)
            connection.handle = database.connect()
        except raydb.Error as error:
            connection.handle = None
            connection.state = ConnectionState.FAIL
            raise FailedToConnectError(str(error)) from error
        connection.state = ConnectionState.OPEN
        return connection

    def cleanup_all(self) -> None:
        """Close all connections, and with them the database."""
        super().cleanup_all()
        with self._opening:
            database = self._databases.pop(self.profile.credentials.path, None)
        if database is not None:
            database.close()

    def cancel(self, connection: Connection) -> None:
        """Stop the statement that a connection runs."""
        connection.handle.interrupt()

    @contextmanager
    def exception_handler(self, sql: str) -> Iterator[None]:
        """Roll back and raise dbt's own error for one of the database."""
        try:
            yield
        except raydb.Error as error:
            self.rollback_if_open()
            raise DbtDatabaseError(str(error)) from error
        except Exception:
            self.rollback_if_open()
            raise

    def add_begin_query(self) -> None:
        """Begin a transaction."""
        self.get_thread_connection().handle.begin()

    def add_commit_query(self) -> None:
        """Commit the transaction."""
        with self.exception_handler("COMMIT"):
            self.get_thread_connection().handle.commit()

    @classmethod
    def get_response(cls, cursor: Any) -> AdapterResponse:
        """Return how many rows a statement found or wrote."""
        rows = cursor.rowcount
        return AdapterResponse(_message="OK" if rows < 0 else f"OK {rows}", rows_affected=rows)

    @classmethod
    def data_type_code_to_name(cls, type_code: Any) -> str:
        """Return the name of a type in a cursor's description."""
        return str(type_code)
