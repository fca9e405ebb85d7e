"""A connection as dbt uses it: many threads, each in transactions, and definitions in all of them.

The first of two concurrent transactions with definitions makes the other one a conflict, and dbt
tries nothing again. So one connection writes at a time, and the others wait for it; all read at
once. A transaction begins with its first statement that may write: what it reads before that is
committed, and what it reads afterwards is the newest.
"""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Any

import raydb

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raydb.engine.api.connection import Connection
    from raydb.engine.api.cursor import Cursor

# The first word of a text, behind comments and parentheses.
_FIRST_WORD = re.compile(r"(?:\s|\(|--[^\n]*(?:\n|$)|/\*.*?\*/)*(\w*)", re.DOTALL)
_READING = {"SELECT", "VALUES", "FROM", "EXPLAIN", "DESCRIBE", "SHOW", "SUMMARIZE"}


class Rows(list[tuple[Any, ...]]):
    """The parameters of a statement that is run once for each row."""


class Database:
    """A database that is open for dbt, in memory if it is not at a path.

    writing: held by the connection that writes.
    """

    def __init__(self, path: str, settings: Mapping[str, Any]) -> None:
        self.writing = threading.Lock()
        self._first = raydb.connect(path, config=dict(settings))

    def connect(self) -> Handle:
        """Return a connection of its own.

        Raises: raydb.Error
        """
        return Handle(self._first.duplicate(), self.writing)

    def close(self) -> None:
        """Close the connection that keeps the database open."""
        self._first.close()


class Handle:
    """A connection, whose writes exclude those of the others.

    Its methods are those of PEP 249, and `begin`.
    """

    def __init__(self, connection: Connection, writing: threading.Lock) -> None:
        self._connection = connection
        self._writing = writing
        self._is_wanted = False

    def begin(self) -> None:
        """Begin a transaction with the next statement that may write."""
        self._is_wanted = True

    def commit(self) -> None:
        """Commit the transaction, if there is one.

        Raises: raydb.Error
        """
        self._end(self._connection.commit)

    def rollback(self) -> None:
        """Roll the transaction back, if there is one."""
        self._end(self._connection.rollback)

    def _end(self, how: Any) -> None:
        self._is_wanted = False
        if self._connection.in_transaction:
            try:
                how()
            finally:
                self._writing.release()

    def interrupt(self) -> None:
        """Stop the statement that runs."""
        self._connection.interrupt()

    def close(self) -> None:
        """Roll back, and close the connection."""
        self.rollback()
        self._connection.close()

    def cursor(self) -> HandleCursor:
        """Return a cursor."""
        return HandleCursor(self, self._connection.cursor())

    def run(self, cursor: Cursor, sql: str, parameters: Sequence[Any]) -> None:
        """Run statements, once nobody else writes if they may write.

        COMMIT, which dbt sends before hooks outside of transactions, needs no transaction.

        Raises: raydb.Error
        """
        word, has_more = _first_word(sql)
        execute = cursor.executemany if isinstance(parameters, Rows) else cursor.execute
        if word == "COMMIT" and not has_more:
            self.commit()
            return
        if not self._connection.in_transaction:
            if word in _READING and not has_more:
                execute(sql, parameters)
                return
            self._writing.acquire()
        try:
            if self._is_wanted and not self._connection.in_transaction:
                self._connection.begin()
            execute(sql, parameters)
        finally:
            if not self._connection.in_transaction:
                self._writing.release()


class HandleCursor:
    """A cursor of a handle; what it does not have is that of the cursor in it."""

    def __init__(self, handle: Handle, cursor: Cursor) -> None:
        self._handle = handle
        self._cursor = cursor

    def execute(self, sql: str, parameters: Sequence[Any] | None = None) -> None:
        """Run statements, or one for each of several rows of parameters.

        Raises: raydb.Error
        """
        self._handle.run(self._cursor, sql, parameters or ())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)


def _first_word(sql: str) -> tuple[str, bool]:
    """Return the first word of a text in capitals, and whether another statement may follow."""
    found = _FIRST_WORD.match(sql)
    assert found is not None
    return found[1].upper(), ";" in sql[found.end() :].rstrip().removesuffix(";")
