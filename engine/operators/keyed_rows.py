"""The rows of WITH RECURSIVE ... USING KEY: one for each key, in which later rows are folded.

rows that come  ->  one a key  ->  with the row that the key has  ->  those that are other than it
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.engine.operators.known_rows import KnownRows, equal_rows
from raydb.engine.operators.partition import pieces_of
from raydb.engine.operators.relation import Collector, Relation, concatenate, joined
from raydb.planner.expressions.nodes import Column

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.engine.operators.run import Sources
    from raydb.planner.plan.nodes import KeyedRecursive

# Rows that are no longer those of their keys are dropped where there are so many for each key, or
# where the rows lie in so many parts.
_MOST_VERSIONS = 2
_MOST_PARTS = 16

# The columns of plans have numbers from 0 on.
_PLACE = Column(-1, "place", pa.int64())


class KeyedRows:
    """One row for each key; `columns` are those of the rows that come for it."""

    def __init__(self, plan: KeyedRecursive, sources: Sources) -> None:
        self.columns = plan.base.columns
        self._plan = plan
        self._sources = sources
        self._keys = [plan.columns[place] for place in plan.keys]
        self._known = KnownRows(self._keys, sources.memory)
        # The rows of keys now and before, in parts, and which is that of each key, by its place.
        self._rows = concatenate([], plan.columns)
        self._parts = 0
        self._row_of_place = np.zeros(0, np.int64)
        self._came = Collector(sources.memory, (*self.columns, _PLACE))

    def add(self, rows: Relation) -> Relation:
        """Fold rows in, and return what the next step reads: those of keys that have changed.

        Raises OperationalError for too many keys that are lists or structs.
        """
        if rows.row_count == 0:
            return rows
        before = self._known.count
        newest = self._folded(rows) if len(self._plan.kept) > 1 else self._made_again(rows)
        changed = self._replace(newest, before)
        return changed if self._plan.distinct else rows

    def rows(self) -> Relation:
        """Return the row of each key."""
        return self._picked(self._row_of_place)

    def _folded(self, rows: Relation) -> Relation:
        """Return the new row of each key that rows came for, by those that the keys had."""
        newest = self._run(0, rows)
        before = self._known.count
        places = self._known.places(newest.select(self._keys))
        old = places[places < before]
        if not len(old):
            return newest
        older = self._picked(self._row_of_place[old])
        return self._run(1, concatenate([older, newest], self._plan.columns))

    def _made_again(self, rows: Relation) -> Relation:
        """Return the new row of each key that rows came for, of all that ever did."""
        keys = (rows.columns[self.columns[place]] for place in self._plan.keys)
        named = dict(zip(self._keys, keys, strict=True))
        places = self._known.places(Relation(named, rows.row_count))
        numbered = {**rows.columns, _PLACE: pa.array(places)}
        self._came.add(Relation(numbered, rows.row_count))
        is_asked = np.zeros(self._known.count, np.bool_)
        is_asked[places] = True
        collector = Collector(self._sources.memory, self.columns)
        for piece in pieces_of(self._came.relation(), self._sources.memory):
            mask = is_asked[joined(piece.columns[_PLACE]).to_numpy()]
            collector.add(piece.filter(pa.array(mask), int(np.count_nonzero(mask))))
        return self._run(0, collector.relation())

    def _run(self, number: int, rows: Relation) -> Relation:
        """Return what a plan of `kept` makes of rows."""
        plan = self._plan.kept[number]
        self._sources.working[self._plan.inputs] = rows
        made = self._sources.rows_of(plan, plan.columns)
        columns = dict(zip(self._plan.columns, made.columns.values(), strict=True))
        return Relation(columns, made.row_count)

    def _replace(self, newest: Relation, before: int) -> Relation:
        """Let keys have new rows, and return those that are other than the ones before.

        Keys from the place `before` on have none yet.
        """
        places = self._known.places(newest.select(self._keys))
        is_other = places >= before
        old = np.flatnonzero(~is_other)
        if len(old):
            older = self._picked(self._row_of_place[places[old]])
            is_other[old] = ~equal_rows(older, newest.take(pa.array(old)))
        changed = newest.filter(pa.array(is_other), int(np.count_nonzero(is_other)))
        added = np.zeros(self._known.count - before, np.int64)
        self._row_of_place = np.concatenate([self._row_of_place, added])
        numbers = self._rows.row_count + np.arange(changed.row_count)
        self._row_of_place[places[is_other]] = numbers
        self._rows = concatenate([self._rows, changed], self._plan.columns)
        self._parts += 1
        if self._parts > _MOST_PARTS or (
            numbers.size and (self._rows.row_count > _MOST_VERSIONS * self._known.count)
        ):
            self._rows = self.rows()
            self._parts = 1
            self._row_of_place = np.arange(self._known.count)
        return changed

    def _picked(self, numbers: NDArray[np.int64]) -> Relation:
        """Return rows by their numbers, in a file where they are many."""
        step = max(1, self._rows.rows_within(self._sources.memory.room() // _MOST_PARTS))
        collector = Collector(self._sources.memory, self._plan.columns)
        for start in range(0, max(len(numbers), 1), step):
            collector.add(self._rows.take(pa.array(numbers[start : start + step])))
        return collector.relation()
