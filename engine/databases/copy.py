"""COPY FROM DATABASE: all that one database holds, written to another one that is empty."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.errors import ProgrammingError
from raydb.storage.tables.parts import FilePart, RestPart
from raydb.storage.tables.rows import Rows, part_of
from raydb.storage.tables.sequence import Sequence
from raydb.values import replace

if TYPE_CHECKING:
    from raydb.engine.catalog.snapshot import Snapshot
    from raydb.engine.session.databases import Databases
    from raydb.sql import ast
    from raydb.storage.tables.parts import Part
    from raydb.storage.tables.table import Table


def copy_database(statement: ast.CopyDatabase, databases: Databases, *, read_only: bool) -> None:
    """Let a database hold what another one does; saving writes it to files of its own.

    read_only: whether the session only reads. Raises ProgrammingError for one that is not empty.
    """
    source = databases.called(statement.source)
    target, _ = databases.written((statement.target,), "table", (), read_only=read_only)
    written = databases.database(target)
    held = written.snapshot
    if any((held.tables, held.views, held.sequences, held.types, held.schemas, held.macros)):
        raise ProgrammingError(f"database '{target}' is not empty, so nothing is copied to it")
    written.define(
        _copied(databases.version_of(source), keeps_files=written.shared.store is not None)
    )


def _copied(snapshot: Snapshot, *, keeps_files: bool) -> Snapshot:
    """Return a snapshot that shares nothing which changes with another one.

    keeps_files: whether rows may stay in the other's files until they are saved.
    """
    sequences = {}
    for name, sequence in snapshot.sequences.items():
        sequences[name] = Sequence(name, sequence.options)
        sequences[name].position.move(*sequence.position.read())
    tables = {name: _with_rows(table, keeps_files) for name, table in snapshot.tables.items()}
    return replace(snapshot, tables=tables, sequences=sequences)


def _with_rows(table: Table, keeps_files: bool) -> Table:
    rows = table.rows
    if not keeps_files:
        return replace(table, rows=Rows(rows.schema, (part_of(rows.table()),)))
    parts: tuple[Part, ...] = tuple(
        # A part of a file of another database is written anew.
        RestPart(part, 0) if isinstance(part, FilePart) else part
        for part in rows.parts
    )
    return replace(table, rows=Rows(rows.schema, parts))
