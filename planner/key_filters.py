"""Keys of the smaller side of a join as a filter of its larger side, as deep as their column is.

part[brand = 1] JOIN (lineitem JOIN orders)   ->  lineitem rows of these parts alone meet orders
part[brand = 1] JOIN (sum by l_partkey)       ->  the sums of these parts alone

The smaller side runs first, and its keys are a bitmap that the scan of the larger one reads. What
stands between a join and a scan keeps or drops each row by itself, or each group by its key. A sum
that a fused job could give for all groups is computed on the general path for few of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from raydb.planner.expressions.nodes import Column, conjuncts
from raydb.planner.expressions.registry import is_volatile, may_raise
from raydb.planner.index_lookup import find_lookup
from raydb.planner.plan.nodes import (
    Aggregate,
    Filter,
    InnerJoin,
    KeyFilter,
    OuterJoin,
    Plan,
    Project,
    Scan,
    SemiJoin,
    SentKeys,
    Sort,
    Star,
    Union,
)
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Expression
    from raydb.planner.plan.statistics import Statistics

    _Join = InnerJoin | OuterJoin | SemiJoin
    _Side = Literal["left", "right"]

# A smaller table is read in less time than its filter takes to make.
_MIN_ROWS = 100_000

# Keys are not sent where they are expected to leave more than this share of the rows, and are not
# used where they turn out to be more than the other share of the values that the column has.
_EXPECTED_SHARE = 0.8
_MOST_SHARE = 0.25

# Of so few groups of a star the general path is done before a fused job has seen all rows.
_FEW_GROUPS = 0.1

_FILTERED: dict[str, tuple[_Side, ...]] = {
    "inner": ("left", "right"),
    "semi": ("left", "right"),
    "anti": ("right",),
    "mark": ("right",),
    "left": ("right",),
    "right": ("left",),
    "full": (),
}


@dataclass(frozen=True, slots=True)
class KeySending:
    """What the choice of filters depends on.

    numbers: for new filters. unfused: returns a star as it is without a fused job for a share of
    its groups, None where the job is the better way even for so few.
    """

    statistics: Statistics
    numbers: Iterator[int]
    unfused: Callable[[Aggregate, float], Plan | None]


@dataclass(frozen=True, slots=True)
class Sent:
    """The sides of a join, with filters in the one that is filtered, and the keys for these."""

    left: Plan
    right: Plan
    filtered: _Side
    keys: tuple[SentKeys, ...]


def send_keys(
    join: _Join,
    pairs: Sequence[tuple[Expression, Expression]],
    null_safe: Collection[int],
    sending: KeySending,
) -> Sent:
    """Return the sides of a join, the larger one filtered by the keys of the smaller one.

    pairs: the keys of both sides, those at the places in `null_safe` with NULL for NULL.
    """
    left, right = join.sources
    statistics = sending.statistics
    kind = "inner" if isinstance(join, InnerJoin) else join.kind
    if statistics.largest_table(join) < _MIN_ROWS:  # a filter would be of no use
        return Sent(left, right, "right", ())
    filtered = _filtered_side(left, right, statistics)
    is_left = filtered == "left"
    if filtered not in _FILTERED[kind]:
        return Sent(left, right, "right", ())
    plan, other = (left, right) if is_left else (right, left)
    keys = []
    for place, pair in enumerate(pairs):
        column, key = pair if is_left else (pair[1], pair[0])
        if place in null_safe or not isinstance(column, Column) or not isinstance(key, Column):
            continue
        values = statistics.value_count(plan, column)
        share = statistics.distinct_count(other, key) / values
        if share > _EXPECTED_SHARE:
            continue
        number = next(sending.numbers)
        found = _Placing(number, key, share, sending).place(plan, column)
        if found is not None:
            plan = found
            keys.append(SentKeys(number, place, _MOST_SHARE * values))
    sides = (plan, right) if is_left else (left, plan)
    return Sent(*sides, filtered, tuple(keys))


def _filtered_side(left: Plan, right: Plan, statistics: Statistics) -> _Side:
    """Return the side that is filtered: that with a large table, of two with one the larger."""
    if statistics.largest_table(right) < _MIN_ROWS:
        return "left"
    if statistics.largest_table(left) < _MIN_ROWS:
        return "right"
    return "left" if statistics.row_count(left) >= statistics.row_count(right) else "right"


@dataclass(frozen=True, slots=True)
class _Placing:
    """A filter on its way down; share: which part of the column's values the keys may be."""

    number: int
    key: Expression
    share: float
    sending: KeySending

    @property
    def catalog(self) -> CatalogInfo:
        """The tables that scans read."""
        return self.sending.statistics.catalog

    def place(self, plan: Plan, column: Column) -> Plan | None:
        """Return a plan with the filter above the scan of the column; None where it is no use."""
        match plan:
            case Scan(table=table, columns=columns):
                if column in columns and self.catalog.tables[table].row_count >= _MIN_ROWS:
                    return KeyFilter(plan, column, self.number, self.key)
                return None
            case KeyFilter(source=source) | Sort(source=source):
                return self._in_source(plan, source, column)
            case Filter(source=source, predicate=predicate):
                return self._in_filter(plan, source, predicate, column)
            case Project(source=source, items=items):
                below = dict(items).get(column)
                if not isinstance(below, Column) or any(is_volatile(e) for _, e in items):
                    return None
                return self._in_source(plan, source, below)
            case Aggregate(grouping=None):
                return self._in_aggregate(plan, column)
            case InnerJoin(sources=sources):
                return self._in_one_of(plan, sources, column)
            case OuterJoin(kind="left") | SemiJoin():
                return self._in_one_of(plan, (plan.left,), column)
            case OuterJoin(kind="right"):
                return self._in_one_of(plan, (plan.right,), column)
            case Union():
                return self._in_union(plan, column)
            case _:
                return None

    def _in_source(
        self, plan: KeyFilter | Sort | Filter | Project, source: Plan, column: Column
    ) -> Plan | None:
        below = self.place(source, column)
        return None if below is None else replace(plan, source=below)

    def _in_filter(
        self, plan: Filter, source: Plan, predicate: Expression, column: Column
    ) -> Plan | None:
        if any(is_volatile(part) or may_raise(part) for part in conjuncts(predicate)):
            return None  # It fails for the same rows as ever.
        if isinstance(source, Scan) and find_lookup([predicate], self.catalog.tables[source.table]):
            return None
        return self._in_source(plan, source, column)

    def _in_aggregate(self, plan: Aggregate, column: Column) -> Plan | None:
        key = dict(plan.keys).get(column)
        below = self.place(plan.source, key) if isinstance(key, Column) else None
        if below is None or not isinstance(plan.star, Star):
            return None if below is None else replace(plan, source=below)
        found = self.sending.unfused(plan, self.share) if self.share <= _FEW_GROUPS else None
        return None if found is None else self.place(found, column)

    def _in_one_of(self, plan: _Join, sources: tuple[Plan, ...], column: Column) -> Plan | None:
        source = next((each for each in sources if column in each.columns), None)
        below = None if source is None else self.place(source, column)
        if below is None:
            return None
        return plan.map_sources(lambda each: below if each is source else each)

    def _in_union(self, plan: Union, column: Column) -> Plan | None:
        place = plan.columns.index(column)
        branches = [(each, self.place(each, each.columns[place])) for each in plan.sources]
        if all(found is None for _, found in branches):
            return None
        return replace(plan, sources=tuple(found or each for each, found in branches))
