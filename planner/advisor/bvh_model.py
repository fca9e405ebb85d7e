"""The model of a BVH that is not built: its cells, its bytes, and what a star reads of it.

A profile of the fact table takes the place of its rows. It has the distinct tuples of attributes
that hang together, and how many fact rows have each; attributes of different tuples count as
independent of each other. A BVH is planned over these dictionaries as over its own, so a star is
fused as it will be, and the rows of a cell interval are the product of shares:

    d_year = 1993 AND lo_discount BETWEEN 1 AND 3   ->   1/7 * 3/11 of the rows
"""

from __future__ import annotations

from math import exp, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.bvh.bvh import DENSE_CELLS, Bvh, Measure, narrow_codes
from raydb.kernels.bvh.encode import EncodedColumn, encode_column, find_hierarchies
from raydb.planner.catalog import BvhDefinition, BvhInfo
from raydb.planner.expressions.nodes import attributes_of
from raydb.planner.stars.choose import Priced
from raydb.planner.stars.costs import GROUP_COST, bvh_cost, scan_cost
from raydb.planner.stars.fuse import fuse
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.kernels.bvh.encode import Hierarchy
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Attribute, Expression
    from raydb.planner.plan.nodes import Star
    from raydb.planner.stars.fused_scan import FusedScanAggregate

# The bytes of a row id, of an offset, and of the number of a cell that is kept.
_ROW_ID_BYTES = 4
_OFFSET_BYTES = 8
_CELL_BYTES = 8


# So many codes of hierarchies, of some 16 bytes, are kept.
_MOST_HELD = 2**22


@dataclass(frozen=True, eq=False, slots=True)
class Tuples:
    """Attributes that hang together, as the distinct tuples of their values.

    columns: one for each attribute, over the tuples. weights: the fact rows that have each tuple,
    float64; only their shares matter. row_count: the rows that the tuples were found in.
    """

    attributes: tuple[Attribute, ...]
    columns: tuple[EncodedColumn, ...]
    weights: NDArray[np.float64]
    row_count: int


@dataclass(frozen=True, eq=False, slots=True)
class Profile:
    """A fact table as far as BVHs on it need it.

    tuples: every attribute lies in one of them. widths: the bytes that a row of each measure takes;
    an expression that is not there cannot be held.
    """

    table: str
    row_count: int
    tuples: tuple[Tuples, ...]
    widths: Mapping[Expression, int]


def distinct_tuples(
    attributes: Sequence[Attribute], columns: Sequence[EncodedColumn], weights: NDArray[np.float64]
) -> list[Tuples]:
    """Part attributes into those that hang together; `columns` have a weight for each row."""
    found = []
    for hierarchy, codes in find_hierarchies(columns, [True] * len(columns)):
        found.append(
            Tuples(
                tuple(attributes[position] for position in hierarchy.columns),
                tuple(encode_column(level) for level in hierarchy.levels),
                np.bincount(codes, weights, hierarchy.code_count).astype(np.float64),
                len(codes),
            )
        )
    return found


@dataclass(frozen=True, slots=True)
class Candidate:
    """What Z, Y and X of a BVH might hold, as numbers of the model's attributes and measures.

    The order of `scan` is that of Z.
    """

    scan: tuple[int, ...] = ()
    group_by: tuple[int, ...] = ()
    aggregate: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class _Planned:
    """A candidate as a BVH without rows, and how the rows would lie in it.

    shares, below: for each hierarchy, in the order of Z, the share of the rows at each coordinate
    and below it; both have one entry more than there are coordinates.
    """

    bvh: BvhInfo
    shares: tuple[NDArray[np.float64], ...]
    below: tuple[NDArray[np.float64], ...]
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Answer:
    """How a star runs on a candidate: what it is preferred by (the least wins), nanoseconds."""

    rank: tuple[float, int, int]
    cost: float


class BvhModel:
    """Estimates for candidates on one fact table, for some stars; they are kept."""

    def __init__(self, profile: Profile, stars: Sequence[Star], catalog: CatalogInfo) -> None:
        self.profile = profile
        self.catalog = catalog
        self.stars = stars
        self.attributes = [each for tuples in profile.tuples for each in tuples.attributes]
        self.measures = list(profile.widths)
        self._columns = [column for tuples in profile.tuples for column in tuples.columns]
        # For each attribute, the number of its tuples.
        self._tuples = [n for n, tuples in enumerate(profile.tuples) for _ in tuples.attributes]
        self._number: dict[Expression, int] = {a: n for n, a in enumerate(self.attributes)}
        # The tuples that have attributes of each star, and the measures that it reads.
        self._seen = [self._tuples_of(star) for star in stars]
        self._read = [
            {self.measures.index(m) for m in _arguments(star) if m in profile.widths}
            for star in stars
        ]
        self._hierarchies: dict[
            tuple[tuple[int, ...], int], list[tuple[Hierarchy, NDArray[np.float64]]]
        ] = {}
        self._planned: dict[Candidate, _Planned] = {}
        # The codes that these have, and all that were looked at so far.
        self._held = 0
        self.work = 0
        self._scans = [scan_cost(star, profile.row_count, catalog) for star in stars]
        self._answers: dict[tuple[Candidate, int], Answer | None] = {}
        self._seen_answers: dict[tuple[Candidate, int], Answer | None] = {}

    # -- the profile

    def encoded(self, expression: Expression) -> frozenset[int]:
        """Return the attributes of an expression, none unless they can share one dictionary."""
        attributes = attributes_of(expression)
        numbers = frozenset(self._number[a] for a in attributes if a in self._number)
        if len(numbers) < len(attributes) or len({self._tuples[n] for n in numbers}) > 1:
            return frozenset()
        return numbers

    def cardinality(self, attribute: int) -> int:
        """Return how many values an attribute has."""
        return self._columns[attribute].cardinality

    def coarser(self, attribute: int) -> list[int]:
        """Return the attributes that one determines, of more than one value, the finest first."""
        own = self._columns[attribute]
        found = [
            other
            for other, column in enumerate(self._columns)
            if self._tuples[other] == self._tuples[attribute]
            and 1 < column.cardinality < own.cardinality
            and determines(own, column)
        ]
        return sorted(found, key=lambda other: (-self.cardinality(other), other))

    def in_order(self, attributes: Iterable[int]) -> tuple[int, ...]:
        """Return attributes once each, in the order in which a search tries them on Z.

        What hangs together stays together, with the finest first, for it determines the others;
        fewer values come before more.
        """
        found: dict[int, list[int]] = {}
        for attribute in sorted(set(attributes), key=lambda a: (-self.cardinality(a), a)):
            found.setdefault(self._tuples[attribute], []).append(attribute)
        groups = sorted(found.values(), key=lambda group: (self.cardinality(group[-1]), group[-1]))
        return tuple(attribute for group in groups for attribute in group)

    def _tuples_of(self, star: Star) -> set[int]:
        expressions = (
            *star.predicates,
            *(key for _, key in star.keys),
            *_arguments(star),
        )
        attributes = {a for expression in expressions for a in attributes_of(expression)}
        return {self._tuples[self._number[a]] for a in attributes if a in self._number}

    # -- candidates

    def definition(self, candidate: Candidate) -> BvhDefinition:
        """Return a candidate as a definition without a name."""
        return BvhDefinition(
            "",
            self.profile.table,
            tuple(self.attributes[attribute] for attribute in candidate.scan),
            tuple(self.attributes[attribute] for attribute in candidate.group_by),
            tuple(self.measures[measure] for measure in candidate.aggregate),
            "",
        )

    def cell_count(self, candidate: Candidate) -> int:
        """Return the cells of a candidate."""
        return self._plan(candidate).bvh.index.cell_count

    def size_bytes(self, candidate: Candidate) -> int:
        """Return about how large a candidate would be."""
        return self._plan(candidate).size_bytes

    def levels(self, candidate: Candidate) -> list[tuple[int, ...]]:
        """Return the attributes of SCAN, one tuple for each coordinate of Z, in its order."""
        places = self._plan(candidate).bvh.levels
        found: dict[int, list[int]] = {}
        for attribute in candidate.scan:
            number, _ = places[self.attributes[attribute]]
            found.setdefault(number, []).append(attribute)
        return [tuple(attributes) for attributes in found.values()]

    def job(self, candidate: Candidate, star: int) -> FusedScanAggregate | str:
        """Return the fused job of a star on a candidate with its estimated rows, or why none."""
        job, rows = self._fuse(candidate, star)
        return job if isinstance(job, str) else replace(job, estimated_rows=round(rows))

    def _fuse(self, candidate: Candidate, star: int) -> tuple[FusedScanAggregate | str, float]:
        """Return the fused job of a star on a candidate, and the rows of its cells."""
        planned = self._plan(candidate)
        self.work += sum(hierarchy.code_count for hierarchy in planned.bvh.index.hierarchies)
        job = fuse(self.stars[star], planned.bvh, ("cpu",), "")
        if isinstance(job, str):
            return job, 0.0
        return job, _share_of(job.job.intervals, planned) * self.profile.row_count

    def scan_cost(self, star: int) -> float:
        """Return about how many nanoseconds a star takes without a BVH."""
        return self._scans[star]

    def answer(self, candidate: Candidate, star: int) -> Answer | None:
        """Return how a star runs on a candidate, None where it cannot; a BVH has several cells."""
        if (candidate, star) not in self._answers:
            has_cells = self.cell_count(candidate) > 1
            self._answers[candidate, star] = self._answer(candidate, star) if has_cells else None
        return self._answers[candidate, star]

    def _answer(self, candidate: Candidate, star: int) -> Answer | None:
        seen = self._as_seen_by(star, candidate)
        if (seen, star) not in self._seen_answers:
            job, rows = self._fuse(seen, star)
            answer = None
            if not isinstance(job, str) and job.coverage.score > 0:
                cost = self._cost(seen, job, star, rows)
                priced = Priced(replace(job, estimated_rows=round(rows)), cost)
                answer = Answer(priced.rank, min(self._scans[star], priced.cost))
            self._seen_answers[seen, star] = answer
        return self._seen_answers[seen, star]

    def _cost(self, candidate: Candidate, job: FusedScanAggregate, star: int, rows: float) -> float:
        """Return about how many nanoseconds a job of a star takes that reads some rows."""
        read = {accumulator.measure for accumulator in job.job.accumulators}
        held = [self.measures[candidate.aggregate[measure]] for measure in read]
        width = sum(self.profile.widths[measure] for measure in held)
        by_row = [code_map.hierarchy for code_map in job.job.maps if not code_map.by_cell]
        width += sum(job.index.codes[job.index.stored.index(n)].itemsize for n in by_row)
        cost = bvh_cost(self.stars[star], job, self.catalog, rows, width)
        # The groups of a star cost as much on any candidate; beside them rows would hardly count.
        return cost - job.job.group_count * GROUP_COST if job.is_direct else cost

    def _as_seen_by(self, star: int, candidate: Candidate) -> Candidate:
        """Return the part of a candidate that a star depends on; many have the same."""
        tuples, measures = self._seen[star], self._read[star]
        return Candidate(
            tuple(a for a in candidate.scan if self._tuples[a] in tuples),
            tuple(a for a in candidate.group_by if self._tuples[a] in tuples),
            tuple(m for m in candidate.aggregate if m in measures),
        )

    def _plan(self, candidate: Candidate) -> _Planned:
        if candidate not in self._planned:
            if self._held > _MOST_HELD:
                # All of it can be made again.
                self._planned.clear()
                self._hierarchies.clear()
                self._held = 0
            self._planned[candidate] = self._plan_new(candidate)
        return self._planned[candidate]

    def _plan_new(self, candidate: Candidate) -> _Planned:
        """Encode a candidate's attributes, and put together a BVH of no rows."""
        by_tuples: dict[int, list[int]] = {}
        for attribute in dict.fromkeys(candidate.scan + candidate.group_by):
            by_tuples.setdefault(self._tuples[attribute], []).append(attribute)
        found = [
            (hierarchy, shares, [attributes[position] for position in hierarchy.columns])
            for attributes in by_tuples.values()
            for hierarchy, shares in self._encode(
                tuple(attributes), sum(attribute in candidate.scan for attribute in attributes)
            )
        ]
        order = {attribute: place for place, attribute in enumerate(candidate.scan)}
        found.sort(key=lambda item: min(order.get(a, len(order)) for a in item[2]))
        index = _empty_bvh([hierarchy for hierarchy, _, _ in found], len(candidate.aggregate))
        levels = {
            self.attributes[attribute]: (number, level)
            for number, (_, _, attributes) in enumerate(found)
            for level, attribute in enumerate(attributes)
        }
        row_count = self.profile.row_count
        width = _ROW_ID_BYTES + sum(codes.itemsize for codes in index.codes)
        width += sum(self.profile.widths[self.measures[m]] for m in candidate.aggregate)
        used = prod(int(np.count_nonzero(shares)) for _, shares, _ in found)
        return _Planned(
            BvhInfo(self.definition(candidate), index, levels),
            tuple(np.append(shares, 0.0) for _, shares, _ in found),
            tuple(np.append(0.0, np.cumsum(shares)) for _, shares, _ in found),
            row_count * width + _offset_bytes(index, row_count, used),
        )

    def _encode(
        self, attributes: tuple[int, ...], scan_count: int
    ) -> list[tuple[Hierarchy, NDArray[np.float64]]]:
        """Return the hierarchies of attributes, those of SCAN first, and the share of each cell."""
        key = (attributes, scan_count)
        if key not in self._hierarchies:
            tuples = self.profile.tuples[self._tuples[attributes[0]]]
            self.work += len(tuples.weights) * len(attributes)
            shares = tuples.weights / max(float(tuples.weights.sum()), 1.0)
            columns = [self._columns[attribute] for attribute in attributes]
            is_scan = [position < scan_count for position in range(len(attributes))]
            self._hierarchies[key] = [
                (h, np.bincount(h.scan_codes[codes], shares, h.scan_count).astype(np.float64))
                for h, codes in find_hierarchies(columns, is_scan, tuples.row_count)
            ]
            self._held += sum(h.code_count * len(h.levels) for h, _ in self._hierarchies[key])
        return self._hierarchies[key]


def _arguments(star: Star) -> list[Expression]:
    return [argument for _, call in star.aggregates for argument in call.arguments]


def determines(one: EncodedColumn, other: EncodedColumn) -> bool:
    """Whether each value of one column goes with a single value of another."""
    least = np.full(one.cardinality, other.cardinality, np.int32)
    most = np.full(one.cardinality, -1, np.int32)
    np.minimum.at(least, one.codes, other.codes)
    np.maximum.at(most, one.codes, other.codes)
    return bool((least == most).all())


def _empty_bvh(hierarchies: list[Hierarchy], measure_count: int) -> Bvh:
    stored = tuple(n for n, hierarchy in enumerate(hierarchies) if not hierarchy.is_scan_only)
    nothing: NDArray[Any] = np.empty(0, np.int32)
    return Bvh(
        hierarchies=tuple(hierarchies),
        cell_count=prod(hierarchy.scan_count for hierarchy in hierarchies),
        cells=nothing.astype(np.int64),
        offsets=np.zeros(1, np.int64),
        row_ids=nothing.astype(np.uint32),
        stored=stored,
        codes=tuple(narrow_codes(nothing, hierarchies[n].code_count) for n in stored),
        measures=(Measure(nothing, None),) * measure_count,
    )


def _offset_bytes(index: Bvh, row_count: int, used: int) -> int:
    """Return the size of the offsets, and of the cells where only those that occur are kept.

    used: cells that rows can lie in. Of them, n rows that lie anywhere hit c * (1 - e^(-n/c)).
    """
    if index.cell_count <= max(DENSE_CELLS, 2 * row_count):
        return _OFFSET_BYTES * (index.cell_count + 1)
    occurring = used * (1 - exp(-row_count / used)) if used else 0.0
    return round((_OFFSET_BYTES + _CELL_BYTES) * occurring)


def _share_of(intervals: NDArray[np.int64], planned: _Planned) -> float:
    """Return the share of the rows in half-open cell intervals.

    The share below a cell (c1, c2, ...) is that below c1, and of the rows at c1 that below c2, ...
    """
    if not planned.shares:
        return float(len(intervals))  # one cell with all rows, or none
    ends = intervals.ravel()
    below = np.zeros(len(ends))
    at = np.ones(len(ends))
    rest = ends
    for stride, shares, sums in zip(
        planned.bvh.index.strides, planned.shares, planned.below, strict=True
    ):
        # The end of the last cell has a first coordinate one beyond the last, where no row lies.
        coordinates, rest = np.divmod(rest, stride)
        below += at * sums[coordinates]
        at *= shares[coordinates]
    return float((below[1::2] - below[::2]).sum())
