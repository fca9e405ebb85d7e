"""Files that a query reads: tables that exist for as long as the query runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb import sql
from raydb.storage.sources import open_rows
from raydb.storage.table import Table, TableDefinition

if TYPE_CHECKING:
    from collections.abc import Mapping


def open_files(select: sql.Select) -> Mapping[str, Table]:
    """Open the files that a query names in FROM; return their tables by their names in its plan.

    Raises as `open_rows` does.
    """
    return {sql.file_table(path): _open_file(path) for path in sql.files_of(select)}


def _open_file(path: str) -> Table:
    rows = open_rows(path)
    return Table(TableDefinition(sql.file_table(path), rows.schema), rows, 0)
