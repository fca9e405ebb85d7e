"""OR over several hierarchies: boxes of codes that have no code in common.

    (year = 1993 AND region = 'ASIA') OR (year IN (1993, 1997) AND region = 'EUROPE')

A branch is a box, a mask of codes for each hierarchy. Of a box what others before it have is cut
away, one hierarchy after the other:

    b - a  =  (b1 - a1) x b2  +  (b1 and a1) x (b2 - a2)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from raydb.kernels.bvh.intervals import merge_intervals
from raydb.planner.expressions.nodes import Call, Expression, conjuncts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Mask: TypeAlias = "NDArray[np.bool_]"
    Box: TypeAlias = "tuple[Mask, ...]"

# More boxes than this are not worth the time to cut them.
MAX_BOXES = 64


def narrow_boxes(
    boxes: Sequence[Box],
    predicate: Expression,
    mask_of: Callable[[Expression], tuple[int, Mask] | None],
) -> list[Box] | None:
    """Return what a predicate leaves of disjoint boxes; None where it is no OR of boxes.

    mask_of: the hierarchy that encodes an expression, and its codes for which that is true.
    """
    if not isinstance(predicate, Call) or predicate.function != "or":
        return None
    found: list[Box] = []
    for branch in predicate.arguments:
        known = [mask_of(part) for part in conjuncts(branch)]
        for box in boxes:
            cut = list(box)
            for each in known:
                if each is None:
                    return None
                number, mask = each
                cut[number] = cut[number] & mask
            pieces = [tuple(cut)] if _has_codes(cut) else []
            for other in found:
                pieces = [each for piece in pieces for each in _difference(piece, other)]
            found += pieces
            if len(found) > MAX_BOXES:
                return None
    return found


def _has_codes(box: Sequence[Mask]) -> bool:
    return all(mask.any() for mask in box)


def _difference(box: Box, other: Box) -> list[Box]:
    """Return a box without what another one has, as disjoint boxes."""
    shared = [mine & theirs for mine, theirs in zip(box, other, strict=True)]
    if not _has_codes(shared):
        return [box]
    pieces: list[Box] = []
    for place, (mine, theirs) in enumerate(zip(box, other, strict=True)):
        outside = mine & ~theirs
        if outside.any():
            pieces.append((*shared[:place], outside, *box[place + 1 :]))
    return pieces


def joint_intervals(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the intervals of disjoint boxes in their order, merged."""
    joint = np.concatenate([np.empty((0, 2), np.int64), *parts])
    return merge_intervals(joint[np.argsort(joint[:, 0])])
