"""Attached databases: others that queries may read, of a directory or of an SQLite file.

    ATTACH 'shop.raydb' AS shop    its table `sale` is in the catalog of a statement as `shop.sale`

All names of an attached database get one before them, so that tables of two databases go the same
way through plans, rules, scans and BVHs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, ValuesView
from dataclasses import field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from raydb.engine.catalog.database import Database
from raydb.engine.catalog.shared_database import SharedDatabase
from raydb.engine.catalog.snapshot import Snapshot
from raydb.engine.catalog.store import Store
from raydb.errors import DatabaseError
from raydb.planner.catalog import CATALOG, relations
from raydb.planner.expressions.nodes import Attribute, rewrite
from raydb.planner.stars.star import canonical_definition
from raydb.storage.durable.database_directory import DatabaseDirectory
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa

    from raydb.engine.catalog.stored_bvh import StoredBvh
    from raydb.planner.catalog import BvhDefinition, CatalogInfo, Relations
    from raydb.planner.expressions.nodes import Expression
    from raydb.sql import ast
    from raydb.storage.tables.table import ForeignKey, Table, TableDefinition


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


class DirectorySource:
    """A database directory, which is read as another process would."""

    def __init__(self, path: str) -> None:
        directory = DatabaseDirectory.open(path, read_only=True)
        try:
            self._database = Database(SharedDatabase(Store(directory)))
        except BaseException:
            directory.close()
            raise

    @property
    def snapshot(self) -> Snapshot:
        """The version that statements read."""
        return self._database.snapshot

    def catch_up(self, *, waits: bool) -> None:
        """Go on with what others have committed; they lock nobody out."""
        del waits
        self._database.catch_up()

    def release(self) -> None:
        """Do nothing: who reads hinders nobody."""

    def use_bvhs(self, tables: frozenset[str]) -> None:
        """Let the BVHs on some tables leave deleted rows out."""
        self._database.use_bvhs(tables)

    def close(self) -> None:
        """Close the directory."""
        self._database.close()


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


class Attached:
    """An attached database under its name.

    attach: the statement that attached it.
    """

    def __init__(self, attach: ast.Attach) -> None:
        self.attach = replace(attach, path=str(Path(attach.path).absolute()))
        self.identity = identity_of(attach.path)
        self._source: Source | None = None
        self._is_held = False
        self._known: tuple[Snapshot, str, Snapshot] | None = None
        self._lost: _Lost | None = None

    @property
    def name(self) -> str:
        """What statements call it."""
        return self.attach.name

    @property
    def path(self) -> str:
        """Where it is, whatever the working directory."""
        return self.attach.path

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
    """Open what ATTACH names. Raises OperationalError where that fails."""
    if attach.kind == "sqlite" or (attach.kind is None and is_sqlite(attach.path)):
        return SqliteSource(attach.path, all_varchar=attach.all_varchar)
    return DirectorySource(attach.path)


def is_sqlite(path: str) -> bool:
    """Say whether a path is that of an SQLite database, by its first bytes."""
    try:
        with Path(path).open("rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False


def identity_of(path: str) -> tuple[int, int] | None:
    """Return what tells a file or a directory from all others, whatever path leads there."""
    try:
        status = os.stat(path)  # noqa: PTH116  (as in `open_databases`)
    except OSError:
        return None
    return status.st_dev, status.st_ino


@dataclass(frozen=True, eq=False, slots=True)
class JoinedSnapshot(Snapshot):
    """A snapshot with those of attached databases.

    attached: the key of each table and view of an attached database, by its name. attached_types:
    its named types. current: the database of names that name none.
    """

    attached: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    attached_types: Mapping[str, Mapping[str, pa.DataType]] = field(default_factory=dict)
    current: str = CATALOG

    def describe(self) -> CatalogInfo:
        """Return what the binder and the planner see."""
        info = Snapshot.describe(self)
        return replace(
            info,
            attached=self.attached,
            attached_types=self.attached_types,
            current=self.current,
        )

    @property
    def relations(self) -> Relations:
        """Which table or view a name means."""
        return relations(self.tables, self.views, self.attached, self.current)


def join_snapshots(own: Snapshot, attached: Sequence[Attached], current: str) -> JoinedSnapshot:
    """Return the catalog of a statement: a connection's own database and those attached to it."""
    joined = {each.name: dict(getattr(own, each.name)) for each in fields(Snapshot)}
    keys: dict[str, Mapping[str, str]] = {}
    for each, prefix in zip(attached, prefixes(own, attached), strict=True):
        added = each.under(prefix)
        for name, known in joined.items():
            known.update(getattr(added, name))
        keys[each.name] = each.keys(prefix)
    types = {each.name: each.own.types for each in attached}
    return JoinedSnapshot(**joined, attached=keys, attached_types=types, current=current)


def prefixes(own: Snapshot, attached: Sequence[Attached]) -> list[str]:
    """Return for each attached database what stands before its names, and before no others."""
    indexes = (each.name for table in own.tables.values() for each in table.definition.indexes)
    taken = [*own.tables, *own.views, *own.bvhs, *indexes]
    found: list[str] = []
    for each in attached:
        prefix = f"{each.name}."
        while any(name.startswith(prefix) for name in (*taken, *found)) or any(
            prefix.startswith(other) for other in found
        ):
            prefix = f"'{prefix}"
        found.append(prefix)
    return found


# -- names


def under_prefix(snapshot: Snapshot, prefix: str) -> Snapshot:
    """Return a snapshot in which a prefix stands before the names of all that queries may use."""
    return Snapshot(
        tables={prefix + name: _table(each, prefix) for name, each in snapshot.tables.items()},
        views={prefix + name: text for name, text in snapshot.views.items()},
        bvhs={prefix + name: _bvh(each, prefix) for name, each in snapshot.bvhs.items()},
        vector_indexes={prefix + name: each for name, each in snapshot.vector_indexes.items()},
        calibrations={prefix + name: each for name, each in snapshot.calibrations.items()},
    )


def _table(table: Table, prefix: str) -> Table:
    foreign_rows = {_key(key, prefix): rows for key, rows in table.foreign_rows.items()}
    return replace(
        table, definition=_definition(table.definition, prefix), foreign_rows=foreign_rows
    )


def _definition(definition: TableDefinition, prefix: str) -> TableDefinition:
    return replace(
        definition,
        name=prefix + definition.name,
        foreign_keys=tuple(_key(key, prefix) for key in definition.foreign_keys),
        indexes=tuple(replace(each, name=prefix + each.name) for each in definition.indexes),
    )


def _key(key: ForeignKey, prefix: str) -> ForeignKey:
    return replace(key, table=prefix + key.table)


def _bvh(bvh: StoredBvh, prefix: str) -> StoredBvh:
    info = bvh.info
    levels = {_attribute(each, prefix): place for each, place in info.levels.items()}
    versions = {prefix + name: version for name, version in bvh.versions.items()}
    renamed = replace(info, definition=_bvh_definition(info.definition, prefix), levels=levels)
    return replace(bvh, info=renamed, versions=versions)


def _bvh_definition(definition: BvhDefinition, prefix: str) -> BvhDefinition:
    def rename(part: Expression) -> Expression:
        return _attribute(part, prefix) if isinstance(part, Attribute) else part

    renamed = replace(
        definition,
        name=prefix + definition.name,
        table=prefix + definition.table,
        scan=tuple(_attribute(each, prefix) for each in definition.scan),
        group_by=tuple(_attribute(each, prefix) for each in definition.group_by),
        aggregate=tuple(rewrite(each, rename) for each in definition.aggregate),
    )
    # Star matching orders operands, which may be otherwise under other names.
    return canonical_definition(renamed)


def _attribute(attribute: Attribute, prefix: str) -> Attribute:
    return replace(attribute, path=tuple(_key(key, prefix) for key in attribute.path))
