"""What the ways to run a star cost: on a BVH, with fetches by row id, as a scan, or in general.

    way                  a row costs
    BVH, direct          0.3 ns for every 8 bytes that the kernel reads, 0.5 ns for a code
    BVH with fetches     to be located; each predicate, each key, each measure that the BVH lacks
    scan                 0.3 ns for each attribute behind a predicate or a key, and for the measures
    general              what each operator of the plan takes for it

All are nanoseconds of one processor, from `tests/bench/bench_forms.py` over 2 million rows; what
counts is how they compare. A choice takes some microseconds. Only for what the general path may do
better a plan is made for it, which takes some milliseconds: see `MIN_COMPARED`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.kernels.backends.backend import CHUNK_ROWS
from raydb.planner.expressions.nodes import (
    Call,
    attributes_of,
    conjuncts,
    expressions_of,
)
from raydb.planner.plan.nodes import (
    Aggregate,
    CommonTable,
    Filter,
    HashJoin,
    InnerJoin,
    OuterJoin,
    Project,
    Scan,
    SemiJoin,
)
from raydb.planner.plan.statistics import CONDITION_SHARE, Statistics
from raydb.planner.stars import instants
from raydb.planner.stars.fuse import Lacking
from raydb.planner.stars.fused_scan import DENSE_GROUPS
from raydb.planner.stars.table_scan import group_count, share_left, value_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import AggregateCall, Expression
    from raydb.planner.plan.nodes import Plan, Star
    from raydb.planner.stars.fused_scan import FusedScanAggregate

# A row of a BVH that answers alone, where it has so many bytes. SSB's queries took 0.25 to 0.7.
DIRECT_COST = 0.3
DIRECT_BYTES = 8

# A code of a row that is looked up, as rows of a cell differ in what the query asks for.
CODE_COST = 0.5

# A row of a scan, for each attribute behind a predicate or a key and for the measures together.
SCAN_COST = 0.3

# A row of a job that fetches: to find its number and group; to gather a measure that the BVH holds.
LOCATE_COST = 6.0
HELD_COST = 3.0

# A value that is fetched, through a foreign key or not, a text beside that, and a call over values.
FETCH_COST = 18.0
TEXT_COST = 45.0
CALL_COST = 8.0

# To put located rows into the order of their table.
ORDER_COST = 80.0

# A part of a condition with OR over several tables, by its codes.
PART_COST = 1.0

# To make a value a code, of which a scan keeps those of small columns; a function of an instant.
ENCODE_COST = 25.0
INSTANT_COST = 70.0

# Two keys are numbered by a flag for each pair, of which each takes some time, or by sorting rows;
# groups of rows by a hash table.
PAIR_COST = 8.0
FLAG_COST = 3.0
SORT_COST = 100.0
NUMBER_COST = 30.0
MOST_FLAGS = 2**26
FLAGS_A_ROW = 32

# The accumulators of a group, where there may be so many that this counts: made, and looked at.
GROUP_COST = 2.0

# Of the rows of a job on a BVH so many tell in which chunks of the table they lie.
SAMPLED_ROWS = 512

# The general path: a row that is read for a filter, looked up for a join or put into its table, a
# value that comes out of a join, a row that is grouped, a number or a text that it is grouped by,
# and a value that is added up.
FILTER_COST = 3.0
PROBE_COST = 6.0
BUILD_COST = 20.0
GATHER_COST = 2.0
KEY_COST = 6.0
TEXT_KEY_COST = 16.0
ADD_COST = 5.0

# From what a job on a BVH, or a scan, costs the processor on, a device answers sooner where it has
# the columns: its launch takes 0.06 ms, and a scan is prepared anew for each run (an H200).
DEVICE_COST = 1e5
DEVICE_SCAN_COST = 4e6

# A job that takes less, in nanoseconds, is not compared with the general path: to plan that takes
# about as long.
MIN_COMPARED = 5e6


# -- BVHs


def bvh_cost(
    star: Star,
    plan: FusedScanAggregate,
    catalog: CatalogInfo,
    rows: float | None = None,
    row_bytes: int | None = None,
) -> float:
    """Return what a star costs on a BVH, with the rows that the BVH does not hold.

    rows, row_bytes: what the job reads, where the plan's index has no rows to tell it.
    """
    newer = 0.0 if plan.newer is None else scan_cost(star, plan.newer.count, catalog)
    if plan.is_direct:
        rows = plan.estimated_reads if rows is None else rows
        row_bytes = plan.row_bytes if row_bytes is None else row_bytes
        codes = sum(not code_map.by_cell for code_map in plan.job.maps)
        return direct_cost(rows, row_bytes, codes, plan.job.group_count) + newer
    rows = float(plan.estimated_rows) if rows is None else rows
    measures = zip(plan.measures, plan.measure_positions, strict=True)
    fetched = tuple([measure for measure, position in measures if position is None])
    lacking = Lacking(
        (),
        plan.residual_predicates,
        plan.residual_keys,
        fetched,
        len(plan.measures) - len(fetched),
        plan.gathered,
    )
    return _fetching_cost(star, lacking, catalog, rows, plan.job.group_count) + newer


def least_cost(star: Star, lacking: Lacking, catalog: CatalogInfo, rows: float) -> float:
    """Return what a star costs at least on a BVH that fetches for so many rows."""
    return _fetching_cost(star, lacking, catalog, rows, 1)


def _fetching_cost(
    star: Star, lacking: Lacking, catalog: CatalogInfo, rows: float, group_count: int
) -> float:
    cost = rows * LOCATE_COST
    for predicate in lacking.residual_predicates:
        cost += rows * _fetched(predicate)
        rows *= 1.0 if _is_guard(predicate) else CONDITION_SHARE
    groups = float(min(group_count, max(rows, 1.0)))
    for _, key in lacking.residual_keys:
        cost += rows * (_fetched(key) + ENCODE_COST)
        values = value_count(key, star, catalog)
        pairs = groups * (max(rows, 1.0) if values is None else values)
        cost += _pair_cost(pairs, rows)
        groups = min(pairs, max(rows, 1.0))
    cost += rows * (sum(map(_fetched, lacking.measures)) + lacking.held * HELD_COST)
    return cost + rows * _gathered(call for _, call in lacking.gathered)


def direct_cost(reads: float, row_bytes: int, code_count: int, group_count: int) -> float:
    """Return what a job costs that its BVH answers alone, and that reads so many rows.

    row_bytes: what a row has of what is read. code_count: how many codes of a row are read.
    """
    row = DIRECT_COST * max(row_bytes, 1) / DIRECT_BYTES + CODE_COST * code_count
    return reads * row + group_count * GROUP_COST


def _gathered(calls: Iterable[AggregateCall]) -> float:
    """Return what aggregates that no kernel accumulates cost a row beside their folds.

    The general path folds in the same way; but rows of a BVH are put into their order first.
    """
    read = {each for call in calls for each in expressions_of(call) if attributes_of(each)}
    return sum(map(_fetched, read)) + (ORDER_COST if read else 0.0)


@lru_cache(maxsize=256)  # It is asked of each BVH.
def _fetched(expression: Expression) -> float:
    """Return what an expression costs a row whose attributes are fetched for it."""
    attributes = attributes_of(expression)
    behind = {attribute.path[:1] for attribute in attributes}
    if len(behind) == 1 and () not in behind:
        # It is evaluated once for each row of the dimension, and looked up.
        return FETCH_COST
    cost = sum(FETCH_COST + (TEXT_COST if _is_text(each.type) else 0) for each in attributes)
    return cost + _computed(expression)


def _computed(expression: Expression) -> float:
    """Return what the calls of an expression cost a row."""
    return sum(
        INSTANT_COST if any(pa.types.is_timestamp(a.type) for a in call.arguments) else CALL_COST
        for call in _calls(expression)
    )


def _calls(expression: Expression) -> Iterator[Call]:
    if isinstance(expression, Call):
        yield expression
        for argument in expression.arguments:
            yield from _calls(argument)


def _is_guard(predicate: Expression) -> bool:
    """Whether a predicate asks only that a key is not NULL, which few rows fail."""
    match predicate:
        case Call(function="not", arguments=(Call(function="is_null"),)):
            return True
        case _:
            return False


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _pair_cost(pairs: float, rows: float) -> float:
    """Return what it costs to number the pairs of two codes that rows have."""
    if pairs <= min(MOST_FLAGS, FLAGS_A_ROW * rows):
        return rows * PAIR_COST + pairs * FLAG_COST
    return rows * SORT_COST


# -- scans


def scan_cost(star: Star, row_count: int, catalog: CatalogInfo) -> float:
    """Return what a pass over rows of the fact table costs, with the codes that it makes anew."""
    sources = set()
    computed = 0.0
    keys = [key for _, key in star.keys]
    for expression in (*star.predicates, *keys):
        read = {each.path[0] if each.path else each.name for each in attributes_of(expression)}
        sources |= read
        is_large = isinstance(expression, Call) and _is_large(expression, star, catalog)
        match expression:
            case Call(function="or", arguments=branches) if is_large or len(read) > 2:
                parts = [part for branch in branches for part in conjuncts(branch)]
                computed += PART_COST * len(parts)
                wide = (part for part in parts if len(attributes_of(part)) > 1)
                computed += sum(_computed(part) for part in wide if _is_large(part, star, catalog))
            case _ if is_large:
                computed += _computed(expression) + ENCODE_COST
            case _:
                pass
    grouping = (group_count(keys, star, catalog) or 0) * GROUP_COST
    if grouping > DENSE_GROUPS * GROUP_COST:
        # Where so many are possible, the rows that pass are numbered by their groups.
        located = LOCATE_COST + NUMBER_COST + HELD_COST * len(star.aggregates)
        grouping = min(grouping, row_count * share_left(star, catalog) * located)
    return row_count * (SCAN_COST * (len(sources) + 1) + computed) + grouping


def chunk_share(plan: FusedScanAggregate, row_count: int) -> float:
    """Return the share of a table's chunks that a scan reads for the rows of a job that fetches.

    The rows of a month lie in few chunks where the table is in the order of its days, and zone maps
    leave the others out. Where some of the job's rows lie tells how many: 1 for a job that does not
    fetch, which costs less than a scan anyway, and for one of an index without rows: a model.
    """
    if plan.is_direct or not len(plan.job.intervals):
        return 1.0
    entries = plan.index.entries(plan.job.intervals)
    ends = plan.index.offsets[entries]
    counts = ends[:, 1] - ends[:, 0]
    last = np.cumsum(counts)
    if not 0 < last[-1] <= plan.index.row_count:
        return 1.0
    chosen = np.linspace(0, last[-1] - 1, min(int(last[-1]), SAMPLED_ROWS)).astype(np.int64)
    number = np.searchsorted(last, chosen, side="right")
    places = ends[number, 1] - last[number] + chosen
    chunks = np.unique(plan.index.row_ids[places] // CHUNK_ROWS)
    return min(len(chunks) / max(row_count / CHUNK_ROWS, 1.0), 1.0)


def _is_large(expression: Expression, star: Star, catalog: CatalogInfo) -> bool:
    """Whether an expression is computed for every row, as its attributes have nearly as many."""
    return instants.by_unit(expression) is None and any(
        not attribute.path and value_count(attribute, star, catalog) is None
        for attribute in attributes_of(expression)
    )


# -- the general path


def general_cost(plan: Plan, catalog: CatalogInfo) -> float:
    """Return what a plan costs on the general path."""
    statistics = Statistics(catalog)

    def cost(node: Plan) -> float:
        own = _node_cost(node, statistics)
        return own + sum(map(cost, node.sources))

    return cost(plan)


def _node_cost(node: Plan, statistics: Statistics) -> float:
    """Return what one operator costs beside its sources."""
    given = [statistics.row_count(source) for source in node.sources]
    match node:
        case Scan() | CommonTable():
            return 0.0
        case Filter(predicate=predicate):
            parts = conjuncts(predicate)
            return given[0] * sum(max(_computed(part), FILTER_COST) for part in parts)
        case InnerJoin() | OuterJoin() | SemiJoin() | HashJoin():
            probed, built = max(given), sum(given) - max(given)
            out = statistics.row_count(node) * len(node.columns) * GATHER_COST
            return probed * PROBE_COST + built * BUILD_COST + out
        case Project(items=items):
            return given[0] * sum(_computed(expression) for _, expression in items)
        case Aggregate(keys=keys, aggregates=aggregates):
            kinds = (key.type for _, key in keys)
            row = sum(TEXT_KEY_COST if _is_text(kind) else KEY_COST for kind in kinds)
            row += sum(_computed(key) for _, key in keys)
            arguments = (each for _, call in aggregates for each in call.arguments)
            row += ADD_COST * len(aggregates) + sum(map(_computed, arguments))
            return given[0] * row
        case _:
            return sum(given) * ADD_COST
