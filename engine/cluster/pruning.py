"""Which segments of a scan have rows that can pass; no worker is asked the others.

A BVH tells by its offsets which places a job reads: those of its cells. A table's files tell by the
zone maps of their chunks what they do not hold:

    sold >= 2026-05-01               chunks whose greatest `sold` is less have none of these rows
    year = 1993 of the date's table  the keys that pass lie from 19930101 to 19931231
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.engine.fused.denormalise import fetch
from raydb.engine.operators.relation import joined
from raydb.engine.operators.scan.comparisons import comparisons_of, is_ordered_otherwise
from raydb.errors import DataError
from raydb.late import pc
from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.nodes import Attribute, Column, attributes_of, rewrite
from raydb.planner.expressions.registry import may_raise
from raydb.planner.segments.nodes import SegmentRows, SegmentScan, ranges_of
from raydb.planner.stars.fused_scan import FusedScanAggregate
from raydb.storage.tables.parts import Comparison
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.planner.expressions.nodes import Expression
    from raydb.planner.plan.nodes import Star
    from raydb.storage.tables.table import ForeignKey, Table

    Ranges = Sequence[tuple[int, int]]

# The keys of a table of more rows are not looked at: every worker does it, too.
_MOST_KEYS = 2**20


@dataclass(frozen=True, slots=True)
class Segments:
    """Ranges of rows or places, first and behind the last, and the numbers of those to read.

    read: the rows or places that may pass, as ascending ranges.
    """

    ranges: Ranges
    left: Sequence[int]
    read: NDArray[np.int64]

    def passing(self, bounds: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many rows may pass from each bound (.., n) to the next one, (.., n - 1)."""
        sizes = self.read[:, 1] - self.read[:, 0]
        behind = np.cumsum(sizes)
        before = np.append(0, np.stack([behind - sizes, behind], axis=1))
        passing = np.interp(bounds, np.append(0, self.read), before)
        counts: NDArray[np.int64] = np.diff(passing).astype(np.int64)
        return counts


def segments_of(scan: SegmentScan | SegmentRows, tables: Mapping[str, Table]) -> Segments:
    """Return the segments of a scan."""
    if isinstance(scan, SegmentRows) and scan.slices:
        return Segments(ranges_of(scan.slices, 1), range(scan.slices), np.array([[0, scan.slices]]))
    job = scan.scan if isinstance(scan, SegmentScan) else None
    if isinstance(job, FusedScanAggregate):
        offsets, entries = job.index.offsets, job.index.entries(job.job.intervals)
        read = np.stack([offsets[entries[:, 0]], offsets[entries[:, 1]]], axis=1)
        ranges = ranges_of(job.index.row_count, scan.segment_rows)
    else:
        fact = tables[scan.fact]
        if isinstance(scan, SegmentScan):
            found = passing_ranges(scan.star, tables)
        else:
            comparisons = [each for part in scan.predicates for each in comparisons_of(part)]
            found = _compared_ranges(comparisons, fact)
        read = np.array(found, np.int64).reshape(-1, 2)
        ranges = ranges_of(fact.row_count, scan.segment_rows)
    read = read[read[:, 1] > read[:, 0]]
    return Segments(ranges, _overlapping(ranges, read), read)


def _overlapping(ranges: Ranges, read: NDArray[np.int64]) -> list[int]:
    """Return the numbers of the ranges that have a row of those that are read; both ascend."""
    bounds: NDArray[np.int64] = np.array(ranges, np.int64).reshape(-1, 2)
    firsts = np.searchsorted(read[:, 1], bounds[:, 0], side="right")
    lasts = np.searchsorted(read[:, 0], bounds[:, 1], side="left")
    return [int(number) for number in np.flatnonzero(lasts > firsts)]


def passing_ranges(star: Star, tables: Mapping[str, Table]) -> list[tuple[int, int]]:
    """Return ascending ranges of the fact table's rows; no row outside of them passes."""
    fact = tables[star.fact]
    if any(map(may_raise, star.predicates)):
        return [(0, fact.row_count)]  # What is not looked at does not fail.
    comparisons = []
    behind: dict[ForeignKey, list[Expression]] = {}
    for predicate in star.predicates:
        attributes = attributes_of(predicate)
        first = {attribute.path[:1] for attribute in attributes}
        if first == {()}:
            comparisons += _of_columns(predicate, fact)
        elif len(first) == 1:
            ((key,),) = first
            behind.setdefault(key, []).append(predicate)
    for key, predicates in behind.items():
        found = _of_keys(key, predicates, fact, tables)
        if found is None:
            return []
        comparisons += found
    return _compared_ranges(comparisons, fact)


def _compared_ranges(comparisons: Sequence[Comparison], fact: Table) -> list[tuple[int, int]]:
    """Return ascending ranges of rows; all comparisons hold for none outside of them."""
    if not comparisons:
        return [(0, fact.row_count)]
    fact.rows.bring_metadata(sorted({each.column for each in comparisons}))
    ranges, start = [], 0
    for part in fact.rows.parts:
        ranges += [(start + first, start + stop) for first, stop in part.ranges(comparisons)]
        start += part.row_count
    return ranges


def _of_columns(predicate: Expression, fact: Table) -> list[Comparison]:
    """Return comparisons of the fact table's own columns that hold where a predicate does."""

    def column(part: Expression) -> Expression:
        return Column(0, part.name, part.type) if isinstance(part, Attribute) else part

    found = []
    for each in comparisons_of(rewrite(predicate, column)):
        kind = fact.definition.schema.field(each.column).type
        value = _as(each.value, kind)
        found += [] if value is None else [replace(each, value=value)]
    return found


def _as(value: pa.Scalar, kind: pa.DataType) -> pa.Scalar | None:
    """Return a value in a column's type, None where it has none there.

    A foreign key may be a narrower integer than the key that it stands for.
    """
    if value.type == kind:
        return value
    if not (pa.types.is_integer(value.type) and pa.types.is_integer(kind)):
        return None
    try:
        return value.cast(kind)
    except pa.ArrowInvalid:
        return None


def _of_keys(
    key: ForeignKey, predicates: Sequence[Expression], fact: Table, tables: Mapping[str, Table]
) -> list[Comparison] | None:
    """Return between which values the foreign keys of rows lie that pass; None where none passes.

    Rows without a partner see NULLs, and where these pass nothing is known of the keys.
    """
    dimension = tables[key.table]
    if not 0 < dimension.row_count <= _MOST_KEYS:
        return []
    inputs: dict[Expression, pa.ChunkedArray] = {}
    for attribute in {each for predicate in predicates for each in attributes_of(predicate)}:
        own = Attribute(attribute.path[1:], attribute.name, attribute.type)
        values = fetch(tables, key.table, own)
        chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
        inputs[attribute] = pa.chunked_array([*chunks, pa.nulls(1, values.type)])
    passing = np.ones(dimension.row_count + 1, np.bool_)
    for predicate in predicates:
        try:
            mask = joined(evaluate(predicate, dict(inputs), dimension.row_count + 1))
        except DataError:
            return []
        passing &= pc.fill_null(mask, False).to_numpy(zero_copy_only=False)
    if passing[-1]:
        return []
    if not passing.any():
        return None
    found = []
    for name, reference in zip(key.columns, key.references, strict=True):
        kind = fact.definition.schema.field(name).type
        values = dimension.rows.column(reference).filter(pa.array(passing[:-1]))
        if is_ordered_otherwise(kind):
            continue
        bounds = pc.min_max(values)
        least, most = _as(bounds["min"], kind), _as(bounds["max"], kind)
        if least is not None and least.is_valid:
            found.append(Comparison(name, ">=", least))
        if most is not None and most.is_valid:
            found.append(Comparison(name, "<=", most))
    return found
