"""The cells and groups of a star on a BVH by arrays, a step after the other, whatever the star is.

A predicate is a mask over codes, which is reduced to coordinates on Z, of which cell intervals are
made. A key is a group number of each code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from raydb.kernels.backends.backend import CodeMap
from raydb.kernels.bvh.intervals import INTERVAL_LIMIT, cell_intervals
from raydb.planner.stars.codes.boxes import joint_intervals, narrow_boxes
from raydb.planner.stars.codes.encoded import (
    hierarchy_of,
    number_tuples,
    predicate_mask,
    split_keys,
)
from raydb.planner.stars.fused_scan import GroupPart, JobCells

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from raydb.kernels.bvh.encode import Hierarchy
    from raydb.planner.catalog import BvhInfo
    from raydb.planner.expressions.nodes import Column, Expression
    from raydb.planner.plan.nodes import Star
    from raydb.planner.plan.nodes.node import Items
    from raydb.planner.stars.codes.boxes import Box


def find_by_arrays(star: Star, bvh: BvhInfo, values: Items = ()) -> JobCells:
    """Return the cells and groups of a star; what the BVH does not encode is left.

    values: what is made a further key, which the BVH encodes.
    """
    masks, residual_predicates = _mask_hierarchies(star.predicates, bvh)
    boxes, residual_predicates = _split_boxes(masks, residual_predicates, bvh)
    keys_of, residual_keys = split_keys(star.keys, bvh)
    values_of, _ = split_keys(values, bvh)
    hierarchies = bvh.index.hierarchies
    parts, group_maps, key_count = _number_groups(keys_of, masks, hierarchies, 1)
    value_parts, value_maps, group_count = _number_groups(values_of, masks, hierarchies, key_count)
    for number, groups in value_maps.items():
        known = group_maps.get(number, np.zeros_like(groups))
        group_maps[number] = np.where(groups < 0, groups, known + groups)
    coordinates = _coordinates(np.logical_or, masks, bvh)
    intervals, applied = cell_intervals(coordinates) if boxes is None else (boxes, len(hierarchies))
    maps = [
        _code_map(number, hierarchy, masks[number], group_maps.get(number), number < applied)
        for number, hierarchy in enumerate(hierarchies)
    ]
    return JobCells(
        intervals,
        tuple([code_map for code_map in maps if code_map is not None]),
        group_count,
        bvh.index.count_rows(intervals),
        parts,
        key_count,
        value_parts,
        residual_predicates,
        residual_keys,
    )


def mask_coordinates(
    predicates: Sequence[Expression], bvh: BvhInfo
) -> list[NDArray[np.bool_]] | None:
    """Return the coordinates that predicates allow; None where one is not over one hierarchy."""
    masks, residual = _mask_hierarchies(predicates, bvh)
    return None if residual else _coordinates(np.logical_or, masks, bvh)


def _mask_hierarchies(
    predicates: Sequence[Expression], bvh: BvhInfo
) -> tuple[list[NDArray[np.bool_]], tuple[Expression, ...]]:
    """Return the codes that the predicates allow in each hierarchy, and the predicates left."""
    masks = [np.ones(h.code_count, np.bool_) for h in bvh.index.hierarchies]
    residual = []
    for predicate in predicates:
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


def _number_groups(
    keys_of: Mapping[int, list[tuple[Column, pa.Array]]],
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


# The first code of each coordinate.
_first_codes: WeakKeyDictionary[Hierarchy, NDArray[np.int64]] = WeakKeyDictionary()


def _coordinates(
    reduce: np.ufunc, masks: Sequence[NDArray[np.bool_]], bvh: BvhInfo
) -> list[NDArray[np.bool_]]:
    """Reduce a mask a hierarchy to the coordinates that it allows."""
    hierarchies = bvh.index.hierarchies
    return [reduce_to_scan(reduce, *each) for each in zip(masks, hierarchies, strict=True)]


def reduce_to_scan(reduce: np.ufunc, values: NDArray[Any], hierarchy: Hierarchy) -> NDArray[Any]:
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
    least = reduce_to_scan(np.minimum, groups, hierarchy)
    most = reduce_to_scan(np.maximum, groups, hierarchy)
    if not np.array_equal(least, most):
        # Z is coarser than the expression: rows of one cell differ, their stored codes decide.
        filters = bool(((least < 0) & ((most >= 0) | (not is_applied))).any())
        return CodeMap(number, by_cell=False, groups=groups, filters=filters)
    cells = least.astype(np.int64)
    filters = not is_applied and bool((cells < 0).any())
    if not filters and not (cells > 0).any():
        return None
    return CodeMap(number, by_cell=True, groups=cells, filters=filters)
