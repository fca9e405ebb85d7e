"""Aggregate: one row a group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raydb.planner.expressions.nodes import expressions_of
from raydb.planner.expressions.show import show, show_aggregate
from raydb.planner.plan.nodes.node import Calls, Items, Node, read_by
from raydb.planner.plan.nodes.star import NoStar, Star
from raydb.planner.plan.nulls import is_never_null
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import AggregateCall, Column
    from raydb.planner.plan.nodes import Plan
    from raydb.planner.plan.statistics import Statistics


_COUNTS = ("count", "count_star")
_OF_VALUES = ("sum", "min", "max", "avg")


class GroupedRows(Node):
    """The base of nodes that give one row for each distinct tuple of keys."""

    __slots__ = ()

    definition_fields = ("keys", "aggregates")

    if TYPE_CHECKING:

        @property
        def keys(self) -> Items:
            """The group keys."""

        @property
        def aggregates(self) -> Calls:
            """The aggregates of each group."""

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple([column for column, _ in (*self.keys, *self.aggregates)])

    @property
    def summary(self) -> str:
        calls = ", ".join(show_aggregate(call) for _, call in self.aggregates)
        keys = ", ".join(show(key) for _, key in self.keys)
        if not calls:
            return f"distinct {keys}"
        return f"{calls} by {keys}" if keys else calls


@dataclass(frozen=True, slots=True)
class GroupingSets:
    """The sets of an aggregate's keys, by position, that rows are grouped by, each on its own.

    A key that is not in a set is NULL in its groups; the INTEGER column `number` tells the set.
    """

    sets: tuple[tuple[int, ...], ...]
    number: Column


@dataclass(frozen=True, slots=True)
class Aggregate(GroupedRows):
    """One row for each distinct tuple of keys; exactly one row where there are no keys.

    `star` is set by the rule `match_stars`: how a fused job sees this node, or why it can't. When
    the plan runs it has the reason why no fused job answers the node, empty where the node puts
    fused jobs together.
    """

    explain_name = "HashAggregate"
    source_fields = ("source",)

    source: Plan
    keys: Items
    aggregates: Calls
    star: Star | NoStar | None = None
    grouping: GroupingSets | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        number = () if self.grouping is None else (self.grouping.number,)
        return (*(c for c, _ in self.keys), *(c for c, _ in self.aggregates), *number)

    @property
    def defined(self) -> tuple[Column, ...]:
        passed = {column for column, key in self.keys if column == key}
        return tuple(column for column in self.columns if column not in passed)

    @property
    def details(self) -> dict[str, Any]:
        reason = self.star.reason if isinstance(self.star, NoStar) else ""
        said = {"general path": reason} if reason else {}
        return said if self.grouping is None else {**said, "sets": self._sets(self.grouping)}

    def _sets(self, grouping: GroupingSets) -> str:
        names = [column.name for column, _ in self.keys]
        return ", ".join(f"({', '.join(names[place] for place in s)})" for s in grouping.sets)

    def prune(self, needed: frozenset[Column]) -> Plan:
        kept = tuple([item for item in self.aggregates if item[0] in needed])
        if isinstance(self.star, Star):
            if len(kept) == len(self.aggregates):
                return self
            asked = tuple([item for item in self.star.aggregates if item[0] in needed])
            return replace(self, aggregates=kept, star=replace(self.star, aggregates=asked))
        calls = (call for _, call in kept)
        read = read_by((*(e for _, e in self.keys), *(e for c in calls for e in expressions_of(c))))
        source = self.source.prune(read)
        is_same = source is self.source and len(kept) == len(self.aggregates)
        return self if is_same else replace(self, source=source, aggregates=kept)

    def estimate(self, statistics: Statistics) -> float:
        if not self.keys:
            return 1.0
        groups = statistics.group_count(self.source, [key for _, key in self.keys])
        return min(groups, statistics.row_count(self.source))

    def never_null(self, catalog: CatalogInfo) -> frozenset[Column]:
        if self.grouping is not None:
            return frozenset()
        known = self.source.never_null(catalog)
        keys = frozenset(column for column, key in self.keys if is_never_null(key, known))
        return keys.union(c for c, call in self.aggregates if self._has_value(call, known))

    def _has_value(self, call: AggregateCall, known: frozenset[Column]) -> bool:
        """Tell whether an aggregate cannot be NULL where the known columns are not."""
        if call.function in _COUNTS:
            return True
        # Every group of an aggregate with keys has a row.
        has_rows = bool(self.keys) and call.filter is None and call.function in _OF_VALUES
        return has_rows and all(is_never_null(argument, known) for argument in call.arguments)
