"""Estimates: how many rows a plan gives, and how many values a column has.

A filter's share is measured on a sample of the table's rows, whatever the predicate is: LIKE, IN
and predicates over several columns need no rules of their own. An equality between two columns
keeps 1 / (the larger number of distinct values), as in System R.
"""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING

from raydb.errors import Error
from raydb.late import pc
from raydb.planner.catalog import guessed
from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.nodes import Call, Column, Expression, columns_of, conjuncts
from raydb.planner.plan.nodes import (
    Aggregate,
    CommonTable,
    Plan,
    Project,
    Recursive,
    Scan,
    Union,
)
from raydb.storage.tables.table import ROW_NUMBER

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from raydb.planner.catalog import CatalogInfo, TableInfo

# What a condition keeps where no sample can tell.
EQUALITY_SHARE = 0.1
CONDITION_SHARE = 0.3


class Statistics:
    """Estimates for the nodes of one plan; they are kept, by node."""

    def __init__(self, catalog: CatalogInfo) -> None:
        self.catalog = catalog
        # The plan is kept with its estimate, so that its id stays its own.
        self._rows: dict[int, tuple[Plan, float]] = {}
        # A column of several plans comes of the same one in each.
        self._origins: dict[Column, tuple[str, str]] = {}
        self._values: dict[tuple[str, str], float] = {}
        self._largest: dict[int, tuple[Plan, int]] = {}

    def row_count(self, plan: Plan) -> float:
        """Return about how many rows a plan gives; never less than a fraction of one."""
        known = self._rows.get(id(plan))
        if known is None:
            known = self._rows[id(plan)] = (plan, max(plan.estimate(self), 1e-3))
        return known[1]

    def note_row_count(self, plan: Plan, row_count: float) -> None:
        """Keep the estimate of a plan that was made of it."""
        self._rows[id(plan)] = plan, max(row_count, 1e-3)

    def distinct_count(self, plan: Plan, column: Column) -> float:
        """Return about how many values a column of a plan's has."""
        return min(self.row_count(plan), self.value_count(plan, column))

    def value_count(self, plan: Plan, column: Column) -> float:
        """Return about how many values there are where a column of a plan's comes from."""
        found = self._origin(plan, column)
        if found is None:
            return max(1.0, self.row_count(plan) / 10)
        if found not in self._values:
            info = self.catalog.tables[found[0]]
            self._values[found] = _distinct_values(info, found[1], self.catalog)
        return self._values[found]

    def group_count(self, plan: Plan, keys: Iterable[Expression]) -> float:
        """Return about how many tuples of values some expressions over a plan have."""
        plans = (plan,)
        return prod([self._distinct_at(_place(plans, key), plans, key) for key in keys])

    def _distinct_at(self, place: int, plans: Sequence[Plan], expression: Expression) -> float:
        """Return about how many values an expression has over the plan at a place, if any."""
        if place < 0:
            return 1.0
        plan = plans[place]
        if type(expression) is Column:
            return self.distinct_count(plan, expression)
        each = (self.distinct_count(plan, column) for column in columns_of(expression))
        return min(prod(each), self.row_count(plan))

    def largest_table(self, plan: Plan) -> int:
        """Return how many rows the largest table has that a plan reads, 0 where it reads none."""
        known = self._largest.get(id(plan))
        if known is None:
            if isinstance(plan, Scan):
                most = self.catalog.tables[plan.table].row_count
            else:
                most = max(map(self.largest_table, plan.sources), default=0)
            known = self._largest[id(plan)] = (plan, most)
        return known[1]

    def _origin(self, plan: Plan, column: Column) -> tuple[str, str] | None:
        """Return the table and the column that a plan's column is, if it is one as it stands."""
        found = self._origins.get(column) or _origin(plan, column)
        if found is not None:
            self._origins[column] = found
        return found

    def joined_row_count(self, sources: Sequence[Plan], conditions: Iterable[Expression]) -> float:
        """Return about how many rows an inner join of any number of plans gives."""
        rows = prod(map(self.row_count, sources))
        told_apart: dict[tuple[int, int], float] = {}
        for condition in (part for whole in conditions for part in conjuncts(whole)):
            match condition:
                case Call(function="equal" | "not_distinct", arguments=(one, other)):
                    first, second = _place(sources, one), _place(sources, other)
                    places = (first, second) if first <= second else (second, first)
                    values = max(
                        self._distinct_at(first, sources, one),
                        self._distinct_at(second, sources, other),
                    )
                    told_apart[places] = told_apart.get(places, 1.0) * max(values, 1.0)
                case _:
                    rows *= CONDITION_SHARE
        # The columns of a key of several are not independent: they tell at most all rows apart.
        for places, values in told_apart.items():
            counts = [self.row_count(sources[place]) for place in places if place >= 0]
            rows /= min(values, max([1.0, *counts]))
        return rows

    def share_kept(self, source: Plan, predicate: Expression) -> float:
        """Return which share of a source's rows a predicate keeps."""
        share = 1.0
        by_table: dict[str, list[tuple[Expression, dict[Column, str]]]] = {}
        for part in conjuncts(predicate):
            origins = {column: self._origin(source, column) for column in columns_of(part)}
            tables = {None if origin is None else origin[0] for origin in origins.values()}
            table = next(iter(tables), None)
            if len(tables) == 1 and table is not None:
                names = {column: origin[1] for column, origin in origins.items() if origin}
                by_table.setdefault(table, []).append((part, names))
            else:
                is_equality = isinstance(part, Call) and part.function == "equal"
                share *= EQUALITY_SHARE if is_equality else CONDITION_SHARE
        for table, parts in by_table.items():
            info = self.catalog.tables[table]
            asked = tuple([(part, *names.items()) for part, names in parts])
            share *= guessed(info, asked, partial(_sampled_share, info, parts))
        return share


def _place(plans: Sequence[Plan], expression: Expression) -> int:
    """Return the place of the plan whose columns an expression reads, -1 where there is none."""
    read = columns_of(expression)
    for place, plan in enumerate(plans):
        if read and read <= plan.column_set:
            return place
    return -1


def _origin(plan: Plan, column: Column) -> tuple[str, str] | None:
    match plan:
        case Scan(table=table, columns=columns):
            if column in columns and column.name != ROW_NUMBER:
                return table, column.name
            return None
        case Project(source=source, items=items) | Aggregate(source=source, keys=items):
            # Without a dictionary, which would hash all of them.
            for defined, expression in items:
                if defined.number == column.number:
                    return _origin(source, expression) if isinstance(expression, Column) else None
            return None
        case CommonTable(query=query, columns=columns):
            if column not in columns:
                return None
            return _origin(query, query.columns[columns.index(column)])
        case Union() | Recursive():
            return None
        case _:
            for source in plan.sources:
                origin = _origin(source, column)
                if origin is not None:
                    return origin
            return None


def _sampled_share(info: TableInfo, parts: Sequence[tuple[Expression, dict[Column, str]]]) -> float:
    """Return which share of a table's sampled rows all predicates keep."""
    kept = None
    size = 0
    for predicate, names in parts:
        inputs = {column: info.sample[name] for column, name in names.items()}
        size = len(next(iter(inputs.values())))
        if not size:
            return CONDITION_SHARE
        try:
            mask = pc.fill_null(evaluate(predicate, inputs, size), False)
        except Error:  # 1 / x fails for some row; what runs the query will say so
            return CONDITION_SHARE
        kept = mask if kept is None else pc.and_(kept, mask)
    hits = pc.sum(kept, min_count=0).as_py()
    return float(hits or 0.5) / size


def _distinct_values(info: TableInfo, name: str, catalog: CatalogInfo) -> float:
    """Return about how many values a table's column has.

    Declared keys tell exactly; otherwise a sample does.
    """
    definition = info.definition
    if not info.row_count:
        return 1.0  # Others divide by it.
    if any(key.columns == (name,) for key in definition.keys):
        return float(info.row_count)
    referenced = [key.table for key in definition.foreign_keys if key.columns == (name,)]
    if referenced:
        return float(max(min(catalog.tables[referenced[0]].row_count, info.row_count), 1))
    return info.value_counts[name]
