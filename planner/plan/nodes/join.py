"""Joins as they are asked for, and HashJoin, which all of them become."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal

from raydb.planner.expressions.show import INFIX, show
from raydb.planner.plan.nodes.node import Items, Node
from raydb.planner.plan.nulls import required_by
from raydb.values import dataclass

if TYPE_CHECKING:
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Column, Expression
    from raydb.planner.plan.nodes import Plan
    from raydb.planner.plan.statistics import Statistics


@dataclass(frozen=True, slots=True)
class InnerJoin(Node):
    """All combinations of the sources' rows for which every condition is true."""

    source_fields = ("sources",)
    expression_fields = ("conditions",)

    sources: tuple[Plan, ...] = field()
    conditions: tuple[Expression, ...]

    def estimate(self, statistics: Statistics) -> float:
        return statistics.joined_row_count(self.sources, self.conditions)

    def never_null(self, catalog: CatalogInfo) -> frozenset[Column]:
        known = frozenset(c for source in self.sources for c in source.never_null(catalog))
        return known | required_by(self.conditions, self.columns)


@dataclass(frozen=True, slots=True)
class OuterJoin(Node):
    """A join that keeps the rows without a partner on the left, the right or both sides."""

    source_fields = ("left", "right")
    expression_fields = ("conditions",)

    kind: Literal["left", "right", "full"]
    left: Plan
    right: Plan
    conditions: tuple[Expression, ...]

    def estimate(self, statistics: Statistics) -> float:
        joined = statistics.joined_row_count(self.sources, self.conditions)
        return max(joined, statistics.row_count(self.left), statistics.row_count(self.right))

    def never_null(self, catalog: CatalogInfo) -> frozenset[Column]:
        if self.kind == "full":
            return frozenset()
        return (self.left if self.kind == "left" else self.right).never_null(catalog)


@dataclass(frozen=True, slots=True)
class SemiJoin(Node):
    """The left rows, each once, by whether they have a partner on the right.

    semi: those with one. anti: those without. mark: all of them, with the BOOLEAN column `mark`
    that is true for those with one and false for the others.
    """

    source_fields = ("left", "right")
    expression_fields = ("conditions",)
    column_fields = ("mark",)

    kind: Literal["semi", "anti", "mark"]
    left: Plan
    right: Plan
    conditions: tuple[Expression, ...]
    mark: Column | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        return (*self.left.columns, *self.defined)

    def estimate(self, statistics: Statistics) -> float:
        size = statistics.row_count(self.left)
        if self.kind == "mark":
            return size
        kept = min(size, statistics.joined_row_count(self.sources, self.conditions))
        return kept if self.kind == "semi" else max(size - kept, size / 10)

    def never_null(self, catalog: CatalogInfo) -> frozenset[Column]:
        return self.left.never_null(catalog).union(self.defined)


@dataclass(frozen=True, slots=True)
class AsofJoin(Node):
    """Each left row with the one right row that is nearest to it among those of equal keys.

    Of the right rows for which `left_value <comparison> right_value`, which is an inequality, it
    is one with the value nearest to the left one. NULL matches nothing, but NULL for the keys at
    the places in `null_safe`. A left join keeps the left rows without a partner.
    """

    explain_name = "AsofJoin"
    source_fields = ("left", "right")
    expression_fields = ("left_keys", "right_keys", "left_value", "right_value")

    kind: Literal["inner", "left"]
    comparison: Literal["less", "less_equal", "greater", "greater_equal"]
    left: Plan
    right: Plan
    left_keys: tuple[Expression, ...]
    right_keys: tuple[Expression, ...]
    left_value: Expression
    right_value: Expression
    null_safe: frozenset[int] = frozenset()

    @property
    def summary(self) -> str:
        nearest = f"{show(self.left_value)} {INFIX[self.comparison]} {show(self.right_value)}"
        equal = _shown_keys(self.left_keys, self.right_keys, self.null_safe)
        return f"{self.kind.upper()} {' AND '.join((*equal, nearest))}"

    def never_null(self, catalog: CatalogInfo) -> frozenset[Column]:
        return self.left.never_null(catalog)


@dataclass(frozen=True, slots=True)
class Apply(Node):
    """LATERAL: each left row joined with the rows that the right plan has for it.

    The right plan reads the left row through the columns of `arguments` only. A left Apply keeps
    the left rows without a partner.
    """

    source_fields = ("left", "right")
    expression_fields = ("conditions",)
    definition_fields = ("arguments",)

    kind: Literal["inner", "left"]
    left: Plan
    right: Plan
    arguments: Items
    conditions: tuple[Expression, ...]

    @property
    def defined(self) -> tuple[Column, ...]:
        return ()

    def estimate(self, statistics: Statistics) -> float:
        return statistics.row_count(self.left) * statistics.row_count(self.right)


@dataclass(frozen=True, slots=True)
class SentKeys:
    """Keys of one side of a join that filter the other side, which runs after it.

    number: that of the `KeyFilter`; place: among the keys; most: more keys would leave most rows.
    """

    number: int
    place: int
    most: float


@dataclass(frozen=True, slots=True)
class HashJoin(Node):
    """An equi-join: partners are found by their keys. NULL keys never match.

    The keys at the places in `null_safe` are an exception: they match where both are NULL. Without
    keys it is a cross product. `residual` conditions decide, with the keys, whether two rows are
    partners; in an outer join a row without partners is kept with NULLs. A semi join keeps the
    left rows with a partner, an anti join those without, and a mark join all of them, with the
    column `mark` to tell.

    sent: the keys that filter the side `filtered` as it runs, see `KeyFilter`.
    """

    explain_name = "HashJoin"
    source_fields = ("left", "right")
    expression_fields = ("left_keys", "right_keys", "residual")
    column_fields = ("mark",)

    kind: Literal["inner", "left", "right", "full", "semi", "anti", "mark"]
    left: Plan
    right: Plan
    left_keys: tuple[Expression, ...]
    right_keys: tuple[Expression, ...]
    residual: tuple[Expression, ...] = ()
    mark: Column | None = None
    null_safe: frozenset[int] = frozenset()
    filtered: Literal["left", "right"] = "right"
    sent: tuple[SentKeys, ...] = ()

    @property
    def columns(self) -> tuple[Column, ...]:
        if self.kind in ("semi", "anti", "mark"):
            return (*self.left.columns, *self.defined)
        return (*self.left.columns, *self.right.columns)

    @property
    def summary(self) -> str:
        keys = " AND ".join(_shown_keys(self.left_keys, self.right_keys, self.null_safe))
        kind = self.kind.upper() if self.left_keys or self.residual else "CROSS"
        return f"{kind} {keys}".rstrip()

    @property
    def details(self) -> dict[str, Any]:
        return {"also": " AND ".join(show(condition) for condition in self.residual)}


def _shown_keys(
    left: tuple[Expression, ...], right: tuple[Expression, ...], null_safe: frozenset[int]
) -> list[str]:
    return [
        f"{show(one)} {INFIX['not_distinct'] if place in null_safe else '='} {show(other)}"
        for place, (one, other) in enumerate(zip(left, right, strict=True))
    ]
