"""Names of a snapshot: errors for those that are taken and those that do not exist."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.errors import ProgrammingError
from raydb.names import find_object, known_object

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from raydb.engine.catalog.snapshot import Snapshot


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
        case _:
            return {**snapshot.tables, **snapshot.views}


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
