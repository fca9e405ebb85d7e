"""Plans that do no more than filter and compute over the rows of one table, taken apart.

Project(Filter(Scan))  ->  the scan, a definition of each column, the predicates on its rows
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.planner.expressions.nodes import (
    Column,
    Expression,
    columns_of,
    conjuncts,
    substitute,
)
from raydb.planner.expressions.registry import is_volatile
from raydb.planner.plan.nodes import Filter, Plan, Project, Scan, filter_rows
from raydb.storage.tables.table import ROW_NUMBER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class TableRows:
    """A plan over one table: its columns by those of the scan, and the predicates on its rows."""

    def __init__(
        self, scan: Scan, definitions: Mapping[Column, Expression], predicates: list[Expression]
    ) -> None:
        self.scan = scan
        self.definitions = definitions
        self.predicates = predicates

    def selection(self, numbers: Iterator[int]) -> Project | None:
        """Return a plan for the numbers of the rows that count, None for all rows.

        numbers: gives one to its column; to look for it takes a while.
        """
        if not self.predicates:
            return None
        column = Column(next(numbers), ROW_NUMBER, pa.int32())
        read = {c for predicate in self.predicates for c in columns_of(predicate)}
        columns = (*(c for c in self.scan.columns if c in read), column)
        rows = filter_rows(Scan(self.scan.table, columns), self.predicates)
        return Project(rows, ((column, column),))


def rows_of_table(plan: Plan) -> TableRows | None:
    """Take a plan of filters and projections over one table apart; None for any other plan."""
    columns = plan.columns
    definitions: dict[Column, Expression] = {column: column for column in columns}
    predicates: list[Expression] = []
    while isinstance(plan, Filter | Project):
        if isinstance(plan, Filter):
            predicates += conjuncts(plan.predicate)
        else:
            below = dict(plan.items)
            definitions = {c: substitute(e, below) for c, e in definitions.items()}
            predicates = [substitute(predicate, below) for predicate in predicates]
        plan = plan.source
    # A volatile expression is computed once for each row, found or not.
    if not isinstance(plan, Scan) or any(map(is_volatile, (*definitions.values(), *predicates))):
        return None
    # The predicates next to the scan guard those above them.
    return TableRows(plan, definitions, predicates[::-1])
