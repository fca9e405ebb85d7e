"""The catalog of a statement: the database that it writes to, and those beside it.

    sale, shop.sale    a table of the connection's own database, and one of what is attached as shop

All names of another database get one before them, so that tables of two databases go the same way
through plans, rules, scans and BVHs.
"""

from __future__ import annotations

from dataclasses import field, fields
from typing import TYPE_CHECKING, Protocol

from raydb.engine.catalog.snapshot import Snapshot
from raydb.planner.catalog import CATALOG, MAIN, macro_relations, relations
from raydb.planner.expressions.nodes import Attribute, rewrite
from raydb.planner.stars.star import canonical_definition
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from raydb.engine.catalog.stored_bvh import StoredBvh
    from raydb.planner.catalog import BvhDefinition, CatalogInfo, Place, Relations
    from raydb.planner.expressions.nodes import Expression
    from raydb.storage.tables.table import ForeignKey, Table, TableDefinition


@dataclass(frozen=True, eq=False, slots=True)
class JoinedSnapshot(Snapshot):
    """A snapshot with those of other databases.

    attached: the key of each table and view of an attached database, by its name; those of the
    connection's own as well where the snapshot is of another one. attached_types: its named types.
    attached_macros: the keys of its macros. all_schemas: those of each database. current: the place
    of names that name none.
    """

    attached: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    attached_types: Mapping[str, Mapping[str, pa.DataType]] = field(default_factory=dict)
    all_schemas: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    current: Place = (CATALOG, MAIN)
    attached_macros: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def describe(self) -> CatalogInfo:
        """Return what the binder and the planner see."""
        info = Snapshot.describe(self)
        return replace(
            info,
            attached=self.attached,
            attached_types=self.attached_types,
            schemas=self.all_schemas,
            current=self.current,
            attached_macros=self.attached_macros,
        )

    @property
    def relations(self) -> Relations:
        """Which table, view or macro a name means."""
        places = self.all_schemas, self.current
        macros = macro_relations(self.macros, self.attached_macros, *places)
        return relations(self.tables, self.views, self.attached, *places, macros)


class Other(Protocol):
    """A database beside the one that a statement writes to."""

    @property
    def name(self) -> str:
        """What statements call it."""

    @property
    def own(self) -> Snapshot:
        """The version that statements read, by its own names."""

    def under(self, prefix: str) -> Snapshot:
        """Return the version that statements read, with a prefix before all names."""

    def keys(self, prefix: str) -> Mapping[str, str]:
        """Return the key of each table and view by its name, with a prefix before all names."""


class Beside:
    """The connection's own database, as a statement sees it that writes to another one."""

    name = CATALOG

    def __init__(self, own: Snapshot) -> None:
        self.own = own
        self._known: tuple[str, Snapshot] | None = None

    def under(self, prefix: str) -> Snapshot:
        """Return the version that statements read, with a prefix before all names."""
        known = self._known
        if known is None or known[0] != prefix:
            known = self._known = prefix, under_prefix(self.own, prefix)
        return known[1]

    def keys(self, prefix: str) -> Mapping[str, str]:
        """Return the key of each table and view by its name, with a prefix before all names."""
        return {name: prefix + name for name in (*self.own.tables, *self.own.views)}


def join_snapshots(
    name: str, own: Snapshot, others: Sequence[Other], current: Place
) -> JoinedSnapshot:
    """Return the catalog of a statement: the database that it writes to, and those beside it.

    name: that of the database that it writes to, the connection's own for a query.
    """
    joined = {each.name: dict(getattr(own, each.name)) for each in fields(Snapshot)}
    keys: dict[str, Mapping[str, str]] = {}
    if name != CATALOG:
        keys[name] = {key: key for key in (*own.tables, *own.views)}
    for each, prefix in zip(others, prefixes(own, others), strict=True):
        added = each.under(prefix)
        for part, known in joined.items():
            known.update(getattr(added, part))
        keys[each.name] = each.keys(prefix)
        if each.name == CATALOG:
            joined["sequences"] = {**each.own.sequences, **own.sequences}
            joined["types"] = {**each.own.types, **own.types}
    macros = {
        each.name: {name: prefix + name for name in each.own.macros}
        for each, prefix in zip(others, prefixes(own, others), strict=True)
    }
    if name != CATALOG:
        macros[name] = {key: key for key in own.macros}
    types = {each.name: each.own.types for each in others if each.name != CATALOG}
    schemas = {each.name: tuple(each.own.schemas) for each in others}
    return JoinedSnapshot(
        **joined,
        attached=keys,
        attached_types=types,
        attached_macros=macros,
        all_schemas={name: tuple(own.schemas), **schemas},
        current=current,
    )


def prefixes(own: Snapshot, others: Sequence[Other]) -> list[str]:
    """Return for each of the other databases what stands before its names, and before none else."""
    indexes = (each.name for table in own.tables.values() for each in table.definition.indexes)
    taken = [*own.tables, *own.views, *own.bvhs, *indexes]
    found: list[str] = []
    for each in others:
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
        text_indexes={prefix + name: each for name, each in snapshot.text_indexes.items()},
        calibrations={prefix + name: each for name, each in snapshot.calibrations.items()},
        macros={prefix + name: text for name, text in snapshot.macros.items()},
        comments={
            (kind, prefix + name, column): text
            for (kind, name, column), text in snapshot.comments.items()
        },
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


def are_same(some: tuple[object, ...], others: tuple[object, ...]) -> bool:
    """Tell whether two tuples hold the same objects."""
    return len(some) == len(others) and all(
        one is other for one, other in zip(some, others, strict=True)
    )
