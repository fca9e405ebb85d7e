"""The fused path: Scan, GroupBy and Aggregate of a star as one job on one BVH.

RayDB, sections 3.1 and 4. Every predicate and key whose attributes are encoded in one hierarchy is
evaluated over that hierarchy's dictionary, once for each value, whatever the expression is:

    predicate  ->  codes that pass  ->  cell intervals
    group key  ->  group number of each code, counted within the allowed codes only
    COUNT(DISTINCT x), MIN(x), SUM(x)  ->  x is a further group key, over which groups are folded

Where the BVH encodes all of that, one compiled loop does it (`codes/by_loop.py`). What it does not
encode is fetched by row id (section 4.5): residual predicates, keys and measures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.kernels.backends.aggregates import AGGREGATES
from raydb.kernels.backends.backend import Accumulator, FusedJob
from raydb.late import pc
from raydb.planner.expressions.nodes import (
    AggregateCall,
    Attribute,
    Column,
    Expression,
    attributes_of,
    expressions_of,
)
from raydb.planner.stars.answers import BY_ORDER, is_accumulated, needs_values
from raydb.planner.stars.codes.by_arrays import find_by_arrays
from raydb.planner.stars.codes.by_loop import find_by_loop
from raydb.planner.stars.codes.encoded import has_codes, hierarchy_of, split_keys
from raydb.planner.stars.fused_scan import SCAN_WEIGHT, Coverage, FusedScanAggregate
from raydb.planner.stars.sieve import use_sieve
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    import pyarrow as pa

    from raydb.kernels.bvh.bvh import Measure
    from raydb.planner.catalog import BvhInfo
    from raydb.planner.plan.nodes import Star
    from raydb.planner.plan.nodes.node import Calls, Items

# An encoded attribute of more values is not made a group key to be counted or added up.
VALUE_LIMIT = 1024

# Nor one of more, of which a quantile is asked.
ORDERED_LIMIT = 2**14


def fuse(
    star: Star, bvh: BvhInfo, backends: tuple[str, ...], backend_reason: str
) -> FusedScanAggregate | str:
    """Plan a star on one BVH, or say why that can't be."""
    if bvh.obstacle is not None:
        return f"BVH '{bvh.definition.name}' serves no query: {bvh.obstacle}"
    if not all(has_codes(key.type) for _, key in star.keys):
        return "a group key is an INTERVAL or of a nested type, whose values have no codes"
    values, accumulated, gathered = _split_aggregates(star, bvh)
    # The loop takes a tenth of the time.
    found = find_by_loop(star, bvh, values) or find_by_arrays(star, bvh, values)
    if found.group_count >= 2**62:
        return "the group keys have more than 2**62 combinations"
    held = {expression: i for i, expression in enumerate(bvh.definition.aggregate)}
    calls = [call for _, call in accumulated]
    measures = tuple(dict.fromkeys(argument for call in calls for argument in call.arguments))
    measure_positions = tuple(held.get(measure) for measure in measures)
    encoded_count = sum(len(part.columns) for part in found.parts + found.value_parts)
    running = _running(calls, measures)
    accumulators = (
        Accumulator(run.function, position)
        for run in running
        if (position := measure_positions[run.measure]) is not None
    )
    plan = FusedScanAggregate(
        table=star.fact,
        bvh=bvh.definition.name,
        index=bvh.index,
        backends=backends,
        backend_reason=backend_reason,
        choice_reason="",
        coverage=_coverage(star, bvh, measure_positions, encoded_count, len(found.residual_keys)),
        gathered=tuple(gathered),
        keys=star.keys,
        aggregates=star.aggregates,
        job=FusedJob(found.intervals, found.maps, found.group_count, tuple(accumulators)),
        parts=found.parts,
        value_parts=found.value_parts,
        key_count=found.key_count,
        measures=measures,
        measure_positions=measure_positions,
        running=running,
        residual_predicates=found.residual_predicates,
        residual_keys=found.residual_keys,
        estimated_rows=found.row_count,
        runs=found.runs,
        passing=found.passing,
        newer=bvh.newer,
        star=star,
    )
    return use_sieve(plan, bvh)


def _split_aggregates(star: Star, bvh: BvhInfo) -> tuple[Items, Calls, Calls]:
    """Part the aggregates by the way in which they are answered, see `answers`.

    Returns the values that answer some, with the columns of these; then those that are accumulated,
    and those that are gathered. Beside these nothing is answered by values, for then the groups are
    those of the query.
    """
    held = encoded_by(bvh).held
    values, rest = _split_values(star, bvh, held)
    accumulated, gathered = _split_accumulated(rest, held)
    if gathered and values:
        values = ()
        accumulated, gathered = _split_accumulated(star.aggregates, held)
    return values, accumulated, gathered


def _split_accumulated(
    calls: Iterable[tuple[Column, AggregateCall]], held: Mapping[Expression, Measure]
) -> tuple[Calls, Calls]:
    """Part the aggregates that a kernel accumulates from all others."""
    accumulated: list[tuple[Column, AggregateCall]] = []
    gathered: list[tuple[Column, AggregateCall]] = []
    for each in calls:
        (accumulated if is_accumulated(each[1], held) else gathered).append(each)
    return tuple(accumulated), tuple(gathered)


def _split_values(star: Star, bvh: BvhInfo, held: Collection[Expression]) -> tuple[Items, Calls]:
    """Part the aggregates that the values of encoded attributes answer from all others."""
    asked = [
        (column, call.arguments[0]) for column, call in star.aggregates if needs_values(call, held)
    ]
    if not asked:
        return (), star.aggregates
    values_of, _ = split_keys(asked, bvh)
    calls = dict(star.aggregates)
    answered = {
        column
        for listed in values_of.values()
        for column, values in listed
        if _is_worthwhile(calls[column], values)
    }
    rest = tuple([each for each in star.aggregates if each[0] not in answered])
    return tuple([item for item in asked if item[0] in answered]), rest


def _is_worthwhile(call: AggregateCall, values: pa.Array) -> bool:
    """Whether values are better made a group key than added up row by row."""
    if call.distinct or call.function in ("min", "max"):
        return True
    if call.function in BY_ORDER:
        return len(values) <= ORDERED_LIMIT
    return int(pc.count_distinct(values, mode="all").as_py()) <= VALUE_LIMIT


def _running(
    calls: Sequence[AggregateCall], measures: tuple[Expression, ...]
) -> tuple[Accumulator, ...]:
    """Return what to accumulate: each measure's count, and the functions over it, once each."""
    running = {Accumulator("count", position): None for position in range(len(measures))}
    for call in calls:
        for function in AGGREGATES[call.function]:
            running[Accumulator(function, measures.index(call.arguments[0]))] = None
    return tuple(running)


def _coverage(
    star: Star,
    bvh: BvhInfo,
    positions: tuple[int | None, ...],
    encoded_count: int,
    residual_key_count: int,
) -> Coverage:
    """Count the query's attributes in X, Y and Z; `encoded_count` keys and values are in Y."""
    scanned = star.scanned
    return Coverage(
        aggregate=len(positions) - positions.count(None),
        aggregate_total=len(positions),
        group_by=encoded_count,
        group_by_total=encoded_count + residual_key_count,
        scan=len(scanned & encoded_by(bvh).scanned),
        scan_total=len(scanned),
    )


@dataclass(frozen=True, eq=False, slots=True)
class Lacking:
    """What a job would fetch for certain, as a BVH does not encode it; nothing is evaluated for it.

    predicates: those that it encodes. held: how many measures it has.
    """

    predicates: tuple[Expression, ...]
    residual_predicates: tuple[Expression, ...]
    residual_keys: Items
    measures: tuple[Expression, ...]
    held: int
    gathered: Calls

    @property
    def fetched(self) -> list[Expression]:
        """All of it, as `FusedScanAggregate.fetched`."""
        keys = (key for _, key in self.residual_keys)
        read = dict.fromkeys(each for _, call in self.gathered for each in expressions_of(call))
        rest = (each for each in read if attributes_of(each))
        return [*self.residual_predicates, *keys, *self.measures, *rest]


def lacking(star: Star, bvh: BvhInfo) -> Lacking:
    """Return what a BVH does not encode of a star."""
    levels = bvh.levels.keys()
    held = encoded_by(bvh).held
    measures: dict[Expression, None] = {}
    gathered = []
    for column, call in star.aggregates:
        if needs_values(call, held) and hierarchy_of(call.arguments[0], bvh) is not None:
            continue
        if is_accumulated(call, held):
            measures |= dict.fromkeys(call.arguments)
        else:
            gathered.append((column, call))
    fetched = tuple([measure for measure in measures if measure not in held])
    # OR over several hierarchies may be boxes of them.
    encoded, residual = star.predicates, []
    if not star.scanned <= levels:
        encoded = tuple([each for each in star.predicates if attributes_of(each) <= levels])
        residual = [each for each in star.predicates if not attributes_of(each) <= levels]
    return Lacking(
        encoded,
        tuple(residual),
        tuple([(c, key) for c, key in star.keys if hierarchy_of(key, bvh) is None]),
        fetched,
        len(measures) - len(fetched),
        tuple(gathered),
    )


@dataclass(frozen=True, eq=False, slots=True)
class Encoded:
    """What of a BVH tells how much of a star it covers: the measures in X, the attributes in Z.

    held: the measures by what they are of.
    """

    measures: frozenset[Expression]
    scanned: frozenset[Attribute]
    held: Mapping[Expression, Measure]


def encoded_by(bvh: BvhInfo) -> Encoded:
    """Return what a BVH covers, which is made once."""
    known: Encoded | None = bvh.kept.get("encoded")
    if known is None:
        is_scanned = [hierarchy.scan_count > 1 for hierarchy in bvh.index.hierarchies]
        scanned = frozenset(each for each, (number, _) in bvh.levels.items() if is_scanned[number])
        held = dict(zip(bvh.definition.aggregate, bvh.index.measures, strict=True))
        known = bvh.kept["encoded"] = Encoded(frozenset(held), scanned, held)
    return known


def highest_scores(star: Star, bvhs: Iterable[BvhInfo]) -> list[int]:
    """Return the score that a fused job on each BVH has at most; nothing is evaluated for it."""
    calls = [call for _, call in star.aggregates]
    arguments = {argument for call in calls for argument in call.arguments}
    keys = [key for _, key in star.keys]
    scores = []
    for bvh in bvhs:
        held, levels = encoded_by(bvh), bvh.levels
        encoded = [*keys]
        encoded += [call.arguments[0] for call in calls if needs_values(call, held.measures)]
        group_by = [  # most keys are attributes
            each in levels if type(each) is Attribute else hierarchy_of(each, bvh) is not None
            for each in encoded
        ]
        in_scan = len(star.scanned & held.scanned)
        scores.append(len(arguments & held.measures) + sum(group_by) + SCAN_WEIGHT * in_scan)
    return scores
