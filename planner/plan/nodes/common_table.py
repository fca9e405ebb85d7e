"""CommonTable, Recursive, KeyedRecursive and WorkingTable: the queries of WITH."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, ClassVar

from raydb.planner.plan.nodes.node import Node
from raydb.values import dataclass

if TYPE_CHECKING:
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Column
    from raydb.planner.plan.nodes import Plan
    from raydb.planner.plan.statistics import Statistics


@dataclass(frozen=True, slots=True)
class CommonTable(Node):
    """A reference to a common table expression, whose columns have these numbers here.

    References with the same `number` hold the same query; it runs once. The rule
    `inline_common_tables` puts the query in the place of a reference that is the only one, and
    where the query is not worth keeping, unless `materialized` says what to do.
    """

    explain_name = "SharedRows"
    column_fields = ("columns",)

    number: int
    name: str
    query: Plan
    columns: tuple[Column, ...] = field()
    materialized: bool | None = None

    @property
    def children(self) -> tuple[Plan, ...]:
        return (self.query,)

    @property
    def summary(self) -> str:
        return self.name

    def estimate(self, statistics: Statistics) -> float:
        return statistics.row_count(self.query)

    def never_null(self, catalog: CatalogInfo) -> frozenset[Column]:
        known = self.query.never_null(catalog)
        pairs = zip(self.columns, self.query.columns, strict=True)
        return frozenset(column for column, theirs in pairs if theirs in known)


@dataclass(frozen=True, slots=True)
class WorkingTable(Node):
    """In the step of the Recursive node of this number: the rows that the last step has added.

    `whole`: those of all steps so far, `recurring.t`.
    """

    explain_name = "WorkingRows"
    column_fields = ("columns",)

    number: int
    columns: tuple[Column, ...] = field()
    whole: bool = False

    @property
    def summary(self) -> str:
        names = ", ".join(column.name for column in self.columns)
        return f"all so far: {names}" if self.whole else names

    def estimate(self, statistics: Statistics) -> float:
        return 1000.0  # nothing is known of it


@dataclass(frozen=True, slots=True)
class Recursive(Node):
    """WITH RECURSIVE: the rows of `base`, and of `step` over the rows added last, until none are.

    `distinct`: rows that were there already are not added again (UNION).
    """

    explain_name = "RecursiveRows"
    column_fields = ("columns",)
    source_fields: ClassVar[tuple[str, ...]] = ("base", "step")

    number: int
    base: Plan
    step: Plan
    columns: tuple[Column, ...] = field()
    distinct: bool

    @property
    def required_columns(self) -> frozenset[Column]:
        return frozenset((*self.base.columns, *self.step.columns))

    @property
    def summary(self) -> str:
        return "UNION" if self.distinct else "UNION ALL"

    def estimate(self, statistics: Statistics) -> float:
        return statistics.row_count(self.base) + statistics.row_count(self.step)


@dataclass(frozen=True, slots=True)
class KeyedRecursive(Recursive):
    """WITH RECURSIVE ... USING KEY: one row for each key, and `step` over those that changed last.

    The working table `inputs` is what `kept` reads. Its first plan makes one row a key of rows as
    `base` and `step` give them; the second one of two such rows, an older and a newer. Where there
    is no second, the first runs over all rows that ever came for the keys of the last ones.
    `keys` are places in `columns`. `distinct`: the step reads the rows of keys that are other than
    before; without it all that came, as they came. Bamberg, Hirn, Grust, "How DuckDB is USING KEY
    to Unlock Recursive Query Performance", SIGMOD 2025.
    """

    explain_name = "KeyedRecursiveRows"
    column_fields = ("columns",)
    source_fields = ("base", "step", "kept")

    keys: tuple[int, ...]
    inputs: int
    kept: tuple[Plan, ...]

    @property
    def sources(self) -> tuple[Plan, ...]:
        return (self.base, self.step, *self.kept)

    @property
    def required_columns(self) -> frozenset[Column]:
        return frozenset(column for source in self.sources for column in source.columns)

    @property
    def summary(self) -> str:
        names = ", ".join(self.columns[place].name for place in self.keys)
        return f"{'UNION' if self.distinct else 'UNION ALL'} by {names}"
