"""What follows a change of rows by foreign keys: ON DELETE and ON UPDATE.

    rows that refer to a deleted row     are deleted with it, or refer to no row or to the default
    rows that refer to a changed key     get the new key, or refer to no row or to the default

First the rows of all tables are found that a change takes away or replaces, by where foreign keys
point before it. Then the tables are made with them, so that constraints hold for all at once.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from raydb.errors import DataError
from raydb.late import pc
from raydb.storage.tables.key_parts import find_rows
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.storage.tables.table import ForeignKey, Table, TableDefinition

CASCADE = "CASCADE"
_SET_NULL = "SET NULL"
ACTIONS = (CASCADE, _SET_NULL, "SET DEFAULT")
"""What a foreign key may do; without one of them it holds its row back."""


class RowRules(Protocol):
    """What the texts of a definition say of its rows."""

    def default(self, definition: TableDefinition, column: str) -> pa.Scalar:
        """Return the value of a column's DEFAULT; raises NotSupportedError for one that changes."""

    def finished(self, definition: TableDefinition, rows: pa.Table) -> pa.Table:
        """Return rows with their generated columns; raises IntegrityError for a broken CHECK."""


@dataclass(frozen=True, eq=False, slots=True)
class Replaced:
    """Rows of a table, by their distinct numbers (int32), and what each of them becomes."""

    numbers: NDArray[np.int32]
    rows: pa.Table


@dataclass(frozen=True, eq=False, slots=True)
class Following:
    """Rows that a change takes away (flags, a row of the table each) and replaces, by table."""

    tables: Mapping[str, Table]
    rules: RowRules | None
    removed: dict[str, NDArray[np.bool_]] = field(default_factory=dict)
    replaced: dict[str, Replaced] = field(default_factory=dict)

    def delete(self, table: Table, numbers: NDArray[np.int32]) -> None:
        """Take rows away, and do what foreign keys say of those that refer to them."""
        self.removed[table.name] = flags_of(numbers, table.row_count)
        queue = [table]
        while queue:
            target = queue.pop()
            for referrer, key in referrers_of(target.name, self.tables):
                if key.on_delete != CASCADE:
                    continue
                known = self.removed.get(referrer.name, np.zeros(referrer.row_count, np.bool_))
                more = known | pointing(referrer, key, self.removed[target.name])
                if more.sum() > known.sum():
                    self.removed[referrer.name] = more
                    queue.append(referrer)
        changed = {}
        for name in self.removed:
            for referrer, key in referrers_of(name, self.tables):
                if key.on_delete in ("", CASCADE):
                    continue
                affected = self._staying(referrer, pointing(referrer, key, self.removed[name]))
                if affected.any() and self._set(
                    referrer, key, affected, self._none(referrer, key, key.on_delete)
                ):
                    changed[referrer.name] = referrer
        self._finish(self._go_on([*changed.values()], None) | changed.keys())

    def update(self, table: Table, numbers: NDArray[np.int32], rows: pa.Table) -> None:
        """Replace rows, and do what foreign keys say of those that refer to their keys."""
        self.replaced[table.name] = Replaced(numbers, rows)
        self._finish(self._go_on([table], self.replaced[table.name]))

    def _finish(self, names: set[str]) -> None:
        """Compute and check what depends on the values that foreign keys have got."""
        for name in names:
            definition, held = self.tables[name].definition, self.replaced[name]
            if definition.checks or definition.generated:
                assert self.rules is not None
                rows = self.rules.finished(definition, held.rows)
                self.replaced[name] = Replaced(held.numbers, rows)

    def _go_on(self, queue: list[Table], written: Replaced | None) -> set[str]:
        """Follow the keys of replaced rows of some tables; returns the names of those that change.

        written: what the statement itself has replaced, in the first table.
        """
        first = queue[0].name if queue else ""
        changed = set()
        while queue:
            target = queue.pop()
            for referrer, key in referrers_of(target.name, self.tables):
                if not key.on_update:
                    continue
                held = self.replaced[target.name]
                moved = changed_keys(target, held, key.references)
                is_moved = flags_of(held.numbers[moved], target.row_count)
                affected = self._staying(referrer, pointing(referrer, key, is_moved))
                if written is not None and referrer.name == first:
                    affected[written.numbers[_assigned(referrer, written, key.columns)]] = False
                if not affected.any():
                    continue
                values: Sequence[pa.Scalar | pa.ChunkedArray] = ()
                if key.on_update == CASCADE:
                    places = np.zeros(target.row_count, np.int32)
                    places[held.numbers] = np.arange(len(held.numbers), dtype=np.int32)
                    at = pa.array(places[referrer.foreign_rows[key][affected]])
                    values = [held.rows.column(name).take(at) for name in key.references]
                else:
                    values = self._none(referrer, key, key.on_update)
                if self._set(referrer, key, affected, values):
                    changed.add(referrer.name)
                    queue.append(referrer)
        return changed

    def _staying(self, table: Table, flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
        removed = self.removed.get(table.name)
        return flags if removed is None else flags & ~removed

    def _none(self, referrer: Table, key: ForeignKey, action: str) -> Sequence[pa.Scalar]:
        """Return what SET NULL or SET DEFAULT gives the columns of a foreign key."""
        definition = referrer.definition
        kinds = [definition.schema.field(name).type for name in key.columns]
        if action == _SET_NULL:
            return [pa.scalar(None, kind) for kind in kinds]
        assert self.rules is not None
        return [self.rules.default(definition, name) for name in key.columns]

    def _set(
        self,
        table: Table,
        key: ForeignKey,
        flags: NDArray[np.bool_],
        values: Sequence[pa.Scalar | pa.ChunkedArray],
    ) -> bool:
        """Give the columns of a foreign key values in flagged rows; tells whether these are new."""
        wanted = np.flatnonzero(flags)
        held = self.replaced.get(table.name)
        numbers = np.empty(0, np.int32) if held is None else held.numbers
        missing = np.setdiff1d(wanted, numbers).astype(np.int32)
        schema = pa.schema([each.with_nullable(True) for each in table.definition.schema])
        taken = [table.rows.take(name, missing.astype(np.int64)) for name in schema.names]
        rows = pa.Table.from_arrays(taken, schema=schema)
        if held is not None:
            loose = pa.Table.from_arrays(held.rows.columns, schema=schema)
            rows = pa.concat_tables([loose, rows])
        numbers = np.concatenate([numbers, missing])
        places = np.zeros(table.row_count, np.int64)
        places[numbers] = np.arange(len(numbers))
        is_new = False
        for name, value in zip(key.columns, values, strict=True):
            position = schema.get_field_index(name)
            new = _with_values(rows.column(name), places[wanted], value, name)
            is_new |= not new.equals(rows.column(name))
            rows = rows.set_column(position, schema.field(position), new)
        if is_new:
            self.replaced[table.name] = Replaced(numbers, rows)
        return is_new


def _with_values(
    column: pa.ChunkedArray,
    places: NDArray[np.int64],
    values: pa.Scalar | pa.ChunkedArray,
    name: str,
) -> pa.ChunkedArray:
    """Return a column with other values in some places, in its type."""
    given = values
    if isinstance(values, pa.Scalar):
        given = pa.chunked_array([pa.repeat(values, len(places))])
    try:
        cast = given if given.type == column.type else given.cast(column.type)
    except pa.ArrowInvalid as error:
        raise DataError(f"column '{name}' cannot hold the key that it follows: {error}") from error
    chosen = np.arange(len(column))
    chosen[places] = len(column) + np.arange(len(places))
    whole = pa.chunked_array([*column.chunks, *cast.chunks], column.type)
    return whole.take(pa.array(chosen))


def changed_keys(table: Table, replaced: Replaced, columns: tuple[str, ...]) -> NDArray[np.bool_]:
    """Return which of a table's replaced rows have another key than before."""
    before = pa.array(replaced.numbers)
    old = [table.rows.column(name).take(before) for name in columns]
    new = [replaced.rows.column(name) for name in columns]
    changed: NDArray[np.bool_] = find_rows(new, old) != np.arange(len(replaced.numbers))
    return changed


def _assigned(table: Table, written: Replaced, columns: tuple[str, ...]) -> NDArray[np.bool_]:
    """Return in which rows a statement itself has given a foreign key another value."""
    found = np.zeros(len(written.numbers), np.bool_)
    for name in columns:
        old = table.rows.column(name).take(pa.array(written.numbers))
        new = written.rows.column(name)
        same = pc.equal(old, new).fill_null(False)
        both_null = pc.and_(old.is_null(), new.is_null())
        found |= ~pc.or_(same, both_null).to_numpy()
    return found


def referrers_of(name: str, tables: Mapping[str, Table]) -> Iterator[tuple[Table, ForeignKey]]:
    """Yield the foreign keys that refer to a table, its own too."""
    for table in tables.values():
        for key in table.definition.foreign_keys:
            if key.table == name:
                yield table, key


def pointing(referrer: Table, key: ForeignKey, flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which visible rows of the referrer point to a flagged row."""
    pointers = referrer.foreign_rows[key]
    if not flags.any():
        return np.zeros(len(pointers), np.bool_)
    # A pointer of -1 reads the last flag, and is taken out again.
    found: NDArray[np.bool_] = flags[pointers] & (pointers >= 0)
    return found if referrer.live is None else found & referrer.live


def flags_of(row_numbers: NDArray[np.int32], row_count: int) -> NDArray[np.bool_]:
    """Return which of so many rows have one of some numbers."""
    flags = np.zeros(row_count, np.bool_)
    flags[row_numbers] = True
    return flags
