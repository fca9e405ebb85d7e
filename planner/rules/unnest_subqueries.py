"""Rule: make joins of subqueries and of LATERAL.

WHERE x > (SELECT avg(y) FROM b)                 ->  JOIN (one row: avg(y))
WHERE x > (SELECT avg(y) FROM b WHERE k = a.k)   ->  LEFT JOIN (avg(y) by k) ON k = a.k
WHERE EXISTS (SELECT ... WHERE k = a.k)          ->  SEMI JOIN ON k = a.k
SELECT x IN (SELECT y FROM b)                    ->  mark join ON x = y, and marks for NULL

A subquery runs whether or not a CASE or an AND around it wants its value, so that what fails in it
fails the statement: 1 / 0, or a second row.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.planner.decorrelate import dependent, outer_rows, pull_up, push_domain
from raydb.planner.expressions.nodes import (
    Call,
    Expression,
    Subquery,
    columns_of,
    conjuncts,
    has_subquery,
    rewrite_subqueries,
    substitute,
)
from raydb.planner.plan.common_tables import fresh_numbers, map_queries, nodes_in, subqueries_in
from raydb.planner.plan.nodes import (
    Aggregate,
    Apply,
    Filter,
    InnerJoin,
    Limit,
    OuterJoin,
    Plan,
    Project,
    Search,
    SemiJoin,
    Union,
    Unnest,
    Values,
    Window,
    filter_rows,
    only_columns,
)
from raydb.planner.rules.inline_common_tables import inline_common_tables
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Column


def unnest_subqueries(plan: Plan, catalog: CatalogInfo) -> Plan:
    """Replace every Subquery and every Apply."""
    if not _is_nested(plan):
        return plan
    builder = dependent.PlanBuilder(fresh_numbers(plan), catalog)
    unnested = map_queries(plan, lambda query: unnest(query, builder))
    # Rows that serve at two places are a common table, which is kept only where it pays.
    return inline_common_tables(unnested, catalog)


def unnest(plan: Plan, builder: dependent.PlanBuilder) -> Plan:
    """Replace the subqueries of a plan, the innermost first."""
    if isinstance(plan, Limit) and isinstance(plan.source, Project):
        # So that a limit that has to number rows finds their order right below.
        moved = unnest(replace(plan, source=plan.source.source), builder)
        return _unnest_expressions(replace(plan.source, source=moved), builder)
    plan = plan.map_sources(lambda source: unnest(source, builder))
    return _unnest_expressions(plan, builder)


def _unnest_expressions(plan: Plan, builder: dependent.PlanBuilder) -> Plan:
    """Replace the subqueries in the expressions of a plan's top node."""
    if isinstance(plan, Apply):
        return _unnest_apply(plan, builder)
    if not subqueries_in(plan):
        return plan
    match plan:
        case Filter(source=source, predicate=predicate):
            return _filter(source, conjuncts(predicate), builder)
        case InnerJoin(conditions=conditions):
            parts = [part for condition in conditions for part in conjuncts(condition)]
            nested = [part for part in parts if has_subquery(part)]
            plain = tuple(part for part in parts if not has_subquery(part))
            return _filter(replace(plan, conditions=plain), nested, builder)
        case Project() | Unnest() | Aggregate() | Window():
            source = plan.source
            rows = outer_rows.OuterRows(source, builder, unnest)
            changed = plan.map_expressions(rows.without_subqueries)
            changed = changed.map_sources(lambda _: rows.plan)
            return only_columns(changed, plan.columns)
        case Search(left=left):
            rows = outer_rows.OuterRows(left, builder, unnest)
            searched = plan.map_expressions(rows.without_subqueries)
            return only_columns(replace(searched, left=rows.plan), plan.columns)
        case OuterJoin() | SemiJoin():
            return _unnest_conditions(plan, builder)
        case Values():
            return _unnest_values(plan, builder)
        case _:
            raise AssertionError(f"{type(plan).__name__} has no expressions")


def _is_nested(plan: Plan) -> bool:
    """Tell whether there is a Subquery or an Apply in a plan or in the queries in it."""
    return any(isinstance(node, Apply) or subqueries_in(node) for node in nodes_in(plan))


def _subqueries(expression: Expression) -> Iterator[Subquery]:
    """Yield the subqueries of an expression that are in no other subquery's arguments."""
    if isinstance(expression, Subquery):
        yield expression
    elif isinstance(expression, Call):
        for argument in expression.arguments:
            yield from _subqueries(argument)


def _filter(source: Plan, predicates: Iterable[Expression], builder: dependent.PlanBuilder) -> Plan:
    """Return the rows for which all predicates are true."""
    parts = list(predicates)
    plain = [part for part in parts if not has_subquery(part)]
    rows = outer_rows.OuterRows(filter_rows(source, plain), builder, unnest)
    nested = [part for part in parts if has_subquery(part)]
    left = [part for part in nested if not rows.keep_where(part)]
    rest = [rows.without_subqueries(part) for part in left]
    return only_columns(filter_rows(rows.plan, rest), source.columns)


def _unnest_conditions(plan: OuterJoin | SemiJoin, builder: dependent.PlanBuilder) -> Plan:
    """Compute the subqueries of a join's conditions on the side whose rows they read."""
    if any(_reads_both(subquery, plan) for e in plan.conditions for subquery in _subqueries(e)):
        return _join_by_pairs(plan, builder)
    left = outer_rows.OuterRows(plan.left, builder, unnest)
    right = outer_rows.OuterRows(plan.right, builder, unnest)
    of_left = frozenset(plan.left.columns)

    def change(part: Subquery) -> Expression:
        side = right if columns_of(part).isdisjoint(of_left) else left
        return side.without_subqueries(part)

    conditions = tuple(rewrite_subqueries(condition, change) for condition in plan.conditions)
    joined = replace(plan, left=left.plan, right=right.plan, conditions=conditions)
    return only_columns(joined, plan.columns)


def _reads_both(subquery: Subquery, join: OuterJoin | SemiJoin) -> bool:
    read = columns_of(subquery)
    return not any(read.isdisjoint(side.columns) for side in (join.left, join.right))


def _join_by_pairs(plan: OuterJoin | SemiJoin, builder: dependent.PlanBuilder) -> Plan:
    """Find the numbers of the rows that are partners by an inner join, and join by them."""
    left, left_number = _number_rows(plan.left, builder)
    right, right_number = _number_rows(plan.right, builder)
    left, left_copy, names = push_domain.share(left, builder)
    right, right_copy, right_names = push_domain.share(right, builder)
    names |= right_names
    conditions = [substitute(condition, names) for condition in plan.conditions]
    partners = _filter(InnerJoin((left_copy, right_copy), ()), conditions, builder)
    pair = names[left_number], names[right_number]
    pairs = Project(partners, tuple((column, column) for column in pair))
    on_left = (_equal(left_number, pair[0]),)
    if isinstance(plan, SemiJoin):
        found: Plan = replace(plan, left=left, right=pairs, conditions=on_left)
    else:
        rows = (
            InnerJoin((left, pairs), on_left)
            if plan.kind == "right"
            else OuterJoin("left", left, pairs, on_left)
        )
        found = replace(plan, left=rows, right=right, conditions=(_equal(pair[1], right_number),))
    return only_columns(found, plan.columns)


def _number_rows(plan: Plan, builder: dependent.PlanBuilder) -> tuple[Plan, Column]:
    number = builder.new_column("row_number", pa.int64())
    return Window(plan, ((number, pull_up.row_number_call((), ())),)), number


def _equal(one: Column, other: Column) -> Call:
    return Call("equal", (one, other), pa.bool_())


def _unnest_values(plan: Values, builder: dependent.PlanBuilder) -> Plan:
    """Make a query of each row of VALUES that has subqueries; the others stay together."""
    parts: list[Plan] = []
    for nested, group in itertools.groupby(plan.rows, lambda row: any(map(has_subquery, row))):
        if not nested:
            parts.append(Values(_fresh(plan.columns, builder), tuple(group)))
            continue
        for row in group:
            rows = outer_rows.OuterRows(Values((), ((),)), builder, unnest)
            values = [rows.without_subqueries(value) for value in row]
            columns = _fresh(plan.columns, builder)
            parts.append(Project(rows.plan, tuple(zip(columns, values, strict=True))))
    if len(parts) == 1:
        columns = parts[0].columns
        return Project(parts[0], tuple(zip(plan.columns, columns, strict=True)))
    return Union(tuple(parts), plan.columns)


def _fresh(columns: Iterable[Column], builder: dependent.PlanBuilder) -> tuple[Column, ...]:
    return tuple(builder.new_column(column.name, column.type) for column in columns)


def _unnest_apply(plan: Apply, builder: dependent.PlanBuilder) -> Plan:
    """Join the left rows with those that the right query has for them."""
    rows = outer_rows.OuterRows(plan.left, builder, unnest)
    arguments = dict(plan.arguments)
    columns = plan.columns
    if plan.kind == "inner":
        joined = rows.join_rows(plan.right, arguments, (), keep=False)
        return _filter(only_columns(joined, columns), plan.conditions, builder)
    nested = [part for part in plan.conditions if has_subquery(part)]
    plain = tuple(part for part in plan.conditions if part not in nested)
    right = plan.right
    if nested:
        # They decide on the rows of the right query, so they can as well be a part of it.
        given = plan.left.columns
        stand_ins = dict(zip(given, _fresh(given, builder), strict=True))
        right = _filter(right, [substitute(part, stand_ins) for part in nested], builder)
        arguments.update((inside, column) for column, inside in stand_ins.items())
    return only_columns(rows.join_rows(right, arguments, plain, keep=True), columns)
