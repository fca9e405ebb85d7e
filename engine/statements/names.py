"""Names of a snapshot: errors for those that are taken and those that do not exist."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.errors import ProgrammingError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from raydb.engine.catalog.snapshot import Snapshot


def check_known(kind: str, name: str, known: Iterable[str]) -> None:
    """Raise ProgrammingError unless a name is known; `kind` is what it should be."""
    if name not in known:
        raise ProgrammingError(f"{kind} '{name}' does not exist{did_you_mean(name, known)}")


def check_table(name: str, snapshot: Snapshot) -> None:
    """Raise ProgrammingError unless `name` is a table."""
    if name in snapshot.views:
        raise ProgrammingError(f"'{name}' is a view, not a table")
    check_known("table", name, snapshot.tables)


def check_view(name: str, snapshot: Snapshot) -> None:
    """Raise ProgrammingError unless `name` is a view."""
    if name in snapshot.tables:
        raise ProgrammingError(f"'{name}' is a table, not a view")
    check_known("view", name, snapshot.views)


def check_free(name: str, snapshot: Snapshot) -> None:
    """Raise ProgrammingError if a table or a view has a name."""
    if name in snapshot.tables:
        raise ProgrammingError(f"table '{name}' exists already")
    if name in snapshot.views:
        raise ProgrammingError(f"view '{name}' exists already")


def names_to_drop(
    kind: str, names: Iterable[str], known: Mapping[str, object], if_exists: bool
) -> list[str]:
    """Return the names that a DROP is for, each once; with IF EXISTS those that exist."""
    wanted = list(dict.fromkeys(names))
    if if_exists:
        return [name for name in wanted if name in known]
    for name in wanted:
        check_known(kind, name, known)
    return wanted
