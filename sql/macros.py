"""Calls of macros, replaced by what they stand for, before a statement is bound.

    SELECT add(x, 1) FROM t         ->  SELECT (x + 1) AS "add(x, 1)" FROM t
    SELECT * FROM top(3)            ->  SELECT * FROM (SELECT ... LIMIT 3) AS top
    SELECT * FROM query_table('t')  ->  SELECT * FROM (SELECT * FROM t) AS query_table

The last is of `raydb.sql.queried_tables`: its argument may be that of a macro. A macro hides a
function of its name. Tables in a body are those of their names where the call stands, and so are
the columns in an argument.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeVar

from sqlglot import exp

from raydb.errors import Error, NotSupportedError, ProgrammingError
from raydb.names import fold
from raydb.planner.expressions.aggregates import AGGREGATES, WINDOW_FUNCTIONS
from raydb.planner.expressions.registry import SCALARS
from raydb.sql import queried_tables
from raydb.sql.parse.nodes import before_dot, locate, may_name, nodes_of
from raydb.sql.parse.query import qualifiers_of
from raydb.sql.parse.reader import name_in
from raydb.sql.parse.statements import macro
from raydb.sql.parse.written import text_of
from raydb.sql.statement_trees import map_trees
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence

    from raydb.planner.catalog import Place, Relations
    from raydb.sql.parse.statements.macro import Overload

T = TypeVar("T")

# Macros that call macros twice each may be as large as they like otherwise.
_MOST_NODES = 20_000
_MOST_QUERIES = 16
# What the text of a query() is among the macros whose body a tree is.
_IN_QUERY = ""

# Calls whose names are those of what comes out of them.
_SPREADING = ("columns", "unnest")


def macro_key(name: str, *, is_table: bool) -> str:
    """Return the name that a database has for a macro: those of tables are others."""
    return f"{name}()" if is_table else name


def expand_macros(statement: T, relations: Relations) -> T:
    """Return a statement without calls of macros; the statement itself stays as it is.

    Raises ProgrammingError for arguments that a macro does not take, and for one that calls itself.
    """
    return map_trees(statement, lambda tree: expand_tree(tree, relations))


def expand_tree(tree: exp.Expr, relations: Relations, inside: Place | None = None) -> exp.Expr:
    """Return a tree without calls of macros; inside: the place of the view that it is of."""
    if relations.macros is None and not may_name(tree, queried_tables.QUERY):
        return tree
    expansion = _Expansion(relations.macros, inside)
    calls = nodes_of(tree, exp.Anonymous)
    if not any(queried_tables.is_queried(node) or expansion.call(node) for node in calls):
        return tree
    return expansion.expand(tree.copy(), ())


def system_call(name: str, node: exp.Expr) -> exp.Expr | None:
    """Return what stands for a call of a function of pg_catalog; None for what is none."""
    from raydb.sql.system_catalog import SYSTEM_MACROS  # noqa: PLC0415  (few statements ask)

    definition = SYSTEM_MACROS.get(name)
    if definition is None:
        return None
    call = _Call(name, name, definition, tuple(node.expressions), node)
    overload, given = _chosen(call)
    body = _substituted(overload.body.copy(), call, given)
    body.parent, body.arg_key, body.index = node.parent, node.arg_key, node.index
    return body


@dataclass(frozen=True, slots=True)
class _Call:
    """A call of a macro: its name in the catalog, its text, its arguments, and what it replaces."""

    name: str
    key: str
    definition: str
    arguments: tuple[exp.Expr, ...]
    node: exp.Expr


@dataclass(slots=True)
class _Expansion:
    """The macros of a statement; `count` is how many nodes their bodies have added."""

    macros: Relations | None
    inside: Place | None
    count: int = 0

    def expand(
        self, tree: exp.Expr, stack: tuple[str, ...], calls: Sequence[exp.Expr] | None = None
    ) -> exp.Expr:
        """Return a tree in which calls are replaced.

        stack: the macros whose body it is. calls: those that may be of macros, by default all.
        """
        # Calls within arguments stand behind those around them.
        for node in reversed(nodes_of(tree, exp.Anonymous) if calls is None else calls):
            call = self.call(node)
            if call is None:
                if queried_tables.is_queried(node):
                    self._put_queried(node, stack)
                continue
            if call.key in stack:
                if _is_function(call.name):
                    continue  # that which the macro hides
                raise ProgrammingError(f"the macro '{call.name}' calls itself")
            if not stack:
                _keep_name(node)
            body = self._body(call, stack)
            if isinstance(node.parent, exp.Table | exp.Lateral):
                _put_table(node, call.name, body)
                continue
            body = _in_place(call, body)
            if call.node is tree:
                tree = body
            else:
                call.node.replace(body)
        return tree

    def call(self, node: exp.Expr) -> _Call | None:
        """Return a call of a macro, None for one of a function."""
        name, parent = node.name, node.parent
        arguments = tuple(node.expressions)
        if isinstance(parent, exp.Table | exp.Lateral) and node.arg_key == "this":
            places = qualifiers_of(parent) if isinstance(parent, exp.Table) else ()
            return self._find(name, places, arguments, node, is_table=True)
        if not (isinstance(parent, exp.Dot) and node.arg_key == "expression"):
            return self._find(name, (), arguments, node)
        before = list(_path(parent.this))
        if before and (found := self._find(name, before, arguments, parent)) is not None:
            return found
        return self._find(name, (), (before_dot(parent.this), *arguments), parent)

    def _put_queried(self, node: exp.Expr, stack: tuple[str, ...]) -> None:
        """Put the query that query() or query_table() means in its place."""
        if stack.count(_IN_QUERY) > _MOST_QUERIES:
            raise NotSupportedError("query() is nested too deeply")
        try:
            body = queried_tables.queried(node)
        except Error as error:
            locate(error, node)
            raise
        self._count(f"{fold(node.name)}()", body)
        _put_table(node, "", self.expand(body, (*stack, _IN_QUERY)))

    def _count(self, what: str, body: exp.Expr) -> None:
        self.count += sum(1 for _ in body.walk())
        if self.count > _MOST_NODES:
            raise NotSupportedError(f"{what} makes the statement too large")

    def _find(
        self,
        name: str,
        qualifiers: Sequence[str],
        arguments: tuple[exp.Expr, ...],
        node: exp.Expr,
        *,
        is_table: bool = False,
    ) -> _Call | None:
        if self.macros is None:
            return None
        places = self.macros.places(qualifiers, self.inside)
        found = self.macros.find(macro_key(name, is_table=is_table), places)
        if found is None:
            return None
        return _Call(name, found.key, self.macros.views[found.key], arguments, node)

    def _body(self, call: _Call, stack: tuple[str, ...]) -> exp.Expr:
        try:
            overload, given = _chosen(call, lambda each: self.expand(each, (*stack, call.key)))
        except ProgrammingError as error:
            locate(error, call.node)
            raise
        # What arguments call is replaced where they stand, and a macro in the body takes what its
        # arguments stand for.
        body = overload.body.copy()
        calls = nodes_of(body, exp.Anonymous)
        for node in calls:
            body = self._without_dot(node, body)
        body = _substituted(body, call, given)
        self._count(f"the macro '{call.name}'", body)
        return self.expand(body, (*stack, call.key), calls)

    def _without_dot(self, node: exp.Expr, body: exp.Expr) -> exp.Expr:
        """Return a body in which `x.f(y)` is `f(x, y)` where f is a macro: x may be a parameter."""
        call, dot = self.call(node), node.parent
        if call is None or call.node is not dot or len(call.arguments) == len(node.expressions):
            return body
        node.set("expressions", list(call.arguments))
        if dot is body:
            node.parent = None
            return node
        dot.replace(node)
        return body


def _path(node: exp.Expr) -> Iterator[str]:
    """Yield the names of `a` or `a.b`, none of what is no path."""
    match node:
        case exp.Identifier():
            yield name_in(node)
        case exp.Dot(this=exp.Identifier() as first, expression=exp.Identifier() as second):
            yield name_in(first)
            yield name_in(second)


def _is_function(name: str) -> bool:
    known = name.lower()
    return known in AGGREGATES or known in WINDOW_FUNCTIONS or known in SCALARS


def _in_place(call: _Call, body: exp.Expr) -> exp.Expr:
    """Return what stands for a call; DISTINCT, OVER and such are for a function that it is.

    Raises ProgrammingError where it is none.
    """
    alone = body.unnest()
    if isinstance(alone, exp.Anonymous):
        return alone
    around = call.node.parent
    is_changed = call.node.arg_key == "this" and isinstance(
        around, exp.Window | exp.Filter | exp.WithinGroup
    )
    if is_changed or any(isinstance(each, exp.Distinct) for each in call.arguments):
        raise ProgrammingError(
            f"{call.name}() is more than one function, so it takes no DISTINCT, FILTER or OVER"
        )
    return exp.Paren(this=body)


def _keep_name(node: exp.Expr) -> None:
    """Let an item of a select list that has a call in it be called as it is written."""
    item = node
    while item.parent is not None and not (
        isinstance(item.parent, exp.Select | exp.Returning) and item.arg_key == "expressions"
    ):
        item = item.parent
    calls = nodes_of(item, exp.Anonymous)
    if item.parent is None or isinstance(item, exp.Alias) or item.is_star:
        return
    if any(each.name.lower() in _SPREADING for each in calls):
        return
    alias = exp.Alias(alias=exp.to_identifier(text_of(item), quoted=True))
    item.replace(alias)
    alias.set("this", item)


def _put_table(node: exp.Expr, name: str, query: exp.Expr) -> None:
    """Put a query in the place of a call in FROM; its alias is by default the macro's name."""
    source = node.parent
    assert source is not None
    subquery = exp.Subquery(this=query)
    if isinstance(source, exp.Lateral):
        node.replace(subquery)
    else:
        for key, value in source.args.items():
            if key not in ("this", "db", "catalog"):
                subquery.set(key, value)
        source.replace(subquery)
        source = subquery
    alias = source.args.get("alias") or exp.TableAlias()
    if alias.this is None and name:
        alias.set("this", exp.to_identifier(name, quoted=True))
        source.set("alias", alias)


# -- arguments


def _chosen(
    call: _Call, expanded: Callable[[exp.Expr], exp.Expr] = lambda default: default
) -> tuple[Overload, Mapping[str, exp.Expr]]:
    """Return the overload that takes the arguments of a call, and what its parameters stand for.

    expanded: what a default stands for.
    """
    placed: list[exp.Expr] = []
    named: dict[str, exp.Expr] = {}
    for argument in call.arguments:
        if isinstance(argument, exp.PropertyEQ | exp.Kwarg):
            name = fold(argument.this.name)
            if name in named:
                raise ProgrammingError(f"parameter '{name}' of {call.name}() is given twice")
            named[name] = argument.expression
        elif named:
            raise ProgrammingError(f"{call.name}() has an argument without a name behind one")
        else:
            placed.append(argument)
    overloads = macro.macro_of(call.definition)
    fitting = [each for each in overloads if _takes(each, len(placed), named)]
    if len(fitting) != 1:
        known = " or ".join(each.signature for each in overloads)
        if fitting:
            raise ProgrammingError(f"{call.name}() has several definitions that fit: {known}")
        raise ProgrammingError(f"{call.name}() takes {known}, not such arguments")
    (overload,) = fitting
    given = dict(named)
    for parameter, value in zip(overload.parameters, placed, strict=False):
        given[parameter.name] = value
    for parameter in overload.parameters:
        taken = given.get(parameter.name)
        if taken is None:
            assert parameter.default is not None
            taken = expanded(parameter.default.copy())
        if parameter.type is not None:
            taken = exp.Cast(this=taken.copy(), to=parameter.type.copy())
        given[parameter.name] = taken
    return overload, given


def _takes(overload: Overload, placed: int, named: Mapping[str, exp.Expr]) -> bool:
    if placed > len(overload.parameters):
        return False
    rest = overload.parameters[placed:]
    names = {each.name for each in rest}
    return named.keys() <= names and all(
        each.name in named or each.default is not None for each in rest
    )


def _substituted(body: exp.Expr, call: _Call, given: Mapping[str, exp.Expr]) -> exp.Expr:
    """Return a body with the arguments in the place of the parameters.

    What an argument names is a column where the call stands, also where a query of the body has
    one of that name: such a query reads it beside itself.
    """
    columns = {name for name, value in given.items() if value.find(exp.Column) is not None}
    for query in _queries(body) if columns else ():
        names = dict.fromkeys(name for _, name in _parameters(query, columns))
        if names:
            beside = _beside(query, call, {name: given[name] for name in names})
            if query is body:
                body = beside
    return _put(body, given)


def _put(body: exp.Expr, given: Mapping[str, exp.Expr]) -> exp.Expr:
    found = list(_parameters(body, given))
    counts = Counter(name for _, name in found)
    for node, name in found:
        value = given[name].copy()
        if counts[name] > 1:
            # A kept plan takes a constant of a text for what stands in one place.
            macro.forget_places(value)
        for field in node.parts[1:]:
            value = exp.Dot(this=exp.Paren(this=value), expression=field)
        if node is body:
            return value
        node.replace(value)
    return body


def _queries(body: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the queries in a body that are in no other one, without their parentheses."""
    if isinstance(body, exp.Query):
        while isinstance(body, exp.Subquery):
            body = body.this
        yield body
    else:
        for part in list(body.iter_expressions()):
            yield from _queries(part)


def _beside(query: exp.Expr, call: _Call, given: Mapping[str, exp.Expr]) -> exp.Expr:
    """Return a query that reads arguments as columns of a table beside it.

    SELECT result.* FROM (SELECT argument AS parameter) AS arguments, LATERAL (query) AS result
    """
    arguments, result = (
        exp.to_identifier(f"{what} of {call.name}", quoted=True) for what in ("arguments", "result")
    )
    names = {name: exp.to_identifier(name, quoted=True) for name in given}
    items = [exp.Alias(this=value.copy(), alias=names[name]) for name, value in given.items()]
    table = exp.Subquery(
        this=exp.Select(expressions=items), alias=exp.TableAlias(this=arguments.copy())
    )
    lateral = exp.Lateral(alias=exp.TableAlias(this=result.copy()))
    beside = exp.Select(
        expressions=[exp.Column(this=exp.Star(), table=result.copy())],
        from_=exp.From(this=table),
        joins=[exp.Join(this=lateral)],
    )
    query.replace(beside)
    read = {name: exp.Column(this=each, table=arguments) for name, each in names.items()}
    lateral.set("this", exp.Subquery(this=_put(query, read)))
    return beside


def _parameters(tree: exp.Expr, known: Container[str]) -> Iterator[tuple[exp.Column, str]]:
    """Yield the columns of a tree that are parameters, or fields of one, with its name."""
    for call in nodes_of(tree, exp.Dot):  # s.upper(): sqlglot leaves the name bare
        if isinstance(call.expression, exp.Anonymous) and fold(call.this.name) in known:
            call.set("this", before_dot(call.this))
    for node in nodes_of(tree, exp.Column):
        if name := _parameter(node, known):
            yield node, name


def _parameter(node: exp.Column, known: Container[str]) -> str:
    """Return the parameter that a column of a body is, or that it is a field of; '' for none."""
    name = fold(node.parts[0].name)
    if name not in known or _is_hidden(node, name):
        return ""
    is_name = isinstance(node.parent, exp.PropertyEQ | exp.Kwarg) and node.arg_key == "this"
    return "" if is_name else name


def _is_hidden(node: exp.Expr, name: str) -> bool:
    """Tell whether a variable of a lambda around a column has its name."""
    around = node.find_ancestor(exp.Lambda)
    while around is not None:
        if any(fold(each.name) == name for each in around.expressions):
            return True
        around = around.find_ancestor(exp.Lambda)
    return False
