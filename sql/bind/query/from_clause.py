"""FROM: tables, views, derived tables and joins to a plan and the scope of its names."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

import pyarrow as pa
from sqlglot import exp

from raydb.errors import Error, NotSupportedError, ProgrammingError, did_you_mean
from raydb.names import is_same
from raydb.planner.expressions.collations import collation_of_elements
from raydb.planner.expressions.nodes import Expression, conjuncts, substitute
from raydb.planner.expressions.nodes import Literal as Constant
from raydb.planner.expressions.signature import require_list
from raydb.planner.plan.common_tables import free_columns
from raydb.planner.plan.nodes import (
    Apply,
    Filter,
    InnerJoin,
    OuterJoin,
    Plan,
    Project,
    Search,
    SemiJoin,
    Unnest,
    Values,
)
from raydb.planner.plan.table_function import (
    TABLE_FUNCTIONS,
    OpenedFunction,
    PlannedFunction,
    SearchFunction,
)
from raydb.sql.bind.binding import Binding, column_for, context_of, new_column
from raydb.sql.bind.expression.expression import Resolve, bind_condition, bind_expression
from raydb.sql.bind.query import asof_join, positional_join
from raydb.sql.bind.query import pivot as pivot_clause
from raydb.sql.bind.query import using as using_clause
from raydb.sql.bind.query.relations import Source, alias_of, bind_named, bind_names, scan_table
from raydb.sql.bind.query.sample import with_sample
from raydb.sql.bind.scope import Outer, Scope, join_scopes, merge_columns, table_scope
from raydb.sql.bind.table_functions import arguments as function_arguments
from raydb.sql.bind.table_functions import called_rows, file_functions
from raydb.sql.parse.nodes import locate, require_only, unsupported
from raydb.sql.parse.reader import name_in
from raydb.sql.parse.searched_tables import function_called
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from raydb.planner.expressions.nodes import Column

Side = Literal["left", "right", "full"]
Arguments: TypeAlias = "tuple[tuple[Column, Expression], ...]"
_SIDES: dict[str, Side] = {"LEFT": "left", "RIGHT": "right", "FULL": "full"}
_KINDS = (None, "INNER", "OUTER", "CROSS", "SEMI", "ANTI")


def bind_from(from_: exp.Expr | None, joins: list[exp.Expr], binding: Binding) -> Source:
    """Return the rows that FROM gives; without FROM one row of no columns.

    A comma binds weaker than JOIN: in `a, b JOIN c ON ...` the condition does not see `a`, unless b
    is LATERAL and reads it, as in DuckDB; USING never does.
    """
    if from_ is None:
        return Source(Values((), ((),)), Scope())
    require_only(from_, "this")
    nodes = [from_.this, *[join.this for join in joins]]
    if joins and all(map(_is_comma, joins)) and all(map(_is_name, nodes)):
        return bind_names(
            nodes, binding, lambda: _inner_join([_bind_source(n, binding) for n in nodes], ())
        )
    done: list[Source] = []
    current = _bind_source(from_.this, binding)
    # The names from before a comma whose rows `current` has.
    front = Scope()
    # Whether `current` has tables from before a comma.
    is_across = False
    for join in joins:
        arguments: Arguments = ()
        if _is_name(join.this):
            right = _bind_source(join.this, binding)
        else:
            others = join_scopes(front, *[each.scope for each in done])
            before = join_scopes(others, current.scope)
            right, arguments = _bind_beside(join.this, before, binding)
            if arguments:
                # It may read any table before it: those behind commas are joined first.
                is_across = is_across or bool(done) or _is_comma(join)
                front, own = (before, Scope()) if _is_comma(join) else (others, current.scope)
                done, current = [], Source(_cross(done, current).plan, own)
        if _is_comma(join) and not arguments:
            done.append(current)
            current, is_across = right, False
        else:
            if is_across and (side := join.args.get("side")) in {"RIGHT", "FULL"}:
                raise NotSupportedError(
                    f"{side} JOIN behind what reads a table before a comma is not supported;"
                    " put it into a subquery"
                )
            hidden = [each.scope for each in done]
            current = _bind_join(join, current, right, arguments, binding, hidden, front)
    every = _cross(done, current)
    return Source(every.plan, join_scopes(front, every.scope)) if front.tables else every


def _is_comma(join: exp.Expr) -> bool:
    """Say whether a join is a comma, of which sqlglot keeps the table alone."""
    return join.args.keys() == {"this"}


def _is_name(node: exp.Expr) -> bool:
    """Say whether a source is only named, and so reads nothing of those before it."""
    is_name = type(node) is exp.Table and type(node.this) is exp.Identifier
    return is_name and node.args.keys() <= {"this", "db", "catalog", "alias"}


def _cross(done: Sequence[Source], last: Source) -> Source:
    """Return the sources behind commas, each joined with what follows."""
    return _inner_join((*done, last), ()) if done else last


def _bind_source(node: exp.Expr, binding: Binding) -> Source:
    try:
        return _bind_unlocated(node, binding)
    except Error as error:
        locate(error, node)
        raise


def _bind_unlocated(node: exp.Expr, binding: Binding) -> Source:
    if type(node) is exp.Table and _is_name(node):
        return bind_named(node, binding)
    node = called_rows.series_as_unnest(node)
    if pivots := node.args.get("pivots"):
        return _bind_pivot(_without(node, "pivots", "joins"), pivots, node, binding)
    match node:
        case exp.Subquery(this=exp.Pivot(this=table) as pivot):  # `(PIVOT t ON ...)`
            return _bind_pivot(table, [pivot], node, binding)
        case _ if called_rows.is_json_call(node):
            source = Source(
                *called_rows.bind_json_rows(node, alias_of(node, node.this.name), binding)
            )
        case exp.Table():
            require_only(node, "this", "catalog", "db", "alias", "joins", "sample")
            source = _bind_table(node, binding)
        case exp.Subquery(this=inner) if _holds_join(inner):  # `(a JOIN b ON ...)`
            require_only(node, "this", "alias", "joins", "sample")
            _refuse_statement(inner)
            source = _bind_source(inner, binding)
            if node.args.get("alias") is not None:
                source = _rename(node, source, binding)
        case exp.Subquery() | exp.Values():
            plan = binding.bind_query(_without(node, "alias", "joins", "sample"), binding)
            source = _named(plan, node, "")
        case exp.Unnest():
            require_only(node, "expressions", "alias", "offset", "joins", "sample")
            source = _bind_unnest(node, alias_of(node, "unnest"), binding)
        case exp.Lateral(this=exp.Unnest() as inner):
            require_only(node, "this", "alias")
            require_only(inner, "expressions", "offset")
            source = _bind_unnest(inner, alias_of(node, "unnest"), binding)
        case exp.Lateral() if isinstance(function_called(node), SearchFunction):
            require_only(node, "this", "alias")
            source = _bind_call(node, binding)
        case exp.Lateral(this=exp.Subquery() as inner):
            require_only(node, "this", "alias")
            plan = binding.bind_query(inner, binding)
            source = _named(plan, node, "")
        case _:
            raise unsupported(node)
    if (sample := node.args.get("sample")) is not None:
        source = replace(source, plan=with_sample(source.plan, sample, binding))
    for join in node.args.get("joins") or ():
        right, arguments = _bind_beside(join.this, source.scope, binding)
        source = _bind_join(join, source, right, arguments, binding)
    return source


def _bind_pivot(
    source: exp.Expr, pivots: Sequence[exp.Expr], node: exp.Expr, binding: Binding
) -> Source:
    """Return a source that PIVOT or UNPIVOT turned, joined with what follows it."""
    for pivot in pivots:
        pivot_clause.check_pivot(pivot)
        query = pivot_clause.pivoted(source, pivot, _bind_source(source, binding).scope)
        alias = pivot.args.get("alias") or node.args.get("alias")
        source = exp.Subquery(this=query, alias=alias)
    source.set("joins", node.args.get("joins"))
    return _bind_source(source, binding)


def _bind_beside(node: exp.Expr, before: Scope, binding: Binding) -> tuple[Source, Arguments]:
    """Return a source and what it reads of the tables before it, as LATERAL may."""
    kind: Literal["lateral", "derived"] = "derived"
    node = called_rows.series_as_unnest(node)
    if isinstance(node, exp.Lateral | exp.Unnest) or called_rows.is_json_call(node):
        kind = "lateral"
    outer = Outer(kind, before, binding.outer, binding.numbers)
    source = _bind_source(node, replace(binding, outer=outer))
    return source, tuple((column, expression) for expression, column in outer.columns.items())


def _bind_unnest(node: exp.Expr, alias: tuple[str, tuple[str, ...]], binding: Binding) -> Source:
    """Return the elements of lists as rows: unnest(a, b) [WITH ORDINALITY]."""
    context = context_of(binding, Scope(), "unnest()")
    lists = [require_list("unnest()", bind_expression(each, context)) for each in node.expressions]
    items = tuple(
        (new_column(binding, "unnest", each.type.value_type, collation_of_elements(each)), each)
        for each in lists
    )
    counts = node.args.get("offset")
    number = new_column(binding, "ordinality", pa.int64()) if counts else None
    plan = Unnest(Values((), ((),)), items, number=number)
    name, columns = alias
    if isinstance(counts, exp.Identifier):
        columns = (*columns, counts.name)
    if len(items) == 1:
        columns = columns or (name,)  # as in PostgreSQL: the alias names the column too
    return Source(plan, table_scope(name, plan.columns, columns))


def _holds_join(node: exp.Expr) -> bool:
    """Say whether parentheses around a node hold tables rather than a query."""
    match node:
        case exp.Table():
            return True
        case exp.Subquery():
            has_more = node.args.get("alias") is not None or node.args.get("joins")
            return bool(has_more) or _holds_join(node.this)
        case _:
            return False


def _refuse_statement(node: exp.Expr) -> None:
    """Raise NotSupportedError for `(SHOW t)`, whose tree is that of a table with an alias.

    It is that of `(show AS t)` too: a table of such a name needs quotes there.
    """
    given = {name for name, value in node.args.items() if value}
    is_alike = isinstance(node, exp.Table) and given == {"this", "alias"}
    if is_alike and node.name.upper() == "SHOW" and not node.this.args.get("quoted"):
        raise NotSupportedError("SHOW in place of a query is not supported")


def _rename(node: exp.Expr, source: Source, binding: Binding) -> Source:
    """Return a join in parentheses under the one name of its alias."""
    items = tuple(
        (column_for(binding, each.name, each.expression), each.expression)
        for each in source.scope.visible
    )
    return _named(Project(source.plan, items), node, "")


def _named(plan: Plan, node: exp.Expr, name: str) -> Source:
    """Return a plan under the alias of its node, or under a name where it has none."""
    alias, columns = alias_of(node, name)
    return Source(plan, table_scope(alias, plan.columns, columns))


def _without(node: exp.Expr, *arguments: str) -> exp.Expr:
    """Return what a node is without some arguments, in its place: the others are those of both.

    A copy of them would be outside of the text, whose constants may differ.
    """
    kept = {name: value for name, value in node.args.items() if name not in arguments}
    bare = type(node)(**kept)
    bare.parent, bare.arg_key, bare.index = node.parent, node.arg_key, node.index
    return bare


def _bind_call(node: exp.Table | exp.Lateral, binding: Binding) -> Source:
    """Return the rows of a call of a table function."""
    arguments, name = node.this.expressions, node.this.name.lower()
    match function_called(node):
        case SearchFunction() as function:
            plan = function.bind(
                function_arguments.read_search(function, arguments, binding, _bind_rows)
            )
        case PlannedFunction() as function:
            plan = function.bind(function_arguments.read_call(function, arguments, binding))
        case _:
            raise _unknown_function(name)
    alias, names = alias_of(node, name)
    if function.names_column and alias != name and not names:
        names = (alias,)
    return Source(plan, table_scope(alias, plan.columns, names, name))


def bind_summary(rows: exp.Expr, binding: Binding) -> Plan:
    """Return the plan of SUMMARIZE, a call of summarize()."""
    function = TABLE_FUNCTIONS["summarize"]
    assert isinstance(function, SearchFunction)
    given = rows if isinstance(rows, exp.Table | exp.Subquery) else exp.Subquery(this=rows)
    return function.bind(function_arguments.read_search(function, [given], binding, _bind_rows))


def _unknown_function(name: str) -> Error:
    schema, _, table = name.rpartition(".")
    if schema:
        known = [each.rpartition(".")[2] for each in TABLE_FUNCTIONS if "." in each]
        return ProgrammingError(f"table '{name}' does not exist{did_you_mean(table, known)}")
    near = did_you_mean(name, (each for each in TABLE_FUNCTIONS if each != name))
    return NotSupportedError(f"the table function {name}() is not supported{near}")


def _bind_rows(node: exp.Expr, binding: Binding) -> Plan:
    """Return the rows of a source within another one."""
    return _bind_source(node, binding).plan


def _bind_table(node: exp.Table, binding: Binding) -> Source:
    if file_functions.is_file(node) or isinstance(function_called(node), OpenedFunction):
        # Rows that are there: those of `FROM 'sales.parquet'` are called `sales`.
        return _named(
            scan_table(file_functions.file_table(node), binding),
            node,
            file_functions.file_alias(node),
        )
    if isinstance(node.this, exp.Anonymous):
        return _bind_call(node, binding)
    if not isinstance(node.this, exp.Identifier):
        raise unsupported(node.this)
    return bind_named(node, binding)


def _bind_join(
    join: exp.Expr,
    left: Source,
    right: Source,
    arguments: Arguments,
    binding: Binding,
    hidden: Sequence[Scope] = (),
    front: Scope = Scope(),  # noqa: B008
) -> Source:
    """Return a join; `arguments` are what the right side reads of the left one.

    hidden, front: the names from before a comma, without rows and with rows in the left side.
    """
    method, kind = join.args.get("method"), join.args.get("kind")
    side = join.args.get("side")
    if method == "POSITIONAL":
        if join.args.get("on") or join.args.get("using"):
            raise ProgrammingError("a POSITIONAL JOIN takes no condition")
        plan = positional_join.bind_positional_join(left.plan, right.plan, binding)
        return Source(plan, join_scopes(left.scope, right.scope))
    if method not in (None, "NATURAL", "ASOF"):
        raise NotSupportedError(f"{method} JOIN is not supported")
    require_only(join, "this", "on", "using", "side", "kind", "method")
    if kind not in _KINDS or (side and side not in _SIDES):
        raise NotSupportedError(f"{' '.join(filter(None, (side, kind)))} JOIN is not supported")
    if kind in ("SEMI", "ANTI") and side not in (None, "LEFT"):
        raise NotSupportedError(f"{side} {kind} JOIN is not supported; swap its sides")
    if arguments and (kind in ("SEMI", "ANTI") or side in ("RIGHT", "FULL")):
        read = next(iter(arguments))[0].name
        raise ProgrammingError(
            f"'{read}' is not visible in the right side of a {side or kind} JOIN;"
            " only an inner or a LEFT JOIN has a row for it"
        )
    conditions, scope = _bind_condition(join, left, right, binding, hidden, front)
    if method == "ASOF":
        if arguments:
            raise NotSupportedError("LATERAL in an ASOF JOIN is not supported")
        if join.args.get("using"):
            conditions = asof_join.nearest_by_last(conditions)
        plan = asof_join.bind_asof_join(side, kind, left.plan, right.plan, conditions)
        return Source(plan, left.scope if kind in ("SEMI", "ANTI") else scope)
    if kind in ("SEMI", "ANTI"):
        semi: Literal["semi", "anti"] = "semi" if kind == "SEMI" else "anti"
        return Source(SemiJoin(semi, left.plan, right.plan, tuple(conditions)), left.scope)
    is_filtered = bool(conditions) and side == "LEFT"
    if arguments and isinstance(right.plan, Unnest) and not is_filtered:
        return Source(_unnest_beside(left, right.plan, arguments, side, conditions), scope)
    if arguments and isinstance(right.plan, Search) and right.plan.function.every_row:
        return Source(_search_beside(left, right.plan, arguments, side, conditions), scope)
    if arguments:
        apply_kind: Literal["left", "inner"] = "left" if side == "LEFT" else "inner"
        plan = Apply(apply_kind, left.plan, right.plan, arguments, tuple(conditions))
        return Source(plan, scope)
    if side is None:
        return _inner_join((left, right), conditions, scope)
    return Source(OuterJoin(_SIDES[side], left.plan, right.plan, tuple(conditions)), scope)


def _unnest_beside(
    left: Source,
    unnest: Unnest,
    arguments: Arguments,
    side: str | None,
    conditions: list[Expression],
) -> Plan:
    """Return the left rows, each once for every element of lists that are computed of it."""
    given = dict(arguments)
    items = tuple((column, substitute(each, given)) for column, each in unnest.items)
    plan: Plan = replace(unnest, source=left.plan, items=items, keep=side == "LEFT")
    for condition in conditions:
        plan = Filter(plan, condition)
    return plan


def _search_beside(
    left: Source,
    search: Search,
    arguments: Arguments,
    side: str | None,
    conditions: list[Expression],
) -> Plan:
    """Return the left rows, each with what is found for arguments that are computed of it."""
    kind: Literal["left", "inner"] = "left" if side == "LEFT" else "inner"
    if (conditions and side == "LEFT") or free_columns(search.right):
        # A search for each distinct row, whose answers are joined under the conditions.
        return Apply(kind, left.plan, search, arguments, tuple(conditions))
    given = tuple((name, substitute(each, dict(arguments))) for name, each in search.given)
    plan: Plan = replace(search, left=left.plan, given=given, keep=side == "LEFT")
    for condition in conditions:
        plan = Filter(plan, condition)
    return plan


def _bind_condition(
    join: exp.Expr,
    left: Source,
    right: Source,
    binding: Binding,
    hidden: Sequence[Scope],
    front: Scope,
) -> tuple[list[Expression], Scope]:
    """Return the conditions of a join, and the names that are visible behind it."""
    on, using = join.args.get("on"), join.args.get("using")
    scope = join_scopes(left.scope, right.scope)
    is_natural = join.args.get("method") == "NATURAL"
    if is_natural or join.args.get("kind") == "CROSS" or _is_comma(join):
        if on is not None or using:
            word = "NATURAL" if is_natural else "CROSS"
            raise ProgrammingError(f"{word} JOIN takes no ON or USING")
        if not is_natural:
            return [], scope
        if join.args.get("kind") == "CROSS":
            raise ProgrammingError("a join is NATURAL or CROSS, not both")
        pairs = using_clause.natural_pairs(left.scope, right.scope)
    elif using:
        pairs = using_clause.named_pairs([name_in(name) for name in using], left.scope, right.scope)
    elif on is None:
        raise ProgrammingError("JOIN needs ON or USING")
    else:
        context = context_of(binding, join_scopes(front, scope), "JOIN ... ON")
        find = partial(_resolve_in_join, context.resolve, hidden)
        condition = bind_condition(on, replace(context, resolve=find))
        return [part for part in conjuncts(condition) if not _is_true(part)], scope
    conditions, merged = using_clause.bind_using(pairs, join.args.get("side"))
    return conditions, merge_columns(scope, merged, [each for pair in pairs for each in pair])


def _resolve_in_join(
    find: Resolve, hidden: Sequence[Scope], name: str, table: str | None
) -> Expression:
    """Resolve a name in ON, and say so if it belongs to a table before a comma."""
    try:
        return find(name, table)
    except ProgrammingError:
        for scope in hidden:
            if any(
                is_same(column.name, name) and (table is None or is_same(table, column.table or ""))
                for column in scope.visible
            ):
                written = name if table is None else f"{table}.{name}"
                raise ProgrammingError(
                    f"'{written}' is not visible in this JOIN: a comma in FROM binds weaker;"
                    " write CROSS JOIN for the comma"
                ) from None
        raise


def _is_true(condition: Expression) -> bool:
    return isinstance(condition, Constant) and condition.value is True


def _inner_join(
    joined: Sequence[Source], conditions: Iterable[Expression], scope: Scope | None = None
) -> Source:
    """Join sources; inner joins within them become part of the one node.

    scope: the names behind the join, by default all of the sources'.
    """
    sources: list[Plan] = []
    every: list[Expression] = []
    for plan in [each.plan for each in joined]:
        if isinstance(plan, InnerJoin):
            sources += plan.sources
            every += plan.conditions
        else:
            sources.append(plan)
    if scope is None:
        scope = join_scopes(*[each.scope for each in joined])
    return Source(InnerJoin(tuple(sources), (*every, *conditions)), scope)
