"""What a statement reads beside the database's tables: files, Python objects, some calls in FROM.

Each is a table that exists for as long as the statement runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import raydb.engine.table_functions.registered  # noqa: F401  (those that FROM knows)
from raydb import sql
from raydb.planner.plan.table_function import OpenedFunction
from raydb.storage.tables.parts import ArrowPart
from raydb.storage.tables.rows import Rows
from raydb.storage.tables.table import Table, TableDefinition

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raydb.engine.context.statement_context import StatementContext
    from raydb.sql import ast


def open_sources(
    statement: ast.Select | ast.Insert | ast.Update | ast.Delete, context: StatementContext
) -> Mapping[str, Table]:
    """Return the tables of the files, Python objects and calls that a statement names in FROM.

    Raises what `FileAccess.open_files`, `PythonTables.find` and the functions raise.
    """
    snapshot, parameters = context.snapshot, context.parameters
    tables = dict(context.files.open_files(statement, snapshot, parameters))
    known = snapshot.tables.keys() | snapshot.views.keys()
    unknown = {n: text for n, text in sql.tables_named(statement).items() if n not in known}
    if unknown:
        tables |= context.python.find(unknown)
    for name, call in sql.opened_calls(statement, snapshot.views, parameters).items():
        assert isinstance(call.function, OpenedFunction)
        rows = call.function.open(call, context)
        parts = (ArrowPart(rows),)
        tables[name] = Table(TableDefinition(name, rows.schema), Rows(rows.schema, parts), 0)
    return tables
