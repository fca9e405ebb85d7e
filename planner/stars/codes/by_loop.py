"""The cells, groups and runs of a star on a BVH by one compiled loop, where the BVH encodes it all.

A comparison of a level with constants becomes ranges of ranks, by binary search among the level's
values; a predicate of another form, as LIKE, a mask over codes. What the loop reads of a BVH for
some keys is made once.
"""

from __future__ import annotations

from dataclasses import field
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from raydb.kernels.backends.backend import CodeMap
from raydb.kernels.backends.cpu.warm import frozen, star_loops
from raydb.planner.expressions.nodes import Attribute
from raydb.planner.stars.codes.allowed_codes import (
    comparisons,
    rank_ranges,
    ranked_values,
    ranks_of,
)
from raydb.planner.stars.codes.encoded import (
    hierarchy_of,
    number_keys,
    predicate_mask,
)
from raydb.planner.stars.fused_scan import GroupPart, JobCells
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from raydb.kernels.bvh.bvh import Bvh
    from raydb.planner.catalog import BvhInfo
    from raydb.planner.expressions.nodes import Column, Expression, Literal
    from raydb.planner.plan.nodes import Star
    from raydb.planner.plan.nodes.node import Items
    from raydb.planner.stars.codes.encoded import KeyTuples

# Over more codes than these, planning takes no longer than the pass over them.
MAX_CODES = 2**16

# Of a BVH what is kept for so many tuples of keys.
MOST_KEYED = 32

# Each comparison passes over all codes; a mask of more, as of a long IN, is made in less time.
MOST_COMPARED = 16

# Of a comparison the ranks of so many values are kept.
MOST_RANGES = 64

# What a comparison with NULL lets pass: without a row it would not be asked.
_NO_RANKS = ((0, 0),)

# What `star_loops` says of a hierarchy, and of the whole.
_BY_CELL, _DROPS, _DONE = 1, 3, 0


@dataclass(frozen=True, eq=False, slots=True)
class Compared:
    """A comparison: `head` are its predicate, its hierarchy, and where its level's ranks begin.

    known: the rows of some values.
    """

    head: tuple[int, int, int]
    function: str
    values: Sequence[Any]
    literal: Literal
    known: dict[Any, tuple[int, ...]] = field(default_factory=dict)

    def rows(self, literal: Literal) -> tuple[int, ...]:
        """Return its rows in the table of comparisons, for a literal of the level's type."""
        value = literal.value
        known = self.known.get(value)
        if known is None:
            ranges = rank_ranges(self.function, self.values, literal) or _NO_RANKS
            known = tuple([number for each in ranges for number in (*self.head, *each)])
            if len(self.known) >= MOST_RANGES:
                self.known.clear()
            self.known[value] = known
        return known


@dataclass(frozen=True, eq=False, slots=True)
class Conditions:
    """The predicates of a star, each over one hierarchy: comparisons, and all others.

    ranks: int32, those of the levels that are compared. others: with the hierarchy of each.
    """

    ranks: NDArray[np.int32]
    compared: tuple[Compared, ...]
    others: tuple[tuple[Expression, int], ...]

    def table(self, value_of: Callable[[Literal], Literal]) -> NDArray[np.int64]:
        """Return the table of comparisons: predicate, hierarchy, ranks, first rank and end.

        value_of: returns what stands in the place of a literal.
        """
        table: list[int] = []
        for each in self.compared:
            table += each.rows(value_of(each.literal))
        return np.array(table, np.int64).reshape(-1, 5)


class KeyedBvh:
    """A BVH as the loop reads it for some keys.

    tuples: those of the keys, in the order of the parts of a group number. places: of each part
    the keys that it is made of.
    """

    def __init__(
        self,
        index: Bvh,
        tuples: Sequence[KeyTuples],
        places: Sequence[Sequence[int]],
    ) -> None:
        self.tuples = tuple(tuples)
        self._places = places
        hierarchies = index.hierarchies
        tuple_counts = {each.hierarchy: each.count for each in tuples}
        counts = (
            [each.code_count for each in hierarchies],
            [each.scan_count for each in hierarchies],
            [tuple_counts.get(number, 0) for number in range(len(hierarchies))],
        )
        # Where the codes, the coordinates and the tuples of each hierarchy begin, and all end.
        firsts = [list(accumulate(each, initial=0)) for each in counts]
        pairs = zip(firsts, counts, strict=True)
        columns = [column for first, count in pairs for column in (first[:-1], count)]
        self._codes_of = firsts[0]
        # Where in a job the parts of codes, those of coordinates and the chosen tuples begin.
        begin, places = 2 * len(hierarchies), []
        for first in firsts:
            places.append([begin + place for place in first])
            begin = places[-1][-1]
        self._codes, self._axes, self._chosen = places
        tuple_codes = {each.hierarchy: each.codes for each in tuples}
        codes = [
            (each.scan_codes, tuple_codes.get(number, np.zeros_like(each.scan_codes)))
            for number, each in enumerate(hierarchies)
        ]
        none = np.empty(0, np.int64)
        self._arrays = (
            np.array([*columns, index.strides], np.int64).T.copy(),
            np.array([each.hierarchy for each in tuples], np.int64),
            np.stack([np.concatenate(each) for each in zip(*codes, strict=True)]),
        )
        self._cells = (
            frozen(none if index.cells is None else index.cells),
            frozen(index.offsets),
        )

    @property
    def size_bytes(self) -> int:
        """The bytes of its arrays."""
        arrays: list[Any] = [*self._arrays, *(each for some in self.tuples for each in some.values)]
        return sum(int(array.nbytes) for array in arrays)

    @property
    def code_count(self) -> int:
        """How many codes all hierarchies have."""
        return self._codes_of[-1]

    def columns(self, keys: Items) -> tuple[tuple[Column, ...], ...]:
        """Return the columns of each part of a group number."""
        return tuple([tuple([keys[place][0] for place in some]) for some in self._places])

    def codes_of(self, hierarchy: int) -> slice:
        """Return where the codes of a hierarchy lie among those of all."""
        return slice(self._codes_of[hierarchy], self._codes_of[hierarchy + 1])

    def find(
        self,
        columns: Sequence[tuple[Column, ...]],
        ranks: NDArray[np.int32],
        compared: NDArray[np.int64],
        allowed: NDArray[np.bool_],
    ) -> JobCells | None:
        """Return the cells and groups of a star; None where there are too many, or no loop yet.

        compared: the table of comparisons, of which `ranks` are. allowed: the codes that pass all
        other predicates; it is changed.
        """
        loops = star_loops()
        if loops is None:
            return None
        state, job, ranges, run_count, groups, rows, passing = loops.find_star_runs(
            *self._arrays, ranks, compared, allowed, *self._cells
        )
        if state != _DONE:
            return None
        runs = ranges[: 3 * run_count].reshape(3, run_count)
        intervals = ranges[3 * run_count :].reshape(-1, 2)
        count = len(self._codes) - 1
        told = job[: 2 * count].tolist()
        maps, made = self._maps(told, job), self._parts(columns, job, told[count:])
        return JobCells(intervals, maps, groups, rows, made, groups, runs=runs, passing=passing)

    def _maps(self, ways: Sequence[int], job: NDArray[np.int64]) -> tuple[CodeMap, ...]:
        """Return what the job looks up, as `find_by_arrays` does."""
        codes, axes = self._codes, self._axes
        maps = []
        for number in range(len(codes) - 1):
            way = ways[number]
            if way == _BY_CELL:
                groups = job[axes[number] : axes[number + 1]]
                maps.append(CodeMap(number, by_cell=True, groups=groups, filters=False))
            elif way:
                groups = job[codes[number] : codes[number + 1]]
                maps.append(CodeMap(number, by_cell=False, groups=groups, filters=way == _DROPS))
        return tuple(maps)

    def _parts(
        self,
        columns: Sequence[tuple[Column, ...]],
        job: NDArray[np.int64],
        counts: Sequence[int],
    ) -> tuple[GroupPart, ...]:
        """Return what group numbers are made of, as `find_by_arrays` does."""
        parts, stride = [], 1
        for names, tuples in zip(columns, self.tuples, strict=True):
            first, count = self._chosen[tuples.hierarchy], counts[tuples.hierarchy]
            some = job[first : first + count]
            parts.append(GroupPart(names, tuples.values, stride, max(count, 1), some, tuples))
            stride *= parts[-1].count
        return tuple(parts)


def find_by_loop(star: Star, bvh: BvhInfo) -> JobCells | None:
    """Return the cells and groups of a star; None where the BVH does not encode it all."""
    if star_loops() is None:
        return None
    keyed = keyed_bvh(star.keys, bvh)
    conditions = None if keyed is None else split_conditions(star.predicates, bvh)
    if keyed is None or conditions is None:
        return None
    allowed = np.ones(keyed.code_count, np.bool_)
    for predicate, hierarchy in conditions.others:
        mask = predicate_mask(predicate, hierarchy, bvh)
        if mask is None:
            return None
        allowed[keyed.codes_of(hierarchy)] &= mask
    compared = conditions.table(lambda literal: literal)
    return keyed.find(keyed.columns(star.keys), conditions.ranks, compared, allowed)


# Of each attribute its hierarchy, the values of its level and the ranks of all codes among these.
_Level: TypeAlias = "tuple[int, Sequence[Any], NDArray[np.int32]]"


def split_conditions(predicates: Sequence[Expression], bvh: BvhInfo) -> Conditions | None:
    """Part predicates by what they become; None where one is not over one hierarchy."""
    known: dict[Attribute, _Level] = bvh.kept.setdefault("levels", {})
    ranks: list[NDArray[np.int32]] = [np.empty(0, np.int32)]
    rank_count = 0
    first_ranks: dict[int, int] = {}
    compared: list[Compared] = []
    others: list[tuple[Expression, int]] = []
    for place, predicate in enumerate(predicates):
        number = hierarchy_of(predicate, bvh)
        if number is None:
            return None
        found = comparisons(predicate) or ()
        levels = [known.get(each[1]) or _make_level(each[1], bvh, known) for each in found]
        if not found or len(found) > MOST_COMPARED or None in levels:
            others.append((predicate, number))
            continue
        for (function, _, literal), level in zip(found, levels, strict=True):
            assert level is not None
            _, values, some = level
            if id(some) not in first_ranks:
                first_ranks[id(some)] = rank_count
                rank_count += len(some)
                ranks.append(some)
            compared.append(
                Compared((place, number, first_ranks[id(some)]), function, values, literal)
            )
    return Conditions(np.concatenate(ranks), tuple(compared), tuple(others))


def _make_level(
    attribute: Attribute, bvh: BvhInfo, known: dict[Attribute, _Level]
) -> _Level | None:
    """Return the level of an attribute, and keep it; None for one whose values have no ranks."""
    number, level = bvh.levels[attribute]
    hierarchy = bvh.index.hierarchies[number]
    values = ranked_values(hierarchy, level)
    if values is None:
        return None
    made = known[attribute] = number, values, ranks_of(hierarchy, level)
    return made


def keyed_bvh(keys: Items, bvh: BvhInfo) -> KeyedBvh | None:
    """Return a BVH as the loop reads it for some keys; None where it does not encode one of them.

    None, too, where it has too many codes, none, or no rows. Keys that are attributes are kept.
    """
    asked = tuple([key for _, key in keys if isinstance(key, Attribute)])
    if len(asked) < len(keys):
        return _make_keyed(keys, bvh)
    known: dict[tuple[Attribute, ...], KeyedBvh] = bvh.kept.setdefault("keyed", {})
    found = known.get(asked)
    if found is None:
        found = _make_keyed(keys, bvh)
        if len(known) >= MOST_KEYED:
            known.clear()
        if found is not None:
            known[asked] = found
    return found


def _make_keyed(keys: Items, bvh: BvhInfo) -> KeyedBvh | None:
    index = bvh.index
    numbers = [hierarchy_of(key, bvh) for _, key in keys]
    # An index without rows is a model of one, and one without hierarchies has a single cell.
    if None in numbers or not index.row_count or not index.hierarchies:
        return None
    if sum(each.code_count for each in index.hierarchies) > MAX_CODES:
        return None
    if index.placed is not None:
        index.placed.get()
    tuples = number_keys(keys, bvh)
    if tuples is None:
        return None
    places = [[n for n, each in enumerate(numbers) if each == some.hierarchy] for some in tuples]
    return KeyedBvh(index, tuples, places)
