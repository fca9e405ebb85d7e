"""The queries of a workload, as a text or in a file, each as an optimised plan."""

from __future__ import annotations

import itertools
import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raydb import sql
from raydb.engine.session.settings import check_file
from raydb.engine.session.settled import expanded
from raydb.errors import DataError, Error, OperationalError, ProgrammingError
from raydb.planner.optimizer import optimize
from raydb.planner.plan.function_arguments import Argument
from raydb.sql import ast
from raydb.storage.formats.paths import describe_failure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raydb.engine.context.statement_context import StatementContext
    from raydb.engine.session.settings import Settings
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.plan.nodes import Plan

WORKLOAD = Argument("workload")

# What tells a text from the path of a file.
_QUERY = re.compile(r";|\b(select|values)\s", re.IGNORECASE)


def plans(
    workload: Any, function: str, context: StatementContext
) -> Iterator[tuple[int, Plan | str]]:
    """Yield each statement of a workload by its number, as a plan, or why it is left out.

    workload: what the function got for it; names and macros mean what they mean in the session.
    Raises ProgrammingError where that is no text or has no query, OperationalError and DataError
    for a file that cannot be read, and the error of a statement that is wrong, with its number.
    """
    if not isinstance(workload, str):
        raise ProgrammingError(
            f"{function}() takes a workload: the text of its queries or the path of a file of them"
        )
    text = _text_of(workload, context.settings)
    catalog = context.all_databases.describe()
    with _naming("the workload"):
        statements = sql.each_statement(text)
    for number in itertools.count(1):
        with _naming(f"query {number} of the workload"):
            statement = next(statements, None)
            found = None if statement is None else _plan(expanded(statement, context), catalog)
        if found is None:
            if number == 1:
                raise ProgrammingError("the workload has no query")
            return
        yield number, found


def _text_of(workload: str, settings: Settings) -> str:
    """Return the text of a workload, which may be in a file."""
    if _QUERY.search(workload) or not workload.strip():
        return workload
    check_file(workload, settings)
    try:
        return Path(workload).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"file '{workload}' is not UTF-8") from error
    except (OSError, ValueError) as error:
        failure = error if isinstance(error, OSError) else OSError(str(error))
        raise OperationalError(describe_failure(workload, failure)) from error


@contextmanager
def _naming(place: str) -> Iterator[None]:
    """Let an error say where it is; a line and a column in it are those of the workload."""
    try:
        yield
    except Error as error:
        raise type(error)(f"{place}: {error}") from error


def _plan(statement: ast.Statement, catalog: CatalogInfo) -> Plan | str:
    if not isinstance(statement, ast.Select):
        return "it is not a query"
    tables = list(sql.tables_in(sql.sources_in(statement.tree), catalog.relations))
    if sql.files_of(statement, tables) or sql.opened_calls(statement, tables):
        return "it reads what is not a table of the database"
    return optimize(sql.bind_select(statement, catalog), catalog)
