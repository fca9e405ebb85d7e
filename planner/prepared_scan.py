"""What tells that a scan is still the way to run a star when its constants change.

    rivals = find_rivals(star, scanned, literals, catalog)
    rivals.lose(literals)

A BVH that lacks a part of a star fetches it for each row of its cells: it costs less than a scan
where the predicates that it encodes leave few rows. How many that are is found once; how many are
left is told by shares of coordinates, as where a BVH is passed over (`planner/stars/choose.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raydb.planner.prepared_star import filled, filled_predicates, holes_in
from raydb.planner.stars.choose import scan_limit
from raydb.planner.stars.codes.encoded import hierarchy_of, is_lacking, predicate_mask
from raydb.planner.stars.codes.shares import share_passing
from raydb.planner.stars.costs import least_cost
from raydb.planner.stars.fuse import highest_scores, lacking
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.planner.catalog import BvhInfo, CatalogInfo
    from raydb.planner.expressions.nodes import Expression, Literal
    from raydb.planner.plan.nodes import Star
    from raydb.planner.prepared_star import Literals
    from raydb.planner.stars.fuse import Lacking

# Of predicates over one hierarchy the shares of so many constants are kept.
_MOST_SHARES = 256


class _Share:
    """The share of a BVH's rows that predicates with holes over one hierarchy leave."""

    def __init__(self, predicates: Sequence[Expression], hierarchy: int, bvh: BvhInfo) -> None:
        self._predicates, self._hierarchy, self._bvh = predicates, hierarchy, bvh
        self.holes = holes_in(predicates)
        self._known: dict[tuple[Literal, ...], float] = {}

    def of(self, literals: Literals) -> float:
        """Return the share; 0 where it can't be told."""
        key = tuple([literals[hole.slot][hole.place] for hole in self.holes])
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _MOST_SHARES:
                self._known.clear()
            known = self._known[key] = self._find(literals)
        return known

    def _find(self, literals: Literals) -> float:
        asked = [filled(each, literals) for each in self._predicates]
        masks = [predicate_mask(each, self._hierarchy, self._bvh) for each in asked]
        known = [mask for mask in masks if mask is not None]
        if len(known) < len(masks):
            return 0.0
        return share_passing(np.logical_and.reduce(known), self._hierarchy, self._bvh)


class _Rival:
    """A BVH that costs less than a scan where it would fetch for less than `least` rows."""

    def __init__(self, predicates: Sequence[Expression], bvh: BvhInfo, least: float) -> None:
        by_hierarchy: dict[int, list[Expression]] = {}
        for predicate in predicates:
            number = hierarchy_of(predicate, bvh)
            if number is not None:
                by_hierarchy.setdefault(number, []).append(predicate)
        self._shares = [_Share(some, number, bvh) for number, some in by_hierarchy.items()]
        self._rows, self._least = bvh.index.row_count, least
        self.may_change = any(each.holes for each in self._shares)

    def loses(self, literals: Literals) -> bool:
        """Tell whether it costs more with these literals."""
        rows = float(self._rows)
        for share in self._shares:
            rows *= share.of(literals)
        return rows >= self._least


class Rivals:
    """The BVHs that may cost less than the scan of a star with some literals."""

    def __init__(self, rivals: Sequence[_Rival]) -> None:
        self._rivals = rivals

    def lose(self, literals: Literals) -> bool:
        """Tell whether all of them cost more with these literals."""
        return all(rival.loses(literals) for rival in self._rivals)


def find_rivals(
    star: Star, scanned: Star, literals: Literals, catalog: CatalogInfo
) -> Rivals | None:
    """Return the BVHs that may cost less than the scan of a star whose predicates have holes.

    scanned: what the scan is asked with these literals, which may be a part of the star. None where
    a BVH may answer alone, for then more than rows decides, where its rows can't be told, and where
    it costs less now.
    """
    asked = replace(star, predicates=filled_predicates(star, literals))
    limit = scan_limit(asked, catalog)
    rivals = []
    for bvh in catalog.bvhs.values():
        if bvh.definition.table != star.fact or bvh.obstacle is not None:
            continue
        if not any(highest_scores(asked, [bvh])):
            continue
        missing = _lacking(asked, bvh)
        if not missing.fetched or not _lacking(scanned, bvh).fetched:
            return None
        if any(hierarchy_of(each, bvh) is None for each in missing.predicates):
            return None
        least = _least_rows(asked, missing, catalog, bvh.index.row_count, limit)
        rival = _Rival(star.predicates, bvh, least)
        if not rival.loses(literals):
            return None
        if rival.may_change:
            rivals.append(rival)
    return Rivals(rivals)


def _lacking(star: Star, bvh: BvhInfo) -> Lacking:
    """Return what a BVH lacks of a star, comparisons over two of its hierarchies among it."""
    missing = lacking(star, bvh)
    fetched = [each for each in missing.predicates if is_lacking(each, bvh)]
    return replace(
        missing,
        predicates=tuple([each for each in missing.predicates if each not in fetched]),
        residual_predicates=(*missing.residual_predicates, *fetched),
    )


def _least_rows(
    star: Star, missing: Lacking, catalog: CatalogInfo, row_count: int, limit: float
) -> float:
    """Return for how many rows a BVH costs as much as the limit; what it costs grows with rows."""
    low, high = 0, row_count + 1
    while low < high:
        middle = (low + high) // 2
        if least_cost(star, missing, catalog, middle) < limit:
            low = middle + 1
        else:
            high = middle
    return low
