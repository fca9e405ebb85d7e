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
from dataclasses import field, fields
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from raydb.kernels.backends.backend import FusedJob
from raydb.planner.expressions.nodes import leaves, rewrite
from raydb.planner.expressions.slots import Slot, SlotLiteral
from raydb.planner.stars.choose import cost_limit
from raydb.planner.stars.codes.by_loop import keyed_bvh, split_conditions
from raydb.planner.stars.codes.encoded import predicate_mask
from raydb.planner.stars.costs import direct_cost
from raydb.planner.stars.fused_scan import FusedScanAggregate, JobCells
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.planner.catalog import BvhInfo, CatalogInfo
    from raydb.planner.expressions.nodes import Column, Expression, Literal
    from raydb.planner.plan.nodes import Star
    from raydb.planner.stars.codes.by_loop import Conditions, KeyedBvh
    from raydb.planner.stars.codes.encoded import KeyTuples

    # The literals of holes.
    Literals: TypeAlias = Mapping[Slot, Sequence[Literal]]

# The fields of a plan that constants change.
_FILLED = frozenset({"job", "parts", "key_count", "estimated_rows", "runs", "passing"})

# A mask takes a byte for each code of a hierarchy.
MAX_MASKS = 64


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


class PreparedStar:
    """A star with holes on one BVH. plan: with some literals. limit: what a job may cost."""

    def __init__(
        self,
        star: Star,
        plan: FusedScanAggregate,
        bvh: BvhInfo,
        keyed: KeyedBvh,
        conditions: Conditions,
        limit: float,
    ) -> None:
        self._accumulators = plan.job.accumulators
        index = plan.index
        self._code_bytes = dict(
            zip(index.stored, [each.itemsize for each in index.codes], strict=True)
        )
        by_row = [each.hierarchy for each in plan.job.maps if not each.by_cell]
        self._measure_bytes = plan.row_bytes - sum([self._code_bytes[each] for each in by_row])
        self._fixed: dict[str, Any] = {
            each.name: getattr(plan, each.name) for each in fields(plan) if each.name not in _FILLED
        }
        self._fixed["star"] = None
        self._bvh = bvh
        self._keyed = keyed
        self._every_code = np.ones(keyed.code_count, np.bool_)
        self._columns = keyed.columns(star.keys)
        self._conditions = conditions
        self._masked = [_masked(*each) for each in conditions.others]
        self._limit = limit

    @property
    def size_bytes(self) -> int:
        """The bytes of its arrays, with all masks that it may keep."""
        masks = len(self._masked) * MAX_MASKS * self._keyed.code_count
        return masks + self._conditions.ranks.nbytes + self._keyed.size_bytes

    @property
    def value_count(self) -> int:
        """How many values the key tuples have."""
        return sum(len(values) for each in self._keyed.tuples for values in each.values)

    @property
    def key_parts(self) -> Iterator[tuple[tuple[Column, ...], KeyTuples]]:
        """The columns and the key tuples of each part of a group number."""
        return zip(self._columns, self._keyed.tuples, strict=True)

    def fill(self, literals: Literals) -> JobCells | None:
        """Return the cells of these literals with their runs; None where it is to be planned."""
        allowed = self._every_code.copy()
        for each in self._masked:
            mask = each.mask(literals, self._bvh)
            if mask is None:
                return None
            allowed[self._keyed.codes_of(each.hierarchy)] &= mask

        compared = self._conditions.table(
            lambda each: literals[each.slot][each.place] if isinstance(each, SlotLiteral) else each
        )
        found = self._keyed.find(self._columns, self._conditions.ranks, compared, allowed)
        if found is None:
            return None
        read = [self._code_bytes[each.hierarchy] for each in found.maps if not each.by_cell]
        row_bytes = self._measure_bytes + sum(read)
        cost = direct_cost(found.row_count, row_bytes, len(read), found.group_count)
        return found if cost <= self._limit else None

    def plan(self, cells: JobCells) -> FusedScanAggregate:
        """Return the job over some cells."""
        return FusedScanAggregate(
            **self._fixed,
            job=FusedJob(cells.intervals, cells.maps, cells.group_count, self._accumulators),
            parts=cells.parts,
            key_count=cells.key_count,
            estimated_rows=cells.row_count,
            runs=cells.runs,
            passing=cells.passing,
        )


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
    keyed, conditions = keyed_bvh(star.keys, bvh), split_conditions(star.predicates, bvh)
    if keyed is None or conditions is None:
        return None
    filled = replace(star, predicates=filled_predicates(star, literals))
    return PreparedStar(star, plan, bvh, keyed, conditions, cost_limit(filled, plan, catalog))


def _is_plain(plan: FusedScanAggregate) -> bool:
    """Whether a plan is one launch on the CPU over the rows of a BVH, and nothing else."""
    return (
        plan.is_direct
        and plan.backends == ("cpu",)
        and plan.index.sieve is None
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


def _masked(predicate: Expression, hierarchy: int) -> _Masked:
    holes = [each for each in leaves(predicate) if isinstance(each, SlotLiteral)]
    return _Masked(predicate, hierarchy, tuple(holes))
