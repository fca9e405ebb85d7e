"""Queries: sqlglot's trees of SELECT and VALUES to logical plans."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

import pyarrow as pa
from sqlglot import exp

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.planner.expression import Call, Column, Expression, Literal, columns_of
from raydb.planner.logical import (
    Aggregate,
    Filter,
    Limit,
    Plan,
    Project,
    Sort,
    SortKey,
    Values,
    output_columns,
)
from raydb.sql.bind_expression import (
    AggregateList,
    Context,
    bind_condition,
    bind_expression,
)
from raydb.sql.bind_from import bind_from
from raydb.sql.binding import Binding, NamedQuery, context_of, new_column
from raydb.sql.dialect import text_of
from raydb.sql.nodes import refuse_deep_nesting, require_only, unsupported
from raydb.sql.parameters import Parameters, bind_parameters
from raydb.sql.reader import fold
from raydb.sql.scope import Scope, find_name, find_table, table_scope
from raydb.sql.types import is_integer
from raydb.sql.typing_rules import describe, unify

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from raydb.planner.catalog import CatalogInfo
    from raydb.sql.statements import Select

_MODIFIERS = ("order", "limit", "offset")
_SELECT_ARGUMENTS = (
    *("with_", "expressions", "from_", "joins", "where", "group", "having", "distinct"),
    *_MODIFIERS,
)


def bind_select(select: Select, catalog: CatalogInfo, parameters: Parameters = ()) -> Plan:
    """Return the logical plan of a query: names resolved, types checked, casts inserted.

    Joins, then Filter (WHERE), Aggregate, Filter (HAVING), Project (with hidden columns that only
    ORDER BY needs), Sort, a narrowing Project and Limit, each where the query asks for it. Raises
    ProgrammingError for what is wrong and NotSupportedError for what is not supported.
    """
    with refuse_deep_nesting():
        return bind_query(select.tree, Binding(catalog, bind_parameters(select.tree, parameters)))


def bind_query(node: exp.Expr, binding: Binding) -> Plan:
    """Return the plan of a query or of a query inside another."""
    match node:
        case exp.Select():
            require_only(node, *_SELECT_ARGUMENTS)
            return _bind_select(node, _with_queries(node, binding))
        case exp.Values():
            require_only(node, "expressions", "with_", *_MODIFIERS)
            inner = _with_queries(node, binding)
            return _bind_modifiers(node, bind_values(node, inner), inner)
        case exp.Subquery():
            require_only(node, "this", "with_", *_MODIFIERS)
            inner = _with_queries(node, binding)
            return _bind_modifiers(node, bind_query(node.this, inner), inner)
        case _:
            raise unsupported(node)


def _with_queries(node: exp.Expr, binding: Binding) -> Binding:
    """Return the binding in which the names of WITH are known."""
    clause = node.args.get("with_")
    if clause is None:
        return binding
    require_only(clause, "expressions", "recursive")
    if clause.args.get("recursive"):
        raise NotSupportedError("WITH RECURSIVE is not supported")
    names: set[str] = set()
    for query in clause.expressions:
        require_only(query, "this", "alias")
        alias = query.args["alias"]
        require_only(alias, "this", "columns")
        name = fold(alias.this)
        if name in names:
            raise ProgrammingError(f"WITH defines '{name}' twice")
        names.add(name)
        columns = tuple(fold(column) for column in alias.args.get("columns") or ())
        # Bound here only to find its errors: it may be used nowhere.
        table_scope(name, output_columns(bind_query(query.this, binding)), columns)
        named = NamedQuery(query.this, columns, binding)
        binding = replace(binding, queries={**binding.queries, name: named})
    return binding


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
        new_column(binding, f"column{number}", cells[0].type)
        for number, cells in enumerate(unified, 1)
    )
    return Values(columns, tuple(zip(*unified, strict=True)))


def value_row(node: exp.Expr, binding: Binding) -> tuple[Expression, ...]:
    """Return one row of VALUES, each value in its own type."""
    require_only(node, "expressions")
    context = context_of(binding, Scope(), "VALUES")
    return tuple(bind_expression(value, context) for value in node.expressions)


@dataclass(frozen=True, slots=True)
class _Item:
    """An entry of the select list."""

    name: str
    node: exp.Expr
    expression: Expression


def _bind_select(node: exp.Expr, binding: Binding) -> Plan:
    source = bind_from(node.args.get("from_"), node.args.get("joins") or [], binding, bind_query)
    plan, scope = source.plan, source.scope
    if (where := node.args.get("where")) is not None:
        require_only(where, "this")
        plan = Filter(plan, bind_condition(where.this, context_of(binding, scope, "WHERE")))
    aggregates = AggregateList(binding.numbers)
    items = _bind_items(node.expressions, scope, context_of(binding, scope, "SELECT", aggregates))
    having = node.args.get("having")
    condition = None
    if having is not None:
        require_only(having, "this")
        condition = bind_condition(having.this, context_of(binding, scope, "HAVING", aggregates))
    ordering = context_of(binding, scope, "ORDER BY", aggregates)
    order = _bind_order(node, items, ordering)
    keys = _bind_group(node.args.get("group"), items, scope, aggregates, binding)
    grouped = keys is not None or having is not None or bool(aggregates.calls)
    over: Callable[[Expression], Expression] = _unchanged
    if grouped:
        keys = keys or {}
        calls = tuple((column, call) for call, column in aggregates.calls.items())
        plan = Aggregate(plan, tuple((column, key) for key, column in keys.items()), calls)
        over = _over_groups(keys, frozenset(aggregates.calls.values()))
    if condition is not None:
        plan = Filter(plan, over(condition))
    return _finish(
        node,
        plan,
        [(item.name, over(item.expression)) for item in items],
        [replace(key, expression=over(key.expression)) for key in order],
        binding,
    )


def _unchanged(expression: Expression) -> Expression:
    return expression


def _bind_items(nodes: Sequence[exp.Expr], scope: Scope, context: Context) -> list[_Item]:
    items: list[_Item] = []
    for node in nodes:
        match node:
            case exp.Star():
                require_only(node)
                if not scope.visible:
                    raise ProgrammingError("SELECT * needs a table in FROM")
                items += [_Item(each.name, node, each.expression) for each in scope.visible]
            case exp.Column(this=exp.Star() as star):
                require_only(node, "this", "table")
                require_only(star)
                table = find_table(scope, fold(node.args["table"]))
                items += [_Item(name, node, column) for name, column in table.columns]
            case exp.Alias():
                require_only(node, "this", "alias")
                items.append(
                    _Item(fold(node.args["alias"]), node.this, bind_expression(node.this, context))
                )
            case _:
                items.append(_Item(_name_of(node), node, bind_expression(node, context)))
    if not items:
        raise ProgrammingError("SELECT needs at least one column")
    return items


def _name_of(node: exp.Expr) -> str:
    """Return the name of a column without an alias: its own, or its text."""
    while isinstance(node, exp.Paren):
        node = node.this
    return fold(node.this) if isinstance(node, exp.Column) else text_of(node)


def _bind_group(
    group: exp.Expr | None,
    items: list[_Item],
    scope: Scope,
    aggregates: AggregateList,
    binding: Binding,
) -> dict[Expression, Column] | None:
    """Return the column of each group key, or None without GROUP BY."""
    if group is None:
        return None
    require_only(group, "expressions")
    context = context_of(binding, scope, "GROUP BY")
    results = frozenset(aggregates.calls.values())
    keys: dict[Expression, Column] = {}
    for node in group.expressions:
        named = isinstance(node, exp.Column)
        item = _named_item(node, items, scope) if named else _item_at(node, items, "GROUP BY")
        key = _typed(_bind_key(node, context) if item is None else item.expression)
        if columns_of(key) & results:
            raise ProgrammingError("GROUP BY cannot contain an aggregate")
        if key not in keys:
            name = key.name if isinstance(key, Column) else _name_of(node)
            keys[key] = new_column(binding, name, key.type)
    return keys


def _named_item(node: exp.Expr, items: list[_Item], scope: Scope) -> _Item | None:
    """Return the select item that a name in GROUP BY stands for, unless FROM has that name."""
    name = fold(node.this)
    if node.args.get("table") is not None or find_name(scope, name) is not None:
        return None
    return _only_item(name, items)


def _only_item(name: str, items: list[_Item]) -> _Item | None:
    """Return the select item with a name; two that differ are ambiguous."""
    found = {item.expression: item for item in items if item.name == name}
    if len(found) > 1:
        raise ProgrammingError(f"column '{name}' is ambiguous: the select list has two")
    return next(iter(found.values()), None)


def _bind_key(node: exp.Expr, context: Context) -> Expression:
    key = bind_expression(node, context)
    if isinstance(key, Literal):
        raise ProgrammingError(f"{context.clause} needs columns, not the constant {text_of(node)}")
    return key


def _item_at(node: exp.Expr, items: list[_Item], clause: str) -> _Item | None:
    """Return the select item at a position such as the 2 in ORDER BY 2."""
    if not isinstance(node, exp.Literal):
        return None
    if node.is_string or not node.name.isdigit():
        return None
    if not 1 <= int(node.name) <= len(items):
        raise ProgrammingError(
            f"{clause} position {node.name} is not in the SELECT list, which has {len(items)}"
        )
    return items[int(node.name) - 1]


def _over_groups(
    keys: Mapping[Expression, Column], results: frozenset[Column]
) -> Callable[[Expression], Expression]:
    """Return the function that turns an expression over rows into one over groups."""

    def refuse(name: str) -> NoReturn:
        raise ProgrammingError(f"column '{name}' must be in GROUP BY or inside an aggregate")

    def change(expression: Expression) -> Expression:
        match expression:
            case Literal():
                return expression
            case _ if expression in keys:
                return keys[expression]
            case Call(arguments=arguments):
                return replace(expression, arguments=tuple(map(change, arguments)))
            case Column() if expression in results:
                return expression
            case _:
                refuse(expression.name)

    return change


@dataclass(frozen=True, slots=True)
class _OrderKey:
    expression: Expression
    descending: bool
    nulls_first: bool


def _bind_order(node: exp.Expr, items: list[_Item], context: Context) -> list[_OrderKey]:
    """Return the keys of ORDER BY: a name of the select list, a position, or any expression."""
    order = node.args.get("order")
    if order is None:
        return []
    require_only(order, "expressions")
    keys: list[_OrderKey] = []
    for ordered in order.expressions:
        require_only(ordered, "this", "desc", "nulls_first")
        keys.append(
            _OrderKey(
                _bind_order_expression(ordered.this, items, context),
                bool(ordered.args.get("desc")),
                bool(ordered.args.get("nulls_first")),
            )
        )
    return keys


def _bind_order_expression(node: exp.Expr, items: list[_Item], context: Context) -> Expression:
    if (item := _item_at(node, items, "ORDER BY")) is not None:
        return item.expression
    if isinstance(node, exp.Column) and node.args.get("table") is None:
        item = None if isinstance(node.this, exp.Star) else _only_item(fold(node.this), items)
        if item is not None:
            return item.expression
    return _bind_key(node, context)


def _bind_modifiers(node: exp.Expr, plan: Plan, binding: Binding) -> Plan:
    """Return the plan of `(query) ORDER BY ... LIMIT ...`; the order sees the query's columns."""
    if not any(node.args.get(name) for name in _MODIFIERS):
        return plan
    columns = output_columns(plan)
    scope = table_scope("", columns)
    items = [_Item(column.name, exp.Star(), column) for column in columns]
    order = _bind_order(node, items, context_of(binding, scope, "ORDER BY"))
    return _finish(node, plan, [(column.name, column) for column in columns], order, binding)


def _finish(
    node: exp.Expr,
    plan: Plan,
    items: list[tuple[str, Expression]],
    order: list[_OrderKey],
    binding: Binding,
) -> Plan:
    """Add the select list, DISTINCT, ORDER BY and LIMIT to a plan."""
    listed = [
        (new_column(binding, name, expression.type), expression)
        for name, expression in ((name, _typed(expression)) for name, expression in items)
    ]
    visible = tuple(column for column, _ in listed)
    columns = {expression: column for column, expression in reversed(listed)}
    distinct = node.args.get("distinct")
    hidden: list[tuple[Column, Expression]] = []
    for key in order:
        expression = _typed(key.expression)
        if expression in columns:
            continue
        if distinct is not None:
            raise ProgrammingError("ORDER BY of SELECT DISTINCT can only use selected columns")
        columns[expression] = new_column(binding, "order key", expression.type)
        hidden.append((columns[expression], expression))
    plan = Project(plan, (*listed, *hidden))
    if distinct is not None:
        require_only(distinct)
        fresh = {column: replace(column, number=next(binding.numbers)) for column in visible}
        plan = Aggregate(plan, tuple((new, old) for old, new in fresh.items()), ())
        columns = {expression: fresh[column] for expression, column in columns.items()}
    if order:
        sort_keys = tuple(
            SortKey(columns[_typed(key.expression)], key.descending, key.nulls_first)
            for key in order
        )
        plan = Sort(plan, sort_keys)
    if hidden:
        plan = Project(plan, tuple((column, column) for column in visible))
    return _bind_limit(node, plan, binding)


def _typed(expression: Expression) -> Expression:
    """Give a bare NULL a type: a column has to have one, and INTEGER casts to most."""
    if isinstance(expression, Literal) and pa.types.is_null(expression.type):
        return Literal(None, pa.int32())
    return expression


def _bind_limit(node: exp.Expr, plan: Plan, binding: Binding) -> Plan:
    limit, offset = node.args.get("limit"), node.args.get("offset")
    if limit is None and offset is None:
        return plan
    if limit is not None and not isinstance(limit, exp.Limit):
        raise unsupported(limit)
    count = _row_count(limit, "LIMIT", binding)
    return Limit(plan, count, _row_count(offset, "OFFSET", binding) or 0)


def _row_count(node: exp.Expr | None, clause: str, binding: Binding) -> int | None:
    """Return the number of rows of LIMIT or OFFSET; None for LIMIT ALL and LIMIT NULL."""
    if node is None:
        return None
    require_only(node, "expression")
    written = node.expression
    if isinstance(written, exp.Var) and written.name.upper() == "ALL":
        return None
    count = bind_expression(written, context_of(binding, Scope(), clause))
    if not isinstance(count, Literal):
        raise NotSupportedError(f"{clause} of an expression is not supported")
    if count.value is None:
        return None
    if not is_integer(count.type):
        raise ProgrammingError(f"{clause} needs an integer, not {describe(count)}")
    if count.value < 0:
        raise ProgrammingError(f"{clause} must not be negative, as {count.value} is")
    return int(count.value)
