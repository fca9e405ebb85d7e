"""Queries: a SELECT, VALUES, a set operation, or one of them with WITH, ORDER BY and LIMIT."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlglot import exp

from raydb.errors import ProgrammingError
from raydb.planner.expressions.collations import common_collation
from raydb.planner.expressions.typing_rules import unify
from raydb.planner.plan.nodes import Plan, Values
from raydb.sql.bind.binding import Binding, context_of, new_column
from raydb.sql.bind.expression.expression import bind_expression
from raydb.sql.bind.query import description as descriptions
from raydb.sql.bind.query import set_operation
from raydb.sql.bind.query.from_clause import bind_summary
from raydb.sql.bind.query.output import MODIFIERS, bind_order, finish
from raydb.sql.bind.query.select import bind_select_clauses
from raydb.sql.bind.query.select_list import Item
from raydb.sql.bind.query.with_clause import with_queries
from raydb.sql.bind.scope import Scope, table_scope
from raydb.sql.parse.nodes import refuse_deep_nesting, require_only, unsupported
from raydb.sql.template import parameter_rows
from raydb.sql.template.parameters import Parameters, bind_parameters
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Expression
    from raydb.sql.ast import Select


@dataclass(frozen=True, eq=False, slots=True)
class BoundQuery:
    """The logical plan of a query; `reads_clock` says whether it is for the time of binding only.

    That is so of generate_series(.., CURRENT_DATE, ..), which is a number of rows in the plan.
    """

    plan: Plan
    reads_clock: bool


@contextmanager
def statement_binding(
    tree: exp.Expr, catalog: CatalogInfo, parameters: Parameters = ()
) -> Iterator[Binding]:
    """Give what a statement is bound with; too deep nesting within becomes an error about it."""
    with refuse_deep_nesting():
        yield _binding(tree, catalog, parameters)


def _binding(tree: exp.Expr, catalog: CatalogInfo, parameters: Parameters) -> Binding:
    if isinstance(parameters, parameter_rows.ParameterRows):
        return Binding(catalog, parameters, bind_query, numbers=parameters.numbers)
    return Binding(catalog, bind_parameters(tree, parameters), bind_query)


def bind_select(select: Select, catalog: CatalogInfo, parameters: Parameters = ()) -> Plan:
    """Return the logical plan of a query: names resolved, types checked, casts inserted.

    Raises ProgrammingError for what is wrong and NotSupportedError for what is not supported.
    """
    return bind_at_once(select, catalog, parameters).plan


def bind_at_once(select: Select, catalog: CatalogInfo, parameters: Parameters = ()) -> BoundQuery:
    """Bind a query that may run again later; errors as in `bind_select`."""
    with refuse_deep_nesting():
        binding = _binding(select.tree, catalog, parameters)
        plan = bind_query(select.tree, binding)
        return BoundQuery(plan, bool(binding.clock_reads))


def bind_query(node: exp.Expr, binding: Binding) -> Plan:
    """Return the plan of a query or of a query inside another."""
    inner = with_queries(node, binding)
    match node:
        case exp.Select():
            return bind_select_clauses(node, inner)
        case exp.Values():
            require_only(node, "expressions", "with_", *MODIFIERS)
            return _with_modifiers(node, bind_values(node, inner), inner)
        case exp.Subquery():
            require_only(node, "this", "with_", *MODIFIERS)
            return _with_modifiers(node, bind_query(node.this, inner), inner)
        case exp.Summarize(this=rows):
            return bind_summary(rows, inner)
        case exp.Describe(this=described):
            return descriptions.bind_description(described, inner)
        case exp.SetOperation():
            return _with_modifiers(node, set_operation.bind_set_operation(node, inner), inner)
        case _:
            raise unsupported(node)


def _with_modifiers(node: exp.Expr, plan: Plan, binding: Binding) -> Plan:
    """Return the plan of `(query) ORDER BY ... LIMIT ...`; the order sees the query's columns."""
    if not any(node.args.get(name) for name in MODIFIERS):
        return plan
    columns = plan.columns
    items = [Item(column.name, exp.Star(), column) for column in columns]
    scope = table_scope("", columns)
    order = bind_order(node, items, context_of(binding, scope, "ORDER BY"))
    return finish(node, plan, [(column.name, column) for column in columns], order, binding)


def bind_values(node: exp.Expr, binding: Binding) -> Values:
    """Return VALUES as a plan; its columns are column1, column2, ..."""
    rows = [value_row(row, binding) for row in node.expressions]
    width = len(rows[0])
    for number, row in enumerate(rows, 1):
        if len(row) != width:
            raise ProgrammingError(
                f"row {number} of VALUES has {len(row)} values, but the first row has {width}"
            )
    unified = [unify(cells, "combine") for cells in zip(*rows, strict=True)]
    columns = tuple(
        new_column(binding, f"column{number}", cells[0].type, common_collation(cells))
        for number, cells in enumerate(unified, 1)
    )
    return Values(columns, tuple(zip(*unified, strict=True)))


def value_row(node: exp.Expr, binding: Binding) -> tuple[Expression, ...]:
    """Return one row of VALUES, each value in its own type."""
    require_only(node, "expressions")
    context = context_of(binding, Scope(), "VALUES")
    return tuple(bind_expression(value, context) for value in node.expressions)
