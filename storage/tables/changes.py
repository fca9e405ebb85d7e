"""Changes of rows: INSERT, COPY, UPDATE, DELETE and VACUUM.

    Append(table, rows)                 INSERT, COPY
    Load(table, parts)                  COPY of many rows, which are in files already
    Remove(table, row numbers)          DELETE: the rows are masked
    Replace(table, row numbers, rows)   UPDATE: they are masked, their new versions appended

A change is a value. Applied to the same tables in the same order it gives the same tables: that is
how the log is replayed. VACUUM alone gives rows new numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, assert_never

import numpy as np
import pyarrow as pa

from raydb.errors import IntegrityError
from raydb.storage.tables.constraints import (
    Batch,
    append_parts,
    append_rows,
    frozen,
    key_text,
    with_references,
    with_rows,
)
from raydb.storage.tables.file_merges import VACUUM_BYTES, compacted
from raydb.storage.tables.following import (
    Following,
    changed_keys,
    flags_of,
    pointing,
    referrers_of,
)
from raydb.storage.tables.rows import Rows
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from raydb.storage.tables.following import RowRules
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


def apply_change(
    change: Change, tables: Mapping[str, Table], rules: RowRules | None = None
) -> Mapping[str, Table]:
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
            return delete_rows(table, row_numbers, tables, rules)
        case Replace(row_numbers=row_numbers, rows=rows):
            return update_rows(table, row_numbers, rows, tables, rules)
        case _:
            assert_never(change)


def delete_rows(
    table: Table,
    row_numbers: NDArray[np.int32],
    tables: Mapping[str, Table],
    rules: RowRules | None = None,
) -> Mapping[str, Table]:
    """Mask visible rows, and do what foreign keys say of rows that refer to them (ON DELETE).

    Raises IntegrityError if a visible row that stays points to one of them.

    >>> delete_rows(city, np.array([0], np.int32), {"city": city})["city"].live
    array([False,  True,  True])
    """
    following = Following({**tables, table.name: table}, rules)
    following.delete(table, row_numbers)
    return _followed(following)


def update_rows(
    table: Table,
    row_numbers: NDArray[np.int32],
    rows: pa.Table,
    tables: Mapping[str, Table],
    rules: RowRules | None = None,
) -> Mapping[str, Table]:
    """Replace visible rows by others, and do what foreign keys say of rows that refer to them.

    Returns the tables that are different. `rows` holds the new version of each row, checked as in
    `append_rows`. Raises IntegrityError also if a visible row that stays as it is points to a row
    whose key changes. A table whose foreign keys alone follow has no new version: what it holds is
    what it was.
    """
    following = Following({**tables, table.name: table}, rules)
    following.update(table, row_numbers, rows)
    return _followed(following)


def _followed(following: Following) -> dict[str, Table]:
    """Return the tables that are different once rows are taken away and replaced."""
    before, tables = following.tables, dict(following.tables)
    batches = {}
    names = [*following.removed, *(n for n in following.replaced if n not in following.removed)]
    for name in names:
        table = before[name]
        removed, held = following.removed.get(name), following.replaced.get(name)
        gone = [] if removed is None else [np.flatnonzero(removed).astype(np.int32)]
        if held is None:
            masked = _masked(table, gone[0])
            tables[name] = replace(masked, version=table.version + 1)
            continue
        masked = _masked(table, np.concatenate([*gone, held.numbers]))
        rows = pa.Table.from_arrays(held.rows.columns, schema=table.definition.schema)
        batches[name] = Batch(table.definition, rows, "updated row")
        added = table.rows.append(rows, table.definition.key_columns)
        tables[name] = with_rows(masked, added, batches[name])
    for name, batch in batches.items():
        tables[name] = with_references(before[name], tables[name], batch, tables)
    for name in names:
        _move_references(name, following, tables)
    return {name: table for name, table in tables.items() if table is not before[name]}


def _move_references(name: str, following: Following, tables: dict[str, Table]) -> None:
    """Let foreign keys point to the new versions of a table's rows.

    Raises IntegrityError for one that is left without its row.
    """
    before, after = following.tables[name], tables[name]
    removed, held = following.removed.get(name), following.replaced.get(name)
    for referrer, key in list(referrers_of(name, tables)):
        if removed is not None:
            _check_unpointed(before, referrer, key, np.flatnonzero(removed), "deleted")
        if held is None:
            continue
        moved = held.numbers[changed_keys(before, held, key.references)]
        _check_unpointed(before, referrer, key, moved, "changed")
        if pointing(referrer, key, flags_of(held.numbers, after.row_count)).any():
            numbers = np.arange(after.row_count, dtype=np.int32)
            numbers[held.numbers] = numbers[before.row_count :]
            pointers = frozen(_renumbered(referrer.foreign_rows[key], numbers))
            tables[referrer.name] = replace(
                tables[referrer.name],
                foreign_rows={**tables[referrer.name].foreign_rows, key: pointers},
            )


def _check_unpointed(
    table: Table, referrer: Table, key: ForeignKey, numbers: NDArray[Any], verb: str
) -> None:
    # New rows of the referrer may point to new rows of the table.
    size = max(table.row_count, int(referrer.foreign_rows[key].max(initial=-1)) + 1)
    found = pointing(referrer, key, flags_of(numbers, size))
    if found.any():
        row = int(referrer.foreign_rows[key][np.argmax(found)])
        _raise_pointed(table, row, referrer, key, verb)


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
            f"table '{table.name}': a foreign key deletes or changes a row that the statement"
            " changes too"
        )
    live[row_numbers] = False
    return replace(table, live=frozen(live))


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
