"""CREATE and DROP: each is a function from a snapshot to the next one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from raydb import sql
from raydb.errors import ProgrammingError, did_you_mean
from raydb.planner.star import canonical_definition
from raydb.storage.constraints import check_drop, define_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from raydb.engine.snapshot import Snapshot

    Definition = (
        sql.CreateTable
        | sql.DropTable
        | sql.CreateView
        | sql.DropView
        | sql.CreateBvh
        | sql.DropBvh
    )


def apply_definition(statement: Definition, snapshot: Snapshot) -> Snapshot:
    """Return the snapshot that a CREATE or DROP statement leaves.

    Raises ProgrammingError for names that are taken or do not exist, IntegrityError for a DROP of a
    table that another one refers to.
    """
    match statement:
        case sql.CreateTable():
            return _create_table(statement, snapshot)
        case sql.CreateView():
            return _create_view(statement, snapshot)
        case sql.CreateBvh():
            return _create_bvh(statement, snapshot)
        case sql.DropTable(name=name, if_exists=if_exists):
            if if_exists and name not in snapshot.tables:
                return snapshot
            check_table(name, snapshot)
            check_drop(name, snapshot.tables)
            return snapshot.without_table(name)
        case sql.DropView(name=name, if_exists=if_exists):
            if if_exists and name not in snapshot.views:
                return snapshot
            _check_known("view", name, snapshot.views)
            rest = {other: text for other, text in snapshot.views.items() if other != name}
            return replace(snapshot, views=rest)
        case sql.DropBvh(name=name, if_exists=if_exists):
            if if_exists and name not in snapshot.bvhs:
                return snapshot
            _check_known("BVH", name, snapshot.bvhs)
            kept = {other: bvh for other, bvh in snapshot.bvhs.items() if other != name}
            return replace(snapshot, bvhs=kept)


def check_table(name: str, snapshot: Snapshot) -> None:
    """Raise ProgrammingError unless `name` is a table."""
    if name in snapshot.views:
        raise ProgrammingError(f"'{name}' is a view, not a table")
    _check_known("table", name, snapshot.tables)


def _check_known(kind: str, name: str, known: Iterable[str]) -> None:
    if name not in known:
        raise ProgrammingError(f"{kind} '{name}' does not exist{did_you_mean(name, known)}")


def _check_free(name: str, snapshot: Snapshot) -> None:
    if name in snapshot.tables:
        raise ProgrammingError(f"table '{name}' exists already")
    if name in snapshot.views:
        raise ProgrammingError(f"view '{name}' exists already")


def _create_table(statement: sql.CreateTable, snapshot: Snapshot) -> Snapshot:
    name = statement.definition.name
    if statement.if_not_exists and name in snapshot.tables:
        return snapshot
    _check_free(name, snapshot)
    return snapshot.with_table(define_table(statement.definition, snapshot.tables))


def _create_view(statement: sql.CreateView, snapshot: Snapshot) -> Snapshot:
    """Store a view's text once it binds."""
    name = statement.name
    if not (statement.or_replace and name in snapshot.views):
        _check_free(name, snapshot)
    (select,) = sql.parse(statement.text)
    assert isinstance(select, sql.Select)
    others = {other: text for other, text in snapshot.views.items() if other != name}
    sql.bind_select(select, replace(snapshot, views=others).describe())
    return replace(snapshot, views={**others, name: statement.text})


def _create_bvh(statement: sql.CreateBvh, snapshot: Snapshot) -> Snapshot:
    if statement.name in snapshot.bvhs:
        raise ProgrammingError(f"BVH '{statement.name}' exists already")
    return snapshot.with_bvh(canonical_definition(sql.bind_bvh(statement, snapshot.describe())))
