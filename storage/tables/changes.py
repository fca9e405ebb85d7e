"""Changes of rows: INSERT, COPY, UPDATE, DELETE and VACUUM.

    Append(table, rows)                 INSERT, COPY
    Load(table, parts)                  COPY of many rows, which are in files already
    Remove(table, row numbers)          DELETE: the rows are masked
    Replace(table, row numbers, rows)   UPDATE: they are masked, their new versions appended

A change is a value. Applied to the same tables in the same order it gives the same tables: that is
how the log is replayed. VACUUM alone gives rows new numbers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn, assert_never

import numpy as np
import pyarrow as pa

from raydb.errors import IntegrityError
from raydb.storage.tables.constraints import append_parts, append_rows, frozen, key_text
from raydb.storage.tables.file_merges import VACUUM_BYTES, compacted
from raydb.storage.tables.key_parts import find_rows
from raydb.storage.tables.rows import Rows
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from raydb.storage.tables.parts import FilePart
    from raydb.storage.tables.table import ForeignKey, Table


@dataclass(frozen=True, eq=False, slots=True)
class Append:
    """Rows that are added to a table; their columns are the table's."""

    table: str
    rows: pa.Table

    @property
    def row_count(self) -> int:
        """The number of rows that are added."""
        return int(self.rows.num_rows)


@dataclass(frozen=True, eq=False, slots=True)
class Load:
    """Rows that are added to a table, in files of their own; it is no record of the log."""

    table: str
    parts: tuple[FilePart, ...]

    @property
    def row_count(self) -> int:
        """The number of rows that are added."""
        return sum(part.row_count for part in self.parts)


@dataclass(frozen=True, eq=False, slots=True)
class Remove:
    """Visible rows, by their distinct numbers (int32), that are deleted."""

    table: str
    row_numbers: NDArray[np.int32]

    @property
    def row_count(self) -> int:
        """The number of rows that are deleted."""
        return len(self.row_numbers)


@dataclass(frozen=True, eq=False, slots=True)
class Replace:
    """Visible rows, by their distinct numbers (int32), and the row that each of them becomes."""

    table: str
    row_numbers: NDArray[np.int32]
    rows: pa.Table

    @property
    def row_count(self) -> int:
        """The number of rows that are replaced."""
        return len(self.row_numbers)


Change = Append | Load | Remove | Replace


def apply_change(change: Change, tables: Mapping[str, Table]) -> Mapping[str, Table]:
    """Return the next versions of the tables that a change makes different, by name.

    Raises IntegrityError for a change that breaks a constraint.
    """
    table = tables[change.table]
    match change:
        case Append(rows=rows):
            return {table.name: append_rows(table, rows, tables)}
        case Load(parts=parts):
            return {table.name: append_parts(table, parts, tables)}
        case Remove(row_numbers=row_numbers):
            return delete_rows(table, row_numbers, tables)
        case Replace(row_numbers=row_numbers, rows=rows):
            return update_rows(table, row_numbers, rows, tables)
        case _:
            assert_never(change)


def delete_rows(
    table: Table, row_numbers: NDArray[np.int32], tables: Mapping[str, Table]
) -> Mapping[str, Table]:
    """Mask visible rows, and those that follow them by ON DELETE CASCADE.

    Raises IntegrityError if a visible row that stays points to one of them.

    >>> delete_rows(city, np.array([0], np.int32), {"city": city})["city"].live
    array([False,  True,  True])
    """
    tables = {**tables, table.name: table}
    gone = _cascaded(table, row_numbers, tables)
    changed = {
        name: replace(
            _masked(tables[name], np.flatnonzero(flags).astype(np.int32)),
            version=tables[name].version + 1,
        )
        for name, flags in gone.items()
    }
    for after in changed.values():
        for referrer, key in _referrers(after, {**tables, **changed}):
            pointed = _first_pointed(referrer, key, gone[after.name])
            if pointed is not None:
                _raise_pointed(after, pointed, referrer, key, "deleted")
    return changed


def _cascaded(
    table: Table, row_numbers: NDArray[np.int32], tables: Mapping[str, Table]
) -> dict[str, NDArray[np.bool_]]:
    """Return the rows that a DELETE takes away, as flags by table, the table itself first."""
    gone = {table.name: _flags(row_numbers, table.row_count)}
    queue = [table]
    while queue:
        target = queue.pop()
        for referrer, key in _referrers(target, tables):
            if not key.cascades:
                continue
            known = gone.get(referrer.name, np.zeros(referrer.row_count, np.bool_))
            following = known | _pointing(referrer, key, gone[target.name])
            if following.sum() > known.sum():
                gone[referrer.name] = following
                queue.append(referrer)
    return gone


def update_rows(
    table: Table, row_numbers: NDArray[np.int32], rows: pa.Table, tables: Mapping[str, Table]
) -> Mapping[str, Table]:
    """Replace visible rows by others; returns the table and those whose foreign keys follow it.

    `rows` holds the new version of each row, checked as in `append_rows`. Raises IntegrityError
    also if a visible row that stays as it is points to a row whose key changes. Only the table
    itself gets a new version: what its referrers hold is what it was.
    """
    after = append_rows(_masked(table, row_numbers), rows, tables, "updated row")
    changed = {table.name: after}
    referrers = list(_referrers(after, tables))
    if not referrers:
        return changed
    numbers = np.arange(after.row_count, dtype=np.int32)
    numbers[row_numbers] = numbers[table.row_count :]
    replaced = _flags(row_numbers, after.row_count)
    for referrer, key in referrers:
        old = [table.rows.column(name).take(pa.array(row_numbers)) for name in key.references]
        new = [rows.column(name) for name in key.references]
        other_key = find_rows(new, old) != np.arange(len(row_numbers))
        pointed = _first_pointed(referrer, key, _flags(row_numbers[other_key], after.row_count))
        if pointed is not None:
            _raise_pointed(table, pointed, referrer, key, "changed")
        if _first_pointed(referrer, key, replaced) is not None:
            follower = changed.get(referrer.name, referrer)
            moved = frozen(_renumbered(referrer.foreign_rows[key], numbers))
            changed[referrer.name] = replace(
                follower, foreign_rows={**follower.foreign_rows, key: moved}
            )
    return changed


def compact_tables(tables: Mapping[str, Table], most: int = VACUUM_BYTES) -> Mapping[str, Table]:
    """Return the tables that are different once no table has masked rows or many files.

    The visible rows are numbered anew, in their order, and the foreign keys follow. Only tables
    that had masked rows get a new version. most: as for `compacted`.
    """
    changed = {}
    for name, table in tables.items():
        after = _compacted(table, most)
        if after is not table:
            changed[name] = after
    for table in tables.values():
        foreign_rows = {}
        for key, pointers in table.foreign_rows.items():
            kept = pointers if table.live is None else pointers[table.live]
            live = tables[key.table].live
            if live is not None:
                kept = _renumbered(kept, np.cumsum(live, dtype=np.int32) - np.int32(1))
            foreign_rows[key] = kept if kept is pointers else frozen(kept)
        if any(foreign_rows[key] is not table.foreign_rows[key] for key in foreign_rows):
            changed[table.name] = replace(changed.get(table.name, table), foreign_rows=foreign_rows)
    return changed


def _masked(table: Table, row_numbers: NDArray[np.int32]) -> Table:
    """Return the table, in the same version, with visible rows masked.

    Raises IntegrityError for a row that an earlier change of the statement has taken away.
    """
    live = np.ones(table.row_count, np.bool_) if table.live is None else table.live.copy()
    if not live[row_numbers].all():
        raise IntegrityError(
            f"table '{table.name}': ON DELETE CASCADE deletes a row that the statement changes too"
        )
    live[row_numbers] = False
    return replace(table, live=frozen(live))


def _flags(row_numbers: NDArray[np.int32], row_count: int) -> NDArray[np.bool_]:
    flags = np.zeros(row_count, np.bool_)
    flags[row_numbers] = True
    return flags


def _referrers(after: Table, tables: Mapping[str, Table]) -> Iterator[tuple[Table, ForeignKey]]:
    """Yield the foreign keys that refer to a table, its own too, as they are after the change."""
    for table in {**tables, after.name: after}.values():
        for key in table.definition.foreign_keys:
            if key.table == after.name:
                yield table, key


def _first_pointed(referrer: Table, key: ForeignKey, flags: NDArray[np.bool_]) -> int | None:
    """Return the first flagged row that a visible row of the referrer points to."""
    pointing = _pointing(referrer, key, flags)
    return int(referrer.foreign_rows[key][np.argmax(pointing)]) if pointing.any() else None


def _pointing(referrer: Table, key: ForeignKey, flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which visible rows of the referrer point to a flagged row."""
    pointers = referrer.foreign_rows[key]
    if not flags.any():
        return np.zeros(len(pointers), np.bool_)
    # A pointer of -1 reads the last flag, and is taken out again.
    pointing: NDArray[np.bool_] = flags[pointers] & (pointers >= 0)
    return pointing if referrer.live is None else pointing & referrer.live


def _renumbered(pointers: NDArray[np.int32], numbers: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return where pointers lead once row r has the number numbers[r]; -1 stays."""
    if not len(numbers):
        return pointers.copy()
    return np.where(pointers < 0, np.int32(-1), numbers[pointers])


def _raise_pointed(table: Table, row: int, referrer: Table, key: ForeignKey, verb: str) -> NoReturn:
    columns = [table.rows.column(name).slice(row, 1) for name in key.references]
    schema = pa.schema([table.rows.schema.field(name) for name in key.references])
    text = key_text(pa.Table.from_arrays(columns, schema=schema), 0, key.references)
    raise IntegrityError(
        f"table '{table.name}': the key {text} cannot be {verb}: the foreign key "
        f"({', '.join(key.columns)}) of table '{referrer.name}' refers to it"
    )


def _compacted(table: Table, most: int) -> Table:
    """Return a table with no masked rows, in few parts; foreign keys are left to do."""
    before = table.rows
    parts = compacted(before.parts, table.live, most)
    if table.live is not None:
        rows = Rows(before.schema, parts)
        return replace(table, rows=rows, version=table.version + 1, live=None)
    if parts == before.parts:
        return table
    return replace(table, rows=Rows(before.schema, parts, dict(before.key_indexes)))
