"""The prepared statements of a connection, by name: PREPARE, EXECUTE, DEALLOCATE.

They are texts. A transaction that is rolled back leaves them; they end with the connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.errors import ProgrammingError, did_you_mean
from raydb.names import fold

if TYPE_CHECKING:
    from raydb.sql import ast


class PreparedStatements:
    """What PREPARE has kept."""

    def __init__(self) -> None:
        self._statements: dict[str, ast.Prepare] = {}  # by the folded name

    def keep(self, statement: ast.Prepare) -> None:
        """Keep a statement. Raises ProgrammingError for a name that one has."""
        if fold(statement.name) in self._statements:
            raise ProgrammingError(
                f"statement '{statement.name}' is prepared already; DEALLOCATE it first"
            )
        self._statements[fold(statement.name)] = statement

    def find(self, name: str) -> ast.Prepare:
        """Return the statement of a name. Raises ProgrammingError where there is none."""
        if fold(name) not in self._statements:
            known = [statement.name for statement in self._statements.values()]
            raise ProgrammingError(
                f"prepared statement '{name}' does not exist{did_you_mean(name, known)}"
            )
        return self._statements[fold(name)]

    def forget(self, name: str | None) -> None:
        """Forget a statement, or all of them. Raises ProgrammingError where there is none."""
        if name is None:
            self._statements.clear()
        else:
            self.find(name)
            del self._statements[fold(name)]
