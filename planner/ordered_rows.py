"""ORDER BY ... LIMIT in an order that a table function knows: the first rows are searched for.

    SELECT text FROM docs WHERE lang = 'en' ORDER BY array_distance(emb, $q) LIMIT 10

Limit(Sort(Project(Filter(Scan))))  ->  Limit(Sort(Project(rows of vector_search)))

The rows that are found are put in order as all rows would be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.planner.expressions.nodes import Call, Column, substitute
from raydb.planner.plan.nodes import Filter, Limit, Project, Sort
from raydb.planner.plan.table_function import TABLE_FUNCTIONS, SearchFunction
from raydb.planner.plan.table_rows import rows_of_table
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from raydb.planner.expressions.nodes import Expression
    from raydb.planner.lower import Lowering
    from raydb.planner.plan.nodes import Plan, SortKey
    from raydb.planner.plan.table_rows import TableRows


@dataclass(frozen=True, eq=False, slots=True)
class RowOrder:
    """An order of which the first `count` rows are asked for.

    value: what `key` sorts by, a call over the columns of `source`. is_only: whether no other key
    follows. rows: the rows of one table, None where the source is something else.
    """

    value: Call
    key: SortKey
    is_only: bool
    count: int
    source: Plan
    rows: TableRows | None


def lower_ordered(plan: Limit, lowering: Lowering) -> Plan | None:
    """Return how the first rows are searched for, or why they are not; None for other orders."""
    match plan:
        case Limit(source=Sort(source=source, keys=(key, *others) as keys), count=int() as count):
            value, below = _value_of(source, key.column)
        case _:
            return None
    if not isinstance(value, Call) or count + plan.offset < 1:
        return None
    for function in TABLE_FUNCTIONS.values():
        if isinstance(function, SearchFunction) and value.function in function.orders_by:
            break
    else:
        return None
    rows = rows_of_table(source)
    order = RowOrder(value, key, not others, count + plan.offset, below, rows)
    found = function.first_rows(order, lowering)
    if found is None:
        return None
    if isinstance(found, str):
        return replace(plan, source=lowering.lower(plan.source), reason=found)
    assert rows is not None, "rows of one table alone are searched"
    items = tuple((column, rows.definitions[column]) for column in source.columns)
    return replace(plan, source=Sort(Project(found, items), keys))


def _value_of(plan: Plan, column: Column) -> tuple[Expression, Plan]:
    """Return what a column is below filters and projections, and the plan there."""
    value: Expression = column
    while isinstance(plan, Filter | Project):
        if isinstance(plan, Project):
            value = substitute(value, dict(plan.items))
        plan = plan.source
    return value, plan
