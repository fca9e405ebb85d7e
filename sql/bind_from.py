"""FROM: tables, views, derived tables and joins to a plan and the scope of its names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal, TypeAlias

from sqlglot import exp

from raydb.errors import NotSupportedError, ProgrammingError, did_you_mean
from raydb.planner.expression import Call, Expression, conjuncts
from raydb.planner.expression import Literal as Constant
from raydb.planner.logical import InnerJoin, OuterJoin, Plan, Scan, Values, output_columns
from raydb.sql.bind_expression import Resolve, bind_condition
from raydb.sql.binding import Binding, context_of, new_column
from raydb.sql.files import file_table, is_file
from raydb.sql.nodes import require_only, unsupported
from raydb.sql.parser import parse
from raydb.sql.reader import fold
from raydb.sql.scope import (
    Scope,
    Visible,
    find_name,
    join_scopes,
    merge_columns,
    resolve,
    table_scope,
)
from raydb.sql.statements import Select
from raydb.sql.table_functions import bind_table_function
from raydb.sql.typing_rules import compare, unify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    BindQuery: TypeAlias = Callable[[exp.Expr, Binding], Plan]

Side = Literal["left", "right", "full"]
_SIDES: dict[str, Side] = {"LEFT": "left", "RIGHT": "right", "FULL": "full"}


@dataclass(frozen=True, slots=True)
class Source:
    """A bound part of FROM."""

    plan: Plan
    scope: Scope


def bind_from(
    from_: exp.Expr | None, joins: list[exp.Expr], binding: Binding, bind_query: BindQuery
) -> Source:
    """Return the rows that FROM gives; without FROM one row of no columns.

    A comma binds weaker than JOIN: in `a, b JOIN c ON ...` the condition does not see `a`.
    """
    if from_ is None:
        return Source(Values((), ((),)), Scope())
    require_only(from_, "this")
    done: list[Source] = []
    current = _bind_source(from_.this, binding, bind_query)
    for join in joins:
        right = _bind_source(join.this, binding, bind_query)
        if join.args.get("kind") == "COMMA":
            require_only(join, "this", "kind")
            done.append(current)
            current = right
        else:
            current = _bind_join(join, current, right, binding, done)
    for each in reversed(done):
        current = _inner_join(each, current, ())
    return current


def _bind_source(node: exp.Expr, binding: Binding, bind_query: BindQuery) -> Source:
    match node:
        case exp.Table():
            require_only(node, "this", "alias", "joins")
            source = _bind_table(node, binding, bind_query)
        case exp.Subquery(this=exp.Table() as inner):  # `(a JOIN b ON ...)`
            require_only(node, "this", "alias", "joins")
            source = _bind_source(inner, binding, bind_query)
            if node.args.get("alias") is not None:
                raise NotSupportedError("an alias for a join in parentheses is not supported")
        case exp.Subquery() | exp.Values():
            plan = bind_query(_without(node, "alias", "joins"), binding)
            name, columns = _alias(node, "")
            source = Source(plan, table_scope(name, output_columns(plan), columns))
        case _:
            raise unsupported(node)
    for join in node.args.get("joins") or ():
        source = _bind_join(join, source, _bind_source(join.this, binding, bind_query), binding)
    return source


def _without(node: exp.Expr, *arguments: str) -> exp.Expr:
    bare = node.copy()
    for argument in arguments:
        bare.set(argument, None)
    return bare


def _alias(node: exp.Expr, name: str) -> tuple[str, tuple[str, ...]]:
    """Return the name of a source and the new names of its columns, `t(a, b)`."""
    alias = node.args.get("alias")
    if alias is None:
        return name, ()
    require_only(alias, "this", "columns")
    columns = tuple(fold(column) for column in alias.args.get("columns") or ())
    return (name if alias.this is None else fold(alias.this)), columns


def _bind_table(node: exp.Table, binding: Binding, bind_query: BindQuery) -> Source:
    if isinstance(node.this, exp.Anonymous):
        function = node.this.name.lower()
        plan: Plan = bind_table_function(function, node.this.expressions, binding)
        name, names = _alias(node, function)
        return Source(plan, table_scope(name, output_columns(plan), names))
    if is_file(node):
        return _bind_file(node, binding)
    if not isinstance(node.this, exp.Identifier):
        raise unsupported(node.this)
    table = fold(node.this)
    name, names = _alias(node, table)
    catalog = binding.catalog
    if table in binding.queries:
        query = binding.queries[table]
        plan = bind_query(query.tree, query.binding)
        names = names + query.columns[len(names) :]
    elif table in catalog.tables:
        plan = _scan(table, binding)
    elif table in catalog.views:
        plan = _bind_view(table, binding, bind_query)
    else:
        known = (*binding.queries, *catalog.tables, *catalog.views)
        raise ProgrammingError(f"table '{table}' does not exist{did_you_mean(table, known)}")
    return Source(plan, table_scope(name, output_columns(plan), names, written=table))


def _bind_file(node: exp.Table, binding: Binding) -> Source:
    """Return the rows of a file, `FROM 'sales.parquet'`, which is called `sales` then."""
    path = node.this.name
    name, names = _alias(node, PurePath(path).stem)
    plan = _scan(file_table(path), binding)
    return Source(plan, table_scope(name, output_columns(plan), names))


def _scan(table: str, binding: Binding) -> Scan:
    schema = binding.catalog.tables[table].definition.schema
    return Scan(table, tuple(new_column(binding, field.name, field.type) for field in schema))


def _bind_view(view: str, binding: Binding, bind_query: BindQuery) -> Plan:
    """Return a view's query, bound to the catalog alone."""
    if view in binding.views:
        raise ProgrammingError(f"the view '{view}' refers to itself")
    (statement,) = parse(binding.catalog.views[view])
    assert isinstance(statement, Select), "a view holds a query"
    inner = replace(binding, parameters={}, queries={}, views=(*binding.views, view))
    try:
        return bind_query(statement.tree, inner)
    except ProgrammingError as error:
        raise ProgrammingError(f"in the view '{view}': {error}") from error


def _bind_join(
    join: exp.Expr,
    left: Source,
    right: Source,
    binding: Binding,
    before_comma: Sequence[Source] = (),
) -> Source:
    if join.args.get("method"):
        raise NotSupportedError(f"{join.args['method']} JOIN is not supported")
    require_only(join, "this", "on", "using", "side", "kind")
    kind, side = join.args.get("kind"), join.args.get("side")
    if kind not in (None, "INNER", "OUTER", "CROSS") or (side and side not in _SIDES):
        raise NotSupportedError(f"{' '.join(filter(None, (side, kind)))} JOIN is not supported")
    on, using = join.args.get("on"), join.args.get("using")
    if kind == "CROSS":
        if on is not None or using:
            raise ProgrammingError("CROSS JOIN takes no ON or USING")
        return _inner_join(left, right, ())
    scope = join_scopes(left.scope, right.scope)
    if using:
        names = [fold(name) for name in using]
        conditions, merged = _bind_using(names, left.scope, right.scope, side)
        scope = merge_columns(scope, merged)
    elif on is None:
        raise ProgrammingError("JOIN needs ON or USING")
    else:
        context = context_of(binding, scope, "JOIN ... ON")
        hidden = [each.scope for each in before_comma]
        find = partial(_resolve_in_join, context.resolve, hidden)
        condition = bind_condition(on, replace(context, resolve=find))
        conditions = [part for part in conjuncts(condition) if not _is_true(part)]
    if side is None:
        return replace(_inner_join(left, right, conditions), scope=scope)
    return Source(OuterJoin(_SIDES[side], left.plan, right.plan, tuple(conditions)), scope)


def _resolve_in_join(
    find: Resolve, hidden: Sequence[Scope], name: str, table: str | None
) -> Expression:
    """Resolve a name in ON, and say so if it belongs to a table before a comma."""
    try:
        return find(name, table)
    except ProgrammingError:
        for scope in hidden:
            if any(
                column.name == name and table in (None, column.table) for column in scope.visible
            ):
                written = name if table is None else f"{table}.{name}"
                raise ProgrammingError(
                    f"'{written}' is not visible in this JOIN: a comma in FROM binds weaker;"
                    " write CROSS JOIN for the comma"
                ) from None
        raise


def _is_true(condition: Expression) -> bool:
    return isinstance(condition, Constant) and condition.value is True


def _inner_join(left: Source, right: Source, conditions: Iterable[Expression]) -> Source:
    """Join two sources; inner joins within them become part of the one node."""
    sources: list[Plan] = []
    every: list[Expression] = []
    for plan in (left.plan, right.plan):
        match plan:
            case InnerJoin(sources=inner, conditions=given):
                sources += inner
                every += given
            case _:
                sources.append(plan)
    scope = join_scopes(left.scope, right.scope)
    return Source(InnerJoin(tuple(sources), (*every, *conditions)), scope)


def _bind_using(
    names: list[str], left: Scope, right: Scope, side: str | None
) -> tuple[list[Expression], list[Visible]]:
    """Return the conditions of USING, and the columns that stand for both sides.

    The merged column is the left one, in a RIGHT JOIN the right one (the left may be missing) and
    in a FULL JOIN whichever is there.
    """
    conditions: list[Expression] = []
    merged: list[Visible] = []
    for name in names:
        for scope in (left, right):
            if find_name(scope, name) is None:
                resolve(scope, name, None)  # raises, with the nearest right name
        ours, theirs = resolve(left, name, None), resolve(right, name, None)
        conditions.append(compare("equal", ours, theirs))
        match side:
            case "FULL":
                both = unify((ours, theirs), "compare")
                column: Expression = Call("coalesce", both, both[0].type)
            case "RIGHT":
                column = theirs
            case _:
                column = ours
        merged.append(Visible(name, column, None))
    return conditions, merged
