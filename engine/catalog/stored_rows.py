"""A table's rows on their way to disk: those in memory become files, and small files one.

write_rows(table, files, lenders)     at each manifest, see `storage/tables/file_merges.py`
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa

from raydb.engine.catalog.indexes.lending import (
    Lender,
    borrowed_files,
    borrowing,
    is_worth,
    lent_by,
    new_loans,
    stretches,
)
from raydb.errors import OperationalError
from raydb.interrupts import beside
from raydb.storage.tables.file_merges import VACUUM_BYTES, JoinedPart, tiered
from raydb.storage.tables.parts import FilePart, Part, RestPart
from raydb.storage.tables.rows import Rows
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from raydb.kernels.stored.deferred import Deferred
    from raydb.storage.tables.table import Table, TableDefinition


@dataclass(frozen=True, slots=True)
class Files:
    """The files of a database: `write` makes one and returns its name, `open` reads its rows.

    most: how many bytes of rows may be decoded at a time, to be merged.
    """

    write: Callable[[Callable[[BinaryIO], None]], str]
    open: Callable[[str], FilePart]
    most: int


@dataclass(frozen=True, slots=True)
class FilesAhead(Files):
    """Files that are written before the commit that makes them part of the database.

    write_index: writes the arrays of an index, 'ivf' or 'fts', so that who commits next need not
    wait for that.
    """

    write_index: Callable[[str, Deferred[Any]], None]


@dataclass(frozen=True, slots=True)
class Loan:
    """Who lends columns to rows, and which number the first of these has.

    lending: the files of all indexes that lend columns to rows of the table.
    """

    first: int = 0
    lenders: tuple[Lender, ...] = ()
    lending: frozenset[str] = frozenset()


NO_LOAN = Loan()


def write_part(
    part: Part, definition: TableDefinition, files: Files, loan: Loan = NO_LOAN
) -> FilePart:
    """Return the rows of a part in a file of their own; loan: what they borrow from indexes."""
    written = files.open(files.write(partial(_write_part, part, definition, loan.lenders)))
    return borrowing(written, loan.first, loan.lenders)


def write_rows(table: Table, files: Files, lenders: Sequence[Lender] = ()) -> Table:
    """Return the table with all its rows in files, of which few are small.

    lenders: the indexes that lend columns to rows.
    """
    before = tuple(part for part in table.rows.parts if part.row_count)
    lending = frozenset(each.file for each in lenders)
    after: list[Part] = []
    for stretch in stretches(table, lenders):
        first = stretch.first
        for group in tiered(stretch.parts, files.most):
            loan = Loan(first, stretch.lenders, lending)
            after += _written(group, table.definition, files, loan)
            first += sum(part.row_count for part in group)
    if tuple(after) == before:
        return table
    rows = Rows(table.rows.schema, tuple(after), dict(table.rows.key_indexes))
    return replace(table, rows=rows)


def _written(
    group: tuple[Part, ...], definition: TableDefinition, files: Files, loan: Loan
) -> list[Part]:
    """Return parts of which each is a file: one, unless they cannot be merged."""
    known = [part for part in group if isinstance(part, FilePart)]
    if len(known) == len(group) == 1:
        return _lent(known[0], definition, files, loan)
    whole = group[0] if len(group) == 1 else JoinedPart(group)
    try:
        return [write_part(whole, definition, files, loan)]
    except OperationalError:
        # Rows in files need no merge: a file that is damaged is an error of those who read it, and
        # a disk with little room may have enough for the new rows.
        if not known:
            raise
    kept: list[Part] = []
    first = loan.first
    for part in group:
        is_kept = isinstance(part, FilePart)
        own = replace(loan, first=first)
        kept += [part] if is_kept else _written((part,), definition, files, own)
        first += part.row_count
    return kept


def _lent(part: FilePart, definition: TableDefinition, files: Files, loan: Loan) -> list[Part]:
    """Return the rows of a file once they borrow what they may, and from indexes that lend.

    A file with a column that is lent is written anew without it, where that saves enough; one that
    borrows from an index which is gone, with it.
    """
    loans = new_loans(part, loan.first, loan.lenders)
    if all(lent_by(part, each.column) is not None for each in loans):
        part = borrowing(part, loan.first, loans)
        loans = []
    borrows_on = borrowed_files(part, definition.schema.names) <= loan.lending
    if borrows_on and not (loans and is_worth(part, loans)):
        return [part]
    pieces = 1 + part.size_bytes // VACUUM_BYTES
    ends = [part.row_count * number // pieces for number in range(pieces + 1)]
    written: list[Part] = []
    try:
        for start, stop in pairwise(ends):
            if start < stop:
                rest = RestPart(part, start, stop)
                own = replace(loan, first=loan.first + start)
                written.append(write_part(rest, definition, files, own))
    except OperationalError:  # as above: the file stays, and is as good
        return [part]
    return written


def _write_part(
    part: Part, definition: TableDefinition, lenders: Sequence[Lender], sink: BinaryIO
) -> None:
    schema, layout = definition.schema, definition.layout
    from raydb.storage.flat.write import write_stream  # noqa: PLC0415  (queries write nothing)

    columns = beside(lambda: part.columns(schema.names), part.row_count)
    lent = {each.column for each in lenders}
    for number, name in enumerate(schema.names):
        if name in lent:
            columns[number] = columns[number].is_valid()
            schema = schema.set(number, pa.field(name, pa.bool_(), nullable=False))
    settings: dict[str, Any] = {
        what: {name: value for name, value in getattr(layout, what) if name not in lent}
        for what in ("chunk_rows", "encodings", "offset_index")
    }
    write_stream(sink, pa.Table.from_arrays(columns, schema=schema), **settings)
