"""One version of the database: a frozen value that each statement replaces or leaves alone.

A statement that fails has changed nothing, and a rollback is the snapshot from before.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from raydb.engine.catalog.indexes.stored_calibration import DescribedCalibrations
from raydb.engine.catalog.row_rules import ROW_RULES
from raydb.engine.catalog.stored_bvh import (
    StoredBvh,
    after_change,
    built,
    described,
    needs_merge,
    rebuilt,
    with_dead,
)
from raydb.planner.catalog import (
    CATALOG,
    MAIN,
    BvhDefinition,
    CatalogInfo,
    TableInfo,
    macro_relations,
    relations,
)
from raydb.storage.tables.changes import apply_change
from raydb.storage.tables.sample import ByColumn
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pyarrow as pa

    from raydb.engine.catalog.indexes.stored_calibration import Calibrations
    from raydb.engine.context.statement_context import StatementContext
    from raydb.kernels.stored.deferred import Deferred
    from raydb.kernels.text.text_index import TextIndex
    from raydb.kernels.vector.ivf import Ivf
    from raydb.planner.catalog import Relations
    from raydb.storage.tables.changes import Change
    from raydb.storage.tables.sequence import Sequence
    from raydb.storage.tables.table import Table


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Snapshot:
    """All tables, views (as the text of their query), BVHs, indexes and sequences, by name.

    macros: the text of each definition; `sql.macro_key` has the names. comments: those of COMMENT
    ON, by the kind of what they are on, its name, and the column that it is of, '' for none.

    calibrations: those of each vector index that has any. types: those of CREATE TYPE. schemas:
    those beside main, each under its name; what is in one has a name that begins with it and a dot.
    """

    tables: Mapping[str, Table] = field(default_factory=dict)
    views: Mapping[str, str] = field(default_factory=dict)
    bvhs: Mapping[str, StoredBvh] = field(default_factory=dict)
    vector_indexes: Mapping[str, Deferred[Ivf]] = field(default_factory=dict)
    text_indexes: Mapping[str, Deferred[TextIndex]] = field(default_factory=dict)
    calibrations: Mapping[str, Deferred[Calibrations]] = field(default_factory=dict)
    sequences: Mapping[str, Sequence] = field(default_factory=dict)
    types: Mapping[str, pa.DataType] = field(default_factory=dict)
    schemas: Mapping[str, str] = field(default_factory=dict)
    macros: Mapping[str, str] = field(default_factory=dict)
    comments: Mapping[tuple[str, str, str], str] = field(default_factory=dict)

    def describe(self) -> CatalogInfo:
        """Return what the binder and the planner see."""
        return CatalogInfo(
            tables={
                name: TableInfo(
                    table.definition,
                    table.expected_count,
                    ByColumn(table, table.null_count),
                    ByColumn(table, table.sample),
                    ByColumn(table, table.value_count),
                    ByColumn(table, table.is_encoded),
                    table.rows.is_streamed,
                )
                for name, table in self.tables.items()
            },
            views=self.views,
            bvhs={name: described(bvh, self.tables) for name, bvh in self.bvhs.items()},
            vector_indexes=self.vector_indexes,
            text_indexes=self.text_indexes,
            calibrations=DescribedCalibrations(self.calibrations, self.tables),
            sequences=self.sequences,
            types=self.types,
            schemas={CATALOG: tuple(self.schemas)},
            macros=self.macros,
            comments=self.comments,
        )

    @property
    def relations(self) -> Relations:
        """Which table or view a name means."""
        places = {CATALOG: tuple(self.schemas)}, (CATALOG, MAIN)
        macros = macro_relations(self.macros, {}, *places)
        return relations(self.tables, self.views, {}, *places, macros)

    def calibrations_of(self, index: str) -> Calibrations:
        """Return the calibrations of a vector index, in order."""
        return self.calibrations[index].get() if index in self.calibrations else ()

    def with_table(self, table: Table) -> Snapshot:
        """Return the snapshot with a table added or replaced."""
        return replace(self, tables={**self.tables, table.name: table})

    def with_sequence(self, sequence: Sequence) -> Snapshot:
        """Return the snapshot with a sequence added or replaced."""
        return replace(self, sequences={**self.sequences, sequence.name: sequence})

    def with_changes(self, tables: Mapping[str, Table]) -> Snapshot:
        """Return the snapshot with several tables replaced."""
        if not tables:
            return self
        return replace(self, tables={**self.tables, **tables})

    def without_table(self, name: str) -> Snapshot:
        """Return the snapshot without a table, the BVHs on it and the sequences of its columns."""
        own = {identity.sequence for identity in self.tables[name].definition.identities}
        return replace(
            self,
            tables={n: table for n, table in self.tables.items() if n != name},
            bvhs={n: bvh for n, bvh in self.bvhs.items() if bvh.definition.table != name},
            sequences={n: each for n, each in self.sequences.items() if n not in own},
        )

    def with_change(self, change: Change) -> Snapshot:
        """Return the snapshot after a change of rows, with its BVHs as far as they are still right.

        Raises IntegrityError for a change that breaks a constraint.
        """
        changed = apply_change(change, self.tables, ROW_RULES)
        bvhs = {
            name: after_change(bvh, change, self.tables, changed) for name, bvh in self.bvhs.items()
        }
        return replace(self.with_changes(changed), bvhs=bvhs)

    def with_bvh(self, definition: BvhDefinition, context: StatementContext) -> Snapshot:
        """Return the snapshot with a BVH built from the tables as they are now.

        Raises DataError when a measure or the cells do not fit 64 bits.
        """
        return self.with_stored(built(definition, self.tables, context))

    def with_stored(self, bvh: StoredBvh) -> Snapshot:
        """Return the snapshot with a BVH added or replaced."""
        return replace(self, bvhs={**self.bvhs, bvh.definition.name: bvh})

    def with_usable_bvhs(self, fact_tables: Iterable[str]) -> Snapshot:
        """Return the snapshot in which the BVHs on these tables leave deleted rows out."""
        snapshot = self
        for bvh in self.bvhs.values():
            if bvh.definition.table in fact_tables:
                usable = with_dead(bvh, self.tables)
                if usable is not bvh:
                    snapshot = snapshot.with_stored(usable)
        return snapshot

    def with_merged_bvhs(self, context: StatementContext, share: float = 0.0) -> Snapshot:
        """Return the snapshot with those BVHs built anew that do not hold the visible rows.

        share: how many of a large BVH's rows may be newer or dead, as a part of all its rows.
        """
        snapshot = self
        for bvh in self.bvhs.values():
            if needs_merge(bvh, self.tables, share):
                snapshot = snapshot.with_stored(rebuilt(bvh, self.tables, context))
        return snapshot
