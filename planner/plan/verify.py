"""Checks that a plan is whole; under the tests it runs after every rule.

A rule must keep the output columns, read only columns that its sources give, define every column
number once, and compare values of one type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.planner.expressions.functions import is_known
from raydb.planner.expressions.nodes import Call, Column, Expression, columns_of
from raydb.planner.plan.common_tables import free_columns, subqueries_in
from raydb.planner.plan.logical import (
    Aggregate,
    Apply,
    CommonTable,
    MotifSearch,
    Plan,
    Project,
    Recursive,
    Scan,
    SemiJoin,
    Series,
    Sort,
    Union,
    Unnest,
    Values,
    VectorSearch,
    Window,
    WorkingTable,
    expressions_in,
    output_columns,
    sources_of,
)
from raydb.storage.tables.table import ROW_NUMBER

if TYPE_CHECKING:
    from raydb.planner.catalog import CatalogInfo

COMPARISONS = frozenset(
    {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "not_distinct"}
)


def verify_rule(rule: str, before: Plan, after: Plan, catalog: CatalogInfo) -> None:
    """Assert that a rule kept the plan's output and left a whole plan."""
    kept = output_columns(before) == output_columns(after)
    assert kept, f"{rule} changed {output_columns(before)} to {output_columns(after)}"
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
    sources = sources_of(plan)
    if isinstance(plan, Apply):
        _verify(plan.left, catalog, author, defined, outer)
        inside = outer | {column for column, _ in plan.arguments}
        _verify(plan.right, catalog, author, defined, inside)
    else:
        for source in sources:
            _verify(source, catalog, author, defined, outer)
    known = outer.union(column for source in sources for column in output_columns(source))
    for expression in expressions_in(plan):
        missing = columns_of(expression) - known
        assert not missing, f"{author}: {type(plan).__name__} reads {missing} from nowhere"
        _verify_expression(expression, author)
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
            defined += [column.number for column in columns]
        case Values(columns=columns, rows=rows):
            assert all(len(row) == len(columns) for row in rows), f"{author}: ragged rows"
            defined += [column.number for column in columns]
        case CommonTable(query=query, columns=columns) | Recursive(base=query, columns=columns):
            _verify_positions(query, columns, author)
            defined += [column.number for column in columns]
        case (
            WorkingTable(columns=columns)
            | VectorSearch(found=columns)
            | MotifSearch(columns=columns)
        ):
            defined += [column.number for column in columns]
        case Union(columns=columns):
            for source in sources:
                _verify_positions(source, columns, author)
            defined += [column.number for column in columns]
        case Series(column=column):
            defined.append(column.number)
        case Unnest() | Window():
            new = output_columns(plan)[len(output_columns(plan.source)) :]
            defined += [column.number for column in new]
        case SemiJoin(kind=kind, mark=mark):
            assert (kind == "mark") == (mark is not None), f"{author}: {kind} with mark {mark}"
            defined += [] if mark is None else [mark.number]
        case Project(items=items):
            # A column that passes through keeps its number.
            defined += [c.number for c, e in items if c != e]
        case Aggregate(keys=keys, aggregates=aggregates, grouping=grouping):
            defined += [c.number for c, e in keys if c != e]
            defined += [c.number for c, _ in aggregates]
            defined += [] if grouping is None else [grouping.number.number]
        case Sort(keys=sort_keys):
            unknown = {key.column for key in sort_keys} - known
            assert not unknown, f"{author}: sorts by {unknown} from nowhere"
        case _:
            pass


def _verify_positions(source: Plan, columns: tuple[Column, ...], author: str) -> None:
    """Assert that columns that take those of a source by position have their types."""
    given = [column.type for column in output_columns(source)]
    assert given == [column.type for column in columns], f"{author}: {given} for {columns}"


def _verify_expression(expression: Expression, author: str) -> None:
    if not isinstance(expression, Call):
        assert not isinstance(expression, Column) or expression.type is not None, author
        return
    assert is_known(expression.function), f"{author}: no function '{expression.function}'"
    for argument in expression.arguments:
        _verify_expression(argument, author)
    types = {argument.type for argument in expression.arguments}
    if expression.function in COMPARISONS:
        assert len(types) == 1, f"{author}: {expression.function} compares {types}"
    if expression.function in ("and", "or", "not"):
        assert types == {pa.bool_()}, f"{author}: {expression.function} over {types}"
