"""The catalog: metadata of the database as values, without readers or rows."""

from __future__ import annotations

import sys
from dataclasses import field
from typing import TYPE_CHECKING

from raydb.errors import ProgrammingError
from raydb.names import find_object
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow as pa

    from raydb.kernels.bvh.bvh import Bvh
    from raydb.kernels.stored.deferred import Deferred
    from raydb.kernels.vector.conformal import Calibration
    from raydb.kernels.vector.ivf import Ivf
    from raydb.planner.expressions.nodes import Attribute, Expression
    from raydb.storage.tables.sequence import Sequence as NumberSequence
    from raydb.storage.tables.table import TableDefinition

CATALOG = "raydb"
"""The name of a connection's own database."""

TEMP = "temp"
"""The name of the database of a connection's temporary tables and views."""

MAIN = "main"
"""The schema of all tables and views."""


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
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


@dataclass(frozen=True, slots=True)
class Relations:
    """Which table or view of which database a name means.

    databases: of each database its tables and views by name, and by what key the catalog has them:
    in the one that a statement writes to that is the name. views: the text of each view's query, by
    its key. current: the database of names that name none and are not those of temporary tables.
    """

    databases: Mapping[str, Mapping[str, str]]
    views: Mapping[str, str]
    current: str = CATALOG

    def of(self, database: str | None) -> str | None:
        """Return the name of a database as it was made; None if there is none such.

        None stands for the current one. Raises ProgrammingError where that was detached.
        """
        if database is None:
            if self.current not in self.databases:
                raise ProgrammingError(f"database '{self.current}' was detached; USE another one")
            return self.current
        return find_object(database, self.databases, "database")

    def home(self, name: str, database: str | None) -> str | None:
        """Return the database that a table or a view is looked for in; None for an unknown one.

        database: the one that is named; None where none is. Temporary ones hide others.
        """
        temporary = self.databases.get(TEMP, {}) if database is None else {}
        return TEMP if find_object(name, temporary, "table") is not None else self.of(database)

    def find(self, name: str, database: str | None = None) -> str | None:
        """Return the key of a table or a view; None where there is none such."""
        inside = self.home(name, database)
        if inside is None:
            return None
        known = self.databases[inside]
        found = find_object(name, known, "table")
        return None if found is None else known[found]

    def database_of(self, key: str) -> str:
        """Return the database that a table or a view of the catalog is in."""
        return next(name for name, known in self.databases.items() if key in known.values())


@dataclass(frozen=True, eq=False, slots=True)
class CatalogInfo:
    """One version of the database as the binder and the planner see it.

    `views` maps a view's name to the text of its query; `vector_indexes` has the arrays of each
    index with `ivf`, by its name, and `calibrations` those of each that has any. What is in an
    attached database is there under a key, see `Relations`; `attached` has the keys of its tables
    and views by name, `attached_types` its named types, and `current` is the database of names that
    name none.
    """

    tables: Mapping[str, TableInfo]
    views: Mapping[str, str] = field(default_factory=dict)
    bvhs: Mapping[str, BvhInfo] = field(default_factory=dict)
    vector_indexes: Mapping[str, Deferred[Ivf]] = field(default_factory=dict)
    calibrations: Mapping[str, Sequence[CalibrationInfo]] = field(default_factory=dict)
    sequences: Mapping[str, NumberSequence] = field(default_factory=dict)
    types: Mapping[str, pa.DataType] = field(default_factory=dict)
    attached: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    attached_types: Mapping[str, Mapping[str, pa.DataType]] = field(default_factory=dict)
    current: str = CATALOG

    @property
    def relations(self) -> Relations:
        """Which table or view a name means."""
        return relations(self.tables, self.views, self.attached, self.current)


def relations(
    tables: Iterable[str],
    views: Mapping[str, str],
    attached: Mapping[str, Mapping[str, str]],
    current: str,
) -> Relations:
    """Return which table or view a name means, of those of all databases by their keys.

    Where the connection's own is one of `attached`, other keys are files and objects of Python.
    """
    others = {key for known in attached.values() for key in known.values()}
    rest = {key: key for key in (*tables, *views) if key not in others}
    if CATALOG not in attached:
        return Relations({CATALOG: rest, **attached}, views, current)
    here = {**attached.get(current, {}), **rest}
    return Relations({**attached, current: here}, views, current)
