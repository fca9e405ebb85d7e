"""A star as a fused job on an image of its fact table, made once for all runs of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.engine.fused.column_codes import renamed
from raydb.engine.fused.table_scan import Image, ImageHierarchy
from raydb.engine.operators.relation import Relation
from raydb.kernels.backends.cpu.scans.scan import ScanColumn, launch_scan, prepare_scan
from raydb.planner.expressions.nodes import Attribute, Expression, attributes_of
from raydb.planner.expressions.registry import may_raise
from raydb.planner.prepared_star import holes_in
from raydb.planner.stars.answers import asks_values, chosen_row, may_be_accumulated
from raydb.planner.stars.fuse import fuse
from raydb.planner.stars.fused_scan import DENSE_GROUPS, FusedScanAggregate
from raydb.planner.stars.table_scan import key_of
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.engine.fused.derived_cache import DerivedCache
    from raydb.kernels.backends.backend import FusedResult
    from raydb.kernels.backends.cpu.scans.scan import ScanPlan
    from raydb.kernels.bvh.bvh import Measure
    from raydb.planner.catalog import BvhInfo
    from raydb.planner.expressions.nodes import AggregateCall, Column
    from raydb.planner.plan.nodes import Star
    from raydb.planner.stars.table_scan import FusedTableScan
    from raydb.storage.tables.table import ForeignKey, Table, TableDefinition


# The accumulators of so many groups a row take longer to make and to look at than the rows take to
# be numbered by their groups.
_GROUPS_A_ROW = 16
_FEW_GROUPS = 2**16


@dataclass(frozen=True, eq=False, slots=True)
class TableJob:
    """A scan that is ready to run: its fused plan on an image, and what the image is asked for.

    columns: those of the plan's hierarchies; `scan` is None where the plan fetches rows or a device
    runs it: see `filled`. measures: in the order of the accumulators' positions. chosen: by their
    columns, the aggregates of which the plan tells the row (gather.py). by_row: whether the plan
    fetches rows, or has so many groups that those which have rows are numbered.
    """

    plan: FusedScanAggregate
    image: Image
    columns: tuple[ScanColumn, ...]
    measures: tuple[Expression, ...]
    scan: ScanPlan | None
    chosen: Mapping[Column, AggregateCall]
    by_row: bool

    def over(self, plan: FusedScanAggregate) -> TableJob | None:
        """Return a job that scans as this one with another plan on the image; None by row."""
        if plan.job.group_count > _most_groups(self.image):
            return None
        ready = prepare_scan(plan.job, self.columns, self.image.row_count)
        return replace(self, plan=plan, scan=ready)

    def describe(self) -> BvhInfo:
        """Return the image as `Image.describe` does."""
        return self.image.describe(dict(zip(self.measures, self._found_measures(), strict=True)))

    def run(self) -> FusedResult:
        """Scan the rows."""
        assert self.scan is not None
        codes = [self.image.codes(each.sources) for each in self.image.hierarchies]
        return launch_scan(self.scan, self.plan.job, self.columns, codes, self._found_measures())

    def filled(self) -> FusedScanAggregate:
        """Return the plan over an index that has the image's arrays, which stay with their cache.

        Places are row numbers: where no row is fetched, nobody reads them.
        """
        image = self.image
        row_ids = (
            np.arange(image.first_row, image.fact.row_count, dtype=np.uint32)
            if self.by_row
            else np.broadcast_to(np.uint32(0), image.row_count)
        )
        codes = tuple(_joint_codes(image, each) for each in image.hierarchies)
        measures = tuple(self._found_measures())
        return replace(
            self.plan,
            index=replace(self.plan.index, row_ids=row_ids, codes=codes, measures=measures),
        )

    def _found_measures(self) -> list[Measure]:
        measures = [self.image.measure(each) for each in self.measures]
        found = [measure for measure in measures if measure is not None]
        assert len(found) == len(measures)
        return found


def known_row(scan: FusedTableScan, tables: Mapping[str, Table]) -> Relation | None:
    """Return the one row of a scan that asks for what is known of a table; None for others.

    These are counts, and the least and greatest of whole numbers where no row is masked.
    """
    star = scan.star
    table = tables[star.fact]
    if star.predicates or star.keys or scan.first_row or not table.rows.is_counted:
        return None
    columns = {}
    for column, call in star.aggregates:
        value = _known_value(call, table)
        if value is None:
            return None
        columns[column] = value.cast(call.type)
    return Relation(columns, 1)


def _known_value(call: AggregateCall, table: Table) -> pa.Array | None:
    """Return an aggregate of all visible rows as an array of one value, None where rows tell it."""
    if call.distinct or call.filter is not None:
        return None
    match call.function, call.arguments:
        case "count_star", ():
            return pa.array([table.live_count])
        case "count", (Attribute(path=(), name=name),):
            return pa.array([table.live_count - table.null_count(name)])
        case "min" | "max", (Attribute(path=(), name=name),) if table.live is None:
            ends = table.rows.bounds(name)
            return None if ends is None else ends.slice(call.function == "max", 1)
        case _:
            return None


def fuse_on_rows(
    scan: FusedTableScan, tables: Mapping[str, Table], cache: DerivedCache
) -> TableJob | None:
    """Return a scan as a fused job on an image of its fact table.

    None where what is asked for its values has many more than a sample told: each of them with
    each key would be a group, which takes much more memory than the rows. None too where the keys
    have more tuples than there are numbers.
    """
    star = scan.star
    fact = tables[star.fact]
    image = Image(tables, fact, cache, scan.first_row, _together(star, fact.definition))
    predicates = [image.encode_condition(predicate) for predicate in star.predicates]
    keys = [(column, image.encode(key)) for column, key in star.keys]
    measures: dict[Expression, Measure] = {}
    aggregates = []
    chosen: dict[Column, AggregateCall] = {}
    for column, asked in star.aggregates:
        call = asked
        row = chosen_row(asked)
        if row is not None and image.measure(row.arguments[0]) is not None:
            call, chosen[column] = row, asked
        if asks_values(call):
            first, *others = call.arguments
            if image.has_few_values(first):
                first = image.encode(first)
            aggregates.append((column, replace(call, arguments=(first, *others))))
            continue
        for argument in call.arguments if may_be_accumulated(call) else ():
            measure = measures.get(argument) or image.measure(argument)
            if measure is not None:
                measures[argument] = measure
        aggregates.append((column, call))
    if image.fact.live is not None:
        predicates.append(image.visible())
    star = replace(
        star, predicates=tuple(predicates), keys=tuple(keys), aggregates=tuple(aggregates)
    )
    info = image.describe(measures)
    plan = fuse(star, info, scan.backends, scan.backend_reason)
    if isinstance(plan, str):
        return None  # Numbers of groups are too large: samples told of fewer values.
    original = dict(scan.star.aggregates)  # Rows are read of the table, not of the image.
    if plan.value_parts and plan.job.group_count > DENSE_GROUPS:
        return None
    plan = replace(plan, gathered=tuple((column, original[column]) for column, _ in plan.gathered))
    by_row = not plan.is_direct
    if scan.backends == ("cpu",):
        by_row |= plan.job.group_count > _most_groups(image)
    if scan.backends == ("cpu",) and not by_row:
        columns = tuple(
            ScanColumn(
                each.code_counts, image.zones(each.sources) if len(each.sources) == 1 else None
            )
            for each in image.hierarchies
        )
        ready = prepare_scan(plan.job, columns, image.row_count)
        return TableJob(plan, image, columns, tuple(measures), ready, chosen, by_row)
    return TableJob(plan, image, (), tuple(measures), None, chosen, by_row)


def _most_groups(image: Image) -> int:
    """Return of how many groups each has accumulators, whether it has rows or not."""
    return max(_FEW_GROUPS, _GROUPS_A_ROW * image.row_count)


def open_star(job: TableJob, predicates: Sequence[Expression], asked: Star) -> Star | None:
    """Return the star of a job, over its image's attributes, with holes in its predicates.

    predicates: those with holes; asked: the star with the literals of the job. None where one with
    a hole is no function of codes, or may fail for some.
    """
    star = job.plan.star
    assert star is not None
    opened = []
    for whole, known, encoded in zip(predicates, asked.predicates, star.predicates, strict=False):
        is_open = bool(holes_in([whole]))
        names = _names_of(encoded, job.image)
        if is_open and (names is None or may_raise(known) or renamed(known, names) != encoded):
            return None
        opened.append(renamed(whole, names) if is_open and names is not None else encoded)
    return replace(star, predicates=(*opened, *star.predicates[len(opened) :]))


def _names_of(encoded: Expression, image: Image) -> Mapping[Expression, Attribute] | None:
    """Return the names of the attributes that an encoded expression is over."""
    read = attributes_of(encoded)
    for each in image.hierarchies:
        if read and read <= set(each.names.values()):
            return each.names if all(isinstance(s, tuple) for s in each.sources) else None
    return None


def _together(star: Star, fact: TableDefinition) -> dict[ForeignKey, frozenset[Attribute]]:
    """Return the attributes of keys, and of what is asked for its values, by their foreign key.

    They lie behind it, or are it.
    """
    found: dict[ForeignKey, set[Attribute]] = {}
    asked = (call.arguments[0] for _, call in star.aggregates if asks_values(call))
    for expression in (*(key for _, key in star.keys), *asked):
        for attribute in attributes_of(expression):
            key = key_of(attribute, fact)
            if key is not None:
                found.setdefault(key, set()).add(attribute)
    return {key: frozenset(attributes) for key, attributes in found.items()}


def _joint_codes(image: Image, hierarchy: ImageHierarchy) -> NDArray[Any]:
    """Return the codes of every row, those of a pair as the numbers of the pairs (int32)."""
    first, *second = image.codes(hierarchy.sources)
    if not second:
        return first

    def make() -> NDArray[Any]:
        joint: NDArray[Any] = first.astype(np.int32) * hierarchy.code_counts[1] + second[0]
        return joint

    what = "pairs", image.fact.name, image.first_row, hierarchy.sources
    found: NDArray[Any] = image.cache.get((first, *second), what, make)
    return found
