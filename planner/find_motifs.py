"""How motifs are found: in a graph that is kept with its table, or in one that is built anew.

    MotifSearch(Project(Filter(Scan)))  ->  MotifRows(..., identity = what edges are computed of)

A graph is kept where one table's rows say all about it: it is the same until the table changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.planner.expressions.nodes import Attribute, Expression, columns_of, substitute
from raydb.planner.plan.nodes import MotifRows
from raydb.planner.plan.table_rows import rows_of_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.planner.plan.nodes import MotifSearch, PhysicalPlan, Plan


def lower_motifs(plan: MotifSearch, lower: Callable[[Plan], PhysicalPlan]) -> MotifRows:
    """Choose how to get the graph that a search is about."""
    table, identity = ("", ()) if plan.pairs else _identity(plan)
    return MotifRows(
        lower(plan.left), lower(plan.right), plan.ends, plan.time, plan.question, plan.given,
        plan.pairs, plan.place, table, identity, plan.found, plan.notes,
    )  # fmt: skip


def _identity(plan: MotifSearch) -> tuple[str, tuple[Expression, ...]]:
    """Return the table whose rows are edges, and what is computed of them; else nothing."""
    rows = rows_of_table(plan.right)
    if rows is None:
        return "", ()
    edge = [substitute(each, rows.definitions) for each in (*plan.ends, plan.time)]
    every = (*edge, *rows.predicates)
    # Columns have other numbers in each statement.
    names = {
        column: Attribute((), column.name, column.type)
        for expression in every
        for column in columns_of(expression)
    }
    return rows.scan.table, tuple(substitute(each, names) for each in every)
