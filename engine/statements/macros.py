"""CREATE and DROP MACRO."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb import sql
from raydb.engine.statements.dependents import without_comments
from raydb.engine.statements.names import macros_of, names_to_drop
from raydb.errors import ProgrammingError
from raydb.names import find_object
from raydb.values import replace

if TYPE_CHECKING:
    from raydb.engine.catalog.snapshot import Snapshot
    from raydb.sql import ast


def create_macro(statement: ast.CreateMacro, snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with a macro, whose body is bound where it is called."""
    known = find_object(statement.name, macros_of(snapshot, statement.is_table), "macro")
    if known is not None:
        if statement.if_not_exists:
            return snapshot
        if not statement.or_replace:
            raise ProgrammingError(f"macro '{known}' exists already")
        kind = "table macro" if statement.is_table else "macro"
        snapshot = without_comments(snapshot, kind, known)
    key = sql.macro_key(known or statement.name, is_table=statement.is_table)
    return replace(snapshot, macros={**snapshot.macros, key: statement.text})


def drop_macros(statement: ast.Drop, snapshot: Snapshot) -> Snapshot:
    """Return the snapshot without some macros; those of tables where no others have the names."""
    both = [macros_of(snapshot, is_table) for is_table in (False, True)]
    is_table = statement.kind == "table macro" or not any(
        find_object(name, both[False], "macro") for name in statement.names
    )
    names = names_to_drop("macro", statement.names, both[is_table], statement.if_exists)
    gone = {sql.macro_key(name, is_table=is_table) for name in names}
    left = {key: text for key, text in snapshot.macros.items() if key not in gone}
    return replace(snapshot, macros=left)
