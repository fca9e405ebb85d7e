"""KeyFilter: the rows of one side of a join that the keys of its other side leave."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.planner.expressions.show import show
from raydb.planner.plan.nodes.node import Node
from raydb.values import dataclass

if TYPE_CHECKING:
    from raydb.planner.expressions.nodes import Column, Expression
    from raydb.planner.plan.nodes import Plan


@dataclass(frozen=True, slots=True)
class KeyFilter(Node):
    """Rows whose column may be among the keys of a join's other side, which has run by then.

    Others may be among them, and all are where the keys are too many or of a type without codes.
    number: that of the filter in its `HashJoin`. key: what the keys are, for EXPLAIN alone: the
    node has no column of it.
    """

    explain_name = "KeyFilter"
    source_fields = ("source",)
    expression_fields = ("column",)

    source: Plan
    column: Column
    number: int
    key: Expression

    @property
    def summary(self) -> str:
        return f"{show(self.column)} among the values of {show(self.key)}"
