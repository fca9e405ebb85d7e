"""Which columns of vectors lie on disk in an index alone, and which rows borrow them from there.

    index    all its vectors, list by list
    file     the other columns of some rows, and whether each row has a vector

Rows borrow a column as soon as all that are visible are in the index: once this is made, or made
anew. Rows that were added since have their vectors themselves. Where an index is dropped, they get
them back; on a disk without room its file stays until they can.
"""

from __future__ import annotations

from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.engine.catalog.indexes.lent import BorrowingPart, LentColumn
from raydb.kernels.stored.deferred import Deferred
from raydb.kernels.vector import ivf_merge
from raydb.storage.flat.encodings import vectors
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.engine.catalog.indexes.lent import Vectors
    from raydb.kernels.vector.ivf import Ivf
    from raydb.storage.tables.parts import FilePart, Part
    from raydb.storage.tables.table import Table

# A file with so many times the bytes of its vectors in other columns is not written anew.
_WORTH = 2


@dataclass(frozen=True, eq=False, slots=True)
class Lender:
    """An index that lends a column of its table. file: its name on disk.

    has_place (row_count of the index): whether it has a vector of each row; None where no more rows
    may borrow than do.
    """

    column: str
    kind: pa.DataType
    file: str
    lent: Deferred[Vectors]
    has_place: NDArray[np.bool_] | None

    def borrowed(self, first: int, count: int) -> LentColumn:
        """Return the column in some rows from number `first` on."""
        return LentColumn(self.file, self.kind, first, count, self.lent)


@dataclass(frozen=True, eq=False, slots=True)
class Stretch:
    """Some neighbouring parts of a table, and who lends columns to all of them."""

    first: int
    parts: tuple[Part, ...]
    lenders: tuple[Lender, ...]


def lenders_of(
    table: Table,
    indexes: Mapping[str, Deferred[Ivf]],
    files: Mapping[str, str],
    new_files: set[str],
) -> list[Lender]:
    """Return the index that lends each column of vectors.

    files: that of each index; new_files: those that were not there before. The index that rows
    borrow from already goes on with that; where there is none any more, another one takes over.
    """
    by_column: dict[str, list[str]] = {}
    for index in table.definition.ivf_indexes:
        kind = table.rows.schema.field(index.columns[0]).type
        if pa.types.is_fixed_size_list(kind) and pa.types.is_float32(kind.value_type):
            by_column.setdefault(index.columns[0], []).append(index.name)
    found = []
    for column, names in by_column.items():
        known = {each.file for part in table.rows.parts if (each := lent_by(part, column))}
        lending = [name for name in names if files[name] in known]
        others = [name for name in names if known or files[name] in new_files]
        if not (lending or others):
            continue
        name = (lending or others)[0]
        has_place = None if lending else _has_place(indexes[name])
        kind = table.rows.schema.field(column).type
        lent = Deferred(partial(_vectors_of, indexes[name]))
        found.append(Lender(column, kind, files[name], lent, has_place))
    return found


def lent_by(part: Part, column: str) -> LentColumn | None:
    """Return where a part borrows a column, None where it does not."""
    return part.lender(column) if isinstance(part, BorrowingPart) else None


def borrowed_files(part: Part, names: Sequence[str]) -> set[str]:
    """Return the files of indexes that a part borrows some columns from."""
    return {found.file for name in names if (found := lent_by(part, name)) is not None}


def stretches(table: Table, lenders: Sequence[Lender]) -> list[Stretch]:
    """Return the parts with rows of a table by who lends them columns."""
    placed, first = [], 0
    for part in table.rows.parts:
        if part.row_count:
            own = tuple(each for each in lenders if _lends(each, table, part, first))
            placed.append((first, part, own))
        first += part.row_count
    found = []
    for own, group in groupby(placed, key=lambda each: each[2]):
        some = list(group)
        found.append(Stretch(some[0][0], tuple(part for _, part, _ in some), own))
    return found


def borrowing(part: FilePart, first: int, lenders: Sequence[Lender]) -> FilePart:
    """Return rows in a file, the first of which has a number, that borrow columns."""
    if not lenders:
        return part
    lent = dict(part.lent) if isinstance(part, BorrowingPart) else {}
    for each in lenders:
        stored = part.renamed.get(each.column, each.column)
        lent[stored] = each.borrowed(first, part.row_count)
    return BorrowingPart(part.name, part.flat, part.renamed, part.absent, lent)


def new_loans(part: FilePart, first: int, lenders: Sequence[Lender]) -> list[Lender]:
    """Return the lenders that a file's rows do not borrow from yet."""
    return [each for each in lenders if not _is_lent(each, part, first)]


def is_worth(part: FilePart, loans: Sequence[Lender]) -> bool:
    """Tell whether to write a file anew without the columns that its rows may borrow."""
    lent = part.row_count * sum(vectors.item_bytes(each.kind) for each in loans)
    return part.size_bytes - lent <= _WORTH * lent


def _is_lent(lender: Lender, part: Part, first: int) -> bool:
    now = lent_by(part, lender.column)
    return now is not None and (now.file, now.first) == (lender.file, first)


def _lends(lender: Lender, table: Table, part: Part, first: int) -> bool:
    """Tell whether an index has each visible vector of a part."""
    if lender.has_place is None:
        return _is_lent(lender, part, first)
    stop = first + part.row_count
    if stop > len(lender.has_place):
        return False
    needed = ~lender.has_place[first:stop]
    if table.live is not None:
        needed &= table.live[first:stop]
    if needed.any():
        valid = part.columns([lender.column])[0].is_valid()
        needed &= valid.to_numpy()
    return not needed.any()


def _has_place(index: Deferred[Ivf]) -> NDArray[np.bool_]:
    ivf = index.rest if isinstance(index, ivf_merge.Merged) else index.get()
    found = np.zeros(ivf.row_count, np.bool_)
    found[ivf.row_ids] = True
    return found


def _vectors_of(index: Deferred[Ivf]) -> Vectors:
    arrays = index.get()
    return arrays.vectors, arrays.row_ids
