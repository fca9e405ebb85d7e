"""Names with a schema or a database before them.

main.t, sales.t                t of a schema
shop.t, shop.main.t            t of the database shop, which was attached
information_schema.tables      a table function's call
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from raydb.errors import ProgrammingError, did_you_mean
from raydb.names import find_object, fold
from raydb.planner.catalog import CATALOG, MAIN

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from raydb.planner.catalog import Relations

PG_CATALOG = "pg_catalog"
"""The schema of PostgreSQL's own tables, see `raydb.sql.system_catalog`."""

INFORMATION = "information_schema"
"""The schema of what describes the tables and views."""


def check_writable(place: Sequence[str]) -> None:
    """Raise ProgrammingError for a place whose tables cannot be written."""
    if place and fold(place[-1]) == INFORMATION:
        raise ProgrammingError(f"the schema '{INFORMATION}' can only be read")


def unknown_place(place: Sequence[str], relations: Relations) -> ProgrammingError:
    """Return the error for what stands before a table and is no database and no schema."""
    if len(place) == 2:
        database = find_object(place[0], relations.databases, "database")
        if database is None:
            return unknown_database(place[0], relations.databases)
        return unknown_schema(place[1], relations.schemas.get(database, ()))
    (name,) = place
    schemas = relations.schemas.get(relations.current[0], ())
    return unknown_qualifier(name, (*schemas, *relations.databases))


def unknown_schema(name: str, schemas: Iterable[str] = ()) -> ProgrammingError:
    """Return the error for a schema of a database that there is not."""
    near = did_you_mean(name, (MAIN, INFORMATION, *schemas))
    return ProgrammingError(f"schema '{name}' does not exist{near}")


def unknown_qualifier(name: str, known: Iterable[str]) -> ProgrammingError:
    """Return the error for what stands before a table and is none of databases and schemas."""
    near = did_you_mean(name, (MAIN, INFORMATION, *known))
    return ProgrammingError(
        f"schema '{name}' does not exist, and no database is attached as '{name}'{near}"
    )


def unknown_database(name: str, databases: Iterable[str]) -> ProgrammingError:
    """Return the error for a database that is not attached; databases: those that are."""
    return ProgrammingError(f"database '{name}' is not attached{did_you_mean(name, databases)}")


def resolve_schema(node: exp.Table | exp.Column) -> None:
    """Settle the schema of a name: that of a column is gone where it is main.

    A table of the information schema becomes a call in FROM, which nothing can write to; it is one
    for all databases. Raises ProgrammingError for one that names a database with it.
    """
    if (written := node.args.get("db")) is None:
        return
    schema, database = fold(written.name), node.args.get("catalog")
    if isinstance(node, exp.Column):
        # Another name may be that of a struct, as in s.inner.field.
        if schema == MAIN or (schema == INFORMATION and database is None):
            node.set("db", None)
    elif schema == INFORMATION:
        if database is not None and fold(database.name) != CATALOG:
            raise ProgrammingError(
                f"the schema '{INFORMATION}' is one for all databases; name it alone"
            )
        _call_information(node)
        node.set("catalog", None)


def _call_information(node: exp.Table) -> None:
    table = fold(node.this.name)
    node.set("db", None)
    if node.args.get("alias") is None:
        name = exp.to_identifier(table, quoted=True)
        node.set("alias", exp.TableAlias(this=name))
    node.set("this", exp.Anonymous(this=f"{INFORMATION}.{table}"))
