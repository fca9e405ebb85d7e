"""The rows that a recursion has found so far, numbered: of others, those that are new are returned.

    few rows     a dict of Python's, which knows the last ones
    many         sorted by the hash of each: a binary search finds those that may be equal

The sorted rows are in parts: two of about one size become one, and large ones go to files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.engine.operators.codes import group_rows
from raydb.engine.operators.partition import hash_rows, pieces_of
from raydb.engine.operators.relation import (
    Collector,
    Relation,
    concatenate,
    joined,
    mapped,
    schema_of,
)
from raydb.interrupts import check_interrupt
from raydb.planner.expressions.columns.order import canonical_floats, order_codes, order_intervals
from raydb.planner.expressions.nodes import Column
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from raydb.engine.context.memory import Memory

# Up to so many rows at a time are looked up one by one, and so many are known so.
_FEW_ROWS = 1024
_MOST_IN_DICT = 2**14

# A part beyond this share of the room goes to a file.
_PART_SHARE = 16

# What a row in a dict of Python's takes, and each value of it.
_SEEN_BYTES = 150
_SEEN_VALUE_BYTES = 40

# The columns of plans have numbers from 0 on.
_HASH = Column(-1, "hash", pa.uint64())
_PLACE = Column(-2, "place", pa.int64())


@dataclass(frozen=True, eq=False, slots=True)
class _Part:
    """Rows in the order of their hashes, which are a column of theirs, as their places are."""

    rows: Relation
    in_file: bool = False

    @property
    def hashes(self) -> NDArray[np.uint64]:
        """The hash of each row, in order."""
        hashes: NDArray[np.uint64] = joined(self.rows.columns[_HASH]).to_numpy()
        return hashes


class KnownRows:
    """Rows that are known, each once; equal are those that GROUP BY takes for equal.

    The place of a row is how many others were known before it; `count` is how many there are.
    """

    def __init__(self, columns: Sequence[Column], memory: Memory) -> None:
        self._columns = columns
        self._memory = memory
        self._seen: dict[tuple[Any, ...], int] = {}
        self._last: list[Relation] = []
        self._parts: list[_Part] = []
        self._is_hashed = bool(columns) and not any(pt.is_nested(c.type) for c in columns)
        self.count = 0

    def add(self, rows: Relation) -> Relation:
        """Return those of the rows that were not known, each once; now they are.

        Raises OperationalError for too many rows with lists or structs.
        """
        if rows.row_count <= _FEW_ROWS or not self._is_hashed:
            _, new = self._note(rows)
            self._sort_where_many()
            return new
        collector = Collector(self._memory, self._columns)
        for piece in pieces_of(rows, self._memory):
            before = self.count
            places, firsts = np.unique(self._places(piece), return_index=True)
            is_new = np.zeros(piece.row_count, np.bool_)
            is_new[firsts[places >= before]] = True
            collector.add(piece.filter(pa.array(is_new), self.count - before))
        return collector.relation()

    def places(self, rows: Relation) -> NDArray[np.int64]:
        """Return the place of each row, which is known from now on; errors as in `add`."""
        if rows.row_count <= _FEW_ROWS or not self._is_hashed:
            return self._places(rows)
        return np.concatenate([self._places(p) for p in pieces_of(rows, self._memory)])

    def _places(self, rows: Relation) -> NDArray[np.int64]:
        if rows.row_count <= _FEW_ROWS or not self._is_hashed:
            tuples, _ = self._note(rows)
            found = np.array([self._seen[row] for row in tuples], np.int64)
            self._sort_where_many()
            return found
        self._sort_last()
        groups = group_rows(list(rows.columns.values()), rows.row_count)
        order = np.argsort(groups.rows)
        distinct = rows.take(pa.array(groups.rows[order])).combined()
        found, is_new = self._numbered(distinct)
        numbered = Relation({**distinct.columns, _PLACE: pa.array(found)}, distinct.row_count)
        self._keep(numbered.filter(pa.array(is_new), int(np.count_nonzero(is_new))).combined())
        places = np.empty_like(found)
        places[order] = found
        return places[groups.members.numbers]

    def _numbered(self, rows: Relation) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the places of rows that differ, and which of them are in no part: they are new."""
        found = self._find(rows)
        is_new = found < 0
        count = int(np.count_nonzero(is_new))
        found[is_new] = self.count + np.arange(count)
        self.count += count
        return found, is_new

    def _note(self, rows: Relation) -> tuple[list[tuple[Any, ...]], Relation]:
        """Note few rows in the dict; return them as it knows them, and those that are new."""
        columns = [_comparable(values) for values in rows.columns.values()]
        tuples = list(zip(*columns, strict=True)) if columns else [()] * rows.row_count
        unseen: dict[tuple[Any, ...], int] = {}
        for number, row in enumerate(tuples):
            if row not in self._seen and row not in unseen:
                unseen[row] = number
        new = rows
        if len(unseen) < rows.row_count:
            new = rows.take(pa.array(list(unseen.values()), pa.int64()))
        places: Iterable[int] = range(self.count, self.count + len(unseen))
        if self._parts and unseen:
            found, is_new = self._numbered(new.combined())
            places = found.tolist()
            new = new.filter(pa.array(is_new), int(np.count_nonzero(is_new)))
        else:
            self.count += len(unseen)
        self._seen.update(zip(unseen, places, strict=True))
        if self._is_hashed and new.row_count:
            self._last.append(new)
        return tuples, new

    def _sort_where_many(self) -> None:
        need = len(self._seen) * (_SEEN_BYTES + _SEEN_VALUE_BYTES * len(self._columns))
        if not self._is_hashed:
            self._memory.check(need, "WITH RECURSIVE ... UNION, to know rows again,")
        is_large = need > self._memory.room() // _PART_SHARE
        if is_large or len(self._seen) > _MOST_IN_DICT:
            self._sort_last()

    def _sort_last(self) -> None:
        """Make a part of the rows that the dict knows, whose places are the last ones."""
        if self._is_hashed:
            rows = concatenate(self._last, self._columns).combined()
            places = pa.array(np.arange(self.count - rows.row_count, self.count))
            self._keep(Relation({**rows.columns, _PLACE: places}, rows.row_count))
            self._last.clear()
            self._seen.clear()

    def _find(self, rows: Relation) -> NDArray[np.int64]:
        """Return the place of each row that is in a part, -1 for those that are in none."""
        hashes = hash_rows(list(rows.columns.values()))
        order = np.argsort(hashes)
        asked = hashes[order]
        found = np.full(rows.row_count, -1, np.int64)
        for part in self._parts:
            check_interrupt()
            theirs = part.hashes
            low = np.searchsorted(theirs, asked)
            hit = np.flatnonzero(theirs[np.minimum(low, len(theirs) - 1)] == asked)
            low = low[hit]
            counts = np.searchsorted(theirs, asked[hit], "right") - low
            ours = np.repeat(order[hit], counts)
            others = np.arange(len(ours)) - np.repeat(np.cumsum(counts) - counts - low, counts)
            some = rows.take(pa.array(ours)), part.rows.take(pa.array(others))
            equal = equal_rows(some[0], some[1].select(self._columns))
            found[ours[equal]] = joined(some[1].columns[_PLACE]).to_numpy()[equal]
        return found

    def _keep(self, rows: Relation) -> None:
        """Make a part of rows, with their places, that are in no other."""
        if not rows.row_count:
            return
        hashes = pa.array(hash_rows([rows.columns[column] for column in self._columns]))
        part = _sorted(Relation({**rows.columns, _HASH: hashes}, rows.row_count))
        while self._parts and not self._parts[-1].in_file:
            before = self._parts[-1].rows
            if before.row_count > 2 * part.rows.row_count:
                break
            self._parts.pop()
            part = _sorted(concatenate([before, part.rows], list(before.columns)))
        if part.rows.size_bytes > self._memory.room() // _PART_SHARE:
            columns = list(part.rows.columns)
            file = self._memory.new_file(schema_of(columns))
            for batch in part.rows.table().combine_chunks().to_batches():
                file.write(batch)
            part = _Part(mapped(file.batches(), columns), in_file=True)
        self._parts.append(part)


def equal_rows(some: Relation, others: Relation) -> NDArray[np.bool_]:
    """Tell for rows of the same columns, pair by pair, whether they are equal as keys are."""
    both = concatenate((some, others), list(some.columns))
    numbers = group_rows(list(both.columns.values()), both.row_count).members.numbers
    equal: NDArray[np.bool_] = numbers[: some.row_count] == numbers[some.row_count :]
    return equal


def _sorted(rows: Relation) -> _Part:
    order = np.argsort(joined(rows.columns[_HASH]).to_numpy())
    return _Part(rows.take(pa.array(order)).combined())


def _comparable(values: pa.ChunkedArray | pa.Array) -> list[Any]:
    """Return values as Python's, which are equal where SQL's are."""
    codes = order_intervals(order_codes(canonical_floats(values))).to_pylist()
    return [repr(code) for code in codes] if pt.is_nested(values.type) else codes
