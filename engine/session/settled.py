"""What a statement needs before it is bound: the bodies of macros, and the values of a PIVOT."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from raydb import sql
from raydb.sql import ast

if TYPE_CHECKING:
    import pyarrow as pa

    from raydb.engine.context.statement_context import StatementContext

T = TypeVar("T")
Statement = TypeVar("Statement", bound=ast.Statement)


def expanded(statement: T, context: StatementContext) -> T:
    """Return a statement in which no macro is called."""
    known = context.all_databases
    return sql.expand_macros(statement, known.relations) if known.macros else statement


def settled(statement: Statement, context: StatementContext) -> Statement:
    """Return a statement in which no macro is called and each PIVOT lists its values."""

    def ask(select: ast.Select) -> pa.Table:
        own = context
        if context.parameters:
            values = sql.bind_values(sql.parameters_of(statement), context.parameters)
            names = sql.parameters_of(select)
            own = replace(context, parameters={name: values[name] for name in names})
        rows = context.queries.run(select, own).rows
        assert rows is not None
        return rows

    return sql.with_values(expanded(statement, context), ask)
