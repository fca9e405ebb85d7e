"""Rule: an outer join becomes an inner one where what it adds is dropped above.

Filter(b.y > 1, a LEFT JOIN b)   ->  Filter(b.y > 1, a JOIN b)
Filter(b.y > 1, a FULL JOIN b)   ->  Filter(b.y > 1, a RIGHT JOIN b)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.planner.expressions.nodes import conjuncts, substitute
from raydb.planner.plan.nodes import Filter, InnerJoin, OuterJoin, Plan, Project, SemiJoin, Sort
from raydb.planner.plan.nulls import rejects_null
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Expression


def strengthen_joins(plan: Plan, _: CatalogInfo) -> Plan:
    """Turn each outer join into the strongest join that gives the rows that are kept above it."""
    return _strengthen(plan, ())


def _strengthen(plan: Plan, required: Sequence[Expression]) -> Plan:
    """Return the plan for a reader that drops the rows for which not all of these are true."""
    match plan:
        case Filter(source=source, predicate=predicate):
            return replace(plan, source=_strengthen(source, (*required, *conjuncts(predicate))))
        case Project(source=source, items=items):
            definitions = dict(items)
            below = [substitute(each, definitions) for each in required]
            return replace(plan, source=_strengthen(source, below))
        case Sort(source=source):
            return replace(plan, source=_strengthen(source, required))
        case InnerJoin(sources=sources, conditions=conditions):
            every = (*required, *(part for whole in conditions for part in conjuncts(whole)))
            return replace(plan, sources=tuple(_strengthen(source, every) for source in sources))
        case OuterJoin():
            return _strengthen_outer(plan, required)
        case SemiJoin(kind=kind, left=left, right=right, conditions=conditions):
            on_left = (*required, *conditions) if kind == "semi" else required
            return replace(
                plan, left=_strengthen(left, on_left), right=_strengthen(right, conditions)
            )
        case _:
            return plan.map_sources(lambda source: _strengthen(source, ()))


def _strengthen_outer(plan: OuterJoin, required: Sequence[Expression]) -> Plan:
    """Drop the side whose rows without a partner are not kept above."""
    conditions = plan.conditions
    keeps_left = plan.kind in ("left", "full") and not _rejects(required, plan.right)
    keeps_right = plan.kind in ("right", "full") and not _rejects(required, plan.left)
    # A row must not lose its partner to what is dropped above: it would stay, with NULLs instead.
    match keeps_left, keeps_right:
        case True, True:
            return plan.map_sources(lambda source: _strengthen(source, ()))
        case True, False:
            left = _strengthen(plan.left, required)
            return OuterJoin("left", left, _strengthen(plan.right, conditions), conditions)
        case False, True:
            right = _strengthen(plan.right, required)
            return OuterJoin("right", _strengthen(plan.left, conditions), right, conditions)
        case _:
            every = (*required, *conditions)
            return InnerJoin(
                (_strengthen(plan.left, every), _strengthen(plan.right, every)), conditions
            )


def _rejects(required: Sequence[Expression], plan: Plan) -> bool:
    """Tell whether a row is dropped if it has NULL in every column of a plan."""
    columns = plan.column_set
    return any(rejects_null(predicate, columns) for predicate in required)
