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
from itertools import compress
from typing import TYPE_CHECKING, Any, TypeAlias

from raydb.kernels.backends.backend import FusedJob
from raydb.planner.expressions.nodes import Call, Lambda, leaves, rewrite
from raydb.planner.expressions.slots import Slot, SlotLiteral
from raydb.planner.stars.choose import cost_limit
from raydb.planner.stars.codes.by_loop import MAX_CODES, keyed_bvh, split_conditions
from raydb.planner.stars.codes.encoded import is_lacking, predicate_mask
from raydb.planner.stars.costs import direct_cost
from raydb.planner.stars.fused_scan import DENSE_GROUPS, FusedScanAggregate, JobCells
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from raydb.planner.catalog import BvhInfo, CatalogInfo
    from raydb.planner.expressions.nodes import Column, Expression, Literal
    from raydb.planner.plan.nodes import Star
    from raydb.planner.plan.nodes.node import Items
    from raydb.planner.stars.codes.by_loop import Conditions, KeyedBvh
    from raydb.planner.stars.codes.encoded import KeyTuples

    # The literals of holes.
    Literals: TypeAlias = Mapping[Slot, Sequence[Literal]]

# The fields of a plan that constants change.
_FILLED = frozenset(
    {"job", "parts", "value_parts", "key_count", "estimated_rows", "runs", "passing"}
)

# A mask takes a byte for each code of a hierarchy.
MAX_MASKS = 64


@dataclass(frozen=True, eq=False, slots=True)
class Masked:
    """A predicate that is evaluated for each code of its hierarchy; `masks` by its literals."""

    predicate: Expression
    hierarchy: int
    holes: tuple[SlotLiteral, ...]
    masks: OrderedDict[tuple[Literal, ...], NDArray[np.bool_]] = field(default_factory=OrderedDict)

    @staticmethod
    def of(predicate: Expression, hierarchy: int) -> Masked:
        """Return a predicate whose masks are kept from now on."""
        return Masked(predicate, hierarchy, tuple(holes_in([predicate])))

    def mask(self, literals: Literals, bvh: BvhInfo) -> NDArray[np.bool_] | None:
        """Return the codes that pass; None where a value raises an error."""
        key = tuple([literals[hole.slot][hole.place] for hole in self.holes])
        known = self.masks.get(key)
        if known is None:
            known = predicate_mask(filled(self.predicate, literals), self.hierarchy, bvh)
            if known is None:
                return None
            self.masks[key] = known
            if len(self.masks) > MAX_MASKS:
                self.masks.popitem(last=False)
        return known


class _Limit:
    """What the job of a star on its BVH may cost. plan: that with some literals."""

    def __init__(self, plan: FusedScanAggregate, most: float) -> None:
        index = plan.index
        self._most = most
        self._code_bytes = dict(
            zip(index.stored, [each.itemsize for each in index.codes], strict=True)
        )
        by_row = [each.hierarchy for each in plan.job.maps if not each.by_cell]
        self._measure_bytes = plan.row_bytes - sum([self._code_bytes[each] for each in by_row])

    def allows(self, cells: JobCells) -> bool:
        """Tell whether the job over some cells costs no more."""
        read = [self._code_bytes[each.hierarchy] for each in cells.maps if not each.by_cell]
        row_bytes = self._measure_bytes + sum(read)
        return direct_cost(cells.row_count, row_bytes, len(read), cells.group_count) <= self._most


class PreparedStar:
    """A star with holes on one BVH.

    plan: with some literals. items: the keys, and the values that are further keys. limit: what a
    job may cost, None for any.
    """

    def __init__(
        self,
        items: Items,
        plan: FusedScanAggregate,
        bvh: BvhInfo,
        keyed: KeyedBvh,
        conditions: Conditions,
        limit: _Limit | None,
    ) -> None:
        self._accumulators = plan.job.accumulators
        self._fixed: dict[str, Any] = {
            each.name: getattr(plan, each.name) for each in fields(plan) if each.name not in _FILLED
        }
        self._fixed["star"] = None
        self._bvh = bvh
        self._keyed = keyed
        self._columns = keyed.columns(items)
        self._conditions = conditions
        self._masked = [Masked.of(each.predicate, each.hierarchy) for each in conditions.masked]
        self._limit = limit

    @property
    def size_bytes(self) -> int:
        """The bytes of its arrays, with all masks that it may keep."""
        masks = len(self._masked) * MAX_MASKS * len(self._keyed.every_code)
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
        masks = []
        for each in self._masked:
            mask = each.mask(literals, self._bvh)
            if mask is None:
                return None
            masks.append(mask)
        asked = self._conditions.asked(
            self._keyed,
            lambda each: literals[each.slot][each.place] if isinstance(each, SlotLiteral) else each,
            masks,
        )
        found = self._keyed.find(self._columns, asked)
        if found is None or (self._limit is not None and not self._limit.allows(found)):
            return None
        return found

    def plan(self, cells: JobCells) -> FusedScanAggregate:
        """Return the job over some cells."""
        return FusedScanAggregate(
            **self._fixed,
            job=FusedJob(cells.intervals, cells.maps, cells.group_count, self._accumulators),
            parts=cells.parts,
            value_parts=cells.value_parts,
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
    if not plan.is_direct or not _is_alone(plan):
        return None
    asked = replace(star, predicates=filled_predicates(star, literals))
    return prepare_on(star, plan, bvh, lambda: cost_limit(asked, plan, catalog))


def prepare_fetching(
    star: Star, literals: Literals, plan: FusedScanAggregate, catalog: CatalogInfo
) -> tuple[PreparedStar, tuple[Expression, ...]] | None:
    """Prepare what a BVH encodes of a star whose other predicates are fetched; return these, too.

    The arguments are those of `prepare_star`. None where keys are fetched as well, or a predicate
    that may be encoded with other literals.
    """
    bvh = catalog.bvhs[plan.bvh]
    is_whole = not (plan.value_parts or plan.residual_keys or plan.newer)
    if not is_whole or not _is_alone(plan) or plan.job.group_count > DENSE_GROUPS:
        return None
    fetched = [filled(each, literals) in plan.residual_predicates for each in star.predicates]
    residual = tuple(compress(star.predicates, fetched))
    if not all(is_lacking(each, bvh) for each in residual):
        return None
    encoded = tuple([each for each in star.predicates if each not in residual])
    prepared = prepare_on(replace(star, predicates=encoded), plan, bvh, None)
    return None if prepared is None else (prepared, residual)


def prepare_on(
    star: Star,
    plan: FusedScanAggregate,
    bvh: BvhInfo,
    limit: Callable[[], float] | None,
    most_codes: int = MAX_CODES,
) -> PreparedStar | None:
    """Prepare a star on a BVH that answers it alone; None where the loop does not find its cells.

    limit: tells what a job may cost; None for any.
    """
    answered = {column for part in plan.value_parts for column in part.columns}
    values = tuple([(c, call.arguments[0]) for c, call in star.aggregates if c in answered])
    keyed = keyed_bvh(star.keys, values, bvh, most_codes)
    conditions = None if keyed is None else split_conditions(star.predicates, bvh)
    if keyed is None or conditions is None:
        return None
    most = None if limit is None else _Limit(plan, limit())
    return PreparedStar((*star.keys, *values), plan, bvh, keyed, conditions, most)


def _is_alone(plan: FusedScanAggregate) -> bool:
    """Whether no other backend than the CPU's may run a plan, and its rows are not sieved."""
    return plan.backends == ("cpu",) and plan.index.sieve is None


def filled_predicates(star: Star, literals: Literals) -> tuple[Expression, ...]:
    """Return the predicates of a star with the literals of its holes."""
    return tuple([filled(each, literals) for each in star.predicates])


def holes_in(expressions: Iterable[Expression]) -> list[SlotLiteral]:
    """Return the literals in some expressions that are open."""
    found = [leaf for each in expressions for leaf in leaves(each)]
    return [leaf for leaf in found if isinstance(leaf, SlotLiteral)]


def has_open_lambda(expression: Expression) -> bool:
    """Tell whether a function of lists has a literal that is open, which nothing here fills."""
    if isinstance(expression, Lambda):
        return bool(holes_in([expression.body])) or has_open_lambda(expression.body)
    return isinstance(expression, Call) and any(map(has_open_lambda, expression.arguments))


def filled(expression: Expression, literals: Literals) -> Expression:
    """Return an expression with the literals of its holes."""

    def fill(part: Expression) -> Expression:
        return literals[part.slot][part.place] if isinstance(part, SlotLiteral) else part

    return rewrite(expression, fill)
