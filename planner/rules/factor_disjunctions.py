"""Rule: take out of an OR what all of its branches say.

(k = j AND a) OR (k = j AND b)  ->  k = j AND (a OR b)

so that `k = j` can be the key of a join (TPC-H, query 19).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.planner.expressions.nodes import (
    Call,
    Expression,
    Literal,
    conjunction,
    conjuncts,
)
from raydb.planner.expressions.registry import may_raise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.plan.nodes import Plan


def factor_disjunctions(plan: Plan, _: CatalogInfo) -> Plan:
    """Factor every OR; three-valued logic distributes as two-valued logic does."""
    return plan.rewrite_calls(_factor)


def _factor(expression: Expression) -> Expression:
    if not isinstance(expression, Call) or expression.function != "or":
        return expression
    branches = [conjuncts(argument) for argument in expression.arguments]
    common = [part for part in branches[0] if all(part in each for each in branches[1:])]
    if not common or may_raise(expression):
        return expression
    rest = [[part for part in each if part not in common] for each in branches]
    return all_of([*common, any_of([all_of(each) for each in rest])])


def all_of(conditions: Sequence[Expression]) -> Expression:
    """Return the conjunction of conditions; of none it is true."""
    parts = [part for condition in conditions for part in conjuncts(condition)]
    parts = [part for part in parts if part != Literal(True, pa.bool_())]
    return conjunction(parts)


def any_of(conditions: Sequence[Expression]) -> Expression:
    """Return the disjunction of conditions, of which there is at least one."""
    if Literal(True, pa.bool_()) in conditions:
        return Literal(True, pa.bool_())
    return conditions[0] if len(conditions) == 1 else Call("or", tuple(conditions), pa.bool_())
