"""Rows of a table that a search finds by their numbers, with columns that are read for them alone.

Search(queries, Project(Filter(Scan)))  ->  Project(SearchRows(queries, Scan,
                                                selection = row numbers of the Filter))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.engine.operators.relation import Relation, joined
from raydb.planner.expressions.nodes import Call, Column, Expression, Literal, columns_of
from raydb.planner.plan.nodes import Project, Scan, SearchRows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.engine.operators.run import Sources
    from raydb.planner.lower import Lowering
    from raydb.planner.plan.nodes import PhysicalPlan, Search
    from raydb.planner.plan.table_rows import TableRows
    from raydb.storage.tables.table import Table


def over_table(
    plan: Search,
    lowering: Lowering,
    rows: TableRows,
    how: Any,
    selection: Project | None,
) -> PhysicalPlan:
    """Return a search in the rows of one table, which it finds by their numbers.

    selection: what gives the numbers of those that count. Columns that a query computes are
    computed of what is found.
    """
    read = {c for expression in rows.definitions.values() for c in columns_of(expression)}
    source = Scan(rows.scan.table, tuple(c for c in rows.scan.columns if c in read))
    (column,) = plan.read
    assert isinstance(column, Column)
    given = {"right": source, "read": (rows.definitions[column],), "selection": selection}
    search = SearchRows.of(plan, lowering, how, **given)
    definitions = rows.definitions
    if all(column == expression for column, expression in definitions.items()):
        return search
    if plan.keep:
        definitions = {c: _where_found(e, plan.found[0]) for c, e in definitions.items()}
    items = [(column, definitions.get(column, column)) for column in plan.columns]
    return Project(search, tuple(items))


def _where_found(expression: Expression, rank: Column) -> Expression:
    """Return an expression that is NULL where nothing was found, as a constant would not be."""
    if isinstance(expression, Column):
        return expression
    kind = expression.type
    is_missing = Call("is_null", (rank,), pa.bool_())
    return Call("case", (is_missing, Literal(None, kind), expression), kind)


def selected_rows(plan: SearchRows, sources: Sources) -> NDArray[np.int64] | None:
    """Return the numbers of the rows that count, None for all."""
    if plan.selection is None:
        return None
    ((number, _),) = plan.selection.items
    chosen, _ = sources.rows_with(plan.selection, [number], ())
    numbers: NDArray[np.int64] = joined(chosen.columns[number]).to_numpy().astype(np.int64)
    return numbers


def allowed_rows(table: Table, selected: NDArray[np.int64] | None) -> NDArray[np.bool_] | None:
    """Return whether each row of a table counts, by its number; None where all do."""
    if selected is None:
        allowed: NDArray[np.bool_] | None = table.live
        return allowed
    # Visible rows alone are selected.
    chosen = np.zeros(table.row_count, np.bool_)
    chosen[selected] = True
    return chosen


def with_found(
    plan: SearchRows,
    columns: Sequence[Column],
    rows: Relation,
    places: NDArray[np.int64],
    partners: Relation,
    made: Mapping[Column, Callable[[], pa.Array]],
) -> Relation:
    """Return columns of rows that ask, of what was found for them, and of what a search makes.

    places (n): the row that asks for each that was found, in order; partners (n): columns of these.
    made: gives the search's own columns. Rows without any are there where the plan keeps them.
    """
    more = {column: make() for column, make in made.items() if column in columns}
    found = Relation({**partners.columns, **more}, len(places))
    if plan.keep:
        places, numbers = _with_missing(places, rows.row_count)
        found = found.take(numbers)
    every = {**rows.take(pa.array(places)).columns, **found.columns}
    return Relation({column: every[column] for column in columns}, len(places))


def _with_missing(
    row_numbers: NDArray[np.int64], row_count: int
) -> tuple[NDArray[np.int64], pa.Array]:
    """Return the rows of hits, and those without a hit, in order; and the hit of each, or NULL."""
    missing = np.setdiff1d(np.arange(row_count), row_numbers)
    every = np.concatenate((row_numbers, missing))
    order = np.argsort(every, kind="stable")
    return every[order], pa.array(order, mask=order >= len(row_numbers))
