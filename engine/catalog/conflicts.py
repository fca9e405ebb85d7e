"""Commits of several connections: what a transaction changed is brought onto what others have made.

    base      the commit that it began from, which it reads to its end
    after     its own snapshot
    newest    the last commit of anybody

Changes of rows are made once more, on the newest snapshot. Rows keep their numbers, so each change
still says which rows it is of; where one of them is gone, the first to commit has won. Constraints
are checked again by that. Definitions have no such changes: what is different between the base and
the snapshot after is taken over, where nobody has touched it or what it depends on.
"""

from __future__ import annotations

from dataclasses import field, fields
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.engine.catalog.indexes import vector_index
from raydb.engine.catalog.snapshot import Snapshot
from raydb.engine.catalog.stored_bvh import columns_read
from raydb.errors import ConflictError
from raydb.interrupts import beside
from raydb.storage.tables.changes import Append, Load
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raydb.storage.tables.changes import Change

# What messages call the parts of a snapshot, where that is not the part's name.
_KINDS = {
    "bvhs": "BVH",
    "vector_indexes": "index",
    "text_indexes": "index",
    "calibrations": "the calibrations of index",
    "comments": "the comment on",
}


@dataclass(frozen=True, eq=False, slots=True)
class Commit:
    """A snapshot that was committed.

    number: commits have ascending ones; what says the same in another way, such as with rows in
    files, has the same. redefined: the number of the commit that last changed a table otherwise
    than by changes of rows, by the table's name.
    """

    snapshot: Snapshot = field(default_factory=Snapshot)
    number: int = 0
    redefined: Mapping[str, int] = field(default_factory=dict)


def rebased(
    base: Commit, after: Snapshot, changes: Sequence[Change] | None, newest: Commit
) -> tuple[Snapshot, Sequence[Change] | None]:
    """Return a snapshot, and the changes of rows that lead there, brought onto the newest commit.

    changes: those that led from the base to the snapshot after; None where it was redefined. Raises
    ConflictError where others have changed the same, and IntegrityError where a row breaks a
    constraint now.
    """
    if newest.snapshot is base.snapshot:
        return after, changes
    if changes is None:
        return _with_definitions(base.snapshot, after, newest.snapshot), None
    return _with_rows(base, changes, newest)


def redefined(before: Snapshot, commit: Commit) -> Commit:
    """Return a commit that knows which tables are others than those before."""
    names = _differing(before.tables, commit.snapshot.tables)
    return replace(commit, redefined={**commit.redefined, **dict.fromkeys(names, commit.number)})


# -- rows


def _with_rows(
    base: Commit, changes: Sequence[Change], newest: Commit
) -> tuple[Snapshot, Sequence[Change]]:
    """Make changes of rows on the newest snapshot."""
    snapshot, moved = newest.snapshot, []
    for place, change in enumerate(changes):
        if place:
            _check_followers(change.table, base.snapshot, newest.snapshot)
        if newest.redefined.get(change.table, 0) > base.number:
            raise _conflict("table", change.table)
        numbered = _numbered(change, base.snapshot, newest.snapshot)
        _check_rows_are_there(numbered, snapshot)
        vector_index.check_change(numbered, snapshot)
        snapshot = beside(partial(snapshot.with_change, numbered), numbered.row_count)
        moved.append(numbered)
    return snapshot, moved


def _numbered(change: Change, base: Snapshot, newest: Snapshot) -> Change:
    """Return a change whose own rows come after those that others have appended."""
    if isinstance(change, Append | Load):
        return change
    first = base.tables[change.table].row_count
    shift = newest.tables[change.table].row_count - first
    if not shift:
        return change
    numbers = change.row_numbers
    return replace(change, row_numbers=np.where(numbers < first, numbers, numbers + shift))


def _check_followers(name: str, base: Snapshot, newest: Snapshot) -> None:
    """Raise where an earlier change may have given rows of a table other numbers than in the base.

    It replaces rows whose foreign keys follow it, and others have changed which these are.
    """
    table = newest.tables[name]
    is_same = table.rows is base.tables[name].rows and table.live is base.tables[name].live
    if not is_same and any(any(key.actions) for key in table.definition.foreign_keys):
        raise _conflict("table", name)


def _check_rows_are_there(change: Change, snapshot: Snapshot) -> None:
    if isinstance(change, Append | Load):
        return
    live = snapshot.tables[change.table].live
    if live is not None and not live[change.row_numbers].all():
        raise ConflictError(
            f"rows of table '{change.table}' that this transaction changes were changed by another "
            "connection since it began; try again"
        )


# -- definitions


def _with_definitions(base: Snapshot, after: Snapshot, newest: Snapshot) -> Snapshot:
    """Return the newest snapshot with all that is different between the other two."""
    _check_definitions(base, newest)
    mine = _differing(base.tables, after.tables)
    bvhs = _differing(base.bvhs, after.bvhs)
    needed = set(mine)
    for name in mine:
        for snapshot in (base, after):
            needed |= _related(name, snapshot)
    for name in bvhs:
        needed |= {
            table
            for snapshot in (base, after)
            if name in snapshot.bvhs
            for table in columns_read(snapshot.bvhs[name].definition)
        }
    for name in sorted(needed):
        if newest.tables.get(name) is not base.tables.get(name):
            raise _conflict("table", name)
    merged: dict[str, Any] = {
        each.name: _merged(*(getattr(one, each.name) for one in (base, after, newest)))
        for each in fields(Snapshot)
    }
    return Snapshot(**merged)


def _check_definitions(base: Snapshot, newest: Snapshot) -> None:
    """Raise ConflictError where others have defined anything anew."""
    for each in fields(Snapshot):
        before, now = getattr(base, each.name), getattr(newest, each.name)
        for name in sorted(_differing(before, now)):
            if _definition(before.get(name)) != _definition(now.get(name)):
                shown = name if isinstance(name, str) else ".".join(filter(None, name[1:]))
                raise _conflict(_KINDS.get(each.name, each.name.removesuffix("s")), shown)


def _definition(value: Any) -> Any:
    """Return what a name stands for, without the rows of a table or of a BVH."""
    return getattr(value, "definition", value)


def _related(name: str, snapshot: Snapshot) -> set[str]:
    """Return the tables that a table refers to, and those that refer to it."""
    found = set()
    for table in snapshot.tables.values():
        for key in table.definition.foreign_keys:
            if name in (table.name, key.table):
                found |= {table.name, key.table}
    return found


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> set[str]:
    """Return the names that do not stand for the same thing in both."""
    return {name for name in {*one, *other} if one.get(name) is not other.get(name)}


def _merged(
    base: Mapping[str, Any], after: Mapping[str, Any], newest: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the newest values, and of those that are different after the base the ones after."""
    mine = _differing(base, after)
    kept = {name: value for name, value in newest.items() if name not in mine}
    return {**kept, **{name: value for name, value in after.items() if name in mine}}


def _conflict(kind: str, name: str) -> ConflictError:
    return ConflictError(
        f"{kind} '{name}' was changed by another connection since this transaction began; try again"
    )
