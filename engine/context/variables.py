"""The variables of a connection: SET VARIABLE name = value, getvariable('name')."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb import sql

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from raydb.engine.context.statement_context import StatementContext
    from raydb.sql import ast


def with_variable(
    variables: Mapping[str, pa.Scalar], statement: ast.SetVariable, context: StatementContext
) -> Mapping[str, pa.Scalar]:
    """Return the variables with another value of one, or without it."""
    kept = {name: value for name, value in variables.items() if name != statement.name}
    if statement.value is None:
        return kept
    query = sql.expand_macros(statement.value, context.all_databases.relations)
    rows = context.queries.run(query, context).rows
    assert rows is not None, "a query has rows"
    return {**kept, statement.name: rows.column(0)[0]}
