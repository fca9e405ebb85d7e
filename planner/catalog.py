"""The catalog: metadata of the database as values, without readers or rows."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from raydb.kernels.bvh.bvh import Bvh
    from raydb.kernels.stored.deferred import Deferred
    from raydb.kernels.vector.conformal import Calibration
    from raydb.kernels.vector.ivf import Ivf
    from raydb.planner.expressions.nodes import Attribute, Expression
    from raydb.storage.tables.sequence import Sequence as NumberSequence
    from raydb.storage.tables.table import TableDefinition

CATALOG = "raydb"
"""The name of the one catalog."""

MAIN = "main"
"""The schema of all tables and views."""


@dataclass(frozen=True, eq=False, slots=True)
class TableInfo:
    """A table's definition and statistics.

    `null_counts` has one entry a column; `sample` has the values of a column in some rows, the same
    rows for each column (none for an empty table). `is_encoded` tells of each column whether it is
    still to be decoded, `is_streamed` whether the rows are those of a large text file.
    """

    definition: TableDefinition
    row_count: int
    null_counts: Mapping[str, int]
    sample: Mapping[str, pa.Array]
    is_encoded: Mapping[str, bool] = field(default_factory=dict)
    is_streamed: bool = False


@dataclass(frozen=True, slots=True)
class BvhDefinition:
    """A CREATE BVH statement, bound: what Z, Y and X are made of (RayDB, section 4).

    `text` is the statement as written. `sieve` asks for totals of each cell beside the rows.
    """

    name: str
    table: str
    scan: tuple[Attribute, ...]
    group_by: tuple[Attribute, ...]
    aggregate: tuple[Expression, ...]
    text: str
    sieve: bool = False


@dataclass(frozen=True, slots=True)
class NewerRows:
    """Rows of a fact table that a BVH does not hold: those from number `first` on.

    count: how many of them are visible, at least one.
    """

    first: int
    count: int


@dataclass(frozen=True, eq=False, slots=True)
class BvhInfo:
    """A built BVH. `levels` says where an attribute is encoded: (hierarchy, level).

    `obstacle` says why the BVH serves no query, such as changed rows that it cannot encode: its
    index is then that of the rows before. `newer` are the rows that a query must read beside it.
    `built_on` says which backend built it, None for one that was read from disk.
    """

    definition: BvhDefinition
    index: Bvh
    levels: Mapping[Attribute, tuple[int, int]]
    obstacle: str | None = None
    newer: NewerRows | None = None
    built_on: str | None = None


@dataclass(frozen=True, eq=False, slots=True)
class CalibrationInfo:
    """A calibration of a vector index, and the table's rows that are new and gone since."""

    calibration: Calibration
    rows_added: int
    rows_deleted: int

    @property
    def is_stale(self) -> bool:
        """Whether the table has changed since."""
        return bool(self.rows_added or self.rows_deleted)

    @property
    def first_list_suffices(self) -> bool:
        """Whether every search ends at the first list: any score is at the threshold."""
        return self.calibration.rule.threshold < -sys.float_info.max / 2


@dataclass(frozen=True, eq=False, slots=True)
class CatalogInfo:
    """One version of the database as the binder and the planner see it.

    `views` maps a view's name to the text of its query; `vector_indexes` has the arrays of each
    index with `ivf`, by its name, and `calibrations` those of each that has any.
    """

    tables: Mapping[str, TableInfo]
    views: Mapping[str, str] = field(default_factory=dict)
    bvhs: Mapping[str, BvhInfo] = field(default_factory=dict)
    vector_indexes: Mapping[str, Deferred[Ivf]] = field(default_factory=dict)
    calibrations: Mapping[str, Sequence[CalibrationInfo]] = field(default_factory=dict)
    sequences: Mapping[str, NumberSequence] = field(default_factory=dict)
