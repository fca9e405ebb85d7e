"""Files that a statement reads and writes, and whether it may.

A file in FROM is a table that exists for as long as the statement runs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from raydb import sql
from raydb.engine.session.settings import SWITCH
from raydb.errors import OperationalError, ProgrammingError
from raydb.storage.formats.sources import open_rows
from raydb.storage.tables.table import Table, TableDefinition

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raydb.engine.catalog.snapshot import Snapshot
    from raydb.sql import ast

    Parameters = Sequence[object] | Mapping[str, object]


@dataclass(frozen=True, slots=True)
class FileAccess:
    """What a connection may do with files that are not its database's own.

    allowed: whether it may read and write any. whole_sample: whether the types of a text file's
    columns are those of all its rows, and not of the first ones.
    """

    allowed: bool = True
    whole_sample: bool = False

    def open_files(
        self,
        statement: ast.Select | ast.Insert | ast.Update | ast.Delete,
        snapshot: Snapshot,
        parameters: Parameters,
    ) -> Mapping[str, Table]:
        """Open the files that a statement names in FROM; return their tables by their names.

        Raises OperationalError where files are not allowed, and as `open_rows` does.
        """
        tables = {}
        for name, source in sql.files_of(statement, snapshot.views, parameters).items():
            for path in source.patterns:
                self.check(path)
            if name in snapshot.tables:
                raise ProgrammingError(f"the table '{name}' is called as the file is; rename it")
            rows = open_rows(source, self.whole_sample)
            tables[name] = Table(TableDefinition(name, rows.schema), rows, 0)
        return tables

    def with_setting(self, value: str) -> FileAccess:
        """Return the access after SET external_access = value, which can take it away only."""
        if value.lower() not in SWITCH:
            raise ProgrammingError(f"external_access is 'on' or 'off', not '{value}'")
        if SWITCH[value.lower()] and not self.allowed:
            raise OperationalError(
                "external_access cannot be turned on again: it was turned off for the life of the"
                " connection"
            )
        return replace(self, allowed=SWITCH[value.lower()])

    def check(self, path: str) -> None:
        """Raise OperationalError unless the connection may read and write files."""
        if not self.allowed:
            raise OperationalError(
                f"file '{path}' cannot be accessed: external_access is off for this connection"
            )
