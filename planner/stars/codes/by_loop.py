"""The cells, groups and runs of a star on a BVH by one compiled loop, where the BVH encodes it all.

A comparison of a level with constants becomes ranges of ranks, by binary search among the level's
values; a predicate of another form, as LIKE, a mask over codes. OR over several hierarchies has
such predicates in its branches, of which each is a bit. What the loop reads of a BVH for some keys
is made once.
"""

from __future__ import annotations

from dataclasses import field
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from raydb.kernels.backends.backend import CodeMap
from raydb.kernels.backends.cpu.warm import frozen, star_loops
from raydb.planner.expressions.nodes import Attribute, Call, conjuncts
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

# Branches of OR over several hierarchies are the bits of a number.
MOST_BRANCHES = 62

# Of a comparison the ranks of so many values are kept.
MOST_RANGES = 64

# What a comparison with NULL lets pass: without a row it would not be asked.
_NO_RANKS = ((0, 0),)

# What `star_loops` says of a hierarchy, and of the whole.
_BY_CELL, _DROPS, _DONE = 1, 3, 0


@dataclass(frozen=True, eq=False, slots=True)
class Compared:
    """A comparison of a level with a constant.

    head: its predicate, its hierarchy, where its level's ranks begin, and the branch of OR that it
    is of, -1 without. known: the rows of some values.
    """

    head: tuple[int, int, int, int]
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
class Masked:
    """A predicate of another form over one hierarchy. branch: of OR, None for a condition alone."""

    predicate: Expression
    hierarchy: int
    branch: int | None


@dataclass(frozen=True, eq=False, slots=True)
class Conditions:
    """The predicates of a star: comparisons, those in branches of OR, and all other forms.

    ranks: int32, those of the levels that are compared. compared: those of branches first.
    branch_count: 0 without OR over several hierarchies.
    """

    ranks: NDArray[np.int32]
    compared: tuple[Compared, ...]
    masked: tuple[Masked, ...]
    branch_count: int

    def asked(
        self,
        keyed: KeyedBvh,
        value_of: Callable[[Literal], Literal],
        masks: Sequence[NDArray[np.bool_]],
    ) -> tuple[NDArray[Any], ...]:
        """Return what `KeyedBvh.find` asks of the loop.

        value_of: returns what stands in the place of a literal. masks: those of `masked`.
        """
        passing = keyed.every_code.copy()
        branches = passing[:0]
        if self.branch_count:
            branches = np.full(len(passing), (1 << self.branch_count) - 1, np.int64)
        for each, mask in zip(self.masked, masks, strict=True):
            codes = keyed.codes_of(each.hierarchy)
            if each.branch is None:
                passing[codes] &= mask
            else:
                branches[codes] &= np.where(mask, -1, ~(1 << each.branch))
        table: list[int] = []
        for one in self.compared:
            table += one.rows(value_of(one.literal))
        compared = np.array(table, np.int64).reshape(-1, 6)
        if len(branches):
            passing = np.concatenate([passing, branches])
        return self.ranks, compared, passing


class KeyedBvh:
    """A BVH as the loop reads it for some keys.

    tuples: those of keys, then those of values that are further keys, in the order of the parts of
    a group number. key_parts: how many are of keys. places: of each part what it is made of.
    every_code: 1 for each code of all hierarchies.
    """

    def __init__(
        self,
        index: Bvh,
        keys: Sequence[KeyTuples],
        values: Sequence[KeyTuples],
        places: Sequence[Sequence[int]],
    ) -> None:
        self.tuples, self.key_parts = (*keys, *values), len(keys)
        self._places = places
        hierarchies = index.hierarchies
        counts = (
            [each.code_count for each in hierarchies],
            [each.scan_count for each in hierarchies],
            [each.count for each in self.tuples],
        )
        # Where the codes and coordinates of each hierarchy and the tuples begin, and all end.
        firsts = [list(accumulate(each, initial=0)) for each in counts]
        pairs = zip(firsts[:2], counts[:2], strict=True)
        columns = [column for first, count in pairs for column in (first[:-1], count)]
        self._codes_of = firsts[0]
        self.every_code = np.ones(firsts[0][-1], np.int64)
        # Where in a job the parts of codes, those of coordinates and the chosen tuples begin.
        begin, starts = len(hierarchies) + len(self.tuples), []
        for first in firsts:
            starts.append([begin + place for place in first])
            begin = starts[-1][-1]
        self._codes, self._axes, self._chosen = starts
        codes = np.zeros((3, firsts[0][-1]), np.uint32)
        codes[0] = np.concatenate([each.scan_codes for each in hierarchies])
        parts = []
        for number, each in enumerate(self.tuples):
            row = 1 if number < len(keys) else 2
            codes[row, self.codes_of(each.hierarchy)] = each.codes
            parts.append((each.hierarchy, row, firsts[2][number], each.count))
        self._arrays = (
            np.array([*columns, index.strides], np.uint64).T.copy(),
            np.array(parts, np.uint64).reshape(-1, 4),
            codes,
        )
        none = np.empty(0, np.int64)
        self._cells = (
            frozen(none if index.cells is None else index.cells),
            frozen(index.offsets),
        )

    @property
    def size_bytes(self) -> int:
        """The bytes of its arrays."""
        arrays: list[Any] = [
            self.every_code,
            *self._arrays,
            *(each for some in self.tuples for each in some.values),
        ]
        return sum(int(array.nbytes) for array in arrays)

    def columns(self, keys: Items) -> tuple[tuple[Column, ...], ...]:
        """Return the columns of each part of a group number."""
        return tuple([tuple([keys[place][0] for place in some]) for some in self._places])

    def codes_of(self, hierarchy: int) -> slice:
        """Return where the codes of a hierarchy lie among those of all."""
        return slice(self._codes_of[hierarchy], self._codes_of[hierarchy + 1])

    def find(
        self,
        columns: Sequence[tuple[Column, ...]],
        asked: Sequence[NDArray[Any]],
    ) -> JobCells | None:
        """Return the cells and groups of a star; None where there are too many, or no loop yet.

        None, too, where rows of a cell differ in what OR over several hierarchies asks. asked: by
        `Conditions.asked`; the last is changed.
        """
        loops = star_loops()
        if loops is None:
            return None
        state, job, ranges, run_count, groups, rows, passing = loops.find_star_runs(
            *self._arrays, *asked, *self._cells
        )
        if state != _DONE:
            return None
        runs = ranges[: 3 * run_count].reshape(3, run_count)
        intervals = ranges[3 * run_count :].reshape(-1, 2)
        count = len(self._codes) - 1
        told = job[: count + len(self.tuples)].tolist()
        maps, made = self._maps(told, job), self._parts(columns, job, told[count:])
        keys, values = made[: self.key_parts], made[self.key_parts :]
        key_count = values[0].stride if values else groups
        return JobCells(
            intervals, maps, groups, rows, keys, key_count, values, runs=runs, passing=passing
        )

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
        places = zip(self._chosen, counts, columns, self.tuples, strict=False)
        for first, count, names, tuples in places:
            some = job[first : first + count]
            parts.append(GroupPart(names, tuples.values, stride, max(count, 1), some, tuples))
            stride *= parts[-1].count
        return tuple(parts)


def find_by_loop(star: Star, bvh: BvhInfo, values: Items = ()) -> JobCells | None:
    """Return the cells and groups of a star; None where the BVH does not encode it all.

    values: what is made a further key.
    """
    # For an image, which has no rows, what the loop reads takes longer to make than arrays do.
    if star_loops() is None or not bvh.index.row_count:
        return None
    keyed = keyed_bvh(star.keys, values, bvh)
    conditions = None if keyed is None else split_conditions(star.predicates, bvh)
    if keyed is None or conditions is None:
        return None
    masks = [predicate_mask(each.predicate, each.hierarchy, bvh) for each in conditions.masked]
    known = [mask for mask in masks if mask is not None]
    if len(known) < len(masks):
        return None
    columns = keyed.columns((*star.keys, *values))
    asked = conditions.asked(keyed, lambda literal: literal, known)
    return keyed.find(columns, asked)


# Of each attribute its hierarchy, the values of its level and the ranks of all codes among these.
_Level: TypeAlias = "tuple[int, Sequence[Any], NDArray[np.int32]]"


def split_conditions(predicates: Sequence[Expression], bvh: BvhInfo) -> Conditions | None:
    """Part predicates by what they become.

    None where one is not over one hierarchy, but for one with OR, whose branches are of such.
    """
    split = _Split(bvh)
    branch_count = 0
    for predicate in predicates:
        if split.add(predicate, None):
            continue
        match predicate:
            case Call(function="or", arguments=branches) if not branch_count:
                branch_count = len(branches)
            case _:
                return None
        parts = ((part, n) for n, branch in enumerate(branches) for part in conjuncts(branch))
        if branch_count > MOST_BRANCHES or not all(split.add(*each) for each in parts):
            return None
    return split.conditions(branch_count)


class _Split:
    """Predicates over one hierarchy each, as they are parted."""

    def __init__(self, bvh: BvhInfo) -> None:
        self._bvh = bvh
        self._known: dict[Attribute, _Level] = bvh.kept.setdefault("levels", {})
        self._ranks: list[NDArray[np.int32]] = [np.empty(0, np.int32)]
        self._rank_count = 0
        self._first_ranks: dict[int, int] = {}
        self._count = 0
        self._compared: list[Compared] = []
        self._branched: list[Compared] = []
        self._masked: list[Masked] = []

    def add(self, predicate: Expression, branch: int | None) -> bool:
        """Add a predicate, of a branch of OR or alone; say whether it is over one hierarchy."""
        number = hierarchy_of(predicate, self._bvh)
        if number is None:
            return False
        known = self._known
        found = comparisons(predicate) or ()
        levels = [known.get(each[1]) or _make_level(each[1], self._bvh, known) for each in found]
        if not found or len(found) > MOST_COMPARED or None in levels:
            self._masked.append(Masked(predicate, number, branch))
            return True
        into = self._compared if branch is None else self._branched
        for (function, _, literal), level in zip(found, levels, strict=True):
            assert level is not None
            _, values, ranks = level
            head = self._count, number, self._first_rank(ranks), -1 if branch is None else branch
            into.append(Compared(head, function, values, literal))
        self._count += 1
        return True

    def _first_rank(self, ranks: NDArray[np.int32]) -> int:
        """Return where the ranks of a level begin among all."""
        if id(ranks) not in self._first_ranks:
            self._first_ranks[id(ranks)] = self._rank_count
            self._rank_count += len(ranks)
            self._ranks.append(ranks)
        return self._first_ranks[id(ranks)]

    def conditions(self, branch_count: int) -> Conditions:
        """Return the predicates as they were parted."""
        compared = (*self._branched, *self._compared)
        return Conditions(np.concatenate(self._ranks), compared, tuple(self._masked), branch_count)


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


def keyed_bvh(
    keys: Items, values: Items, bvh: BvhInfo, most_codes: int = MAX_CODES
) -> KeyedBvh | None:
    """Return a BVH as the loop reads it for some keys; None where it does not encode one of them.

    values: further keys. None, too, where it has too many codes, none, or no rows. Keys and values
    that are attributes are kept.
    """
    asked = tuple([key for _, key in (*keys, *values) if isinstance(key, Attribute)])
    if len(asked) < len(keys) + len(values):
        return _make_keyed(keys, values, bvh, most_codes)
    known: dict[tuple[int, tuple[Attribute, ...]], KeyedBvh] = bvh.kept.setdefault("keyed", {})
    found = known.get((len(keys), asked))
    if found is None:
        found = _make_keyed(keys, values, bvh, most_codes)
        if len(known) >= MOST_KEYED:
            known.clear()
        if found is not None:
            known[len(keys), asked] = found
    return found


def _make_keyed(keys: Items, values: Items, bvh: BvhInfo, most_codes: int) -> KeyedBvh | None:
    index = bvh.index
    # An index whose cells are empty is a model of one; one without hierarchies has a single cell.
    if not index.offsets[-1] or not index.hierarchies:
        return None
    if sum(each.code_count for each in index.hierarchies) > most_codes:
        return None
    numbers = [hierarchy_of(each, bvh) for _, each in (*keys, *values)]
    if None in numbers:
        return None
    if index.placed is not None:
        index.placed.get()
    tuples = number_keys(keys, bvh), number_keys(values, bvh)
    if tuples[0] is None or tuples[1] is None:
        return None
    first, end = len(keys), len(numbers)
    places = [[n for n in range(first) if numbers[n] == each.hierarchy] for each in tuples[0]]
    places += [[n for n in range(first, end) if numbers[n] == each.hierarchy] for each in tuples[1]]
    return KeyedBvh(index, tuples[0], tuples[1], places)
