"""Dependents of tables and views: a statement that would break a view or a BVH is refused.

A view and a BVH are kept as text, so they depend on whatever the text needs to be bound.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from raydb import sql
from raydb.engine.session.statement_sources import open_sources
from raydb.errors import Error, ProgrammingError
from raydb.planner.catalog import CATALOG, MAIN, TEMP, schema_of
from raydb.planner.stars.star import canonical_definition
from raydb.sql import ast

if TYPE_CHECKING:
    from raydb.engine.catalog.snapshot import Snapshot
    from raydb.engine.context.statement_context import StatementContext
    from raydb.planner.catalog import CatalogInfo


def settle(
    context: StatementContext, after: Snapshot, what: str, *, cascade: bool | None = None
) -> Snapshot:
    """Return the snapshot `after` with the BVHs and views that it leaves.

    BVHs whose definition means something else now are built anew. Those that do not bind any more,
    and views that did bind before, are dropped with `cascade`; else ProgrammingError says that
    `what` is not possible. None means that the statement has no CASCADE.
    """
    hint = "; CASCADE drops it too" if cascade is False else ""
    for name, bvh in after.bvhs.items():
        try:
            (statement,) = sql.parse(bvh.definition.text)
            assert isinstance(statement, ast.CreateBvh)
            definition = canonical_definition(sql.bind_bvh(statement, after.describe()))
        except ProgrammingError as error:
            if not cascade:
                raise ProgrammingError(
                    f"{what}: the BVH '{name}' needs it{hint or f' ({error.sentence})'}"
                ) from None
            rest = {other: kept for other, kept in after.bvhs.items() if other != name}
            after = replace(after, bvhs=rest)
            continue
        if definition != bvh.definition:
            after = after.with_bvh(definition, context)
    return _settle_views(context, after, what, hint, cascade=bool(cascade))


def _settle_views(
    context: StatementContext, after: Snapshot, what: str, hint: str, *, cascade: bool
) -> Snapshot:
    before = context.snapshot
    while True:
        for name in after.views:
            error = view_error(name, after, context)
            known = before.views.get(name) == after.views[name]
            if error is None or not known or view_error(name, before, context) is not None:
                continue
            if not cascade:
                why = hint or f" ({error.sentence})"
                raise ProgrammingError(f"{what}: the view '{name}' needs it{why}")
            rest = {other: text for other, text in after.views.items() if other != name}
            after = replace(after, views=rest)
            break
        else:
            return after


def view_error(name: str, snapshot: Snapshot, context: StatementContext) -> Error | None:
    """Return why a view cannot be read, None if it can."""
    try:
        bind_view(name, snapshot, context)
    except Error as error:
        return error
    return None


def bind_view(name: str, snapshot: Snapshot, context: StatementContext) -> None:
    """Raise the error, if there is one, that reading a view gives.

    It has no position, for that would be one in the view's text.
    """
    (select,) = sql.parse(snapshot.views[name])
    if not isinstance(select, ast.Select):
        raise ProgrammingError(f"the view '{name}' is a statement that changes rows, not a query")
    others = {other: text for other, text in snapshot.views.items() if other != name}
    # A view that named a Python object would mean something else wherever it is read.
    alone = replace(context, snapshot=replace(snapshot, views=others), python=None, parameters=())
    try:
        schema = schema_of(name, snapshot.schemas)
        known = _as_in_view(alone.all_databases.describe(), context.target, schema)
        select = sql.expand_macros(select, known.relations)
        opened = open_sources(select, alone)
        catalog = alone.all_databases.with_changes(opened).describe()
        sql.bind_select(select, _as_in_view(catalog, context.target, schema))
    except Error as error:
        error.position = None
        raise


def _as_in_view(catalog: CatalogInfo, database: str, schema: str) -> CatalogInfo:
    """Return a catalog in which names that name no place are in one, or temporary."""
    if database == TEMP:
        return replace(catalog, current=(CATALOG, MAIN))
    lasting = {name: keys for name, keys in catalog.attached.items() if name != TEMP}
    macros = {name: keys for name, keys in catalog.attached_macros.items() if name != TEMP}
    return replace(catalog, attached=lasting, attached_macros=macros, current=(database, schema))
