"""The select list: expressions with their names, and what stands for several columns.

SELECT *, t.* EXCLUDE (a), * REPLACE (b + 1 AS b) RENAME (c AS d), a + 1 AS e, e * 2
SELECT max(COLUMNS('price.*'))  ->  SELECT max(price_net), max(price_gross)
WHERE COLUMNS('price.*') > 0    ->  WHERE price_net > 0 AND price_gross > 0
"""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from raydb.errors import NotSupportedError, ProgrammingError, did_you_mean
from raydb.names import Qualified, Unquoted, find_name, fold, index_names, is_same, needs_quotes
from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.functions import patterns
from raydb.planner.expressions.functions.nested import structs
from raydb.planner.expressions.nodes import Call, Column, Literal
from raydb.planner.expressions.types import TEXT, is_struct
from raydb.sql.bind.expression.calls import inside_lists, unnest_depth
from raydb.sql.bind.expression.expression import (
    Context,
    Resolve,
    bind_condition,
    bind_expression,
)
from raydb.sql.bind.scope import (
    Scope,
    Visible,
    find_table,
    find_visible,
    made_name,
    named_scope,
    resolve,
    resolve_visible,
    row_table,
)
from raydb.sql.parse.nodes import locate, may_name, nodes_of, require_only
from raydb.sql.parse.reader import name_in
from raydb.sql.parse.written import text_of
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from raydb.planner.expressions.nodes import Expression


# What may be said of the names of columns, as in * LIKE 'a%'.
_NAMED = (exp.Like, exp.ILike, exp.SimilarTo, exp.Glob, exp.RegexpLike)
_NAME = Column(-1, "name", TEXT)


@dataclass(frozen=True, slots=True)
class Item:
    """An entry of the select list."""

    name: str
    node: exp.Expr
    expression: Expression


def bind_items(
    nodes: Iterable[exp.Expr], scope: Scope, context: Context, items: list[Item]
) -> None:
    """Append the entries of a select list to `items`; an entry sees the aliases before it."""
    for node in itertools.chain.from_iterable(each_column(node, scope) for node in nodes):
        match node:
            case exp.Star():
                if not scope.visible:
                    raise ProgrammingError("SELECT * needs a table in FROM")
                named = [(each.name, each.expression) for each in scope.visible]
                items += _star_items(node, named, context)
            case exp.Column(this=exp.Star() as star):
                require_only(node, "this", "table", "db", "catalog")
                items += _star_items(star, _columns_of(node, scope, context), context)
            case exp.Alias():
                require_only(node, "this", "alias")
                items.append(
                    Item(node.args["alias"].name, node.this, bind_expression(node.this, context))
                )
            case _ if (found := _unnested(node, context)) is not None:
                items += [Item(name, node, field) for name, field in _fields(*found)]
            case _:
                expression = bind_expression(node, context)
                items.append(Item(_name_of(node, expression, scope), node, expression))
    if not items:
        raise ProgrammingError("SELECT needs at least one column")


def _unnested(node: exp.Expr, context: Context) -> tuple[Expression, int] | None:
    """Return the struct of unnest(struct), and how deep its fields become columns.

    None for anything else. It may be in lists that are taken apart as well.
    """
    if not isinstance(node, exp.Anonymous) or fold(node.name) != "unnest" or not node.expressions:
        return None
    try:
        depth = unnest_depth(node)
    except ProgrammingError as error:
        locate(error, node)
        raise
    found = bind_expression(node.expressions[0], replace(context, clause="unnest()"))
    inside, left = inside_lists(found.type, depth)
    if not is_struct(inside) or not left:
        return None
    return (found if left == depth else bind_expression(node, context)), left


def _fields(struct: Expression, levels: int) -> Iterator[tuple[str, Expression]]:
    """Yield the fields of a struct, and those of structs in it as far as `levels` says."""
    for each in struct.type:
        field = structs.struct_field(struct, each.name)
        if levels > 1 and is_struct(field.type):
            yield from _fields(field, levels - 1)
        else:
            yield each.name, field


def _columns_of(
    node: exp.Column, scope: Scope, context: Context
) -> Sequence[tuple[str, Expression]]:
    """Return the columns of a table, or the fields of a column that is a struct."""
    name = name_in(node.args["table"])
    database = node.args.get("db") or node.args.get("catalog")
    if database is not None:
        return find_table(scope, Qualified(name, name_in(database))).columns
    try:
        return find_table(scope, name).columns
    except ProgrammingError as error:
        try:
            operand = context.resolve(name, None)
        except ProgrammingError:
            raise error from None
        if not is_struct(operand.type):
            raise
        return [(each.name, structs.struct_field(operand, each.name)) for each in operand.type]


def each_column(node: exp.Expr, scope: Scope) -> list[exp.Expr]:
    """Return an expression once for each column that its COLUMNS(...) names; without one, alone."""
    if isinstance(node, exp.Column):
        return [node]
    if (condition := _star_condition(node)) is not None:
        node = exp.Anonymous(this="COLUMNS", expressions=[condition])
    if not may_name(node, "columns"):
        return [node]
    calls = [
        call
        for call in nodes_of(node, exp.Anonymous)
        if fold(call.name) == "columns" and not _is_in_query(call, node)
    ]
    if not calls:
        return [node]
    if any(call != calls[0] for call in calls):
        raise NotSupportedError("different COLUMNS(...) in one expression are not supported")
    names = [each.name for each in scope.visible]
    found = []
    for each in matching_columns(calls[0], scope):
        table = each.table if names.count(each.name) > 1 else None
        is_plain = each.name.isidentifier() and len(scope.index.places(Unquoted(each.name))) == 1
        column = exp.column(exp.to_identifier(each.name, quoted=not is_plain), table)
        found.append(node.transform(lambda part, by=column: by if part == calls[0] else part))
    return found


def _is_in_query(part: exp.Expr, whole: exp.Expr) -> bool:
    """Tell whether a part of an expression is one of a query in it, which has its own columns."""
    while part is not whole:
        assert part.parent is not None
        part = part.parent
        if isinstance(part, exp.Query):
            return True
    return False


def matching_columns(call: exp.Expr, scope: Scope) -> list[Visible]:
    """Return the columns that COLUMNS(...) names.

    COLUMNS(*), COLUMNS(t.*), COLUMNS(* EXCLUDE (a)), COLUMNS('pattern'), COLUMNS(['a', 'b']),
    COLUMNS(name -> name LIKE 'a%'), COLUMNS(* LIKE 'a%'), which may be written * LIKE 'a%'
    """
    match [_star_condition(each) or each for each in call.expressions]:
        case [exp.Star() as star]:
            require_only(star, "except_")
            known = list(dict.fromkeys(each.name for each in scope.visible))
            excluded = {_listed(node, "EXCLUDE", known) for node in star.args.get("except_") or ()}
            found = [each for each in scope.visible if each.name not in excluded]
        case [exp.Column(this=exp.Star() as star) as qualified]:
            require_only(star)
            table = find_table(scope, name_in(qualified.args["table"]))
            found = [Visible(*column, table.name) for column in table.columns]
        case [exp.Literal(is_string=True) as pattern]:
            found = _where(patterns.match("~", _NAME, Literal(pattern.name, TEXT)), scope.visible)
        case [exp.Array() as listed]:
            named = {_listed_text(node, scope) for node in listed.expressions}
            found = [each for each in scope.visible if each.name in named]
        case [exp.Lambda(this=condition, expressions=[parameter])]:
            found = _where(_of_name(condition, name_in(parameter)), scope.visible)
        case [exp.Expr(this=exp.Star() as star) as condition] if isinstance(condition, _NAMED):
            chosen = matching_columns(exp.Anonymous(expressions=[star]), scope)
            condition = condition.copy()
            condition.set("this", exp.column(_NAME.name))
            found = _where(_of_name(condition, _NAME.name), chosen)
        case _:
            raise NotSupportedError(
                "COLUMNS takes *, a regular expression in quotes, a list of names or a condition,"
                " as in COLUMNS(name -> name LIKE 'a%')"
            )
    if not found:
        raise ProgrammingError(f"no column is one of {text_of(call)}")
    return found


def _star_condition(node: exp.Expr) -> exp.Expr | None:
    """Return what is said of the names of a star's columns; None for anything else.

    sqlglot keeps the pattern of ILIKE in the star.
    """
    if isinstance(node, exp.Star) and (pattern := node.args.get("ilike")):
        star = node.copy()
        star.set("ilike", None)
        return exp.ILike(this=star, expression=pattern)
    return node if isinstance(node, _NAMED) and isinstance(node.this, exp.Star) else None


def _of_name(condition: exp.Expr, name: str) -> Expression:
    """Return a condition on the name of a column."""
    scope = named_scope("", [(name, _NAME)])
    context = Context(partial(resolve, scope), {}, "COLUMNS()", scope=scope)
    return bind_condition(condition, context)


def _where(condition: Expression, columns: Sequence[Visible]) -> list[Visible]:
    """Return the columns for whose name a condition holds."""
    names = pa.array([each.name for each in columns], TEXT)
    matches = evaluate(condition, {_NAME: names}, len(names)).to_pylist()
    return list(itertools.compress(columns, matches))


def _listed_text(node: exp.Expr, scope: Scope) -> str:
    """Return a name in the list of COLUMNS, which must be a column's."""
    if not (isinstance(node, exp.Literal) and node.is_string):
        raise ProgrammingError("the list of COLUMNS has names in quotes")
    return resolve_visible(scope, node.name).name


def _star_items(
    star: exp.Expr, named: Sequence[tuple[str, Expression]], context: Context
) -> list[Item]:
    """Return the columns that a star stands for."""
    require_only(star, "except_", "replace", "rename")
    known = list(dict.fromkeys(name for name, _ in named))
    excluded = {_listed(node, "EXCLUDE", known) for node in star.args.get("except_") or ()}
    replaced, renamed = {}, {}
    for node in star.args.get("replace") or ():
        name = _listed(node.args["alias"], "REPLACE", known)
        replaced[name], renamed[name] = bind_expression(node.this, context), node.alias
    for node in star.args.get("rename") or ():
        renamed[_listed(node.this, "RENAME", known)] = node.alias
    for name in (*replaced, *renamed):
        if name in excluded:
            raise ProgrammingError(f"column '{name}' is excluded from * and changed at once")
    items = [
        Item(renamed.get(name, name), star, replaced.get(name, expression))
        for name, expression in named
        if name not in excluded
    ]
    if not items:
        raise ProgrammingError("EXCLUDE leaves no column of *")
    return items


def _listed(node: exp.Expr, clause: str, known: Sequence[str]) -> str:
    """Return a name in EXCLUDE, REPLACE or RENAME, which must be one of the star's columns."""
    if isinstance(node, exp.Column):
        require_only(node, "this")
        node = node.this
    name = name_in(node)
    found = find_name(name, known, "column")
    if found is None:
        raise ProgrammingError(
            f"{clause} names '{name}', no column of *{did_you_mean(name, known)}"
        )
    return found


def name_of(node: exp.Expr) -> str:
    """Return how an expression is written, of a column its name alone."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node.name if _is_path(node) else text_of(node)


def _is_path(node: exp.Expr) -> bool:
    """Tell whether an expression names a column or a field, unlike `x.f()`."""
    if isinstance(node, exp.Column):
        return True
    return isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier)


def _name_of(node: exp.Expr, expression: Expression, scope: Scope) -> str:
    """Return the name of an entry without an alias: that of its column as it was made, or its text.

    The column may be one of FROM or of an outer query, or a field of one; an alias before it is
    named as it is here.
    """
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.PositionalColumn) and isinstance(expression, Column):
        return expression.name
    if not _is_path(node):
        return text_of(node)
    if type(node) is exp.Column and node.args.get("db") is None:
        table = node.args.get("table")
        made = made_name(scope, name_in(node.this), None if table is None else name_in(table))
        if made is not None:
            return made
    match expression:
        case Column(name=made) | Call("struct_extract", arguments=(_, Literal(value=made))):
            return made if is_same(made, node.name) else node.name
        case _:
            return node.name


def only_item(name: str, items: Sequence[Item]) -> Item | None:
    """Return the select item with a name; two that differ are ambiguous."""
    places = index_names([item.name for item in items]).places(name)
    if len(places) == 1:  # to compare it with itself would read its constants
        return items[places[0]]
    found = {items[place].expression: items[place] for place in places}
    if len(found) > 1:
        made = [item.name for item in found.values()]
        if len(set(made)) > 1:
            raise needs_quotes(name, "column", made)
        raise ProgrammingError(f"column '{name}' is ambiguous: the select list has two")
    return next(iter(found.values()), None)


def item_at(node: exp.Expr, items: Sequence[Item], clause: str) -> Item | None:
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


def with_aliases(
    resolve: Resolve, scope: Scope, items: Sequence[Item], meant: list[Item]
) -> Resolve:
    """Return what finds a name that may also be an alias of the select list.

    Columns of FROM come first, then those of the queries around this one, then aliases; the rows of
    FROM's tables behind their aliases. meant: gets the items whose aliases were found.
    """

    def find(name: str, table: str | None) -> Expression:
        if table is not None:
            return resolve(name, table)
        column = scope.known.get(name.lower()) or find_visible(scope, name)
        if column is not None:
            return column.expression
        item = None if row_table(scope, name) is None else only_item(name, items)
        if item is None:
            try:
                return resolve(name, None)
            except ProgrammingError:
                if (item := only_item(name, items)) is None:
                    raise
        meant.append(item)
        return item.expression

    return find
