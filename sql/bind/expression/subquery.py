"""Subqueries in expressions: each is a function of the row outside, whose names its query sees.

The query reads that row through columns of its own:

    SELECT a FROM t WHERE b > (SELECT avg(c) FROM u WHERE u.a = t.a)

    Subquery(scalar, plan over u that reads a', arguments (a' := t.a))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.planner.expressions.collations import collation_of
from raydb.planner.expressions.nodes import (
    Call,
    Column,
    Expression,
    Literal,
    Subquery,
    columns_of,
    expressions_of,
)
from raydb.planner.expressions.types import BOOLEAN
from raydb.planner.plan.nodes import Project
from raydb.sql.bind.expression import row_values
from raydb.sql.bind.scope import Outer
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from raydb.planner.expressions.nodes import AggregateCall
    from raydb.planner.plan.nodes import Plan
    from raydb.sql.bind.binding import Binding
    from raydb.sql.bind.expression.expression import Context

Arguments = tuple[tuple[Column, Expression], ...]

# x op ALL (query) says that x <opposite> ANY (query) is false.
OPPOSITES = {
    "equal": "not_equal",
    "not_equal": "equal",
    "less": "greater_equal",
    "less_equal": "greater",
    "greater": "less_equal",
    "greater_equal": "less",
}


def query_in(node: exp.Expr) -> exp.Expr | None:
    """Return the query that a node is or has in parentheses, or None if it is no query."""
    inner = node
    while isinstance(inner, exp.Paren) or _holds_values(inner):
        inner = inner.this
    return inner if isinstance(inner, exp.Query | exp.Values) else None


def _holds_values(node: exp.Expr) -> bool:
    """Say whether a node is `(VALUES ...)` and nothing more."""
    if not isinstance(node, exp.Subquery) or not isinstance(node.this, exp.Values):
        return False
    return not any(value for name, value in node.args.items() if name != "this")


def bind_scalar_subquery(node: exp.Expr, context: Context) -> Expression:
    """Return the value of `(SELECT ...)`: one column, and one row at most."""
    plan, arguments = _bind(node, context)
    columns = plan.columns
    if len(columns) != 1:
        raise ProgrammingError(
            f"a subquery used as an expression must have one column, not {len(columns)}"
        )
    return Subquery("scalar", plan, arguments, None, columns[0].type)


def bind_array_subquery(node: exp.Expr, context: Context) -> Expression:
    """Return the value of `ARRAY(SELECT ...)`: the list of its rows, [] without any."""
    name = exp.to_identifier("element")
    alias = exp.TableAlias(this=exp.to_identifier("elements"), columns=[name])
    rows = exp.Subquery(this=node.copy(), alias=alias)
    elements = exp.Anonymous(this="list", expressions=[exp.Column(this=name.copy())])
    listed = exp.Anonymous(this="coalesce", expressions=[elements, exp.Array()])
    query = exp.Select(expressions=[listed], from_=exp.From(this=rows))
    columns = _bind(node, context)[0].columns
    if len(columns) != 1:
        raise ProgrammingError(f"the query of ARRAY() must have one column, not {len(columns)}")
    return bind_scalar_subquery(query, context)


def bind_exists(node: exp.Expr, context: Context) -> Expression:
    """Return whether a query has a row."""
    plan, arguments = _bind(node, context)
    return Subquery("exists", plan, arguments, None, BOOLEAN)


def bind_any(
    function: str, operands: Sequence[Expression], node: exp.Expr, context: Context
) -> Expression:
    """Return whether a comparison holds for some row of a query: `x = ANY (...)`, `x IN (...)`."""
    plan, arguments = _bind(node, context)
    columns = plan.columns
    operands = row_values.beside(operands, columns)
    if len(columns) != len(operands):
        raise ProgrammingError(
            f"the subquery has {len(columns)} columns, but is compared with {len(operands)}"
        )
    # A constant stays one, so that a string can be read in the type of the query's column.
    inside = [each if isinstance(each, Literal) else _stand_in(each, context) for each in operands]
    compared = tuple(
        (column, operand)
        for column, operand in zip(inside, operands, strict=True)
        if isinstance(column, Column) and not isinstance(operand, Literal)
    )
    condition = row_values.compare_rows(function, inside, columns)
    return Subquery("any", plan, (*arguments, *compared), condition, BOOLEAN)


def bind_all(
    function: str, operands: Sequence[Expression], node: exp.Expr, context: Context
) -> Expression:
    """Return whether a comparison holds for every row of a query: `x < ALL (...)`."""
    return Call("not", (bind_any(OPPOSITES[function], operands, node, context),), BOOLEAN)


def bind_row_subquery(
    function: str, operands: Sequence[Expression], node: exp.Expr, context: Context
) -> Expression:
    """Return `(a, b) = (SELECT c, d ...)`: the comparison with the only row of a query."""
    found = bind_any(function, operands, node, context)
    assert isinstance(found, Subquery)
    assert found.condition is not None
    column = Column(next(_binding(context).numbers), "comparison", BOOLEAN)
    plan = Project(found.plan, ((column, found.condition),))
    return Subquery("scalar", plan, found.arguments, None, BOOLEAN)


def refuse_outer_aggregates(calls: Iterable[AggregateCall], binding: Binding) -> None:
    """Raise NotSupportedError for an aggregate that reads outer columns only.

    In SQL it is an aggregate of the outer query, whose rows it folds.
    """
    if binding.outer is None:
        return
    outside = binding.outer.outside_columns()
    for call in calls:
        read = {column for each in expressions_of(call) for column in columns_of(each)}
        if read and read <= outside:
            raise NotSupportedError(
                f"{call.function}() of columns of the outer query is not supported in a subquery"
            )


def _bind(node: exp.Expr, context: Context) -> tuple[Plan, Arguments]:
    """Return the plan of a query and what it reads of the row outside."""
    binding = _binding(context)
    outer = Outer("subquery", context.scope, binding.outer, binding.numbers)
    plan = binding.bind_query(node, replace(binding, outer=outer))
    binding.subqueries.append(plan)
    return plan, tuple((column, expression) for expression, column in outer.columns.items())


def _binding(context: Context) -> Binding:
    if context.binding is None:
        raise NotSupportedError(f"a subquery in {context.clause} is not supported")
    return context.binding


def _stand_in(operand: Expression, context: Context) -> Column:
    name = operand.name if isinstance(operand, Column) else "operand"
    return Column(next(_binding(context).numbers), name, operand.type, collation_of(operand))
