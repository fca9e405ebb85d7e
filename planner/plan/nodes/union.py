"""Union: the rows of several plans."""

from __future__ import annotations

from dataclasses import field
from operator import is_
from typing import TYPE_CHECKING

from raydb.planner.plan.nodes.node import Node
from raydb.planner.plan.nodes.project import only_columns
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Column
    from raydb.planner.plan.nodes import Plan
    from raydb.planner.plan.statistics import Statistics


@dataclass(frozen=True, slots=True)
class Union(Node):
    """The rows of all sources (UNION ALL): column i is column i of each source, by position."""

    explain_name = "ConcatenateRows"
    column_fields = ("columns",)
    source_fields = ("sources",)

    sources: tuple[Plan, ...] = field()
    columns: tuple[Column, ...] = field()

    @property
    def required_columns(self) -> frozenset[Column]:
        return frozenset(column for source in self.sources for column in source.columns)

    @property
    def summary(self) -> str:
        return f"{len(self.sources)} sources"

    def prune(self, needed: frozenset[Column]) -> Plan:
        places = [i for i, column in enumerate(self.columns) if column in needed]
        sources = tuple([prune_to_places(source, places) for source in self.sources])
        if len(places) == len(self.columns) and all(map(is_, sources, self.sources)):
            return self
        return Union(sources, tuple([self.columns[i] for i in places]))

    def estimate(self, statistics: Statistics) -> float:
        return sum(statistics.row_count(source) for source in self.sources)

    def never_null(self, catalog: CatalogInfo) -> frozenset[Column]:
        known = [source.never_null(catalog) for source in self.sources]
        given = zip(*(source.columns for source in self.sources), strict=True)
        return frozenset(
            column
            for column, theirs in zip(self.columns, given, strict=True)
            if all(each in those for each, those in zip(theirs, known, strict=True))
        )


def prune_to_places(source: Plan, places: Iterable[int]) -> Plan:
    """Return the source with only the columns at some places, in their order."""
    columns = source.columns
    kept = tuple(columns[place] for place in places)
    return only_columns(source.prune(frozenset(kept)), kept)
