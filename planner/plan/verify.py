"""Checks that a plan is whole; under the tests it runs after every rule.

A rule must keep the output columns, read only columns that its sources give, define every column
number once, and compare values of one type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.planner.expressions.nodes import Call, Column, Expression
from raydb.planner.expressions.registry import FUNCTIONS
from raydb.planner.plan.common_tables import free_columns, subqueries_in
from raydb.planner.plan.nodes import (
    Apply,
    CommonTable,
    KeyedRecursive,
    Plan,
    Recursive,
    Scan,
    SemiJoin,
    Union,
    Values,
)
from raydb.storage.tables.table import ROW_NUMBER

if TYPE_CHECKING:
    from raydb.planner.catalog import CatalogInfo

COMPARISONS = frozenset(
    {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "not_distinct"}
)


def verify_rule(rule: str, before: Plan, after: Plan, catalog: CatalogInfo) -> None:
    """Assert that a rule kept the plan's output and left a whole plan."""
    kept = before.columns == after.columns
    assert kept, f"{rule} changed {before.columns} to {after.columns}"
    verify_plan(after, catalog, rule)


def verify_plan(plan: Plan, catalog: CatalogInfo, author: str) -> None:
    """Assert that every node reads what its sources give; `author` is named on failure."""
    defined: list[int] = []
    _verify(plan, catalog, author, defined, frozenset())
    repeated = {number for number in defined if defined.count(number) > 1}
    assert not repeated, f"{author} defines columns {sorted(repeated)} twice"


def _verify(
    plan: Plan, catalog: CatalogInfo, author: str, defined: list[int], outer: frozenset[Column]
) -> None:
    """Verify a plan that may read the columns in `outer`, which stand for an outer row."""
    sources = plan.sources
    if isinstance(plan, Apply):
        _verify(plan.left, catalog, author, defined, outer)
        inside = outer | {column for column, _ in plan.arguments}
        _verify(plan.right, catalog, author, defined, inside)
    else:
        for source in sources:
            _verify(source, catalog, author, defined, outer)
    known = outer.union(column for source in sources for column in source.columns)
    missing = plan.required_columns - known
    assert not missing, f"{author}: {type(plan).__name__} reads {missing} from nowhere"
    for expression in plan.expressions:
        _verify_expression(expression, author)
    defined += [column.number for column in plan.defined]
    for subquery in subqueries_in(plan):
        # Its own columns, which a rule may have put at two places while they are the same query.
        _verify(subquery, catalog, author, [], outer | free_columns(subquery))
    match plan:
        case Scan(table=table, columns=columns):
            schema = catalog.tables[table].definition.schema
            for column in columns:
                is_number = column.name == ROW_NUMBER
                expected = pa.int32() if is_number else schema.field(column.name).type
                assert expected == column.type, f"{author}: {column}"
        case Values(columns=columns, rows=rows):
            assert all(len(row) == len(columns) for row in rows), f"{author}: ragged rows"
        case CommonTable(query=query, columns=columns):
            _verify_positions(query, columns, author)
        case KeyedRecursive(base=base, step=step, kept=kept, columns=columns):
            _verify_positions(step, base.columns, author)
            for source in kept:
                _verify_positions(source, columns, author)
        case Recursive(columns=columns) | Union(columns=columns):
            for source in sources:
                _verify_positions(source, columns, author)
        case SemiJoin(kind=kind, mark=mark):
            assert (kind == "mark") == (mark is not None), f"{author}: {kind} with mark {mark}"
        case _:
            pass  # its columns tell all


def _verify_positions(source: Plan, columns: tuple[Column, ...], author: str) -> None:
    """Assert that columns that take those of a source by position have their types."""
    given = [column.type for column in source.columns]
    assert given == [column.type for column in columns], f"{author}: {given} for {columns}"


def _verify_expression(expression: Expression, author: str) -> None:
    if not isinstance(expression, Call):
        assert not isinstance(expression, Column) or expression.type is not None, author
        return
    assert expression.function in FUNCTIONS, f"{author}: no function '{expression.function}'"
    for argument in expression.arguments:
        _verify_expression(argument, author)
    types = {argument.type for argument in expression.arguments}
    if expression.function in COMPARISONS:
        assert len(types) == 1, f"{author}: {expression.function} compares {types}"
    if expression.function in ("and", "or", "not"):
        assert types == {pa.bool_()}, f"{author}: {expression.function} over {types}"
