"""The rows that a recursion has found so far: of others, those that are new are returned.

    few rows     a set of Python's, which knows the last ones
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
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raydb.engine.context.memory import Memory

# Up to so many rows at a time are looked up one by one, and so many are known so.
_FEW_ROWS = 1024
_MOST_IN_SET = 2**14

# A part beyond this share of the room goes to a file.
_PART_SHARE = 16

# What a row in a set of Python's takes, and each value of it.
_SEEN_BYTES = 150
_SEEN_VALUE_BYTES = 40

# The columns of plans have numbers from 0 on.
_HASH = Column(-1, "hash", pa.uint64())


@dataclass(frozen=True, eq=False, slots=True)
class _Part:
    """Rows in the order of their hashes, which are a column of theirs."""

    rows: Relation
    in_file: bool = False

    @property
    def hashes(self) -> NDArray[np.uint64]:
        """The hash of each row, in order."""
        hashes: NDArray[np.uint64] = joined(self.rows.columns[_HASH]).to_numpy()
        return hashes


class KnownRows:
    """Rows that are known, each once; equal are those that GROUP BY takes for equal."""

    def __init__(self, columns: Sequence[Column], memory: Memory) -> None:
        self._columns = columns
        self._memory = memory
        self._seen: set[tuple[Any, ...]] = set()
        self._last: list[Relation] = []
        self._parts: list[_Part] = []
        self._is_hashed = bool(columns) and not any(pt.is_nested(c.type) for c in columns)

    def add(self, rows: Relation) -> Relation:
        """Return those of the rows that were not known, each once; now they are.

        Raises OperationalError for too many rows with lists or structs.
        """
        if rows.row_count <= _FEW_ROWS or not self._is_hashed:
            return self._add_few(rows)
        self._sort_last()
        collector = Collector(self._memory, self._columns)
        for piece in pieces_of(rows, self._memory):
            groups = group_rows(list(piece.columns.values()), piece.row_count)
            distinct = piece.take(pa.array(np.sort(groups.rows))).combined()
            new = self._unknown(distinct)
            collector.add(new)
            self._keep(new)
        return collector.relation()

    def _add_few(self, rows: Relation) -> Relation:
        columns = [_comparable(values) for values in rows.columns.values()]
        tuples = zip(*columns, strict=True) if columns else iter([()] * rows.row_count)
        mask = []
        for row in tuples:
            mask.append(row not in self._seen)
            self._seen.add(row)
        need = len(self._seen) * (_SEEN_BYTES + _SEEN_VALUE_BYTES * len(self._columns))
        if not self._is_hashed:
            self._memory.check(need, "WITH RECURSIVE ... UNION, to know rows again,")
        new = rows.filter(pa.array(mask, pa.bool_()), sum(mask))
        if self._parts and new.row_count:
            new = self._unknown(new.combined())
        if self._is_hashed and new.row_count:
            self._last.append(new)
        is_large = need > self._memory.room() // _PART_SHARE
        if is_large or len(self._seen) > _MOST_IN_SET:
            self._sort_last()
        return new

    def _sort_last(self) -> None:
        """Make a part of the rows that the set knows."""
        if self._is_hashed:
            self._keep(concatenate(self._last, self._columns).combined())
            self._last.clear()
            self._seen.clear()

    def _unknown(self, rows: Relation) -> Relation:
        """Return the rows that are in no part."""
        hashes = hash_rows(list(rows.columns.values()))
        order = np.argsort(hashes)
        asked = hashes[order]
        known = np.zeros(rows.row_count, np.bool_)
        for part in self._parts:
            check_interrupt()
            theirs = part.hashes
            low = np.searchsorted(theirs, asked)
            hit = np.flatnonzero(theirs[np.minimum(low, len(theirs) - 1)] == asked)
            low = low[hit]
            counts = np.searchsorted(theirs, asked[hit], "right") - low
            ours = np.repeat(order[hit], counts)
            places = np.arange(len(ours)) - np.repeat(np.cumsum(counts) - counts - low, counts)
            known[ours[self._are_equal(rows, ours, part.rows, places)]] = True
        return rows.filter(pa.array(~known), int(np.count_nonzero(~known))).combined()

    def _are_equal(
        self, rows: Relation, ours: NDArray[np.int64], others: Relation, theirs: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Tell for pairs of rows, by their numbers, whether they are equal."""
        some = rows.take(pa.array(ours)), others.select(self._columns).take(pa.array(theirs))
        both = concatenate(some, self._columns)
        numbers = group_rows(list(both.columns.values()), both.row_count).members.numbers
        equal: NDArray[np.bool_] = numbers[: len(ours)] == numbers[len(ours) :]
        return equal

    def _keep(self, rows: Relation) -> None:
        """Make a part of rows that are in no other."""
        if not rows.row_count:
            return
        hashes = pa.array(hash_rows(list(rows.columns.values())))
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


def _sorted(rows: Relation) -> _Part:
    order = np.argsort(joined(rows.columns[_HASH]).to_numpy())
    return _Part(rows.take(pa.array(order)).combined())


def _comparable(values: pa.ChunkedArray | pa.Array) -> list[Any]:
    """Return values as Python's, which are equal where SQL's are."""
    codes = order_intervals(order_codes(canonical_floats(values))).to_pylist()
    return [repr(code) for code in codes] if pt.is_nested(values.type) else codes
