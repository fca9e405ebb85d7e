"""The fused path: Scan, GroupBy and Aggregate of a star as one job on one BVH.

RayDB, sections 3.1 and 4. Every predicate and key whose attributes are encoded in one hierarchy is
evaluated over that hierarchy's dictionary, once for each value, whatever the expression is:

    predicate  ->  mask over codes  ->  coordinates on Z  ->  cell intervals
    group key  ->  group number of each code, counted within the allowed codes only
    COUNT(DISTINCT x), MIN(x), SUM(x)  ->  x is a further group key, over which groups are folded

What the BVH does not encode is fetched by row id (section 4.5): residual predicates,
keys and measures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from raydb.errors import DataError
from raydb.kernels.backends.aggregates import AGGREGATES
from raydb.kernels.backends.backend import Accumulator, CodeMap, FusedJob
from raydb.kernels.bvh.encode import EncodedColumn, Hierarchy, encode_column, join_codes
from raydb.kernels.bvh.intervals import INTERVAL_LIMIT, cell_intervals
from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.nodes import (
    AggregateCall,
    Attribute,
    Column,
    Expression,
    attributes_of,
)
from raydb.planner.stars.allowed_codes import allowed_codes, encoded_level
from raydb.planner.stars.answers import BY_ORDER, is_accumulated, needs_values
from raydb.planner.stars.boxes import joint_intervals, narrow_boxes
from raydb.planner.stars.fused_scan import SCAN_WEIGHT, Coverage, FusedScanAggregate, GroupPart
from raydb.planner.stars.sieve import use_sieve

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from raydb.planner.catalog import BvhInfo
    from raydb.planner.plan.nodes import Star
    from raydb.planner.plan.nodes.node import Calls
    from raydb.planner.stars.boxes import Box

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
    if not all(_has_codes(key.type) for _, key in star.keys):
        return "a group key is an INTERVAL or of a nested type, whose values have no codes"
    masks, residual_predicates = _mask_hierarchies(star, bvh)
    boxes, residual_predicates = _split_boxes(masks, residual_predicates, bvh)
    keys_of, residual_keys = split_keys(star.keys, bvh)
    held = {expression: i for i, expression in enumerate(bvh.definition.aggregate)}
    values_of, accumulated, gathered = _split_aggregates(star, bvh)
    calls = [call for _, call in accumulated]
    measures = tuple(dict.fromkeys(argument for call in calls for argument in call.arguments))
    hierarchies = bvh.index.hierarchies
    parts, group_maps, key_count = _number_groups(keys_of, masks, hierarchies, 1)
    value_parts, value_maps, group_count = _number_groups(values_of, masks, hierarchies, key_count)
    if group_count >= 2**62:
        return "the group keys have more than 2**62 combinations"
    for number, groups in value_maps.items():
        known = group_maps.get(number, np.zeros_like(groups))
        group_maps[number] = np.where(groups < 0, groups, known + groups)
    coordinates = _coordinates(np.logical_or, masks, bvh)
    intervals, applied = cell_intervals(coordinates) if boxes is None else (boxes, len(hierarchies))
    maps = tuple(
        code_map
        for number, hierarchy in enumerate(hierarchies)
        if (
            code_map := _code_map(
                number, hierarchy, masks[number], group_maps.get(number), number < applied
            )
        )
        is not None
    )
    measure_positions = tuple(held.get(measure) for measure in measures)
    encoded_count = sum(len(part.columns) for part in parts + value_parts)
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
        coverage=_coverage(star, bvh, measure_positions, encoded_count, len(residual_keys)),
        gathered=tuple(gathered),
        keys=star.keys,
        aggregates=star.aggregates,
        job=FusedJob(intervals, maps, group_count, tuple(accumulators)),
        parts=parts,
        value_parts=value_parts,
        key_count=key_count,
        measures=measures,
        measure_positions=measure_positions,
        running=running,
        residual_predicates=residual_predicates,
        residual_keys=residual_keys,
        estimated_rows=bvh.index.count_rows(intervals),
        newer=bvh.newer,
        star=star,
    )
    return use_sieve(plan, bvh)


def hierarchy_of(expression: Expression, bvh: BvhInfo) -> int | None:
    """Return the one hierarchy that encodes all attributes of an expression."""
    if isinstance(expression, Attribute):
        known = bvh.levels.get(expression)
        return None if known is None else known[0]
    places = {bvh.levels.get(attribute) for attribute in attributes_of(expression)}
    numbers = {None if place is None else place[0] for place in places}
    return numbers.pop() if len(numbers) == 1 else None


def _evaluate_codes(expression: Expression, number: int, bvh: BvhInfo) -> pa.Array | None:
    """Evaluate an expression for every code of a hierarchy; None where a value raises an error.

    The dictionary may hold values that no row of the query has: 1 / d_x is then left to the rows.
    """
    hierarchy = bvh.index.hierarchies[number]
    inputs: dict[Expression, pa.Array] = {
        attribute: hierarchy.levels[bvh.levels[attribute][1]]
        for attribute in attributes_of(expression)
    }
    try:
        return evaluate(expression, inputs, hierarchy.code_count)
    except DataError:
        return None


def _mask_hierarchies(
    star: Star, bvh: BvhInfo
) -> tuple[list[NDArray[np.bool_]], tuple[Expression, ...]]:
    """Return the codes that the predicates allow in each hierarchy, and the predicates left."""
    masks = [np.ones(h.code_count, np.bool_) for h in bvh.index.hierarchies]
    residual = []
    for predicate in star.predicates:
        number = hierarchy_of(predicate, bvh)
        mask = None if number is None else predicate_mask(predicate, number, bvh)
        if number is None or mask is None:
            residual.append(predicate)
        else:
            masks[number] &= mask
    return masks, tuple(residual)


def _split_boxes(
    masks: list[NDArray[np.bool_]], predicates: tuple[Expression, ...], bvh: BvhInfo
) -> tuple[NDArray[np.int64] | None, tuple[Expression, ...]]:
    """Return the cells of predicates that are boxes together, and the predicates left.

    The cells are None where no predicate is such; `masks` allow the codes of some box afterwards.
    """

    def mask_of(predicate: Expression) -> tuple[int, NDArray[np.bool_]] | None:
        number = hierarchy_of(predicate, bvh)
        mask = None if number is None else predicate_mask(predicate, number, bvh)
        return None if number is None or mask is None else (number, mask)

    boxes: list[Box] = [tuple(np.ones_like(mask) for mask in masks)]
    left = []
    for predicate in predicates:
        narrowed = narrow_boxes(boxes, predicate, mask_of)
        if narrowed is None:
            left.append(predicate)
        else:
            boxes = narrowed
    if len(left) == len(predicates):
        return None, predicates
    allowed = _coordinates(np.logical_or, masks, bvh)
    parts = []
    for box in boxes:
        least, most = (_coordinates(how, box, bvh) for how in (np.logical_and, np.logical_or))
        if not all(map(np.array_equal, least, most)):
            return None, predicates  # the rows of a cell differ in it
        intervals, applied = cell_intervals(list(map(np.logical_and, allowed, least)))
        parts.append(intervals)
        if applied < len(masks) or sum(map(len, parts)) > INTERVAL_LIMIT:
            return None, predicates
    for number in range(len(masks)):
        none = np.zeros_like(masks[number])
        masks[number] &= np.logical_or.reduce([none, *(box[number] for box in boxes)])
    return joint_intervals(parts), tuple(left)


def predicate_mask(predicate: Expression, number: int, bvh: BvhInfo) -> NDArray[np.bool_] | None:
    """Return the codes of a hierarchy that a predicate allows; None where a value is an error."""
    mask: NDArray[np.bool_] | None
    mask = allowed_codes(predicate, bvh.index.hierarchies[number], bvh.levels)
    if mask is not None:
        return mask
    values = _evaluate_codes(predicate, number, bvh)
    if values is None:
        return None
    # A comparison with NULL is NULL, which is not true.
    passed = pc.fill_null(values, fill_value=False) if values.null_count else values
    mask = passed.to_numpy(zero_copy_only=False)
    return mask


def split_keys(
    keys: Sequence[tuple[Column, Expression]], bvh: BvhInfo
) -> tuple[dict[int, list[tuple[Column, pa.Array]]], tuple[tuple[Column, Expression], ...]]:
    """Return the keys' values of each code by hierarchy, and the keys that none encodes."""
    keys_of: dict[int, list[tuple[Column, pa.Array]]] = {}
    residual = []
    for column, key in keys:
        number = hierarchy_of(key, bvh) if _has_codes(key.type) else None
        values = None if number is None else _evaluate_codes(key, number, bvh)
        if number is None or values is None:
            residual.append((column, key))
        else:
            keys_of.setdefault(number, []).append((column, values))
    return keys_of, tuple(residual)


def _has_codes(kind: pa.DataType) -> bool:
    """Whether `encode_column` takes values of a type: Arrow puts no others in order."""
    return not (pa.types.is_nested(kind) or pa.types.is_interval(kind))


def _split_aggregates(
    star: Star, bvh: BvhInfo
) -> tuple[dict[int, list[tuple[Column, pa.Array]]], Calls, Calls]:
    """Part the aggregates by the way in which they are answered, see `answers`.

    Returns the values of each code by hierarchy, of those that values answer; then those that are
    accumulated, and those that are gathered. Beside these nothing is answered by values, for then
    the groups are those of the query.
    """
    held = dict(zip(bvh.definition.aggregate, bvh.index.measures, strict=True))
    values_of, rest = _split_values(star, bvh, held)
    gathered = tuple(each for each in rest if not is_accumulated(each[1], held))
    if gathered and values_of:
        values_of, rest = {}, list(star.aggregates)
        gathered = tuple(each for each in rest if not is_accumulated(each[1], held))
    return values_of, tuple(each for each in rest if is_accumulated(each[1], held)), gathered


def _split_values(
    star: Star, bvh: BvhInfo, held: Collection[Expression]
) -> tuple[dict[int, list[tuple[Column, pa.Array]]], list[tuple[Column, AggregateCall]]]:
    """Part the aggregates that the values of encoded attributes answer from all others."""
    asked = [
        (column, call.arguments[0]) for column, call in star.aggregates if needs_values(call, held)
    ]
    values_of, _ = split_keys(asked, bvh)
    calls = dict(star.aggregates)
    values_of = {
        number: few
        for number, listed in values_of.items()
        if (few := [(c, values) for c, values in listed if _is_worthwhile(calls[c], values)])
    }
    answered = {column for listed in values_of.values() for column, _ in listed}
    return values_of, [each for each in star.aggregates if each[0] not in answered]


def _is_worthwhile(call: AggregateCall, values: pa.Array) -> bool:
    """Whether values are better made a group key than added up row by row."""
    if call.distinct or call.function in ("min", "max"):
        return True
    if call.function in BY_ORDER:
        return len(values) <= ORDERED_LIMIT
    return int(pc.count_distinct(values, mode="all").as_py()) <= VALUE_LIMIT


def _number_groups(
    keys_of: dict[int, list[tuple[Column, pa.Array]]],
    masks: list[NDArray[np.bool_]],
    hierarchies: Sequence[Hierarchy],
    stride: int,
) -> tuple[tuple[GroupPart, ...], dict[int, NDArray[np.int64]], int]:
    """Number the key tuples within the query's box, so that accumulators are no larger.

    stride: the distance between the group numbers of the first part.
    Returns the parts, the group offset of each code by hierarchy, and the number of groups.
    """
    parts, maps = [], {}
    for number, keys in keys_of.items():
        allowed = np.flatnonzero(masks[number])
        values = [values for _, values in keys]
        codes, tuples, chosen = number_tuples(values, allowed, hierarchies[number])
        groups = np.full(len(masks[number]), -1, np.int64)
        groups[allowed] = codes.astype(np.int64) * stride
        maps[number] = groups
        columns = tuple(column for column, _ in keys)
        count = len(tuples[0] if chosen is None else chosen)
        parts.append(GroupPart(columns, tuples, stride, max(count, 1), chosen))
        stride *= parts[-1].count
    return tuple(parts), maps, stride


def number_tuples(
    keys: Sequence[pa.Array], allowed: NDArray[np.int64], hierarchy: Hierarchy
) -> tuple[NDArray[Any], tuple[pa.Array, ...], NDArray[np.int64] | None]:
    """Number the distinct tuples of keys among the allowed codes.

    Returns the number of each code's tuple, and tuples with those of them that are numbered; None
    where all are. Keys that are all levels together tell codes apart, so each code has a tuple of
    its own.
    """
    if {id(level) for level in hierarchy.levels} <= {id(key) for key in keys}:
        is_whole = len(allowed) == hierarchy.code_count
        return np.arange(len(allowed)), tuple(keys), None if is_whole else allowed
    numbered = [_occurring(key, allowed, hierarchy) for key in keys]
    if len(numbered) == 1:
        ((codes, values, chosen),) = numbered
        return codes, (values,), chosen
    columns = [
        EncodedColumn(codes, values.take(pa.array(some))) for codes, values, some in numbered
    ]
    codes, places = join_codes(columns)
    tuples = [column.values.take(places[:, place]) for place, column in enumerate(columns)]
    return codes, tuple(tuples), None


def _occurring(
    values: pa.Array, allowed: NDArray[np.int64], hierarchy: Hierarchy
) -> tuple[NDArray[np.int32], pa.Array, NDArray[np.int64]]:
    """Number a key's distinct values of some codes; `values` has one for each code.

    Returns the number of each code's value, and sorted values with those of them that occur.
    """
    level = next((i for i, each in enumerate(hierarchy.levels) if each is values), None)
    if level is None:
        encoded = encode_column(values.take(pa.array(allowed)))
        return encoded.codes, encoded.values, np.arange(encoded.cardinality)
    encoded = encoded_level(hierarchy, level)
    codes = encoded.codes[allowed]
    occurs = np.zeros(encoded.cardinality, np.bool_)
    occurs[codes] = True
    rank = np.cumsum(occurs, dtype=np.int32) - 1
    return rank[codes], encoded.values, np.flatnonzero(occurs)


# The first code of each coordinate.
_first_codes: WeakKeyDictionary[Hierarchy, NDArray[np.int64]] = WeakKeyDictionary()


def _coordinates(
    reduce: np.ufunc, masks: Sequence[NDArray[np.bool_]], bvh: BvhInfo
) -> list[NDArray[np.bool_]]:
    """Reduce a mask a hierarchy to the coordinates that it allows."""
    hierarchies = bvh.index.hierarchies
    return [_reduce_to_scan(reduce, *each) for each in zip(masks, hierarchies, strict=True)]


def _reduce_to_scan(reduce: np.ufunc, values: NDArray[Any], hierarchy: Hierarchy) -> NDArray[Any]:
    """Reduce a value a code to a value a coordinate on the Z axis."""
    if hierarchy.code_count == 0 or hierarchy.is_scan_only:
        return values
    if hierarchy.scan_count == 1:
        return reduce.reduce(values, keepdims=True)  # type: ignore[no-any-return]
    firsts = _first_codes.get(hierarchy)
    if firsts is None:
        changes = np.diff(hierarchy.scan_codes, prepend=-1) != 0
        firsts = _first_codes[hierarchy] = np.flatnonzero(changes)
    reduced: NDArray[Any] = reduce.reduceat(values, firsts)
    return reduced


def _code_map(
    number: int,
    hierarchy: Hierarchy,
    mask: NDArray[np.bool_],
    groups: NDArray[np.int64] | None,
    is_applied: bool,
) -> CodeMap | None:
    """Return what the job must look up for a hierarchy, None where the intervals say it all."""
    if groups is None:
        if mask.all():
            return None
        groups = np.where(mask, np.int64(0), np.int64(-1))
    least = _reduce_to_scan(np.minimum, groups, hierarchy)
    most = _reduce_to_scan(np.maximum, groups, hierarchy)
    if not np.array_equal(least, most):
        # Z is coarser than the expression: rows of one cell differ, their stored codes decide.
        filters = bool(((least < 0) & ((most >= 0) | (not is_applied))).any())
        return CodeMap(number, by_cell=False, groups=groups, filters=filters)
    cells = least.astype(np.int64)
    filters = not is_applied and bool((cells < 0).any())
    if not filters and not (cells > 0).any():
        return None
    return CodeMap(number, by_cell=True, groups=cells, filters=filters)


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
    scanned = scanned_attributes(star)
    return Coverage(
        aggregate=sum(position is not None for position in positions),
        aggregate_total=len(positions),
        group_by=encoded_count,
        group_by_total=encoded_count + residual_key_count,
        scan=_count_in_scan(scanned, bvh),
        scan_total=len(scanned),
    )


def scanned_attributes(star: Star) -> frozenset[Attribute]:
    """Return the attributes of a star's predicates."""
    return frozenset[Attribute]().union(*map(attributes_of, star.predicates))


def _count_in_scan(scanned: Collection[Attribute], bvh: BvhInfo) -> int:
    """Return how many attributes of predicates are in Z."""
    places = [bvh.levels.get(attribute) for attribute in scanned]
    hierarchies = bvh.index.hierarchies
    return sum(place is not None and hierarchies[place[0]].scan_count > 1 for place in places)


def highest_score(star: Star, scanned: Collection[Attribute], bvh: BvhInfo) -> int:
    """Return the score that a fused job on a BVH has at most; nothing is evaluated for it.

    scanned: the star's `scanned_attributes`, which are the same for every BVH.
    """
    held = frozenset(bvh.definition.aggregate)
    calls = [call for _, call in star.aggregates]
    arguments = {argument for call in calls for argument in call.arguments}
    encoded = [key for _, key in star.keys]
    encoded += [call.arguments[0] for call in calls if needs_values(call, held)]
    group_by = sum(hierarchy_of(expression, bvh) is not None for expression in encoded)
    return len(arguments & held) + group_by + SCAN_WEIGHT * _count_in_scan(scanned, bvh)
