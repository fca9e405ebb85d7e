"""The databases of a session: its own, and those that ATTACH has added for reading.

A statement sees them all in one catalog, in which names of attached ones have their database before
them. Outside of a transaction each statement reads their newest versions; a transaction reads those
of its first statement.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.engine.catalog.attached import (
    Attached,
    identity_of,
    join_snapshots,
    prefixes,
)
from raydb.engine.session.settings import check_file
from raydb.errors import NotSupportedError, OperationalError, ProgrammingError
from raydb.names import find_object, is_same
from raydb.planner.catalog import CATALOG
from raydb.sql import ast, unknown_database, unknown_qualifier

if TYPE_CHECKING:
    from collections.abc import Iterable

    from raydb.engine.catalog.database import Database
    from raydb.engine.catalog.snapshot import Snapshot
    from raydb.engine.session.settings import Settings
    from raydb.errors import DatabaseError


class Databases:
    """A session's own database and the attached ones.

    current: the one of names that name none.
    """

    def __init__(self, own: Database) -> None:
        self._own = own
        self._attached: tuple[Attached, ...] = ()
        self._joined: tuple[tuple[object, ...], Snapshot] | None = None
        self.current = CATALOG

    # -- what statements read

    @property
    def snapshot(self) -> Snapshot:
        """All databases as the next statement reads them."""
        return self.beside(self._own.snapshot)

    def beside(self, own: Snapshot) -> Snapshot:
        """Return a snapshot of the own database with those of the attached ones."""
        if not self._attached:
            return own
        parts = (own, self.current, *(each.own for each in self._attached))
        known = self._joined
        if known is None or not _are_same(known[0], parts):
            joined = join_snapshots(own, self._attached, self.current)
            known = self._joined = parts, joined
        return known[1]

    def catch_up(self) -> None:
        """Go on with what others have committed, between transactions."""
        self._own.catch_up()
        for each in self._attached:
            each.catch_up(holds=self._own.in_transaction)

    def wait_for(self, error: DatabaseError) -> None:
        """Wait for a database that a statement names, which an error has told to be locked.

        Raises LockedError where it stays so.
        """
        (locked,) = (each for each in self._attached if each.is_lost_by(error))
        locked.require(holds=self._own.in_transaction)

    def release(self) -> None:
        """End a statement."""
        if self._attached and not self._own.in_transaction:
            for each in self._attached:
                each.release()

    def use_bvhs(self, tables: Iterable[str]) -> None:
        """Let BVHs of attached databases leave deleted rows out; those of the own one have been."""
        if self._attached:
            before = prefixes(self._own.snapshot, self._attached)
            for each, prefix in zip(self._attached, before, strict=True):
                each.use_bvhs(tables, prefix)

    # -- names

    def called(self, name: str) -> str:
        """Return the name of a database as it was made; ProgrammingError for what is none."""
        names = [CATALOG, *(each.name for each in self._attached)]
        found = find_object(name, names, "database")
        if found is None:
            raise unknown_database(name, names)
        return found

    def check_writable(self, name: str | None) -> None:
        """Raise OperationalError for a database that is attached; None is the current one."""
        names = [CATALOG, *(each.name for each in self._attached)]
        found = self.current if name is None else find_object(name, names, "database")
        if found is None:
            assert name is not None
            raise unknown_qualifier(name, names)
        if found != CATALOG:
            raise OperationalError(f"database '{found}' is attached, and so read-only")

    def rows(self, *, with_files: bool) -> pa.Table:
        """Return the rows of SHOW DATABASES, or of PRAGMA database_list."""
        store = self._own.shared.store
        own = None if store is None else str(store.directory.folder.absolute())
        listed = [(CATALOG, own), *((each.name, each.path) for each in self._attached)]
        if not with_files:
            return pa.table({"database_name": sorted(name for name, _ in listed)})
        names, files = zip(*listed, strict=True)
        numbers = pa.array(range(len(listed)), pa.int64())
        return pa.table({"seq": numbers, "name": names, "file": pa.array(files, pa.string())})

    # -- statements

    def change(self, statement: ast.Databases, settings: Settings) -> None:
        """Attach or detach a database, or name the current one."""
        match statement:
            case ast.Attach():
                self._attach(statement, settings)
            case ast.Detach(name=name):
                names = [each.name for each in self._attached]
                if not (statement.if_exists and find_object(name, names, "database") is None):
                    self._detach(self.called(name))
            case ast.Use(name=name):
                self.current = self.called(name)

    def _attach(self, statement: ast.Attach, settings: Settings) -> None:
        known = next((each for each in self._attached if is_same(each.name, statement.name)), None)
        if known is not None and statement.if_not_exists:
            return
        if known is not None and not statement.or_replace:
            raise ProgrammingError(f"a database is attached as '{known.name}' already")
        if statement.path == ":memory:":
            raise NotSupportedError(
                "a database in memory cannot be attached: what is attached is read-only;"
                " raydb.connect() opens one"
            )
        check_file(statement.path, settings)
        self._check_new(statement.path, known)
        attached = Attached(statement)
        try:
            attached.require(holds=False)
        except BaseException:
            attached.close()
            raise
        if known is not None:
            self._detach(known.name)
        self._attached = (*self._attached, attached)

    def _check_new(self, path: str, replaced: Attached | None) -> None:
        """Raise OperationalError for a database that the session has already."""
        identity = identity_of(path)
        if identity is None:
            raise OperationalError(f"database '{path}' does not exist, and ATTACH makes none")
        store = self._own.shared.store
        if store is not None and identity == identity_of(str(store.directory.folder)):
            raise OperationalError(f"database '{path}' is the one of this connection, {CATALOG}")
        for each in self._attached:
            if each is not replaced and identity == each.identity:
                raise OperationalError(f"database '{path}' is attached already, as '{each.name}'")

    def _detach(self, name: str) -> None:
        if name == CATALOG:
            raise ProgrammingError(f"database '{name}' is the connection's own; it stays")
        if name == self.current:
            raise ProgrammingError(f"database '{name}' is the current one; USE another one first")
        if self._own.in_transaction:
            raise ProgrammingError(
                f"database '{name}' cannot be detached within a transaction, which may read it"
            )
        (gone,) = (each for each in self._attached if each.name == name)
        self._attached = tuple(each for each in self._attached if each is not gone)
        self._joined = None
        gone.close()

    def duplicate_into(self, other: Databases) -> None:
        """Attach to another session what is attached here."""
        other._attached = tuple(Attached(each.attach) for each in self._attached)
        other.catch_up()
        other.release()
        other.current = self.current

    def close(self) -> None:
        """Leave all databases."""
        attached, self._attached = self._attached, ()
        for each in attached:
            each.close()
        self._own.close()


def _are_same(some: tuple[object, ...], others: tuple[object, ...]) -> bool:
    return len(some) == len(others) and all(
        one is other for one, other in zip(some, others, strict=True)
    )
