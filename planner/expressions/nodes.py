"""Bound scalar and aggregate expressions: frozen values whose types are Arrow types.

    Expression = Column | Attribute | Literal | Lambda | Call | Subquery

A `Column` is an output of a plan node, known by its number. An `Attribute` is a column seen from a
fact table through its foreign keys; star matching turns the first into the second. A `Subquery` is
there until the first rules have made it a join.
"""

from __future__ import annotations

from dataclasses import field
from operator import is_
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from typing import Literal as OneOf

import pyarrow as pa

from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from raydb.planner.plan.nodes import Plan
    from raydb.storage.tables.table import ForeignKey


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a plan node's output. The number is unique in a plan; the name is for people.

    collation: that of a text, as `collations.py` names it, for the binder alone.
    """

    number: int
    name: str
    type: pa.DataType
    collation: str = field(default="", compare=False)

    def __hash__(self) -> int:
        # Types are hashed by their names, which takes longer than all of the rest.
        return self.number


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column reached from a fact table: `path` is empty for the fact table's own columns."""

    path: tuple[ForeignKey, ...]
    name: str
    type: pa.DataType

    def __hash__(self) -> int:
        return hash(self.name)


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant; `value` is a Python value (None for NULL) that Arrow converts to `type`."""

    value: Any
    type: pa.DataType

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if other.__class__ is not self.__class__:
            return NotImplemented
        assert isinstance(other, Literal)
        value, its = self.value, other.value
        if not (value is its or value == its) or self.type != other.type:
            return False
        # 0.0 and -0.0 are equal, and yet other constants.
        return not isinstance(value, float) or bool(value) or str(value) == str(its)

    def __hash__(self) -> int:
        try:
            return hash(self.value)
        except TypeError:  # a list, a struct, or a tuple of such
            return len(self.value)

    @property
    def is_null(self) -> bool:
        """Whether the constant is NULL."""
        return self.value is None


@dataclass(frozen=True, slots=True)
class Lambda:
    """A function of its parameters alone, an argument of a function of lists.

    What it reads of the row beside is a parameter too, and an argument of that function.
    """

    parameters: tuple[Column, ...]
    body: Expression

    @property
    def type(self) -> pa.DataType:
        """The type of its result."""
        return self.body.type


class _Judged:
    """What was found of a call, for rules ask every part: `registry.may_raise` and others below.

    hashed: its hash, which is that of all parts.
    """

    __slots__ = ("attributes", "columns", "has_subquery", "hashed", "may_raise")

    attributes: frozenset[Attribute]
    columns: frozenset[Column]
    has_subquery: bool
    hashed: int
    may_raise: bool


@dataclass(frozen=True, slots=True)
class Call(_Judged):
    """A scalar function, of `registry.FUNCTIONS`, applied to its arguments.

    The binder inserts casts, so that the arguments of an operator already have the types that it
    works on; `cast` is the function whose target is `type`. written: the name in the text, where
    it is another one of the function's.
    """

    function: str
    arguments: tuple[Expression, ...]
    type: pa.DataType
    written: str = field(default="", compare=False)

    @property
    def shown(self) -> str:
        """What people know the function by."""
        return self.written or self.function

    def __hash__(self) -> int:
        # Not try: what an exception takes is as long as all else.
        known: int | None = getattr(self, "hashed", None)
        if known is None:
            known = hash((self.function, self.arguments))
            object.__setattr__(self, "hashed", known)
        return known


@dataclass(frozen=True, slots=True)
class Subquery:
    """A query in an expression: a function of the outer row.

    The plan reads the outer row only through the columns of `arguments`, each the name of an
    expression over the outer row; without arguments it is the same for all rows.

    scalar: the value of the one row of its one column, NULL where there is no row, an error where
    there are more. exists: whether there is a row. any: whether `condition`, over the columns of
    the plan and of the arguments, is true for some row; NULL where it is true for none and NULL
    for some.
    """

    kind: OneOf["scalar", "exists", "any"]
    plan: Plan
    arguments: tuple[tuple[Column, Expression], ...]
    condition: Expression | None
    type: pa.DataType


Expression: TypeAlias = "Column | Attribute | Literal | Lambda | Call | Subquery"
_Leaf = TypeVar("_Leaf", Column, Attribute)


@dataclass(frozen=True, slots=True)
class OrderItem:
    """An entry of an ORDER BY: in a window, in an aggregate."""

    expression: Expression
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """A function of the rows of a group, such as sum or count; count_star has no argument.

    Only rows for which `filter` is true take part. `order_by` is the order in which an aggregate
    such as string_agg sees them.
    """

    function: str
    arguments: tuple[Expression, ...]
    type: pa.DataType
    distinct: bool = False
    filter: Expression | None = None
    order_by: tuple[OrderItem, ...] = ()

    def __hash__(self) -> int:
        return hash((self.function, self.arguments))

    @property
    def shown(self) -> str:
        """What people know the function by: sums of vectors have a name of their own."""
        return self.function.removeprefix("vector_")


@dataclass(frozen=True, slots=True)
class Bound:
    """An end of a window frame; the offset, a constant, goes with preceding and following."""

    kind: OneOf[
        "unbounded_preceding", "preceding", "current_row", "following", "unbounded_following"
    ]
    offset: Expression | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    """The rows of a partition that a window function sees from a row."""

    unit: OneOf["rows", "range", "groups"]
    start: Bound
    end: Bound
    exclude: OneOf["no_others", "current_row", "group", "ties"] = "no_others"


@dataclass(frozen=True, slots=True)
class WindowCall:
    """A function of the rows around a row: a rank, another row's value, a frame's aggregate."""

    function: str
    arguments: tuple[Expression, ...]
    type: pa.DataType
    partition_by: tuple[Expression, ...]
    order_by: tuple[OrderItem, ...]
    frame: Frame
    distinct: bool = False
    filter: Expression | None = None
    ignore_nulls: bool = False


_Call = TypeVar("_Call", AggregateCall, WindowCall)


def leaves(expression: Expression) -> Iterator[Column | Attribute | Literal]:
    """Yield the leaves of an expression from left to right, repeats included."""
    match expression:
        case Call(arguments=arguments):
            for argument in arguments:
                yield from leaves(argument)
        case Subquery(arguments=given):
            for _, argument in given:
                yield from leaves(argument)
        case Lambda():
            pass
        case _:
            yield expression


def columns_of(*expressions: Expression) -> frozenset[Column]:
    """Return the columns that any of the expressions reads."""
    if len(expressions) != 1:
        return frozenset(_leaves_of([*expressions], Column))
    (only,) = expressions
    if type(only) is Column:  # as most often
        return frozenset((only,))
    if type(only) is not Call:
        return frozenset(_leaves_of([only], Column))
    known: frozenset[Column] | None = getattr(only, "columns", None)
    if known is None:
        known = frozenset(_leaves_of([only], Column))
        object.__setattr__(only, "columns", known)
    return known


def attributes_of(*expressions: Expression) -> frozenset[Attribute]:
    """Return the attributes that any of the expressions reads."""
    if len(expressions) != 1:
        return frozenset[Attribute]().union(*map(attributes_of, expressions))
    (only,) = expressions
    if type(only) is Attribute:
        return frozenset((only,))
    if type(only) is not Call:  # nothing is derived from these
        return frozenset(_leaves_of([only], Attribute))
    known: frozenset[Attribute] | None = getattr(only, "attributes", None)
    if known is None:
        known = frozenset(_leaves_of([only], Attribute))
        object.__setattr__(only, "attributes", known)
    return known


def has_subquery(expression: Expression) -> bool:
    """Tell whether a part of an expression is a query."""
    if type(expression) is not Call:  # nothing is derived from these
        return type(expression) is Subquery
    known: bool | None = getattr(expression, "has_subquery", None)
    if known is None:
        known = any(map(has_subquery, expression.arguments))
        object.__setattr__(expression, "has_subquery", known)
    return known


def _leaves_of(waiting: list[Expression], kind: type[_Leaf]) -> list[_Leaf]:
    """Return the leaves of one kind: without a generator a node, for every rule asks for them.

    waiting: the expressions that they are leaves of, to which their parts are added.
    """
    part: Any
    for part in waiting:
        its_kind = type(part)  # nothing is derived from these
        if its_kind is Call:
            waiting += part.arguments
        elif its_kind is Subquery:
            waiting += [argument for _, argument in part.arguments]
    return [part for part in waiting if type(part) is kind]


def rewrite(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Return the expression with `change` applied to every part, children first."""
    if type(expression) is Call:
        rewritten = [rewrite(argument, change) for argument in expression.arguments]
        expression = _with_arguments(expression, rewritten)
    elif type(expression) is Subquery:
        rewritten = [rewrite(argument, change) for _, argument in expression.arguments]
        expression = _given(expression, rewritten)
    return change(expression)


def rewrite_calls(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Return it with `change` applied to every call and subquery in it, children first."""
    if isinstance(expression, Call):
        rewritten = None
        for place, each in enumerate(expression.arguments):
            if type(each) is Call or type(each) is Subquery:  # most are leaves
                changed = rewrite_calls(each, change)
                if changed is not each:
                    rewritten = [*expression.arguments] if rewritten is None else rewritten
                    rewritten[place] = changed
        if rewritten is not None:
            expression = _with_arguments(expression, rewritten)
        return change(expression)
    if isinstance(expression, Subquery):
        rewritten = [rewrite_calls(argument, change) for _, argument in expression.arguments]
        return change(_given(expression, rewritten))
    return expression


def rewrite_subqueries(
    expression: Expression, change: Callable[[Subquery], Expression]
) -> Expression:
    """Return it with `change` applied to every subquery in it, those in arguments first."""
    if isinstance(expression, Subquery):
        rewritten = [rewrite_subqueries(argument, change) for _, argument in expression.arguments]
        return change(_given(expression, rewritten))
    if isinstance(expression, Call) and has_subquery(expression):
        rewritten = [rewrite_subqueries(argument, change) for argument in expression.arguments]
        return _with_arguments(expression, rewritten)
    return expression


def _with_arguments(call: Call, arguments: Sequence[Expression]) -> Call:
    """Return a call of other arguments; itself where none is another one."""
    if all(map(is_, arguments, call.arguments)):
        return call
    return Call(call.function, tuple(arguments), call.type, call.written)


def _given(subquery: Subquery, arguments: Sequence[Expression]) -> Subquery:
    """Return a subquery that reads other expressions of the outer row."""
    if not arguments:
        return subquery
    columns = [column for column, _ in subquery.arguments]
    return replace(subquery, arguments=tuple(zip(columns, arguments, strict=True)))


def expressions_of(call: AggregateCall | WindowCall) -> tuple[Expression, ...]:
    """Return every expression over a row that an aggregate or a window function reads."""
    if type(call) is AggregateCall and call.filter is None and not call.order_by:
        return call.arguments
    filters = () if call.filter is None else (call.filter,)
    order = tuple(item.expression for item in call.order_by)
    partition = call.partition_by if isinstance(call, WindowCall) else ()
    return (*call.arguments, *filters, *partition, *order)


def map_call(call: _Call, change: Callable[[Expression], Expression]) -> _Call:
    """Return an aggregate or a window function with `change` applied to each of its expressions.

    It is the call itself where nothing changes.
    """
    if type(call) is AggregateCall and call.filter is None and not call.order_by:
        arguments = tuple([change(argument) for argument in call.arguments])
        if all(map(is_, arguments, call.arguments)):
            return call
        return replace(call, arguments=arguments)
    mapped: dict[str, Any] = {
        "arguments": tuple([change(argument) for argument in call.arguments]),
        "filter": None if call.filter is None else change(call.filter),
        "order_by": tuple([_map_item(item, change) for item in call.order_by]),
    }
    if isinstance(call, WindowCall):
        mapped["partition_by"] = tuple([change(key) for key in call.partition_by])
    for name, value in list(mapped.items()):
        held = getattr(call, name)
        if value is held or (isinstance(held, tuple) and all(map(is_, value, held))):
            del mapped[name]
    return replace(call, **mapped) if mapped else call


def _map_item(item: OrderItem, change: Callable[[Expression], Expression]) -> OrderItem:
    changed = change(item.expression)
    return item if changed is item.expression else replace(item, expression=changed)


def substitute(expression: Expression, definitions: Mapping[Column, Expression]) -> Expression:
    """Return the expression with each defined column replaced by its definition."""
    if not definitions:
        return expression
    if type(expression) is Column:
        return definitions.get(expression, expression)
    if type(expression) is Call:
        replaced = [substitute(argument, definitions) for argument in expression.arguments]
        return _with_arguments(expression, replaced)
    if type(expression) is Subquery:
        given = [substitute(argument, definitions) for _, argument in expression.arguments]
        return _given(expression, given)
    return expression


def conjuncts(predicate: Expression) -> tuple[Expression, ...]:
    """Split `a AND b AND c` into its parts.

    >>> conjuncts(Call("and", (a, Call("and", (b, c), BOOL)), BOOL))
    (a, b, c)
    """
    if type(predicate) is not Call or predicate.function != "and":
        return (predicate,)
    parts: list[Expression] = []
    for argument in predicate.arguments:
        if type(argument) is Call and argument.function == "and":
            parts += conjuncts(argument)
        else:
            parts.append(argument)
    return tuple(parts)


def conjunction(predicates: Sequence[Expression]) -> Expression:
    """Join predicates by AND; of none it is true."""
    if len(predicates) == 1:
        return predicates[0]
    return Call("and", tuple(predicates), pa.bool_()) if predicates else Literal(True, pa.bool_())
