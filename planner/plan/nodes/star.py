"""Star: an aggregate as a fused job sees it, or why none does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.planner.expressions.nodes import attributes_of
from raydb.values import dataclass

if TYPE_CHECKING:
    from raydb.planner.expressions.nodes import Attribute, Column, Expression
    from raydb.planner.plan.nodes import Plan
    from raydb.planner.plan.nodes.node import Calls, Items


@dataclass(frozen=True, slots=True)
class Given:
    """A subquery that runs first: the values of its one row, or of `mark` whether it has any.

    Without a row the values are NULL. listed: stands for the values of its one column in all rows.
    """

    plan: Plan
    mark: Column | None = None
    listed: Column | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that predicates read."""
        only = self.listed if self.mark is None else self.mark
        return self.plan.columns if only is None else (only,)


class _Read:
    """What was found of a star, for the choice of a BVH asks every one."""

    __slots__ = ("_scanned",)
    _scanned: frozenset[Attribute]


@dataclass(frozen=True, slots=True)
class Star(_Read):
    """An aggregate as one fact table sees it; all expressions are over attributes.

    predicates: conjuncts. `tables` are the joined tables, the fact table first. given: what
    predicates read of subqueries, whose values are constants once these have run.
    """

    fact: str
    tables: tuple[str, ...]
    predicates: tuple[Expression, ...]
    keys: Items
    aggregates: Calls
    given: tuple[Given, ...] = ()

    @property
    def scanned(self) -> frozenset[Attribute]:
        """The attributes of its predicates."""
        known: frozenset[Attribute] | None = getattr(self, "_scanned", None)
        if known is None:
            known = attributes_of(*self.predicates)
            object.__setattr__(self, "_scanned", known)
        return known


@dataclass(frozen=True, slots=True)
class NoStar:
    """Why an aggregate is no star: a phrase that EXPLAIN prints."""

    reason: str
