"""Star: an aggregate as a fused job sees it, or why none does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raydb.planner.expressions.nodes import Expression
    from raydb.planner.plan.nodes.node import Calls, Items


@dataclass(frozen=True, slots=True)
class Star:
    """An aggregate as one fact table sees it; all expressions are over attributes.

    predicates: conjuncts. `tables` are the joined tables, the fact table first.
    """

    fact: str
    tables: tuple[str, ...]
    predicates: tuple[Expression, ...]
    keys: Items
    aggregates: Calls


@dataclass(frozen=True, slots=True)
class NoStar:
    """Why an aggregate is no star: a phrase that EXPLAIN prints."""

    reason: str
