"""A star on a BVH that is known but for its constants: what these do not change is made once.

    prepared = prepare_star(star, literals, plan, catalog)
    filled = prepared.fill(literals)

The star has holes; the plan is that of some literals, and what is filled that of others, with its
runs. A predicate over the levels of one hierarchy becomes ranges of ranks, by binary search among
the level's values; one of another form, as LIKE, becomes a mask, which is kept. One compiled loop
makes groups, maps, intervals and runs of them. Where other literals may ask for another plan there
is none, and the query is planned from the beginning.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import field, fields, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from raydb.kernels.backends.backend import CodeMap, FusedJob
from raydb.kernels.backends.cpu.warm import frozen, star_loops
from raydb.planner.expressions.nodes import leaves, rewrite
from raydb.planner.expressions.slots import Slot, SlotLiteral
from raydb.planner.stars.allowed_codes import comparisons, rank_ranges, ranked_values, ranks_of
from raydb.planner.stars.choose import cost_limit
from raydb.planner.stars.costs import direct_cost
from raydb.planner.stars.fuse import hierarchy_of, number_tuples, predicate_mask, split_keys
from raydb.planner.stars.fused_scan import FusedScanAggregate, GroupPart
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from raydb.planner.catalog import BvhInfo, CatalogInfo
    from raydb.planner.expressions.nodes import Column, Expression, Literal
    from raydb.planner.plan.nodes import Star

    # The literals of holes.
    Literals: TypeAlias = Mapping[Slot, Sequence[Literal]]

# The fields of a plan that constants change.
_FILLED = frozenset({"job", "parts", "key_count", "estimated_rows"})

# A mask takes a byte for each code of a hierarchy.
MAX_MASKS = 64

# Over more codes than these, planning takes no longer than the pass over them.
MAX_CODES = 2**16

# What `star_loops` says of a hierarchy, and of the whole.
_BY_CELL, _DROPS, _DONE = 1, 3, 0


@dataclass(frozen=True, eq=False, slots=True)
class KeyTuples:
    """The keys of one hierarchy: `values` has for each of `columns` that of every key tuple.

    codes: int32, shape (code_count,): the tuple of each code.
    """

    hierarchy: int
    columns: tuple[Column, ...]
    values: tuple[pa.Array, ...]
    codes: NDArray[np.int32]

    @property
    def count(self) -> int:
        """The number of tuples."""
        return len(self.values[0])


@dataclass(frozen=True, eq=False, slots=True)
class FilledStar:
    """The job of a star with its constants.

    runs: int64, shape (3, run_count), some of whose rows may be deleted. chosen: of each of the
    plan's parts the key tuples that occur, in order.
    """

    plan: FusedScanAggregate
    runs: NDArray[np.int64]
    chosen: tuple[NDArray[np.int32], ...]


@dataclass(frozen=True, eq=False, slots=True)
class _Compared:
    """A comparison: `head` are its predicate, its hierarchy, and where its level's ranks begin."""

    head: tuple[int, int, int]
    function: str
    values: Sequence[Any]
    literal: Literal


@dataclass(frozen=True, eq=False, slots=True)
class _Masked:
    """A predicate that is evaluated for each code of its hierarchy; `masks` by its literals."""

    predicate: Expression
    hierarchy: int
    holes: tuple[SlotLiteral, ...]
    masks: OrderedDict[tuple[Any, ...], NDArray[np.bool_]] = field(default_factory=OrderedDict)

    def mask(self, literals: Literals, bvh: BvhInfo) -> NDArray[np.bool_] | None:
        """Return the codes that pass; None where a value raises an error."""
        key = tuple([literals[hole.slot][hole.place].value for hole in self.holes])
        known = self.masks.get(key)
        if known is None:
            known = predicate_mask(_filled(self.predicate, literals), self.hierarchy, bvh)
            if known is None:
                return None
            self.masks[key] = known
            if len(self.masks) > MAX_MASKS:
                self.masks.popitem(last=False)
        return known


@dataclass(frozen=True, eq=False, slots=True)
class _Predicates:
    """The predicates of a star: what passes those without holes, and the others.

    allowed: bool, over the codes of all hierarchies, one behind the other. ranks: int32, those of
    the levels that are compared.
    """

    allowed: NDArray[np.bool_]
    ranks: NDArray[np.int32]
    compared: tuple[_Compared, ...]
    masked: tuple[_Masked, ...]


class PreparedStar:
    """A star with holes on one BVH.

    keys: in the order of the parts of a group number. limit: what a job may cost.
    """

    def __init__(
        self,
        plan: FusedScanAggregate,
        bvh: BvhInfo,
        keys: tuple[KeyTuples, ...],
        predicates: _Predicates,
        limit: float,
    ) -> None:
        self.keys = keys
        self._accumulators = plan.job.accumulators
        self._fixed: dict[str, Any] = {
            each.name: getattr(plan, each.name) for each in fields(plan) if each.name not in _FILLED
        }
        self._fixed["star"] = None
        self._bvh = bvh
        self._predicates = predicates
        self._limit = limit
        index = bvh.index
        hierarchies = index.hierarchies
        tuple_counts = {key.hierarchy: key.count for key in keys}
        counts = (
            [each.code_count for each in hierarchies],
            [each.scan_count for each in hierarchies],
            [tuple_counts.get(number, 0) for number in range(len(hierarchies))],
        )
        # Where the codes, the coordinates and the tuples of each hierarchy begin, and all end.
        self._firsts = [list(accumulate(each, initial=0)) for each in counts]
        pairs = zip(self._firsts, counts, strict=True)
        columns = [column for first, count in pairs for column in (first[:-1], count)]
        tuples = {key.hierarchy: key.codes for key in keys}
        codes = [
            (each.scan_codes, tuples.get(number, np.zeros_like(each.scan_codes)))
            for number, each in enumerate(hierarchies)
        ]
        none = np.empty(0, np.int64)
        self._arrays = (
            np.array([*columns, index.strides], np.int64).T.copy(),
            np.array([key.hierarchy for key in keys], np.int64),
            np.stack([np.concatenate(each) for each in zip(*codes, strict=True)]),
            predicates.ranks,
        )
        self._cells = (
            frozen(none if index.cells is None else index.cells),
            frozen(index.offsets),
        )

    @property
    def size_bytes(self) -> int:
        """The bytes of its arrays, with all masks that it may keep."""
        masks = len(self._predicates.masked) * MAX_MASKS * len(self._predicates.allowed)
        arrays: list[Any] = [*self._arrays, *(each for key in self.keys for each in key.values)]
        return masks + sum(int(array.nbytes) for array in arrays)

    def fill(self, literals: Literals) -> FilledStar | None:
        """Return the job with these literals; None where it has to be planned."""
        loops = star_loops()
        allowed = self._allowed(literals)
        if loops is None or allowed is None:
            return None
        state, ways, parts, axis_parts, chosen, counts, runs, intervals, groups, rows = (
            loops.find_star_runs(*self._arrays, self._compared(literals), allowed, *self._cells)
        )
        if state != _DONE:
            return None
        tuples = self._tuples(chosen, counts.tolist())
        maps = self._maps(ways.tolist(), parts, axis_parts)
        job = FusedJob(intervals, maps, groups, self._accumulators)
        plan = FusedScanAggregate(
            **self._fixed,
            job=job,
            parts=self._parts(tuples),
            key_count=groups,
            estimated_rows=rows,
        )
        return FilledStar(plan, runs, tuples) if direct_cost(plan, rows) <= self._limit else None

    def _allowed(self, literals: Literals) -> NDArray[np.bool_] | None:
        """Return the codes that pass the predicates which are not compared."""
        allowed = self._predicates.allowed.copy()
        for each in self._predicates.masked:
            mask = each.mask(literals, self._bvh)
            if mask is None:
                return None
            first = self._firsts[0][each.hierarchy]
            allowed[first : first + len(mask)] &= mask
        return allowed

    def _compared(self, literals: Literals) -> NDArray[np.int64]:
        """Return the table of comparisons: predicate, hierarchy, ranks, first rank and end."""
        rows = []
        for each in self._predicates.compared:
            literal = each.literal
            if isinstance(literal, SlotLiteral):
                literal = literals[literal.slot][literal.place]
            for first, end in rank_ranges(each.function, each.values, literal):
                rows.append((*each.head, first, end))
        return np.array(rows, np.int64).reshape(-1, 5)

    def _tuples(
        self, chosen: NDArray[np.int32], counts: Sequence[int]
    ) -> tuple[NDArray[np.int32], ...]:
        """Return the tuples that occur of each key."""
        firsts = [self._firsts[2][key.hierarchy] for key in self.keys]
        return tuple(
            [
                chosen[first : first + counts[key.hierarchy]]
                for first, key in zip(firsts, self.keys, strict=True)
            ]
        )

    def _maps(
        self, ways: Sequence[int], parts: NDArray[np.int64], axis_parts: NDArray[np.int64]
    ) -> tuple[CodeMap, ...]:
        """Return what the job looks up, as `fuse` does."""
        codes, axes, _ = self._firsts
        maps = []
        for number, way in enumerate(ways):
            if way == _BY_CELL:
                groups = axis_parts[axes[number] : axes[number + 1]]
                maps.append(CodeMap(number, by_cell=True, groups=groups, filters=False))
            elif way:
                groups = parts[codes[number] : codes[number + 1]]
                maps.append(CodeMap(number, by_cell=False, groups=groups, filters=way == _DROPS))
        return tuple(maps)

    def _parts(self, chosen: Sequence[NDArray[np.int32]]) -> tuple[GroupPart, ...]:
        """Return what group numbers are made of, as `fuse` does."""
        parts, stride = [], 1
        for key, some in zip(self.keys, chosen, strict=True):
            count = max(len(some), 1)
            parts.append(GroupPart(key.columns, key.values, stride, count, some))
            stride *= parts[-1].count
        return tuple(parts)


def prepare_star(
    star: Star, literals: Literals, plan: FusedScanAggregate, catalog: CatalogInfo
) -> PreparedStar | None:
    """Prepare a star whose predicates have holes, and whose plan with some literals is known.

    None where more than literals may differ from plan to plan, and where another backend than the
    CPU's may run it.
    """
    bvh = catalog.bvhs[plan.bvh]
    if not _is_plain(plan):
        return None
    predicates = _split(star.predicates, bvh)
    keys = _key_tuples(star, bvh)
    if predicates is None or keys is None:
        return None
    filled = replace(star, predicates=filled_predicates(star, literals))
    return PreparedStar(plan, bvh, keys, predicates, cost_limit(filled, plan, catalog))


def _is_plain(plan: FusedScanAggregate) -> bool:
    """Whether a plan is one launch on the CPU over the rows of a BVH, and nothing else."""
    return (
        plan.is_direct
        and plan.backends == ("cpu",)
        and plan.index.sieve is None
        and plan.index.row_count > 0
        and sum(each.code_count for each in plan.index.hierarchies) <= MAX_CODES
        and not plan.value_parts
    )


def filled_predicates(star: Star, literals: Literals) -> tuple[Expression, ...]:
    """Return the predicates of a star with the literals of its holes."""
    return tuple([_filled(each, literals) for each in star.predicates])


def has_holes(expressions: Iterable[Expression]) -> bool:
    """Whether any of the expressions has a literal that is open."""
    return any(isinstance(leaf, SlotLiteral) for each in expressions for leaf in leaves(each))


def _filled(expression: Expression, literals: Literals) -> Expression:
    def fill(part: Expression) -> Expression:
        return literals[part.slot][part.place] if isinstance(part, SlotLiteral) else part

    return rewrite(expression, fill)


def _split(predicates: Sequence[Expression], bvh: BvhInfo) -> _Predicates | None:
    """Part the predicates by what they become; None where one is not over one hierarchy."""
    hierarchies = bvh.index.hierarchies
    allowed = [np.ones(each.code_count, np.bool_) for each in hierarchies]
    ranks: list[NDArray[np.int32]] = []
    first_ranks: dict[tuple[int, int], int] = {}
    compared: list[_Compared] = []
    masked: list[_Masked] = []
    for place, predicate in enumerate(predicates):
        number = hierarchy_of(predicate, bvh)
        if number is None:
            return None
        if not has_holes([predicate]):
            mask = predicate_mask(predicate, number, bvh)
            if mask is None:
                return None
            allowed[number] &= mask
            continue
        found = comparisons(predicate)
        levels = [] if found is None else [bvh.levels[each[1]] for each in found]
        values = [ranked_values(hierarchies[number], level) for _, level in levels]
        if found is None or None in values:
            holes = [each for each in leaves(predicate) if isinstance(each, SlotLiteral)]
            masked.append(_Masked(predicate, number, tuple(holes)))
            continue
        for (function, _, literal), level, some in zip(found, levels, values, strict=True):
            if level not in first_ranks:
                first_ranks[level] = sum(map(len, ranks))
                ranks.append(ranks_of(hierarchies[number], level[1]))
            assert some is not None
            head = (place, number, first_ranks[level])
            compared.append(_Compared(head, function, some, literal))
    none = np.empty(0, np.int32)
    return _Predicates(
        np.concatenate(allowed), np.concatenate([none, *ranks]), tuple(compared), tuple(masked)
    )


def _key_tuples(star: Star, bvh: BvhInfo) -> tuple[KeyTuples, ...] | None:
    """Return the key tuples of all codes; None where a key is not encoded."""
    keys_of, residual = split_keys(star.keys, bvh)
    if residual:
        return None
    found = []
    for number, keys in keys_of.items():
        hierarchy = bvh.index.hierarchies[number]
        every = np.arange(hierarchy.code_count)
        # All tuples are numbered, for every code is there.
        codes, values, _ = number_tuples([each for _, each in keys], every, hierarchy)
        columns = tuple(column for column, _ in keys)
        found.append(KeyTuples(number, columns, values, codes.astype(np.int32, copy=False)))
    return tuple(found)
