"""What surrounds a statement: macros and PIVOT before, places in errors, another try where due."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from raydb import sql
from raydb.engine.operators.run import failure
from raydb.errors import DataError, NotSupportedError, OperationalError, ProgrammingError
from raydb.sql import ast
from raydb.storage.formats import text_part
from raydb.storage.sqlite.locked import LockedError
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.engine.context.statement_context import StatementContext

T = TypeVar("T")
Statement = TypeVar("Statement", bound=ast.Statement)


def expanded(statement: T, context: StatementContext) -> T:
    """Return a statement in which no macro is called."""
    relations = context.queries.cache.relations(context.all_databases)
    return sql.expand_macros(statement, relations)


def settled(statement: Statement, context: StatementContext) -> Statement:
    """Return a statement in which no macro is called and each PIVOT lists its values."""

    def ask(select: ast.Select) -> pa.Table:
        own = replace(context, text="")
        if context.parameters:
            values = sql.bind_values(sql.parameters_of(statement), context.parameters)
            names = sql.parameters_of(select)
            own = replace(own, parameters={name: values[name] for name in names})
        rows = context.queries.run(select, own).rows
        assert rows is not None
        return rows

    return sql.with_values(expanded(statement, context), ask)


class NamingErrors:
    """Lets errors about a text tell the place, and others than ours be those of PEP 249.

    Modules that are imported late need descriptors. What is nested too deeply is refused beside:
    what binds may still be too deep for the planner, such as a chain of many views.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: object
    ) -> None:
        if error is None:
            return
        if isinstance(error, ProgrammingError | NotSupportedError):
            sql.locate_name(error, self._text)
        elif isinstance(error, ImportError | OSError):
            raise OperationalError(
                f"the system refused what the statement needs: {error}"
            ) from error
        elif isinstance(error, MemoryError | pa.ArrowException):
            raise failure(error) from error


def again_where_due(run: Callable[[StatementContext], T], context: StatementContext) -> T:
    """Run a statement, and again where it has to wait or to know more.

    A value of a file may tell another type than those before it, and an attached database that the
    statement names may be locked for a moment.
    """
    try:
        return run(context)
    except DataError as error:
        if not isinstance(error, text_part.LateValueError):
            raise
        context = replace(context, whole_sample=True)
    except LockedError as error:
        context.databases.wait_for(error)
    return again_where_due(run, context)
