"""Names of a snapshot, and its schemas: errors for what is taken and what does not exist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.names import find_object, fold, is_same, known_object
from raydb.planner.catalog import CATALOG, MAIN, TEMP, schema_of
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from raydb.engine.catalog.snapshot import Snapshot
    from raydb.sql import ast


def _relation(name: str, snapshot: Snapshot) -> str | None:
    """Return the name of a table or a view as it was made."""
    return find_object(name, {**snapshot.tables, **snapshot.views}, "table")


def named_in(snapshot: Snapshot, kind: str) -> Collection[str]:
    """Return the names of all tables and views, or of what else of a kind there is."""
    match kind:
        case "index":
            tables = snapshot.tables.values()
            return [index.name for table in tables for index in table.definition.indexes]
        case "bvh":
            return snapshot.bvhs
        case "sequence":
            return snapshot.sequences
        case "type":
            return snapshot.types
        case "macro" | "table macro":
            return macros_of(snapshot, kind == "table macro")
        case _:
            return {**snapshot.tables, **snapshot.views}


def macros_of(snapshot: Snapshot, is_table: bool) -> Mapping[str, str]:
    """Return the definitions of macros of one kind, by their names."""
    return {
        name.removesuffix("()"): text
        for name, text in snapshot.macros.items()
        if name.endswith("()") == is_table
    }


def table_called(name: str, snapshot: Snapshot) -> str:
    """Return the name of a table as it was made; raises ProgrammingError for what is none."""
    found = _relation(name, snapshot)
    if found in snapshot.views:
        raise ProgrammingError(f"'{found}' is a view, not a table")
    return found or known_object(name, snapshot.tables, "table")


def view_called(name: str, snapshot: Snapshot) -> str:
    """Return the name of a view as it was made; raises ProgrammingError for what is none."""
    found = _relation(name, snapshot)
    if found in snapshot.tables:
        raise ProgrammingError(f"'{found}' is a table, not a view")
    return found or known_object(name, snapshot.views, "view")


def check_free(name: str, snapshot: Snapshot, but: str | None = None) -> None:
    """Raise ProgrammingError if a table or a view has a name, `but` the one that gets it."""
    taken = _relation(name, snapshot)
    if taken is not None and (taken != but or taken == name):
        kind = "table" if taken in snapshot.tables else "view"
        raise ProgrammingError(f"{kind} '{taken}' exists already")


def names_to_drop(
    kind: str, names: Iterable[str], known: Mapping[str, object], if_exists: bool
) -> list[str]:
    """Return the names that a DROP is for, each once; with IF EXISTS those that exist."""
    found = (
        find_object(name, known, kind) if if_exists else known_object(name, known, kind)
        for name in names
    )
    return list(dict.fromkeys(name for name in found if name is not None))


# -- schemas

_SYSTEM = ("information_schema", "pg_catalog", CATALOG, TEMP)


def create_schema(statement: ast.CreateSchema, snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with a new schema, in which nothing is."""
    name = statement.name
    known = find_object(name, (MAIN, *snapshot.schemas), "schema")
    if known is not None and statement.if_not_exists:
        return snapshot
    if known is not None or any(is_same(name, each) for each in _SYSTEM):
        raise ProgrammingError(f"schema '{known or name}' exists already")
    if "." in name or not name:
        raise NotSupportedError(f"the name of a schema has no dot, unlike '{name}'")
    for kind in ("table", "sequence", "index"):
        for each in named_in(snapshot, kind):
            if fold(each).startswith(f"{fold(name)}."):
                raise ProgrammingError(
                    f"schema '{name}' cannot be made: the {kind} '{each}' of the schema '{MAIN}'"
                    " is called as one in it; rename it first"
                )
    return replace(snapshot, schemas={**snapshot.schemas, name: name})


def schemas_to_drop(statement: ast.Drop, snapshot: Snapshot) -> list[str]:
    """Return the names of the schemas that a DROP is for."""
    for name in statement.names:
        if any(is_same(name, each) for each in (MAIN, *_SYSTEM)):
            raise ProgrammingError(f"schema '{name}' cannot be dropped: it is always there")
    return names_to_drop("schema", statement.names, snapshot.schemas, statement.if_exists)


def names_inside(
    schema: str, kind: Literal["view", "table", "sequence"], snapshot: Snapshot
) -> tuple[str, ...]:
    """Return what there is of a kind in a schema, sequences of columns left out."""
    known = {"view": snapshot.views, "table": snapshot.tables, "sequence": snapshot.sequences}
    owned = {
        each.sequence for table in snapshot.tables.values() for each in table.definition.identities
    }
    return tuple(
        name
        for name in known[kind]
        if schema_of(name, snapshot.schemas) == schema
        and not (kind == "sequence" and name in owned)
    )


def without_schema_named(name: str, snapshot: Snapshot) -> Snapshot:
    """Return the snapshot without a schema that is empty."""
    left = {each: made for each, made in snapshot.schemas.items() if each != name}
    return replace(snapshot, schemas=left)
