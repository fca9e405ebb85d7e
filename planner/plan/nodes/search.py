"""Search, which asks a table function about the rows of one plan for each row of another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from raydb.planner.plan.nodes.node import Node, read_by
from raydb.planner.plan.nodes.values import Values
from raydb.values import dataclass

if TYPE_CHECKING:
    from raydb.planner.expressions.nodes import Column, Expression
    from raydb.planner.lower import Lowering
    from raydb.planner.plan.nodes import Plan
    from raydb.planner.plan.nodes.project import Project
    from raydb.planner.plan.statistics import Statistics
    from raydb.planner.plan.table_function import SearchFunction

Pairs: TypeAlias = "tuple[tuple[Column, Column], ...]"


@dataclass(frozen=True, slots=True)
class Search(Node):
    """Each left row with the rows that a function makes for it of the right rows, in its order.

    given: arguments of the call, by name, over the left rows. read: what the function reads of the
    right rows. options: what else the call says. found: the columns that the function makes; the
    right ones are before them where it gives rows of its table.

    keep: left rows for which nothing is found stay, with NULLs. pairs: a left column and a right
    one each; only right rows that have a left row's values there are searched for it, NULL being a
    value. place: a right column that these are in the order of, where they are not in their own.
    """

    source_fields = ("left", "right")
    expression_fields = ("read",)
    definition_fields = ("given",)

    function: SearchFunction
    left: Plan
    right: Plan
    given: tuple[tuple[str, Expression], ...]
    read: tuple[Expression, ...]
    options: Any
    found: tuple[Column, ...]
    keep: bool = False
    pairs: Pairs = ()
    place: Column | None = None

    @property
    def defined(self) -> tuple[Column, ...]:
        return self.found

    @property
    def columns(self) -> tuple[Column, ...]:
        rows = self.right.columns if self.function.gives_rows else ()
        return (*self.left.columns, *rows, *self.found)

    @property
    def required_columns(self) -> frozenset[Column]:
        pairs = (column for pair in self.pairs for column in pair)
        place = () if self.place is None else (self.place,)
        return read_by(self.expressions).union(pairs, place)

    def estimate(self, statistics: Statistics) -> float:
        return statistics.row_count(self.left) * self.function.rows_per_row(self)


@dataclass(frozen=True, slots=True)
class SearchRows(Search):
    """A search whose function has chosen how it runs.

    how: what it has chosen. selection: what gives the numbers of those rows of a table, the right
    plan, that count; None for all.
    """

    how: Any = None
    selection: Project | None = None

    @staticmethod
    def of(plan: Search, lowering: Lowering, how: Any = None, **changes: Any) -> SearchRows:
        """Return a search that runs, over sources that do; `changes` are other fields."""
        lowered = {"left": lowering.lower(plan.left), **changes}
        if "right" not in changes:
            lowered["right"] = lowering.lower(plan.right)
        kept = {name: getattr(plan, name) for name in Search.__dataclass_fields__}
        return SearchRows(**kept | lowered, how=how)

    @property
    def explain_name(self) -> str:  # type: ignore[override]
        return self.function.explain_name

    @property
    def children(self) -> tuple[Plan, ...]:
        is_alone = isinstance(self.left, Values) and not self.left.columns
        left = () if is_alone and not self.function.explains_lone_row else (self.left,)
        return (*left, self.right if self.selection is None else self.selection)

    @property
    def summary(self) -> str:
        return self.function.summary(self)

    @property
    def details(self) -> dict[str, Any]:
        return self.function.details(self)
