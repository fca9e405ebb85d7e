"""One version of the database: a frozen value that each statement replaces or leaves alone.

A statement that fails has changed nothing, and a rollback is the snapshot from before.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from raydb.engine.build_bvh import build_bvh
from raydb.errors import DataError
from raydb.planner.catalog import BvhDefinition, BvhInfo, CatalogInfo, TableInfo
from raydb.planner.expression import attributes_of
from raydb.storage.sample import NullCounts, Sample

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from raydb.storage.table import Table


@dataclass(frozen=True, eq=False, slots=True)
class StoredBvh:
    """A BVH and the versions of the tables that it was built from."""

    info: BvhInfo
    versions: Mapping[str, int]

    @property
    def definition(self) -> BvhDefinition:
        """The BVH's definition."""
        return self.info.definition


@dataclass(frozen=True, eq=False, slots=True)
class Snapshot:
    """All tables, views (as the text of their query) and BVHs, by name."""

    tables: Mapping[str, Table] = field(default_factory=dict)
    views: Mapping[str, str] = field(default_factory=dict)
    bvhs: Mapping[str, StoredBvh] = field(default_factory=dict)

    def describe(self) -> CatalogInfo:
        """Return what the binder and the planner see."""
        return CatalogInfo(
            tables={
                name: TableInfo(
                    table.definition,
                    table.expected_count,
                    NullCounts(table),
                    Sample(table),
                )
                for name, table in self.tables.items()
            },
            views=self.views,
            bvhs={name: bvh.info for name, bvh in self.bvhs.items()},
        )

    def with_table(self, table: Table) -> Snapshot:
        """Return the snapshot with a table added or replaced."""
        return replace(self, tables={**self.tables, table.name: table})

    def with_changes(self, tables: Mapping[str, Table]) -> Snapshot:
        """Return the snapshot with several tables replaced."""
        return replace(self, tables={**self.tables, **tables})

    def without_table(self, name: str) -> Snapshot:
        """Return the snapshot without a table and the BVHs on it."""
        return replace(
            self,
            tables={n: table for n, table in self.tables.items() if n != name},
            bvhs={n: bvh for n, bvh in self.bvhs.items() if bvh.definition.table != name},
        )

    def with_bvh(self, definition: BvhDefinition) -> Snapshot:
        """Return the snapshot with a BVH built from the tables as they are now.

        Raises DataError when a measure or the cells do not fit 64 bits.
        """
        return self._with_built(build_bvh(definition, self.tables))

    def with_fresh_bvhs(self, fact_tables: Iterable[str]) -> Snapshot:
        """Return the snapshot with the BVHs on these tables rebuilt where rows have changed.

        A BVH that the rows do not fit is put aside, and EXPLAIN says why: they are no reason
        for a query to fail.
        """
        snapshot = self
        for bvh in self.bvhs.values():
            stale = any(self.tables[n].version != v for n, v in bvh.versions.items())
            if stale and bvh.definition.table in fact_tables:
                try:
                    info = build_bvh(bvh.definition, self.tables)
                except DataError as error:
                    info = replace(bvh.info, obstacle=str(error))
                snapshot = snapshot._with_built(info)
        return snapshot

    def _with_built(self, info: BvhInfo) -> Snapshot:
        definition = info.definition
        names = {definition.table}
        for attribute in definition.scan + definition.group_by:
            names |= {key.table for key in attribute.path}
        for expression in definition.aggregate:
            for attribute in attributes_of(expression):
                names |= {key.table for key in attribute.path}
        versions = {name: self.tables[name].version for name in sorted(names)}
        return replace(self, bvhs={**self.bvhs, definition.name: StoredBvh(info, versions)})
