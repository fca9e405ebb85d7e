"""What goes with tables, views and others: views and BVHs over them, and their comments.

A statement that would break a view or a BVH is refused. These are kept as text, so they depend on
whatever the text needs to be bound. Only the views whose texts have the name of something that a
statement changes, or of a view or macro that does, are looked at: with each of a thousand views a
DROP would take seconds. A comment follows what it is on to other names, and ends with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb import sql
from raydb.engine.session.statement_sources import open_sources
from raydb.engine.statements.names import named_in, table_called, view_called
from raydb.errors import Error, ProgrammingError
from raydb.names import find_object, fold, known_name, known_object
from raydb.planner.catalog import CATALOG, MAIN, TEMP, schema_of
from raydb.planner.stars.star import canonical_definition
from raydb.sql import ast
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Collection

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
        for name in _views_that_read(_changed_names(before, after), after):
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


def _changed_names(before: Snapshot, after: Snapshot) -> set[str]:
    """Return the names of all that is in one snapshot and not, or not the same, in the other."""
    changed: set[str] = set()
    for kind in ("tables", "views", "sequences", "types", "schemas", "macros"):
        old, new = getattr(before, kind), getattr(after, kind)
        if old is not new:
            names = {*old, *new}
            changed.update(name for name in names if old.get(name) is not new.get(name))
    return changed


def _views_that_read(changed: set[str], snapshot: Snapshot) -> list[str]:
    """Return the views, in order, that may read what has changed, by way of others or directly."""
    found: set[str] = set()
    texts = [
        (name, fold(text)) for name, text in (*snapshot.views.items(), *snapshot.macros.items())
    ]
    waiting = list(changed)
    for name in waiting:
        # The last part of main.shop.sale, as each text has it; f() is a macro that gives rows.
        written = fold(name.rpartition(".")[2].removesuffix("()")).replace('"', '""')
        readers = [reader for reader, text in texts if written in text and reader not in found]
        found.update(readers)
        waiting += readers
    return [name for name in snapshot.views if name in found]


def view_error(name: str, snapshot: Snapshot, context: StatementContext) -> Error | None:
    """Return why a view cannot be read, None if it can."""
    try:
        bind_view(name, snapshot, context)
    except Error as error:
        return error
    return None


def bind_view(name: str, snapshot: Snapshot, context: StatementContext) -> list[str]:
    """Return the names of a view's columns, or raise the error that reading it gives.

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
        logical = sql.bind_select(select, _as_in_view(catalog, context.target, schema))
        return [column.name for column in logical.columns]
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


# -- comments


def comment_on(statement: ast.Comment, context: StatementContext) -> Snapshot:
    """Return the snapshot with a comment, or without one.

    Raises ProgrammingError for what does not exist.
    """
    snapshot = context.snapshot
    key = _key(statement, context)
    comments = {other: text for other, text in snapshot.comments.items() if other != key}
    if statement.text is not None:
        comments[key] = statement.text
    return replace(snapshot, comments=comments)


def _key(statement: ast.Comment, context: StatementContext) -> tuple[str, str, str]:
    """Return what a comment is on, by its names as they were made."""
    snapshot, kind, name = context.snapshot, statement.kind, statement.name
    match kind:
        case "table":
            return kind, table_called(name, snapshot), ""
        case "view":
            return kind, view_called(name, snapshot), ""
        case "column":
            view = find_object(name, snapshot.views, "view")
            relation = view or table_called(name, snapshot)
            if view is None:
                known = snapshot.tables[relation].definition.schema.names
            else:
                known = bind_view(view, snapshot, context)
            return kind, relation, known_name(statement.column, known, kind, f" in '{relation}'")
        case _:
            return kind, known_object(name, _named(kind, snapshot), kind), ""


def _named(kind: str, snapshot: Snapshot) -> Collection[str]:
    return (MAIN, *snapshot.schemas) if kind == "schema" else named_in(snapshot, kind)


def renamed_comments(
    snapshot: Snapshot, kind: str, name: str, to: str, column: str = ""
) -> Snapshot:
    """Return a snapshot whose comments are on what has another name now.

    kind: that of the name; `to` is that of a column where one is given, whose table is `name`.
    """
    if not snapshot.comments:
        return snapshot

    def moved(key: tuple[str, str, str]) -> tuple[str, str, str]:
        if column:
            return (kind, name, to) if key == (kind, name, column) else key
        return (key[0], to, key[2]) if key[0] in (kind, "column") and key[1] == name else key

    return replace(snapshot, comments={moved(key): text for key, text in snapshot.comments.items()})


def without_comments(snapshot: Snapshot, kind: str, name: str) -> Snapshot:
    """Return a snapshot without the comments on what is replaced, and on its columns."""
    kinds = (kind, "column") if kind == "view" else (kind,)
    kept = {
        key: text
        for key, text in snapshot.comments.items()
        if key[0] not in kinds or key[1] != name
    }
    return snapshot if len(kept) == len(snapshot.comments) else replace(snapshot, comments=kept)


def kept_comments(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot without the comments on what it does not have any more."""
    kept = {key: text for key, text in snapshot.comments.items() if _is_there(key, snapshot)}
    return snapshot if len(kept) == len(snapshot.comments) else replace(snapshot, comments=kept)


def _is_there(key: tuple[str, str, str], snapshot: Snapshot) -> bool:
    kind, name, column = key
    match kind:
        case "table":
            return name in snapshot.tables
        case "view":
            return name in snapshot.views
        case "column" if name in snapshot.tables:
            return column in snapshot.tables[name].definition.schema.names
        case "column":
            return name in snapshot.views
        case _:
            return name in _named(kind, snapshot)
