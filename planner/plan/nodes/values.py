"""Values, Constants and Series: rows that no table holds."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, ClassVar

from raydb.planner.plan.nodes.node import Node
from raydb.planner.plan.nulls import is_never_null
from raydb.values import dataclass

if TYPE_CHECKING:
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Column, Expression, Literal
    from raydb.planner.plan.statistics import Statistics


@dataclass(frozen=True, slots=True)
class Values(Node):
    """Rows written in the statement; every row has one constant expression a column."""

    explain_name = "ConstantRows"
    column_fields = ("columns",)
    expression_fields: ClassVar[tuple[str, ...]] = ("rows",)

    columns: tuple[Column, ...] = field()
    rows: tuple[tuple[Expression, ...], ...]

    @property
    def summary(self) -> str:
        return "1 row" if len(self.rows) == 1 else f"{len(self.rows)} rows"

    def estimate(self, statistics: Statistics) -> float:
        return float(len(self.rows))

    def never_null(self, catalog: CatalogInfo) -> frozenset[Column]:
        return frozenset(
            column
            for place, column in enumerate(self.columns)
            if all(is_never_null(row[place], ()) for row in self.rows)
        )


@dataclass(frozen=True, slots=True)
class Constants(Values):
    """Rows of literals that no rule looks at: those of a function, as of all functions' names."""

    expression_fields = ()

    rows: tuple[tuple[Literal, ...], ...] = field(hash=False)


@dataclass(frozen=True, slots=True)
class Series(Node):
    """The integers `start`, `start + step`, ... before `stop`, as a BIGINT column."""

    explain_name = "SeriesRows"
    column_fields = ("column",)

    column: Column
    start: int
    stop: int
    step: int

    @property
    def summary(self) -> str:
        return f"{self.start} to {self.stop} by {self.step}"

    def estimate(self, statistics: Statistics) -> float:
        return float(len(range(self.start, self.stop, self.step)))

    def never_null(self, catalog: CatalogInfo) -> frozenset[Column]:
        return frozenset({self.column})
