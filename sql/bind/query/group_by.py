"""GROUP BY: its keys, the sets of keys, and expressions over groups.

GROUP BY a, ROLLUP (b, c)    ->  keys a, b, c in the sets (a, b, c), (a, b), (a)
"""

from __future__ import annotations

import itertools
from dataclasses import field
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.names import fold
from raydb.planner.expressions.aggregates import bind_aggregate
from raydb.planner.expressions.collations import collated_key
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.nodes import (
    AggregateCall,
    Call,
    Column,
    Expression,
    Lambda,
    Literal,
    Subquery,
    columns_of,
    has_subquery,
)
from raydb.planner.expressions.types import BOOLEAN
from raydb.planner.expressions.typing_rules import choose, is_in
from raydb.planner.plan.nodes import GroupingSets
from raydb.sql.bind.binding import Binding, column_for, new_column
from raydb.sql.bind.query.output import bind_key, typed
from raydb.sql.bind.query.select_list import Item, item_at, name_of, only_item
from raydb.sql.bind.scope import Scope, find_name
from raydb.sql.parse.nodes import require_only
from raydb.sql.parse.reader import name_in
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from raydb.sql.bind.expression.expression import Context

_MAX_SETS = 4096
# GROUPING() is an INTEGER of one bit for each argument.
_MAX_GROUPING_ARGUMENTS = 31

# A set of keys, and the sets that an entry of GROUP BY stands for.
_Keys = tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Groups:
    """The keys of GROUP BY with their columns; `grouping` is None where all rows group alike.

    shown: what stands for a text that is grouped by the key of its collation, and the aggregate
    that has some text of each group.
    """

    keys: Mapping[Expression, Column]
    grouping: GroupingSets | None
    shown: Mapping[Expression, Expression] = field(default_factory=dict)
    texts: tuple[tuple[Column, AggregateCall], ...] = ()


@dataclass(frozen=True, slots=True)
class _Names:
    """What an entry of GROUP BY may name, and what the columns are that no key may read."""

    items: Sequence[Item]
    scope: Scope
    context: Context
    results: Mapping[Column, str]


def bind_groups(
    group: exp.Expr,
    items: Sequence[Item],
    scope: Scope,
    context: Context,
    results: Mapping[Column, str],
    binding: Binding,
) -> Groups:
    """Return the groups of a query by its GROUP BY.

    `results` says which columns hold "an aggregate" or "a window function" of the query.
    """
    require_only(group, "expressions", "all")
    names = _Names(items, scope, context, results)
    if group.args.get("all"):
        keys = [typed(i.expression) for i in items if not columns_of(i.expression) & results.keys()]
        return _groups([tuple(keys)], {}, binding)
    sets: list[_Keys] = [()]
    texts: dict[Expression, str] = {}
    for node in group.expressions:
        sets = [(*one, *other) for one in sets for other in _sets(node, names, texts)]
        if len(sets) > _MAX_SETS:
            raise NotSupportedError(f"GROUP BY of more than {_MAX_SETS} sets is not supported")
    return _groups(sets, texts, binding)


def _groups(sets: Sequence[_Keys], texts: Mapping[Expression, str], binding: Binding) -> Groups:
    keys: dict[Expression, Column] = {}
    shown: dict[Expression, Expression] = {}
    some: list[tuple[Column, AggregateCall]] = []
    for key in itertools.chain.from_iterable(sets):
        by = collated_key(key)
        if by not in keys:
            name = key.name if isinstance(key, Column) else texts.get(key, "key")
            keys[by] = new_column(binding, name, by.type)
        if by is not key and key not in shown:
            text = column_for(binding, keys[by].name, key)
            some.append((text, bind_aggregate("any_value", [key], False)))
            # A set without the key has NULL, whatever texts its rows have.
            is_gone = Call("is_null", (keys[by],), BOOLEAN)
            nothing = Literal(None, key.type)
            shown[key] = text if len(sets) == 1 else choose([is_gone], [nothing, text])
    if len(sets) == 1:
        return Groups(keys, None, shown, tuple(some))
    places = {key: place for place, key in enumerate(keys)}
    by_place = tuple(tuple(sorted({places[collated_key(key)] for key in one})) for one in sets)
    number = new_column(binding, "grouping set", pa.int32())
    return Groups(keys, GroupingSets(by_place, number), shown, tuple(some))


def _sets(node: exp.Expr, names: _Names, texts: dict[Expression, str]) -> list[_Keys]:
    """Return the sets of keys of an entry of GROUP BY."""
    match node:
        case exp.Rollup() | exp.Cube():
            require_only(node, "expressions")
            parts = [_set(each, names, texts) for each in node.expressions]
            if isinstance(node, exp.Rollup):
                return [_joined(parts[:length]) for length in range(len(parts), -1, -1)]
            if 2 ** len(parts) > _MAX_SETS:
                raise NotSupportedError(f"CUBE of {len(parts)} keys is not supported")
            return [
                _joined(chosen)
                for count in range(len(parts), -1, -1)
                for chosen in itertools.combinations(parts, count)
            ]
        case exp.GroupingSets():
            require_only(node, "expressions")
            return [one for each in node.expressions for one in _sets(each, names, texts)]
        case _:
            return [_set(node, names, texts)]


def _joined(parts: Iterable[_Keys]) -> _Keys:
    return tuple(itertools.chain.from_iterable(parts))


def _set(node: exp.Expr, names: _Names, texts: dict[Expression, str]) -> _Keys:
    """Return the keys of `a` or `(a, b)` as one set."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Tuple):
        require_only(node, "expressions")
        return tuple(_key(each, names, texts) for each in node.expressions)
    return (_key(node, names, texts),)


def _key(node: exp.Expr, names: _Names, texts: dict[Expression, str]) -> Expression:
    if isinstance(node, exp.Paren):
        return _key(node.this, names, texts)
    context = names.context
    if isinstance(node, exp.Column):
        item = _named_item(node, names)
    else:
        item = item_at(node, names.items, context.clause) or _same_query(node, names.items)
    key = typed(bind_key(node, context) if item is None else item.expression)
    if found := columns_of(key) & names.results.keys():
        raise ProgrammingError(f"GROUP BY cannot contain {names.results[next(iter(found))]}")
    texts.setdefault(key, name_of(node))
    return key


def _same_query(node: exp.Expr, items: Sequence[Item]) -> Item | None:
    """Return the select item that an entry with a subquery in it is: bound again it is another."""
    if node.find(exp.Query) is None:
        return None
    wanted = _without_case(node)
    return next((item for item in items if _without_case(item.node) == wanted), None)


def _without_case(node: exp.Expr) -> exp.Expr:
    """Return a copy of a tree whose names are in lower case; texts are as they were."""
    copy = node.copy()
    for each in copy.find_all(exp.Identifier, exp.Anonymous):
        each.set("this", fold(each.name))
    return copy


def _named_item(node: exp.Expr, names: _Names) -> Item | None:
    """Return the select item that a name in GROUP BY stands for, unless FROM has that name."""
    if isinstance(node.this, exp.Star):
        raise ProgrammingError("* is not allowed in GROUP BY")
    name = name_in(node.this)
    if node.args.get("table") is not None or find_name(names.scope, name) is not None:
        return None
    return only_item(name, names.items)


def grouping_value(arguments: Sequence[Expression], groups: Groups) -> Expression:
    """Return GROUPING(a, b): a bit for each argument, set where it is no key of the row's set."""
    if len(arguments) > _MAX_GROUPING_ARGUMENTS:
        raise NotSupportedError(f"GROUPING of more than {_MAX_GROUPING_ARGUMENTS} keys")
    arguments = tuple(map(collated_key, arguments))
    for argument in arguments:
        if argument not in groups.keys:
            raise ProgrammingError(f"GROUPING needs keys of GROUP BY; {describe(argument)} is none")
    grouping = groups.grouping
    if grouping is None:
        return Literal(0, pa.int32())
    places = {key: place for place, key in enumerate(groups.keys)}
    of_value: dict[int, list[Expression]] = {}
    for number, keys in enumerate(grouping.sets):
        value = 0
        for argument in arguments:
            value = 2 * value + (places[argument] not in keys)
        of_value.setdefault(value, []).append(Literal(number, pa.int32()))
    values = [Literal(value, pa.int32()) for value in of_value]
    conditions = [is_in(grouping.number, numbers) for numbers in of_value.values()]
    return choose(conditions[:-1], values) if len(values) > 1 else values[0]


def over_groups(
    groups: Groups, results: Mapping[Column, Expression], outside: frozenset[Column]
) -> Callable[[Expression], Expression]:
    """Return the function that turns an expression over rows into one over groups.

    `results` says what stands for the columns of aggregates; `outside` are those of outer queries.
    """
    # A call is compared only with computed keys, for that reads the constants in it.
    has_computed = not all(isinstance(key, Column) for key in groups.keys)
    seen = _Seen(groups, results, outside, has_computed)

    def change_whole(expression: Expression) -> Expression:
        return groups.keys[expression] if expression in groups.keys else seen.change(expression)

    # A constant is a key only as a whole, and only where a set without it makes it NULL.
    return seen.change if groups.grouping is None else change_whole


@dataclass(frozen=True, eq=False, slots=True)
class _Seen:
    """What expressions over groups are made of; see `over_groups`."""

    groups: Groups
    results: Mapping[Column, Expression]
    outside: frozenset[Column]
    has_computed: bool

    def change(self, expression: Expression) -> Expression:
        """Return an expression over rows as one over groups."""
        keys, shown = self.groups.keys, self.groups.shown
        if shown and expression in shown:
            return shown[expression]
        if self._may_be_key(expression) and expression in keys:
            return keys[expression]
        if type(expression) is Column and expression in self.results:
            return self.results[expression]
        match expression:
            case Literal() | Lambda():
                return expression
            case Call(arguments=arguments):
                return replace(expression, arguments=tuple(map(self.change, arguments)))
            case Subquery() if self.groups.grouping and any(map(has_subquery, keys)):
                # It could be a part of a key, which has NULL where the key is no one's.
                raise NotSupportedError(
                    "a subquery beside GROUPING SETS with one is not supported, but as in GROUP BY"
                )
            case Subquery(arguments=given):
                changed = tuple((column, self.change(each)) for column, each in given)
                return replace(expression, arguments=changed)
            case Column() if expression in self.outside:
                return expression
            case _:
                raise ProgrammingError(
                    f"column '{expression.name}' must be in GROUP BY or inside an aggregate"
                )

    def _may_be_key(self, expression: Expression) -> bool:
        if isinstance(expression, Column):
            return True
        return self.has_computed and not isinstance(expression, Literal)
