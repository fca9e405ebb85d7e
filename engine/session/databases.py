"""The databases of a session: its own, that of its temporary tables, and those of ATTACH.

A statement sees them all in one catalog. A query has the names of its own database as they are, and
others with their database before them; a statement that writes to another one has that one's as
they are. Outside of a transaction each statement reads their newest versions; a transaction reads
those of its first statement, and may change one that is kept on disk.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.engine.databases.attached import (
    MEMORY,
    Attached,
    Attachment,
    identity_of,
)
from raydb.engine.databases.joined import Beside, are_same, join_snapshots, prefixes
from raydb.engine.session.settings import check_file
from raydb.engine.statements.names import named_in
from raydb.errors import OperationalError, ProgrammingError
from raydb.names import find_object, is_same
from raydb.planner.catalog import CATALOG, MAIN, TEMP, in_schema, one_place
from raydb.sql import ast, placed, unknown_database, unknown_qualifier, unknown_schema
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from raydb.engine.catalog.database import Database
    from raydb.engine.catalog.snapshot import Snapshot
    from raydb.engine.databases.joined import Other
    from raydb.engine.session.settings import Settings
    from raydb.errors import DatabaseError


class Databases:
    """A session's own database and the others.

    current, schema: the place of names that name none.
    """

    def __init__(self, own: Database) -> None:
        self._own = own
        self._attached: tuple[Attached, ...] = ()
        self._attachments: tuple[Attachment, ...] = ()  # those that it has seen
        self._only_reads = False
        # By the database that is written to.
        self._joined: dict[str, tuple[tuple[object, ...], Snapshot]] = {}
        self._beside: Beside | None = None
        self.current, self.schema = CATALOG, MAIN

    # -- what statements read

    @property
    def snapshot(self) -> Snapshot:
        """All databases as the next query reads them."""
        return self.beside(self._own.snapshot)

    def beside(self, written: Snapshot, name: str = CATALOG) -> Snapshot:
        """Return a snapshot of a database, by its own names, with those of all others."""
        if not self._attached and self.schema == MAIN:
            return written
        others = self._others(name)
        parts = (written, self.current, self.schema, *(each.own for each in others))
        known = self._joined.get(name)
        if known is None or not are_same(known[0], parts):
            joined = join_snapshots(name, written, others, self.place_of_names)
            known = self._joined[name] = parts, joined
        return known[1]

    def _others(self, name: str) -> list[Other]:
        """Return the databases beside one of them."""
        others: list[Other] = [each for each in self._attached if each.name != name]
        if name == CATALOG:
            return others
        own = self._own.snapshot
        if self._beside is None or self._beside.own is not own:
            self._beside = Beside(own)
        return [self._beside, *others]

    def named(self) -> Snapshot:
        """Return the own snapshot with the sequences and types that are temporary.

        Of two sequences the own one comes first: that of a column is called after its table.
        """
        own = self._own.snapshot
        temporary = next((each.own for each in self._attached if each.name == TEMP), None)
        if temporary is None or not (temporary.sequences or temporary.types):
            return own
        return replace(
            own,
            sequences={**temporary.sequences, **own.sequences},
            types={**own.types, **temporary.types},
        )

    def catch_up(self) -> None:
        """Go on with what others have committed, between transactions."""
        self._own.catch_up()
        if not (self._own.shared.attachments is self._attachments or self.in_transaction):
            self._go_on()
        for each in self._attached:
            each.catch_up(holds=self.in_transaction)

    def _go_on(self) -> None:
        """Have what sessions of the same database have attached, and leave what they detached."""
        attachments = self._own.shared.attachments
        temporary = [each for each in self._attached if each.name == TEMP]
        known = {each.attachment: each for each in self._attached if each not in temporary}
        self._attached = (*temporary, *(known.get(each) or Attached(each) for each in attachments))
        self._attachments, self._joined = attachments, {}
        for attachment, each in known.items():
            if attachment not in attachments:
                each.close()

    def wait_for(self, error: DatabaseError) -> None:
        """Wait for a database that a statement names, which an error has told to be locked.

        Raises LockedError where it stays so.
        """
        (locked,) = (each for each in self._attached if each.is_lost_by(error))
        locked.require(holds=self.in_transaction)

    def release(self) -> None:
        """End a statement."""
        for each in () if self.in_transaction else self._attached:
            each.release()

    def use_bvhs(self, tables: frozenset[str], name: str) -> None:
        """Let BVHs leave deleted rows out, on tables as a statement sees them.

        name: the database that the statement writes to.
        """
        written = self.database(name)
        written.use_bvhs(tables)
        if not self._attached:
            return
        others = self._others(name)
        before = prefixes(written.snapshot, others)
        for each, prefix in zip(others, before, strict=True):
            if isinstance(each, Attached):
                each.use_bvhs(tables, prefix)
            else:
                own = (key for key in tables if key.startswith(prefix))
                self._own.use_bvhs(frozenset(key.removeprefix(prefix) for key in own))

    def called(self, name: str) -> str:
        """Return the name of a database as it was made; ProgrammingError for what is none."""
        names = [CATALOG, *(each.name for each in self._attached)]
        found = find_object(name, names, "database")
        if found is None:
            raise unknown_database(name, names)
        return found

    @property
    def place_of_names(self) -> tuple[str, str]:
        """The database and the schema of names that name none."""
        return self.current, self.schema

    def database(self, name: str) -> Database:
        """Return a database that statements have written to, or that is written to now."""
        if name == CATALOG:
            return self._own
        return self._attached_as(name).begin_writing(holds=self.in_transaction)

    def version_of(self, name: str) -> Snapshot:
        """Return the version of a database that statements read."""
        return self._own.snapshot if name == CATALOG else self._attached_as(name).own

    def _attached_as(self, name: str) -> Attached:
        return next(each for each in self._attached if each.name == name)

    def written(
        self, place: Sequence[str], kind: str, named: Iterable[str], *, read_only: bool
    ) -> tuple[str, str | None]:
        """Return the name of the database that a statement writes to, and the schema it names.

        place: what it names, a database and a schema or one of them, or nothing: then it is that
        of temporary tables where it changes some of them. named: what it changes, tables or what
        else `kind` says. read_only: whether the session only reads. Raises OperationalError where
        the database can only be read, ProgrammingError for an unknown one and for what is in
        several.
        """
        if place and is_same(place[0], TEMP):
            self._make_temporary()
        schema = None
        if place and not (len(place) == 1 and is_same(place[0], MAIN)):
            found, schema = self.place(place)
        else:
            found = TEMP if self._are_temporary(kind, named) else self.current
            if found not in (CATALOG, *(each.name for each in self._attached)):
                raise ProgrammingError(f"database '{found}' was detached; USE another one")
            schema = MAIN if place else None
            if schema is None and self.schema not in (MAIN, *self._schemas(self.current)):
                raise ProgrammingError(f"schema '{self.schema}' was dropped; USE another one")
        if read_only and self._is_on_disk(found):
            raise OperationalError("the database is opened read-only")
        if self.in_transaction and self._only_reads and found != TEMP:
            raise OperationalError("the transaction was begun with READ ONLY")
        self.database(found)
        self._check_alone(found)
        return found, schema

    def place(self, written: Sequence[str]) -> tuple[str, str]:
        """Return the database and the schema that a statement names.

        Raises ProgrammingError for unknown ones.
        """
        names = [CATALOG, *(each.name for each in self._attached)]
        database = find_object(written[0], names, "database")
        if len(written) == 2:
            if database is None:
                raise unknown_database(written[0], names)
            schemas = self._schemas(database)
            schema = find_object(written[1], (MAIN, *schemas), "schema")
            if schema is None:
                raise unknown_schema(written[1], schemas)
            return database, schema
        (name,) = written
        schemas = self._schemas(self.current)
        schema = find_object(name, (MAIN, *schemas), "schema")
        found = one_place(name, database, schema, self.current)
        if not found:
            raise unknown_qualifier(name, (*schemas, *names))
        return found[0]

    def _schemas(self, database: str) -> Sequence[str]:
        if database == CATALOG:
            return tuple(self._own.snapshot.schemas)
        return [
            name for each in self._attached if each.name == database for name in each.own.schemas
        ]

    def placed(
        self,
        statement: ast.Definition | ast.Write,
        target: tuple[str, str | None],
        snapshot: Snapshot,
    ) -> ast.Definition | ast.Write:
        """Return a statement whose names are those of the database that it writes to.

        target: that one, and the schema that the statement names.
        """
        database, schema = target
        current = self.schema if database == self.current else MAIN
        if not (snapshot.schemas or isinstance(statement, ast.CreateTable | ast.AlterTable)):
            return statement

        def made(name: str) -> str:
            inside = schema or current
            if inside == MAIN:
                placed.check_bare(name, snapshot.schemas)
            return in_schema(name, inside)

        def known(kind: str, name: str) -> str:
            if kind in ("bvh", "type", "schema"):
                return name
            for inside in (schema,) if schema else (current, MAIN):
                if inside == MAIN:
                    placed.check_bare(name, snapshot.schemas)
                    return name
                whole = in_schema(name, inside)
                if schema or find_object(whole, named_in(snapshot, kind), kind) is not None:
                    return whole
            return name

        return placed.placed(statement, made, known)

    def _check_alone(self, name: str) -> None:
        """Raise OperationalError where the transaction has changed another database than this one.

        Nothing could undo what is durable in one of them where the other one fails.
        """
        if name == TEMP or not self.in_transaction:
            return
        others = ((each.name, each.writer) for each in self._attached if each.name != TEMP)
        for other, database in ((CATALOG, self._own), *others):
            if other != name and database is not None and database.is_changed:
                raise OperationalError(
                    f"the transaction has changed database '{other}', so it cannot change '{name}':"
                    " one transaction changes one database, and temporary tables"
                )

    def _are_temporary(self, kind: str, names: Iterable[str]) -> bool:
        if all(each.name != TEMP for each in self._attached):
            return False
        known = named_in(self.database(TEMP).snapshot, kind)
        found = [find_object(name, known, kind) is not None for name in names]
        if any(found) and not all(found):
            raise ProgrammingError("what one statement changes is in one database")
        return any(found)

    def _is_on_disk(self, name: str) -> bool:
        if name == CATALOG:
            return self._own.shared.store is not None
        return any(each.path is not None for each in self._attached if each.name == name)

    def _make_temporary(self) -> None:
        if all(each.name != TEMP for each in self._attached):
            self._add(Attached(Attachment.of(ast.Attach(MEMORY, TEMP))))

    def rows(self, *, with_files: bool) -> pa.Table:
        """Return the rows of SHOW DATABASES, or of PRAGMA database_list."""
        store = self._own.shared.store
        own = None if store is None else str(store.directory.folder)
        listed = [(CATALOG, own), *((each.name, each.path) for each in self._attached)]
        if not with_files:
            return pa.table({"database_name": sorted(name for name, _ in listed)})
        names, files = zip(*listed, strict=True)
        numbers = pa.array(range(len(listed)), pa.int64())
        return pa.table({"seq": numbers, "name": names, "file": pa.array(files, pa.string())})

    # -- transactions

    @property
    def has_others(self) -> bool:
        """Whether any database is attached."""
        return bool(self._attached or self._own.shared.attachments)

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is active."""
        return self._own.in_transaction

    def _all(self) -> Iterator[Database]:
        """Yield the databases that statements may change."""
        yield self._own
        for each in self._attached:
            if each.writer is not None:
                yield each.writer

    def begin(self, *, read_only: bool = False) -> None:
        """Begin a transaction, which reads the commits that are the newest at its first statement.

        read_only: whether it changes temporary tables at most.
        """
        for each in self._all():
            each.begin()
        self._only_reads = read_only

    def commit(self) -> None:
        """Make the transaction durable, and end it; where that fails it is rolled back.

        Temporary tables come last: nothing hinders them.
        """
        everyone = list(self._all())
        temporary = next((each.writer for each in self._attached if each.name == TEMP), None)
        try:
            for each in sorted(everyone, key=lambda each: each is temporary):
                each.commit()
        except BaseException:
            for each in everyone:
                if each.in_transaction:
                    each.rollback()
            raise

    def rollback(self) -> None:
        """Undo the transaction, and end it."""
        for each in self._all():
            each.rollback()

    def savepoint(self, name: str) -> None:
        """Remember the state within a transaction; a later savepoint hides one of its name."""
        for each in self._all():
            each.savepoint(name)

    def release_savepoint(self, name: str) -> None:
        """Forget a savepoint and those after it."""
        for each in self._all():
            each.release(name)

    def rollback_to(self, name: str) -> None:
        """Go back to a savepoint, which stays; those after it are forgotten."""
        for each in self._all():
            each.rollback_to(name)

    def save(self, *, frees_space: bool = False) -> None:
        """Make what a statement has changed durable; where that fails, it is forgotten."""
        for each in self._all():
            each.save(frees_space=frees_space)

    def discard(self) -> None:
        """Forget what is not saved, outside of a transaction: a statement failed after it."""
        for each in self._all():
            each.discard()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Read the newest commits while nobody else commits."""
        with ExitStack() as stack:
            # Always in the same order: another session may have the same databases.
            for each in sorted(self._all(), key=lambda each: id(each.shared)):
                stack.enter_context(each.alone())
            yield

    def states(self) -> Callable[[], None]:
        """Return what goes back, within a transaction, to how all are now."""
        before = [(each, each.state) for each in self._all()]

        def restore() -> None:
            for each, state in before:
                if each.in_transaction:
                    each.restore(state)

        return restore

    def change(self, statement: ast.Databases, settings: Settings, *, read_only: bool) -> None:
        """Attach or detach a database, or name the current one.

        read_only: whether the session only reads.
        """
        match statement:
            case ast.Attach():
                self._attach(statement, settings, read_only=read_only)
            case ast.Detach(name=name):
                names = [each.name for each in self._attached]
                if not (statement.if_exists and find_object(name, names, "database") is None):
                    self._detach(self.called(name))
            case ast.Use(place=place):
                self.use(place)

    def use(self, place: Sequence[str]) -> None:
        """Let names that name no place be in one from now on."""
        if len(place) == 1 and is_same(place[0], MAIN):
            self.current, self.schema = CATALOG, MAIN
        else:
            self.current, self.schema = self.place(place)

    def _attach(self, statement: ast.Attach, settings: Settings, *, read_only: bool) -> None:
        known = next((each for each in self._attached if is_same(each.name, statement.name)), None)
        if known is not None and statement.if_not_exists:
            return
        if known is not None and not statement.or_replace:
            raise ProgrammingError(f"a database is attached as '{known.name}' already")
        makes = statement.kind != "sqlite" and not (statement.read_only or read_only)
        if statement.path != MEMORY:
            check_file(statement.path, settings, may_be_object=True)
            self._check_new(statement.path, known, makes=makes)
        elif statement.read_only:
            raise ProgrammingError("a database in memory is empty at first: READ_ONLY has no use")
        opens = makes and (statement.read_only is False or identity_of(statement.path) is None)
        attached = Attached(Attachment.of(statement), opens=opens)
        try:
            attached.require(holds=False)
            if known is not None:
                self._detach(known.name)
            self._own.shared.attach(attached.attachment)
        except BaseException:
            attached.close()
            raise
        self._add(attached)

    def _add(self, attached: Attached) -> None:
        attached.catch_up(holds=False)
        if attached.writer is not None and self.in_transaction:
            attached.writer.begin()
            for name in self._own.savepoints:
                attached.writer.savepoint(name)
        self._attached = (*self._attached, attached)

    def _check_new(self, path: str, replaced: Attached | None, *, makes: bool) -> None:
        """Raise OperationalError for a database that the session has already, or cannot make."""
        identity = identity_of(path)
        if identity is None:
            if not makes:
                raise OperationalError(f"database '{path}' does not exist")
            return
        store = self._own.shared.store
        if store is not None and identity == identity_of(str(store.directory.folder)):
            raise OperationalError(f"database '{path}' is the one of this connection, {CATALOG}")
        for each in self._attached:
            if each is not replaced and identity == each.identity:
                raise OperationalError(f"database '{path}' is attached already, as '{each.name}'")

    def _detach(self, name: str) -> None:
        if name in (CATALOG, TEMP):
            raise ProgrammingError(f"database '{name}' is the connection's own; it stays")
        if name == self.current:
            raise ProgrammingError(f"database '{name}' is the current one; USE another one first")
        if self.in_transaction:
            raise ProgrammingError(
                f"database '{name}' cannot be detached within a transaction, which may read it"
            )
        gone = self._attached_as(name)
        self._attached = tuple(each for each in self._attached if each is not gone)
        self._joined = {}
        self._own.shared.attach(None, gone.attachment)
        gone.close()

    def close(self) -> None:
        """Leave all databases."""
        attached, self._attached = self._attached, ()
        for each in attached:
            each.close()
        self._own.close()
