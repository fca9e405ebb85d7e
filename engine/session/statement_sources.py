"""What a statement reads beside the database's tables: files, Python objects, some calls in FROM.

Each is a table that exists for as long as the statement runs.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING

import raydb.engine.table_functions.registered  # noqa: F401  (those that FROM knows)
from raydb import sql
from raydb.engine.table_functions.opened import OpenDatabase
from raydb.engine.table_functions.vector.search_drift import SearchDrift
from raydb.planner.plan.table_function import OpenedFunction
from raydb.storage.tables.parts import ArrowPart
from raydb.storage.tables.rows import Rows
from raydb.storage.tables.table import Table, TableDefinition

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from raydb.engine.catalog.snapshot import Snapshot
    from raydb.engine.session.file_access import FileAccess
    from raydb.engine.session.python_tables import PythonTables
    from raydb.sql import ast

    Parameters = Sequence[object] | Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Use:
    """How many queries used a BVH, and when the last one did."""

    hits: int
    last_used: dt.datetime


class Uses:
    """How BVHs were used, by name, since the database was opened; rollbacks change nothing here.

    searches: what searches with a promise have shown.
    """

    def __init__(self) -> None:
        self._uses: dict[str, Use] = {}
        self.searches = SearchDrift()

    def note(self, names: Iterable[str]) -> None:
        """Count a query that used some BVHs."""
        now = dt.datetime.now()
        for name in names:
            known = self._uses.get(name)
            self._uses[name] = Use(1 if known is None else known.hits + 1, now)

    def forget(self, names: Iterable[str]) -> None:
        """Begin anew for BVHs that are gone or were made anew."""
        for name in names:
            self._uses.pop(name, None)

    def get(self, name: str) -> Use | None:
        """Return how a BVH was used, None where it was not."""
        return self._uses.get(name)


def open_sources(
    statement: ast.Select | ast.Insert | ast.Update | ast.Delete,
    snapshot: Snapshot,
    files: FileAccess,
    python: PythonTables,
    uses: Uses,
    parameters: Parameters,
) -> Mapping[str, Table]:
    """Return the tables of the files, Python objects and calls that a statement names in FROM.

    Raises what `FileAccess.open_files`, `PythonTables.find` and the functions raise.
    """
    tables = dict(files.open_files(statement, snapshot, parameters))
    known = snapshot.tables.keys() | snapshot.views.keys()
    unknown = {n: text for n, text in sql.tables_named(statement).items() if n not in known}
    if unknown:
        tables |= python.find(unknown)
    database = OpenDatabase(snapshot, files, uses)
    for name, call in sql.opened_calls(statement, snapshot.views, parameters).items():
        assert isinstance(call.function, OpenedFunction)
        rows = call.function.open(call, database)
        parts = (ArrowPart(rows),)
        tables[name] = Table(TableDefinition(name, rows.schema), Rows(rows.schema, parts), 0)
    return tables
