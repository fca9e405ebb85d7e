"""WITH: queries that have names, bound once each, and those that refer to themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.names import fold
from raydb.planner.expressions.nodes import Column, Literal
from raydb.planner.expressions.types import (
    closed,
    common_type,
    is_decimal,
    is_float,
    is_integer,
    is_number,
)
from raydb.planner.expressions.typing_rules import cast, unify
from raydb.planner.plan.common_tables import free_columns
from raydb.planner.plan.nodes import (
    CommonTable,
    KeyedRecursive,
    Plan,
    Project,
    Recursive,
    WorkingTable,
)
from raydb.sql.bind import keyed_query
from raydb.sql.bind.binding import Binding, NamedQuery, OwnQuery, column_for, new_column
from raydb.sql.bind.query import set_operation
from raydb.sql.bind.query.output import MODIFIERS
from raydb.sql.bind.scope import Outer, table_scope
from raydb.sql.parse.nodes import require_only
from raydb.sql.parse.statements.with_changes import CHANGES
from raydb.storage.type_names import sql_type_name
from raydb.values import replace

if TYPE_CHECKING:
    import pyarrow as pa


_CLAUSES = {"order": "ORDER BY", "limit": "LIMIT", "offset": "OFFSET"}


def with_queries(node: exp.Expr, binding: Binding) -> Binding:
    """Return the binding in which the names of a query's WITH are known."""
    clause = node.args.get("with_")
    if clause is None:
        return binding
    require_only(clause, "expressions", "recursive")
    names: set[str] = set()
    for query in clause.expressions:
        require_only(query, "this", "alias", "materialized", "key_expressions")
        alias = query.args["alias"]
        require_only(alias, "this", "columns")
        name = alias.this.name
        if fold(name) in names:
            raise ProgrammingError(f"WITH defines '{name}' twice")
        names.add(fold(name))
        if isinstance(query.this, CHANGES):
            raise ProgrammingError(
                f"{query.this.key.upper()} in WITH stands at the top of a statement, not in a query"
                " within it or in a view"
            )
        columns = tuple(column.name for column in alias.args.get("columns") or ())
        if clause.args.get("recursive"):
            plan = _bind_recursive(query, name, columns, binding)
        elif query.args.get("key_expressions") is not None:
            raise ProgrammingError(f"'{name}' has USING KEY, but WITH is not RECURSIVE")
        else:
            plan = binding.bind_query(query.this, binding)
        named = name_query(name, plan, columns, binding, query.args.get("materialized"))
        binding = replace(binding, queries={**binding.queries, fold(name): named})
    return binding


def name_query(
    name: str,
    plan: Plan,
    columns: tuple[str, ...],
    binding: Binding,
    materialized: bool | None = None,
) -> NamedQuery:
    """Return a bound query under its name; `columns` names the first of its columns."""
    named = table_scope(name, plan.columns, columns).tables[0].columns
    names = tuple(column for column, _ in named)
    # Drawn after the query was bound: a query has a higher number than those that it refers to.
    return NamedQuery(next(binding.numbers), name, plan, names, materialized, binding.outer)


def refer(query: NamedQuery | OwnQuery, binding: Binding, *, whole: bool = False) -> Plan:
    """Return a reference to a query, with columns of its own; whole: to `recurring.t`."""
    if isinstance(query, OwnQuery):
        if query.columns is None:
            raise ProgrammingError(
                f"the recursive query '{query.name}' refers to itself where it must not:"
                " only the query behind its UNION can"
            )
        given = query.whole if whole else query.columns
        columns = tuple(new_column(binding, name, kind) for name, kind in given)
        query.references.append(WorkingTable(query.number, columns, whole))
        return query.references[-1]
    if _row_outside(query.outer) is not _row_outside(binding.outer) and free_columns(query.plan):
        raise NotSupportedError(
            f"'{query.name}' reads columns of an outer query, so a subquery cannot refer to it"
        )
    columns = tuple(
        column_for(binding, name, column)
        for name, column in zip(query.columns, query.plan.columns, strict=True)
    )
    return CommonTable(query.number, query.name, query.plan, columns, query.materialized)


def _row_outside(outer: Outer | None) -> Outer | None:
    """Return what a subquery sees outside, from anywhere in its FROM."""
    while outer is not None and outer.kind != "subquery":
        outer = outer.beyond
    return outer


# -- recursion


def _bind_recursive(query: exp.Expr, name: str, names: tuple[str, ...], binding: Binding) -> Plan:
    """Return the plan of a query of WITH RECURSIVE, which may refer to itself."""
    number = next(binding.numbers)
    own = OwnQuery(number, name, None)
    known = replace(binding, queries={**binding.queries, fold(name): own})
    node, keys = query.this, query.args.get("key_expressions")
    while isinstance(node, exp.Subquery):
        require_only(node, "this")
        node = node.this
    if not isinstance(node, exp.Union) or node.args.get("by_name"):
        if keys is not None:
            raise ProgrammingError(f"'{name}' has USING KEY, which needs UNION or UNION ALL in it")
        return binding.bind_query(node, known)
    require_only(node, "this", "expression", "distinct", "with_", *MODIFIERS)
    known = with_queries(node, known)
    base = _closed(binding.bind_query(node.this, known), binding)
    named = table_scope(name, base.columns, names).tables[0].columns
    given = tuple((column, each.type) for column, each in named)
    distinct = bool(node.args.get("distinct"))
    rows = keyed_query.KeyedQuery(name, given, keys, binding) if keys is not None else None
    whole = given if rows is None else rows.columns
    own = OwnQuery(number, name, whole if distinct else given, whole)
    step = binding.bind_query(
        node.expression, replace(known, queries={**known.queries, fold(name): own})
    )
    if not own.references and rows is None:
        if any(node.args.get(modifier) for modifier in MODIFIERS):
            return binding.bind_query(node, known)
        return set_operation.union_of((base, step), binding, distinct=distinct)
    for modifier, clause in _CLAUSES.items():
        if node.args.get(modifier):
            raise ProgrammingError(
                f"the recursive query '{name}' cannot have {clause}; the query that reads it can"
            )
    step = _as_base(step, given, name, binding)
    found = tuple(new_column(binding, column, kind) for column, kind in whole)
    if rows is None:
        return Recursive(number, base, step, found, distinct)
    if not own.references:
        return rows.of(set_operation.union_of((base, step), binding, distinct=False))
    inputs, kept = rows.kept()
    return KeyedRecursive(number, base, step, found, distinct, rows.keys, inputs, kept)


def _closed(base: Plan, binding: Binding) -> Plan:
    """Return the base with types that do not depend on the step: [NULL] is a list of integers."""
    kinds = [closed(column.type) for column in base.columns]
    if kinds == [column.type for column in base.columns]:
        return base
    pairs = zip(base.columns, kinds, strict=True)
    items = ((new_column(binding, each.name, kind), cast(each, kind)) for each, kind in pairs)
    return Project(base, tuple(items))


def _as_base(
    step: Plan, columns: tuple[tuple[str, pa.DataType], ...], name: str, binding: Binding
) -> Plan:
    """Return the step with the types of the base, which decides them."""
    given = step.columns
    if len(given) != len(columns):
        raise ProgrammingError(
            f"the recursive query '{name}' has {len(columns)} columns,"
            f" but its step has {len(given)}"
        )
    items = []
    for (column, wanted), given_cell in zip(
        columns, set_operation.adapting_cells(step), strict=True
    ):
        cell = given_cell
        if isinstance(cell, Literal):
            _, cell = unify((Column(-1, column, wanted), cell), "combine")
        if not _keeps_values(cell.type, wanted):
            raise ProgrammingError(
                f"column '{column}' of the recursive query '{name}' has the type"
                f" {sql_type_name(wanted)}, but {sql_type_name(cell.type)} in its step;"
                " cast one of them"
            )
        items.append((new_column(binding, column, wanted), cast(cell, wanted)))
    return Project(step, tuple(items))


def _keeps_values(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Tell whether a cast gives the same value, or an error where there is none."""
    if given == wanted or common_type(given, wanted) == wanted:
        return True
    if is_decimal(wanted):
        return is_integer(given) or (is_decimal(given) and given.scale <= wanted.scale)
    if is_float(wanted):
        return is_number(given)
    return is_integer(wanted) and is_integer(given)
