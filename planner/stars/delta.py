"""Stars in parts: of other rows, by conditions, of other aggregates; then they are put together.

Beside a BVH that lacks the newest rows both parts are asked apart:

    HashAggregate                  sums of sums, sums of counts, least of least, by the query's keys
      ConcatenateRows
        FusedScanAggregate         the rows that the BVH holds
        DeltaScan                  the rows that were appended since

AVG(x) becomes SUM(x) and COUNT(x); for COUNT(DISTINCT x) both parts group by x as well. Integers
and decimals stay exact: what a part adds up has the type of the whole, an average's sum 38 digits.

A condition of aggregates is a group key, asked of a few codes and not computed for every row:

    SELECT state, sum(price) FILTER (WHERE quantity > 50) ... GROUP BY state

    job         SELECT state, quantity > 50 AS c, sum(price) AS s ... GROUP BY state, c
    its groups  SELECT state, sum(CASE WHEN c THEN s END) ... GROUP BY state

Several COUNT(DISTINCT x) are a job each, as groups by all of their values would be too many.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from raydb.kernels.backends.aggregates import VARIANCES
from raydb.kernels.backends.choice import ELSE
from raydb.planner.expressions.nodes import AggregateCall, Call, Column, Expression, Literal
from raydb.planner.expressions.registry import may_raise
from raydb.planner.plan.nodes import Aggregate, Project, Union
from raydb.planner.plan.nodes.aggregate import GroupedRows
from raydb.planner.stars.answers import asks_values
from raydb.planner.stars.table_scan import FusedTableScan, scan_obstacle
from raydb.storage.type_names import sql_type_name
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from raydb.planner.catalog import CatalogInfo, NewerRows
    from raydb.planner.plan.nodes import PhysicalPlan, Star
    from raydb.planner.plan.nodes.node import Calls, Items
    from raydb.planner.stars.fused_scan import FusedScanAggregate

# Fewer rows are looked up one by one; for more, whole dimensions are made into codes.
MIN_SCANNED = 2**15

# What is the same of parts as of rows.
_SELF_MERGING = frozenset({"sum", "min", "max", "product", "bit_and", "bit_or", "bit_xor"})

# Of more conditions the groups may be as many as the rows.
_MOST_CONDITIONS = 8

# The sum of 2**31 decimals of so many digits has at most 38.
_SUMMED_DIGITS = 28


@dataclass(frozen=True, eq=False, slots=True)
class DeltaScan(GroupedRows):
    """A star over the rows of its fact table that a BVH does not hold yet.

    scan: the pass over these rows as a fused job; where it is None they are looked up through the
        foreign keys and aggregated as rows of the general path, for the `reason`.
    """

    explain_name = "DeltaScan"

    star: Star
    bvh: str
    newer: NewerRows
    scan: FusedTableScan | None
    reason: str

    @property
    def details(self) -> dict[str, Any]:
        """What EXPLAIN says of the rows and of the way to them."""
        one_pass = "" if self.scan is None else f"one pass on {ELSE.join(self.scan.backends)}"
        return {
            "table": self.star.fact,
            "bvh": self.bvh,
            "rows_touched": self.newer.count,
            "first_row": self.newer.first,
            "by": one_pass or f"lookup ({self.reason})",
        }

    @staticmethod
    def lines(said: Mapping[str, Any]) -> dict[str, Any]:
        """Return the lines of EXPLAIN for the details."""
        return {
            "newer than bvh": said["bvh"],
            "rows": f"{said['rows_touched']}, from row {said['first_row']} on",
            "by": said["by"],
        }

    @property
    def keys(self) -> Items:
        """The group keys."""
        return self.star.keys

    @property
    def aggregates(self) -> Calls:
        """The aggregates."""
        return self.star.aggregates


@dataclass(frozen=True, slots=True)
class Parted:
    """A star whose groups can be made of the groups of parts of its rows.

    star: what each part is asked; merged: the query's aggregates over the columns of that, and
    items: its output columns, in order, over the merged aggregates.
    """

    star: Star
    merged: tuple[tuple[Column, AggregateCall], ...]
    items: tuple[tuple[Column, Expression], ...]


def part_star(star: Star, numbers: Iterator[int] | None = None) -> Parted | str:
    """Take a star's aggregates apart, or say why that can't be.

    numbers: those of new columns, by default any that the star does not have.
    """
    if numbers is None:
        used = (column.number for column, _ in (*star.keys, *star.aggregates))
        numbers = itertools.count(max(used, default=0) + 1)
    partial: dict[AggregateCall, Column] = {}
    distinct: dict[Expression, Column] = {}

    def ask(call: AggregateCall) -> Column:
        if call not in partial:
            partial[call] = Column(next(numbers), call.function, call.type)
        return partial[call]

    merged: list[tuple[Column, AggregateCall]] = []
    items: list[tuple[Column, Expression]] = [(column, column) for column, _ in star.keys]
    for column, call in star.aggregates:
        total = column
        value: Expression = column
        if call.order_by or (call.distinct and len(call.arguments) != 1):
            return f"{call.function}() over rows in order is not put together from parts"
        if call.distinct:
            (argument,) = call.arguments
            if argument not in distinct:
                distinct[argument] = Column(next(numbers), "distinct", argument.type)
            whole = replace(call, arguments=(distinct[argument],))
        elif call.function in ("count", "count_star"):
            whole = AggregateCall("sum", (ask(call),), call.type)
            # Where there is no row and no key, a sum is NULL and a count is not.
            total = Column(next(numbers), column.name, column.type)
            value = Call("coalesce", (total, Literal(0, call.type)), call.type)
        elif call.function == "avg":
            kind = call.arguments[0].type
            if pa.types.is_decimal(kind) and kind.precision > _SUMMED_DIGITS:
                return f"the sum that AVG over {sql_type_name(kind)} needs may not fit 38 digits"
            sums = ask(AggregateCall("sum", call.arguments, _exact_type(kind)))
            count = ask(AggregateCall("count", call.arguments, pa.int64()))
            whole = AggregateCall("avg_of_sums", (sums, count), call.type)
        elif call.function in VARIANCES:
            parts = (
                ask(AggregateCall(function, call.arguments, pa.float64()))
                for function in ("avg", "var_pop")
            )
            count = ask(AggregateCall("count", call.arguments, pa.int64()))
            whole = AggregateCall(f"{call.function}_of_parts", (*parts, count), call.type)
        elif call.function not in _SELF_MERGING:
            return f"{call.function}() is not put together from parts"
        else:
            whole = replace(call, arguments=(ask(call),))
        merged.append((total, whole))
        items.append((column, value))
    keys = (*star.keys, *((column, argument) for argument, column in distinct.items()))
    asked = tuple((column, call) for call, column in partial.items())
    return Parted(replace(star, keys=keys, aggregates=asked), tuple(merged), tuple(items))


def _exact_type(kind: pa.DataType) -> pa.DataType:
    """Return the type in which values of a type are added up without loss."""
    if pa.types.is_floating(kind):
        return pa.float64()
    return pa.decimal128(38, kind.scale if pa.types.is_decimal(kind) else 0)


def merge_parts(star: Star, parted: Parted, parts: tuple[PhysicalPlan, ...]) -> PhysicalPlan:
    """Return the plan of a star from the plans that give its parts' groups."""
    columns = tuple(column for column, _ in (*parted.star.keys, *parted.star.aggregates))
    keys = tuple((column, column) for column, _ in star.keys)
    groups = Aggregate(Union(parts, columns), keys, parted.merged)
    return Project(groups, parted.items)


def scan_delta(star: Star, plan: FusedScanAggregate, catalog: CatalogInfo) -> DeltaScan:
    """Return the job on the rows that a BVH lacks."""
    newer = plan.newer
    assert newer is not None
    if newer.count < MIN_SCANNED:
        obstacle: str | None = "few rows"
    else:
        obstacle = scan_obstacle(star, catalog, least_rows=0)
    scan = None
    if obstacle is None:
        reason = f"BVH '{plan.bvh}' does not hold these rows"
        scan = FusedTableScan(star, plan.backends, plan.backend_reason, reason, newer.count)
    return DeltaScan(star, plan.bvh, newer, scan, obstacle or "")


# -- by conditions


def part_conditions(star: Star, numbers: Iterator[int]) -> Parted | None:
    """Return a star with its aggregates' conditions as group keys; None where there are none.

    None, too, where groups are not put together from parts. numbers: those of new columns.
    """
    conditions: dict[Expression, Column] = {}
    chosen: dict[Column, tuple[Column, Literal]] = {}
    aggregates = []
    for column, call in star.aggregates:
        if call.distinct:
            return None
        found = _take_apart(call)
        if found is None:
            aggregates.append((column, call))
            continue
        condition, whole, other = found
        if condition not in conditions:
            conditions[condition] = Column(next(numbers), "condition", condition.type)
        chosen[column] = conditions[condition], other
        aggregates.append((column, whole))
    if not 0 < len(conditions) <= _MOST_CONDITIONS:
        return None
    keys = tuple((column, condition) for condition, column in conditions.items())
    parted = part_star(
        replace(star, keys=(*star.keys, *keys), aggregates=tuple(aggregates)), numbers
    )
    if isinstance(parted, str):
        return None
    hidden = {column for column, _ in keys}
    merged = []
    for (column, _), (total, call) in zip(star.aggregates, parted.merged, strict=True):
        given = call.arguments
        if column in chosen:
            key, other = chosen[column]
            given = tuple(_where(key, value, other) for value in given)
        merged.append((total, replace(call, arguments=given)))
    items = tuple(item for item in parted.items if item[0] not in hidden)
    return Parted(parted.star, tuple(merged), items)


def _take_apart(call: AggregateCall) -> tuple[Expression, AggregateCall, Literal] | None:
    """Return an aggregate's condition, it without that, and the constant of all other rows.

    None where there is no condition, or where other rows count, or would fail.
    """
    match call.arguments:
        case (Call("case", (condition, value, Literal() as other)),) if not may_raise(value):
            if not (other.is_null or (call.function == "sum" and other.value == 0)):
                return None
            if call.function == "count" and isinstance(value, Literal) and not value.is_null:
                return condition, AggregateCall("count_star", (), call.type), other
            return condition, replace(call, arguments=(value,)), other
        case _:
            return None


def _where(condition: Column, value: Expression, other: Literal) -> Expression:
    """Return a number of a group, or what it is where the condition is not true."""
    return Call("case", (condition, value, Literal(other.value, value.type)), value.type)


# -- of other aggregates


def split_values(star: Star) -> list[Star]:
    """Return a star as one for each expression whose values are asked for, and one for the rest.

    Those values are group keys, whose combinations would be many.
    """
    parts: dict[Expression | None, list[tuple[Column, AggregateCall]]] = {}
    for column, call in star.aggregates:
        parts.setdefault(call.arguments[0] if asks_values(call) else None, []).append(
            (column, call)
        )
    return [replace(star, aggregates=tuple(calls)) for calls in parts.values()]


def join_groups(
    star: Star, parts: Sequence[tuple[Star, PhysicalPlan]], numbers: Iterator[int]
) -> PhysicalPlan:
    """Return the plan of a star from those of its aggregates; each gives the same groups."""
    columns = {column: replace(column, number=next(numbers)) for column, _ in star.aggregates}
    keys = tuple((column, column) for column, _ in star.keys)
    sources = []
    for part, plan in parts:
        own = {column for column, _ in part.aggregates}
        items = [
            (known, column if column in own else Literal(None, column.type))
            for column, known in columns.items()
        ]
        sources.append(Project(plan, (*keys, *items)))
    listed = (*(column for column, _ in keys), *columns.values())
    values = tuple(
        (column, AggregateCall("any_value", (known,), column.type))
        for column, known in columns.items()
    )
    return Aggregate(Union(tuple(sources), listed), keys, values)
