"""Scans that fetch whole rows only where they are wanted.

    SELECT image FROM pet WHERE id = 7 AND name LIKE 'R%'

    comparisons   id = 7         what a file can find by its zone maps and bloom filters
    candidates    row numbers    for which the comparisons hold
    matches       row numbers    for which the predicate holds, on its own columns alone
    rows          image          read for the matches, and for nothing else

It pays where the rows lie in files and few of them match; a table in memory is filtered as it is.
Of a Parquet file, row groups that the comparisons exclude are left out in any case.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.engine.operators.relation import (
    MORSEL_ROWS,
    Collector,
    Relation,
    concatenate,
    for_each_morsel,
    joined,
)
from raydb.engine.operators.scan.comparisons import comparisons_of
from raydb.engine.operators.scan.late_rows import Late, LateRows
from raydb.interrupts import check_interrupt
from raydb.kernels.codecs.packed_numbers import widened_column
from raydb.late import pc
from raydb.planner.expressions.columns.arrays import count_true
from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.nodes import Column, Expression, columns_of, conjuncts
from raydb.planner.expressions.registry import is_volatile, may_raise
from raydb.planner.stars.table_scan import is_small
from raydb.storage.in_order import in_order
from raydb.storage.tables.rows import Rows
from raydb.storage.tables.table import ROW_NUMBER
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.engine.context.memory import Memory
    from raydb.engine.operators.run import Sources
    from raydb.planner.plan.nodes import Scan
    from raydb.storage.tables.parts import Comparison, Part
    from raydb.storage.tables.table import Table

    # A part, the number of its first row, start and stop; or what returns a block.
    _Piece = tuple[Part, int, int, int] | Callable[[], Relation]

# A block of rows takes this share of the room; most chunks of numbers have so many rows.
_BLOCK_SHARE = 32
_CHUNK_ROWS = 2**14

# Of fewer rows of a block than one in so many, columns that the predicate does not read are taken.
_FEW_OF_BLOCK = 64

# A small file may claim any number of rows: what is more than so many times its size is refused.
_MOST_EXPANSION = 1000

# What finding matches takes for each row of a table: numbers, flags and their like.
_MATCH_BYTES = 48

# Single rows are read where at most one in so many is wanted: more of them cost as much as the
# whole column, which is kept for the next query.
_SPARSE = 64
_ALWAYS_FEW = 64

# The columns of plans have numbers from 0 on.
_NUMBER = Column(-1, ROW_NUMBER, pa.int64())


def run_scan(plan: Scan, columns: Sequence[Column], sources: Sources) -> Relation:
    """Return some columns of a table's visible rows."""
    return scan_table(sources.tables[plan.table], columns, sources.memory)


def scan_table(
    table: Table,
    columns: Sequence[Column],
    memory: Memory,
    predicate: Expression | None = None,
    *,
    keeps_packed: bool = False,
) -> Relation:
    """Return some columns of a table's visible rows.

    Those for which a predicate does not hold may be left out. What is decoded is kept for the next
    time, unless it would fill the memory: then it is read block by block. keeps_packed: whether
    rows will do of which columns are still the integers that they are kept as.
    """
    blocks = large_scan(table, columns, memory)
    if blocks is not None:
        collector = Collector(memory, columns)
        for rows in in_order(blocks.read, blocks.pieces(), blocks.ahead):
            collector.add(rows)
        return collector.relation()
    packed = packed_columns(table, columns) if keeps_packed else {}
    # Read together, which is cheaper in most files than one by one.
    names = [name for name in _names(columns) if name not in packed]
    values = {**packed, **dict(zip(names, table.rows.columns(names), strict=True))}
    stored = {
        replace(column, type=values[column.name].type) if column.name in packed else column: column
        for column in columns
    }
    found = _possible_rows(table, list(stored), values, predicate)
    if not packed:
        return found
    named = {stored[column]: some for column, some in found.columns.items()}
    late = {
        column: Late(column, partial(widened_column, kind=column.type))
        for column in columns
        if column.name in packed
    }
    return LateRows.of(columns, named, late, found.row_count)


def decoded_rows(table: Table, columns: Sequence[Column]) -> Relation:
    """Return some columns of a table's visible rows, which cost nothing to read."""
    names = _names(columns)
    values = dict(zip(names, map(joined, table.rows.columns(names)), strict=True))
    return _visible_rows(table, columns, values, 0, table.rows.row_count)


def packed_columns(table: Table, columns: Sequence[Column]) -> dict[str, pa.ChunkedArray]:
    """Return columns that a table keeps as narrower integers, by name."""
    found = {name: table.rows.integers(name) for name in _names(columns)}
    return {name: integers for name, integers in found.items() if integers is not None}


def _possible_rows(
    table: Table,
    columns: Sequence[Column],
    values: Mapping[str, pa.ChunkedArray],
    predicate: Expression | None,
) -> Relation:
    """Return the visible rows among all values, less those that zones exclude."""
    comparisons = () if predicate is None else comparisons_of(predicate)
    if not comparisons:
        return _visible_rows(table, columns, values, 0, table.rows.row_count)
    parts = []
    for start, stop in table.rows.ranges(comparisons):
        some = {name: whole.slice(start, stop - start) for name, whole in values.items()}
        parts.append(_visible_rows(table, columns, some, start, stop - start))
    return parts[0] if len(parts) == 1 else concatenate(parts, columns)


@dataclass(frozen=True, eq=False, slots=True)
class ScanBlocks:
    """Visible rows of a table block by block: nothing of what is decoded is kept.

    predicate: rows for which it does not hold may be left out. step: the rows of a block. ahead:
    how many blocks are read before they are asked for, None for some. in_batches: whether parts
    that cannot be sliced are read in batches, where they can be.
    """

    table: Table
    columns: Sequence[Column]
    predicate: Expression | None
    step: int
    ahead: int | None = None
    in_batches: bool = False

    def pieces(self) -> Iterator[_Piece]:
        """Yield what `read` reads, in order."""
        comparisons = () if self.predicate is None else comparisons_of(self.predicate)
        names = _names(self.columns)
        first = 0
        for part in self.table.rows.parts:
            if part.is_streamed:
                yield from (partial(self._block, read) for read in part.blocks(names))
                continue
            batches = part.batches(names, self.step) if self.in_batches else None
            if batches is not None:
                for rows in batches:
                    yield partial(self._visible, first, rows)
                    first += rows.num_rows
                continue
            for start, stop in part.ranges(comparisons):
                for low, high in part.pieces(start, stop, self.step):
                    yield part, first, low, high
            first += part.row_count

    def read(self, piece: _Piece) -> Relation:
        """Return the visible rows of a piece; any thread may ask."""
        if not isinstance(piece, tuple):
            return piece()
        part, first, start, stop = piece
        if part.is_sliceable and self.predicate is not None:
            found = self._few_matches(piece)
            if found is not None:
                return found
        names = _names(self.columns)
        values = dict(zip(names, part.slice(names, start, stop), strict=True))
        return _visible_rows(self.table, self.columns, values, first + start, stop - start)

    def _block(self, read: Callable[[], pa.Table]) -> Relation:
        return self._visible(0, read())

    def _visible(self, first: int, rows: pa.Table) -> Relation:
        values = dict(zip(rows.column_names, rows.columns, strict=True))
        return _visible_rows(self.table, self.columns, values, first, rows.num_rows)

    def _few_matches(self, piece: tuple[Part, int, int, int]) -> Relation | None:
        """Return the rows for which the predicate holds, None where they are many or all read."""
        part, first, start, stop = piece
        assert self.predicate is not None
        read = columns_of(self.predicate)
        others = [column for column in self.columns if column not in read]
        if not others:
            return None
        keys = [*sorted(read, key=lambda column: column.number), _NUMBER]
        names = _names(keys)
        values = dict(zip(names, part.slice(names, start, stop), strict=True))
        rows = _visible_rows(self.table, keys, values, first + start, stop - start)
        mask = evaluate(self.predicate, rows.columns, rows.row_count)
        count = count_true(mask)
        if count * _FEW_OF_BLOCK > rows.row_count:
            return None
        matches = rows.filter(mask, count).combined()
        numbers = joined(matches.columns[_NUMBER])
        places = numbers.to_numpy().astype(np.int64) - first
        found = {
            column: numbers if column.name == ROW_NUMBER else part.take(column.name, places)
            for column in others
        }
        return Relation({**matches.columns, **found}, count).select(self.columns)


def large_scan(
    table: Table,
    columns: Sequence[Column],
    memory: Memory,
    predicate: Expression | None = None,
) -> ScanBlocks | None:
    """Return a table's rows block by block where their columns would fill the memory.

    Those of a text file always come so: it is read once.

    Those for which a predicate does not hold may be left out. None where they fit. Raises
    OperationalError for a file that is too large and cannot be read in parts.
    """
    if table.rows.is_streamed and not any(column.name == ROW_NUMBER for column in columns):
        return ScanBlocks(table, columns, predicate, MORSEL_ROWS)
    room = memory.room()
    need = _decoded_bytes(table.rows, columns, room // 2)
    if not need or memory.has_room_to_keep(need, table.rows):
        return None
    row_count = max(table.rows.expected_row_count, 1)
    step = max(min(room * row_count // (_BLOCK_SHARE * need), MORSEL_ROWS), 1)
    ahead, in_batches = None, False
    for part in table.rows.parts:
        share = _decoded_bytes(Rows(table.rows.schema, (part,)), columns, room)
        if not part.is_sliceable and share * _largest_piece(part) * _BLOCK_SHARE > room:
            in_batches = True
            if part.batches(_names(columns), step) is None:
                # Pieces that are large beside the room are read one by one.
                memory.check(int(share * _largest_piece(part)), f"reading a part of '{table.name}'")
                ahead = 0
        elif part.is_sliceable and share > _MOST_EXPANSION * part.stored_bytes:
            memory.check(share, f"reading a part of '{table.name}'")
    step = step // _CHUNK_ROWS * _CHUNK_ROWS or step
    return ScanBlocks(table, columns, predicate, step, ahead, in_batches)


def _largest_piece(part: Part) -> float:
    """Return which share of a part's rows is read at once at most."""
    if not part.is_counted or not part.row_count:
        return 1.0
    pieces = part.pieces(0, part.row_count, part.row_count)
    return max(high - low for low, high in pieces) / part.row_count


def _decoded_bytes(rows: Rows, columns: Collection[Column], enough: int) -> int:
    """Return about how many bytes some columns need that are not decoded yet; see `Part`."""
    return int(rows.decoded_bytes(_names(columns), enough))


def _names(columns: Collection[Column]) -> list[str]:
    return [column.name for column in columns if column.name != ROW_NUMBER]


def _visible_rows(
    table: Table,
    columns: Sequence[Column],
    named: Mapping[str, pa.ChunkedArray | pa.Array],
    first: int,
    count: int,
) -> Relation:
    """Return those of some rows that are visible; they are `count` from number `first` on."""
    live = None if table.live is None else table.live[first : first + count]
    values: dict[Column, pa.ChunkedArray | pa.Array] = {}
    for column in columns:
        if live is not None:
            check_interrupt()
        if column.name == ROW_NUMBER:
            numbers = np.arange(first, first + count, dtype=np.int32)
            values[column] = pa.array(numbers if live is None else numbers[live])
        else:
            whole = named[column.name]
            values[column] = whole if live is None else whole.filter(pa.array(live))
    return Relation(values, count if live is None else int(np.count_nonzero(live)))


def without_excluded(table: Table, columns: Sequence[Column], predicate: Expression) -> Table:
    """Return a table without rows that a predicate excludes, as far as its files tell unread.

    The table is returned as it is where its rows' numbers are asked for: they would change.
    """
    if table.live is not None or any(column.name == ROW_NUMBER for column in columns):
        return table
    rows = table.rows.without(comparisons_of(predicate))
    return table if rows is table.rows else replace(table, rows=rows)


def scan_matches(
    table: Table, columns: Sequence[Column], predicate: Expression, memory: Memory
) -> Relation | None:
    """Return some columns of the visible rows for which a predicate holds.

    None where that is no better than to filter the table from end to end: it is decoded already,
    or many rows match. Raises DataError as the predicate does.
    """
    if not table.rows.is_counted:
        return None  # All columns of a text file are read together.
    comparisons = comparisons_of(predicate)
    read = columns_of(predicate)
    if is_decoded(table, {*columns, *read}):
        return None
    names = sorted({column.name for column in (*columns, *read)} - {ROW_NUMBER})
    table.rows.bring_metadata(names)
    room = memory.room() // 2
    if _decoded_bytes(table.rows, read, room) + _MATCH_BYTES * table.row_count > room:
        return None
    by_codes = _match_codes(table, columns, predicate, memory)
    if by_codes is not None:
        return by_codes
    if not comparisons and read.issuperset(columns):
        return None
    table.rows.bring_matching(names, comparisons)
    candidates = _candidates(table, comparisons)

    def keep(rows: Relation) -> Relation:
        mask = evaluate(predicate, rows.columns, rows.row_count)
        return rows.filter(mask, count_true(mask))

    rows = fetch_rows(table, sorted(read, key=lambda column: column.number), candidates)
    rows = Relation({**rows.columns, _NUMBER: pa.array(candidates)}, len(candidates))
    matches = for_each_morsel(rows, keep, list(rows.columns), memory)
    if not _are_few(matches.row_count, table):
        return None
    numbers = matches.columns[_NUMBER].to_numpy()
    others = fetch_rows(table, [c for c in columns if c not in read], numbers)
    return Relation({**matches.columns, **others.columns}, len(numbers)).select(columns)


def _match_codes(
    table: Table, columns: Sequence[Column], predicate: Expression, memory: Memory
) -> Relation | None:
    """Return some columns of the rows that texts of few values do not exclude.

    Parts of the predicate that read one such text are evaluated for each entry of the dictionaries
    that its file has. None where no text is stored so, and where most rows match.
    """
    texts: dict[Column, tuple[NDArray[np.int32], pa.Array]] = {}
    kept: NDArray[np.bool_] | None = None
    if table.live is not None or any(column.name == ROW_NUMBER for column in columns):
        return None
    for part in conjuncts(predicate):
        if may_raise(part):
            break
        read = columns_of(part)
        if len(read) != 1 or is_volatile(part):
            continue
        (column,) = read
        if column not in texts:
            codes = _text_codes(table, column)
            if codes is None:
                continue
            texts[column] = codes
        numbers, values = texts[column]
        mask = joined(pc.fill_null(evaluate(part, {column: values}, len(values)), False))
        holds = mask.to_numpy(zero_copy_only=False)[numbers]
        kept = holds if kept is None else kept & holds
    if kept is None or 2 * np.count_nonzero(kept) > len(kept):
        return None
    rows = np.flatnonzero(kept)
    others = [column for column in columns if column not in texts]
    room = memory.room() // 2
    is_large = _decoded_bytes(table.rows, others, room) > room
    if is_large and not _are_few(len(rows), table):
        return None
    found = {
        column: values.take(pa.array(numbers[rows])) for column, (numbers, values) in texts.items()
    }
    return Relation({**fetch_rows(table, others, rows).columns, **found}, len(rows)).select(columns)


def _text_codes(table: Table, column: Column) -> tuple[NDArray[np.int32], pa.Array] | None:
    """Return a text as the number of each row's value, and the values, the last of them NULL.

    None where it is decoded already, has many values or is not stored so.
    """
    kind = column.type
    if not (pa.types.is_string(kind) or pa.types.is_binary(kind)):
        return None
    if is_decoded(table, (column,)) or is_small(table.sample(column.name)) is None:
        return None
    coded = table.rows.dictionary(column.name)
    if coded is None:
        return None
    coded = coded.unify_dictionaries()
    values = coded.chunk(0).dictionary
    if 4 * len(values) > len(coded):
        return None
    numbers = [pc.fill_null(chunk.indices, len(values)).to_numpy() for chunk in coded.chunks]
    return np.concatenate(numbers), pa.concat_arrays([values, pa.nulls(1, values.type)])


def scan_slice(table: Table, columns: Sequence[Column], offset: int, count: int) -> Relation | None:
    """Return some columns of `count` visible rows from row `offset` on.

    None where that is no better than a slice of the whole table.
    """
    if not columns or is_decoded(table, columns):
        return None
    if not table.rows.is_counted:
        found = table.rows.head([column.name for column in columns], offset + count)
        rows = Relation(dict(zip(columns, found, strict=True)), len(found[0]))
        return rows.slice(offset, count)
    if not _are_few(count, table):
        return None
    if table.live is None:
        numbers = np.arange(offset, min(offset + count, table.row_count))
    else:
        numbers = _visible(table)[offset : offset + count]
    return fetch_rows(table, columns, numbers)


def is_decoded(table: Table, columns: Iterable[Column]) -> bool:
    """Tell whether columns of a table, whose rows are counted, cost nothing to read."""
    rows = table.rows
    if not rows.is_counted:
        return False
    for column in columns:
        if column.name != ROW_NUMBER and not rows.is_decoded(column.name):
            return False
    return True


def most_few_rows(table: Table) -> int:
    """Return how many rows of a table are few: these are read one by one."""
    return max(_ALWAYS_FEW, table.row_count // _SPARSE)


def _are_few(count: int, table: Table) -> bool:
    return count <= most_few_rows(table)


def _visible(table: Table) -> NDArray[np.int64]:
    return np.arange(table.row_count) if table.live is None else np.flatnonzero(table.live)


def _candidates(table: Table, comparisons: Sequence[Comparison]) -> NDArray[np.int64]:
    """Return the numbers of visible rows; those of all for which the comparisons hold are there."""
    found = table.rows.matching_rows(comparisons)
    if found is None:
        return _visible(table)
    return found if table.live is None else found[table.live[found]]


def fetch_rows(table: Table, columns: Sequence[Column], row_numbers: NDArray[np.int64]) -> Relation:
    """Return some columns of the rows of those numbers."""
    few = _are_few(len(row_numbers), table)
    places = pa.array(row_numbers)
    names = [column.name for column in columns if column.name != ROW_NUMBER]
    table.rows.bring(names, row_numbers if few else None)
    values: dict[Column, pa.ChunkedArray | pa.Array] = {}
    for column in columns:
        if column.name == ROW_NUMBER:
            values[column] = places.cast(pa.int32())
        elif few:
            values[column] = table.rows.take(column.name, row_numbers)
        else:
            whole = table.rows.column(column.name)
            values[column] = whole if len(places) == len(whole) else whole.take(places)
    return Relation(values, len(row_numbers))
