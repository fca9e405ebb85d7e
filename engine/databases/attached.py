"""Attached databases: others beside the connection's own, in a directory, in memory or of SQLite.

    ATTACH 'shop.raydb' AS shop    its table `sale` is in the catalog of a statement as `shop.sale`

They are read until a statement writes to them; an SQLite file is only read.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, ValuesView
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from raydb.engine.catalog.database import Database
from raydb.engine.catalog.shared_database import SharedDatabase
from raydb.engine.catalog.snapshot import Snapshot
from raydb.engine.databases.joined import under_prefix
from raydb.engine.databases.open_databases import leave, open_alone, share
from raydb.errors import DatabaseError, OperationalError
from raydb.storage.objects.urls import is_url
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from raydb.sql import ast

MEMORY = ":memory:"
"""The path of a database in memory."""


class Source(Protocol):
    """A database as it is attached: what it holds, by its own names."""

    @property
    def snapshot(self) -> Snapshot:
        """The version that statements read."""

    def catch_up(self, *, waits: bool) -> None:
        """Go on with what others have committed; see `SqliteDatabase.catch_up`."""

    def release(self) -> None:
        """Let others write freely until `catch_up`: nothing is read meanwhile."""

    def use_bvhs(self, tables: frozenset[str]) -> None:
        """Let the BVHs on some tables leave deleted rows out."""

    def close(self) -> None:
        """Give everything back."""


class DatabaseSource:
    """A database of ours; in a directory that is read as another process would, or to write to."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @property
    def snapshot(self) -> Snapshot:
        """The version that statements read."""
        return self.database.snapshot

    def catch_up(self, *, waits: bool) -> None:
        """Go on with what others have committed; they lock nobody out."""
        del waits
        self.database.catch_up()

    def release(self) -> None:
        """Do nothing: who reads hinders nobody."""

    def use_bvhs(self, tables: frozenset[str]) -> None:
        """Let the BVHs on some tables leave deleted rows out."""
        self.database.use_bvhs(tables)

    def close(self) -> None:
        """Close the database."""
        leave(self.database)


class SqliteSource:
    """An SQLite file; its version is one of SQLite's transactions."""

    def __init__(self, path: str, *, all_varchar: bool) -> None:
        # SQLite takes 4 ms to import, and few attach its files.
        from raydb.storage.sqlite.database import SqliteDatabase  # noqa: PLC0415

        self._database = SqliteDatabase(path, all_varchar=all_varchar)
        self._snapshot = Snapshot(self._database.tables)

    @property
    def snapshot(self) -> Snapshot:
        """The version that statements read."""
        return self._snapshot

    def catch_up(self, *, waits: bool) -> None:
        """Begin to read the newest version."""
        if self._database.catch_up(waits=waits):
            self._snapshot = Snapshot(self._database.tables)

    def release(self) -> None:
        """End the transaction of reading."""
        self._database.release()

    def use_bvhs(self, tables: frozenset[str]) -> None:
        """Do nothing: there are none."""

    def close(self) -> None:
        """Close the file."""
        self._database.close()


@dataclass(frozen=True, eq=False, slots=True)
class Attachment:
    """What ATTACH has added, for all sessions of a database.

    attach: the statement, whose path no working directory changes. memory: the database in memory,
    None for one of a file or a directory.
    """

    attach: ast.Attach
    memory: SharedDatabase | None

    @staticmethod
    def of(attach: ast.Attach) -> Attachment:
        """Return what a statement adds."""
        if attach.path == MEMORY:
            return Attachment(attach, SharedDatabase())
        if is_url(attach.path):
            return Attachment(attach, None)
        return Attachment(replace(attach, path=str(Path(attach.path).absolute())), None)


class Attached:
    """An attached database under its name, as one session has it.

    writer: how statements write to it, None where it is only read so far. opens: whether a
    directory is opened for writing at once, and made where there is none.
    """

    def __init__(self, attachment: Attachment, *, opens: bool = False) -> None:
        self.attachment = attachment
        self.attach = attachment.attach
        self.writer: Database | None = None
        self._source: Source | None = None
        if attachment.memory is not None:
            self._write_to(Database(attachment.memory))
        elif opens:
            self._write_to(share(self.attach.path, Database))
        self.identity = None if attachment.memory is not None else identity_of(self.attach.path)
        self._is_held = False
        self._known: tuple[Snapshot, str, Snapshot] | None = None
        self._lost: _Lost | None = None

    @property
    def name(self) -> str:
        """What statements call it."""
        return self.attach.name

    @property
    def path(self) -> str | None:
        """Where it is, whatever the working directory; None for one in memory."""
        return self.attach.path if self.attachment.memory is None else None

    def _write_to(self, database: Database) -> Database:
        self._source = DatabaseSource(database)
        self.writer = database
        return database

    def begin_writing(self, *, holds: bool) -> Database:
        """Return how to write to it, from its first change on alone with those of this process.

        holds: whether a transaction is active. Raises OperationalError where it can only be read.
        """
        if self.writer is not None:
            return self.writer
        if self.attach.read_only or not isinstance(self._source, DatabaseSource):
            raise OperationalError(f"database '{self.name}' is attached, and so read-only")
        if holds:
            raise OperationalError(
                f"database '{self.name}' was read by this transaction, which cannot change it;"
                " ATTACH ... (READ_WRITE) opens it for writing at once"
            )
        read = self._source
        database = self._write_to(share(self.attach.path, Database))
        read.close()
        return database

    @property
    def own(self) -> Snapshot:
        """The version that statements read, by its own names; an empty one while it is lost."""
        if self._lost is not None:
            return self._lost.snapshot
        assert self._source is not None, "it is read after it has caught up"
        return self._source.snapshot

    def catch_up(self, *, holds: bool, waits: bool = False) -> None:
        """Go on with what others have committed.

        Where that fails, only the statements fail that name the database. holds: whether a
        transaction is active, which reads the version of its first statement. waits: whether for a
        program that has locked the file.
        """
        if self._lost is None and holds and self._is_held:
            return
        try:
            if self._source is None:
                self._source = _open(self.attach)
            self._source.catch_up(waits=waits)
            self._lost = None
        except DatabaseError as error:
            self._lost = _Lost(error)
        self._is_held = holds

    def require(self, *, holds: bool) -> None:
        """Catch up, waiting for a program that has locked the file. Raises what hinders it."""
        self.catch_up(holds=holds, waits=True)
        if self._lost is not None:
            raise self._lost.error

    def is_lost_by(self, error: DatabaseError) -> bool:
        """Say whether an error is the one that statements get which name the database."""
        return self._lost is not None and self._lost.error is error

    def release(self) -> None:
        """End a statement that no transaction is around."""
        self._is_held = False
        if self._source is not None:
            self._source.release()

    def use_bvhs(self, tables: Iterable[str], prefix: str) -> None:
        """Let the BVHs on some tables, given by their keys, leave deleted rows out."""
        own = frozenset(key.removeprefix(prefix) for key in tables if key.startswith(prefix))
        if own and self._source is not None:
            self._source.use_bvhs(own)

    def under(self, prefix: str) -> Snapshot:
        """Return the version that statements read, with a prefix before all names."""
        own, known = self.own, self._known
        if known is None or known[0] is not own or known[1] != prefix:
            known = self._known = own, prefix, under_prefix(own, prefix)
        return known[2]

    def keys(self, prefix: str) -> Mapping[str, str]:
        """Return the key of each table and view by its name, with a prefix before all names."""
        if self._lost is not None:
            return self._lost
        snapshot = self.under(prefix)
        return {key.removeprefix(prefix): key for key in (*snapshot.tables, *snapshot.views)}

    def close(self) -> None:
        """Give everything back."""
        if self._source is not None:
            self._source.close()


class _Lost(Mapping[str, str]):
    """The names of a database that cannot be read: whoever looks for one gets the error."""

    def __init__(self, error: DatabaseError) -> None:
        self.error = error
        self.snapshot = Snapshot({})

    def __getitem__(self, _: str) -> str:
        raise self.error

    def __iter__(self) -> Iterator[str]:
        raise self.error

    def __len__(self) -> int:
        raise self.error

    def values(self) -> ValuesView[str]:
        """Return no keys: the catalog has nothing of this database."""
        return ValuesView({})


def _open(attach: ast.Attach) -> Source:
    """Open what ATTACH names, for reading. Raises OperationalError where that fails."""
    if attach.kind == "sqlite" or (attach.kind is None and is_sqlite(attach.path)):
        return SqliteSource(attach.path, all_varchar=attach.all_varchar)
    return DatabaseSource(open_alone(attach.path, Database, read_only=True))


def is_sqlite(path: str) -> bool:
    """Say whether a path is that of an SQLite database, by its first bytes."""
    if is_url(path):
        return False
    try:
        with Path(path).open("rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False


def identity_of(path: str) -> tuple[int, int] | str | None:
    """Return what tells a file or a directory from all others, whatever path leads there.

    None where there is none; of a URL it is not known before it is opened.
    """
    if is_url(path):
        return path.rstrip("/")
    try:
        status = os.stat(path)  # noqa: PTH116  (as in `open_databases`)
    except OSError:
        return None
    return status.st_dev, status.st_ino
