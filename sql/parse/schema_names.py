"""Names with a schema or a database before them.

main.t                         t
shop.t, shop.main.t            t of the database shop, which was attached
information_schema.tables      a table function's call
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from raydb.errors import ProgrammingError, did_you_mean
from raydb.names import fold
from raydb.planner.catalog import CATALOG, MAIN

if TYPE_CHECKING:
    from collections.abc import Iterable

INFORMATION = "information_schema"
"""The schema of what describes the tables and views."""


def database_of(database: str | None, schema: str) -> str | None:
    """Return the database that `database.schema.t` or `schema.t` names; None for the current one.

    What stands alone before a table may be either. Raises ProgrammingError for what has no tables
    that can be written.
    """
    if fold(schema) == INFORMATION:
        raise ProgrammingError(f"the schema '{INFORMATION}' can only be read")
    if database is None:
        return None if fold(schema) == MAIN else schema
    if fold(schema) != MAIN:
        raise unknown_schema(schema)
    return database


def unknown_schema(name: str) -> ProgrammingError:
    """Return the error for a schema of a database that there is not."""
    near = did_you_mean(name, (MAIN, INFORMATION))
    return ProgrammingError(f"schema '{name}' does not exist{near}")


def unknown_qualifier(name: str, databases: Iterable[str]) -> ProgrammingError:
    """Return the error for what stands before a table and is none of the databases."""
    near = did_you_mean(name, (MAIN, INFORMATION, *databases))
    return ProgrammingError(
        f"schema '{name}' does not exist, and no database is attached as '{name}'{near}"
    )


def unknown_database(name: str, databases: Iterable[str]) -> ProgrammingError:
    """Return the error for a database that is not attached; databases: those that are."""
    return ProgrammingError(f"database '{name}' is not attached{did_you_mean(name, databases)}")


def resolve_schema(node: exp.Table | exp.Column) -> None:
    """Take the schema out of a name; what is left in "db" is a database.

    A table of the information schema becomes a call in FROM, which nothing can write to; it is one
    for all databases. Raises ProgrammingError for unknown schemas.
    """
    if (written := node.args.get("db")) is None:
        return
    schema, database = fold(written.name), node.args.get("catalog")
    if isinstance(node, exp.Column):
        # Another name may be that of a struct, as in s.inner.field.
        if schema == MAIN or (schema == INFORMATION and database is None):
            node.set("db", None)
        return
    if schema == INFORMATION:
        if database is not None and fold(database.name) != CATALOG:
            raise ProgrammingError(
                f"the schema '{INFORMATION}' is one for all databases; name it alone"
            )
        _call_information(node)
    elif database is not None and schema != MAIN:
        raise unknown_schema(written.name)
    elif schema == MAIN or database is not None:
        node.set("db", database)
    node.set("catalog", None)


def _call_information(node: exp.Table) -> None:
    table = fold(node.this.name)
    node.set("db", None)
    if node.args.get("alias") is None:
        name = exp.to_identifier(table, quoted=True)
        node.set("alias", exp.TableAlias(this=name))
    node.set("this", exp.Anonymous(this=f"{INFORMATION}.{table}"))
