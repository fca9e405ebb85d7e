"""Sources of a statement beside the database's tables: files, Python objects, some calls in FROM.

Each is a table that exists for as long as the statement runs.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from raydb import sql
from raydb.engine.session.settings import EXTERNAL_ACCESS, REPLACEMENT_SCANS, check_file
from raydb.errors import ProgrammingError
from raydb.names import index_names
from raydb.planner.plan.table_function import TABLE_FUNCTIONS, OpenedFunction
from raydb.sql import ast
from raydb.storage.formats import sources as file_sources
from raydb.storage.tables.parts import ArrowPart
from raydb.storage.tables.rows import Rows
from raydb.storage.tables.table import Table, TableDefinition

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raydb.engine.context.statement_context import StatementContext

TABLE_FUNCTIONS.fill = (partial(import_module, "raydb.engine.table_functions.registered"),)


def open_sources(statement: ast.Select | ast.Dml, context: StatementContext) -> Mapping[str, Table]:
    """Return the tables of the files, Python objects and calls that a statement names in FROM.

    Raises OperationalError where files are not allowed, and what `open_rows`, `PythonTables.find`
    and the functions raise.
    """
    snapshot, parameters, settings = context.all_databases, context.parameters, context.settings
    relations = context.queries.cache.relations(snapshot)
    sources = sql.sources_in(statement.tree)
    key = None
    if isinstance(statement, ast.Select) and not context.given:
        key = sql.names_in(sources)
    if key in relations.stored:
        return {}
    named = sql.tables_named(statement, sources)
    tables = {name: context.given[name] for name in named if name in context.given}
    written = list(sql.tables_in(sources, relations))
    files = sql.files_of(statement, written, parameters) if written else {}
    for name, source in files.items():
        for path in source.patterns:
            check_file(path, settings, may_be_object=True)
        if name in snapshot.tables:
            raise ProgrammingError(f"the table '{name}' is called as the file is; rename it")
        rows = file_sources.open_rows(source, context.whole_sample)
        tables[name] = Table(TableDefinition(name, rows.schema), rows, 0)
    places = relations.places()
    unknown = [name for name in named if name not in tables and not relations.has(name, places)]
    if unknown:
        known = [index_names(relations.names_at(place)) for place in places]
        unknown = [name for name in unknown if not any(each.places(name) for each in known)]
    if unknown and context.python is not None:
        with_variables = settings[REPLACEMENT_SCANS] and settings[EXTERNAL_ACCESS]
        tables |= context.python.find(unknown, with_variables=with_variables)
    calls = sql.opened_calls(statement, written, parameters) if written else {}
    for name, call in calls.items():
        assert isinstance(call.function, OpenedFunction)
        found = call.function.open(call, context)
        rows = Rows(found.schema, (ArrowPart(found),))
        tables[name] = Table(TableDefinition(name, found.schema), rows, 0)
    if key is not None and not (tables or written or unknown):
        relations.keep_stored(key)
    return tables
